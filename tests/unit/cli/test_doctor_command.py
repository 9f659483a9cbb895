from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from pydplib.cli.platform import doctor as checks
from pydplib.cli.platform.doctor import command

ROOT = Path(__file__).parents[3]
HEAD = '{"format": "pydplib-ledger-head/1", "ledger": "0f", "entries": 0, "hash": "00"}'


@pytest.fixture(autouse=True)
def _no_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "DATABASE_URL",
        "DATABASE_PASSWORD_FILE",
        "JAVA_HOME",
        "PYDPLIB_HOSTS",
        "PYDPLIB_BEHIND_TLS",
        "PYDPLIB_DEMO",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYDPLIB_HOME", str(tmp_path / "home"))


def _findings() -> dict[str, checks.Finding]:
    return {finding.name: finding for finding in checks.examine(os.environ)}


def _platform() -> dict[str, checks.Finding]:
    return {finding.name: finding for finding in checks.examine_platform(os.environ)}


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
    monkeypatch.setattr(checks, "_version", lambda name: None if name == "kaleido" else real(name))
    assert "pydplib[plot]" in _findings()["PNG and SVG"].words  # a browser alone draws nothing
    assert CliRunner().invoke(command).exit_code == 0


def test_doctor_finds_keys_that_others_can_read(tmp_path: Path) -> None:
    keys = tmp_path / "home" / "keys"
    keys.mkdir(parents=True, mode=0o700)
    (tmp_path / "home").chmod(0o700)
    (keys / "pseudonyms.key").write_text("00" * 32)
    (keys / "pseudonyms.key").chmod(0o644)
    assert _platform()["key pseudonyms"].state == "unsafe"
    assert CliRunner().invoke(command).exit_code == 1
    (keys / "pseudonyms.key").chmod(0o600)
    assert _platform()["key pseudonyms"].state == "ok"


@pytest.mark.parametrize("file", ["pydplib.sqlite3", "ledger.head.json"])
def test_doctor_finds_a_database_that_others_can_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / file).write_text(HEAD if file.endswith("json") else "SQLite format 3\0")
    (tmp_path / "home" / file).chmod(0o640)
    (tmp_path / "home" / "keys").mkdir(mode=0o700)
    (tmp_path / "home" / "keys" / "sessions.key").write_text("00" * 32)
    (tmp_path / "home" / "keys" / "sessions.key").chmod(0o600)
    found = [finding for finding in _platform().values() if finding.state == "unsafe"]
    assert [finding.words for finding in found] == [f"others on this machine can read it: chmod 600 {file}"]


def test_doctor_reads_the_password_from_its_file_and_never_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://edc@127.0.0.1:1/reports")
    monkeypatch.setenv("DATABASE_PASSWORD_FILE", str(tmp_path / "password"))
    assert "cannot be read" in _findings()["PostgreSQL"].words
    (tmp_path / "password").write_text("swordfish")
    (tmp_path / "password").chmod(0o644)
    assert _platform()["password file"].state == "unsafe"
    (tmp_path / "password").chmod(0o600)
    assert _platform()["password file"].state == "ok"
    done = CliRunner().invoke(command)
    assert done.exit_code == 1 and "does not let us in" in done.output and "swordfish" not in done.output


@pytest.mark.parametrize(
    "url", ["mysql://u:hunter2@h/d", "postgresql://u:hunter2@h:p/d", "postgresql://u:hunter2@[h/d"]
)
def test_doctor_tells_an_address_that_is_none_from_a_server_that_refuses(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "password").write_text("swordfish")
    for address, file in ((url, ""), (url.replace(":hunter2", ""), str(tmp_path / "password"))):
        monkeypatch.setenv("DATABASE_URL", address)
        monkeypatch.setenv("DATABASE_PASSWORD_FILE", file)
        done = CliRunner().invoke(command)
        assert done.exit_code == 1 and done.output.count("must look like postgresql://") == 2
        assert "hunter2" not in done.output and "swordfish" not in done.output


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which all is well."""
    home = tmp_path / "home"
    for folder in (home, home / "keys"):
        folder.mkdir(mode=0o700)
    (home / "keys" / "sessions.key").write_text("00" * 32)
    (home / "pydplib.sqlite3").write_bytes(b"SQLite format 3\0")
    (home / "ledger.head.json").write_text(HEAD)
    for path in home.rglob("*.*"):
        path.chmod(0o600)
    assert {finding.state for finding in _platform().values()} == {"ok"}
    return home


@pytest.mark.parametrize(
    ("file", "name", "words"),
    [
        ("keys/sessions.key", "key sessions", "damaged"),
        ("pydplib.sqlite3", "database", "damaged"),
        ("ledger.head.json", "ledger's head", "damaged"),
    ],
)
def test_doctor_finds_what_is_damaged(home: Path, file: str, name: str, words: str) -> None:
    (home / file).write_text("{")
    assert _platform()[name].state == "broken" and words in _platform()[name].words


def test_doctor_finds_a_database_whose_keys_are_gone(home: Path) -> None:
    (home / "keys" / "sessions.key").unlink()
    assert _platform()["keys"].state == "broken"
    (home / "keys").rmdir()
    assert "from a backup before the server starts" in _platform()["keys"].words


def test_doctor_finds_a_folder_of_keys_that_others_can_write_to(home: Path) -> None:
    (home / "keys").chmod(0o722)
    assert _platform()["keys"].words == "others on this machine can write to it: chmod 700 keys"


def test_doctor_goes_on_after_what_it_cannot_look_at(home: Path, tmp_path: Path) -> None:
    (home / "keys" / "pseudonyms.key").symlink_to(tmp_path / "nowhere")
    found = _platform()
    assert found["key pseudonyms"].state == "broken" and found["https"].state == "ok"


def test_doctor_says_when_the_home_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("x")
    assert _platform()["home"].state == "broken"
    (tmp_path / "home").unlink()
    (tmp_path / "home").symlink_to(tmp_path / "nowhere")
    assert _platform()["home"].state == "broken"


def test_doctor_says_when_the_home_belongs_to_somebody_else(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)
    assert _platform()["home"].state == "broken"


def test_doctor_finds_versions_that_are_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    real = checks._version
    monkeypatch.setattr(checks, "_version", lambda name: {"click": "8.0.9", "django": "4.2"}.get(name) or real(name))
    found = _findings()
    assert found["click"].state == found["web"].state == "broken"
    assert "click 8.0.9, where 8.2 is needed" in found["click"].words and "django 4.2" in found["web"].words
    assert checks._numbers("2.0.0rc1") == checks._numbers("2.0") < checks._numbers("2.0.10") < checks._numbers("10")


def test_doctor_finds_a_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(checks, "_version", lambda name: "4.0.0")
    assert _findings()["Spark"].state == "broken"


def test_doctor_finds_a_server_beyond_this_machine_without_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setenv("PYDPLIB_HOSTS", "edc.example")
    assert _platform()["https"].state == "unsafe"
    monkeypatch.setenv("PYDPLIB_BEHIND_TLS", "1")
    assert _platform()["https"].state == "ok"


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
    assert _platform()["home"].state == "ok"
