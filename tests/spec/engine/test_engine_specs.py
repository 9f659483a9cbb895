"""Every engine keeps every promise: a small table in, the same integers out."""

from __future__ import annotations

import pytest
from engine_specs import CASES, Case, render
from reference_engine import reference


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_engine_keeps_the_promise(case: Case, place) -> None:
    plan = case.plan
    exact = place(case.data, plan.table).aggregate(plan)
    assert list(exact.keys) == case.keys
    assert [values.tolist() for values in exact.values] == case.answer
    assert all(values.dtype.kind == "i" for values in exact.values)


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_plain_loops_agree_with_the_promise(case: Case) -> None:
    keys, values = reference(case.data, case.plan)
    assert list(keys) == case.keys
    assert values == case.answer


def test_specs_render_as_documentation() -> None:
    page = render()
    assert all(case.title in page for case in CASES)
