"""``load``: a table from wherever it lives, behind the schema that its owner declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydplib._duckdb_files import has_pattern
from pydplib.engine.protocol import Engine
from pydplib.engine.stores import (
    duckdb_engine,
    ibis_tables,
    mariadb_engine,
    postgres_engine,
    spark_engine,
    sqlite_engine,
)
from pydplib.engine.stores.polars import polars_engine
from pydplib.engine.table import Table
from pydplib.errors import DataError, ParameterError, SchemaError
from pydplib.schema import Schema
from pydplib.tables import CsvOptions


def load(
    source: Any,
    schema: Schema | str | Path,
    *,
    table: str | None = None,
    path: str | None = None,
    memory_limit: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    multiline: bool = False,
) -> Table:
    """Return a table whose rows stay where they are: file, frame, database or cluster.

    Args:
        source: One of
            a path to CSV, Parquet or JSON lines (``.ndjson``; a pattern such as ``reports/*.parquet`` too), to an
            Excel workbook (``.xlsx``; several sheets: ``table=``) or to a SQLite file;
            a pandas, Polars or PyArrow frame; a DuckDB relation, or a DuckDB connection with ``table=``;
            ``postgresql://user@host/database`` or ``mariadb://user@host/database`` with ``table=`` (or ``?table=`` in
            the URL);
            an Ibis table or expression on DuckDB, PostgreSQL or MariaDB;
            a Spark DataFrame, or ``spark://host:port`` with ``path=`` of Parquet on the cluster.
        schema: The public facts, or the path of a schema file.
        table: The table's name within a database (``schema.table`` works), or the sheet's within a workbook.
        path: The Parquet path that a Spark cluster reads.
        memory_limit: DuckDB's memory limit, e.g. ``"4GB"``; beyond it, it works on disk.
        separator: CSV: what stands between cells; by default what the first line has most: ``, ; | `` or a tab.
        decimal: CSV: ``"."`` or ``","``; by default both count, but where the comma separates cells the point alone.
        encoding: CSV: ``"utf-8"``, ``"latin-1"`` or ``"utf-16"``; by default each line is read as UTF-8 and, if it is
            none, as Windows-1252, and UTF-16 is known by the file's first two bytes.
        multiline: CSV: whether a quoted cell may reach over several lines. By default a line is a row, so that a quote
            that somebody forgot to close stays in its own row.

    CSV files, JSON lines and sheets are read once, by this call, into DuckDB's private memory (or, beyond
    ``memory_limit``, its private folder): what happens to the file later changes no answer. Only declared columns are
    kept; of JSON lines a declared column that no line has is missing everywhere.

    Examples:
        >>> import polars as pl
        >>> from pydplib.schema import Number
        >>> print(load(pl.DataFrame({"age": [61, 70]}), Schema({"age": Number(18, 100)}, name="reports")))
        Table 'reports' on Polars, one row per person
          age  number    18 to 100
    """
    if isinstance(schema, str | Path):
        schema = Schema.load(schema)
    if not isinstance(schema, Schema):
        raise SchemaError("load(source, schema) needs the schema: what the owner declares public.")
    came_in = type(source).__module__.split(".")[0]
    backend = came_in if came_in in ("pandas", "polars", "pyarrow") else None
    options = CsvOptions(separator, decimal, encoding, multiline)
    return Table(schema, _engine(source, schema, table, path, memory_limit, options), backend=backend)


def _engine(
    source: Any, schema: Schema, table: str | None, path: str | None, memory_limit: str | None, options: CsvOptions
) -> Engine:
    if isinstance(source, str | Path):
        return _from_text(str(source), schema, table, path, memory_limit, options)
    module = type(source).__module__.split(".")[0]
    kind = type(source).__name__
    if kind == "Series":
        raise DataError("load() takes a whole table; this is one column. For a column alone: dp.mean(column, ...).")
    if module in ("duckdb", "_duckdb"):
        if kind == "DuckDBPyRelation":
            return duckdb_engine.from_relation(source, schema)
        return duckdb_engine.from_connection(
            source, schema, table=_needed(table, "A DuckDB connection", "table='reports'")
        )
    if module == "polars":
        return polars_engine.from_frame(source, schema)
    if module == "pyspark":
        return spark_engine.from_frame(source, schema)
    if module == "ibis":
        return ibis_tables.from_table(source, schema)
    if module in ("pandas", "pyarrow"):
        return duckdb_engine.from_frame(source, schema, memory_limit=memory_limit)
    raise DataError(
        f"load() cannot read a {module}.{kind}. It takes paths, pandas, Polars, PyArrow and Spark frames, DuckDB "
        "relations and connections, Ibis tables, and postgresql://, mariadb:// or spark:// URLs."
    )


def _from_text(
    source: str, schema: Schema, table: str | None, path: str | None, memory_limit: str | None, options: CsvOptions
) -> Engine:
    if source.startswith(("postgresql://", "postgres://")):
        return postgres_engine.from_url(source, schema, table=table)
    if source.startswith(("mariadb://", "mysql://")):
        return mariadb_engine.from_url(source, schema, table=table)
    if source.startswith("spark://"):
        return spark_engine.from_url(source, schema, path=_needed(path, "A Spark cluster", "path='reports.parquet'"))
    if "://" in source and not source.startswith(("file://", "s3://", "https://", "http://")):
        raise ParameterError(
            f"Unknown address '{source.split('://')[0]}://...'. Known are postgresql://, mariadb:// and spark://."
        )
    if Path(source).is_dir():
        raise ParameterError("This is a folder. Name a file in it, or several by a pattern such as 'reports/*.csv'.")
    suffix = Path(source).suffix.lower()
    if suffix in (".db", ".sqlite", ".sqlite3"):
        named = _needed(table, "A SQLite file", "table='reports'", " In the shell: --table reports.")
        return sqlite_engine.from_file(source, schema, table=named)
    if suffix not in (".csv", ".tsv", ".txt", ".gz", ".zst", ".parquet", ".pq", ".xlsx", ".ndjson", ".jsonl"):
        old = {
            ".xls": " Save it as .xlsx first.",
            ".duckdb": " For a DuckDB file, hand over the connection: load(duckdb.connect(path), schema, table=...).",
        }.get(suffix, "")
        raise ParameterError(
            f"load() reads .csv, .tsv, .ndjson, .parquet, .xlsx and SQLite .db files. Got '{Path(source).name}'.{old}"
        )
    if not has_pattern(source) and "://" not in source and not Path(source).exists():
        raise DataError(f"There is no file '{source}'.")
    if suffix in (".parquet", ".pq") and Path(source).is_file() and not _starts_as_parquet(Path(source)):
        raise DataError(f"'{Path(source).name}' cannot be read as Parquet. Check that it is complete.")
    return duckdb_engine.from_file(source, schema, memory_limit=memory_limit, options=options, sheet=table)


def _starts_as_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in (b"PAR1", b"PARE")  # PARE: its footer is encrypted
    except OSError:
        return True  # DuckDB says that it cannot be read


def _needed(value: str | None, what: str, example: str, shell: str = "") -> str:
    if not value:
        raise ParameterError(f"{what} holds many tables: say which one, load(..., {example}).{shell}")
    return value
