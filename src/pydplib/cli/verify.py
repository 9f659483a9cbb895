"""``pydplib verify FILE``: which k, l, t, beta and delta a table has as it is, and whether that is enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib.cli._anonymity_words import NAMES_HELP, measure_values, print_json, print_table, read_names, read_pairs
from pydplib.cli._demands import DEMANDS, Demand, judge, read_demands
from pydplib.cli._sql import identifier
from pydplib.cli._tables import TableFile, engine_errors, open_tables
from pydplib.cli.risk import check_quasi
from pydplib.errors import AnonymityError, ParameterError, did_you_mean

if TYPE_CHECKING:
    from pydplib.anonymity import Verification

_PATH = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("verify")
@click.argument("file", type=_PATH)
@click.option("--quasi", multiple=True, callback=read_names, help=f"What an outsider may know. {NAMES_HELP}")
@click.option("--sensitive", multiple=True, callback=read_names, help=f"What nobody shall learn. {NAMES_HELP}")
@click.option("--person", help="The column that says whose row it is; then people are counted, not rows.")
@click.option("--linked", is_flag=True, help="An outsider sees which rows belong together (a consistent pseudonym).")
@click.option(
    "--require",
    "demands",
    multiple=True,
    metavar="NAME=NUMBER",
    callback=read_demands,
    help=f"What has to hold, e.g. k=5, l=3 or diagnosis:t=0.2; ends with code 15 if not. Names: {', '.join(DEMANDS)}.",
)
@click.option(
    "--hierarchy",
    "trees",
    multiple=True,
    metavar="COLUMN=FILE",
    callback=read_pairs,
    help="A sensitive column's hierarchy, for the hierarchical distance; a quasi-identifier's, to compare its labels "
    "with those of --previous.",
)
@click.option(
    "--order",
    "orders",
    multiple=True,
    metavar="COLUMN=A,B,C",
    callback=read_pairs,
    help="A sensitive column's values in order, for the ordered distance.",
)
@click.option(
    "--previous", multiple=True, type=_PATH, help="An earlier release of the same people; may be given several times."
)
@click.option("--sheet", help="The sheet of an Excel file that has several.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    file: Path,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    person: str | None,
    linked: bool,
    demands: tuple[Demand, ...],
    trees: dict[str, str],
    orders: dict[str, str],
    previous: tuple[Path, ...],
    sheet: str | None,
    as_json: bool,
) -> None:
    """Measure k, alpha, l, t, beta and delta of FILE (CSV, Excel, Parquet) as it is, whoever made it.

    \b
    Examples:
      pydplib verify out.csv --quasi age,sex,zip --sensitive diagnosis
      pydplib verify out.csv --quasi age,sex,zip --sensitive diagnosis --require k=5 --require l=3
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Hierarchy, verify

    with open_tables() as tables:
        table = tables.open(file, sheet=sheet)
        names = check_quasi(table, quasi, f"pydplib verify {file}")
        watched = list(dict.fromkeys(sensitive))
        table.check(watched, "--sensitive")
        _check_columns(demands, trees, orders, watched, names)
        wanted = [*names, *watched]
        if person is not None:
            table.check([person], "--person")
            wanted.append(person)
        listed = {name: _order(text, table.columns[name]) for name, text in orders.items()}
        for name, values in listed.items():
            _check_order(table, name, values)
        read = {name: Hierarchy.from_csv(path) for name, path in trees.items()}
        found = verify(
            table.seen(list(dict.fromkeys(wanted)), names),
            {name: read.get(name) for name in names},
            watched,
            person=person,
            linked=linked,
            hierarchies={name: tree for name, tree in read.items() if name in watched},
            orders=listed,
            previous=[_earlier(tables.open(path), names) for path in previous],
        )
    verdicts = judge(found, demands)
    if as_json:
        print_json({"file": str(file), **_values(found), "required": verdicts})
    else:
        _print(found, verdicts)
    failed = [verdict["required"] for verdict in verdicts if not verdict["holds"]]
    if failed:
        raise AnonymityError(f"The table does not have what is required: {', '.join(dict.fromkeys(failed))}.")


def _earlier(table: TableFile, names: Sequence[str]) -> Any:
    table.check(names, "--quasi, in an earlier release")
    return table.seen(list(table.columns), names)


def _check_columns(
    demands: Sequence[Demand],
    trees: dict[str, str],
    orders: dict[str, str],
    watched: Sequence[str],
    quasi: Sequence[str],
) -> None:
    for name in trees:
        if name not in (*quasi, *watched):
            hint = did_you_mean(name, [*quasi, *watched])
            raise click.UsageError(f"'{name}' is neither a quasi-identifier nor a sensitive column.{hint}")
    for name in (*(d.column for d in demands if d.column), *orders):
        if name not in watched:
            raise click.UsageError(f"'{name}' is not among the sensitive columns.{did_you_mean(name, watched)}")
    for demand in demands:
        if demand.name != "k" and not watched:
            raise click.UsageError(f"{demand.text} is about a sensitive column: name it with --sensitive.")
        if demand.name == "t-hierarchical":
            lost = [name for name in ([demand.column] if demand.column else watched) if name not in trees]
            if lost:
                raise click.UsageError(f"{demand.text} needs the hierarchy of '{lost[0]}': --hierarchy {lost[0]}=FILE.")


def _order(text: str, kind: str) -> list[Any]:
    parts = [part.strip() for part in text.split(",")]
    if kind in ("whole", "number", "comma"):
        try:
            return [int(part) if kind == "whole" else float(part) for part in parts]
        except ValueError:
            raise click.UsageError("--order lists numbers for a column of numbers.") from None
    return parts


def _check_order(table: TableFile, name: str, values: Sequence[Any]) -> None:
    column = identifier(name)
    with engine_errors(table.format):
        found = table.relation.project(column).distinct().filter(f"{column} IS NOT NULL").fetchall()
    lost = sum(row[0] not in values for row in found)
    if lost:
        raise ParameterError(f"--order misses {lost} of the values of '{name}'. List all of them, in order.")


def _values(found: Verification) -> dict[str, Any]:
    values: dict[str, Any] = {
        "quasi_identifiers": list(found.quasi_identifiers),
        "rows": found.rows,
        "people": found.people,
        "classes": found.classes,
        "k": found.k,
        "missing": found.missing,
        "sensitive": {name: measure_values(measures) for name, measures in found.sensitive.items()},
    }
    if found.across is not None:
        across = found.across
        values["across_releases"] = {
            "k": across.k,
            "l_distinct": dict(across.l_distinct),
            "appeared": across.appeared,
            "vanished": across.vanished,
        }
    return values


def _number(value: float | None) -> str:
    return "–" if value is None else "∞" if value == math.inf else f"{value:.4g}"


def _print(found: Verification, verdicts: Sequence[dict[str, Any]]) -> None:
    click.echo(f"{found.rows:,} rows in {found.classes:,} classes of {', '.join(found.quasi_identifiers)}.")
    if not found.rows:
        click.echo("There is nobody in the table.")
    else:
        click.echo(f"k = {found.k:,}: the smallest class has {found.k:,} {'person' if found.k == 1 else 'people'}.")
    if found.sensitive:
        words = {
            "alpha": "alpha: most common value, largest share in a class",
            "l_distinct": "l: fewest different values in a class",
            "l_entropy": "l (entropy)",
            "t_equal": "t: farthest from the whole table",
            "t_ordered": "t (ordered)",
            "t_hierarchical": "t (hierarchical)",
            "beta": "beta: largest relative gain of a value",
            "beta_enhanced": "beta (enhanced)",
            "delta": "delta (log2)",
        }
        every = {name: measure_values(measures) for name, measures in found.sensitive.items()}
        rows = [
            [text, *(_number(values[key]) for values in every.values())]
            for key, text in words.items()
            if any(values[key] is not None for values in every.values())
        ]
        print_table(["", *every], rows)
    click.echo(f"Counted so: {found.missing}; {'people' if found.people != found.rows else 'rows'} are counted.")
    if found.across is not None:
        click.echo(str(found).splitlines()[-1])
    if verdicts:
        rows = [[v["required"], v["sensitive"] or "the table", "yes" if v["holds"] else "NO"] for v in verdicts]
        print_table(["required", "of", "holds"], rows)
