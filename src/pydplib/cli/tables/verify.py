"""``pydplib verify FILE``: which k, l, t, beta and delta a table has as it is, and whether that is what is required."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib._duckdb_files import sql_name as identifier
from pydplib.cli.inputs import InputFile, csv_options, open_files
from pydplib.cli.progress import waiting
from pydplib.cli.tables.risk import check_quasi
from pydplib.cli.tables.words import (
    NAMES_HELP,
    ROLES_HINT,
    measure_values,
    print_columns,
    print_json,
    print_table,
    read_names,
    read_pairs,
    role_options,
)
from pydplib.errors import AnonymityError, ParameterError, did_you_mean
from pydplib.tables import TableFile
from pydplib.tables.files import engine_errors

if TYPE_CHECKING:
    from pydplib.anonymity import SensitiveMeasures, Verification


_SLACK = 1e-7  # the tolerance of certificates: a class at exactly ln l passes
# Demand -> attribute of SensitiveMeasures, and whether more is better.
_MEASURES: dict[str, tuple[str, bool]] = {
    "alpha": ("alpha", False),
    "l": ("l_distinct", True),
    "l-entropy": ("l_entropy", True),
    "t": ("t_equal", False),
    "t-ordered": ("t_ordered", False),
    "t-hierarchical": ("t_hierarchical", False),
    "beta": ("beta", False),
    "beta-enhanced": ("beta_enhanced", False),
    "delta": ("delta", False),
}
DEMANDS = ("k", *_MEASURES, "l-recursive")


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Something that has to hold: ``k=5``, ``l=3``, ``diagnosis:t=0.2``, ``l-recursive=4,3`` (c and l)."""

    text: str
    name: str
    limit: float
    l: int = 0  # noqa: E741
    column: str | None = None

    def holds(self, found: SensitiveMeasures) -> bool:
        """Return whether a sensitive column fulfils the demand."""
        if self.name == "l-recursive":
            return found.recursive(self.l) < self.limit
        attribute, more = _MEASURES[self.name]
        value = getattr(found, attribute)
        if value is None:
            return False
        if self.name == "delta":
            return bool(value < self.limit)  # strict, as the model is defined
        return bool(value >= self.limit * (1 - _SLACK) if more else value <= self.limit + _SLACK)


def read_demands(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[Demand, ...]:
    """Read the values of ``--require``."""
    return tuple(_read_demand(text) for text in values)


def _read_demand(text: str) -> Demand:
    left, equals, right = text.rpartition("=")
    column, colon, name = left.rpartition(":")
    name = name.strip()
    if not equals or name not in DEMANDS:
        raise click.BadParameter(f"'{text}' is not NAME=NUMBER, such as k=5.{did_you_mean(name or text, DEMANDS)}")
    try:
        numbers = [float(part) for part in right.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != (2 if name == "l-recursive" else 1) or not all(map(math.isfinite, numbers)):
        form = "l-recursive=C,L, such as l-recursive=4,3" if name == "l-recursive" else f"{name}=NUMBER"
        raise click.BadParameter(f"'{text}' is not {form}.")
    if name == "k" and colon:
        raise click.BadParameter(f"'{text}': k is about the whole table, leave the column out.")
    return Demand(text=text, name=name, limit=numbers[0], l=int(numbers[-1]), column=column.strip() if colon else None)


def judge(found: Verification, demands: Sequence[Demand]) -> list[dict[str, Any]]:
    """Return, per demand and sensitive column, whether it holds, also together with earlier releases."""
    out: list[dict[str, Any]] = []
    across = found.across
    for demand in demands:
        if demand.name == "k":
            # 0 stands for "none": no class meets an earlier one, nobody appeared or vanished.
            groups = [] if across is None else [across.k, across.appeared, across.vanished]
            good = found.k >= demand.limit and all(size == 0 or size >= demand.limit for size in groups)
            out.append({"required": demand.text, "sensitive": None, "holds": good})
            continue
        for name, measures in found.sensitive.items():
            if demand.column in (None, name):
                good = demand.holds(measures)
                if demand.name == "l" and across is not None and across.k:
                    good = good and across.l_distinct.get(name, 0) >= demand.limit
                out.append({"required": demand.text, "sensitive": name, "holds": good})
    return out


_PATH = InputFile()


@click.command("verify")
@click.argument("file", type=_PATH)
@click.option("--quasi", multiple=True, callback=read_names, help=f"What an outsider may know. {NAMES_HELP}")
@click.option("--sensitive", multiple=True, callback=read_names, help=f"What nobody may learn. {NAMES_HELP}")
@role_options
@click.option("--original", type=_PATH, help="The table that FILE was made from: other columns are joined with it.")
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
@click.option(
    "--safe-harbor",
    is_flag=True,
    help="Look for the 18 kinds of identifiers of HIPAA's Safe Harbor instead; ends with code 15 if one is found.",
)
@click.option("--sheet", help="The sheet of an Excel file that has several.")
@csv_options
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    file: Path,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    config: Path | None,
    insensitive: tuple[str, ...],
    identifiers: tuple[str, ...],
    original: Path | None,
    person: str | None,
    linked: bool,
    demands: tuple[Demand, ...],
    trees: dict[str, str],
    orders: dict[str, str],
    previous: tuple[Path, ...],
    safe_harbor: bool,
    sheet: str | None,
    as_json: bool,
) -> None:
    """Measure k, alpha, l, t, beta and delta of FILE (CSV, Excel, Parquet) as it is, whoever made it.

    A column without a role that may name people (a name, a hashed id, a row number, a copied date) is reported, and
    --require ends with code 15 until it has one.

    \b
    Examples:
      pydplib verify out.csv --quasi age,sex,zip --sensitive diagnosis
      pydplib verify out.csv --quasi age,sex,zip --sensitive diagnosis --require k=5 --require l=3
      pydplib verify out.csv --config anon.toml --original visits.csv --require k=5
      pydplib verify out.csv --safe-harbor
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Hierarchy, verify
    from pydplib.anonymity.tables.frames import SeenFrame
    from pydplib.cli.tables.configuration import Roles

    with open_files() as tables:
        table = tables.open(file, sheet=sheet)
        if safe_harbor:
            _check_safe_harbor(table, insensitive, as_json=as_json)
            return
        said = Roles(quasi=quasi, sensitive=sensitive, insensitive=insensitive, identifiers=identifiers, person=person)
        roles = said.filled(config, lambda path: tables.open(path).frame(), table.columns, whole=False)
        names = check_quasi(table, roles.quasi, f"pydplib verify {file}")
        watched, person = list(dict.fromkeys(roles.sensitive)), roles.person
        table.check(watched, "--sensitive")
        _check_columns(demands, trees, orders, watched, names)
        if person is not None:
            table.check([person], "--person")
        listed = {name: _order(text, table.columns[name]) for name, text in orders.items()}
        for name, values in listed.items():
            _check_order(table, name, values)
        read = {name: Hierarchy.from_csv(path) for name, path in trees.items()}
        with waiting(f"Measuring {file.name}"):
            found = verify(
                SeenFrame.of_file(table, names),
                {name: read.get(name) for name in names},
                watched,
                person=person,
                linked=linked,
                hierarchies={name: tree for name, tree in read.items() if name in watched},
                orders=listed,
                previous=[_earlier(tables.open(path), names) for path in previous],
                insensitive=list(dict.fromkeys(roles.insensitive)),
                identifiers=list(dict.fromkeys(roles.identifiers)),
                original=None if original is None else tables.open(original).frame(),
            )
    verdicts = judge(found, demands)
    if as_json:
        print_json({"file": str(file), **_values(found), "required": verdicts})
    else:
        _print(found, verdicts)
    failed = [verdict["required"] for verdict in verdicts if not verdict["holds"]]
    if failed:
        raise AnonymityError(f"The table does not have what is required: {', '.join(dict.fromkeys(failed))}.")
    if demands and found.unnamed:
        lost = ", ".join(f"'{one.column}'" for one in found.unnamed)
        raise AnonymityError(f"What is required holds only if these columns name nobody: {lost}. {ROLES_HINT}")


def _check_safe_harbor(table: TableFile, ignore: Sequence[str], *, as_json: bool) -> None:
    """Print which of the 18 kinds were found, and where; columns of --insensitive were looked at by somebody."""
    from pydplib.anonymity import safe_harbor
    from pydplib.anonymity.assessment.safe_harbor import KINDS

    table.check(ignore, "--insensitive")
    found = safe_harbor(table.frame(), ignore=ignore)
    if as_json:
        print_json({"file": str(table.path), "safe_harbor": [one.to_dict() for one in found]})
    else:
        where: dict[str, list[str]] = {}
        for one in found:
            where.setdefault(one.letter, []).append(f"{one.column} (by {one.evidence})")
        rows = [[letter, kind, ", ".join(where.get(letter, ["none found"]))] for letter, kind in KINDS.items()]
        print_table(["", "kind of identifier", "columns"], rows, words=("kind of identifier", "columns"))
        for one in found:
            click.echo(one.sentence)
        click.echo(
            "Years may stay, and so may '90 or older' and the first three digits of a ZIP code with more than 20,000 "
            "people (here by the Census of 2000: check them against the current one). None found is no proof: Safe "
            "Harbor also asks that nobody who hands the table over knows how to identify somebody in it."
        )
    if found:
        letters = ", ".join(dict.fromkeys(one.letter for one in found))
        raise AnonymityError(
            f"The table has identifiers of these kinds: {letters}. Drop or coarsen the columns; name those that you "
            "have looked at and that are none with --insensitive."
        )


def _earlier(table: TableFile, names: Sequence[str]) -> Any:
    from pydplib.anonymity.tables.frames import SeenFrame

    table.check(names, "--quasi, in an earlier release")
    return SeenFrame.of_file(table, names)


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
        "without_role": [one.to_dict() for one in found.columns],
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
    print_columns(found.unnamed)
