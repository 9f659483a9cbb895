"""One cohort and one question under k-anonymity, l-diversity, t-closeness and differential privacy, side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.anonymity import AnonymizationResult, Intervals, KAnonymity, LDiversity, TCloseness, anonymize
from pydplib.anonymity.models import Model
from pydplib.attack import homogeneity, linkage, most_success, skewness
from pydplib.attack.answers.games import play
from pydplib.attack.answers.targets import draw_seed
from pydplib.attack.result import AttackResult
from pydplib.datasets import pirads, pirads_schema
from pydplib.engine import load
from pydplib.errors import AnonymityError, ParameterError
from pydplib.experiments._result import Experiment, Row, Sheet
from pydplib.guarantee import PureDP
from pydplib.mechanisms import Geometric
from pydplib.noise.testing import seeded
from pydplib.policy import Policy
from pydplib.release import Crosstab, Session
from pydplib.schema import Category, Integer, Schema

HEADS = MappingProxyType(
    {
        "method": "method",
        "guarantee": "guarantee",
        "answer": "answer",
        "error": "error",
        "loss": "loss (granularity)",
        "suppressed": "rows left out",
        "found": "rows found (linkage)",
        "certain": "secrets certain (homogeneity)",
        "moved": "belief moved (skewness)",
        "told_apart": "secret told by one who knows the others",
        "told_margin": "± (95 %)",
        "allowed": "allowed by epsilon",
    }
)
"""Columns of the comparison."""

REMARKS = (
    "k-anonymity limits how well a row is found, not what the rows of a class have in common; l-diversity demands "
    "different values in each class, t-closeness the same shares as everywhere. Each answers the attack that broke the "
    "one before it, and costs detail.",
    "All three give out a table that is a fixed function of the data. Whoever knows the other patients sees the last "
    "one's secret in it. Differential privacy is the only one here that bounds this, whatever the attacker knows.",
    "The anonymized tables answer many questions at once, the private count answers one. More questions cost more "
    "epsilon; but a table of counts for all ages, years and values costs as much as one count, because everybody is in "
    "one of its cells only.",
    "The error of an anonymized table comes from coarse cells: a reader has to assume that ages are evenly spread in "
    "them, and rows that were left out are missing. It has no error bar. The error of the private count is the mean of "
    "its noise.",
    "A private count has no rows, so that nothing can be linked. Homogeneity and skewness were tried on a private "
    "table of counts by age, year, department and finding, which costs the same epsilon.",
    "Told apart: of the anonymized tables a few patients' secrets were changed, one at a time, to see whether the "
    "release changes; the private counts were drawn 20 000 times. Where the measured share lies above what epsilon "
    "allows, it does so within its margin: this count uses up all that is allowed.",
)
"""What to know before believing the numbers."""


DRAWS = 20_000
EDGES = tuple(range(0, 121, 10))


def private_row(
    epsilon: float, truth: int, frame: Any, quasi: tuple[str, ...], sensitive: str, rng: np.random.Generator
) -> Row:
    """Return how wrong a private count is, and what is learnt from it and from a table of counts at this epsilon."""
    mechanism = Geometric(1, epsilon)
    with seeded(draw_seed(rng)):
        here = np.asarray(mechanism.release(np.full(DRAWS, truth)), dtype=np.float64)
        there = np.asarray(mechanism.release(np.full(DRAWS, truth - 1)), dtype=np.float64)
        table = release_table(frame, quasi, sensitive, epsilon)
    played = play(here, there)
    told = AttackResult.of_tries("told apart", hits=played.hits, tries=played.tries, baseline=0.5, sentence="")
    about: dict[str, Any] = {"quasi_identifiers": list(quasi), "sensitive": sensitive}
    return {
        "method": f"epsilon {epsilon:g}",
        "guarantee": "DP",
        "answer": float(here[0]),
        "error": float(np.abs(here - truth).mean()),
        "loss": None,
        "suppressed": None,
        "found": None,
        "certain": homogeneity(table, frame, **about).exposed,
        "moved": skewness(table, frame, **about).exposed,
        "told_apart": told.success,
        "told_margin": (told.interval[1] - told.interval[0]) / 2,
        "allowed": most_success(epsilon),
    }


def release_table(frame: Any, quasi: tuple[str, ...], sensitive: str, epsilon: float) -> Any:
    """Return a noisy table of counts over all quasi-identifiers and the sensitive column, ages by decade."""
    import narwhals as nw

    declared = pirads_schema().columns
    years = Category([2017, 2018])
    kinds = {name: declared[name] for name in (*quasi, sensitive)} | {"age": Integer(0, 119), "year": years}
    columns = nw.from_native(frame, eager_only=True).select(*kinds).to_native()
    table = load(columns, Schema(columns=kinds, max_rows_per_person=1))
    policy = Policy(data_set_budget=epsilon)  # an experiment may ask for any epsilon
    session = Session(table, recipient="reader", role="owner", budget=PureDP(epsilon), policy=policy)
    return session.release(Crosstab(*quasi, sensitive, bins={"age": list(EDGES)}), epsilon=epsilon)


QUASI = ("age", "year", "department_code")
SENSITIVE = "prostatitis"
AGES, YEAR, VALUE = (62, 71), 2018, "chr"
SUPPRESSION = 0.05


@dataclass(frozen=True)
class Cohort:
    """The columns of the question, as arrays, next to the frame they came in."""

    frame: Any
    age: NDArray[np.int64]
    year: NDArray[np.int64]
    secret: NDArray[np.str_]

    @property
    def truth(self) -> int:
        """The exact answer."""
        asked = (self.age >= AGES[0]) & (self.age <= AGES[1]) & (self.year == YEAR)
        return int(np.count_nonzero(asked & (self.secret == VALUE)))


def run_compare(
    *,
    n: int = 920,
    seed: int | None = None,
    k: int = 5,
    diversity: int = 3,
    closeness: float = 0.2,
    epsilons: Sequence[float] = (1.0, 0.1),
    people: int = 5,
) -> Experiment:
    """Answer "how many aged 62 to 71 had chronic prostatitis in 2018?" from differently protected data; attack each.

    Args:
        n: Synthetic reports.
        seed: Which cohort, and repeatable noise.
        k: Of k-anonymity.
        diversity: The l of l-diversity.
        closeness: The t of t-closeness.
        epsilons: Of differentially private counts.
        people: People whose secret is changed to see whether the release changes with it.

    Examples:
        >>> result = run_compare(n=300, seed=1, people=1)
        >>> [row["method"] for row in result.rows][:2]
        ['original', '5-anonymity']
    """
    if n < 100 or people < 1 or not epsilons or min(epsilons) <= 0:
        raise ParameterError("The comparison needs at least 100 reports, one person and positive epsilons.")
    rng = np.random.default_rng(seed)
    cohort = _cohort(n, 2018 if seed is None else seed)
    asked: dict[str, list[Model]] = {
        f"{k}-anonymity": [KAnonymity(k)],
        f"{diversity}-diversity": [KAnonymity(k), LDiversity(diversity)],
        f"{closeness:g}-closeness": [KAnonymity(k), TCloseness(closeness)],
    }
    rows = [_original(cohort)]
    rows += [_anonymized(name, models, cohort, people, rng) for name, models in asked.items()]
    rows += [
        private_row(epsilon, cohort.truth, cohort.frame, QUASI, SENSITIVE, rng) for epsilon in dict.fromkeys(epsilons)
    ]

    def draw() -> Mapping[str, Any]:
        return draw_figures(rows)

    return Experiment(
        name="compare",
        title="Four ways to protect one cohort",
        lead=(
            f"{len(cohort.age):,} synthetic patients, each with the first of {n:,} reports, and one question: how many "
            f"aged {AGES[0]} to {AGES[1]} had chronic prostatitis in {YEAR}? The exact answer is {cohort.truth}."
        ),
        settings={
            "seed": seed, "n": n, "patients": len(cohort.age), "k": k, "diversity": diversity,
            "closeness": closeness, "epsilons": list(epsilons),
            "quasi_identifiers": list(QUASI), "sensitive": SENSITIVE, "suppression": SUPPRESSION, "people": people,
        },
        rows=rows,
        sheets=[_turned(rows)],
        remarks=REMARKS,
        draw=draw,
    )  # fmt: skip


def _turned(rows: list[Row]) -> Sheet:
    """Return the comparison with one column per method: easier to read than one row each."""
    methods = {row["method"]: row["method"] for row in rows}
    lines = [
        {"what": words, **{row["method"]: row[key] for row in rows}} for key, words in HEADS.items() if key != "method"
    ]
    return Sheet(
        "Accuracy, loss and attacks", {"what": "", **methods}, lines, "Shares are between 0 and 1, errors in patients"
    )


def _cohort(n: int, seed: int) -> Cohort:
    import narwhals as nw

    made = pirads(n=n, seed=seed)
    if isinstance(made, dict):
        raise ParameterError(
            "The comparison anonymizes a table: it needs pandas, Polars or PyArrow. Install one of them."
        )
    # The question is about completed years.
    reports = nw.from_native(made, eager_only=True).with_columns(nw.col("age").floor().cast(nw.Int64))
    # One report per patient, so that a row is a person.
    columns = reports.unique(subset=["patient_id"], keep="first", maintain_order=True)
    return Cohort(
        columns.to_native(),
        columns["age"].to_numpy().astype(np.int64),
        columns["year"].to_numpy().astype(np.int64),
        columns[SENSITIVE].to_numpy().astype(str),
    )


def _anonymize(frame: Any, models: list[Model]) -> AnonymizationResult:
    quasi = {"age": Intervals(0, 120, [5, 10, 20, 40]), "year": None, "department_code": None}
    return anonymize(frame, quasi, SENSITIVE, models=models, suppression=SUPPRESSION)


def _original(cohort: Cohort) -> Row:
    attacked = _attacks(cohort.frame, cohort)
    return {"method": "original", "guarantee": "none", "answer": float(cohort.truth), "error": 0.0, "loss": 0.0,
            "suppressed": 0.0, **attacked, "told_apart": 1.0, "told_margin": None, "allowed": None}  # fmt: skip


def _anonymized(name: str, models: list[Model], cohort: Cohort, people: int, rng: np.random.Generator) -> Row:
    try:
        result = _anonymize(cohort.frame, models)
    except AnonymityError:
        nothing = dict.fromkeys(HEADS)
        return {**nothing, "method": name, "guarantee": "nothing satisfies it"}
    answer = estimate(result.data)
    return {
        "method": name,
        "guarantee": f"k = {result.certificate.k}",
        "answer": answer,
        "error": abs(answer - cohort.truth),
        "loss": float(result.loss.granularity),
        "suppressed": float(result.suppressed.share),
        **_attacks(result, cohort),
        "told_apart": _told_apart(result, models, cohort, people, rng),
        "told_margin": None,
        "allowed": None,
    }


def estimate(released: Any) -> float:
    """Return what a reader of the released table computes: rows weighed by how much of their cell is asked for.

    A row aged "65-69" counts whole, one aged "60-79" half, one aged "*" by the share of 0 to 119.
    """
    total = 0.0
    for (age, year, secret), rows in _count_rows(released, ("age", "year", SENSITIVE)).items():
        if secret == VALUE:
            total += rows * share_of(age) * (1.0 if year == str(YEAR) else 0.5 if not str(year).isdigit() else 0.0)
    return total


def share_of(label: str) -> float:
    """Return how much of a cell of ages lies in the ages asked for."""
    numbers = [int(text) for text in re.findall(r"\d+", label)]
    low, high = (0, 119) if not numbers else (numbers[0], numbers[-1])
    inside = max(0, min(high, AGES[1]) - max(low, AGES[0]) + 1)
    return inside / (high - low + 1)


def _attacks(released: Any, cohort: Cohort) -> Row:
    """Return what linkage, homogeneity and skewness bring; the attacker knows age, year and department."""
    linked = linkage(released, cohort.frame, quasi_identifiers=list(QUASI))
    certain = homogeneity(released, cohort.frame, quasi_identifiers=list(QUASI), sensitive=SENSITIVE)
    believed = skewness(released, cohort.frame, quasi_identifiers=list(QUASI), sensitive=SENSITIVE)
    return {"found": linked.success, "certain": certain.exposed, "moved": believed.exposed}


def _told_apart(
    result: AnonymizationResult, models: list[Model], cohort: Cohort, people: int, rng: np.random.Generator
) -> float:
    """Return how often somebody who knows all others tells a secret right, one of two: where the release changes."""
    import narwhals as nw

    frame = nw.from_native(cohort.frame, eager_only=True)
    before = _count_rows(result.data, (*QUASI, SENSITIVE))
    changed = 0
    for person in rng.choice(len(cohort.secret), people, replace=False):
        secrets = cohort.secret.copy()
        secrets[person] = VALUE if secrets[person] != VALUE else "n"
        column = nw.new_series(SENSITIVE, secrets.tolist(), backend=nw.get_native_namespace(cohort.frame))
        try:
            again = _anonymize(frame.with_columns(column).to_native(), models)
            after = _count_rows(again.data, (*QUASI, SENSITIVE))
        except AnonymityError:
            after = Counter()
        changed += after != before
    return (1 + changed / people) / 2  # where nothing changes, he tosses a coin


def _count_rows(released: Any, names: Sequence[str]) -> Counter[tuple[str, ...]]:
    """Return how often every combination of cells stands in a table."""
    import narwhals as nw

    table = nw.from_native(released, eager_only=True)
    return Counter(zip(*(table[name].cast(nw.String).to_list() for name in names), strict=True))


_ATTACKS = {
    "told_apart": "told by one who knows the others",
    "moved": "belief moved",
    "certain": "secret certain",
    "found": "row found",
}


def draw_figures(rows: Sequence[Row]) -> dict[str, tuple[plot.Figure, Sheet]]:
    """Return the figures, each with its numbers."""
    there = [row for row in rows if row["error"] is not None]
    methods = [row["method"] for row in there]
    attacks = plot.bar(
        methods,
        {words: [row[key] or 0.0 for row in there] for key, words in _ATTACKS.items()},
        x_title="protection",
        y_title="share of people",
        title="What each attack brings",
        caption=(
            "Half is a coin toss for the first series (with and without); for the others it is 0. Private counts have "
            "no rows that could be found."
        ),
    )
    attacks.update_yaxes(range=[0, 1.05], tickformat=".0%")
    error = plot.bar(
        methods,
        {"error": [row["error"] for row in there]},
        x_title="protection",
        y_title="error in patients",
        title="How wrong the answer is",
        caption="Anonymized tables: the error of this release. Private counts: the mean error over many releases.",
    )
    heads = {key: HEADS[key] for key in ("method", *_ATTACKS)}
    wrong = {key: HEADS[key] for key in ("method", "answer", "error", "loss", "suppressed")}
    return {"attacks": (attacks, Sheet("Attacks", heads, there)), "error": (error, Sheet("Error", wrong, there))}
