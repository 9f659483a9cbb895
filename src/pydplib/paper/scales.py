"""Which scale: the closed form, the bisection for fitted values, Algorithm 1, or public bounds alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import CalibrationError, DataError, ParameterError
from pydplib.noise import grid_exponent, laplace_records, tap
from pydplib.paper.codes import encode
from pydplib.paper.containers import open_column
from pydplib.paper.mechanism import (
    MOST_FLIP_RATE,
    REACH,
    add_noise,
    check_scale,
    difference,
    expected_percent,
    flip_epsilon,
    noise_percent,
    reference,
    scale_for,
)
from pydplib.paper.ranges import Range, parse_range, range_from_records
from pydplib.paper.records import Records
from pydplib.paper.words import NOISE_METRICS, Kind, NoiseMetric, check_flags, parse_choice
from pydplib.policy.noise_factors import NOISE_FACTORS, NoiseFactor, parse_noise_factor

ROWS = 20_000
"""At most this many records are looked at for each scale that is tried."""

_VALUES = 60_000  # noisy values of a small column, about: enough draws to average over the extremes of each
_DRAWS = 2_000  # of a column of a few values
_DRAWN = 4_000_000  # noisy values drawn, about, to learn how far the extremes of a large column reach
_FLOOR = 1 / 64  # of the scale that unfitted data would get: Eq. 4 moves values by up to b ln(n) more
_STEPS = 24  # scales tried first, from the smallest to the largest
_HALVINGS = 11
_WITHIN = 0.98  # a scale whose noise is within a fiftieth of the largest counts as the largest
_INSIDE = 1.01  # how far inside the band its smallest scale lies: the noise is measured on draws
_LEAST, _MOST = (edge([factor.target for factor in NOISE_FACTORS.values()]) for edge in (min, max))

Points: TypeAlias = NDArray[np.float64]
Outcome: TypeAlias = Literal["middle", "band", "half", "largest"]


@dataclass(frozen=True, slots=True)
class Attained:
    """A scale and the noise it leaves after fitting.

    Attributes:
        scale: The Laplace scale.
        percent: The expected noise after fitting and snapping.
        outcome: Whether the middle of the band was met, only the band (then at its smallest scale, or with half of
            the largest noise where the band begins at 0), or neither (then with the largest that the range allows).
    """

    scale: float
    percent: float
    outcome: Outcome


class FittedNoise:
    """The noise percentage after fitting as a function of the scale.

    Unit noise Z is drawn once; x + b Z is fitted for each b. Few records are drawn
    several times and averaged; of many records an evenly strided part is measured. Eq. 4
    depends on the smallest and largest noisy value of the *whole* column, which for any b > 0 lie
    on the Pareto fronts of (x, Z): of all records only those few points are kept. A declared range
    needs no extremes: each value is clipped by itself.

    Args:
        records: The clamped records.
        fit_to: The range.
        reference: What 100 % noise means.
    """

    def __init__(self, records: Records, fit_to: Range, reference: float) -> None:
        self._kind = records.kind
        self._fit_to = fit_to
        self._reference = reference
        self._span = fit_to.high - fit_to.low
        self._fronts: list[tuple[Points, Points]] = []
        if len(records) <= ROWS:
            draws = min(max(1, _VALUES // len(records)), _DRAWS)
            self._values = records.take(slice(None))[np.newaxis, :]
            self._noise = _unit(draws * len(records)).reshape(draws, len(records))
        else:
            self._values = records.sample(ROWS)[np.newaxis, :]
            self._noise = _unit(self._values.size)[np.newaxis, :]
            draws = min(max(_DRAWN // len(records), 1), 8) if fit_to.stretch else 0
            self._fronts = [fronts_of(records) for _ in range(draws)]

    def percent(self, scale: float) -> float:
        """Return the expected noise in percent after fitting and snapping."""
        noisy = self._values + scale * self._noise
        if not self._fronts:
            return self._percent(noisy, None)
        several = [self._percent(noisy.copy(), extremes_of(front, scale)) for front in self._fronts]
        return sum(several) / len(several)

    def _percent(self, noisy: Points, extremes: tuple[float, float] | None) -> float:
        fitted = self._fit_to.fit(noisy, self._kind, extremes)
        return 100 * difference(self._values, fitted, self._kind, self._reference) / fitted.size

    def solve(self, factor: NoiseFactor) -> Attained:
        """Return the smallest scale whose noise is the middle of the band, or what comes nearest to it.

        The noise of fitted values has a limit: however large the scale, they stay in the range. Where the limit
        lies below the middle of the band but inside it, more noise would add little to the percentage and destroy
        the values, so it is the smallest scale inside the band. A band that begins at 0 has none: there it is half of
        the limit, so that low noise stays below medium. Where the whole band is out of reach, it is the smallest
        scale that comes close to the limit.
        """
        scales, percents = self._curve
        most = float(percents.max())
        if most >= 100 * factor.target:
            return self._reach(scales, percents, 100 * factor.target, "middle")
        if 0 < factor.low <= most:
            return self._reach(scales, percents, min(_INSIDE * factor.low, most), "band")
        if not factor.low:
            return self._reach(scales, percents, most / 2, "half")
        return self._reach(scales, percents, _WITHIN * most, "largest")

    @cached_property
    def _curve(self) -> tuple[Points, Points]:
        """Scales from far below what the least noise needs to far beyond the range, and the noise of each."""
        least, most = (scale_for(self._kind, target, self._reference) for target in (_LEAST, _MOST))
        # In logarithms, so that values near 1e300 do not overflow.
        lowest, highest = math.log(least * _FLOOR), math.log(min(max(8 * self._span, 16 * most), 1e300))
        scales = np.exp(np.linspace(lowest, highest, _STEPS))
        return scales, np.array([self.percent(float(scale)) for scale in scales])

    def _reach(self, scales: Points, percents: Points, target: float, outcome: Outcome) -> Attained:
        """Return the smallest scale whose noise is at least the target, which one of those tried attains."""
        first = int(np.flatnonzero(percents >= target)[0])
        scale = float(scales[first])
        if first:
            scale = self._bisect(float(scales[first - 1]), scale, target)
        return Attained(scale, self.percent(scale), outcome)

    def _bisect(self, low: float, high: float, target: float) -> float:
        for _ in range(_HALVINGS):
            middle = math.sqrt(low) * math.sqrt(high)
            if self.percent(middle) < target:
                low = middle
            else:
                high = middle
        return high


def _unit(size: int) -> NDArray[np.float64]:
    return laplace_records(np.zeros(size), 1.0)


def fronts_of(records: Records) -> tuple[Points, Points]:
    """Return the points (x, z) of all records, with fresh noise z, that can be the smallest or largest x + b z."""
    bottom, top = [], []
    for _, chunk in records.chunks():
        noise = _unit(len(chunk))
        order = np.argsort(chunk)
        values, noise = chunk[order], noise[order]
        bottom.append(-_front(-values, -noise))
        top.append(_front(values[::-1], noise[::-1]))
    return np.concatenate(bottom, axis=1), np.concatenate(top, axis=1)


def _front(values: Points, noise: Points) -> Points:
    """Return the points that no other exceeds in both coordinates; ``values`` must be descending."""
    best = np.maximum.accumulate(noise)
    keep = np.concatenate(([True], noise[1:] > best[:-1]))
    return np.stack((values[keep], noise[keep]))


def extremes_of(fronts: tuple[Points, Points], scale: float) -> tuple[float, float]:
    """Return the smallest and the largest noisy value at a scale."""
    bottom, top = fronts
    return float((bottom[0] + scale * bottom[1]).min()), float((top[0] + scale * top[1]).max())


def default_epsilons() -> NDArray[np.float64]:
    """Return the epsilons that Algorithm 1 tries: 1e-8 to 1e3 in 1101 even ratios.

    Examples:
        >>> epsilons = default_epsilons()
        >>> len(epsilons), float(epsilons[0]), float(epsilons[-1])
        (1101, 1e-08, 1000.0)
    """
    return np.geomspace(1e-8, 1e3, 1101)


def check_epsilons(epsilons: ArrayLike) -> NDArray[np.float64]:
    """Return epsilons as an array; they must be positive and strictly ascending, since noise falls as they grow."""
    try:
        array = np.asarray(epsilons, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0)  # neither numbers nor equally long; whatever it is, it is not quoted
    if array.ndim != 1 or not len(array) or not bool(np.isfinite(array).all()) or array[0] <= 0:
        raise ParameterError("epsilons must be a list of positive, finite numbers, at least one.")
    if not bool((np.diff(array) > 0).all()):
        raise ParameterError("epsilons must be strictly ascending: noise falls as epsilon grows. Sort them first.")
    return array


@dataclass(frozen=True, slots=True)
class FoundEpsilon:
    """What a search found.

    Attributes:
        epsilon: The epsilon, or 0.0 if no probe lay in the band.
        least: The smallest noise percentage seen.
        most: The largest noise percentage seen.
        probes: How many epsilons were tried.
    """

    epsilon: float
    least: float
    most: float
    probes: int


def search_epsilon(
    epsilons: NDArray[np.float64],
    band: tuple[float, float],
    measure: Callable[[float], float],
    *,
    within: tuple[int, int] | None = None,
) -> FoundEpsilon:
    """Return the first probed epsilon whose noise lies in the (closed) band.

    The paper recurses into ``[low, mid]`` or ``[mid, high]``, which never ends on an unreachable band. Here
    the probe itself is left out, so every step at least halves what is left: at most
    ``len(epsilons).bit_length()`` probes, whatever ``measure`` returns.

    Args:
        epsilons: The candidates, ascending.
        band: The percentages that are accepted.
        measure: The noise percentage of an epsilon.
        within: The first and the last index that are tried; by default all.
    """
    low, high = within or (0, len(epsilons) - 1)
    least, most, probes = math.inf, -math.inf, 0
    while low <= high:
        middle = (low + high) // 2
        percent = measure(float(epsilons[middle]))
        least, most, probes = min(least, percent), max(most, percent), probes + 1
        if band[0] <= percent <= band[1]:
            return FoundEpsilon(float(epsilons[middle]), least, most, probes)
        if percent > band[1]:
            low = middle + 1
        else:
            high = middle - 1
    return FoundEpsilon(0.0, least, most, probes)


def measured_noise(
    records: Records, *, sensitivity: float, fit_to: Range | None, reference: float, repetitions: int
) -> Callable[[float], float]:
    """Return the function that Algorithm 1 probes: the mean noise percentage of some repetitions."""
    peak = max(abs(edge) for edge in records.extremes) or 1.0

    def measure(epsilon: float) -> float:
        scale = sensitivity / epsilon
        if records.kind == "bool":
            if 1 / scale > MOST_FLIP_RATE:
                return -math.inf  # no value would ever flip: not even the low band takes that
            scale = min(scale, 1e12)
        else:
            # Beyond these the percentage has long reached its limit, and a float could not tell the difference.
            scale = min(max(scale, peak / REACH, 1e-290), peak * REACH, 1e300)
        noisy = (add_noise(records, scale, fit_to) for _ in range(repetitions))
        return sum(noise_percent(records, values, reference) for values in noisy) / repetitions

    return measure


def binary_search_epsilon(
    epsilons: ArrayLike,
    data: Any,
    noise_level: str | int | tuple[float, float],
    *,
    is_bool: bool,
    is_range: bool,
    sensitivity: float,
    repetitions: int = 5,
    range_values: Any = None,
    categories: Sequence[Any] | None = None,
    noise_metric: NoiseMetric = "wmape",
    low_idx: int = 0,
    hi_idx: int | None = None,
) -> float:
    """Return an epsilon whose noise lies in the band, or 0.0 if none does (Algorithm 1).

    The first probe in the band wins, so the answer depends on ``epsilons`` and on chance; the low band accepts
    no noise at all. With few records the answer is often outside the band in the long run (20 % of the
    time with 3 records, 4 % with 100). ``dp_calculate``'s closed form has none of these traits.

    Args:
        epsilons: The candidates, strictly ascending.
        data: The records.
        noise_level: A noise factor (0, 1, 2, low, medium, high), or a band in percent such as ``(5, 10)``.
        is_bool: Whether the records are true/false.
        is_range: Whether the noisy values are fitted to the range (Eq. 4).
        sensitivity: The sensitivity of the query; positive.
        repetitions: Over how many draws the noise of a candidate is averaged.
        range_values: The range for Eq. 4; taken from the data if not given.
        categories: The order of a text column's categories.
        noise_metric: ``"wmape"``, or ``"range"`` for percent of the range.
        low_idx: The first index of ``epsilons`` that is tried.
        hi_idx: The last one; by default the last of all. Below ``low_idx`` nothing is found, as in the paper.

    Examples:
        >>> ages = [50 + i % 30 for i in range(900)]
        >>> epsilon = binary_search_epsilon(
        ...     np.geomspace(1e-6, 10, 200), ages, "high", is_bool=False, is_range=False, sensitivity=29 / 900)
        >>> 0.002 < epsilon < 0.006
        True
        >>> binary_search_epsilon([1.0, 2.0], ages, "high", is_bool=False, is_range=False, sensitivity=29 / 900)
        0.0
    """
    candidates = check_epsilons(epsilons)
    within = _indices(low_idx, hi_idx, len(candidates))
    check_flags(is_bool=is_bool, is_range=is_range)
    band = _band(noise_level)
    metric = parse_choice("noise_metric", noise_metric, NOISE_METRICS)
    if not (isinstance(sensitivity, int | float | np.number) and math.isfinite(sensitivity) and sensitivity > 0):
        raise ParameterError("sensitivity must be a positive, finite number: with 0 raw values would leave.")
    if not (isinstance(repetitions, int) and repetitions >= 1):
        raise ParameterError("repetitions must be a whole number of at least 1.")
    column = open_column(data)
    coded, _ = encode(column, data_type="bool" if is_bool else None, on_missing="error", categories=categories)
    if not len(coded.codes):
        return 0.0
    records = Records(coded.codes, coded.kind, origin=float(coded.origin))
    if coded.kind == "category" and not is_range:
        raise DataError("Text needs is_range=True: noisy categories must be fitted to those that exist.")
    fit_to = None
    if is_range and coded.kind != "bool":
        fit_to = range_from_records(records, coded) if range_values is None else parse_range(range_values, coded)
    measure = measured_noise(
        records,
        sensitivity=float(sensitivity),
        fit_to=fit_to,
        reference=reference(records, metric),
        repetitions=repetitions,
    )
    return search_epsilon(candidates, band, measure, within=within).epsilon


def _indices(low_idx: object, hi_idx: object, size: int) -> tuple[int, int]:
    last = size - 1 if hi_idx is None else hi_idx
    for name, index in (("low_idx", low_idx), ("hi_idx", last)):
        if isinstance(index, bool) or not isinstance(index, int | np.integer) or not 0 <= index < size:
            raise ParameterError(f"{name} must be an index of epsilons: a whole number from 0 to {size - 1}.")
    return int(low_idx), int(last)  # type: ignore[call-overload]


def _band(noise_level: object) -> tuple[float, float]:
    if isinstance(noise_level, NoiseFactor):
        return noise_level.band
    if isinstance(noise_level, tuple | list):
        try:
            low, high = (float(edge) for edge in noise_level)
        except (TypeError, ValueError):
            low, high = math.nan, math.nan
        if not 0 <= low <= high < math.inf:
            raise ParameterError("A noise band is (low, high) in percent, with 0 <= low <= high, e.g. (10, 20).")
        return low, high
    return parse_noise_factor(noise_level).band


_TOOK = {
    "band": "the smallest noise inside the band",
    "half": "half of the largest attainable noise",
    "largest": "the largest attainable noise",
}
_SEARCHES = 10  # of fitted data, until the long run agrees with the five draws of the paper


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scale, the paper's epsilon that belongs to it, and the noise to expect."""

    scale: float
    epsilon: float
    percent: float
    notes: tuple[str, ...] = ()


def closed_form_of(
    records: Records, *, fit_to: Range | None, reference: float, sensitivity: float
) -> Callable[[NoiseFactor], Chosen]:
    """Return the function that chooses a scale for a noise factor.

    Unfitted data have a closed form: the same data give the same scale. Fitted data have none; there the scale is
    bisected on noisy values drawn for the purpose (see ``FittedNoise``), so that it varies a little from call to
    call. One function gives every factor its scale from the same draws: more noise never gets a smaller scale.
    """
    if fit_to is not None and fit_to.stretch and len(records) == 1:
        raise DataError(
            "A single record cannot be fitted to a range: Eq. 4 would replace it by the lowest value. "
            "Use is_range=False."
        )
    noise: FittedNoise | None = None

    def choose(factor: NoiseFactor) -> Chosen:
        nonlocal noise
        scale = scale_for(records.kind, factor.target, reference)
        check_scale(records, scale)
        if fit_to is None:
            return Chosen(scale, sensitivity / scale, 100 * factor.target)
        noise = noise or FittedNoise(records, fit_to, reference)
        attained = noise.solve(factor)
        notes = _out_of_reach(attained, factor, records.kind)
        return Chosen(attained.scale, sensitivity / attained.scale, attained.percent, notes)

    return choose


def _out_of_reach(attained: Attained, factor: NoiseFactor, kind: Kind) -> tuple[str, ...]:
    if attained.outcome == "middle":
        return ()
    inside = factor.holds(attained.percent)
    what = "The middle of the band" if inside else "The band"
    took = _TOOK[attained.outcome]
    notes: tuple[str, ...] = (
        f"{what} {factor.low:g} to {factor.high:g} % cannot be reached, because the noisy values stay in the range of "
        f"this column (is_range); took {took}: about {attained.percent:.2g} % on average.",
    )
    if not inside and kind in ("int", "float"):
        notes += ("noise_metric='range' measures the noise against the range of the values instead.",)
    return notes


def choose_by_search(
    factor: NoiseFactor,
    records: Records,
    *,
    fit_to: Range | None,
    reference: float,
    sensitivity: float,
    epsilons: ArrayLike | None,
    repetitions: int,
) -> Chosen:
    """Return what Algorithm 1 finds, and the noise to expect of it in the long run.

    Five draws tell little where Eq. 4 follows the most extreme of them, so fitted data are searched again while what
    was found lies outside the band in the long run, at most ten times.

    Raises:
        CalibrationError: If it finds nothing; names the noise it saw, in whole percents.
    """
    candidates = default_epsilons() if epsilons is None else check_epsilons(epsilons)
    measure = measured_noise(
        records, sensitivity=sensitivity, fit_to=fit_to, reference=reference, repetitions=repetitions
    )
    noise = None if fit_to is None else FittedNoise(records, fit_to, reference)
    least, most = math.inf, -math.inf
    found: FoundEpsilon | None = None
    percent = math.nan
    for _ in range(_SEARCHES if noise is not None else 1):
        attempt = search_epsilon(candidates, factor.band, measure)
        least, most = min(least, attempt.least), max(most, attempt.most)
        if attempt.epsilon == 0:
            continue
        found, scale = attempt, sensitivity / attempt.epsilon
        percent = expected_percent(records.kind, scale, reference) if noise is None else noise.percent(scale)
        if factor.holds(percent):
            break
    if found is None:
        # Whole percents, outwards: enough to act on, and no exact statistic of the data.
        raise CalibrationError(
            f"Algorithm 1 found no epsilon whose noise lies between {factor.low:g} and {factor.high:g} %; the noise "
            f"it saw went from {_whole(math.floor(max(least, 0)))} to {_whole(math.ceil(max(most, 0)))} %. "
            "Use selector='closed_form', another range of epsilons=, or is_range=False."
        )
    scale = sensitivity / found.epsilon
    notes = []
    if not factor.holds(percent):
        notes.append(
            "Algorithm 1 stopped at an epsilon whose noise lies outside the band in the long run, as it often does "
            "with few records. selector='closed_form' does not."
        )
    if percent < 0.5:
        notes.append("There is almost no noise: the low band accepts none at all, and the first probe in it wins.")
    return Chosen(scale, found.epsilon, percent, tuple(notes))


def _whole(value: int) -> str:
    return str(value) if abs(value) <= 1000 else "more than 1000"


LEAST, MOST = 1e-9, 500.0
"""The record epsilons that can be asked for: at either end nobody could tell the result from all or nothing."""


@dataclass(frozen=True, slots=True)
class PublicScale:
    """Noise that was fixed without looking at a single value.

    Attributes:
        scale: The Laplace scale; for categories the one whose record epsilon would be the same.
        record_epsilon: The local guarantee of one record, rounding included.
        percent: The expected noise: percent of the public range, or of values that change.
    """

    scale: float
    record_epsilon: float
    percent: float


def public_scale(
    kind: Kind,
    *,
    span: tuple[float, float],
    factor: NoiseFactor | None,
    record_epsilon: float | None,
    categories: int = 0,
) -> PublicScale:
    """Return the noise for a band or for a record epsilon, from public facts only.

    Numbers, whole numbers and dates: b = R / epsilon, or the b whose expected noise is the band's middle as
    a share of the public range R. True/false: a flip probability. Categories: k-ary randomised response.

    Args:
        kind: How values are treated.
        span: The public bounds.
        factor: The noise factor, if a band is asked for.
        record_epsilon: The guarantee, if that is asked for, between 1e-9 and 500.
        categories: How many categories there are.

    Examples:
        >>> found = public_scale("float", span=(18, 100), factor=None, record_epsilon=4.0)
        >>> found.record_epsilon <= 4.0, round(found.scale, 1)
        (True, 20.5)
    """
    if record_epsilon is not None and not (
        isinstance(record_epsilon, int | float | np.number) and 0 < record_epsilon < math.inf
    ):
        raise ParameterError("record_epsilon must be a positive, finite number; there is no default.")
    if record_epsilon is not None and not LEAST <= record_epsilon <= MOST:
        raise ParameterError(
            f"record_epsilon must lie between {LEAST:g} and {MOST:g}: below, nothing would be left of the data, "
            "beyond, nothing would be hidden."
        )
    if kind == "category":
        return _for_categories(categories, factor, record_epsilon)
    if kind == "bool":
        return _for_flips(factor, record_epsilon)
    low, high = span
    width = high - low
    if factor is not None:
        scale = scale_for(kind, factor.target, width)
    else:
        assert record_epsilon is not None
        scale = _scale_for_epsilon(low, high, float(record_epsilon))
    # Where both bounds round to the same step, all records look alike: what was asked for holds all the more.
    epsilon = grid_epsilon(low, high, scale) or float(record_epsilon or LEAST)
    return PublicScale(scale, epsilon, expected_percent(kind, scale, width))


def grid_epsilon(low: float, high: float, scale: float) -> float:
    """Return the exact record epsilon of ``laplace_records`` for values clamped to [low, high], rounded up.

    Proof: Values become whole steps of the grid 2^k, floor(x/2^k + 1/2), so clamped values are at most D steps
    apart, D the difference of the rounded bounds; noise of scale t = scale / 2^k steps gives D / t.
    """
    step = Fraction(2) ** grid_exponent(scale)
    half = Fraction(1, 2)
    steps = math.floor(Fraction(high) / step + half) - math.floor(Fraction(low) / step + half)
    exact = steps * step / Fraction(scale)
    rounded = float(exact)
    return rounded if Fraction(rounded) >= exact else math.nextafter(rounded, math.inf)


def _scale_for_epsilon(low: float, high: float, record_epsilon: float) -> float:
    """Return the smallest scale (almost) whose exact record epsilon does not exceed what was asked."""
    scale = (high - low) / record_epsilon
    while grid_epsilon(low, high, scale) > record_epsilon:
        # Rounding to the grid costs at most one step, a thousandth of the scale.
        scale *= 1 + 2.0**-12
    return scale


def _for_flips(factor: NoiseFactor | None, record_epsilon: float | None) -> PublicScale:
    if factor is not None:
        scale = scale_for("bool", factor.target, 1.0)
    else:
        assert record_epsilon is not None
        # p = 1/(1 + e^epsilon) = exp(-x)/2 and x = 1/(2b), so x = ln((e^epsilon + 1)/2).
        epsilon = float(record_epsilon)
        grown = math.log1p(math.expm1(epsilon) / 2)  # in these words no digit is lost however small epsilon is
        scale = 1 / (2 * grown)
        while flip_epsilon(scale) > epsilon:
            scale *= 1 + 2.0**-40
    return PublicScale(scale, flip_epsilon(scale), expected_percent("bool", scale, 1.0))


def _for_categories(categories: int, factor: NoiseFactor | None, record_epsilon: float | None) -> PublicScale:
    if factor is not None:
        epsilon = math.log((1 - factor.target) * (categories - 1) / factor.target)
    else:
        assert record_epsilon is not None
        epsilon = float(record_epsilon)
    change = (categories - 1) * math.exp(-epsilon) / (1 + (categories - 1) * math.exp(-epsilon))
    return PublicScale((categories - 1) / epsilon, epsilon, 100 * change)


def randomize_categories(codes: NDArray[Any], categories: int, record_epsilon: float) -> NDArray[np.int64]:
    """Return category codes, each kept with e^epsilon/(e^epsilon + k - 1) and else another one at random.

    Proof: The kept code has probability q = e^epsilon/(e^epsilon + k - 1), every other one
    (1 - q)/(k - 1) = q / e^epsilon: the ratio is e^epsilon (k-ary randomised response, ``tap.respond``).
    """
    return tap.respond(codes.astype(np.int64), Fraction(record_epsilon), categories=categories)
