"""Reserve, finish, repeat, share, refuse: the same on every ledger."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pydplib.budget import Cost, Ledger, Limits, MemoryLedger, ReleaseKey, State, StoreLedger
from pydplib.errors import BudgetError, LedgerError, ParameterError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP

MakeKey = Callable[..., ReleaseKey]


@pytest.fixture
def book(ledger: StoreLedger) -> StoreLedger:
    """A data set with budget 10, acme with 1, uni with 0.5."""
    ledger.open_account(lineage="reports", limit=PureDP(10.0))
    ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
    ledger.open_account(lineage="reports", recipient="uni", limit=PureDP(0.5))
    return ledger


def left(ledger: StoreLedger, recipient: str | None = None, **more: Any) -> int:
    return ledger.remaining(lineage="reports", recipient=recipient, **more).nano_epsilon


def ask(ledger: StoreLedger, key: ReleaseKey, recipient: str = "acme", payload: bytes = b"answer") -> bytes:
    return ledger.finish(ledger.reserve(key, recipient=recipient, role="third_party"), payload)


def test_ledgers_fulfil_the_protocol(ledger: StoreLedger) -> None:
    assert isinstance(ledger, Ledger)


def test_reserve_debits_recipient_and_lineage_before_any_answer(book: StoreLedger, make_key: MakeKey) -> None:
    reservation = book.reserve(make_key(), recipient="acme", role="third_party")
    assert (reservation.state, reservation.charged, reservation.payload) == ("new", True, None)
    assert (left(book, "acme"), left(book)) == (800_000_000, 9_800_000_000)
    entry = book.entries()[reservation.entry - 1]
    assert (entry.kind, entry.recipient, entry.role, entry.cost) == ("debit", "acme", "third_party", make_key().cost)
    assert (entry.question_hash, entry.release) == (make_key().question_hash, make_key().digest)


def test_same_question_again_is_free_and_byte_identical(book: StoreLedger, make_key: MakeKey) -> None:
    first = ask(book, make_key(), payload=b"\x00\xffexact bytes")
    before = (left(book, "acme"), left(book), len(book.entries()))
    again = book.reserve(make_key(), recipient="acme", role="third_party")
    assert (again.state, again.charged, again.payload) == ("done", False, first)
    assert book.finish(again, b"another draw of the noise") == first
    assert (left(book, "acme"), left(book), len(book.entries())) == before


def test_reserved_release_is_finished_at_the_next_ask_without_a_debit(book: StoreLedger, make_key: MakeKey) -> None:
    book.reserve(make_key(), recipient="acme", role="third_party")  # and then the program dies
    before = (left(book, "acme"), left(book))
    again = book.reserve(make_key(), recipient="acme", role="third_party")
    assert (again.state, again.charged, again.payload) == ("pending", False, None)
    assert book.finish(again, b"value") == b"value"
    assert (left(book, "acme"), left(book)) == before


def test_first_writer_wins_and_both_show_its_bytes(book: StoreLedger, make_key: MakeKey) -> None:
    one = book.reserve(make_key(), recipient="acme", role="third_party")
    two = book.reserve(make_key(), recipient="acme", role="third_party")
    assert book.finish(two, b"second asker") == b"second asker"
    assert book.finish(one, b"first asker") == b"second asker"
    assert sum(entry.kind == "answer" for entry in book.entries()) == 1


def test_another_recipient_gets_the_same_bytes_pays_himself_and_not_the_lineage(
    book: StoreLedger, make_key: MakeKey
) -> None:
    first = ask(book, make_key())
    lineage = left(book)
    other = book.reserve(make_key(), recipient="uni", role="collaborator")
    assert (other.state, other.charged, other.payload) == ("done", True, first)
    assert (left(book, "uni"), left(book)) == (300_000_000, lineage)
    assert book.entries()[-1].kind == "share"
    assert not book.reserve(make_key(), recipient="uni", role="collaborator").charged


def test_another_recipient_may_finish_what_the_first_left_pending(book: StoreLedger, make_key: MakeKey) -> None:
    mine = book.reserve(make_key(), recipient="acme", role="third_party")
    lineage = left(book)
    theirs = book.reserve(make_key(), recipient="uni", role="collaborator")
    assert (theirs.state, theirs.charged, left(book)) == ("pending", True, lineage)
    assert book.finish(theirs, b"theirs") == b"theirs"
    assert book.finish(mine, b"mine") == b"theirs"


def test_another_recipient_without_the_means_gets_nothing(book: StoreLedger, make_key: MakeKey) -> None:
    ask(book, make_key(epsilon=0.6))
    with pytest.raises(BudgetError) as caught:
        book.reserve(make_key(epsilon=0.6), recipient="uni", role="collaborator")
    assert (caught.value.asked, caught.value.left) == ("epsilon 0.6", "epsilon 0.5 of 0.5")
    assert left(book, "uni") == 500_000_000


def test_refusal_shows_asked_and_left_and_spends_nothing(book: StoreLedger, make_key: MakeKey) -> None:
    ask(book, make_key(1, 0.7))
    with pytest.raises(BudgetError, match=r"asked epsilon 0\.4, left epsilon 0\.3 of 1") as caught:
        book.reserve(make_key(2, 0.4), recipient="acme", role="third_party")
    assert (caught.value.asked, caught.value.left) == ("epsilon 0.4", "epsilon 0.3 of 1")
    assert (left(book, "acme"), left(book)) == (300_000_000, 9_300_000_000)
    last = book.entries()[-1]
    assert (last.kind, last.details["account"], last.details["why"]) == ("refusal", "recipient", "epsilon")


def test_refusal_by_the_lineage_does_not_tell_its_remainder(ledger: StoreLedger, make_key: MakeKey) -> None:
    ledger.open_account(lineage="reports", limit=PureDP(0.7654321))
    for name in ("acme", "uni"):
        ledger.open_account(lineage="reports", recipient=name, limit=PureDP(5.0))
    ask(ledger, make_key(1, 0.5), "uni")
    with pytest.raises(BudgetError) as caught:
        ledger.reserve(make_key(2, 0.3), recipient="acme", role="third_party")
    shown = f"{caught.value} {caught.value!r} {caught.value.args} {caught.value.asked} {caught.value.left}"
    assert caught.value.left is None
    assert "asked epsilon 0.3" in shown
    for secret in ("0.2654321", "0.7654321", "0.5", "uni"):
        assert secret not in shown
    assert left(ledger, "acme") == 5 * 10**9
    assert ledger.entries()[-1].details == {"account": "lineage", "why": "epsilon"}


def test_two_colluding_recipients_are_stopped_by_the_lineage(ledger: StoreLedger, make_key: MakeKey) -> None:
    ledger.open_account(lineage="reports", limit=PureDP(1.0))
    granted = 0
    for name in ("acme", "uni"):
        ledger.open_account(lineage="reports", recipient=name, limit=PureDP(1.0))
        for number in range(10):
            try:
                ask(ledger, make_key(f"{name} {number}", 0.1), name)
                granted += 1
            except BudgetError:
                pass
    assert (granted, left(ledger)) == (10, 0)


def test_new_snapshots_share_the_budget_of_their_lineage(book: StoreLedger, make_key: MakeKey) -> None:
    cost = Cost.pure(0.4, mechanism="laplace")
    for snapshot in ("2017", "2018"):
        ask(book, ReleaseKey(lineage="reports", snapshot=snapshot, question={"ask": "count"}, cost=cost))
    assert left(book, "acme") == 200_000_000


def test_reserve_without_an_account_is_refused_for_recipient_and_lineage(
    ledger: StoreLedger, make_key: MakeKey
) -> None:
    with pytest.raises(BudgetError, match="No budget is open for 'acme'") as caught:
        ledger.reserve(make_key(), recipient="acme", role="third_party")
    assert caught.value.left == "no budget"
    ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
    with pytest.raises(BudgetError, match="No budget is open for the data set"):
        ledger.reserve(make_key(), recipient="acme", role="third_party")
    assert left(ledger, "acme") == 10**9


def test_relations_are_accounted_apart(book: StoreLedger, make_key: MakeKey) -> None:
    local = make_key(cost=Cost.pure(3, mechanism="randomized_response", relation="local"))
    with pytest.raises(BudgetError, match="'local' relation"):
        book.reserve(local, recipient="acme", role="third_party")
    book.open_account(lineage="reports", limit=LocalDP(10.0))
    book.open_account(lineage="reports", recipient="acme", limit=LocalDP(4.0))
    ask(book, local)
    assert (left(book, "acme", relation="local"), left(book, "acme")) == (10**9, 10**9)
    swapped = make_key(cost=Cost.pure(0.4, mechanism="laplace").to_substitute())
    with pytest.raises(BudgetError, match="'substitute' relation"):
        book.reserve(swapped, recipient="acme", role="third_party")


def test_pure_account_says_why_gaussian_noise_is_refused(book: StoreLedger, make_key: MakeKey) -> None:
    gaussian = make_key(cost=Cost.gaussian(sensitivity_squared=1, variance=50))
    with pytest.raises(BudgetError, match="need ApproxDP"):
        book.reserve(gaussian, recipient="acme", role="third_party")


def test_approx_accounts_pay_for_gaussian_noise_and_unknown_keys(ledger: StoreLedger, make_key: MakeKey) -> None:
    ledger.open_account(lineage="reports", limit=ApproxDP(10.0, 1e-6))
    ledger.open_account(lineage="reports", recipient="acme", limit=ApproxDP(2.0, 1e-6))
    ask(ledger, make_key(1, cost=Cost.gaussian(sensitivity_squared=1, variance=500)))
    ask(ledger, make_key(2, cost=Cost.approximate(0.1, delta=1e-7, mechanism="unknown_keys")))
    account = ledger.accounts(recipient="acme")[0]
    assert account.state == State(100_000_000, 1_000_000 + 5_000_000, 10**11, nano_gaussian=1_000_000)
    assert ledger.remaining(lineage="reports", recipient="acme").delta == 4e-7
    ledger.verify()


def test_thousand_small_questions_fit_epsilon_one_point_one(make_key: MakeKey) -> None:
    ledger = MemoryLedger()
    for recipient in (None, "acme"):
        ledger.open_account(lineage="reports", recipient=recipient, limit=ApproxDP(1.1, 1e-6))
    for number in range(1000):
        ask(ledger, make_key(number, 0.0072))
    assert ledger.accounts(recipient="acme")[0].state.nano_epsilon == 7_200_000_000


def test_open_account_twice_with_the_same_limit_changes_nothing(book: StoreLedger, make_key: MakeKey) -> None:
    ask(book, make_key())
    entries = len(book.entries())
    account = book.open_account(lineage="reports", recipient="acme", limit=PureDP(1.0))
    assert account.state.nano_epsilon == 200_000_000
    assert len(book.entries()) == entries


def test_open_account_twice_with_another_limit_is_refused(book: StoreLedger) -> None:
    with pytest.raises(BudgetError, match=r"open with another limit \(epsilon 1\)"):
        book.open_account(lineage="reports", recipient="acme", limit=PureDP(2.0))
    with pytest.raises(BudgetError):
        book.open_account(lineage="reports", recipient="acme", limit=ApproxDP(1.0, 1e-6))


def test_change_limit_keeps_what_was_spent(book: StoreLedger, make_key: MakeKey) -> None:
    ask(book, make_key(1, 0.9))
    book.change_limit(lineage="reports", recipient="acme", limit=PureDP(2.0), by="ada and bob")
    assert left(book, "acme") == 1_100_000_000
    book.change_limit(lineage="reports", recipient="acme", limit=PureDP(0.5), by="ada and bob")
    assert left(book, "acme") == 0
    assert [entry.details["by"] for entry in book.entries() if entry.kind == "limit"] == ["ada and bob"] * 2
    book.verify()


def test_change_limit_of_type_or_delta_or_of_nothing_is_refused(book: StoreLedger) -> None:
    with pytest.raises(ParameterError, match="fixed when it is opened"):
        book.change_limit(lineage="reports", recipient="acme", limit=ApproxDP(1.0, 1e-6), by="ada")
    with pytest.raises(BudgetError, match="not open"):
        book.change_limit(lineage="reports", recipient="nobody", limit=PureDP(1.0), by="ada")


def test_quote_tells_the_price_without_spending(book: StoreLedger, make_key: MakeKey) -> None:
    quote = book.quote(make_key(), recipient="acme")
    assert not quote.free
    assert quote.after is not None
    assert (quote.left.epsilon, quote.after.epsilon) == (1.0, 0.8)
    too_much = book.quote(make_key(epsilon=3), recipient="acme")
    assert too_much.after is None
    ask(book, make_key())
    repeated = book.quote(make_key(), recipient="acme")
    assert repeated.free
    assert repeated.after == repeated.left
    assert len(book.entries()) == 5


def test_entries_without_privacy_and_looks_are_kept_and_cost_nothing(book: StoreLedger) -> None:
    entry = book.enter_no_dp(lineage="reports", recipient="uni", role="collaborator", mechanism="5-anonymity", note="a")
    assert (entry.kind, str(entry.cost), entry.details["note"]) == ("no_dp", "no DP", "a")
    look = book.enter_look(lineage="reports", recipient="ada", role="owner")
    assert (look.kind, look.cost) == ("look", None)
    assert (left(book, "uni"), left(book)) == (500_000_000, 10**10)
    assert [e.number for e in book.entries(recipient="uni", lineage="reports")] == [3, entry.number]
    assert book.entries(lineage="other") == []


def test_finish_of_a_reservation_from_another_ledger_shows_nothing(book: StoreLedger, make_key: MakeKey) -> None:
    elsewhere = MemoryLedger()
    for recipient in (None, "acme"):
        elsewhere.open_account(lineage="reports", recipient=recipient, limit=PureDP(1.0))
    foreign = elsewhere.reserve(make_key(), recipient="acme", role="third_party")
    with pytest.raises(LedgerError, match="nothing was paid here"):
        book.finish(foreign, b"value")


def test_finish_with_text_is_refused(book: StoreLedger, make_key: MakeKey) -> None:
    reservation = book.reserve(make_key(), recipient="acme", role="third_party")
    with pytest.raises(ParameterError, match="bytes"):
        book.finish(reservation, "text")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", " acme", "a\nb", "x" * 201, 7, None])
def test_names_that_cannot_stand_in_a_ledger_are_refused(ledger: StoreLedger, make_key: MakeKey, name: Any) -> None:
    with pytest.raises(ParameterError):
        ledger.reserve(make_key(), recipient=name, role="third_party")
    with pytest.raises(ParameterError):
        ledger.open_account(lineage=name, limit=PureDP(1.0))


def test_many_threads_of_one_program_never_overspend(ledger: StoreLedger, make_key: MakeKey) -> None:
    ledger.open_account(lineage="reports", limit=PureDP(10.0))
    ledger.open_account(lineage="reports", recipient="acme", limit=PureDP(0.2))
    granted = []

    def worker(name: int) -> None:
        for number in range(10):
            try:
                ask(ledger, make_key(name * 100 + number, 0.01))
                granted.append(1)
            except BudgetError:
                pass

    threads = [threading.Thread(target=worker, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), left(ledger, "acme")) == (20, 0)
    ledger.verify()


def test_release_key_ignores_the_order_of_words_and_sees_every_difference() -> None:
    cost = Cost.pure(0.2, mechanism="laplace")
    base = {"lineage": "a", "snapshot": "1", "question": {"x": 1, "y": [2]}, "cost": cost, "parameters": {"grid": 1}}
    digest = ReleaseKey(**base).digest  # type: ignore[arg-type]
    assert ReleaseKey(**{**base, "question": {"y": [2], "x": 1}}).digest == digest  # type: ignore[arg-type]
    for name, other in (
        ("lineage", "b"),
        ("snapshot", "2"),
        ("question", {"x": 1, "y": [3]}),
        ("cost", Cost.pure(0.3, mechanism="laplace")),
        ("cost", Cost.pure(0.2, mechanism="geometric")),
        ("parameters", {"grid": 2}),
    ):
        assert ReleaseKey(**{**base, name: other}).digest != digest  # type: ignore[arg-type]


def test_release_key_is_not_changed_by_its_maker_later() -> None:
    question = {"by": ["pirads"]}
    key = ReleaseKey(lineage="a", snapshot="1", question=question, cost=Cost.exponential(1))
    digest = key.digest
    question["by"].append("age")
    assert key.digest == digest


def test_release_key_of_something_without_plain_values_is_refused_without_quoting_it() -> None:
    with pytest.raises(ParameterError) as caught:
        ReleaseKey(lineage="a", snapshot="1", question={"x": float("nan")}, cost=Cost.exponential(1))
    assert "nan" not in str(caught.value)
    with pytest.raises(ParameterError):
        ReleaseKey(lineage="a", snapshot="1", question={"x": object()}, cost=Cost.exponential(1))


def test_limit_of_today_binds_whatever_was_opened(book: StoreLedger, make_key: MakeKey) -> None:
    with pytest.raises(BudgetError, match=r"under today's policy .* asked epsilon 0\.2, left epsilon 0\.1 of 0\.1"):
        book.reserve(make_key(), recipient="acme", role="third_party", limits=Limits.of(recipient=PureDP(0.1)))
    assert book.entries()[-1].details == {"account": "recipient", "why": "epsilon", "limit": "today"}
    with pytest.raises(BudgetError, match=r"under today's policy: asked epsilon 0\.2\. Nothing was spent") as caught:
        book.reserve(make_key(), recipient="acme", role="third_party", limits=Limits.of(data_set=PureDP(0.1)))
    assert caught.value.left is None
    assert (left(book), left(book, "acme"), left(book, "uni")) == (10 * 10**9, 10**9, 5 * 10**8)
    raised = Limits.of(recipient=PureDP(9.0))
    assert book.reserve(make_key(1, 0.6), recipient="uni", role="third_party", limits=raised).charged
    assert (left(book), left(book, "uni")) == (9_400_000_000, 8_400_000_000)
    assert book.entries()[-1].details["sums"]["recipient"]["limit"]["nano_epsilon"] == 9 * 10**9
    with pytest.raises(BudgetError, match=r"left epsilon 0 of 0\.5"):  # below what was spent: nothing is refunded
        book.reserve(make_key(2, 0.1), recipient="uni", role="third_party", limits=Limits.of(recipient=PureDP(0.5)))
    book.verify()


def test_limit_told_last_binds_who_brings_none(book: StoreLedger, make_key: MakeKey) -> None:
    for number, epsilon in enumerate((0.3, 0.7)):
        limits = Limits.of(recipient=PureDP(epsilon))
        book.reserve(make_key(number, 0.1), recipient="acme", role="third_party", limits=limits)
        assert str(book.last_limit(lineage="reports", recipient="acme")) == f"epsilon {epsilon}"
    with pytest.raises(BudgetError, match=r"left epsilon 0\.5 of 0\.7"):
        book.reserve(make_key(9, 0.6), recipient="acme", role="third_party")
    assert book.last_limit(lineage="reports", recipient="nobody") is None
    assert book.last_limit(lineage="reports", recipient="acme", relation="local") is None
    book.verify()


def test_limit_with_a_delta_can_follow_one_without_and_the_other_way_round(
    book: StoreLedger, make_key: MakeKey
) -> None:
    gaussian = ReleaseKey(
        lineage="reports",
        snapshot="1",
        question={"ask": "gaussian"},
        cost=Cost.gaussian(sensitivity_squared=1, variance=900),
    )
    pure, approx = PureDP(1.0), ApproxDP(1.0, 1e-6)
    with pytest.raises(BudgetError, match="pays for pure epsilon only"):
        book.reserve(gaussian, recipient="acme", role="third_party", limits=Limits.of(recipient=pure))
    both = Limits.of(recipient=approx, data_set=approx)
    assert book.reserve(gaussian, recipient="acme", role="third_party", limits=both).charged
    with pytest.raises(BudgetError, match="left epsilon 0 of 1"):
        book.reserve(make_key(), recipient="acme", role="third_party", limits=Limits.of(recipient=pure))
    assert book.reserve(make_key(), recipient="acme", role="third_party", limits=both).charged
    book.verify()


def test_limit_of_the_data_set_does_not_bind_what_it_has_paid_before(book: StoreLedger, make_key: MakeKey) -> None:
    ask(book, make_key())
    today = Limits.of(recipient=PureDP(0.3), data_set=PureDP(0.1))
    assert book.reserve(make_key(), recipient="uni", role="third_party", limits=today).charged
    lower = Limits.of(recipient=PureDP(0.1))
    assert not book.reserve(make_key(), recipient="acme", role="third_party", limits=lower).charged


def test_limit_of_another_relation_is_an_error(book: StoreLedger, make_key: MakeKey) -> None:
    with pytest.raises(ParameterError, match="'local' relation says nothing"):
        book.reserve(make_key(), recipient="acme", role="third_party", limits=Limits.of(recipient=LocalDP(9.0)))


def test_received_is_what_a_recipient_has_paid_for_and_nothing_else(book: StoreLedger, make_key: MakeKey) -> None:
    dear = ReleaseKey(
        lineage="reports", snapshot="2018", question={"ask": "tables"}, cost=Cost.pure(0.8, mechanism="tables")
    )

    def received(recipient: str, snapshot: str = "2018", mechanism: str = "tables") -> list[bytes]:
        return book.received(lineage="reports", snapshot=snapshot, recipient=recipient, mechanism=mechanism)

    book.reserve(dear, recipient="acme", role="third_party")
    assert received("acme") == []  # paid, and never answered
    ask(book, dear)
    with pytest.raises(BudgetError):
        ask(book, dear, "uni")
    assert (received("acme"), received("uni")) == ([b"answer"], [])
    assert received("acme", snapshot="2019") == received("acme", mechanism="laplace") == []
