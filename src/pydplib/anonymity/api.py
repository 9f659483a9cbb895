"""``anonymize``: choose the transformation, apply it, and prove it on the output."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from pydplib.anonymity.boxes import search_lattice
from pydplib.anonymity.certificate import TOGETHER, certify
from pydplib.anonymity.engine_counts import is_relation
from pydplib.anonymity.frames import Frame
from pydplib.anonymity.leaves import released_hierarchies
from pydplib.anonymity.losses import LOSSES, make_objective
from pydplib.anonymity.models import KAnonymity, Model
from pydplib.anonymity.plain import as_text
from pydplib.anonymity.prepare import Task, prepare, read_rules, read_suppression, read_time_limit
from pydplib.anonymity.problem import Problem
from pydplib.anonymity.recipe import Recipe
from pydplib.anonymity.recoding import Recoding, measure_loss, recode_levels
from pydplib.anonymity.resolved import Bools, Ints
from pydplib.anonymity.result import AnonymizationResult, RiskChange, Suppression
from pydplib.anonymity.risks import risk_of_sizes
from pydplib.anonymity.search import SearchInfo
from pydplib.anonymity.spellings import SeenFrame
from pydplib.anonymity.traces import LazyTrace
from pydplib.anonymity.view import dense
from pydplib.errors import AnonymityError, ParameterError, did_you_mean
from pydplib.schema import Schema

Method = Literal["optimal", "local", "cells", "mondrian", "microaggregation"]
METHODS = ("optimal", "local", "cells", "mondrian", "microaggregation")
_NOT_ALONE = (
    "A model holds against the input's distribution, which the search used, but not against the output's own. Use "
    "reference='output', allow less suppression, or ask for a stricter model."
)
REFERENCES = ("output", "input")
_NOT_TOGETHER = (
    "Together with an earlier release somebody can learn more than the models allow. Where only the table of that "
    "release was given, give its trace instead: the search then takes it into account."
)


def anonymize(
    table: Any,
    quasi_identifiers: Any,
    sensitive: Any = None,
    *,
    models: Sequence[Model],
    person: str | None = None,
    identifiers: Any = (),
    insensitive: Sequence[str] = (),
    suppression: float = 0.0,
    method: Method = "optimal",
    loss: str = "granularity",
    reference: Literal["output", "input"] = "output",
    labels: Literal["sets", "hierarchy"] = "sets",
    schema: Schema | None = None,
    previous: Sequence[Any] = (),
    time_limit: float | None = None,
    progress: Callable[[SearchInfo], None] | None = None,
    output: Any = None,
) -> AnonymizationResult:
    """Return a table that satisfies privacy models, with the least loss, and the proof that it does.

    Columns that are not named are dropped. Suppressed rows are left out. The output is shuffled.

    Args:
        table: A data frame (pandas, Polars, PyArrow), a DuckDB relation, or the path of a CSV or Parquet file.
            Relations and paths stay in DuckDB: only distinct combinations with counts are loaded.
        quasi_identifiers: Column -> hierarchy (or path, groups, schema column, None for automatic), or names.
        sensitive: Sensitive columns; as a mapping, column -> models of its own.
        models: What has to hold, e.g. ``[KAnonymity(5), LDiversity(3)]``.
        person: The column that says whose row it is; None: one row is one person. Then classes count persons.
        identifiers: Columns to drop, or column -> ``Pseudonym(...)``.
        insensitive: Columns to keep as they are.
        suppression: The largest share of rows that may be left out.
        method: ``"optimal"`` (one level per column, the true optimum), ``"local"`` (levels differ between
            classes), ``"cells"`` (single cells become "*"), ``"mondrian"`` or ``"microaggregation"``.
        loss: What the optimum minimizes: granularity, precision, entropy, discernibility or class_size.
        reference: What t-closeness, beta-likeness and delta-disclosure compare classes with: the released rows
            (``"output"``), so that what is found also holds; or all rows (``"input"``), as ARX does.
        labels: For Mondrian: sets of values, or the lowest label of the hierarchy that covers them.
        schema: Public facts for automatic hierarchies.
        previous: Earlier releases of the same people; the models then hold across all of them. Results of this
            session, traces that ``result.save_trace(path)`` wrote (paths or ``Trace.load(path, key=...)``), or, where
            nothing else is left, the released tables: then the certificate says whether the models hold across them.
        time_limit: Seconds after which the best so far is returned, with its distance from the bound.
        progress: Called with a ``SearchInfo`` whenever a better node is found.
        output: For relations and paths: the Parquet file to write.

    Raises:
        AnonymityError: If nothing satisfies the models within the limit.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import Intervals, KAnonymity
        >>> table = pd.DataFrame({"age": [31, 33, 38, 52, 55, 59], "ill": ["a", "b", "a", "b", "a", "b"]})
        >>> result = anonymize(table, {"age": Intervals(0, 100, [10, 20])}, "ill", models=[KAnonymity(3)])
        >>> sorted(result.data["age"].unique()), result.certificate.k
        (['30-39', '50-59'], 3)
    """
    if method not in METHODS:
        raise ParameterError(f"Unknown method '{method}'.{did_you_mean(method, METHODS)}")
    if loss not in LOSSES:
        raise ParameterError(f"Unknown loss '{loss}'.{did_you_mean(loss, LOSSES)}")
    if reference not in REFERENCES:
        raise ParameterError(f"Unknown reference '{reference}'.{did_you_mean(reference, REFERENCES)}")
    suppression = read_suppression(suppression)
    time_limit = read_time_limit(time_limit)
    words: dict[str, Any] = {
        "person": person, "identifiers": identifiers, "insensitive": insensitive, "models": models,
        "suppression": suppression, "schema": schema, "reference": reference,
    }  # fmt: skip
    if is_relation(table):
        from pydplib.anonymity.scale import anonymize_relation

        return anonymize_relation(
            table, quasi_identifiers, sensitive, method=method, loss=loss, labels=labels, time_limit=time_limit,
            progress=progress, previous=previous, output=output, **words,
        )  # fmt: skip
    if output is not None:
        raise ParameterError("output= is for relations and paths; a data frame comes back as result.data.")
    history = None
    tables: list[Any] = []
    if previous:
        from pydplib.anonymity.previous import check_rules, check_tables, read_history, sort_previous

        traces, tables = sort_previous(previous)
        rules = read_rules(sensitive, models)[0]
        check_rules(traces, rules)
        check_tables(tables, rules)
        if traces:
            history = read_history(Frame(table), quasi_identifiers, sensitive, traces, person=person)
    task = prepare(table, quasi_identifiers, sensitive, history=history, **words)
    recoding, info = find_recoding(task.problem, method, loss, labels, time_limit, progress)
    return finish(task, recoding, info, method, loss, tables)


def find_recoding(
    problem: Problem,
    method: str,
    loss: str,
    labels: str,
    time_limit: float | None,
    progress: Callable[[SearchInfo], None] | None,
) -> tuple[Recoding, SearchInfo]:
    """Run one method on a problem."""
    deadline = None if time_limit is None else time.monotonic() + time_limit
    if method == "optimal":
        found = search_lattice(problem, make_objective(loss, problem), deadline=deadline, progress=progress)
        if found.verdict is None:
            raise no_solution(problem, found.info)
        verdict = found.verdict
        suppressed = np.zeros(0, dtype=bool) if verdict.suppressed is None else verdict.suppressed
        if problem.persons is not None and problem.persons.linked:
            rows: Bools = suppressed[verdict.classes.row_class()]  # type: ignore[attr-defined]
            nothing = np.zeros(len(problem.weight), dtype=bool)
            return recode_levels(problem, verdict.classes.node, nothing, rows), found.info
        return recode_levels(problem, verdict.classes.node, verdict.classes.tuple_mask(suppressed)), found.info
    if problem.persons is not None or problem.history is not None or problem.population:
        raise ParameterError(
            f"method='{method}' does not take several rows per person, previous releases or population tables. "
            "Use method='optimal'."
        )
    whole = [str(rule.model) for rule in problem.rules if rule.model.whole_table]
    if whole:
        raise ParameterError(
            f"method='{method}' decides class by class and cannot hold what is about all of them ({', '.join(whole)}). "
            "Use method='optimal'."
        )
    if method in ("local", "cells"):
        from pydplib.anonymity.local import recode_locally

        return recode_locally(problem, cells=method == "cells", deadline=deadline, progress=progress)
    if method == "mondrian":
        from pydplib.anonymity.mondrian import recode_mondrian

        return recode_mondrian(problem, labels=labels)
    from pydplib.anonymity.microaggregation import recode_microaggregation

    return recode_microaggregation(problem)


def no_solution(problem: Problem, info: SearchInfo) -> AnonymityError:
    """Say what was asked and what can be done."""
    share = problem.limit / problem.rows if problem.rows else 0.0
    when = "" if info.optimal else " before the time limit"
    return AnonymityError(
        f"No generalization satisfies {problem.asked} with at most {100 * share:.3g} % of the rows suppressed{when} "
        f"({info.checked} nodes checked). Allow more suppression, use weaker models, or give the hierarchies a "
        "common top level '*'."
    )


def finish(
    task: Task, recoding: Recoding, info: SearchInfo, method: str, loss: str, earlier: Sequence[Any] = ()
) -> AnonymizationResult:
    """Build the shuffled output, measure it again and collect the result."""
    from pydplib.noise import permutation

    problem = task.problem
    assert problem.of_row is not None
    gone = recoding.suppressed_rows if recoding.suppressed_rows is not None else recoding.suppressed[problem.of_row]
    kept = np.flatnonzero(~gone)
    order = kept[permutation(len(kept))] if len(kept) else kept
    data = build_output(task, recoding, order)
    released = SeenFrame(data)
    owner = None if task.person_of_row is None else dense(task.person_of_row[order])
    certificate, view = certify(
        released, task.quasi, task.rules, task.reference, person=owner, linked=task.linked,
        population=population_labels(problem, recoding),
    )  # fmt: skip
    if problem.history is not None or earlier:
        from pydplib.anonymity.together import certify_together

        certificate = certify_together(certificate, task, released, order, earlier)
    before = sizes_before(problem)
    trees = released_hierarchies(task.hierarchies, problem, recoding)
    recipe = Recipe(
        method, trees, recoding.levels, task.rules, task.sensitive, tuple(task.identifiers),
        task.insensitive, task.suppression, loss, recoding.stages, recoding.tree, task.person,
    )  # fmt: skip
    past = problem.history
    notes = list(task.notes)
    if any(isinstance(rule.model, KAnonymity) and rule.model.k == 1 for rule in task.rules):
        notes.append("1-anonymity protects nobody: every table has it. Use k=2 or more; 5 to 11 are usual.")
    if past is not None:
        notes.append(
            "Earlier releases were taken into account: the models also hold for everybody who looks alike in all of "
            "them, and for those who appear or vanish together."
        )
    if not certificate.holds:
        together = any(not s.holds and s.model.endswith(TOGETHER) for s in certificate.statements)
        notes.append(_NOT_TOGETHER if together else _NOT_ALONE)
    return AnonymizationResult(
        data=data,
        levels=recoding.levels,
        suppressed=Suppression(int(gone.sum()), float(gone.mean()) if len(gone) else 0.0, task.suppression),
        loss=measure_loss(problem, recoding),
        risk=RiskChange(risk_of_sizes(before), risk_of_sizes(view.size)),
        certificate=certificate,
        recipe=recipe,
        search=info,
        method=method,
        quasi_identifiers=task.quasi,
        sensitive=task.sensitive,
        dropped=tuple(name for name in task.frame.columns if name not in released.columns),
        notes=tuple(notes),
        trace=LazyTrace(
            task, recoding, gone, None if past is None else past.key, holds_key=past is None or past.holds_key
        ),
    )


def sizes_before(problem: Problem) -> Ints:
    """Return how many people have every combination of quasi-identifiers as it is."""
    if problem.persons is None:
        return problem.weight
    return np.bincount(problem.persons.owner, minlength=len(problem.weight)).astype(np.int64)


def build_output(task: Task, recoding: Recoding, order: Ints) -> Any:
    """Return the released columns in the order of the input's columns, rows in the shuffled order."""
    frame, problem = task.frame, task.problem
    assert problem.of_row is not None
    tuples = problem.of_row[order]
    recoded = {column.name: column for column in recoding.columns}
    out: list[tuple[str, Any]] = []
    for name in frame.columns:
        if name in recoded:
            column = recoded[name]
            if column.kept:
                out.append((name, frame.take(name, order, task.coded[name])))
            else:
                out.append((name, frame.column_of(name, column.labels, column.ids[tuples])))
        elif name in task.sensitive or name in task.insensitive:
            out.append((name, frame.take(name, order, task.coded.get(name))))
        elif task.identifiers.get(name) is not None:
            out.append((name, _pseudonyms(task, name, order)))
    return frame.build(out)


def _pseudonyms(task: Task, name: str, order: Ints) -> Any:
    pseudonym = task.identifiers[name]
    assert pseudonym is not None
    if not pseudonym.consistent:
        return task.frame.column_of(name, pseudonym.fresh(len(order)), np.arange(len(order)))
    column = task.frame.coded(name)
    return task.frame.column_of(name, pseudonym.names(name, column.values), column.codes[order])


def population_labels(problem: Problem, recoding: Recoding) -> dict[int, Counter[tuple[Any, ...]]]:
    """Return, per model with a population, how many of its people have each combination of labels."""
    out: dict[int, Counter[tuple[Any, ...]]] = {}
    if recoding.levels is None:
        return out
    for key, (codes, weight) in problem.population.items():
        people: Counter[tuple[Any, ...]] = Counter()
        texts = []
        for column, code in zip(problem.columns, codes, strict=True):
            level = recoding.levels[column.name]
            names = [as_text(label) for label in column.labels[level]]
            texts.append([names[i] for i in column.levels[level][code].tolist()])
        for row, number in zip(zip(*texts, strict=True), weight.tolist(), strict=True):
            people[row] += number
        out[key] = people
    return out
