"""Which scale: the closed form, the bisection for fitted values, or Algorithm 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from numpy.typing import ArrayLike

from pydplib.errors import CalibrationError, DataError
from pydplib.paper.fitted import Attained, FittedNoise
from pydplib.paper.fitting import Range
from pydplib.paper.measure import expected_percent, scale_for
from pydplib.paper.mechanism import check_scale
from pydplib.paper.records import Records
from pydplib.paper.search import Found, check_epsilons, default_epsilons, measured_noise, search_epsilon
from pydplib.paper.words import Kind
from pydplib.policy.noise_factors import NoiseFactor

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
    found: Found | None = None
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
