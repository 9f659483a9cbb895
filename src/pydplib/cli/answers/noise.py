"""``pydplib noise FILE``: noise on one column of a file, as the PyDPLib paper does it."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import click

from pydplib.cli.answers.column_files import ColumnFiles, Format, format_of_name, send, spool
from pydplib.cli.inputs import InputFile, csv_options, said_options
from pydplib.cli.outputs import check_targets, staged
from pydplib.cli.progress import show_steps
from pydplib.errors import ParameterError, PydplibError
from pydplib.paper.words import NOISE_METRICS, ON_MISSING, ROLES, SELECTORS, parse_data_type
from pydplib.policy.noise_factors import NOISE_FACTORS
from pydplib.tables import TableFile

_QUERIES = ["count", "histogram", "mean", "average", "median", "variance", "1", "2", "3", "4"]


def read_bounds(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[Any, Any] | None:
    """Return LOW,HIGH as two numbers, or as two dates such as 2010-01-01."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    readers: tuple[Callable[[str], Any], ...] = (float, date.fromisoformat)
    for read in readers if len(parts) == 2 else ():
        try:
            return read(parts[0]), read(parts[1])
        except ValueError:
            continue
    raise click.BadParameter(f"'{value}' is not LOW,HIGH, such as 18,100 or 2010-01-01,2024-12-31.")


def _read_data_type(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Return a data type by any name that the library takes."""
    if value is None:
        return None
    try:
        return parse_data_type(value)
    except ParameterError as error:
        raise click.BadParameter(str(error).replace("Unknown data_type ", "Unknown data type ")) from None


@click.command("noise")
@click.argument("file", type=InputFile(reads_dash=False, path_type=str))
@click.option("--column", required=True, help="The column that gets noise.")
@click.option(
    "--query",
    "query_type",
    type=click.Choice(_QUERIES, case_sensitive=False),
    required=True,
    metavar="[count|mean|median|variance]",
    help="What the data are for: sets the printed sensitivity and epsilon.",
)
@click.option("--noise-factor", type=click.Choice([*NOISE_FACTORS, "0", "1", "2"]), help="How much noise.")
@click.option("--role", type=click.Choice(list(ROLES)), help="Who gets the data, instead of a noise factor.")
@click.option(
    "--record-epsilon", type=float, help="The privacy loss per record, instead of a noise factor; needs --bounds."
)
@click.option("--is-range", is_flag=True, help="Fit the noisy values to the range of the data (Eq. 4 of the paper).")
@click.option(
    "--bounds", metavar="LOW,HIGH", callback=read_bounds, help="Public limits, e.g. 18,100; values beyond are clamped."
)
@click.option("--categories", help="All values that a text column may take, in order, separated by commas.")
@click.option(
    "--data-type",
    callback=_read_data_type,
    metavar="[char|string|int|numpy.int|float|numpy.float|bool|numpy.bool|date]",
    help="What the values are, in the paper's words; found out if not given.",
)
@click.option(
    "--selector",
    type=click.Choice(SELECTORS),
    default="closed_form",
    show_default=True,
    help="How the noise is chosen; `public` needs --bounds (text: --categories) and gives a real guarantee.",
)
@click.option(
    "--noise-metric",
    type=click.Choice(NOISE_METRICS),
    default="wmape",
    show_default=True,
    help="What the noise is a percentage of: the typical value, or the range.",
)
@click.option(
    "--on-missing",
    type=click.Choice(ON_MISSING),
    default="error",
    show_default=True,
    help="What happens to rows without a value: stop, leave the row out, or a category of its own.",
)
@click.option("--only-column", is_flag=True, help="Write the noisy column alone, without the others.")
@click.option("--format", "format_", type=click.Choice(["csv", "parquet"]), help="Format where no file name says it.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    show_default=True,
    help="Where the data go: a .csv, .tsv, .csv.gz or .parquet file, or - for standard output.",
)
@click.option("--force", is_flag=True, help="Replace an output that exists.")
@click.option("--sheet", help="The sheet of a workbook that has several.")
@csv_options
@click.option("--json", "as_json", is_flag=True, help="Summary as JSON: to standard output if that is free.")
def command(
    file: str,
    column: str,
    output: str,
    format_: Format | None,
    only_column: bool,
    force: bool,
    sheet: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Add noise to one column of FILE (CSV, Parquet or Excel, - for standard input), as the PyDPLib paper does.

    ALL OTHER COLUMNS LEAVE AS THEY ARE, names and identifiers included: use --only-column, or remove them first. The
    rows keep their order. In a CSV, quotes are written only where they are needed, in UTF-8. A summary with the
    guarantee goes to standard error.

    With --selector public or --record-epsilon no value decides what the values of a CSV are: they are numbers with
    decimals (dates, if --bounds are; true/false without --bounds), unless --data-type says otherwise.

    \b
    Examples:
      pydplib noise reports.csv --column age --query mean --role third_party -o noisy.csv
      pydplib noise reports.csv --column age --query mean --record-epsilon 4 --bounds 18,100 -o noisy.parquet
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.paper import dp_calculate
    from pydplib.paper.codes import missing_values
    from pydplib.paper.containers import open_column

    if sum(options[name] is not None for name in ("noise_factor", "role", "record_epsilon")) != 1:
        raise click.UsageError("Say how much noise in exactly one way: --noise-factor, --role or --record-epsilon.")
    if options["categories"] is not None:
        options["categories"] = [category.strip() for category in options["categories"].split(",")]
    _check_output(file, output, format_ or format_of_name(file), format_, force=force)
    sources = [] if file == "-" else [Path(file)]
    with (
        tempfile.TemporaryDirectory(prefix="pydplib-") as folder,
        show_steps(file) as steps,
        staged(sources) as outputs,
    ):
        workspace = Path(folder)
        path = _input(file, workspace)
        files = ColumnFiles(workspace, steps.percent)
        try:
            steps.start("Reading")
            form = format_ if file == "-" else format_of_name(file)
            table = files.open(path, form, sheet=sheet, options=said_options())
            # A missing value as a category of its own makes a text of yes and no.
            data_type = options["data_type"] or ("string" if options["on_missing"] == "category" else None)
            reading = files.read(table, column, data_type, public=_public_kind(options))
            steps.start("Adding noise")
            keep = None
            if options["on_missing"] == "drop":
                missing = missing_values(open_column(reading.values))
                keep = None if missing is None else ~missing
            with _option_words():
                result = dp_calculate(reading.values, **options)
            steps.start("Writing")
            target = workspace / "output" if output == "-" else outputs.part(Path(output))
            files.write(
                table,
                column,
                reading,
                result.dp_data,
                keep=keep,
                output=target,
                format=_output_format(output, format_, table),
                only_column=only_column,
                delimiter="\t" if _unpacked(output).endswith(".tsv") else None,
                packed=_unpacked(output) != output.lower(),
            )
        finally:
            files.close()
        if output == "-":
            send(target)
    others = [] if only_column else [name for name in table.columns if name != column]
    if as_json:
        summary = {"file": file, "column": column, "output": output, **result.to_dict(), "unchanged_columns": others}
        click.echo(json.dumps(summary, indent=2), err=output == "-")
    else:
        _print_summary(repr(result), column, others)


def _public_kind(options: Mapping[str, Any]) -> str | None:
    """Return the kind of a column that public facts say, where a guarantee needs that no value decides it."""
    if options["selector"] != "public" and options["record_epsilon"] is None:
        return None
    if options["categories"] is not None:
        return "text"
    if options["bounds"] is None:
        return "bool"  # all else needs bounds or categories
    return "date" if isinstance(options["bounds"][0], date) else "float"


def _unpacked(name: str) -> str:
    return name.lower().removesuffix(".gz")


def in_option_words(text: str) -> str:
    """Return a sentence of the library in the words of the command line: on_missing='drop' is --on-missing drop."""

    def option(name: str) -> str:
        return "--" + name.replace("_", "-")

    text = re.sub(r"\b(\w+)='(\w+)'", lambda m: f"{option(m[1])} {m[2]}", text)
    text = re.sub(r"\b(\w+)=True", lambda m: option(m[1]), text)
    text = re.sub(r"\bbounds=\(([^)]*)\)", lambda m: f"--bounds {m[1].replace(', ', ',').upper()}", text)
    text = re.sub(r"\bcategories=\[\.\.\.\]", "--categories A,B,C", text)
    return re.sub(r"\b(\w+)=(?=[ ,.:)])", lambda m: option(m[1]), text)


@contextmanager
def _option_words() -> Iterator[None]:
    try:
        yield
    except PydplibError as error:
        raise type(error)(in_option_words(str(error))) from None


def _print_summary(card: str, column: str, others: list[str]) -> None:
    head, _, body = card.partition("\n")
    click.echo(f"Column '{column}': {head.removeprefix('DPResult: ')}\n{in_option_words(body)}", err=True)
    if others:
        count = "1 other column" if len(others) == 1 else f"{len(others)} other columns"
        names = ", ".join(others[:8]) + (", ..." if len(others) > 8 else "")
        click.echo(f"  {'Unchanged':<12} {count}, exactly as in the input: {names}", err=True)


def _check_output(file: str, output: str, format_: Format | None, asked: Format | None, *, force: bool) -> None:
    if output == "-":
        if format_ == "parquet" and sys.stdout is not None and sys.stdout.isatty():
            raise ParameterError("Parquet is not for reading on a screen: give --output, or redirect the output.")
        return
    target = Path(output)
    check_targets([("--output", target)], [] if file == "-" else [Path(file)], force=force)
    if target.suffix and format_of_name(output) is None and asked is None and not target.is_fifo():
        raise ParameterError(
            f"An output ends in .csv, .tsv, .csv.gz or .parquet. Got '{target.name}'; --format says it for other names."
        )


def _input(file: str, workspace: Path) -> Path:
    if file != "-":
        return Path(file)
    path = workspace / "input"
    spool(sys.stdin.buffer, path)
    return path


def _output_format(output: str, asked: Format | None, table: TableFile) -> Format:
    own: Format = "parquet" if table.format == "parquet" else "csv"
    return (None if output == "-" else format_of_name(output)) or asked or own
