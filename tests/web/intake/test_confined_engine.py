"""DuckDB in the server reads and writes snapshots, and nothing else of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pydplib._duckdb_files import EXTENSIONS_OFF, confine
from pydplib.engine.duckdb_engine import open_connection
from pydplib.web.intake import snapshots


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "snap[1]shots"  # signs of patterns in a name are no patterns
    path.mkdir(mode=0o700)
    monkeypatch.setattr(snapshots, "folder", lambda: path)
    (tmp_path / "other.csv").write_text("a\n1\n")
    return path


def test_server_connection_works_in_its_folder_and_nowhere_else(folder: Path, tmp_path: Path) -> None:
    import duckdb

    from pydplib._duckdb_files import exact_name, parquet_source, sql_text

    with snapshots.open_snapshots() as connection:
        connection.execute(f"COPY (SELECT 42 AS a) TO {sql_text(str(folder / 'x.parquet'))} (FORMAT parquet)")
        source = parquet_source(exact_name(folder / "x.parquet"))
        assert connection.execute(f"FROM {source}").fetchall() == [(42,)]
        outside = sql_text(str(tmp_path / "other.csv"))
        for statement in (
            f"FROM read_csv({outside})",
            f"FROM read_csv({sql_text(str(folder / '..' / 'other.csv'))})",
            f"COPY (SELECT 1) TO {sql_text(str(tmp_path / 'out.csv'))}",
            f"ATTACH {sql_text(str(tmp_path / 'out.db'))}",
            f"FROM glob({sql_text(str(tmp_path) + '/*')})",
            "INSTALL httpfs",
            "SET enable_external_access=true",
            "SET memory_limit='99GB'",
            "SET lock_configuration=false",
            "SET autoload_known_extensions=true",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
        [(limit,)] = connection.execute("SELECT current_setting('memory_limit')").fetchall()
        assert limit == "953.6 MiB", "1 GB, as the configuration says"
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "out.db").exists()


def test_snapshot_is_loaded_into_a_confined_engine(folder: Path, db: None, project: Any, make_user: Any) -> None:
    from pydplib.capture import builtin
    from pydplib.web.intake.recording import accept_rows
    from pydplib.web.reporting.models import TemplateVersion

    version = TemplateVersion.objects.create(
        project=project, number=1, made_by="t", definition=builtin("pirads-paper").to_json()
    )
    owner = make_user("olivia")
    rows = [{"patient_id": f"P{i}", "age": 60, "year": 2018, "pca_no_pirads": False, "pirads": 3} for i in range(5)]
    accept_rows(project, version, rows, actor=owner)
    made = snapshots.make_snapshot(project, actor=owner)
    opened: list[Any] = []
    real = open_connection

    def noted(*args: Any, **more: Any) -> Any:
        opened.append(real(*args, **more))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pydplib.engine.duckdb_engine.open_connection", noted)
        with snapshots.load_snapshot(made) as table:
            assert table.schema.person == "patient_id"
            [(access, locked)] = (
                opened[0]
                .execute("SELECT current_setting('enable_external_access'), current_setting('lock_configuration')")
                .fetchall()
            )
    assert (access, locked) == (False, True)
    assert snapshots.people_in(made) == 5


def test_connection_that_spills_still_works_when_it_is_confined() -> None:
    connection = open_connection("60MB", keep_to=[])
    query = "SELECT count(*) FROM (SELECT range, md5(range::VARCHAR) AS m FROM range(1000000) ORDER BY m)"
    assert connection.execute(query).fetchall() == [(1_000_000,)]


def test_confined_connection_in_memory_reads_no_file() -> None:
    import duckdb

    connection = duckdb.connect(config=EXTENSIONS_OFF)
    confine(connection)
    with pytest.raises(duckdb.Error):
        connection.execute("FROM read_text('/etc/hostname')")
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
