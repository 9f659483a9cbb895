"""Attacks on what a noise mechanism made: one column of dp_calculate, a differentially private release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.tables.frames import Frame
from pydplib.attack._candidates import match
from pydplib.attack._clock import TimeUp, until
from pydplib.attack._leak_plans import column_tasks, give_verdicts, kinds_of_columns, secret_tasks
from pydplib.attack._leak_tasks import Outcome, Shared, Task, run_tasks
from pydplib.attack._noisy_column import as_numbers
from pydplib.attack._released import columns_of, read_release
from pydplib.attack._words import percent
from pydplib.attack.audiences import Audience
from pydplib.attack.bounds import most_advantage, most_success
from pydplib.attack.result import AttackResult
from pydplib.errors import DataError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP

_STATISTICS = (
    "What a noisy table says about a group it says about people who are not in it, too: that is statistics. What "
    "differential privacy bounds is what one person's own row adds; the verdict rests on that."
)


def attack_column(
    values: Any, result: Any, *, audiences: Sequence[Audience], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Attack the column that ``dp_calculate`` made noisy; ``values`` is the column that went in."""
    name = str(getattr(values, "name", None) or "the column")
    exact, noisy = as_numbers(list(values), name), as_numbers(list(result.dp_data), name)
    if len(exact) != len(noisy):
        raise DataError("The original column needs as many values as the noisy one. Drop missing values from both.")
    factor = None if result.noise_factor is None else result.noise_factor.name
    scale = float(result.scale) if np.isfinite(result.scale) else None
    tasks = column_tasks(name, factor, scale, (exact, noisy))
    outcomes = run_tasks(tasks, Shared(people=len(exact), columns={name: (exact, noisy)}), **options)
    # Where bounds, range and scale were public, a proof bounds what any attack can learn from one release.
    proof: dict[str, Any] = (
        {"epsilon": result.guarantee.epsilon, "guaranteed": True} if isinstance(result.guarantee, LocalDP) else {}
    )
    return {
        "kind": "noisy column",
        "outcomes": tuple(outcomes),
        "verdicts": give_verdicts(audiences, outcomes, **proof),
        "sensitive": (name,),
        "people": len(exact),
        "rows": len(noisy),
        "guarantee": result.guarantee.sentence,
    }


def attack_counts(
    table: Any,
    release: Any,
    *,
    quasi: Any,
    sensitive: Any,
    kinds: Any,
    margin: float,
    audiences: Sequence[Audience],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Attack a differentially private release: its guarantee, and its table where it has one."""
    proven = isinstance(release.guarantee, PureDP | ApproxDP)
    outcomes = [Outcome(Task("membership", "presence of a person", ""), _presence(release), 0.0)] if proven else []
    names: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    people = 0
    if quasi is not None:
        names, watched, trees = columns_of(release, quasi, sensitive, None)
        original = Frame(table)
        people = len(original)
        original.check_columns([*names, *watched], "in the original")
        classes = read_release(release, names, watched)
        try:
            with until(options["deadline"]):
                found = match(classes, original, watched, trees)
        except TimeUp:
            found = None
        shared = Shared(trees, people, found=found, classes=classes)
        alike = kinds_of_columns(None, kinds)
        tasks = [task for column in watched for task in secret_tasks(column, margin, alike, pieces=(1,))]
        outcomes += run_tasks(tasks, shared, **options)
    verdicts = give_verdicts(
        audiences, outcomes, epsilon=release.epsilon, delta=release.delta or 0.0, guaranteed=proven
    )
    return {
        "kind": "counts",
        "outcomes": tuple(outcomes),
        "verdicts": verdicts,
        "quasi_identifiers": names,
        "sensitive": watched,
        "people": people,
        "guarantee": release.guarantee.sentence,
        "notes": (_STATISTICS,),
    }


def _presence(release: Any) -> AttackResult:
    """The most that anybody can learn about whether a person is in the data; no attack beats it, and one reaches it."""
    most = most_success(release.epsilon, release.delta)
    return AttackResult(
        name="membership",
        target="presence of a person",
        success=most,
        baseline=0.5,
        interval=(0.5, most),
        exposed=0.0,
        tries=0,
        sentence=(
            f"Whatever else somebody knows, the best guess whether a person is in the data is right in at most "
            f"{percent(most)} of the cases; a coin is in 50 %."
        ),
        details={"epsilon": release.epsilon, "delta": release.delta,
                 "most_advantage": most_advantage(release.epsilon, release.delta)},
    )  # fmt: skip
