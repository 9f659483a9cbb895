"""Advice, distributions, a classifier and Safe Harbor: numbers that a search of one's own confirms, and no cell."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import (
    AverageRisk,
    Dates,
    Hierarchy,
    Intervals,
    KAnonymity,
    LDiversity,
    Masking,
    TCloseness,
    advise,
    anonymize,
    compare_classifier,
    compare_columns,
    safe_harbor,
)
from pydplib.anonymity.assessment.safe_harbor import KINDS
from pydplib.errors import DataError, MissingExtraError, ParameterError

STEPS = {
    "age": Intervals(0, 119, [5, 10, 20, 40]),
    "zip": Masking(3),
    "sex": Hierarchy.flat(["f", "m"]),
    "code": Hierarchy.from_rows([[i, f"g{i // 5}", "*"] for i in range(40)]),
}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(6)
    n = 700
    age = rng.integers(20, 90, n)
    return pd.DataFrame(
        {
            "age": age,
            "zip": [str(code) for code in rng.integers(100, 110, n)],
            "sex": rng.choice(["f", "m"], n),
            "code": rng.integers(0, 40, n),
            "ill": np.where(age > 60, rng.choice(["CANARY-a", "b"], n, p=[0.9, 0.1]), rng.choice(["b", "c"], n)),
        }
    )


MODELS = [KAnonymity(10), LDiversity(2, kind="entropy")]


@pytest.fixture(scope="module")
def advice(people):
    return advise(people, STEPS, "ill", models=MODELS, suppression=0.05, time_limit=None)


def test_base_and_models_equal_searches_of_their_own(people, advice):
    whole = anonymize(people, STEPS, "ill", models=MODELS, suppression=0.05)
    assert advice.base.loss == pytest.approx(whole.loss.granularity)
    assert advice.losses == pytest.approx(dict(whole.loss.columns))
    for one in advice.models:
        kept = [model for model in MODELS if not one.subject.startswith(str(model))]
        alone = anonymize(people, STEPS, "ill", models=kept, suppression=0.05)
        assert one.loss == pytest.approx(alone.loss.granularity)
        assert advice.gain(one) >= -1e-12, "fewer models never lose more"


def test_column_left_out_is_a_column_that_is_a_star_from_the_start(people, advice):
    left = {one.subject: one for one in advice.columns if one.what == "column left out"}
    assert set(left) == set(STEPS)
    for name, one in left.items():
        rest = {other: tree for other, tree in STEPS.items() if other != name}
        alone = anonymize(people, rest, "ill", models=MODELS, suppression=0.05)
        # The suppressed rows of the starred column count too, so compare the others, which the search minimizes.
        assert one.others == pytest.approx(alone.loss.granularity)
        assert one.loss == pytest.approx((alone.loss.granularity * 3 + 1) / 4)
    gains = [advice.gain(one) for one in advice.columns if one.what == "column left out"]
    assert gains == sorted(gains, reverse=True) and advice.gain(advice.columns[0]) > 0


def test_coarser_columns_begin_above_the_chosen_level(people, advice):
    whole = anonymize(people, STEPS, "ill", models=MODELS, suppression=0.05)
    coarser = {one.subject: one for one in advice.columns if one.what == "column coarser"}
    for name, one in coarser.items():
        assert whole.levels[name] + 1 < STEPS[name].height
        assert one.loss >= advice.base.loss - 1e-12, "the optimum could have chosen that"


def test_methods_are_compared_on_the_same_table(people, advice):
    losses = {one.subject: one.loss for one in advice.methods}
    assert losses["optimal"] == pytest.approx(advice.base.loss)
    mondrian = anonymize(people, STEPS, "ill", models=MODELS, suppression=0.05, method="mondrian")
    assert losses["mondrian"] == pytest.approx(mondrian.loss.granularity)
    assert all(one.holds for one in advice.methods)
    assert list(losses.values()) == sorted(losses.values())
    assert "CANARY" not in str(advice) + str(advice.to_dict())


def test_advice_within_a_time_limit_says_what_it_skipped(people):
    found = advise(people, STEPS, "ill", models=MODELS, suppression=0.05, time_limit=1e-6)
    assert found.skipped and found.base.subject == "optimal"
    with pytest.raises(ParameterError, match="mondrian"):
        advise(people, STEPS, models=MODELS[:1], methods=["mondriam"])


def test_advice_where_nothing_satisfies_the_models_still_says_what_would(people):
    found = advise(people, STEPS, "ill", models=[KAnonymity(2), LDiversity(4)], time_limit=None)
    assert found.base.loss is None
    assert any(one.loss is not None for one in found.models) and found.sentences
    refused = advise(people, STEPS, models=[AverageRisk(0.1)], time_limit=None)
    words = {one.subject: one.words for one in refused.methods}
    assert "class by class" in words["mondrian"]


def test_distributions_before_and_after_are_those_of_the_tables(people):
    result = anonymize(people, STEPS, "ill", models=[KAnonymity(5)], suppression=0.1)
    changes = {change.column: change for change in compare_columns(people, result)}
    assert set(changes) == {*STEPS, "ill"} and changes["ill"].role == "sensitive"
    for change in changes.values():
        assert sum(change.before) == pytest.approx(1) and sum(change.after) == pytest.approx(1)
        assert 0 <= change.distance <= 1
    shares = people["ill"].value_counts(normalize=True)
    assert changes["ill"].before == pytest.approx(tuple(shares))
    released = result.data["ill"].value_counts(normalize=True)
    assert changes["ill"].after == pytest.approx(tuple(released[value] for value in shares.index))
    assert "CANARY" not in str([change.to_dict() for change in changes.values()])
    none = compare_columns(people, anonymize(people, STEPS, "ill", models=[KAnonymity(1)]))
    assert all(change.distance < 1e-9 for change in none), "nothing was changed, so nothing moved"


def test_column_of_which_nothing_is_left_is_not_said_to_be_alike(people):
    """A receiver of '*' does not know the values of the original: spreading it over them would look like no change."""
    gone = {**STEPS, "age": Hierarchy.flat(sorted(set(people["age"].tolist())))}
    result = anonymize(people, gone, "ill", models=[KAnonymity(20)], suppression=0.1)
    assert (result.data["age"] == "*").all()
    changes = {change.column: change for change in compare_columns(people, result)}
    assert changes["age"].distance == pytest.approx(1) and changes["age"].nothing_known == 1
    assert changes["ill"].nothing_known == 0 and changes["ill"].distance < 0.1


def test_advice_names_columns_that_are_gone_and_what_comes_back(people):
    gone = {**STEPS, "age": Hierarchy.flat(sorted(set(people["age"].tolist())))}
    found = advise(people, gone, "ill", models=[KAnonymity(20)], suppression=0.05, time_limit=None)
    assert found.losses["age"] == pytest.approx(1) and "Nothing is left of 'age'" in found.sentences[0]
    best = next(one for one in found.columns if one.what == "column left out")
    assert set(best.columns) == set(STEPS) and best.columns[best.subject] == pytest.approx(1)
    rest = [loss for name, loss in best.columns.items() if name != best.subject]
    assert best.others == pytest.approx(sum(rest) / len(rest))


def test_advice_compares_with_the_reference_that_was_asked_for(people):
    words = {"models": [KAnonymity(3), TCloseness(0.25)], "suppression": 0.05}
    for reference in ("output", "input"):
        whole = anonymize(people, STEPS, "ill", reference=reference, **words)
        found = advise(people, STEPS, "ill", reference=reference, methods=[], time_limit=None, **words)
        assert found.base.loss == pytest.approx(whole.loss.granularity)


@pytest.mark.parametrize("method", ["local", "mondrian", "microaggregation"])
def test_distributions_know_the_labels_of_every_method(people, method):
    result = anonymize(people, STEPS, "ill", models=[KAnonymity(5)], suppression=0.1, method=method)
    star = {change.column: change.distance for change in compare_columns(people, result)}
    assert star["age"] < 0.25, "labels are read, not spread over everything"


def test_dates_are_compared_by_years():
    days = pd.date_range("1950-01-01", periods=400, freq="20D")
    table = pd.DataFrame({"born": days.date})
    steps = {"born": Dates("1940-01-01", "1999-12-31", units=("year", "decade"))}
    [change] = compare_columns(table, anonymize(table, steps, models=[KAnonymity(10)]))
    assert change.bins[0].startswith("19") and change.distance < 0.1


def test_classifier_learns_what_is_there_and_loses_what_is_lost(people):
    fine = compare_classifier(people, anonymize(people, STEPS, "ill", models=[KAnonymity(1)]))
    assert fine.before > fine.baseline + 0.1 and fine.after == pytest.approx(fine.before, abs=0.06)
    gone = {name: Hierarchy.flat(sorted(set(people[name].tolist()))) for name in STEPS}
    lost = compare_classifier(people, anonymize(people, gone, "ill", models=[KAnonymity(600)], suppression=0.1))
    assert lost.after == pytest.approx(lost.baseline, abs=0.03) and lost.kept < 0.2
    assert "CANARY" not in str(lost) + str(lost.to_dict())


def test_classifier_without_scikit_learn_names_the_command(people, monkeypatch):
    result = anonymize(people, STEPS, "ill", models=[KAnonymity(2)], suppression=0.1)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(MissingExtraError, match=r"pydplib\[utility\]"):
        compare_classifier(people, result)
    with pytest.raises(ParameterError, match="Name a released column"):
        compare_classifier(people, result, "nobody")
    many = people.assign(ill=range(len(people)))
    with pytest.raises(DataError, match="more than 50"):
        compare_classifier(many, anonymize(many, STEPS, "ill", models=[KAnonymity(2)], suppression=0.1))


ROWS = 60
PLANTED = {
    "A": ("full_name", [f"P {i}" for i in range(ROWS)]),
    "B": ("zip", [f"{10_000 + i}" for i in range(ROWS)]),
    "C": ("when", ["03/09/2018", "2018-04-01"] * 30),
    "D": ("reach", ["(555) 123-4567"] * ROWS),
    "E": ("fax_no", ["x"] * ROWS),
    "F": ("remark", ["fine"] * 59 + ["write to a.b@example.org"]),
    "G": ("number", ["123-45-6789"] * ROWS),
    "H": ("MRN", list(range(ROWS))),
    "I": ("insurance_number", ["x"] * ROWS),
    "J": ("account", ["x"] * ROWS),
    "K": ("driver_license", ["x"] * ROWS),
    "L": ("car", ["1HGCM82633A004352"] * ROWS),
    "M": ("machine", ["00:1A:2B:3C:4D:5E"] * ROWS),
    "N": ("page", ["https://example.org/p"] * ROWS),
    "O": ("client", ["192.168.0.1"] * ROWS),
    "P": ("iris_scan", ["x"] * ROWS),
    "Q": ("file", ["face.jpg"] * ROWS),
    "R": ("thing", [f"q{i}" for i in range(ROWS)]),
}


@pytest.mark.parametrize("letter", KINDS)
def test_safe_harbor_finds_each_of_the_18_kinds(letter):
    name, values = PLANTED[letter]
    found = safe_harbor(pd.DataFrame({"ill": ["flu", "burn"] * 30, name: values}))
    assert [(one.letter, one.column) for one in found] == [(letter, name)]
    assert found[0].evidence == ("name" if letter in "AEHIJKP" else "content")
    assert safe_harbor(pd.DataFrame({name: values}), ignore=[name]) == ()


def test_safe_harbor_lets_stay_what_may_stay():
    table = pd.DataFrame(
        {
            "admission": ["2018", "2019"] * 30,
            "birth": ["1950-1959"] * 60,
            "zip": ["803**", "8****"] * 30,
            "age": ["80-89", "90+"] * 30,
            "city": ["*"] * 60,
            "weight": np.random.default_rng(1).normal(80, 9, 60),
            "clinic_name": ["North", "South"] * 30,
        }
    )
    assert safe_harbor(table) == ()
    assert [one.letter for one in safe_harbor(pd.DataFrame({"age": [64, 93]}))] == ["C"]
    assert [one.letter for one in safe_harbor(pd.DataFrame({"zip3": ["036", "100"]}))] == ["B"], "a small area"


@pytest.mark.parametrize(
    "day",
    [
        "01.02.2022 13:45", "2/1/2022 1:45 PM", "2022/02/01", "1-Feb-22", "5. März 2022", "12-31-1999",
        "2022-02-01T13:45", "Feb 1, 2022",
    ],
)  # fmt: skip
def test_safe_harbor_knows_dates_as_hospitals_write_them(day):
    found = safe_harbor(pd.DataFrame({"x": [day] * ROWS, "ill": ["marina 12", "1.2.3"] * 30}))
    assert [(one.letter, one.column) for one in found] == [("C", "x")]


NOTES = [
    ("A", "spoke to Mrs. O'Neil about it"),
    ("A", "Befund mit Frau Dr. Huber besprochen"),
    ("B", "lives at 221b Baker Street, alone"),
    ("B", "moved to 14 Old Mill Rd last year"),
    ("B", "wohnt Lindenstraße 12a, 3. Stock"),
    ("B", "Praxis Leipziger Str. 7, bitte anrufen"),
    ("B", "mail to Springfield, IL 62704"),
    ("B", "P.O. Box 1234"),
    ("C", "seen on 03/09/2018, well"),
    ("D", "call (555) 123-4567 today"),
    ("H", "same as MRN 0012345"),
    ("M", "pump 00:1A:2B:3C:4D:5E replaced"),
    ("O", "logged in from 10.20.30.40 twice"),
]


@pytest.mark.parametrize(("letter", "note"), NOTES, ids=[note for _, note in NOTES])
def test_safe_harbor_finds_one_of_many_notes(letter, note):
    found = safe_harbor(pd.DataFrame({"remark": ["fine"] * (ROWS - 1) + [note]}))
    assert [(one.letter, one.evidence) for one in found] == [(letter, "content")]


@pytest.mark.parametrize(
    "note",
    [
        "dose 1.2.20 mg", "ratio 10/12/5", "Atemweg 2 frei", "St. p. TEP 2 Tage", "2 Chest CT planned", "5 Head CT",
        "Herr über die Lage", "software version 1.2.3.4", "L4 5MM LATERAL", "10 Tabletten Weg 3", "stage 2 St",
        "Dekristol, IE 20000", "patient no 12", "Station 3, Platz 4", "BP 130/85, pt well", "Miss",
    ],
)  # fmt: skip
def test_safe_harbor_is_not_alarmed_by_what_doctors_write(note):
    assert safe_harbor(pd.DataFrame({"remark": ["fine", note] * 30})) == ()


def test_safe_harbor_knows_accounts_and_postcodes_by_content_and_measures_are_no_codes():
    cost = np.round(np.random.default_rng(2).lognormal(7, 1, ROWS), 2)
    cost[:5] = np.round(cost[:5])
    table = pd.DataFrame({"a": ["DE89 3704 0044 0532 0130 00"] * ROWS, "b": ["SW1A 1AA"] * ROWS, "cost": cost})
    assert [(one.letter, one.column) for one in safe_harbor(table)] == [("B", "b"), ("J", "a")]
    assert safe_harbor(pd.DataFrame({"a": ["DE88370400440532013000"] * ROWS})) == (), "its check digits are wrong"
