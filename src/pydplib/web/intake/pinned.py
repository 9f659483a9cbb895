"""Rows of a pinned snapshot, for work inside this server alone: anonymizing, attacking, paper mode."""

# Names and paths enter SQL through sql_name() and parquet_source() only.
# ruff: noqa: S608
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import duckdb

from pydplib._duckdb_files import exact_name, parquet_source, sql_name
from pydplib.errors import DataError
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import folder, load_snapshot, open_snapshots

if TYPE_CHECKING:
    import pyarrow


def select_rows(snapshot: Snapshot, selected: Iterable[str], *, latest_of: str | None = None) -> pyarrow.Table:
    """Return columns of a snapshot (PyArrow), after a check that its file is the one that was pinned.

    Args:
        snapshot: The snapshot.
        selected: What is selected, as SQL.
        latest_of: The column of the person, for the latest row of each; none for all rows.

    Raises:
        DataError: The file is gone, was changed, or cannot be read.
    """
    with load_snapshot(snapshot):
        pass
    source = parquet_source(exact_name(folder() / snapshot.file), options="file_row_number=true")
    query = f"SELECT {', '.join(selected)} FROM {source}"
    if latest_of is not None:
        one = f"PARTITION BY {sql_name(latest_of)} ORDER BY file_row_number DESC"
        query += f" QUALIFY row_number() OVER ({one}) = 1"
    try:
        with open_snapshots() as connection:
            return connection.sql(query).to_arrow_table()
    except duckdb.Error:
        raise DataError("The pinned data cannot be read. Check the disk, or make a new snapshot.") from None
