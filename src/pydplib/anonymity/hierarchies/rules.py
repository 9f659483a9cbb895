"""Hierarchies by rule: intervals, cuts, dates, masked codes, coded extremes; or made from the values of a column."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, get_args

from pydplib.anonymity.hierarchies.base import Hierarchy, HierarchyGap, TableHierarchy, nested_widths, shared_prefixes
from pydplib.anonymity.tables.columns import ROOT, Resolved, resolve_labels
from pydplib.anonymity.tables.values import from_plain, to_plain
from pydplib.errors import HierarchyError, ParameterError

Outside = Literal["error", "clamp"]
"""What happens to values outside public bounds."""
_Read = TypeVar("_Read")


def _check_outside(outside: str) -> None:
    if outside not in get_args(Outside):
        raise ParameterError(f"outside is 'error' or 'clamp'. Got {outside!r}.")


def read_values(
    name: str, values: Sequence[Any], read: Callable[[Any], _Read | None], why: str
) -> tuple[list[Any], list[_Read]]:
    """Return the values that are not missing, as they are and as they are read.

    Raises:
        HierarchyGap: Some cannot be read; ``why`` says what they are not.
    """
    present = [value for value in values if value is not None]
    found = [read(value) for value in present]
    gap = [value for value, one in zip(present, found, strict=True) if one is None]
    if gap:
        raise HierarchyGap(name, gap, why=why)
    return present, [one for one in found if one is not None]


def as_number(value: Any) -> float | None:
    """Return the finite number that a value is or spells, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


class Intervals(Hierarchy, kind="intervals"):
    """Intervals of growing width over public bounds.

    Args:
        low: Smallest possible value.
        high: Largest possible value.
        widths: Width of the intervals at level 1, 2, ...; each a multiple of the one before.
        whole: Whether values are whole numbers (labels "20-24"); by default if bounds and widths are.
        root: Whether a last level "*" is added.
        outside: ``"error"`` for values outside the bounds, or ``"clamp"`` them to the nearest bound.
        from_data: Set where the bounds were taken from the data.

    Examples:
        >>> Intervals(0, 100, [5, 10, 20]).labels(39)
        (39, '35-39', '30-39', '20-39', '*')
    """

    def __init__(
        self,
        low: float,
        high: float,
        widths: Sequence[float],
        *,
        whole: bool | None = None,
        root: bool = True,
        outside: Outside = "error",
        from_data: bool = False,
    ) -> None:
        self.low, self.high, self.widths = low, high, tuple(widths)
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise HierarchyError(f"Intervals need finite bounds, low <= high. Got low={low!r}, high={high!r}.")
        if not all(math.isfinite(w) and w > 0 for w in self.widths):
            raise HierarchyError("Widths of intervals are positive numbers.")
        for narrow, wide in zip(self.widths, self.widths[1:], strict=False):
            ratio = wide / narrow
            if ratio < 1 or abs(ratio - round(ratio)) > 1e-9:
                raise HierarchyError(
                    f"Each width must be a multiple of the one before, so that intervals nest. Got {self.widths!r}."
                )
        _check_outside(outside)
        if whole is None:
            whole = all(float(x).is_integer() for x in (low, high, *self.widths))
        self.whole, self.root, self.outside, self.from_data = whole, root, outside, from_data

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(self.widths) + int(self.root)

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        present, clear = read_values(name, values, as_number, "are not numbers")
        if self.outside == "error":
            gap = [v for v, x in zip(present, clear, strict=True) if not self.low <= x <= self.high]
            if gap:
                raise HierarchyGap(name, gap, why=f"lie outside {self.low:g} to {self.high:g}")
        inside = [min(max(x, float(self.low)), float(self.high)) for x in clear]
        level0 = [v if x == c else self._kind(c) for v, x, c in zip(present, clear, inside, strict=True)]
        grid = self.whole and all(x.is_integer() for x in inside)
        domain = self.high - self.low + 1 if grid else math.inf
        span = domain if grid else (self.high - self.low) or 1.0
        labels: list[list[Any]] = [level0]
        points = [[1.0 if grid else 0.0] * len(present)]
        for width in self.widths:
            ends = [self._interval(x, width, grid) for x in inside]
            labels.append([self._label(a, b, grid) for a, b in ends])
            covered = [b - a + 1 if grid else (b - a) / span for a, b in ends]
            points.append([float(c) for c in covered])
        if self.root:
            labels.append([ROOT] * len(present))
            points.append([domain if grid else 1.0] * len(present))
        return resolve_labels(name, values, labels, points, domain, from_data=self.from_data)

    def _kind(self, bound: float) -> Any:
        return int(bound) if self.whole and float(bound).is_integer() else bound

    def _interval(self, x: float, width: float, grid: bool) -> tuple[float, float]:
        # The highest value belongs to the last interval, even where a new one would begin.
        steps = max(math.ceil((self.high - self.low + (1 if grid else 0)) / width - 1e-9), 1)
        at = min(math.floor((x - self.low) / width + 1e-12), steps - 1)
        start = self.low + at * width
        if grid:
            return start, min(start + width - 1, self.high)
        return start, min(start + width, self.high)

    def _label(self, start: float, end: float, grid: bool) -> str:
        if grid:
            return f"{start:.0f}" if start == end else f"{start:.0f}-{end:.0f}"
        return f"[{start:.10g}, {end:.10g}{']' if end >= self.high else ')'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        return {
            "kind": "intervals",
            "low": self.low,
            "high": self.high,
            "widths": list(self.widths),
            "whole": self.whole,
            "root": self.root,
            "outside": self.outside,
            **({"from_data": True} if self.from_data else {}),
        }

    def __repr__(self) -> str:
        bounds = "bounds from data" if self.from_data else f"{self.low:g}, {self.high:g}"
        return f"Intervals({bounds}, widths={list(self.widths)})"


class Cuts(Hierarchy, kind="cuts"):
    """Intervals between given edges, for columns with long tails: 0-9, 10-49, 50-70000.

    Args:
        edges: Per level, the edges from the smallest possible value to the largest; each level keeps some of those of
            the level before. An interval holds its lower edge; the last one holds its upper edge too.
        root: Whether a last level "*" is added.
        outside: ``"error"`` for values outside the edges, or ``"clamp"`` them to the nearest.
        from_data: Set where the edges are quantiles of the data. That is fine for a table that is anonymized, since
            classes stay as large; but each edge says where some share of the rows lies.

    Examples:
        >>> Cuts([[0, 10, 50, 70000], [0, 50, 70000]]).labels(17)
        (17, '10-49', '0-49', '*')
    """

    def __init__(
        self,
        edges: Sequence[Sequence[float]],
        *,
        root: bool = True,
        outside: Outside = "error",
        from_data: bool = False,
    ) -> None:
        self.edges = tuple(tuple(level) for level in edges)
        if not self.edges or any(len(level) < 2 for level in self.edges):
            raise HierarchyError("Cuts need at least one level with two edges, such as [[0, 10, 100]].")
        for level in self.edges:
            if not all(isinstance(x, int | float) and math.isfinite(x) for x in level):
                raise HierarchyError("Edges are finite numbers.")
            if any(b <= a for a, b in itertools.pairwise(level)):
                raise HierarchyError("Edges rise from left to right.")
        for fine, coarse in itertools.pairwise(self.edges):
            if not set(coarse) <= set(fine) or (coarse[0], coarse[-1]) != (fine[0], fine[-1]):
                raise HierarchyError("Each level keeps some edges of the level before, with the first and the last.")
        _check_outside(outside)
        self.root, self.outside, self.from_data = root, outside, from_data

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(self.edges) + int(self.root)

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        present, clear = read_values(name, values, as_number, "are not numbers")
        low, high = float(self.edges[0][0]), float(self.edges[0][-1])
        gap = [v for v, x in zip(present, clear, strict=True) if not low <= x <= high]
        if gap and self.outside == "error":
            raise HierarchyGap(name, gap, why=f"lie outside {low:g} to {high:g}")
        inside = [min(max(x, low), high) for x in clear]
        whole = all(float(x).is_integer() for level in self.edges for x in level) and all(
            x.is_integer() for x in inside
        )
        level0 = [v if x == c else int(c) if whole else c for v, x, c in zip(present, clear, inside, strict=True)]
        labels: list[list[Any]] = [level0]
        points = [[0.0] * len(present)]
        for edges in self.edges:
            places = [min(bisect_right(edges, x), len(edges) - 1) - 1 for x in inside]
            labels.append([self._label(edges, place, whole) for place in places])
            # A long tail makes widths useless as a measure: every interval of a level counts alike.
            points.append([1.0 / (len(edges) - 1)] * len(present))
        if self.root:
            labels.append([ROOT] * len(present))
            points.append([1.0] * len(present))
        return resolve_labels(name, values, labels, points, math.inf, from_data=self.from_data)

    def _label(self, edges: Sequence[float], place: int, whole: bool) -> str:
        start, end, last = edges[place], edges[place + 1], place == len(edges) - 2
        if whole:
            top = end if last else end - 1
            return f"{start:.0f}" if start == top else f"{start:.0f}-{top:.0f}"
        return f"[{start:.10g}, {end:.10g}{']' if last else ')'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        return {
            "kind": "cuts",
            "edges": [list(level) for level in self.edges],
            "root": self.root,
            "outside": self.outside,
            **({"from_data": True} if self.from_data else {}),
        }

    def __repr__(self) -> str:
        return f"Cuts({len(self.edges)} levels)" if self.from_data else f"Cuts({[list(level) for level in self.edges]})"


_UNITS = ("month", "quarter", "year", "decade")
Order = Literal["ymd", "mdy", "dmy"]
"""How a day is written: 2018-03-09, 03/09/2018 or 09/03/2018."""
_SLASHED = re.compile(r"([0-9]{1,2})[/.\-]([0-9]{1,2})[/.\-]([0-9]{4})(?:[ ,T]+[0-9]{1,2}:[0-9]{2}.*)?")


class Dates(Hierarchy, kind="dates"):
    """Day, month, quarter, year, decade, "*".

    Args:
        low: First possible day (for the loss); by default the first day of the data, which is marked.
        high: Last possible day.
        units: Which steps to take above the day, from fine to coarse.
        outside: ``"error"`` for days outside the bounds, or ``"clamp"`` them.
        order: How texts are written: ``"ymd"`` (2018-03-09), ``"mdy"`` (03/09/2018) or ``"dmy"`` (09/03/2018).
        from_data: Set where the bounds were taken from the data.

    Examples:
        >>> import datetime as dt
        >>> Dates("2017-01-01", "2018-12-31", units=("year",), order="mdy").labels("03/09/2018")
        ('03/09/2018', '2018', '*')
        >>> Dates("2017-01-01", "2018-12-31", units=("month", "year")).labels(dt.date(2017, 3, 9))
        (datetime.date(2017, 3, 9), '2017-03', '2017', '*')
    """

    def __init__(
        self,
        low: dt.date | str | None = None,
        high: dt.date | str | None = None,
        *,
        units: Sequence[str] = _UNITS,
        outside: Outside = "error",
        order: Order = "ymd",
        from_data: bool = False,
    ) -> None:
        if order not in get_args(Order):
            raise ParameterError(f"order is 'ymd', 'mdy' or 'dmy'. Got {order!r}.")
        self.written: Order = order
        self.low, self.high = _day(low), _day(high)
        for given, day in ((low, self.low), (high, self.high)):
            if given is not None and day is None:
                raise HierarchyError("Bounds of dates are days such as '2017-01-01'.")
        self.units = tuple(units)
        known = [unit for unit in _UNITS if unit in self.units]
        if list(self.units) != known:
            raise HierarchyError(f"units are some of {_UNITS}, from fine to coarse. Got {self.units!r}.")
        _check_outside(outside)
        self.outside, self.from_data = outside, from_data or self.low is None or self.high is None

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(self.units) + 1

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        present, clear = read_values(name, values, lambda value: _day(value, self.written), "are not dates")
        low = self.low or min(clear, default=dt.date(1900, 1, 1))
        high = self.high or max(clear, default=low)
        gap = [v for v, d in zip(present, clear, strict=True) if not low <= d <= high]
        if gap and self.outside == "error":
            raise HierarchyGap(name, gap, why=f"lie outside {low} to {high}")
        level0 = [
            v if low <= d <= high else self._clamped(v, min(max(d, low), high))
            for v, d in zip(present, clear, strict=True)
        ]
        inside = [min(max(d, low), high) for d in clear]
        domain = float((high - low).days + 1)
        labels: list[list[Any]] = [level0]
        points = [[1.0] * len(present)]
        for unit in self.units:
            labels.append([_calendar(d, unit)[0] for d in inside])
            points.append([self._covered(d, unit, low, high) for d in inside])
        labels.append([ROOT] * len(present))
        points.append([domain] * len(present))
        return resolve_labels(name, values, labels, points, domain, from_data=self.from_data)

    def _clamped(self, value: Any, day: dt.date) -> Any:
        if self.written == "ymd" or not isinstance(value, str):
            return day
        return day.strftime("%m/%d/%Y" if self.written == "mdy" else "%d/%m/%Y")

    @staticmethod
    def _covered(day: dt.date, unit: str, low: dt.date, high: dt.date) -> float:
        _, start, end = _calendar(day, unit)
        return float((min(end, high) - max(start, low)).days + 1)

    @classmethod
    def from_plain_values(cls, values: dict[str, Any]) -> Dates:
        """Make one from its plain values; the bounds are days."""
        return cls(from_plain(values.pop("low")), from_plain(values.pop("high")), **values)

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        return {
            "kind": "dates",
            "low": to_plain(self.low),
            "high": to_plain(self.high),
            "units": list(self.units),
            "outside": self.outside,
            **({"order": self.written} if self.written != "ymd" else {}),
            **({"from_data": True} if self.from_data else {}),
        }

    def __repr__(self) -> str:
        return f"Dates(units={list(self.units)})"


def _day(value: Any, order: Order = "ymd") -> dt.date | None:
    if value is None:
        return None
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    if isinstance(value, str) and order != "ymd":
        found = _SLASHED.fullmatch(value.strip())
        if found is None:
            return None
        first, second, year = map(int, found.groups())
        month, day = (first, second) if order == "mdy" else (second, first)
        try:
            return dt.date(year, month, day)
        except ValueError:
            return None
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value.strip()[:10])
        except ValueError:
            return None
    return None


def _calendar(day: dt.date, unit: str) -> tuple[str, dt.date, dt.date]:
    """Return label, first and last day of the unit that holds ``day``."""
    if unit == "month":
        months, first, label = 1, day.month, f"{day.year:04d}-{day.month:02d}"
    elif unit == "quarter":
        quarter = (day.month - 1) // 3
        months, first, label = 3, quarter * 3 + 1, f"{day.year:04d}-Q{quarter + 1}"
    elif unit == "year":
        return f"{day.year:04d}", dt.date(day.year, 1, 1), dt.date(day.year, 12, 31)
    else:
        start = max(day.year // 10 * 10, 1)
        end = min(day.year // 10 * 10 + 9, 9999)
        return f"{start:04d}-{end:04d}", dt.date(start, 1, 1), dt.date(end, 12, 31)
    last = first + months - 1
    end_day = dt.date(day.year, 12, 31) if last == 12 else dt.date(day.year, last + 1, 1) - dt.timedelta(days=1)
    return label, dt.date(day.year, first, 1), end_day


class Masking(Hierarchy, kind="masking"):
    """Codes whose characters are masked one by one: 12345, 1234*, 123**, ...

    Args:
        length: Number of characters of a code; shorter ones count as padded with spaces.
        step: Characters masked per level.
        side: Where masking begins, ``"right"`` or ``"left"``.
        character: The mask.
        alphabet: How many different characters there can be at a place (for the loss); 10 for digits.

    Examples:
        >>> Masking(5, step=2).labels("81675")
        ('81675', '816**', '8****', '*****')
    """

    def __init__(
        self,
        length: int,
        *,
        step: int = 1,
        side: Literal["right", "left"] = "right",
        character: str = "*",
        alphabet: int = 10,
    ) -> None:
        if length < 1 or step < 1 or alphabet < 2 or len(character) != 1:
            raise ParameterError("Masking needs length >= 1, step >= 1, alphabet >= 2 and one mask character.")
        if side not in ("right", "left"):
            raise ParameterError(f"side is 'right' or 'left'. Got {side!r}.")
        self.length, self.step, self.side = length, step, side
        self.character, self.alphabet = character, alphabet

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return math.ceil(self.length / self.step)

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        present = [value for value in values if value is not None]
        texts = [str(value) for value in present]
        gap = [value for value, text in zip(present, texts, strict=True) if len(text) > self.length]
        if gap:
            raise HierarchyGap(name, gap, why=f"are longer than {self.length} characters")
        right = self.side == "right"
        padded = [text.ljust(self.length) if right else text.rjust(self.length) for text in texts]
        labels: list[list[Any]] = [list(present)]
        # As shares, since alphabet ** length may exceed every float.
        points = [[0.0] * len(present)]
        for level in range(1, self.height + 1):
            masked = min(level * self.step, self.length)
            kept, mask = self.length - masked, self.character * masked
            labels.append([p[:kept] + mask if right else mask + p[masked:] for p in padded])
            points.append([float(self.alphabet) ** -kept] * len(present))
        return resolve_labels(name, values, labels, points, math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        return {
            "kind": "masking",
            "length": self.length,
            "step": self.step,
            "side": self.side,
            "character": self.character,
            "alphabet": self.alphabet,
        }

    def __repr__(self) -> str:
        return f"Masking({self.length}, step={self.step}, side={self.side!r})"


class TopBottom(Hierarchy, kind="top_bottom"):
    """Numbers whose extremes become "<= bottom" and ">= top" already at level 0.

    Args:
        bottom: Values of at most this become one group; None: no bottom coding.
        top: Values of at least this become one group; None: no top coding.
        inner: A hierarchy for the values between; by default they are kept or become "*".

    Examples:
        >>> from pydplib.anonymity import Intervals
        >>> ages = TopBottom(bottom=20, top=80, inner=Intervals(0, 120, [10]))
        >>> ages.labels(93), ages.labels(45)
        (('>= 80', '>= 80', '*'), (45, '40-49', '*'))
    """

    def __init__(
        self, *, bottom: float | None = None, top: float | None = None, inner: Hierarchy | None = None
    ) -> None:
        if bottom is None and top is None:
            raise HierarchyError("TopBottom needs bottom=, top= or both.")
        if bottom is not None and top is not None and not bottom < top:
            raise HierarchyError(f"TopBottom needs bottom < top. Got bottom={bottom!r}, top={top!r}.")
        self.bottom, self.top, self.inner = bottom, top, inner
        self.from_data = inner is not None and inner.from_data

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return 1 if self.inner is None else self.inner.height

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        present, numbers = read_values(name, values, as_number, "are not numbers")
        ends = [self._end(x) for x in numbers]
        middle = [value for value, end in zip(present, ends, strict=True) if end is None]
        inner = self._inner(name, middle)
        labels: list[list[Any]] = []
        points: list[list[float]] = []
        for level in range(self.height + 1):
            root = level == self.height and level > 0
            row: list[Any] = []
            cover: list[float] = []
            position = 0
            for end in ends:
                if end is None:
                    at = inner.levels[level][position]
                    row.append(ROOT if root else inner.labels[level][at])
                    cover.append(1.0 if root else float(inner.cost[level][at]))
                    position += 1
                else:
                    row.append(ROOT if root else end)
                    cover.append(1.0 if root else self._share(end))
            labels.append(row)
            points.append(cover)
        return resolve_labels(name, values, labels, points, math.inf, from_data=self.from_data)

    def _inner(self, name: str, middle: Sequence[Any]) -> Resolved:
        if self.inner is not None:
            return self.inner.resolve(name, middle)
        return TableHierarchy([[value, ROOT] for value in middle] or [[None, ROOT]]).resolve(name, middle)

    def _end(self, x: float) -> str | None:
        if self.bottom is not None and x <= self.bottom:
            return f"<= {self.bottom:g}"
        if self.top is not None and x >= self.top:
            return f">= {self.top:g}"
        return None

    def _share(self, end: str) -> float:
        """Return the part of the domain beyond one end; half of it where the domain's bounds are not known."""
        low, high = getattr(self.inner, "low", None), getattr(self.inner, "high", None)
        if not (isinstance(low, int | float) and isinstance(high, int | float) and low < high):
            return 0.5
        beyond = (self.bottom or 0) - low if end.startswith("<") else high - (self.top or 0)
        return min(max(beyond / (high - low), 0.0), 1.0)

    @classmethod
    def from_plain_values(cls, values: dict[str, Any]) -> TopBottom:
        """Make one from its plain values; the inner hierarchy is one of its own."""
        inner = values.pop("inner", None)
        return cls(inner=None if inner is None else Hierarchy.from_dict(inner), **values)

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        inner = None if self.inner is None else self.inner.to_dict()
        return {"kind": "top_bottom", "bottom": self.bottom, "top": self.top, "inner": inner}

    def __repr__(self) -> str:
        return f"TopBottom(bottom={self.bottom!r}, top={self.top!r})"


def hierarchy_from_values(values: Sequence[Any]) -> Hierarchy:
    """Return a hierarchy made from the data's own values; it is marked ``from_data``.

    Bounds and rare values then come from the data, which can itself give something away:
    declare a schema where possible.
    """
    present = [value for value in values if value is not None]
    if present and all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        low, high = float(min(present)), float(max(present))
        whole = all(float(v).is_integer() for v in present)
        if math.isfinite(low) and math.isfinite(high) and low < high:
            widths = nested_widths(low, high, whole=whole)
            if widths:
                # Bounds are moved to multiples of the first width, so that they are not the extremes themselves.
                low = math.floor(low / widths[0]) * widths[0]
                high = math.ceil((high + (1 if whole else 0)) / widths[0]) * widths[0] - (1 if whole else 0)
            return Intervals(low, high, widths, whole=whole, from_data=True)
    if present and all(isinstance(v, dt.date) for v in present):
        return Dates(from_data=True)
    if present and all(isinstance(v, str) for v in present):
        codes = shared_prefixes(present)
        if codes and all(v.isdigit() for v in present):
            return Masking(len(present[0]))
    return TableHierarchy([[value, ROOT] for value in present] or [["", ROOT]], from_data=True)
