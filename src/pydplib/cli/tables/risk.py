"""``pydplib risk FILE``: how easily the people of a table can be found, and which columns are to blame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pydplib.cli.inputs import InputFile, csv_options, open_files
from pydplib.cli.progress import waiting
from pydplib.cli.tables.words import (
    NAMES_HELP,
    percent,
    print_columns,
    print_json,
    print_table,
    read_names,
    risk_values,
    role_options,
)
from pydplib.errors import ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity import Risk
    from pydplib.tables import TableFile

_PATH = InputFile()


@click.command("risk")
@click.argument("file", type=_PATH)
@click.option("--quasi", multiple=True, callback=read_names, help=f"What an outsider may know. {NAMES_HELP}")
@role_options
@click.option("--original", type=_PATH, help="The table that FILE was made from: other columns are joined with it.")
@click.option("--person", help="The column that says whose row it is; then people are counted, not rows.")
@click.option(
    "--population", type=_PATH, help="A table of everybody, with the same columns, for journalist and marketer."
)
@click.option(
    "--fraction",
    type=click.FloatRange(0, 1, min_open=True),
    help="Without such a table: the share of everybody who is in FILE, e.g. 0.05.",
)
@click.option("--sheet", help="The sheet of an Excel file that has several.")
@csv_options
@click.option(
    "--values", "with_values", is_flag=True, help="Also print rare values. They are cells: for the owner only."
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    file: Path,
    quasi: tuple[str, ...],
    config: Path | None,
    insensitive: tuple[str, ...],
    identifiers: tuple[str, ...],
    original: Path | None,
    person: str | None,
    population: Path | None,
    fraction: float | None,
    sheet: str | None,
    with_values: bool,
    as_json: bool,
) -> None:
    """Show how easily the people of FILE (CSV, Excel, Parquet) can be found by what an outsider may know.

    \b
    Examples:
      pydplib risk visits.csv --quasi age,sex,zip
      pydplib risk visits.xlsx --sheet 2018 --quasi age,sex,zip --person patient_id --fraction 0.05 --json
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import risk
    from pydplib.anonymity.tables.frames import SeenFrame
    from pydplib.cli.tables.configuration import Roles

    if population is not None and fraction is not None:
        raise click.UsageError("Choose one of --population and --fraction.")
    if with_values and as_json:
        raise click.UsageError("--values is for the screen; leave --json out.")
    with waiting(f"Reading {file.name}"), open_files() as tables:
        table = tables.open(file, sheet=sheet)
        said = Roles(quasi=quasi, insensitive=insensitive, identifiers=identifiers, person=person)
        roles = said.filled(config, lambda path: tables.open(path).frame(), table.columns, whole=False)
        names, person = check_quasi(table, roles.quasi, f"pydplib risk {file}"), roles.person
        if person is not None:
            table.check([person], "--person")
        everybody = None
        if population is not None:
            behind = tables.open(population)
            behind.check(names, "quasi-identifier, in the population")
            everybody = behind.frame(names)
        found = risk(
            SeenFrame.of_file(table, names), names, everybody, person=person, fraction=fraction,
            insensitive=list(dict.fromkeys((*roles.insensitive, *roles.sensitive))),
            identifiers=list(dict.fromkeys(roles.identifiers)),
            original=None if original is None else tables.open(original).frame(),
        )  # fmt: skip
    if as_json:
        print_json({"file": str(file), "quasi_identifiers": names, "person": person, **risk_values(found)})
    else:
        _print(found, names, people=person is not None)
        if with_values:
            _print_values(found)


def check_quasi(table: TableFile, quasi: tuple[str, ...], call: str) -> list[str]:
    """Return the quasi-identifiers, each once; without any, say which columns look like some."""
    if not quasi:
        from pydplib.cli.tables.guesses import guess_columns

        likely = [guess.name for guess in guess_columns(table) if guess.role == "quasi"]
        hint = f" These look like it: {call} --quasi {','.join(map(_quoted, likely))}" if likely else ""
        raise ParameterError(f"Name the columns that an outsider may know: --quasi NAME,NAME.{hint}")
    names = list(dict.fromkeys(quasi))
    table.check(names, "--quasi")
    return names


def _quoted(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() else f"'\"{name}\"'"


def _print(found: Risk, names: list[str], *, people: bool) -> None:
    who = "people" if people else "records"
    p, j = found.prosecutor, found.journalist
    # One patient with two different rows is in two classes, and can be found by either.
    counted = "places of people (one for every class that a person is in)" if people else who
    click.echo(f"{found.rows:,} {counted} in {found.classes:,} classes of {', '.join(names)}.")
    if not found.rows:
        click.echo("There is nobody to find.")
        return
    click.echo(
        f"{percent(found.unique)} of the {who} are unique. Somebody who knows these columns of a person, and that she "
        f"is in the table, finds her with a chance of up to {percent(p.maximum)}, {percent(p.expected)} on average."
    )
    known = found.has_population
    rows = [
        ["highest chance", percent(p.maximum), percent(j.maximum) if known else "", ""],
        ["on average", percent(p.expected), *((percent(j.expected), percent(found.marketer)) if known else ("", ""))],
    ]
    rows += [
        [f"{who} with a chance above {100 * tau:g} %", percent(share), percent(j.at_risk[tau]) if known else "", ""]
        for tau, share in p.at_risk.items()
    ]
    print_table(["chance of being found by", "prosecutor", "journalist", "marketer"], rows)
    click.echo("Prosecutor: knows that the person is in the table. Journalist: does not. Marketer: matches everybody.")
    if not known:
        click.echo("Journalist and marketer need the population: --population FILE or --fraction SHARE.")
    elif found.estimated:
        click.echo("The population's classes are estimated from --fraction.")
    if found.population_unique:
        rows = [[name, percent(share)] for name, share in found.population_unique.items()]
        print_table(["estimated from the sample by", "unique in the population"], rows)
    rows = [[c.column, percent(c.alone), percent(c.without), f"{c.rare:,}"] for c in found.contributions]
    heads = ["column", "unique by it alone", "unique without it", "rare values"]
    print_table(heads, rows, title="Which columns make people unique (the worst first)")
    worst = found.contributions[0] if found.contributions else None
    if worst is not None and worst.gained > 0:
        click.echo(
            f"'{worst.column}' adds most: without it {percent(worst.without)} would be unique instead of "
            f"{percent(found.unique)}. Make it coarser first."
        )
    print_columns([one for one in found.columns if one.names_people or one.blocks])


def _print_values(found: Risk) -> None:
    lines = [line for line in found.explain(values=True).splitlines() if line.startswith("'")]
    click.echo("\nThe rarest values. They are cells of the table: for its owner only.")
    click.echo("\n".join(lines))
