"""A study planned before any data: what effect, power or margin needs which epsilon and how many persons.

Nothing here touches data: everything follows from the design, by the same variances that the intervals use.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from pydplib._shown import Shown
from pydplib.budget.units import exact
from pydplib.clinic.intervals import laplace_variance, normal_quantile
from pydplib.errors import ParameterError, did_you_mean

Kind: TypeAlias = Literal["proportion", "proportions", "odds ratio", "mean", "means", "survival"]
"""What is planned: one share, two shares, an odds ratio, one mean, two means, or two survival curves."""

KINDS: tuple[Kind, ...] = get_args(Kind)
TWO = ("proportions", "odds ratio", "means", "survival")
"""The kinds that compare two groups."""

_MOST_PERSONS, _MOST_EPSILON, _LEAST_EPSILON = 10_000_000, 50.0, 1e-3
_CELLS = {"proportion": 2, "proportions": 4, "odds ratio": 4}


@dataclass(frozen=True, repr=False, kw_only=True)
class StudyPlan(Shown):
    """What a study will be able to say.

    Attributes:
        kind: What is compared.
        n: Persons, both groups together.
        epsilon: The privacy loss.
        power: The chance to find the effect at a level of 1 - confidence; None where nothing is compared.
        margin: The expected half-width of the interval for the population.
        without_privacy: The power, or the half-width where nothing is compared, without any noise.
        words: The design in words.
        warnings: What speaks against it.
    """

    kind: Kind
    n: int
    epsilon: float
    power: float | None
    margin: float
    without_privacy: float
    words: str
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"plan        {self.words}",
            f"  persons   {self.n}",
            f"  epsilon   {self.epsilon:.3g}",
            f"  interval  {self.interval_words} expected (population: sampling and noise)",
        ]
        if self.power is not None:
            lines.append(f"  power     {100 * self.power:.0f} % (without noise {100 * self.without_privacy:.0f} %)")
        else:
            lines.append(f"  without noise the interval would be ± {self.without_privacy:.3g}")
        lines += [f"  note      {warning}" for warning in self.warnings]
        return "\n".join([*lines, "  No data were looked at, and nothing was spent."])

    @property
    def interval_words(self) -> str:
        """How wide the interval will be: of ratios as a factor, of everything else as a margin."""
        if self.kind in ("odds ratio", "survival"):
            factor = f"{math.exp(self.margin):.3g}"
            return f"the ratio divided and multiplied by {factor} (± {self.margin:.3g} of its logarithm)"
        return f"± {self.margin:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__} | {"warnings": list(self.warnings)}


@dataclass(frozen=True)
class Design:
    """A study as it is thought to be: what is compared, how large the effect is, how the groups are split.

    Args:
        kind: What is compared.
        baseline: The share, odds or survival at the end in the first group; the mean in it.
        effect: The difference of shares or means, the odds ratio, or the hazard ratio.
        deviation: Of means: the standard deviation of the values.
        range: Of means: the public range that is cut into bins; by default six standard deviations.
        bins: How many bins: of values, or of time.
        split: The share of persons in the second group.
        lost: Of survival: the share that is censored before the horizon.
        confidence: Of intervals; tests have the level 1 - confidence.
    """

    kind: Kind
    _: KW_ONLY
    baseline: float = 0.5
    effect: float = 0.0
    deviation: float = 1.0
    range: float | None = None
    bins: int = 10
    split: float = 0.5
    lost: float = 0.2
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError(f"A plan is for {', '.join(KINDS)}.{did_you_mean(str(self.kind), KINDS)}")
        if not 0.01 <= self.split <= 0.99:
            raise ParameterError("split= is the share of the second group, e.g. 0.5.")
        if self.kind not in ("mean", "means") and not 0 < self.baseline < 1:
            raise ParameterError("baseline= is a share between 0 and 1: of the outcome, or of those without an event.")
        if self.kind in ("odds ratio", "survival") and self.effect < 0:
            raise ParameterError("effect= of a ratio is above 0, e.g. 0.5 or 2.")
        if self.kind == "proportions" and not 0 < self.baseline + self.effect < 1:
            raise ParameterError("baseline + effect is the second group's share: between 0 and 1.")
        if self.deviation <= 0 or self.width <= 0 or not 1 < self.bins <= 1000:
            raise ParameterError("deviation= and range= are above 0, bins= is from 2 to 1000.")
        if self.kind in ("mean", "means") and self.width < 2 * self.deviation:
            raise ParameterError(
                f"Values within a range of {self.width:g} have a standard deviation of at most {self.width / 2:g}. "
                "range= is the largest possible value minus the smallest."
            )

    @property
    def width(self) -> float:
        """The public range of the values: as given, or six standard deviations."""
        return 6 * self.deviation if self.range is None else self.range

    @property
    def shift(self) -> float:
        """The effect on the scale of the test: differences as they are, ratios as logarithms."""
        if self.kind in ("odds ratio", "survival"):
            return math.log(self.effect) if self.effect > 0 else 0.0
        return self.effect

    def variance(self, n: float, epsilon: float | None) -> float:
        """Return the variance of the estimate on the scale of ``shift``; without noise where epsilon is None."""
        noise = 0.0 if epsilon is None else laplace_variance(1 / epsilon)
        sizes = [n * (1 - self.split), n * self.split]
        if self.kind == "proportion":
            return _share(self.baseline, n, noise)
        if self.kind == "proportions":
            return sum(
                _share(p, m, noise) for p, m in zip((self.baseline, self.baseline + self.effect), sizes, strict=True)
            )
        if self.kind == "odds ratio":
            odds = self.baseline / (1 - self.baseline) * (self.effect or 1.0)
            second = odds / (1 + odds)
            return sum(
                _share(p, m, noise) / (p * (1 - p)) ** 2 for p, m in zip((self.baseline, second), sizes, strict=True)
            )
        if self.kind in ("mean", "means"):
            middles = (np.arange(self.bins) + 0.5) / self.bins * self.width - self.width / 2
            spread = float((middles**2).sum()) * noise
            wide = (self.width / self.bins) ** 2 / 12
            parts = [n] if self.kind == "mean" else sizes
            return float(sum((self.deviation**2 + wide) / m + spread / m**2 for m in parts))
        return self._hazards(sizes, noise)

    def _hazards(self, sizes: list[float], noise: float) -> float:
        """Return the variance of the log hazard ratio: events of both groups, and the noise of the log-rank excess."""
        at_risk = np.array(sizes)
        ends = np.array([self.baseline, self.baseline ** (self.effect or 1.0)])
        hazards = 1 - ends ** (1 / self.bins)
        lost = 1 - (1 - self.lost) ** (1 / self.bins)
        information, noisy = 0.0, 0.0
        for _ in range(self.bins):
            share = at_risk[1] / at_risk.sum()
            information += float(at_risk @ hazards) * share * (1 - share)
            noisy += noise * float((1 - share) ** 2 + share**2)
            at_risk = at_risk * (1 - hazards) * (1 - lost)
        return 1 / information + noisy / information**2

    @property
    def cells(self) -> int:
        """How many cells the table has."""
        if self.kind in _CELLS:
            return _CELLS[self.kind]
        return self.bins * {"mean": 1, "means": 2, "survival": 4}[self.kind]

    def margin(self, n: float, epsilon: float | None) -> float:
        """Return the expected half-width of the interval."""
        return normal_quantile(self.confidence) * math.sqrt(self.variance(n, epsilon))

    def power(self, n: float, epsilon: float | None) -> float:
        """Return the chance to find the effect."""
        reach, away = normal_quantile(self.confidence), abs(self.shift) / math.sqrt(self.variance(n, epsilon))
        return NormalDist().cdf(away - reach) + NormalDist().cdf(-away - reach)

    @property
    def words(self) -> str:
        """The design in words."""
        if self.kind == "proportion":
            return f"one share of about {self.baseline:g}"
        if self.kind == "mean":
            return f"one mean, standard deviation {self.deviation:g}, range {self.width:g} in {self.bins} bins"
        names = {
            "proportions": f"two shares: {self.baseline:g} against {self.baseline + self.effect:g}",
            "odds ratio": f"odds ratio {self.effect:g}, first share {self.baseline:g}",
            "means": f"difference of means {self.effect:g}, standard deviation {self.deviation:g}, range "
            f"{self.width:g} in {self.bins} bins",
            "survival": f"hazard ratio {self.effect:g}, {self.baseline:g} without an event at the horizon, "
            f"{self.bins} bins",
        }
        return f"{names[self.kind]}; {1 - self.split:g} to {self.split:g}"


def _share(p: float, n: float, noise: float) -> float:
    return p * (1 - p) / n + noise * (p**2 + (1 - p) ** 2) / n**2


def plan(
    kind: Kind,
    *,
    n: int | None = None,
    epsilon: float | None = None,
    power: float | None = None,
    margin: float | None = None,
    **design: Any,
) -> StudyPlan:
    """Return what a study needs, or what it will be able to say; touches no data.

    Give two of the three: persons, epsilon, and a goal (power or margin). The third is worked out.

    Args:
        kind: ``"proportion"``, ``"proportions"``, ``"odds ratio"``, ``"mean"``, ``"means"`` or ``"survival"``.
        n: Persons, both groups together.
        epsilon: The privacy loss.
        power: The chance to find the effect, e.g. 0.8.
        margin: The half-width of the interval that is wanted (of logarithms, for ratios).
        design: ``baseline``, ``effect``, ``deviation``, ``range``, ``bins``, ``split``, ``lost``, ``confidence``
            (``Design``).

    Raises:
        ParameterError: If the design makes no sense, or no number of persons or epsilon reaches the goal.

    Examples:
        >>> found = plan("proportions", n=652, epsilon=1.0, baseline=0.3, effect=0.12)
        >>> round(found.power, 2)
        0.89
        >>> plan("odds ratio", epsilon=1.0, power=0.8, baseline=0.3, effect=2.0).n
        296
    """
    for name, number in {"n": n, "epsilon": epsilon, "power": power, "margin": margin, **design}.items():
        if number is not None and name in ("n", "epsilon", "power", "margin", *Design.__dataclass_fields__):
            exact(number, name=name)
    try:
        made = Design(kind, **design)
    except TypeError:
        names = [name for name in Design.__dataclass_fields__ if name != "kind"]
        wrong = next((name for name in design if name not in names), "")
        raise ParameterError(f"A plan has no '{wrong}'.{did_you_mean(wrong, names)}") from None
    if power is not None and margin is not None:
        raise ParameterError("Give power= or margin=, not both.")
    if power is not None and (made.kind not in TWO or not made.shift):
        raise ParameterError("power= needs an effect between two groups: kind='proportions', effect=0.1.")
    if power is not None and not 0.05 < power < 0.9999:
        raise ParameterError("power= is a share, e.g. 0.8.")
    if n is not None and n < 2:
        raise ParameterError("n= is a number of persons, at least 2.")
    if epsilon is not None and epsilon <= 0:
        raise ParameterError("epsilon= is above 0, e.g. 1.0.")
    if margin is not None and margin <= 0:
        raise ParameterError("margin= is above 0, e.g. 0.1.")
    goal = power is not None or margin is not None
    if (n is None) + (epsilon is None) + (not goal) != 1:
        raise ParameterError("Give two of the three: persons (n=), epsilon, and a goal (power or margin).")

    def reached(persons: float, loss: float) -> bool:
        if power is not None:
            return made.power(persons, loss) >= power
        return margin is None or made.margin(persons, loss) <= margin

    if n is None:
        assert epsilon is not None
        n = math.ceil(_search(lambda x: reached(math.ceil(x), epsilon), 4.0, _MOST_PERSONS, "number of persons"))
    elif epsilon is None:
        persons = n
        epsilon = _search(lambda x: reached(persons, x), _LEAST_EPSILON, _MOST_EPSILON, "epsilon")
    compares = made.kind in TWO and made.shift != 0
    loss = float(epsilon)
    bare = made.power(n, None) if compares else made.margin(n, None)
    found = StudyPlan(
        kind=made.kind,
        n=n,
        epsilon=loss,
        power=made.power(n, loss) if compares else None,
        margin=made.margin(n, loss),
        without_privacy=bare,
        words=made.words,
    )
    return replace(found, warnings=_warnings(made, n, loss))


def _search(reached: Any, low: float, high: float, what: str) -> float:
    if not reached(high):
        more = "more persons, " if what == "epsilon" else ""
        raise ParameterError(
            f"No {what} reaches this goal: plan for {more}a larger effect, a wider margin or fewer bins."
        )
    if reached(low):
        return low
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reached(middle) else (middle, high)
        if high / low < 1 + 1e-6:
            break
    return high


def _warnings(design: Design, n: int, epsilon: float) -> tuple[str, ...]:
    spread = math.sqrt(laplace_variance(1 / epsilon))
    found = []
    if n / design.cells < 2 * spread:
        found.append(
            f"About {n / design.cells:.0f} persons per cell and noise of about {spread:.0f} in each: take fewer bins, "
            "or a larger epsilon."
        )
    if design.kind in ("mean", "means", "survival") and n / design.cells < 5:
        found.append("Few persons per bin: the normal approximation behind this plan is rough.")
    return tuple(found)
