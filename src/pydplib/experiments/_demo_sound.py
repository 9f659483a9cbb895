"""The part of the demo report that holds: sound releases from the cohort, and what the paper's words would cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.budget import MemoryLedger
from pydplib.engine import Table as PrivateTable
from pydplib.experiments._cohort import AGE_BOUNDS, SCORE_LABELS, SCORES, read_columns, read_scores
from pydplib.experiments._sound_drawing import draw_age_and_score
from pydplib.experiments.catalogue import LEVELS
from pydplib.experiments.sound_figures import age_and_score, age_by_score
from pydplib.paper import dp_calculate
from pydplib.policy.roles import ROLES
from pydplib.release import Count, Mean, Median, Question, Release, Session, Variance
from pydplib.report import Chart, Note, PlusMinus, Points, Section, Table, Text

EPSILON, MORE_EPSILON = 0.25, 1.0
"""The privacy loss of one number, and of a variance or a whole table."""

Data = Mapping[str, NDArray[Any]]


def sound_section(data: Data, table: PrivateTable) -> Section:
    """Return four numbers, a table and a figure that may leave, each with margin, guarantee and cost."""
    session = Session(table, recipient="partner", role="collaborator", ledger=MemoryLedger())
    ages = data["age"]
    most = table.schema.max_rows_per_person
    # The number of rows is bought as such: prices in words are made from it.
    asked = [
        ("How many reports?", session.buy_size(epsilon=EPSILON), ages.size),
        ("What is the mean age?", session.release(Mean("age"), epsilon=EPSILON), ages.mean()),
        ("What is the median age?", session.release(Median("age"), epsilon=EPSILON), float(np.median(ages))),
        ("What is the variance of age?", session.release(Variance("age"), epsilon=MORE_EPSILON), ages.var()),
    ]
    across = session.release(age_and_score(), epsilon=MORE_EPSILON)
    means = session.release(age_by_score(), epsilon=MORE_EPSILON)
    rows = [[words, _value(release), exact, _unit(release), release.epsilon] for words, release, exact in asked]
    sentences = {release.epsilon: release.guarantee.sentence for _, release, _ in asked}
    ranks = asked[2][1].margins
    left = session.remaining
    spent = sum(release.epsilon for release in [*(release for _, release, _ in asked), across, means])
    return Section(
        "Numbers that may leave",
        [
            Text(
                f"A partner (role: {ROLES['collaborator'].title.lower()}) asks six questions. Each answer gets noise "
                "once, is paid from the partner's budget before a row is read, and comes with a proof: it protects "
                f"one patient with all of the reports (at most {most} of them count)."
            ),
            Table(
                ["question", "released", "exact", "unit", "epsilon"],
                rows,
                caption="The paper's four query types as sound releases; ± holds 95 % of the noise",
            ),
            Points([(f"Epsilon {epsilon:g}:", sentence) for epsilon, sentence in sentences.items()]),
            Text(
                "The exact numbers stand here only because the patients are made up."
                + (f" The median lies within {ranks[0]:.0f} reports of the middle one (95 %)." if ranks else "")
            ),
            _mean_chart(data, means),
            _table_chart(across),
            Note(
                f"Six questions cost epsilon {spent:g} together; {left.epsilon:g} of the partner's "
                f"{left.epsilon + spent:g} are left. "
                "The same question again costs nothing and gives the same answer, so asking often averages nothing "
                "away.",
                title="What the ledger says",
                tone="good",
            ),
        ],
    )


def same_words_section(data: Data, table: PrivateTable) -> Section:
    """Return what low, medium and high noise cost in paper mode and as a sound release."""
    session = Session(table, recipient="owner", role="owner", ledger=MemoryLedger())
    session.buy_size(epsilon=EPSILON)
    ages = data["age"]
    questions: dict[str, Question] = {
        "count": Count(),
        "mean": Mean("age"),
        "median": Median("age"),
        "variance": Variance("age"),
    }
    rows = []
    for name, question in questions.items():
        for level in LEVELS:
            paper = dp_calculate(ages, name, level, bounds=AGE_BOUNDS)
            price = session.price(question, noise_factor=level)
            rows.append([name, level, paper.noise_percent, paper.record_epsilon, price.epsilon])
    return Section(
        "What the same words cost",
        [
            Text(
                "The same words, bought in two ways. Paper mode puts it on every record and hands all of "
                "them over: the epsilon is for one report, and holds only if the noise was not chosen from the data. "
                "A sound release puts it on the one number that was asked for: the epsilon is for one patient with "
                "all reports, and is proved. Smaller is more private.",
                "Percent of what differs, because a release may only use public facts: in paper mode of a typical "
                "age; in a sound release of the number of reports (count, median), of the range of 18 to 100 years "
                "(mean), or of the variance of ages spread evenly over it (variance).",
            ),
            Table(
                ["question", "noise", "noise in %", "paper mode, one report", "sound release, one patient"],
                rows,
                caption="Epsilon for the same noise factor",
            ),
        ],
    )


def _value(release: Release) -> PlusMinus:
    margins = release.margins if release.margin_unit == "value" else None
    return PlusMinus(release.values[0], None if margins is None else margins[0])


def _unit(release: Release) -> str:
    return "reports" if release.unit == "rows" else release.unit.replace("^2", "²")


def _mean_chart(data: Data, release: Release) -> Chart:
    pairs = read_columns(data, "age", "pirads")
    scores = read_scores(pairs)
    exact = [float(part.mean()) if (part := pairs["age"][scores == score]).size else np.nan for score in SCORES]
    count = len(SCORES)  # what follows is "other": reports without a score
    values, margins = list(release.values[:count]), list((release.margins or ())[:count])
    figure = plot.line(
        [str(score) for score in SCORES],
        {"released": values, "exact (synthetic)": exact},
        margins={"released": margins},
        x_title="PI-RADS score",
        y_title="mean age in years",
        title="Mean age per PI-RADS score",
        caption=(
            f"{release.guarantee.sentence} Cost: {release.cost} for all scores together.\n"
            "Error bars: how far the noise may have moved a mean (95 %). The exact means are drawn because "
            "the data are synthetic."
        ),
    )
    figure.update_xaxes(type="category")
    figure.update_traces(mode="markers", marker={"size": 10})
    figure.data[1].marker.symbol = "diamond-open"
    rows = [
        [label, PlusMinus(value, margin), mean]
        for label, value, margin, mean in zip(SCORE_LABELS, values, margins, exact, strict=True)
    ]
    return Chart(
        figure, Table(["score", "released", "exact"], rows, caption="Mean age in years"), eyebrow="Sound release"
    )


def _table_chart(release: Release) -> Chart:
    drawn = draw_age_and_score([release])
    return Chart(drawn.figure, drawn.table, eyebrow="Sound release")
