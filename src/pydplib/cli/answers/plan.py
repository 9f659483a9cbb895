"""``pydplib plan KIND``: how many persons and which epsilon a study needs; touches no data."""

from __future__ import annotations

import json
from typing import Any

import click

_KINDS = ["proportion", "proportions", "odds-ratio", "mean", "means", "survival"]


@click.command("plan")
@click.argument("kind", type=click.Choice(_KINDS))
@click.option("-n", "--persons", "n", type=click.IntRange(min=2), help="Persons, both groups together.")
@click.option("--epsilon", type=float, help="The privacy loss of the table.")
@click.option("--power", type=float, help="The chance to find the effect, e.g. 0.8.")
@click.option(
    "--margin", type=float, help="The half-width of the interval that you need (of ratios: of their logarithm)."
)
@click.option("--baseline", type=float, help="The first group's share of the outcome; of survival, without an event.")
@click.option("--effect", type=float, help="Difference of shares or means; odds ratio; hazard ratio.")
@click.option("--deviation", type=float, help="Of means: the standard deviation of the values; 1 by default.")
@click.option(
    "--range",
    "range_",
    type=float,
    help="Of means: the public range of the values, high minus low; by default six times --deviation.",
)
@click.option("--bins", type=click.IntRange(2, 1000), help="Bins of the values or of time; 10 by default.")
@click.option("--split", type=float, help="The second group's part of all persons; 0.5 by default.")
@click.option("--lost", type=float, help="Of survival: the part that is lost before the horizon; 0.2 by default.")
@click.option("--confidence", type=float, help="Of the interval; the test has the rest as its level. 0.95 by default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(kind: str, range_: float | None, as_json: bool, **said: Any) -> None:
    r"""Plan a study: give two of persons, epsilon and a goal (power or margin), and get the third.

    Touches no data and spends nothing. The interval is for the population: sampling and noise are both in it.

    \b
    Examples:
      pydplib plan proportions --baseline 0.3 --effect 0.12 -n 652 --epsilon 1
      pydplib plan odds-ratio --baseline 0.3 --effect 2 --epsilon 1 --power 0.8
      pydplib plan survival --baseline 0.6 --effect 0.6 -n 400 --power 0.8 --bins 12
      pydplib plan mean --deviation 8 --range 82 -n 652 --margin 1
    """
    from pydplib.clinic import plan

    given = {name: value for name, value in (*said.items(), ("range", range_)) if value is not None}
    found = plan(kind.replace("-", " "), **given)  # type: ignore[arg-type]
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else str(found))
