"""Which scale: the closed form, the bisection behind Eq. 4, or Algorithm 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from pydplib.errors import CalibrationError, DataError
from pydplib.paper.fitted import FittedNoise
from pydplib.paper.fitting import Range
from pydplib.paper.measure import expected_percent, scale_for
from pydplib.paper.mechanism import check_scale
from pydplib.paper.records import Records
from pydplib.paper.search import check_epsilons, default_epsilons, measured_noise, search_epsilon
from pydplib.policy.noise_factors import NoiseFactor


@dataclass(frozen=True, slots=True)
class Chosen:
    """A scale, the paper's epsilon that belongs to it, and the noise to expect."""

    scale: float
    epsilon: float
    percent: float
    notes: tuple[str, ...] = ()


def choose_closed_form(
    factor: NoiseFactor, records: Records, *, fit_to: Range | None, reference: float, sensitivity: float
) -> Chosen:
    """Return the scale whose expected noise is the middle of the band: deterministic, one pass over the data.

    Fitted data have no closed form; there the scale is bisected on at most 20 000 noisy values, and the nearest
    attainable noise is taken where Eq. 4 keeps the middle of the band out of reach.
    """
    scale = scale_for(records.kind, factor.target, reference)
    check_scale(records, scale)
    if fit_to is None:
        return Chosen(scale, sensitivity / scale, 100 * factor.target)
    if len(records) == 1:
        raise DataError(
            "A single record cannot be fitted to a range: Eq. 4 would replace it by the lowest value. "
            "Use is_range=False."
        )
    attained = FittedNoise(records, fit_to, reference).solve(factor)
    notes: tuple[str, ...] = ()
    if attained.outcome != "met":
        what = "The middle of the band" if factor.holds(attained.percent) else "The band"
        took = (
            "took the largest attainable noise"
            if attained.outcome == "too little"
            else "fitting moves the values by more than that, so the noise is that of unfitted values, or a little less"
        )
        notes = (
            f"{what} {factor.low:g} to {factor.high:g} % cannot be reached with Eq. 4 (is_range) on this column; "
            f"{took}: about {attained.percent:.2g} % in all.",
        )
        if attained.outcome == "too little" and records.kind in ("int", "float") and not factor.holds(attained.percent):
            notes += ("noise_metric='range' measures the noise against the range of the values instead.",)
    return Chosen(attained.scale, sensitivity / attained.scale, attained.percent, notes)


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

    Raises:
        CalibrationError: If it finds nothing; names the noise it saw, in whole percents.
    """
    candidates = default_epsilons() if epsilons is None else check_epsilons(epsilons)
    measure = measured_noise(
        records, sensitivity=sensitivity, fit_to=fit_to, reference=reference, repetitions=repetitions
    )
    found = search_epsilon(candidates, factor.band, measure)
    if found.epsilon == 0:
        # Whole percents, outwards: enough to act on, and no exact statistic of the data.
        raise CalibrationError(
            f"Algorithm 1 found no epsilon whose noise lies between {factor.low:g} and {factor.high:g} %; the noise "
            f"it saw went from {_whole(math.floor(found.least))} to {_whole(math.ceil(found.most))} %. "
            "Use selector='closed_form', another range of epsilons=, or is_range=False."
        )
    scale = sensitivity / found.epsilon
    if fit_to is None:
        percent = expected_percent(records.kind, scale, reference)
    else:
        percent = FittedNoise(records, fit_to, reference).percent(scale)
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
