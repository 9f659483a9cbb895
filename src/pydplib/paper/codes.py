"""Values to numbers and back: every data type of the paper, text as ordered categories, as codes for the noise."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.noise import uniform_below
from pydplib.paper.containers import Mask, OpenColumn, either
from pydplib.paper.words import Kind, OnMissing, kind_of

_CALENDAR = (-719_162, 2_932_896)  # 0001-01-01 and 9999-12-31 in days since 1970

LARGEST = 1e300
"""Numbers beyond this leave no room for noise in a 64-bit float."""


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """One column as numbers.

    Attributes:
        codes: Booleans, whole numbers or decimals, one per record.
        data_type: The paper's name of the data type.
        kind: How the values are treated.
        members: The categories in their order; a code is a position in it.
        declared: Whether the caller gave them, so that they are public.
        occurring: Whether they are those of the data; else some of them may not occur.
        origin: What the codes of large whole numbers are counted from: a float holds 53 bits of them.
    """

    codes: NDArray[Any]
    data_type: str
    kind: Kind
    members: tuple[Any, ...] = ()
    _: KW_ONLY
    declared: bool = False
    occurring: bool = True
    origin: int = 0

    def __repr__(self) -> str:
        return f"Coded({self.data_type}, {len(self.codes)} values)"  # never the values: they are private

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return values of the column's own kind for codes; exactly the values that were encoded."""
        if self.kind == "category":
            members = np.empty(len(self.members), dtype=object)
            members[:] = self.members
            return members[codes.astype(np.int64)]
        if self.kind == "bool":
            return codes.astype(np.bool_)
        if self.kind == "int":
            return _as_whole(codes) if not self.origin else _counted_from(self.origin, _as_whole(codes))
        if self.kind == "date":
            # Noise can pass the calendar's ends, and a date beyond them has no name in Python.
            days: NDArray[Any] = np.clip(codes, *_CALENDAR).astype(np.int64).astype("datetime64[D]")
            return days
        return codes.astype(np.float64, copy=False)


def _counted_from(origin: int, codes: NDArray[Any]) -> NDArray[Any]:
    listed = [origin + int(code) for code in codes.tolist()]
    try:
        return np.array(listed, dtype=np.int64)
    except OverflowError:
        out = np.empty(len(listed), dtype=object)
        out[:] = listed
        return out


def _as_whole(codes: NDArray[Any]) -> NDArray[Any]:
    if codes.dtype.kind != "f" or not len(codes):
        return codes.astype(np.int64, copy=False)
    if max(abs(float(codes.min())), abs(float(codes.max()))) < 2.0**63:
        return codes.astype(np.int64)
    out = np.empty(len(codes), dtype=object)
    out[:] = [int(code) for code in codes]
    return out


def check_finite(codes: NDArray[Any], *, infinite: bool = False) -> None:
    """Raise if a number is infinite or too large for noise (unless it is going to be clamped), or not a number."""
    if not len(codes):
        return
    lowest, highest = float(codes.min()), float(codes.max())
    if np.isnan(lowest):
        raise DataError("Some values are written as NaN, which is not a number. Leave them empty, or correct them.")
    if infinite:
        return
    if not (np.isfinite(lowest) and np.isfinite(highest)):
        raise DataError("Some values are infinite. No noise hides an infinite value: remove or correct them.")
    if max(abs(lowest), abs(highest)) > LARGEST:
        raise DataError(f"Some values are larger than {LARGEST:g}, too large for any noise. Use another unit.")


OTHER = "other"
"""Where it is a declared category, values that are none of the others count as it."""


def encode_categories(
    column: OpenColumn,
    values: NDArray[Any],
    missing: Mask | None,
    *,
    name: str,
    categories: Sequence[Any] | None,
    with_missing: bool,
    public: bool = False,
) -> CodedColumn:
    """Return text (or anything countable) as positions in an ordered list of categories.

    Args:
        column: The opened column.
        values: Its values that were kept.
        missing: Where a value is missing.
        name: ``"char"`` or ``"string"``.
        categories: The order; else that of the column's type, else the sorted values.
        with_missing: Whether 'missing' is a category of its own.
        public: Whether a value that is no declared category must not fail: see ``encode``.
    """
    if column.family == "float" and not public:
        check_finite(values if missing is None else values[~missing])
    declared = None if categories is None else check_categories(categories)
    gap = _gap(column, declared)  # of declared categories no value decides it
    listed: list[Any] = values.tolist()
    if missing is not None:
        listed = [gap if absent else v for v, absent in zip(listed, missing.tolist(), strict=True)]
    unique = set(listed)
    if declared is None:
        members = _from_data(unique, column, gap, missing)
    else:
        # Appended whether or not a value is missing: the number of categories decides the noise, and must be public.
        members = (*declared, gap) if with_missing and gap not in declared else declared
        if public:
            listed = _known(listed, members)
            unique = set(listed)
        elif not unique <= set(members):
            raise DataError(
                f"Some values are not among the {len(declared)} categories given. Correct them, "
                "or add what is missing to categories=."
            )
    if name == "char" and any(len(str(v)) != 1 for v in unique if v != gap):
        raise DataError("data_type='char' needs single characters; some values are longer. Use data_type='string'.")
    position = {member: i for i, member in enumerate(members)}
    codes = np.fromiter((position[v] for v in listed), dtype=np.int64, count=len(listed))
    occurring = declared is None and column.categories is None
    return CodedColumn(codes, name, "category", members, declared=declared is not None, occurring=occurring)


def _known(listed: list[Any], members: tuple[Any, ...]) -> list[Any]:
    """Return values among the members: others become "other", or a member at random, which says nothing of them.

    An error would tell that such a record is there. Randomised response of a random member is a random member, which
    no more than e^epsilon separates from the response of any value.
    """
    known = set(members)
    gone = [place for place, value in enumerate(listed) if value not in known]
    if not gone:
        return listed
    drawn = [OTHER] * len(gone) if OTHER in known else [members[i] for i in uniform_below(len(members), len(gone))]
    out = list(listed)
    for place, value in zip(gone, drawn, strict=True):
        out[place] = value
    return out


def check_categories(categories: Sequence[Any]) -> tuple[Any, ...]:
    """Return declared categories, or say what they must be."""
    try:
        members = () if isinstance(categories, str) else tuple(categories)
        different = len(set(members)) == len(members)
    except TypeError:  # no list, or a list of lists
        members, different = (), False
    if not different or len(members) < 2:
        raise ParameterError("categories= must be a list of at least two different values, in their order.")
    return members


def _gap(column: OpenColumn, declared: tuple[Any, ...] | None) -> Any:
    """Return what stands for 'missing': what the caller declared, '' next to declared text, else as it came."""
    if declared is not None:
        known = [member for member in declared if member is None or member == ""]
        return known[0] if known else "" if all(isinstance(member, str) for member in declared) else None
    return "" if column.family == "text" and column.missing is None else None


def _from_data(unique: set[Any], column: OpenColumn, gap: Any, missing: Mask | None) -> tuple[Any, ...]:
    """Return the categories in the order of the column's own type, else sorted; 'missing' comes last."""
    present = unique - {gap} if missing is not None else unique
    if column.categories is not None:
        members = column.categories
    else:
        try:
            members = tuple(sorted(present))
        except TypeError:  # an int/string column: numbers before words
            members = tuple(sorted(present, key=lambda v: (isinstance(v, str), str(v))))
    return members if missing is None else (*members, gap)


_EXACT = 2**53
"""A float holds every whole number up to this."""

_DECIMAL = re.compile(r"[+-]?([0-9]{1,30}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")


def encode(
    column: OpenColumn,
    *,
    data_type: str | None,
    on_missing: OnMissing,
    categories: Sequence[Any] | None = None,
    public: bool = False,
    origin: int | None = None,
) -> tuple[CodedColumn, Mask | None]:
    """Return a column as numbers, and which rows were kept (None: all of them).

    Args:
        column: The opened column.
        data_type: A parsed data type, or None to infer it.
        on_missing: What to do with missing values.
        categories: All categories in their order; else the sorted unique values.
        public: Whether no single value may make it fail: infinite ones stay, to be clamped; whole numbers are
            rounded; values of no category become "other" if that is one of them, else a category at random.
        origin: What large whole numbers are counted from; by default the smallest of them, where it must be.

    Raises:
        DataError: If values are missing, infinite, too large or not of the data type.
    """
    if categories is not None:
        categories = check_categories(categories)
    missing = missing_values(column)
    kept = column.values
    keep: Mask | None = None
    if missing is not None:
        if on_missing == "error":
            raise DataError(
                "Some values are missing. They are never noised silently: use on_missing='drop' to leave those "
                "records out, or (for text) on_missing='category' to make 'missing' a category of its own."
            )
        if on_missing == "drop":
            keep = ~missing
            kept, missing = column.values[keep], None
    name = data_type or _infer(column, kept, missing, categories)
    kind = kind_of(name)
    if missing is not None and kind != "category":
        raise DataError(
            "on_missing='category' makes 'missing' a category of its own, so it works for text only. "
            "Use on_missing='drop' for numbers, dates and true/false."
        )
    if kind == "category":
        members = encode_categories(
            column,
            kept,
            missing,
            name=name,
            categories=categories,
            with_missing=on_missing == "category",
            public=public,
        )
        return members, keep
    if categories is not None:
        raise ParameterError(f"categories= describe text; the data type here is {name}. Use bounds=(low, high).")
    if public and kind == "int" and column.family == "float":
        kept = np.rint(kept)
    codes = _CODERS[kind](column, kept)
    if kind == "int" and origin is None and not public:
        origin = _origin(codes)
    if kind == "int" and codes.dtype.kind not in "f" and origin:
        codes, counted = _count_from(origin, codes), origin
    else:
        codes, counted = codes.astype(np.float64) if codes.dtype.kind in "Ou" else codes, 0
    if codes.dtype.kind == "f":
        check_finite(codes, infinite=public)
    return CodedColumn(codes, name, kind, origin=counted), keep


def _origin(codes: NDArray[Any]) -> int | None:
    """Return the smallest of whole numbers that a float cannot tell apart, but could if they were counted from it."""
    if codes.dtype.kind == "f" or not len(codes):
        return None
    low, high = int(codes.min()), int(codes.max())
    return low if max(abs(low), abs(high)) > _EXACT > high - low else None


def _count_from(origin: int, codes: NDArray[Any]) -> NDArray[Any]:
    if codes.dtype.kind == "O" or abs(origin) >= 2**62:
        return np.array([float(int(code) - origin) for code in codes.tolist()], dtype=np.float64)
    return codes.astype(np.int64) - origin


def missing_values(column: OpenColumn) -> Mask | None:
    """Return where values are missing: None, NaN, not-a-time, and text without a letter in it."""
    missing = column.missing
    if column.family == "float":
        gaps = np.isnan(column.values)
    elif column.family == "text":
        blank = {v for v in set(column.values.tolist()) if isinstance(v, str) and not v.strip()}
        if not blank:
            return missing
        gaps = np.fromiter((v in blank for v in column.values), dtype=np.bool_, count=len(column.values))
    else:
        return missing
    return either(missing, gaps)


def _infer(column: OpenColumn, values: NDArray[Any], missing: Mask | None, categories: Sequence[Any] | None) -> str:
    if categories is not None:
        return "char" if all(len(str(member)) == 1 for member in categories) else "string"
    if column.family == "text":
        present = values if missing is None else values[~missing]
        unique = set(present.tolist())
        if unique and all(isinstance(v, int) or _WHOLE.fullmatch(v.strip()) for v in unique):
            return "int"
        if unique and all(isinstance(v, int) or _DECIMAL.fullmatch(v.strip()) for v in unique):
            return "float"
        return "char" if unique and all(len(str(v)) == 1 for v in unique) else "string"
    if column.family == "date":
        return "date"
    if not column.from_numpy:
        return column.family
    return {"bool": "numpy bool", "int": "numpy integer", "float": "numpy float"}[column.family]


def public_type(column: OpenColumn, *, bounds: tuple[Any, Any] | None, categories: Sequence[Any] | None) -> str | None:
    """Return the data type by public facts alone, or None where the column's own dtype says it.

    A list with one decimal in it, or text that happens to be whole numbers, would let one record choose the type
    of everybody's output.
    """
    if categories is not None or (column.typed and column.family != "text"):
        return None  # of declared categories and of dtypes no value decides
    if column.family == "text":
        if not isinstance(bounds, Sequence):
            return "string"
        return "date" if any(isinstance(edge, str | datetime.date | np.datetime64) for edge in bounds) else "float"
    return "float" if column.family in ("int", "float") else column.family


def _parse_text(values: NDArray[Any], what: str, parse: Callable[[str], Any]) -> list[Any]:
    """Return parsed values; each distinct text is parsed once."""
    try:
        table = {v: parse(str(v).strip()) for v in set(values.tolist())}
    except (ValueError, OverflowError):
        raise DataError(
            f"Not every text can be read as {what}. Correct the values, or use data_type='string'."
        ) from None
    return [table[v] for v in values]


def _code_int(column: OpenColumn, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "text":
        return np.array(_parse_text(values, "a whole number", _parse_whole), dtype=np.int64)
    if column.family == "int":
        return values
    if column.family == "float":
        if bool((np.rint(values) == values).all()):  # infinite ones are found later
            return values.astype(np.float64, copy=False)
        raise DataError("data_type='int' needs whole numbers; some values have decimals. Use data_type='float'.")
    raise _mismatch("int", column)


def _parse_whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError
    return int(text)


def _code_float(column: OpenColumn, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "text":
        return np.array(_parse_text(values, "a number", float), dtype=np.float64)
    if column.family in ("float", "int"):
        return values.astype(np.float64, copy=False)
    raise _mismatch("float", column)


def _code_bool(column: OpenColumn, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "bool":
        return values
    if column.family in ("int", "float"):
        if bool(((values == 0) | (values == 1)).all()):
            return values.astype(np.bool_)
        raise DataError("data_type='bool' needs true/false or 0/1; some values are neither.")
    raise _mismatch("bool", column)


def _code_date(column: OpenColumn, values: NDArray[Any]) -> NDArray[Any]:
    if column.family == "text":
        parsed = _parse_text(values, "a date like 2024-01-31", lambda text: np.datetime64(text, "D"))
        values = np.array(parsed, dtype="datetime64[D]")
    elif column.family != "date":
        raise _mismatch("date", column)
    return values.astype("datetime64[D]").astype(np.int64)


def _mismatch(data_type: str, column: OpenColumn) -> DataError:
    family = {"bool": "true/false", "int": "whole numbers", "float": "numbers", "text": "text", "date": "dates"}
    return DataError(
        f"data_type='{data_type}' was asked for, but the values are {family[column.family]}. "
        "Leave data_type out to have it inferred, or convert the values."
    )


_CODERS: dict[Kind, Callable[[OpenColumn, NDArray[Any]], NDArray[Any]]] = {
    "int": _code_int,
    "float": _code_float,
    "bool": _code_bool,
    "date": _code_date,
}
