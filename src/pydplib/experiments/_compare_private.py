"""The private side of the comparison: one noisy count, and a noisy table of counts under the same attacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from pydplib.attack import homogeneity, most_success, skewness
from pydplib.attack.answers.games import play
from pydplib.attack.answers.targets import draw_seed
from pydplib.attack.result import AttackResult
from pydplib.experiments._result import Row
from pydplib.mechanisms import Geometric
from pydplib.noise.testing import seeded

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

    from pydplib.datasets import pirads_schema
    from pydplib.engine import load
    from pydplib.guarantee import PureDP
    from pydplib.policy import Policy
    from pydplib.release import Crosstab, Session
    from pydplib.schema import Category, Integer, Schema

    declared = pirads_schema().columns
    years = Category([2017, 2018])
    kinds = {name: declared[name] for name in (*quasi, sensitive)} | {"age": Integer(0, 119), "year": years}
    columns = nw.from_native(frame, eager_only=True).select(*kinds).to_native()
    table = load(columns, Schema(columns=kinds, max_rows_per_person=1))
    policy = Policy(data_set_budget=epsilon)  # an experiment may ask for any epsilon
    session = Session(table, recipient="reader", role="owner", budget=PureDP(epsilon), policy=policy)
    return session.release(Crosstab(*quasi, sensitive, bins={"age": list(EDGES)}), epsilon=epsilon)
