"""What the operator sets, read from the environment once: where data live, which database, who may connect."""

from __future__ import annotations

import math
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from pydplib.errors import ParameterError
from pydplib.web.private_files import write_once

DEFAULT_HOME = "pydplib-data"
LOOKS_LIKE = "DATABASE_URL must look like postgresql://USER:PASSWORD@HOST:5432/DATABASE. Leave it out for SQLite."
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """How this server was set up.

    Args:
        home: The directory of the embedded database, keys and snapshots; readable by its owner alone.
        database_url: ``postgresql://...``, or none for SQLite in ``home``.
        hosts: The names under which browsers reach the server.
        behind_tls: Whether browsers come by https, through a proxy that says so in ``X-Forwarded-Proto``.
        demo: Whether this is the demonstration with synthetic data; only ever on loopback.
        gallery: Whether the page with all components of the design is shown.
        query_memory: The most memory that DuckDB takes for one question; beyond it, it works on disk.
        answer_seconds: A paid answer takes a multiple of this time, so that it does not tell how much data it read.
        least_epsilon: The least that a paid question costs.
        questions_per_day: The most paid questions of one organisation in one project in 24 hours.
        address: Where browsers reach the server, such as ``https://edc.example``: for links in notices.
        mail_url: The mail server for notices, ``smtps://USER@HOST:465``, or ``smtp://USER@HOST:587`` with STARTTLS.
            Without it no mail is sent.
        mail_password: The password of that user, from the file that the environment names.
        mail_from: The sender of notices.
        webhook_url: Where notices are posted as well, ``https://HOST/PATH``; none posts nothing.
    """

    home: Path
    database_url: str | None = field(default=None, repr=False)  # may hold a password
    hosts: tuple[str, ...] = LOOPBACK
    behind_tls: bool = False
    demo: bool = False
    gallery: bool = False
    query_memory: str = "1GB"
    answer_seconds: float = 0.5
    least_epsilon: float = 0.001
    questions_per_day: int = 500
    address: str = ""
    mail_url: str | None = field(default=None, repr=False)  # may hold a password
    mail_password: str = field(default="", repr=False)
    mail_from: str = ""
    webhook_url: str | None = field(default=None, repr=False)  # may hold a secret path

    def __post_init__(self) -> None:
        """Refuse notices whose links would lead nowhere."""
        if (self.mail_url or self.webhook_url) and not re.fullmatch(r"https?://[^/\s]+", self.address):
            raise ParameterError("Notices need PYDPLIB_ADDRESS, such as https://edc.example: they hold a link to it.")
        if self.mail_url and "@" not in self.mail_from:
            raise ParameterError("Mail needs PYDPLIB_MAIL_FROM, such as pydplib@edc.example.")
        if self.mail_url and not re.fullmatch(r"smtps?://[^/\s]+/?", self.mail_url):
            raise ParameterError("PYDPLIB_MAIL_URL looks like smtps://USER@HOST:465 or smtp://USER@HOST:587.")
        if self.webhook_url and not re.fullmatch(r"https?://[^\s]+", self.webhook_url):
            raise ParameterError("PYDPLIB_WEBHOOK_URL looks like https://HOST/PATH.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Configuration:
        """Read the settings: ``PYDPLIB_HOME``, ``DATABASE_URL``, ``PYDPLIB_HOSTS`` and others, as the docs list them.

        Examples:
            >>> Configuration.from_environment({"PYDPLIB_HOSTS": "edc.example"}).hosts
            ('edc.example',)
        """
        hosts = tuple(name.strip() for name in environment.get("PYDPLIB_HOSTS", "").split(",") if name.strip())
        return cls(
            home=Path(environment.get("PYDPLIB_HOME") or DEFAULT_HOME).absolute(),
            database_url=database_url(environment),
            hosts=hosts or LOOPBACK,
            behind_tls=_is_on(environment, "PYDPLIB_BEHIND_TLS"),
            demo=_is_on(environment, "PYDPLIB_DEMO"),
            gallery=_is_on(environment, "PYDPLIB_GALLERY"),
            query_memory=_memory(environment),
            answer_seconds=_number(environment, "PYDPLIB_ANSWER_SECONDS", 0.5, most=60),
            least_epsilon=_number(environment, "PYDPLIB_LEAST_EPSILON", 0.001, most=1),
            questions_per_day=int(_number(environment, "PYDPLIB_QUESTIONS_PER_DAY", 500, least=1, most=1_000_000)),
            address=environment.get("PYDPLIB_ADDRESS", "").strip().rstrip("/"),
            mail_url=environment.get("PYDPLIB_MAIL_URL", "").strip() or None,
            mail_password=_secret(environment, "PYDPLIB_MAIL_PASSWORD_FILE"),
            mail_from=environment.get("PYDPLIB_MAIL_FROM", "").strip(),
            webhook_url=environment.get("PYDPLIB_WEBHOOK_URL", "").strip() or None,
        )

    @property
    def database(self) -> dict[str, object]:
        """The database as Django's settings want it."""
        return sqlite_database(self.home) if self.database_url is None else postgres_database(self.database_url)

    def folder(self, *names: str) -> Path:
        """Return a folder in ``home``, made at the first call, into which its owner alone can look.

        Args:
            names: The way to it: ``"keys", "receipts"``.
        """
        path = self.home
        for step in ("", *names):  # one by one: parents made by mkdir would be open to others
            path = path / step
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        return path

    def key(self, name: str) -> bytes:
        """Return a secret of this server from a file in ``home``, made at the first call and never in the database.

        Args:
            name: ``"sessions"`` (Django's secret key) or ``"pseudonyms"``, and others of the kind.
        """
        path = self.folder("keys") / f"{name}.key"
        if not path.exists():
            write_once(path, secrets.token_hex(32).encode())
        value = path.read_bytes().strip()
        if len(value) < 32:
            raise ParameterError(f"The key file '{path.name}' is damaged: restore it from a backup.")
        return value


def database_url(environment: Mapping[str, str]) -> str | None:
    """Return ``DATABASE_URL``, with the password that ``DATABASE_PASSWORD_FILE`` holds if the URL has none.

    A password in a file is seen by no other process and in no listing of settings, as one in the environment is.

    Examples:
        >>> database_url({"DATABASE_URL": "postgresql://edc@db.example/reports"})
        'postgresql://edc@db.example/reports'
    """
    url, file = environment.get("DATABASE_URL") or None, environment.get("DATABASE_PASSWORD_FILE")
    if url is None or not file:
        return url
    parts = _parts(url)
    if parts.username is None or parts.password is not None:
        raise ParameterError(
            "With DATABASE_PASSWORD_FILE, DATABASE_URL names a user and no password: postgresql://USER@HOST:5432/DATABASE."
        )
    try:
        password = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ParameterError("The file that DATABASE_PASSWORD_FILE names cannot be read.") from None
    user, _, where = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}:{quote(password, safe='')}@{where}").geturl()


def sqlite_database(home: Path) -> dict[str, object]:
    """Return the embedded database: write lock taken at once, every commit on disk before it is believed."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(home / "pydplib.sqlite3"),
        "OPTIONS": {
            # Django's default (deferred) loses most concurrent writers to "database is locked".
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
            # What is deleted is overwritten: an erased identifier must not stay in the file.
            "PRAGMA secure_delete=ON;",
        },
    }


def postgres_database(url: str) -> dict[str, object]:
    """Return a PostgreSQL database from its URL.

    Examples:
        >>> postgres_database("postgresql://edc:s%40cret@db.example:5433/reports?sslmode=require")["PASSWORD"]
        's@cret'
    """
    parts = _parts(url)
    name = unquote(parts.path.lstrip("/"))
    if parts.scheme not in ("postgresql", "postgres") or not name:
        raise ParameterError(LOOKS_LIKE)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": dict(parse_qsl(parts.query)),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }


def _parts(url: str) -> SplitResult:
    """Take a database's address apart; the words of the library would repeat the password."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # looked at only now
    except ValueError:
        raise ParameterError(LOOKS_LIKE) from None
    return parts


def _secret(environment: Mapping[str, str], name: str) -> str:
    """Return what stands in the file that a setting names; nothing if it names none."""
    file = environment.get(name, "").strip()
    if not file:
        return ""
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"The file that {name} names cannot be read.") from None


def _memory(environment: Mapping[str, str]) -> str:
    text = environment.get("PYDPLIB_QUERY_MEMORY", "").strip() or "1GB"
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)? ?[MG]i?B", text):
        raise ParameterError(f"PYDPLIB_QUERY_MEMORY is an amount of memory, such as 500MB or 2GB. Got '{text}'.")
    return text


def _number(environment: Mapping[str, str], name: str, default: float, *, least: float = 0, most: float) -> float:
    text = environment.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        raise ParameterError(f"{name} is a number from {least:g} to {most:g}. Got '{text}'.")
    return value


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    word = environment.get(name, "").strip().lower()
    if word not in ("", "0", "1", "true", "false", "yes", "no", "on", "off"):
        raise ParameterError(f"{name} is a switch: set it to 1 or 0. Got '{word}'.")
    return word in ("1", "true", "yes", "on")
