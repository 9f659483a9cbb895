"""Tests see the same noise in every run: seeded by their names, whatever ran before them and in which order."""

from __future__ import annotations

import ast
import re
import threading
from pathlib import Path

import pytest

import pydplib as dp

ROWS = list(range(900))


def _draw() -> list[int]:
    return [dp.count(ROWS, epsilon=0.01).value for _ in range(3)]


@pytest.fixture(scope="module")
def shared() -> list[int]:
    return _draw()


def test_noise_of_this_test_is_the_same_in_every_run():
    assert _draw() == NOISE_OF_THE_TEST


@pytest.mark.parametrize("number", [1, 2])
def test_noise_of_a_shared_fixture_is_the_same_whoever_asks_first(shared, number):
    assert shared == NOISE_OF_THE_FIXTURE


def test_no_test_draws_from_a_generator_without_a_seed():
    """What a test draws itself is the same in every run as well."""
    drawn = re.compile(
        r"default_rng\(\)|\bnp\.random\.(rand|randn|randint|normal|uniform|choice|permutation|shuffle)\("
    )
    files = [path for path in Path(__file__).parents[1].rglob("*.py") if path != Path(__file__)]
    assert len(files) > 300
    assert [path.name for path in files if drawn.search(path.read_text(encoding="utf-8"))] == []


REAL_NOISE = ("noise", "unit/noise")
"""Folders of the tests that draw real noise themselves; see tests/conftest.py."""


def test_real_noise_raises_a_false_alarm_at_most_once_in_a_million_runs():
    """Every p-value is compared with 1e-9 at most: the laws are approximations."""
    compared = 0
    for folder in REAL_NOISE:
        for path in (Path(__file__).parents[1] / folder).glob("*.py"):
            for bar in _bars(path.read_text(encoding="utf-8")):
                compared += 1
                assert bar in ("law.ALARM", "ALARM", "1e-09"), path.name
    assert compared > 40
    assert _bars("assert stats.chisquare(counts).pvalue > 0.01") == ["0.01"]  # the check sees a careless bar


def _bars(code: str) -> list[str]:
    """Return what p-values are compared with, as it is written."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Compare):
            left = node.left.func if isinstance(node.left, ast.Call) else node.left
            if isinstance(left, ast.Attribute) and left.attr in ("pvalue", "fit", "fit_shares", "fit_coin"):
                found += [ast.unparse(bar) for bar in node.comparators]
    return found


def test_noise_of_other_threads_is_real():
    drawn: list[list[int]] = []
    for _ in range(2):
        thread = threading.Thread(target=lambda: drawn.append(_draw()))
        thread.start()
        thread.join()
    assert drawn[0] != drawn[1]  # equal in one of 1e7 runs


NOISE_OF_THE_TEST = [929, 1012, 967]
NOISE_OF_THE_FIXTURE = [657, 1046, 833]
