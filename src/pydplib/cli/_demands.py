"""What ``pydplib verify --require`` can demand of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from pydplib.errors import did_you_mean

if TYPE_CHECKING:
    from pydplib.anonymity import SensitiveMeasures, Verification

_SLACK = 1e-7  # the tolerance of certificates: a class at exactly ln l passes
# Demand -> attribute of SensitiveMeasures, and whether more is better.
_MEASURES: dict[str, tuple[str, bool]] = {
    "alpha": ("alpha", False),
    "l": ("l_distinct", True),
    "l-entropy": ("l_entropy", True),
    "t": ("t_equal", False),
    "t-ordered": ("t_ordered", False),
    "t-hierarchical": ("t_hierarchical", False),
    "beta": ("beta", False),
    "beta-enhanced": ("beta_enhanced", False),
    "delta": ("delta", False),
}
DEMANDS = ("k", *_MEASURES, "l-recursive")


@dataclass(frozen=True)
class Demand:
    """Something that has to hold: ``k=5``, ``l=3``, ``diagnosis:t=0.2``, ``l-recursive=4,3`` (c and l)."""

    text: str
    name: str
    limit: float
    l: int = 0  # noqa: E741
    column: str | None = None

    def holds(self, found: SensitiveMeasures) -> bool:
        """Return whether a sensitive column fulfils the demand."""
        if self.name == "l-recursive":
            return found.recursive(self.l) < self.limit
        attribute, more = _MEASURES[self.name]
        value = getattr(found, attribute)
        if value is None:
            return False
        if self.name == "delta":
            return bool(value < self.limit)  # strict, as the model is defined
        return bool(value >= self.limit * (1 - _SLACK) if more else value <= self.limit + _SLACK)


def read_demands(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[Demand, ...]:
    """Read the values of ``--require``."""
    return tuple(_read_demand(text) for text in values)


def _read_demand(text: str) -> Demand:
    left, equals, right = text.rpartition("=")
    column, colon, name = left.rpartition(":")
    name = name.strip()
    if not equals or name not in DEMANDS:
        raise click.BadParameter(f"'{text}' is not NAME=NUMBER, such as k=5.{did_you_mean(name or text, DEMANDS)}")
    try:
        numbers = [float(part) for part in right.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != (2 if name == "l-recursive" else 1) or not all(map(math.isfinite, numbers)):
        form = "l-recursive=C,L, such as l-recursive=4,3" if name == "l-recursive" else f"{name}=NUMBER"
        raise click.BadParameter(f"'{text}' is not {form}.")
    if name == "k" and colon:
        raise click.BadParameter(f"'{text}': k is about the whole table, leave the column out.")
    return Demand(text, name, numbers[0], int(numbers[-1]), column.strip() if colon else None)


def judge(found: Verification, demands: Sequence[Demand]) -> list[dict[str, Any]]:
    """Return, per demand and sensitive column, whether it holds, also together with earlier releases."""
    out: list[dict[str, Any]] = []
    across = found.across
    for demand in demands:
        if demand.name == "k":
            # 0 stands for "none": no class meets an earlier one, nobody appeared or vanished.
            groups = [] if across is None else [across.k, across.appeared, across.vanished]
            good = found.k >= demand.limit and all(size == 0 or size >= demand.limit for size in groups)
            out.append({"required": demand.text, "sensitive": None, "holds": good})
            continue
        for name, measures in found.sensitive.items():
            if demand.column in (None, name):
                good = demand.holds(measures)
                if demand.name == "l" and across is not None and across.k:
                    good = good and across.l_distinct.get(name, 0) >= demand.limit
                out.append({"required": demand.text, "sensitive": name, "holds": good})
    return out
