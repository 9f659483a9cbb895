"""Schemas: what is declared survives TOML and JSON, and every mistake gets a sentence that names it."""

from __future__ import annotations

import copy
import datetime as dt
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.errors import SchemaError
from pydplib.schema import COLUMN_KINDS, Category, Date, Flag, Integer, Number, Schema, Text

# Everything a file can hold: quotes, newlines, control characters, right-to-left text, emoji; no lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = TEXTS.filter(bool)
LABELS = st.sampled_from(["identifier", "sensitive", "quasi", "public"])
FLOATS = st.floats(-1e300, 1e300)


@st.composite
def _numbers(draw):
    low, high = sorted([draw(FLOATS), draw(FLOATS)])
    if low == high:
        low, high = -1.0, 1.0
    step = draw(st.one_of(st.none(), st.just((high - low) / 7)))
    return Number(low, high, unit=draw(TEXTS), step=step, label=draw(LABELS), title=draw(TEXTS))


@st.composite
def _integers(draw):
    low = draw(st.integers(-(10**12), 10**12))
    return Integer(low, low + draw(st.integers(1, 10**9)), unit=draw(TEXTS), label=draw(LABELS), title=draw(TEXTS))


@st.composite
def _categories(draw):
    scalar = st.one_of(TEXTS, st.integers(-(10**9), 10**9), st.floats(allow_nan=False), st.booleans())
    values = draw(st.lists(scalar, min_size=1, max_size=6, unique_by=lambda v: (isinstance(v, str), v)))
    return Category(values, ordered=draw(st.booleans()), label=draw(LABELS), title=draw(TEXTS))


@st.composite
def _dates(draw):
    low = draw(st.dates(dt.date(1800, 1, 1), dt.date(2100, 1, 1)))
    return Date(low, low + dt.timedelta(days=draw(st.integers(1, 10**4))), label=draw(LABELS), title=draw(TEXTS))


COLUMNS = st.one_of(
    _numbers(),
    _integers(),
    _categories(),
    _dates(),
    st.builds(Flag, label=LABELS, title=TEXTS),
    st.builds(Text, label=LABELS, title=TEXTS),
)


@st.composite
def _schemas(draw):
    person = draw(st.one_of(st.none(), NAMES))
    return Schema(
        draw(st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=4)),
        person=person,
        max_rows_per_person=draw(st.integers(1, 50)) if person else 1,
        max_groups_per_person=draw(st.integers(1, 50)),
        size=draw(st.one_of(st.none(), st.integers(1, 10**9))),
        name=draw(NAMES),
        lineage=draw(TEXTS),
    )


def _same(a: Schema, b: Schema) -> bool:
    """Equal in every value, its type and its order (1, 1.0 and True are equal in Python, but not in a file)."""
    return a == b and repr(a) == repr(b)


@settings(max_examples=150)
@given(schema=_schemas())
def test_schema_toml_round_trip_keeps_everything(schema):
    assert _same(Schema.from_toml(schema.to_toml()), schema)


@settings(max_examples=150)
@given(schema=_schemas())
def test_schema_json_round_trip_keeps_everything(schema):
    assert _same(Schema.from_json(schema.to_json()), schema)


@settings(max_examples=30)
@given(schema=_schemas())
def test_schema_dict_pickle_and_copy_round_trips_keep_everything(schema):
    assert _same(Schema.from_dict(schema.to_dict()), schema)
    assert _same(pickle.loads(pickle.dumps(schema)), schema)
    assert _same(copy.deepcopy(schema), schema)


@settings(max_examples=30)
@given(schema=_schemas())
def test_schema_files_round_trip_keeps_everything(tmp_path_factory, schema):
    folder = tmp_path_factory.mktemp("schema")
    (folder / "s.toml").write_bytes(schema.to_toml().encode())
    (folder / "s.json").write_bytes(schema.to_json().encode())
    assert _same(Schema.load(folder / "s.toml"), schema)
    assert _same(Schema.load(str(folder / "s.json")), schema)


def test_schema_toml_native_dates_are_read():
    schema = Schema.from_toml('[columns.day]\nkind = "date"\nlow = 2017-01-01\nhigh = 2018-12-31\n')
    assert schema.column("day") == Date("2017-01-01", "2018-12-31")


def test_schema_numpy_scalars_become_plain_values():
    schema = Schema(
        {
            "a": Number(np.float64(1.5), np.int32(7), step=np.float32(0.5)),
            "b": Integer(np.int64(0), np.int64(9)),
            "c": Category([np.int64(1), np.str_("x"), np.float64(2.5), np.bool_(False)]),
            "d": Date(np.datetime64("2017-01-01"), dt.datetime(2018, 1, 1, 12)),
        },
        person="p",
        max_rows_per_person=np.int64(3),
        size=np.int64(920),
    )
    assert _same(Schema.from_toml(schema.to_toml()), schema)
    assert "np." not in schema.to_toml()


def test_schema_columns_cannot_be_changed():
    columns = {"age": Number(18, 100)}
    schema = Schema(columns)
    columns["later"] = Flag()
    assert list(schema.columns) == ["age"]
    with pytest.raises(TypeError):
        schema.columns["more"] = Flag()  # type: ignore[index]


def test_schema_labelled_gives_the_columns_of_a_label():
    schema = Schema({"name": Text(), "age": Number(0, 9), "x": Flag(label="sensitive")})
    assert schema.labelled("identifier") == ("name",)
    assert schema.labelled("quasi", "sensitive") == ("age", "x")


def test_schema_lineage_is_the_name_by_default():
    assert Schema({"a": Flag()}, name="reports").lineage == "reports"


def test_column_widths_and_steps():
    assert Number(18, 100).width == 82
    assert Integer(0, 10).step == 1 and Integer(0.0, 10.0).high == 10
    assert Flag().values == (False, True)
    assert Date("2017-01-01", "2018-12-31").width == 729
    assert set(COLUMN_KINDS) == {"number", "integer", "category", "flag", "date", "text"}


A = {"a": Flag()}


def _read(entry, **more):
    """A schema file with one column "a"."""
    return Schema.from_dict({"columns": {"a": entry}, **more})


# What is wrong -> what the message must say. Read them: they are what an owner sees.
MISTAKES = [
    (lambda: Number(math.nan, 1), "Number needs finite public bounds, Number(low, high); low is nan. Bounds come from"),
    (lambda: Number(0, math.inf), "high is inf"),
    (lambda: Number(0, 10**400), "high is an int too long to show"),
    (lambda: Number("0", 1), "low is '0'"),
    (lambda: Number(None, 1), "low is None"),
    (lambda: Number(True, 2), "low is True"),
    (lambda: Number(1, 1), "Number needs low < high. Got low=1, high=1."),
    (lambda: Number(-1e308, 1e308), "too far apart"),
    (lambda: Number(0, 1, step=0), "Number's step must be positive and no wider than the bounds."),
    (lambda: Number(0, 1, step=2), "Number's step"),
    (lambda: Number(0, 1, step=True), "Number's step"),
    (lambda: Number(0, 1, step="x"), "Number's step"),
    (lambda: Number(0, 1, unit=3), "unit must be a text."),
    (lambda: Number(0, 1, title=None), "title must be a text."),
    (lambda: Number(0, 1, label="quasy"), "Unknown label 'quasy'. Did you mean 'quasi'?"),
    (lambda: Flag(label="x"), "Unknown label 'x'. Choose one of: identifier, sensitive, quasi, public."),
    (lambda: Integer(0.5, 3), "Integer needs whole bounds; use Number for decimals."),
    (lambda: Integer(3, 0), "Integer needs low < high"),
    (lambda: Category([]), "Category needs its public values, e.g. Category(['y', 'n'])."),
    (lambda: Category("yn"), "Category needs a list of its public values, e.g. Category(['y', 'n'])."),
    (lambda: Category(5), "Category needs a list of its public values"),
    (lambda: Category([None]), "A category's values are texts, numbers or truth values, and not missing."),
    (lambda: Category([math.nan]), "not missing"),
    (lambda: Category([[1]]), "texts, numbers or truth values"),
    (lambda: Category(["a", "a"]), "A category lists each value once."),
    (lambda: Category([1, True]), "A category lists each value once."),
    (lambda: Category(["a"], ordered="yes"), "ordered must be true or false."),
    (lambda: Date("2017-13-01", "2018-01-01"), "Date's low must be a day such as '2017-01-01'."),
    (lambda: Date(2017, "2018-01-01"), "Date needs public bounds, Date('2017-01-01', '2018-12-31')."),
    (lambda: Date("2018-01-01", "2018-01-01"), "Date needs low < high."),
    (lambda: Schema({}), "A schema needs at least one column."),
    (lambda: Schema({"": Flag()}), "Column names are non-empty texts."),
    (lambda: Schema({1: Flag()}), "Column names are non-empty texts."),
    (lambda: Schema({"a": int}), "Column 'a' needs a kind: Number(low, high)"),
    (lambda: Schema(A, max_rows_per_person=3), "Name the person column: Schema(person='patient_id', ...)."),
    (lambda: Schema(A, person="p", max_rows_per_person=0), "max_rows_per_person must be a whole number of at least 1."),
    (
        lambda: Schema(A, person="p", max_rows_per_person=1, max_groups_per_person=1.5),
        "max_groups_per_person must be a whole number",
    ),
    (lambda: Schema(A, person="p"), "needs max_rows_per_person: the most rows of one person that count in full"),
    (lambda: _read({"kind": "flag"}, person="p", max_rows_per_person=""), "max_rows_per_person is not filled in."),
    (lambda: Schema(A, size=0), "size is the declared public number of persons, or None. Got 0."),
    (lambda: Schema(A, size=True), "size is the declared"),
    (lambda: Schema(A, person="", max_rows_per_person=1), "person must be a non-empty text."),
    (lambda: Schema(A, name=""), "name must be a non-empty text."),
    (lambda: Schema(A, name=7), "name must be a non-empty text. Got 7."),
    (lambda: Schema(A).column("b"), "The schema has no column 'b'."),
    (lambda: Schema({"age": Flag()}).column("agee"), "The schema has no column 'agee'. Did you mean 'age'?"),
    (lambda: Schema.from_dict({}), "The schema needs a table [columns.NAME] for every column."),
    (lambda: _read(3), "Column 'a' must be a table with a kind"),
    (lambda: _read({}), "Column 'a' needs a kind. Choose one of: number, integer"),
    (lambda: _read({"kind": ["number"]}), "Column 'a' has the unknown kind a list."),
    (lambda: _read({"kind": "numbr"}), "Did you mean 'number'?"),
    (lambda: _read({"kind": "flag", "hihg": 1}), "has the unknown entry 'hihg'. Choose one of"),
    (lambda: _read({"kind": "number", "lo": 1}), "Did you mean 'low'?"),
    (lambda: _read({"kind": "number", "low": 1}), "Column 'a' still needs 'high'. Fill in"),
    (lambda: _read({"kind": "category", "values": []}), "Column 'a' still needs 'values'."),
    (lambda: _read({"kind": "category", "values": 5}), "Column 'a': Category needs a list"),
    (lambda: _read({"kind": "number", "low": 2, "high": 1}), "Column 'a': Number needs low < high."),
    (lambda: _read({"kind": "flag"}, persn="p"), "Unknown entry 'persn' in the schema. Did you mean 'person'?"),
    (lambda: _read({"kind": "flag"}, person=3, max_rows_per_person=1), "person must be a non-empty text."),
    (lambda: Schema.from_json("{"), "The schema is not valid JSON (line 1)."),
    (lambda: Schema.from_json("[]"), "The schema must be a JSON object."),
    (lambda: Schema.from_toml("a = "), "The schema is not valid TOML:"),
    (lambda: Schema.load("no/such/file.toml"), "There is no schema file 'no/such/file.toml'."),
]  # fmt: skip


@pytest.mark.parametrize(("mistake", "message"), MISTAKES, ids=[str(m[1])[:40] for m in MISTAKES])
def test_schema_mistake_gets_a_sentence_that_names_it(mistake, message):
    with pytest.raises(SchemaError) as caught:
        mistake()
    assert message in str(caught.value)
    assert str(caught.value).endswith((".", "?"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Schema(None),
        lambda: Schema([1]),
        lambda: Schema.from_dict(5),
        lambda: Schema.from_json(5),
        lambda: Schema.from_json("[" * 100_000),
        lambda: Schema.from_toml("a = " + "[" * 100_000),
        lambda: Schema.from_toml(5),
    ],
)
def test_schema_of_odd_things_is_an_error_of_ours(make):
    with pytest.raises(SchemaError):
        make()


def test_schema_equal_ones_have_equal_hashes():
    one, two = Number(0, 1), Category(["a", "b"])
    assert hash(Schema({"a": one, "b": two})) == hash(Schema({"b": two, "a": one}))
    assert len({Schema({"a": one}), Schema({"a": one}), Schema({"b": one})}) == 2


def test_schema_file_without_a_limit_loads_as_one_with_a_warning(tmp_path):
    path = tmp_path / "old.toml"
    path.write_text('name = "a"\nperson = "p"\n[columns.age]\nkind = "flag"\n')
    with pytest.warns(UserWarning, match="max_rows_per_person = 3"):
        assert Schema.load(path).max_rows_per_person == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Schema.from_json(Schema(A, person="p", max_rows_per_person=2).to_json()).max_rows_per_person == 2
        assert Schema.from_json(Schema(A).to_json()).max_rows_per_person == 1


@pytest.mark.parametrize("name", ["schema.toml", "schema.json"])
def test_schema_saved_is_the_schema_loaded_and_replaces_an_older_file(name, tmp_path):
    schema = Schema({"age": Number(18, 100, unit="years"), "bph": Flag(), "text\n": Text()})
    (tmp_path / name).write_text("old")
    schema.save(tmp_path / name)
    assert Schema.load(tmp_path / name) == schema


def test_schema_that_cannot_be_saved_says_where(tmp_path):
    with pytest.raises(SchemaError, match="cannot be written to"):
        Schema({"bph": Flag()}).save(tmp_path / "no folder" / "schema.toml")
