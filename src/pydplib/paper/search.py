"""Algorithm 1 of the paper: a binary search for the epsilon whose noise lies in a band."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import DataError, ParameterError
from pydplib.paper.coding import encode
from pydplib.paper.containers import open_column
from pydplib.paper.fitting import Range, parse_range, range_from_records
from pydplib.paper.measure import noise_percent, reference
from pydplib.paper.mechanism import MOST_FLIP_RATE, REACH, add_noise
from pydplib.paper.records import Records
from pydplib.paper.words import NOISE_METRICS, NoiseMetric, check_flags, parse_choice
from pydplib.policy.noise_factors import NoiseFactor, parse_noise_factor


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
class Found:
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
) -> Found:
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
            return Found(float(epsilons[middle]), least, most, probes)
        if percent > band[1]:
            low = middle + 1
        else:
            high = middle - 1
    return Found(0.0, least, most, probes)


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
