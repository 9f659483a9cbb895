"""Large bodies: a total for all that are on their way in, and room on the disk, looked at before they are read."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest

from pydplib.web import server

HEAD = b"POST /import HTTP/1.1\r\nHost: a\r\nCookie: session=x\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that parses the head of an upload by somebody who is signed in."""
    from waitress.adjustments import Adjustments

    monkeypatch.setattr(server, "is_signed_in", lambda cookies: True)
    monkeypatch.setattr(server, "ALL_BODIES", 100_000_000)
    kind = server._channel_class().parser_class

    def read(size: int) -> Any:
        parser = kind(Adjustments(max_request_body_size=server.LARGE_BODY))
        parser.received(HEAD % size)
        return parser

    return read


def test_bodies_beyond_the_total_are_refused_until_others_have_ended(parse: Any) -> None:
    first = parse(60_000_000)
    assert first.error is None and not first.completed
    second = parse(60_000_000)
    assert second.error.code == 503 and second.completed, "refused at once, unread"
    assert parse(1_000_000).error is None, "small ones pass"
    del first
    gc.collect()
    assert parse(60_000_000).error is None


def test_bodies_are_refused_while_the_disk_is_full(parse: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.shutil, "disk_usage", lambda folder: SimpleNamespace(free=60_000_000))
    assert parse(20_000_000).error.code == 503
    assert parse(5_000_000).error is None


def test_only_the_session_of_somebody_who_is_signed_in_counts(db: None, make_user: Any, sign_in: Any) -> None:
    from django.contrib.sessions.backends.db import SessionStore

    client = sign_in(make_user("rosa"))
    key = client.session.session_key
    assert server.is_signed_in(f"a=b; session={key}")
    client.post("/logout")
    assert not server.is_signed_in(f"session={key}")
    half_way = SessionStore()
    half_way["pending"] = {"user": 1}
    half_way.save()
    for cookies in (f"session={half_way.session_key}", "session=", "", "session=" + "a" * 32, "\0=\0; session=\0"):
        assert not server.is_signed_in(cookies), cookies
