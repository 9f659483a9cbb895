"""Nothing private in any message: planted values never appear in an error, a repr or a page."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pydplib as dp
from pydplib.errors import PydplibError

NUMBER = 739261.5
WORD = "CANARY-Zitronenfalter"
MARKS = ("739261", "CANARY", "Zitronenfalter")

BROKEN: list[tuple[str, Any, dict[str, Any]]] = [
    ("constant", [NUMBER] * 3, {}),
    ("single", [NUMBER], {}),
    ("single fitted", [NUMBER], {"is_range": True}),
    ("missing", [NUMBER, None], {}),
    ("infinite", [NUMBER, float("inf")], {}),
    ("too large", [NUMBER, 1e301], {}),
    ("mixed", [NUMBER, WORD], {}),
    ("mixed with dates", [WORD, pd.Timestamp("2020-01-01").date()], {}),
    ("bytes", [WORD.encode()], {}),
    ("text without range", [WORD, "b"], {}),
    ("one category", [WORD, WORD], {"is_range": True}),
    ("unknown category", [WORD, "b"], {"is_range": True, "categories": ["a", "b"]}),
    ("not whole", [NUMBER, 2.0], {"data_type": "int"}),
    ("text as int", [WORD, "2"], {"data_type": "int"}),
    ("text as float", [WORD, "2"], {"data_type": "float"}),
    ("text as date", [WORD, "2020-01-01"], {"data_type": "date"}),
    ("long char", [WORD, "b"], {"data_type": "char", "is_range": True}),
    ("number as bool", [NUMBER, 1.0], {"data_type": "bool"}),
    ("category with missing number", [NUMBER, None], {"on_missing": "category"}),
    ("empty text", [WORD, ""], {"is_range": True}),
    ("table", pd.DataFrame({"a": [NUMBER]}), {}),
    ("two dimensions", np.array([[NUMBER]]), {}),
    ("zoned", pd.Series(pd.to_datetime(["2020-01-01"]).tz_localize("UTC")), {}),
    ("one text", WORD, {}),
    ("dict", {WORD: NUMBER}, {}),
    ("generator", (value for value in [NUMBER]), {}),
    ("polars list", pl.Series([[NUMBER]]), {}),
    ("arrow struct", pa.array([{"a": NUMBER}]), {}),
    ("overflowing variance", [NUMBER, 1e299], {"query_type": "variance"}),
    ("unreachable search", [NUMBER, 1.0, 2.0], {"selector": "search", "epsilons": [1e9]}),
    ("denormal", [5e-324, 1e-320], {}),
    ("data as an option", [1.0, 2.0], {"selector": WORD * 3}),
    ("data as a query", [1.0, 2.0], {"query_type": [NUMBER]}),
    ("data as a noise factor", [1.0, 2.0], {"noise_factor": [WORD]}),
    ("data as a type", [1.0, 2.0], {"data_type": [WORD]}),
]


@pytest.mark.parametrize(("data", "options"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_error_when_data_cannot_be_used_is_clear_and_quotes_nothing(data, options) -> None:
    arguments = {"query_type": "mean", "noise_factor": "high", **options}
    with pytest.raises(PydplibError) as caught:
        dp.dp_calculate(data, **arguments)
    text = "".join(traceback.format_exception_only(caught.value)) + repr(caught.value.__cause__)
    assert not any(mark in text for mark in MARKS), text
    message = str(caught.value)
    assert message.endswith((".", "?"))
    assert len(message) > 40


@pytest.mark.parametrize("options", [{}, {"is_range": True}, {"bounds": (0, 1_000_000)}, {"selector": "search"}])
def test_repr_and_page_of_a_result_never_show_original_values(options) -> None:
    data = [*np.random.default_rng(0).normal(500_000.0, 9.0, 60).tolist(), NUMBER]
    result = dp.dp_calculate(data, "mean", "medium", **options)
    for text in (repr(result), str(result), result._repr_html_(), str(result.to_dict())):
        assert not any(mark in text for mark in MARKS)


def test_repr_of_a_text_result_never_shows_categories() -> None:
    result = dp.dp_calculate([WORD, "b", "c"] * 10, "count", "high", is_range=True)
    assert not any(mark in repr(result) + result._repr_html_() for mark in MARKS)


def test_inner_values_when_shown_by_a_debugger_hide_the_data() -> None:
    from pydplib.paper.codes import encode
    from pydplib.paper.containers import open_column
    from pydplib.paper.ranges import Range
    from pydplib.paper.records import Records

    column = open_column([NUMBER, NUMBER + 1])
    coded, _ = encode(column, data_type=None, on_missing="error")
    shown = [repr(column), repr(coded), repr(Records(coded.codes, coded.kind)), repr(Range(NUMBER, NUMBER))]
    assert not any(mark in text for mark in MARKS for text in shown)


def test_canary_check_when_a_message_quotes_a_value_fails() -> None:
    planted = f"Some value is {NUMBER}."
    assert any(mark in planted for mark in MARKS)
