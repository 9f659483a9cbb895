"""A release: what may leave. Values, how far the noise may have moved them, what is guaranteed and what it cost."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.costs import Cost
from pydplib.errors import DataError, ParameterError, did_you_mean
from pydplib.guarantee import ApproxDP, Guarantee, Relation, guarantee_dict, read_guarantee
from pydplib.release.postprocess import box_data, points, tidy_table
from pydplib.release.results.axes import Axis
from pydplib.release.results.findings import Finding, population_of
from pydplib.release.results.frames import release_frame
from pydplib.release.results.stored import check_stored
from pydplib.release.results.words import release_html, release_text
from pydplib.release.statistics.noise import COVERAGE, MarginUnit, confidence_words
from pydplib.release.statistics.question import STATISTICS, Printed, is_count_of

FORMAT = "pydplib-release/1"
"""The first word of a stored release: readers refuse what they do not know."""

_STORED_95 = {"low": "low95", "high": "high95", "margins": "margins95", "simultaneous": "simultaneous95"}
"""The names under which margins of 95 % are stored."""


@dataclass(frozen=True, eq=True, kw_only=True)
class Release:
    """What was asked, the noisy answer, its margin, its guarantee and its price. Made by ``Session`` or ``dp.mean``.

    Everything in it follows from public facts and noisy numbers: it may be stored, sent and drawn.

    Attributes:
        question: The question as plain values.
        values: The noisy numbers in one row, in the order of the axes.
        guarantee: What is guaranteed about one person.
        cost: What was paid.
        mechanism: What added the noise.
        scale: The scale of the noise, in the value's unit (in ranks for quantiles).
        sensitivity: The most that one person moves the exact values, in the same unit.
        axes: The public keys of the values; empty for a single number.
        low: Lower ends of the intervals.
        high: Upper ends of the intervals.
        margins: Half-widths: the noise moved a value by at most this much in 95 % of all releases (``confidence``).
        simultaneous: The margin that all values keep at once, where several were released together.
        margin_unit: ``"value"``, ``"ranks"`` for quantiles, or ``"rows"`` for modes.
        sizes: Noisy numbers of rows behind each value, where the mechanism gives them for nothing.
        doubtful: 1 for each value of a group that noise alone could have made, else 0; none where no group is.
        noisy: Counts as the noise left them, some below 0, where ``values`` shows 0; tables are tidied from these.
        unit: The unit of the values.
        confidence: How often margins and intervals cover: in this share of all releases.
        choices: Of a mode: the public keys, of which ``values`` are the places; ``value`` is the key itself.
        counted: What the numbers count: how many rows of a person, values within which bounds. Margins and intervals
            are about that bounded table; they do not include how far it lies from the table as it is.
        expected_noise: The expected noise in percent of the reference magnitude, where one is public.
        notes: What else a reader must know, in sentences.
        persons: Whether every row that counts is another person's; only then there are intervals for the population.
        bounds: Of an average: the public bounds of its values.
        population_low: Lower ends of the intervals for the population (sampling and noise), where the statistic gives
            them; None where there is no end. ``population`` has them of every statistic that can have them.
        population_high: Upper ends of these intervals.
        findings: Further numbers from the same noisy counts: medians, tests.
        counts: The noisy table behind the values, where they are computed from one; everything follows from it.
        key: The name of the release in the ledger.
        remarks: What this recipient must know about this one ask, e.g. that it was paid before; never stored.

    Examples:
        >>> import pydplib as dp
        >>> release = dp.mean([61, 67, 70] * 300, bounds=(18, 100), epsilon=1.0)
        >>> 60 < release.value < 72
        True
        >>> dp.Release.from_json(release.to_json()) == release
        True
    """

    question: Mapping[str, Any]
    values: tuple[float, ...]
    guarantee: Guarantee
    cost: Cost
    mechanism: str
    scale: float
    sensitivity: float
    axes: tuple[Axis, ...] = ()
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    margins: tuple[float, ...] | None = None
    simultaneous: float | None = None
    margin_unit: MarginUnit = "value"
    sizes: tuple[float, ...] | None = None
    doubtful: tuple[float, ...] | None = None
    noisy: tuple[float, ...] | None = None
    unit: str = ""
    confidence: float = COVERAGE
    choices: Axis | None = None
    counted: str = ""
    expected_noise: float | None = None
    notes: tuple[str, ...] = ()
    persons: bool = False
    bounds: tuple[float, float] | None = None
    population_low: tuple[float | None, ...] | None = None
    population_high: tuple[float | None, ...] | None = None
    findings: tuple[Finding, ...] = ()
    counts: tuple[float, ...] | None = None
    key: str | None = None
    remarks: tuple[str, ...] = field(default=(), compare=False)
    entry: int | None = field(default=None, compare=False)
    backend: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        cells = int(np.prod([len(axis.keys) for axis in self.axes])) if self.axes else 1
        for name in ("values", "low", "high", "margins", "sizes", "doubtful", "noisy"):
            numbers = getattr(self, name)
            if numbers is None:
                continue
            plain = _all_plain(np.asarray(numbers).ravel())
            if len(plain) != cells:
                raise ParameterError(f"A release needs one entry of {name} per cell: {cells}. Got {len(plain)}.")
            object.__setattr__(self, name, plain)
        for name in ("population_low", "population_high"):
            ends = getattr(self, name)
            if ends is not None and len(ends) != cells:
                raise ParameterError(f"A release needs one entry of {name} per cell: {cells}. Got {len(ends)}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of keys on each axis; empty for a single number."""
        return tuple(len(axis.keys) for axis in self.axes)

    def _shaped(self, numbers: tuple[float, ...] | None) -> Any:
        if numbers is None:
            return None
        if not self.axes:
            return numbers[0]
        array: NDArray[Any] = np.array(numbers).reshape(self.shape)
        array.setflags(write=False)
        return array

    @property
    def value(self) -> Any:
        """The noisy number, or an array of them with one dimension per axis; of a mode, the chosen keys."""
        if self.choices is None:
            return self._shaped(self.values)
        chosen = [self.choices.keys[int(place)] for place in self.values]
        if not self.axes:
            return chosen[0]
        array = np.empty(len(chosen), dtype=object)
        array[:] = chosen
        array = array.reshape(self.shape)
        array.setflags(write=False)
        return array

    def label(self, place: int) -> str | None:
        """Return one chosen key in words; none where values are numbers."""
        return None if self.choices is None else self.choices.label(self.choices.keys[int(self.values[place])])

    @property
    def margin(self) -> Any:
        """How far the noise moved the value, at most, with this ``confidence``: a number, or an array like ``value``.

        For quantiles it counts ranks (``margin_unit``): at most this many rows, as counted, lie between the released
        value and the quantile of the table. A margin in the column's unit would tell how close the values lie, which
        nobody has paid for. For modes it counts rows: at most this many fewer rows have the released value than the
        most frequent one. Not in it: what limits and bounds shift (``counted``), and the sampling error.
        """
        return self._shaped(self.margins)

    @property
    def interval(self) -> Any:
        """(low, high): covers the value of the bounded table with this ``confidence``; None for modes, chosen points.

        The bounded table is what ``counted`` says: rows beyond the limit weigh less, values beyond the bounds count as
        the bound. How far that shifts a value from the table as it is, the interval does not include.
        """
        if self.low is None or self.high is None:
            return None
        return self._shaped(self.low), self._shaped(self.high)

    @property
    def population(self) -> Any:
        """(low, high): covers the number of the population of which these persons are a sample.

        Sampling and noise are both in it; ``interval`` and ``margin`` hold the noise alone. An end is infinite where
        the noise hides it. None where there is no such interval: where several rows of one person may count
        (``persons`` is false), and for statistics whose sampling error nobody paid for (modes, and quantiles that
        were chosen one by one). The printed release says why.
        """
        if self.population_low is not None and self.population_high is not None:
            ends = (self.population_low, self.population_high)
            found = [
                [sign * math.inf if end is None else end for end in row]
                for sign, row in zip((-1, 1), ends, strict=True)
            ]
        else:
            known = population_of(self)
            if known is None:
                return None
            found = list(known)
        low, high = (self._shaped(tuple(row)) for row in found)
        return low, high

    def finding(self, name: str, group: str = "") -> Finding:
        """Return one finding by its name.

        Args:
            name: Its name, e.g. ``"log-rank test"``.
            group: The label of its group, where each group has one.
        """
        for found in self.findings:
            if found.name == name and found.group in (group, ""):
                return found
        names = [found.name for found in self.findings]
        raise ParameterError(f"This release has no finding '{name}'.{did_you_mean(name, names)}")

    def _at95(self, numbers: Any) -> Any:
        """Return margins of 95 % under the names that say so."""
        if self.confidence != COVERAGE:
            raise ParameterError(
                f"The margins of this release have a confidence of {confidence_words(self.confidence)}: use margin, "
                "interval, low, high, margins and simultaneous."
            )
        return numbers

    @property
    def low95(self) -> tuple[float, ...] | None:
        """``low``, of a release with 95 % intervals."""
        return cast(tuple[float, ...] | None, self._at95(self.low))

    @property
    def high95(self) -> tuple[float, ...] | None:
        """``high``, of a release with 95 % intervals."""
        return cast(tuple[float, ...] | None, self._at95(self.high))

    @property
    def margins95(self) -> tuple[float, ...] | None:
        """``margins``, of a release with 95 % margins."""
        return cast(tuple[float, ...] | None, self._at95(self.margins))

    @property
    def simultaneous95(self) -> float | None:
        """``simultaneous``, of a release with 95 % margins."""
        return cast(float | None, self._at95(self.simultaneous))

    @property
    def margin95(self) -> Any:
        """``margin``, of a release with 95 % margins."""
        return self._at95(self.margin)

    @property
    def interval95(self) -> Any:
        """``interval``, of a release with 95 % intervals."""
        return self._at95(self.interval)

    @property
    def keys(self) -> tuple[tuple[Any, ...], ...]:
        """The public key of each value, in the order of ``values``; one empty key for a single number."""
        return tuple(product(*(axis.keys for axis in self.axes)))

    @property
    def is_count(self) -> bool:
        """Whether the values are numbers of rows or people."""
        return is_count_of(self.statistic)

    @property
    def epsilon(self) -> float:
        """The privacy loss of this release."""
        if self.cost.nano_epsilon is None and isinstance(self.guarantee, ApproxDP):  # paid in rho
            return self.guarantee.epsilon
        return self.cost.epsilon

    @property
    def delta(self) -> float:
        """The chance that the guarantee may fail."""
        if self.cost.nano_epsilon is None and isinstance(self.guarantee, ApproxDP):
            return self.guarantee.delta
        return self.cost.delta

    @property
    def relation(self) -> Relation:
        """The neighbouring relation: what "with and without one person" means here."""
        return self.cost.relation

    @property
    def statistic(self) -> str:
        """The word of the question: count, mean, histogram, ..."""
        return str(self.question.get("ask", "release"))

    @property
    def printed(self) -> Printed | None:
        """The release as journals print it, where its statistic has such a form: Table 1."""
        kind = STATISTICS.get(self.statistic)
        return None if kind is None else kind.print_release(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain values, ready for JSON.

        Examples:
            >>> import pydplib as dp
            >>> dp.count([1, 2, 3], epsilon=1.0).to_dict()["guarantee"]["epsilon"]
            1.0
        """
        plain: dict[str, Any] = {"format": FORMAT}
        names = _STORED_95 if self.confidence == COVERAGE else {}
        for spec in fields(self):
            if spec.name in ("entry", "backend", "remarks"):
                continue
            value = getattr(self, spec.name)
            if value is None or (value in ((), "") and spec.name not in ("values", "question")):
                continue
            if spec.name == "persons" and not value:
                continue
            if spec.name == "confidence" and value == COVERAGE:
                continue  # said by the names of the margins
            if spec.name == "guarantee":
                value = guarantee_dict(value)
            elif spec.name == "cost":
                value = value.to_dict()
            elif spec.name == "axes":
                value = [axis.to_dict() for axis in value]
            elif spec.name == "choices":
                value = value.to_dict()
            elif spec.name == "findings":
                value = [found.to_dict() for found in value]
            elif spec.name == "question":
                value = json.loads(json.dumps(dict(value)))
            elif isinstance(value, tuple):
                value = list(value)
            plain[names.get(spec.name, spec.name)] = value
        return plain

    def to_json(self) -> str:
        """Return the release as JSON text: the same text for the same release."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Release:
        """Build a release from ``to_dict``'s values."""
        plain = dict(values)
        try:
            if plain.pop("format") != FORMAT:
                raise ValueError
            plain["guarantee"] = read_guarantee(plain["guarantee"])
            plain["cost"] = Cost.from_dict(plain["cost"])
            plain["axes"] = tuple(Axis.from_dict(axis) for axis in plain.get("axes", ()))
            if "choices" in plain:
                plain["choices"] = Axis.from_dict(plain["choices"])
            if "confidence" not in plain:
                for name, stored in _STORED_95.items():
                    if stored in plain:
                        plain[name] = plain.pop(stored)
            plain["notes"] = tuple(plain.get("notes", ()))
            plain["findings"] = tuple(Finding.from_dict(found) for found in plain.get("findings", ()))
            for name in ("bounds", "population_low", "population_high", "counts"):
                if plain.get(name) is not None:
                    plain[name] = tuple(plain[name])
            release = cls(**plain)
            check_stored(release)
            return release
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError):
            raise DataError(f"This is not a stored release ('{FORMAT}'). Use what Release.to_json gave.") from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Release:
        """Read a release from JSON text."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError, TypeError):
            values = None
        if not isinstance(values, dict):
            raise DataError("A stored release is a JSON object; this text is none.")
        return cls.from_dict(values)

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return a table with one row per value: keys, value, interval, margin.

        Args:
            backend: ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the library the data came in, or
                the first of them that is installed.

        Examples:
            >>> import pydplib as dp
            >>> frame = dp.histogram([61, 67, 70], edges=[50, 60, 70, 80], epsilon=1.0).to_frame(backend="pandas")
            >>> list(frame.columns)
            ['from', 'to', 'value', 'low95', 'high95', 'margin95']
        """
        return release_frame(self, backend or self.backend)

    def tidy(self) -> Release:
        """Return a table of counts as whole numbers of at least 0 that keep the noisy total; costs no privacy."""
        return tidy_table(self)

    def boxes(self) -> Any:
        """Return box plots of a binned column per group, from this table of counts; costs no privacy."""
        return box_data(self)

    def points(self, *, backend: str | None = None) -> Any:
        """Return made-up rows spread over the cells of this table, for any plotting tool; costs no privacy."""
        return points(self, backend=backend)

    def plot(self, **options: Any) -> Any:
        """Return a figure of the release (needs the extra ``plot``)."""
        from pydplib.plot import draw

        return draw(self, **options)

    def __str__(self) -> str:
        return release_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return release_html(self)

    def __float__(self) -> float:
        if self.axes:
            raise TypeError("This release holds several values; use .value or .to_frame().")
        return float(self.value)


def _all_plain(numbers: NDArray[Any]) -> tuple[float, ...]:
    if numbers.dtype.kind in "iu" or (numbers.dtype == np.float64 and not np.isnan(numbers).any()):
        return tuple(numbers.tolist())
    return tuple(_plain(number) for number in numbers.tolist())


def _plain(number: Any) -> float:
    """Return whole numbers as int and the others as float; a release never holds NaN."""
    if isinstance(number, int):
        return number
    value = float(number)
    if value != value:
        raise ParameterError("A release holds numbers only; a value was not one.")
    return value
