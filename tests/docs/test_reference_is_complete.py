"""The reference leaves out no public name, command, setting, role or error."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
import pytest

ROOT = Path(__file__).parents[2]
INTERNAL = {"PYDPLIB_COMPLETE"}  # Click's own word for shell completion; `pydplib completion` is the way to it


def public_names() -> list[str]:
    """Every name that `pydplib` or one of its public rooms offers, with its room."""
    from pydplib._public import PUBLIC_MODULES, PUBLIC_NAMES

    rooms = [f"pydplib.{room}" for room in PUBLIC_MODULES]
    offered = [f"{room}.{name}" for room in rooms for name in getattr(importlib.import_module(room), "__all__", ())]
    return sorted({f"{room}.{name}" for name, room in PUBLIC_NAMES.items()} | set(offered))


def missing_names(text: str) -> list[str]:
    return [name for name in public_names() if f'id="{name}"' not in text]


def test_every_public_name_has_an_entry_with_its_words(site: Path) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (site / "reference" / "python").glob("*.html"))
    assert len(public_names()) > 250
    assert missing_names(text) == []
    assert missing_names(text.replace('id="pydplib.release.Count"', "")) == ["pydplib.release.Count"]


def commands() -> list[str]:
    """Every command and subcommand, as it is typed."""
    from pydplib.cli import COMMANDS, LazyGroup

    def below(command: click.Command, name: str) -> list[str]:
        if not isinstance(command, click.Group):
            return [name]
        context = click.Context(command, info_name=name)
        return [name, *(further for sub in command.list_commands(context)
                        for further in below(command.get_command(context, sub), f"{name} {sub}"))]  # fmt: skip

    group = LazyGroup("pydplib")
    return [
        typed for name in COMMANDS for typed in below(group.get_command(click.Context(group), name), f"pydplib {name}")
    ]


def test_every_command_and_subcommand_has_a_heading_and_its_options(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    headings = {re.sub(r"<[^>]+>|¶", "", found).strip() for found in re.findall(r"<h\d[^>]*>(.*?)</h\d>", page, re.S)}
    headings = {heading.replace("&para;", "").strip() for heading in headings}
    assert len(commands()) > 25
    assert [name for name in commands() if name not in headings] == []
    assert page.count("--help") >= len(commands())


def rows(site: Path) -> set[str]:
    """The first word of every row in the tables of words."""
    page = (site / "reference" / "words.html").read_text(encoding="utf-8")
    return set(re.findall(r"<tr>\s*<td[^>]*><code>([^<]+)</code>", page))


def test_every_role_and_error_has_a_row(site: Path) -> None:
    from pydplib import errors
    from pydplib.policy import ROLES

    raised = [
        name for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.PydplibError)
    ]  # fmt: skip
    assert len(raised) >= 15 and len(ROLES) >= 5
    assert {*raised, *ROLES} <= rows(site)


def test_every_environment_variable_in_the_source_has_a_row(site: Path) -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    read = set(re.findall(r'"(PYDPLIB_[A-Z_]+|DATABASE_URL)"', source)) | set(
        re.findall(r"``(PYDPLIB_[A-Z_]+)``", source)
    )
    assert len(read) >= 9
    assert read - INTERNAL <= rows(site)


@pytest.mark.parametrize("option", ["--home", "--behind-tls", "--epsilon", "--noise-factor", "--json"])
def test_options_are_shown_as_the_terminal_shows_them(site: Path, option: str) -> None:
    assert option in (site / "reference" / "commands.html").read_text(encoding="utf-8")
