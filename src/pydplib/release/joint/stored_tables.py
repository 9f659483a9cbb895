"""Stored tables: what a joint purchase gives back, as it is kept in the ledger and read again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from pydplib._shown import Shown
from pydplib.budget.costs import Cost
from pydplib.budget.keys import canonical_json
from pydplib.errors import DataError
from pydplib.guarantee import ApproxDP, PureDP, guarantee_dict, read_guarantee
from pydplib.release.results.frames import build_frame
from pydplib.release.results.release import Release
from pydplib.release.results.stored import costs_as_said
from pydplib.release.results.words import MEASURED, MEASURED_GAUSSIAN, MEASURED_PAIRS, fact_line, table_lines, words_of
from pydplib.release.results.words import facts as facts_of
from pydplib.release.statistics.noise import COVERAGE, check_confidence

FORMAT = "pydplib-tables/1"
"""The first word of stored tables: readers refuse what they do not know."""

FORMAT_WITH_DELTA = "pydplib-tables/2"
"""The first word of stored tables with Gaussian noise, which readers of the first format would read wrongly."""

FORMAT_WITH_PAIRS = "pydplib-tables/3"
"""The first word of stored tables of which some share a noise, two by two."""


@dataclass(frozen=True, repr=False, kw_only=True)
class MeasuredTables(Shown):
    """Several tables of counts that were bought as one release. Made by ``Session.release_all``.

    Attributes:
        question: All questions as plain values, each once.
        noisy: The noisy cells of every table that was measured: what all answers are computed from.
        releases: An answer to every question, in the order in which they were asked.
        shares: The part of epsilon that each table got.
        declared: Hashes of the declarations that the answers depend on.
        exact_epsilon: The privacy loss as it was asked for.
        guarantee: What is guaranteed about one person by all tables together.
        cost: What was paid, once, for all of them.
        confidence: How often margins and intervals cover.
        key: The name of the release in the ledger.
        exact_delta: Delta as it was asked for, where the noise is Gaussian; None where it is Laplace.
        each: What each question of ``question`` would cost alone, where the price was made from that; else None.
        pairs: The places of tables that share a noise, two by two.
        remarks: What this recipient must know about this one ask, e.g. that it was paid before; never stored.
        entry: The number of the ledger entry.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> schema = dp.Schema({"age": dp.Number(18, 100), "bph": dp.Flag()}, name="reports")
        >>> table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 300, "bph": [True, False, False] * 300}), schema)
        >>> session = dp.Session(table, recipient="acme", budget=1.0)
        >>> ages, findings = session.release_all([dp.Histogram("age", bins=4), dp.Count(by="bph")], epsilon=1.0)
        >>> bool(abs(findings.value.sum() - 900) < 60), session.remaining.epsilon
        (True, 0.0)
    """

    question: Mapping[str, Any]
    noisy: tuple[tuple[float, ...], ...]
    releases: tuple[Release, ...]
    shares: tuple[str, ...]
    declared: tuple[str, ...]
    exact_epsilon: str
    guarantee: PureDP | ApproxDP
    cost: Cost
    confidence: float = COVERAGE
    key: str | None = None
    exact_delta: str | None = None
    each: tuple[str, ...] | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    remarks: tuple[str, ...] = field(default=(), compare=False)
    entry: int | None = field(default=None, compare=False)
    backend: str | None = field(default=None, compare=False)
    mechanism: str = MEASURED

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def __getitem__(self, place: int) -> Release:
        return self.releases[place]

    @property
    def epsilon(self) -> float:
        """The privacy loss of all tables together."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """The chance that epsilon may fail; 0 where the noise is Laplace."""
        return 0.0 if self.exact_delta is None else float(Fraction(self.exact_delta))

    @property
    def _format(self) -> str:
        if self.pairs:
            return FORMAT_WITH_PAIRS
        return FORMAT if self.exact_delta is None else FORMAT_WITH_DELTA

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as plain values, ready for JSON."""
        plain = {
            "format": self._format,
            "question": json.loads(canonical_json(dict(self.question))),
            "noisy": [list(cells) for cells in self.noisy],
            "releases": [release.to_dict() for release in self.releases],
            "shares": list(self.shares),
            "declared": list(self.declared),
            "epsilon": self.exact_epsilon,
            "cost": self.cost.to_dict(),
            "guarantee": guarantee_dict(self.guarantee),
            "confidence": self.confidence,
            "key": self.key,
        }
        if self.each is not None:
            plain["each"] = list(self.each)
        if self.pairs:
            plain["pairs"] = [list(pair) for pair in self.pairs]
        return plain if self.exact_delta is None else plain | {"delta": self.exact_delta}

    def to_json(self) -> str:
        """Return the tables as JSON text: the same text for the same tables."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> MeasuredTables:
        """Read tables from JSON text."""
        try:
            values = json.loads(text)
            delta = str(Fraction(values["delta"])) if values["format"] == FORMAT_WITH_DELTA else None
            if values["format"] not in (FORMAT, FORMAT_WITH_DELTA, FORMAT_WITH_PAIRS):
                raise ValueError
            pairs = _read_pairs(values["pairs"]) if values["format"] == FORMAT_WITH_PAIRS else ()
            cost = Cost.from_dict(values["cost"])
            guarantee = read_guarantee(values["guarantee"])
            releases = tuple(Release.from_dict(plain) for plain in values["releases"])
            if not isinstance(guarantee, PureDP if delta is None else ApproxDP) or not costs_as_said(guarantee, cost):
                raise ValueError
            if any(release.cost != cost for release in releases):
                raise ValueError
            return cls(
                question=dict(values["question"]),
                noisy=tuple(tuple(float(cell) for cell in cells) for cells in values["noisy"]),
                releases=releases,
                shares=tuple(str(Fraction(share)) for share in values["shares"]),
                declared=tuple(str(text) for text in values["declared"]),
                exact_epsilon=str(Fraction(values["epsilon"])),
                guarantee=guarantee,
                cost=cost,
                confidence=check_confidence(values["confidence"]),
                key=values["key"],
                exact_delta=delta,
                each=tuple(str(Fraction(loss)) for loss in values["each"]) if "each" in values else None,
                pairs=pairs,
                mechanism=MEASURED_PAIRS if pairs else MEASURED if delta is None else MEASURED_GAUSSIAN,
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, RecursionError):
            raise DataError(f"These are no stored tables ('{FORMAT}'). Use what MeasuredTables.to_json gave.") from None

    def columns(self) -> dict[str, list[Any]]:
        """Return all tables below each other: question, cell, value, interval, each margin and the simultaneous one."""
        often = f"{100 * self.confidence:g}"
        names = ("table", "cell", "value", f"low{often}", f"high{often}", f"margin{often}", f"simultaneous{often}")
        found: dict[str, list[Any]] = {name: [] for name in names}
        for release in self.releases:
            title = words_of(release.question)
            for place, key in enumerate(release.keys):
                labels = [axis.label(part) for axis, part in zip(release.axes, key, strict=True)]
                assert release.low is not None and release.high is not None and release.margins is not None
                margin = release.margins[place]
                both = margin if release.simultaneous is None else release.simultaneous
                row = (
                    title,
                    ", ".join(labels),
                    release.values[place],
                    release.low[place],
                    release.high[place],
                    margin,
                    both,
                )
                for name, value in zip(names, row, strict=True):
                    found[name].append(value)
        return found

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return all tables below each other as a data frame.

        Args:
            backend: ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the library the data came in, or the first
                of them that is installed.
        """
        return build_frame(self.columns(), backend or self.backend)

    def __str__(self) -> str:
        shown = list({canonical_json(dict(release.question)): release for release in self.releases}.values())
        told = [facts_of(replace(release, remarks=())) for release in shown]
        shared = [pair for pair in told[0] if all(pair in pairs for pairs in told)]
        number = "1 table" if len(shown) == 1 else f"{len(shown)} tables, measured together"
        parts = [f"{number}: {self.cost} for all of them"]
        for release, pairs in zip(shown, told, strict=True):
            own = [fact_line(*pair) for pair in pairs if pair not in shared]
            parts.append("\n".join([*table_lines(release), *own]))
        parts.append("\n".join([*(fact_line(*pair) for pair in shared), *(fact_line("note", r) for r in self.remarks)]))
        return "\n\n".join(parts)


def _read_pairs(plain: Any) -> tuple[tuple[int, int], ...]:
    """Return stored pairs of places; nobody is in two of them."""
    found = tuple((one, other) for one, other in plain)
    places = [place for pair in found for place in pair]
    if not places or any(type(place) is not int or place < 0 for place in places) or len(set(places)) < len(places):
        raise ValueError
    return found
