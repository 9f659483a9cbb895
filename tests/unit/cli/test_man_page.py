"""The manual page has every command, option and exit code, and the formatter takes it without complaint."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from pydplib.cli import COMMANDS, cli

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def man():
    spec = importlib.util.spec_from_file_location("man_page", ROOT / "scripts" / "man.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(man) -> str:
    return man.page()


def test_page_has_every_command_with_every_option(man, page) -> None:
    top = click.Context(cli)
    for name in COMMANDS:
        for path, command in man.walk((name,), cli.get_command(top, name)):
            section = re.search(rf'^\.SS "{re.escape(man.plain(" ".join(path)))}"$(.*?)(?=^\.S[SH])', page, re.M | re.S)
            assert section, path
            for parameter in command.params:
                if isinstance(parameter, click.Option) and not parameter.hidden:
                    assert man.plain(parameter.opts[0]) in section[1], (path, parameter.opts)


def test_page_keeps_examples_line_by_line_and_no_marks(page) -> None:
    assert "\b" not in page and "\\fBpydplib serve [OPTIONS]\\fR" in page
    assert re.search(r"^ *pydplib serve \\-\\-demo$", page, re.M)


def test_page_names_the_exit_codes_of_errors(page) -> None:
    status = page.split(".SH EXIT STATUS")[1]
    assert {int(code) for code in re.findall(r"\\fB(\d+)\\fR", status)} >= {0, 1, 2, 10, 15, 20, 21, 30, 31, 40}


def test_page_is_taken_by_the_formatter_without_a_warning(page, tmp_path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True)
    assert done.returncode == 0
    # Long addresses and choices cannot be broken into lines: the only thing that may be said.
    said = [line for line in done.stderr.splitlines() if "cannot adjust line" not in line and "can't break" not in line]
    assert said == []
