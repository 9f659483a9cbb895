"""Pages of the documentation that are written by the code itself: reference, specification, notebooks, measurements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# MkDocs finds the modules next to a hook only while it loads the hook, so they stand here and not where they work.
from docs_figures import look_script, plotly_script
from docs_imports import imports_in_words, imports_table, packages_table, rooms_drawing
from docs_methods import data_types_table, guarantee_sentences, methods_drawing, questions_table, statistics_table
from docs_notebooks import notebook_pages
from docs_papers import (
    divergence,
    kept_distribution,
    oldest_patient,
    printed_and_true,
    recovered_ages,
    side_by_side,
    table_one,
)
from docs_specs import chapters, sentence

PARTS: dict[str, Callable[[], str]] = {
    "rooms": rooms_drawing,
    "imports": imports_table,
    "imports in words": imports_in_words,
    "packages": packages_table,
    "methods": methods_drawing,
    "sentences": guarantee_sentences,
    "questions": questions_table,
    "statistics": statistics_table,
    "data types": data_types_table,
    "printed and true": printed_and_true,
    "recovered ages": recovered_ages,
    "oldest patient": oldest_patient,
    "kept distribution": kept_distribution,
    "table I": table_one,
    "divergence": divergence,
    "side by side": side_by_side,
}
"""What a page may ask for by `<!-- built: NAME -->`; made again at every build."""
BUILT = re.compile(r"<!-- built: (.+?) -->")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
STAND_INS = {
    "LIMITATIONS.md": "limitations.md",
    "GLOSSARY.md": "glossary.md",
    "CHANGELOG.md": "changelog.md",
    "tests/spec": "reference/specification/index.md",
}
"""File of the repository -> the page of the site that shows it."""
OUTSIDE = re.compile(rf"\]\((?:\.\./)+({'|'.join(map(re.escape, STAND_INS))})\)")

ROOT = Path(__file__).parents[1]
ROOMS = {
    "pydplib.guarantee": "What a release guarantees, as values that say themselves in one sentence.",
    "pydplib.schema": "What the owner declares public about a table.",
    "pydplib.release": "Questions, sessions, prices and releases; one-line shortcuts for arrays.",
    "pydplib.clinic": "Clinical statistics with intervals for the population, Table 1, and the study planner.",
    "pydplib.synthesis": "Synthetic tables: rows of nobody, drawn from measured tables.",
    "pydplib.budget": "Costs and ledgers: who was told how much.",
    "pydplib.policy": "Who may get what.",
    "pydplib.engine": "Tables where they live.",
    "pydplib.anonymity": "Tables to hand over.",
    "pydplib.paper": "The PyDPLib paper's method, and what it is worth.",
    "pydplib.client": "A notebook's way to a platform.",
    "pydplib.errors": "Everything that is raised on purpose.",
}
SUBMODULES = {
    "pydplib.mechanisms": "Mechanisms by themselves: noise and choices, each with its guarantee.",
    "pydplib.noise": "Random bits and exact samplers: the only place where randomness is made.",
    "pydplib.attack": "Attacks on tables and answers, and audits of mechanisms.",
    "pydplib.capture": "Report templates: forms, checks, text, FHIR and schema from one file.",
    "pydplib.datasets": "Synthetic cohorts.",
    "pydplib.plot": "Releases and results to figures.",
    "pydplib.report": "Self-contained HTML reports.",
}
PYTHON = "reference/python/index.md"
ALL_ROOMS = {**ROOMS, **SUBMODULES}


def on_config(config: Any) -> Any:
    """Put a page per room under "Python" in the menu, and every decision under "Decisions" (called by MkDocs)."""
    decisions = sorted(path.name for path in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    below = {
        PYTHON: [{_short(room): f"reference/python/{_short(room)}.md"} for room in ALL_ROOMS],
        "adr/index.md": [f"adr/{name}" for name in decisions],
    }
    for part in config["nav"]:
        for entry in (entry for entries in part.values() if isinstance(entries, list) for entry in entries):
            for title, address in entry.items():
                if isinstance(address, str) and address in below:
                    entry[title] = [address, *below[address]]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages (called by MkDocs)."""
    from mkdocs.structure.files import File

    for address, text in pages():
        files.append(File.generated(config, address, content=text))
    for name, script in (("plotly.min.js", plotly_script()), ("look.js", look_script())):
        files.append(File.generated(config, f"assets/figures/{name}", content=script))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put drawings and measurements where a page asks for them (called by MkDocs)."""
    markdown = TEST.sub(_as_sentence, follow_links(markdown, page.file.src_uri))
    return BUILT.sub(lambda found: PARTS[found[1]](), markdown)


def _as_sentence(found: re.Match[str]) -> str:
    """Show the name of a test as the sentence that it is, with its file below."""
    file, name = found.groups()
    return f'<span class="dp-test">{sentence(name)}.<br><small>{file}</small></span>'


def follow_links(markdown: str, address: str) -> str:
    """Lead links to files of the repository, which work there, to the pages that stand for them on the site."""
    up = "../" * address.count("/")
    return OUTSIDE.sub(lambda found: f"]({up}{STAND_INS[found[1]]})", markdown)


def pages() -> Iterator[tuple[str, str]]:
    """Yield address and text of every generated page."""
    yield PYTHON, python_index()
    for room in ALL_ROOMS:
        yield f"reference/python/{_short(room)}.md", python_page(room)
    yield "reference/commands.md", commands_page()
    yield "reference/words.md", words_page()
    yield from chapters()
    yield from notebook_pages()
    for name in ("LIMITATIONS.md", "GLOSSARY.md", "CHANGELOG.md"):
        yield STAND_INS[name], (ROOT / name).read_text(encoding="utf-8")


def _short(room: str) -> str:
    return room.removeprefix("pydplib.")


def names_of(room: str) -> tuple[str, ...]:
    """Return the public names of a room: first those of ``pydplib`` itself, then what else the room offers."""
    import importlib

    from pydplib._public import MOVED_NAMES, PUBLIC_NAMES

    first = [name for name, module in {**PUBLIC_NAMES, **MOVED_NAMES}.items() if module == room]
    return tuple(dict.fromkeys([*first, *getattr(importlib.import_module(room), "__all__", ())]))


def python_index() -> str:
    """List the rooms and their public names."""
    from pydplib._public import PUBLIC_NAMES

    flat = ", ".join(f"[`dp.{name}`]({_short(module)}.md#{module}.{name})" for name, module in PUBLIC_NAMES.items())
    lines = ["# Python", "", "`import pydplib as dp`. These names stand at the top:", "", flat, ""]
    lines += [
        "Every other name is `dp.package.NAME`, such as `dp.errors.QuestionError` or `dp.anonymity.Intervals`.",
        "",
    ]
    for room in ALL_ROOMS:
        names = ", ".join(f"[`{name}`]({_short(room)}.md#{room}.{name})" for name in names_of(room))
        lines += [f"## [{room}]({_short(room)}.md)", "", ALL_ROOMS[room], "", names, ""]
    return "\n".join(lines)


def python_page(room: str) -> str:
    """Return the page of one room: every public name with its docstring."""
    lines = [f"# {room}", "", ALL_ROOMS[room], ""]
    lines += [f"::: {room}.{name}\n" for name in names_of(room)]
    return "\n".join(lines)


def commands_page() -> str:
    """Return every command with its help text, exactly as the terminal shows it."""
    import click

    from pydplib.cli import COMMANDS, LazyGroup

    group = LazyGroup("pydplib")
    lines = ["# Commands", "", "Every command says the same with `--help`.", ""]

    def write(command: click.Command, name: str, depth: int) -> None:
        context = click.Context(command, info_name=name, terminal_width=80)
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


SETTINGS = {
    "PYDPLIB_HOME": "home",
    "DATABASE_URL": "database_url",
    "PYDPLIB_HOSTS": "hosts",
    "PYDPLIB_BEHIND_TLS": "behind_tls",
    "PYDPLIB_DEMO": "demo",
    "PYDPLIB_GALLERY": "gallery",
    "PYDPLIB_QUERY_MEMORY": "query_memory",
    "PYDPLIB_ANSWER_SECONDS": "answer_seconds",
    "PYDPLIB_LEAST_EPSILON": "least_epsilon",
    "PYDPLIB_QUESTIONS_PER_DAY": "questions_per_day",
    "PYDPLIB_ADDRESS": "address",
    "PYDPLIB_MAIL_URL": "mail_url",
    "PYDPLIB_MAIL_PASSWORD_FILE": "mail_password",
    "PYDPLIB_MAIL_FROM": "mail_from",
    "PYDPLIB_WEBHOOK_URL": "webhook_url",
}
"""Environment variable of the platform -> the field of its configuration that describes it."""
CLIENT_SETTINGS = {
    "PYDPLIB_URL": "The address of the platform.",
    "PYDPLIB_TOKEN": "The token, as the account page of the platform showed it once.",
    "PYDPLIB_KEYS": "A file with the public keys whose receipts are trusted.",
}
"""Environment variables that ``Client.from_environment`` reads."""


def _settings() -> list[str]:
    """Return the environment variables, with the words of the configuration's own docstring."""
    from pydplib.web.configuration import Configuration

    described = dict(re.findall(r"^\s{4,8}(\w+): (.+(?:\n {12,}.+)*)", Configuration.__doc__ or "", re.MULTILINE))
    rows = [f"| `{variable}` | {' '.join(described[field].split())} |" for variable, field in SETTINGS.items()]
    rows.insert(
        2, "| `DATABASE_PASSWORD_FILE` | A file with the database's password, where `DATABASE_URL` holds none. |"
    )
    clients = [f"| `{variable}` | {meaning} |" for variable, meaning in CLIENT_SETTINGS.items()]
    head = ["| variable | meaning |", "|---|---|"]
    return [*head, *rows, "", "## Settings of the client", "", *head, *clients]
