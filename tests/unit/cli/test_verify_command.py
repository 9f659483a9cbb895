"""pydplib verify: what a table has as it is, and the exit code when something required does not hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pydplib.cli import main

CANARY = "CANARY-9921"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["verify", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(str(caught.value.code)), out, err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "out.csv"
    rows = ["30-39;8*;a;1", "30-39;8*;b;2", "30-39;8*;c;3", "40-49;9*;a;1", "40-49;9*;a;2", f"40-49;9*;{CANARY};3"]
    path.write_text("\n".join(["age;zip;ill;stage", *rows]) + "\n")
    return path


def test_measures_as_json_are_those_of_the_definitions(file: Path, capsys) -> None:
    code, out, _ = run(capsys, file, "--quasi", "age,zip", "--sensitive", "ill,stage", "--json")
    values = json.loads(out)
    assert code == 0
    assert (values["rows"], values["classes"], values["k"]) == (6, 2, 3)
    ill = values["sensitive"]["ill"]
    assert ill["l_distinct"] == 2 and ill["alpha"] == pytest.approx(2 / 3)
    assert ill["t_equal"] == pytest.approx(1 / 3)  # shares of a, b, c and the rest: 3, 1, 1, 1 of 6
    assert ill["beta"] == pytest.approx(1.0) and ill["delta"] == "infinite"
    assert values["sensitive"]["stage"]["l_entropy"] == pytest.approx(3.0)
    assert CANARY not in out


def test_measures_are_printed_for_people(file: Path, capsys) -> None:
    code, out, err = run(capsys, file, "--quasi", "age,zip", "--sensitive", "ill")
    assert (code, err) == (0, "")
    assert "6 rows in 2 classes of age, zip." in out and "k = 3: the smallest class has 3 people." in out
    assert "∞" in out and "a missing cell is a value of its own" in out and CANARY not in out


@pytest.mark.parametrize(
    ("demand", "holds"),
    [
        ("k=3", True),
        ("k=4", False),
        ("l=2", True),
        ("l=3", False),
        ("stage:l=3", True),
        ("stage:l-entropy=3", True),
        ("ill:l-entropy=3", False),
        ("alpha=0.67", True),
        ("alpha=0.5", False),
        ("ill:t=0.34", True),
        ("ill:t=0.33", False),
        ("stage:t-ordered=0", True),
        ("ill:beta=1", True),
        ("ill:beta=0.9", False),
        ("ill:delta=9", False),
        ("stage:delta=0.1", True),
        ("stage:l-recursive=1,2", True),
        ("ill:l-recursive=2,2", False),
        ("ill:l-recursive=2.1,2", True),
    ],
)
def test_demands_decide_the_exit_code(file: Path, capsys, demand: str, holds: bool) -> None:
    arguments = (file, "--quasi", "age,zip", "--sensitive", "ill,stage", "--require", demand)
    code, out, err = run(capsys, *arguments, "--json")
    assert code == (0 if holds else 15)
    assert all(v["holds"] for v in json.loads(out)["required"]) == holds
    assert (demand in err) != holds and CANARY not in out + err
    assert ("NO" in run(capsys, *arguments)[1]) != holds


def test_hierarchical_distance_needs_and_uses_a_file(file: Path, tmp_path: Path, capsys) -> None:
    arguments = (file, "--quasi", "age,zip", "--sensitive", "ill", "--require", "t-hierarchical=0.2")
    code, _, err = run(capsys, *arguments)
    assert code == 2 and "--hierarchy ill=FILE" in err
    (tmp_path / "ill.csv").write_text(f"a;x;*\nb;x;*\nc;y;*\n{CANARY};y;*\n")
    code, out, _ = run(capsys, *arguments, "--hierarchy", f"ill={tmp_path / 'ill.csv'}")
    assert code == 0 and "t (hierarchical)" in out


def test_order_lists_all_values(file: Path, capsys) -> None:
    arguments = (file, "--quasi", "age,zip", "--sensitive", "stage")
    assert run(capsys, *arguments, "--order", "stage=3,1,2")[0] == 0
    code, _, err = run(capsys, *arguments, "--order", "stage=1,2")
    assert code == 11 and "misses 1 of the values of 'stage'" in err
    assert "numbers" in run(capsys, *arguments, "--order", "stage=x,y")[2]


def test_earlier_releases_count_for_what_is_required(file: Path, tmp_path: Path, capsys) -> None:
    before = tmp_path / "before.csv"
    before.write_text(file.read_text().replace("40-49;9*;a;2\n", ""))  # somebody new came in: alone, she shows
    arguments = (file, "--quasi", "age,zip", "--sensitive", "stage", "--require", "k=2")
    assert run(capsys, *arguments)[0] == 0
    code, out, _ = run(capsys, *arguments, "--previous", before)
    assert code == 15 and "Together with earlier releases" in out
    _, out, _ = run(capsys, *arguments[:-2], "--previous", before, "--json")
    assert json.loads(out)["across_releases"]["appeared"] == 1


def test_labels_of_another_level_need_and_use_a_hierarchy(tmp_path: Path, capsys) -> None:
    now, before, tree = tmp_path / "now.csv", tmp_path / "before.csv", tmp_path / "ill.csv"
    now.write_text("ill,s\nflu,a\nflu,b\nburn,c\nburn,d\n")
    before.write_text("ill,s\nany infection,a\nany infection,b\nan injury,c\nan injury,d\n")
    tree.write_text("flu;any infection;*\nburn;an injury;*\n")
    arguments = (now, "--quasi", "ill", "--sensitive", "s", "--previous", before)
    code, _, err = run(capsys, *arguments)
    assert code == 11 and "--hierarchy ill=FILE" in err and "flu" not in err
    code, out, _ = run(capsys, *arguments, "--hierarchy", f"ill={tree}", "--require", "k=2")
    assert code == 0 and "2-anonymity" in out
    assert "neither a quasi-identifier" in run(capsys, *arguments, "--hierarchy", f"il={tree}")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--require", "k"], "not NAME=NUMBER"),
        (["--require", "kk=5"], "Did you mean 'k'"),
        (["--require", "k=many"], "not k=NUMBER"),
        (["--require", "ill:k=5"], "whole table"),
        (["--require", "l-recursive=3"], "l-recursive=4,3"),
        (["--require", "l=2", "--sensitive", ""], "--sensitive"),
        (["--sensitive", "ill", "--require", "il:l=2"], "Did you mean 'ill'"),
        (["--sensitive", "ill", "--hierarchy", "ill"], "not COLUMN="),
        (["--sensitive", "il"], "Did you mean 'ill'"),
        (["--linked"], "linked"),
    ],
)
def test_wrong_arguments_get_a_sentence(file: Path, capsys, arguments, words) -> None:
    code, out, err = run(capsys, file, "--quasi", "age,zip", *arguments)
    assert code in (2, 11) and out == "" and words in err


def test_persons_are_counted_where_named(file: Path, capsys) -> None:
    text = file.read_text().splitlines()
    file.write_text(
        "\n".join([text[0] + ";who", *(line + ";p" + str(i // 3) for i, line in enumerate(text[1:]))]) + "\n"
    )
    _, out, _ = run(capsys, file, "--quasi", "age,zip", "--person", "who", "--json")
    assert json.loads(out)["k"] == 1
