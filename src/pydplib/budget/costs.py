"""What a release costs: a frozen value in whole units, made before any data are touched."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import Any, get_args

from pydplib._shown import Shown
from pydplib.budget.units import (
    ATTO,
    MOST_EPSILON,
    NANO,
    Amount,
    ceil_units,
    exact,
    rho_of_epsilon,
    show_atto,
    show_nano,
    show_short,
)
from pydplib.errors import ParameterError, did_you_mean
from pydplib.guarantee import Relation

RELATIONS: tuple[Relation, ...] = get_args(Relation)
"""The neighbouring relations; a total sums one of them only."""


@dataclass(frozen=True, slots=True, repr=False)
class Cost(Shown):
    """The privacy loss of one release, in whole units that never understate it.

    Make one with ``Cost.pure``, ``Cost.exponential``, ``Cost.approximate``, ``Cost.gaussian`` or ``Cost.no_dp``.

    Args:
        mechanism: What adds the noise, in a word or two.
        relation: What "with and without one person" means here.
        nano_epsilon: Epsilon in units of 1e-9, rounded up; none where no epsilon holds.
        nano_rho: Rho of zero-concentrated DP in units of 1e-9, rounded up; none for "no DP".
        atto_delta: Delta in units of 1e-18, rounded up.

    Examples:
        >>> cost = Cost.pure(0.2, mechanism="laplace")
        >>> cost.nano_epsilon, cost.nano_rho, str(cost)
        (200000000, 20000000, 'epsilon 0.2')
    """

    mechanism: str
    relation: Relation
    nano_epsilon: int | None
    nano_rho: int | None
    _: KW_ONLY
    atto_delta: int = 0

    def __post_init__(self) -> None:
        if not self.mechanism.strip():
            raise ParameterError("A cost names its mechanism, for example 'laplace'.")
        check_relation(self.relation)
        if self.nano_rho is None and (self.nano_epsilon is not None or self.atto_delta):
            raise ParameterError("A cost without rho is 'no DP' and has neither epsilon nor delta.")
        for name, units in (("epsilon", self.nano_epsilon), ("rho", self.nano_rho)):
            if units is not None and units <= 0:
                raise ParameterError(f"A cost has a positive {name}; nothing is free but a repeated question.")
        if not 0 <= self.atto_delta < ATTO:
            raise ParameterError("The delta of a cost lies between 0 and 1.")

    @classmethod
    def pure(cls, epsilon: Amount, *, mechanism: str, relation: Relation = "add_remove") -> Cost:
        """Return the cost of an epsilon-DP mechanism: rho = epsilon^2/2.

        Also for permute-and-flip, whose privacy loss is not known to be as narrow as the exponential mechanism's.

        Examples:
            >>> Cost.pure(1, mechanism="randomized_response", relation="local").nano_rho
            500000000
        """
        nano = _nano_epsilon(epsilon)
        return cls(mechanism, relation, nano, rho_of_epsilon(nano))

    @classmethod
    def exponential(cls, epsilon: Amount, *, relation: Relation = "add_remove") -> Cost:
        """Return the cost of the exponential mechanism: rho = epsilon^2/8 (Cesar and Rogers 2021).

        Examples:
            >>> Cost.exponential(1).nano_rho
            125000000
        """
        nano = _nano_epsilon(epsilon)
        return cls("exponential", relation, nano, rho_of_epsilon(nano, divisor=8))

    @classmethod
    def approximate(cls, epsilon: Amount, *, delta: Amount, mechanism: str, relation: Relation = "add_remove") -> Cost:
        """Return the cost of an (epsilon, delta)-DP mechanism, such as a histogram over unknown keys.

        Examples:
            >>> print(Cost.approximate(0.5, delta=1e-7, mechanism="unknown_keys"))
            epsilon 0.5 and delta 1e-07
        """
        nano = _nano_epsilon(epsilon)
        return cls(mechanism, relation, nano, rho_of_epsilon(nano), atto_delta=_atto_delta(delta))

    @classmethod
    def gaussian(
        cls,
        *,
        sensitivity_squared: Amount,
        variance: Amount,
        mechanism: str = "gaussian",
        relation: Relation = "add_remove",
    ) -> Cost:
        """Return the cost of (discrete) Gaussian noise: rho = D^2/(2 sigma^2), no pure epsilon.

        Args:
            sensitivity_squared: The square of the L2 sensitivity.
            variance: The variance of the noise, in the same units.
            mechanism: Its name in the ledger.
            relation: The neighbouring relation.

        Examples:
            >>> print(Cost.gaussian(sensitivity_squared=1, variance=50))
            rho 0.01
        """
        d2, s2 = exact(sensitivity_squared, name="sensitivity_squared"), exact(variance, name="variance")
        if d2 <= 0 or s2 <= 0:
            raise ParameterError("sensitivity_squared and variance must be positive.")
        rho = d2 / (2 * s2)
        if rho > MOST_EPSILON:
            raise ParameterError(f"rho above {MOST_EPSILON} is no privacy. Enter such a release by Cost.no_dp().")
        return cls(mechanism, relation, None, ceil_units(rho, NANO))

    @classmethod
    def no_dp(cls, *, mechanism: str, relation: Relation = "add_remove") -> Cost:
        """Return the entry of something without differential privacy: an anonymized table, paper-mode data.

        It prices as infinity: no account can pay it, the ledger only remembers it.

        Examples:
            >>> print(Cost.no_dp(mechanism="5-anonymity"))
            no DP
        """
        return cls(mechanism, relation, None, None)

    @property
    def is_dp(self) -> bool:
        """Whether this is differential privacy at all."""
        return self.nano_rho is not None

    @property
    def epsilon(self) -> float:
        """Epsilon as a number, infinite where none holds."""
        return math.inf if self.nano_epsilon is None else self.nano_epsilon / NANO

    @property
    def rho(self) -> float:
        """Rho as a number, infinite where none holds."""
        return math.inf if self.nano_rho is None else self.nano_rho / NANO

    @property
    def delta(self) -> float:
        """Delta as a number."""
        return self.atto_delta / ATTO

    def to_substitute(self) -> Cost:
        """Return what this costs when one person is exchanged for another: one removed, one added.

        Two steps of add/remove: 2 epsilon, 4 rho (Bun and Steinke 2016), delta times 1 + e^epsilon. There
        is no way back, and none from local or public-n releases to add/remove: they are accounted apart.

        Examples:
            >>> print(Cost.pure(0.5, mechanism="laplace").to_substitute())
            epsilon 1
        """
        if self.relation != "add_remove":
            raise ParameterError(
                f"Only add_remove costs convert to substitute. This one is '{self.relation}' and is "
                "accounted apart: open an account for its own relation."
            )
        if self.nano_rho is None:
            return replace(self, relation="substitute")
        delta = self.atto_delta
        if delta:
            if self.nano_epsilon is None:
                raise ParameterError("A cost with delta but without epsilon does not convert to substitute.")
            factor = math.nextafter(1 + math.exp(self.epsilon), math.inf) if self.epsilon < 700 else math.inf
            if factor * delta >= ATTO:
                raise ParameterError("As substitution this cost would have a delta of 1 or more: no privacy.")
            delta = math.ceil(delta * Fraction(math.nextafter(factor, math.inf)))
        epsilon = None if self.nano_epsilon is None else 2 * self.nano_epsilon
        return replace(self, relation="substitute", nano_epsilon=epsilon, nano_rho=4 * self.nano_rho, atto_delta=delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as plain values, in whole units.

        Examples:
            >>> Cost.from_dict(Cost.exponential(1).to_dict()) == Cost.exponential(1)
            True
        """
        return {
            "mechanism": self.mechanism,
            "relation": self.relation,
            "nano_epsilon": self.nano_epsilon,
            "nano_rho": self.nano_rho,
            "atto_delta": self.atto_delta,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cost:
        """Make a cost from ``to_dict``'s values."""
        return cls(**values)

    @property
    def words(self) -> str:
        """The cost for readers: at most four digits of epsilon, rounded up."""
        if self.nano_epsilon is None or self.nano_rho is None:
            return str(self)
        main = f"epsilon {show_short(self.nano_epsilon)}"
        return f"{main} and delta {show_atto(self.atto_delta)}" if self.atto_delta else main

    def __str__(self) -> str:
        if self.nano_rho is None:
            return "no DP"
        main = (
            f"rho {show_nano(self.nano_rho)}"
            if self.nano_epsilon is None
            else f"epsilon {show_nano(self.nano_epsilon)}"
        )
        return f"{main} and delta {show_atto(self.atto_delta)}" if self.atto_delta else main


def check_relation(relation: str) -> None:
    """Raise unless ``relation`` is one of the neighbouring relations."""
    if relation not in RELATIONS:
        raise ParameterError(f"Unknown neighbouring relation '{relation}'.{did_you_mean(relation, RELATIONS)}")


def _nano_epsilon(epsilon: Amount) -> int:
    value = exact(epsilon, name="epsilon")
    if not 0 < value <= MOST_EPSILON:
        raise ParameterError(
            f"epsilon must be positive and at most {MOST_EPSILON}; there is no default. Got {float(value):g}."
        )
    return ceil_units(value, NANO)


def _atto_delta(delta: Amount) -> int:
    value = exact(delta, name="delta")
    if not 0 < value < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1. Got {float(value):g}.")
    units = ceil_units(value, ATTO)
    if units >= ATTO:
        raise ParameterError("delta must lie below 1 - 1e-18.")
    return units
