"""Notices by a real mail server and a real webhook on loopback: no content, tried again, never lost, never too many."""

from __future__ import annotations

import datetime as dt
import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from web_home import make_web_home
from web_objects import MAKERS, MEMBERS, World, make_project

ADDRESS = "https://edc.example"


class MailServer(socketserver.ThreadingTCPServer):
    """As much of SMTP as a client needs; keeps what it was given, and refuses as long as it is told to."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailTalk)
        self.mails: list[str] = []
        self.refuse = 0


class MailTalk(socketserver.StreamRequestHandler):
    server: MailServer

    def say(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())

    def handle(self) -> None:
        self.say("220 test")
        while line := self.rfile.readline():
            word = line[:4].upper()
            if word == b"QUIT":
                self.say("221 bye")
                return
            if word == b"DATA" and self.server.refuse:
                self.server.refuse -= 1
                self.say("451 later")
            elif word == b"DATA":
                self.say("354 go on")
                self.server.mails.append(b"".join(iter(self.rfile.readline, b".\r\n")).decode())
                self.say("250 taken")
            else:
                self.say("250 ok")


class Hook(http.server.BaseHTTPRequestHandler):
    calls: list[dict[str, Any]] = []  # noqa: RUF012
    answer = 204

    def do_POST(self) -> None:
        self.calls.append({"path": self.path, **json.loads(self.rfile.read(int(self.headers["Content-Length"])))})
        self.send_response(self.answer)
        if self.answer == 302:
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")  # type: ignore[attr-defined]
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *args: object) -> None:
        """Stay silent."""


def _served(server: Any) -> Iterator[Any]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(timeout=5)


@pytest.fixture
def mail_server() -> Iterator[MailServer]:
    yield from _served(MailServer())


@pytest.fixture
def hook() -> Iterator[Any]:
    Hook.calls, Hook.answer = [], 204
    yield from _served(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook))


@pytest.fixture
def configured(mail_server: MailServer, hook: Any, settings_of: Any) -> None:
    settings_of(
        address=ADDRESS,
        mail_url=f"smtp://127.0.0.1:{mail_server.server_address[1]}",
        mail_from="pydplib@edc.example",
        webhook_url=f"http://127.0.0.1:{hook.server_address[1]}/in?room=1",
    )


@pytest.fixture
def settings_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    from django.conf import settings

    def change(**values: Any) -> None:
        monkeypatch.setattr(settings, "CONFIGURATION", replace(settings.CONFIGURATION, **values))

    return change


@pytest.fixture
def world(db: None) -> World:
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member

    hospital = Hospital.objects.create(name="CANARY-hospital")
    here = World(hospital, make_project(hospital, "CANARY-project"))
    for name, role in MEMBERS.items():
        here.people[name] = User.objects.create_user(name, hospital=hospital)
        Member.objects.create(project=here.project, user=here.people[name], role=role)
    return here


def prefer(user: Any, **values: Any) -> Any:
    from pydplib.web.notices.models import NoticePreference

    return NoticePreference.objects.create(user=user, **values)


def beat(hours: float = 0) -> tuple[int, int]:
    """Do what the job does each minute; return how many were written and sent."""
    from django.utils import timezone

    from pydplib.web.notices.outbox import send_due, write_notices

    now = timezone.now() + dt.timedelta(hours=hours)
    return write_notices(now), send_due(now)


@pytest.mark.usefixtures("configured")
def test_owner_is_told_once_that_something_waits_and_nothing_else(world: World, mail_server: Any) -> None:
    prefer(world.owner, mail="olivia@example.org")
    prefer(world.people["third_party"], mail="tara@example.org")
    assert beat() == (0, 0), "nothing waits"
    MAKERS["projects.AccessRequest"](world)
    assert beat() == (1, 1)
    assert beat() == (0, 0), "told already"
    assert beat(hours=200) == (0, 0), "and nothing came on top of it"
    (mail,) = mail_server.mails
    assert "To: olivia@example.org" in mail
    assert f"Something waits for you: {ADDRESS}" in mail
    for word in ("CANARY", "request", "budget", "collaborator", world.project.key):
        assert word not in mail


@pytest.mark.usefixtures("configured")
def test_no_more_often_than_chosen(world: World, mail_server: Any) -> None:
    from pydplib.web.projects.models import AccessRequest

    prefer(world.owner, mail="olivia@example.org", every="hour")
    prefer(world.people["officer"], mail="dana@example.org")
    asked = MAKERS["projects.AccessRequest"](world)
    assert beat() == (1, 1)
    asked.pk, asked.key, asked.kind = None, "f" * 16, AccessRequest.Kind.FIELDS
    asked.save()
    assert beat(hours=0.9) == (0, 0)
    assert beat(hours=1.1) == (1, 1)
    assert len(mail_server.mails) == 2


@pytest.mark.usefixtures("configured")
def test_webhook_learns_the_name_and_a_redirect_is_not_followed(world: World, hook: Any) -> None:
    from pydplib.web.notices.models import Notice

    prefer(world.owner, webhook=True)
    MAKERS["projects.AccessRequest"](world)
    Hook.answer = 302
    assert beat() == (1, 0)
    assert [call["path"] for call in Hook.calls] == ["/in?room=1"], "elsewhere was not asked"
    Hook.answer = 204
    assert beat(hours=0.01) == (0, 0), "not at once again"
    assert beat(hours=0.1) == (0, 1)
    text = f"Something waits for you: {ADDRESS}"
    assert Hook.calls[1] == {"path": "/in?room=1", "text": text, "user": "owner", "link": ADDRESS}
    assert Notice.objects.get().state == "sent"


@pytest.mark.usefixtures("configured")
def test_failures_are_retried_later_and_later_and_end(world: World, mail_server: Any) -> None:
    from pydplib.web.notices.models import Notice
    from pydplib.web.notices.outbox import MOST_TRIES

    prefer(world.owner, mail="olivia@example.org")
    MAKERS["projects.AccessRequest"](world)
    mail_server.refuse = 2
    assert beat() == (1, 0)
    assert beat(hours=0.02) == (0, 0)
    assert beat(hours=0.06) == (0, 1)
    mail_server.refuse = 99
    Notice.objects.update(state="waiting", tries=0)
    assert sum(beat(hours=hours)[1] for hours in range(1, 23)) == 0
    assert Notice.objects.get().state == "given_up"
    assert 99 - mail_server.refuse == MOST_TRIES


@pytest.mark.usefixtures("configured")
def test_turning_notices_off_stops_what_is_on_its_way(world: World, mail_server: Any, sign_in: Any) -> None:
    client = sign_in(world.owner)
    client.post("/account/notices", {"mail": "olivia@example.org", "every": "day"})
    MAKERS["projects.AccessRequest"](world)
    mail_server.refuse = 1
    assert beat() == (1, 0)
    client.post("/account/notices", {"mail": "", "every": "day"})
    assert beat(hours=30) == (0, 0)
    assert mail_server.mails == []


def test_off_by_default_and_the_page_says_so(world: World, sign_in: Any) -> None:
    from pydplib.web.notices.models import NoticePreference
    from pydplib.web.notices.outbox import send_by_the_minute

    assert send_by_the_minute() is None
    client = sign_in(world.owner)
    assert "sends no notices" in client.get("/account/notices").content.decode()
    client.post("/account/notices", {"mail": "olivia@example.org", "every": "day"})
    assert not NoticePreference.objects.exists()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://169.254.169.254/latest", "forbidden address"),
        ("https://[fe80::1]/x", "forbidden address"),
        ("https://0.0.0.0/x", "forbidden address"),
        ("http://192.0.2.1/x", "this machine alone"),
    ],
)
def test_addresses_that_no_webhook_has(url: str, words: str, settings_of: Any) -> None:
    from pydplib.web.notices.channels import NotSentError, call_webhook

    settings_of(address=ADDRESS, webhook_url=url)
    with pytest.raises(NotSentError, match=words):
        call_webhook("olivia")


@pytest.mark.parametrize(
    "values",
    [
        {"PYDPLIB_WEBHOOK_URL": "https://chat.example/x"},
        {"PYDPLIB_MAIL_URL": "smtps://mail.example", "PYDPLIB_ADDRESS": ADDRESS},
        {"PYDPLIB_MAIL_URL": "mail.example", "PYDPLIB_ADDRESS": ADDRESS, "PYDPLIB_MAIL_FROM": "a@b"},
        {"PYDPLIB_WEBHOOK_URL": "file:///etc/passwd", "PYDPLIB_ADDRESS": ADDRESS},
        {"PYDPLIB_MAIL_PASSWORD_FILE": "/no/such/file"},
    ],
)
def test_half_a_configuration_is_refused_at_the_start(values: dict[str, str]) -> None:
    from pydplib.errors import ParameterError
    from pydplib.web.configuration import Configuration

    with pytest.raises(ParameterError):
        Configuration.from_environment(values)


DIES = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from web_objects import MAKERS, World, make_project
from pydplib.web.notices import channels, outbox
from pydplib.web.notices.models import NoticePreference
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Member
hospital = Hospital.objects.create(name="Here")
world = World(hospital, make_project(hospital))
for name in ("owner", "collaborator"):
    world.people[name] = User.objects.create_user(name, hospital=hospital)
    Member.objects.create(project=world.project, user=world.people[name], role=name)
NoticePreference.objects.create(user=world.owner, mail="olivia@example.org")
MAKERS["projects.AccessRequest"](world)
channels.send_mail = lambda *args, **more: os.kill(os.getpid(), signal.SIGKILL)
outbox.write_notices()
outbox.send_due()
"""
GOES_ON = """
import datetime as dt
from django.utils import timezone
from pydplib.web.notices import outbox
now = timezone.now()
later = (now, now + outbox.IN_HAND, now + dt.timedelta(days=2))
print(outbox.write_notices(now), *[outbox.send_due(when) for when in later])
"""


@pytest.mark.usefixtures("_database")
def test_a_kill_while_sending_loses_nothing(tmp_path: Path, mail_server: Any) -> None:
    with make_web_home(tmp_path / "home") as home:
        home.environment.update(
            PYDPLIB_ADDRESS=ADDRESS,
            PYDPLIB_MAIL_FROM="pydplib@edc.example",
            PYDPLIB_MAIL_URL=f"smtp://127.0.0.1:{mail_server.server_address[1]}",
        )
        done = home.python(DIES, str(Path(__file__).parents[2] / "support"))
        assert done.returncode == -9, done.stderr[-2000:]
        assert mail_server.mails == []
        after = home.python(GOES_ON)
        assert after.stdout.split() == ["0", "0", "1", "0"], after.stderr[-2000:]
        assert len(mail_server.mails) == 1
