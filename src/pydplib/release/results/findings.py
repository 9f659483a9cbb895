"""What a release finds besides its values: single numbers, tests, and intervals for the population."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pydplib.release.results.release import Release

COMPARED_WITH = "Each group is compared with"
"""How the note begins that names the first group; figures of comparisons repeat it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One number that follows from the same noisy counts as the values, e.g. a median survival or a p-value.

    Attributes:
        name: Its name in words: "log-rank test", "median, arm a".
        value: The estimate, or the statistic of a test; None where it lies beyond what was measured.
        low: Lower end of the interval for the population (sampling and noise); None where there is no end.
        high: Upper end; None where there is no end.
        noise_low: Lower end of the interval of the noise alone.
        noise_high: Upper end of the interval of the noise alone.
        p: The p-value of a test.
        unit: The unit of the value.
        words: How it is made, in a few words.
        group: The key of the group that it is about, as a label.

    Examples:
        >>> Finding("median", 14.0, low=11.0, high=None, unit="months").text
        'median: 14 months (11 to no end, population)'
    """

    name: str
    value: float | None = None
    _: KW_ONLY
    low: float | None = None
    high: float | None = None
    noise_low: float | None = None
    noise_high: float | None = None
    p: float | None = None
    unit: str = ""
    words: str = ""
    group: str = ""

    @property
    def text(self) -> str:
        """The finding in one line."""
        unit = f" {self.unit}" if self.unit else ""
        shown = "beyond the last bin" if self.value is None else f"{show(self.value)}{unit}"
        parts = [] if self.low is None and self.high is None else [f"{ends_text(self.low, self.high)}, population"]
        if self.p is not None:
            parts.append(p_text(self.p))
        group = f", {self.group}" if self.group else ""
        return f"{self.name}{group}: {shown}" + (f" ({'; '.join(parts)})" if parts else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        plain = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        return {name: value for name, value in plain.items() if value is not None and value != ""}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Finding:
        """Build a finding from ``to_dict``'s values.

        Raises:
            ValueError: If a number or a text is none.
        """
        found = cls(**dict(values))
        for spec in fields(cls):
            value = getattr(found, spec.name)
            texts = spec.name in ("name", "unit", "words", "group")
            if texts and not isinstance(value, str):
                raise ValueError
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not texts and value is not None and not number:
                raise ValueError
        return found


def show(value: float) -> str:
    """Return a number with three significant digits, and whole ones as they are.

    Examples:
        >>> show(0.12345), show(1234.5), show(14.0)
        ('0.123', '1234', '14')
    """
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def ends_text(low: float | None, high: float | None) -> str:
    """Return the ends of an interval with equally many decimals; an end that is not there is said.

    The larger end has three significant digits, the smaller one at least one.

    Examples:
        >>> ends_text(0.93, 0.977), ends_text(0.0808, 2.6), ends_text(11.0, None)
        ('0.930 to 0.977', '0.08 to 2.60', '11 to no end')
    """
    if low is None or high is None:
        return f"{'no end' if low is None else show(low)} to {'no end' if high is None else show(high)}"
    decimals = _decimals(low, high)
    return f"{show(low)} to {show(high)}" if decimals is None else f"{low:.{decimals}f} to {high:.{decimals}f}"


def _decimals(low: float, high: float) -> int | None:
    """Return the decimals with which both ends are shown; None where both are whole."""
    sizes = sorted(abs(end) for end in (low, high) if end)
    if (low == int(low) and high == int(high)) or not sizes:
        return None
    return min(max(0, 2 - math.floor(math.log10(sizes[-1])), -math.floor(math.log10(sizes[0]))), 6)


def estimate_text(value: float, low: float | None, high: float | None) -> str:
    """Return an estimate with its interval, all with the same decimals.

    Examples:
        >>> estimate_text(1.1, 0.571, 2.09), estimate_text(0.7744, 0.39, None)
        ('1.10 (0.57 to 2.09)', '0.774 (0.39 to no end)')
    """
    decimals = None if low is None or high is None else _decimals(low, high)
    shown = show(value) if decimals is None else f"{value:.{decimals}f}"
    return f"{shown} ({ends_text(low, high)})"


def p_text(p: float) -> str:
    """Return a p-value as journals print it.

    Examples:
        >>> p_text(0.001), p_text(0.0312)
        ('p ≤ 0.001', 'p = 0.031')
    """
    return "p ≤ 0.001" if p <= 0.001 else f"p = {p:.2g}"


BOUNDED = ("mean", "sum", "variance", "deviation")
"""Statistics whose population interval uses the public bounds of their values."""


def widest_words(release: Release) -> str:
    """Return why the interval for the population of an average is wide: its spread was not asked for.

    Empty for shares, whose spread follows from the share, and where there is no such interval.
    """
    if release.statistic != "mean" or release.bounds in (None, (0.0, 1.0)) or not release.persons:
        return ""
    asked = release.question.get("of", "")
    return f"The spread of the values was not measured; 'standard error of {asked}' gives a narrower interval."


def _of_squares(release: Release, values: Any, ends: tuple[Any, Any], reach: float) -> tuple[list[float], list[float]]:
    """Return intervals of variances or deviations: squared distances lie between 0 and the squared range."""
    assert release.bounds is not None and release.sizes is not None
    wide = (release.bounds[1] - release.bounds[0]) ** 2
    root = release.statistic == "deviation"
    squares, low, high = (numbers**2 if root else numbers for numbers in (values, *ends))
    sizes = np.maximum(np.asarray(release.sizes, dtype=float), 1.0)
    spread = reach * np.sqrt(np.maximum(squares * (wide - squares), 0.0) / sizes)
    first = np.maximum(squares - np.hypot(squares - low, spread), 0.0)
    last = np.minimum(squares + np.hypot(high - squares, spread), wide / 4)
    last = np.maximum(last, squares)
    return (np.sqrt(first).tolist(), np.sqrt(last).tolist()) if root else (first.tolist(), last.tolist())


_CHOSEN = ("median", "quantiles")


def missing_words(release: Release) -> str:
    """Return why a release has no interval for the population, and what has one; empty where it has one.

    Empty as well where nobody expects one: tests, and rows or values that leave with noise of their own.
    """
    of = release.question.get("of", "")
    if release.population is not None or (release.margins is None and release.choices is None):
        return ""
    if of == "array":
        return "No interval for the population: an array does not say which values are of one person."
    if not release.persons:
        return (
            "No interval for the population: several rows of one person may count, and rows of one person are not "
            "independent. Say which row of each person counts (per person)."
        )
    if release.choices is not None or release.statistic == "mode":
        return (
            "No interval for the population: a most frequent value is no number. "
            f"'histogram of {of}' counts every value, and each count has one."
        )
    if release.statistic in _CHOSEN:
        return (
            "No interval for the population: the value was chosen among public points, and nobody paid for how close "
            f"others lie. Say which row of each person counts (per person), or count: 'histogram of {of}'."
        )
    if release.statistic == "sum":
        return "No interval for the population: values below 0 may cancel out, and nobody paid for how much."
    return ""


def population_of(release: Release) -> tuple[list[float], list[float]] | None:
    """Return intervals for the population (sampling and noise) of a release that stores none, where they can be had.

    Counts: persons arrive by themselves, so that a count varies as a Poisson number does, and the noise adds its
    variance. Averages: a value that lies between public bounds a and b and has the mean m varies by at most
    (m - a)(b - m), exactly that much for yes and no; the interval is therefore never too short. Sums of values from 0
    to b: the squares of all values are at most b times the sum. Variances v: squared distances from the mean lie
    between 0 and the squared range w, so that they vary by at most v (w - v). Each interval adds the noise's own
    half-width and that of sampling by their squares. Quantiles that are read off a table store theirs
    (``group_quantiles.read_quantiles``); ``missing_words`` says why others have none.

    Args:
        release: What was released.
    """
    if not release.persons or release.low is None or release.high is None or release.choices is not None:
        return None
    reach = NormalDist().inv_cdf((1 + release.confidence) / 2)
    values = np.asarray(release.values, dtype=float)
    low, high = np.asarray(release.low, dtype=float), np.asarray(release.high, dtype=float)
    if release.is_count:
        spread = reach * np.sqrt(np.maximum(values, 0.0) + reach**2 / 4)
        ends = (values - np.hypot(values - low, spread), values + np.hypot(high - values, spread) + reach**2 / 2)
        return np.maximum(ends[0], 0.0).tolist(), ends[1].tolist()
    if release.statistic not in BOUNDED or release.bounds is None:
        return None
    least, most = release.bounds
    if release.statistic == "sum":
        if least < 0:
            return None  # nobody knows how much of the sum cancels out
        spread = reach * np.sqrt(most * np.maximum(values, 0.0) + (reach * most) ** 2 / 4)
        ends = values - np.hypot(values - low, spread), values + np.hypot(high - values, spread)
        return np.maximum(ends[0], 0.0).tolist(), ends[1].tolist()
    if release.sizes is None:
        return None
    if release.statistic in ("variance", "deviation"):
        return _of_squares(release, values, (low, high), reach)
    sizes = np.maximum(np.asarray(release.sizes, dtype=float), 1.0)
    part = reach**2 / sizes
    # Wilson's interval of a share (m - a) / (b - a), around the noise's own.
    share = np.clip((values - least) / (most - least), 0.0, 1.0)
    middle = (share + part / 2) / (1 + part)
    half = np.sqrt(share * (1 - share) * part + part**2 / 4) / (1 + part)
    first, last = least + (most - least) * (middle - half), least + (most - least) * (middle + half)
    found = values - np.hypot(values - low, values - first), values + np.hypot(high - values, last - values)
    return np.maximum(found[0], least).tolist(), np.minimum(found[1], most).tolist()
