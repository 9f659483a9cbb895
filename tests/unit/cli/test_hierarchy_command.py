"""pydplib hierarchy: files in ARX's format, made by rule, shown, and checked against a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pydplib.anonymity import Hierarchy
from pydplib.cli import main

CANARY = "CANARY-1203"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["hierarchy", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(str(caught.value.code)), out, err


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "visits.csv"
    path.write_text(f"age;zip;site\n30;80331;arm\n41;80333;leg\n;01067;{CANARY}\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["intervals", "--low", "0", "--high", "3", "--width", "2"], ["0;0-1;*", "1;0-1;*", "2;2-3;*", "3;2-3;*"]),
        (
            ["intervals", "--low", "0", "--high", "1", "--width", "0.5", "--step", "0.5"],
            ["0.0;[0, 0.5);*", "0.5;[0.5, 1];*", "1.0;[0.5, 1];*"],
        ),
        (
            ["dates", "--low", "2017-12-31", "--high", "2018-01-01", "--unit", "month", "--unit", "year"],
            ["2017-12-31;2017-12;2017;*", "2018-01-01;2018-01;2018;*"],
        ),
        (["masking", "--values", "80331,80333", "--step", "3"], ["80331;80***;*****", "80333;80***;*****"]),
        (["masking", "--values", "12,34", "--side", "left"], ["12;*2;**", "34;*4;**"]),
        (
            ["cuts", "--edges", "0,1,3", "--edges", "0,3"],
            ["0;0;0-3;*", "1;1-3;0-3;*", "2;1-3;0-3;*", "3;1-3;0-3;*"],
        ),
        (
            ["codes", "--system", "icd-10", "--values", "E11.9,C61"],
            ["E11.9;E11;E10-;E00-E90;*", "C61;C61;C60-;C00-D48;*"],
        ),
        (["codes", "--system", "uk-postcode", "--values", "SW1A 1AA"], ["SW1A 1AA;SW1A 1;SW1A;SW;*"]),
        (["order", "--values", "I,II,III"], ["I;I - II;*", "II;I - II;*", "III;III;*"]),
        (["grouping", "--group", "up=arm,head", "--group", "low=leg"], ["arm;up;*", "head;up;*", "leg;low;*"]),
    ],
)
def test_made_hierarchies_are_in_arx_format(capsys, arguments, lines) -> None:
    code, out, err = run(capsys, "make", *arguments)
    assert (code, err) == (0, "")
    assert out.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cuts", "--edges", "0,ten"], "'ten' is not a number"),
        (["cuts", "--edges", "0,inf"], "finite"),
        (["cuts", "--edges", "0,5,3"], "rise"),
        (["cuts", "--edges", "0,5,10", "--edges", "0,4,10"], "keeps some edges"),
        (["codes", "--system", "icd-10", "--values", "hello"], "not ICD-10 codes"),
        (["codes", "--system", "icd-10"], "--values"),
    ],
)
def test_wrong_edges_and_codes_are_refused_in_words(capsys, arguments, words) -> None:
    code, out, err = run(capsys, "make", *arguments)
    assert code != 0 and out == "" and words in err


def test_made_file_is_what_the_library_reads(tmp_path: Path, capsys) -> None:
    path = tmp_path / "age.csv"
    code, _, err = run(capsys, "make", "intervals", "--low", 0, "--high", 119, "--width", 5, "--width", 10, "-o", path)
    assert code == 0 and "120 values, 3 levels" in err
    assert Hierarchy.from_csv(path).labels(39)[1:] == ("35-39", "30-39", "*")
    code, _, err = run(capsys, "make", "order", "--values", "a,b", "-o", path)
    assert code == 11 and "--force" in err
    assert run(capsys, "make", "order", "--values", "a,b", "-o", path, "--force")[0] == 0
    assert path.read_text() == "a;*\nb;*\n"


def test_values_of_a_table_keep_their_zeros_and_are_called_private(table: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "zip.csv"
    code, _, err = run(capsys, "make", "masking", "--table", table, "--column", "zip", "--step", 2, "-o", path)
    assert code == 0 and "as private as the table" in err
    assert path.read_text().splitlines()[0] == "01067;010**;0****;*****"
    code, out, _ = run(capsys, "make", "automatic", "--table", table, "--column", "age")
    assert code == 0 and out.startswith("30;")


def test_nested_groups_come_from_toml_or_json(tmp_path: Path, capsys) -> None:
    (tmp_path / "g.toml").write_text("low = [1, 2]\n[high]\na = [3]\n")
    (tmp_path / "g.json").write_text('{"low": [1, 2], "high": {"a": [3]}}')
    first = run(capsys, "make", "grouping", "--file", tmp_path / "g.toml")
    assert first == (0, "1;low;low;*\n2;low;low;*\n3;a;high;*\n", "")
    assert run(capsys, "make", "grouping", "--file", tmp_path / "g.json") == first
    (tmp_path / "g.toml").write_text("low = ")
    assert "cannot be read as TOML" in run(capsys, "make", "grouping", "--file", tmp_path / "g.toml")[2]


def test_show_counts_labels_and_warns_of_several_tops(tmp_path: Path, capsys) -> None:
    path = tmp_path / "h.csv"
    path.write_text("a;x\nb;x\nc;y\n")
    code, out, _ = run(capsys, "show", path)
    assert code == 0 and "3 values, 1 levels" in out and "several labels" in out
    _, out, _ = run(capsys, "show", path, "--json")
    assert json.loads(out)["labels_per_level"] == [3, 2]


def test_check_covers_numbers_and_codes_and_ignores_the_missing_value(table: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "age.csv"
    path.write_text("30;*\n41;*\n50;*\n")
    code, out, err = run(capsys, "check", path, table, "--column", "age")
    assert (code, err) == (0, "") and "2 of 2 different values" in out and "1 values of the hierarchy" in out


def test_check_with_a_gap_ends_with_16_and_lists_only_when_asked(table: Path, tmp_path: Path, capsys) -> None:
    path = tmp_path / "site.csv"
    path.write_text("arm;*\n")
    code, out, err = run(capsys, "check", path, table, "--column", "site")
    assert code == 16 and "2 values of 'site'" in err and "--list" in err and CANARY not in out + err
    _, out, err = run(capsys, "check", path, table, "--column", "site", "--list")
    assert CANARY in out and CANARY not in err
    code, out, _ = run(capsys, "check", path, table, "--column", "site", "--json")
    assert (code, json.loads(out)) == (16, {"covers": False, "missing": 2, "unused": 0, "height": 1})


def test_leaves_with_decimals_cover_the_same_numbers_of_a_table(tmp_path: Path, capsys) -> None:
    path, table = tmp_path / "h.csv", tmp_path / "d.csv"
    path.write_text("0.5;low;*\n1.0;low;*\n1.50;high;*\n")
    table.write_text("dose\n0.5\n1.0\n1.5\n")
    code, out, _ = run(capsys, "check", path, table, "--column", "dose", "--json")
    assert (code, json.loads(out)["missing"]) == (0, 0)
    table.write_text("dose;x\n0,5;1\n1,0;1\n1,5;1\n")
    path.write_text("0,5;low;*\n1,0;low;*\n1,5;high;*\n")
    assert run(capsys, "check", path, table, "--column", "dose")[0] == 0
    path.write_text("1;one;*\n1.0;other;*\n")
    table.write_text("dose\n1\n")
    assert run(capsys, "check", path, table, "--column", "dose")[0] == 0, "the plain spelling comes first"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a;x;*\nb;y\n", "Row 2 of the hierarchy has 2 levels"),
        ("a;x;*\na;y;*\n", "Row 2 of the hierarchy repeats"),
        ("a;x;1\nb;x;2\n", "the label 'x' at level 1 have different labels at level 2"),
        ("", "at least one row"),
    ],
)
def test_broken_hierarchies_end_with_16(tmp_path: Path, capsys, content: str, words: str) -> None:
    path = tmp_path / "h.csv"
    path.write_text(content)
    code, _, err = run(capsys, "show", path)
    assert code == 16 and words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["make", "intervals", "--low", "5", "--high", "1", "--width", "2"], "low <= high"),
        (["make", "intervals", "--low", "0", "--high", "9", "--width", "2", "--width", "3"], "multiple"),
        (["make", "intervals", "--low", "0", "--high", "1e9", "--width", "2"], "--step"),
        (["make", "dates", "--low", "2018-01-01", "--high", "2017-01-01"], "--low on or before --high"),
        (["make", "dates", "--low", "2017", "--high", "2018-01-01"], "%Y-%m-%d"),
        (["make", "order"], "--values A,B,C"),
        (["make", "grouping"], "in one way"),
        (["make", "grouping", "--group", "x"], "LABEL=A,B"),
    ],
)
def test_wrong_arguments_get_a_sentence(capsys, arguments, words) -> None:
    code, out, err = run(capsys, *arguments)
    assert code in (2, 11, 16) and out == "" and words in err
