"""What a release guarantees: a closed union of values, each of which says itself in plain words.

``NoGuarantee`` is a value too: "not private" is stated, never left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import ROUND_CEILING, Context
from typing import Any, Literal, TypeAlias, get_args

from pydplib.errors import ParameterError, shown

Unit: TypeAlias = Literal["person", "record"]
"""Whom the guarantee protects: one person (all rows) or one record."""

Relation: TypeAlias = Literal["add_remove", "substitute", "local"]
"""What "with and without one person" means: added or removed, exchanged for another, or each record by itself."""

_SLACK = 1e-13  # relative; a dozen float operations lose less than 100 x 1.1e-16


def _positive(name: str, value: float) -> None:
    try:
        fine = not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value) and value > 0
    except OverflowError:  # a whole number beyond every float
        fine = False
    if not fine:
        raise ParameterError(f"{name} must be a positive, finite number; there is no default. Got {shown(value)}.")


def _known(unit: object, relation: object) -> None:
    for name, word, known in (("unit", unit, get_args(Unit)), ("relation", relation, get_args(Relation))):
        if not (isinstance(word, str) and word in known):
            raise ParameterError(f"{name} is one of {', '.join(map(repr, known))}. Got {shown(word)}.")


def _per(unit: Unit) -> str:
    return "" if unit == "person" else " per record"


def _odds(epsilon: float) -> str:
    """Say what epsilon means for somebody who guesses, as a plain fragment."""
    chance = 100 / (1 + math.exp(-epsilon))
    # Rounded away from 50 so that no bound is understated.
    bound = math.ceil(chance * 10) / 10 if chance < 99.9 else math.ceil(chance * 1000) / 1000
    if bound >= 100:  # from an epsilon of 12 on
        return "practically no bound on what can be learnt about one person"
    return f"a fair guess (50 %) about one person can become at most {bound:g} % right"


def loss_text(value: float) -> str:
    """Return a loss in four digits, rounded up: a sentence never promises more than the number behind it.

    Examples:
        >>> loss_text(10.0492), loss_text(0.1 + 0.2)
        ('10.05', '0.3')
    """
    least = float(value) * (1 - _SLACK)  # 0.1 + 0.2 is shown as 0.3
    if 1000 <= least < 1e15:
        return f"{math.ceil(least)}"
    digits = f"{value:.4g}"
    if float(digits) < least:
        digits = f"{float(Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(least)):.4g}"
    return digits


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-DP; an upper bound, tight to about 1e-13.

    Proof: Canonne, Kamath and Steinke (2020), proposition 12: for every alpha > 1,
    epsilon = rho alpha + ln(1 - 1/alpha) + (ln(1/delta) - ln(alpha)) / (alpha - 1). With
    t = alpha - 1 the best alpha solves rho t^2 + ln(1 + t) = ln(1/delta), whose left side
    only grows: bisection finds it. Every t gives a valid bound, so an inexact root costs
    tightness, never validity; a slack covers the rounding of the last lines.

    Args:
        rho: The sum of rho of all releases.
        delta: The chance that the bound may fail.

    Examples:
        >>> round(zcdp_epsilon(1000 * 0.0072**2 / 2, 1e-6), 2)
        1.03
        >>> round(zcdp_epsilon(5 * 1**2 / 2, 1e-6), 1)
        13.4
    """
    if not (math.isfinite(rho) and rho >= 0):
        raise ParameterError(f"rho must be a finite number of at least 0. Got {shown(rho)}.")
    if not 0 < delta < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1. Got {shown(delta)}.")
    if rho == 0:
        return 0.0
    wanted, t = -math.log(delta), zcdp_tilt(rho, delta)
    epsilon = rho * (1 + t) - math.log1p(1 / t) + (wanted - math.log1p(t)) / t
    size = rho * (1 + t) + math.log1p(1 / t) + (wanted + math.log1p(t)) / t
    bound = epsilon + _SLACK * size
    return math.inf if math.isnan(bound) else max(0.0, bound)


def zcdp_tilt(rho: float, delta: float) -> float:
    """Return alpha - 1 of the one order alpha at which ``zcdp_epsilon`` converts.

    Args:
        rho: A positive rho.
        delta: The chance that the bound may fail.

    Examples:
        >>> round(zcdp_tilt(0.083, 5e-7), 1)
        12.0
    """
    wanted = -math.log(delta)
    # Both terms of rho t^2 + ln(1 + t) must stay below `wanted`, which bounds t from above.
    low, high = 0.0, math.sqrt(wanted) / math.sqrt(rho)  # not of the quotient, which overflows where rho is tiny
    if wanted < 700:
        high = min(high, math.expm1(wanted))
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if rho * middle * middle + math.log1p(middle) < wanted:
            low = middle
        else:
            high = middle
    return high


@dataclass(frozen=True, slots=True)
class PureDP:
    """Differential privacy with parameter epsilon: the odds of any output change by at most e^epsilon.

    Also used as a budget: ``Session(..., budget=PureDP(1.0))``.

    Examples:
        >>> print(PureDP(1.0).sentence)
        Differentially private with epsilon 1: a fair guess (50 %) about one person can become at most 73.2 % right.
    """

    epsilon: float
    unit: Unit = "person"
    relation: Relation = field(default="add_remove")

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)
        _known(self.unit, self.relation)

    @property
    def sentence(self) -> str:
        """The guarantee in one plain sentence."""
        return f"Differentially private{_per(self.unit)} with epsilon {loss_text(self.epsilon)}: {_odds(self.epsilon)}."

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class ApproxDP:
    """(epsilon, delta)-differential privacy: as ``PureDP`` but for a chance of at most delta.

    Examples:
        >>> ApproxDP(1.0, 1e-6).delta
        1e-06
    """

    epsilon: float
    delta: float
    unit: Unit = "person"
    relation: Relation = field(default="add_remove")

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)
        _known(self.unit, self.relation)
        _positive("delta", self.delta)
        if self.delta >= 1:
            raise ParameterError(f"delta must lie strictly between 0 and 1. Got {shown(self.delta)}.")

    @property
    def sentence(self) -> str:
        """The guarantee in one plain sentence."""
        return (
            f"Differentially private{_per(self.unit)} with epsilon {loss_text(self.epsilon)} and delta "
            f"{loss_text(self.delta)}: {_odds(self.epsilon)}, but for a chance of {loss_text(self.delta)}."
        )

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class ZCDP:
    """Zero-concentrated differential privacy with parameter rho (Bun and Steinke 2016).

    Examples:
        >>> print(ZCDP(0.5).sentence)
        Zero-concentrated differentially private with rho 0.5: about epsilon 5.222 with delta 1e-06.
    """

    rho: float
    unit: Unit = "person"
    relation: Relation = field(default="add_remove")

    def __post_init__(self) -> None:
        _positive("rho", self.rho)
        _known(self.unit, self.relation)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon that holds with ``delta``."""
        return zcdp_epsilon(self.rho, delta)

    @property
    def sentence(self) -> str:
        """The guarantee in one plain sentence."""
        return (
            f"Zero-concentrated differentially private{_per(self.unit)} with rho {loss_text(self.rho)}: "
            f"about epsilon {loss_text(self.epsilon(1e-6))} with delta 1e-06."
        )

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class LocalDP:
    """Local differential privacy: each record was made noisy by itself, so not even its keeper is trusted.

    Examples:
        >>> LocalDP(4.1).sentence
        'Every record by itself is private with epsilon 4.1: a fair guess (50 %) about one person can become at \
most 98.4 % right.'
    """

    epsilon: float
    unit: Unit = "record"
    relation: Relation = field(default="local")

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)
        _known(self.unit, self.relation)

    @property
    def sentence(self) -> str:
        """The guarantee in one plain sentence."""
        what = "All records of one person together are" if self.unit == "person" else "Every record by itself is"
        return f"{what} private with epsilon {loss_text(self.epsilon)}: {_odds(self.epsilon)}."

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class KAnonymous:
    """A table in which every combination of quasi-identifiers stands for at least k people.

    Not differential privacy: it limits re-identification, not what can be inferred.

    Args:
        k: The size of the smallest class.
        further: Further models that hold, in words (``"3-diversity (distinct) of diagnosis"``).

    Examples:
        >>> print(KAnonymous(5).sentence)
        5-anonymity: nobody can be narrowed down to fewer than 5 people by the quasi-identifiers. This limits \
re-identification, not what can be inferred; it is not differential privacy.
    """

    k: int
    further: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (isinstance(self.k, int) and self.k >= 1):
            raise ParameterError(f"k must be a whole number of at least 1. Got {shown(self.k)}.")

    @property
    def sentence(self) -> str:
        """The guarantee in one plain sentence."""
        models = ", ".join((f"{self.k}-anonymity", *self.further))
        if self.k == 1:
            return (
                f"{models}: somebody may stand alone in the quasi-identifiers, so k does not protect from being found. "
                "It is not differential privacy."
            )
        return (
            f"{models}: nobody can be narrowed down to fewer than {self.k} people by the quasi-identifiers. "
            "This limits re-identification, not what can be inferred; it is not differential privacy."
        )

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class NoGuarantee:
    """Nothing is guaranteed, and this is why.

    Examples:
        >>> print(NoGuarantee("the range was taken from the data").sentence)
        No privacy guarantee: the range was taken from the data.
    """

    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ParameterError("NoGuarantee needs a reason: say in words why nothing is guaranteed.")

    @property
    def sentence(self) -> str:
        """The absence of a guarantee in one plain sentence."""
        return f"No privacy guarantee: {self.reason.rstrip('.')}."

    def __str__(self) -> str:
        return self.sentence


Guarantee: TypeAlias = PureDP | ApproxDP | ZCDP | LocalDP | KAnonymous | NoGuarantee
"""The closed union: a release carries exactly one of these."""

_STORED: dict[str, type[PureDP] | type[ApproxDP] | type[LocalDP]] = {
    "PureDP": PureDP,
    "ApproxDP": ApproxDP,
    "LocalDP": LocalDP,
}


def guarantee_dict(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as plain values, with its sentence.

    Examples:
        >>> guarantee_dict(PureDP(1.0))["kind"], read_guarantee(guarantee_dict(PureDP(1.0))) == PureDP(1.0)
        ('PureDP', True)
    """
    parts = {spec.name: getattr(guarantee, spec.name) for spec in fields(guarantee)}
    return {"kind": type(guarantee).__name__, **parts, "sentence": guarantee.sentence}


def read_guarantee(values: Mapping[str, Any]) -> PureDP | ApproxDP | LocalDP:
    """Build the guarantee of a release or a price from ``guarantee_dict``'s values."""
    parts = {name: value for name, value in values.items() if name not in ("kind", "sentence")}
    return _STORED[values["kind"]](**parts)
