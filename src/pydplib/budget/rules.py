"""The rules of every account, in one pure function: (state, cost, limit) to a new state or a refusal.

Ledgers in memory, in SQLite or in a platform's database only store the state under a lock.

Two types of account. ``PureDP``: the sum of epsilon; whatever has no pure epsilon
(Gaussian noise, unknown keys) is refused. ``ApproxDP(epsilon, delta)``: a course of answers is
within the limit if one of two sums is, with the sum of delta plus ``delta_conversion`` within delta:

- (a) everything has a pure epsilon, and these add up to at most epsilon;
- (b) R_g + min(R_p, E_p / alpha) <= rho_max. R_g and R_p are the sums of rho of releases without and with a pure
  epsilon, E_p is the sum of the pure epsilons, rho_max the largest rho that converts to (epsilon,
  delta_conversion), and alpha the order at which that conversion is made; both are fixed by the limit.

So pure questions next to Gaussian noise cost the smaller of their square and their plain sum.

Proof that this is a filter for the fixed (epsilon, delta), even when questions depend on answers. At the one
order alpha, Gaussian noise has a Rényi divergence of at most alpha rho, and a pure release one of at most
min(epsilon, alpha epsilon^2/2): it is bounded by the largest loss, and by zCDP. Where (b) holds these add up to at most
alpha rho_max; the sums only grow, so it held at every step before. Let L be the privacy loss of a course. Then
exp((alpha - 1) (L - the sum of the divergences so far)) is a supermartingale (Feldman and Zrnic 2021; Whitehouse
et al. 2023), so E[exp((alpha - 1) L); (b)] <= exp((alpha - 1) alpha rho_max), which is all that proposition 12 of
Canonne, Kamath and Steinke (2020) needs to bound E[(1 - e^(epsilon - L))+; (b)] by delta_conversion. On courses that
end within (a), L <= epsilon and that term is 0. Mechanisms with delta_i add the sum of delta_i. One order serves all
courses: taking the best order of each course would need a delta for each order. It is a filter, not an
odometer: it says "within the limit", not "so much was lost".

Where a policy changes the limit between two debits, everything up to the last debit is within the limit of that debit:
the sums only grow, so what is within it at the end was within it at every step before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from pydplib._shown import Shown
from pydplib.budget.conversion import micro_order, most_nano_rho, zcdp_nano_epsilon
from pydplib.budget.costs import Cost
from pydplib.budget.units import ATTO, MOST_EPSILON, NANO, Amount, exact, floor_units, show_atto, show_nano
from pydplib.errors import ParameterError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, Relation

MOST_UNITS = 2**62
"""Sums beyond this are treated as unbounded: databases hold 64-bit integers."""

Why: TypeAlias = Literal["no_dp", "relation", "not_pure", "epsilon", "delta"]
"""Why a cost was refused."""


@dataclass(frozen=True, slots=True, repr=False)
class Limit(Shown):
    """What an account may spend, in whole units rounded down: given by the policy, checked at every debit.

    Args:
        relation: The one neighbouring relation that the account sums.
        nano_epsilon: The bound on epsilon.
        atto_delta: The bound on delta; 0 makes it a ``PureDP`` account.
        atto_conversion: The part of delta that is kept for the zCDP conversion.

    Examples:
        >>> print(Limit.of(PureDP(1.0)))
        epsilon 1
        >>> print(Limit.of(ApproxDP(2.0, 1e-6)))
        epsilon 2 and delta 1e-06
    """

    relation: Relation
    nano_epsilon: int
    atto_delta: int = 0
    atto_conversion: int = 0

    @classmethod
    def of(cls, guarantee: PureDP | ApproxDP | LocalDP, *, delta_conversion: Amount | None = None) -> Limit:
        """Return the limit that keeps ``guarantee`` as the guarantee of everything released together.

        Args:
            guarantee: ``PureDP(epsilon)``, ``ApproxDP(epsilon, delta)`` or, for local releases, ``LocalDP(epsilon)``.
            delta_conversion: The part of delta that pays for the zCDP conversion; by default one half, so that
                the other half can pay for unknown keys. Give the whole delta if none will be asked.
        """
        if not isinstance(guarantee, PureDP | ApproxDP | LocalDP):
            raise ParameterError(
                f"A budget is PureDP(epsilon) or ApproxDP(epsilon, delta). Got {type(guarantee).__name__}."
            )
        epsilon = exact(guarantee.epsilon, name="epsilon")
        if epsilon > MOST_EPSILON:
            raise ParameterError(f"A budget above epsilon {MOST_EPSILON} protects nobody. Choose a smaller one.")
        nano = floor_units(epsilon, NANO)
        if nano == 0:
            raise ParameterError("A budget below one nano-epsilon (1e-9) cannot pay for anything.")
        if not isinstance(guarantee, ApproxDP):
            if delta_conversion is not None:
                raise ParameterError("delta_conversion belongs to ApproxDP budgets; a PureDP budget has no delta.")
            return cls(guarantee.relation, nano)
        atto = floor_units(exact(guarantee.delta, name="delta"), ATTO)
        if atto == 0:
            raise ParameterError("A delta below 1e-18 cannot pay for anything. Use PureDP.")
        if delta_conversion is None:
            return cls(guarantee.relation, nano, atto, atto // 2)
        conversion = floor_units(exact(delta_conversion, name="delta_conversion"), ATTO)
        if not 0 <= conversion <= atto:
            raise ParameterError("delta_conversion must lie between 0 and the budget's delta.")
        return cls(guarantee.relation, nano, atto, conversion)

    @property
    def is_pure(self) -> bool:
        """Whether this is a ``PureDP`` account."""
        return self.atto_delta == 0

    def exceeds(self, other: Limit) -> bool:
        """Return whether it allows something that another limit does not."""
        return self.nano_epsilon > other.nano_epsilon or self.atto_delta > other.atto_delta

    @property
    def most_nano_rho(self) -> int:
        """The bound on the sum of rho, by the tight conversion at ``delta_conversion``."""
        return most_nano_rho(self.nano_epsilon, self.atto_conversion)

    @property
    def micro_order(self) -> int:
        """The order at which that bound converts, in millionths; see the module's text."""
        return micro_order(self.most_nano_rho, self.atto_conversion)

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """The limit as a guarantee of all releases together."""
        epsilon = self.nano_epsilon / NANO
        if self.is_pure:
            return PureDP(epsilon, relation=self.relation)
        return ApproxDP(epsilon, self.atto_delta / ATTO, relation=self.relation)

    def to_dict(self) -> dict[str, Any]:
        """Return the limit as plain values, in whole units."""
        return {
            "relation": self.relation,
            "nano_epsilon": self.nano_epsilon,
            "atto_delta": self.atto_delta,
            "atto_conversion": self.atto_conversion,
        }

    def __str__(self) -> str:
        delta = "" if self.is_pure else f" and delta {show_atto(self.atto_delta)}"
        return f"epsilon {show_nano(self.nano_epsilon)}{delta}"


@dataclass(frozen=True, slots=True)
class State:
    """What an account has spent: the sums, in whole units.

    Args:
        nano_epsilon: The sum of epsilon over what has a pure one; none where it is not known (a ledger in which
            something without a pure epsilon was paid before such sums were kept), or beyond all bounds.
        nano_rho: The sum of rho.
        atto_delta: The sum of delta.
        nano_gaussian: The part of rho that was paid for what has no pure epsilon.
    """

    nano_epsilon: int | None = 0
    nano_rho: int = 0
    atto_delta: int = 0
    nano_gaussian: int = 0

    @property
    def is_pure(self) -> bool:
        """Whether everything that was paid has a pure epsilon, and their sum is known."""
        return self.nano_epsilon is not None and self.nano_gaussian == 0

    def nano_rho_at(self, limit: Limit) -> int:
        """Return the rho that counts under a limit: pure releases by their square or by their plain sum."""
        order = limit.micro_order
        if self.nano_epsilon is None or not order:
            return self.nano_rho
        plain = -(-self.nano_epsilon * 10**6 // order)  # rounded up
        return self.nano_gaussian + min(self.nano_rho - self.nano_gaussian, plain)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain values, in whole units."""
        known = {"nano_epsilon": self.nano_epsilon, "nano_rho": self.nano_rho, "atto_delta": self.atto_delta}
        return known | {"nano_gaussian": self.nano_gaussian} if self.nano_gaussian else known


@dataclass(frozen=True, slots=True)
class Refusal:
    """A cost that the account cannot pay, and why.

    Args:
        why: The rule that said no.
        asked: The cost in words.
        left: What is left in words.
    """

    why: Why
    asked: str
    left: str


@dataclass(frozen=True, slots=True, repr=False)
class Remaining(Shown):
    """What is left of an account: the largest single question that it can still pay.

    For a ``PureDP`` account that is the limit minus the sum. For ``ApproxDP`` it is the
    largest epsilon of one further pure release; many small ones may fit more.

    Examples:
        >>> limit = Limit.of(PureDP(1.0))
        >>> after = pay(State(), Cost.pure(0.2, mechanism="laplace"), limit)
        >>> left = remaining(after, limit)
        >>> left.epsilon, str(left)
        (0.8, 'epsilon 0.8 of 1')
    """

    limit: Limit
    nano_epsilon: int
    atto_delta: int
    is_shared: bool = field(default=False, compare=False)
    """Whether it is the data set's own budget, which all recipients share, that has so little left."""

    @property
    def epsilon(self) -> float:
        """The largest epsilon that can still be paid."""
        return self.nano_epsilon / NANO

    @property
    def delta(self) -> float:
        """The delta that can still be paid."""
        return self.atto_delta / ATTO

    def to_dict(self) -> dict[str, Any]:
        """Return what is left as plain values: in whole units, as an epsilon, and in words."""
        return {
            "epsilon": self.epsilon,
            "nano_epsilon": self.nano_epsilon,
            "atto_delta": self.atto_delta,
            "limit": self.limit.to_dict(),
            "is_shared": self.is_shared,
            "words": str(self),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Remaining:
        """Build what is left from ``to_dict``'s values."""
        shared = bool(values.get("is_shared", False))
        return cls(Limit(**values["limit"]), values["nano_epsilon"], values["atto_delta"], shared)

    def __str__(self) -> str:
        text = f"epsilon {show_nano(self.nano_epsilon)} of {show_nano(self.limit.nano_epsilon)}"
        text = text if self.limit.is_pure else f"{text}, delta {show_atto(self.atto_delta)}"
        return f"{text} (the data set's budget, which all recipients share)" if self.is_shared else text


def pay(state: State, cost: Cost, limit: Limit) -> State | Refusal:
    """Return the state after paying ``cost``, or the refusal. Pure: nothing is stored, nothing is rounded down.

    Examples:
        >>> limit = Limit.of(PureDP(1.0))
        >>> state = pay(State(), Cost.pure(0.7, mechanism="laplace"), limit)
        >>> pay(state, Cost.pure(0.7, mechanism="laplace"), limit).left
        'epsilon 0.3 of 1'
    """
    why = _why_not(state, cost, limit)
    if why is not None:
        return Refusal(why, str(cost), str(remaining(state, limit)))
    return add(state, cost)


def can_pay(state: State, cost: Cost, limit: Limit) -> bool:
    """Return whether ``pay`` would accept."""
    return _why_not(state, cost, limit) is None


def add(state: State, cost: Cost) -> State:
    """Return the sums after ``cost``, without asking a limit (for replaying what was already accepted)."""
    rho = cost.nano_rho or 0
    epsilon, gaussian = state.nano_epsilon, state.nano_gaussian
    if epsilon is not None:
        epsilon += cost.nano_epsilon or 0
        gaussian += rho if cost.nano_epsilon is None else 0
        if epsilon > MOST_UNITS:
            epsilon, gaussian = None, 0
    return State(epsilon, state.nano_rho + rho, state.atto_delta + cost.atto_delta, gaussian)


def remaining(state: State, limit: Limit) -> Remaining:
    """Return the largest single question that can still be paid."""
    basic = limit.nano_epsilon - state.nano_epsilon if state.is_pure and state.nano_epsilon is not None else 0
    if limit.is_pure:
        return Remaining(limit, 0 if state.atto_delta else max(0, basic), 0)
    # rho(e) = ceil(e^2 / 2e9) <= left  <=>  e <= floor(sqrt(2e9 left)), in nano-units.
    rho_left = max(0, limit.most_nano_rho - state.nano_rho)
    by_rho = math.isqrt(2 * NANO * rho_left)
    plain = 0
    if state.nano_epsilon is not None:  # ceil((spent + e) / order) <= left  <=>  spent + e <= floor(order left)
        beside = max(0, limit.most_nano_rho - state.nano_gaussian)
        plain = limit.micro_order * beside // 10**6 - state.nano_epsilon
    delta_left = limit.atto_delta - limit.atto_conversion - state.atto_delta
    return Remaining(limit, max(0, basic, by_rho, plain), max(0, delta_left))


def spent(state: State, limit: Limit) -> int:
    """Return how much of the limit's epsilon the filter has used, in nano-units, for bars and forecasts.

    Not a guarantee of its own: the guarantee is the limit (see the module's text). Beyond a limit that was lowered
    since, everything counts by its square: the conversion would be made below the order that the plain sum holds for.
    """
    if state == State():
        return 0
    candidates = [state.nano_epsilon] if state.is_pure and state.nano_epsilon is not None else []
    if limit.atto_conversion and not limit.is_pure:
        rho = state.nano_rho_at(limit)
        rho = rho if rho <= limit.most_nano_rho else state.nano_rho
        candidates.append(zcdp_nano_epsilon(rho, limit.atto_conversion))
    return min(candidates, default=limit.nano_epsilon)


class Bar(NamedTuple):
    """A budget as a bar: how much of its epsilon is spent, how much more is asked for, and the whole.

    Small questions add up by the better of two rules, so what is asked for is the difference of two sums: after many
    small questions a large one takes more of the budget than its own epsilon.
    """

    spent: float
    asked: float
    total: float

    @classmethod
    def of(cls, before: State, after: State, limit: Limit) -> Bar:
        """Return the bar of an account between two states."""
        used = spent(before, limit)
        return cls(used / NANO, (spent(after, limit) - used) / NANO, limit.nano_epsilon / NANO)


def _why_not(state: State, cost: Cost, limit: Limit) -> Why | None:
    if not cost.is_dp:
        return "no_dp"
    if cost.relation != limit.relation:
        return "relation"
    after = add(state, cost)
    if after.nano_rho > MOST_UNITS:
        return "epsilon"
    if limit.is_pure:
        if cost.nano_epsilon is None or cost.atto_delta:
            return "not_pure"
        # A policy with a delta may have paid for Gaussian noise before: then no pure limit holds any more.
        pure = after.nano_epsilon if after.is_pure and not after.atto_delta else None
        return None if pure is not None and pure <= limit.nano_epsilon else "epsilon"
    if after.atto_delta + limit.atto_conversion > limit.atto_delta:
        return "delta"
    if after.is_pure and after.nano_epsilon is not None and after.nano_epsilon <= limit.nano_epsilon:
        return None
    return None if after.nano_rho_at(limit) <= limit.most_nano_rho else "epsilon"
