"""Traces: what is kept of a release in a file holds the models across releases, and tells nobody who is in it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pydplib.anonymity import (
    Hierarchy,
    KAnonymity,
    KMap,
    LDiversity,
    TCloseness,
    Trace,
    anonymize,
    verify,
)
from pydplib.errors import AnonymityError, DataError, ParameterError

FLAT = {"a": Hierarchy.flat([1, 2]), "b": Hierarchy.flat([1, 2])}
TABLE = pd.DataFrame(
    {"who": [f"patient-{i}" for i in range(16)], "a": [1] * 8 + [2] * 8, "b": [1, 2] * 8, "s": list("xyzw") * 4}
)
AGES = {"age": Hierarchy.order(list(range(20)), group=2), "sex": Hierarchy.flat(["f", "m"])}


def cohort(seed: int = 1, rows: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "who": np.arange(rows) * 7,
            "age": rng.integers(0, 20, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["flu", "burn", "gout", "none"], rows),
        }
    )


def saved(result, folder, name="first.trace", **words):
    path = folder / name
    result.save_trace(path, **words)
    return path


def first(folder, **words):
    return saved(anonymize(TABLE, {"a": FLAT["a"]}, "s", models=[KAnonymity(4)], person="who"), folder, **words)


# -- the complementary release ---------------------------------------------------------------------


def test_complementary_release_is_held_by_a_file_as_by_the_session(tmp_path):
    words = {"sensitive": "s", "models": [KAnonymity(8)], "person": "who"}
    session = anonymize(TABLE, {"a": FLAT["a"]}, **words)
    path = saved(session, tmp_path)
    alone = anonymize(TABLE, {"b": FLAT["b"]}, **words)
    assert alone.levels == {"b": 0}  # with the first release this shows classes of four
    by_session = anonymize(TABLE, {"b": FLAT["b"]}, **words, previous=[session])
    by_file = anonymize(TABLE, {"b": FLAT["b"]}, **words, previous=[path])
    assert by_file.levels == by_session.levels == {"b": 1}
    stated = {statement.model: statement.value for statement in by_file.certificate.statements}
    assert stated == {"8-anonymity": 16, "8-anonymity across releases": 8}


def classes_across(results):
    """Recompute from the definitions how many people look alike in all releases together."""
    traces = [result.trace.read(b"k" * 16) for result in results]
    seen = [dict(zip(trace.people, trace.classes.tolist(), strict=True)) for trace in traces]
    together = Counter(tuple(one.get(name, -1) for one in seen) for name in set().union(*seen))
    return {signature: number for signature, number in together.items() if any(c >= 0 for c in signature)}


def test_insertions_and_deletions_across_three_files_stay_hidden(tmp_path):
    start = cohort()
    rng = np.random.default_rng(3)
    second = pd.concat([start.drop(rng.choice(len(start), 30, replace=False)), cohort(2, 60).tail(40).assign(
        who=lambda t: t["who"] + 10_000)])  # fmt: skip
    third = second.sample(frac=0.8, random_state=5)
    words = {"sensitive": "ill", "models": [KAnonymity(4)], "person": "who", "suppression": 0.9}
    one = anonymize(start, AGES, **words)
    path_one = saved(one, tmp_path, "1.trace")
    two = anonymize(second, AGES, **words, previous=[path_one])
    path_two = saved(two, tmp_path, "2.trace")
    three = anonymize(third, AGES, **words, previous=[path_one, path_two])
    sizes = classes_across([one, two, three])
    assert min(sizes.values()) >= 4
    assert len(sizes) > 2
    careless = [anonymize(table, AGES, **words) for table in (start, second, third)]
    assert min(classes_across(careless).values()) < 4  # else nothing was tested


@pytest.mark.parametrize("model", [LDiversity(2), TCloseness(0.5), LDiversity(1.5, kind="entropy")])
def test_other_models_hold_across_files(tmp_path, model):
    table = cohort(4, 200)
    words = {"sensitive": "ill", "models": [KAnonymity(3), model], "person": "who", "suppression": 0.5}
    path = saved(anonymize(table, {"age": AGES["age"]}, **words), tmp_path)
    later = anonymize(table.head(180), AGES, **words, previous=[path])
    names = [statement.model for statement in later.certificate.statements]
    assert f"{model} across releases" in names
    assert all(s.holds for s in later.certificate.statements if "across" in s.model and "diversity" in s.model)


def test_a_trace_from_another_process_tells_the_same_people_again(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    code = (
        "import pandas as pd, pydplib.anonymity as a\n"
        "t = pd.read_csv('table.csv')\n"
        "r = a.anonymize(t, {'a': a.Hierarchy.flat([1, 2])}, 's', models=[a.KAnonymity(8)], person='who')\n"
        "r.save_trace('first.trace')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    later = anonymize(
        TABLE, {"b": FLAT["b"]}, "s", models=[KAnonymity(8)], person="who", previous=[tmp_path / "first.trace"]
    )
    assert later.levels == {"b": 1}


def test_people_without_a_person_column_are_told_by_their_cells(tmp_path):
    words = {"sensitive": "s", "models": [KAnonymity(4)]}
    path = saved(anonymize(TABLE, FLAT, **words), tmp_path)
    later = anonymize(pl.from_pandas(TABLE), FLAT, **words, previous=[str(path)])
    assert later.certificate.holds


# -- the file --------------------------------------------------------------------------------------


def test_file_is_the_owners_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        path = first(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_file_has_no_identifier_and_no_value_in_clear(tmp_path):
    table = TABLE.assign(who=[f"CANARY-{i}" for i in range(16)], s=["SECRET-A", "SECRET-B"] * 8)
    result = anonymize(table, {"a": FLAT["a"]}, "s", models=[KAnonymity(4)], person="who")
    path = saved(result, tmp_path)
    whole = b"".join(np.load(path)[name].tobytes() for name in np.load(path).files)
    assert b"CANARY" not in whole and b"SECRET" not in whole
    assert b"CANARY" not in path.read_bytes()
    assert repr(Trace.load(path)) == "Trace(private)"


def test_two_files_of_one_release_share_no_hash(tmp_path):
    words = {"models": [KAnonymity(4)], "person": "who"}
    one = Trace.load(saved(anonymize(TABLE, {"a": FLAT["a"]}, "s", **words), tmp_path, "1"))
    two = Trace.load(saved(anonymize(TABLE, {"a": FLAT["a"]}, "s", **words), tmp_path, "2"))
    assert one.key != two.key and set(one.people).isdisjoint(two.people)


def test_rows_of_a_file_are_not_in_the_tables_order(tmp_path):
    result = anonymize(TABLE, {"a": FLAT["a"]}, "s", models=[KAnonymity(4)], person="who")
    made, read = result.trace.read(), Trace.load(saved(result, tmp_path))
    assert read.people == sorted(made.people)
    assert dict(zip(read.people, read.classes.tolist(), strict=True)) == dict(
        zip(made.people, made.classes.tolist(), strict=True)
    )


def test_a_file_that_exists_is_replaced_only_when_asked(tmp_path):
    path = tmp_path / "first.trace"
    path.write_text("precious")
    with pytest.raises(ParameterError, match="exists already"):
        first(tmp_path)
    assert path.read_text() == "precious"
    first(tmp_path, overwrite=True)
    assert isinstance(Trace.load(path), Trace)


def test_a_key_of_the_owners_is_not_in_the_file(tmp_path):
    key = b"0123456789abcdef0123"
    path = first(tmp_path, key=key)
    whole = b"".join(np.load(path)[name].tobytes() for name in np.load(path).files)
    assert key not in whole and key.hex().encode() not in whole
    words = {"sensitive": "s", "models": [KAnonymity(4)], "person": "who"}
    with pytest.raises(ParameterError, match="saved with a key"):
        anonymize(TABLE, {"b": FLAT["b"]}, **words, previous=[path])
    with pytest.raises(ParameterError, match="not the key"):
        Trace.load(path, key=b"another key of 16")
    with pytest.raises(ParameterError, match="at least 16"):
        Trace.load(path, key=b"short")
    second = anonymize(TABLE, {"b": FLAT["b"]}, **words, previous=[Trace.load(path, key=key)])
    # The next trace keeps the key, and keeps it out of its file.
    again = saved(second, tmp_path, "second.trace")
    assert Trace.load(again, key=key).key == key
    with pytest.raises(ParameterError, match="saved with a key"):
        Trace.load(again)
    with pytest.raises(ParameterError, match="another key"):
        second.save_trace(tmp_path / "third.trace", key=b"another key of 16")


def test_traces_with_different_keys_are_refused(tmp_path):
    words = {"sensitive": "s", "models": [KAnonymity(2)], "person": "who"}
    paths = [saved(anonymize(TABLE, {"a": FLAT["a"]}, **words), tmp_path, name) for name in ("1", "2")]
    with pytest.raises(ParameterError, match="different keys"):
        anonymize(TABLE, FLAT, **words, previous=paths)
    keyed = [
        Trace.load(saved(anonymize(TABLE, {"a": FLAT["a"]}, **words), tmp_path, name, key="k" * 20), key="k" * 20)
        for name in ("3", "4")
    ]
    assert anonymize(TABLE, FLAT, **words, suppression=1.0, previous=keyed).certificate.holds
    # A release of this session is hashed again under the file's key.
    session = anonymize(TABLE, {"a": FLAT["a"]}, **words)
    assert anonymize(TABLE, FLAT, **words, suppression=1.0, previous=[paths[0], session]).certificate.holds


@pytest.mark.parametrize("harm", ["cut", "text", "zip", "head", "version"])
def test_damaged_files_are_refused_without_their_content(tmp_path, harm):
    path = first(tmp_path)
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-40])
    elif harm == "text":
        path.write_text("CANARY")
    else:
        parts = dict(np.load(path))
        if harm == "zip":
            parts = {"x": np.arange(3)}
        elif harm == "head":
            parts["people"] = parts["people"][:3]
        else:
            head = json.loads(parts["pydplib-trace"].tobytes())
            parts["pydplib-trace"] = np.frombuffer(json.dumps({**head, "version": 99}).encode(), dtype=np.uint8)
        with path.open("wb") as file:
            np.savez(file, **parts)
    with pytest.raises((DataError, ParameterError), match=r"damaged|version 99") as caught:
        Trace.load(path)
    assert "CANARY" not in str(caught.value)


def test_a_result_without_a_trace_says_why(tmp_path):
    TABLE.to_parquet(tmp_path / "table.parquet")
    result = anonymize(tmp_path / "table.parquet", {"a": FLAT["a"]}, models=[KAnonymity(2)])
    with pytest.raises(ParameterError, match="no trace"):
        result.save_trace(tmp_path / "x.trace")


def test_several_rows_of_one_person_have_no_trace(tmp_path):
    table = pd.concat([TABLE, TABLE.head(3)])
    result = anonymize(table, {"a": FLAT["a"]}, "s", models=[KAnonymity(2)], person="who")
    with pytest.raises(ParameterError, match="one row per person"):
        result.save_trace(tmp_path / "x.trace")
    single = anonymize(TABLE, {"a": FLAT["a"]}, "s", models=[KAnonymity(2)], person="who")
    with pytest.raises(ParameterError, match="one row per person"):
        anonymize(table, {"a": FLAT["a"]}, "s", models=[KAnonymity(2)], person="who", previous=[single])
    with pytest.raises(DataError, match="several rows of one person"):
        anonymize(TABLE, {"a": FLAT["a"]}, "s", models=[KAnonymity(2)], person="who", previous=[result])


def test_models_with_a_population_are_refused_across_releases(tmp_path):
    path = first(tmp_path)
    with pytest.raises(ParameterError, match="population"):
        anonymize(TABLE, {"b": FLAT["b"]}, "s", models=[KMap(2, population=TABLE)], person="who", previous=[path])


# -- earlier tables without a trace ----------------------------------------------------------------


def test_an_earlier_table_is_measured_and_the_certificate_says_no(tmp_path):
    words = {"sensitive": "s", "models": [KAnonymity(8), LDiversity(4)]}
    earlier = anonymize(TABLE, {"a": FLAT["a"], "b": Hierarchy.from_rows([[1, "*"], [2, "*"]])}, **words)
    released = earlier.data
    assert set(released["b"]) == {"*"}
    same = anonymize(TABLE, FLAT, **words, previous=[released])
    stated = {s.model: (s.holds, s.value) for s in same.certificate.statements}
    across = verify(same.data, FLAT, "s", previous=[released]).across
    assert stated["8-anonymity across releases"][1] == across.k
    assert stated["8-anonymity across releases"][0] is (across.k >= 8)
    path = tmp_path / "earlier.csv"
    released.to_csv(path, index=False)
    assert anonymize(TABLE, FLAT, **words, previous=[path]).certificate.statements[2].value == across.k


def test_an_earlier_table_that_undoes_this_one_makes_the_certificate_fail():
    only = {"a": FLAT["a"], "b": Hierarchy.flat([1, 2])}
    table = TABLE.assign(s=["v"] * 16)
    by_a = table[["a", "s"]].assign(b="*")
    by_b = anonymize(table, only, "s", models=[KAnonymity(4)], previous=[by_a.head(9)])
    assert not by_b.certificate.holds
    assert any("trace" in note for note in by_b.notes)


def test_models_that_a_table_cannot_show_are_refused():
    with pytest.raises(ParameterError, match="only the table is there"):
        anonymize(TABLE, FLAT, "s", models=[TCloseness(0.3)], previous=[TABLE])
    with pytest.raises(ParameterError, match="nobody in common"):
        anonymize(TABLE, FLAT, "s", models=[KAnonymity(2)], previous=[TABLE.assign(s="other")])


def test_no_solution_is_still_said_in_words(tmp_path):
    words = {"sensitive": "s", "models": [KAnonymity(8)], "person": "who"}
    path = saved(anonymize(TABLE, {"a": FLAT["a"]}, **words), tmp_path)
    tree = {"b": Hierarchy.from_rows([[1, "one"], [2, "two"]])}
    with pytest.raises(AnonymityError, match="No generalization"):
        anonymize(TABLE, tree, **words, previous=[path])


def test_a_release_that_is_not_there_is_said_before_any_work():
    with pytest.raises(ParameterError, match="does not exist"):
        anonymize(TABLE, FLAT, "s", models=[KAnonymity(2)], previous=["nowhere.trace"])
    with pytest.raises(DataError, match="Got int"):
        anonymize(TABLE, FLAT, "s", models=[KAnonymity(2)], previous=[3])
