"""Pinned states of the data for partners' analyses: a Parquet file per table, pseudonyms, no free text.

A snapshot has a row per report and, where the template has repeating groups (lesions), a table of its own for each of
them, made and published with it: the same number, the same people, the same budget. So have the owner's further tables
about the same patients, and reports and such a table as one. Computed columns are pinned with the schemas.
"""

# Columns and paths enter SQL through sql_name() and sql_text() only.
# ruff: noqa: S608
from __future__ import annotations

import csv
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from pydplib._duckdb_files import Confinement, exact_name, parquet_source, sql_name, sql_text
from pydplib.capture import Template, to_schema
from pydplib.engine.check import TableCheck
from pydplib.engine.joins import Joined
from pydplib.engine.sql.dialects import Dialect
from pydplib.engine.stores.duckdb_engine import from_file, open_connection
from pydplib.engine.table import Table
from pydplib.errors import DataError, ParameterError
from pydplib.schema import Column, Schema, Text
from pydplib.web import leftovers, room
from pydplib.web.auditlog.log import Log, recorded
from pydplib.web.intake.models import Snapshot
from pydplib.web.patients.models import Patient
from pydplib.web.people.models import new_key
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report
from pydplib.web.tables import declared
from pydplib.web.tables.models import PersonRow, PersonTable

_DUCKDB = Dialect()
_NOTHING = "\\N"  # a missing cell in the passing CSV; no answer is written so
_MOST_JOINED = 20_000_000  # rows of two tables as one
_FRESH = 600  # seconds after which a file that no snapshot names was left by a crash


Writer: TypeAlias = Callable[[str], tuple[int, str]]
"""Writes the file of a table under a key; returns how many rows it has, and its digest."""


def folder() -> Path:
    """Return the private folder of snapshots."""
    return settings.CONFIGURATION.folder("snapshots")


def snapshot_schema(template: Template, *, lineage: str, group: str = "") -> Schema:
    """Return the public schema of a snapshot: bounds and categories of the template, no identifier, no free text.

    Args:
        template: The project's current template.
        lineage: The project's key: budgets are counted per project, whatever template it uses.
        group: The repeating group whose repetitions are the rows. A person then counts with as many as the template
            allows in all of the person's reports.

    Examples:
        >>> from pydplib.capture import builtin
        >>> schema = snapshot_schema(builtin("pirads-paper"), lineage="pirads-1")
        >>> schema.person, "physician_name" in schema.columns, schema.max_rows_per_person
        ('patient_id', False, 3)
    """
    declared = to_schema(template, group=group or None, skip_unbounded=True)
    asked = {
        name: column
        for name, column in declared.columns.items()
        if name != template.person and column.can_be_asked and column.label != "identifier"
    }
    person = template.person or "person"
    while person in asked:  # a question may be called so: its answers must not stand in for people
        person += "_"
    columns: dict[str, Column] = {person: Text(label="identifier", title="Person"), **asked}
    return Schema(
        columns,
        person=person,
        max_rows_per_person=declared.max_rows_per_person if group else template.max_reports_per_person,
        name=f"{template.id}/{group}" if group else template.id,
        lineage=lineage,
    )


def groups_of(template: Template) -> tuple[str, ...]:
    """Return the repeating groups that get a table of their own: they need a person whose report it is.

    Examples:
        >>> from pydplib.capture import builtin
        >>> groups_of(builtin("pirads-2.1")), groups_of(builtin("pirads-paper"))
        (('lesion',), ())
    """
    if not template.person:
        return ()
    return tuple(group.id for _, group in template.plan.index.groups() if group.repeats)


def table_of_group(snapshot: Snapshot, group: str) -> Snapshot:
    """Return the table of a repeating group that was made with a snapshot of reports.

    Raises:
        DataError: The snapshot is older than the group, or older than tables of groups.
    """
    made = Snapshot.objects.filter(project=snapshot.project, number=snapshot.number, group=group)
    found = made.exclude(file="").first()
    if found is None:
        raise DataError("This snapshot has no such table: make a new one.")
    return found


def make_snapshot(project: Project, *, actor: object) -> Snapshot:
    """Pin the current data version: signed reports of everybody who has not withdrawn consent; returns their table.

    The file is written first and named in the database last; a crash leaves a file that nobody knows, which goes.
    """
    with recorded(actor, project=project) as log:
        # Whoever changes the data raises the version in this row: they wait, so version and rows belong together.
        locked = Project.objects.select_for_update().get(pk=project.pk)
        current = project.template_version
        if current is None:
            raise DataError("The project has no template yet: choose one, then make a snapshot.")
        number = _next_number(project)
        made: list[Snapshot] = []
        for group, schema, write in _tables(locked, current.template, log):
            key = new_key()
            rows, digest = write(key)
            snapshot = Snapshot.objects.create(
                key=key,
                project=project,
                number=number,
                group=group,
                data_version=locked.data_version,
                template=current,
                schema=schema.to_json(),
                file=f"{key}.parquet",
                sha256=digest,
            )
            more = {"table": group} if group else {}
            log.add("snapshot.make", key, number=number, data_version=snapshot.data_version, rows=rows, **more)
            made.append(snapshot)
    return made[0]


def _tables(project: Project, template: Template, log: Log) -> Iterator[tuple[str, Schema, Writer]]:
    """Yield the tables of a new snapshot: name, public schema, and what writes its file under a key."""
    computed = declared.computed_columns(project)
    # The policy opens fields by name, and the template may be newer: a formula never takes a question's name.
    asked = {question.id for _, question in template.index.questions()}
    pinned: dict[str, tuple[Schema, str]] = {}

    def whole(name: str, schema: Schema) -> Schema:
        own = [each for each in computed if each.table == name]
        made, unfit = declared.with_computed(schema, [each for each in own if each.name not in asked])
        taken = [each.name for each in own if each.name in asked]
        for column in (*unfit, *taken):  # the template has changed since: the rest of the table is still good
            log.add("columns.leave_out", project.key, table=name, column=column)
        return made

    for group in ("", *groups_of(template)):
        schema = whole(group, snapshot_schema(template, lineage=project.key, group=group))
        path = _path_to(template, group)
        yield group, schema, _remembering(pinned, group, schema, partial(_rows, project, schema, path))
    if not template.person:
        return
    titles: dict[str, str] = {}
    for table in PersonTable.objects.filter(project=project):
        declared.check_table_names(list(table.schema.stored), template, [])  # the template may be newer
        schema = whole(table.name, declared.table_schema(table, template))
        titles[table.name] = table.title
        yield table.name, schema, _remembering(pinned, table.name, schema, partial(_table_rows, table, schema))
    for join in declared.joins_of(project):
        if join.table in titles:
            (left, one), (right, other) = pinned[""], pinned[join.table]
            joined = declared.joined_schema(left, right, join, f"Reports with {titles[join.table]}")
            schema = whole(join.name, joined.schema)
            yield join.name, schema, partial(_write_joined, joined=joined, one=one, other=other)


def _remembering(
    pinned: dict[str, tuple[Schema, str]], name: str, schema: Schema, rows: Callable[[], Iterator[list[object]]]
) -> Writer:
    """Return what writes a table's rows and keeps the key of its file, for tables that are joined later."""

    def write(key: str) -> tuple[int, str]:
        pinned[name] = schema, key
        return _write(key, schema, rows())

    return write


def publish(
    snapshot: Snapshot,
    *,
    actor: object,
    size: int | None = None,
    size_epsilon: float | None = None,
    limit_epsilon: float | None = None,
) -> None:
    """Let partners' analyses run on a snapshot from now on.

    Args:
        snapshot: The snapshot.
        actor: Who publishes it.
        size: The number of people, if the owner declares it public: prices are exact then. Nobody checks it against
            the data when a price is made.
        size_epsilon: What a noisy number of records costs every recipient once, if the owner sets it.
        limit_epsilon: What the noisy histogram of rows per person costs every recipient once, if the owner sets it:
            answers then say how many rows are beyond the limit.

    Raises:
        ParameterError: A newer one is published already.
    """
    if not snapshot.file:
        raise DataError("This snapshot is gone: make a new one.")
    if snapshot.group:
        raise ParameterError("A table of a repeating group is published with the reports of its snapshot.")
    if size is not None and size_epsilon is not None:
        raise ParameterError("Declare the number of people, or let a noisy one be bought: not both.")
    if snapshot.published is not None:
        return
    with recorded(actor, project=snapshot.project) as log:
        project = Project.objects.select_for_update().get(pk=snapshot.project_id)  # no newer one is published meanwhile
        check_newest(snapshot)
        if project.policy.delta_for(size) < project.delta:  # for good: more later would be a larger budget
            project.delta = project.policy.delta_for(size)
            project.save(update_fields=["delta"])
        snapshot.published = timezone.now()
        snapshot.schema = replace(Schema.from_json(snapshot.schema), size=size).to_json()
        snapshot.size_nano_epsilon = None if size_epsilon is None else round(size_epsilon * 10**9)
        snapshot.limit_nano_epsilon = None if limit_epsilon is None else round(limit_epsilon * 10**9)
        snapshot.save(update_fields=["published", "schema", "size_nano_epsilon", "limit_nano_epsilon"])
        # How many people have lesions is not what the owner declared: their tables have no public size.
        Snapshot.objects.filter(project=snapshot.project, number=snapshot.number).exclude(group="").exclude(
            file=""
        ).update(published=snapshot.published, size_nano_epsilon=snapshot.size_nano_epsilon)
        more: dict[str, Any] = {
            "declared_size": size,
            "size_epsilon": size_epsilon,
            "limit_epsilon": limit_epsilon,
        }
        log.add(
            "snapshot.publish",
            snapshot.key,
            number=snapshot.number,
            data_version=snapshot.data_version,
            **{name: value for name, value in more.items() if value is not None},
        )


def check_newest(snapshot: Snapshot) -> None:
    """Raise ``ParameterError`` if a newer snapshot is published: two states in turn would show what changed."""
    newest = published_snapshot(snapshot.project)
    if newest is not None and newest.number > snapshot.number:
        raise ParameterError(
            f"Snapshot {newest.number} is newer and published already: partners' analyses run on the newest, and "
            "never go back to an older state of the data. Make a new snapshot and publish that."
        )


class SaidNumbers(TypedDict):
    """What an owner said about noisy numbers, as ``publish`` takes it."""

    size: int | None
    size_epsilon: float | None
    limit_epsilon: float | None


NOTHING_SAID: SaidNumbers = {"size": None, "size_epsilon": None, "limit_epsilon": None}

USUAL_SIZE = 0.05
"""What the noisy number of records costs unless the owner says otherwise, and what that of rows per person does.

With a thousand records of people with three each at most, the number is right within a fifth: enough to tell before
paying whether an answer will be useful. Both together are a twentieth of a third party's budget.
"""


def said_before(project: Project) -> SaidNumbers:
    """Return what the owner said about noisy numbers when the current snapshot was published: it goes on.

    Before the first one it is what most owners want: both noisy numbers are bought, so that every price shows its
    accuracy. The page of publishing asks before it happens.
    """
    before = published_snapshot(project)
    if before is None:
        return {"size": None, "size_epsilon": USUAL_SIZE, "limit_epsilon": USUAL_SIZE}
    return {
        "size": before.declared_size,
        "size_epsilon": before.size_epsilon,
        "limit_epsilon": before.limit_epsilon,
    }


def check_limits(snapshot: Snapshot, *, actor: object) -> TableCheck:
    """Return what limit and bounds leave out of a snapshot, exactly: for its owner's screen.

    That somebody looked is logged; what was seen is stored nowhere.
    """
    with load_snapshot(snapshot) as table:
        found = table.check()
    with recorded(actor, project=snapshot.project) as log:
        log.add("snapshot.look", snapshot.key, number=snapshot.number)
    return found


def people_in(snapshot: Snapshot) -> int:
    """Return how many people a snapshot holds; for its owner's eyes."""
    schema = Schema.from_json(snapshot.schema)
    source = parquet_source(exact_name(folder() / snapshot.file))
    return int(_query(f"SELECT count(DISTINCT {sql_name(str(schema.person))}) FROM {source}")[0][0])


def snapshots_of(project: Project) -> list[Snapshot]:
    """Return the snapshots of a project, the newest first; tables of repeating groups belong to these."""
    return list(Snapshot.objects.filter(project=project, group="").select_related("template"))


def published_snapshot(project: Project, group: str = "") -> Snapshot | None:
    """Return the snapshot that partners' analyses run on; with a repeating group, its table of that group."""
    published = Snapshot.objects.filter(project=project, published__isnull=False).exclude(file="")
    main = published.filter(group="").order_by("-number").first()
    if main is None or not group:
        return main
    return published.filter(group=group, number=main.number).first()


def published_tables(project: Project) -> list[Snapshot]:
    """Return what can be asked now: the reports, then a table for each repeating group."""
    main = published_snapshot(project)
    if main is None:
        return []
    more = Snapshot.objects.filter(project=project, number=main.number, published__isnull=False).exclude(file="")
    return [main, *more.exclude(group="").select_related("template").order_by("id")]


def snapshots_with(project: Project, pseudonym: str) -> list[Snapshot]:
    """Return the snapshots that hold a person."""
    return [each for each in Snapshot.objects.filter(project=project).exclude(file="") if _holds(each, [pseudonym])]


def load_snapshot(snapshot: Snapshot) -> Table:
    """Return a snapshot as a table of pydplib, with the schema that was stored next to it.

    Raises:
        DataError: The file is gone, or is not the one that was written.
    """
    path = folder() / snapshot.file
    if not snapshot.file or not path.is_file():
        raise DataError("The snapshot's file is gone. Make and publish a new snapshot.")
    if _digest(path) != snapshot.sha256:
        raise DataError("The snapshot's file was changed since it was made. Make and publish a new snapshot.")
    schema = snapshot.declared
    return Table(schema, from_file(str(path), schema, **_confined()))


@contextmanager
def without_people(project: Project, pseudonyms: Collection[str] | None) -> Iterator[list[str]]:
    """Take people out of all snapshots, around the transaction that takes them out of the data.

    Yields the names of the files that hold one of them, and deletes these files once the transaction inside has been
    kept: ``with without_people(...) as files, recorded(...) as log:`` and there ``forget(...)``, which changes the
    entries. A crash in between leaves files that no snapshot names: ``remove_stray_files`` deletes them. Copies that a
    killed backup left behind go too.

    Args:
        project: The project.
        pseudonyms: Whom to take out; None for everybody.
    """
    names: list[str] = []
    if pseudonyms is None or pseudonyms:
        held = Snapshot.objects.filter(project=project).exclude(file="")
        names = [each.file for each in held if _holds(each, pseudonyms)]
    yield names
    for name in names:
        (folder() / name).unlink(missing_ok=True)
    leftovers.remove(settings.CONFIGURATION.home)
    transaction.on_commit(leftovers.forget_pages, robust=True)


def forget(project: Project, names: list[str], pseudonyms: Collection[str] | None, log: Log) -> None:
    """Inside the transaction: drop the entries of these files, and put a published one without the people in place.

    Call it after the change of the data: from here on no snapshot is made, and one that was made since the files
    were looked at is added to ``names``.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    since = Snapshot.objects.filter(project=project).exclude(file="").exclude(file__in=names)
    names += [each.file for each in since if _holds(each, pseudonyms)]
    tables = published_tables(project)
    if any(each.file in names for each in tables):
        # All tables of a snapshot go on together: an older table of lesions next to newer reports would tell who left.
        names += [each.file for each in tables if each.file not in names]
    held = Snapshot.objects.filter(project=project, file__in=names)
    replacements: list[Snapshot] = []
    for current in tables if pseudonyms is not None else ():
        if current.file not in names:
            continue
        key, schema = new_key(), Schema.from_json(current.schema)
        digest = _rewrite(current, key, schema, pseudonyms or ())
        replacements.append(
            Snapshot(
                key=key,
                project=project,
                number=_next_number(project),
                group=current.group,
                data_version=current.data_version,
                template=current.template,
                schema=current.schema,
                file=f"{key}.parquet",
                sha256=digest,
                published=timezone.now(),
                size_nano_epsilon=current.size_nano_epsilon,
                limit_nano_epsilon=current.limit_nano_epsilon,
            )
        )
    for snapshot in held:
        log.add("snapshot.remove", snapshot.key, number=snapshot.number)
    held.update(file="", sha256="")
    for replacement in replacements:
        replacement.save()
        more = {"table": replacement.group} if replacement.group else {}
        log.add("snapshot.replace", replacement.key, number=replacement.number, instead_of=tables[0].number, **more)


def remove_stray_files() -> int:
    """Delete files that no snapshot names; what a crash left, an erasure's old files first of all."""
    known = set(Snapshot.objects.exclude(file="").values_list("file", flat=True))
    gone = 0
    for path in folder().iterdir():
        if path.name not in known and path.is_file() and time.time() - path.stat().st_mtime > _FRESH:
            path.unlink(missing_ok=True)
            gone += 1
    return gone


def _path_to(template: Template, group: str) -> tuple[str, ...]:
    """Return the repeating groups from the report down to one, itself last."""
    return template.plan.index.by_id[group].inner_loops if group else ()


def _repetitions(values: Mapping[str, Any], answers: Mapping[str, Any], path: Sequence[str]) -> list[dict[str, Any]]:
    """Return a report's row, once for each repetition at the end of a path, with the answers on the way."""
    found = [(dict(values), answers)]
    for group in path:
        found = [
            ({**row, **repetition}, repetition)
            for row, inside in found
            for repetition in inside.get(group) or ()
            if isinstance(repetition, dict)
        ]
    return [row for row, _ in found]


def _rows(project: Project, schema: Schema, path: Sequence[str] = ()) -> Iterator[list[object]]:
    found = (
        Report.objects.filter(project=project, state=Report.State.SIGNED)
        .exclude(patient__consent=Patient.Consent.WITHDRAWN)
        .order_by("patient__pseudonym", "id")
        .values_list("patient__pseudonym", "values", *(["answers"] if path else []))
    )
    names = [name for name in schema.stored if name != schema.person]
    for pseudonym, values, *answers in found.iterator(chunk_size=2000):
        for row in _repetitions(values, answers[0] if answers else {}, path):
            yield [pseudonym, *(row.get(name) for name in names)]


def _table_rows(table: PersonTable, schema: Schema) -> Iterator[list[object]]:
    """Yield the rows of a further table: everybody's who has not withdrawn consent."""
    found = (
        PersonRow.objects.filter(table=table)
        .exclude(patient__consent=Patient.Consent.WITHDRAWN)
        .order_by("patient__pseudonym", "id")
        .values_list("patient__pseudonym", "values")
    )
    names = [name for name in schema.stored if name != schema.person]
    for pseudonym, values in found.iterator(chunk_size=2000):
        yield [pseudonym, *(values.get(name) for name in names)]


def _write_joined(key: str, joined: Joined, one: str, other: str) -> tuple[int, str]:
    """Write two tables of one snapshot as one: every row with every row about the same person."""
    person = sql_name(str(joined.schema.person))
    first, second = (parquet_source(exact_name(folder() / f"{each}.parquet")) for each in (one, other))
    how = "JOIN" if joined.keep == "both" else "LEFT JOIN"
    counted = (
        f"SELECT coalesce(sum(a.n * coalesce(b.n, 1)), 0) FROM (SELECT {person} AS p, count(*) AS n FROM {first} "
        f"GROUP BY 1) a {how} (SELECT {person} AS p, count(*) AS n FROM {second} GROUP BY 1) b ON a.p = b.p"
    )
    rows = int(_query(counted)[0][0])
    if rows > _MOST_JOINED:
        raise DataError(
            f"Reports and this table together have more than {_MOST_JOINED:,} rows: somebody has very many in both. "
            "Ask the tables one by one, or take the join out of the computed columns."
        )
    own = [name for name in joined.schema.stored if name not in joined.renamed.values()]
    chosen = ", ".join(
        [
            *(f"one.{sql_name(name)}" for name in own),
            *(f"two.{sql_name(name)} AS {sql_name(new)}" for name, new in joined.renamed.items()),
        ]
    )
    on = f"one.{person} = two.{person}"
    return rows, _copy(f"SELECT {chosen} FROM {first} one {how} {second} two ON {on}", key)


def _write(key: str, schema: Schema, rows: Iterator[list[object]]) -> tuple[int, str]:
    passing, count = folder() / f"{key}.csv", 0
    names = [str(schema.person), *(name for name in schema.stored if name != schema.person)]
    try:
        with os.fdopen(os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", newline="") as out:
            writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
            for row in rows:
                writer.writerow([_NOTHING if cell is None else _cell(cell) for cell in row])
                count += 1
        texts = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
        types = [_DUCKDB.type_name(schema.columns[name].storage) for name in names]
        chosen = ", ".join(
            f"TRY_CAST(c{i} AS {stored}) AS {sql_name(name)}"
            for i, (name, stored) in enumerate(zip(names, types, strict=True))
        )
        source = (
            f"read_csv({sql_text(exact_name(passing))}, header=false, auto_detect=false, columns={{{texts}}}, "
            "delim=',', "
            f"quote='\"', escape='\"', nullstr={sql_text(_NOTHING)}, allow_quoted_nulls=true, max_line_size=20000000)"
        )
        return count, _copy(f"SELECT {chosen} FROM {source}", key)
    finally:
        passing.unlink(missing_ok=True)


def _rewrite(snapshot: Snapshot, key: str, schema: Schema, pseudonyms: Collection[str]) -> str:
    source = parquet_source(exact_name(folder() / snapshot.file))
    listed = ", ".join(sql_text(name) for name in pseudonyms)
    return _copy(f"SELECT * FROM {source} WHERE {sql_name(str(schema.person))} NOT IN ({listed})", key)


def _copy(query: str, key: str) -> str:
    """Write a query's rows to a new file that appears whole, readable by its owner alone; returns its digest."""
    draft, path = folder() / f"{key}.part", folder() / f"{key}.parquet"
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    _query(f"COPY ({query}) TO {sql_text(str(draft))} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)")
    os.chmod(draft, 0o600)
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    draft.replace(path)
    return _digest(path)


def _holds(snapshot: Snapshot, pseudonyms: Collection[str] | None) -> bool:
    path = folder() / snapshot.file
    if pseudonyms is None or not path.is_file() or _digest(path) != snapshot.sha256:
        return True  # a file that cannot be trusted goes as well
    if not pseudonyms:
        return False
    person = str(Schema.from_json(snapshot.schema).person)
    listed = ", ".join(sql_text(name) for name in pseudonyms)
    source = parquet_source(exact_name(path))
    return bool(_query(f"SELECT 1 FROM {source} WHERE {sql_name(person)} IN ({listed}) LIMIT 1"))


def confinement() -> Confinement:
    """Return how DuckDB is opened in this server: it touches the snapshots' folder alone, in bounded memory."""
    return Confinement((folder(),), settings.CONFIGURATION.query_memory)


class _Confinement(TypedDict):
    memory_limit: str
    keep_to: Sequence[str | Path]


def _confined() -> _Confinement:
    rule = confinement()
    return {"memory_limit": rule.memory_limit, "keep_to": rule.folders}


def open_snapshots() -> Any:
    """Return a DuckDB connection that reads and writes in the snapshots' folder and nowhere else."""
    return open_connection(**_confined())


def _query(statement: str) -> list[tuple[Any, ...]]:
    import duckdb

    try:
        with open_snapshots() as connection:
            return list(connection.execute(statement).fetchall())
    except duckdb.Error:
        # DuckDB's own words may quote a cell.
        room.check_room()
        raise DataError("The snapshot cannot be written or read. Check the disk's free space.") from None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _next_number(project: Project) -> int:
    return (Snapshot.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0) + 1


def _cell(cell: object) -> str:
    return str(cell).lower() if isinstance(cell, bool) else str(cell)
