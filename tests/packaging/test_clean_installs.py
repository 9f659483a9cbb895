"""The wheel in clean environments: alone, with each extra, and built from the source archive. Needs a package index."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RELEASE = """
import pydplib as dp
release = dp.mean([50.0, 60.0, 70.0] * 100, bounds=(18, 100), epsilon=1.0)
assert 18 <= release.value <= 100 and "epsilon 1" in str(release)
schema = dp.Schema({"age": dp.Number(18, 100)}, person="patient", max_rows_per_person=1, name="visits")
open("visits.csv", "w").write("patient,age\\n" + "".join(f"{i},{40 + i % 30}\\n" for i in range(500)))
with dp.load("visits.csv", schema) as table:
    session = dp.Session(table, recipient="partner", budget=dp.PureDP(1.0), ledger=dp.SqliteLedger("ledger.db"))
    assert 30 < session.release(dp.Mean("age"), epsilon=0.9).value < 80
"""
# What each extra brings, used once.
USES = {
    "plot": "noisy = dp.dp_calculate([50.0, 60.0, 70.0] * 9, query_type='mean', noise_factor='high', is_range=True)\n"
    "assert noisy.plot().to_html().startswith('<')",
    "notebook": "assert len(dp.datasets.pirads(backend='pandas')) == 920",
    "tables": "assert dp.datasets.pirads(backend='pyarrow').num_rows == 920",
    "excel": "import openpyxl; book = openpyxl.Workbook(); book.active.append(['age']); book.active.append([50])\n"
    "book.save('ages.xlsx'); from click.testing import CliRunner; from pydplib.cli import cli\n"
    "assert CliRunner().invoke(cli, ['schema', 'init', 'ages.xlsx']).exit_code == 0",
    "postgres": "import psycopg; assert psycopg.pq.__impl__ == 'binary'",
    "spark": "import pyspark.sql; assert pyspark.__version__.startswith('4.')",
    "web": "import django, argon2, whitenoise, waitress, segno, plotly, openpyxl, pyarrow, psycopg",
}
# What is asked for without the extra, and must name it.
WITHOUT = {
    "plot": "dp.dp_calculate([50.0, 60.0, 70.0], query_type='mean', noise_factor='high', is_range=True).plot()",
    "excel": "open('v.xlsx', 'w').write('x'); dp.load('v.xlsx', schema)",
    "postgres": "dp.load('postgresql://u@127.0.0.1:1/d', schema, table='t')",
    "spark": "dp.load('spark://127.0.0.1:1', schema, path='t')",
    "notebook": "dp.datasets.pirads(backend='pandas')",
    "tables": "dp.datasets.pirads(backend='pyarrow')",
}


def clean() -> dict[str, str]:
    """Return the environment of somebody who has set nothing of ours."""
    ours = ("PYTHON", "PYDPLIB", "DJANGO", "DATABASE_URL", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


@pytest.fixture(scope="module")
def install(built, tmp_path_factory) -> Callable[[Path, str], Path]:
    """Return what makes a new environment with a package, and says where its programs are."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp_path_factory.mktemp("index"), "click"],
        capture_output=True, env=clean(),
    )  # fmt: skip
    if asked.returncode:
        pytest.skip("no package index answers")

    def make(package: Path, extra: str = "") -> Path:
        place = tmp_path_factory.mktemp("environment")
        subprocess.run([sys.executable, "-m", "venv", place], check=True, env=clean())
        what = f"{package}[{extra}]" if extra else str(package)
        command = [place / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", what]
        done = subprocess.run(command, capture_output=True, text=True, env=clean())
        assert done.returncode == 0, done.stderr[-2000:]
        return place / "bin"

    return make


def run(command: list[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=clean())
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return done.stdout


def check(programs: Path, folder: Path) -> dict[str, dict[str, str]]:
    """Version, doctor and a release; return what the doctor found."""
    from pydplib import __version__

    assert run([programs / "pydplib", "--version"], folder).strip().endswith(__version__)
    said = json.loads(run([programs / "pydplib", "doctor", "--json"], folder))
    assert said["healthy"] and said["version"] == __version__
    run([programs / "python", "-c", RELEASE], folder)
    return {f"{one['part']}/{one['name']}": one for one in said["findings"]}


@pytest.fixture(scope="module")
def core(install, built) -> Path:
    return install(built.wheel)


def test_core_alone_works_and_brings_no_extra(core, tmp_path) -> None:
    found = check(core, tmp_path)
    assert {name: one["state"] for name, one in found.items() if name.startswith("extra/")} == dict.fromkeys(
        (f"extra/{extra}" for extra in USES), "missing"
    )
    brought = json.loads(run([core / "python", "-m", "pip", "list", "--format", "json"], tmp_path))
    assert len(brought) <= 16  # six, what they need, pip and us


@pytest.mark.parametrize("extra", WITHOUT)
def test_core_without_an_extra_names_the_command_that_brings_it(core, tmp_path, extra) -> None:
    code = (
        "import pydplib as dp\nschema = dp.Schema({'age': dp.Number(18, 100)}, person='p', max_rows_per_person=1, "
        f"name='n')\ntry:\n    {WITHOUT[extra].replace('; ', chr(10) + '    ')}\n"
        "except dp.errors.PydplibError as error:\n    print(error)\nelse:\n    raise SystemExit('nothing was missing')"
    )
    said = run([core / "python", "-c", code], tmp_path)
    library = {"notebook": "pandas", "tables": "pyarrow"}.get(extra)
    assert (f"pip install {library}" if library else f"pip install 'pydplib[{extra}]'") in said


@pytest.mark.parametrize("words", ["serve --demo", "people list", "backup x", "audit-log verify", "ledger accept"])
def test_core_without_the_platform_names_the_command_that_brings_it(core, tmp_path, words) -> None:
    done = subprocess.run([core / "pydplib", *words.split()], cwd=tmp_path, capture_output=True, text=True, env=clean())
    assert done.returncode != 0 and "pip install 'pydplib[web]'" in done.stderr


@pytest.mark.parametrize("extra", USES)
def test_extra_brings_what_it_says(install, built, tmp_path, extra) -> None:
    programs = install(built.wheel, extra)
    found = check(programs, tmp_path)
    assert found[f"extra/{extra}"]["state"] == "ok"
    run([programs / "python", "-c", f"import pydplib as dp\n{USES[extra]}"], tmp_path)
    if extra == "web":
        platform_answers(programs, tmp_path)


def platform_answers(programs: Path, folder: Path) -> None:
    """Start the demonstration as it was installed; the front page has its style, font and script from the wheel."""
    command = [programs / "pydplib", "serve", "--demo", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean()
    ) as server:
        try:
            said, begun = "", time.monotonic()
            while "Ready after" not in said and time.monotonic() - begun < 300:
                line = server.stdout.readline()
                assert line, said
                said += line
            base = re.search(r"Ready after .*: (http://\S+)", said)[1]
            assert json.loads(urllib.request.urlopen(f"{base}/healthz").read())["status"] == "ok"
            page = urllib.request.urlopen(f"{base}/").read().decode()
            files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page))
            assert any(name.endswith(".css") for name in files)
            for name in files:
                assert urllib.request.urlopen(base + name).status == 200
        finally:
            server.terminate()
            server.wait(60)


def test_source_archive_installs_by_itself(built, install, tmp_path) -> None:
    check(install(built.sdist), tmp_path)
