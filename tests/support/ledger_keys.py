"""Keys of releases for tests of ledgers."""

from __future__ import annotations

from typing import Any

from pydplib.budget import Cost, ReleaseKey


def make_release_key(
    number: int = 0, epsilon: Any = 0.2, *, lineage: str = "reports", cost: Cost | None = None
) -> ReleaseKey:
    """Return the key of a made-up question; another number is another question."""
    return ReleaseKey(
        lineage=lineage,
        snapshot="2018-12",
        question={"ask": "count", "number": number},
        cost=cost or Cost.pure(epsilon, mechanism="laplace"),
    )
