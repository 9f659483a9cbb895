"""Odd tables and odd words: right results or clear errors, and never a cell in a message."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pydplib.anonymity import (
    Hierarchy,
    Intervals,
    KAnonymity,
    LDiversity,
    Masking,
    TCloseness,
    anonymize,
    frontier,
    verify,
)
from pydplib.errors import AnonymityError, DataError, ParameterError, PydplibError

CANARY = "CANARY-4711"


def test_one_row_satisfies_one_anonymity_and_nothing_more():
    table = pd.DataFrame({"q": ["x"]})
    assert len(anonymize(table, ["q"], models=[KAnonymity(1)]).data) == 1
    with pytest.raises(AnonymityError, match="5-anonymity"):
        anonymize(table, ["q"], models=[KAnonymity(5)])
    empty = anonymize(table, ["q"], models=[KAnonymity(5)], suppression=1.0)
    assert (len(empty.data), empty.suppressed.rows, empty.certificate.rows) == (0, 1, 0)
    assert "nothing was released" in empty.certificate.guarantee.sentence


@pytest.mark.parametrize("method", ["optimal", "local", "cells", "mondrian"])
def test_empty_table_gives_an_empty_table(method):
    table = pd.DataFrame({"q": pd.Series([], dtype=str), "s": pd.Series([], dtype=str)})
    result = anonymize(table, {"q": Hierarchy.flat(["x"])}, "s", models=[KAnonymity(5), LDiversity(2)], method=method)
    assert list(result.data.columns) == ["q", "s"]
    assert (len(result.data), result.loss.granularity) == (0, 0.0)


def test_constant_columns_lose_nothing():
    table = pd.DataFrame({"a": ["x"] * 6, "b": [1] * 6, "s": list("uvwuvw")})
    result = anonymize(table, ["a", "b"], "s", models=[KAnonymity(6), LDiversity(3), TCloseness(0.0)])
    assert result.levels == {"a": 0, "b": 0}
    assert result.loss.granularity == result.loss.entropy == 0.0


def test_all_unique_rows_are_generalized_or_suppressed():
    table = pd.DataFrame({"id_like": [f"p{i}" for i in range(30)], "s": ["a", "b", "c"] * 10})
    result = anonymize(table, ["id_like"], "s", models=[KAnonymity(5)])
    assert set(result.data["id_like"]) == {"*"}
    assert result.loss.granularity == pytest.approx(1.0)


def test_unicode_survives_and_forms_classes():
    names = ["Ünï", "日本", "emoji 🙂", "e\u0301", "é"]
    table = pd.DataFrame({"stadt": names * 4, "größe": ["s", "m"] * 10})
    result = anonymize(table, ["stadt", "größe"], models=[KAnonymity(2)])
    assert set(result.data["stadt"]) == set(names)
    assert result.certificate.holds


def test_mixed_types_in_one_column_are_kept_apart():
    table = pd.DataFrame({"q": [1, 1, "1", "1", True, True, 2.5, 2.5]}, dtype=object)
    assert verify(table, ["q"]).classes == 4
    result = anonymize(table, ["q"], models=[KAnonymity(2)])
    assert result.levels == {"q": 0}
    assert len(result.data) == 8


def test_numbers_and_their_digits_become_one_leaf_of_a_text_hierarchy():
    table = pd.DataFrame({"q": [1, "1", 2, "2"]}, dtype=object)
    result = anonymize(table, {"q": Hierarchy.from_rows([["1", "*"], ["2", "*"]])}, models=[KAnonymity(2)])
    assert result.levels == {"q": 0}
    assert result.certificate.k == 2


def test_unhashable_cells_are_refused():
    with pytest.raises(DataError, match="'q'"):
        anonymize(pd.DataFrame({"q": [[1], [2]]}), ["q"], models=[KAnonymity(1)])


def test_infinite_numbers_are_refused_without_being_shown():
    table = pd.DataFrame({"q": [1.0, float("inf")]})
    with pytest.raises(PydplibError):
        anonymize(table, {"q": Intervals(0, 10, [5])}, models=[KAnonymity(1)])


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"quasi_identifiers": ["age", "agee"]}, "Did you mean 'age'"),
        ({"quasi_identifiers": []}, "at least one quasi-identifier"),
        ({"sensitive": "illness"}, "illness"),
        ({"models": []}, "at least one model"),
        ({"models": [5]}, "KAnonymity"),
        ({"models": [LDiversity(2)], "sensitive": None}, "sensitive column"),
        ({"suppression": 1.5}, "0 to 1"),
        ({"suppression": True}, "0 to 1"),
        ({"method": "optimum"}, "Did you mean 'optimal'"),
        ({"loss": "granularty"}, "Did you mean 'granularity'"),
        ({"quasi_identifiers": ["age"], "sensitive": "age"}, "Choose one"),
        ({"identifiers": ["nam"]}, "Did you mean 'name'"),
        ({"quasi_identifiers": {"age": 3.5}}, "Hierarchy"),
        ({"method": "mondrian", "labels": "boxes"}, "sets"),
        ({"output": "x.parquet"}, "result.data"),
        ({"person": "age"}, "person column"),
    ],
)
def test_wrong_words_are_clear_errors(words, match):
    table = pd.DataFrame({"name": [CANARY] * 4, "age": [30, 30, 40, 40], "ill": ["a", "b", "a", "b"]})
    given = {"quasi_identifiers": ["age"], "sensitive": "ill", "models": [KAnonymity(2)]} | words
    with pytest.raises(ParameterError, match=match) as caught:
        anonymize(table, **given)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KAnonymity(0), lambda: KAnonymity(2.5), lambda: KAnonymity(True), lambda: LDiversity(2, kind="fuzzy"),
        lambda: LDiversity(2, kind="recursive"), lambda: LDiversity(2, c=3), lambda: TCloseness(1.2),
        lambda: TCloseness(0.2, distance="hierarchical"), lambda: TCloseness(0.2, order=["a"]),
    ],
)  # fmt: skip
def test_models_refuse_impossible_parameters(make):
    with pytest.raises(ParameterError):
        make()


def test_models_print_cite_and_explain_themselves():
    from pydplib.anonymity import AlphaK, BetaLikeness, DeltaDisclosure, DeltaPresence, KMap

    people = pd.DataFrame({"q": [1]})
    models = [
        KAnonymity(5), AlphaK(0.5, 3), LDiversity(3), LDiversity(2.5, kind="entropy"),
        LDiversity(3, kind="recursive", c=4), TCloseness(0.2), BetaLikeness(1), DeltaDisclosure(1),
        KMap(5, population=people), DeltaPresence(0.5, population=people),
    ]  # fmt: skip
    assert [str(m) for m in models[:5]] == [
        "5-anonymity", "(0.5, 3)-anonymity", "3-diversity (distinct)", "2.5-diversity (entropy)",
        "recursive (4, 3)-diversity",
    ]  # fmt: skip
    for model in models:
        assert model.paper and model.bounds and str(model)


def test_no_cell_appears_in_reprs_texts_or_errors():
    table = pd.DataFrame({"town": [CANARY, CANARY, "B", "B", "C"], "ill": [f"{CANARY}-x", "b", "a", "b", "c"]})
    result = anonymize(table, ["town"], "ill", models=[KAnonymity(2), LDiversity(2)], suppression=0.2)
    shown = [
        repr(result),
        str(result),
        repr(result.certificate),
        str(result.risk),
        repr(result.risk),
        repr(result.trace),
    ]
    shown += [repr(result.recipe), str(result.search), str(result.loss), str(result.suppressed)]
    assert not [text for text in shown if CANARY in text]
    with pytest.raises(AnonymityError) as caught:
        anonymize(table, {"town": Hierarchy.from_rows([[CANARY, "x"], ["B", "y"], ["C", "z"]])}, models=[KAnonymity(3)])
    assert CANARY not in str(caught.value)


def test_columns_that_are_not_named_are_dropped():
    table = pd.DataFrame({"note": ["free text"] * 4, "q": [1, 1, 2, 2], "city": list("abcd"), "s": list("uvuv")})
    result = anonymize(table, ["q"], "s", models=[KAnonymity(2)], insensitive=["city"])
    assert list(result.data.columns) == ["q", "city", "s"]
    assert result.dropped == ("note",)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("method", ["optimal", "local", "mondrian", "microaggregation"])
def test_frames_come_back_in_their_library(library, method):
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.integers(20, 60, 60).tolist(),
        "zip": [f"{z:05d}" for z in rng.integers(81000, 81020, 60)],
        "gap": [None if i % 7 == 0 else "seen" for i in range(60)],
        "s": rng.choice(list("abc"), 60).tolist(),
    }
    table = library(columns)
    result = anonymize(
        table, {"age": Intervals(0, 99, [10, 50]), "zip": Masking(5), "gap": None}, "s", models=[KAnonymity(4)],
        suppression=0.2, method=method,
    )  # fmt: skip
    assert type(result.data) is type(table)
    assert result.certificate.holds
    assert verify(result.data, ["age", "zip", "gap"], "s").k == result.certificate.k >= 4


def test_kept_columns_keep_their_kind():
    table = pd.DataFrame(
        {"when": pd.to_datetime(["2020-01-01"] * 4), "n": [1, 1, 1, 1], "c": pd.Categorical(list("aabb"))}
    )
    result = anonymize(table, ["when", "n", "c"], models=[KAnonymity(2)])
    assert result.data.dtypes.tolist() == table.dtypes.tolist()
    frame = pl.DataFrame({"n": [1, 1, 1, 1]}, schema={"n": pl.UInt8})
    assert anonymize(frame, ["n"], models=[KAnonymity(2)]).data.schema == frame.schema


def test_unused_categories_are_not_values():
    table = pd.DataFrame({"c": pd.Categorical(["a"] * 3, categories=["a", "b"])})
    assert verify(table, ["c"]).classes == 1


def test_two_columns_of_one_name_are_refused():
    table = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(PydplibError):
        anonymize(table, ["a"], models=[KAnonymity(1)])


def wide_table(columns: int, rows: int = 300) -> tuple[pd.DataFrame, dict[str, Hierarchy]]:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({f"q{i}": rng.integers(0, 8, rows) for i in range(columns)})
    tree = Hierarchy.order(list(range(8)))
    return table, {f"q{i}": tree for i in range(columns)}


def test_lattice_too_large_to_hold_gets_a_good_node_and_a_bound():
    table, trees = wide_table(16)
    result = anonymize(table, trees, models=[KAnonymity(3)], suppression=0.05, time_limit=3)
    assert result.search.nodes == 4**16
    assert result.certificate.holds
    assert 0 <= result.search.bound <= result.search.loss
    assert result.search.loss == pytest.approx(result.loss.granularity)
    assert not result.search.optimal and "above the optimum" in str(result.search)


@pytest.mark.parametrize("method", ["local", "mondrian", "cells"])
def test_other_methods_take_many_quasi_identifiers(method):
    table, trees = wide_table(15, 200)
    result = anonymize(table, trees, models=[KAnonymity(3)], method=method, suppression=0.1, time_limit=3)
    assert result.certificate.holds


def test_time_limit_returns_the_best_so_far_with_its_distance_from_the_bound(monkeypatch):
    table, trees = wide_table(9, 2000)
    looks = []

    def clock():
        looks.append(0.01 * len(looks))  # every look takes a hundredth of a second
        return looks[-1]

    monkeypatch.setattr(time, "monotonic", clock)
    result = anonymize(table, trees, models=[KAnonymity(3)], suppression=0.05, time_limit=0.3)
    assert 30 < len(looks) < 90, "the search ends soon after its time"
    assert not result.search.optimal
    assert result.certificate.holds
    assert result.search.bound <= result.search.loss
    assert result.search.gap >= 0


def test_progress_reports_falling_losses():
    table, trees = wide_table(4)
    seen = []
    result = anonymize(table, trees, models=[KAnonymity(3)], suppression=0.1, progress=seen.append)
    losses = [info.loss for info in seen]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(result.search.loss)


def test_many_values_do_not_overflow_the_keys():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({f"q{i}": rng.integers(0, 10**6, 400) for i in range(8)})
    result = anonymize(
        table,
        {name: Intervals(0, 10**6, [10**5, 5 * 10**5]) for name in table},
        models=[KAnonymity(2)],
        suppression=0.3,
    )
    assert result.certificate.holds
    assert verify(table, list(table.columns)).classes == 400


def test_frontier_rises_in_loss_and_falls_in_risk():
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"age": rng.integers(20, 80, 300), "sex": rng.choice(["f", "m"], 300)})
    points = frontier(
        table, {"age": Intervals(0, 99, [5, 10, 20, 40]), "sex": None}, ks=[2, 5, 20, 1000], suppression=0.02
    )
    assert [p.k for p in points] == [2, 5, 20]
    assert [p.loss for p in points] == sorted(p.loss for p in points)
    assert all(p.highest_risk <= 1 / p.k + 1e-12 for p in points)
    for point in points:
        single = anonymize(
            table,
            {"age": Intervals(0, 99, [5, 10, 20, 40]), "sex": None},
            models=[KAnonymity(point.k)],
            suppression=0.02,
        )
        assert single.loss.granularity == pytest.approx(point.loss)
        assert single.risk.after.prosecutor.maximum == pytest.approx(point.highest_risk)


def test_search_lists_the_nodes_it_visited():
    table, trees = wide_table(3)
    result = anonymize(table, trees, models=[KAnonymity(3)])
    assert 0 < len(result.search.visited) <= result.search.checked
    assert dict(result.search.visited)[tuple(result.levels.values())] == pytest.approx(result.search.loss)


def test_stored_result_leaves_the_private_trace_behind():
    import pickle

    table = pd.DataFrame({"town": [CANARY] * 4 + ["B"], "s": list("abcde")})
    result = anonymize(table, {"town": Hierarchy.flat([CANARY, "B"])}, "s", models=[KAnonymity(5)])
    again = pickle.loads(pickle.dumps(result.trace))
    assert again is None


def test_certificate_that_fails_on_the_outputs_own_distribution_says_so():
    # One class is suppressed; what is left is then too far from its own, changed distribution or just near enough.
    rows = [("a", "u")] * 6 + [("a", "v")] * 4 + [("b", "u")] * 2 + [("b", "v")] * 8 + [("c", "v")] * 4
    table = pd.DataFrame(rows, columns=["q", "s"])
    tree = Hierarchy.from_rows([["a"], ["b"], ["c"]])
    models = [KAnonymity(5), TCloseness(0.268)]
    result = anonymize(table, {"q": tree}, "s", models=models, suppression=0.2, reference="input")
    stated = result.certificate.statements[1]
    assert stated.holds_input and stated.value_input <= 0.268
    assert stated.holds == (stated.value <= 0.268 + 1e-7)
    assert result.certificate.holds == stated.holds
    assert bool(result.notes) == (not stated.holds)
