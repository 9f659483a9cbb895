"""Privacy models: values that print themselves, cite their paper and judge classes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, ClassVar, Literal

import numpy as np

from pydplib.anonymity.assessment.measures import SensitiveMeasures
from pydplib.anonymity.assessment.population import population_uniqueness, sample_threshold
from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.search.statistics import (
    TOLERANCE,
    ClassStats,
    equal_distance,
    hierarchical_distance,
    ordered_distance,
)
from pydplib.anonymity.tables.columns import Bools, Floats, Ints
from pydplib.anonymity.tables.values import from_plain, to_plain
from pydplib.errors import ParameterError, did_you_mean


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}. Got {value!r}.")


def _real(name: str, value: Any, low: float, high: float = math.inf, *, open_low: bool = False) -> None:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not fine or value > high or value < low or (open_low and value == low):
        limit = f"between {low:g} and {high:g}" if high < math.inf else f"{'above' if open_low else 'at least'} {low:g}"
        raise ParameterError(f"{name} must be a number {limit}. Got {value!r}.")


def _choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ParameterError(f"Unknown {name} '{value}'.{did_you_mean(value, known)}")


_SLACK = 1e-7


@dataclass(frozen=True)
class OutputFacts:
    """What an output alone shows, as a certificate measures it.

    Attributes:
        size: People per class.
        measures: Measures the sensitive column.
        people_behind: People of the population per class, and how many combinations the population has.
    """

    size: Ints
    measures: Callable[[], SensitiveMeasures]
    people_behind: Callable[[], tuple[Floats, int]]


MODELS: dict[str, type[Model]] = {}
"""The models by name, as recipes store them; every class below ``Model`` enters itself."""


@dataclass(frozen=True)
class Model(ABC):
    """A privacy model. ``str(model)`` names it, ``paper`` says where it is from, ``bounds`` what it limits."""

    word: ClassVar[str] = ""
    """Its word in configuration files."""
    paper: ClassVar[str] = ""
    bounds: ClassVar[str] = ""
    needs_sensitive: ClassVar[bool] = False
    monotone: ClassVar[bool] = False
    """Whether rows that pass keep passing under generalization, whatever else is suppressed."""
    whole_table: ClassVar[bool] = False
    """Whether it judges all released classes together, after the models that judge each class."""
    upward: ClassVar[bool] = True
    """Whether a table that passes without suppression passes at every coarser level too."""
    relative: ClassVar[bool] = False
    """Whether classes are compared with the distribution of a whole table."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        MODELS[cls.__name__] = cls

    @abstractmethod
    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether the model holds."""

    @abstractmethod
    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what an output shows of what the model limits, and whether it holds there; for the certificate."""

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain values, ready for JSON (population tables are left out)."""
        return model_to_dict(self)


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every combination of quasi-identifiers stands for at least k people.

    Examples:
        >>> print(KAnonymity(5))
        5-anonymity
    """

    word = "k-anonymity"
    paper = "Sweeney (2002), k-anonymity: a model for protecting privacy"
    bounds = "the chance of picking the right person among those who look alike is at most 1/k"
    monotone = True
    k: int

    def __post_init__(self) -> None:
        _whole("k", self.k, 1)

    def __str__(self) -> str:
        return f"{self.k}-anonymity"

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether it has k people."""
        return np.asarray(stats.size >= self.k)

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        smallest = int(output.size.min())
        return smallest, smallest >= self.k


@dataclass(frozen=True)
class AlphaK(Model):
    """At least k people per class, and no sensitive value has more than a share alpha of them.

    Examples:
        >>> print(AlphaK(0.5, 5))
        (0.5, 5)-anonymity
    """

    word = "alpha-k"
    paper = "Wong et al. (2006), (alpha,k)-anonymity"
    bounds = "no sensitive value can be guessed with more than a chance of alpha within a class"
    needs_sensitive = True
    alpha: float
    k: int

    def __post_init__(self) -> None:
        _real("alpha", self.alpha, 0, 1, open_low=True)
        _whole("k", self.k, 1)

    def __str__(self) -> str:
        return f"({self.alpha:g}, {self.k})-anonymity"

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether it is large enough and no value too common."""
        histogram = stats.histograms[_named(sensitive)]
        # Shares of people, not of entries: somebody with two values counts for both.
        most = histogram.maximum(histogram.count / np.maximum(stats.size, 1)[histogram.owner])
        return np.asarray((stats.size >= self.k) & (most <= self.alpha + TOLERANCE))

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        share = output.measures().alpha
        return share, share <= self.alpha + _SLACK and int(output.size.min()) >= self.k


@dataclass(frozen=True)
class LDiversity(Model):
    """Every class has at least l well-represented sensitive values.

    Args:
        l: The number of values.
        kind: ``"distinct"`` counts them; ``"entropy"`` asks for the entropy of l even values;
            ``"recursive"`` asks that the most common value is rarer than c times all but the l-1 most common.
        c: The factor of the recursive kind.

    Examples:
        >>> print(LDiversity(3, kind="entropy"))
        3-diversity (entropy)
    """

    word = "l-diversity"
    paper = "Machanavajjhala et al. (2007), l-diversity: privacy beyond k-anonymity"
    bounds = "somebody known to be in a class still has l possible sensitive values"
    needs_sensitive = True
    l: float  # noqa: E741
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None

    def __post_init__(self) -> None:
        _choice("kind of l-diversity", self.kind, ("distinct", "entropy", "recursive"))
        if self.kind == "entropy":
            _real("l", self.l, 1)
        else:
            _whole("l", self.l, 1)
        if self.kind == "recursive":
            _real("c", self.c, 0, open_low=True)
        elif self.c is not None:
            raise ParameterError("c belongs to kind='recursive' only.")

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self)

    def __str__(self) -> str:
        if self.kind == "recursive":
            return f"recursive ({self.c:g}, {self.l:g})-diversity"
        return f"{self.l:g}-diversity ({self.kind})"

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether its sensitive values are diverse enough."""
        name = _named(sensitive)
        histogram = stats.histograms[name]
        if self.kind == "distinct":
            good = histogram.distinct >= self.l
        elif self.kind == "entropy":
            share = histogram.shares()
            good = histogram.add(-share * np.log(share)) >= math.log(self.l) - TOLERANCE
        else:
            good = self._recursive(stats, name)
        if self.l > 1 and name in stats.certain:
            good = good & ~stats.certain[name]
        return np.asarray(good)

    def _recursive(self, stats: ClassStats, name: str) -> Bools:
        histogram = stats.histograms[name]
        order = np.lexsort((-histogram.count, histogram.owner))
        count = histogram.count[order]
        place = np.arange(len(count)) - histogram.start[histogram.owner]
        tail = np.add.reduceat(np.where(place >= self.l - 1, count, 0), histogram.start)
        return np.asarray(count[histogram.start] < (self.c or 0.0) * tail - TOLERANCE * (self.c or 0.0))

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        here = output.measures()
        if self.kind == "distinct":
            return here.l_distinct, here.l_distinct >= self.l
        if self.kind == "entropy":
            return here.l_entropy, here.l_entropy >= self.l * (1 - _SLACK)
        c = here.recursive(int(self.l))
        return c, c < (self.c or 0.0)


@dataclass(frozen=True)
class TCloseness(Model):
    """Every class's sensitive values are distributed as in the whole table, within a distance t.

    Args:
        t: The largest earth mover's distance.
        distance: ``"equal"`` (all values equally far), ``"ordered"`` (by rank) or ``"hierarchical"``.
        hierarchy: The value hierarchy of the hierarchical distance.
        order: All values in order, for the ordered distance of values that do not sort by themselves.

    Examples:
        >>> print(TCloseness(0.2, distance="ordered"))
        0.2-closeness (ordered)
    """

    word = "t-closeness"
    paper = "Li, Li, Venkatasubramanian (2007), t-closeness"
    bounds = "what a class tells about its sensitive values beyond the whole table"
    needs_sensitive = True
    relative = True
    t: float
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    hierarchy: Hierarchy | None = None
    order: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        _real("t", self.t, 0, 1)
        _choice("distance", self.distance, ("equal", "ordered", "hierarchical"))
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            raise ParameterError("TCloseness(distance='hierarchical') needs hierarchy=, and only that distance does.")
        if self.order is not None:
            if self.distance != "ordered":
                raise ParameterError("order= belongs to distance='ordered' only.")
            object.__setattr__(self, "order", tuple(self.order))

    def __str__(self) -> str:
        return f"{self.t:g}-closeness ({self.distance})"

    def distances(self, stats: ClassStats, sensitive: str | None) -> Any:
        """Return the distance of every class."""
        name = _named(sensitive)
        histogram, column = stats.histograms[name], stats.sensitive[name]
        if self.distance == "equal":
            return equal_distance(histogram, column.share)
        if self.distance == "ordered":
            return ordered_distance(histogram, column)
        return hierarchical_distance(histogram, column)

    def must_fail(self, stats: ClassStats, sensitive: str | None, slack: float) -> Floats:
        """Return, per class, a share of its rows that fail however the class is split.

        Proof: the distance is convex in the class's distribution and at most 1. Let parts with a share w of the rows
        pass, at most t' = t + slack away from the table of ``stats``. Then distance <= w t' + (1 - w), so that
        1 - w >= (distance - t') / (1 - t'). ``slack`` is how far the table that parts are compared with can be from
        that of ``stats``. Values that vanish change the distance itself, too: ``stats`` then holds for every pair of
        values the least distance that it can have (``Sensitive.whatever_goes``; a root that falls off a tree only
        makes distances larger), and the earth mover's distance does not rise where all distances between values fall.
        """
        limit = self.t + slack + TOLERANCE
        if limit >= 1:
            return np.zeros(len(stats.size))
        return np.asarray(np.maximum(self.distances(stats, sensitive) - limit, 0.0) / (1 - limit))

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether its distance is at most t."""
        return np.asarray(self.distances(stats, sensitive) <= self.t + TOLERANCE)

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        here = output.measures()
        distances = {"equal": here.t_equal, "ordered": here.t_ordered, "hierarchical": here.t_hierarchical or 0.0}
        value = distances[self.distance]
        return value, value <= self.t + _SLACK


@dataclass(frozen=True)
class BetaLikeness(Model):
    """No sensitive value is more than (1 + beta) times as frequent in a class as in the table.

    Args:
        beta: The largest relative gain.
        kind: ``"basic"``, or ``"enhanced"``, where the gain is at most min(beta, -ln p).

    Examples:
        >>> print(BetaLikeness(2, kind="enhanced"))
        2-likeness (enhanced beta)
    """

    word = "beta-likeness"
    paper = "Cao and Karras (2012), publishing microdata with a robust privacy guarantee"
    bounds = "how much more likely a sensitive value becomes by knowing the class"
    needs_sensitive = True
    relative = True
    beta: float
    kind: Literal["basic", "enhanced"] = "basic"

    def __post_init__(self) -> None:
        _real("beta", self.beta, 0, open_low=True)
        _choice("kind of beta-likeness", self.kind, ("basic", "enhanced"))

    def __str__(self) -> str:
        return f"{self.beta:g}-likeness ({self.kind} beta)"

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether no value gains too much."""
        name = _named(sensitive)
        histogram = stats.histograms[name]
        p = stats.sensitive[name].share[histogram.value]
        limit = np.full(len(p), float(self.beta))
        if self.kind == "enhanced":
            limit = np.minimum(limit, -np.log(p))
        return histogram.maximum((histogram.shares() - p) / p - limit) <= TOLERANCE

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        here = output.measures()
        value = here.beta if self.kind == "basic" else here.beta_enhanced
        return value, value <= self.beta + _SLACK


@dataclass(frozen=True)
class DeltaDisclosure(Model):
    """In every class every sensitive value of the table occurs, with |log(q/p)| below delta.

    Args:
        delta: The bound, strict.
        base: Of the logarithm; 2 unless told otherwise.

    Examples:
        >>> print(DeltaDisclosure(1))
        1-disclosure privacy (log2)
    """

    word = "delta-disclosure"
    paper = "Brickell and Shmatikov (2008), the cost of privacy"
    bounds = "how much more or less likely any sensitive value becomes by knowing the class"
    needs_sensitive = True
    relative = True
    delta: float
    base: float = 2.0

    def __post_init__(self) -> None:
        _real("delta", self.delta, 0, open_low=True)
        _real("base", self.base, 1, open_low=True)

    def __str__(self) -> str:
        base = "ln" if abs(self.base - math.e) < 1e-12 else f"log{self.base:g}"
        return f"{self.delta:g}-disclosure privacy ({base})"

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether all values occur about as often as in the table."""
        name = _named(sensitive)
        histogram, share = stats.histograms[name], stats.sensitive[name].share
        gain = np.abs(np.log(histogram.shares() / share[histogram.value])) / math.log(self.base)
        complete = histogram.distinct == int(np.count_nonzero(share > 0))
        return np.asarray((histogram.maximum(gain) < self.delta) & complete)

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        value = output.measures().delta * math.log(2) / math.log(self.base)
        return value, value < self.delta


@dataclass(frozen=True)
class KMap(Model):
    """Every combination of quasi-identifiers stands for at least k people of the population.

    Args:
        k: The number of people.
        population: A table of the population with the quasi-identifiers; or
        fraction: the share of the population that the table holds, where there is no such table.
        estimator: Without a population: ``"zero-truncated"`` or ``"poisson"``.
        significance: Without a population: the chance of wrongly taking a smaller group for one of k.

    Examples:
        >>> print(KMap(10, fraction=0.05))
        10-map (zero-truncated Poisson, at least 3 in the table)
    """

    word = "k-map"
    paper = "Sweeney (2002); El Emam and Dankar (2008), protecting privacy using k-anonymity"
    bounds = "the chance of picking the right person of the population is at most 1/k"
    monotone = True
    k: int
    _: KW_ONLY
    population: Any = field(default=None, repr=False, compare=False)
    fraction: float | None = None
    estimator: Literal["zero-truncated", "poisson"] = "zero-truncated"
    significance: float = 0.05

    def __post_init__(self) -> None:
        _whole("k", self.k, 1)
        if (self.population is None) == (self.fraction is None):
            raise ParameterError("KMap needs population= (a table) or fraction= (the table's share of the population).")
        if self.fraction is not None:
            _real("fraction", self.fraction, 0, 1, open_low=True)
        _choice("estimator", self.estimator, ("zero-truncated", "poisson"))
        _real("significance", self.significance, 0, 1, open_low=True)

    def __str__(self) -> str:
        if self.population is not None:
            return f"{self.k}-map"
        word = "zero-truncated Poisson" if self.estimator == "zero-truncated" else "Poisson"
        return f"{self.k}-map ({word}, at least {self.sample_size} in the table)"

    @property
    def sample_size(self) -> int:
        """Without a population: the class size in the table that speaks for k in the population."""
        return sample_threshold(
            self.k, self.fraction or 1.0, self.significance, truncated=self.estimator == "zero-truncated"
        )

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether the population has k people like it."""
        if self.population is None:
            return np.asarray(stats.size >= self.sample_size)
        return np.asarray(stats.population[id(self)] >= self.k)

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        if self.population is None:
            smallest = int(output.size.min())
            return smallest, smallest >= self.sample_size
        people, _ = output.people_behind()
        return float(people.min()), bool((people >= self.k).all())


@dataclass(frozen=True)
class DeltaPresence(Model):
    """The chance that somebody of the population is in the table lies between two bounds.

    Args:
        upper: The largest chance.
        lower: The smallest chance; above 0 nothing may be suppressed.
        population: A table of the population with the quasi-identifiers.

    Examples:
        >>> import pandas as pd
        >>> print(DeltaPresence(0.5, population=pd.DataFrame({"age": [30, 31]})))
        (0, 0.5)-presence
    """

    word = "delta-presence"
    paper = "Nergiz, Atzori, Clifton (2007), hiding the presence of individuals"
    bounds = "how surely somebody of the population is known to be in the table"
    upper: float
    lower: float = 0.0
    population: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        _real("upper", self.upper, 0, 1)
        _real("lower", self.lower, 0, 1)
        if self.lower > self.upper:
            raise ParameterError(f"lower must not exceed upper. Got {self.lower!r} and {self.upper!r}.")
        if self.population is None:
            raise ParameterError("DeltaPresence needs population=, a table of the population.")

    def __str__(self) -> str:
        return f"({self.lower:g}, {self.upper:g})-presence"

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether the share of the population in the table is within the bounds."""
        chance = stats.size / np.maximum(stats.population[id(self)], 1)
        return np.asarray((chance <= self.upper + TOLERANCE) & (chance >= self.lower - TOLERANCE))

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        people, combinations = output.people_behind()
        chance = output.size / np.maximum(people, 1)
        holds = bool((chance <= self.upper + _SLACK).all() and (chance >= self.lower - _SLACK).all())
        if self.lower > 0:
            holds = holds and combinations == len(output.size)
        return float(chance.max()), holds


@dataclass(frozen=True)
class AverageRisk(Model):
    """The chance of finding the right person, averaged over all people, is at most a limit.

    Among f people who look alike everybody is found with a chance of 1/f, so that the average is the number of classes
    over the number of people. Where it is too high, the smallest classes are left out: all below the least size with
    which it holds. Add k-anonymity to bound the highest chance too.

    Args:
        limit: The largest average chance, e.g. 0.05.

    Examples:
        >>> print(AverageRisk(0.05))
        average risk of at most 5 %
    """

    word = "average-risk"
    paper = "our own description: the mean of the prosecutor's chances 1/f, held below a limit"
    bounds = "of everybody whom somebody tries to find, at most this share is found"
    whole_table = True
    limit: float

    def __post_init__(self) -> None:
        _real("limit", self.limit, 0, 1, open_low=True)

    def __str__(self) -> str:
        return f"average risk of at most {100 * self.limit:g} %"

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether it is large enough for the average to hold among all classes of its size and up.

        Proof: Leaving out smaller classes raises the mean size of those left, which is one over the average risk: it
        is monotone in the least size, and the first size that holds leaves out the fewest people.
        """
        sizes, number = np.unique(stats.size, return_counts=True)
        people = np.cumsum((sizes * number)[::-1])[::-1]
        classes = np.cumsum(number[::-1])[::-1]
        fine = np.flatnonzero(classes <= self.limit * people + TOLERANCE)
        least = sizes[fine[0]] if len(fine) else np.iinfo(np.int64).max
        return np.asarray(stats.size >= least)

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        average = len(output.size) / int(output.size.sum())
        return average, average <= self.limit + _SLACK


@dataclass(frozen=True)
class PopulationUniqueness(Model):
    """At most a share of the population is unique in it, as estimated from the released sample.

    Where the estimate is too high, everybody who is unique in the table is left out; nobody else can be unique in the
    population.

    Args:
        limit: The largest share, e.g. 0.001.
        fraction: The share of the population that the table holds.
        estimator: ``"dankar"`` (chooses among the others), ``"zayatz"``, ``"pitman"`` or ``"snb"``.

    Examples:
        >>> print(PopulationUniqueness(0.01, fraction=0.1))
        population uniqueness of at most 1 % (dankar, fraction 0.1)
    """

    word = "population-uniqueness"
    paper = "our own description: a limit on the estimates called Zayatz, Pitman, SNB and Dankar's choice of them"
    bounds = "the share of the population that nobody else looks like, estimated from the release"
    whole_table = True
    upward = False  # an estimate may rise where classes merge
    limit: float
    fraction: float = field(kw_only=True)
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = field(default="dankar", kw_only=True)

    def __post_init__(self) -> None:
        _real("limit", self.limit, 0, 1)
        _real("fraction", self.fraction, 0, 1, open_low=True)
        _choice("estimator", self.estimator, ("dankar", "zayatz", "pitman", "snb"))

    def __str__(self) -> str:
        return f"population uniqueness of at most {100 * self.limit:g} % ({self.estimator}, fraction {self.fraction:g})"

    def estimate(self, size: Any) -> float:
        """Return the estimated share of unique people in the population behind classes of these sizes.

        Where an estimator cannot say (every row of the table is unique), it counts as everybody.
        """
        sizes, number = np.unique(np.asarray(size), return_counts=True)
        if not len(sizes) or sizes[0] > 1:
            return 0.0  # whoever is unique in the population is unique in every sample of it
        counts = dict(zip(sizes.tolist(), number.tolist(), strict=True))
        people = int((sizes * number).sum())
        found = population_uniqueness(counts, people, self.fraction, self.estimator)
        return float(found.get(self.estimator, 1.0))

    def passes(self, stats: ClassStats, sensitive: str | None) -> Bools:
        """Return, per class, whether it stays: all of them, or those with more than one person."""
        if self.estimate(stats.size) <= self.limit + TOLERANCE:
            return np.ones(len(stats.size), dtype=bool)
        return np.asarray(stats.size > 1)

    def measured(self, output: OutputFacts) -> tuple[float, bool]:
        """Return what the output shows, and whether the model holds there."""
        unique = self.estimate(output.size)
        return unique, unique <= self.limit + _SLACK


def _named(sensitive: str | None) -> str:
    if sensitive is None:
        raise ParameterError("This model needs a sensitive column: anonymize(..., sensitive='diagnosis').")
    return sensitive


def model_to_dict(model: Model) -> dict[str, Any]:
    """Return a model as plain values; a population table is not stored, only that there was one."""
    out: dict[str, Any] = {"model": type(model).__name__}
    for spec in fields(model):
        value = getattr(model, spec.name)
        if spec.name == "population":
            if value is not None:
                out["population"] = "given"
        elif isinstance(value, Hierarchy):
            out[spec.name] = value.to_dict()
        elif isinstance(value, tuple):
            out[spec.name] = [to_plain(item) for item in value]
        elif value is not None:
            out[spec.name] = value
    return out


def model_from_dict(values: Mapping[str, Any], *, population: Any = None) -> Model:
    """Read a model from plain values; one that needs a population gets it from the caller."""
    values = dict(values)
    kind = values.pop("model", None)
    if kind not in MODELS:
        raise ParameterError(f"Unknown model '{kind}'.{did_you_mean(kind, MODELS)}")
    if values.pop("population", None) is not None:
        values["population"] = population
    if "hierarchy" in values:
        values["hierarchy"] = Hierarchy.from_dict(values["hierarchy"])
    if "order" in values:
        values["order"] = tuple(from_plain(item) for item in values["order"])
    try:
        model: Model = MODELS[kind](**values)
    except TypeError:
        raise ParameterError(f"The saved model '{kind}' has unknown or missing entries.") from None
    return model
