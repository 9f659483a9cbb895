"""Homogeneity: all who look alike have the same sensitive value, so nobody needs to find the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.attack.kinds import AttackKind, LeakTask, Shared
from pydplib.attack.result import AttackResult, listed, percent
from pydplib.attack.tables.candidates import Cases, find_cases
from pydplib.attack.tables.released import Entries, ReleasedClasses


def homogeneity(
    released: Any,
    known: Any = None,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Learn the sensitive value of everybody whose candidates all have the same one.

    In plain words: five people look alike, and all five have the same diagnosis. Which of the five rows is hers does
    not matter any more. k-anonymity allows this; l-diversity (at least l different values among those who
    look alike) is the answer (Machanavajjhala et al. 2006). Where candidates differ, the attacker says
    what he would say without the release: the most common value. So success above the baseline is due to
    such groups alone.

    Args:
        released: A data frame, path, ``AnonymizationResult`` or noisy table of counts (``Release``).
        known: The people whom the attacker knows, with their true sensitive value, by which he is judged. None:
            everybody in the release, as it shows them.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        person: The column that says whose row it is, in ``known`` and, where rows stay linked, in the release. Then
            people are counted instead of rows. An ``AnonymizationResult`` knows its own.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": ["30-39"] * 3 + ["50-59"] * 3, "ill": ["flu"] * 3 + ["flu", "burn", "hiv"]})
        >>> result = homogeneity(table, quasi_identifiers=["age"], sensitive="ill")
        >>> result.exposed, round(result.success, 3), round(result.baseline, 3)
        (0.5, 0.667, 0.667)
    """
    cases, classes, name = find_cases(released, known, quasi_identifiers, sensitive, person, hierarchies)
    return judge_homogeneity(cases, classes, name)


def judge_homogeneity(cases: Cases, classes: ReleasedClasses, name: str) -> AttackResult:
    """Return what groups of people with one common value give away."""
    sure, says = sole_values(cases, classes)
    return certain_result(
        "homogeneity",
        cases,
        name,
        sure,
        says,
        sentence=lambda exposed: (
            f"{percent(exposed)} of the people look like others who all have the same value of {name}: whoever knows "
            f"their {listed(classes.names)} knows it for certain."
            if exposed
            else f"Nobody's {name} is certain: among those who look alike there are always different values."
        ),
    )


def sole_values(cases: Cases, classes: ReleasedClasses) -> tuple[Bools, Ints]:
    """Return, per case, whether its candidates all have one value, and which."""
    return sole_of(visible(cases.entries, classes), cases.pool, len(cases.size))


def visible(entries: Entries, classes: ReleasedClasses) -> Entries:
    """Return the values that an attacker takes for real.

    In a noisy table all that are above 0, where at least one is above the noise; else nothing can be said. A value
    below the noise is not known to be absent.
    """
    if not classes.noisy:
        return entries
    most = np.zeros(int(entries.owner.max(initial=-1)) + 1)
    np.maximum.at(most, entries.owner, entries.count)
    seen = (entries.count > 0) & (most[entries.owner] > classes.margin)
    return Entries(entries.owner[seen], entries.value[seen], entries.count[seen], entries.domain)


def sole_of(entries: Entries, pool: Ints, pools: int) -> tuple[Bools, Ints]:
    """Return, per pool of a case, whether there is one value only, and which."""
    different = np.bincount(entries.owner, minlength=pools)
    only = np.full(pools + 1, -1, dtype=np.int64)
    only[entries.owner] = entries.value
    only[:-1][different != 1] = -1
    says = only[pool]  # pool -1, nobody fits, reads the last place
    return says >= 0, says


def certain_result(
    attack: str, cases: Cases, name: str, sure: Bools, says: Ints, *, sentence: Any, **details: Any
) -> AttackResult:
    """Return the result of an attacker who speaks where he is sure and else gives the best blind guess.

    Being sure and wrong (the person was left out of the release, or noise misled him) counts against him.
    """
    right = sure & (says == cases.truth)
    guessed = ~sure & (cases.truth == cases.usual)
    success, wrong = cases.share(right | guessed), cases.reached(sure & ~right)
    exposed, gained = max(0.0, cases.reached(right) - wrong), max(0.0, cases.gained(right) - wrong)
    tries = round(cases.total)
    return AttackResult.of_tries(
        attack,
        target=name,
        hits=min(round(success * tries), tries),
        tries=tries,
        baseline=min(cases.blind, 1.0),
        exposed=exposed,
        sentence=f"{sentence(exposed)}{known_anyway(exposed, gained)}",
        details={
            "column": name,
            "certain": cases.reached(sure),
            "certain_but_wrong": wrong,
            "gained": gained,
            **details,
        },
    )


def known_anyway(exposed: float, gained: float) -> str:
    """Return what to add where the value could nearly be guessed without the release; empty where it could not.

    Examples:
        >>> known_anyway(0.5, 0.5), known_anyway(0.5, 0.02)
        ('', ' For all but 2 % of the people it could be guessed almost as well without the release.')
    """
    if exposed - gained < 0.0005:
        return ""
    who = f"all but {percent(gained)} of the people" if gained else "all of them"
    return f" For {who} it could be guessed almost as well without the release."


def _run(shared: Shared, column: str) -> AttackResult:
    return judge_homogeneity(shared.cases(column), shared.candidates.classes, column)


KIND = AttackKind(
    name="homogeneity",
    does="Finds people whose look-alikes all have the same sensitive value.",
    helps="l-diversity",
    tried={"homogeneity": "near"},
    runs={"homogeneity": _run},
    of_column=lambda facts, column: [LeakTask("homogeneity", column, "homogeneity", {"column": column})],
)
"""Homogeneity, as a leak report plans and explains it."""
