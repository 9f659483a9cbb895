"""Buying a synthetic table: price and fidelity first, ledger first, one payment, a receipt that verifies."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from pydplib.budget.units import NANO
from pydplib.errors import BudgetError, ParameterError, PolicyError
from pydplib.receipt import Receipt
from pydplib.synthesis import SyntheticTable


def spent(study: Any, user: Any) -> float:
    from pydplib.budget.rules import spent as used
    from pydplib.web.ledger.database import DatabaseLedger

    whose = {"lineage": study.project.key, "recipient": user.hospital.key}
    (account,), limit = DatabaseLedger().accounts(**whose), DatabaseLedger().last_limit(**whose)
    assert limit is not None
    return used(account.state, limit) / NANO


def test_price_shows_both_kinds_of_noise_at_equal_fidelity_and_takes_the_one_that_leaves_more(
    study: Any, tara: Any, asked: Any
) -> None:
    from dataclasses import replace

    from pydplib.web.synthetic.offers import quote

    offer = quote(study.project, tara.user, tara.place, replace(asked, noise="auto"))
    assert [variant.noise for variant in offer.variants] == ["laplace", "gaussian"]
    chosen, other = offer.variants
    assert chosen.expected.margin == pytest.approx(other.expected.margin, rel=0.05)
    assert chosen.price.after is not None and other.price.after is not None
    assert chosen.price.after.nano_epsilon > other.price.after.nano_epsilon
    assert "leaves" in offer.why and chosen.left in offer.why
    many = replace(asked, noise="auto", columns=tuple(offer_columns(study, tara)), relations=(), epsilon=1.0)
    assert quote(study.project, tara.user, tara.place, many).chosen.noise == "gaussian"


def test_api_tells_margin_and_distance_of_each_kind_of_noise(study: Any, tara: Any, asked: Any) -> None:
    from dataclasses import replace

    from pydplib.web.api.routers.synthetic import SyntheticPriceOut
    from pydplib.web.synthetic.offers import quote

    offer = quote(study.project, tara.user, tara.place, replace(asked, noise="auto"))
    told = SyntheticPriceOut.of(offer)
    assert offer.other is not None and told.other is not None
    for said, variant in ((told.chosen, offer.chosen), (told.other, offer.other)):
        assert (said.margin, said.distance) == (variant.expected.margin, variant.expected.distance)
        assert said.margin > 1 and said.noise == variant.noise


def offer_columns(study: Any, tara: Any) -> list[str]:
    from pydplib.web.analyses.question_form.offers import offer_for

    return list(offer_for(study.project, tara.place).fields)[:20]


def test_bought_table_is_paid_once_stored_and_the_same_again(study: Any, tara: Any, asked: Any, bought: Any) -> None:
    from pydplib.web.synthetic.models import SyntheticPurchase
    from pydplib.web.synthetic.purchases import buy
    from pydplib.web.synthetic.tables import table_of

    assert bought.state == "ready", bought.problem
    paid = spent(study, tara.user)
    again = buy(study.project, tara.user, tara.place, asked, at_most=0)
    assert again.pk == bought.pk
    assert spent(study, tara.user) == paid
    assert SyntheticPurchase.objects.count() == 1
    table = table_of(bought)
    assert table.measured[0].columns == ("age", "pirads")
    assert table == SyntheticTable.from_json(table.to_json())


def know_size(study: Any) -> None:
    """Let everybody who may ask pay for the noisy number of records, as when the owner publishes."""
    from pydplib.web.analyses.payments.sizes import buy_sizes
    from pydplib.web.intake.snapshots import published_snapshot

    snapshot = published_snapshot(study.project)
    snapshot.size_nano_epsilon = 50_000_000
    snapshot.save()
    buy_sizes(study.project, snapshot, actor=study.owner)


def test_fidelity_is_expected_from_the_noisy_number_that_was_paid_and_unknown_without_it(
    study: Any, tara: Any, asked: Any
) -> None:
    from pydplib.web.synthetic.offers import quote

    assert quote(study.project, tara.user, tara.place, asked).chosen.expected.distance is None
    know_size(study)
    chosen = quote(study.project, tara.user, tara.place, asked).chosen
    assert chosen.expected.distance is not None and 0 < chosen.expected.distance < 0.1
    assert "columns" in chosen.fidelity and chosen.is_useful in ("useful", "rough")


def test_refusals_spend_nothing_and_leave_no_row(study: Any, tara: Any, asked: Any) -> None:
    from dataclasses import replace

    from pydplib.web.synthetic.models import SyntheticPurchase
    from pydplib.web.synthetic.purchases import buy

    with pytest.raises(BudgetError, match="agreed"):
        buy(study.project, tara.user, tara.place, asked, at_most=0.5)
    with pytest.raises(PolicyError, match="may cost epsilon 1 at most"):
        buy(study.project, tara.user, tara.place, replace(asked, epsilon=1.5))
    know_size(study)
    poor = replace(asked, columns=tuple(offer_columns(study, tara)), relations=(), epsilon=0.2)
    with pytest.raises(ParameterError, match="Take fewer columns, or"):
        buy(study.project, tara.user, tara.place, poor)
    study.project.rules.filter(audience="third_party").update(synthetic=False)
    with pytest.raises(PolicyError, match="not switched on synthetic tables"):
        buy(study.project, tara.user, tara.place, asked)
    assert not SyntheticPurchase.objects.exists()


def test_a_budget_that_cannot_pay_refuses_and_forgets_the_row(study: Any, tara: Any, asked: Any) -> None:
    from dataclasses import replace

    from pydplib.web.auditlog.models import Line
    from pydplib.web.synthetic.models import SyntheticPurchase
    from pydplib.web.synthetic.purchases import buy

    for columns in (("age", "bph"), ("pirads", "bph")):
        assert buy(study.project, tara.user, tara.place, replace(asked, columns=columns, relations=(), epsilon=0.9))
    with pytest.raises(BudgetError):
        buy(study.project, tara.user, tara.place, asked)
    assert SyntheticPurchase.objects.count() == 2
    assert Line.objects.filter(action="analysis.refuse").exists()


@pytest.mark.parametrize("is_factor", [True, False])
@pytest.mark.parametrize("is_paid", [True, False])
def test_terms_that_changed_before_the_end_never_buy_a_second_table(
    study: Any, tara: Any, asked: Any, monkeypatch: pytest.MonkeyPatch, is_paid: bool, is_factor: bool
) -> None:
    """A noise factor means another epsilon once the role's cap is lower: what is paid is made, nothing else is paid."""
    from dataclasses import replace

    from pydplib.web.ledger.database import DatabaseLedger
    from pydplib.web.synthetic import purchases

    know_size(study)
    factor = replace(asked, epsilon=None, noise_factor="high") if is_factor else asked
    with monkeypatch.context() as patch:
        patch.setattr(purchases, "start", lambda row: None)
        if not is_paid:
            patch.setattr(purchases, "_pay", lambda *args, **options: None)
        row = purchases.buy(study.project, tara.user, tara.place, factor)
    before = spent(study, tara.user)
    cap = round(0.8 * row.nano_epsilon / NANO, 3)
    study.project.rules.filter(audience="third_party").update(epsilon_per_question=cap)
    row = type(row).objects.get(pk=row.pk)
    if is_paid:
        purchases.go_on(row, tara.user, tara.place)
        row = type(row).objects.get(pk=row.pk)
        assert row.state == "ready" and row.receipt
        assert tara.get(f"/synthetic/{row.key}").status_code == 200
    else:
        with pytest.raises((ParameterError, PolicyError), match=r"terms have changed|One question may cost"):
            purchases.go_on(row, tara.user, tara.place)
        purchases.start(row)
        assert "not paid yet" in type(row).objects.get(pk=row.pk).problem
    assert spent(study, tara.user) == before
    assert bool(DatabaseLedger().paid_by(row.recipient, [row.digest])) is is_paid


def test_what_is_paid_is_not_made_of_fields_that_the_owner_has_closed_since(
    study: Any, tara: Any, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.synthetic import purchases

    with monkeypatch.context() as patch:
        patch.setattr(purchases, "start", lambda row: None)
        row = purchases.buy(study.project, tara.user, tara.place, asked)
    study.project.rules.filter(audience="third_party").update(synthetic=False)
    purchases.start(row)
    row = type(row).objects.get(pk=row.pk)
    assert row.state != "ready" and row.problem and not row.receipt


def test_progress_tells_what_was_agreed_and_nothing_of_the_noise(
    study: Any, tara: Any, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from pydplib.web import jobs
    from pydplib.web.synthetic import purchases

    told: list[tuple[Any, ...]] = []
    monkeypatch.setattr(jobs.Claim, "tell", lambda claim, **said: told.append(tuple(said.values())))
    purchases.buy(study.project, tara.user, tara.place, replace(asked, find=True))
    assert set(told) == {(None, "Measuring columns and relations"), (99, "Drawing rows")}
    told.clear()
    purchases.buy(study.project, tara.user, tara.place, asked)
    assert [percent for percent, _ in told] == sorted(percent for percent, _ in told) and told[-1][0] == 99
    assert {words for _, words in told} == {"Measuring columns and relations", "Drawing rows"}


def test_who_goes_on_with_what_is_not_paid_is_judged_by_the_role_of_today(
    study: Any, member: Any, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.ledger.database import DatabaseLedger
    from pydplib.web.projects.models import Member
    from pydplib.web.synthetic import purchases

    study.project.rules.filter(audience="collaborator").update(synthetic=True, epsilon_per_question=1.0)
    study.project.rules.filter(audience="third_party").update(epsilon_per_question=0.5)
    carl = member("carl", role="collaborator")
    with monkeypatch.context() as patch:
        patch.setattr(purchases, "_pay", lambda *args, **options: None)
        row = purchases.buy(study.project, carl.user, carl.place, asked)
    assert purchases.is_stalled(row)
    Member.objects.filter(user=carl.user).update(role="third_party")
    with pytest.raises(PolicyError):
        purchases.go_on(row, carl.user, Member.as_role("third_party"))
    assert not DatabaseLedger().paid_by(row.recipient, [row.digest])


def test_pages_from_the_form_to_the_files(study: Any, tara: Any) -> None:
    wanted = {
        "project": study.project.key, "columns": ["age", "pirads", "bph"], "relation1_one": "age",
        "relation1_other": "pirads", "accuracy": "epsilon", "epsilon": "1", "noise": "auto",
    }  # fmt: skip
    page = tara.get("/synthetic/new", wanted)
    assert page.status_code == 200
    found = page.context["found"]
    assert "Left afterwards" in page.text and "Laplace noise" in page.text and "Gaussian noise" in page.text
    assert tara.post("/synthetic/new", wanted | {"agreed": "1"}).status_code == 422
    sent = tara.post("/synthetic/new", wanted | {"agreed": str(found.chosen.price.total), "title": "Ages"})
    assert sent.status_code == 302, sent.text
    page = tara.get(sent["Location"])
    assert page.status_code == 200
    assert "Declared" in page.text and "Figure 2: Patient age" in page.text and "Figure 5" in page.text
    key = sent["Location"].rsplit("/", 1)[-1]
    file = tara.post(f"/synthetic/{key}/download/csv")
    rows = list(csv.DictReader(io.StringIO(file.content.decode())))
    assert set(rows[0]) == {"age", "pirads", "bph"} and len(rows) > 100
    assert tara.post(f"/synthetic/{key}/download/parquet").content[:4] == b"PAR1"
    assert tara.post(f"/synthetic/{key}/download/copies", {"m": "3"}).content[:2] == b"PK"
    payload = tara.post(f"/synthetic/{key}/download/json").content
    receipt = Receipt.from_json(tara.get(f"/synthetic/{key}/receipt").text)
    from pydplib.web.analyses.receipts.keys import issuer_keys

    assert receipt.verify(issuer_keys()).matches(payload)
    assert tara.get(f"/receipts/{receipt.release}").status_code == 200
    assert "Paid and signed here" in tara.get(f"/receipts/{receipt.release}").text
    assert "Ages" in tara.get("/synthetic").text
    assert "Synthetic table of" in tara.get("/budget").text


def test_figures_of_relations_that_were_not_measured_say_so(study: Any, tara: Any) -> None:
    from pydplib.web.synthetic.offers import Asked
    from pydplib.web.synthetic.purchases import buy

    asked = Asked(columns=("age", "pirads", "prostatitis"), epsilon=1.0, noise="laplace")
    row = buy(study.project, tara.user, tara.place, asked)
    page = tara.get(f"/synthetic/{row.key}")
    assert page.text.count("This relation was not measured") == 3  # figures 2, 3 and 4
    answered = tara.get(f"/synthetic/{row.key}", {"what": "share", "column": "age", "by": "pirads"})
    assert answered.context["answer"].is_measured is False


def test_average_ages_have_intervals_where_the_relation_was_measured(study: Any, tara: Any) -> None:
    from pydplib.web.synthetic.offers import Asked
    from pydplib.web.synthetic.purchases import buy

    for relations in ((("pirads", "age"),), ()):
        asked = Asked(columns=("age", "pirads"), relations=relations, epsilon=0.5, noise="laplace")
        row = buy(study.project, tara.user, tara.place, asked)
        page = tara.get(f"/synthetic/{row.key}").content.decode()
        assert ("bars are 95 % intervals for the population" in page) is bool(relations)
        assert ("95 % interval</th>" in page) is bool(relations)


def test_questions_to_a_table_cost_nothing(study: Any, tara: Any, bought: Any) -> None:
    before = spent(study, tara.user)
    page = tara.get(f"/synthetic/{bought.key}", {"what": "average", "column": "age", "by": "pirads"})
    answer = page.context["answer"]
    assert answer.is_measured and answer.heads[-1] == "95 % interval" and len(answer.rows) >= 5
    page = tara.get(f"/synthetic/{bought.key}", {"what": "share", "column": "bph"})
    assert "%" in page.context["answer"].rows[0][-1]
    page = tara.get(f"/synthetic/{bought.key}", {"what": "average", "column": "bph"})
    assert page.status_code == 200 and "needs numbers" in page.text
    assert spent(study, tara.user) == before


def test_withdrawal_closes_everything_but_the_receipt_and_refunds_nothing(
    study: Any, tara: Any, owner: Any, bought: Any
) -> None:
    assert tara.post(f"/synthetic/{bought.key}/download/csv").status_code == 200
    before = spent(study, tara.user)
    sent = owner.post(f"/synthetic/{bought.key}/withdraw", {"reason": "Wrong template."})
    assert sent.status_code == 302
    assert spent(study, tara.user) == before
    page = tara.get(f"/synthetic/{bought.key}")
    assert "Wrong template." in page.text and "table" not in page.context
    assert tara.post(f"/synthetic/{bought.key}/download/csv").status_code == 403
    assert tara.get(f"/synthetic/{bought.key}/receipt").status_code == 200
    assert "Wrong template." in tara.get("/").text
    assert tara.post(f"/synthetic/{bought.key}/deleted").status_code == 302
    assert "Wrong template." not in tara.get("/").text
    assert owner.get(f"/synthetic/{bought.key}").status_code == 200


def test_combinations_that_the_template_rules_out_are_in_no_row(study: Any, tara: Any) -> None:
    from pydplib.web.synthetic.offers import Asked
    from pydplib.web.synthetic.purchases import buy
    from pydplib.web.synthetic.tables import columns_of, table_of

    # A score is asked for unless there is a cancer without one.
    asked = Asked(columns=("pca_no_pirads", "pirads"), epsilon=1.0, noise="laplace")
    row = buy(study.project, tara.user, tara.place, asked)
    rows = columns_of(table_of(row))
    assert any(rows["pca_no_pirads"])
    pairs = zip(rows["pca_no_pirads"], rows["pirads"], strict=True)
    assert all(score is None for without, score in pairs if without is True)
