"""Pages of the documentation that are written by the code itself: public names, commands, roles, errors, settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

ROOMS = {
    "pydplib.guarantee": "What a release guarantees, as values that say themselves in one sentence.",
    "pydplib.schema": "What the owner declares public about a table.",
    "pydplib.release": "Questions, sessions, prices and releases; one-line shortcuts for arrays.",
    "pydplib.budget": "Costs and ledgers: who was told how much.",
    "pydplib.policy": "Who may get what.",
    "pydplib.engine": "Tables where they live.",
    "pydplib.anonymity": "Tables to hand over.",
    "pydplib.paper": "The PyDPLib paper's method, and what it is worth.",
    "pydplib.client": "A notebook's way to a platform.",
    "pydplib.errors": "Everything that is raised on purpose.",
}
SUBMODULES = ("pydplib.mechanisms", "pydplib.attack", "pydplib.capture", "pydplib.datasets", "pydplib.plot")


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages (called by MkDocs)."""
    from mkdocs.structure.files import File

    for address, text in pages():
        files.append(File.generated(config, address, content=text))
    return files


def pages() -> Iterator[tuple[str, str]]:
    """Yield address and text of every generated page."""
    yield "reference/python/index.md", python_index()
    for room in (*ROOMS, *SUBMODULES):
        yield f"reference/python/{_short(room)}.md", python_page(room)
    yield "reference/commands.md", commands_page()
    yield "reference/words.md", words_page()


def _short(room: str) -> str:
    return room.removeprefix("pydplib.")


def names_of(room: str) -> tuple[str, ...]:
    """Return the public names of a room."""
    import importlib

    from pydplib._public import PUBLIC_NAMES

    named = tuple(name for name, module in PUBLIC_NAMES.items() if module == room)
    return named or tuple(importlib.import_module(room).__all__)


def python_index() -> str:
    """List the rooms and their public names."""
    lines = ["# Python", "", "`import pydplib as dp`; every name below is `dp.NAME` or `dp.room.NAME`.", ""]
    for room in (*ROOMS, *SUBMODULES):
        names = ", ".join(f"[`{name}`]({_short(room)}.md#{room}.{name})" for name in names_of(room))
        lines += [f"## [{room}]({_short(room)}.md)", "", ROOMS.get(room, ""), "", names, ""]
    return "\n".join(lines)


def python_page(room: str) -> str:
    """Return the page of one room: every public name with its docstring."""
    lines = [f"# {room}", "", ROOMS.get(room, ""), ""]
    lines += [f"::: {room}.{name}\n" for name in names_of(room)]
    return "\n".join(lines)


def commands_page() -> str:
    """Return every command with its help text, exactly as the terminal shows it."""
    import click

    from pydplib.cli import COMMANDS, LazyGroup

    group = LazyGroup("pydplib")
    lines = ["# Commands", "", "Every command says the same with `--help`.", ""]

    def write(command: click.Command, name: str, depth: int) -> None:
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
        lines.extend([f"{'#' * depth} {name}", "", "```text", command.get_help(context).rstrip(), "```", ""])
        if isinstance(command, click.Group):
            for sub in command.list_commands(context):
                found = command.get_command(context, sub)
                assert found is not None
                write(found, f"{name} {sub}", depth + 1)

    for name in sorted(COMMANDS):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        write(command, f"pydplib {name}", 2)
    return "\n".join(lines)


def words_page() -> str:
    """Return roles, output labels, noise factors, errors and settings as tables."""
    from pydplib import errors
    from pydplib.policy import LABEL_MEANINGS, NOISE_FACTORS, ROLES

    lines = ["# Roles, labels, errors, settings", "", "## Roles", "", "| role | what it is | may |", "|---|---|---|"]
    for role in ROLES.values():
        powers = ", ".join(sorted(power.replace("_", " ") for power in role.powers))
        lines.append(f"| `{role.name}` {role.title} | {role.description} | {powers} |")
    lines += ["", "## Output labels, from most to least", "", "| label | meaning |", "|---|---|"]
    lines += [f"| `{label}` | {meaning} |" for label, meaning in LABEL_MEANINGS.items()]
    lines += ["", "## Noise factors", "", "| factor | noise aimed at |", "|---|---|"]
    lines += [f"| `{factor.name}` | {100 * factor.target:g} % |" for factor in NOISE_FACTORS.values()]
    lines += ["", "## Errors", "", "| error | what it means | exit code | HTTP status |", "|---|---|---|---|"]
    for name in sorted(vars(errors)):
        found = getattr(errors, name)
        if isinstance(found, type) and issubclass(found, errors.PydplibError):
            first = (found.__doc__ or "").strip().splitlines()[0]
            lines.append(f"| `{name}` | {first} | {found.exit_code} | {found.http_status} |")
    lines += ["", "## Settings of the platform", "", *_settings(), ""]
    return "\n".join(lines)


def _settings() -> list[str]:
    """Return the environment variables, with the words of the configuration's own docstring."""
    import re

    from pydplib.web.configuration import Configuration

    described = dict(re.findall(r"^\s{4,8}(\w+): (.+(?:\n {12,}.+)*)", Configuration.__doc__ or "", re.MULTILINE))
    names = {
        "home": "PYDPLIB_HOME",
        "database_url": "DATABASE_URL",
        "hosts": "PYDPLIB_HOSTS",
        "behind_tls": "PYDPLIB_BEHIND_TLS",
        "demo": "PYDPLIB_DEMO",
        "gallery": "PYDPLIB_GALLERY",
    }
    rows = [f"| `{variable}` | {' '.join(described[field].split())} |" for field, variable in names.items()]
    return ["| variable | meaning |", "|---|---|", *rows]
