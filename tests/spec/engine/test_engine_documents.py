"""The pages about engines run as they are printed, and the list of promises is the one that is tested."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_specs import render

DOCUMENTS = Path(__file__).parents[3] / "docs"
BLOCKS = re.findall(r"```python\n(.*?)```", (DOCUMENTS / "how-to" / "tables-where-they-live.md").read_text(), re.S)
REPORTS = pa.table({"patient_id": [1, 1, 2], "age": [61.0, 62.0, 70.0], "pirads": [2, 3, 9]})


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    pq.write_table(REPORTS, tmp_path / "reports.parquet")
    found: dict[str, Any] = {}
    exec(BLOCKS[0], found)
    return found


def test_files_page_runs(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    (Path.cwd() / "reports.parquet").unlink()
    exec(BLOCKS[1], names)  # the page makes its own file
    assert set(pq.read_table("reports.parquet").column_names) >= {"patient_id", "age", "pirads"}
    exec(BLOCKS[2], names)
    assert "pirads  category" in capsys.readouterr().out


def block_with(text: str) -> str:
    """Return the one block of the page that holds a text."""
    (found,) = [block for block in BLOCKS if text in block]
    return found


def test_page_of_json_lines_omop_and_ibis_runs(names: dict[str, Any]) -> None:
    pytest.importorskip("ibis")
    exec(block_with("Observation.ndjson"), names)
    assert names["table"].schema.person == "patient_id"
    exec(block_with("omop_schema"), names)
    assert names["schema_of_labs"].max_rows_per_person == 5
    exec(block_with("import ibis"), names)
    assert names["table"].engine.name == "DuckDB"


@pytest.mark.slow
@pytest.mark.mariadb
def test_mariadb_page_runs(names: dict[str, Any], mariadb_server: Any) -> None:
    from mariadb_server import connect

    with connect(mariadb_server) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE reports (patient_id int, age double, pirads int)")
    address = "mariadb://reader@db.hospital.example/registry"
    exec(block_with(address).replace(address, mariadb_server.reader_url), names)
    assert names["table"].engine.name == "MariaDB"
    names["table"].close()


@pytest.mark.postgres
def test_postgres_page_runs(names: dict[str, Any], postgres_server: Any) -> None:
    import psycopg

    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE reports (patient_id int, age float8, pirads int)")
    address = "postgresql://reader@db.hospital.example/registry"
    exec(block_with(address).replace(address, postgres_server.reader_url), names)
    assert names["table"].engine.name == "PostgreSQL"
    names["table"].close()


@pytest.mark.spark
def test_spark_page_runs(names: dict[str, Any], spark_cluster: Any, spark_session: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "reports.parquet")
    cluster = block_with("spark://").replace("spark://spark.hospital.example:7077", spark_cluster.url)
    for block in (cluster, block_with("SparkSession")):
        # getOrCreate finds the session of the tests, as it finds that of any program.
        exec(block.replace('"reports.parquet"', repr(path)), {**names})
    assert spark_session.range(1).count() == 1  # the caller's session is still open


def test_no_block_is_left_out() -> None:
    assert len(BLOCKS) == 10  # each is run above


def test_promises_page_is_the_tested_list() -> None:
    page = DOCUMENTS / "reference" / "engine-specs.md"
    assert page.read_text(encoding="utf-8") == render(), "write it again: python tests/support/engine_specs.py"
