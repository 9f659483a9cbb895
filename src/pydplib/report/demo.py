"""The demo report: a synthetic cohort, sound releases, then the paper's queries and figures and what they are worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib._version import __version__
from pydplib.budget import MemoryLedger
from pydplib.datasets import PIRADS_PHRASES, pirads
from pydplib.engine import Table as PrivateTable
from pydplib.guarantee import NoGuarantee
from pydplib.noise.testing import seeded
from pydplib.paper import NOISE_FACTORS, dp_calculate
from pydplib.plot.catalogue import CATALOGUE, LEVELS, FigureSpec
from pydplib.plot.recipes.cohort import AGE_BOUNDS, QUERIES, SCORE_LABELS, SCORES, read_columns, read_scores
from pydplib.plot.recipes.paper import paper_figure
from pydplib.plot.recipes.sound import age_and_score, age_by_score, draw_age_and_score, draw_sound_figures, load_cohort
from pydplib.policy.roles import ROLES
from pydplib.release import Count, Mean, Median, Question, Release, Session, Variance
from pydplib.report import Chart, Fact, Facts, Fixed, Note, PlusMinus, Points, Report, Section, Table, Text

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


REPEATS = (1, 10, 100)
MOST_AVERAGED = 5_000
Step = Callable[[str], None]


def demo_steps() -> tuple[str, ...]:
    """Return what ``demo_report`` does, step by step, for a progress bar."""
    figures = tuple(_step_name(spec) for spec in CATALOGUE.values())
    first = ("Synthetic cohort", "Numbers that may leave", "Four query types", "What the same words cost")
    return (*first, "Repeated calls", "Sound figures", *figures, "A partner's view", "Report")


def _step_name(spec: FigureSpec) -> str:
    return f"{spec.label}: {spec.title}"


def demo_report(*, n: int = 920, seed: int = 2018, step: Step | None = None) -> Report:
    """Return the demo report; ``pydplib demo`` writes it.

    The data are synthetic, so the report may show exact numbers and originals, and says so.

    Args:
        n: Number of synthetic reports.
        seed: Which synthetic cohort; the noise is fresh every time.
        step: Called with the name of each step of ``demo_steps()`` before it begins.

    Examples:
        >>> demo_report(n=300).title
        'What one cohort may tell, and at what cost'
    """
    begin = step or (lambda name: None)
    begin("Synthetic cohort")
    data = pirads(n=n, seed=seed, backend="numpy")
    begin("Numbers that may leave")
    table = load_cohort(data)
    sound = sound_section(data, table)
    begin("Four query types")
    queries = _queries(data)
    begin("What the same words cost")
    same_words = same_words_section(data, table)
    begin("Repeated calls")
    repeats = _repeats(data)
    begin("Sound figures")
    sound_forms = draw_sound_figures(
        data, [spec.name for spec in CATALOGUE.values() if spec.number and "sound" in spec.forms], epsilon=1.0
    )
    charts: list[Chart] = []
    further: list[Chart] = []
    for spec in CATALOGUE.values():
        begin(_step_name(spec))
        if spec.number is None:
            made = paper_figure(spec.name, data, original=True)
            further.append(Chart(made.figure, made.table, eyebrow=spec.label))
            continue
        for form in spec.forms:
            if form == "sound":
                drawn = sound_forms[spec.name]
                charts.append(Chart(drawn.figure, drawn.table, eyebrow=f"{spec.label} · sound: what a partner sees"))
            else:
                made = paper_figure(spec.name, data, form=form)
                words = "the original, owner only" if form == "original" else "the paper's method"
                charts.append(Chart(made.figure, made.table, eyebrow=f"{spec.label} · {words}"))
    begin("A partner's view")
    alone = paper_figure("2", data, levels=["high"])
    partner = Chart(alone.figure, alone.table, eyebrow=f"{alone.label} · the paper's method, high noise")
    begin("Report")
    return Report(
        title="What one cohort may tell, and at what cost",
        kicker="pydplib demo · synthetic data",
        lead=(
            f"{n:,} synthetic PI-RADS reports. First what may leave the house, with margin, guarantee and cost; then "
            "the four query types and the figures of the PyDPLib paper at low, medium and high noise, and what that "
            "noise is really worth."
        ),
        sections=[
            _cohort(data, seed),
            sound,
            queries,
            same_words,
            Section(
                "The paper's figures",
                [
                    Text(
                        "Figures 2 to 5, each in three forms: the original, which only its owner sees; the paper's "
                        "method at its noise levels; and a sound counterpart from one private table. The paper's "
                        "method blurs records or counts: each caption says what got noise and what is guaranteed."
                    ),
                    *charts,
                ],
            ),
            Section(
                "Paper mode for a partner",
                [
                    Text(
                        "Whoever sees two noise levels of one draw can solve for the original counts. A partner gets "
                        "one level alone, and the years from 18 to 100 instead of those that occur."
                    ),
                    partner,
                ],
            ),
            Section(
                "Further figures",
                [Text("Not in the paper: the same cohort by age group, by score and by finding."), *further],
            ),
            repeats,
            _worth(),
        ],
        footer=(
            f"Made with pydplib {__version__} from synthetic data (seed {seed}); no row belongs to a real person. "
            "The noise is fresh in every run. This page loads nothing from anywhere and sends nothing."
        ),
    )


def _cohort(data: Data, seed: int) -> Section:
    ages = data["age"]
    pairs = read_columns(data, "age", "pirads")
    scores = read_scores(pairs)
    _, reports = np.unique(data["patient_id"], return_counts=True)
    rows = []
    for score in SCORES:
        part = pairs["age"][scores == score]
        mean = Fixed(float(part.mean()), 1) if part.size else None
        share = round(100 * part.size / ages.size, 1)
        rows.append([f"PI-RADS {score}", part.size, share, mean, PIRADS_PHRASES[score]])
    unscored = ages.size - scores.size
    rows.append(["no score defined", unscored, round(100 * unscored / ages.size, 1), None, "a cancer is known already"])
    return Section(
        "The cohort",
        [
            Note(
                "Everybody in this cohort was made up by a computer. That is why this report may show exact numbers "
                "and originals; with real patients only their owner may see these.",
                title="Synthetic data",
            ),
            Facts(
                [
                    Fact("reports", ages.size),
                    Fact("patients", reports.size, f"{int((reports > 1).sum()):,} with several reports"),
                    Fact("mean age", f"{ages.mean():.1f}", "years"),
                    Fact("aged 50 to 80", f"{100 * np.mean((ages >= 50) & (ages <= 80)):.0f} %"),
                    Fact("years", "2017–18"),
                ]
            ),
            Table(
                ["score", "reports", "share in %", "mean age", "what the score says"],
                rows,
                caption=f"Exact numbers of the synthetic cohort (seed {seed})",
            ),
        ],
    )


def _queries(data: Data) -> Section:
    ages = data["age"]
    rows, sentences = [], {}
    for query in QUERIES:
        for level in LEVELS:
            result = dp_calculate(ages, query, level, bounds=AGE_BOUNDS)
            sentences[result.guarantee.sentence] = f"{query}, {level}"
            rows.append(
                [
                    query,
                    level,
                    NOISE_FACTORS[level].role.replace("_", " "),
                    result.sensitivity,
                    result.epsilon,
                    result.noise_percent,
                    result.record_epsilon,
                    "none" if isinstance(result.guarantee, NoGuarantee) else "per record",
                ]
            )
    heads = [
        "query",
        "noise",
        "role in the paper",
        "sensitivity",
        "epsilon",
        "noise in %",
        "epsilon per record",
        "guarantee",
    ]
    # Usually one sentence for all twelve; where they differ, each says where it holds.
    words = [sentence if len(sentences) == 1 else f"{where}: {sentence}" for sentence, where in sentences.items()]
    return Section(
        "Paper mode: four query types, three noise factors",
        [
            Text(
                "The paper gives every record Laplace noise. The recipient's role decides how much, as a percentage; "
                "the query type decides the sensitivity. Here with the column of ages, bounded by 18 and 100 years."
            ),
            Table(heads, rows, caption="dp_calculate(ages, query, noise, bounds=(18, 100))"),
            Note(
                f"{' '.join(words)} Within one noise level all four queries add exactly the same noise, because the "
                "percentage fixes it; only the printed epsilon differs. What the noise alone would be worth for one "
                "record is in the column 'epsilon per record'.",
                title="How to read this table",
                tone="warning",
            ),
            Text("What decides is where the noise comes from. The same 'high', made in four ways:"),
            _ways(data),
        ],
    )


def _ways(data: Data) -> Table:
    """The same noise factor made in four ways, and what each is worth."""
    ages = data["age"]
    ways = [
        (
            "Ages, fitted to the range of the data (the paper's is_range)",
            dp_calculate(ages, "mean", "high", is_range=True),
        ),
        ("Ages, noise chosen from the data", dp_calculate(ages, "mean", "high", bounds=AGE_BOUNDS)),
        ("Yes or no (BPH), flipped at random", dp_calculate(data["bph"], "count", "high")),
        (
            "Ages, noise chosen from the public bounds",
            dp_calculate(ages, "mean", "high", bounds=AGE_BOUNDS, selector="public"),
        ),
    ]
    # No number next to "none": how strong noise without a guarantee is cannot be read as privacy.
    rows = [
        [name, None if isinstance(r.guarantee, NoGuarantee) else r.record_epsilon, r.guarantee.sentence]
        for name, r in ways
    ]
    heads = ["how", "epsilon of a report", "guarantee"]
    return Table(heads, rows, caption="What decides whether there is a guarantee")


def _repeats(data: Data) -> Section:
    ages = data["age"][:MOST_AVERAGED]
    rows = []
    for level in LEVELS:
        total = np.zeros(ages.size)
        found: list[float] = []
        for call in range(1, max(REPEATS) + 1):
            total += np.asarray(dp_calculate(ages, "mean", level, bounds=AGE_BOUNDS).dp_data)
            if call in REPEATS:
                found.append(100 * float(np.mean(np.abs(total / call - ages) <= 1)))
        rows.append([f"{level} noise", *found])
    heads = ["", *(f"{count} call{'s' if count > 1 else ''}" for count in REPEATS)]
    return Section(
        "Asking again and again",
        [
            Text(
                "Paper mode draws fresh noise at every call and keeps no account. Somebody who may ask often averages "
                "the noise away. This was tried here on the synthetic ages:"
            ),
            Table(heads, rows, caption="Reports in % whose age is known within one year from the average of all calls"),
        ],
    )


def _worth() -> Section:
    return Section(
        "What paper mode guarantees, and what it does not",
        [
            Points(
                [
                    ("It blurs.", "A single value that is handed over is off by the percentage that was asked for."),
                    (
                        "It draws well.",
                        "The noisy columns work in any plotting software, and averages over many reports stay useful.",
                    ),
                    (
                        "Yes and no are sound.",
                        "A truth value that is flipped with a publicly known chance has a real guarantee for every "
                        "record. So has selector='public', where public bounds decide the noise.",
                    ),
                    (
                        "The printed epsilon is not the loss of a record.",
                        "It belongs to one mean or one count; here every record is handed over. The loss of a record "
                        "is many times larger: for a mean, as many times as there are records.",
                    ),
                    (
                        "Data that choose their own noise give no guarantee.",
                        "Range, scale and percentage computed from private values tell something about them.",
                    ),
                    (
                        "Extremes show.",
                        "Fitted to the range of the data, the oldest patient stays the oldest, at any noise level.",
                    ),
                    ("The order stays.", "Row 17 of the noisy column is row 17 of the original: it links by position."),
                ]
            ),
            Note(
                "For numbers that leave the house, release aggregates: a count or a mean with the same percentage of "
                "noise costs hundreds of times less privacy than noisy records, and a ledger counts what was spent.",
                title="What to do instead",
                tone="good",
            ),
        ],
    )


def cohort_noise(seed: int | None) -> AbstractContextManager[Any]:
    """Return fresh noise, or with a seed the same noise again: for figures of the synthetic cohort alone.

    While a seed is in use, no ledger on disk takes an entry.
    """
    if seed is None:
        return nullcontext()
    return seeded(seed)
