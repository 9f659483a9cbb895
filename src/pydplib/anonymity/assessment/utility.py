"""What a release is still good for: distributions before and after, and a classifier trained on either."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.hierarchies.rules import as_number
from pydplib.anonymity.result import AnonymizationResult
from pydplib.anonymity.tables.columns import ROOT, Floats
from pydplib.anonymity.tables.frames import ColumnCodes, Frame
from pydplib.anonymity.tables.values import as_text, read_set, show
from pydplib.errors import DataError, HierarchyError, ParameterError, import_extra

_BINS = 10
_NOTHING = "nothing known"
_FOLDS = 5
_SEED = 0  # of the classifier's trees and folds: an owner's own measurement, the same in every run
_ENDS = re.compile(r"\s*[\[(]?\s*(-?\d+(?:\.\d+)?)\s*(?:-|,|to)\s*(-?\d+(?:\.\d+)?)\s*[\])]?\s*")


@dataclass(frozen=True, kw_only=True)
class ColumnChange:
    """The distribution of one column before and after. It names bins and ranks, never a value of a cell.

    Attributes:
        column: The column.
        role: ``"quasi-identifier"``, ``"sensitive"`` or ``"kept"``.
        bins: Intervals of numbers, or "1st", "2nd", ... by frequency in the original.
        before: Share of the original's rows per bin.
        after: Share of the released rows per bin; what a coarse label covers is spread evenly over it. Labels that
            cover everything, such as ``*``, have a bin of their own, "nothing known".
        distance: Half the sum of the differences: 0 alike, 1 nothing in common.
    """

    column: str
    role: str
    bins: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def distance(self) -> float:
        """The total variation distance between both distributions."""
        return float(sum(abs(a - b) for a, b in zip(self.before, self.after, strict=True)) / 2)

    @property
    def nothing_known(self) -> float:
        """The share of released rows whose label covers everything."""
        return self.after[-1] if self.bins[-1] == _NOTHING else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the change as plain values."""
        return {**vars(self), "distance": self.distance}


def compare_columns(table: Any, result: AnonymizationResult) -> tuple[ColumnChange, ...]:
    """Return the distribution of every released column, before and after.

    Args:
        table: The original.
        result: What ``anonymize`` made of it.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import Intervals, KAnonymity, anonymize
        >>> table = pd.DataFrame({"age": [31, 33, 38, 52, 55, 59]})
        >>> result = anonymize(table, {"age": Intervals(0, 99, [10, 20])}, models=[KAnonymity(3)])
        >>> [change] = compare_columns(table, result)
        >>> change.column, round(sum(change.after), 6)
        ('age', 1.0)
    """
    original, released = Frame(table), Frame(result.data)
    roles = {
        **dict.fromkeys(result.quasi_identifiers, "quasi-identifier"),
        **dict.fromkeys(result.sensitive, "sensitive"),
        **dict.fromkeys(result.recipe.insensitive, "kept"),
    }
    out = []
    for name, role in roles.items():
        if name in original.columns and name in released.columns and len(original) and len(released):
            tree = result.recipe.hierarchies.get(name)
            out.append(_compare(original.coded(name), released.coded(name), role, tree))
    return tuple(out)


def _compare(before: ColumnCodes, after: ColumnCodes, role: str, tree: Hierarchy | None) -> ColumnChange:
    values = list(before.values)
    counts = np.bincount(before.codes, minlength=len(values)).astype(np.float64)
    numbers = [_number(value) for value in values]
    real = [number for number in numbers if number is not None]
    if len(real) > _BINS and len(real) >= len(values) - 1:
        edges = _edges(min(real), max(real))
        bins = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(edges.tolist())]
        lost = len(bins)
        of_value = [lost if x is None else min(int(np.searchsorted(edges, x, "right")) - 1, lost - 1) for x in numbers]
    else:
        order = np.argsort(-counts, kind="stable")
        place = {int(code): at for at, code in enumerate(order)}
        lost = min(len(values), _BINS)
        of_value = [min(place[code], lost) for code in range(len(values))]
        bins = [_ordinal(at + 1) for at in range(lost)]
    bins += ["missing" if len(real) > _BINS else "all others", _NOTHING]
    first = np.bincount(of_value, weights=counts, minlength=len(bins)) / counts.sum()
    cover = _covers(values, numbers, after.values, tree)
    second = np.zeros(len(bins))
    for members, count in zip(cover, np.bincount(after.codes, minlength=len(after.values)), strict=True):
        if len(members) == len(values) > 1:
            # It covers every value of the original. The receiver does not know these: nothing is left to compare.
            second[-1] += count
            continue
        # Within a label nothing is known: every value that it covers is taken to be as likely.
        np.add.at(second, [of_value[i] for i in members], count / max(len(members), 1))
    total = second.sum()
    second = second / total if total else second
    keep = [i for i in range(len(bins)) if i < len(bins) - 2 or first[i] or second[i]]
    return ColumnChange(
        column=before.name,
        role=role,
        bins=tuple(bins[i] for i in keep),
        before=tuple(map(float, first[keep])),
        after=tuple(map(float, second[keep])),
    )


def _covers(
    values: Sequence[Any], numbers: Sequence[float | None], labels: Sequence[Any], tree: Hierarchy | None
) -> list[list[int]]:
    """Return, per released label, the original values that it covers."""
    known: dict[str | None, list[int]] = {}
    for place, value in enumerate(values):
        known.setdefault(as_text(value), []).append(place)
    if tree is not None:
        try:
            found = tree.resolve("column", list(values))
        except HierarchyError:
            found = None
        for level in range(1, 0 if found is None else found.height + 1):
            assert found is not None
            for place, code in enumerate(found.levels[level].tolist()):
                members = known.setdefault(as_text(found.labels[level][code]), [])
                if place not in members[-1:]:
                    members.append(place)
    everything = list(range(len(values)))
    out = []
    for label in labels:
        text = as_text(label)
        if text in known:
            out.append(sorted(set(known[text])))
        elif text is not None and text.startswith("{"):
            parts = {show(value): place for place, value in enumerate(values)}
            found_parts = [parts[show(part)] for part in read_set(text) if show(part) in parts]
            out.append(found_parts or everything)
        else:
            out.append(_between(text, numbers) or everything)
    return out


def _between(text: str | None, numbers: Sequence[float | None]) -> list[int]:
    """Return the values between the ends of an interval, or nearest to a single number (a mean)."""
    if text is None or text == ROOT:
        return []
    found = _ENDS.fullmatch(text)
    if found is not None:
        low, high = map(float, found.groups())
        return [i for i, x in enumerate(numbers) if x is not None and low <= x <= high]
    mean = as_number(text)
    near = [(abs(x - mean), i) for i, x in enumerate(numbers) if x is not None] if mean is not None else []
    return [min(near)[1]] if near else []


def _number(value: Any) -> float | None:
    """Return a number, or a day as years with decimals; None for everything else."""
    if hasattr(value, "timetuple"):
        return float(value.year + (value.timetuple().tm_yday - 1) / 366)
    return None if value is None else as_number(value)


def _edges(low: float, high: float) -> Floats:
    """Return about ten intervals with round ends that hold all values."""
    raw = (high - low) / _BINS or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    width = next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= raw - 1e-12)
    start = math.floor(low / width) * width
    steps = np.arange(max(math.ceil((high - start) / width + 1e-9), 1) + 1, dtype=np.float64)
    return np.asarray(start + width * steps, dtype=np.float64)


def _ordinal(number: int) -> str:
    return f"{number}{'th' if 10 < number % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


@dataclass(frozen=True, repr=False, kw_only=True)
class Classification(Shown):
    """How well a sensitive column is predicted from the other columns, before and after.

    Attributes:
        target: The column that is predicted.
        features: The columns that it is predicted from.
        before: Share of right predictions of a classifier trained and tried on the original.
        after: The same on the release.
        baseline: The share of the most common value of the release: always saying that.
        rows: Released rows.
    """

    target: str
    features: tuple[str, ...]
    before: float
    after: float
    baseline: float
    rows: int

    @property
    def kept(self) -> float | None:
        """The part of what a classifier gains over the baseline that the release keeps; None where there is none."""
        gain = self.before - self.baseline
        return None if gain <= 0.005 else max(0.0, min(1.0, (self.after - self.baseline) / gain))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return {**vars(self), "features": list(self.features), "kept": self.kept}

    def __str__(self) -> str:
        return (
            f"{self.target} is predicted right in {100 * self.before:.3g} % of the original's rows and in "
            f"{100 * self.after:.3g} % of the released ones; always saying the most common value: "
            f"{100 * self.baseline:.3g} %."
        )


def compare_classifier(
    table: Any, result: AnonymizationResult, target: str | None = None, *, most_rows: int = 20_000
) -> Classification:
    """Train a classifier on the original and on the release, and compare how often each is right.

    A random forest (scikit-learn) predicts the target from all released columns but the sensitive ones, in five-fold
    cross-validation. Intervals enter as their middle, other labels as categories.

    Args:
        table: The original.
        result: What ``anonymize`` made of it.
        target: The column to predict; by default the first sensitive one.
        most_rows: Rows that are used at most, the first ones of the shuffled release and as many of the original.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    target = target if target is not None else next(iter(result.sensitive), None)
    original, released = Frame(table), Frame(result.data)
    if target is None or target not in released.columns:
        raise ParameterError("Name a released column to predict: compare_classifier(table, result, 'diagnosis').")
    original.check_columns([target], "to predict")
    names = [name for name in (*result.quasi_identifiers, *result.recipe.insensitive)
             if name in original.columns and name in released.columns and name != target]  # fmt: skip
    if not names:
        raise ParameterError("There is no other column to predict it from.")
    classes = [value for value in original.coded(target).values if value is not None]
    if len(classes) > 50:
        raise DataError(f"'{target}' has more than 50 values; a classifier needs few. Choose another column.")
    before = _accuracy(original, names, target, most_rows)
    after = _accuracy(released, names, target, most_rows)
    counts = np.bincount(released.coded(target).codes)
    return Classification(
        target=target,
        features=tuple(names),
        before=before,
        after=after,
        baseline=float(counts.max() / counts.sum()),
        rows=len(released),
    )


def _accuracy(frame: Frame, names: Sequence[str], target: str, most_rows: int) -> float:
    sklearn = "A classifier before and after"
    trees = import_extra("sklearn.ensemble", what=sklearn, extra="utility")
    selection = import_extra("sklearn.model_selection", what=sklearn, extra="utility")
    wanted = frame.coded(target).codes[:most_rows]
    rare = np.bincount(wanted) < _FOLDS
    use = ~rare[wanted]  # a value that not every fold can hold cannot be learnt
    if use.sum() < 4 * _FOLDS or len(np.unique(wanted[use])) < 2:
        raise DataError(f"There are too few rows, or only one value of '{target}', to train a classifier.")
    columns = np.concatenate([_features(frame.coded(name), most_rows) for name in names], axis=1)
    forest = trees.RandomForestClassifier(n_estimators=40, min_samples_leaf=5, random_state=_SEED)
    folds = selection.StratifiedKFold(_FOLDS, shuffle=True, random_state=_SEED)
    return float(np.mean(selection.cross_val_score(forest, columns[use], wanted[use], cv=folds)))


def _features(column: ColumnCodes, most_rows: int) -> Floats:
    """Return a column as numbers: itself, the middle of its intervals, or one column per frequent category."""
    middles = [_middle(value) for value in column.values]
    codes = column.codes[:most_rows]
    if sum(middle is None for middle in middles) <= 1 and len(middles) > 2:
        known = [middle for middle in middles if middle is not None]
        fill = float(np.mean(known)) if known else 0.0
        numbers = np.array([fill if middle is None else middle for middle in middles], dtype=np.float64)
        return np.asarray(numbers[codes][:, np.newaxis])
    frequent = np.argsort(-np.bincount(codes, minlength=len(middles)), kind="stable")[:20]
    return np.asarray(codes[:, np.newaxis] == frequent[np.newaxis, :], dtype=np.float64)


def _middle(value: Any) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    if hasattr(value, "toordinal"):
        return float(value.toordinal())
    number = as_number(value)
    if number is not None:
        return number
    found = _ENDS.fullmatch(str(value))
    return None if found is None else sum(map(float, found.groups())) / 2
