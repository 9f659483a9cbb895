"""Recipes keep no value that was left out, populations count people, and odd limits are refused."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import Hierarchy, KAnonymity, KMap, Recipe, anonymize, verify
from pydplib.errors import DataError, ParameterError

TABLE = pd.DataFrame({"q": ["a"] * 5 + ["b"] * 5 + ["SECRET-7"], "r": [1] * 11})
WORDS = {"models": [KAnonymity(5)], "suppression": 0.2}


@pytest.mark.parametrize("method", ["optimal", "local", "cells"])
@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: duckdb.sql("FROM t")], ids=["pandas", "duckdb"])
def test_recipe_holds_no_value_of_suppressed_rows(method, wrap):
    result = anonymize(wrap(TABLE), ["q"], method=method, **WORDS)
    text = result.recipe.to_json()
    assert "SECRET-7" not in text and '"a"' in text
    assert result.recipe.from_data == ("q",)
    # Values that it does not know are left out elsewhere, too.
    again = Recipe.from_json(text).apply(TABLE)
    assert sorted(again["q"]) == ["a"] * 5 + ["b"] * 5 or set(again["q"]) == {"*"}


def test_recipe_of_a_column_that_became_one_star_lists_no_value_at_all():
    table = pd.DataFrame({"q": [f"name {i}" for i in range(6)]})
    recipe = anonymize(table, ["q"], models=[KAnonymity(5)]).recipe
    assert "name" not in recipe.to_json()
    assert list(recipe.apply(table)["q"]) == ["*"] * 6


def test_recipe_leaves_out_classes_that_are_too_small_elsewhere():
    flat = {"q": Hierarchy.flat(["a", "b"])}
    recipe = anonymize(TABLE[:10], flat, **WORDS).recipe
    elsewhere = pd.DataFrame({"q": ["a"] * 7 + ["b"] * 2})
    out = recipe.apply(elsewhere)
    assert sorted(out["q"]) == ["a"] * 7
    assert verify(out, ["q"]).k == 7


def test_population_counts_people_where_the_person_is_known():
    table = pd.DataFrame({"p": [1, 1, 1, 2], "q": ["a"] * 4})
    flat = {"q": Hierarchy.flat(["a", "b"])}
    # Four rows of two people: a population of two people holds them.
    two = pd.DataFrame({"q": ["a", "a"]})
    assert anonymize(table, flat, models=[KMap(2, population=two)], person="p").certificate.holds
    # Rows of one person do not make her several.
    one = pd.DataFrame({"p": [1, 1, 1, 2, 2], "q": ["a"] * 5})
    result = anonymize(table, flat, models=[KMap(2, population=one)], person="p")
    assert result.certificate.statements[0].value == 2
    with pytest.raises(DataError, match="one row per person"):
        anonymize(table, flat, models=[KMap(2, population=one.assign(q=list("aabab")))], person="p")


@pytest.mark.parametrize("limit", ["x", -1, float("nan"), True, [3]])
def test_odd_time_limit_is_refused(limit):
    with pytest.raises(ParameterError, match="time_limit"):
        anonymize(TABLE, ["q"], time_limit=limit, **WORDS)


def test_means_of_infinite_numbers_are_refused():
    table = pd.DataFrame({"q": [1.0, 2.0, np.inf, 4.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="infinite"):
            anonymize(table, {"q": Hierarchy.flat(table["q"])}, models=[KAnonymity(2)], method="microaggregation")
