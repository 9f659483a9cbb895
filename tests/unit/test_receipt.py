from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import pydplib as dp
from pydplib.cli import LazyGroup
from pydplib.cli.platform.receipt import command
from pydplib.errors import ReceiptError
from pydplib.receipt import Receipt, key_id, new_signing_key, public_key_text, read_public_keys


@pytest.fixture(scope="module")
def key():
    return new_signing_key()


@pytest.fixture(scope="module")
def release():
    schema = dp.Schema({"age": dp.Number(18, 100, step=1)}, size=900, name="reports")
    table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 300}), schema)
    return dp.Session(table, recipient="acme", role="third_party").release(dp.Mean("age"), epsilon=0.2)


@pytest.fixture(scope="module")
def payload(release) -> bytes:
    return release.to_json().encode()


@pytest.fixture
def receipt(release, payload, key) -> Receipt:
    made = Receipt.of(
        release, payload, data="2018-12", template="pirads 2.1", issuer="St. Example", issued="2026-01-01"
    )
    return made.signed(key)


def test_a_receipt_says_what_was_paid_and_holds_no_value(receipt: Receipt, release) -> None:
    assert receipt.release == release.key
    assert receipt.epsilon == "0.2"
    assert receipt.guarantee == release.guarantee.sentence
    assert str(release.value) not in receipt.to_json()


def test_a_genuine_receipt_verifies_after_a_round_trip(receipt: Receipt, key, payload: bytes) -> None:
    again = Receipt.from_json(receipt.to_json())
    assert again == receipt
    assert again.verify([new_signing_key().public_key(), key.public_key()]) == receipt
    assert again.matches(payload)
    assert not again.matches(payload + b" ")


@pytest.mark.parametrize("name", [item.name for item in fields(Receipt)])
def test_a_receipt_with_any_word_changed_is_refused(receipt: Receipt, key, name: str) -> None:
    forged = replace(receipt, **{name: getattr(receipt, name) + "0"})
    with pytest.raises(ReceiptError):
        forged.verify([key.public_key()])


def test_a_receipt_signed_by_a_stranger_is_refused(receipt: Receipt) -> None:
    with pytest.raises(ReceiptError, match="not among those given"):
        receipt.verify([new_signing_key().public_key()])


def test_a_stranger_who_borrows_the_key_id_is_refused(receipt: Receipt, key) -> None:
    stranger = replace(receipt.signed(new_signing_key()), key_id=receipt.key_id)
    with pytest.raises(ReceiptError, match="forged"):
        stranger.verify([key.public_key()])


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", '{"format": "pydplib-receipt/2"}', "[" * 100_000, '{"format": "x", "format": "y"}'],
)
def test_what_is_no_receipt_is_refused(text: str) -> None:
    with pytest.raises(ReceiptError, match="not a receipt"):
        Receipt.from_json(text)


def test_a_release_without_a_ledger_has_no_receipt() -> None:
    with pytest.raises(ReceiptError, match="ledger"):
        Receipt.of(dp.count([1, 2], epsilon=1.0), b"", data="", issued="")


def _files(tmp_path: Path, receipt: Receipt, key) -> tuple[str, str]:
    (tmp_path / "receipt.json").write_text(receipt.to_json())
    keys = {"keys": [{"key_id": key_id(key.public_key()), "public_key": public_key_text(key.public_key())}]}
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    return str(tmp_path / "receipt.json"), str(tmp_path / "keys.json")


def test_command_says_what_a_genuine_receipt_says(tmp_path: Path, receipt: Receipt, key, payload: bytes) -> None:
    file, keys = _files(tmp_path, receipt, key)
    (tmp_path / "release.json").write_bytes(payload)
    done = CliRunner().invoke(command, ["verify", file, "--keys", keys, "--release", str(tmp_path / "release.json")])
    assert done.exit_code == 0, done.output
    assert "the issuer's name was not checked then" in done.output and "Genuine" not in done.output
    assert "The values fit" in done.output
    assert "0.2" in done.output


def test_command_names_the_issuer_whose_key_signed_and_refuses_another_issuers_key(
    tmp_path: Path, receipt: Receipt, key
) -> None:
    named = replace(receipt, issuer="St. Example", issuer_id="ab" * 8).signed(key)
    assert Receipt.from_json(named.to_json()) == named and '"pydplib-receipt/2"' in named.to_json()
    (tmp_path / "receipt.json").write_text(named.to_json())
    for issuer, genuine in (("ab" * 8, True), ("cd" * 8, False)):
        document = {"keys": [{"public_key": public_key_text(key.public_key()), "issuer_id": issuer}]}
        (tmp_path / "keys.json").write_text(json.dumps(document))
        arguments = ["verify", str(tmp_path / "receipt.json"), "--keys", str(tmp_path / "keys.json")]
        done = CliRunner().invoke(command, arguments)
        assert (done.exit_code == 0) == genuine
        if genuine:
            assert f"Genuine: signed by St. Example (issuer {'ab' * 8})" in done.output
            assert json.loads(CliRunner().invoke(command, [*arguments, "--json"]).output)["issuer_checked"]
        else:
            assert isinstance(done.exception, ReceiptError) and "another issuer" in str(done.exception)


def test_a_receipt_cannot_change_its_format_or_lose_its_issuer(receipt: Receipt, key) -> None:
    named = replace(receipt, issuer_id="ab" * 8).signed(key)
    with pytest.raises(ReceiptError):
        replace(named, issuer_id="").verify([key.public_key()])
    with pytest.raises(ReceiptError):
        replace(named, issuer_id="cd" * 8).verify([key.public_key()])
    for text in (
        named.to_json().replace("receipt/2", "receipt/1"),
        named.to_json().replace("ab" * 8, ""),
        receipt.to_json().replace("receipt/1", "receipt/2"),
    ):
        with pytest.raises(ReceiptError):
            Receipt.from_json(text)


def test_command_ends_with_its_code_on_a_forged_receipt_and_on_other_values(
    tmp_path: Path, receipt: Receipt, key
) -> None:
    file, keys = _files(tmp_path, replace(receipt, epsilon="0.1"), key)
    done = CliRunner().invoke(command, ["verify", file, "--keys", keys])
    assert isinstance(done.exception, ReceiptError)
    assert done.exception.exit_code == 18
    file, keys = _files(tmp_path, receipt, key)
    (tmp_path / "other.json").write_text("{}")
    done = CliRunner().invoke(command, ["verify", file, "--keys", keys, "--release", str(tmp_path / "other.json")])
    assert isinstance(done.exception, ReceiptError)


def test_keys_are_read_from_lines_too(tmp_path: Path, receipt: Receipt, key) -> None:
    file = tmp_path / "keys.txt"
    file.write_text(f"# our key\n{public_key_text(key.public_key())}\n")
    assert receipt.verify(read_public_keys(file)) == receipt
    file.write_text("")
    with pytest.raises(ReceiptError, match="empty"):
        read_public_keys(file)
    file.write_text("[" * 100_000)
    with pytest.raises(ReceiptError, match="not a public key"):
        read_public_keys(file)


def test_the_command_is_listed() -> None:
    assert "receipt" in LazyGroup().list_commands(None)  # type: ignore[arg-type]
