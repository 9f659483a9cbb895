"""A real ``pydplib serve``, started on a free loopback port and ended by SIGTERM."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Answer:
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

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        got = Answer(answer.status, answer.getheaders(), answer.read())
        connection.close()
        return got

    def links(self) -> dict[str, str]:
        """The sign-in links, as paths, by role."""
        found = [re.match(r"  (\S.*?)\s+http://[^/]+(/welcome/\S+)", line) for line in self.lines]
        return {match[1]: match[2] for match in found if match}

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from pydplib.cli import main; main()", "serve", *arguments]


def clean_environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYDPLIB_", "DJANGO_", "DATABASE_"))}
    return kept | more


@contextmanager
def serving(home: Path, *arguments: str, **environment: str) -> Iterator[Served]:
    process = subprocess.Popen(
        command("--port", "0", "--home", str(home), *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=clean_environment(PYTHONUNBUFFERED="1", **environment),
        cwd=home.parent,
    )
    lines: list[str] = []
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("Ready"):
                break
        else:
            pytest.fail("the server did not start:\n" + "\n".join(lines))
        watchdog.cancel()
        served = Served(process, _port_of(lines), home, lines)
        reader = threading.Thread(target=lambda: lines.extend(text.rstrip("\n") for text in process.stdout or ()))
        reader.start()
        yield served
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=20)
        reader.join(timeout=10)
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


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One demonstration for all tests that only look."""
    with serving(tmp_path_factory.mktemp("demo") / "home", "--demo") as served:
        yield served


@pytest.fixture
def serve_at() -> Any:
    return serving


@pytest.fixture
def run_serve(tmp_path: Path) -> Any:
    """Run ``pydplib serve`` that is expected to end by itself; return exit code and output."""

    def run(*arguments: str, **environment: str) -> tuple[int, str]:
        done = subprocess.run(
            command(*arguments),
            capture_output=True,
            text=True,
            timeout=60,
            cwd=tmp_path,
            env=clean_environment(**environment),
        )
        return done.returncode, done.stdout + done.stderr

    return run
