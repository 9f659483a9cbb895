"""pydplib risk: in words, as a table, as JSON; and what it says when it cannot answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pydplib.cli import main

CANARY = "CANARY-4410"
ROWS = ["30;f;a;P1", "30;f;b;P1", "41;m;a;P2", "41;m;b;P3", "41;m;a;P4", f"52;m;a;{CANARY}"]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["risk", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(str(caught.value.code)), out, err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(["age;sex;ill;patient_id", *ROWS]) + "\n")
    return path


def test_risk_in_words_and_a_table(file: Path, capsys) -> None:
    code, out, err = run(capsys, file, "--quasi", "age,sex")
    assert (code, err) == (0, "")
    assert "6 records in 3 classes of age, sex." in out
    assert "16.7 % of the records are unique" in out and "up to 100 %, 50 % on average" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["highest", "chance", "100", "%"] in lines  # no population: the journalist's cells stay empty
    assert ["on", "average", "50", "%"] in lines
    assert "'age' adds most: without it 0 % would be unique instead of 16.7 %" in out
    assert CANARY not in out


def test_risk_as_json_is_that_of_the_definitions(file: Path, capsys) -> None:
    code, out, _ = run(capsys, file, "--quasi", "age", "--quasi", "sex", "--json")
    values = json.loads(out)
    assert code == 0
    assert values["prosecutor"] == {
        "maximum": 1.0, "expected": 0.5, "at_risk": {"0.2": 1.0, "0.09": 1.0, "0.05": 1.0}
    }  # fmt: skip
    assert values["unique"] == pytest.approx(1 / 6) and values["class_sizes"] == {"1": 1, "2": 1, "3": 1}
    assert [column["column"] for column in values["columns"]] == ["age", "sex"]


def test_risk_of_persons_counts_them_once(file: Path, capsys) -> None:
    _, out, _ = run(capsys, file, "--quasi", "age,sex", "--person", "patient_id", "--json")
    assert json.loads(out)["class_sizes"] == {"1": 2, "3": 1}


def test_risk_against_a_population_or_a_fraction(file: Path, tmp_path: Path, capsys) -> None:
    everybody = tmp_path / "all.csv"
    everybody.write_text("age,sex\n" + "30,f\n" * 4 + "41,m\n" * 6 + "52,m\n" * 2)
    _, out, _ = run(capsys, file, "--quasi", "age,sex", "--population", everybody, "--json")
    values = json.loads(out)
    assert values["journalist"]["maximum"] == 0.5 and values["marketer"] == pytest.approx((2 / 4 + 3 / 6 + 1 / 2) / 6)
    code, out, _ = run(capsys, file, "--quasi", "age,sex", "--fraction", "0.1")
    assert code == 0 and "estimated from --fraction" in out and "unique in the population" in out


def test_rare_values_are_printed_only_when_asked_for(file: Path, capsys) -> None:
    arguments = (file, "--quasi", "patient_id,sex")
    assert CANARY not in run(capsys, *arguments)[1]
    _, out, _ = run(capsys, *arguments, "--values")
    assert CANARY in out and "for its owner only" in out


def test_without_columns_the_error_guesses_some_and_applies_none(file: Path, capsys) -> None:
    code, out, err = run(capsys, file)
    assert (code, out) == (11, "")
    assert f"pydplib risk {file} --quasi age,sex" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--quasi", "age,sexx"], 11, "no column 'sexx' (--quasi). Did you mean 'sex'?"),
        (["--quasi", "age", "--person", "patient"], 11, "no column 'patient' (--person). Did you mean 'patient_id'"),
        (["--quasi", "age", "--fraction", "0"], 2, "--fraction"),
        (["--quasi", "age", "--fraction", "0.5", "--population", "x.csv"], 10, "There is no file 'x.csv'"),
        (["--quasi", "age", "--values", "--json"], 2, "--values is for the screen"),
    ],
)
def test_wrong_arguments_get_a_sentence(file: Path, capsys, arguments, code, words) -> None:
    found, out, err = run(capsys, file, *arguments)
    assert (found, out) == (code, "") and words in err


def test_population_without_the_tables_people_is_refused(file: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "all.csv").write_text("age,sex\n30,f\n")
    code, _, err = run(capsys, file, "--quasi", "age,sex", "--population", tmp_path / "all.csv")
    assert code == 10 and "fewer people in the population" in err


def test_empty_table_has_nobody_to_find(tmp_path: Path, capsys) -> None:
    (tmp_path / "a.csv").write_text("age;sex\n")
    code, out, _ = run(capsys, tmp_path / "a.csv", "--quasi", "age,sex")
    assert code == 0 and "nobody to find" in out


def test_column_names_with_commas_are_quoted(tmp_path: Path, capsys) -> None:
    (tmp_path / "a.csv").write_text('"age, years";sex\n30;f\n30;f\n')
    code, out, _ = run(capsys, tmp_path / "a.csv", "--quasi", '"age, years",sex')
    assert code == 0 and "0 % of the records are unique" in out
