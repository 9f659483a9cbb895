"""Steps of an import in the browser, for tests that go through them."""

from __future__ import annotations

from typing import Any


def agreed(batch: Any) -> dict[str, str]:
    """Return what the dialog sends in which somebody says that rows may be left out."""
    from pydplib.web.intake.imports.dry_run import tally

    batch.refresh_from_db()
    return {"left_out": str(tally(batch)["left_out"])}
