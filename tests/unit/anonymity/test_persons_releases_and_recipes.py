"""Persons with several rows, pseudonyms, earlier releases and saved recipes."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.anonymity import (
    Hierarchy,
    Intervals,
    KAnonymity,
    LDiversity,
    Masking,
    Pseudonym,
    Recipe,
    TCloseness,
    anonymize,
    verify,
)
from pydplib.errors import AnonymityError, ParameterError

KEY = b"a secret key of the owner, 32 by"
TREES = {
    "first": Hierarchy.from_rows([[i, f"{i // 2}", "low" if i < 4 else "high", "*"] for i in range(7)]),
    "second": Hierarchy.from_rows([["x", "xy", "*"], ["y", "xy", "*"], ["z", "z", "*"]]),
}
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 6), st.sampled_from("xyz"), st.sampled_from("abc")),
    min_size=1,
    max_size=12,
)
COLUMNS = ["who", "first", "second", "ill"]


def labels(tree, value, level):
    return next(row for row in tree.rows if row[0] == value)[level]


def brute_force_persons(rows, k, diversity, suppression, *, linked):
    """Least granularity loss where classes count persons, from the definitions."""
    trees, best = list(TREES.values()), None
    for node in ((a, b) for a in range(4) for b in range(3)):
        cells = [tuple(labels(t, v, lv) for t, v, lv in zip(trees, row[1:3], node, strict=True)) for row in rows]
        if linked:
            mine = defaultdict(list)
            for row, cell in zip(rows, cells, strict=True):
                mine[row[0]].append(cell)
            key = [tuple(sorted(mine[row[0]])) for row in rows]
        else:
            key = cells
        people, values = defaultdict(set), defaultdict(lambda: defaultdict(set))
        for row, cell in zip(rows, key, strict=True):
            people[cell].add(row[0])
            values[cell][row[3]].add(row[0])

        def fine(cell, people=people, values=values):
            certain = any(len(who) == len(people[cell]) for who in values[cell].values())
            distinct = 1 if certain else len(values[cell])
            return len(people[cell]) >= k and distinct >= diversity

        gone = sum(not fine(cell) for cell in key)
        if gone > int(suppression * len(rows) + 1e-9):
            continue
        total = 0.0
        for row, cell in zip(rows, key, strict=True):
            for tree, value, level in zip(trees, row[1:3], node, strict=True):
                n = len(tree.rows)
                covered = sum(other[level] == labels(tree, value, level) for other in tree.rows)
                total += 1.0 if not fine(cell) else (covered - 1) / (n - 1)
        loss = total / (2 * len(rows))
        best = loss if best is None else min(best, loss)
    return best


@pytest.mark.parametrize("linked", [False, True])
@settings(max_examples=60)
@given(rows=ROWS, diversity=st.sampled_from([1, 2]), suppression=st.sampled_from([0.0, 0.3, 1.0]))
def test_search_over_persons_finds_the_optimum_of_brute_force(linked, rows, diversity, suppression):
    best = brute_force_persons(rows, 2, diversity, suppression, linked=linked)
    table = pd.DataFrame(rows, columns=COLUMNS)
    models = [KAnonymity(2), *([LDiversity(diversity)] if diversity > 1 else [])]
    words = {"identifiers": {"who": Pseudonym(key=KEY, consistent=True)}} if linked else {"person": "who"}
    try:
        found = anonymize(table, TREES, "ill", models=models, suppression=suppression, **words)
    except AnonymityError:
        assert best is None
        return
    assert found.search.loss == pytest.approx(best, abs=1e-9)
    assert found.loss.granularity == pytest.approx(best, abs=1e-9)
    assert found.certificate.holds
    if linked:
        assert verify(found.data, list(TREES), "ill", person="who", linked=True).k >= (2 if len(found.data) else 0)
    else:
        assert "who" not in found.data.columns


def test_rows_of_one_person_do_not_make_a_crowd():
    table = pd.DataFrame({"who": ["p"] * 5 + ["q", "r"], "town": ["A"] * 5 + ["B", "B"]})
    assert anonymize(table, ["town"], models=[KAnonymity(2)]).levels == {"town": 0}
    assert anonymize(table, ["town"], models=[KAnonymity(2)], person="who").levels == {"town": 1}


def test_consistent_pseudonyms_are_keyed_stable_and_unlinkable_without_the_key():
    table = pd.DataFrame({"who": ["ann", "ann", "bob", "bob"], "town": ["A"] * 4})
    made = [
        anonymize(
            table, ["town"], models=[KAnonymity(2)], identifiers={"who": Pseudonym(key=key, consistent=True)}
        ).data
        for key in (KEY, KEY, b"another key, also of thirty-two b")
    ]
    assert set(made[0]["who"]) == set(made[1]["who"])
    assert set(made[0]["who"]).isdisjoint(made[2]["who"])
    assert made[0]["who"].nunique() == 2
    assert not any("ann" in name for name in made[0]["who"])


def test_fresh_pseudonyms_differ_in_every_row_and_every_call():
    table = pd.DataFrame({"who": ["ann"] * 4, "town": ["A"] * 4})
    first, second = (
        anonymize(table, ["town"], models=[KAnonymity(2)], identifiers={"who": Pseudonym(prefix="P-")}).data
        for _ in range(2)
    )
    assert first["who"].nunique() == 4
    assert set(first["who"]).isdisjoint(second["who"])
    assert all(name.startswith("P-") for name in first["who"])


def test_pseudonyms_refuse_short_keys_and_hide_them():
    with pytest.raises(ParameterError, match="16 bytes"):
        Pseudonym(key="short", consistent=True)
    assert "secret" not in repr(Pseudonym(key=KEY, consistent=True))


def test_consistent_pseudonyms_beside_another_person_column_are_refused():
    table = pd.DataFrame({"who": [1, 2], "card": [7, 8], "town": ["A", "A"]})
    with pytest.raises(ParameterError, match="person column"):
        anonymize(
            table,
            ["town"],
            models=[KAnonymity(1)],
            person="who",
            identifiers={"card": Pseudonym(key=KEY, consistent=True)},
        )


# -- earlier releases ------------------------------------------------------------------------------


def two_way_table():
    """A table whose two coarsenings, one per column, meet in single people."""
    rows = [(a, b, "uvw"[(a + b) % 3], f"p{a}{b}") for a in range(4) for b in range(4)]
    return pd.DataFrame(rows, columns=["a", "b", "s", "who"])


FLAT = Hierarchy.flat(range(4))
FIXED = Hierarchy.from_rows([[i] for i in range(4)])
TOP = Hierarchy.from_rows([[i, "*"] for i in range(4)])


def test_complementary_release_is_prevented_and_seen():
    table = two_way_table()
    only_a = {"a": FIXED, "b": TOP}
    only_b = {"a": TOP, "b": FIXED}
    first = anonymize(table, only_a, "s", models=[KAnonymity(4)], identifiers=["who"])
    alone = anonymize(table, only_b, "s", models=[KAnonymity(4)], identifiers=["who"])
    assert (first.certificate.k, alone.certificate.k) == (4, 4)
    # Together they single people out, and verify says so.
    assert verify(alone.data, only_b, "s", previous=[first.data]).across.k < 4
    with pytest.raises(AnonymityError):
        anonymize(table, only_b, "s", models=[KAnonymity(4)], identifiers=["who"], previous=[first])
    free = anonymize(table, {"a": TOP, "b": TOP}, "s", models=[KAnonymity(4)], previous=[first])
    assert free.levels["b"] == 1
    assert verify(free.data, {"a": TOP, "b": TOP}, "s", previous=[first]).across.k >= 4


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from("xyz"), st.sampled_from("abc")), min_size=4, max_size=16),
    st.sets(st.integers(0, 15), max_size=3),
    st.integers(0, 3),
)
def test_models_hold_for_every_set_that_two_releases_tell_apart(rows, leaving, coming):
    table = pd.DataFrame([(f"p{i}", *row) for i, row in enumerate(rows)], columns=COLUMNS)
    words = {"sensitive": "ill", "models": [KAnonymity(2)], "identifiers": ["who"], "person": "who", "suppression": 1.0}
    first = anonymize(table, TREES, **words)
    later = table.drop(index=[i for i in leaving if i < len(table)])
    new = pd.DataFrame([(f"n{i}", i, "x", "a") for i in range(coming)], columns=COLUMNS)
    later = pd.concat([later, new], ignore_index=True)
    if not len(later):
        return
    second = anonymize(later, TREES, **words, previous=[first])
    one, two = first.trace.read(), second.trace.read()
    then, now = (
        dict(zip(one.people, one.classes.tolist(), strict=True)),
        dict(zip(two.people, two.classes.tolist(), strict=True)),
    )
    groups = defaultdict(set)
    for who in {*then, *now}:
        groups[(then.get(who, -1), now.get(who, -1))].add(who)
    for (before, after), people in groups.items():
        # Everybody who looks alike in both releases, appeared with one class or vanished with one.
        if (before, after) != (-1, -1):
            assert len(people) >= 2, (before, after)


def test_deleted_person_hides_among_others_who_vanish():
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"who": range(200), "age": rng.integers(20, 60, 200), "ill": rng.choice(list("abcd"), 200)})
    trees = {"age": Intervals(20, 59, [10, 20])}
    words = {"sensitive": "ill", "models": [KAnonymity(5), LDiversity(2)], "person": "who"}
    first = anonymize(table, trees, **words)
    later = table.iloc[1:]
    careless = anonymize(later, trees, **words)
    assert verify(careless.data, trees, "ill", previous=[first]).across.vanished == 1
    careful = anonymize(later, trees, **words, previous=[first], suppression=0.6)
    assert verify(careful.data, trees, "ill", previous=[first]).across.vanished >= 5
    assert careful.certificate.holds


def test_previous_refuses_what_cannot_tell_people_again():
    table = two_way_table()
    first = anonymize(table, ["a", "b"], "s", models=[KAnonymity(2)])
    with pytest.raises(ParameterError, match="other sensitive"):
        anonymize(table, ["a", "b"], models=[KAnonymity(2)], previous=[first])


# -- recipes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["optimal", "local", "cells", "mondrian"])
def test_recipe_survives_json_and_repeats_the_release(tmp_path, method):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {
            "name": [f"n{i}" for i in range(120)],
            "age": rng.integers(20, 60, 120),
            "zip": [f"{z:05d}" for z in rng.integers(81000, 81030, 120)],
            "ill": rng.choice(list("abc"), 120),
        }
    )
    trees = {"age": Intervals(0, 99, [5, 10, 50]), "zip": Masking(5)}
    result = anonymize(
        table, trees, "ill", models=[KAnonymity(3), TCloseness(0.9)], identifiers=["name"], method=method
    )
    path = tmp_path / "recipe.json"
    result.recipe.save(path)
    recipe = Recipe.load(path)
    assert recipe == result.recipe
    again = recipe.apply(table)
    columns = ["age", "zip", "ill"]
    assert list(again.columns) == columns
    rows = [sorted(map(tuple, frame[columns].astype(str).to_numpy().tolist())) for frame in (again, result.data)]
    assert rows[0] == rows[1]
    # Elsewhere it promises nothing: what it gives has to be verified there.
    other = table.iloc[:7]
    assert verify(recipe.apply(other), ["age", "zip"]).k >= 0


def test_recipe_of_groups_and_damaged_files_are_refused(tmp_path):
    table = pd.DataFrame({"age": [20, 21, 50, 51]})
    result = anonymize(table, ["age"], models=[KAnonymity(2)], method="microaggregation")
    with pytest.raises(ParameterError, match="microaggregation"):
        result.recipe.apply(table)
    path = tmp_path / "broken.json"
    path.write_text("{]")
    with pytest.raises(ParameterError, match="damaged"):
        Recipe.load(path)
    with pytest.raises(ParameterError, match="cannot be read"):
        Recipe.load(tmp_path / "absent.json")
    path.write_text(result.recipe.to_json().replace('"version": 1', '"version": 99'))
    with pytest.raises(ParameterError, match="version 99"):
        Recipe.load(path)


def test_microaggregation_shares_means_and_keeps_their_total():
    table = pd.DataFrame({"age": [20.0, 21.0, 22.0, 50.0, 51.0, 52.0], "income": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]})
    result = anonymize(table, ["age", "income"], models=[KAnonymity(3)], method="microaggregation")
    assert sorted(set(result.data["age"])) == [21.0, 51.0]
    assert result.data["income"].sum() == pytest.approx(table["income"].sum())
    assert result.certificate.k == 3
