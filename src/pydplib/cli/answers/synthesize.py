"""``pydplib synthesize``: a table of rows that belong to nobody, drawn from noisy tables of counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pydplib.cli.answers.questions import named_schema, read_policy
from pydplib.cli.inputs import csv_options, input_file, said_options
from pydplib.cli.outputs import check_targets, output_format, staged
from pydplib.cli.progress import _terminal
from pydplib.cli.template import named_template
from pydplib.errors import ParameterError


@click.command("synthesize")
@click.argument("file")
@click.option("--schema", "schema_file", required=True, help="The schema file (TOML): what is public.")
@click.option("--epsilon", type=float, help="The privacy loss.")
@click.option("--noise-factor", type=click.Choice(["low", "medium", "high"]), help="The band of noise in the columns.")
@click.option("--delta", type=float, help="With a delta, e.g. 1e-6, the noise is Gaussian: smaller for many columns.")
@click.option("--columns", help="The columns, with commas between; by default all that can be counted.")
@click.option(
    "--relation",
    "relations",
    multiple=True,
    metavar="COLUMN,COLUMN",
    help="A relation that is always measured; tests hold for it. Give the option once for each.",
)
@click.option(
    "--search/--no-search",
    default=True,
    show_default=True,
    help="Search for further relations; without it, those that you name are more accurate.",
)
@click.option(
    "--of", type=click.Choice(["persons", "rows"]), default="persons", show_default=True, help="What a row stands for."
)
@click.option(
    "--template",
    help="A report template (its file, or the name of a built-in one): rows never break its rules.",
)
@click.option("--recipient", help="Who gets the table and pays for it (with --ledger).")
@click.option("--role", help="The recipient's role.")
@click.option("--budget", type=float, help="The recipient's epsilon in total; by default the role's.")
@click.option("--ledger", "ledger_file", help="The ledger (SQLite); without one you add up yourself what you release.")
@click.option("--policy", "policy_file", help="The owner's policy (TOML); by default the built-in one.")
@click.option("--snapshot", default="current", show_default=True, help="The published state of the table.")
@click.option("--table", "--sheet", "table", help="The table of a database, or the sheet of a workbook.")
@csv_options
@click.option("--memory-limit", help="DuckDB's memory limit, e.g. 4GB.")
@click.option(
    "--output",
    "-o",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write the rows: .csv or .parquet.",
)
@click.option(
    "--facts",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write what was measured, with margins (JSON); copies and intervals are made from it.",
)
@click.option("--force", is_flag=True, help="Replace outputs that exist.")
def command(output: Path, facts: Path | None, force: bool, **given: Any) -> None:
    r"""Write a table like FILE whose rows belong to nobody, for any plotting software.

    Columns, and relations between them, are measured with noise and paid for once; rows are drawn from what was
    measured. Figures of a relation that was not measured show none: the command lists what was.

    \b
    Examples:
      pydplib synthesize reports.parquet --schema schema.toml --epsilon 2 --delta 1e-6 --output synthetic.csv
      pydplib synthesize reports.parquet --schema schema.toml --epsilon 1 --relation age,pirads \
        --recipient partner --role third_party --budget 2 --ledger ledger.db --output synthetic.parquet
    """
    kind = output_format(output)
    if kind == "excel":
        raise ParameterError("A synthetic table is written as .csv or .parquet.")
    read = [given[name] for name in ("file", "schema_file", "policy_file", "ledger_file") if given[name] is not None]
    inputs = [Path(name) for name in read if "://" not in name]
    check_targets([("--output", output), ("--facts", facts)], [p for p in inputs if p.exists()], force=force)
    if (given["recipient"] is None) != (given["ledger_file"] is None):
        raise ParameterError("--recipient and --ledger belong together: who pays, and where it is written down.")
    with _progress() as tell:
        table, left = _made(given, tell)
    with staged() as staging:
        part = staging.part(output)
        table.to_csv(part) if kind == "csv" else table.to_parquet(part)
        if facts is not None:
            staging.write_text(facts, table.to_json() + "\n")
    click.echo(str(table))
    click.echo(f"Wrote {output}." + (f" Left for '{given['recipient']}': {left}." if left else ""))


def _made(given: dict[str, Any], tell: Callable[[str, int, int], None]) -> tuple[Any, str]:
    from pydplib.engine import load
    from pydplib.schema import Schema
    from pydplib.synthesis import synthesize

    ledger_file = given["ledger_file"]
    schema = named_schema(given["schema_file"]) if ledger_file else Schema.load(given["schema_file"])
    said = said_options()
    columns = None if given["columns"] is None else _named(given["columns"])
    asked = {
        "columns": columns,
        "relations": [_named(text) for text in given["relations"]],
        "of": given["of"],
        "find": given["search"],
        "impossible": () if given["template"] is None else named_template(given["template"]),
    }
    with load(
        input_file(given["file"]),
        schema,
        table=given["table"],
        memory_limit=given["memory_limit"],
        multiline=said.multiline,
        decimal=said.decimal,
    ) as table:
        if ledger_file is None:
            if given["epsilon"] is None:
                raise ParameterError("Choose --epsilon: what the table may cost. There is no default.")
            if given["role"] is not None or given["noise_factor"] is not None or given["budget"] is not None:
                raise ParameterError("--role, --noise-factor and --budget need --recipient and --ledger.")
            made = synthesize(table, schema, epsilon=given["epsilon"], delta=given["delta"], progress=tell, **asked)
            return made, ""
        return _paid(given, table, schema, asked, tell)


def _paid(given: dict[str, Any], table: Any, schema: Any, asked: dict[str, Any], tell: Any) -> tuple[Any, str]:
    from pydplib.budget import SqliteLedger
    from pydplib.guarantee import ApproxDP, PureDP
    from pydplib.release import Session

    policy = read_policy(given["policy_file"])
    budget: Any = None
    if given["budget"] is not None:
        # Half of an account's delta converts rho: twice the delta of the table that it pays for.
        budget = PureDP(given["budget"])
        if given["delta"] is not None:
            budget = ApproxDP(given["budget"], 2 * given["delta"])
    with SqliteLedger(given["ledger_file"]) as ledger:
        session = Session(
            table,
            recipient=given["recipient"],
            role=given["role"],
            budget=budget,
            ledger=ledger,
            policy=policy,
            snapshot=given["snapshot"],
        )
        paid = {name: given[name] for name in ("epsilon", "delta", "noise_factor")}
        made = session.synthesize(**asked, **paid, progress=tell)
        return made, str(session.remaining)


def _named(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yield what is called with each step; on a terminal it moves a bar, elsewhere it is silent."""
    console = _terminal()
    if console is None:
        yield lambda what, step, steps: None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}"), BarColumn(), console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def tell(what: str, step: int, steps: int) -> None:
            bar.update(task, description=f"Measuring {what}" if what != "done" else "Drawing rows", total=steps or 1)
            bar.update(task, completed=step)

        yield tell
