"""Similarity: the values differ, but all mean the same kind of thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.tables.columns import Ints
from pydplib.attack._arguments import at_least
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, listed, percent
from pydplib.attack.tables.candidates import Cases, find_cases
from pydplib.attack.tables.cells import MISSING, as_number, text_of
from pydplib.attack.tables.homogeneity import certain_result, sole_values
from pydplib.attack.tables.released import ReleasedClasses, count_entries
from pydplib.errors import HierarchyError, ParameterError, shown


def similarity(
    released: Any,
    known: Any = None,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    hierarchy: Hierarchy | None = None,
    level: int = 1,
    within: float | None = None,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Learn what kind of value somebody has, where all candidates have the same kind.

    In plain words: gastritis, gastric ulcer and stomach cancer are three diagnoses, so the group is diverse; yet
    everybody now knows that her stomach is ill. What belongs together is said by a hierarchy of the
    sensitive values, or for numbers by a width: salaries that differ by less than that tell the salary. Distinct
    l-diversity does not see this; t-closeness with the hierarchical (or ordered) distance does.

    Args:
        released: A data frame, path, ``AnonymizationResult`` or noisy table of counts (``Release``).
        known: The people whom the attacker knows, with their true sensitive value, by which he is judged. None:
            everybody in the release, as it shows them.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        hierarchy: The hierarchy of the sensitive values.
        level: The level of the hierarchy at which values are alike.
        within: For numbers instead of a hierarchy: candidates whose values all lie so near together are alike.
        person: The column that says whose row it is, in ``known`` and, where rows stay linked, in the release. Then
            people are counted instead of rows. An ``AnonymizationResult`` knows its own.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import Hierarchy
        >>> kinds = Hierarchy.grouping({"stomach": ["gastritis", "ulcer"], "lung": ["asthma", "flu"]})
        >>> table = pd.DataFrame({"age": ["20"] * 2 + ["30"] * 2, "ill": ["gastritis", "ulcer", "asthma", "ulcer"]})
        >>> similarity(table, quasi_identifiers=["age"], sensitive="ill", hierarchy=kinds).exposed
        0.5
    """
    if (hierarchy is None) == (within is None):
        raise ParameterError("similarity needs either hierarchy=, which values are alike, or within= for numbers.")
    cases, classes, name = find_cases(released, known, quasi_identifiers, sensitive, person, hierarchies)
    return judge_similarity(cases, classes, name, hierarchy=hierarchy, level=level, within=within)


def judge_similarity(
    cases: Cases,
    classes: ReleasedClasses,
    name: str,
    *,
    hierarchy: Hierarchy | None = None,
    level: int = 1,
    within: float | None = None,
) -> AttackResult:
    """Return what candidates with similar values give away."""
    if within is not None:
        return _near(cases, classes, name, within)
    assert hierarchy is not None
    kinds, number = kinds_of(cases.entries.domain, hierarchy, at_least("level", level, 1), name)
    domain = tuple(str(i) for i in range(number))
    entries = count_entries(cases.entries.owner, kinds[cases.entries.value], cases.entries.count, domain)
    lifted = Cases(
        pool=cases.pool,
        truth=kinds[cases.truth],
        people=cases.people,
        entries=entries,
        size=cases.size,
        whose=cases.whose,
    )
    sure, says = sole_values(lifted, classes)
    fine, _ = sole_values(cases, classes)
    return certain_result(
        "similarity",
        lifted,
        name,
        sure,
        says,
        sentence=lambda exposed: (
            f"The kind of {name} of {percent(exposed)} of the people is certain: those who share their "
            f"{listed(classes.names)} have different values that mean the same."
            if exposed
            else f"Nobody's kind of {name} is certain: values of different kinds look alike."
        ),
        kinds=number,
        level=level,
        certain_of_the_value=cases.share(fine),
    )


def kinds_of(domain: Sequence[str], hierarchy: Hierarchy, level: int, name: str) -> tuple[Ints, int]:
    """Return the number of every value's kind: its label at a level of the hierarchy."""
    if level > hierarchy.height:
        raise ParameterError(f"The hierarchy of '{name}' has {hierarchy.height} levels. Got level={shown(level)}.")
    values: list[Any] = [None if text == MISSING else text for text in domain]
    try:
        found = hierarchy.resolve(name, values)
    except HierarchyError:
        # Intervals and other rules may want numbers where the texts look like some.
        found = hierarchy.resolve(name, [v if v is None or as_number(v) is None else float(v) for v in values])
    labels: dict[str, int] = {}
    at = found.levels[level]
    kinds = [labels.setdefault(text_of(found.labels[level][i]), len(labels)) for i in at.tolist()]
    return np.array(kinds, dtype=np.int64), len(labels)


def _near(cases: Cases, classes: ReleasedClasses, name: str, within: float) -> AttackResult:
    """Candidates whose numbers all lie within a width: the attacker names the middle and is right for all of them."""
    if classes.noisy:
        raise ParameterError("within= needs a released table with rows; for a noisy table give hierarchy=.")
    if not (isinstance(within, float | int) and within > 0):
        raise ParameterError(f"within is a positive width. Got {shown(within)}.")
    numbers = np.array([np.nan if (x := as_number(text)) is None else x for text in cases.entries.domain])
    pools = len(cases.size)
    low, high = np.full(pools + 1, np.inf), np.full(pools + 1, -np.inf)
    value = numbers[cases.entries.value]
    np.minimum.at(low, cases.entries.owner, np.where(np.isnan(value), -np.inf, value))
    np.maximum.at(high, cases.entries.owner, np.where(np.isnan(value), np.inf, value))
    sure = (high - low)[cases.pool] <= within
    mine = numbers[cases.truth]
    right = sure & (mine >= low[cases.pool]) & (mine <= high[cases.pool])
    window, blind = _best_window(cases, numbers, within)
    usual = (mine >= window) & (mine <= window + within)
    exposed = max(0.0, cases.reached(right) - cases.reached(sure & ~right))
    tries = round(cases.total)
    return AttackResult.of_tries(
        "similarity",
        target=name,
        hits=min(round(cases.share(right | (~sure & usual)) * tries), tries),
        tries=tries,
        baseline=min(blind, 1.0),
        exposed=exposed,
        sentence=(
            f"The {name} of {percent(exposed)} of the people is known within {within:g}: all who share their "
            f"{listed(classes.names)} have values that near together."
            if exposed
            else f"Nobody's {name} is known within {within:g}: values of those who look alike lie farther apart."
        ),
        details={"column": name, "within": within},
    )


def _best_window(cases: Cases, numbers: Any, within: float) -> tuple[float, float]:
    """Return where the window of a width holds most people, and their share: the best blind guess."""
    real = np.flatnonzero(np.isfinite(numbers))
    if not len(real):
        return 0.0, 0.0
    order = real[np.argsort(numbers[real], kind="stable")]
    sorted_, share = numbers[order], cases.prior[order]
    upto = np.concatenate([[0.0], np.cumsum(share)])
    held = upto[np.searchsorted(sorted_, sorted_ + within, side="right")] - upto[:-1]
    best = int(held.argmax())
    return float(sorted_[best]), float(held[best])


def _run(shared: Shared, column: str, **how: Any) -> AttackResult:
    return judge_similarity(shared.cases(column), shared.candidates.classes, column, **how)


def _plan(facts: TableFacts, column: str) -> list[LeakTask]:
    how = facts.alike.get(column)
    return [] if how is None else [LeakTask("similarity", column, "similarity", {"column": column, **how})]


KIND = AttackKind(
    name="similarity",
    does="Counts values that mean the same as one.",
    helps="t-closeness over the hierarchy",
    tried={"similarity": "far"},
    runs={"similarity": _run},
    of_column=_plan,
)
"""Similarity, as a leak report plans and explains it."""
