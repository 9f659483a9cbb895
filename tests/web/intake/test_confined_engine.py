"""DuckDB in the server reads and writes snapshots, and nothing else of the machine."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking_server import seed
from web_home import make_web_home

import pydplib
from pydplib._duckdb_files import EXTENSIONS_OFF, Confinement, confine, confine_all, connect
from pydplib.engine.stores.duckdb_engine import open_connection
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
    from pydplib.web.intake.imports.records import accept_rows
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
        patch.setattr("pydplib.engine.stores.duckdb_engine.open_connection", noted)
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


ERRORS = {"Error", "InterruptException", "OutOfMemoryException", "PermissionException", "IOException"}
"""What code may name of DuckDB apart from the one place that opens it."""


def openings_in(source: str) -> list[str]:
    """Return what code takes from the module ``duckdb`` that could open a connection."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "duckdb":
            found += [node.attr] if node.attr not in ERRORS else []
        if isinstance(node, ast.ImportFrom) and node.module == "duckdb":
            found += [name.name for name in node.names if name.name not in ERRORS]
        if isinstance(node, ast.Import):
            found += [f"as {name.asname}" for name in node.names if name.name == "duckdb" and name.asname]
    return found


def test_code_of_the_server_opens_duckdb_in_one_place() -> None:
    package = Path(pydplib.__file__).parent
    found = {
        str(path.relative_to(package)): openings_in(path.read_text("utf-8"))
        for path in package.rglob("*.py")
        if "cli" not in path.relative_to(package).parts[:1]  # the command line works on its user's files
    }
    assert {name: taken for name, taken in found.items() if taken} == {"_duckdb_files.py": ["connect"]}
    assert openings_in("import duckdb\nduckdb.sql('FROM x')") == ["sql"], "and a new one is found"
    assert openings_in("from duckdb import connect") == ["connect"]


@pytest.fixture
def confined(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "snapshots"
    folder.mkdir()
    confine_all(lambda: Confinement((folder,), "500MB"))
    yield folder
    confine_all(None)


def test_rule_of_a_process_confines_connections_that_ask_for_nothing(confined: Path, tmp_path: Path) -> None:
    import duckdb

    from pydplib.engine import load
    from pydplib.errors import PydplibError
    from pydplib.schema import Integer, Schema

    for folder in (confined, tmp_path):
        (folder / "t.csv").write_text("a\n1\n2\n")
    connection = connect()
    [(limit, locked)] = connection.execute(
        "SELECT current_setting('memory_limit'), current_setting('lock_configuration')"
    ).fetchall()
    assert (limit, locked) == ("476.8 MiB", True)
    with pytest.raises(duckdb.Error):
        connection.execute(f"FROM read_csv('{tmp_path / 't.csv'}')")
    assert connection.execute(f"FROM read_csv('{confined / 't.csv'}')").fetchall() == [(1,), (2,)]
    with pytest.raises(PydplibError):
        connect(keep_to=[tmp_path])
    schema = Schema({"a": Integer(0, 9)}, name="t")
    with pytest.raises(PydplibError), load(tmp_path / "t.csv", schema):
        pass


EVERYTHING = """
import json, sys
sys.path.insert(0, sys.argv[1])
import duckdb
opened, real = [], duckdb.connect
ASKED = "SELECT current_setting('enable_external_access'), current_setting('lock_configuration'), " \\
    "current_setting('autoload_known_extensions'), current_setting('allowed_directories')"
class Noted:
    "A connection whose settings are read when it is closed, or when it is asked for them."
    def __init__(self, inner):
        self.inner, self.settings = inner, None
        opened.append(self)
    def __getattr__(self, name):
        return getattr(self.inner, name)
    def look(self):
        self.settings = self.settings or list(self.inner.execute(ASKED).fetchone())
        return self.settings
    def close(self):
        self.look()
        self.inner.close()
    def __enter__(self):
        return self
    def __exit__(self, *error):
        self.close()
duckdb.connect = lambda *args, **more: Noted(real(*args, **more))
from pydplib.web import wsgi  # what a server loads
import pydplib as dp
from export_study import make_export
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.payments.purchases import ask
from pydplib.web.analyses.originals import look_at_original
from pydplib.web.attacks import runs as attacking
from pydplib.web.attacks.launch import start_run
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.dashboards.editions import publish as publish_board
from pydplib.web.projects.models import Member
from pydplib.web.exports import runs as running
from pydplib.web.intake import snapshots
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
owner, project = User.objects.get(username="olivia"), Project.objects.get()
seen = {}
def step(name, act):
    before = len(opened)
    made = act()
    seen[name] = [each.look() for each in opened[before:]]
    return made
step("publish", lambda: snapshots.publish(snapshots.make_snapshot(project, actor=owner), actor=owner))
answered = step("ask", lambda: ask(project, owner, Member.as_role("owner"), dp.Mean("age"), Accuracy(epsilon=0.2)))
step("original", lambda: look_at_original(owner, answered))
attacking.BACKGROUND = running.BACKGROUND = False
step("export", lambda: make_export(project, owner))
step("attack", lambda: start_run(owner, project, subject="audience:third_party", data="real", minutes=1))
project.rules.filter(audience="third_party").update(paper_mode=True)
board = plans.make_dashboard(owner, project, title="B", audience="third_party")
plans.add_question(owner, board, dp.Count(by="pirads"), title="", nano_epsilon=10**8)
plans.add_paper_mode(owner, board, ["2"])
step("dashboard", lambda: publish_board(owner, board, agreed=bill_for(board).nano))
print(json.dumps([seen, str(snapshots.folder())]))
"""


@pytest.mark.usefixtures("_database")
def test_every_connection_of_a_server_is_confined_whatever_opened_it(tmp_path: Path) -> None:
    with make_web_home(tmp_path / "home") as home:
        seed(home, budget=2.0, data_set=20)
        done = home.python(EVERYTHING, str(Path(seed.__code__.co_filename).parent))
        assert done.returncode == 0, done.stderr[-3000:]
        seen, folder = json.loads(done.stdout.splitlines()[-1])
    assert set(seen) == {"publish", "ask", "original", "export", "attack", "dashboard"}
    assert all(seen.values()), "each of them looks at the data"
    for name, connections in seen.items():
        for access, locked, extensions, folders in connections:
            assert (access, locked, extensions) == (False, True, False), name
            # DuckDB itself adds the private folder that the connection spills to.
            others = [each.rstrip("/") for each in folders if "/pydplib-duckdb-" not in each]
            assert others in ([], [folder]), name
