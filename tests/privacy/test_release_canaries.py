"""Nothing that leaves, and no error, quotes a cell: canaries are planted in every column."""

from __future__ import annotations

import logging
import traceback

import pandas as pd
import pytest

import pydplib as dp
from pydplib.errors import EngineError, PydplibError

CANARY = "CANARY-7391"
NUMBER = 73.91828
SCHEMA = dp.Schema(
    {"age": dp.Number(18, 100), "pirads": dp.Category([1, 2]), "city": dp.Text(), "bph": dp.Flag()},
    person="patient",
    max_rows_per_person=1,
    name="canaries",
)


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "patient": [CANARY + str(i) for i in range(40)],
            "age": [NUMBER] * 40,
            "pirads": [CANARY] * 40,
            "city": [CANARY] * 40,
            "bph": [CANARY] * 40,
        }
    )


def leaks(text: str) -> bool:
    return CANARY in text or str(NUMBER) in text


def test_releases_and_reprs_do_not_quote_cells(frame, caplog):
    caplog.set_level(logging.DEBUG)
    with dp.load(frame, SCHEMA) as table:
        session = dp.Session(table, recipient="acme", budget=dp.ApproxDP(9.0, 1e-4))
        said = [repr(table), repr(session)]
        for question in (dp.Count(by="pirads"), dp.Mean("age"), dp.Median("age"), dp.Histogram("age"), dp.Mean("bph")):
            release = session.release(question, epsilon=0.5)
            said += [str(release), release.to_json(), release._repr_html_(), str(session.price(question, epsilon=0.1))]
    assert not any(leaks(text) for text in said)
    assert not leaks(caplog.text)


def test_unknown_key_of_few_people_stays_hidden_and_of_many_is_shown(frame):
    frame["city"] = ["Oslo"] * 38 + [CANARY, CANARY]
    with dp.load(frame, SCHEMA) as table:
        session = dp.Session(table, recipient="acme", budget=dp.ApproxDP(9.0, 1e-4))
        release = session.release(dp.Count(of="persons", by={"city": None}), epsilon=2.0, delta=1e-9)
    assert release.keys == (("Oslo",),)
    assert not leaks(str(release) + release.to_json())


def test_errors_after_the_debit_are_generic_and_carry_no_cause(frame, monkeypatch):
    with dp.load(frame, SCHEMA) as table:
        session = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0))

        def fail(*_):
            raise ValueError(f"cannot convert {CANARY} at row 7")

        monkeypatch.setattr(type(table.engine), "aggregate", fail)
        with pytest.raises(EngineError) as caught:
            session.release(dp.Mean("age"), epsilon=0.25)
        assert session.remaining.epsilon == 0.75
    shown = "".join(traceback.format_exception(caught.value))
    assert not leaks(shown)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: dp.mean(x, bounds=(0, 1), epsilon=0),
        lambda x: dp.mean(pd.DataFrame({"a": x}), bounds=(0, 1), epsilon=1.0),
        lambda x: dp.median(x, bounds=(1, 0), epsilon=1.0),
        lambda x: dp.histogram(x, edges=[1], epsilon=1.0),
        lambda x: dp.mean(x, bounds=(0, 1), epsilon=1.0, size=7),
        lambda x: dp.mean(CANARY, bounds=(0, 1), epsilon=1.0),
    ],
)
def test_array_errors_do_not_quote_values(ask):
    with pytest.raises(PydplibError) as caught:
        ask([CANARY, NUMBER])
    assert not leaks("".join(traceback.format_exception_only(caught.value)))


def test_records_repr_shows_no_record():
    from pydplib.release.records import release_records

    assert "73" not in repr(release_records([NUMBER], dp.Number(73, 74), epsilon=1.0)).split("records")[0]
