"""``pydplib figures``: the paper's figures as pages or pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pydplib.experiments.figures import PaperFigure

# Names of FIGURES, written out so that --help imports nothing heavy; a test keeps them the same.
NAMES = ("2", "3", "4", "4-noised-ages", "5", "5-from-counts", "variance", "variance-from-variances")


@click.command(short_help="Draw the paper's figures as interactive pages and pictures.")
@click.option(
    "--figure",
    "wanted",
    multiple=True,
    type=click.Choice([*NAMES, "all"]),
    help="Which figure; may be given several times. By default all.",
)
@click.option(
    "--format",
    "kind",
    default="html",
    show_default=True,
    type=click.Choice(["html", "png", "svg"]),
    help="Interactive page, or picture (needs Chromium).",
)
@click.option(
    "--output",
    default="pydplib-figures",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the figures; made if needed.",
)
@click.option(
    "--original/--no-original",
    default=True,
    show_default=True,
    help="Owner's view, with the original beside; or a partner's, with noise on both axes.",
)
@click.option("--dark", is_flag=True, help="Dark pictures; pages follow the reader's own look.")
@click.option("--n", default=920, show_default=True, type=click.IntRange(100, 10_000_000), help="Synthetic reports.")
@click.option("--seed", default=2018, show_default=True, type=click.IntRange(min=0), help="Which synthetic cohort.")
def command(wanted: tuple[str, ...], kind: str, output: Path, original: bool, dark: bool, n: int, seed: int) -> None:
    """Draw the paper's figures from the synthetic cohort, at low, medium and high noise.

    \b
    Examples:
      pydplib figures
      pydplib figures --figure 2 --figure 5-from-counts --format png
    """  # noqa: D301 - click needs the backspace itself
    from rich.console import Console

    from pydplib.cli._progress import steps_bar
    from pydplib.datasets import pirads
    from pydplib.experiments.figures import paper_figure

    names = list(NAMES) if not wanted or "all" in wanted else list(dict.fromkeys(wanted))
    paths = {name: output / f"figure-{name}.{kind}" for name in names}
    with steps_bar(Console(stderr=True), len(names) + 2) as step:
        step("Synthetic cohort")
        data = pirads(n=n, seed=seed, backend="numpy")
        drawn: dict[str, Any] = {}
        for name in names:
            step(f"Figure {name}")
            drawn[name] = paper_figure(name, data, original=original)
        step("Writing")
        if kind == "html":
            for name, path in paths.items():
                _page(drawn[name]).write(path)
        else:
            from pydplib.plot import to_pngs

            jobs = [(drawn[name].figure, path) for name, path in paths.items()]
            to_pngs(jobs, mode="dark" if dark else "light")
    for path in paths.values():
        click.echo(str(path.resolve()))


def _page(paper: PaperFigure) -> Any:
    from pydplib.report import Chart, Report, Section

    title, _ = paper.figure.words
    return Report(
        title,
        [Section("", [Chart(paper.figure.with_words(title=""), paper.table)])],
        kicker=f"{paper.label} · synthetic data",
    )
