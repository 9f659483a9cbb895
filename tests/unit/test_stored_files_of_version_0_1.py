"""Files that version 0.1 wrote still open, verify and mean the same: schemas, ledger, receipt, recipes, traces."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import pydplib as dp
from pydplib import anonymity as anon
from pydplib.budget import Head, SqliteLedger
from pydplib.cli import cli
from pydplib.cli.tables.configuration import read_config
from pydplib.errors import LedgerError, PydplibError, ReceiptError
from pydplib.receipt import NAME_UNCHECKED, Receipt, read_public_keys
from pydplib.release import Question

FOLDER = Path(__file__).parents[1] / "fixtures" / "version-0.1"
SCHEMAS, LEDGER, RECEIPTS, ANONYMIZE = (FOLDER / name for name in ("schemas", "ledger", "receipts", "anonymize"))
ANSWERS = json.loads((LEDGER / "answers.json").read_text(encoding="utf-8"))
TRACE_KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    """The table that version 0.1 released."""
    return pd.read_csv(ANONYMIZE / "patients.csv", dtype={"zip": str})


@pytest.fixture
def ledger_file(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    path.write_bytes(gzip.decompress((LEDGER / "ledger.db.gz").read_bytes()))
    path.chmod(0o600)
    return path


def rows_of(table: Any) -> list[list[str]]:
    """Return the cells of a table without its order, which is shuffled at every run."""
    return sorted([str(cell) for cell in row] for row in table.itertuples(index=False))


def stored_rows(name: str) -> list[list[str]]:
    with open(ANONYMIZE / name, encoding="utf-8", newline="") as file:
        return sorted(list(csv.reader(file))[1:])


@pytest.mark.parametrize("name", ["every-kind.toml", "every-kind.json"])
def test_a_schema_is_read_and_written_again_as_the_same_text(name: str, tmp_path: Path) -> None:
    schema = dp.Schema.load(SCHEMAS / name)
    assert {type(column) for column in schema.columns.values()} >= {
        dp.Number, dp.Integer, dp.Category, dp.Flag, dp.Date, dp.Text,
    }  # fmt: skip
    text = (SCHEMAS / name).read_text(encoding="utf-8")
    assert (schema.to_toml() if name.endswith("toml") else schema.to_json()) == text
    schema.save(tmp_path / name)
    assert dp.Schema.load(tmp_path / name) == schema
    assert schema == dp.Schema.load(SCHEMAS / "every-kind.json")
    assert (schema.person, schema.max_rows_per_person, schema.size, schema.lineage) == (
        *("patient", 2, 90, "prostate-2018"),
    )
    assert schema.column("lesions").title == 'Größe "n"'


def test_a_ledger_verifies_and_its_questions_are_free(ledger_file: Path, patients: pd.DataFrame) -> None:
    schema, known = dp.Schema.load(SCHEMAS / "every-kind.toml"), Head.read(LEDGER / "head.json")
    with dp.load(patients, schema) as table, SqliteLedger(ledger_file) as ledger:
        assert ledger.verify(known) == known
        session = dp.Session(
            table, recipient="acme", budget=dp.ApproxDP(20.0, 1e-6), ledger=ledger,
            policy=dp.Policy(data_set_budget=40.0),
        )  # fmt: skip
        left = session.remaining
        for told in ANSWERS:
            release = session.release(Question.from_dict(told["question"]), **told["options"])
            assert release.key == told["key"], told["question"]
            assert json.loads(release.to_json()) == told["release"], told["question"]
            assert any("nothing was charged" in remark for remark in release.remarks), told["question"]
        assert session.remaining == left and ledger.head() == known
        session.release(dp.Count(), epsilon=0.5)  # and it goes on from there
        assert session.remaining != left
        assert ledger.verify(known).entries > known.entries


def test_a_changed_ledger_is_noticed(ledger_file: Path) -> None:
    other = Head.read(LEDGER / "head.json")
    with SqliteLedger(ledger_file) as ledger, pytest.raises(LedgerError):
        ledger.verify(Head(other.ledger, other.entries, "0" * 64))


@pytest.mark.parametrize("keys", ["keys.json", "keys.txt"])
def test_a_receipt_verifies_by_the_old_keys(keys: str) -> None:
    receipt = Receipt.from_json((RECEIPTS / "receipt.json").read_text(encoding="utf-8"))
    assert receipt.verify(read_public_keys(RECEIPTS / keys)) == receipt
    assert receipt.matches((RECEIPTS / "release.json").read_bytes())
    assert not receipt.is_issuer_checked
    assert receipt.to_json() == (RECEIPTS / "receipt.json").read_text(encoding="utf-8")
    said = CliRunner().invoke(
        cli,
        ["receipt", "verify", str(RECEIPTS / "receipt.json"), "--keys", str(RECEIPTS / keys),
         "--release", str(RECEIPTS / "release.json")],
    )  # fmt: skip
    assert said.exit_code == 0, said.output
    assert said.output.startswith(NAME_UNCHECKED) and "The values fit." in said.output


def test_a_forged_receipt_of_the_old_format_is_refused() -> None:
    text = (RECEIPTS / "receipt.json").read_text(encoding="utf-8")
    forged = Receipt.from_json(text.replace('"epsilon": "0.2"', '"epsilon": "0.1"'))
    with pytest.raises(ReceiptError, match="forged"):
        forged.verify(read_public_keys(RECEIPTS / "keys.json"))


def test_the_release_of_a_receipt_is_read_and_written_again_as_the_same_bytes() -> None:
    payload = (RECEIPTS / "release.json").read_bytes()
    assert dp.Release.from_json(payload).to_json().encode() == payload


@pytest.mark.parametrize("name", ["optimal", "local", "mondrian", "persons"])
def test_a_recipe_gives_the_same_table(name: str, patients: pd.DataFrame) -> None:
    recipe = anon.Recipe.load(ANONYMIZE / f"{name}.recipe.json")
    rows = patients if name == "persons" else patients.drop_duplicates("patient")
    assert rows_of(recipe.apply(rows)) == stored_rows(f"{name}.applied.csv")
    assert json.loads(recipe.to_json()) == json.loads((ANONYMIZE / f"{name}.recipe.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "key"), [("own-key.trace", None), ("kept-key.trace", TRACE_KEY)])
def test_a_trace_holds_later_releases_together(name: str, key: str | None, patients: pd.DataFrame) -> None:
    rows = patients.drop_duplicates("patient")
    trace = anon.Trace.load(ANONYMIZE / name, key=key)
    assert len(trace.people) == len(rows)
    quasi = {
        "age": anon.Intervals(40, 90, [5, 10, 20]),
        "stage": anon.Hierarchy.from_rows([["I", "*"], ["II", "*"], ["III", "*"]]),
    }
    options: dict[str, Any] = {"models": [anon.KAnonymity(4)], "person": "patient", "suppression": 0.3}
    alone = anon.anonymize(rows, quasi, "diagnosis", **options)
    later = anon.anonymize(rows, quasi, "diagnosis", previous=[trace], **options)
    # What version 0.1 released after the same trace: coarser and with fewer rows than it would have been alone.
    assert (dict(alone.recipe.levels), len(alone.data)) == ({"age": 1, "stage": 0}, 81)
    assert (dict(later.recipe.levels), len(later.data)) == ({"age": 2, "stage": 0}, 75)
    assert later.certificate.holds


def test_a_trace_with_a_kept_key_needs_that_key() -> None:
    for key in (None, "another key of sixteen bytes"):
        with pytest.raises(PydplibError, match="key"):
            anon.Trace.load(ANONYMIZE / "kept-key.trace", key=key)


def test_a_configuration_says_what_it_said() -> None:
    found = read_config(ANONYMIZE / "anon.toml", lambda _: None)
    assert found.checked and found.schema == dp.Schema.load(SCHEMAS / "every-kind.json")
    said = {
        "quasi_identifiers": {n: None if h is None else h.to_dict() for n, h in found.quasi_identifiers.items()},
        "models": [str(model) for model in found.models],
        "sensitive": {name: [str(model) for model in models] for name, models in found.sensitive.items()},
        "identifiers": {n: None if p is None else [p.consistent, p.prefix] for n, p in found.identifiers.items()},
        "keep": list(found.keep),
        "options": dict(found.options),
        "schema": found.schema.name,
    }
    assert said == json.loads((ANONYMIZE / "anon.said.json").read_text(encoding="utf-8"))


def test_a_configuration_gives_the_same_table(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "old")
    folder, released = tmp_path / "old" / "anonymize", tmp_path / "released.csv"
    (folder / "pseudonyms.key").chmod(0o600)
    asked = [
        "anonymize",
        str(folder / "patients.csv"),
        "--config",
        str(folder / "anon.toml"),
        "--output",
        str(released),
    ]
    done = CliRunner().invoke(cli, asked)
    assert done.exit_code == 0, done.output
    # The key of the pseudonyms is the same, so they are, too.
    table = pd.read_csv(released, dtype=str, keep_default_na=False)
    assert rows_of(table) == stored_rows("anon.applied.csv") and len(table) == 110
