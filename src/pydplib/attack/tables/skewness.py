"""Skewness: among those who look alike a rare value is frequent, and belief jumps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Floats
from pydplib.attack.bounds import share_interval
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, percent
from pydplib.attack.tables.candidates import Cases, find_cases
from pydplib.attack.tables.released import ReleasedClasses
from pydplib.errors import ParameterError, shown


def skewness(
    released: Any,
    known: Any = None,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    margin: float = 0.2,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Believe in a value as strongly as it is frequent among those who look alike.

    In plain words: one in a hundred has the disease, but every second of those who look like her. Both
    answers, yes and no, are there, so l-diversity holds; still she will not get the insurance. t-closeness
    limits how far the spread in a group may be from that of the whole table: with the equal distance no belief
    rises by more than t (Li, Li and Venkatasubramanian 2007).

    Success is the mean belief in the true value: how often somebody is right who draws a candidate at
    random. The baseline draws from the whole table.

    Args:
        released: A data frame, path, ``AnonymizationResult`` or noisy table of counts (``Release``).
        known: The people whom the attacker knows, with their true sensitive value, by which he is judged. None:
            everybody in the release, as it shows them.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        margin: By how much the belief in her own value must rise for somebody to count as exposed.
        person: The column that says whose row it is, in ``known`` and, where rows stay linked, in the release. Then
            people are counted instead of rows. An ``AnonymizationResult`` knows its own.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": ["30-39"] * 2 + ["50-59"] * 8, "hiv": ["yes", "no"] + ["no"] * 8})
        >>> result = skewness(table, quasi_identifiers=["age"], sensitive="hiv")
        >>> result.exposed, round(result.details["largest_rise"], 3)
        (0.1, 0.4)
    """
    cases, classes, name = find_cases(released, known, quasi_identifiers, sensitive, person, hierarchies)
    return judge_skewness(cases, classes, name, margin=margin)


def judge_skewness(cases: Cases, classes: ReleasedClasses, name: str, *, margin: float = 0.2) -> AttackResult:
    """Return how far belief moves by the spread of values among candidates."""
    if not (isinstance(margin, float | int) and 0 <= margin < 1):
        raise ParameterError(f"margin is a rise of belief, from 0 to below 1. Got {shown(margin)}.")
    rise = cases.belief - cases.prior[cases.truth]
    exposed = cases.reached(rise > margin + 1e-12)
    success = float((cases.people * cases.belief).sum() / max(cases.total, 1e-9))
    baseline = float((cases.prior**2).sum())
    tries = round(cases.total)
    distance = distances(cases)
    some = np.bincount(cases.pool[cases.pool >= 0], minlength=len(distance)) > 0
    people = float(cases.people[cases.pool >= 0].sum())
    held = np.bincount(cases.pool[cases.pool >= 0], weights=cases.people[cases.pool >= 0], minlength=len(distance))
    top = float(rise.max(initial=0.0))
    hits = min(round(success * tries), tries)
    if classes.noisy and tries and share_interval(hits, tries)[0] <= baseline:
        # Noise moves beliefs up and down; whoever is not right more often on the whole has learnt nothing.
        exposed = 0.0
    return AttackResult.of_tries(
        "skewness",
        target=name,
        hits=hits,
        tries=tries,
        baseline=min(baseline, 1.0),
        exposed=exposed,
        sentence=(
            f"For {percent(exposed)} of the people the belief in their true {name} rises by more than "
            f"{percent(margin)}, for some by {percent(top)}: values are spread otherwise among those who look alike."
            if exposed
            else f"Nobody's true {name} becomes more believable by more than {percent(margin)}."
        ),
        details={
            "column": name,
            "margin": margin,
            "largest_rise": top,
            "largest_distance": float(distance[some].max(initial=0.0)),
            "mean_distance": float((held * distance).sum() / max(people, 1e-9)),
        },
    )


def distances(cases: Cases) -> Floats:
    """Return, per pool, half the sum of |share among candidates - share among all|: the t of t-closeness."""
    entries, pools = cases.entries, len(cases.size)
    inside = entries.count / np.maximum(cases.size[entries.owner], 1e-9)
    usual = cases.prior[entries.value]
    moved = np.bincount(entries.owner, weights=np.abs(inside - usual), minlength=pools)
    covered = np.bincount(entries.owner, weights=usual, minlength=pools)
    return np.asarray((moved + np.maximum(1 - covered, 0.0)) / 2)


def _run(shared: Shared, column: str, margin: float) -> AttackResult:
    return judge_skewness(shared.cases(column), shared.candidates.classes, column, margin=margin)


def _plan(facts: TableFacts, column: str) -> list[LeakTask]:
    return [LeakTask("skewness", column, "skewness", {"column": column, "margin": facts.margin})]


KIND = AttackKind(
    name="skewness",
    does="Believes in a value as strongly as it is frequent among look-alikes.",
    helps="t-closeness",
    tried={"skewness": "far"},
    runs={"skewness": _run},
    of_column=_plan,
)
"""Skewness, as a leak report plans and explains it."""
