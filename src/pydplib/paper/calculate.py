"""``dp_calculate``: the paper's one function, from a column and a noise factor to noisy data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pydplib.errors import ParameterError
from pydplib.guarantee import NoGuarantee
from pydplib.paper.codes import CodedColumn, encode, public_type
from pydplib.paper.containers import Mask, OpenColumn, open_column
from pydplib.paper.mechanism import add_noise, add_noise_at, check_scale, noise_percent, reference
from pydplib.paper.plan import REPETITIONS, PaperPlan, make_plan
from pydplib.paper.ranges import Range, declared_bounds, metric_for, patients, public_origin, range_for, span_of
from pydplib.paper.records import Records
from pydplib.paper.result import DPResult
from pydplib.paper.scales import Chosen, choose_by_search, closed_form_of, public_scale, randomize_categories
from pydplib.paper.sensitivity import sensitivity
from pydplib.paper.words import NoiseMetric, OnMissing, Selector, check_flags
from pydplib.paper.worth import guarantee_from_data, guarantee_from_public, notes_for
from pydplib.paper.worth import record_epsilon as loss_per_record
from pydplib.policy.noise_factors import NoiseFactor, parse_noise_factor


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
    repetitions: int = REPETITIONS,
    realised: bool = False,
) -> DPResult:
    """Return noisy data as the PyDPLib paper makes them: Laplace noise on every record.

    Say *how much* noise in one of three ways: a ``noise_factor``, a ``role``, or a ``record_epsilon``.
    Say *how it is chosen* by ``selector``:

    - ``"closed_form"`` (default): the scale whose expected noise is the middle of the band, computed
      from the data. No guarantee, because the private values decide how much noise they get. Where values that are
      fitted to a range cannot reach the middle, it is the smallest scale inside the band.
    - ``"search"``: the paper's Algorithm 1. No guarantee either, for the same reason.
    - ``"public"``: the scale comes from public facts alone: ``bounds=(low, high)`` for numbers and dates,
      ``categories=`` for text, nothing for true/false. Noise is a percentage of the public range, and
      the result carries a real ``LocalDP`` guarantee. ``record_epsilon=`` implies it.

    Proof (selector "public", and true/false in closed form): the scale is a function of public arguments;
    values are clamped to the bounds, so ``record_epsilon`` = (rounded range) / scale bounds the odds of every
    output of ``laplace_records`` (or of exact randomised response); rounding, clipping to a public range and
    snapping are post-processing. No number and no category makes the call fail: infinite numbers are clamped, and a
    value that is no declared category counts as "other" where that is one, else as a category at random, whose
    response is as likely as any. The type of the output comes from the column's dtype or from public arguments,
    never from a value. n is public: the output has as many values as the input.

    Args:
        input_data: One column: list, tuple, NumPy array, pandas or Polars Series, pandas array (``.values``) or
            Index, PyArrow array.
        query_type: 1 count/histogram, 2 mean/average, 3 median, 4 variance. It changes the printed epsilon
            and sensitivity, not the data.
        noise_factor: 0 low (0-5 %), 1 medium (5-10 %), 2 high (10-20 %).
        is_range: Fit the noisy values to the range. The range of the data (Eq. 4, then the nearest value that
            occurs) makes the smallest and largest value that come out those of the private data. A range that you
            declare (``bounds=``, ``categories=``, ``range_values=``, an ordered categorical column) clips and
            snaps instead, so that a value that does not occur moves no other.
        data_type: char, string, int, numpy.int, float, numpy.float, bool, numpy.bool (as the paper writes them), date,
            or a Python or NumPy type; inferred if not given. Text whose values all are whole numbers is read as
            int, all numbers as float, other text as categories. Empty text is missing. The output has the dtype of
            the input where the noisy values fit it: noise can carry a uint8 below 0, which then comes back as
            int64, and a date beyond what nanoseconds hold as days. With
            ``selector="public"`` no value decides: a column's own dtype says the type, and where there is none
            (Python lists, text, objects) numbers are decimals unless you say ``data_type="int"``.
        selector: How the scale is chosen, see above.
        noise_metric: ``"wmape"``, 100 * sum|x'-x| / sum|x|; or ``"range"``, 100 * mean|x'-x| / range. Dates
            always use the range, true/false and text the share of values that change.
        on_missing: ``"error"``, ``"drop"`` (leave records out), ``"category"`` (text only).
        bounds: Public (low, high); values are clamped to them. Else the data's own smallest and largest.
        role: owner, collaborator or third_party, instead of a noise factor.
        record_epsilon: The privacy loss per record, instead of a noise factor; between 1e-9 and 500.
        range_values: The range to fit to: ``(low, high)``, or a list of the values that may occur.
        categories: All categories of a text column, in order; else the sorted values of the data.
        group_sizes: Where the input holds means, medians or variances: the patients behind each of them.
        aggregated: Whether the input holds aggregates (counts, means ...) instead of records.
        epsilons: What Algorithm 1 searches; strictly ascending. Default: 1e-8 to 1e3. For ``selector="search"`` only.
        repetitions: Over how many draws Algorithm 1 averages, 5 by default. For ``selector="search"`` only.
        realised: Show ``drawn_percent``, the noise of this very draw, in the printed result and in ``to_dict`` as
            well. It is computed from the private values.

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
        has_epsilons=epsilons is not None,
        repetitions=repetitions,
    )
    asked = _open(plan, input_data, bounds, categories, range_values, group_sizes)
    if asked.records is None:
        return _empty(plan, asked.column, asked.coded)
    if plan.public:
        return _release_public(asked)
    assert plan.factor is not None  # without one, the selector is "public"
    if plan.selector == "search":
        chosen = choose_by_search(
            plan.factor,
            asked.records,
            fit_to=asked.fit_to,
            reference=asked.reference,
            sensitivity=asked.sensitivity,
            epsilons=epsilons,
            repetitions=plan.repetitions,
        )
    else:
        chosen = asked.closed_form()(plan.factor)
    check_scale(asked.records, chosen.scale)
    return _result(asked, plan, chosen, add_noise(asked.records, chosen.scale, asked.fit_to))


def dp_calculate_levels(
    input_data: Any,
    query_type: str | int,
    *,
    levels: Sequence[str | int] = ("low", "medium", "high"),
    is_range: bool = False,
    data_type: Any = None,
    noise_metric: NoiseMetric = "wmape",
    on_missing: OnMissing = "error",
    bounds: tuple[Any, Any] | None = None,
    range_values: Any = None,
    categories: Sequence[Any] | None = None,
    group_sizes: int | Sequence[int] | ArrayLike | None = None,
    aggregated: bool = False,
) -> dict[str, DPResult]:
    """Return several noise levels of one column, made from **one** draw of noise. For the owner only.

    Panels that show low, medium and high next to each other compare the levels, and three separate draws do not:
    Eq. 4 follows the most extreme noisy value, so that by chance one draw at low changes more than another one at
    high. Here every record gets one unit of Laplace noise, and each level scales it.

    Whoever sees two of the levels can solve for the original values, so nothing is guaranteed, not even for
    true/false, and no level may be handed on next to another. To hand on one level, call ``dp_calculate``.

    Args:
        input_data: One column, as in ``dp_calculate``.
        query_type: As in ``dp_calculate``.
        levels: The noise factors, from 0 low to 2 high.
        is_range: As in ``dp_calculate``, and so are all other arguments.
        data_type: See there.
        noise_metric: See there.
        on_missing: See there.
        bounds: See there.
        range_values: See there.
        categories: See there.
        group_sizes: See there.
        aggregated: See there.

    Returns:
        The name of each level -> its result, with ``drawn_percent``.

    Examples:
        >>> ages = [50.0 + i % 30 for i in range(900)]
        >>> panels = dp_calculate_levels(ages, "mean")
        >>> list(panels), panels["low"].drawn_percent < panels["high"].drawn_percent
        (['low', 'medium', 'high'], True)
    """
    check_flags(is_range=is_range, aggregated=aggregated)
    factors = [parse_noise_factor(level) for level in levels]
    if not factors:
        raise ParameterError("levels= must name at least one noise factor: 'low', 'medium' or 'high'.")
    plan = make_plan(
        query_type=query_type,
        noise_factor=factors[0],
        role=None,
        record_epsilon=None,
        selector="closed_form",
        noise_metric=noise_metric,
        on_missing=on_missing,
        data_type=data_type,
        is_range=bool(is_range),
        has_range_values=range_values is not None,
        aggregated=bool(aggregated) or group_sizes is not None,
        realised=False,
        has_epsilons=False,
        repetitions=REPETITIONS,
    )
    asked = _open(plan, input_data, bounds, categories, range_values, group_sizes)
    records = asked.records
    if records is None:
        return {factor.name: _empty(replace(plan, factor=factor), asked.column, asked.coded) for factor in factors}
    choose = asked.closed_form()
    scales = {factor.name: choose(factor) for factor in factors}
    for chosen in scales.values():
        check_scale(records, chosen.scale)
    noisy = add_noise_at(records, [chosen.scale for chosen in scales.values()], asked.fit_to)
    return {
        factor.name: _result(asked, replace(plan, factor=factor), scales[factor.name], values, shared=len(factors) > 1)
        for factor, values in zip(factors, noisy, strict=True)
    }


@dataclass(frozen=True, repr=False, kw_only=True)
class _Calculation:
    """A column that is open, and everything about it that the noise depends on. Private, so it has no repr."""

    plan: PaperPlan
    column: OpenColumn
    coded: CodedColumn
    keep: Mask | None
    records: Records | None = None  # None: the column is empty
    declared: tuple[float, float] | None = None
    fit_to: Range | None = None
    span: tuple[float, float] = (0.0, 1.0)
    sensitivity: float = math.nan
    metric: NoiseMetric = "wmape"
    reference: float = math.nan

    def closed_form(self) -> Callable[[NoiseFactor], Chosen]:
        """Return what chooses the scale for a noise factor."""
        assert self.records is not None
        return closed_form_of(self.records, fit_to=self.fit_to, reference=self.reference, sensitivity=self.sensitivity)


def _open(
    plan: PaperPlan,
    input_data: Any,
    bounds: tuple[Any, Any] | None,
    categories: Sequence[Any] | None,
    range_values: Any,
    group_sizes: Any,
) -> _Calculation:
    column = open_column(input_data, public=plan.public)
    name = plan.data_type
    if plan.public and name is None:
        name = public_type(column, bounds=bounds, categories=categories)
    coded, keep = encode(
        column,
        data_type=name,
        on_missing=plan.on_missing,
        categories=categories,
        public=plan.public,
        origin=public_origin(bounds) if plan.public else None,
    )
    if not len(coded.codes):
        return _Calculation(plan=plan, column=column, coded=coded, keep=keep)
    declared = declared_bounds(bounds, coded, plan)
    # The bounds are those of single values; a variance of a group lies elsewhere, so it is not clamped.
    clamp = None if plan.aggregated and plan.query == "variance" else declared
    records = Records(coded.codes, coded.kind, clamp, float(coded.origin))
    fit_to = range_for(plan, records, coded, range_values)
    span = span_of(records, coded, declared)
    size = sensitivity(plan.query, low=span[0], high=span[1], n=patients(plan, len(records), group_sizes))
    asked = _Calculation(
        plan=plan,
        column=column,
        coded=coded,
        keep=keep,
        records=records,
        declared=declared,
        fit_to=fit_to,
        span=span,
        sensitivity=size,
    )
    if plan.public:
        return asked  # no value is measured
    metric = metric_for(plan, records)
    return replace(asked, metric=metric, reference=reference(records, metric))


def _result(
    asked: _Calculation, plan: PaperPlan, chosen: Chosen, noisy: NDArray[Any], *, shared: bool = False
) -> DPResult:
    """Return the result for noisy codes whose scale was computed from the data."""
    records, coded, fit_to = asked.records, asked.coded, asked.fit_to
    assert records is not None
    stretched = fit_to is not None and fit_to.stretch
    shows = stretched and coded.kind != "category"
    loss = loss_per_record(plan, coded.kind, span=asked.span, sensitivity=asked.sensitivity, scale=chosen.scale)
    notes = notes_for(
        plan,
        coded.kind,
        stretched=stretched,
        shows_extremes=shows,
        has_bounds=asked.declared is not None,
        shared=shared,
        record_epsilon=loss,
    )
    return DPResult(
        dp_data=asked.column.restore(coded.decode(noisy), asked.keep),
        epsilon=chosen.epsilon,
        sensitivity=asked.sensitivity,
        noise_percent=chosen.percent,
        guarantee=guarantee_from_data(plan, coded.kind, shows_extremes=shows, scale=chosen.scale, shared=shared),
        record_epsilon=loss,
        scale=chosen.scale,
        noise_factor=plan.factor,
        selector=plan.selector,
        noise_metric=asked.metric if coded.kind not in ("bool", "category") else "mismatch",
        query_type=plan.query,
        data_type=coded.data_type,
        size=len(records),
        notes=(*chosen.notes, *notes),
        drawn_percent=noise_percent(records, noisy, asked.reference),
        shows_drawn=plan.realised,
        shows_extremes=shows,
    )


def _release_public(asked: _Calculation) -> DPResult:
    """Release with a scale from public facts: no value is read before its noise is fixed."""
    plan, coded, records = asked.plan, asked.coded, asked.records
    assert records is not None
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
        noisy = add_noise(records, found.scale, asked.fit_to)
    clipped = asked.fit_to is not None
    return DPResult(
        dp_data=asked.column.restore(coded.decode(noisy), asked.keep),
        epsilon=asked.sensitivity / found.scale,
        sensitivity=asked.sensitivity,
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
        notes=("The percentage is the noise before the values were clipped to the bounds.",) if clipped else (),
    )


def _empty(plan: PaperPlan, column: OpenColumn, coded: CodedColumn) -> DPResult:
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
