"""The table of promises and tests leads to tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = (ROOT / "docs/reference/security-tests.md").read_text("utf-8")
LINES = [line for line in TABLE.splitlines() if re.match(r"\| \d", line)]


def names_of(line: str) -> list[str]:
    return re.findall(r"`(tests/[\w/]+\.py::\w+)`", line)


def is_there(name: str) -> bool:
    file, test = name.split("::")
    path = ROOT / file
    return path.exists() and any(
        isinstance(node, ast.FunctionDef) and node.name == test for node in ast.parse(path.read_text("utf-8")).body
    )


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[2:40])
def test_every_promise_has_tests_that_exist(line: str) -> None:
    assert names_of(line)
    assert [name for name in names_of(line) if not is_there(name)] == []


def test_the_thirteen_promises_are_all_there() -> None:
    assert {int(re.match(r"\| (\d+)", line)[1]) for line in LINES} == set(range(1, 14))  # type: ignore[index]


def test_a_name_that_leads_nowhere_is_found() -> None:
    assert not is_there("tests/web/test_security_table.py::test_gone") and not is_there("tests/gone.py::test_x")
