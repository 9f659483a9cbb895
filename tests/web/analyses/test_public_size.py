"""What the owner says about the number of people when publishing, and what prices say then."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import make_snapshot, people_in
from pydplib.web.ledger import models as rows

ASKED = {"kind": "histogram", "field": "pirads", "accuracy": "high"}


@pytest.fixture
def fresh(study: Any) -> Snapshot:
    """A snapshot that is not published yet."""
    return make_snapshot(study.project, actor=study.owner)


def _price(client: Any) -> str:
    page = client.get("/analyses/new", ASKED).content.decode()
    return re.sub(r"<[^>]+>|\s+", " ", page[page.find('id="price"') :])


def _publish(owner: Any, snapshot: Snapshot, **fields: Any) -> Any:
    return owner.post(f"/snapshots/{snapshot.key}/publish", fields)


def test_a_declared_size_makes_prices_exact_and_costs_nothing(tara: Any, owner: Any, fresh: Snapshot) -> None:
    before = _price(tara)
    assert "at most 0.55" in before and "This is the most expensive case" in before
    assert b"stays private" in owner.get(f"/snapshots/{fresh.key}/publish").content
    assert _publish(owner, fresh, size="declared", people=str(people_in(fresh))).status_code == 302
    assert Snapshot.objects.get(pk=fresh.pk).declared_size == people_in(fresh)
    after = _price(tara)
    assert "at most 0." not in after and "included in the price" not in after and "most expensive case" not in after
    assert not rows.Account.objects.exists()


def test_a_noisy_size_costs_what_the_owner_types_once_and_everybody(
    tara: Any, partner: Any, owner: Any, fresh: Snapshot, study: Any
) -> None:
    other = partner("carl", "collaborator", "Bcme")
    assert _publish(owner, fresh, size="noisy").status_code == 422, "there is no default"
    assert _publish(owner, fresh, size="noisy", epsilon="0.02").status_code == 302
    spent = dict(rows.Account.objects.values_list("recipient", "nano_epsilon"))
    assert {spent[each.hospital.key] for each in (tara.user, other.user, owner.user)} == {20_000_000}
    assert [amount for recipient, amount in spent.items() if not recipient] == [20_000_000], "the data set pays once"
    assert "at most 0." not in _price(tara)
    assert dict(rows.Account.objects.values_list("recipient", "nano_epsilon")) == spent, "a look spends nothing"


def test_what_was_said_goes_on_with_later_snapshots_and_nothing_is_bought_by_itself(
    owner: Any, fresh: Snapshot, study: Any
) -> None:
    _publish(owner, fresh, size="declared", people=str(people_in(fresh)))
    owner.post("/snapshots", {"publish": "1"})
    last = Snapshot.objects.filter(project=study.project).first()
    assert last.pk != fresh.pk and last.published and last.declared_size == people_in(fresh)
    assert not rows.Account.objects.exists()


@pytest.mark.parametrize("people", ["", "0", "100000", "x"])
def test_a_size_that_is_none_is_refused(owner: Any, fresh: Snapshot, people: str) -> None:
    assert _publish(owner, fresh, size="declared", people=people).status_code == 422
    assert Snapshot.objects.get(pk=fresh.pk).published is None
