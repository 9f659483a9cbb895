"""What was asked of ``dp_calculate``, checked before a single value is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.errors import ParameterError
from pydplib.paper.words import (
    NOISE_METRICS,
    ON_MISSING,
    SELECTORS,
    NoiseMetric,
    OnMissing,
    QueryType,
    Selector,
    parse_choice,
    parse_data_type,
    parse_query_type,
    parse_role,
)
from pydplib.policy.noise_factors import NoiseFactor, parse_noise_factor

REPETITIONS = 5
"""Over how many draws the paper's Algorithm 1 averages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperPlan:
    """A checked request; arguments as in ``dp_calculate``."""

    query: QueryType
    factor: NoiseFactor | None
    record_epsilon: float | None
    selector: Selector
    metric: NoiseMetric
    on_missing: OnMissing
    data_type: str | None
    is_range: bool
    aggregated: bool
    realised: bool
    repetitions: int

    @property
    def public(self) -> bool:
        """Whether the noise must come from public facts alone."""
        return self.selector == "public"


def make_plan(
    *,
    query_type: object,
    noise_factor: object,
    role: object,
    record_epsilon: float | None,
    selector: object,
    noise_metric: object,
    on_missing: object,
    data_type: object,
    is_range: bool,
    has_range_values: bool,
    aggregated: bool,
    realised: bool,
    has_epsilons: bool,
    repetitions: int,
) -> PaperPlan:
    """Return a plan, or say which arguments contradict each other."""
    query = parse_query_type(query_type)
    factor = _factor(noise_factor, role, record_epsilon)
    how = parse_choice("selector", selector, SELECTORS)
    if record_epsilon is not None:
        if how == "search":
            raise ParameterError("record_epsilon= fixes the noise, so there is nothing to search: leave selector out.")
        how = "public"
    if has_range_values and not is_range:
        raise ParameterError("range_values= is the range for Eq. 4: add is_range=True, or leave it out.")
    if how == "public" and realised:
        raise ParameterError("realised=True is computed from private values, which selector='public' never does.")
    if how == "public" and aggregated:
        raise ParameterError("selector='public' protects single records; it takes records, not aggregates.")
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
        raise ParameterError("repetitions must be a whole number of at least 1.")
    if how != "search" and (has_epsilons or repetitions != REPETITIONS):
        name = "epsilons=" if has_epsilons else "repetitions="
        raise ParameterError(f"{name} is for Algorithm 1: add selector='search', or leave it out.")
    return PaperPlan(
        query=query,
        factor=factor,
        record_epsilon=record_epsilon,
        selector=how,
        metric=parse_choice("noise_metric", noise_metric, NOISE_METRICS),
        on_missing=parse_choice("on_missing", on_missing, ON_MISSING),
        data_type=None if data_type is None else parse_data_type(data_type),
        is_range=is_range,
        aggregated=aggregated,
        realised=realised,
        repetitions=repetitions,
    )


def _factor(noise_factor: object, role: object, record_epsilon: object) -> NoiseFactor | None:
    if sum(given is not None for given in (noise_factor, role, record_epsilon)) != 1:
        raise ParameterError(
            "Say how much noise in exactly one way: noise_factor='low', 'medium' or 'high', "
            "role='owner', 'collaborator' or 'third_party', or record_epsilon=a number (with public bounds)."
        )
    if noise_factor is not None:
        return parse_noise_factor(noise_factor)
    return parse_role(role) if role is not None else None
