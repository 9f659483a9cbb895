"""The histogram of rows per person: replayed on neighbours, audited, its planted faults caught; margins hold."""

from __future__ import annotations

import logging
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from neighbours import CHOSEN, Person, arrow, gather, loss_between, schema_of

import pydplib as dp
from pydplib.engine import ExactTable
from pydplib.noise.tap import add_laplace
from pydplib.release.facts import Facts
from pydplib.release.statistics.count import CountNoise
from pydplib.release.statistics.rows_per_person import RowsPerPerson, beyond_words, share_beyond

SCHEMA = schema_of()
PREPARED = Facts.of(RowsPerPerson(), SCHEMA).at(1.0)
DRAWS = 20_000


def placed(kind: str, people: list[Person], folder: Any) -> dp.engine.Table:
    data = arrow(people)
    if kind == "polars":
        return dp.load(pl.from_arrow(data), SCHEMA)
    if kind == "sqlite":
        import sqlite3

        path = folder / f"{len(list(folder.iterdir()))}.db"
        frame = data.to_pandas()
        with sqlite3.connect(path) as database:
            frame.assign(day=frame.day.astype(str)).to_sql("t", database, index=False)
        return dp.load(path, SCHEMA, table="t")
    return dp.load(data, SCHEMA)


@pytest.mark.parametrize("kind", ["duckdb", "polars", "sqlite"])
def test_replay_of_rows_per_person_on_made_neighbours_stays_within_epsilon(kind, tmp_path):
    worst = 0.0
    for others, person in [*CHOSEN, *gather(6)]:
        tables = placed(kind, others, tmp_path), placed(kind, [*others, person], tmp_path)
        with tables[0] as smaller, tables[1] as larger:
            loss = loss_between(PREPARED, smaller.aggregate(PREPARED.plan), larger.aggregate(PREPARED.plan))
        worst = max(worst, loss)
        assert loss <= 1.0 + 1e-9
    assert worst == pytest.approx(1.0)  # one person is one class: the whole epsilon


def test_replay_catches_a_histogram_that_counts_rows_instead_of_persons():
    """The planted fault: each class adds its rows, so one person moves it by more than 1."""
    rows = np.array([1, 2, 3, 5, 11])

    def by_rows(exact: ExactTable) -> ExactTable:
        return ExactTable(exact.plan, exact.keys, (exact.values[0] * rows,))

    with dp.load(arrow([]), SCHEMA) as smaller, dp.load(arrow([CHOSEN[1][1]]), SCHEMA) as larger:
        pair = [by_rows(table.aggregate(PREPARED.plan)) for table in (smaller, larger)]
    with pytest.raises(AssertionError, match="claims sensitivity"):
        loss_between(PREPARED, *pair)


def test_audit_of_rows_per_person_keeps_epsilon_and_finds_half_the_noise(auditor):
    def released(counts: list[int], epsilon: int) -> np.ndarray:
        noise = CountNoise(1, 1, 5, Fraction(epsilon))
        exact = np.tile(np.array(counts, dtype=np.int64), (100_000, 1))
        return np.asarray(noise.apply(exact).raw, dtype=float)[:, 3]

    with_him, without = [9, 4, 2, 1, 0], [9, 4, 2, 0, 0]
    assert auditor.audit(released(with_him, 1), released(without, 1), confidence=auditor.HOLDS).epsilon <= 1.0
    assert auditor.audit(released(with_him, 1), released(without, 1)).epsilon >= 0.85
    assert auditor.audit(released(with_him, 2), released(without, 2)).epsilon > 1.2  # claims half of what it loses


def uneven() -> tuple[pd.DataFrame, dp.Schema]:
    """400 persons with 1 to 30 rows; a quarter of the values lie beyond the bounds."""
    who = [person for person in range(400) for _ in range(1 + person % 30)]
    random = np.random.default_rng(7)
    frame = pd.DataFrame({"id": who, "age": random.normal(80, 30, len(who)).round()})
    return frame, dp.Schema({"age": dp.Number(0, 100, step=1)}, person="id", max_rows_per_person=2, name="uneven")


def bounded(frame: pd.DataFrame) -> dict[str, float]:
    """Return count, sum, mean and variance as they are counted: by weights, on clamped values."""
    rows = frame.groupby("id")["id"].transform("size")
    weights = np.where(rows <= 2, 65536, 2 * 65536 // rows)
    total, age = weights.sum(), frame.age.clip(0, 100)
    count, mean = total / 65536, float((weights * age).sum() / total)
    variance = float((weights * (age - mean) ** 2).sum() / total)
    return {"count": count, "sum": count * mean, "mean": mean, "variance": variance}


@pytest.mark.parametrize(
    "question", [dp.Count(), dp.Mean("age"), dp.Sum("age"), dp.Variance("age")], ids=lambda q: q.ask
)
def test_interval_covers_the_bounded_table_and_the_text_says_what_it_leaves_out(question):
    frame, schema = uneven()
    prepared = Facts.of(question, schema).at(1.0)
    with dp.load(frame, schema) as table:
        exact = table.aggregate(prepared.plan)
    many = ExactTable(prepared.plan, ((),) * DRAWS, tuple(np.tile(v, DRAWS) for v in exact.values))
    noisy = question.answer(prepared.facts, prepared.noise, many)
    truth = bounded(frame)[question.ask]
    slack = 1e-6 * abs(truth)  # the grid's own rounding
    covered = float(np.mean((noisy.low <= truth + slack) & (truth - slack <= noisy.high)))
    assert covered >= 0.94
    # No wider than it must be: the smallest margin of this noise covers 95 %, more only by the grid's step.
    assert covered <= 0.95 + 0.01
    release = prepared.answer(exact)
    assert "at most 2 rows per person count in full" in release.counted
    assert "the margin does not include the shift this causes" in str(release)
    if question.ask == "mean":
        assert "age is clamped to 0-100" in str(release)
    exactly = {"count": len(frame), "mean": frame.age.mean(), "sum": frame.age.sum(), "variance": frame.age.var(ddof=0)}
    own = exactly[question.ask]
    assert not release.low95[0] <= own <= release.high95[0]  # why it must be said


def test_share_beyond_the_limit_is_at_least_what_is_said_in_nearly_all_releases():
    frame, schema = uneven()
    prepared = Facts.of(RowsPerPerson(), schema).at(1.0)
    with dp.load(frame, schema) as table:
        exact = table.aggregate(prepared.plan)
        true = table.check().share_beyond
    release = prepared.answer(exact)
    counts = np.tile(exact.values[0], (2_000, 1))
    noise = add_laplace(counts, prepared.noise.scale, sensitivity=1)
    said = []
    for row in noise:
        share, spread = share_beyond(dp.Release.from_dict({**release.to_dict(), "noisy": row.tolist()}))
        said.append(share - spread)
    assert np.mean(np.array(said) <= true) >= 0.95
    assert np.median(said) > true / 2  # and it says something
    assert "of rows are beyond the limit of 2" in beyond_words(release)


def test_limit_that_leaves_nothing_out_is_said_to_be_so():
    schema = dp.Schema({"age": dp.Number(0, 100)}, person="id", max_rows_per_person=2, name="even")
    with dp.load(pd.DataFrame({"id": range(5000), "age": 1.0}), schema) as table:
        session = dp.Session(table, recipient="acme", budget=3.0)
        text = str(session.buy_limit(epsilon=1.0))
    assert "no rows are known to be beyond the limit of 2" in text or "At least about 0" in text


def test_histogram_that_shows_nothing_does_not_claim_that_there_is_nothing():
    """A share as large as the noise shows in half of the releases only."""
    frame, schema = uneven()
    prepared = Facts.of(RowsPerPerson(), schema).at(1.0)
    with dp.load(frame, schema) as table:
        release = prepared.answer(table.aggregate(prepared.plan))
    hidden = dp.Release.from_dict({**release.to_dict(), "noisy": [500.0, *[0.0] * (len(release.values) - 1)]})
    assert "hides shares below about" in beyond_words(hidden) and "and sometimes larger ones" in beyond_words(hidden)
    few = dp.Release.from_dict({**release.to_dict(), "noisy": [3.0, *[0.0] * (len(release.values) - 1)]})
    assert beyond_words(few).endswith("beyond the limit of 2; its noise hides any share.")


def test_owners_numbers_reach_no_release_log_or_error(caplog):
    """Canaries: the exact numbers of a check are in nothing that a session, an error or a log says."""
    caplog.set_level(logging.DEBUG)
    frame, schema = uneven()
    frame.loc[:9, "age"] = 987_654_321.0
    with dp.load(frame, schema) as table:
        found = table.check()
        canaries = {str(found.rows), f"{found.rows:,}".replace(",", " "), "987654321", "987 654 321"}
        session = dp.Session(table, recipient="acme", budget=2.0)
        texts = [str(session.release(dp.Mean("age"), epsilon=0.1)), session.release(dp.Count(), epsilon=0.1).to_json()]
        texts += [str(session.buy_limit(epsilon=0.1)), repr(table), str(session.price(dp.Count(), epsilon=0.3))]
        for wrong in (dp.Mean("agee"), dp.Median("id")):
            with pytest.raises(ValueError) as caught:
                session.release(wrong, epsilon=0.1)
            texts.append(str(caught.value))
    assert found.above["age"] >= 10 and str(found.persons_over) in str(found)
    told = "\n".join([*texts, caplog.text])
    assert not [canary for canary in canaries if re.search(rf"(?<![\d.]){canary}(?![\d.])", told)]
