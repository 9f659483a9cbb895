"""``pydplib schema init|check``: propose a schema for a file, with the bounds left empty, and check a finished one."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import click

from pydplib._duckdb_files import sql_name, sql_text
from pydplib._names import is_identifier, person_column
from pydplib.cli import NamedGroup
from pydplib.cli.inputs import csv_options, input_file, said_options
from pydplib.cli.outputs import check_targets
from pydplib.cli.progress import waiting
from pydplib.errors import DataError, ParameterError, SchemaError, looks_like_names
from pydplib.schema import COLUMN_KINDS, OMOP_TABLES, Storage, propose_omop
from pydplib.tables import CsvOptions, TableFile, open_tables
from pydplib.tables.cells import Kind
from pydplib.tables.files import engine_errors

_READ = (".csv", ".tsv", ".txt", ".gz", ".zst", ".parquet", ".pq", ".xlsx", ".ndjson", ".jsonl")
_FEW = 30  # a text column with at most this many different values is proposed as a category


@click.group("schema", cls=NamedGroup)
def command() -> None:
    """Propose a schema for a file, or check a finished one."""


@command.command("init", short_help="Propose a schema for a file.")
@click.argument("file")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="Where to write it; with --omop a folder.")
@click.option("--omop", is_flag=True, help="FILE is a folder of OMOP tables, one of them, or a database with them.")
@click.option("--person", help="The column that says whose row it is; by default guessed from the names.")
@click.option("--sheet", help="The sheet of a workbook that has several.")
@csv_options
@click.option("--force", is_flag=True, help="Replace a schema file that exists.")
def init(file: str, output: Path | None, omop: bool, person: str | None, sheet: str | None, force: bool) -> None:
    """Propose a schema for FILE (CSV, NDJSON, Parquet, Excel): kinds from the columns, bounds and values left empty.

    Data never choose bounds: fill in what is possible in the real world, then run `pydplib schema check`.

    With --omop, a schema each for the tables person, visit_occurrence, measurement and condition_occurrence of the OMOP
    Common Data Model: kinds, bounds and concepts from its definition. Of a folder, the names of columns are read; of a
    database nothing is.

    \b
    Examples:
      pydplib schema init reports.csv --output schema.toml
      pydplib schema init --omop cdm/ --output schemas/
    """  # noqa: D301 - click needs the backspace itself
    if omop:
        if person is not None or sheet is not None:
            raise ParameterError("With --omop the person is person_id; leave out --person and --sheet.")
        _init_omop(file, output, force=force)
        return
    if output is not None and output.is_dir():
        raise ParameterError(f"'{output}' is a folder. Name a file in it.")
    check_targets([("--output", output)], [Path(file)], force=force)
    with waiting(f"Reading {Path(file).name}"):
        text = propose(input_file(file), person=person, sheet=sheet, options=said_options(), from_input=file == "-")
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError:
        raise ParameterError(f"'{output}' cannot be written.") from None
    said = said_options()
    which = "" if sheet is None else f" --sheet {shlex.quote(sheet)}"
    which += " --multiline" if said.multiline else ""
    which += f" --decimal {said.decimal}" if said.decimal else ""
    click.echo(
        f"Wrote {output}. Fill in the empty entries, then: pydplib schema check {shlex.quote(str(output))} "
        f"{shlex.quote(file)}{which}"
    )


def _init_omop(source: str, output: Path | None, *, force: bool) -> None:
    """Write a schema for every known OMOP table of a folder, a file or a database."""
    texts = {}
    for table, file in _omop_tables(source).items():
        names = None
        if file is not None:
            with waiting(f"Reading {file.name}"), open_tables(said_options()) as tables:
                names = list(tables.open(file, options=said_options(), skips_ragged=True).columns)
        texts[table] = propose_omop(table, names)
    if output is None:
        click.echo("\n".join(texts.values()), nl=False)
        return
    targets = {table: output / f"{table}.toml" for table in texts}
    if output.is_file():
        raise ParameterError(f"'{output}' is a file. With --omop, --output names a folder.")
    try:
        output.mkdir(parents=True, exist_ok=True)
        check_targets([("--output", target) for target in targets.values()], [], force=force)
        for table, target in targets.items():
            target.write_text(texts[table], encoding="utf-8")
    except OSError:
        raise ParameterError(f"'{output}' cannot be written.") from None
    click.echo(
        f"Wrote {', '.join(target.name for target in targets.values())} to {output}. Fill in the empty entries, then: "
        f"pydplib schema check {shlex.quote(str(next(iter(targets.values()))))} FILE"
    )


def _omop_tables(source: str) -> dict[str, Path | None]:
    """Return table -> its file; None where the tables are in a database, of which nothing is read."""
    if "://" in source or Path(source).suffix.lower() in (".db", ".sqlite", ".sqlite3", ".duckdb"):
        return dict.fromkeys(OMOP_TABLES)
    path = Path(source)
    if not path.exists():
        raise DataError(f"There is no file or folder '{source}'.")
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    found: dict[str, Path | None] = {}
    for table in OMOP_TABLES:
        for file in files:
            if file.name.lower().partition(".")[0] == table and file.suffix.lower() in _READ:
                found.setdefault(table, file)
    if not found:
        raise DataError(f"There is none of the OMOP tables here: {', '.join(f'{name}.csv' for name in OMOP_TABLES)}.")
    return found


@command.command("check", short_help="Check a schema, and that a file fits it.")
@click.argument("schema_file")
@click.argument("file", required=False)
@click.option("--table", "--sheet", "table", help="The table of a database, or the sheet of a workbook.")
@csv_options
def check(schema_file: str, file: str | None, table: str | None) -> None:
    """Check that a schema is complete and, with FILE, that the table's columns and cells fit it.

    FILE is looked at, for its owner alone: which columns have cells that cannot be read as what is declared, how many
    persons have more rows than the limit, how many values lie beyond the bounds, and which limit would keep 95 % and
    99 % of the rows. These numbers are exact: do not pass them on. A limit that is chosen after looking at them is not
    covered by the guarantee.

    \b
    Examples:
      pydplib schema check schema.toml
      pydplib schema check schema.toml reports.csv
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.engine import load
    from pydplib.schema import Schema, rows_words

    _check_entries(schema_file)
    schema = Schema.load(schema_file)
    said = said_options()
    if file is not None:
        with (
            waiting(f"Reading {Path(file).name}"),
            load(input_file(file), schema, table=table, multiline=said.multiline, decimal=said.decimal) as loaded,
        ):
            shown, found = str(loaded), loaded.check()
        click.echo(shown)
        for misfit in found.misfits:
            click.echo(f"Warning: {misfit}", err=True)
        click.echo(str(found))
    who = (
        f"person '{schema.person}', {rows_words(schema.max_rows_per_person)} each count in full"
        if schema.person
        else "no person column: one row per person"
    )
    size = f"public size {schema.size}" if schema.size else "size not public"
    click.echo(f"The schema is complete: {len(schema.columns)} columns; {who}; {size}.")


def _check_entries(schema_file: str) -> None:
    """Raise with every entry that is still empty, not only the first."""
    try:
        table = tomllib.loads(Path(schema_file).read_text(encoding="utf-8"))
        columns = table.get("columns", {})
        kinds = {name: (entry, entry.get("kind")) for name, entry in columns.items()}
    except (OSError, UnicodeDecodeError, ValueError, AttributeError, RecursionError):
        return  # Schema.load says what is wrong
    empty = ["name: what the table is called; its budget belongs to this name"] if table.get("name") == "" else []
    if table.get("max_rows_per_person") == "":
        empty.append("max_rows_per_person: how many rows of one person count in full")
    empty += [
        f"{name}: {', '.join(missing)}"
        for name, (entry, kind) in kinds.items()
        if str(kind) in COLUMN_KINDS
        and (missing := [key for key in COLUMN_KINDS[str(kind)].needed if entry.get(key) in (None, "", [])])
    ]
    if len(empty) > 1:
        listed = "".join(f"\n  {line}" for line in empty)
        raise SchemaError(
            f"{len(empty)} entries are still to be filled in:{listed}\nWrite what is possible in the real world; data "
            "never choose limits, bounds or categories. A column that nobody will ask about may be deleted."
        )


def propose(
    file: str,
    *,
    person: str | None = None,
    sheet: str | None = None,
    options: CsvOptions | None = None,
    from_input: bool = False,
) -> str:
    """Return a schema file for a CSV, NDJSON, Parquet or Excel file, its bounds and categories left empty.

    Only names, storage types and "few different values or many" are read; no value of the data is in the text.

    Args:
        file: The file.
        person: The column that says whose row it is.
        sheet: The sheet of a workbook that has several.
        options: What the owner says of a CSV file.
        from_input: Whether the file is a copy of standard input, which has no name.
    """
    columns = _describe(file, sheet, options or CsvOptions())
    names = [name for name, _ in columns]
    if person is not None and person not in names:
        raise ParameterError(f"The file has no column '{person}'.")
    who = person or person_column(names)
    lines = [
        "# What is public about this table. Fill in the empty entries by what is possible in the real world;",
        "# data never choose limits, bounds or categories. A column that nobody will ask about may be deleted.",
        f"# Then run: pydplib schema check SCHEMA.toml {'-' if from_input else _plain(Path(file).name)}",
        'name = ""  # what the table is called: its budget belongs to this name'
        if from_input
        else f'name = "{_plain(Path(file).stem)}"',
    ]
    if who is None:
        lines.append('# person = ""  # the column that says whose row it is; without it every row is another person')
    else:
        lines += [
            f"person = {_quoted(who)}  # whose row it is: please check",
            'max_rows_per_person = ""  # how many rows of one person count in full: what is usual, e.g. 3',
        ]
    lines.append("# size = 0  # the number of persons, only if it is public")
    for name, proposed in columns:
        if name == who or is_identifier(name):
            proposed = ('kind = "text"  # an identifier: never released', 'label = "identifier"')
        lines += ["", f"[columns.{_quoted(name)}]", *proposed]
    return "\n".join(lines) + "\n"


_STORAGES: dict[Kind, Storage] = {
    "whole": "integer", "number": "float", "comma": "float", "date": "date", "german date": "date",
    "time": "timestamp", "flag": "flag", "text": "text",
}  # fmt: skip


def _describe(file: str, sheet: str | None, options: CsvOptions) -> list[tuple[str, tuple[str, ...]]]:
    """Return every column's name and the lines that propose its kind."""
    suffix = Path(file).suffix.lower()
    if suffix not in _READ:
        raise ParameterError(f"schema init reads .csv, .ndjson, .parquet and .xlsx files. Got '{Path(file).name}'.")
    with open_tables() as tables:
        table = tables.open(file, sheet=sheet, options=options, skips_ragged=True)
        if not looks_like_names(table.columns):
            # A file without names has its first row in their place, and a schema is public.
            raise DataError(
                "The first line does not look like names of columns: some are empty, too long, numbers, dates or no "
                "text."
            )
        counts = ", ".join(f"approx_count_distinct({sql_name(name)})" for name in table.columns)
        with engine_errors(table.format):
            [few] = table.relation.aggregate(counts).fetchall()
            looks = _looks(table)
    return [
        (name, _proposal(_STORAGES[kind], looks.get(name), few=int(count) <= _FEW))
        for (name, kind), count in zip(table.columns.items(), few, strict=True)
    ]


def _looks(table: TableFile) -> dict[str, str]:
    """Return the columns of texts that all look like those of a kind -> the word of that kind."""
    patterns = {kind.kind: kind.guess_pattern for kind in COLUMN_KINDS.values() if kind.guess_pattern}
    names = [name for name, kind in table.columns.items() if kind == "text"]
    if table.texts is None or not patterns or not names:
        return {}
    tests = ", ".join(
        f"bool_and(regexp_matches({sql_name(name)}, {sql_text(form)}))" for name in names for form in patterns.values()
    )
    [found] = table.relation.aggregate(tests).fetchall()
    first: dict[str, str | None] = {}
    for place, name in enumerate(names):
        fits = found[place * len(patterns) :]
        first[name] = next((kind for kind, fit in zip(patterns, fits, strict=False) if fit), None)
    return {name: kind for name, kind in first.items() if kind is not None}


def _proposal(storage: Storage, kind: str | None, *, few: bool) -> tuple[str, ...]:
    """Return the lines of the first kind that takes a column: by how its texts look, else by what they hold.

    Free text is asked last; it takes whatever nobody else does.
    """
    if kind is not None:
        return COLUMN_KINDS[kind].entry_lines(few=few)
    proposals = (kind.propose(storage, few=few) for kind in COLUMN_KINDS.values())
    return next((lines for lines in proposals if lines is not None), COLUMN_KINDS["text"].entry_lines())


def _plain(text: str) -> str:
    return "".join(c for c in text if c.isprintable() and c not in '"\\') or "table"


def _quoted(name: str) -> str:
    import json

    return json.dumps(name, ensure_ascii=False)
