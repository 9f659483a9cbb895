"""Write the manual page pydplib(1) from the help of every command.

python scripts/man.py [OUTPUT]         # roff to standard output, or to a file: man -l build/pydplib.1
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pydplib._version import __version__
from pydplib.cli import COMMANDS, cli
from pydplib.cli.answers.questions import QuestionCommand
from pydplib.errors import PydplibError

SETTINGS = {
    "PYDPLIB_HOME": "Folder of the platform: embedded database, keys, snapshots. By default ./pydplib-data.",
    "DATABASE_URL": "postgresql://USER:PASSWORD@HOST:5432/DATABASE instead of the embedded database.",
    "DATABASE_PASSWORD_FILE": "A file with the password that DATABASE_URL leaves out.",
    "PYDPLIB_HOSTS": "The names under which browsers reach the platform, with commas between.",
    "PYDPLIB_BEHIND_TLS": "1 if browsers come by https, through a proxy.",
}


def plain(text: str) -> str:
    """Return text as roff takes it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def walk(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and all below it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk((*path, name), inner)


def help_text(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that click is told not to wrap stay as they are."""
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        if "\b" in paragraph:
            yield from (".PP", ".nf", plain(paragraph.replace("\b", "").strip("\n")), ".fi")
        else:
            yield from (".PP", plain(" ".join(paragraph.split())))
    if isinstance(command, QuestionCommand):
        for example, hint in command.statistics():
            yield from (".TP", plain(example), plain(hint))


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the options of a command."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            yield from (".TP", f"\\fB{plain(record[0])}\\fR", plain(record[1]))


def exit_codes() -> dict[int, str]:
    """Return the exit codes with the first line of the error that ends with each."""
    found = {0: "All is well.", 1: "A check found a fault, or something unexpected happened.", 2: "A wrong option."}
    kinds = [PydplibError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    for kind in sorted(kinds, key=lambda kind: (kind.exit_code, len(kind.__mro__))):
        found.setdefault(kind.exit_code, (kind.__doc__ or "").strip().splitlines()[0])
    return found


def page() -> str:
    """Return the whole manual page; the same program gives the same text."""
    top = click.Context(cli, info_name="pydplib", **cli.context_settings)
    lines = [
        f'.TH PYDPLIB 1 "" "pydplib {plain(__version__)}" "User Commands"',
        ".SH NAME", f"pydplib \\- {plain((cli.help or '').strip().rstrip('.'))}",
        ".SH SYNOPSIS", "\\fBpydplib\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]...",
        ".SH OPTIONS", *options(cli, top),
        ".SH COMMANDS",
    ]  # fmt: skip
    for name in sorted(COMMANDS):
        command = cli.get_command(top, name)
        assert command is not None
        for path, inner in walk((name,), command):
            context = click.Context(inner, info_name=" ".join(path), parent=top)
            lines += [f'.SS "{plain(" ".join(path))}"', f"\\fB{plain(inner.get_usage(context).split(': ', 1)[1])}\\fR"]
            lines += [*help_text(inner), *options(inner, context)]
    lines.append(".SH ENVIRONMENT")
    for name, words in SETTINGS.items():
        lines += [".TP", f"\\fB{name}\\fR", plain(words)]
    lines.append(".SH EXIT STATUS")
    for code, words in exit_codes().items():
        lines += [".TP", f"\\fB{code}\\fR", plain(words)]
    return "\n".join(line for line in lines if line) + "\n"


def main(arguments: list[str]) -> None:
    if arguments:
        Path(arguments[0]).parent.mkdir(parents=True, exist_ok=True)
        Path(arguments[0]).write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main(sys.argv[1:])
