"""What limit and bounds leave out: the owner looks, everybody else buys a noisy histogram with the publication."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pydplib.web.auditlog.models import Line
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import load_snapshot, make_snapshot, publish
from pydplib.web.ledger import models as rows


@pytest.fixture
def fresh(study: Any) -> Snapshot:
    """A snapshot that is not published yet."""
    return make_snapshot(study.project, actor=study.owner)


def _words(response: Any) -> str:
    return re.sub(r"<[^>]+>|\s+", " ", response.content.decode())


def test_owner_sees_exact_numbers_on_request_only_and_the_look_is_logged(owner: Any, fresh: Snapshot) -> None:
    address = f"/snapshots/{fresh.key}/publish"
    with load_snapshot(fresh) as table:
        lines = [text for _, text in table.check().lines()]
    page = _words(owner.get(address))
    assert "Look at how much that leaves out" in page and not [text for text in lines if text in page]
    page = _words(owner.post(address, {"look": "1"}))
    assert not [text for text in lines if text not in page]
    assert "the guarantee does not cover that choice" in page
    assert Snapshot.objects.get(pk=fresh.pk).published is None
    entry = Line.objects.filter(action="snapshot.look").get()
    assert not [text for text in lines if text in str(entry.facts)]


def test_partners_cannot_look(tara: Any, fresh: Snapshot) -> None:
    assert tara.post(f"/snapshots/{fresh.key}/publish", {"look": "1"}).status_code in (403, 404)


def test_histogram_of_rows_is_bought_once_with_the_publication_and_then_said(
    tara: Any, partner: Any, owner: Any, fresh: Snapshot, study: Any
) -> None:
    other = partner("carl", "collaborator", "Bcme")
    answer = owner.post(f"/snapshots/{fresh.key}/publish", {"size": "private", "limit_epsilon": "0.05"})
    assert answer.status_code == 302
    spent = dict(rows.Account.objects.values_list("recipient", "nano_epsilon"))
    assert {spent[each.hospital.key] for each in (tara.user, other.user, owner.user)} == {50_000_000}
    assert [amount for recipient, amount in spent.items() if not recipient] == [50_000_000], "the data set pays once"
    from pydplib.web.analyses.payments.sessions import open_session

    member = study.project.members.get(user=tara.user)
    session, _ = open_session(study.project, tara.user, member)
    import pydplib as dp

    with session.table:
        release = session.release(dp.Count(), epsilon=0.1)
    assert "beyond the limit of" in str(release) and "per person count in full" in release.counted


def test_data_sets_remainder_is_shown_to_owners_and_to_nobody_else(
    tara: Any, owner: Any, fresh: Snapshot, study: Any
) -> None:
    from pydplib.web.analyses.payments.sessions import open_session

    publish(fresh, actor=study.owner)
    for client, shows in ((owner, True), (tara, False)):
        member = study.project.members.get(user=client.user)
        session, _ = open_session(study.project, client.user, member, preview=True)
        assert session._purse.shows_whole is shows, client.user
