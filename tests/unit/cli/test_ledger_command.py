"""``pydplib ledger``: what people see, what programs read, and the exit codes."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pydplib.budget import Cost, Head, ReleaseKey, SqliteLedger
from pydplib.cli import main
from pydplib.errors import BudgetError
from pydplib.guarantee import ApproxDP, PureDP


def key(number: int) -> ReleaseKey:
    cost = Cost.pure(0.4, mechanism="laplace")
    return ReleaseKey(lineage="reports", snapshot="2018", question={"number": number}, cost=cost)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with SqliteLedger(tmp_path / "ledger.db") as ledger:
        ledger.open_account(lineage="reports", limit=ApproxDP(10.0, 1e-6))
        ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
        ledger.open_account(lineage="reports", recipient="=[bold]uni", limit=PureDP(6.0))
        for number in range(2):
            ledger.finish(ledger.reserve(key(number), recipient="acme", role="third_party"), b"SECRET PAYLOAD")
        with pytest.raises(BudgetError):
            ledger.reserve(key(2), recipient="acme", role="third_party")
        ledger.reserve(key(0), recipient="=[bold]uni", role="collaborator")
        ledger.enter_no_dp(lineage="reports", recipient="=[bold]uni", role="collaborator", mechanism="5-anonymity")
    return tmp_path / "ledger.db"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["ledger", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert isinstance(caught.value.code, int)
    return caught.value.code, out, err


def test_show_prints_budgets_per_recipient_and_per_data_set(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "show", file)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert ["acme", "1", "0.8", "0.2", "2", "1"] in lines
    assert ["=[bold]uni", "6", "0.4", "5.6", "1", "0"] in lines
    assert ["10", "0.8", "9.2", "2", "0"] in lines
    assert "5-anonymity" in out
    assert "refusal" in out
    assert "SECRET" not in out


def test_show_fits_an_ordinary_terminal(file: Path) -> None:
    run_ = subprocess.run(
        [sys.executable, "-m", "pydplib", "ledger", "show", str(file)], capture_output=True, text=True, check=True
    )
    assert max(len(line) for line in run_.stdout.splitlines()) <= 80


def test_show_of_one_recipient_leaves_out_the_data_sets_budget(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", file, "--recipient", "acme", "--json")
    content = json.loads(out)
    assert code == 0
    assert [row["recipient"] for row in content["budgets"]] == ["acme"]
    assert content["no_dp"] == []
    assert {entry["recipient"] for entry in content["entries"]} == {"acme"}
    assert "9.2" not in out


def test_show_as_json_has_exact_units(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", file, "--json", "--last", 0)
    content = json.loads(out)
    assert content["sound"] is True
    assert content["entries"] == []
    acme = next(row for row in content["budgets"] if row["recipient"] == "acme")
    assert (acme["nano_limit"], acme["nano_used"], acme["nano_left"]) == (10**9, 8 * 10**8, 2 * 10**8)
    assert (acme["questions"], acme["refused"]) == (2, 1)


def test_show_as_csv_is_safe_in_a_spreadsheet(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", file, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["recipient"] for row in rows] == ["", "'=[bold]uni", "acme"]
    assert [row["left"] for row in rows] == ["9.2", "5.6", "0.2"]


def test_verify_of_a_sound_ledger_says_so_and_advises_a_head(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "verify", file)
    assert code == 0
    assert out.startswith("Sound: 10 entries")
    assert "--head" in out


def test_export_and_verify_notice_a_rolled_back_ledger(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "old.db"
    assert run(capsys, "export", file, "--backup", old)[0] == 0
    with SqliteLedger(file) as ledger:
        ledger.enter_look(lineage="reports", recipient="ada", role="owner")
    head = tmp_path / "head.json"
    assert run(capsys, "export", file, "-o", head)[0] == 0
    assert Head.read(head).entries == 11
    assert run(capsys, "verify", file, "--head", head)[:2] == (
        0,
        "Sound: 11 entries, the chain, the sums and the stored answers agree.\n"
        "It continues the exported head: nothing was rolled back or replaced.\n",
    )
    file.unlink()
    shutil.copy(old, file)
    code, out, err = run(capsys, "verify", file, "--head", head, "--json")
    assert code == 30
    assert json.loads(out)["sound"] is False
    assert "rolled back" in err


def test_export_prints_the_head_or_the_entries(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "export", file)
    assert Head.from_json(out).entries == 10
    _, out, _ = run(capsys, "export", file, "--entries")
    entries = json.loads(out)
    assert [entry["number"] for entry in entries] == list(range(1, 11))
    assert entries[-1]["hash"] == SqliteLedger(file, read_only=True).head().hash
    _, out, _ = run(capsys, "export", file, "--entries", "--csv", "--recipient", "acme")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["kind"] for row in rows] == ["open", "debit", "answer", "debit", "answer", "refusal"]
    assert "SECRET" not in out


def test_damaged_ledger_is_shown_with_an_error_and_not_exported(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = sqlite3.connect(file)
    db.execute("DROP TRIGGER accounts_grow")
    db.execute("UPDATE accounts SET nano_epsilon = 0")
    db.commit()
    db.close()
    code, out, err = run(capsys, "show", file, "--json")
    assert (code, json.loads(out)["sound"]) == (30, False)
    assert "stored sums" in err
    for arguments in (("verify", file), ("export", file), ("export", file, "--entries")):
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (30, "")
        assert "stored sums" in err


@pytest.mark.parametrize("name", ["missing.db", "notes.txt"])
@pytest.mark.parametrize("action", ["show", "verify", "export"])
def test_what_is_no_ledger_ends_with_a_sentence_and_code_30(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str, name: str
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    code, out, err = run(capsys, action, tmp_path / name)
    assert (code, out) == (30, "")
    assert err.startswith("Error: ")
    assert name in err
    assert not (tmp_path / "missing.db").exists()


def test_output_that_cannot_be_written_is_an_error(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "export", file, "-o", tmp_path / "nowhere" / "head.json")
    assert code == 30
    assert "cannot be written" in err


@pytest.mark.parametrize("arguments", [("show", "--json", "--csv"), ("export", "--csv")])
def test_formats_that_contradict_each_other_are_a_usage_error(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    code, _, err = run(capsys, arguments[0], file, *arguments[1:])
    assert code == 2
    assert "--csv" in err


def test_show_says_what_was_asked_and_what_its_words_mean(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from pydplib.cli.answers.ledger import command

    path = tmp_path / "asked.db"
    question = {"ask": "mean", "of": "age", "by": [{"column": "sex", "keys": ["f", "m"]}], "where": [{"column": "x"}]}
    with SqliteLedger(path) as ledger:
        for who in (None, "acme"):
            ledger.open_account(lineage="reports", recipient=who, limit=PureDP(1.0))
        key = ReleaseKey(lineage="reports", snapshot="1", question=question, cost=Cost.pure(0.5, mechanism="laplace"))
        ledger.finish(ledger.reserve(key, recipient="acme", role="third_party"), b"answer")
    shown = CliRunner().invoke(command, ["show", str(path), "--json"])
    assert [entry["question"] for entry in json.loads(shown.output)["entries"]][-1] == "mean age by sex where ..."
    text = " ".join(CliRunner().invoke(command, ["show", str(path)]).output.split())
    assert "persons may be added or removed" in text
    assert "fingerprint of the newest entry" in text
