"""A real ``pydplib serve``, started on a free loopback port and ended by SIGTERM."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Served, clean_environment, command, serving


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
