"""Faults seen in other tools, each as a test that they are not repeated here."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pandas as pd
import pytest

import pydplib.anonymity as room
from pydplib.anonymity import (
    Hierarchy,
    KAnonymity,
    LDiversity,
    TCloseness,
    anonymize,
    risk,
    verify,
)
from pydplib.anonymity.hierarchies.cells import can_meet, read_cover


@pytest.fixture
def patients():
    rng = np.random.default_rng(5)
    n = 240
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "burn", "gout", "none"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def test_t_on_a_shuffled_index_equals_t_on_a_fresh_one(patients):
    shuffled = patients.sample(frac=1, random_state=3)
    assert list(shuffled.index) != list(range(len(shuffled)))
    before = verify(patients, ["age", "sex"], "ill").sensitive["ill"]
    after = verify(shuffled, ["age", "sex"], "ill").sensitive["ill"]
    duplicated = shuffled.set_index(np.zeros(len(shuffled), dtype=int))
    again = verify(duplicated, ["age", "sex"], "ill").sensitive["ill"]
    for name in ("t_equal", "t_ordered", "beta", "l_entropy", "delta"):
        assert getattr(before, name) == pytest.approx(getattr(after, name), abs=1e-12)
        assert getattr(before, name) == pytest.approx(getattr(again, name), abs=1e-12)


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA])
def test_k_with_a_unique_row_that_misses_a_value_is_one(hole):
    table = pd.DataFrame({"age": [30] * 5 + [hole], "sex": ["f"] * 6}, dtype=object)
    assert verify(table, ["age", "sex"]).k == 1
    assert risk(table, ["age", "sex"]).unique == pytest.approx(1 / 6)


def test_rows_that_miss_a_value_are_released_or_counted_as_suppressed():
    table = pd.DataFrame({"age": [30.0] * 5 + [float("nan")] * 5 + [60.0]})
    result = anonymize(table, {"age": Hierarchy.flat([30.0, 60.0])}, models=[KAnonymity(5)], suppression=0.1)
    assert result.suppressed.rows == 1
    assert len(result.data) == 10
    assert int(result.data["age"].isna().sum()) == 5


def test_entropy_l_is_not_rounded_down():
    table = pd.DataFrame({"q": ["x"] * 6, "s": ["a", "a", "a", "b", "b", "c"]})
    found = verify(table, ["q"], "s").sensitive["s"].l_entropy
    exact = math.exp(-sum(p * math.log(p) for p in (1 / 2, 1 / 3, 1 / 6)))
    assert found == pytest.approx(exact, abs=1e-12)
    assert found > 2.7


def test_entropy_l_at_exactly_ln_l_passes():
    table = pd.DataFrame({"q": ["x"] * 6, "s": list("aabbcc")})
    result = anonymize(table, {"q": Hierarchy.flat(["x"])}, "s", models=[LDiversity(3, kind="entropy")])
    assert result.levels == {"q": 0}
    assert result.certificate.holds


def test_release_has_no_row_numbers(patients):
    patients = patients.set_index(np.arange(1000, 1000 + len(patients)))
    result = anonymize(patients, ["age", "sex"], "ill", models=[KAnonymity(4)], suppression=0.1)
    assert list(result.data.columns) == ["age", "sex", "ill"]
    assert list(result.data.index) == list(range(len(result.data)))


def test_suppression_limit_counts_all_models_together():
    # 10 % of the rows fail k, another 10 % fail l: one limit of 10 % does not cover both.
    rows = [("a", i % 3) for i in range(8)] + [("b", 0)] + [("c", 0)] * 2
    table = pd.DataFrame(rows, columns=["q", "s"])
    words = {"quasi_identifiers": {"q": Hierarchy.flat(["a", "b", "c"])}, "sensitive": "s"}
    both = [KAnonymity(2), LDiversity(2)]
    assert anonymize(table, models=[KAnonymity(2)], suppression=0.1, **words).levels == {"q": 0}
    assert anonymize(table, models=both, suppression=0.1, **words).levels == {"q": 1}
    result = anonymize(table, models=both, suppression=0.3, **words)
    assert result.levels == {"q": 0}
    assert result.suppressed.rows == 3


def test_thresholds_of_several_sensitive_columns_are_kept_apart(patients):
    patients["stage"] = np.where(patients["age"] > 50, "late", "early")
    result = anonymize(
        patients, ["age", "sex"], {"ill": [TCloseness(0.15)], "stage": [TCloseness(0.6)]},
        models=[KAnonymity(3)], suppression=0.2,
    )  # fmt: skip
    stated = {s.sensitive: s.value_input for s in result.certificate.statements if s.sensitive}
    assert stated["ill"] <= 0.15 + 1e-9
    assert stated["stage"] <= 0.6 + 1e-9
    assert [str(r) for r in result.recipe.models][1:] == [
        "0.15-closeness (equal) of ill",
        "0.6-closeness (equal) of stage",
    ]


def test_public_callables_have_no_mutable_defaults():
    for name in room.__all__:
        thing = getattr(room, name)
        callables = [thing] if callable(thing) else []
        if inspect.isclass(thing):
            callables += [m for _, m in inspect.getmembers(thing, inspect.isfunction)]
        for item in callables:
            try:
                parameters = inspect.signature(item).parameters.values()
            except ValueError:
                continue
            assert not any(isinstance(p.default, list | dict | set) for p in parameters), name


def test_output_is_not_in_input_order(patients):
    result = anonymize(patients, ["age", "sex"], "ill", models=[KAnonymity(2)], insensitive=[])
    # 240 rows in the input's order by chance: far below 1e-100.
    assert list(result.data["ill"]) != list(patients["ill"])
    second = anonymize(patients, ["age", "sex"], "ill", models=[KAnonymity(2)])
    assert list(result.data["ill"]) != list(second.data["ill"])


def test_two_calls_give_equal_results(patients):
    words = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill", "models": [KAnonymity(3)], "suppression": 0.05}
    first, second = anonymize(patients, **words), anonymize(patients, **words)
    assert first.loss == second.loss
    assert first.levels == second.levels


@pytest.mark.parametrize(
    ("one", "other", "meets"),
    [
        ("20-24", 22, True),
        ("20-24", "25-29", False),
        ("[20, 25)", "24.5", True),
        ("*", None, True),
        ("{a, b}", "b", True),
        ("{a, b}", "{c}", False),
        ("816**", "81675", True),
        ("816**", "8****", True),
        ("816**", "82***", False),
        (">= 80", 93, True),
        (">= 80", 79, False),
    ],
)
def test_generalized_cells_match_what_they_cover(one, other, meets):
    assert can_meet(read_cover(one), read_cover(other)) is meets
    assert can_meet(read_cover(other), read_cover(one)) is meets
