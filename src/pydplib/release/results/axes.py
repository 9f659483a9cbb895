"""Axes of a release: the public keys of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias

from pydplib.errors import ParameterError

AxisKind: TypeAlias = Literal["category", "bins", "quantile"]
"""Values of a column, bins [low, high) of a number, or shares of a quantile."""

MISSING = "missing"
"""How the key "no value" is written."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a release: a column and its public keys.

    Args:
        name: The column.
        keys: Its keys: values, or (low, high) for bins. None stands for "missing".
        kind: What the keys are.
        title: The name for readers.
        unit: The unit of bins.

    Examples:
        >>> Axis("age", ((50, 60), (60, 70)), kind="bins", unit="years").labels
        ('50 to 60', '60 to 70')
    """

    name: str
    keys: tuple[Any, ...]
    _: KW_ONLY
    kind: AxisKind = "category"
    title: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        keys = tuple(tuple(key) if isinstance(key, list) else key for key in self.keys)
        object.__setattr__(self, "keys", keys)
        if self.kind not in ("category", "bins", "quantile"):
            raise ParameterError(f"An axis is category, bins or quantile. Got '{self.kind}'.")

    @property
    def labels(self) -> tuple[str, ...]:
        """The keys as words."""
        return tuple(self.label(key) for key in self.keys)

    def label(self, key: Any) -> str:
        """Return one key as words."""
        if key is None:
            return MISSING
        if self.kind == "bins":
            return f"{show_key(key[0])} to {show_key(key[1])}"
        return show_key(key)

    @property
    def middles(self) -> tuple[float, ...]:
        """The middle of each bin, or the keys themselves where they are numbers."""
        if self.kind == "bins":
            return tuple((float(low) + float(high)) / 2 for low, high in self.keys)
        return tuple(float(key) for key in self.keys)

    def to_dict(self) -> dict[str, Any]:
        """Return the axis as plain values."""
        keys = [list(key) if isinstance(key, tuple) else key for key in self.keys]
        plain: dict[str, Any] = {"name": self.name, "keys": keys, "kind": self.kind}
        return plain | {name: getattr(self, name) for name in ("title", "unit") if getattr(self, name)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Axis:
        """Build an axis from ``to_dict``'s values."""
        return cls(**dict(values))


def show_key(key: Any) -> str:
    """Return a key as text: whole numbers without decimals, yes and no for flags."""
    if isinstance(key, bool):
        return "yes" if key else "no"
    return f"{key:.12g}" if isinstance(key, float) else str(key)
