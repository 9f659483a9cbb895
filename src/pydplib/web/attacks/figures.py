"""Figures, tables and the HTML report of a run: from stored numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pydplib._version import __version__
from pydplib.attack import AttackResult, most_success
from pydplib.plot import Figure, line
from pydplib.plot import attacks as figures
from pydplib.report import Block, Chart, Note, Points, Report, Section, Table
from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.recipients import Given
from pydplib.web.attacks.simulations import to_result

_TONES: dict[str, Literal["info", "good", "warning"]] = {"good": "good", "warning": "warning", "danger": "warning"}
MOST_DRAWN = 12
Drawing: TypeAlias = tuple[str, Figure, list[str], list[list[object]]]


def results_of(values: Sequence[dict[str, object]]) -> list[AttackResult]:
    """Return stored results."""
    return [to_result(each) for each in values]


def rows_of(results: Sequence[AttackResult]) -> list[list[object]]:
    """Return one row per attack: name, right, by guessing, exposed, what it means."""
    return [[figures.name_of(r), *map(_percent, (r.success, r.baseline, r.due)), r.sentence] for r in results]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


HEADS = ["Attack", "Right", "By guessing", "Exposed", "What it means"]


def drawings_of(results: Sequence[AttackResult], name: str) -> list[Drawing]:
    """Return how often attacks were right and who was exposed, each with its table."""
    if not results:
        return []
    # The worst ones; the table below the figures has all of them.
    results = sorted(results, key=lambda r: (r.due, r.advantage), reverse=True)[:MOST_DRAWN]
    right = [[figures.name_of(r), round(100 * r.success, 1), round(100 * r.baseline, 1)] for r in results]
    exposed = [[figures.name_of(r), round(100 * r.due, 2)] for r in results]
    return [
        (f"{name}-right", figures.success_bars(results), ["Attack", "Right, %", "By guessing, %"], right),
        (f"{name}-exposed", figures.exposed_bars(results), ["Attack", "Exposed, %"], exposed),
    ]


def bound_curve(given: Sequence[Given]) -> Drawing:
    """Return what every loss allows, with the recipients on it."""
    named = [each for each in given if each.epsilon > 0]
    most = max([each.epsilon for each in named] + [1.0])
    steps = [most * part / 20 for part in range(21)]
    figure = line(
        [f"{step:.3g}" for step in steps],
        {"best possible guess": [100 * most_success(step) for step in steps], "a coin": [50.0] * len(steps)},
        x_title="epsilon given in total",
        y_title="right in % of the cases",
        title="What statistics can tell about one person at most",
        caption="Whether a person is in the data, guessed as well as possible, whatever else is known.",
        height=360,
    )
    rows = [[each.name, round(each.epsilon, 4), round(100 * each.bound, 1)] for each in named]
    return "bound", figure, ["Recipient", "Epsilon", "Best guess right at most, %"], rows


def html_report(run: AttackRun) -> str:
    """Return the run as one page that loads nothing from anywhere. It holds no value of any field."""
    result, sections = run.result, []
    verdict, given = result["verdict"], result["given"]
    blocks: list[Block] = [
        Note(" ".join(verdict["reasons"]), title=verdict["headline"], tone=_TONES[verdict["tone"]]),
        Table(
            ["", "epsilon"], [[words, round(number, 6)] for words, number in loss_rows(given)], caption="What was given"
        ),
    ]
    sections.append(Section("In short", blocks))
    simulated = results_of(result["simulated"])
    if simulated:
        sections.append(Section("Attacks on statistics", _blocks(simulated, "statistics")))
    for place, table in enumerate(result["tables"], start=1):
        found = results_of(table["attacks"])
        more: list[Block] = _blocks(found, f"table-{place}") if found else []
        if table["unfinished"]:
            more.append(Points(table["unfinished"]))
        if table["notes"]:
            more.append(Note(" ".join(table["notes"]), title="Mind"))
        sections.append(Section(f"Attacks on '{table['title']}'", more))
    return Report(
        title=f"What {run.name} could learn",
        kicker="pydplib · leak report",
        lead=f"{run.project.name}, {run.made:%-d %B %Y}. For the data owner and the data protection officer.",
        sections=sections,
        footer=f"Made with pydplib {__version__}. This page holds numbers and names of fields, no values.",
    ).to_html()


def loss_rows(given: dict[str, Any]) -> list[tuple[str, float]]:
    """Return the loss, and the part of each synthetic table; of runs of earlier versions also where it came from."""
    parts = (("Own questions", "own"), ("Answers that the owner shares", "shared"), ("Dashboards", "dashboards"))
    drawn = [(f"Of it: {table['title']}", table["epsilon"]) for table in given.get("synthetic", ())]
    return (
        [(words, given[name]) for words, name in parts if name in given]
        + drawn
        + [("All statistics" if not given["whole"] else "All statistics, whole budget", given["epsilon"])]
    )


def _blocks(results: Sequence[AttackResult], name: str) -> list[Block]:
    drawn = [Chart(figure, Table(heads, rows)) for _, figure, heads, rows in drawings_of(results, name)]
    return [*drawn, Table(HEADS, rows_of(results), caption="All attacks")]
