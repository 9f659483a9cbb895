"""``anonymize``: choose the transformation, apply it, prove it on the output; in memory, or for files in DuckDB."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pydplib._duckdb_files import connect, exact_name, parquet_source
from pydplib.anonymity.assessment.risks import risk_of_sizes
from pydplib.anonymity.assessment.verification import names_of
from pydplib.anonymity.certificate import TOGETHER, certify
from pydplib.anonymity.history import certify_together, check_rules, check_tables, read_history, sort_previous
from pydplib.anonymity.models import KAnonymity, Model
from pydplib.anonymity.preparation import (
    Task,
    add_populations,
    check_roles,
    data_notes,
    prepare,
    read_hierarchy,
    read_identifiers,
    read_rules,
    read_suppression,
    read_time_limit,
    row_limit,
)
from pydplib.anonymity.recipe import Recipe, released_hierarchies
from pydplib.anonymity.result import AnonymizationResult, RiskChange, Suppression
from pydplib.anonymity.search.groups import combine, group
from pydplib.anonymity.search.lattice import SearchInfo, search_lattice
from pydplib.anonymity.search.local import recode_locally
from pydplib.anonymity.search.losses import LOSSES, make_objective
from pydplib.anonymity.search.microaggregation import recode_microaggregation
from pydplib.anonymity.search.mondrian import recode_mondrian
from pydplib.anonymity.search.problem import Pairs, SearchProblem, describe_sensitive
from pydplib.anonymity.search.recodings import Recoding, measure_loss, recode_levels
from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.anonymity.tables.frames import ColumnCodes, Frame, SeenFrame
from pydplib.anonymity.tables.relations import (
    ColumnRoles,
    Counts,
    Numbering,
    People,
    certify_file,
    is_relation,
    one_spelling,
    own_connection,
    places,
    renumber,
    text,
    write_release,
)
from pydplib.anonymity.tables.values import as_text
from pydplib.anonymity.tables.view import dense
from pydplib.anonymity.traces import LazyTrace
from pydplib.errors import AnonymityError, DataError, ParameterError, did_you_mean
from pydplib.noise import permutation
from pydplib.schema import Schema
from pydplib.tables import open_relation

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
        return anonymize_relation(
            table, quasi_identifiers, sensitive, method=method, loss=loss, labels=labels, time_limit=time_limit,
            progress=progress, previous=previous, output=output, **words,
        )  # fmt: skip
    if output is not None:
        raise ParameterError("output= is for relations and paths; a data frame comes back as result.data.")
    history = None
    tables: list[Any] = []
    if previous:
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
    problem: SearchProblem,
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
        return recode_locally(problem, cells=method == "cells", deadline=deadline, progress=progress)
    if method == "mondrian":
        return recode_mondrian(problem, labels=labels)
    return recode_microaggregation(problem)


def no_solution(problem: SearchProblem, info: SearchInfo) -> AnonymityError:
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
        certificate = certify_together(certificate, task, released, order, earlier)
    before = sizes_before(problem)
    trees = released_hierarchies(task.hierarchies, problem, recoding)
    recipe = Recipe(
        method=method, hierarchies=trees, levels=recoding.levels, models=task.rules, sensitive=task.sensitive,
        identifiers=tuple(task.identifiers),
        insensitive=task.insensitive, suppression=task.suppression, loss=loss, stages=recoding.stages,
        tree=recoding.tree, person=task.person,
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


def sizes_before(problem: SearchProblem) -> Ints:
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


def population_labels(problem: SearchProblem, recoding: Recoding) -> dict[int, Counter[tuple[Any, ...]]]:
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


def anonymize_relation(
    table: Any,
    quasi_identifiers: Any,
    sensitive: Any,
    *,
    models: Sequence[Model],
    person: str | None,
    identifiers: Any,
    insensitive: Sequence[str],
    suppression: float,
    schema: Schema | None,
    reference: str,
    method: str,
    loss: str,
    labels: str,
    time_limit: float | None,
    progress: Callable[[SearchInfo], None] | None,
    previous: Sequence[Any],
    output: str | Path | None,
) -> AnonymizationResult:
    """Anonymize a path or relation; rows never leave the engine, but for their distinct combinations."""
    import duckdb

    target = None if output is None else read_output(output)
    # Next to the output, whose disk has to be large enough anyway: whole files are then moved, not copied.
    with tempfile.TemporaryDirectory(prefix=".pydplib-", dir=None if target is None else target.parent) as made:
        folder = Path(made)
        relation = _open(table, folder) if isinstance(table, str | Path) else table
        quasi = names_of(quasi_identifiers, "quasi-identifiers")
        rules, watched = read_rules(sensitive, models)
        roles = ColumnRoles(
            quasi=quasi,
            watched=watched,
            kept=names_of(insensitive, "insensitive columns"),
            hidden=read_identifiers(identifiers),
            person=person,
        )
        _check(relation, roles, previous)
        try:
            relation = one_spelling(relation, (*quasi, *watched, *(() if person is None else (person,))))
            counts = Counts(relation, quasi).merged()
        except duckdb.Error:
            raise DataError("DuckDB could not count the combinations of the quasi-identifiers.") from None
        given = quasi_identifiers if isinstance(quasi_identifiers, Mapping) else {}
        hierarchies = {c.name: read_hierarchy(c.name, given.get(c.name), c.values, schema) for c in counts.columns}
        resolved = [hierarchies[c.name].resolve(c.name, c.values) for c in counts.columns]
        rows = int(counts.weight.sum())
        own = own_connection(relation, folder)
        try:
            numbering = Numbering(own, relation, counts, folder)
            people = None if person is None else People.find(relation, numbering, counts, person)
            problem = SearchProblem(
                resolved, [c.codes for c in counts.columns], counts.weight, rules, limit=row_limit(suppression, rows),
                persons=None if people is None else people.persons, reference=reference,
            )  # fmt: skip
            shares = _add_sensitive(problem, relation, counts, roles, people)
            add_populations(problem, quasi, hierarchies, person)
            recoding, info = find_recoding(problem, method, loss, labels, time_limit, progress)
            full, number = write_release(own, relation, numbering, recoding, roles, folder, people)
            certificate, view = certify_file(
                _read(own, full), quasi, rules, shares, population_labels(problem, recoding), person=number
            )
            gone = int(problem.weight[recoding.suppressed].sum())
            if view.rows + gone != rows:
                raise DataError(
                    "The output and the suppressed rows do not add up to the table: the engine changed or repeated "
                    "rows while they were written. Nothing was released. Load the table into memory, e.g. "
                    "duckdb.read_parquet(path).pl()."
                )
            data = _hand_over(own, full, number, target)
        except duckdb.Error:
            # The engine's own text may quote values.
            raise DataError("DuckDB could not write the anonymized table. Is there room on the disk?") from None
        finally:
            own.close()
    trees = released_hierarchies(hierarchies, problem, recoding)
    return AnonymizationResult(
        data=data,
        levels=recoding.levels,
        suppressed=Suppression(gone, gone / rows if rows else 0.0, suppression),
        loss=measure_loss(problem, recoding),
        risk=RiskChange(risk_of_sizes(sizes_before(problem)), risk_of_sizes(view.size)),
        certificate=certificate,
        recipe=Recipe(
            method=method, hierarchies=trees, levels=recoding.levels, models=rules, sensitive=watched,
            identifiers=tuple(roles.hidden), insensitive=roles.kept, suppression=suppression, loss=loss,
            stages=recoding.stages, tree=recoding.tree, person=person,
        ),
        search=info,
        method=method,
        quasi_identifiers=quasi,
        sensitive=watched,
        dropped=tuple(name for name in relation.columns if name not in data.columns),
        notes=tuple(data_notes(hierarchies, resolved)),
    )  # fmt: skip


def read_output(output: str | Path) -> Path:
    """Return where the output goes; a file that is there already is never replaced."""
    target = Path(output)
    if target.exists():
        raise ParameterError(f"'{target}' exists already. Remove it, or choose another output.")
    if not target.parent.is_dir():
        raise ParameterError(f"The folder of the output does not exist: {target.parent}. Make it first.")
    return target.resolve()


def _open(path: str | Path, folder: Path) -> Any:
    """Open a file in an engine that lays its intermediate results aside in a private folder."""
    connection = connect()
    connection.execute(f"SET temp_directory={text(str(folder / 'spill-of-table'))}")
    return open_relation(path, connection)


def _read(own: Any, file: Path) -> Any:
    return own.sql(f"FROM {parquet_source(exact_name(file))}")


def _hand_over(own: Any, full: Path, number: str | None, target: Path | None) -> Any:
    """Move what was certified to its place, without the persons' numbers; return it as a relation of its own."""
    released = full
    if number is not None:
        released = full.with_name("released.parquet")
        _read(own, full).project(f"* EXCLUDE ({number})").write_parquet(str(released), compression="zstd")
    fresh = connect()  # without our tables, and without a folder that is about to vanish
    if target is None:
        fresh.execute(f"CREATE TABLE release AS FROM {parquet_source(exact_name(released))}")
        return fresh.table("release")
    try:
        os.link(released, target)  # fails if somebody has put a file there meanwhile
    except FileExistsError:
        raise ParameterError(f"'{target}' exists already. Remove it, or choose another output.") from None
    except OSError:
        os.replace(released, target)  # a file system without links
    return _read(fresh, target)


def _check(relation: Any, roles: ColumnRoles, previous: Sequence[Any]) -> None:
    if not roles.quasi:
        raise ParameterError("Name at least one quasi-identifier: anonymize(..., quasi_identifiers=['age', ...]).")
    named = {
        "quasi-identifier": roles.quasi,
        "sensitive": roles.watched,
        "identifier": tuple(roles.hidden),
        "insensitive": roles.kept,
    }
    check_roles(relation.columns, named, roles.person)
    linked = any(pseudonym is not None and pseudonym.consistent for pseudonym in roles.hidden.values())
    if linked or previous:
        raise ParameterError(
            "Tables that stay in DuckDB take neither consistent pseudonyms nor previous=. Load the table into memory "
            "for these, e.g. duckdb.read_parquet(path).pl()."
        )


def _add_sensitive(
    problem: SearchProblem, relation: Any, counts: Counts, roles: ColumnRoles, people: People | None
) -> dict[str, dict[Any, float]]:
    """Fetch the sensitive values of every combination and tie them to the combinations' numbers."""
    reference: dict[str, dict[Any, float]] = {}
    for name in roles.watched:
        if people is None:
            column, problem.pairs[name], number = _counted_values(relation, counts, roles.quasi, name)
        else:
            column, problem.pairs[name], number = people.values(relation, name)
        own = [rule.model for rule in problem.rules if rule.sensitive == name]
        problem.sensitive[name] = describe_sensitive(name, column.values, number, own)
        reference[name] = dict(zip(column.values, problem.sensitive[name].share.tolist(), strict=True))
    return reference


def _counted_values(relation: Any, counts: Counts, quasi: Sequence[str], name: str) -> tuple[ColumnCodes, Pairs, Ints]:
    cards = [max(len(c.values), 1) for c in counts.columns]
    more = Counts(relation, [*quasi, name]).merged()
    codes = [renumber(c, places(mine)) for c, mine in zip(more.columns[:-1], counts.columns, strict=True)]
    joined = [np.concatenate((a.codes, b)) for a, b in zip(counts.columns, codes, strict=True)]
    into = group(combine(joined, cards, len(counts.weight) + len(more.weight))[0]).into
    number = np.zeros(int(into.max(initial=-1)) + 1, dtype=np.int64)
    number[into[: len(counts.weight)]] = np.arange(len(counts.weight))
    column = more.columns[-1]
    people = np.bincount(column.codes, weights=more.weight, minlength=len(column.values)).astype(np.int64)
    return column, Pairs(number[into[len(counts.weight) :]], column.codes, more.weight), people
