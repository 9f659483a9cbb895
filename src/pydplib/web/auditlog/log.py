"""Changes and their log lines in one transaction: ``with recorded(...) as log``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.db import transaction

from pydplib.budget.keys import canonical_json
from pydplib.web.auditlog.models import Head, Line

_token: ContextVar[str] = ContextVar("token", default="")


@contextmanager
def through_token() -> Iterator[Callable[[str], None]]:
    """Let every line inside name the token by which it came; yields what is told its key, never the token itself."""
    mark = _token.set("")
    try:
        yield _name_token
    finally:
        _token.reset(mark)


def _name_token(key: str) -> None:
    _token.set(key)


def _by_token() -> dict[str, str]:
    key = _token.get()
    return {"token": key} if key else {}


class HasKey(Protocol):
    """Something that addresses and lines name by a key, such as a hospital."""

    @property
    def key(self) -> str:
        """The key."""


class HospitalProject(HasKey, Protocol):
    """A project: this app is below the one that defines it."""

    @property
    def hospital(self) -> HasKey:
        """Whose it is."""


@dataclass(slots=True)
class Log:
    """What is to be written when the change is complete."""

    actor: str
    hospital: str = ""
    project: str = ""
    lines: list[Line] = field(default_factory=list)

    def add(self, action: str, subject: object = "", *, project: str | None = None, **details: object) -> None:
        """Note one line; it is written at the end of the transaction.

        Args:
            action: ``"thing.verb"``, such as ``"report.sign"``.
            subject: What it was done to: a key or a user name, never a patient's identifier.
            project: The project's key, if not the one of the whole change.
            details: Further facts as plain values. Never a cell of data.
        """
        self.lines.append(
            Line(
                hospital=self.hospital,
                project=self.project if project is None else project,
                actor=self.actor,
                action=action,
                subject=str(subject)[:200],
                details=canonical_json(details | _by_token()),
            )
        )


@contextmanager
def recorded(actor: object, *, project: HospitalProject | None = None, hospital: HasKey | None = None) -> Iterator[Log]:
    """Run a change in one transaction that also writes its lines; either all of it is kept, or nothing.

    The lines are written last, so that all writers lock the head of the chain after whatever else
    they lock, and cannot wait for each other in a circle.

    Args:
        actor: The user (or ``"system"``).
        project: The project (with ``.key`` and ``.hospital``), if it is about one.
        hospital: The hospital (with ``.key``); the project's, or else the actor's, if left out.
    """
    whose: object = hospital
    if whose is None:
        whose = project.hospital if project is not None else getattr(actor, "hospital", None)
    log = Log(
        actor=getattr(actor, "username", None) or str(actor),
        hospital=getattr(whose, "key", "") or "",
        project=getattr(project, "key", "") or "",
    )
    with transaction.atomic():
        yield log
        append(log.lines)


def append(lines: list[Line]) -> None:
    """Append lines to the chain; must run inside a transaction."""
    if not lines:
        return
    head = Head.objects.select_for_update().get(id=1)
    now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    for line in lines:
        line.number, line.previous, line.time = head.number + 1, head.hash, now
        line.hash = line.seal()
        head.number, head.hash = line.number, line.hash
    Line.objects.bulk_create(lines)
    head.save(update_fields=["number", "hash"])


def record(
    actor: object, action: str, subject: object = "", *, project: HospitalProject | None = None, **details: Any
) -> None:
    """Write one line that goes with no other change: a look, a refusal, a sign-in."""
    with recorded(actor, project=project) as log:
        log.add(action, subject, **details)
