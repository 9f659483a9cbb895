"""What all tests share: one server of a kind per run, and skips that are said out loud."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Deadlines depend on the machine; examples are repeatable so that a red run can be looked at.
settings.register_profile(
    "pydplib", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("pydplib")

# Marker -> words in a test's id. Tests that share a server run on one worker, so that it starts once;
# the scheduler knows ids only, not markers.
APART = ("::test_every_cell_alone_",)  # take minutes each and share nothing: any worker, in any order
SERVERS = {"spark": ("spark", "cluster"), "postgres": ("postgres",)}


def _server_of(nodeid: str) -> str | None:
    return next((server for server, words in SERVERS.items() if any(word in nodeid for word in words)), None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByServerOrFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            name = nodeid if any(word in nodeid for word in APART) else nodeid.split("::", 1)[0]
            return _server_of(nodeid) or name

    return ByServerOrFile(config, log)


# Where the generator of releases itself is tried, by tests that raise a false alarm at most once in a million runs.
REAL_NOISE = ("tests/noise/", "tests/unit/noise/")


@contextmanager
def same_noise(name: str) -> Iterator[None]:
    """Draw the noise of this thread from a stream that the name decides: what a test sees is the same in every run.

    Unlike ``pydplib.noise.testing.seeded`` this is no tap and no ledger knows of it. Other threads, and servers and
    commands in processes of their own, draw real noise: tests of them must not assert
    how large it is.
    """
    from pydplib.noise import randomness
    from pydplib.noise.testing import SeededSource

    before = getattr(randomness._local, "source", None)
    randomness._local.source = SeededSource(zlib.crc32(name.encode()))
    try:
        yield
    finally:
        randomness._local.source = before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let every test see the same noise in every run, whatever ran before it."""
    if item.nodeid.startswith(REAL_NOISE):
        return (yield)
    with same_noise(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
    """What several tests share sees the same noise too, whichever of them comes first."""
    if fixturedef.scope == "function" or request.node.nodeid.startswith(REAL_NOISE):
        return (yield)
    with same_noise(f"{fixturedef.baseid} {fixturedef.argname} {request.param_index}"):
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for server in SERVERS:
            if item.get_closest_marker(server) and _server_of(item.nodeid) is None:
                raise pytest.UsageError(f"{item.nodeid} needs {server}: say so in the test's or the file's name")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    terminalreporter.section("NOT TESTED HERE", sep="!", red=True, bold=True)
    reasons: dict[str, int] = {}
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:4d} x {reason}", red=True)
