"""``pydplib hierarchy``: make, show and check generalization hierarchies, in ARX's CSV format."""

from __future__ import annotations

from pathlib import Path

import click

from pydplib.cli._anonymity_words import print_json, print_table
from pydplib.cli._hierarchy_make import distinct_values, make
from pydplib.cli._inputs import InputFile, csv_options
from pydplib.errors import HierarchyError

_PATH = InputFile()


@click.group("hierarchy")
def command() -> None:
    """Make, show and check hierarchies: how values become coarser, level by level.

    Files are in ARX's format: one value per line, its labels from fine to coarse, semicolons between, no header.
    """


command.add_command(make)


@command.command("show")
@click.argument("file", type=_PATH)
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
@click.argument("file", type=_PATH)
@click.argument("table", type=_PATH)
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
