"""What all tests share: one server of a kind per run, and skips that are said out loud."""

from __future__ import annotations

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
SERVERS = {"spark": ("spark", "cluster"), "postgres": ("postgres",)}


def _server_of(nodeid: str) -> str | None:
    return next((server for server, words in SERVERS.items() if any(word in nodeid for word in words)), None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByServerOrFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _server_of(nodeid) or nodeid.split("::", 1)[0]

    return ByServerOrFile(config, log)


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
