"""``pydplib synthesize``: rows in a file, paid or not, and refusals before anything is spent; receipts and reports."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import pydplib as dp
from pydplib.cli import main
from pydplib.receipt import Receipt
from pydplib.synthesis import disclosure_report, next_to_original


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    columns = ["patient_id", "pirads", "bph", "turp", "age", "pca_no_pirads"]
    dp.datasets.pirads(backend="pandas")[columns].to_csv("reports.csv", index=False)
    schema = dp.datasets.pirads_schema()
    kept = {name: schema.columns[name] for name in columns}
    small = dp.Schema(kept, person="patient_id", max_rows_per_person=3, name="reports")
    Path("schema.toml").write_text(small.to_toml(), encoding="utf-8")
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["synthesize", "reports.csv", "--schema", "schema.toml", *words])
    return int(ended.value.code or 0)


def test_rows_and_facts_are_written(folder, capsys):
    assert run("--epsilon", "2", "--delta", "1e-6", "-o", "out.csv", "--facts", "facts.json") == 0
    said = capsys.readouterr().out
    assert "rows of nobody" in said and "Wrote out.csv." in said
    with Path("out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    made = dp.synthesis.SyntheticTable.from_json(Path("facts.json").read_text(encoding="utf-8"))
    assert len(rows) == len(made) and list(rows[0]) == ["pirads", "bph", "turp", "age", "pca_no_pirads"]
    assert run("--epsilon", "2", "-o", "out.csv") != 0  # exists
    assert run("--epsilon", "2", "-o", "out.xlsx") != 0


def test_rows_keep_the_rules_of_a_template(folder):
    assert run("--epsilon", "1", "--template", "pirads-paper", "-o", "out.csv") == 0
    with Path("out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert any(row["pirads"] for row in rows)
    assert not any(row["pirads"] for row in rows if row["pca_no_pirads"] != "false")


def test_a_paid_table_is_the_same_when_asked_again(folder, capsys):
    paid = (
        "--epsilon",
        "1",
        "--relation",
        "pirads,bph",
        "--recipient",
        "acme",
        "--role",
        "third_party",
        "--budget",
        "2",
    )
    assert run(*paid, "--ledger", "l.db", "-o", "one.csv") == 0
    assert "Left for 'acme': epsilon 1 of 2" in capsys.readouterr().out
    assert run(*paid, "--ledger", "l.db", "-o", "two.csv") == 0
    assert "nothing was charged" in capsys.readouterr().out
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "Choose --epsilon"),
        (("--epsilon", "1", "--recipient", "acme"), "belong together"),
        (("--epsilon", "1", "--role", "owner"), "need --recipient"),
        (("--epsilon", "1", "--columns", "bhp"), "bhp"),
        (("--epsilon", "1", "--relation", "bph,trup"), "trup"),
        (("--epsilon", "1", "--template", "pirads-papr"), "pirads-paper"),
    ],
)
def test_a_mistake_is_named(folder, capsys, words, why):
    assert run(*words, "-o", "out.csv") != 0
    assert why in capsys.readouterr().err
    assert not Path("out.csv").exists()


def test_a_receipt_is_made_of_a_stored_table():
    table = dp.load(dp.datasets.pirads(), dp.datasets.pirads_schema())
    session = dp.Session(table, recipient="acme", budget=dp.ApproxDP(2.0, 1e-6))
    made = session.synthesize(["bph", "turp"], epsilon=1.0)
    receipt = Receipt.of(made, made.to_json().encode(), data="2018", issued="")
    assert receipt.mechanism == "synthetic_table" and "epsilon 1" in receipt.guarantee and receipt.release == made.key
    assert "bph" not in str(receipt)


def test_reports_for_the_owner_compare_with_chance():
    people = dp.datasets.pirads(backend="pandas").drop_duplicates("patient_id")
    others = dp.datasets.pirads(seed=7, backend="pandas").drop_duplicates("patient_id")
    names = ["pirads", "bph", "turp", "age", "last_modified"]
    made = dp.synthesize(people, dp.datasets.pirads_schema(), columns=names, epsilon=2.0, delta=1e-6)
    report = disclosure_report(made, people, others=others)
    assert report.membership is not None and 0.45 < report.membership < 0.6
    assert set(report.attribute) == set(made.columns) and "For the owner only" in str(report)
    assert 0 < report.distances[0] < report.distances[1] < report.distances[2] < 1
    both = next_to_original(made, people, ["bph"])
    assert both["bph"] == ["no", "yes", "missing or other"] and sum(both["original"]) == len(people)
    # A table that is the data itself is found out: the control.
    leaked = disclosure_report(_copied(made, people), people, others=others)
    assert leaked.copies == 1.0 and leaked.membership > report.membership
    with pytest.raises(dp.errors.DataError):
        disclosure_report(made, people.drop(columns=["bph"]))


def _copied(made: dp.synthesis.SyntheticTable, people: object) -> dp.synthesis.SyntheticTable:
    from pydplib.synthesis.disclosure import codes_of

    leaked = dp.synthesis.SyntheticTable.from_json(made.to_json())
    leaked.__dict__["codes"] = codes_of(made.variables, people)
    return leaked
