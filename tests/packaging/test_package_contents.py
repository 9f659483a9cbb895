"""What is in the wheel and the source archive, what they say about themselves, and where the version comes from."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging_build import build

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = re.search(r'__version__ = "([^"]+)"', (ROOT / "src/pydplib/_version.py").read_text(encoding="utf-8"))[1]


def tracked(folder: str) -> set[str]:
    listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}


def test_wheel_holds_every_file_of_the_package_and_nothing_else(built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = {name.removeprefix("src/") for name in tracked("src/pydplib")}
    assert package - held == set(), "in the tree, not in the wheel"
    # What nobody has committed yet may be there while somebody works; nothing else may.
    strays = {name for name in held - package if not (ROOT / "src" / name).is_file()}
    assert strays == set()
    assert not [name for name in held if not name.startswith("pydplib/") or "__pycache__" in name]
    for suffix in (".html", ".css", ".js", ".svg", ".woff2", ".toml", ".txt"):
        assert any(name.endswith(suffix) for name in held), suffix
    assert "pydplib/py.typed" in held


def test_source_archive_holds_what_tests_documents_and_commands_need(built) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    for folder in ("src", "tests", "docs", "scripts", "locks", "benchmarks", "deploy"):
        assert tracked(folder) - names == set(), folder
    assert {"README.md", "LICENSE", "CHANGELOG.md", "Makefile", "pyproject.toml"} <= names
    unwanted = re.compile(r"(^|/)(\.venv|__pycache__|pydplib-demo-data|pydplib-data|site|build)/|\.(key|db|sqlite3)$")
    # The key among the stored files of version 0.1 is made up, like everything there.
    assert [name for name in names if unwanted.search(name) and not name.startswith("tests/fixtures/")] == []


def test_source_archive_leaves_what_somebody_keeps_in_the_folder(tmp_path) -> None:
    """Only what the settings name is packed, and packing twice gives the same bytes."""
    pytest.importorskip("hatchling")
    tree = tmp_path / "tree"
    (tree / "src" / "pydplib").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "src/pydplib/__init__.py", "src/pydplib/_version.py"):
        (tree / name).write_bytes((ROOT / name).read_bytes())
    for name in ("patients.csv", "ledger.json", "notes/patients.csv"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("patient,age\n1,50\n")
    first, second = build(tree, tmp_path / "first"), build(tree, tmp_path / "second")
    with tarfile.open(first.sdist) as archive:
        held = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert "src/pydplib/__init__.py" in held and not [name for name in held if "patients" in name or "ledger" in name]
    assert first.sdist.read_bytes() == second.sdist.read_bytes()
    assert first.wheel.read_bytes() == second.wheel.read_bytes()


def test_package_says_its_version_licence_python_and_extras(built) -> None:
    with zipfile.ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        said = Parser().parsestr(wheel.read(name).decode())
        assert any(name.endswith("/licenses/LICENSE") for name in wheel.namelist())
    assert said["Name"] == "pydplib" and said["License-Expression"] == "Apache-2.0"
    assert said["Version"] == VERSION and built.wheel.name == f"pydplib-{VERSION}-py3-none-any.whl"
    assert said["Requires-Python"] == PROJECT["requires-python"]
    assert set(said.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    needed = [line for line in said.get_all("Requires-Dist") if "extra ==" not in line]
    assert len(needed) == len(PROJECT["dependencies"]) == 6  # the light core


def test_version_lives_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"] and "version" not in PROJECT
    assigned = [
        path.name
        for path in (ROOT / "src/pydplib").rglob("*.py")
        if "migrations" not in path.parts and re.search(r"^__version__\s*=", path.read_text(encoding="utf-8"), re.M)
    ]
    assert assigned == ["_version.py"]


def test_all_is_every_extra_for_users() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.fullmatch(r"pydplib\[(.*)\]", everything)[1].split(","))
    assert named == set(extras) - {"all", "test", "docs", "dev"}
