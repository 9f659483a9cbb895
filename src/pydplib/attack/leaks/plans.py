"""Which attacks apply to a release: to a table, to noisy columns, to a differentially private release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pydplib.anonymity.assessment.unnamed_columns import ColumnFinding, check_roles, find_unnamed, row_numbers
from pydplib.anonymity.assessment.verification import names_of, person_codes
from pydplib.anonymity.result import AnonymizationResult
from pydplib.anonymity.tables.columns import Floats
from pydplib.anonymity.tables.frames import Frame, with_labels
from pydplib.attack._arguments import TimeUp, until
from pydplib.attack.answers.noisy_column import as_numbers, is_flags
from pydplib.attack.bounds import most_advantage, most_success
from pydplib.attack.kinds import Beside, LeakTask, Shared, TableFacts, plan_column, plan_table
from pydplib.attack.leaks.audiences import Audience, AudienceVerdict, judge_audience
from pydplib.attack.leaks.tasks import TABLE_ATTACKS, Outcome, run_tasks
from pydplib.attack.result import AttackResult, percent
from pydplib.attack.tables.candidates import Candidates, as_shown, match, person_of
from pydplib.attack.tables.cells import relate
from pydplib.attack.tables.matching import linked_by_number
from pydplib.attack.tables.released import ReleasedClasses, columns_of, read_release
from pydplib.errors import DataError, ParameterError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP

_UNFIT = 0.05  # share of released rows that may fit nobody before cells are taken for changed, not coarser
_AS_SHOWN = (
    "Fewer than {} of the released rows cover anybody of the original: cells were changed (means, swaps, noise), or "
    "their labels need a hierarchy. So the attacker was taken to know which class everybody is in."
)
_BY_ORDER = "The order of the rows was compared in the columns whose labels can be read: {}."
_NO_ORDER = (
    "no label says what it covers, so the order of the rows cannot be compared. Give the hierarchies of the "
    "quasi-identifiers"
)
_GONE = "The release has no column {}: counted as '*' in every row."
_NOT_THERE = "The release has no column {}, so nothing was learnt about it."
_ROLES = "Give each a role: quasi-identifier, sensitive, insensitive (harmless, you vouch for it) or identifier."
_VOUCHED = "Taken to be harmless, and not attacked: {}."
_UNNAMED = (
    "No sensitive column was named: what those who look alike have in common was not tried. Name one, or know that "
    "nothing else in the release is private."
)
_COUNTED = (
    "The release does not say whose rows belong together; people in its classes were counted from the rows of the "
    "original that fit."
)


def give_verdicts(
    audiences: Sequence[Audience],
    outcomes: Sequence[Outcome],
    columns: Sequence[ColumnFinding] = (),
    *,
    watched: bool = True,
    **more: Any,
) -> tuple[AudienceVerdict, ...]:
    """Judge every audience by what became of the attacks, and by released columns that nobody gave a role.

    Args:
        audiences: Who is judged.
        outcomes: What became of the attacks.
        columns: What columns without a role give away.
        watched: Whether a sensitive column was named.
        more: What a proof says, see ``judge_audience``.
    """
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    late = [outcome.task.name for outcome in outcomes if outcome.late]
    failed = [outcome.task.name for outcome in outcomes if outcome.result is None and not outcome.late]
    verdicts = (judge_audience(audience, results, late, failed=failed, **more) for audience in audiences)
    return tuple(_with_columns(verdict, columns, watched) for verdict in verdicts)


def _with_columns(verdict: AudienceVerdict, columns: Sequence[ColumnFinding], watched: bool) -> AudienceVerdict:
    """Let columns that name people refuse a release, and those that may leave the verdict open."""
    audience = verdict.audience
    if not audience.attacks or not columns:
        return verdict
    naming = tuple(found.sentence for found in columns if found.names_people)
    if naming:
        return replace(verdict, answer="no", reasons=(*naming, *(verdict.reasons if verdict.answer == "no" else ())))
    waiting = [found.sentence for found in columns if found.blocks_at(audience.exposed)]
    if not watched:
        waiting.append(_UNNAMED)
    if verdict.answer == "no" or not waiting:
        return verdict
    return replace(
        verdict, answer="open", reasons=(*waiting, _ROLES, *(verdict.reasons if verdict.answer == "open" else ()))
    )


def attack_table(
    table: Any,
    released: Any,
    *,
    quasi: Any,
    sensitive: Any,
    person: str | None,
    hierarchies: Any,
    kinds: Any,
    beside: Beside,
    noisy: Any,
    margin: float,
    insensitive: Sequence[str],
    identifiers: Sequence[str],
    audiences: Sequence[Audience],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Attack a released table and its noisy columns; ``options`` say how the attacks are run, see ``run_tasks``."""
    columns = _noisy_names(noisy)
    original = Frame(with_labels(table))
    data = Frame(with_labels(getattr(released, "data", released)))
    if not len(original):
        raise DataError("The original has no rows: there is nobody on whose behalf a release could be attacked.")
    shared = Shared(people=len(original))
    tasks: list[LeakTask] = []
    notes: list[str] = []
    names: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    classes = None
    lost: list[Outcome] = []
    if quasi is not None or isinstance(released, AnonymizationResult) or not columns:
        names, watched, trees = columns_of(released, quasi, sensitive, hierarchies)
        overlap = next((name for name in columns if name in names), None)
        if overlap is not None:
            raise ParameterError(f"'{overlap}' carries noise: its cells cover nothing, so it cannot be linked by.")
        original.check_columns([*names, *watched], "in the original")
        person = person_of(released, original, person, (*names, *watched))
        notes += _left_out(names, _GONE, data) + _left_out(watched, _NOT_THERE, data)
        unwatched, watched = not watched, tuple(name for name in watched if name in data.columns)
        classes = read_release(data, names, watched, person, original.columns)
        shared.trees, shared.classes = trees, classes
        shared.known = {name: original.coded(name) for name in (*names, *watched)}
        shared.person = None if person is None else person_codes(original.coded(person))
        late = False
        try:
            with until(options["deadline"]):
                shared.found = match(classes, original, watched, trees, person)
        except TimeUp:
            shared.found, late = as_shown(classes), True  # nothing of it is run any more: all tasks are late
        if shared.found.given:
            notes += _match_notes(shared.found, person)
        readable = names
        if shared.found.given and shared.found.unfit > _UNFIT:
            readable = _readable(classes, shared)
            shared.found = as_shown(classes)
            notes.append(_AS_SHOWN.format(percent(1 - _UNFIT)))
            if readable or watched:
                notes.append(_BY_ORDER.format(", ".join((*readable, *watched))))
            elif not isinstance(released, AnonymizationResult):  # its rows are shuffled as they are made
                lost.append(Outcome(LeakTask("unsorted matching", "order of rows", "order"), None, 0.0, _NO_ORDER))
        if readable or watched:
            shared.in_order = read_release(data, (*readable, *watched), (), known=original.columns)
        if unwatched:
            notes.append(_UNNAMED)
        tasks += _table_tasks(
            released, classes, watched, kinds_of_columns(released, kinds), beside, shared, margin, person, late
        )
    if columns:
        shared.columns = _noisy_columns(original, released, list(columns))
        tasks += [
            task for name, factor in columns.items() for task in column_tasks(name, factor, None, shared.columns[name])
        ]
    outcomes = [*run_tasks(tasks, shared, **options), *lost]
    findings = _columns_without_role(
        released, data, original, shared, options["deadline"],
        roles={"quasi-identifier": names, "sensitive": watched, "noisy": tuple(columns),
               "insensitive": tuple(insensitive), "identifier": tuple(identifiers)},
        person=person,
    )  # fmt: skip
    vouched = [name for name in insensitive if name in data.columns]
    if vouched:
        notes.append(_VOUCHED.format(", ".join(vouched)))
    guarantee = released.certificate.guarantee.sentence if isinstance(released, AnonymizationResult) else ""
    return {
        "kind": "table" if classes is not None else "noisy column",
        "outcomes": tuple(outcomes),
        "verdicts": give_verdicts(audiences, outcomes, findings, watched=bool(watched or columns)),
        "columns": findings,
        "quasi_identifiers": names,
        "sensitive": (*watched, *columns),
        "people": len(original) if shared.person is None else len(np.unique(shared.person)),
        "rows": len(classes.of_row) if classes is not None and classes.of_row is not None else len(original),
        "guarantee": guarantee,
        "notes": tuple(notes),
    }


def _left_out(names: Sequence[str], words: str, data: Frame) -> list[str]:
    gone = [f"'{name}'" for name in names if name not in data.columns]
    return [words.format(", ".join(gone))] if gone else []


def _readable(classes: ReleasedClasses, shared: Shared) -> tuple[str, ...]:
    """Return the quasi-identifiers whose released labels say what they cover."""
    out = []
    for cells in classes.cells:
        known = relate(shared.known[cells.name].values, cells.values, shared.trees.get(cells.name))
        covers = np.zeros(len(cells.values), dtype=bool)
        covers[known.cells] = True
        if classes.size[~covers[cells.codes]].sum() <= _UNFIT * max(classes.people, 1.0):
            out.append(cells.name)
    return tuple(out)


def _columns_without_role(
    released: Any,
    data: Frame,
    original: Frame,
    shared: Shared,
    deadline: float | None,
    *,
    roles: Mapping[str, Sequence[str]],
    person: str | None,
) -> tuple[ColumnFinding, ...]:
    """Find what released columns give away that nobody named; an anonymization named all of its own."""
    check_roles([*data.columns, *original.columns], roles)
    named = [name for role in ("noisy", "insensitive") for name in roles[role]]
    if isinstance(released, AnonymizationResult):
        named += [*released.recipe.insensitive, *released.recipe.identifiers]  # identifiers: pseudonyms by now
    findings = find_unnamed(
        data, quasi=roles["quasi-identifier"], named=named, sensitive=roles["sensitive"],
        identifiers=roles["identifier"], original=original, person=person,
    )  # fmt: skip
    numbered = {
        found.column: numbers
        for found in findings
        if found.kind in ("unique", "copied") and (numbers := row_numbers(data.coded(found.column))) is not None
    }
    order = shared.in_order
    if not numbered or order is None or order.of_row is None:
        return findings
    try:
        with until(deadline):
            met = shared.match(order)
            linked = {name: linked_by_number(met, order.of_row, numbers) for name, numbers in numbered.items()}
    except TimeUp:
        return findings
    return tuple(_as_row_numbers(found, linked.get(found.column, 0.0)) for found in findings)


def _as_row_numbers(found: ColumnFinding, linked: float) -> ColumnFinding:
    if not linked or found.names_people:
        return found
    words = (
        f"'{found.column}' holds row numbers of the original: they link {percent(linked)} of the people to their rows. "
        "Drop it."
    )
    return ColumnFinding(found.column, "row numbers", share=linked, sentence=words, source=found.source)


def _table_tasks(
    released: Any, classes: ReleasedClasses, watched: Sequence[str], kinds: Mapping[str, Mapping[str, Any]],
    beside: Beside, shared: Shared, margin: float, person: str | None, late: bool,
) -> list[LeakTask]:  # fmt: skip
    """Plan the attacks on a released table, and lay ready in ``shared`` what they compare it with."""
    if beside.population is not None:
        crowd = Frame(beside.population)
        crowd.check_columns(classes.names, "quasi-identifier, in the population")
        shared.population = (len(crowd), {name: crowd.coded(name) for name in classes.names})
    if beside.previous and not shared.candidates.given and not late:
        raise DataError(
            "The cells do not say what they cover, so releases cannot be compared. Give the hierarchies of the "
            "quasi-identifiers."
        )
    if beside.previous:
        shared.previous = [
            read_release(release, classes.names, watched, person, tuple(shared.known)) for release in beside.previous
        ]
    for change in ("inserted", "deleted"):
        if getattr(beside, change) is None:
            continue
        if not beside.previous:
            raise ParameterError("People who came or left are found by comparison: give the earlier release too.")
        people = Frame(getattr(beside, change))
        people.check_columns([*classes.names, *watched], "of the people who came or left")
        shared.changed = {
            **shared.changed,
            change: (len(people), {name: people.coded(name) for name in (*classes.names, *watched)}),
        }
        if person is not None and person in people.columns:
            shared.changed_person = {**shared.changed_person, change: person_codes(people.coded(person))}
    facts = TableFacts(
        released=released, watched=watched, beside=beside, shared=shared, alike=kinds, margin=margin, person=person
    )
    return plan_table(TABLE_ATTACKS, facts)


def kinds_of_columns(released: Any, kinds: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
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


def _noisy_columns(original: Frame, released: Any, names: Sequence[str]) -> dict[str, tuple[Floats, Floats]]:
    """Return every noisy column as it was and as it was released."""
    data = Frame(getattr(released, "data", released))
    data.check_columns(names, "noisy, in the release")
    original.check_columns(names, "noisy, in the original")
    if len(data) != len(original):
        raise DataError("A noisy column is attacked row by row: the release needs as many rows as the original.")
    return {name: (_column(original, name), _column(data, name)) for name in names}


def _column(frame: Frame, name: str) -> Floats:
    coded = frame.coded(name)
    numbers = as_numbers(coded.values, name)
    return numbers[coded.codes]


def column_tasks(name: str, factor: str | None, scale: float | None, both: tuple[Floats, Floats]) -> list[LeakTask]:
    """Plan the attacks on a noisy column: one value has no order, and yes and no have no ends."""
    good = np.isfinite(both[0]) & np.isfinite(both[1])
    tasks = [LeakTask("averaging", name, "asking again", {"column": name, "factor": factor, "scale": scale})]
    if good.sum() > 1:
        tasks.append(LeakTask("unsorted matching", f"order of {name}", "noisy order", {"column": name}))
    if good.sum() > 1 and not is_flags(both[0][good], both[1][good]):
        tasks.append(LeakTask("extremes", name, "extremes", {"column": name}))
    return tasks


def _match_notes(found: Candidates, person: str | None) -> list[str]:
    """Return what to know about how people were matched."""
    notes = []
    if found.scale > 1:
        notes.append(f"Cells fit too many people: a sample of {len(found.pool):,} rows was attacked.")
    if person is not None and found.classes.person_of_row is None:
        notes.append(_COUNTED)
    return notes


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
    outcomes = [Outcome(LeakTask("membership", "presence of a person", ""), _presence(release), 0.0)] if proven else []
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
        facts = TableFacts(watched=watched, shared=shared, alike=alike, margin=margin, pieces=(1,))
        tasks = [task for column in watched for task in plan_column(TABLE_ATTACKS, facts, column)]
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
