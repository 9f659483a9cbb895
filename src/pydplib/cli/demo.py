"""``pydplib demo``: a synthetic cohort and a report, on embedded defaults."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Make a synthetic cohort and a report with the paper's figures at three noise levels.")
@click.option("--n", default=920, show_default=True, type=click.IntRange(100, 10_000_000), help="Synthetic reports.")
@click.option("--seed", default=2018, show_default=True, type=click.IntRange(min=0), help="Which synthetic cohort.")
@click.option(
    "--output",
    default="pydplib-demo",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the report; made if needed.",
)
@click.option("--open/--no-open", "open_it", default=False, help="Show the report in the browser afterwards.")
def command(n: int, seed: int, output: Path, open_it: bool) -> None:
    """Make a synthetic cohort and a report with the paper's figures at three noise levels.

    The report is one HTML page that loads nothing from anywhere. Its path is printed at the end.

    \b
    Examples:
      pydplib demo
      pydplib demo --n 50000 --output report --open
    """  # noqa: D301 - click needs the backspace itself
    from rich.console import Console

    from pydplib.cli.progress import steps_bar
    from pydplib.report.demo import demo_report, demo_steps

    with steps_bar(Console(stderr=True), len(demo_steps())) as step:
        report = demo_report(n=n, seed=seed, step=step)
        path = report.write(output / "report.html").resolve()
    click.echo(f"Report: {path}")
    if open_it:
        # click.launch starts the desktop's browser and does not wait for it.
        click.launch(path.as_uri())
