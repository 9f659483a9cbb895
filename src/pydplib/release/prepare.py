"""A question with its price: the plan, the noise and the cost, made of public facts before any data are touched."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.costs import Cost
from pydplib.budget.units import exact
from pydplib.engine import ExactTable, Measure, Plan
from pydplib.errors import ParameterError
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.release.axes import Axis
from pydplib.release.choosing import QuantileNoise
from pydplib.release.grids import Room, cells_measure, square_measure, sum_measure
from pydplib.release.group_quantiles import BinnedQuantileNoise, choose_quantile_noise
from pydplib.release.limits import RowsPerPerson, counted_words
from pydplib.release.noisy import CountNoise, MeanNoise, Noisy, SumNoise, VarianceNoise, combine, farthest
from pydplib.release.public import check_epsilon, tidy
from pydplib.release.release import MarginUnit, Release
from pydplib.release.resolved import Resolved
from pydplib.release.unknown import KEYS_SHARE, KeyNoise

_SURE = 5.0  # standard deviations beyond which noise alone explains no difference

Noise: TypeAlias = CountNoise | SumNoise | MeanNoise | VarianceNoise | QuantileNoise | BinnedQuantileNoise
"""What adds the noise to a statistic."""


@dataclass(frozen=True)
class Prepared:
    """Everything about a release but the data.

    Attributes:
        resolved: The question against the schema.
        epsilon: The privacy loss, exactly.
        delta: The chance that it may fail; 0 but for unknown keys.
        plan: What the engine will be asked.
        noise: What will be added.
        cost: What will be debited.
        keys: How unknown keys are chosen, if they are unknown.
    """

    resolved: Resolved
    epsilon: Fraction
    delta: Fraction
    plan: Plan
    noise: Noise
    cost: Cost
    keys: KeyNoise | None = None

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """What the release will guarantee."""
        if self.delta:
            return ApproxDP(float(self.epsilon), float(self.delta))
        return PureDP(float(self.epsilon))

    @property
    def parameters(self) -> dict[str, Any]:
        """What else decides the answer, for the key of the release."""
        return {"declared": self.resolved.fingerprint, "noise": _facts(self.noise), "version": 1}

    def answer(self, table: ExactTable) -> Release:
        """Return the release of an engine's exact integers. Only ever called after the debit.

        Proof: the noise classes (``release.noisy``, ``release.choosing``, ``release.unknown``) are applied to
        integers whose sensitivity the plan's bound fixes (``engine.sensitivity``); everything after them, and
        everything else in the release, follows from noisy numbers and public facts.
        """
        axes = self.resolved.axes
        if self.keys is not None:
            table, axes = self.keys.apply(table, self.resolved)
        noisy = _APPLY[type(self.noise)](self, table)
        return self._release(noisy, axes)

    def _release(self, noisy: Noisy, axes: tuple[Axis, ...]) -> Release:
        resolved, noise = self.resolved, self.noise
        values: NDArray[Any] = noisy.values
        mechanism = "discrete Laplace"
        margin_unit: MarginUnit = "value"
        notes = (*self._notes(), *self._worth(noisy), *self._doubts(noisy, axes), *self._outgrown(noisy))
        if isinstance(noise, QuantileNoise | BinnedQuantileNoise):
            values = self._points(values)
            if isinstance(noise, QuantileNoise):
                mechanism, margin_unit = "permute-and-flip", "ranks"
            else:
                assert noisy.low is not None and noisy.high is not None
                low, high = self._points(noisy.low), self._points(noisy.high)
                noisy = replace(noisy, low=low, high=high, margins=farthest(values, low, high))
            if resolved.question.ask == "quantiles":
                axes = (*axes, Axis("quantile", tuple(float(q) for q in noise.shares), kind="quantile"))
        scale, moved = scale_and_sensitivity(self)
        return Release(
            question=resolved.canonical,
            values=values.ravel(),  # type: ignore[arg-type]
            guarantee=self.guarantee,
            cost=self.cost,
            mechanism=mechanism,
            scale=scale,
            sensitivity=moved,
            axes=axes,
            low95=_row(noisy.low),
            high95=_row(noisy.high),
            margins95=_row(noisy.margins),
            simultaneous95=noisy.simultaneous if axes else None,
            margin_unit=margin_unit,
            sizes=_row(noisy.sizes),
            doubtful=_doubtful(noisy, values.size),
            noisy=_row(noisy.raw) if axes else None,
            unit=resolved.unit,
            counted=counted_words(resolved),
            notes=notes,
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if isinstance(self.noise, QuantileNoise):
            step = self.plan.measures[0].step
            notes.append(f"The answer is a point of the public grid, whose points lie {step:g} apart.")
        if isinstance(self.noise, QuantileNoise) and self.resolved.groups:
            notes.append("A group without rows gets a point at random: count the groups to know which ones are empty.")
        if isinstance(self.noise, BinnedQuantileNoise):
            notes.append(self._bin_words(self.noise))
        if self.keys is not None:
            notes.append(
                f"Groups are shown where the noisy count exceeds {self.keys.threshold}; smaller ones stay hidden, and "
                "margins near that number are too narrow."
            )
        return tuple(notes)

    def _bin_words(self, noise: BinnedQuantileNoise) -> str:
        step = self.plan.measures[0].step
        assert step is not None
        unit = "days" if self.resolved.column.kind == "date" else self.resolved.unit
        wide = f"{noise.width * step:g} {unit}".strip()
        return (
            f"Read off one noisy table with {noise.bins} bins per group, each {wide} wide: public facts (grid, number "
            "of groups, declared size) say that this is more accurate here than choosing every quantile by itself. "
            "Values count as evenly spread within a bin; intervals end at the edges of bins and hold in any case."
        )

    def _worth(self, noisy: Noisy) -> tuple[str, ...]:
        """Return a warning where noise hides a mean or a variance; judged by noisy numbers and public bounds alone."""
        if not isinstance(self.noise, MeanNoise | VarianceNoise) or noisy.margins is None:
            return ()
        noise = self.noise
        width = noise.high - noise.low if isinstance(noise, MeanNoise) else noise.most
        hidden = int(np.count_nonzero(noisy.margins > width / 4))
        if not hidden:
            return ()
        alone, verb = noisy.margins.size == 1, "is" if hidden == 1 else "are"
        which = "This answer" if alone else f"{hidden} of {noisy.margins.size} answers"
        return (
            f"{which} {verb} worth little: too few people for this epsilon. The margin is more than a quarter of all "
            f"that is possible. {'Spend more.' if alone else 'Ask for fewer groups, or spend more.'}",
        )

    def _outgrown(self, noisy: Noisy) -> tuple[str, ...]:
        """Return a note where there are more rows than the schema declares; judged by the noisy numbers alone."""
        declared = self.resolved.schema.size
        if declared is None:
            return ()
        found, spread = self._noisy_rows(noisy)
        most = declared * self.resolved.rows
        if found is None or found <= most + _SURE * spread:  # noise alone gets this far once in a thousand releases
            return ()
        persons = "1 person" if declared == 1 else f"{declared} persons"
        return (
            f"The schema declares {persons}, but there are about {found:.0f} {self._counted}: the table outgrew its "
            "declared size. The answer holds; prices and expected margins made from that size do not. Correct size= "
            "in the schema.",
        )

    @property
    def _counted(self) -> str:
        return "persons" if self.resolved.is_count and self.resolved.unit == "persons" else "rows"

    def _noisy_rows(self, noisy: Noisy) -> tuple[float | None, float]:
        """Return the noisy number of rows in all groups and its standard deviation; None where no row is counted."""
        noise, scale = self.noise, 0.0
        counts: NDArray[Any] | None = None
        if isinstance(noise, CountNoise):
            counts = noisy.values if noisy.raw is None else noisy.raw
            scale = float(noise.scale if self.keys is None else self.keys.scale) / noise.per_row
        elif isinstance(noise, MeanNoise):
            counts, scale = noisy.sizes, float(noise.scale) / (noise.per_row * noise.top) * math.sqrt(2)
        elif isinstance(noise, VarianceNoise):
            counts, scale = noisy.sizes, float(noise.square_scale) / (noise.per_row * noise.top) * math.sqrt(2)
        elif isinstance(noise, BinnedQuantileNoise) and noisy.sizes is not None:
            counts = noisy.sizes[:: len(noise.shares)]  # one for each quantile of a group
            scale = noise.unit_scale * math.sqrt(noise.bins)
        if counts is None:
            return None, 0.0
        return float(counts.sum()), scale * math.sqrt(2 * max(counts.size, 1))

    def _doubts(self, noisy: Noisy, axes: tuple[Axis, ...]) -> tuple[str, ...]:
        """Return which groups the noise alone could have made, judged by noisy numbers alone."""
        if noisy.doubtful is None or not noisy.doubtful.any():
            return ()
        labels = [", ".join(parts) for parts in product(*(axis.labels for axis in axes))]
        names = [label for label, doubt in zip(labels, noisy.doubtful.tolist(), strict=True) if doubt]
        return (f"Noise alone could have made these groups; do not rely on them: {'; '.join(names)}.",)

    def _points(self, places: NDArray[Any]) -> NDArray[Any]:
        """Return grid points for places on the grid, within the bounds."""
        measure = self.plan.measures[0]
        assert measure.step is not None
        low, high = self.resolved.bounds
        step = exact(measure.step)
        grid = [tidy((measure.first_cell + int(place)) * step) for place in places.ravel()]
        return np.array([min(max(point, low), high) if point < low or point > high else point for point in grid])


def prepare(resolved: Resolved, epsilon: Any, delta: Any = None) -> Prepared:
    """Return a question with its plan, noise and cost at a given privacy loss.

    Args:
        resolved: The question against the schema.
        epsilon: The privacy loss of the whole answer.
        delta: For unknown keys only: the chance that a key of one person alone is shown.
    """
    loss = check_epsilon(epsilon)
    if not resolved.has_unknown_keys:
        plan, noise = _noise(resolved, loss)
        # Permute-and-flip is pure: its privacy loss is not known to be narrow enough for a smaller rho.
        cost = Cost.pure(loss, mechanism="permute_and_flip" if isinstance(noise, QuantileNoise) else "laplace")
        return Prepared(resolved, loss, Fraction(0), plan, noise, cost)
    chance = exact(delta, name="delta") if delta is not None else None
    if chance is None or not 0 < chance < 1:
        raise ParameterError("Unknown keys need delta: the chance that a key of one person alone is shown, e.g. 1e-7.")
    share = Fraction(1) if resolved.is_count else KEYS_SHARE
    plan, noise = _noise(resolved, loss if resolved.is_count else loss * (1 - share))
    keys = KeyNoise(resolved.bound.max_groups or 1, resolved.bound.max_rows, loss * share, chance)
    cost = Cost.approximate(loss, delta=chance, mechanism="unknown_keys")
    return Prepared(resolved, loss, chance, plan, noise, cost, keys)


def _noise(resolved: Resolved, epsilon: Fraction) -> tuple[Plan, Noise]:
    bound, rows, scale = resolved.bound, resolved.rows, resolved.bound.scale
    rows_of = Measure("count")
    if isinstance(resolved.question, RowsPerPerson):
        edges = resolved.question.classes(resolved.schema.max_rows_per_person)
        return resolved.plan([Measure("persons", edges=edges)]), CountNoise(1, 1, resolved.cells, epsilon)
    if resolved.is_count:
        return resolved.plan([rows_of]), CountNoise(rows, scale, resolved.cells, epsilon)
    name, column = resolved.question.measured[0], resolved.column
    if resolved.shares:
        cells = cells_measure(column, name, resolved.bounds)
        choice = QuantileNoise(rows, scale, resolved.shares, cells.cells, epsilon)
        if not resolved.groups:
            return resolved.plan([cells]), choice
        return resolved.plan([cells]), choose_quantile_noise(
            choice, groups=resolved.cells, size=None if resolved.question.conditions else resolved.schema.size
        )
    room = Room.of(resolved.schema, bound, epsilon * Fraction(2, 5))
    present = Measure("count", name)
    extra = [rows_of] if resolved.has_unknown_keys else []
    bounds = resolved.bounds
    if resolved.question.ask == "sum":
        total = sum_measure(column, name, room, bounds, centred=False)
        assert total.step is not None
        noise: Noise = SumNoise(rows, scale, total.largest, total.step, resolved.cells, epsilon)
        return resolved.plan([total, *extra]), noise
    total = sum_measure(column, name, room, bounds, centred=True)
    assert total.step is not None
    first, last = total.whole_bounds
    if resolved.question.ask == "mean":
        ends = total.center + first * total.step, total.center + last * total.step
        return resolved.plan([total, present, *extra]), MeanNoise(rows, scale, last - first, *ends, epsilon)
    squares = square_measure(column, name, room, bounds, center=total.center)
    assert squares.step is not None
    top, half, most = squares.whole_bounds[1], max(-first, last), (bounds[1] - bounds[0]) ** 2 / 4
    noise = VarianceNoise(rows, scale, top, half, squares.step, total.step, most, epsilon)
    return resolved.plan([squares, total, present, *extra]), noise


def _apply_counts(prepared: Prepared, table: ExactTable) -> Noisy:
    assert isinstance(prepared.noise, CountNoise)
    if prepared.keys is not None:
        return prepared.keys.counted(table)
    return prepared.noise.apply(table[0])


def _apply_sums(prepared: Prepared, table: ExactTable) -> Noisy:
    assert isinstance(prepared.noise, SumNoise)
    return prepared.noise.apply(table[0])


def _apply_means(prepared: Prepared, table: ExactTable) -> Noisy:
    assert isinstance(prepared.noise, MeanNoise)
    first, last = prepared.plan.measures[0].whole_bounds
    sums, counts = table[0], table[1]
    # A row at q steps adds its weight times q - first above, and times last - q below.
    return prepared.noise.apply(combine((1, sums), (-first, counts)), combine((last, counts), (-1, sums)))


def _apply_variances(prepared: Prepared, table: ExactTable) -> Noisy:
    assert isinstance(prepared.noise, VarianceNoise)
    squares, sums, counts = table[0], table[1], table[2]
    return prepared.noise.apply(squares, combine((prepared.noise.top, counts), (-1, squares)), sums)


def _apply_quantiles(prepared: Prepared, table: ExactTable) -> Noisy:
    assert isinstance(prepared.noise, QuantileNoise | BinnedQuantileNoise)
    return prepared.noise.apply(table[0])


_APPLY: dict[type, Callable[[Prepared, ExactTable], Noisy]] = {
    CountNoise: _apply_counts,
    SumNoise: _apply_sums,
    MeanNoise: _apply_means,
    VarianceNoise: _apply_variances,
    QuantileNoise: _apply_quantiles,
    BinnedQuantileNoise: _apply_quantiles,
}


def scale_and_sensitivity(prepared: Prepared) -> tuple[float, float]:
    """Return the noise's scale and what one person moves, in the value's unit (ranks for quantiles)."""
    noise, rows = prepared.noise, float(prepared.resolved.rows)
    if isinstance(noise, CountNoise):
        return float(noise.scale) / noise.per_row, rows
    if isinstance(noise, BinnedQuantileNoise):
        return noise.unit_scale, rows
    if isinstance(noise, SumNoise):
        return float(noise.scale) / noise.per_row * noise.step, rows * noise.largest * noise.step
    if isinstance(noise, MeanNoise):
        return noise.unit_scale, rows * (noise.high - noise.low)
    if isinstance(noise, VarianceNoise):
        return float(noise.square_scale) / noise.per_row * noise.square_step, rows * noise.top * noise.square_step
    return noise.scale(noise.worst), float(max(noise.worst, 1 - noise.worst)) * rows


def _doubtful(noisy: Noisy, values: int) -> Any:
    """Return 1 for every value of a group that noise alone could have made, else 0; None where there is no such group.

    Args:
        noisy: What the noise left.
        values: How many values the release has: several for each group where several quantiles were asked.
    """
    if noisy.doubtful is None or not noisy.doubtful.any():
        return None
    return np.repeat(noisy.doubtful.ravel().astype(int), values // noisy.doubtful.size)


def _row(numbers: NDArray[Any] | None) -> Any:
    return None if numbers is None else numbers.ravel()


def _facts(noise: Noise) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": type(noise).__name__}
    for name in noise.__dataclass_fields__:
        value = getattr(noise, name)
        facts[name] = [str(part) for part in value] if isinstance(value, tuple) else str(value)
    return facts
