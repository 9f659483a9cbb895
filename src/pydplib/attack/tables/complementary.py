"""Complementary release: two releases of one table, each fine alone, give it away together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.frames import Frame
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, listed, percent
from pydplib.attack.tables.candidates import Candidates, match, one_column, person_of, regroup
from pydplib.attack.tables.cells import expand_spans, find_sorted, starts_of
from pydplib.attack.tables.homogeneity import certain_result, sole_values
from pydplib.attack.tables.released import Entries, columns_of, count_entries, join_domains, read_release
from pydplib.errors import ParameterError


def complementary_release(
    releases: Sequence[Any],
    known: Any,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Keep, for every known person, only what all releases allow.

    In plain words: one release shows ages by decade, another one postal codes by region. In the first she could
    have one of three diagnoses, in the second one of three others, and only one is in both lists. Every
    release was k-anonymous and l-diverse (Sweeney 2002; Ganta et al. 2008: "composition attack"). No model of a
    single table prevents it: ``anonymize(..., previous=[...])`` looks at all releases together, and differential
    privacy adds up: two releases at epsilon cost 2 epsilon, and that is all they cost.

    Args:
        releases: Two or more releases of the same people: data frames, paths or ``AnonymizationResult``.
        known: The people whom the attacker knows, with their true sensitive value, by which he is judged.
        quasi_identifiers: What he knows of a person; a column that a release does not show is not used there.
        sensitive: What he wants to learn; every release shows it.
        person: The column that says whose row it is, in ``known`` and, where rows stay linked, in the releases.
            Then people are counted instead of rows. An ``AnonymizationResult`` knows its own.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31, 36, 52, 58], "sex": ["f", "m", "f", "m"],
        ...                        "ill": ["flu", "hiv", "burn", "flu"]})
        >>> by_age = people.assign(age=["30-39", "30-39", "50-59", "50-59"], sex="*")
        >>> by_sex = people.assign(age="*")
        >>> complementary_release(
        ...     [by_age, by_sex], people, quasi_identifiers=["age", "sex"], sensitive="ill"
        ... ).exposed
        0.5
    """
    if not isinstance(releases, Sequence) or isinstance(releases, str) or len(releases) < 2:
        raise ParameterError("complementary_release compares at least two releases: [first, second, ...].")
    names, watched, trees = columns_of(releases[0], quasi_identifiers, sensitive, hierarchies)
    name = one_column(watched)
    people = Frame(known)
    found = []
    for release in releases:
        _, _, own = columns_of(release, names, watched, hierarchies)
        shown = [column for column in names if column in column_names(release)]
        if not shown:
            raise ParameterError("A release shows none of the quasi-identifiers: there is nothing to compare.")
        whose = person_of(release, people, person, (*names, *watched))
        found.append(match(read_release(release, shown, watched, whose), people, watched, {**trees, **own}, whose))
    return judge_complementary(found, name, names)


def column_names(release: Any) -> list[str]:
    """Return the columns of a release."""
    if hasattr(release, "axes") and hasattr(release, "guarantee"):
        return [axis.name for axis in release.axes]
    return Frame(getattr(release, "data", release)).columns


def judge_complementary(found: Sequence[Candidates], name: str, names: Sequence[str]) -> AttackResult:
    """Return what is certain from all releases together, and from the best of them alone."""
    whole = found[0].everybody
    if any(len(part.pool) != whole for part in found):
        raise ParameterError("The releases are too ambiguous to be compared as a whole: give fewer known people.")
    pool, entries, size = found[0].pool, found[0].entries(name), found[0].size
    for part in found[1:]:
        pool, entries, size = _intersect(pool, entries, part.pool, part.entries(name))
    noisy = any(part.classes.noisy for part in found)
    margin = max(part.classes.margin for part in found)
    merged = regroup(found[0], pool, name, entries, size, noisy=noisy, margin=margin)
    cases = merged.cases(name)
    sure, says = sole_values(cases, merged.classes)
    alone = [_alone(part, name) for part in found]
    return certain_result(
        "complementary release",
        cases,
        name,
        sure,
        says,
        sentence=lambda exposed: (
            f"{len(found)} releases together make the {name} of {percent(exposed)} of the people certain; the worst of "
            f"them alone does for {percent(max(alone))}. The attacker knows {listed(names)}."
            if exposed
            else f"{len(found)} releases together make nobody's {name} certain."
        ),
        releases=len(found),
        alone=alone,
        gained=max(0.0, cases.reached(sure & (says == cases.truth)) - max(alone)),
    )


def _alone(part: Candidates, name: str) -> float:
    cases = part.cases(name)
    sure, says = sole_values(cases, part.classes)
    return cases.reached(sure & (says == cases.truth))


def _intersect(pool: Ints, mine: Entries, other: Ints, theirs: Entries) -> tuple[Ints, Entries, Floats]:
    """Return the candidates that fit both: at most as many with a value as either release has."""
    domain, number = join_domains(mine.domain, theirs.domain)
    width = max(len(domain), 1)
    span = int(other.max(initial=-1)) + 2
    pairs, into = np.unique((pool + 1) * span + other + 1, return_inverse=True)
    first, second = pairs // span - 1, pairs % span - 1
    left = _spread(first, mine, mine.value, width)
    right = _spread(second, theirs, number[theirs.value], width)
    at, both = find_sorted(right[0], left[0])
    alone_left, alone_right = second < 0, first < 0  # somebody whom one release left out: the other one speaks alone
    keep_left = both | alone_left[left[0] // width]
    keep_right = alone_right[right[0] // width]
    count = np.where(both, np.minimum(left[1], right[1][at] if len(right[1]) else 0.0), left[1])
    keys = np.concatenate([left[0][keep_left], right[0][keep_right]])
    counts = np.concatenate([count[keep_left], right[1][keep_right]])
    entries = count_entries(keys // width, keys % width, counts, domain)
    size = np.bincount(entries.owner, weights=entries.count, minlength=len(pairs)).astype(np.float64)
    new = into.reshape(-1).astype(np.int64)
    new[(pool < 0) & (other < 0)] = -1
    return new, entries, size


def _spread(pools: Ints, entries: Entries, value: Ints, width: int) -> tuple[Ints, Floats]:
    """Return (pair and value as one key, count) for the pools of every pair, sorted."""
    start = starts_of(entries.owner, int(max(pools.max(initial=-1), entries.owner.max(initial=-1))) + 2)
    owner, at = expand_spans(start[np.maximum(pools, 0)], np.where(pools >= 0, np.diff(start)[pools], 0))
    keys = owner * width + value[at]
    order = np.argsort(keys, kind="stable")
    return keys[order], entries.count[at][order]


def _run(shared: Shared, column: str) -> AttackResult:
    earlier = (shared.match(classes, column=column, person=shared.person) for classes in shared.previous)
    parts = [shared.candidates, *earlier]
    return judge_complementary(parts, column, shared.candidates.classes.names)


def _plan(facts: TableFacts) -> list[LeakTask]:
    watched = facts.watched if facts.beside.previous else ()
    return [LeakTask("complementary release", column, "complementary", {"column": column}) for column in watched]


KIND = AttackKind(
    name="complementary release",
    does="Keeps only what all releases of the same people allow.",
    helps="anonymizing with earlier releases in view; differential privacy with a ledger",
    tried={"complementary release": "far"},
    runs={"complementary": _run},
    of_table=_plan,
    compares=True,
)
"""Complementary release, as a leak report plans and explains it."""
