"""``dp_calculate``: the paper's one function, from a column and a noise factor to noisy data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.guarantee import NoGuarantee
from pydplib.paper.choose import Chosen, choose_by_search, choose_closed_form
from pydplib.paper.coded import Coded
from pydplib.paper.coding import encode, public_type
from pydplib.paper.containers import Column, Mask, open_column
from pydplib.paper.fitting import Range
from pydplib.paper.limits import declared_bounds, metric_for, patients, range_for, span_of
from pydplib.paper.measure import noise_percent, reference
from pydplib.paper.mechanism import add_noise, check_scale
from pydplib.paper.plan import Plan, make_plan
from pydplib.paper.public import public_scale, randomize_categories
from pydplib.paper.records import Records
from pydplib.paper.result import DPResult
from pydplib.paper.sensitivity import sensitivity
from pydplib.paper.words import NoiseMetric, OnMissing, Selector, check_flags
from pydplib.paper.worth import guarantee_from_data, guarantee_from_public, notes_for
from pydplib.paper.worth import record_epsilon as loss_per_record


def dp_calculate(
    input_data: Any,
    query_type: str | int,
    noise_factor: str | int | None = None,
    *,
    is_range: bool = False,
    data_type: Any = None,
    selector: Selector = "closed_form",
    noise_metric: NoiseMetric = "wmape",
    on_missing: OnMissing = "error",
    bounds: tuple[Any, Any] | None = None,
    role: str | None = None,
    record_epsilon: float | None = None,
    range_values: Any = None,
    categories: Sequence[Any] | None = None,
    group_sizes: int | Sequence[int] | ArrayLike | None = None,
    aggregated: bool = False,
    epsilons: ArrayLike | None = None,
    repetitions: int = 5,
    realised: bool = False,
) -> DPResult:
    """Return noisy data as the PyDPLib paper makes them: Laplace noise on every record.

    Say *how much* noise in one of three ways: a ``noise_factor``, a ``role``, or a ``record_epsilon``.
    Say *how it is chosen* by ``selector``:

    - ``"closed_form"`` (default): the scale whose expected noise is the middle of the band, computed
      from the data. No guarantee, because the private values decide how much noise they get.
    - ``"search"``: the paper's Algorithm 1. No guarantee either, for the same reason.
    - ``"public"``: the scale comes from public facts alone: ``bounds=(low, high)`` for numbers and dates,
      ``categories=`` for text, nothing for true/false. Noise is a percentage of the public range, and
      the result carries a real ``LocalDP`` guarantee. ``record_epsilon=`` implies it.

    Proof (selector "public", and true/false in closed form): the scale is a function of public arguments;
    values are clamped to the bounds, so ``record_epsilon`` = (rounded range) / scale bounds the odds of every
    output of ``laplace_records`` (or of exact randomised response); rounding and Eq. 4 with a public range
    are post-processing. The type of the output comes from the column's dtype or from public arguments, never
    from a value. n is public: the output has as many values as the input.

    Args:
        input_data: One column: list, tuple, NumPy array, pandas or Polars Series, PyArrow array.
        query_type: 1 count/histogram, 2 mean/average, 3 median, 4 variance. It changes the printed epsilon
            and sensitivity, not the data.
        noise_factor: 0 low (0-5 %), 1 medium (5-10 %), 2 high (10-20 %).
        is_range: Fit the noisy values to the range of the data (Eq. 4). Without public bounds the smallest
            and largest value that come out are those of the private data.
        data_type: char, string, int, float, bool, date or a NumPy type; inferred if not given. Text whose
            values all are whole numbers is read as int, other text as categories. Empty text is missing. With
            ``selector="public"`` no value decides: a column's own dtype says the type, and where there is none
            (Python lists, text, objects) numbers are decimals unless you say ``data_type="int"``.
        selector: How the scale is chosen, see above.
        noise_metric: ``"wmape"``, 100 * sum|x'-x| / sum|x|; or ``"range"``, 100 * mean|x'-x| / range. Dates
            always use the range, true/false and text the share of values that change.
        on_missing: ``"error"``, ``"drop"`` (leave records out), ``"category"`` (text only).
        bounds: Public (low, high); values are clamped to them. Else the data's own smallest and largest.
        role: owner, collaborator or third_party, instead of a noise factor.
        record_epsilon: The privacy loss per record, instead of a noise factor; between 1e-9 and 500.
        range_values: The range for Eq. 4: ``(low, high)``, or a list of the values that may occur.
        categories: All categories of a text column, in order; else the sorted values of the data.
        group_sizes: Where the input holds means, medians or variances: the patients behind each of them.
        aggregated: Whether the input holds aggregates (counts, means ...) instead of records.
        epsilons: What Algorithm 1 searches; strictly ascending. Default: 1e-8 to 1e3.
        repetitions: Over how many draws Algorithm 1 averages.
        realised: Report the noise of this very draw as well. It is computed from the private values.

    Raises:
        DataError: Missing, infinite, mixed or constant values, unknown categories.
        ParameterError: An unknown word, or arguments that contradict each other.
        CalibrationError: No noise of the epsilons tried lies in the band.

    Examples:
        >>> ages = [50 + i % 30 for i in range(900)]
        >>> dp_data, epsilon, sensitivity, noise_percent = dp_calculate(ages, "mean", "high")
        >>> round(epsilon, 4), noise_percent
        (0.0033, 15.0)
        >>> sound = dp_calculate(ages, "mean", bounds=(18, 100), record_epsilon=4)
        >>> print(sound.guarantee.sentence)
        Every record by itself is private with epsilon 4: a fair guess (50 %) about one person can become at \
most 98.3 % right.
    """
    check_flags(is_range=is_range, aggregated=aggregated, realised=realised)
    plan = make_plan(
        query_type=query_type,
        noise_factor=noise_factor,
        role=role,
        record_epsilon=record_epsilon,
        selector=selector,
        noise_metric=noise_metric,
        on_missing=on_missing,
        data_type=data_type,
        is_range=bool(is_range),
        has_range_values=range_values is not None,
        aggregated=bool(aggregated) or group_sizes is not None,
        realised=bool(realised),
        repetitions=repetitions,
    )
    column = open_column(input_data, public=plan.public)
    name = plan.data_type
    if plan.public and name is None:
        name = public_type(column, bounds=bounds, categories=categories)
    coded, keep = encode(column, data_type=name, on_missing=plan.on_missing, categories=categories)
    if not len(coded.codes):
        return _empty(plan, column, coded)
    declared = declared_bounds(bounds, coded, plan)
    # The bounds are those of single values; a variance of a group lies elsewhere, so it is not clamped.
    clamp = None if plan.aggregated and plan.query == "variance" else declared
    records = Records(coded.codes, coded.kind, clamp)
    fit_to = range_for(plan, records, coded, range_values)
    span = span_of(records, coded, declared)
    size = sensitivity(plan.query, low=span[0], high=span[1], n=patients(plan, len(records), group_sizes))
    if plan.public:
        return _release_public(plan, column, coded, keep, records, fit_to, size)
    metric = metric_for(plan, records)
    against = reference(records, metric)
    chosen = _choose(plan, records, fit_to, against, size, epsilons)
    check_scale(records, chosen.scale)
    noisy = add_noise(records, chosen.scale, fit_to)
    shows = fit_to is not None and clamp is None and range_values is None and coded.kind != "category"
    return DPResult(
        dp_data=column.restore(coded.decode(noisy), keep),
        epsilon=chosen.epsilon,
        sensitivity=size,
        noise_percent=chosen.percent,
        guarantee=guarantee_from_data(plan, coded.kind, shows_extremes=shows, scale=chosen.scale),
        record_epsilon=loss_per_record(plan, coded.kind, span=span, sensitivity=size, scale=chosen.scale),
        scale=chosen.scale,
        noise_factor=plan.factor,
        selector=plan.selector,
        noise_metric=metric if coded.kind not in ("bool", "category") else "mismatch",
        query_type=plan.query,
        data_type=coded.data_type,
        size=len(records),
        notes=(
            *chosen.notes,
            *notes_for(plan, coded.kind, shows_extremes=shows, has_bounds=declared is not None),
        ),
        realised_noise_percent=noise_percent(records, noisy, against) if plan.realised else None,
        shows_extremes=shows,
    )


def _choose(
    plan: Plan, records: Records, fit_to: Range | None, against: float, size: float, epsilons: ArrayLike | None
) -> Chosen:
    assert plan.factor is not None  # without one, the selector is "public"
    if plan.selector == "search":
        return choose_by_search(
            plan.factor,
            records,
            fit_to=fit_to,
            reference=against,
            sensitivity=size,
            epsilons=epsilons,
            repetitions=plan.repetitions,
        )
    return choose_closed_form(plan.factor, records, fit_to=fit_to, reference=against, sensitivity=size)


def _release_public(
    plan: Plan,
    column: Column,
    coded: Coded,
    keep: Mask | None,
    records: Records,
    fit_to: Range | None,
    size: float,
) -> DPResult:
    """Release with a scale from public facts: no value is read before its noise is fixed."""
    span = records.clamp or (0.0, 1.0)
    found = public_scale(
        coded.kind,
        span=span,
        factor=plan.factor,
        record_epsilon=plan.record_epsilon,
        categories=len(coded.members),
    )
    if coded.kind == "category":
        noisy: NDArray[Any] = randomize_categories(coded.codes, len(coded.members), found.record_epsilon)
    else:
        check_scale(Records(np.array(span), coded.kind), found.scale)
        noisy = add_noise(records, found.scale, fit_to)
    return DPResult(
        dp_data=column.restore(coded.decode(noisy), keep),
        epsilon=size / found.scale,
        sensitivity=size,
        noise_percent=found.percent,
        guarantee=guarantee_from_public(plan, found.record_epsilon),
        record_epsilon=found.record_epsilon,
        scale=found.scale,
        noise_factor=plan.factor,
        selector=plan.selector,
        noise_metric="mismatch" if coded.kind in ("bool", "category") else "range",
        query_type=plan.query,
        data_type=coded.data_type,
        size=len(records),
        notes=()
        if fit_to is None
        else ("The percentage is the noise before the values were fitted to the range (Eq. 4).",),
    )


def _empty(plan: Plan, column: Column, coded: Coded) -> DPResult:
    return DPResult(
        dp_data=column.restore(coded.decode(coded.codes), np.zeros(len(column.values), dtype=np.bool_)),
        epsilon=math.nan,
        sensitivity=math.nan,
        noise_percent=math.nan,
        guarantee=NoGuarantee("there were no records to protect"),
        record_epsilon=math.nan,
        scale=math.nan,
        noise_factor=plan.factor,
        selector=plan.selector,
        noise_metric=plan.metric,
        query_type=plan.query,
        data_type=coded.data_type,
        size=0,
    )
