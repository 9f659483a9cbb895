"""Results in words: repr and HTML are the text, short, escaped, and without rows or cells."""

from __future__ import annotations

import importlib
import pkgutil

import pandas as pd
import pytest

import pydplib as dp
from pydplib import anonymity, attack, budget, engine, policy, release
from pydplib._shown import Shown, words_html
from pydplib.receipt import Receipt

CANARY = "canary-cell"


def every_shown():
    """Return the classes of the library that show themselves in words."""
    for package in (anonymity, attack, budget, engine, policy, release):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    found, open_ = set(), [Shown]
    while open_:
        open_ += (more := open_.pop().__subclasses__())
        found |= set(more)
    return sorted((kind for kind in found if kind.__module__.startswith("pydplib")), key=lambda kind: kind.__name__)


def test_every_shown_class_has_words_and_python_did_not_write_its_repr():
    kinds = every_shown()
    names = {kind.__name__ for kind in kinds}
    assert {"AnonymizationResult", "Risk", "Remaining", "Schema", "Verification", "Price", "TableCheck"} <= names
    for kind in kinds:
        assert kind.__str__ is not object.__str__, kind
        assert kind.__repr__ is Shown.__repr__, kind


@pytest.fixture(scope="module")
def results():
    frame = pd.DataFrame({"who": range(40), "sex": ["f", "m"] * 20, "city": [CANARY, "b", "c", "d"] * 10})
    schema = dp.Schema({"sex": dp.Category(["f", "m"]), "age": dp.Number(18, 100, unit="years")}, name="reports")
    made = dp.anonymize(frame, ["sex"], sensitive="city", models=[dp.KAnonymity(2)], identifiers=["who"])
    table = dp.load(pd.DataFrame({"sex": ["f", "m"] * 20, "age": [61.0, 70.0] * 20}), schema)
    session = dp.Session(table, recipient="partner", budget=dp.PureDP(2))
    noisy = dp.dp_calculate([61, 67, 70] * 30, "mean", "high", bounds=(18, 100))
    return {
        "anonymization": made,
        "risk": dp.risk(frame, ["sex"]),
        "change of risk": made.risk,
        "certificate": made.certificate,
        "loss": made.loss,
        "search": made.search,
        "verification": dp.verify(frame, ["sex"], sensitive="city"),
        "schema": schema,
        "table": table,
        "check": table.check(),
        "session": session,
        "records": session.release_records([61.0] * 40, column="age", epsilon=1.0, budget=dp.guarantee.LocalDP(1.0)),
        "recipe": made.recipe,
        "remaining": session.remaining,
        "price": session.price(dp.Mean("age"), epsilon=1),
        "cost": session.price(dp.Mean("age"), epsilon=1).cost,
        "release": session.release(dp.Mean("age", by="sex"), epsilon=1),
        "policy": dp.Policy(),
        "noisy values": noisy,
        "attack": attack.AttackResult.of_tries("x", hits=7, tries=10, baseline=0.5, sentence="S.", target="sex"),
        "receipt": Receipt(
            release="ab" * 32,
            payload_hash="cd" * 32,
            question_hash="ef" * 32,
            mechanism="laplace",
            epsilon="0.2",
            delta="0",
            guarantee="Pure.",
            data="2018-12",
        ),
    }


def test_public_results_are_short_words_in_terminal_and_notebook(results):
    for name, result in results.items():
        text, page = repr(result), result._repr_html_()
        assert text == str(result), name
        for wall in ("(limit=", "mappingproxy", "nano_epsilon", "at_risk", "=(", " object at 0x", CANARY):
            assert wall not in text and wall not in page, (name, wall)
        assert max(len(line) for line in text.splitlines()) < 400, name
        assert page.startswith("<div") and "<script" not in page, name
    assert repr(results["remaining"]) == "epsilon 1 of 2" or repr(results["remaining"]) == "epsilon 2 of 2"
    assert repr(results["schema"]).splitlines()[:2] == ["Schema 'reports', one row per person",
                                                        "  sex  category  f, m"]  # fmt: skip


def test_words_as_html_escape_what_they_are_given():
    page = words_html("Table '<b>'\n  a&b  number  1 to 2\n- <i>\n\nend")
    assert "<b>" not in page and "<i>" not in page and "a&amp;b" in page
    assert page.count("<td") == 3 and page.count("<li>") == 1 and page.count("<p ") == 2
