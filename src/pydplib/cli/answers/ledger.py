"""``pydplib ledger show|verify|export|accept``: who was told how much, what is left, whether the book is sound."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from pydplib._csv_text import csv_pieces
from pydplib.budget import Account, Entry, Head, Limit, SqliteLedger, remaining, spent
from pydplib.budget.units import show_atto, show_nano
from pydplib.cli import NamedGroup
from pydplib.cli.platform.home import HOME, open_platform
from pydplib.errors import LedgerError

_FILE = click.argument("file", type=click.Path(path_type=Path))
_JSON = click.option("--json", "as_json", is_flag=True, help="Write JSON.")
_CSV = click.option("--csv", "as_csv", is_flag=True, help="Write CSV.")


@click.group("ledger", cls=NamedGroup)
def command() -> None:
    """Show, verify or export the ledger: who was told how much, and what is left."""


@command.command("show", short_help="Show budgets, what is left of them, and the newest entries.")
@_FILE
@click.option("--recipient", help="One recipient only; the data set's own budget is left out.")
@click.option("--data-set", "lineage", help="One data set (lineage) only.")
@click.option("--last", default=10, show_default=True, help="How many of the newest entries; 0 for none.")
@_JSON
@_CSV
def show(file: Path, recipient: str | None, lineage: str | None, last: int, as_json: bool, as_csv: bool) -> None:
    """Show the budgets per recipient and per data set, and the newest entries.

    Ends with code 30 if the ledger is damaged.

    \b
    Examples:
      pydplib ledger show ledger.db
      pydplib ledger show ledger.db --recipient acme --last 50
    """  # noqa: D301 - click needs the backspace itself
    _one_format(as_json, as_csv)
    with SqliteLedger(file, read_only=True) as ledger:
        entries = ledger.entries(lineage=lineage, recipient=recipient)
        accounts = ledger.accounts(lineage=lineage, recipient=recipient)
        budgets = [_budget(account, _last_limit(ledger, account), entries) for account in accounts]
        head, fault, questions = ledger.head(), _fault(ledger), ledger.questions()
    no_dp = [_entry(entry, questions) for entry in entries if entry.kind == "no_dp"]
    newest = [_entry(entry, questions) for entry in entries[-last:]] if last > 0 else []
    if as_json:
        content = {
            "ledger": head.ledger,
            "sound": fault is None,
            "head": {"entries": head.entries, "hash": head.hash},
            "budgets": budgets,
            "no_dp": no_dp,
            "entries": newest,
        }
        click.echo(json.dumps(content, indent=2))
    elif as_csv:
        click.echo(_to_csv(budgets, _BUDGET_COLUMNS), nl=False)
    else:
        _print(file, head, budgets, no_dp, newest)
    if fault is not None:
        raise fault


@command.command("verify")
@_FILE
@click.option(
    "--head",
    "head_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A head that was exported earlier: notices a rolled-back or replaced ledger.",
)
@_JSON
def verify(file: Path, head_file: Path | None, as_json: bool) -> None:
    """Replay the whole ledger: chain, sums, payments and stored answers. Ends with code 30 if something is wrong.

    \b
    Examples:
      pydplib ledger verify ledger.db --head ledger-head.json
    """  # noqa: D301 - click needs the backspace itself
    with SqliteLedger(file, read_only=True) as ledger:
        try:
            head = ledger.verify(None if head_file is None else Head.read(head_file))
        except LedgerError as error:
            if as_json:
                click.echo(json.dumps({"sound": False, "reason": str(error)}, indent=2))
            raise
    if as_json:
        values = {"sound": True, "ledger": head.ledger, "entries": head.entries, "hash": head.hash}
        click.echo(json.dumps({**values, "compared_with_head": head_file is not None}, indent=2))
        return
    click.echo(f"Sound: {head.entries} entries, the chain, the sums and the stored answers agree.")
    if head_file is None:
        click.echo("Not compared with an exported head: a rolled-back or replaced file would not be noticed (--head).")
    else:
        click.echo("It continues the exported head: nothing was rolled back or replaced.")


@command.command("accept", short_help="Take a platform's ledger as it is now, e.g. after a restore.")
@HOME
@click.option("--yes", is_flag=True, help="Do not ask.")
def accept(home: Path | None, yes: bool) -> None:
    """Take a platform's ledger as it is now, after you know why it does not fit its head.

    The platform keeps the end of its ledger in a file of its folder (ledger.head.json), outside the database. If the
    database was restored from an older backup, or the file is lost, it stops answering questions: what was paid since
    is missing, and would be paid a second time. This makes it go on with the ledger at hand. It is written down in the
    audit log. The ledger's own chain and sums are verified first.

    \b
    Examples:
      pydplib ledger accept --home /srv/pydplib
    """  # noqa: D301 - click needs the backspace itself
    open_platform(home)
    from pydplib.web.ledger.acceptance import accept_ledger, entries_missing

    lost = entries_missing()
    if lost is None:
        click.echo("The head that this server remembers is missing, or belongs to another ledger.")
    elif lost > 0:
        click.echo(f"{lost} entries that this server remembers are not in the database.")
    else:
        click.echo("No entry is missing.")
    if not yes:
        click.confirm("Go on with the ledger as it is?", abort=True)
    head = accept_ledger()
    click.echo(f"Accepted: {head.entries} entries, hash {head.hash[:16]}. Keep a copy of the head elsewhere.")


@command.command("export")
@_FILE
@click.option("--entries", "whole", is_flag=True, help="Export all entries instead of the head of the chain.")
@click.option("--recipient", help="With --entries: one recipient only.")
@click.option("--data-set", "lineage", help="With --entries: one data set (lineage) only.")
@click.option(
    "--backup",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a whole copy of the ledger to this new file instead.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file instead of the screen.")
@_JSON
@_CSV
def export(
    file: Path,
    whole: bool,
    recipient: str | None,
    lineage: str | None,
    backup: Path | None,
    output: Path | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Export the head of the chain (or all entries, or a backup). A damaged ledger is not exported.

    Keep the head where whoever can write the ledger cannot write: `pydplib ledger verify --head` then notices
    a ledger that was rolled back or replaced.

    \b
    Examples:
      pydplib ledger export ledger.db -o ledger-head.json
      pydplib ledger export ledger.db --entries --csv -o entries.csv
      pydplib ledger export ledger.db --backup ledger-2026-11-16.db
    """  # noqa: D301 - click needs the backspace itself
    _one_format(as_json, as_csv)
    if as_csv and not whole:
        raise click.UsageError("The head is JSON; use --csv with --entries.")
    with SqliteLedger(file, read_only=True) as ledger:
        head = ledger.verify()
        if backup is not None:
            ledger.copy_to(backup)
            click.echo(f"Wrote {head.entries} entries to {backup}.", err=True)
            return
        entries = ledger.entries(lineage=lineage, recipient=recipient) if whole else []
    if not whole:
        text = head.to_json()
    elif as_csv:
        text = _to_csv([_entry(entry, {}) for entry in entries], _ENTRY_COLUMNS)
    else:
        text = json.dumps([_exported(entry, for_recipient=recipient is not None) for entry in entries], indent=2) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError:
        raise LedgerError(f"'{output.name}' cannot be written. Check the folder and its rights.") from None
    click.echo(f"Wrote {output}.", err=True)


_BUDGET_COLUMNS = (
    "data_set",
    "recipient",
    "relation",
    "epsilon",
    "delta",
    "used",
    "left",
    "questions",
    "refused",
    "nano_left",
)
_ENTRY_COLUMNS = ("number", "time", "kind", "data_set", "recipient", "role", "relation", "mechanism", "cost", "release")


def _last_limit(ledger: SqliteLedger, account: Account) -> Limit:
    """Return the limit that was in force last; in a damaged ledger that tells none, nothing may be spent."""
    found = ledger.last_limit(lineage=account.lineage, recipient=account.recipient, relation=account.relation)
    return Limit(account.relation, 0) if found is None else found


def _budget(account: Account, limit: Limit, entries: Sequence[Entry]) -> dict[str, Any]:
    relation = account.relation
    mine = [
        entry
        for entry in entries
        if entry.lineage == account.lineage and entry.cost is not None and entry.cost.relation == relation
    ]
    if account.recipient is None:
        questions = sum(entry.kind == "debit" for entry in mine)
        refused = sum(entry.kind == "refusal" and entry.details.get("account") == "lineage" for entry in mine)
    else:
        mine = [entry for entry in mine if entry.recipient == account.recipient]
        questions = sum(entry.kind in ("debit", "share") for entry in mine)
        refused = sum(entry.kind == "refusal" for entry in mine)
    left = remaining(account.state, limit)
    return {
        "data_set": account.lineage,
        "recipient": account.recipient,
        "relation": relation,
        "epsilon": show_nano(limit.nano_epsilon),
        "delta": show_atto(limit.atto_delta),
        "used": show_nano(spent(account.state, limit)),
        "left": show_nano(left.nano_epsilon),
        "questions": questions,
        "refused": refused,
        "nano_left": left.nano_epsilon,
        "nano_limit": limit.nano_epsilon,
        "nano_used": spent(account.state, limit),
    }


def _entry(entry: Entry, questions: Mapping[str, str]) -> dict[str, Any]:
    return {
        "question": _asked(questions.get(entry.release or "")),
        "number": entry.number,
        "time": entry.time,
        "when": entry.time[:16].replace("T", " "),
        "kind": entry.kind,
        "data_set": entry.lineage,
        "recipient": entry.recipient,
        "role": entry.role,
        "relation": None if entry.cost is None else entry.cost.relation,
        "mechanism": None if entry.cost is None else entry.cost.mechanism,
        "cost": None if entry.cost is None else str(entry.cost),
        "release": entry.release,
        "details": {name: value for name, value in entry.details.items() if name != "sums"},
    }


def _exported(entry: Entry, *, for_recipient: bool) -> dict[str, Any]:
    """Return a whole entry; for one recipient without the data set's sums, which tell what others asked."""
    values = entry.to_dict()
    if for_recipient and "data_set" in values["details"].get("sums", {}):
        sums = {name: value for name, value in values["details"]["sums"].items() if name != "data_set"}
        values["details"] = {**values["details"], "sums": sums}
    return values


def _asked(question: str | None) -> str | None:
    """Return a stored question in a few words: what was asked of which column, by what, where."""
    if question is None:
        return None
    values = json.loads(question)
    if not isinstance(values, dict):
        return None
    parts = [str(values.get(name)) for name in ("ask", "statistic", "kind", "of", "column") if values.get(name)]
    by = values.get("by")
    if by:
        names = [item.get("column", "") if isinstance(item, dict) else str(item) for item in by]
        parts.append("by " + ", ".join(map(str, names)))
    if values.get("where"):
        parts.append("where ...")
    return " ".join(parts) or None


def _fault(ledger: SqliteLedger) -> LedgerError | None:
    try:
        ledger.verify()
    except LedgerError as error:
        return error
    return None


def _one_format(as_json: bool, as_csv: bool) -> None:
    if as_json and as_csv:
        raise click.UsageError("Choose one of --json and --csv.")


def _to_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    return "".join(csv_pieces(columns, ([row[column] for column in columns] for row in rows), end="\n"))


def _print(
    file: Path,
    head: Head,
    budgets: Sequence[Mapping[str, Any]],
    no_dp: Sequence[Mapping[str, Any]],
    newest: Sequence[Mapping[str, Any]],
) -> None:
    from rich.console import Console

    console = Console()
    console.print(f"Ledger {file.name}: {head.entries} entries, head {head.hash[:12]}", highlight=False, markup=False)
    console.print(
        "(the head is the fingerprint of the newest entry: keep it elsewhere, `pydplib ledger export`)",
        highlight=False, markup=False, style="dim",
    )  # fmt: skip
    recipients = [row for row in budgets if row["recipient"] is not None]
    data_sets = [row for row in budgets if row["recipient"] is None]
    numbers = ("epsilon", "used", "left", "delta", "questions", "refused")
    _table(console, "Budgets per recipient", ("data_set", "recipient", "relation", *numbers), recipients)
    _table(console, "Budgets per data set, over all recipients", ("data_set", "relation", *numbers), data_sets)
    what = ("number", "when", "data_set", "recipient", "role", "mechanism")
    _table(console, "Left without differential privacy", what, no_dp)
    columns = ("number", "when", "kind", "data_set", "recipient", "role", "cost", "question")
    _table(console, f"Newest entries (of {head.entries})", columns, newest)


_HEADINGS = {"number": "no.", "data_set": "data set", "mechanism": "what"}
_RIGHT = ("number", "epsilon", "used", "left", "questions", "refused")


_RELATIONS = {
    "add_remove": "persons may be added or removed (add_remove)",
    "substitute": "a person's data may be replaced (substitute)",
    "local": "each record by itself (local)",
}


def _said(column: str, value: Any) -> str:
    if column == "relation":
        return f"neighbouring tables: {_RELATIONS.get(value, value)}"
    if column == "delta":
        return f"delta {value} in total (a part of it pays for converting Gaussian noise)"
    return f"{_HEADINGS.get(column, column)} {value}"


def _table(console: Any, title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    # What is the same in every row is said once, under the table, so that it fits a terminal.
    same = [
        column
        for column in ("data_set", "relation", "delta")
        if column in columns and len({row[column] for row in rows}) == 1
    ]
    shown = [column for column in columns if column not in same]
    caption = ", ".join(_said(column, rows[0][column]) for column in same if rows[0][column])
    table = Table(
        title=title,
        caption=caption or None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        pad_edge=False,
        collapse_padding=True,
    )
    for column in shown:
        right = column in _RIGHT
        table.add_column(
            _HEADINGS.get(column, column), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    for row in rows:
        # Text, not markup: a name with brackets is a name.
        cells = [Text("" if row[column] is None else str(row[column])) for column in shown]
        share = row["nano_used"] / row["nano_limit"] if "nano_used" in row else 0.0
        table.add_row(*cells, style="red" if share >= 1 else "yellow" if share >= 0.8 else None)
    console.print()
    console.print(table)
