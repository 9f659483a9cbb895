"""Generalization hierarchies: which labels stand for a value, from the value itself up to "*"."""

from __future__ import annotations

import csv
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydplib.anonymity.tables.columns import ROOT, Resolved, cell_key, resolve_labels
from pydplib.anonymity.tables.values import from_plain, to_plain
from pydplib.errors import HierarchyError, ParameterError, did_you_mean
from pydplib.schema import Column

if TYPE_CHECKING:
    from pydplib.anonymity.hierarchies.rules import Dates, Intervals, Masking


_LEVELS = 4
"""The most widths of an automatic hierarchy of numbers."""
_DECIMALS = re.compile(r"-?(0|[1-9][0-9]*)[.,][0-9]+")


class HierarchyGap(HierarchyError):
    """A hierarchy does not cover all values of its column.

    The message says how many; the values themselves are private and only in ``missing``.
    """

    def __init__(self, column: str, missing: Sequence[Any], *, why: str = "are not among its leaves") -> None:
        self.column = column
        self.missing = tuple(missing)
        super().__init__(
            f"The hierarchy of column '{column}' has a gap: {len(self.missing)} of the column's values {why}. "
            "Add them (the error's attribute .missing lists them), or leave the hierarchy out "
            "(quasi_identifiers=[...]) for an automatic one."
        )


KINDS: dict[str, Any] = {}
"""Kind, as files name it -> the class; a class enters by ``class Intervals(Hierarchy, kind="intervals")``."""


class Hierarchy(ABC):
    """The labels of a column's values at every level; level 0 is the value, the top is usually "*".

    Make one with ``Hierarchy.from_csv``, ``from_rows``, ``order``, ``grouping``, ``automatic``, or directly as
    ``Intervals``, ``Dates``, ``Masking`` or ``TopBottom``.

    Examples:
        >>> h = Hierarchy.from_rows([["flu", "infection", "*"], ["covid", "infection", "*"], ["burn", "injury", "*"]])
        >>> h.height, h.labels("covid")
        (2, ('covid', 'infection', '*'))
    """

    from_data: bool = False

    def __init_subclass__(cls, *, kind: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind:
            KINDS[kind] = cls

    @property
    @abstractmethod
    def height(self) -> int:
        """The number of levels above the values."""

    @abstractmethod
    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` (distinct; ``None`` is missing) at every level."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""

    def labels(self, value: Any) -> tuple[Any, ...]:
        """Return the labels of one value, from level 0 to the top."""
        found = self.resolve("value", [value])
        return tuple(found.labels[level][found.levels[level][0]] for level in range(found.height + 1))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hierarchy) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self.to_dict()))

    # -- builders ---------------------------------------------------------------------------

    @staticmethod
    def from_csv(path: str | Path, *, separator: str | None = None, encoding: str = "utf-8") -> TableHierarchy:
        """Read a hierarchy in ARX's format: one leaf per line, its labels from left to right, no header.

        Args:
            path: The file.
            separator: By default the semicolon, or what the first line shows.
            encoding: The file's encoding; UTF-8 with Latin-1 as a fallback.
        """
        try:
            raw = Path(path).read_bytes()
        except OSError:
            raise HierarchyError(f"The hierarchy file '{path}' cannot be read.") from None
        try:
            text = raw.decode(encoding).removeprefix("\ufeff")
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
        first = text.split("\n", 1)[0]
        separator = separator or max(";,\t|", key=lambda mark: (first.count(mark), mark == ";"))
        rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if row]
        return TableHierarchy(rows)

    @staticmethod
    def from_rows(rows: Iterable[Sequence[Any]]) -> TableHierarchy:
        """Build a hierarchy from rows ``[value, label at level 1, ..., label at the top]``."""
        return TableHierarchy(rows)

    @staticmethod
    def flat(values: Iterable[Any]) -> TableHierarchy:
        """Build the hierarchy that knows only the value and "*"."""
        return TableHierarchy([[value, ROOT] for value in values])

    @staticmethod
    def order(values: Sequence[Any], *, group: int = 2) -> TableHierarchy:
        """Build a hierarchy over ordered values by merging ``group`` neighbours at every level.

        Examples:
            >>> Hierarchy.order(["I", "II", "III", "IV"]).labels("III")
            ('III', 'III - IV', '*')
        """
        if not isinstance(group, int) or group < 2:
            raise ParameterError(f"group is the number of neighbours to merge, at least 2. Got {group!r}.")
        values = list(values)
        columns: list[list[Any]] = [values]
        size = group
        while size < len(values):
            names = []
            for i in range(len(values)):
                low, high = i // size * size, min(len(values), (i // size + 1) * size) - 1
                names.append(f"{values[low]} - {values[high]}" if low < high else str(values[low]))
            columns.append(names)
            size *= group
        columns.append([ROOT] * len(values))
        return TableHierarchy(list(zip(*columns, strict=True)))

    @staticmethod
    def grouping(groups: Mapping[str, Any]) -> TableHierarchy:
        """Build a hierarchy from nested groups: ``{"label": [values]}`` or ``{"label": {"label": [values]}}``.

        Branches of different depth are padded by repeating the lower label.

        Examples:
            >>> Hierarchy.grouping({"upper": ["arm", "head"], "lower": ["leg"]}).labels("leg")
            ('leg', 'lower', '*')
        """
        paths: list[list[Any]] = []

        def walk(node: Any, above: list[str]) -> None:
            if isinstance(node, Mapping):
                for label, child in node.items():
                    walk(child, [str(label), *above])
            elif isinstance(node, str) or not isinstance(node, Iterable):
                raise HierarchyError("grouping() needs lists of values at the ends: {'label': ['a', 'b']}.")
            else:
                paths.extend([value, *above] for value in node)

        walk(groups, [])
        depth = max((len(path) for path in paths), default=0)
        rows = [[path[0], *[path[1]] * (depth - len(path)), *path[1:], ROOT] for path in paths]
        return TableHierarchy(rows)

    @staticmethod
    def intervals(low: float, high: float, widths: Sequence[float], **options: Any) -> Intervals:
        """Build intervals; see ``Intervals``."""
        return cast("Intervals", KINDS["intervals"](low, high, widths, **options))

    @staticmethod
    def dates(**options: Any) -> Dates:
        """Build day, month, quarter, year, decade; see ``Dates``."""
        return cast("Dates", KINDS["dates"](**options))

    @staticmethod
    def masking(length: int, **options: Any) -> Masking:
        """Build a hierarchy that masks one more character per level; see ``Masking``."""
        return cast("Masking", KINDS["masking"](length, **options))

    @staticmethod
    def automatic(column: Column) -> Hierarchy:
        """Build a hierarchy from what a schema declares public about a column; the data are not looked at."""
        return hierarchy_of(column)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Hierarchy:
        """Read a hierarchy from plain values, as ``to_dict`` wrote them."""
        values = dict(values)
        kind = values.pop("kind", None)
        if kind not in KINDS:
            raise HierarchyError(f"Unknown kind of hierarchy '{kind}'.{did_you_mean(kind, KINDS)}")
        try:
            read: Hierarchy = KINDS[kind].from_plain_values(values)
            return read
        except (KeyError, TypeError):
            raise HierarchyError(f"The saved hierarchy of kind '{kind}' is not complete.") from None

    @classmethod
    def from_plain_values(cls, values: dict[str, Any]) -> Hierarchy:
        """Make one of this kind from its plain values; a kind whose values need reading overrides it."""
        return cls(**values)


class TableHierarchy(Hierarchy, kind="table"):
    """A hierarchy that lists every leaf with its labels.

    Examples:
        >>> TableHierarchy([["m", "*"], ["f", "*"]]).height
        1
    """

    def __init__(self, rows: Iterable[Sequence[Any]], *, from_data: bool = False) -> None:
        self.rows: tuple[tuple[Any, ...], ...] = tuple(tuple(row) for row in rows)
        self.from_data = from_data
        if not self.rows:
            raise HierarchyError("A hierarchy needs at least one row: [value, label, ..., '*'].")
        width = len(self.rows[0])
        for line, row in enumerate(self.rows, 1):
            if len(row) != width:
                raise HierarchyError(
                    f"Row {line} of the hierarchy has {len(row)} levels, the first row has {width}. "
                    "All rows need the same number."
                )
        self._index: dict[Any, int] = {}
        for line, row in enumerate(self.rows):
            if self.rows[self._index.setdefault(cell_key(row[0]), line)] != row:
                raise HierarchyError(
                    f"Row {line + 1} of the hierarchy repeats a value of an earlier row with other labels."
                )
        # A table's numbers meet a text file's digits: "39" covers 39.
        self._texts: dict[str, int] = {}
        for key, line in self._index.items():
            self._texts.setdefault(_text(key[1]), line)
        for key, line in self._index.items():  # and "1.0" covers 1.0, unless the file lists "1" too
            self._texts.setdefault(_number_text(key[1]), line)
        leaves = [self.rows[line] for line in self._index.values()]
        self._domain = len(leaves)
        self._sizes = [Counter(cell_key(row[level]) for row in leaves) for level in range(width)]

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(self.rows[0]) - 1

    @property
    def leaves(self) -> tuple[Any, ...]:
        """The values that the hierarchy covers."""
        return tuple(self.rows[line][0] for line in self._index.values())

    def row_of(self, value: Any) -> int | None:
        """Return the number of the row that covers a value, or None."""
        if value is None:
            for text in ("", "NULL"):
                if text in self._texts:
                    return self._texts[text]
            return None
        line = self._index.get(cell_key(value))
        return self._texts.get(_text(value)) if line is None else line

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        lines = [self.row_of(value) for value in values]
        gap = [value for value, line in zip(values, lines, strict=True) if line is None and value is not None]
        if gap:
            raise HierarchyGap(name, gap)
        # A missing value that the file lists is a leaf like any other; marked so that it is not special-cased.
        shown = [
            _Listed if value is None and line is not None else value for value, line in zip(values, lines, strict=True)
        ]
        found = [line for line in lines if line is not None]
        labels: list[list[Any]] = [_first_values(values, lines)]
        labels += [[self.rows[line][level] for line in found] for level in range(1, self.height + 1)]
        points = [
            [float(self._sizes[level][cell_key(self.rows[line][level])]) for line in found]
            for level in range(self.height + 1)
        ]
        out = resolve_labels(name, shown, labels, points, float(self._domain), from_data=self.from_data)
        if any(value is _Listed for value in shown):
            level0 = tuple(None if label is _Listed else label for label in out.labels[0])
            out = replace(out, values=tuple(values), labels=(level0, *out.labels[1:]))
        return out

    @classmethod
    def from_plain_values(cls, values: dict[str, Any]) -> TableHierarchy:
        """Make one from its rows, whose cells keep their kind."""
        rows = [[from_plain(cell) for cell in row] for row in values["rows"]]
        return cls(rows, from_data=bool(values.get("from_data", False)))

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        return {
            "kind": "table",
            "rows": [[to_plain(cell) for cell in row] for row in self.rows],
            **({"from_data": True} if self.from_data else {}),
        }

    def to_csv(self, path: str | Path) -> None:
        """Write the hierarchy in ARX's format (semicolons, no header)."""
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=";", lineterminator="\n")
            writer.writerows([["" if cell is None else cell for cell in row] for row in self.rows])

    def __repr__(self) -> str:
        # A table made from data would show private values.
        return f"TableHierarchy({len(self.rows)} leaves, {self.height} levels)"


class _ListedMissing:
    """Stands for a missing value that the hierarchy lists as a leaf."""


_Listed = _ListedMissing()


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _number_text(value: Any) -> str:
    """Return a number with decimals as the text by which the same number in a table is looked up.

    Examples:
        >>> _number_text("1.0"), _number_text("0,50"), _number_text("01067")
        ('1', '0.5', '01067')
    """
    text = _text(value)
    return _text(float(text.replace(",", "."))) if _DECIMALS.fullmatch(text) else text


def _first_values(values: Sequence[Any], lines: Sequence[int | None]) -> list[Any]:
    """Level 0 keeps the table's own value; two spellings of one leaf (1 and "1") become the first of them."""
    first: dict[int, Any] = {}
    out = []
    for value, line in zip(values, lines, strict=True):
        if line is not None:
            out.append(first.setdefault(line, _Listed if value is None else value))
    return out


def _nice(width: float, *, whole: bool) -> float:
    """Round a width to 1, 2, 2.5 or 5 times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(width))
    steps = (1, 2, 5, 10) if whole else (1, 2, 2.5, 5, 10)
    out = min((step * power for step in steps), key=lambda step: abs(step - width))
    return max(1.0, round(out)) if whole else out


def nested_widths(low: float, high: float, *, whole: bool) -> list[float]:
    """Return up to four widths, each twice the one before, that cut the range into about sixteen parts.

    Examples:
        >>> nested_widths(18, 100, whole=True)
        [5, 10, 20, 40]
    """
    width = _nice((high - low) / 16, whole=whole)
    out: list[float] = []
    while len(out) < _LEVELS and width < high - low + (1 if whole else 0):
        out.append(int(width) if whole else width)
        width *= 2
    return out


def hierarchy_of(column: Column) -> Hierarchy:
    """Return a hierarchy from a schema's column: bounds, days or categories, never the data.

    Examples:
        >>> from pydplib.schema import Integer
        >>> hierarchy_of(Integer(18, 100)).labels(64)
        (64, '63-67', '58-67', '58-77', '58-97', '*')
    """
    told = column.hierarchy
    if told is None:
        raise HierarchyError(
            "Free text has no automatic hierarchy from a schema. Declare it as Category([...]), give a Hierarchy, "
            "or treat the column as an identifier."
        )
    if told["kind"] == "values":
        return _of_values(told["values"], ordered=told["ordered"])
    if told["kind"] == "intervals" and "widths" not in told:
        told = {**told, "widths": nested_widths(told["low"], told["high"], whole=told["whole"]), "outside": "clamp"}
    if told["kind"] == "dates":
        told = {"outside": "clamp", **told}
    return Hierarchy.from_dict(told)


def _of_values(values: Sequence[Any], *, ordered: bool) -> Hierarchy:
    """Return a hierarchy of a public list: neighbours of an ordered one, shared prefixes of codes, or all at once."""
    if ordered and len(values) > 2:
        return Hierarchy.order(values)
    codes = shared_prefixes([str(value) for value in values])
    if codes and all(isinstance(value, str) for value in values):
        return TableHierarchy([[value, *[value[:n] + ROOT for n in codes], ROOT] for value in values])
    return Hierarchy.flat(values)


def shared_prefixes(codes: Sequence[str]) -> list[int]:
    """Return the lengths of shared prefixes of codes (ICD, postal codes), fine to coarse; empty if not codes."""
    lengths = {len(code) for code in codes}
    alike = len(lengths) == 1 and all(any(c.isdigit() for c in code) and code.isalnum() for code in codes)
    length = min(lengths, default=0)
    if not alike or length < 3 or len(codes) < 4:
        return []
    return list(range(length - 1, 0, -1))
