"""A cohort for attacks on tables, the oracle of what cells cover, and a noisy table of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd

import pydplib as dp
from pydplib.anonymity import (
    Intervals,
    Masking,
)

AGES = Intervals(0, 100, [10, 20, 40])
QUASI = {"age": AGES, "zip": Masking(3)}
NAMES = ["age", "zip"]


def cohort(n=300, seed=3, ills=("flu", "burn", "hiv", "asthma")):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "zip": [f"{z}" for z in rng.integers(100, 140, n)],
            "ill": rng.choice(ills, n, p=np.arange(len(ills), 0, -1) / sum(range(len(ills) + 1))),
        }
    )


def covers(cell, value):
    """The oracle: what a released cell covers, for the cells of this file."""
    text = str(cell)
    if set(text) == {"*"} or text == str(value):
        return True
    if "*" in text:
        return len(text) == len(str(value)) and all(a in ("*", b) for a, b in zip(text, str(value), strict=True))
    if text.startswith("{"):
        return str(value) in text[1:-1].split(", ")
    low, _, high = text.partition("-")
    return bool(high) and int(low) <= int(value) <= int(high)


def candidates(released, people, names):
    cells = released[names].to_numpy().tolist()
    return [
        [r for r, row in enumerate(cells) if all(covers(c, v) for c, v in zip(row, person, strict=True))]
        for person in people[names].to_numpy().tolist()
    ]


def dp_table(people, epsilon):
    schema = dp.Schema(
        columns={"age": dp.Integer(0, 99), "ill": dp.Category(["flu", "burn", "hiv", "asthma"])}, max_rows_per_person=1
    )
    question = dp.Crosstab("age", "ill", bins={"age": list(range(0, 101, 10))})
    table = dp.load(people[["age", "ill"]], schema)
    session = dp.Session(table, recipient="x", role="owner", budget=dp.PureDP(epsilon), ledger=dp.MemoryLedger())
    return session.release(question, epsilon=epsilon)


def noisy_again(release, people, epsilon):
    """The release once more, with fresh noise of the same mechanism: a session would hand out the same bytes."""
    ages = pd.cut(people["age"], list(range(0, 101, 10)), right=False)
    ills = pd.Categorical(people["ill"], categories=release.axes[1].keys)
    exact = pd.crosstab(ages, ills, dropna=False).to_numpy().reshape(-1)
    noisy = dp.mechanisms.Geometric(sensitivity=1, epsilon=epsilon).release(exact)
    return dataclasses.replace(release, values=tuple(np.maximum(noisy, 0)), noisy=tuple(noisy), low=None, high=None)
