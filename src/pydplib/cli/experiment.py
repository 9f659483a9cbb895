"""``pydplib experiment``: the papers' tables and figures, made again, next to the printed values and the theory."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pydplib.cli import NamedGroup

if TYPE_CHECKING:
    from pydplib.experiments._result import Experiment

_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group("experiment", cls=NamedGroup)
def command() -> None:
    """Run an experiment again, on synthetic data: tables next to the paper's values and the theory, and figures."""


def _outputs(function: _Function) -> _Function:
    """Add the options that all experiments share."""
    folder = click.Path(file_okay=False, path_type=Path)
    file = click.Path(dir_okay=False, path_type=Path)
    options = [
        click.option("--seed", type=click.IntRange(min=0), help="Repeat a run: same seed, same numbers."),
        click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output."),
        click.option("--csv", "csv_file", type=file, help="Write the main table to this file; - for standard output."),
        click.option("--html", "html_file", type=file, help="Write a page with tables and interactive figures."),
        click.option("--png", "png_folder", type=folder, help="Write the figures as PNG into this folder."),
        click.option("--svg", "svg_folder", type=folder, help="Write the figures as SVG into this folder."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def _numbers(kind: type[int] | type[float]) -> Callable[[click.Context, click.Parameter, str], tuple[Any, ...]]:
    def read(ctx: click.Context, param: click.Parameter, value: str) -> tuple[Any, ...]:
        try:
            numbers = [float(part) for part in value.split(",")]
            if not all(math.isfinite(number) and (kind is float or number.is_integer()) for number in numbers):
                raise ValueError
        except ValueError:
            what = "whole numbers" if kind is int else "numbers"
            raise click.BadParameter(f"'{value}' is not a list of {what} such as {param.default}.") from None
        return tuple(kind(number) for number in dict.fromkeys(numbers))

    return read


@command.command("inference", short_help="Noise on records against noise on the mean: the second paper.")
@click.option(
    "--sizes", default="1000,10000,100000", show_default=True, callback=_numbers(int), help="Numbers of records n."
)
@click.option(
    "--repetitions", "-k", default=50, show_default=True, type=click.IntRange(2, 10_000), help="Releases each."
)
@click.option(
    "--epsilon", default=1.0, show_default=True, type=click.FloatRange(0.001, 100), help="Of the Laplace noise."
)
@click.option("--divergence/--no-divergence", default=True, show_default=True, help="Fig. 3 as well.")
@_outputs
def inference(
    sizes: tuple[int, ...], repetitions: int, epsilon: float, divergence: bool, seed: int | None, **outputs: Any
) -> None:
    r"""Compare noise on records with Laplace noise on the mean: Table I and Figs. 1 to 3 of the second paper.

    \b
    Examples:
      pydplib experiment inference --seed 1
      pydplib experiment inference --sizes 1000,5000 -k 200 --html inference.html
    """
    from pydplib.experiments.inference import JS_SIZES, run_inference

    js_sizes = JS_SIZES if divergence else ()
    _write(
        run_inference(sizes=sizes, repetitions=repetitions, epsilon=epsilon, seed=seed, js_sizes=js_sizes), **outputs
    )


@command.command("pirads", short_help="What the first paper's noise factors are worth.")
@click.option("--n", default=920, show_default=True, type=click.IntRange(50, 1_000_000), help="Synthetic reports.")
@click.option(
    "--calls",
    default="1,2,5,10,20,50,100",
    show_default=True,
    callback=_numbers(int),
    help="Numbers of repeated calls.",
)
@click.option(
    "--repetitions", default=20, show_default=True, type=click.IntRange(1, 1_000), help="Releases to average."
)
@_outputs
def pirads(n: int, calls: tuple[int, ...], repetitions: int, seed: int | None, **outputs: Any) -> None:
    r"""Measure the first paper's noise factors: real privacy loss, ages recovered, distribution kept.

    \b
    Examples:
      pydplib experiment pirads --seed 1
      pydplib experiment pirads --html pirads.html
    """
    from pydplib.experiments.pirads import run_pirads

    _write(run_pirads(n=n, calls=calls, repetitions=repetitions, seed=seed), **outputs)


@command.command("compare", short_help="One cohort by k-anonymity, l-diversity, t-closeness, DP.")
@click.option("--n", default=920, show_default=True, type=click.IntRange(100, 1_000_000), help="Synthetic reports.")
@click.option("--k", default=5, show_default=True, type=click.IntRange(2, 1_000), help="Of k-anonymity.")
@click.option("--diversity", default=3, show_default=True, type=click.IntRange(2, 5), help="The l of l-diversity.")
@click.option(
    "--closeness", default=0.2, show_default=True, type=click.FloatRange(0.01, 1), help="The t of t-closeness."
)
@click.option("--epsilons", default="1,0.1", show_default=True, callback=_numbers(float), help="Of private counts.")
@_outputs
def compare(
    n: int, k: int, diversity: int, closeness: float, epsilons: tuple[float, ...], seed: int | None, **outputs: Any
) -> None:
    r"""Protect one cohort by k-anonymity, l-diversity, t-closeness and DP; compare error, loss and attacks.

    \b
    Examples:
      pydplib experiment compare --seed 1
    """
    from pydplib.experiments.compare import run_compare

    result = run_compare(n=n, k=k, diversity=diversity, closeness=closeness, epsilons=epsilons, seed=seed)
    _write(result, **outputs)


def _write(
    result: Experiment,
    *,
    as_json: bool,
    csv_file: Path | None,
    html_file: Path | None,
    png_folder: Path | None,
    svg_folder: Path | None,
) -> None:
    to_stdout = csv_file is not None and str(csv_file) == "-"
    if as_json and to_stdout:
        raise click.UsageError("Standard output takes one of them: --json, or --csv -.")
    written = []
    if csv_file is not None and not to_stdout:
        _save(csv_file, result.to_csv())
        written.append(csv_file)
    if html_file is not None:
        written.append(result.to_report().write(html_file))
    for folder, ending in ((png_folder, "png"), (svg_folder, "svg")):
        if folder is not None:
            from pydplib.plot import to_pngs

            written += to_pngs([(figure, folder / f"{name}.{ending}") for name, figure in result.figures().items()])
    if as_json:
        click.echo(result.to_json())
    elif to_stdout:
        click.echo(result.to_csv(), nl=False)
    else:
        _print(result)
    for path in written:
        click.echo(str(path.resolve()), err=as_json or to_stdout)


def _save(path: Path, text: str) -> None:
    from pydplib.errors import ParameterError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"'{path}' cannot be written: {error.strerror}.") from None


def _print(result: Experiment) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has room
    console.print(f"[bold]{result.title}[/bold]\n{result.lead}\n", highlight=False)
    for sheet in result.sheets:
        table = Table(
            title=sheet.title, caption=sheet.note or None, title_justify="left", caption_justify="left",
            box=SIMPLE_HEAD, padding=0, pad_edge=False,
        )  # fmt: skip
        cells = [[_short(cell) for cell in row] for row in sheet.cells()]
        for place, heading in enumerate(sheet.columns.values()):
            column = [row[place] for row in sheet.cells()]
            number = all(isinstance(value, int | float | type(None)) for value in column)
            longest = max((len(row[place]) for row in cells), default=0)
            # Headings may be broken at words; numbers never, and sentences where they must.
            table.add_column(heading, justify="right" if number else "left", min_width=min(longest, 12))
        for row in cells:
            table.add_row(*row)
        console.print(table, "")
    console.print("[bold]What to know[/bold]")
    for remark in result.remarks:
        console.print(f"- {remark}", highlight=False)


def _short(value: Any) -> str:
    from pydplib.plot.tables import show

    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.4g}" if abs(value) >= 1 else f"{value:.3g}"
    return show(value)
