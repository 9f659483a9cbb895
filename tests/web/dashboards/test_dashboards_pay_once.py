"""Publishing pays once, before a row is read; each organisation pays once to look; budgets stop collusion."""

from __future__ import annotations

from typing import Any

import pytest

from pydplib.budget.keys import canonical_json
from pydplib.budget.units import NANO
from pydplib.errors import BudgetError, ParameterError, PolicyError, ReceiptError
from pydplib.web.analyses.models import Analysis
from pydplib.web.auditlog.models import Line
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.editions import count_records, publish
from pydplib.web.dashboards.models import Dashboard
from pydplib.web.dashboards.plans import schema_of
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger

ALL = ("2", "3", "4", "5", "reports-by-year", "age-by-year")


def spent(recipient: str) -> int:
    account = rows.Account.objects.filter(recipient=recipient).first()
    return 0 if account is None else account.nano_epsilon


def test_prices_are_public_facts_and_spend_nothing(planned: Any) -> None:
    dashboard = planned(count=False)
    bill = bill_for(dashboard)
    assert (bill.size, bill.can_publish) == (50_000_000, False)
    assert bill.lines[0].prices is None
    assert not rows.Entry.objects.exists()


def test_publishing_without_counting_is_refused(planned: Any, study: Any) -> None:
    with pytest.raises(ParameterError, match="count them"):
        publish(study.owner, planned(count=False), agreed=0)
    assert not rows.Release.objects.exists()


def test_publishing_pays_what_the_page_said_and_a_look_spends_nothing(planned: Any, study: Any, browser: Any) -> None:
    dashboard = planned(names=ALL)
    before = spent("dashboard:third_party")
    bill = bill_for(dashboard)
    publish(study.owner, dashboard, agreed=bill.nano)
    after = spent("dashboard:third_party")
    assert after - before == bill.nano > 0
    assert spent("") == after, "the data set pays as well"
    entries = rows.Entry.objects.count()
    for role in ("third_party", "owner"):
        assert browser(role).get(f"/dashboards/{dashboard.key}").status_code == 200
    assert (rows.Entry.objects.count(), spent("dashboard:third_party")) == (entries, after)
    assert spent(study.people["third_party"].hospital.key) == 0
    DatabaseLedger().verify()


def test_the_figures_of_a_page_are_one_workload_with_one_price_and_one_entry(
    planned: Any, study: Any, received: Any, releases_of: Any
) -> None:
    dashboard = planned(names=("2", "3", "4", "5"))
    bill = bill_for(dashboard)
    assert bill.page is not None and bill.nano == bill.page.price.total < bill.page.alone
    assert [line.cost for line in bill.lines] == ["in the price of the page"] * 4
    assert len(bill.page.questions) == 3  # Figures 2 and 3 ask the same table
    before, whole = rows.Release.objects.count(), spent("")
    publish(study.owner, dashboard, agreed=bill.nano)
    assert rows.Release.objects.count() == before + 1
    assert spent("") - whole == bill.nano
    (digest,) = {item.digest for item in Analysis.objects.filter(recipient="dashboard:third_party").exclude(part="")}
    debits = [entry for entry in DatabaseLedger().entries(recipient="dashboard:third_party") if entry.release == digest]
    assert [entry.cost.nano_epsilon for entry in debits if entry.cost is not None] == [bill.nano]
    # No margin is larger than alone, and sums that two figures share agree.
    scores, findings, ages = (releases_of(dashboard.edition.shown.get(name=name))[0] for name in "245")
    for release in (scores, findings, ages):
        asked = dict(zip([canonical_json(q.canonical(schema_of(study.project))) for q in bill.page.questions],
                         bill.page.each, strict=True))  # fmt: skip
        alone = 3 * 2.9958 / asked[canonical_json(dict(release.question))]
        assert max(release.margins) <= 1.001 * alone
    for release in (scores, findings):
        assert (release.value.sum(axis=1) <= ages.value + 1e-3).all()  # all but those with another score or none
    # Another organisation of the audience pays the same cost into its own account, and the data set not again.
    whole, mine = spent(""), study.people["third_party"].hospital.key
    received(dashboard)
    assert spent("") == whole and spent(mine) >= bill.nano
    # Published again, it costs nothing.
    assert bill_for(dashboard).nano == 0
    DatabaseLedger().verify()


def test_a_table_that_two_figures_share_is_paid_once(planned: Any) -> None:
    bill = bill_for(planned(names=("2", "3")))
    assert bill.lines[0].nano == bill.nano > 0
    assert bill.lines[1].nano == 0
    assert bill.lines[1].margins == ("Drawn from the same answers as above.",)


def test_publishing_again_costs_nothing_and_shows_the_same_answers(published: Any, study: Any) -> None:
    dashboard = published(names=("2", "reports-by-year"))
    first = [item.answers for item in dashboard.edition.shown.all()]
    paid = spent("dashboard:third_party")
    bill = bill_for(dashboard)
    assert bill.nano == 0
    assert publish(study.owner, dashboard, agreed=0).number == 2
    assert [item.answers for item in dashboard.edition.shown.all()] == first
    assert spent("dashboard:third_party") == paid


def test_another_dashboard_of_the_audience_shares_what_was_paid(published: Any, planned: Any) -> None:
    published(names=("reports-by-year",))
    assert bill_for(planned(names=("reports-by-year",))).nano == 0


def test_two_audiences_get_different_noise_and_answers(sized: Any, published: Any, releases_of: Any) -> None:
    partner, friend = published("third_party"), published("collaborator")
    (first,), (second,) = (releases_of(item.edition.shown.get()) for item in (partner, friend))
    assert second.epsilon == pytest.approx(2 * first.epsilon, rel=1e-3)  # half the noise
    assert first.key != second.key
    assert first.values != second.values
    assert spent("") == spent("dashboard:third_party") + spent("dashboard:collaborator")


def test_the_owners_own_dashboard_has_low_noise(sized: Any, published: Any, releases_of: Any) -> None:
    owners, partners = (releases_of(published(who).edition.shown.get())[0] for who in ("owner", "third_party"))
    assert owners.epsilon == pytest.approx(6 * partners.epsilon, rel=1e-3)  # 2.5 % and 15 % of noise


def test_the_owners_count_has_a_price_that_the_page_says(planned: Any, study: Any) -> None:
    dashboard = planned("owner", count=False)
    assert bill_for(dashboard).size == 100_000_000
    count_records(study.owner, dashboard)
    assert spent("dashboard:owner") == 100_000_000
    assert bill_for(dashboard).size is None


def test_a_price_that_changed_is_shown_again(planned: Any, study: Any) -> None:
    dashboard = planned()
    agreed = bill_for(dashboard).nano
    plans.add_ready_made(study.owner, dashboard, ["age-by-year"])
    with pytest.raises(ParameterError, match="not what you agreed to"):
        publish(study.owner, dashboard, agreed=agreed)
    assert dashboard.editions.count() == 0


def test_a_budget_that_cannot_pay_for_all_spends_nothing_and_is_logged(planned: Any, study: Any) -> None:
    dashboard = planned(names=("2", "4"))
    study.project.dashboard_budgets = {"third_party": 0.6}
    study.project.save()
    dashboard.refresh_from_db()
    before, bill = spent("dashboard:third_party"), bill_for(dashboard)
    assert (bill.own.after, bill.can_publish) == (None, False)
    with pytest.raises(BudgetError) as refusal:
        publish(study.owner, dashboard, agreed=bill.nano)
    assert refusal.value.asked == f"epsilon {bill.total}" and 0.6 < bill.nano / NANO < 1.0
    assert spent("dashboard:third_party") == before
    assert Line.objects.filter(action="dashboard.refuse").count() == 1


def test_colluding_audiences_are_stopped_by_the_data_sets_budget(planned: Any, study: Any) -> None:
    partner, friend = planned("third_party", ("2",)), planned("collaborator", ("2",))
    publish(study.owner, partner, agreed=bill_for(partner).nano)
    study.project.data_set_budget = 1.2
    study.project.save()
    friend.refresh_from_db()
    bill = bill_for(friend)
    assert bill.own.after is not None
    assert bill.whole.after is None
    with pytest.raises(BudgetError, match="data set's own budget"):
        publish(study.owner, friend, agreed=bill.nano)
    assert friend.editions.count() == 0
    assert spent("") <= 1_200_000_000


def test_a_new_snapshot_changes_nothing_until_the_owner_refreshes(published: Any, study: Any) -> None:
    from pydplib.web.intake.snapshots import make_snapshot
    from pydplib.web.intake.snapshots import publish as publish_snapshot

    dashboard = published()
    before = [item.answers for item in dashboard.edition.shown.all()]
    publish_snapshot(make_snapshot(study.project, actor=study.owner), actor=study.owner)
    assert [item.answers for item in dashboard.edition.shown.all()] == before
    assert bill_for(dashboard).size == 50_000_000, "the new state is counted, and paid, again"
    count_records(study.owner, dashboard)
    bill = bill_for(dashboard)
    assert bill.nano > 0
    publish(study.owner, dashboard, agreed=bill.nano)
    assert [item.answers for item in dashboard.edition.shown.all()] != before


def test_an_analysis_of_the_own_organisation_is_shared_at_its_price(planned: Any, study: Any) -> None:
    import pydplib as dp
    from pydplib.release.prices import Accuracy
    from pydplib.web.analyses.payments.purchases import ask
    from pydplib.web.projects.models import Member

    answered = ask(
        study.project, study.owner, Member.as_role("owner"), dp.Count(by="bph"), Accuracy(epsilon=0.2), title="BPH"
    )
    dashboard = planned(names=())
    plans.add_analysis(study.owner, dashboard, answered.key)
    whole = spent("")
    bill = bill_for(dashboard)
    assert bill.nano == 200_000_000
    publish(study.owner, dashboard, agreed=bill.nano)
    shown = Analysis.objects.get(key=dashboard.edition.shown.get().answers[0])
    assert shown.digest == answered.digest, "the same bytes"
    assert spent("") == whole, "the data set has paid already"


def test_an_analysis_with_less_noise_than_the_policy_gives_is_refused(planned: Any, study: Any) -> None:
    import pydplib as dp
    from pydplib.release.prices import Accuracy
    from pydplib.web.analyses.payments.purchases import ask
    from pydplib.web.projects.models import Member

    answered = ask(study.project, study.owner, Member.as_role("owner"), dp.Count(by="bph"), Accuracy(epsilon=0.9))
    dashboard = planned(names=())
    plans.add_analysis(study.owner, dashboard, answered.key)
    bill = bill_for(dashboard)
    assert bill.problems
    assert not bill.can_publish
    with pytest.raises(ParameterError):
        publish(study.owner, dashboard, agreed=bill.nano)


def test_fields_that_the_policy_does_not_open_cannot_be_published(planned: Any, study: Any) -> None:
    study.project.rules.filter(audience="third_party").update(fields=["year"])
    dashboard = planned(names=("reports-by-year", "age-by-year"))
    bill = bill_for(dashboard)
    assert [bool(line.problem) for line in bill.lines] == [False, True]


def test_without_a_published_snapshot_nothing_can_be_priced(planned: Any, study: Any) -> None:
    dashboard = planned()
    study.project.snapshots.update(published=None)
    with pytest.raises(PolicyError, match="published"):
        bill_for(dashboard)


def test_a_crash_in_the_middle_shows_nothing_and_wastes_nothing(
    planned: Any, study: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.dashboards import editions

    dashboard = planned(names=("reports-by-year", "age-by-year"))
    bill, real = bill_for(dashboard), editions.keep
    calls = []

    def fail(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("killed")
        return real(*args, **more)

    with monkeypatch.context() as patched:
        patched.setattr(editions, "keep", fail)
        with pytest.raises(RuntimeError):
            publish(study.owner, dashboard, agreed=bill.nano)
    assert Dashboard.objects.get(pk=dashboard.pk).edition is None
    again = bill_for(dashboard)
    assert again.nano == 0
    publish(study.owner, dashboard, agreed=0)
    assert dashboard.edition.shown.count() == 2
    assert spent("dashboard:third_party") == 50_000_000 + bill.nano


def test_the_budget_is_lowered_at_once_and_raised_by_two_owners(planned: Any, study: Any, browser: Any) -> None:
    from pydplib.web.projects.models import AccessRequest, Project

    olivia, second = browser("owner"), browser("second_owner")
    address = f"/dashboards/budget/third_party?project={study.project.key}"
    assert olivia.post(address, {"budget": "0.3"}).status_code == 302
    study.project.refresh_from_db()
    dashboard = planned(names=("2",))
    assert bill_for(dashboard).own.after is None
    assert olivia.post(address, {"budget": "1.5", "reason": "Figure 2"}).status_code == 302
    assert Project.objects.get(pk=study.project.pk).dashboard_budget("third_party") == 0.3
    request = AccessRequest.objects.get(beneficiary="dashboard:third_party")
    assert "Dashboards for third party" in second.get(f"/requests/{request.key}").content.decode()
    second.post(f"/requests/{request.key}/decide", {"decision": "approve", "reason": "Fine"})
    dashboard = Dashboard.objects.get(pk=dashboard.pk)
    bill = bill_for(dashboard)
    assert (dashboard.project.dashboard_budget("third_party"), bill.can_publish) == (1.5, True)
    publish(study.owner, dashboard, agreed=bill.nano)
    paid_under = DatabaseLedger().last_limit(lineage=study.project.key, recipient="dashboard:third_party")
    assert paid_under is not None and paid_under.nano_epsilon == 1_500_000_000
    DatabaseLedger().verify()


def test_raising_alone_is_refused(study: Any, browser: Any) -> None:
    from pydplib.web.projects.policy.rules import lower_dashboard_budget

    with pytest.raises(PolicyError, match="two owners"):
        lower_dashboard_budget(study.owner, study.project, "third_party", 7.0)
    address = f"/dashboards/budget/third_party?project={study.project.key}"
    assert browser("owner").post(address, {"budget": "7"}).status_code == 422, "a reason is needed"


def test_a_damaged_receipt_key_stops_publishing_before_anything_is_paid(planned: Any, study: Any) -> None:
    from django.conf import settings

    from pydplib.web.analyses.receipts.keys import check_can_sign

    dashboard = planned()
    check_can_sign(study.project.hospital)  # makes the key
    (file,) = (settings.CONFIGURATION.home / "keys" / "receipts").glob("*.key")
    good, entries, bill = file.read_text(), rows.Entry.objects.count(), bill_for(dashboard)
    file.write_text("not a key")
    with pytest.raises(ReceiptError, match="nothing was spent"):
        publish(study.owner, dashboard, agreed=bill.nano)
    assert rows.Entry.objects.count() == entries
    assert dashboard.editions.count() == 0
    file.write_text(good)
    publish(study.owner, dashboard, agreed=bill.nano)


def test_a_page_from_before_another_edition_publishes_nothing(planned: Any, study: Any) -> None:
    dashboard = planned()
    agreed = bill_for(dashboard).nano
    first = publish(study.owner, dashboard, agreed=agreed, after=0)
    assert publish(study.owner, dashboard, agreed=agreed, after=0) == first, "the same press twice"
    with pytest.raises(ParameterError, match="published since you looked"):
        publish(study.people["second_owner"], dashboard, agreed=agreed, after=0)
    plans.edit_dashboard(study.owner, dashboard, title="Another", intro="")
    with pytest.raises(ParameterError, match="published since you looked"):
        publish(study.owner, dashboard, agreed=agreed, after=0)
    assert publish(study.owner, dashboard, agreed=0, after=1).number == 2
