"""After a restore the ledger waits for the operator: pages say so plainly, with the command for those who answer."""

from __future__ import annotations

from typing import Any

import pytest

import pydplib as dp
from pydplib.web.analyses.asking import Noise, ask
from pydplib.web.ledger.database import DatabaseLedger


@pytest.fixture
def restored(study: Any, tara: Any) -> str:
    """As after `pydplib restore`: entries in the database, no head beside it. Returns the key of an answer."""
    made = ask(study.project, tara.user, tara.place, dp.Count(), Noise(epsilon=0.2))
    DatabaseLedger().head_file.unlink()
    return made.key


def test_pages_after_a_restore_are_plain_pages_not_faults(restored: str, study: Any, tara: Any, owner: Any) -> None:
    where = f"project={study.project.key}"
    for client in (tara, owner):
        for address in (
            "/",
            f"/analyses?{where}",
            f"/analyses/{restored}",
            f"/dashboards?{where}",
            f"/anonymize?{where}",
        ):
            assert client.get(address).status_code in (200, 503), address
    question = {"project": study.project.key, "kind": "count", "accuracy": "epsilon", "epsilon": "0.1"}
    page = owner.get("/analyses/new", question)
    words = page.content.decode()
    assert page.status_code == 503 and "Answers are paused" in words
    assert "pydplib ledger accept --home FOLDER" in words and "That did not work" not in words.split("<h1")[1]
    page = tara.get("/analyses/new", question)
    words = page.content.decode()
    assert page.status_code == 503 and "Answers are paused" in words
    assert "pydplib ledger" not in words and "ledger.head" not in words and "entries" not in words


def test_the_budget_page_names_the_command_to_owners_alone(restored: str, tara: Any, owner: Any) -> None:
    assert "pydplib ledger accept" in owner.get("/budget").content.decode()
    assert "pydplib ledger accept" not in tara.get("/budget").content.decode()


def test_a_rolled_back_ledger_pauses_too_and_goes_on_once_accepted(study: Any, tara: Any, owner: Any) -> None:
    from django.db import transaction

    question = {"project": study.project.key, "kind": "count", "accuracy": "epsilon", "epsilon": "0.1"}
    point = transaction.savepoint()
    ask(study.project, tara.user, tara.place, dp.Count(), Noise(epsilon=0.2))
    transaction.savepoint_rollback(point)
    page = owner.get("/analyses/new", question)
    assert page.status_code == 503 and "rolled back" in page.content.decode()
    DatabaseLedger().accept()
    assert owner.get("/analyses/new", question).status_code == 200
