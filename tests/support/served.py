"""A real ``pydplib serve``, started on a free loopback port and ended by SIGTERM."""

from __future__ import annotations

import http.client
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Answer:
    """What the server answered."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def cookies(self) -> dict[str, str]:
        set_cookies = [value for key, value in self.headers if key.lower() == "set-cookie"]
        return dict(value.strip().split(";")[0].split("=", 1) for value in set_cookies)


@dataclass
class Served:
    """A running server and what it printed."""

    process: subprocess.Popen[str]
    port: int
    home: Path
    lines: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def setup_link(self) -> str:
        """The one-time link of the first start."""
        return next(line for line in self.lines if "/welcome/" in line).strip()

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        got = Answer(answer.status, answer.getheaders(), answer.read())
        connection.close()
        return got

    def links(self) -> dict[str, str]:
        """The demonstration's sign-in links, as paths, by role; the first of two who have the same."""
        found = [re.match(r"  (\S.*?) \(\w+\)\s+http://[^/]+(/welcome/\S+)", line) for line in self.lines]
        return {match[1]: match[2] for match in reversed(found) if match}

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


def command(*arguments: str) -> list[str]:
    """Return the command line of ``pydplib serve``."""
    return [sys.executable, "-c", "from pydplib.cli import main; main()", "serve", *arguments]


def clean_environment(**more: str) -> dict[str, str]:
    """Return this process's environment without whatever would set up a server."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYDPLIB_", "DJANGO_", "DATABASE_"))}
    return kept | more


@contextmanager
def serving(home: Path, *arguments: str, **environment: str) -> Iterator[Served]:
    """Start a server, wait until it says that it is ready, and end it."""
    process = subprocess.Popen(
        command("--port", "0", "--home", str(home), *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(PYTHONUNBUFFERED="1", **environment),
        cwd=home.parent,
    )
    lines: list[str] = []
    watchdog = threading.Timer(240, process.kill)  # a busy machine is slow; a hung server ends all the same
    watchdog.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("Ready"):
                break
        else:
            raise AssertionError("the server did not start:\n" + "\n".join(lines))
        watchdog.cancel()
        served = Served(process, _port_of(lines), home, lines)
        reader = threading.Thread(target=lambda: lines.extend(text.rstrip("\n") for text in process.stdout or ()))
        reader.start()
        yield served
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=120)
        reader.join(timeout=60)
    finally:
        watchdog.cancel()
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _port_of(lines: list[str]) -> int:
    """The port of the last address on loopback: behind TLS the very last is the public one."""
    found = re.findall(r"http://127\.0\.0\.1:(\d+)", "\n".join(lines))
    return int(found[-1])


@contextmanager
def own_database(server: str | None) -> Iterator[dict[str, str]]:
    """Return the environment of a server with an empty database of its own: a new one of PostgreSQL, or none."""
    if server is None:
        yield {}
        return
    import psycopg

    name = f"served_{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    try:
        yield {"DATABASE_URL": server.rsplit("/", 1)[0] + "/" + name}
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
