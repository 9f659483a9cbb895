"""Background knowledge: a few values that a person certainly does not have, and the rest is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Bools, Floats
from pydplib.attack._arguments import at_least
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, percent
from pydplib.attack.tables.candidates import Cases, find_cases
from pydplib.attack.tables.homogeneity import known_anyway, visible
from pydplib.attack.tables.released import ReleasedClasses


def background_knowledge(
    released: Any,
    known: Any = None,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    pieces: int = 1,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Learn the sensitive value of everybody about whom a few excluded values suffice.

    In plain words: among those who look alike there are two diagnoses, and a neighbour knows that she does not
    have the one. With l different values it takes l-1 such pieces of knowledge: that, and no more, is what
    l-diversity promises (Machanavajjhala et al. 2006). The attacker here gets the pieces that help him most. The
    baseline is somebody who has the same pieces and not the release.

    Args:
        released: A data frame, path, ``AnonymizationResult`` or noisy table of counts (``Release``).
        known: The people whom the attacker knows, with their true sensitive value, by which he is judged. None:
            everybody in the release, as it shows them.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        pieces: How many values he can exclude for each person; 0 is ``homogeneity``.
        person: The column that says whose row it is, in ``known`` and, where rows stay linked, in the release. Then
            people are counted instead of rows. An ``AnonymizationResult`` knows its own.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": ["30-39"] * 4, "ill": ["flu", "flu", "burn", "hiv"]})
        >>> about = {"quasi_identifiers": ["age"], "sensitive": "ill"}
        >>> [background_knowledge(table, pieces=pieces, **about).exposed for pieces in (0, 1, 2)]
        [0.0, 0.0, 1.0]
    """
    cases, classes, name = find_cases(released, known, quasi_identifiers, sensitive, person, hierarchies)
    return judge_background(cases, classes, name, pieces=pieces)


def judge_background(cases: Cases, classes: ReleasedClasses, name: str, *, pieces: int = 1) -> AttackResult:
    """Return what this many excluded values give away together with the release."""
    at_least("pieces", pieces, 0)
    entries = visible(cases.entries, classes)
    pools, width = len(cases.size), max(len(entries.domain), 1)
    different = np.append(np.bincount(entries.owner, minlength=pools), 0)[cases.pool]
    keys = entries.owner * width + entries.value
    present = np.isin(cases.pool * width + cases.truth, keys) & (cases.pool >= 0)
    # Exclusions are true facts. If the person's own value is not among the candidates', all of them get excluded.
    certain = np.where(present, different - 1 <= pieces, different == 1 if pieces == 0 else False)
    right = certain & present
    blind, before = _blind(cases, classes, pieces)
    wrong = cases.reached(certain & ~present)
    success = cases.share(right | (~certain & blind))
    tries, exposed = round(cases.total), max(0.0, cases.reached(right) - wrong)
    gained = max(0.0, cases.gained(right, before) - wrong)
    facts = "one excluded value" if pieces == 1 else f"{pieces} excluded values"
    return AttackResult.of_tries(
        "background knowledge",
        target=name,
        hits=min(round(success * tries), tries),
        tries=tries,
        baseline=min(cases.share(blind), 1.0),
        exposed=exposed,
        sentence=(
            f"With {facts} per person, the {name} of {percent(exposed)} of the people is certain."
            f"{known_anyway(exposed, gained)}"
            if exposed
            else f"Even with {facts} per person nobody's {name} is certain: more values are left."
        ),
        details={"column": name, "pieces": pieces, "least_different": int(different.min(initial=0)), "gained": gained},
    )


def _blind(cases: Cases, classes: ReleasedClasses, pieces: int) -> tuple[Bools, Floats]:
    """Return where somebody with the same facts but without the release is right, and how sure of the true value.

    He names the commonest value left. Excluded are the ``pieces`` commonest values of the candidates besides the true
    one.
    """
    rank = np.empty(len(cases.prior), dtype=np.int64)
    rank[np.argsort(-cases.prior, kind="stable")] = np.arange(len(cases.prior))
    entries = visible(cases.entries, classes)
    pools = len(cases.size)
    order = np.lexsort((entries.value, -entries.count, entries.owner))
    owner, value = entries.owner[order], entries.value[order]
    start = np.searchsorted(owner, np.arange(pools))
    place = np.arange(len(owner)) - start[owner]
    top = np.full((pools + 1, pieces + 1), -1, dtype=np.int64)  # the commonest values of every pool
    inside = place <= pieces
    top[owner[inside], place[inside]] = value[inside]
    mine = top[cases.pool]
    own = mine == cases.truth[:, np.newaxis]
    # The last of the pieces + 1 is excluded only where the true value is among those before it.
    use = (mine >= 0) & ~own
    use[:, -1] &= own[:, :-1].any(axis=1) if pieces else False
    better = rank[cases.truth]
    gone = (use & (rank[np.maximum(mine, 0)] < better[:, np.newaxis])).sum(axis=1)
    out = (use * cases.prior[np.maximum(mine, 0)]).sum(axis=1)
    return np.asarray(gone == better), cases.prior[cases.truth] / np.maximum(1 - out, 1e-9)


def _run(shared: Shared, column: str, pieces: int) -> AttackResult:
    return judge_background(shared.cases(column), shared.candidates.classes, column, pieces=pieces)


def _plan(facts: TableFacts, column: str) -> list[LeakTask]:
    return [
        LeakTask(
            "background knowledge" if number == 1 else f"background knowledge, {number} pieces",
            column,
            "background",
            {"column": column, "pieces": number},
        )
        for number in facts.pieces
    ]


KIND = AttackKind(
    name="background knowledge",
    does="Knows of every person one or two values that she certainly does not have; what is left may be one.",
    helps="a larger l; differential privacy",
    tried={"background knowledge": "far", "background knowledge, 2 pieces": "anybody"},
    runs={"background": _run},
    of_column=_plan,
)
"""Background knowledge, as a leak report plans and explains it."""
