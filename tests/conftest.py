"""What all tests share: servers run on one worker each, and skips are said out loud."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# Deadlines depend on the machine; examples are repeatable so that a red run can be looked at.
settings.register_profile(
    "pydplib", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("pydplib")

SERVERS = ("spark", "postgres", "browser")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # One server of a kind per run, not one per worker.
    for item in items:
        for server in SERVERS:
            if item.get_closest_marker(server):
                item.add_marker(pytest.mark.xdist_group(server))


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
