"""Linkage: find a known person's row, as prosecutor, journalist or marketer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from pydplib.anonymity.tables.columns import Floats
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, listed, percent
from pydplib.attack.tables.candidates import Candidates, find_candidates
from pydplib.errors import DataError, ParameterError, did_you_mean

Attacker: TypeAlias = Literal["prosecutor", "journalist", "marketer"]
"""Who links: knows that the person is in the table, does not, or links everybody."""
_ATTACKERS = get_args(Attacker)

THRESHOLDS = (0.2, 0.09, 0.05)
"""Chances of being found above which a person counts as at risk."""


def linkage(
    released: Any,
    known: Any = None,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    attacker: Attacker = "prosecutor",
    threshold: float = 0.2,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Look for known people among the rows of a release, and pick one of those that fit.

    In plain words: a name was taken out of the table, but age, sex and postal code are still in it, and
    they are in the voter list too. Whoever is alone with hers is found; among five who look alike an attacker is
    right one time in five. That is what k-anonymity promises: at most one in k. It says nothing about
    what the rows of all five have in common: see ``homogeneity``.

    With f people of a class in the release and F of them in the population (El Emam and Dankar 2008): the
    prosecutor is right with 1/f, the journalist with 1/F, the marketer finds the share sum(f/F)/n.

    Args:
        released: A data frame, path, ``AnonymizationResult``. Generalized cells match what they cover.
        known: The people whom the attacker knows. For the prosecutor: the table before it was anonymized (or the part
            of it that he knows). For journalist and marketer: the population, which holds the released people. None:
            everybody in the release, as it shows them.
        quasi_identifiers: What he knows of a person.
        attacker: ``"prosecutor"`` knows that the person is in the release, ``"journalist"`` does not,
            ``"marketer"`` links everybody.
        threshold: The chance above which somebody counts as exposed: 0.2 is one in five.
        person: The column that says whose row it is, in ``known`` and, where rows stay linked, in the release. Then
            people are counted instead of rows. An ``AnonymizationResult`` knows its own.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31, 34, 52, 57], "zip": ["10115", "10117", "10115", "10119"]})
        >>> linkage(people, people, quasi_identifiers=["age", "zip"]).success
        1.0
        >>> coarse = people.assign(age=["30-39", "30-39", "50-59", "50-59"], zip="101**")
        >>> linkage(coarse, people, quasi_identifiers=["age", "zip"]).success
        0.5
    """
    found, _ = find_candidates(
        released, known, quasi_identifiers=quasi_identifiers, sensitive=(), person=person, hierarchies=hierarchies
    )
    return judge_linkage(found, attacker=attacker, threshold=threshold)


def judge_linkage(found: Candidates, *, attacker: Attacker = "prosecutor", threshold: float = 0.2) -> AttackResult:
    """Return how well known people are found among candidates."""
    if attacker not in _ATTACKERS:
        raise ParameterError(f"Unknown attacker '{attacker}'.{did_you_mean(attacker, _ATTACKERS)}")
    if found.classes.noisy:
        raise DataError("A table of counts has no rows that could be linked to people.")
    rows = round(found.classes.people)
    chance, weight = _prosecutor(found) if attacker == "prosecutor" else _outside(found)
    total = max(float(weight.sum()), 1e-9)
    mean = float((chance * weight).sum() / total) if rows else 0.0
    crowd = _crowd(found)
    if attacker == "journalist" and rows:
        mean = max(mean, found.classes.number / max(float(crowd.sum()), 1.0))
    at_risk = {tau: float(weight[chance > tau + 1e-12].sum() / total) for tau in (threshold, *THRESHOLDS)}
    top = float(chance.max(initial=0.0))
    everybody = rows if attacker == "prosecutor" or not found.given else round(found.everybody)
    return AttackResult.of_tries(
        "linkage" if attacker == "prosecutor" else f"linkage, {attacker}",
        target="released table",
        hits=min(round(mean * rows), rows),
        tries=rows,
        baseline=1 / everybody if everybody else 0.0,
        exposed=at_risk[threshold],
        sentence=_sentence(attacker, found.classes.names, mean, top, at_risk[threshold], threshold),
        details={
            "attacker": attacker,
            "expected": mean,
            "maximum": top,
            "threshold": threshold,
            "at_risk": at_risk,
            "unique": float(weight[chance >= 1 - 1e-12].sum() / total),
            "classes": found.classes.number,
            "smallest_class": found.classes.smallest,
            "rows_that_fit_nobody": float(found.classes.size[crowd == 0].sum() / max(rows, 1)),
        },
    )


def _prosecutor(found: Candidates) -> tuple[Floats, Floats]:
    """Return (chance, released people) per set of candidates and class.

    A released row belongs to one of the known people who fit its class, each as likely as the other; the attacker
    who looks for that person picks one of all rows that fit her.
    """
    people = found.people[found.set_of_member]
    crowd = np.bincount(found.members, weights=people, minlength=found.classes.number)
    weight = found.classes.size[found.members] * people / np.maximum(crowd[found.members], 1e-9)
    lost = found.classes.size[crowd == 0]  # rows that fit nobody whom he knows
    chance = np.where(people > 0, 1 / np.maximum(found.size[found.set_of_member], 1e-9), 0.0)
    return np.append(np.minimum(chance, 1.0), np.zeros(len(lost))), np.append(weight, lost)


def _crowd(found: Candidates) -> Floats:
    """Return how many of the known people fit every class."""
    people = found.people[found.set_of_member]
    fit = np.bincount(found.members, weights=people, minlength=found.classes.number)
    return fit.astype(np.float64) * found.scale


def _outside(found: Candidates) -> tuple[Floats, Floats]:
    """Return (chance, released people) per class for somebody who has a population to choose from."""
    size, crowd = found.classes.size, _crowd(found)
    # Where the list holds fewer people than the release, some rows belong to nobody on it.
    return np.where(crowd > 0, 1 / np.maximum(np.maximum(crowd, size), 1e-9), 0.0), size


def _sentence(attacker: Attacker, names: Sequence[str], mean: float, top: float, risky: float, tau: float) -> str:
    what = listed(names)
    if attacker == "marketer":
        return f"Somebody who links all rows to people by {what} gets {percent(mean)} of them right."
    who = "and that the person is in the table " if attacker == "prosecutor" else ""
    start = f"Somebody who knows {what} {who}finds the right row in {percent(mean)} of the cases"
    if not mean:
        return f"Nobody is found by {what}: no released row fits a person who is known."
    tail = f"{percent(risky)} of the people are found with a chance above {percent(tau)}"
    return f"{start}, for some people in {percent(top)}; {tail}." if top > mean + 1e-9 else f"{start}; {tail}."


def _run(shared: Shared, attacker: Attacker) -> AttackResult:
    if attacker == "prosecutor" or shared.population is None:
        return judge_linkage(shared.candidates, attacker=attacker)
    assert shared.classes is not None
    outside = shared.match(shared.classes, shared.population)
    return judge_linkage(outside, attacker=attacker)


def _plan(facts: TableFacts) -> list[LeakTask]:
    tasks = [LeakTask("linkage", "released table", "linkage", {"attacker": "prosecutor"})]
    if facts.shared.population is not None:
        tasks += [
            LeakTask(f"linkage, {who}", "released table", "linkage", {"attacker": who})
            for who in ("journalist", "marketer")
        ]
    return tasks


KIND = AttackKind(
    name="linkage",
    does=(
        "Looks for a known person among the rows and picks one that fits. The prosecutor knows that the person is in "
        "the table, the journalist does not, the marketer links everybody."
    ),
    helps="k-anonymity",
    tried={"linkage": "near", "linkage, journalist": "far", "linkage, marketer": "far"},
    runs={"linkage": _run},
    of_table=_plan,
)
"""Linkage, as a leak report plans and explains it."""
