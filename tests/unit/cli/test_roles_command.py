"""``pydplib roles`` and ``pydplib completion``."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pydplib.cli import cli
from pydplib.policy.roles import ROLES


def test_roles_table_shows_every_role_its_band_and_its_meaning() -> None:
    result = CliRunner().invoke(cli, ["roles"], env={"COLUMNS": "160"})
    assert result.exit_code == 0
    for role in ROLES.values():
        assert role.title in result.stdout
    for words in ("low (0)", "0 to 5 %", "medium (1)", "5 to 10 %", "high (2)", "10 to 20 %", "not a guarantee"):
        assert words in result.stdout


def test_roles_show_caps_and_budgets() -> None:
    shown = CliRunner().invoke(cli, ["roles"], env={"COLUMNS": "160"}).stdout
    for words in ("1 per question", "2 in total", "2 per question", "4 in total", "epsilon 8 per data set"):
        assert words in shown


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_roles_on_a_narrow_terminal_cut_no_word(columns) -> None:
    shown = CliRunner().invoke(cli, ["roles"], env={"COLUMNS": str(columns)}).stdout
    assert "…" not in shown and "┃" not in shown
    words = " ".join(shown.split())
    for role in ROLES.values():
        assert role.title in words and role.description in words
    assert "high (2), noise 10 to 20 %; epsilon 1 per question, 2 in total" in words
    if columns == 80:
        assert len(shown.splitlines()) <= 24


def test_roles_json_is_complete() -> None:
    rows = json.loads(CliRunner().invoke(cli, ["roles", "--json"]).stdout)
    assert [row["role"] for row in rows] == list(ROLES)
    third = next(row for row in rows if row["role"] == "third_party")
    assert third["noise_band_percent"] == [10.0, 20.0]
    assert third["aimed_at_percent"] == pytest.approx(15.0)
    assert (third["epsilon_per_question"], third["budget_epsilon"], third["data_set_epsilon"]) == (1.0, 2.0, 8.0)
    assert next(row for row in rows if row["role"] == "radiologist")["noise_factor"] is None


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert "_PYDPLIB_COMPLETE" in result.stdout


def test_completion_when_asked_by_a_shell_completes_options() -> None:
    asked = {"_PYDPLIB_COMPLETE": "bash_complete", "COMP_WORDS": "pydplib noise --on-m", "COMP_CWORD": "2"}
    done = subprocess.run(
        [sys.executable, "-m", "pydplib"], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert "--on-missing" in done.stdout


def test_completion_of_an_unknown_shell_is_an_error() -> None:
    assert CliRunner().invoke(cli, ["completion", "tcsh"]).exit_code == 2
