"""``pydplib hierarchy``: make, show and check generalization hierarchies, in ARX's CSV format."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pydplib.cli.inputs import InputFile, csv_options, open_files
from pydplib.cli.tables.words import print_json, print_table
from pydplib.errors import DataError, HierarchyError, ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity import Hierarchy, TableHierarchy


_READ_PATH = InputFile()


@click.group("hierarchy")
def command() -> None:
    """Make, show and check hierarchies: how values become coarser, level by level.

    Files are in ARX's format: one value per line, its labels from fine to coarse, semicolons between, no header.
    """


@command.command("show")
@click.argument("file", type=_READ_PATH)
@click.option("--rows", type=click.IntRange(min=0), default=10, show_default=True, help="How many lines.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def show(file: Path, rows: int, as_json: bool) -> None:
    """Show the levels of a hierarchy file and its first lines.

    \b
    Examples:
      pydplib hierarchy show zip.csv --rows 20
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.anonymity import Hierarchy

    found = Hierarchy.from_csv(file)
    found.resolve(file.stem, list(found.leaves))  # says if a level is not made of whole groups of the one below
    labels = [len({row[level] for row in found.rows}) for level in range(found.height + 1)]
    if as_json:
        print_json({"file": str(file), "values": labels[0], "height": found.height, "labels_per_level": labels})
        return
    click.echo(f"{file.name}: {labels[0]:,} values, {found.height} levels above them.")
    print_table(["level", "labels"], [[str(level), f"{number:,}"] for level, number in enumerate(labels)])
    if labels[-1] > 1:
        click.echo("The top level has several labels: rows that differ there can only be suppressed.")
    if rows:
        heads = [f"level {level}" for level in range(found.height + 1)]
        print_table(heads, [list(row) for row in found.rows[:rows]], title="First lines")


@command.command("check")
@click.argument("file", type=_READ_PATH)
@click.argument("table", type=_READ_PATH)
@click.option("--column", required=True, help="The column of TABLE that the hierarchy is for.")
@click.option("--sheet", help="The sheet of an Excel file that has several.")
@csv_options
@click.option("--list", "list_", is_flag=True, help="Print the values that are missing. They are cells of TABLE!")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def check(file: Path, table: Path, column: str, sheet: str | None, list_: bool, as_json: bool) -> None:
    """Check that hierarchy FILE covers every value of a column of TABLE. Ends with code 16 if not.

    \b
    Examples:
      pydplib hierarchy check age.csv visits.csv --column age
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Hierarchy

    found = Hierarchy.from_csv(file)
    found.resolve(column, list(found.leaves))
    values = distinct_values(table, column, sheet)
    missing = [value for value in values if found.row_of(value) is None]
    unused = len(found.leaves) - len({found.row_of(value) for value in values} - {None})
    if as_json:
        print_json({"covers": not missing, "missing": len(missing), "unused": unused, "height": found.height})
    else:
        click.echo(f"{len(values) - len(missing):,} of {len(values):,} different values of '{column}' are covered.")
        if unused:
            click.echo(f"{unused:,} values of the hierarchy do not occur in the table, which is fine.")
        if list_ and missing:
            click.echo("Missing (cells of the table, for its owner only):")
            click.echo("\n".join(sorted(map(str, missing))))
    if missing:
        raise HierarchyError(
            f"The hierarchy '{file.name}' does not cover {len(missing):,} values of '{column}'. Add a line for each."
            + ("" if list_ else " --list prints them.")
        )


_DAY = click.DateTime(["%Y-%m-%d"])
_PATH = InputFile()
_MOST = 1_000_000
_F = TypeVar("_F", bound=Callable[..., Any])


@click.group("make", short_help="Make a hierarchy from a rule; print it or write it.")
def make() -> None:
    """Make a hierarchy from a rule; it is printed, or written with --output."""


def _output_options(function: _F) -> _F:
    output = click.option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="A file, not the screen."
    )
    return output(click.option("--force", is_flag=True, help="Replace a file that exists.")(function))


def _source_options(function: _F) -> _F:
    table = click.option("--table", type=_PATH, help="Take the values from a column of this table. They are its cells!")
    column = click.option("--column", help="The column of --table.")
    sheet = click.option("--sheet", help="The sheet of an Excel file that has several.")
    return table(column(sheet(csv_options(function))))


@make.command("intervals")
@click.option("--low", type=float, required=True, help="The smallest possible value.")
@click.option("--high", type=float, required=True, help="The largest possible value.")
@click.option("--width", "widths", type=float, multiple=True, required=True, help="Of level 1, 2, ...; one per level.")
@click.option(
    "--step", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="Between values."
)
@_output_options
def intervals(
    low: float, high: float, widths: tuple[float, ...], step: float, output: Path | None, force: bool
) -> None:
    """Numbers in intervals: 39, 35-39, 30-39, 20-39, *.

    \b
    Examples:
      pydplib hierarchy make intervals --low 0 --high 120 --width 5 --width 10 --width 20 -o age.csv
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Intervals

    number = _count(low, high, step)
    whole = all(x.is_integer() for x in (low, high, step, *widths))
    leaves: list[Any] = [low + place * step for place in range(number)]
    if whole:
        leaves, low, high = [int(leaf) for leaf in leaves], int(low), int(high)
        widths = tuple(int(width) for width in widths)
    else:
        leaves = [round(leaf, 10) for leaf in leaves]
    _finish(Intervals(low, high, widths), leaves, output, force=force)


@make.command("cuts")
@click.option(
    "--edges",
    "levels",
    multiple=True,
    required=True,
    metavar="A,B,C",
    help="From the smallest possible value to the largest; once per level, each with some of those before.",
)
@click.option(
    "--step", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="Between values."
)
@_output_options
def cuts(levels: tuple[str, ...], step: float, output: Path | None, force: bool) -> None:
    """Numbers between edges, for long tails: 17, 10-49, 0-49, *.

    \b
    Examples:
      pydplib hierarchy make cuts --edges 0,10,50,365 --edges 0,50,365 -o days.csv
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Cuts

    edges = [[_number(part) for part in level.split(",")] for level in levels]
    hierarchy = Cuts(edges)
    low, high = edges[0][0], edges[0][-1]
    leaves: list[Any] = [low + place * step for place in range(_count(low, high, step))]
    if all(isinstance(edge, int) for level in edges for edge in level) and step.is_integer():
        leaves = [int(leaf) for leaf in leaves]
    else:
        leaves = [round(leaf, 10) for leaf in leaves]
    _finish(hierarchy, leaves, output, force=force)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise click.UsageError(f"'{text.strip()}' is not a number. Give edges as --edges 0,10,100.") from None
    return int(number) if number.is_integer() else number


@make.command("codes", short_help="Codes of a public system: E11.9, E11, E10-, E00-E90.")
@click.option("--system", type=click.Choice(["icd-10", "uk-postcode"]), required=True, help="Which system.")
@click.option("--values", help="The codes, separated by commas.")
@_source_options
@_output_options
def codes(
    system: str,
    values: str | None,
    table: Path | None,
    column: str | None,
    sheet: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Codes of a public system along its own groups: E11.9, E11, E10-, E00-E90, *.

    \b
    Examples:
      pydplib hierarchy make codes --system icd-10 --table visits.csv --column diagnosis -o diagnosis.csv
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Codes

    listed = [str(value) for value in _values(values, table, column, sheet)]
    _finish(Codes(system), listed, output, force=force, from_table=table is not None)


def _count(low: float, high: float, step: float) -> int:
    if not low <= high:
        raise HierarchyError(f"Intervals need low <= high. Got {low:g} and {high:g}.")
    number = int((high - low) / step + 1e-9) + 1
    if number > _MOST:
        raise HierarchyError(f"The hierarchy would list more than {_MOST:,} values. Use a larger --step.")
    return number


@make.command("dates")
@click.option("--low", type=_DAY, metavar="YYYY-MM-DD", required=True, help="The first possible day.")
@click.option("--high", type=_DAY, metavar="YYYY-MM-DD", required=True, help="The last possible day.")
@click.option(
    "--unit",
    "units",
    multiple=True,
    type=click.Choice(["month", "quarter", "year", "decade"]),
    default=("month", "quarter", "year"),
    show_default=True,
    help="Of level 1, 2, ..., from fine to coarse.",
)
@_output_options
def dates(low: dt.datetime, high: dt.datetime, units: tuple[str, ...], output: Path | None, force: bool) -> None:
    """Days by the calendar: 2017-03-09, 2017-03, 2017-Q1, 2017, *.

    \b
    Examples:
      pydplib hierarchy make dates --low 2017-01-01 --high 2018-12-31 --unit month --unit year -o visit.csv
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Dates

    number = (high - low).days + 1
    if number < 1 or number > _MOST:
        raise HierarchyError("Dates need --low on or before --high, and at most a million days.")
    days = [low.date() + dt.timedelta(days=place) for place in range(number)]
    _finish(Dates(low.date(), high.date(), units=units), days, output, force=force)


@make.command("masking", short_help="Codes, character by character: 81675, 8167*, 816**.")
@click.option("--values", help="The codes, separated by commas.")
@click.option("--step", type=click.IntRange(min=1), default=1, show_default=True, help="Characters masked per level.")
@click.option(
    "--side", type=click.Choice(["right", "left"]), default="right", show_default=True, help="Where it begins."
)
@_source_options
@_output_options
def masking(
    values: str | None,
    step: int,
    side: str,
    table: Path | None,
    column: str | None,
    sheet: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Codes, character by character: 81675, 8167*, 816**, ...

    \b
    Examples:
      pydplib hierarchy make masking --table visits.csv --column zip -o zip.csv
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Masking

    codes = [str(value) for value in _values(values, table, column, sheet)]
    length = max(map(len, codes), default=1) or 1
    _finish(Masking(length, step=step, side=side), codes, output, force=force, from_table=table is not None)  # type: ignore[arg-type]


@make.command("order")
@click.option("--values", help="All values in order, separated by commas.")
@click.option("--group", type=click.IntRange(min=2), default=2, show_default=True, help="Neighbours merged per level.")
@_source_options
@_output_options
def order(
    values: str | None,
    group: int,
    table: Path | None,
    column: str | None,
    sheet: str | None,
    output: Path | None,
    force: bool,
) -> None:
    """Ordered values, neighbours together: III, III - IV, *.

    \b
    Examples:
      pydplib hierarchy make order --values I,II,III,IV -o stage.csv
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Hierarchy

    listed = _values(values, table, column, sheet)
    _write(Hierarchy.order(listed, group=group), output, force=force, from_table=table is not None)


@make.command("grouping")
@click.option("--group", "groups", multiple=True, metavar="LABEL=A,B", help="A label and its values; one per group.")
@click.option("--file", "groups_file", type=_PATH, help="Nested groups as TOML or JSON: label = [values], or [label].")
@_output_options
def grouping(groups: tuple[str, ...], groups_file: Path | None, output: Path | None, force: bool) -> None:
    """Values in groups: leg, lower body, *.

    \b
    Examples:
      pydplib hierarchy make grouping --group upper=arm,head --group lower=leg,foot -o site.csv
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.anonymity import Hierarchy

    if bool(groups) == (groups_file is not None):
        raise click.UsageError("Give the groups in one way: --group LABEL=A,B (several times), or --file.")
    if groups_file is not None:
        _write(Hierarchy.grouping(_read_groups(groups_file)), output, force=force)
        return
    nested: dict[str, list[str]] = {}
    for text in groups:
        label, equals, members = text.partition("=")
        if not equals or not label.strip() or not members.strip():
            raise click.UsageError(f"'{text}' is not LABEL=A,B.")
        nested.setdefault(label.strip(), []).extend(part.strip() for part in members.split(","))
    _write(Hierarchy.grouping(nested), output, force=force)


@make.command("automatic", short_help="A first draft from a column's values, to be edited.")
@_source_options
@_output_options
def automatic(table: Path | None, column: str | None, sheet: str | None, output: Path | None, force: bool) -> None:
    """A first draft from the values of a column, to be edited: bounds and values come from the data.

    \b
    Examples:
      pydplib hierarchy make automatic --table visits.csv --column age -o age.csv
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.anonymity.hierarchies.rules import hierarchy_from_values

    found = _values(None, table, column, sheet)
    _finish(hierarchy_from_values(found), found, output, force=force, from_table=True)


def _values(listed: str | None, table: Path | None, column: str | None, sheet: str | None) -> list[Any]:
    if (listed is None) == (table is None):
        raise click.UsageError("Say where the values come from in one way: --values A,B,C, or --table with --column.")
    if listed is not None:
        return [part.strip() for part in listed.split(",") if part.strip()]
    if column is None:
        raise click.UsageError("Name the column of --table: --column NAME.")
    assert table is not None
    found = distinct_values(table, column, sheet)
    if not found:
        raise DataError(f"Column '{column}' has no values.")
    return found


def distinct_values(path: Path, column: str, sheet: str | None) -> list[Any]:
    """Return the different values of a column, in order, without the missing one."""
    from pydplib._duckdb_files import sql_name as identifier
    from pydplib.tables.files import engine_errors

    with open_files() as tables:
        table = tables.open(path, sheet=sheet)
        table.check([column], "--column")
        with engine_errors(table.format):
            name = identifier(column)
            rows = table.relation.project(name).distinct().filter(f"{name} IS NOT NULL").order(name).fetchall()
    return [row[0] for row in rows]


def _read_groups(path: Path) -> dict[str, Any]:
    import json
    import tomllib

    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError):
        raise ParameterError(f"'{path.name}' cannot be read as TOML or JSON (.json).") from None
    if not isinstance(values, dict):
        raise ParameterError(f"'{path.name}' must hold labels with their values: label = [values].")
    return values


def _finish(
    hierarchy: Hierarchy, leaves: Sequence[Any], output: Path | None, *, force: bool, from_table: bool = False
) -> None:
    from pydplib.cli.tables.configuration import to_table

    _write(to_table(hierarchy, leaves), output, force=force, from_table=from_table)


def _write(table: TableHierarchy, output: Path | None, *, force: bool, from_table: bool = False) -> None:
    from pydplib.cli.outputs import check_targets, staged

    if output is None:
        with tempfile.TemporaryDirectory(prefix="pydplib-") as folder:
            path = Path(folder) / "hierarchy.csv"
            table.to_csv(path)
            click.echo(path.read_text(encoding="utf-8"), nl=False)
        return
    check_targets([("--output", output)], [], force=force)
    with staged() as staging:
        table.to_csv(staging.part(output))
    click.echo(
        f"{output}: {len(table.leaves):,} values, {table.height} level{'s' * (table.height > 1)} above them.", err=True
    )
    if from_table:
        click.echo("It lists values of the table: keep it as private as the table itself.", err=True)


command.add_command(make)
