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
        if not isinstance(inner, click.Group) and name != "completion":
            assert "Examples:" in lines, path
            assert any(line.startswith(f"pydplib {' '.join(path)}") for line in examples), path
        assert all(any(example in line for line in shown.splitlines()) for example in examples), path


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_no_command_cut_short_and_no_option_without_words(name) -> None:
    for path, command in commands((name,), cli.get_command(click.Context(cli), name)):
        listed = CliRunner().invoke(cli, [*path, "--help"], terminal_width=80).output.partition("Commands:")[2]
        assert not any(line.endswith("...") for line in listed.splitlines()), path
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, (path, parameter.opts)
            if isinstance(parameter.type, click.DateTime):
                assert parameter.metavar == "YYYY-MM-DD", (path, parameter.opts)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell) -> None:
    done = CliRunner().invoke(cli, ["completion", shell])
    assert done.exit_code == 0
    assert f"_PYDPLIB_COMPLETE={shell}_complete" in done.output


def test_completion_names_commands_and_options() -> None:
    from click.shell_completion import ShellComplete

    asked = ShellComplete(cli, {}, "pydplib", "_PYDPLIB_COMPLETE")
    assert {item.value for item in asked.get_completions([], "re")} == {"receipt", "release", "restore"}
    assert "--behind-tls" in {item.value for item in asked.get_completions(["serve"], "--")}
