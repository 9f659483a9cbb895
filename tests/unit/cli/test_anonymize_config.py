"""Configurations: every kind of hierarchy and model, errors that name the entry; and the guesses of --init."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

import pytest

from pydplib import anonymity as room
from pydplib._toml import toml_key, toml_value
from pydplib.cli.tables.anonymize import config_text
from pydplib.cli.tables.configuration import KINDS, MODELS, read_config, to_table
from pydplib.cli.tables.guesses import Guess, guess_columns, person_of
from pydplib.errors import DataError, ParameterError, PydplibError
from pydplib.tables import open_tables

K = '[[models]]\nmodel = "k-anonymity"\nk = 5\n'


def read(folder: Path, text: str, population: object = None) -> object:
    path = folder / "anon.toml"
    path.write_text(text, encoding="utf-8")
    return read_config(path, lambda _: population)


def test_every_kind_of_hierarchy_is_read(tmp_path: Path) -> None:
    (tmp_path / "site.csv").write_text("arm;*\n")
    text = """
    [quasi_identifiers]
    short = "site.csv"
    auto = "automatic"
    [quasi_identifiers.intervals]
    kind = "intervals"
    low = 0
    high = 99
    widths = [10]
    outside = "clamp"
    [quasi_identifiers.masking]
    kind = "masking"
    length = 5
    side = "left"
    [quasi_identifiers.dates]
    kind = "dates"
    low = 2017-01-01
    high = "2018-12-31"
    units = ["year"]
    [quasi_identifiers.order]
    kind = "order"
    values = ["I", "II", "III"]
    [quasi_identifiers.grouping]
    kind = "grouping"
    groups = {up = ["arm"], low = ["leg"]}
    [quasi_identifiers.flat]
    kind = "flat"
    values = ["f", "m"]
    [quasi_identifiers.file]
    kind = "file"
    path = "site.csv"
    [quasi_identifiers."top bottom"]
    kind = "top-bottom"
    top = 90
    inner = {kind = "intervals", low = 0, high = 120, widths = [10]}
    [quasi_identifiers.automatic]
    kind = "automatic"
    [quasi_identifiers.cuts]
    kind = "cuts"
    edges = [[0, 10, 100]]
    outside = "clamp"
    [quasi_identifiers.codes]
    kind = "codes"
    system = "icd-10"
    """
    found = read(tmp_path, text + K).quasi_identifiers
    assert {name.replace("top bottom", "top-bottom") for name in found} - {"short", "auto"} == set(KINDS)
    assert found["auto"] is None and found["automatic"] is None
    assert found["intervals"].labels(120) == (99, "90-99", "*")
    assert found["masking"].labels("12345")[1] == "*2345"
    assert found["dates"].labels(dt.date(2017, 5, 1))[1:] == ("2017", "*")
    assert found["order"].labels("III")[1] == "III"
    assert found["grouping"].labels("leg") == ("leg", "low", "*")
    assert found["top bottom"].labels(95)[0] == ">= 90"
    assert found["file"] == found["short"] == room.Hierarchy.from_rows([["arm", "*"]])


def test_every_model_is_read(tmp_path: Path) -> None:
    entries = {
        "k-anonymity": "k = 5",
        "alpha-k": "alpha = 0.5\nk = 3",
        "l-diversity": 'l = 3\nkind = "recursive"\nc = 4',
        "t-closeness": 't = 0.2\ndistance = "hierarchical"\nhierarchy = {kind = "flat", values = ["a"]}',
        "beta-likeness": "beta = 2",
        "delta-disclosure": "delta = 1.5",
        "k-map": 'k = 9\npopulation = "all.csv"',
        "delta-presence": 'upper = 0.5\npopulation = "all.csv"',
        "average-risk": "limit = 0.05",
        "population-uniqueness": "limit = 0.01\nfraction = 0.1",
    }
    assert set(entries) == set(MODELS)
    text = "".join(f'[[models]]\nmodel = "{name}"\n{values}\n' for name, values in entries.items())
    config = read(tmp_path, 'quasi_identifiers = ["age"]\nsensitive = ["ill"]\n' + text, population="everybody")
    assert [str(model) for model in config.models] == [
        "5-anonymity", "(0.5, 3)-anonymity", "recursive (4, 3)-diversity", "0.2-closeness (hierarchical)",
        "2-likeness (basic beta)", "1.5-disclosure privacy (log2)", "9-map", "(0, 0.5)-presence",
        "average risk of at most 5 %", "population uniqueness of at most 1 % (dankar, fraction 0.1)",
    ]  # fmt: skip
    assert config.models[6].population == "everybody" and not config.needs_memory


def test_model_of_one_column_stays_with_it(tmp_path: Path) -> None:
    text = 'quasi_identifiers = ["age"]\nsensitive = ["ill", "stage"]\n'
    config = read(tmp_path, text + K + '[[models]]\nmodel = "l-diversity"\nl = 2\nsensitive = "stage"\n')
    assert {name: [str(model) for model in own] for name, own in config.sensitive.items()} == {
        "ill": [], "stage": ["2-diversity (distinct)"]
    }  # fmt: skip
    assert config.models == (room.KAnonymity(5),) and not config.needs_memory and config.checked


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = \n", "not valid TOML"),
        ("quasi_identifier = ['age']\n" + K, "Unknown entry 'quasi_identifier'. Did you mean 'quasi_identifiers'?"),
        (K, "at least one quasi-identifier"),
        ("quasi_identifiers = ['age']\n", "at least one model"),
        ("quasi_identifiers = ['age']\n[[models]]\nmodel = 'k-anonimity'\n", "Did you mean 'k-anonymity'?"),
        ("quasi_identifiers = ['age']\n[[models]]\nmodel = 'k-anonymity'\n", "k-anonymity: needs k"),
        ("quasi_identifiers = ['age']\n[[models]]\nmodel = 'k-anonymity'\nk = 0\n", "at least 1"),
        ("quasi_identifiers = ['age']\n[[models]]\nmodel = 'k-anonymity'\nkk = 5\n", "Did you mean 'k'"),
        ("quasi_identifiers = ['age']\n[[models]]\nmodel = 'l-diversity'\nl = 3\n", "needs a sensitive column"),
        ("quasi_identifiers = ['age']\nsensitive = 3\n" + K, "list of columns"),
        ("quasi_identifiers = ['age']\nperson = 3\n" + K, "person must be a text"),
        ("quasi_identifiers = ['age']\nchecked = 'yes'\n" + K, "true or false"),
        ("[quasi_identifiers.age]\nkind = 'interval'\n" + K, "Did you mean 'intervals'?"),
        ("[quasi_identifiers.age]\nkind = 'intervals'\nlow = 1\n" + K, "'high' is missing"),
        ("[quasi_identifiers.age]\nkind = 'masking'\nlength = 5\nstepp = 1\n" + K, "Did you mean 'step'?"),
        ("[quasi_identifiers.age]\nkind = 'intervals'\nlow = 1\nhigh = 9\nwidths = 5\n" + K, "wrong type"),
        ("[quasi_identifiers.age]\nkind = 'intervals'\nlow = 9\nhigh = 1\nwidths = [5]\n" + K, "Column 'age'"),
        ("[quasi_identifiers]\nage = 'nowhere.csv'\n" + K, "cannot be read"),
        ("quasi_identifiers = ['age']\n[pseudonyms.name]\nkey = 'x'\n" + K, "Choose one of: consistent, key_file"),
        ("quasi_identifiers = ['age']\nschema = 'none.toml'\n" + K, "schema file"),
    ],
)
def test_errors_name_the_file_and_the_entry(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(PydplibError) as caught:
        read(tmp_path, text)
    assert words in str(caught.value) and "anon.toml" in str(caught.value)


def test_missing_configuration_points_to_init(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="--init"):
        read_config(tmp_path / "none.toml", lambda _: None)


def guesses_of(folder: Path, text: str) -> list[Guess]:
    (folder / "table.csv").write_text(text, encoding="utf-8")
    with open_tables() as tables:
        return guess_columns(tables.open(folder / "table.csv"))


def test_file_without_names_is_refused_and_its_first_row_not_shown(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not look like names") as caught:
        guesses_of(tmp_path, "61;Doe;1950-01-01\n62;Roe;1951-01-01\n")
    assert "Doe" not in str(caught.value)


def test_names_of_columns_tell_their_roles_in_two_languages(tmp_path: Path) -> None:
    roles = {
        "patientId": "identifier", "Nachname": "identifier", "e-mail": "identifier", "Geburtsdatum": "quasi",
        "PLZ": "quasi", "marital-status": "quasi", "Diagnose": "sensitive", "icd10": "sensitive", "income": "sensitive",
    }  # fmt: skip
    text = ";".join(roles) + "\n" + "\n".join(";".join([f"x{i}"] * len(roles)) for i in range(3)) + "\n"
    assert {guess.name: guess.role for guess in guesses_of(tmp_path, text)} == roles


def test_values_tell_what_names_do_not(tmp_path: Path) -> None:
    lines = [f"q{i};u{i}@x.org;{'long words ' * 6};{i % 3};{i % 2}" for i in range(40)]
    found = {guess.name: guess for guess in guesses_of(tmp_path, "\n".join(["aa;bb;cc;dd;ee", *lines]) + "\n")}
    assert [found[name].role for name in ("aa", "bb", "cc", "dd")] == ["identifier"] * 3 + ["quasi"]
    assert "mail" in found["bb"].why and "free text" in found["cc"].why and "safe side" in found["dd"].why


def test_bounds_are_rounded_and_values_are_not_written(tmp_path: Path) -> None:
    lines = [f"{1003 + 7 * i};2017-03-{i + 1:02d};{i}1067;{'rare' if i == 3 else 'often'}" for i in range(9)]
    found = {g.name: g.hierarchy for g in guesses_of(tmp_path, "\n".join(["weight;visit;plz;town", *lines]) + "\n")}
    assert (found["weight"]["low"], found["weight"]["high"]) == (1000, 1060)
    assert (found["visit"]["low"], found["visit"]["high"]) == (dt.date(2017, 1, 1), dt.date(2017, 12, 31))
    assert found["plz"] == {"kind": "masking", "length": 5}
    assert found["town"] == {"kind": "automatic"}


def test_person_is_guessed_only_where_somebody_has_several_rows(tmp_path: Path) -> None:
    once = guesses_of(tmp_path, "patient_id;age\n1;30\n2;31\n")
    twice = guesses_of(tmp_path, "patient_id;age\n1;30\n1;31\n")
    assert (person_of(once), person_of(twice)) == (None, "patient_id")


def test_written_guesses_are_valid_toml_whatever_the_columns_are_called(tmp_path: Path) -> None:
    names = ["a.b", 'quo"te', "new\nline", "größe", "tab\there", "plain", "# comment"]
    guesses = [Guess(name, role="quasi", why="why", hierarchy={"kind": "automatic"}) for name in names]
    guesses += [Guess('i"d', role="identifier", why="why", repeated=True), Guess("s]", role="sensitive", why="why")]
    values = tomllib.loads(config_text("file\nname.csv", guesses, sheet='Ta"b'))
    assert list(values["quasi_identifiers"]) == names
    assert (values["identifiers"], values["sensitive"], values["sheet"]) == (['i"d'], ["s]"], 'Ta"b')
    assert (
        values["checked"] is False and toml_key("a b") == '"a b"' and toml_value(dt.date(2017, 1, 2)) == '"2017-01-02"'
    )


def test_any_hierarchy_becomes_a_table_with_the_same_labels() -> None:
    rule = room.Intervals(0, 9, [5])
    table = to_table(rule, list(range(10)))
    assert [table.labels(value) for value in range(10)] == [rule.labels(value) for value in range(10)]
