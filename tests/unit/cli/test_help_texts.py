"""Help texts: examples are shown as they were written, line by line."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from pydplib.cli import COMMANDS, cli


def commands(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands((*path, name), inner)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_marks_and_every_example_on_its_own_lines(name) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for path, inner in commands((name,), command):
        shown = CliRunner().invoke(cli, [*path, "--help"], terminal_width=100, max_content_width=100).output
        assert "\\b" not in shown
        assert "\b" not in shown
        lines = [line.strip() for line in (inner.help or "").splitlines()]
        examples = [line for line in lines if line.startswith("pydplib ")]
        assert all(any(example in line for line in shown.splitlines()) for example in examples), path
