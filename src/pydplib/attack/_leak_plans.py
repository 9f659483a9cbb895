"""Which attacks apply to a release: to a table, to noisy columns, to a differentially private release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity.frames import Frame
from pydplib.anonymity.models import AlphaK, KAnonymity
from pydplib.anonymity.result import AnonymizationResult
from pydplib.anonymity.verification import names_of
from pydplib.attack._candidates import as_shown, match
from pydplib.attack._leak_tasks import Outcome, Shared, Task, run_tasks
from pydplib.attack._noisy_column import as_numbers
from pydplib.attack._released import Classes, columns_of, read_release
from pydplib.attack._words import percent
from pydplib.attack.audiences import Audience, AudienceVerdict, judge_audience
from pydplib.attack.bounds import most_advantage, most_success
from pydplib.attack.result import AttackResult
from pydplib.errors import DataError, ParameterError

_UNFIT = 0.05  # share of released rows that may fit nobody before cells are taken for changed, not coarser
_AS_SHOWN = (
    "Fewer than {} of the released rows cover anybody of the original: cells were changed (means, swaps, noise), or "
    "their labels need a hierarchy. So the attacker was taken to know which class everybody is in, and the order of "
    "the rows was not tried."
)


def _verdicts(audiences: Sequence[Audience], outcomes: Sequence[Outcome], **more: Any) -> tuple[AudienceVerdict, ...]:
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    open_ = [outcome.task.name for outcome in outcomes if outcome.result is None]
    return tuple(judge_audience(audience, results, open_, **more) for audience in audiences)


def attack_table(
    table: Any, released: Any, quasi: Any, sensitive: Any, hierarchies: Any, kinds: Any, extra: Mapping[str, Any],
    noisy: Any, margin: float, options: Mapping[str, Any], audiences: Sequence[Audience],
) -> dict[str, Any]:  # fmt: skip
    columns = _noisy_names(noisy)
    original = Frame(table)
    shared, tasks, notes = Shared(people=len(original)), [], []
    names: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    classes = None
    if quasi is not None or isinstance(released, AnonymizationResult) or not columns:
        names, watched, trees = columns_of(released, quasi, sensitive, hierarchies)
        overlap = next((name for name in columns if name in names), None)
        if overlap is not None:
            raise ParameterError(f"'{overlap}' carries noise: its cells cover nothing, so it cannot be linked by.")
        original.check_columns([*names, *watched], "in the original")
        classes = read_release(released, names, watched)
        shared.trees = trees
        shared.known = {name: original.coded(name) for name in (*names, *watched)}
        shared.found = match(classes, original, watched, trees)
        if shared.found.scale > 1:
            notes.append(f"Cells fit too many people: a sample of {len(shared.found.pool):,} of them was attacked.")
        if shared.found.unfit > _UNFIT:
            shared.found = as_shown(classes)
            notes.append(_AS_SHOWN.format(percent(1 - _UNFIT)))
        else:
            shared.in_order = read_release(released, (*names, *watched), ())
        tasks += _table_tasks(released, classes, watched, _kinds(released, kinds), extra, shared, margin)
    if columns:
        data = Frame(getattr(released, "data", released))
        data.check_columns(list(columns), "noisy, in the release")
        original.check_columns(list(columns), "noisy, in the original")
        if len(data) != len(original):
            raise DataError("A noisy column is attacked row by row: the release needs as many rows as the original.")
        shared.columns = {name: (_column(original, name), _column(data, name)) for name in columns}
        tasks += [task for name, factor in columns.items() for task in _column_tasks(name, factor, None)]
    outcomes = run_tasks(tasks, shared, **options)
    guarantee = released.certificate.guarantee.sentence if isinstance(released, AnonymizationResult) else ""
    return {
        "kind": "table" if classes is not None else "noisy column",
        "outcomes": tuple(outcomes),
        "verdicts": _verdicts(audiences, outcomes),
        "quasi_identifiers": names,
        "sensitive": (*watched, *columns),
        "people": len(original),
        "rows": round(classes.people) if classes is not None else len(original),
        "guarantee": guarantee,
        "notes": tuple(notes),
    }


def _table_tasks(
    released: Any, classes: Classes, watched: Sequence[str], kinds: Mapping[str, Mapping[str, Any]],
    extra: Mapping[str, Any], shared: Shared, margin: float,
) -> list[Task]:  # fmt: skip
    tasks = [Task("linkage", "released table", "linkage", {"attacker": "prosecutor"})]
    if extra["population"] is not None:
        crowd = Frame(extra["population"])
        crowd.check_columns(classes.names, "quasi-identifier, in the population")
        shared.population = (len(crowd), {name: crowd.coded(name) for name in classes.names})
        tasks += [
            Task(f"linkage, {who}", "released table", "linkage", {"attacker": who})
            for who in ("journalist", "marketer")
        ]
    if shared.in_order is not None:
        tasks.append(Task("unsorted matching", "order of rows", "order"))
    for column in watched:
        about = {"column": column}
        tasks += [
            Task("homogeneity", column, "homogeneity", about),
            Task("background knowledge", column, "background", {**about, "pieces": 1}),
            Task("background knowledge, 2 pieces", column, "background", {**about, "pieces": 2}),
            Task("skewness", column, "skewness", {**about, "margin": margin}),
        ]
        if column in kinds:
            tasks.append(Task("similarity", column, "similarity", {**about, **kinds[column]}))
        if isinstance(released, AnonymizationResult) and shared.candidates.given:
            tasks += _minimality_tasks(released, column)
    if extra["previous"] and not shared.candidates.given:
        raise DataError(
            "The cells do not say what they cover, so releases cannot be compared. Give the hierarchies of the "
            "quasi-identifiers."
        )
    if extra["previous"]:
        shared.previous = [read_release(release, classes.names, watched) for release in extra["previous"]]
        tasks += [Task("complementary release", column, "complementary", {"column": column}) for column in watched]
    for change in ("inserted", "deleted"):
        if extra[change] is None:
            continue
        if not extra["previous"]:
            raise ParameterError("People who came or left are found by comparison: give the earlier release too.")
        people = Frame(extra[change])
        people.check_columns([*classes.names, *watched], "of the people who came or left")
        shared.changed = {
            **shared.changed,
            change: (len(people), {name: people.coded(name) for name in (*classes.names, *watched)}),
        }
        tasks += [Task("temporal", column, "temporal", {"column": column, "change": change}) for column in watched]
    return tasks


def _minimality_tasks(released: AnonymizationResult, column: str) -> list[Task]:
    """Where a rule on shares drove the search; other rules leave too many reasons for coarse cells."""
    smallest = max(
        [rule.model.k for rule in released.recipe.models if isinstance(rule.model, KAnonymity | AlphaK)] or [1]
    )
    recoding = "local" if released.method in ("local", "mondrian") else "global"
    return [
        Task("minimality", column, "minimality",
             {"column": column, "most": rule.model.alpha, "k": smallest, "recoding": recoding})
        for rule in released.recipe.models
        if isinstance(rule.model, AlphaK) and rule.sensitive in (None, column) and rule.model.alpha < 1
    ]  # fmt: skip


def _kinds(released: Any, kinds: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Return how values of a sensitive column are alike: by a hierarchy, or by a width for numbers."""
    out: dict[str, dict[str, Any]] = {}
    if isinstance(released, AnonymizationResult):
        for rule in released.recipe.models:
            tree = getattr(rule.model, "hierarchy", None)
            if tree is not None and rule.sensitive is not None:
                out[rule.sensitive] = {"hierarchy": tree}
    for column, how in (kinds or {}).items():
        out[column] = {"within": float(how)} if isinstance(how, int | float) else {"hierarchy": how}
    return out


def _noisy_names(noisy: Any) -> dict[str, str | None]:
    if isinstance(noisy, Mapping):
        return {str(name): factor for name, factor in noisy.items()}
    return dict.fromkeys(names_of(noisy, "noisy columns"))


def _column(frame: Frame, name: str) -> Any:
    coded = frame.coded(name)
    numbers = as_numbers(coded.values, name)
    return numbers[coded.codes]


def _column_tasks(name: str, factor: str | None, scale: float | None) -> list[Task]:
    return [
        Task("averaging", name, "asking again", {"column": name, "factor": factor, "scale": scale}),
        Task("unsorted matching", f"order of {name}", "noisy order", {"column": name}),
        Task("extremes", name, "extremes", {"column": name}),
    ]


def attack_column(
    values: Any, result: Any, options: Mapping[str, Any], audiences: Sequence[Audience]
) -> dict[str, Any]:
    """Attack the column that ``dp_calculate`` made noisy; ``values`` is the column that went in."""
    name = str(getattr(values, "name", None) or "the column")
    exact, noisy = as_numbers(list(values), name), as_numbers(list(result.dp_data), name)
    if len(exact) != len(noisy):
        raise DataError("The original column needs as many values as the noisy one. Drop missing values from both.")
    factor = None if result.noise_factor is None else result.noise_factor.name
    scale = float(result.scale) if np.isfinite(result.scale) else None
    tasks = _column_tasks(name, factor, scale)
    outcomes = run_tasks(tasks, Shared(people=len(exact), columns={name: (exact, noisy)}), **options)
    return {
        "kind": "noisy column",
        "outcomes": tuple(outcomes),
        "verdicts": _verdicts(audiences, outcomes),
        "sensitive": (name,),
        "people": len(exact),
        "rows": len(noisy),
        "guarantee": result.guarantee.sentence,
    }


def attack_counts(
    table: Any, release: Any, quasi: Any, sensitive: Any, kinds: Any, margin: float, options: Mapping[str, Any],
    audiences: Sequence[Audience],
) -> dict[str, Any]:  # fmt: skip
    """Attack a differentially private release: its guarantee, and its table where it has one."""
    from pydplib.guarantee import ApproxDP, PureDP

    proven = isinstance(release.guarantee, PureDP | ApproxDP)
    outcomes = [Outcome(Task("membership", "presence of a person", ""), _presence(release), 0.0)] if proven else []
    names, watched, people = (), (), 0  # type: tuple[str, ...], tuple[str, ...], int
    if quasi is not None:
        names, watched, trees = columns_of(release, quasi, sensitive, None)
        original = Frame(table)
        people = len(original)
        original.check_columns([*names, *watched], "in the original")
        classes = read_release(release, names, watched)
        shared = Shared(trees, people, found=match(classes, original, watched, trees))
        tasks = []
        for column in watched:
            tasks += [
                Task("homogeneity", column, "homogeneity", {"column": column}),
                Task("background knowledge", column, "background", {"column": column, "pieces": 1}),
                Task("skewness", column, "skewness", {"column": column, "margin": margin}),
            ]
            if column in _kinds(None, kinds):
                tasks.append(
                    Task("similarity", column, "similarity", {"column": column, **_kinds(None, kinds)[column]})
                )
        outcomes += run_tasks(tasks, shared, **options)
    note = (
        "What a noisy table says about a group it says about people who are not in it, too: that is statistics. What "
        "differential privacy bounds is what one person's own row adds; the verdict rests on that."
    )
    verdicts = _verdicts(audiences, outcomes, epsilon=release.epsilon, guaranteed=proven)
    return {
        "kind": "counts",
        "outcomes": tuple(outcomes),
        "verdicts": verdicts,
        "quasi_identifiers": names,
        "sensitive": watched,
        "people": people,
        "guarantee": release.guarantee.sentence,
        "notes": (note,),
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
