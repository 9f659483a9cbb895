"""``pydplib schema init|check``: propose a schema for a file, with the bounds left empty, and check a finished one."""

from __future__ import annotations

import shlex
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import click

from pydplib._csv_lines import is_sound, read_head, write_sound
from pydplib._duckdb_files import (
    check_parquet_names,
    csv_source,
    file_or_pattern,
    has_pattern,
    parquet_source,
    sql_text,
)
from pydplib._names import is_identifier, person_column
from pydplib._table_text import sheet_to_csv
from pydplib.cli import NamedGroup
from pydplib.cli._csv_header import read_header
from pydplib.cli._progress import waiting
from pydplib.cli._sql import identifier
from pydplib.cli._tables import input_file
from pydplib.errors import DataError, ParameterError, SchemaError, looks_like_names

_COMMA = r"^ *[+-]?[0-9]+(,[0-9]+)? *$"  # numbers with a decimal comma
_WORDS = r"^(?i)(ja|j|nein|wahr|falsch|yes|y|no|n|true|t|false|f)$"
_FEW = 30  # a text column with at most so many different values is proposed as a category


@click.group("schema", cls=NamedGroup)
def command() -> None:
    """Propose a schema for a file, or check a finished one."""


@command.command("init", short_help="Propose a schema for a file.")
@click.argument("file")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Where to write it.")
@click.option("--person", help="The column that says whose row it is; by default guessed from the names.")
@click.option("--sheet", help="The sheet of a workbook that has several.")
def init(file: str, output: Path | None, person: str | None, sheet: str | None) -> None:
    """Propose a schema for FILE (CSV, Parquet or Excel): kinds from the columns, bounds and categories left empty.

    Data never choose bounds: fill in what is possible in the real world, then run `pydplib schema check`.

    \b
    Examples:
      pydplib schema init reports.csv --output schema.toml
    """  # noqa: D301 - click needs the backspace itself
    with waiting(f"Reading {Path(file).name}"):
        text = propose(input_file(file), person=person, sheet=sheet, from_input=file == "-")
    if output is None:
        click.echo(text, nl=False)
        return
    if output.exists():
        raise ParameterError(f"'{output}' exists already. Choose another --output; a schema is the owner's work.")
    try:
        output.write_text(text, encoding="utf-8")
    except OSError:
        raise ParameterError(f"'{output}' cannot be written.") from None
    which = "" if sheet is None else f" --sheet {shlex.quote(sheet)}"
    click.echo(
        f"Wrote {output}. Fill in the empty entries, then: pydplib schema check {shlex.quote(str(output))} "
        f"{shlex.quote(file)}{which}"
    )


@command.command("check", short_help="Check a schema, and that a file fits it.")
@click.argument("schema_file")
@click.argument("file", required=False)
@click.option("--table", "--sheet", "table", help="The table of a database, or the sheet of a workbook.")
@click.option("--multiline", is_flag=True, help="CSV: quoted cells may reach over several lines.")
def check(schema_file: str, file: str | None, table: str | None, multiline: bool) -> None:
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
    if file is not None:
        with (
            waiting(f"Reading {Path(file).name}"),
            load(input_file(file), schema, table=table, multiline=multiline) as loaded,
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
    wanted = {"number": ("low", "high"), "integer": ("low", "high"), "date": ("low", "high"), "category": ("values",)}
    empty = ["name: what the table is called; its budget belongs to this name"] if table.get("name") == "" else []
    if table.get("max_rows_per_person") == "":
        empty.append("max_rows_per_person: how many rows of one person count in full")
    empty += [
        f"{name}: {', '.join(missing)}"
        for name, (entry, kind) in kinds.items()
        if (missing := [key for key in wanted.get(str(kind), ()) if entry.get(key) in (None, "", [])])
    ]
    if len(empty) > 1:
        listed = "".join(f"\n  {line}" for line in empty)
        raise SchemaError(
            f"{len(empty)} entries are still to be filled in:{listed}\nWrite what is possible in the real world; data "
            "never choose limits, bounds or categories. A column that nobody will ask about may be deleted."
        )


def propose(file: str, *, person: str | None = None, sheet: str | None = None, from_input: bool = False) -> str:
    """Return a schema file for a CSV, Parquet or Excel file, its bounds and categories left empty.

    Only names, storage types and "few different values or many" are read; no value of the data is in the text.

    Args:
        file: The file.
        person: The column that says whose row it is.
        sheet: The sheet of a workbook that has several.
        from_input: Whether the file is a copy of standard input, which has no name.
    """
    columns = _describe(file, sheet)
    names = [name for name, _, _ in columns]
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
    for name, storage, few in columns:
        lines += ["", f"[columns.{_quoted(name)}]", *_entry(name, storage, few, name == who)]
    return "\n".join(lines) + "\n"


def _entry(name: str, storage: str, few: bool, is_person: bool) -> list[str]:
    if is_person or is_identifier(name):
        return ['kind = "text"  # an identifier: never released', 'label = "identifier"']
    if storage == "BOOLEAN":
        return ['kind = "flag"']
    if storage.startswith(("DATE", "TIMESTAMP")):
        return ['kind = "date"', 'low = ""  # first possible day, e.g. "2017-01-01"', 'high = ""  # last possible day']
    if storage in (
        "TINYINT",
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "HUGEINT",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
    ):
        hint = '  # or "category" with values = [1, 2, 3]' if few else ""
        return [f'kind = "integer"{hint}', 'low = ""  # smallest possible value', 'high = ""  # largest possible value']
    if storage in ("FLOAT", "DOUBLE", "REAL") or storage.startswith("DECIMAL"):
        return [
            'kind = "number"', 'low = ""  # smallest possible value', 'high = ""  # largest possible value',
            '# unit = ""', "# step = 1  # the grid of medians and sums, if the values have one",
        ]  # fmt: skip
    if few:
        return ['kind = "category"', 'values = []  # every possible value; others count as "other"']
    return [
        'kind = "text"  # free text: never released',
        '# label = "quasi"  # then it can stand after "by", with --delta: values that many people have are shown',
    ]


def _describe(file: str, sheet: str | None) -> list[tuple[str, str, bool]]:
    """Return name, storage type and whether there are few different values, for every column."""
    suffix = Path(file).suffix.lower()
    if suffix not in (".csv", ".tsv", ".txt", ".gz", ".zst", ".parquet", ".pq", ".xlsx"):
        raise ParameterError(f"schema init reads .csv, .parquet and .xlsx files. Got '{Path(file).name}'.")
    if sheet is not None and suffix != ".xlsx":
        raise ParameterError(f"--sheet is for Excel files; '{Path(file).name}' is none.")
    if not has_pattern(file) and not Path(file).exists():
        raise DataError(f"There is no file '{file}'.")
    is_parquet = suffix in (".parquet", ".pq")
    if suffix == ".xlsx":
        with tempfile.TemporaryDirectory(prefix="pydplib-") as folder:
            copy = Path(folder) / "table.csv"
            sheet_to_csv(Path(file), sheet, copy)
            return _read_columns(str(copy), False, Path(file).name)
    if not is_parquet and suffix != ".zst" and Path(file).is_file():
        # As load reads it: the first line alone says what separates cells, and no line hides another.
        head = read_head(Path(file))
        if is_sound(Path(file), head):
            return _read_columns(file, False, Path(file).name, head.separator)
        with tempfile.TemporaryDirectory(prefix="pydplib-") as folder:
            copy = Path(folder) / "table.csv"
            write_sound(Path(file), head, copy)
            return _read_columns(str(copy), False, Path(file).name, head.separator)
    return _read_columns(file, is_parquet, Path(file).name)


def _read_columns(file: str, is_parquet: bool, shown: str, separator: str | None = None) -> list[tuple[str, str, bool]]:
    import duckdb

    name = file_or_pattern(file)
    if not is_parquet and Path(file).is_file() and Path(file).suffix.lower() != ".zst":
        read_header(Path(file))  # DuckDB would give the second of two columns of one name a name of its own
    options = "header=true"
    if separator is not None:
        options += f", delim={sql_text(separator)}, strict_mode=false, ignore_errors=true"
    source = parquet_source(name) if is_parquet else csv_source(name, options=options)
    found: list[tuple[str, str, bool]] | None = None
    try:
        with duckdb.connect(":memory:") as connection:
            if is_parquet:
                check_parquet_names(connection, name)
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 - quoted above
            names = [str(row[0]) for row in described]
            counts = ", ".join(f"approx_count_distinct({identifier(name)})" for name in names)
            few: Any = connection.execute(f"SELECT {counts} FROM {source}").fetchone()  # noqa: S608 - quoted above
            kinds = {str(row[0]): str(row[1]) for row in described}
            for column in [column for column in names if kinds[column] == "VARCHAR" and not is_parquet]:
                cell = identifier(column)
                tests = ", ".join(f"BOOL_AND(REGEXP_MATCHES({cell}, '{pattern}'))" for pattern in (_COMMA, _WORDS))
                query = f"SELECT {tests} FROM {source} WHERE {cell} <> ''"  # noqa: S608 - quoted above
                comma, words = connection.execute(query).fetchone() or (None, None)
                kinds[column] = "DOUBLE" if comma else "BOOLEAN" if words else kinds[column]
            found = [(name, kinds[name], int(count) <= _FEW) for name, count in zip(names, few, strict=True)]
    except DataError:
        raise
    except Exception:
        found = None
    if found is None:
        # DuckDB's own message may quote a row.
        kind = "Parquet" if is_parquet else "CSV"
        raise DataError(f"'{shown}' cannot be read as {kind}. Check that it is complete.")
    if not found:
        raise SchemaError("The file has no columns.")
    if not looks_like_names(name for name, _, _ in found):
        # A file without names has its first row in their place, and a schema is public.
        raise DataError(
            "The first line does not look like names of columns: some are empty, too long, numbers, dates or no text."
        )
    return found


def _plain(text: str) -> str:
    return "".join(c for c in text if c.isprintable() and c not in '"\\') or "table"


def _quoted(name: str) -> str:
    import json

    return json.dumps(name, ensure_ascii=False)
