"""``pydplib people``: the operator helps somebody back in."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from served import clean_environment

from pydplib.errors import EngineError, ParameterError


@pytest.fixture
def run(db: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command on the database of the tests."""
    from click.testing import CliRunner

    from pydplib.cli import cli
    from pydplib.cli.platform import people

    monkeypatch.setattr(people, "open_platform", lambda home: None)
    return lambda *arguments: CliRunner().invoke(cli, ["people", *arguments])


def test_list_shows_who_can_sign_in(run, owner, make_user, phone) -> None:
    make_user("rosa", is_active=False)
    phone(owner)
    said = run("list").output
    assert "ada" in said and "St. Example" in said and "disabled" in said


def test_list_says_as_the_pages_do_who_has_been_in_by_a_link(run, hospital) -> None:
    from django.utils import timezone

    from pydplib.web.people.models import User

    User.objects.create_user("rosa", hospital=hospital)
    assert "invited" in run("list").output
    User.objects.update(last_login=timezone.now())
    said = run("list").output
    assert "active" in said and "invited" not in said


def test_link_lets_a_locked_out_owner_in_again(run, owner, client, phone, sign_in, lines) -> None:
    phone(owner)
    session = sign_in(owner)
    owner.is_active = False
    owner.save()
    path = run("link", "ADA", "--lost-phone").output.split()[-1]
    assert session.get("/account").status_code == 302
    client.get(path)
    answer = client.post("/welcome", {"password": "seven unrelated words", "again": "seven unrelated words"})
    assert answer.url == "/account/second-factor", "the phone is gone: a new one is due at once"
    assert client.get("/hospital").url == "/account/second-factor", "a new phone is asked for"
    assert lines()[:2] == ["user.remove_second_factor", "user.make_link"]


def test_link_alone_leaves_the_phone(run, owner, client, phone) -> None:
    phone(owner)
    client.get(run("link", "ada").output.split()[-1])
    answer = client.post("/welcome", {"password": "seven unrelated words", "again": "seven unrelated words"})
    assert answer.url == "/login/code"


def test_unknown_name_is_said_with_the_nearest(run, owner) -> None:
    result = run("link", "adda")
    assert isinstance(result.exception, ParameterError) and "ada" in str(result.exception)


def test_folder_without_a_server_is_said(tmp_path, monkeypatch) -> None:
    from pydplib.cli.platform.home import open_platform

    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(EngineError, match="--home"):
        open_platform(tmp_path)
    assert not list(tmp_path.iterdir())


def test_database_without_a_platform_is_said(tmp_path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "pydplib.sqlite3").touch()
    command = [sys.executable, "-m", "pydplib", "people", "list", "--home", str(home)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=clean_environment())
    assert done.returncode == EngineError.exit_code and "Start it once: pydplib serve" in done.stderr
