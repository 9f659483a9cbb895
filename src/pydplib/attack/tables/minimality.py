"""Minimality: the table was made coarser than k needs, so somebody in here must have had the value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from pydplib.anonymity.models import AlphaK, KAnonymity
from pydplib.anonymity.result import AnonymizationResult
from pydplib.anonymity.tables.columns import Bools, Floats, Ints
from pydplib.anonymity.tables.frames import Frame
from pydplib.anonymity.tables.view import number_rows
from pydplib.attack._arguments import check_time
from pydplib.attack.kinds import AttackKind, LeakTask, Shared, TableFacts
from pydplib.attack.result import AttackResult, percent
from pydplib.attack.tables.candidates import Candidates, find_candidates, one_column
from pydplib.attack.tables.cells import text_of
from pydplib.errors import DataError, ParameterError, did_you_mean, shown

Recoding: TypeAlias = Literal["local", "global"]
"""Whether every class was made coarser by itself, or all of the table at once."""

_LARGEST = 900  # people of a class up to which all arrangements are counted (binomials stay finite)


def minimality(
    released: Any,
    known: Any,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | None = None,
    value: Any,
    most: float,
    k: int = 1,
    recoding: Recoding = "local",
    hierarchies: Mapping[str, Any] | None = None,
) -> AttackResult:
    """Reason from the method: it makes cells no coarser than it must, so why are these coarse?

    In plain words: the attacker has the voter list and sees that a street of two people and a street of six were put
    together, though each alone was large enough. A minimal method does that only if one street alone broke the
    rule "at most half may have the disease". In a street of two that happens most easily if both have it. So the
    two are ill with a probability above one half, the very thing the rule forbids (Wong et al. 2007).

    All arrangements of the class's values over its people are counted that break the rule in at least one group,
    by convolution of binomials; the belief is the share in which a person has the value. Differential privacy
    does not let the data choose how an answer is made, so there is nothing to reason from.

    Args:
        released: A data frame, path or ``AnonymizationResult``.
        known: All people of the table, with their quasi-identifiers as they are, and the true sensitive value.
        quasi_identifiers: What he knows of a person.
        sensitive: What he wants to learn.
        value: The value that the rule guards.
        most: The largest share of that value which the rule allows in a class: alpha, or 1/l.
        k: The smallest class that the rule allows; smaller groups explain the coarsening without the value.
        recoding: ``"local"`` if classes are made coarser one by one, ``"global"`` if a whole column is.
        hierarchies: Column -> its hierarchy, where labels do not say what they cover.

    Examples:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"street": ["a"] * 2 + ["b"] * 6, "hiv": [1, 1, 0, 0, 0, 0, 0, 0]})
        >>> released = people.assign(street="{a, b}")
        >>> result = minimality(released, people, quasi_identifiers=["street"], sensitive="hiv", value=1, most=0.5)
        >>> round(result.details["largest_belief"], 3), result.exposed
        (1.0, 0.25)
    """
    if recoding not in ("local", "global"):
        raise ParameterError(f"Unknown recoding '{recoding}'.{did_you_mean(recoding, ('local', 'global'))}")
    if not (isinstance(most, float | int) and 0 < most < 1):
        raise ParameterError(f"most is a share strictly between 0 and 1. Got {shown(most)}.")
    found, watched = find_candidates(
        released, known, quasi_identifiers=quasi_identifiers, sensitive=sensitive, hierarchies=hierarchies
    )
    name = one_column(watched)
    frame = Frame(known)
    groups = number_rows([frame.coded(column) for column in found.classes.names], len(frame))
    return judge_minimality(found, name, groups, value=value, most=float(most), k=k, recoding=recoding)


def judge_minimality(
    found: Candidates, name: str, groups: Ints, *, value: Any, most: float, k: int, recoding: Recoding
) -> AttackResult:
    """Return what the reason for coarse cells says about the people in them."""
    if name not in found.truth or len(found.pool) != len(groups):
        raise DataError(f"Minimality needs all people of the table with their true '{name}'.")
    truth = found.truth[name]
    ill = np.array([text == text_of(value) for text in truth.values], dtype=bool)[truth.codes]
    naive, belief, applies = _beliefs(found, name, groups, text_of(value), most, k, recoding)
    inside = found.pool >= 0
    prior = float(ill.mean()) if len(ill) else 0.0
    seen = np.where(inside, belief[groups], prior)
    before = np.where(inside, naive[groups], prior)
    exposed = float(np.mean(ill & (seen > most + 1e-9) & (before <= most + 1e-9))) if len(ill) else 0.0
    success = float(np.where(ill, seen, 1 - seen).mean()) if len(ill) else 0.0
    top = float(seen.max(initial=0.0))
    share = float(np.mean(applies[groups])) if len(groups) else 0.0
    return AttackResult.of_tries(
        "minimality",
        target=name,
        hits=min(round(success * len(ill)), len(ill)),
        tries=len(ill),
        baseline=prior**2 + (1 - prior) ** 2,
        exposed=exposed,
        sentence=(
            f"Because the method is known to do no more than it must, {percent(exposed)} of the people are believed "
            f"to have the guarded value of {name} with up to {percent(top)}, where the rule promises at most "
            f"{percent(most)}."
            if exposed
            else f"Why the cells are coarse says no more about {name} than the rule allows."
        ),
        details={
            "column": name,
            "most": most,
            "largest_belief": top,
            "largest_promised": float(before.max(initial=0.0)),
            "applies_to": share,
            "recoding": recoding,
        },
    )


def _beliefs(
    found: Candidates, name: str, groups: Ints, guarded: str, most: float, k: int, recoding: Recoding
) -> tuple[Floats, Floats, Bools]:
    """Return, per raw group: the share its class shows, the belief, and whether the attack applies."""
    number = int(groups.max(initial=-1)) + 1
    size = np.bincount(groups, minlength=number)
    pool = np.full(number, -1, dtype=np.int64)
    pool[groups] = found.pool
    entries = found.entries(name)
    where = entries.domain.index(guarded) if guarded in entries.domain else -1
    held = np.zeros(len(found.size))
    mine = entries.value == where
    held[entries.owner[mine]] = entries.count[mine]
    naive = np.where(pool >= 0, held[pool] / np.maximum(found.size[pool], 1e-9), 0.0)
    belief, applies = naive.copy(), np.zeros(number, dtype=bool)
    order = np.argsort(pool, kind="stable")
    order = order[pool[order] >= 0]
    parts = np.split(order, np.flatnonzero(np.diff(pool[order])) + 1) if len(order) else []
    counted: list[tuple[Ints, float, float, Floats]] = []
    clear = True
    for part in parts:
        check_time()
        people, ill = int(size[part].sum()), round(float(held[pool[part[0]]]))
        whole = people == round(float(found.size[pool[part[0]]])) and people <= _LARGEST
        coarse = len(part) > 1 and bool((size[part] >= k).all())
        clear &= bool((size[part] >= k).all()) and whole
        if whole and (coarse or recoding == "global"):
            fine, expected = _unbroken(size[part], ill, most)
            counted.append((part, fine, float(ill) / people, expected))
    if recoding == "global" and not clear:
        return naive, belief, applies  # a small group somewhere explains the coarse cells
    together = float(np.prod([fine for _, fine, _, _ in counted])) if counted else 1.0
    for part, fine, share, expected in counted:
        # E[value | some group breaks the rule] = (E[value] - E[value; no group does]) / (1 - P[no group does]).
        others = together / fine if recoding == "global" and fine > 0 else 1.0
        quiet = fine if recoding == "local" else together
        if quiet < 1 - 1e-12 and len(part) > 1:
            belief[part] = np.clip((share - others * expected / size[part]) / (1 - quiet), 0.0, 1.0)
            applies[part] = True
    return naive, belief, applies


def _unbroken(sizes: Ints, ill: int, most: float) -> tuple[float, Floats]:
    """Return P[no group breaks the rule] and, per group, E[ill people in it; no group breaks the rule].

    Uniform over all arrangements of ``ill`` among all people of the class: multivariate hypergeometric.

    Examples:
        >>> fine, expected = _unbroken(np.array([2, 6]), 2, 0.5)
        >>> round(fine, 4), round(1 - 1 / math.comb(8, 2), 4)
        (0.9643, 0.9643)
    """
    total = math.comb(int(sizes.sum()), ill)
    ways = []
    for size in sizes.tolist():
        upto = min(math.floor(most * size + 1e-9), ill)
        ways.append(np.array([float(math.comb(size, x)) for x in range(upto + 1)]))
    before, after = [np.ones(1)], [np.ones(1)]
    for way in ways:
        before.append(np.convolve(before[-1], way)[: ill + 1])
    for way in reversed(ways):
        after.append(np.convolve(after[-1], way)[: ill + 1])
    after.reverse()
    expected = np.zeros(len(ways))
    for i, way in enumerate(ways):
        rest = np.convolve(before[i], after[i + 1])
        x = np.arange(len(way))
        reach = (ill - x >= 0) & (ill - x < len(rest))
        expected[i] = float((x[reach] * way[reach] * rest[ill - x[reach]]).sum()) / total
    whole = before[-1]
    return (float(whole[ill]) / total if ill < len(whole) else 0.0), expected


def _run(shared: Shared, column: str, most: float, k: int, recoding: Recoding) -> AttackResult:
    cases, found = shared.cases(column), shared.candidates
    # The rule guards every value alike; the one that is most common in some class is the one that drove it.
    share = cases.entries.count / np.maximum(cases.size[cases.entries.owner], 1e-9)
    top = cases.entries.domain[int(cases.entries.value[share.argmax()])] if len(share) else ""
    groups = number_rows([shared.known[name] for name in found.classes.names], shared.people)
    return judge_minimality(found, column, groups, value=top, most=most, k=k, recoding=recoding)


def _plan(facts: TableFacts, column: str) -> list[LeakTask]:
    """Plan it where a rule on shares drove the search; other rules leave too many reasons for coarse cells."""
    released = facts.released
    if not isinstance(released, AnonymizationResult) or not facts.shared.candidates.given or facts.person is not None:
        return []
    models = released.recipe.models
    smallest = max([rule.model.k for rule in models if isinstance(rule.model, KAnonymity | AlphaK)] or [1])
    recoding = "local" if released.method in ("local", "mondrian") else "global"
    return [
        LeakTask(
            "minimality",
            column,
            "minimality",
            {"column": column, "most": rule.model.alpha, "k": smallest, "recoding": recoding},
        )
        for rule in models
        if isinstance(rule.model, AlphaK) and rule.sensitive in (None, column) and rule.model.alpha < 1
    ]


KIND = AttackKind(
    name="minimality",
    does="Asks why the cells had to be made so coarse.",
    helps="differential privacy",
    tried={"minimality": "anybody"},
    runs={"minimality": _run},
    of_column=_plan,
)
"""Minimality, as a leak report plans and explains it."""
