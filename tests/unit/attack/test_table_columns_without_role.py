"""Released columns that nobody gave a role: names, hashes, row numbers, copies; and no false alarm about our own."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pydplib.anonymity import Intervals, KAnonymity, LDiversity, Masking, Pseudonym, TCloseness, anonymize, risk, verify
from pydplib.attack import leak_report, linkage
from pydplib.cli import main
from pydplib.errors import DataError, ParameterError


def visits(n=600, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"Patient {i}" for i in rng.permutation(n)],
            "age": rng.integers(20, 90, n),
            "zip": rng.choice(["80331", "80333", "81675", "85748"], n),
            "seen": (pd.Timestamp("2018-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")).astype(str),
            "ill": rng.choice(["flu", "burn", "gout", "none"], n),
        }
    )


def census(n=900, seed=2):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [f"{a} {b}" for a, b in zip(rng.integers(1e6, 9e6, n), rng.integers(1e6, 9e6, n), strict=True)],
            "age": rng.integers(17, 80, n),
            "zip": rng.choice([f"{code}" for code in range(10_000, 10_040)], n),
            "seen": (pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), unit="D")).astype(str),
            "ill": rng.choice(["<=50K", ">50K"], n, p=[0.75, 0.25]),
        }
    )


def ward(n=400, seed=3):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "name": [hex(number) for number in rng.choice(10**9, n, replace=False)],
            "age": rng.normal(64, 9, n).round().clip(30, 95).astype(int),
            "zip": rng.choice(["A1111", "A2222", "B3333"], n, p=[0.5, 0.3, 0.2]),
            "seen": (pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D")).astype(str),
            "ill": rng.choice(["benign", "tumour", "none"], n),
        }
    )


TABLES = {"visits": visits, "census": census, "ward": ward}
STEPS = {"age": Intervals(0, 120, [30, 60]), "zip": Masking(5)}
ABOUT = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}


def coarse(people: pd.DataFrame) -> pd.DataFrame:
    """Return a release by hand, in the order of the original: coarse enough for everybody but for what is left in."""
    low = people["age"] // 60 * 60
    return pd.DataFrame({"age": low.astype(str) + "-" + (low + 59).astype(str), "zip": "*", "ill": people["ill"]})


def shuffled(released: pd.DataFrame) -> pd.DataFrame:
    return released.sample(frac=1, random_state=7).reset_index(drop=True)


def _hash(text: object) -> str:
    return hashlib.sha256(f"salt{text}".encode()).hexdigest()[:16]


LEAKS = {
    "names": lambda people: shuffled(coarse(people).assign(who=people["name"])),
    "names as they were": lambda people: shuffled(coarse(people).assign(name=people["name"])),
    "hashed ids": lambda people: shuffled(coarse(people).assign(key=people["name"].map(_hash))),
    "row numbers": lambda people: shuffled(coarse(people).assign(index=np.arange(len(people)))),
    "row numbers from one": lambda people: shuffled(coarse(people).assign(row=np.arange(len(people)) + 1)),
    "order kept": coarse,
    "dates copied": lambda people: shuffled(coarse(people).assign(seen=people["seen"])),
    "dates copied under another name": lambda people: shuffled(coarse(people).assign(t0=people["seen"])),
}


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("table", TABLES)
def test_leak_report_with_something_left_in_refuses_the_public(table, leak, tmp_path, capsys):
    people = TABLES[table]()
    released = LEAKS[leak](people)
    clean = leak_report(people, shuffled(coarse(people)), **ABOUT)
    report = leak_report(people, released, **ABOUT)
    for audience in ("collaborator", "third_party", "public"):
        assert report.answer(audience) != "yes"
    if leak == "order kept":
        assert report.result("unsorted matching").exposed > 0.9 and not report.columns
    else:
        assert len(report.columns) == 1 and report.columns[0].kind != "no role"
        assert report.columns[0].sentence in " ".join(" ".join(v.reasons) for v in report.verdicts)
    assert not clean.columns and clean.answer("collaborator") == "yes", "the same release without it is fine"
    if leak in ("names", "row numbers", "names as they were"):
        assert report.answer("collaborator") == "no", "nobody needs to know more to link these"
    original, out = tmp_path / "original.csv", tmp_path / "out.csv"
    people.to_csv(original, index=False)
    released.to_csv(out, index=False)
    arguments = ["attack", original, out, "--quasi", "age,zip", "--sensitive", "ill", "--for", "public"]
    with pytest.raises(SystemExit) as end:
        main([str(part) for part in arguments])
    assert end.value.code == 15
    capsys.readouterr()


@pytest.mark.parametrize("leak", [leak for leak in LEAKS if leak != "order kept"])
@pytest.mark.parametrize("table", TABLES)
def test_verify_and_risk_report_what_was_left_in_and_a_role_settles_it(table, leak):
    people = TABLES[table]()
    released = LEAKS[leak](people)
    (left,) = set(released.columns) - {"age", "zip", "ill"}
    for original in (None, people):
        found = verify(released, ["age", "zip"], "ill", original=original)
        assert [one.column for one in found.unnamed] == [left], "also without the original"
        assert left in str(found)
    assert not verify(released, ["age", "zip"], "ill", insensitive=[left], original=people).columns
    assert [one.kind for one in verify(released, ["age", "zip"], "ill", identifiers=[left]).columns] == ["identifier"]
    assert left in {one.column for one in risk(released, ["age", "zip"], original=people).columns}
    harmless = leak_report(people, released, **ABOUT, insensitive=left)
    assert harmless.answer("collaborator") == "yes" and any(left in note for note in harmless.notes)
    assert leak_report(people, released, **ABOUT, identifiers=left).answer("collaborator") == "no"


def _own(number: int):
    """Return an original, our own release of it, and how the release is attacked."""
    make = list(TABLES.values())[number % 3]
    people = make(500 + 20 * number, seed=number)
    people["bmi"] = np.random.default_rng(number).normal(26, 4, len(people)).round(1)
    method = ["optimal", "local", "mondrian", "optimal", "optimal"][number % 5]
    models = [KAnonymity(12), LDiversity(2)] if number % 2 else [KAnonymity(20), TCloseness(0.4)]
    keep = ["bmi"] if number % 4 == 0 else []
    hidden = {"name": Pseudonym()} if number % 5 == 3 else ["name"]
    result = anonymize(
        people, STEPS, "ill", models=models, suppression=0.05, method=method, insensitive=keep, identifiers=hidden
    )
    return people, result, [*keep, *(["name"] if number % 5 == 3 else [])]


@pytest.mark.parametrize("number", range(20))
def test_our_own_outputs_raise_no_alarm(number):
    people, result, vouched = _own(number)
    for released, more in ((result, {}), (result.data, {**ABOUT, "insensitive": vouched})):
        report = leak_report(people, released, **more)
        assert report.columns == () and not report.unfinished
        assert not any("role" in reason for verdict in report.verdicts for reason in verdict.reasons)
        assert report.result("unsorted matching").exposed == 0
    found = verify(result.data, ["age", "zip"], "ill", insensitive=vouched, original=people)
    assert found.unnamed == ()


def test_columns_that_stand_out_in_nothing_are_listed_and_leave_the_verdict():
    people = visits()
    released = shuffled(coarse(people).assign(site="Munich"))
    report = leak_report(people.assign(site="Munich"), released, **ABOUT)
    assert [(one.column, one.kind) for one in report.columns] == [("site", "no role")]
    assert report.answer("collaborator") == "yes"
    people, released = people.assign(site="Munich"), released.drop(columns="ill")
    unwatched = leak_report(people, released, quasi_identifiers=["age", "zip"])
    assert unwatched.answer("collaborator") == "open", "nobody said what is sensitive, and a column has no role"


def test_small_columns_that_single_people_out_only_together_are_found():
    rng = np.random.default_rng(5)
    people = visits(2000)
    parts = {f"answer{i}": rng.integers(0, 6, len(people)) for i in range(5)}
    released = shuffled(coarse(people).assign(**parts))
    report = leak_report(people.assign(**parts), released, **ABOUT)
    assert any(one.kind == "singles out" and "," in one.column for one in report.columns)
    assert report.answer("public") != "yes"


def test_counter_of_the_released_rows_is_no_finding():
    people = visits()
    released = shuffled(coarse(people)).assign(row=lambda table: np.arange(len(table)))
    assert leak_report(people, released, **ABOUT).columns == ()


def test_hashed_ids_of_people_with_several_rows_are_found():
    people = pd.concat([visits(), visits()], ignore_index=True)
    released = shuffled(coarse(people).assign(key=people["name"].map(_hash)))
    report = leak_report(people, released, **ABOUT, person="name")
    assert [one.kind for one in report.columns] == ["unique"] and report.answer("collaborator") != "yes"


def test_a_hash_of_a_common_column_is_known_by_its_frequencies():
    rng = np.random.default_rng(8)
    people = visits(3000).assign(zip=[str(10_000 + int(x)) for x in rng.geometric(0.06, 3000)])
    released = shuffled(coarse(people).assign(area=people["zip"].map(_hash)))
    (found,) = leak_report(people, released, **ABOUT).columns
    assert (found.kind, found.source) == ("one-to-one", "zip")


def test_person_column_with_the_originals_values_is_an_identifier_and_a_pseudonym_is_none():
    people = pd.concat([visits(), visits()], ignore_index=True)
    named = leak_report(people, shuffled(coarse(people).assign(name=people["name"])), **ABOUT, person="name")
    assert [one.kind for one in named.columns] == ["identifier"] and named.answer("collaborator") == "no"
    hidden = shuffled(coarse(people).assign(name=people["name"].map(_hash)))
    assert leak_report(people, hidden, **ABOUT, person="name").columns == ()


def test_quasi_identifier_left_out_of_the_release_counts_as_a_star():
    people = visits()
    released = shuffled(coarse(people))
    with_star = leak_report(people, released, **ABOUT)
    without = leak_report(people, released.drop(columns="zip"), **ABOUT)
    assert without.result("linkage") == with_star.result("linkage")
    assert without.result("homogeneity") == with_star.result("homogeneity")
    assert any("'zip'" in note and "'*'" in note for note in without.notes)
    assert linkage(released.drop(columns="zip"), people, quasi_identifiers=["age", "zip"]).details["smallest_class"] > 1
    with pytest.raises(ParameterError, match="zzz"):
        leak_report(people, released, quasi_identifiers=["age", "zzz"])
    with pytest.raises(ParameterError, match="zip"):
        linkage(released.drop(columns="zip"), quasi_identifiers=["age", "zip"])


def test_order_is_tried_on_what_can_be_read_where_labels_need_a_hierarchy():
    people = visits(800).assign(job=lambda table: np.where(table["age"] % 2, "baker", "smith"))
    group = {"baker": "food", "smith": "metal"}
    released = coarse(people).assign(age=people["age"] // 10 * 10, job=people["job"].map(group))
    released["age"] = released["age"].astype(str) + "-" + (released["age"] + 9).astype(str)
    about = {"quasi_identifiers": ["age", "zip", "job"], "sensitive": "ill"}
    kept = leak_report(people, released, **about)
    assert kept.result("unsorted matching").exposed > 0.9
    assert kept.answer("collaborator") == "no"
    fewer = leak_report(people, released.drop(index=range(0, 800, 17)), **about)
    assert fewer.result("unsorted matching").exposed > 0.8, "also with rows left out"
    mixed = leak_report(people, shuffled(released), **about)
    assert mixed.result("unsorted matching").exposed == 0
    blind = leak_report(people, shuffled(released[["job"]]), quasi_identifiers=["job"])
    assert blind.answer("collaborator") == "open" and blind.unfinished[0].task.name == "unsorted matching"


def test_a_column_has_one_role():
    people = visits()
    with pytest.raises(ParameterError, match="two roles"):
        leak_report(people, coarse(people), **ABOUT, insensitive=["age"])
    with pytest.raises(ParameterError, match=r"no column 'nmae'.*name"):
        leak_report(people, coarse(people), **ABOUT, identifiers=["nmae"])


def test_findings_name_no_value():
    people = visits()
    report = leak_report(people, LEAKS["names"](people), **ABOUT)
    assert "Patient" not in str(report) + str(report.to_dict()) + repr(report.columns)


def _few(people: pd.DataFrame) -> list[str]:
    return [name if place % 40 == 0 else "-" for place, name in enumerate(people["name"])]


def _at(people: pd.DataFrame, text: str) -> list[str]:
    return [text.format(name) if place == 30 else "ok" for place, name in enumerate(people["name"])]


HIDDEN = {
    "names in capitals": lambda people: coarse(people).assign(who=people["name"].str.upper() + "  "),
    "names of a few people": lambda people: coarse(people).assign(who=_few(people)),
    "names of a few people, as they were": lambda people: coarse(people).assign(name=_few(people)),
    "name of one person": lambda people: coarse(people).assign(who=_at(people, "{}")),
    "name of one person, as it was": lambda people: coarse(people).assign(name=_at(people, "{}")),
    "name of one person in a text": lambda people: coarse(people).assign(note=_at(people, "Seen: {}, doing well.")),
    "name of one person in a text that is sensitive": lambda people: coarse(people).assign(ill=_at(people, "with {}")),
    "names as the sensitive column": lambda people: coarse(people).assign(ill=people["name"]),
}


@pytest.mark.parametrize("leak", HIDDEN)
def test_names_in_disguise_refuse_the_release(leak):
    people = visits()
    released = shuffled(HIDDEN[leak](people))
    report = leak_report(people, released, **ABOUT)
    assert report.answer("collaborator") == "no"
    (found,) = report.columns
    assert found.kind == "copied" and found.names_people and found.source == "name"
    assert verify(released, ["age", "zip"], "ill", original=people).unnamed == report.columns


def test_original_quasi_identifier_under_another_name_leaves_the_verdict_open():
    people = visits(3000)  # so many that hardly anybody is alone with an age
    report = leak_report(people, shuffled(coarse(people).assign(years=people["age"])), **ABOUT)
    assert [(one.kind, one.source) for one in report.columns] == [("quasi-identifier", "age")]
    assert report.columns[0].share < 0.05 and report.answer("collaborator") == "open"
    rng = np.random.default_rng(3)
    other = shuffled(coarse(people).assign(score=rng.binomial(60, 0.5, len(people)) + 20))
    assert leak_report(people, other, **ABOUT).columns[0].kind != "quasi-identifier", "other numbers of the same size"


def test_column_that_somebody_vouches_for_must_not_hold_an_identifier():
    people = visits()
    released = shuffled(coarse(people).assign(code=people["name"]))
    report = leak_report(people, released, **ABOUT, insensitive="code", identifiers="name")
    assert [(one.column, one.kind) for one in report.columns] == [("code", "identifier")]
    assert report.answer("collaborator") == "no"


def test_row_labels_of_a_pandas_frame_are_columns_of_the_release():
    people = visits()
    released = coarse(people).sample(frac=1, random_state=7)
    kept = leak_report(people, released, **ABOUT)
    assert [(one.column, one.kind) for one in kept.columns] == [("index", "row numbers")]
    assert kept.answer("collaborator") == "no"
    named = released.set_axis(people["name"].to_numpy()[released.index], axis=0)
    for labels in (None, "who"):
        report = leak_report(people, named.rename_axis(labels), **ABOUT)
        assert [(one.column, one.kind, one.source) for one in report.columns] == [(labels or "index", "copied", "name")]
        assert report.answer("collaborator") == "no"
        assert verify(named.rename_axis(labels), ["age", "zip"], "ill").unnamed[0].column == (labels or "index")
        assert risk(named.rename_axis(labels), ["age", "zip"]).columns[0].column == (labels or "index")
    assert leak_report(people.set_index("name"), named, **ABOUT).columns[0].source == "name"
    assert leak_report(people, released.reset_index(drop=True), **ABOUT).columns == ()
    assert leak_report(people, released.set_axis(range(len(people))), **ABOUT).columns == ()


def test_common_words_of_a_column_of_texts_name_nobody():
    """A remark that one person has alone may be a word that others are released with."""
    people = visits(600).assign(remark=lambda table: "seen by " + table["name"])
    people.loc[5, "remark"] = "improved"
    released = shuffled(coarse(people).assign(outcome=["improved", "unchanged"] * 300))
    report = leak_report(people, released, **ABOUT)
    assert [(one.column, one.kind) for one in report.columns] == [("outcome", "no role")]


def test_columns_of_structs_are_refused_in_plain_words():
    released = pa.table({"age": ["*"] * 3, "zip": ["*"] * 3, "ill": ["flu"] * 3, "more": [{"a": 1}] * 3})
    with pytest.raises(DataError, match="'more' holds values that cannot be compared"):
        leak_report(visits(), released, **ABOUT)
