"""``pydplib audit``: does every mechanism of the library keep the epsilon it claims?"""

from __future__ import annotations

import json
from typing import Any

import click


@click.command("audit")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--list", "only_list", is_flag=True, help="List what can be audited, and stop.")
@click.option("--faults", "planted", is_flag=True, help="Audit mechanisms with planted faults: each must be caught.")
@click.option(
    "--epsilon", default=1.0, show_default=True, type=click.FloatRange(0.01, 10), help="What each one claims."
)
@click.option("--draws", type=click.IntRange(min=100), help="Outputs per data set; by default up to 120000.")
@click.option(
    "--confidence", default=0.999, show_default=True, type=click.FloatRange(0.5, 0.999999999), help="Of every verdict."
)
@click.option("--seed", type=click.IntRange(min=0), help="Repeatable noise.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    names: tuple[str, ...],
    only_list: bool,
    planted: bool,
    epsilon: float,
    draws: int | None,
    confidence: float,
    seed: int | None,
    as_json: bool,
) -> None:
    r"""Audit the mechanisms NAME..., by default all: run each on neighbouring data, and prove what it loses at least.

    An audit can refute a claim, never prove one. The exit code is 1 if a claim is refuted (with --faults: if a
    fault is missed).

    \b
    Examples:
      pydplib audit
      pydplib audit laplace mean --seed 1
      pydplib audit --faults
    """
    from rich.console import Console

    from pydplib.attack import audit, faults, subjects
    from pydplib.cli.progress import steps_bar
    from pydplib.errors import ParameterError, did_you_mean

    known = {one.name: one for one in (faults(epsilon, seed=seed) if planted else subjects(epsilon))}
    for name in names:
        if name not in known:
            raise ParameterError(f"There is no mechanism '{name}' to audit.{did_you_mean(name, known)}")
    chosen = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    if only_list:
        _list(chosen, as_json)
        return
    verdicts: dict[str, Any] = {}
    with steps_bar(Console(stderr=True), len(chosen)) as step:
        for one in chosen:
            step(one.name)
            verdicts[one.name] = audit(
                one.mechanism,
                one.claim,
                neighbours=one.neighbours,
                draws=draws or one.draws,
                confidence=confidence,
                seed=seed,
            )
    if as_json:
        found = [{"name": name, **verdict.to_dict()} for name, verdict in verdicts.items()]
        click.echo(json.dumps(found, indent=2))
    else:
        _print(verdicts, planted)
    refuted = sum(verdict.refuted for verdict in verdicts.values())
    failed = refuted < len(verdicts) if planted else refuted > 0
    click.get_current_context().exit(1 if failed else 0)


def _list(chosen: list[Any], as_json: bool) -> None:
    if as_json:
        rows = [{"name": one.name, "words": one.words, "claim": one.claim.sentence} for one in chosen]
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(one.name) for one in chosen)
    for one in chosen:
        click.echo(f"{one.name:<{width}}  {one.words}")


def _print(verdicts: dict[str, Any], planted: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title="Epsilon (and delta): claimed, and proven at least", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("mechanism", no_wrap=True)
    for heading in ("claimed", "proven", "share", "s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for name, verdict in verdicts.items():
        right = verdict.refuted == planted
        words = "refuted" if verdict.refuted else "not refuted"
        table.add_row(
            name,
            f"{verdict.epsilon_claimed:.3g}" + (f", {verdict.delta:g}" if verdict.delta else ""),
            f"{verdict.epsilon_at_least:.3f}",
            f"{verdict.tightness:.0%}",
            f"{verdict.seconds:.1f}",
            f"[{'green' if right else 'bold red'}]{words}[/]",
        )
    console.print(table)
    for name, verdict in verdicts.items():
        if verdict.refuted:
            console.print(f"[bold]{name}[/bold]: {verdict.sentence}", highlight=False)
    seconds = sum(verdict.seconds for verdict in verdicts.values())
    sure = next(iter(verdicts.values())).confidence
    click.echo(
        f"Each bound holds with {100 * sure:g} % confidence; {seconds:.1f} s in total. "
        "Not refuted is not proven: the proofs stand in the documentation of each mechanism."
    )
