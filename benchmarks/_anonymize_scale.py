"""Anonymization of a table that stays in DuckDB, at 1e7 or 1e8 rows under a memory limit: run on request only.

Once measured, on two cores that others used as well: 1e8 rows in 367 s (308 s of CPU), at most 6.0 GB of memory.
"""

# Only paths that this program made itself enter the SQL.
from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pydplib.anonymity import Hierarchy, KAnonymity, anonymize

ADULT = 30_162
MEMORY_GB = 6
DISK_BYTES_PER_ROW = 420
"""Input, output and what DuckDB lays aside while it shuffles; more is refused instead of filling the disk."""


def connect(workspace: Path, disk_gb: int) -> Any:
    """Return a DuckDB connection that keeps to a bounded memory and a bounded part of the disk."""
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET memory_limit='{MEMORY_GB}GB'")
    connection.execute(f"SET temp_directory='{workspace / 'spill'}'")
    connection.execute(f"SET max_temp_directory_size='{disk_gb}GB'")
    return connection


def write_table(connection: Any, folder: Path, rows: int, target: Path) -> None:
    """Write the Adult table over and over until it has ``rows`` rows, ages moved by up to three years."""
    source = str(folder / "adult.csv").replace("'", "''")
    connection.execute(
        f"CREATE TEMP TABLE adult AS SELECT *, row_number() OVER () AS person "
        f"FROM read_csv('{source}', delim=';', all_varchar=true)"
    )
    [(size,)] = connection.execute("SELECT count(*) FROM adult").fetchall()
    age = "least(greatest(age::INTEGER + (hash(tile, person) % 7)::INTEGER - 3, 1), 100)::VARCHAR AS age"
    connection.execute(
        f"COPY (SELECT * EXCLUDE (person, tile) REPLACE ({age}) FROM range({-(-rows // size)}) t(tile), adult "
        f"LIMIT {rows}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
    )
    connection.execute("DROP TABLE adult")


def run(folder: Path, rows: int, workspace: Path | None = None) -> dict[str, float]:
    """Anonymize ``rows`` rows from Parquet to Parquet; return seconds, memory and sizes. Leaves nothing behind."""
    with tempfile.TemporaryDirectory(dir=workspace) as made:
        place = Path(made)
        needed = DISK_BYTES_PER_ROW * rows
        if shutil.disk_usage(place).free < needed:
            raise SystemExit(f"{rows:,} rows need about {needed / 1e9:.0f} GB of free disk in {place}.")
        connection = connect(place, max(needed // 10**9, 1))
        table, released = place / "table.parquet", place / "released.parquet"
        write_table(connection, folder, rows, table)
        trees = {path.stem[len("adult_hierarchy_") :]: Hierarchy.from_csv(path) for path in folder.glob("*hierarchy*")}
        start, cpu = time.monotonic(), time.process_time()
        relation = connection.sql(f"FROM read_parquet('{table}')")
        k = max(round(5 * rows / ADULT), 5)  # as hard as 5 of Adult's rows: combinations recur
        result = anonymize(relation, trees, models=[KAnonymity(k)], suppression=0.02, output=released)
        seconds, cpu = time.monotonic() - start, time.process_time() - cpu
        assert result.certificate.holds and result.certificate.rows + result.suppressed.rows == rows
        return {
            "rows": rows,
            "limit_gb": MEMORY_GB,
            "seconds": seconds,
            "cpu": cpu,
            "memory_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            "input_gb": table.stat().st_size / 1e9,
            "output_gb": released.stat().st_size / 1e9,
            "loss": result.loss.granularity,
            "k": k,
        }


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), int(float(sys.argv[2])))))
