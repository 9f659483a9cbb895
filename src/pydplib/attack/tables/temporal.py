"""Temporal: a release before and one after somebody came or left; the difference is that person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pydplib.anonymity.tables.columns import Ints
from pydplib.anonymity.tables.frames import Frame
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, percent
from pydplib.attack.tables.candidates import (
    Candidates,
    TooManyPairs,
    join_classes,
    match,
    one_column,
    person_of,
    regroup,
)
from pydplib.attack.tables.cells import relate
from pydplib.attack.tables.homogeneity import certain_result, sole_values
from pydplib.attack.tables.released import (
    Entries,
    ReleasedClasses,
    columns_of,
    count_entries,
    join_domains,
    read_release,
)
from pydplib.errors import DataError, ParameterError, did_you_mean

Change: TypeAlias = Literal["inserted", "deleted"]
"""What happened to the known people between the two releases."""


def temporal(
    before: Any,
    after: Any,
    known: Any,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    change: Change = "inserted",
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Subtract one release from the next: what is new belongs to those who came.

    In plain words: in March five women in their thirties are in the table, in April six, and there is one flu more.
    The neighbour who was admitted in April has the flu. Both tables are k-anonymous and l-diverse (Sweeney
    2002; Xiao and Tao 2007). ``anonymize(..., previous=[...])`` keeps people who came or left in groups; with
    differential privacy the noise of both releases hides one person.

    Classes of the two releases that can hold the same people are compared as a whole, so different levels of
    generalization do not help by themselves.

    Args:
        before: The earlier release: a data frame, path, ``AnonymizationResult`` or noisy table of counts.
        after: The later one.
        known: The people of whom the attacker knows that they came (or left) in between, with their true sensitive
            value, by which he is judged.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        change: ``"inserted"`` for people who came, ``"deleted"`` for people who left.
        person: The column that says whose row it is, in ``known`` and, where rows stay linked, in the
            releases. Then people are counted instead of rows.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> march = pd.DataFrame({"age": ["30-39"] * 4, "ill": ["flu", "hiv", "burn", "burn"]})
        >>> april = pd.DataFrame({"age": ["30-39"] * 5, "ill": ["flu", "hiv", "burn", "burn", "flu"]})
        >>> came = pd.DataFrame({"age": [37], "ill": ["flu"]})
        >>> temporal(march, april, came, quasi_identifiers=["age"], sensitive="ill").success
        1.0
    """
    if change not in ("inserted", "deleted"):
        raise ParameterError(f"Unknown change '{change}'.{did_you_mean(change, ('inserted', 'deleted'))}")
    names, watched, trees = columns_of(before, quasi_identifiers, sensitive, hierarchies)
    _, _, more = columns_of(after, names, watched, hierarchies)
    name = one_column(watched)
    trees = {**more, **trees}
    frame = Frame(known)
    person = person_of(after, frame, person, (*names, *watched))
    old, new = read_release(before, names, watched, person), read_release(after, names, watched, person)
    # Whose rows belong together is used to count, not to match: somebody may have had rows before.
    present = replace(new if change == "inserted" else old, person_of_row=None)
    people = match(present, frame, watched, trees, person)
    return judge_temporal(old, new, people, name, trees, change=change)


def judge_temporal(
    old: ReleasedClasses,
    new: ReleasedClasses,
    people: Candidates,
    name: str,
    trees: Mapping[str, Any],
    *,
    change: Change,
) -> AttackResult:
    """Return what the difference of two releases says about people who came or left."""
    if name not in people.truth:
        raise DataError(f"The known people need their true '{name}': without it nobody can judge the attack.")
    part_old, part_new, parts = _closed_parts(old, new, trees)
    # Count what is there now and was not before, per part in which people can only have moved among themselves.
    came = change == "inserted"
    plus, minus = (new, part_new), (old, part_old)
    if not came:
        plus, minus = minus, plus
    entries = _difference(plus[0].entries[name], plus[1], minus[0].entries[name], minus[1])
    first = people.members[people.start[:-1]]  # all classes of one person lie in one part
    pool = np.where(people.pool >= 0, plus[1][first[people.pool]] if len(first) else -1, -1)
    size = np.bincount(entries.owner, weights=entries.count, minlength=parts).astype(np.float64)
    noisy, margin = old.noisy or new.noisy, old.margin + new.margin
    merged = regroup(people, pool, name, entries, size, noisy=noisy, margin=margin)
    cases = merged.cases(name)
    sure, says = sole_values(cases, merged.classes)
    verb = "came" if came else "left"
    return certain_result(
        "temporal",
        cases,
        name,
        sure,
        says,
        sentence=lambda exposed: (
            f"The {name} of {percent(exposed)} of the people who {verb} between the two releases is the only value "
            f"that {'appeared' if came else 'vanished'} among those who look like them."
            if exposed
            else f"Nobody who {verb} between the two releases is given away by their difference."
        ),
        change=change,
        smallest_change=float(size[np.unique(pool[pool >= 0])].min(initial=np.inf)) if (pool >= 0).any() else None,
    )


def _closed_parts(old: ReleasedClasses, new: ReleasedClasses, trees: Mapping[str, Any]) -> tuple[Ints, Ints, int]:
    """Number the connected parts of classes of both releases that can hold the same people."""
    relations = [
        relate(mine.values, other.values, trees.get(name))
        for name, mine, other in zip(old.names, old.cells, new.cells, strict=True)
    ]
    try:
        left, right = join_classes(
            [c.codes for c in old.cells], [c.codes for c in new.cells], relations, (old.number, new.number)
        )
    except TooManyPairs:
        raise DataError("The cells of the two releases are too ambiguous to be compared.") from None
    mark = np.arange(old.number + new.number)
    right = right + old.number
    while len(left):
        low = np.minimum(mark[left], mark[right])
        before = mark.copy()
        np.minimum.at(mark, left, low)
        np.minimum.at(mark, right, low)
        mark = mark[mark]  # jump: long chains close in few rounds
        if np.array_equal(before, mark):
            break
    _, number = np.unique(mark, return_inverse=True)
    number = number.reshape(-1).astype(np.int64)
    return number[: old.number], number[old.number :], int(number.max(initial=-1)) + 1


def _difference(plus: Entries, part_plus: Ints, minus: Entries, part_minus: Ints) -> Entries:
    """Return the values of which a part has more in one release than in the other."""
    domain, number = join_domains(plus.domain, minus.domain)
    total = count_entries(
        np.concatenate([part_plus[plus.owner], part_minus[minus.owner]]),
        np.concatenate([plus.value, number[minus.value]]),
        np.concatenate([plus.count, -minus.count]),
        domain,
    )
    more = total.count > 1e-9
    return Entries(total.owner[more], total.value[more], total.count[more], total.domain)


def _run(shared: Shared, column: str, change: Change) -> AttackResult:
    assert shared.classes is not None
    before, after = shared.previous[-1], shared.classes
    present = replace(after if change == "inserted" else before, person_of_row=None)
    people = shared.match(present, shared.changed[change], column, shared.changed_person.get(change))
    return judge_temporal(before, after, people, column, shared.trees, change=change)


def _plan(facts: TableFacts) -> list[LeakTask]:
    return [
        LeakTask("temporal", column, "temporal", {"column": column, "change": change})
        for change in facts.shared.changed
        for column in facts.watched
    ]


KIND = AttackKind(
    name="temporal",
    does="Subtracts an earlier release: what is new belongs to those who came.",
    helps="anonymizing with earlier releases in view; differential privacy with a ledger",
    tried={"temporal": "far"},
    runs={"temporal": _run},
    of_table=_plan,
    compares=True,
)
"""Temporal, as a leak report plans and explains it."""
