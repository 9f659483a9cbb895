"""Questions whose release keys, seeded answers and stored ledger are kept as fixtures: none of it may move."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import pydplib as dp
from pydplib.budget import MemoryLedger
from pydplib.noise.testing import seeded

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "releases"
PINNED = FOLDER / "releases.json"
LEDGER = FOLDER / "ledger.db.gz"

SCHEMA = dp.Schema(
    {
        "age": dp.Number(18, 100, unit="years", step=1),
        "psa": dp.Number(0, 50, unit="ng/ml"),
        "lesions": dp.Integer(0, 9),
        "volume": dp.Integer(10, 200, unit="ml"),
        "pirads": dp.Category([1, 2, 3, 4, 5]),
        "prostatitis": dp.Category(["no", "acute", "chronic"], title="Prostatitis"),
        "bph": dp.Flag(),
        "day": dp.Date("2018-01-01", "2019-12-31"),
        "city": dp.Text(),
    },
    person="patient",
    max_rows_per_person=2,
    max_groups_per_person=2,
    size=700,
    name="pinned",
)
SINGLE = dp.Schema(
    {"age": dp.Number(18, 100), "pirads": dp.Category([1, 2, 3])}, name="pinned-single", person="patient",
    max_rows_per_person=1,
)  # fmt: skip

_W = dp.Where
QUESTIONS: list[tuple[str, dp.Question, dict[str, Any]]] = [
    ("count", dp.Count(), {"epsilon": 1.0}),
    ("count-persons", dp.Count(of="persons"), {"epsilon": 0.5}),
    ("count-by", dp.Count(by=["pirads", "bph"]), {"epsilon": 1.0}),
    ("count-persons-by", dp.Count(of="persons", by="pirads", where=[_W("age").at_least(40)]), {"epsilon": 1.0}),
    ("count-keys", dp.Count(by={"pirads": [5, 4]}), {"epsilon": 0.2}),
    ("count-bins", dp.Count(by={"age": dp.Bins([20, 40.5, 60])}), {"epsilon": 0.2}),
    ("count-unknown", dp.Count(by={"city": None}), {"epsilon": 1.0, "delta": 1e-9}),
    ("count-margin", dp.Count(where=[_W("bph").eq(True)]), {"margin": 12}),
    ("count-factor", dp.Count(by="pirads"), {"noise_factor": "high"}),
    ("sum", dp.Sum("psa"), {"epsilon": 1.0}),
    ("sum-by", dp.Sum("lesions", by="bph", where=[_W("psa").is_present()]), {"epsilon": 1.0}),
    ("sum-unknown", dp.Sum("psa", by={"city": None}), {"epsilon": 2.0, "delta": 1e-9}),
    ("mean", dp.Mean("age"), {"epsilon": 0.2}),
    ("mean-by", dp.Mean("age", by="pirads", where=[_W("age").between(60, 70)]), {"epsilon": 1.0}),
    ("mean-flag", dp.Mean("bph", by={"day": dp.Bins(["2018-01-01", "2018-07-01", "2019-12-31"])}), {"epsilon": 1.0}),
    ("mean-date", dp.Mean("day"), {"epsilon": 1.0}),
    ("mean-margin", dp.Mean("age"), {"margin": 2}),
    ("mean-factor", dp.Mean("psa", by="pirads"), {"noise_factor": "low"}),
    ("mean-unknown", dp.Mean("age", by={"city": None}), {"epsilon": 2.0, "delta": 1e-9}),
    ("variance", dp.Variance("psa"), {"epsilon": 1.0}),
    ("variance-by", dp.Variance("age", by="bph"), {"epsilon": 2.0}),
    ("variance-factor", dp.Variance("age"), {"noise_factor": "medium"}),
    ("variance-unknown", dp.Variance("age", by={"city": None}), {"epsilon": 2.0, "delta": 1e-9}),
    ("median", dp.Median("age"), {"epsilon": 1.0}),
    ("median-by", dp.Median("lesions", by="pirads", where=[_W("bph").eq(True)]), {"epsilon": 1.0}),
    ("median-margin", dp.Median("age"), {"margin": 40}),
    ("median-factor", dp.Median("psa", by="bph"), {"noise_factor": "high"}),
    ("quantiles", dp.Quantiles("age", [0.1, 0.5, 0.9]), {"epsilon": 1.0}),
    ("quantiles-by", dp.Quantiles("age", [0.25, 0.75], by="pirads"), {"epsilon": 1.0}),
    ("quantiles-factor", dp.Quantiles("age", [0.25, 0.75]), {"noise_factor": "high"}),
    ("histogram", dp.Histogram("age"), {"epsilon": 1.0}),
    ("histogram-edges", dp.Histogram("age", edges=[18, 40.0, 60, 100], by="pirads"), {"epsilon": 1.0}),
    ("histogram-bins", dp.Histogram("volume", bins=4), {"epsilon": 1.0}),
    ("histogram-days", dp.Histogram("day", bins=6), {"epsilon": 1.0}),
    ("histogram-values", dp.Histogram("prostatitis", where=[_W("pirads").not_in([1, 2])]), {"epsilon": 1.0}),
    ("crosstab", dp.Crosstab("age", "pirads"), {"epsilon": 1.0}),
    ("crosstab-bins", dp.Crosstab("age", "bph", bins={"age": [40, 60, 80]}, where=[_W("psa").less_than(20)]),
     {"epsilon": 1.0}),
]  # fmt: skip


def rows(people: int = 652) -> pa.Table:
    """Return made-up reports: one to three of each of these many people."""
    rng = np.random.default_rng(18)
    found = []
    for person in range(people):
        for _ in range(int(rng.integers(1, 4))):
            found.append(  # noqa: PERF401 - the order of the draws is pinned
                {
                    "patient": f"p{person}",
                    "age": float(rng.integers(30, 95)),
                    "psa": float(rng.uniform(0, 60)),
                    "lesions": int(rng.integers(0, 10)),
                    "volume": int(rng.integers(5, 220)),
                    "pirads": int(rng.integers(1, 7)),
                    "prostatitis": str(rng.choice(["no", "acute", "chronic", "what"])),
                    "bph": bool(rng.integers(0, 2)),
                    "day": str(np.datetime64("2018-01-01") + int(rng.integers(0, 700))),
                    "city": str(rng.choice(["Oslo", "Rome", "Graz", "Linz"], p=[0.5, 0.3, 0.19, 0.01])),
                }
            )
    table = pa.Table.from_pylist(found)
    return table.set_column(table.column_names.index("day"), "day", table["day"].cast(pa.date32()))


def session_on(table: dp.engine.Table, ledger: Any) -> dp.Session:
    """Return a session that can pay for everything."""
    return dp.Session(
        table, recipient="acme", budget=dp.ApproxDP(200.0, 1e-3), ledger=ledger,
        policy=dp.Policy(data_set_budget=400.0),
    )  # fmt: skip


def told(session: dp.Session, question: dp.Question, options: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the key, price and seeded answer of a question, as plain values; without sentences."""
    price = session.price(question, **options)
    with seeded(seed):
        plain = session.release(question, **options).to_dict()
    for sentence in ("counted", "notes"):
        plain.pop(sentence, None)
    plain["guarantee"].pop("sentence")
    return {
        "question": question.to_dict(),
        "release": plain,
        "price": [price.epsilon, price.margin95, price.margin_unit, price.unit, price.noise_percent, price.at_most],
    }


def tell_all() -> dict[str, Any]:
    """Return what is pinned of every question."""
    found: dict[str, Any] = {}
    with dp.load(rows(), SCHEMA) as table:
        for seed, (name, question, options) in enumerate(QUESTIONS):
            found[name] = told(session_on(table, MemoryLedger()), question, options, seed)
    few = rows(40).select(["patient", "age", "pirads"])
    with dp.load(few, SINGLE) as table:
        for name in ("count", "mean", "median", "variance", "crosstab"):
            question, options = next((asked, how) for label, asked, how in QUESTIONS if label == name)
            if not question.fields <= SINGLE.columns.keys():
                question = type(question)("age")  # type: ignore[arg-type]
            found[f"single-{name}"] = told(session_on(table, MemoryLedger()), question, options, 7)
        session = session_on(table, MemoryLedger())
        with seeded(3):
            bought = session.buy_limit(epsilon=0.5).to_dict()
        found["limit"] = {"release": {name: bought[name] for name in ("question", "values", "key", "cost", "axes")}}
    return json.loads(json.dumps(found))
