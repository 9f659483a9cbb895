"""Several releases at once: costs add up, or the largest counts where nobody is in two groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydplib.budget.costs import Cost
from pydplib.errors import ParameterError


def sequential(costs: Iterable[Cost], *, mechanism: str | None = None) -> Cost:
    """Return the cost of several releases of the same people: epsilon, rho and delta add up.

    Args:
        costs: The parts, all of one relation.
        mechanism: The name of the whole; by default the parts' names.

    Examples:
        >>> print(sequential([Cost.pure(0.16, mechanism="laplace"), Cost.pure(0.04, mechanism="laplace")]))
        epsilon 0.2
    """
    return _combined(_same_relation(costs), mechanism, sum)


def parallel(costs: Iterable[Cost], *, mechanism: str | None = None) -> Cost:
    """Return the cost of one release per group where every person is in one group only: the largest counts.

    Holds for add/remove alone, and only where the engine enforces that a person's rows fall
    into one group (never because the data look like it). Under substitution a person can move from
    one group to another and touches both: convert the result by ``to_substitute``.

    Args:
        costs: The cost in each group, all add_remove.
        mechanism: The name of the whole; by default the parts' names.

    Examples:
        >>> print(parallel([Cost.pure(0.2, mechanism="laplace"), Cost.pure(0.1, mechanism="laplace")]))
        epsilon 0.2
    """
    parts = _same_relation(costs)
    if parts[0].relation != "add_remove":
        raise ParameterError(
            f"Parallel composition holds for add_remove costs. Got '{parts[0].relation}': an exchanged person "
            "touches two groups. Compose the add_remove costs and convert by to_substitute(), or use sequential()."
        )
    return _combined(parts, mechanism, max)


def _combined(parts: list[Cost], mechanism: str | None, over: Callable[[list[int]], int]) -> Cost:
    """Return the sum or the largest of each unit; one part without a pure epsilon leaves the whole without one."""
    name = mechanism or "+".join(dict.fromkeys(part.mechanism for part in parts))
    relation = parts[0].relation
    if not all(part.is_dp for part in parts):
        return Cost.no_dp(mechanism=name, relation=relation)
    epsilons = [part.nano_epsilon for part in parts if part.nano_epsilon is not None]
    epsilon = over(epsilons) if len(epsilons) == len(parts) else None
    rho = over([part.nano_rho or 0 for part in parts])
    return Cost(name, relation, epsilon, rho, atto_delta=over([part.atto_delta for part in parts]))


def _same_relation(costs: Iterable[Cost]) -> list[Cost]:
    parts = list(costs)
    if not parts:
        raise ParameterError("A composition needs at least one cost.")
    relations = sorted({part.relation for part in parts})
    if len(relations) > 1:
        raise ParameterError(
            f"A total sums one neighbouring relation only. Got {', '.join(relations)}: account for them apart."
        )
    return parts
