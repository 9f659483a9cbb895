"""The methods at a glance: one drawing and two tables, made from the code and from real answers of it."""

from __future__ import annotations

import textwrap
from typing import Any, get_args

from docs_svg import LINE, Drawing

COLUMNS = ("private data", "what you say", "what touches the data", "who keeps count", "what may leave")
WIDTH, GAP, LEFT = 178, 16, 12
LANES = (
    ("sound", "Answers with a proof", "Session.release, dp.mean, ..."),
    ("sound", "Records one by one, with a proof", "Session.release_records"),
    ("paper", "Paper mode", "dp.dp_calculate"),
    ("table", "Tables to hand over", "dp.anonymize"),
)


def _lanes() -> list[list[list[str]]]:
    """Return the words of every box; lists of names come from the code."""
    from pydplib.anonymity.anonymization import METHODS
    from pydplib.anonymity.models import MODELS
    from pydplib.paper.words import DATA_TYPES, QueryType
    from pydplib.policy import NOISE_FACTORS
    from pydplib.release.statistics import offered_statistics

    questions = [kind.noun for kind in offered_statistics().values()]
    named = sorted(MODELS)
    return [
        [
            ["A table of people", *_wrap("schema: whose rows, bounds, categories, most rows per person")],
            ["A question", *_wrap(", ".join(questions))],
            ["Exact integer noise", *_wrap("discrete Laplace; for quantiles permute-and-flip")],
            ["The ledger, paid first", *_wrap("per recipient and per lineage; epsilon, or epsilon and delta by zCDP")],
            ["Release", *_wrap("value, margin, epsilon of a person, price")],
        ],
        [
            ["One declared column", *_wrap("number, category or yes/no")],
            ["Epsilon per record", *_wrap("or a noise factor")],
            ["Noise on each record", *_wrap("numbers: discrete Laplace; categories: randomised response")],
            ["The ledger, paid first", *_wrap("a local account, apart from answers")],
            ["Noisy records", *_wrap("epsilon of a person: rows times epsilon of a record")],
        ],
        [
            ["A list of values", *_wrap(", ".join(DATA_TYPES))],
            ["Query, noise factor", *_wrap(f"{', '.join(get_args(QueryType))}; {', '.join(NOISE_FACTORS)}")],
            ["Laplace per record", *_wrap("scale by closed form or binary search; fitted to the range on request")],
            ["Nobody", *_wrap("every call draws fresh noise")],
            ["DPResult", *_wrap("printed epsilon, epsilon of a record, mostly no guarantee")],
        ],
        [
            ["A table", *_wrap("quasi-identifiers, sensitive columns, identifiers")],
            ["Models", *_wrap(", ".join(named))],
            ["Generalize, suppress", *_wrap(", ".join(METHODS))],
            ["Traces", *_wrap("of earlier tables, so that they hold together")],
            ["Table and certificate", *_wrap("verified again from the output alone; not differential privacy")],
        ],
    ]


def _wrap(words: str) -> list[str]:
    return textwrap.wrap(words, 25)


def methods_drawing() -> str:
    """Return the drawing: four ways from private data to what may leave, column by column."""
    lanes = _lanes()
    heights = [max(len(words) for words in lane) * LINE + 26 for lane in lanes]
    total = 34 + sum(height + 58 for height in heights)
    width = 2 * LEFT + len(COLUMNS) * WIDTH + (len(COLUMNS) - 1) * GAP
    drawing = Drawing(width, total, "Four ways from private data to what may leave")
    for number, heading in enumerate(COLUMNS):
        drawing.text(LEFT + number * (WIDTH + GAP) + WIDTH / 2, 20, heading, kind="heading", anchor="middle")
    top = 34.0
    for (kind, title, call), lane, height in zip(LANES, lanes, heights, strict=True):
        drawing.band(2, top, width - 4, height + 46)
        drawing.text(LEFT, top + 20, title, kind="name")
        drawing.text(width - LEFT, top + 20, call, anchor="end")
        for number, words in enumerate(lane):
            x = LEFT + number * (WIDTH + GAP)
            drawing.box(x, top + 32, WIDTH, height, words, kind=kind + (" private" if number == 0 else ""))
            if number:
                drawing.arrow(x - GAP, top + 32 + height / 2, x - 1, top + 32 + height / 2)
        top += height + 58
    return drawing.html()


def questions_table() -> str:
    """Ask every kind of question of the synthetic cohort, and say how each was answered."""
    import pydplib as dp

    schema = dp.Schema(
        name="prostate-reports",
        person="patient_id",
        max_rows_per_person=3,
        columns={
            "age": dp.Number(18, 100, unit="years"), "pirads": dp.Category([1, 2, 3, 4, 5]),
            "physician_name": dp.Text(),
        },
    )  # fmt: skip
    reports = dp.datasets.pirads(backend="pandas")
    table = dp.load(reports[["patient_id", "age", "pirads", "physician_name"]], schema)
    decades = list(range(20, 101, 10))
    questions = (
        dp.Count(), dp.Count(of="persons"), dp.Sum("age"), dp.Mean("age"), dp.Mean("age", by="pirads"),
        dp.Variance("age"), dp.StandardDeviation("age"), dp.Mode("pirads"), dp.Median("age"),
        dp.Quantiles("age", [0.25, 0.5, 0.75]),
        dp.Histogram("age", edges=decades), dp.Crosstab("age", "pirads", bins={"age": decades}),
        dp.Count(by={"physician_name": None}),
    )  # fmt: skip
    lines = [
        "| question | mechanism | one person moves it by | scale of the noise | guarantee |",
        "|---|---|---|---|---|",
    ]
    for question in questions:
        session = dp.Session(table, recipient="docs", budget=dp.ApproxDP(1.0, 1e-6))  # a budget of its own for each
        release = session.release(question, epsilon=1.0)
        unit = release.unit or "rows" if release.margin_unit == "value" else release.margin_unit
        unit = unit.removesuffix("s") if release.sensitivity == 1 else unit
        lines.append(
            f"| `{question!r}` | {release.mechanism} | {release.sensitivity:.4g} {unit} | {release.scale:.4g} | "
            f"`{type(release.guarantee).__name__}` |"
        )
    return "\n".join(lines)


def statistics_table() -> str:
    """Return every statistic of the registry: how it is asked in words and in Python, and what comes of it."""
    from pydplib.release.statistics import offered_statistics

    lines = ["| statistic | in words | in Python | what comes of it |", "|---|---|---|---|"]
    for kind in offered_statistics().values():
        words = f"`{kind.example}`" + "".join(
            f", `{alias} ...`" for alias in kind.aliases if not kind.example.startswith(alias)
        )
        lines.append(f"| {kind.noun} | {words} | `dp.{kind.__name__}` | {kind.hint} |")
    return "\n".join(lines)


def data_types_table() -> str:
    """Send every data type through paper mode at high noise, and say what came of it."""
    import numpy as np

    import pydplib as dp

    rng = np.random.default_rng(2018)
    ages = rng.normal(66, 8, 920).clip(18, 100)
    columns: dict[str, tuple[Any, dict[str, Any]]] = {
        "float, range of the data": (ages.tolist(), {"is_range": True}),
        "float, public bounds and epsilon": (ages.tolist(), {"bounds": (18, 100), "selector": "public"}),
        "int": (ages.round().astype(int).tolist(), {"is_range": True}),
        "string": (rng.choice(["y", "n", "chr", "acute"], 920).tolist(), {"is_range": True}),
        "bool": ((rng.random(920) < 0.3).tolist(), {}),
    }
    lines = [
        "| data | noise | measured as | printed epsilon | epsilon of a record | guarantee |",
        "|---|---|---|---|---|---|",
    ]
    for name, (values, words) in columns.items():
        query = "count" if name == "string" else "mean"
        result = dp.dp_calculate(values, query_type=query, noise_factor="high", **words)
        lines.append(
            f"| {name} | {result.noise_percent:.3g} % | {result.noise_metric} | {result.epsilon:.3g} | "
            f"{result.record_epsilon:.3g} | `{type(result.guarantee).__name__}` |"
        )
    return "\n".join(lines)


def guarantee_sentences() -> str:
    """Return the sentence of every kind of guarantee, as they print themselves."""
    import pydplib as dp

    values = (
        dp.PureDP(1.0),
        dp.ApproxDP(1.0, 1e-6),
        dp.guarantee.ZCDP(0.5),
        dp.guarantee.LocalDP(4.1),
        dp.guarantee.KAnonymous(5),
        dp.guarantee.NoGuarantee("the range was taken from the data"),
    )
    return "\n".join(f"- {value}" for value in values)
