"""Attacks on tables in words: no cell is quoted, wrong arguments are explained, every kind of frame is read."""

from __future__ import annotations

import pytest
from attacked_tables import NAMES, cohort

from pydplib import attack
from pydplib.anonymity import (
    Hierarchy,
)
from pydplib.errors import ParameterError


def test_results_never_quote_a_cell():
    people = cohort(80).replace({"ill": {"hiv": "CANARYILL"}}).assign(zip="CANARYZIP")
    released = people.assign(age="*")
    about = {"quasi_identifiers": NAMES, "sensitive": "ill"}
    results = [
        attack.linkage(released, people, quasi_identifiers=NAMES),
        attack.homogeneity(released, people, **about),
        attack.background_knowledge(released, people, **about),
        attack.skewness(released, people, **about),
        attack.similarity(released, people, **about, hierarchy=Hierarchy.flat([*people["ill"].unique()])),
        attack.unsorted_matching(released, people, **about),
        attack.complementary_release([released, people], people, **about),
        attack.temporal(released.iloc[:60], released, people.iloc[60:], **about),
        attack.minimality(released, people, **about, value="CANARYILL", most=0.5),
    ]
    for result in results:
        text = f"{result} {result!r} {result.to_dict()}"
        assert "CANARY" not in text
        assert result.sentence.endswith(".")
        assert 0 <= result.interval[0] <= result.success <= result.interval[1] <= 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: attack.linkage(t), "quasi_identifiers"),
        (lambda t: attack.linkage(t, quasi_identifiers=["agee"]), "Did you mean 'age'"),
        (lambda t: attack.linkage(t, quasi_identifiers=["age"], attacker="jurnalist"), "Did you mean 'journalist'"),
        (lambda t: attack.homogeneity(t, quasi_identifiers=["age"]), "one sensitive column"),
        (lambda t: attack.homogeneity(t, quasi_identifiers=["age", "ill"], sensitive="ill"), "at once"),
        (lambda t: attack.similarity(t, quasi_identifiers=["age"], sensitive="ill"), "either hierarchy="),
        (lambda t: attack.skewness(t, quasi_identifiers=["age"], sensitive="ill", margin=2), "margin"),
        (lambda t: attack.complementary_release([t], t, quasi_identifiers=["age"], sensitive="ill"), "at least two"),
        (lambda t: attack.background_knowledge(t, quasi_identifiers=["age"], sensitive="ill", pieces=-1), "pieces"),
    ],
)
def test_wrong_arguments_are_explained(call, words):
    with pytest.raises(ParameterError, match=words):
        call(cohort(20))


def test_empty_tables_expose_nobody():
    empty = cohort(10).iloc[:0]
    about = {"quasi_identifiers": NAMES, "sensitive": "ill"}
    for found in (
        attack.linkage(empty, empty, quasi_identifiers=NAMES),
        attack.homogeneity(empty, empty, **about),
        attack.skewness(empty, empty, **about),
        attack.background_knowledge(empty, empty, **about),
        attack.unsorted_matching(empty, empty, **about),
    ):
        assert (found.tries, found.exposed) == (0, 0)


def test_polars_pyarrow_and_paths_give_the_same_as_pandas(tmp_path):
    people = cohort(60)
    released = people.assign(age=(people["age"] // 10 * 10).map(lambda a: f"{a}-{a + 9}"))
    wanted = attack.homogeneity(released, people, quasi_identifiers=NAMES, sensitive="ill")
    import polars as pl
    import pyarrow as pa

    for kind in (pl.from_pandas, pa.Table.from_pandas):
        assert attack.homogeneity(kind(released), kind(people), quasi_identifiers=NAMES, sensitive="ill") == wanted
    released.to_parquet(tmp_path / "a.parquet")
    people.to_parquet(tmp_path / "b.parquet")
    again = attack.homogeneity(tmp_path / "a.parquet", tmp_path / "b.parquet", quasi_identifiers=NAMES, sensitive="ill")
    assert again == wanted
