"""``pydplib serve`` refuses in plain words, before anything is started."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from pydplib.cli import cli
from pydplib.errors import EngineError, MissingExtraError, ParameterError, PolicyError
from pydplib.web.server import check_reach, is_loopback, open_socket


def _run(*arguments: str) -> Any:
    from click.testing import CliRunner

    return CliRunner().invoke(cli, ["serve", *arguments], catch_exceptions=True)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "edc.example", "127.0.0.1.evil.example", ""])
def test_address_beyond_loopback_needs_tls(host) -> None:
    result = _run("--host", host)
    assert isinstance(result.exception, PolicyError) and "--behind-tls" in str(result.exception)
    check_reach(host, behind_tls=True, demo=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"])
def test_loopback_needs_none(host) -> None:
    assert is_loopback(host)
    check_reach(host, behind_tls=False, demo=True)


@pytest.mark.parametrize("arguments", [["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--behind-tls"], ["--behind-tls"]])
def test_demo_serves_this_machine_alone(arguments) -> None:
    result = _run("--demo", *arguments)
    assert isinstance(result.exception, PolicyError) and "this machine alone" in str(result.exception)


def test_missing_extra_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "waitress" else real(name, *a))
    result = _run("--demo")
    assert isinstance(result.exception, MissingExtraError) and "pip install" in str(result.exception)
    assert "web" in str(result.exception)


def test_taken_port_is_said_with_another_to_try() -> None:
    with open_socket("127.0.0.1", 0) as first:
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(EngineError, match=f"Port {port} is taken.*--port {port + 1}"):
            open_socket("127.0.0.1", port)


def test_foreign_address_is_said() -> None:
    with pytest.raises(ParameterError, match="not an address of this machine"):
        open_socket("192.0.2.1", 0)
    with pytest.raises(ParameterError, match="not an address of this machine"):
        open_socket("no-such-host.invalid", 0)


def test_help_names_every_option() -> None:
    said = _run("--help").output
    for option in ("--demo", "--host", "--port", "--home", "--behind-tls", "--proxy", "--open"):
        assert option in said


def test_demo_folder_with_its_mark_is_emptied(tmp_path: Path) -> None:
    from pydplib.web.startup import MARK
    from pydplib.web.startup import clear_demonstration as clear

    clear(tmp_path)
    (tmp_path / "pydplib.sqlite3").write_text("old")
    (tmp_path / "keys").mkdir()
    outside = tmp_path.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (tmp_path / "link").symlink_to(outside)
    clear(tmp_path)
    assert [item.name for item in tmp_path.iterdir()] == [MARK]
    assert (outside / "kept").read_text() == "kept", "links are not followed"
