"""``pydplib figures``: the paper's figures, and further ones, as pages or pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib.plot.catalogue import CATALOGUE, FORMS, LEVELS, Form, figure_entries

if TYPE_CHECKING:
    from pydplib.report import Chart

_ABOUT = {
    "original": "The original",
    "paper": "The paper's method",
    "sound": "Sound: what a partner sees",
}

_FORM_WORDS = {"original": "original", "paper": "paper mode", "sound": "private"}


@click.command(short_help="Draw the paper's figures as interactive pages and pictures.")
@click.option(
    "--figure",
    "wanted",
    multiple=True,
    metavar="NAME",
    type=click.Choice([*CATALOGUE, "all"]),
    help="Which figure, see --list; may be given several times. By default Figures 2 to 5 and their alternatives; "
    "'all' draws the further ones too.",
)
@click.option(
    "--form",
    "forms",
    multiple=True,
    type=click.Choice(FORMS),
    help="The original (owner only), the paper's method, or the sound counterpart from one private table. May be given "
    "several times. By default all three.",
)
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    help="Paper mode at this noise level alone, as a partner would get it. By default the levels of the paper, next to "
    "each other: for the owner only.",
)
@click.option(
    "--epsilon",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 100, min_open=True),
    help="What every table behind a sound figure costs. The cohort is synthetic: nobody pays.",
)
@click.option(
    "--format",
    "kind",
    default="html",
    show_default=True,
    type=click.Choice(["html", "png", "svg", "json"]),
    help="Interactive page, picture (needs Chromium), or Plotly JSON for any other software.",
)
@click.option(
    "--output",
    default="pydplib-figures",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the figures; made if needed.",
)
@click.option("--list", "listing", is_flag=True, help="List the figures with their forms and parameters; draw nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --list: as JSON.")
@click.option("--dark", is_flag=True, help="Dark pictures; pages follow the reader's own look.")
@click.option("--n", default=920, show_default=True, type=click.IntRange(100, 10_000_000), help="Synthetic reports.")
@click.option("--seed", default=2018, show_default=True, type=click.IntRange(min=0), help="Which synthetic cohort.")
@click.option(
    "--noise-seed",
    type=click.IntRange(min=0),
    help="Draw the same noise again. For the synthetic cohort only: real releases never have a seed.",
)
def command(
    wanted: tuple[str, ...],
    forms: tuple[str, ...],
    level: str | None,
    epsilon: float,
    kind: str,
    output: Path,
    listing: bool,
    as_json: bool,
    dark: bool,
    n: int,
    seed: int,
    noise_seed: int | None,
) -> None:
    """Draw Figures 2 to 5 of the PyDPLib paper from the synthetic cohort.

    Each has three forms: the original, the paper's method at its noise levels, and a sound counterpart. A page
    holds the three of a figure; pictures and JSON are one file per form. Their paths are printed at the end.
    Noise is new in every run, unless --noise-seed is given.

    \b
    Examples:
      pydplib figures
      pydplib figures --figure 2 --form sound --format png
      pydplib figures --list --json
    """  # noqa: D301 - click needs the backspace itself
    if as_json and not listing:
        raise click.UsageError("--json belongs to --list; for figures as JSON use --format json.")
    if listing:
        _list(as_json)
        return
    names = _names(wanted)
    jobs = [(name, form) for name in names for form in CATALOGUE[name].forms if not forms or form in forms]
    if not jobs:
        raise click.UsageError(f"{', '.join(names)}: no such form. See --list.")
    from pydplib.report.demo import cohort_noise

    with cohort_noise(noise_seed):
        drawn = _draw(jobs, n=n, seed=seed, level=level, epsilon=epsilon)
    if any(form == "sound" for _, form in jobs):
        click.echo(f"Sound figures: epsilon {epsilon:g} for every table. Synthetic data, so nobody pays.", err=True)
    for path in _write(drawn, output, kind, dark):
        click.echo(str(path.resolve()))


def _names(wanted: tuple[str, ...]) -> list[str]:
    if "all" in wanted:
        return list(CATALOGUE)
    if not wanted:
        return [name for name, spec in CATALOGUE.items() if spec.number is not None]
    return list(dict.fromkeys(wanted))


def _list(as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(figure_entries(), indent=2, ensure_ascii=False))
        return
    width = max(map(len, CATALOGUE)) + 2
    for name, spec in CATALOGUE.items():
        noise = f"noise on {spec.noised}, query {spec.query_type}, {spec.data_type}; {', '.join(spec.levels)}"
        forms = ", ".join(f"paper ({noise})" if form == "paper" else form for form in spec.forms)
        click.echo(f"{name:<{width}}{spec.label}: {spec.title}")
        click.echo(f"{'':<{width}}{spec.picture}: {forms}")


def _draw(
    jobs: list[tuple[str, Form]], *, n: int, seed: int, level: str | None, epsilon: float
) -> dict[tuple[str, Form], Chart]:
    """Return the figures with their tables, in order."""
    from rich.console import Console

    from pydplib.cli.progress import steps_bar
    from pydplib.datasets import pirads
    from pydplib.plot.recipes.paper import paper_figure
    from pydplib.plot.recipes.sound import draw_sound_figures
    from pydplib.report import Chart

    drawn: dict[tuple[str, Form], Chart] = {}
    with steps_bar(Console(stderr=True), len(jobs) + 1) as step:
        step("Synthetic cohort")
        data = pirads(n=n, seed=seed, backend="numpy")
        sound = draw_sound_figures(data, [name for name, form in jobs if form == "sound"], epsilon=epsilon)
        for name, form in jobs:
            spec = CATALOGUE[name]
            step(f"{spec.label}: {_ABOUT[form].lower()}")
            eyebrow = f"{spec.label} · {_ABOUT[form]}"
            if form == "sound":
                drawn[name, form] = Chart(sound[name].figure, sound[name].table, eyebrow=eyebrow)
                continue
            levels = None if level is None or form == "original" else [level]
            made = paper_figure(name, data, form=form, levels=levels, original=level is None)
            drawn[name, form] = Chart(made.figure, made.table, eyebrow=eyebrow)
    return drawn


def _write(drawn: dict[tuple[str, Form], Chart], output: Path, kind: str, dark: bool) -> list[Path]:
    """Write a page per figure, or a file per figure and form."""
    if kind == "html":
        paths = []
        for name in dict.fromkeys(name for name, _ in drawn):
            charts = [chart for (one, _), chart in drawn.items() if one == name]
            path = output / f"figure-{name}.html"
            _page(name, charts).write(path)
            paths.append(path)
        return paths
    # A file stands alone: its title says which figure it is, and in which form.
    files = {
        output / f"figure-{name}-{form}.{kind}": chart.figure.with_words(_title(name, form))
        for (name, form), chart in drawn.items()
    }
    if kind == "json":
        output.mkdir(parents=True, exist_ok=True)
        for path, figure in files.items():
            figure.update_layout(title={"text": figure.words[0]})
            path.write_text(figure.to_json(), encoding="utf-8")
    else:
        from pydplib.plot import to_pngs

        to_pngs([(figure, path) for path, figure in files.items()], mode="dark" if dark else "light")
    return list(files)


def _title(name: str, form: Form) -> str:
    spec = CATALOGUE[name]
    return f"{f'{spec.label}. ' if spec.number else ''}{spec.title}, {_FORM_WORDS[form]}"


def _page(name: str, charts: list[Chart]) -> Any:
    from pydplib.report import Report, Section

    spec = CATALOGUE[name]
    return Report(spec.title, [Section("", charts)], kicker=f"{spec.label} · synthetic data")
