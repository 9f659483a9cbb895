from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from pydplib.cli import _doctor_checks as checks
from pydplib.cli.doctor import command

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _no_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATABASE_URL", "PYDPLIB_HOSTS", "PYDPLIB_BEHIND_TLS", "PYDPLIB_DEMO"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYDPLIB_HOME", str(tmp_path / "home"))


def _findings() -> dict[str, checks.Finding]:
    return {finding.name: finding for finding in checks.examine(os.environ)}


def test_doctor_on_a_whole_installation_is_well() -> None:
    done = CliRunner().invoke(command)
    assert done.exit_code == 0, done.output
    assert "All is well." in done.output
    assert "DuckDB" in done.output


def test_doctor_knows_every_extra_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(checks.EXTRAS) == set(project["optional-dependencies"]) - {"all", "test", "dev", "docs"}


def test_doctor_looks_for_everything_that_an_extra_brings() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, names in checks.EXTRAS.items():
        direct = {re.split(r"[\[><=]", line)[0] for line in extras[extra] if not line.startswith("pydplib[")}
        assert set(names) == direct, extra
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert list(checks.CORE) == [line.split(">=")[0] for line in core]


def test_doctor_names_the_pip_command_of_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = checks._version
    monkeypatch.setattr(checks, "_version", lambda name: None if name == "plotly" else real(name))
    finding = _findings()["plot"]
    assert finding.state == "missing"
    assert "pip install 'pydplib[plot]'" in finding.words
    assert CliRunner().invoke(command).exit_code == 0


def test_doctor_finds_keys_that_others_can_read(tmp_path: Path) -> None:
    keys = tmp_path / "home" / "keys"
    keys.mkdir(parents=True, mode=0o700)
    (tmp_path / "home").chmod(0o700)
    (keys / "pseudonyms.key").write_text("00" * 32)
    (keys / "pseudonyms.key").chmod(0o644)
    assert _findings()["key pseudonyms"].state == "unsafe"
    assert CliRunner().invoke(command).exit_code == 1
    (keys / "pseudonyms.key").chmod(0o600)
    assert _findings()["key pseudonyms"].state == "ok"


@pytest.mark.parametrize("file", ["pydplib.sqlite3", "ledger.head.json"])
def test_doctor_finds_a_database_that_others_can_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / file).write_text("x")
    (tmp_path / "home" / file).chmod(0o640)
    found = [finding for finding in checks.examine(os.environ) if finding.state == "unsafe"]
    assert [finding.words for finding in found] == [f"others on this machine can read it: chmod 600 {file}"]


def test_doctor_reads_the_password_from_its_file_and_never_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://edc@127.0.0.1:1/reports")
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    assert "cannot be read" in _findings()["PostgreSQL"].words
    (tmp_path / "password").write_text("swordfish")
    done = CliRunner().invoke(command)
    assert done.exit_code == 1 and "does not let us in" in done.output and "swordfish" not in done.output


def test_doctor_finds_a_server_beyond_this_machine_without_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setenv("PYDPLIB_HOSTS", "edc.example")
    assert _findings()["https"].state == "unsafe"
    monkeypatch.setenv("PYDPLIB_BEHIND_TLS", "1")
    assert _findings()["https"].state == "ok"


def test_doctor_never_repeats_the_database_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://edc:hunter2@127.0.0.1:1/reports")
    done = CliRunner().invoke(command, ["--json"])
    assert done.exit_code == 1
    assert "hunter2" not in done.output
    found = {finding["name"]: finding for finding in json.loads(done.output)["findings"]}
    assert found["PostgreSQL"]["state"] == "broken"


def test_a_fresh_home_is_closed_to_others(tmp_path: Path) -> None:
    from pydplib.web.configuration import Configuration

    Configuration(home=tmp_path / "home").key("sessions")
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0
    assert _findings()["home"].state == "ok"
