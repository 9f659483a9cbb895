"""Tables that stay in DuckDB: persons with several rows and populations count as they do in memory."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import DeltaPresence, Hierarchy, KAnonymity, KMap, LDiversity, TCloseness, anonymize
from pydplib.anonymity.tables import relations
from pydplib.errors import DataError, ParameterError

TREES = {"age": Hierarchy.order(list(range(10)), group=2), "sex": Hierarchy.flat(["f", "m"])}


def visits(seed: int, rows: int = 160, people: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    who = rng.integers(0, people, rows)
    table = pd.DataFrame({"who": who, "age": rng.integers(0, 10, rows), "sex": rng.choice(["f", "m"], rows)})
    table["ill"] = rng.choice(["flu", "burn", "gout"], rows)
    return table


def relation_of(table: pd.DataFrame):
    connection = duckdb.connect()
    connection.register("seen", table)
    return connection.sql("SELECT * FROM seen")


def rows_of(data) -> list[tuple]:
    rows = data.fetchall() if hasattr(data, "fetchall") else list(data.itertuples(index=False, name=None))
    return sorted(tuple(map(str, row)) for row in rows)


MODELS = {
    "k": [KAnonymity(6)],
    "l": [KAnonymity(4), LDiversity(3)],
    "entropy": [KAnonymity(3), LDiversity(2.2, kind="entropy")],
    "t": [KAnonymity(3), TCloseness(0.3)],
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("suppression", [0.0, 0.2])
@pytest.mark.parametrize("seed", [1])
def test_persons_in_duckdb_give_the_result_of_memory(name, suppression, seed):
    table = visits(seed)
    words = {"models": MODELS[name], "suppression": suppression, "person": "who"}
    inside = anonymize(table, TREES, "ill", **words)
    engine = anonymize(relation_of(table), TREES, "ill", **words)
    assert engine.levels == inside.levels
    assert engine.suppressed == inside.suppressed
    assert engine.certificate.counted == inside.certificate.counted == "persons counted once per class"
    assert engine.certificate.people == inside.certificate.people
    assert engine.certificate.k == inside.certificate.k
    assert [s.value for s in engine.certificate.statements] == pytest.approx(
        [s.value for s in inside.certificate.statements]
    )
    assert engine.risk.before == inside.risk.before and engine.risk.after == inside.risk.after
    assert rows_of(engine.data) == rows_of(inside.data)
    assert engine.data.columns == ["age", "sex", "ill"]


def test_rows_would_be_counted_if_persons_were_not(monkeypatch):
    """The twin: counting rows instead of persons claims a larger k, which the comparison above would see."""
    table = pd.DataFrame({"who": [1, 1, 1, 2, 3, 4], "age": [1, 1, 1, 1, 2, 2], "sex": ["f"] * 6})
    words = {"models": [KAnonymity(3)], "person": "who"}
    assert anonymize(relation_of(table), TREES, **words).levels["age"] > 0
    monkeypatch.setattr(relations.People, "find", classmethod(lambda *parts: None))
    planted = anonymize(relation_of(table[:4]), TREES, **words)
    assert planted.levels["age"] == 0 and planted.certificate.k == 4


def test_rows_of_nobody_in_particular_are_each_somebody_else():
    table = pd.DataFrame({"who": [1.0, 1.0, None, None, None], "age": [1] * 5, "sex": ["f"] * 5})
    result = anonymize(relation_of(table), TREES, models=[KAnonymity(4)], person="who")
    assert result.certificate.k == 4 and result.certificate.people == 4 and result.certificate.rows == 5


def test_a_person_column_with_one_row_each_counts_rows():
    table = visits(3).drop_duplicates("who")
    result = anonymize(relation_of(table), TREES, "ill", models=[KAnonymity(4)], person="who")
    assert result.certificate.counted == "one row is one person"


def test_a_person_column_has_no_other_role():
    with pytest.raises(ParameterError, match="person column"):
        anonymize(relation_of(visits(1)), TREES, "who", models=[KAnonymity(2)], person="who")


def people(kind: str, table: pd.DataFrame, folder):
    if kind == "frame":
        return table
    if kind == "relation":
        return relation_of(table)
    path = folder / "everybody.parquet"
    duckdb.from_df(table).write_parquet(str(path))
    return path


@pytest.mark.parametrize("kind", ["frame", "relation", "path"])
@pytest.mark.parametrize("model", [KMap, DeltaPresence])
def test_populations_in_duckdb_give_the_result_of_memory(tmp_path, kind, model):
    everybody = visits(4, rows=400, people=400).drop_duplicates("who")
    table = everybody.sample(60, random_state=1)

    def models(population):
        return [model(12, population=population)] if model is KMap else [model(upper=0.4, population=population)]

    inside = anonymize(table, TREES, "ill", models=models(everybody), suppression=0.1)
    engine = anonymize(
        relation_of(table), TREES, "ill", models=models(people(kind, everybody, tmp_path)), suppression=0.1
    )
    mixed = anonymize(table, TREES, "ill", models=models(people(kind, everybody, tmp_path)), suppression=0.1)
    for other in (engine, mixed):
        assert other.levels == inside.levels
        assert other.certificate.holds and inside.certificate.holds
        assert other.certificate.statements == inside.certificate.statements
        assert rows_of(other.data) == rows_of(inside.data)
    assert inside.levels != {"age": 0, "sex": 0}  # else nothing would be tested


def test_a_population_that_lacks_somebody_is_refused_in_duckdb():
    everybody = visits(4).head(100)
    with pytest.raises(DataError, match="must contain the table's"):
        anonymize(relation_of(visits(5)), TREES, models=[KMap(3, population=relation_of(everybody))])


def test_people_of_a_population_with_several_combinations_are_refused_in_duckdb():
    table = visits(6)
    with pytest.raises(DataError, match="one row per person"):
        anonymize(table, TREES, person="who", models=[KMap(3, population=relation_of(table))])


def test_an_output_that_exists_is_not_replaced(tmp_path):
    target = tmp_path / "out.parquet"
    target.write_text("precious")
    with pytest.raises(ParameterError, match="exists already"):
        anonymize(relation_of(visits(1)), TREES, models=[KAnonymity(2)], output=target)
    assert target.read_text() == "precious"
    with pytest.raises(ParameterError, match="folder"):
        anonymize(relation_of(visits(1)), TREES, models=[KAnonymity(2)], output=tmp_path / "no" / "out.parquet")


@pytest.mark.parametrize("person", [None, "who"])
def test_nothing_but_the_output_is_left_behind(tmp_path, person):
    target = tmp_path / "out.parquet"
    result = anonymize(relation_of(visits(1)), TREES, "ill", models=[KAnonymity(4)], person=person, output=target)
    assert list(tmp_path.iterdir()) == [target]
    assert rows_of(result.data) == rows_of(duckdb.read_parquet(str(target)))
    assert result.data.columns == ["age", "sex", "ill"]


@pytest.mark.parametrize("make", [lambda table: table, relation_of], ids=["frame", "relation"])
@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ({"sensitive": "age"}, "Column 'age' is named as quasi-identifier and as sensitive. Choose one."),
        ({"person": "ill", "sensitive": "ill"}, "The person column 'ill' cannot also be sensitive."),
        ({"insensitive": ["ills"]}, "The table has no column 'ills' (insensitive). Did you mean 'ill'?"),
    ],
)
def test_columns_are_refused_in_the_same_words_wherever_the_table_is(make, words, refusal):
    with pytest.raises(ParameterError) as caught:
        anonymize(make(visits(1)), TREES, models=[KAnonymity(2)], **words)
    assert str(caught.value).startswith(refusal)
