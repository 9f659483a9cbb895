"""``pydplib audit-log verify|show|export``: the platform's log of who did what, without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pydplib.cli.inputs import InputFile
from pydplib.cli.platform.home import HOME, open_platform
from pydplib.errors import EngineError, LedgerError

_JSON = click.option("--json", "as_json", is_flag=True, help="Write JSON.")


@click.group("audit-log")
def command() -> None:
    """Verify, show or export the platform's audit log."""


@command.command("verify")
@HOME
@click.option(
    "--head",
    "head_file",
    type=InputFile(),
    help="A head that was exported earlier: notices a log that was rolled back or replaced.",
)
@_JSON
def verify(home: Path | None, head_file: Path | None, as_json: bool) -> None:
    """Walk the whole log: every line must fit the one before. Ends with code 30 if something is wrong.

    \b
    Examples:
      pydplib audit-log verify --home /srv/pydplib --head audit-log-head.json
    """  # noqa: D301 - click needs the backspace itself
    _open(home)
    from pydplib.web.auditlog import verification

    verdict = verification.verify(expected=None if head_file is None else _read_head(head_file))
    if as_json:
        values = {"whole": bool(verdict), "lines": verdict.lines, "hash": verdict.hash, "problem": verdict.problem}
        click.echo(json.dumps({**values, "compared_with_head": head_file is not None}, indent=2))
    if not verdict:
        raise LedgerError(f"The audit log is damaged. {verdict.problem}")
    if as_json:
        return
    click.echo(f"Whole: {verdict.lines} lines, every one fits the one before.")
    if head_file is None:
        click.echo("Not compared with an exported head: a rolled-back or replaced log would not be noticed (--head).")
    else:
        click.echo("It continues the exported head: nothing was rolled back or replaced.")


@command.command("show")
@HOME
@click.option("--project", help="One project only: its key.")
@click.option("--actor", default="", help="One user only.")
@click.option("--action", default="", help="One action only, such as report.sign.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="First day (UTC).")
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), metavar="YYYY-MM-DD", help="Last day (UTC).")
@click.option("--last", default=20, show_default=True, type=click.IntRange(1), help="How many of the newest lines.")
@_JSON
def show(
    home: Path | None,
    project: str | None,
    actor: str,
    action: str,
    since: Any,
    until: Any,
    last: int,
    as_json: bool,
) -> None:
    """Show the newest lines, in plain words.

    \b
    Examples:
      pydplib audit-log show --last 50
      pydplib audit-log show --actor olivia --since 2026-11-01 --json
    """  # noqa: D301 - click needs the backspace itself
    _open(home)
    from pydplib.web.auditlog.files import to_json
    from pydplib.web.auditlog.lines import LineFilter, lines_of, narrow
    from pydplib.web.auditlog.models import Line

    lines = Line.objects.all() if project is None else lines_of([project])
    wanted = LineFilter(action=action, actor=actor, about=since and since.date(), since=until and until.date())
    newest = list(narrow(lines, wanted)[:last])
    if as_json:
        click.echo("".join(to_json(newest)), nl=False)
    elif not newest:
        click.echo("No lines fit.")
    else:
        _print(newest)


@command.command("export")
@HOME
@click.option("--lines", "whole", is_flag=True, help="Export all lines instead of the head of the chain.")
@click.option("--csv", "as_csv", is_flag=True, help="With --lines: CSV instead of JSON; formulas are defused.")
@click.option(
    "--head",
    "head_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the head to this file as well (or alone, without --lines).",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of the screen.")
def export(home: Path | None, whole: bool, as_csv: bool, head_file: Path | None, output: Path | None) -> None:
    """Export the head of the chain, or all lines. A damaged log is not exported.

    Keep the head where whoever runs the server cannot write: `pydplib audit-log verify --head` then notices
    a log that was rolled back or replaced.

    \b
    Examples:
      pydplib audit-log export --home /srv/pydplib -o audit-log-head.json
      pydplib audit-log export --home /srv/pydplib --lines --csv -o audit-log.csv
    """  # noqa: D301 - click needs the backspace itself
    if as_csv and not whole:
        raise click.UsageError("The head is JSON; use --csv with --lines.")
    _open(home)
    from pydplib.web.auditlog import verification
    from pydplib.web.auditlog.files import head_to_json, to_csv, to_json
    from pydplib.web.auditlog.models import Line

    verdict = verification.verify()
    if not verdict:
        raise LedgerError(f"The audit log is damaged and is not exported. {verdict.problem}")
    if head_file is not None:
        _write(head_file, [head_to_json()])
    if whole:
        lines = Line.objects.order_by("number").iterator(chunk_size=1000)
        pieces: Any = to_csv(lines) if as_csv else to_json(lines)
    elif head_file is not None and output is None:
        return
    else:
        pieces = [head_to_json()]
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
    else:
        _write(output, pieces)


def _open(home: Path | None) -> None:
    """Start Django on a database that is there; a reader of the log makes none."""
    open_platform(home)
    from django.db import connection

    if "auditlog_line" not in connection.introspection.table_names():
        raise EngineError("This database has no audit log yet: start the platform once with `pydplib serve`.")


def _read_head(path: Path) -> tuple[int, str]:
    from pydplib.web.auditlog.files import head_from_json

    try:
        return head_from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise LedgerError(f"'{path.name}' is not the head of an audit log (see `pydplib audit-log export`).") from None


def _write(path: Path, pieces: Any) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.writelines(pieces)
    except OSError:
        raise LedgerError(f"'{path.name}' cannot be written. Check the folder and its rights.") from None
    click.echo(f"Wrote {path}.", err=True)


def _print(lines: list[Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pydplib.web.auditlog.lines import show

    table = Table(box=None, header_style="bold")
    for name in ("Line", "When (UTC)", "Who", "What", "On", "Details"):
        table.add_column(name, justify="right" if name == "Line" else "left", overflow="fold")
    for line in reversed(lines):
        shown = show(line)
        facts = "".join(text for text, _ in shown.facts)
        cells = (f"{shown.time:%Y-%m-%d %H:%M:%S}", shown.actor, shown.words, shown.subject, facts)
        # Text: what users typed is never read as markup.
        table.add_row(str(shown.number), *(Text(cell) for cell in cells))
    Console().print(table)
