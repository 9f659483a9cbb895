"""Tables bought together: one entry, numbers that agree, margins that cover, and nobody moves them too far."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from neighbours import CHOSEN, arrow, lost, schema_of
from noise_replays import check_coverage, draws

import pydplib as dp
from pydplib.budget.units import NANO
from pydplib.engine import Measure
from pydplib.guarantee import zcdp_epsilon
from pydplib.noise.testing import check_neighbours, record, replay, seeded
from pydplib.plot.recipes.sound import load_cohort, sound_figure
from pydplib.receipt import Receipt, new_signing_key
from pydplib.release.facts import Facts
from pydplib.release.joint.cell_noise import GaussianCells, LaplaceCells
from pydplib.release.joint.consistent import Layout, Term, estimator, fit_non_negative, sum_margin, terms_of
from pydplib.release.joint.measured import Measurement, Workload
from pydplib.release.joint.stored_tables import MeasuredTables

SCHEMA = schema_of()
QUESTIONS = [
    dp.Crosstab("age", "pirads", bins={"age": [18, 40, 60, 80, 100]}),
    dp.Histogram("age", edges=[18, 60, 100], by="bph"),
    dp.Count(by={"pirads": [3, 1]}),
    dp.Count(),
    dp.Count(of="persons", by="pirads"),
    dp.Count(by="pirads", where=[dp.Where("age").at_least(40)]),
    dp.Count(of="persons"),
    dp.Histogram("day", edges=["2018-01-01", "2018-07-01", "2018-12-31"]),
    dp.Quantiles("lesions", [0.25, 0.5], by="bph"),
]


@pytest.fixture(scope="module")
def cohort():
    with load_cohort(dp.datasets.pirads(backend="numpy")) as table:
        yield table


@pytest.fixture(scope="module")
def figures(cohort):
    return [question for name in "2345" for question in sound_figure(name).ask(cohort.schema)]


def put(people: list[Any]) -> dp.engine.Table:
    return dp.load(arrow(people), SCHEMA)


def counted(measurement: Measurement, people: list[Any]) -> tuple[np.ndarray, ...]:
    with put(people) as table:
        return measurement.count(table)


# -- privacy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(len(CHOSEN)))
def test_one_person_moves_no_table_further_than_claimed_and_all_together_lose_epsilon(place):
    others, person = CHOSEN[place]
    measurement = Workload.of(QUESTIONS, SCHEMA).at(1.0)
    assert sum(measurement.shares) == 1
    twice = {other for _, other in measurement.pairs}  # two tables with one noise lose once
    pairs = enumerate(zip(measurement.workload.blocks, measurement.scales, strict=True))
    assert sum(block.reach / scale for place, (block, scale) in pairs if place not in twice) == 1
    smaller, larger = counted(measurement, others), counted(measurement, [*others, person])
    for block, few, many in zip(measurement.workload.blocks, smaller, larger, strict=True):
        moved = np.abs(few.astype(object) - many.astype(object))
        assert sum(moved) <= block.reach
        assert min(few.tolist()) >= 0
        assert sum(int(step) ** 2 for step in moved) <= block.reach**2
    with record() as one:
        measurement.answer(smaller)
    with replay(one) as two:
        measurement.answer(larger)
    check_neighbours(one, two)
    assert one.fingerprint() == two.fingerprint()
    assert lost(one, two) <= 1 + 1e-9


# -- Gaussian noise --------------------------------------------------------------------------------

MANY = [dp.Count(by=name) for name in ("pirads", "bph")] + [
    dp.Crosstab("pirads", "bph"),
    *(dp.Histogram(name, bins=4, by=other) for name in ("age", "psa", "lesions") for other in ("pirads", "bph")),
    *(dp.Crosstab(one, other) for one, other in (("age", "psa"), ("age", "lesions"), ("psa", "lesions"))),
]


def pairs_of() -> list[dp.Crosstab]:
    """Return more tables than epsilon is well split over: all pairs of the cohort's findings."""
    names = ("pirads", "prostatitis", "bph", "turp", "follow_up", "pca_no_pirads", "year")
    return [dp.Crosstab(one, other) for one, other in combinations(names, 2)]


@pytest.mark.parametrize("place", [1, 4])
def test_one_person_moves_gaussian_tables_no_further_than_claimed_and_rho_adds_up(place):
    others, person = CHOSEN[place]
    measurement = Workload.of(MANY, SCHEMA).at(1.0, 1e-6)
    assert measurement.delta is not None and sum(measurement.shares) == 1
    pairs = list(zip(measurement.workload.blocks, measurement.squares, strict=True))
    assert sum(block.reach**2 / (2 * square) for block, square in pairs) == measurement.rho
    assert zcdp_epsilon(float(measurement.rho), 1e-6) <= 1.0 < zcdp_epsilon(1.001 * float(measurement.rho), 1e-6)
    assert measurement.cost.nano_rho == measurement.rho * NANO and measurement.cost.nano_epsilon is None
    smaller, larger = counted(measurement, others), counted(measurement, [*others, person])
    for (block, _), few, many in zip(pairs, smaller, larger, strict=True):
        assert sum(int(step) ** 2 for step in np.abs(few.astype(object) - many.astype(object))) <= block.reach**2
    with record() as one:
        measurement.answer(smaller)
    with replay(one) as two:
        measurement.answer(larger)
    check_neighbours(one, two)
    assert one.fingerprint() == two.fingerprint()


def test_the_noise_is_chosen_from_the_plan_and_the_pure_margin_is_shown(cohort):
    few, many = [dp.Count(by="bph")], pairs_of()
    session = dp.Session(cohort, recipient="acme", budget=dp.ApproxDP(4.0, 2e-6))
    pure, mixed = session.release_all(few, epsilon=0.5, delta=1e-6), session.price_all(many, epsilon=1.0, delta=1e-6)
    assert pure.delta == 0.0 and pure.cost.nano_epsilon == NANO // 2  # Laplace is better for one table
    assert "discrete Laplace" in str(pure)
    assert mixed.cost.mechanism == "gaussian_tables" and (mixed.epsilon, mixed.delta) == (1.0, 1e-6)
    assert "Without a delta, the margin of one cell would be" in " ".join(mixed.notes)
    without = session.price_all(many, epsilon=1.0)
    assert without.cost.mechanism == "laplace_tables" and without.margin > mixed.margin


def test_gaussian_tables_are_stored_and_answer_later_questions_for_nothing(cohort):
    many = pairs_of()
    ledger = dp.MemoryLedger()
    budget = dp.ApproxDP(4.0, 2e-6)
    session = dp.Session(cohort, recipient="acme", budget=budget, ledger=ledger)
    bought = session.release_all(many, epsilon=1.0, delta=1e-6)
    assert (bought.epsilon, bought.delta) == (1.0, 1e-6) and "discrete Gaussian" in str(bought)
    assert bought.guarantee == dp.ApproxDP(1.0, 1e-6) and bought[0].epsilon == 1.0 and bought[0].delta == 1e-6
    assert MeasuredTables.from_json(bought.to_json()).to_json() == bought.to_json()
    paid = [entry.cost for entry in ledger.entries(recipient="acme", lineage="pirads") if entry.cost is not None]
    assert paid == [bought.cost] and bought.cost.nano_epsilon is None
    again = dp.Session(cohort, recipient="acme", budget=budget, ledger=ledger)
    known = again.release(dp.Count(by="pirads"))
    assert "nothing was charged" in " ".join(known.remarks) and known.mechanism.startswith("discrete Gaussian")
    assert again.release_all(many, epsilon=1.0, delta=1e-6).to_json() == bought.to_json()
    wrong = bought.to_json().replace(f'"nano_rho": {bought.cost.nano_rho}', '"nano_rho": 900000000')
    with pytest.raises(dp.errors.DataError, match="no stored tables"):
        MeasuredTables.from_json(wrong)


def test_a_delta_is_refused_where_the_budget_has_none_or_less(cohort):
    pure = dp.Session(cohort, recipient="acme", budget=1.0)
    with pytest.raises(dp.errors.ParameterError, match=r"This budget is pure.*ApproxDP"):
        pure.release_all([dp.Count()], epsilon=0.1, delta=1e-6)
    session = dp.Session(cohort, recipient="acme", budget=dp.ApproxDP(1.0, 1e-6))
    with pytest.raises(dp.errors.ParameterError, match="Ask for at most that: delta=5e-07"):
        session.release_all([dp.Count()], epsilon=0.1, delta=1e-6)
    with pytest.raises(dp.errors.ParameterError, match="strictly between 0 and 1"):
        session.release_all([dp.Count()], epsilon=0.1, delta=1.5)
    assert session.remaining.epsilon == 1.0


def test_discrete_gaussian_margins_and_transforms_match_adding_up():
    for sigma in (Fraction(1, 4), Fraction(1), Fraction(9, 4), Fraction(400), Fraction(100**2)):
        noise, far = GaussianCells(sigma), np.arange(-2000, 2001)
        weights = np.exp(-(far**2.0) / (2 * float(sigma)))
        chances = weights / weights.sum()
        assert noise.variance == pytest.approx(float((chances * far**2).sum()), rel=1e-6)
        steps = noise.tail_steps(0.05)
        beyond = [float(chances[np.abs(far) > m].sum()) for m in (steps, steps - 1, steps - 2)]
        assert beyond[0] <= 0.05 and (beyond[1] > 0.05 or beyond[2] > 0.05 or steps == 0)
        for time in (0.01, 0.5, 3.0, 3.14159, 7.0):
            exact = float((chances * np.cos(time * far)).sum())
            assert float(np.exp(noise.log_transform(np.array([time])))[0]) == pytest.approx(exact, rel=1e-6, abs=1e-9)


def test_the_worst_person_loses_the_whole_epsilon_and_a_smaller_claim_is_caught(monkeypatch):
    worst = [{"age": 70.0, "psa": 1.0, "lesions": 1, "pirads": 1, "bph": True, "day": None, "city": "Oslo"}] * 2
    measurement = Workload.of([dp.Count(by="pirads"), dp.Count(by="bph"), dp.Count()], SCHEMA).at(1.0)
    smaller, larger = counted(measurement, []), counted(measurement, [worst])

    def loss() -> float:
        with record() as one:
            measurement.answer(smaller)
        with replay(one) as two:
            measurement.answer(larger)
        check_neighbours(one, two)
        return lost(one, two)

    assert loss() == pytest.approx(1.0)
    monkeypatch.setattr(
        "pydplib.release.joint.measured.Block.reach", property(lambda self: 2**16)
    )  # one row where two count
    del measurement.__dict__["scales"]
    with pytest.raises(AssertionError, match="claims sensitivity"):
        loss()


def test_every_row_is_in_one_cell_of_every_table_of_its_group():
    people = [person for others, him in CHOSEN for person in (*others, him)]
    measurement = Workload.of(QUESTIONS, SCHEMA).at(1.0)
    cells = counted(measurement, people)
    assert np.abs(measurement.workload.relations @ np.concatenate(cells).astype(float)).max() < 1e-6
    groups = [places for places in measurement.workload.groups if measurement.workload.blocks[places[0]].agrees]
    assert max(len(places) for places in groups) == 6
    for places in groups:
        assert len({int(cells[place].sum()) for place in places}) == 1


def test_conditions_and_persons_are_groups_of_their_own_and_cost_their_share():
    workload = Workload.of([dp.Count(), dp.Count(where=[dp.Where("bph").eq(True)]), dp.Count(of="persons")], SCHEMA)
    assert len(workload.groups) == 3 and not len(workload.relations)
    measurement = workload.at(1.0)
    assert sorted(block.reach / scale for block, scale in zip(workload.blocks, measurement.scales, strict=True)) == [
        Fraction(3333, 10_000), Fraction(3333, 10_000), Fraction(3334, 10_000),
    ]  # fmt: skip


# -- paying ----------------------------------------------------------------------------------------


def test_one_purchase_is_one_entry_and_the_same_bytes_in_any_order(cohort, figures, tmp_path):
    ledger = dp.SqliteLedger(tmp_path / "ledger.db")
    session = dp.Session(cohort, recipient="acme", budget=3.0, ledger=ledger)
    first = session.release_all(figures, epsilon=1.0)
    again = dp.Session(cohort, recipient="acme", ledger=ledger).release_all(figures[::-1], epsilon=1.0)
    assert list(again) == list(first)[::-1]
    assert "Paid before" in again.remarks[0]
    debits = [entry for entry in ledger.entries(recipient="acme") if entry.kind == "debit"]
    assert [entry.cost.nano_epsilon for entry in debits] == [NANO]
    assert session.remaining.epsilon == 2.0
    (payload,) = ledger.received(lineage="pirads", snapshot="current", recipient="acme", mechanism="laplace_tables")
    stored = MeasuredTables.from_json(payload)
    assert MeasuredTables.from_json(stored.to_json()) == stored
    assert ledger.received(lineage="pirads", snapshot="2019", recipient="acme", mechanism="laplace_tables") == []
    ledger.verify()
    key = new_signing_key()
    receipt = Receipt.of(first, payload, data="current", issued="2026-01-01T00:00:00Z").signed(key)
    assert receipt.verify([key.public_key()]).epsilon == "1"


def test_what_cannot_be_paid_or_measured_is_refused_before_anything_is_spent(cohort):
    session = dp.Session(cohort, recipient="acme", budget=0.5)
    with pytest.raises(dp.BudgetError, match=r"epsilon 0\.5"):
        session.release_all([dp.Count()], epsilon=1.0)
    with pytest.raises(dp.errors.QuestionError, match=r"no table of counts.*Crosstab\('age', 'pirads'\)"):
        session.release_all([dp.Count(), dp.Mean("age", by="pirads")], epsilon=0.1)
    with pytest.raises(dp.errors.ParameterError, match="This budget is pure"):
        session.price_all([dp.Count()], epsilon=0.1, delta=1e-6)
    with pytest.raises(dp.errors.ParameterError, match="no default"):
        session.price_all([dp.Count()], epsilon=None)
    for each in ("0.5", object(), float("nan"), True):
        with pytest.raises(dp.errors.ParameterError, match="must be a finite number"):
            session.price_all([dp.Count()], each=each)
    assert session.price_all([dp.Count()], each=Fraction(1, 4)).cost.epsilon == 0.25
    with pytest.raises(dp.errors.QuestionError, match="at most 2000"):
        session.price_all([dp.Crosstab("age", "pirads", "prostatitis", "bph", "year")], epsilon=0.1)
    with pytest.raises(dp.errors.QuestionError, match="list of questions"):
        session.release_all(dp.Count(), epsilon=0.1)
    with pytest.raises(dp.errors.QuestionError, match="at least one"):
        session.release_all([], epsilon=0.1)
    third = dp.Session(cohort, recipient="beta", role="third_party")
    with pytest.raises(dp.errors.PolicyError):
        third.release_all([dp.Count()], epsilon=5.0)
    assert session.remaining.epsilon == 0.5


def test_a_price_is_what_is_paid_and_the_margins_are_those_of_the_release(cohort, figures):
    session = dp.Session(cohort, recipient="acme", budget=2.0)
    price = session.price_all(figures, epsilon=1.0)
    bought = session.release_all(figures, epsilon=1.0)
    assert price.cost == bought.cost and not price.free
    assert price.margin == max(max(release.margins) for release in bought)
    assert session.price_all(figures, epsilon=1.0).free
    assert len(price.notes) == 3 and all("bought one by one" in note for note in price.notes)


# -- answered from what is there -------------------------------------------------------------------


def test_what_the_tables_tell_costs_nothing_and_nobody_looks(figures, tmp_path):
    ledger = dp.SqliteLedger(tmp_path / "ledger.db")
    table = load_cohort(dp.datasets.pirads(backend="numpy"))
    dp.Session(table, recipient="acme", budget=1.0, ledger=ledger).release_all(figures, epsilon=1.0)
    dp.Session(table, recipient="beta", budget=1.0, ledger=ledger)
    table.close()
    session = dp.Session(table, recipient="acme", ledger=ledger)
    coarse = dp.Crosstab("pirads", "age", bins={"age": [18, 60, 80, 100]})
    for question in (dp.Count(by="pirads"), coarse, dp.Count(), dp.Count(by={"prostatitis": ["y"]})):
        price, answer = session.price(question), session.release(question)
        assert price.free and answer.remarks[0].startswith("Answered from 3 tables that you have paid for")
        assert session.release(question).to_json() == answer.to_json()
        assert answer == dp.Release.from_json(answer.to_json())
    assert session.release(dp.Count(by="pirads"), epsilon=0.1).remarks  # a purchase would be noisier
    assert session.remaining.epsilon == 0.0
    for other in (
        dp.Count(by="bph"),
        dp.Count(by="pirads", where=[dp.Where("age").at_least(60)]),
        dp.Histogram("age", edges=[18, 52, 100]),
        dp.Count(of="persons", by="pirads"),
    ):
        with pytest.raises(
            dp.errors.EngineError, match="closed"
        ):  # the tables do not tell it: somebody would have to look
            session.release(other, epsilon=0.1)
    with pytest.raises(dp.errors.EngineError, match="closed"):
        dp.Session(table, recipient="beta", ledger=ledger).release(dp.Count(by="pirads"), epsilon=0.1)
    with pytest.raises(dp.errors.EngineError, match="closed"):  # more accurate than the tables: a new question
        session.release(dp.Count(by="pirads"), epsilon=50.0)


def test_tables_are_found_by_who_paid_for_them(cohort):
    ledger = dp.MemoryLedger()
    for recipient in ("acme", "beta"):
        session = dp.Session(cohort, recipient=recipient, budget=1.0, ledger=ledger)
        assert session.bought == ()
        if recipient == "acme":
            session.release_all([dp.Count(by="bph")], epsilon=0.5)
    # Another recipient pays the same cost and gets the same tables; the data set does not pay twice.
    spent = ledger.remaining(lineage="pirads").epsilon
    tables = session.release_all([dp.Count(by="bph")], epsilon=0.5)
    assert tables.key == dp.Session(cohort, recipient="acme", ledger=ledger).bought[0].key
    assert session.remaining.epsilon == 0.5 and ledger.remaining(lineage="pirads").epsilon == spent


def test_tables_of_another_declaration_answer_nothing():
    rows = pd.DataFrame({"age": [61, 67, 70] * 30, "bph": [True, False, None] * 30})
    ledger = dp.MemoryLedger()

    def session(**columns: Any) -> dp.Session:
        schema = dp.Schema({"age": dp.Number(18, 100), "bph": dp.Flag()} | columns, name="reports")
        return dp.Session(dp.load(rows, schema), recipient="acme", budget=1.0, ledger=ledger)

    ages = dp.Histogram("age", edges=[18, 50, 100])
    session().release_all([ages, dp.Count(by="bph")], epsilon=1.0)
    assert session().release(ages).remarks
    with pytest.raises(dp.errors.ParameterError, match="Choose epsilon="):
        session(age=dp.Number(18, 90)).release(ages)


def test_persons_by_the_same_columns_in_another_order_are_answered(cohort):
    questions = [dp.Count("persons", by=["bph", "pirads"]), dp.Count("persons", by=["pirads", "bph"])]
    session = dp.Session(cohort, recipient="acme", budget=1.0)
    assert session.price_all(questions, epsilon=1.0).epsilon == 1.0
    one, other = session.release_all(questions, epsilon=1.0)
    assert one.value.shape == other.value.T.shape and session.release(questions[1]).values == other.values


@pytest.mark.parametrize("confidence", [0, 1.0, 1.5, -1, float("nan"), True, "often"])
def test_a_free_answer_takes_no_confidence_that_a_paid_one_does_not(cohort, confidence):
    session = dp.Session(cohort, recipient="acme", budget=1.0)
    session.release_all([dp.Count(by="bph")], epsilon=0.5)
    for ask in (session.release, session.price):
        with pytest.raises(dp.errors.ParameterError, match="confidence is a share"):
            ask(dp.Count(by="bph"), confidence=confidence)


WHOLE = dp.Schema({"mets": dp.Integer(0, 6), "bph": dp.Flag()}, name="reports")
CUTS = [
    dp.Count(by="mets"), dp.Count(by={"mets": [5, 2, None]}), dp.Histogram("mets", edges=[0, 2.5, 2.7, 6]),
    dp.Histogram("mets", edges=[0, 3, 6], by="bph"), dp.Histogram("mets", edges=[-1, 1, 2.7]),
]  # fmt: skip


@pytest.mark.parametrize(("bought", "asked"), list(product(CUTS, CUTS)))
def test_whole_numbers_are_cut_by_keys_and_by_bins_in_one_purchase(bought, asked):
    rows = pd.DataFrame({"mets": [0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 6, None], "bph": [True, False, None] * 4})
    with dp.load(rows, WHOLE) as table:
        measurement = Workload.of([bought, asked], WHOLE).at(1.0)
        cells = np.concatenate(measurement.count(table)) / measurement.workload.blocks[0].facts.bound.scale
        assert np.abs(measurement.workload.relations @ cells).max(initial=0.0) < 1e-9
        facts = Facts.of(asked, WHOLE)
        exact = table.aggregate(facts.plan([Measure("count")]))[0] / facts.bound.scale
        assert (measurement.cells_of(facts)[1] @ cells).tolist() == exact.ravel().tolist()
        session = dp.Session(table, recipient="acme", budget=2.0)
        session.release_all([bought], epsilon=1.0)
        paid = Workload.of([bought], WHOLE)
        assert session.price(asked, epsilon=0.1).free == (paid.sums(facts) is not None)
        if paid.sums(facts) is not None:
            cells = np.concatenate(paid.at(1.0).count(table)) / facts.bound.scale
            assert (paid.at(1.0).cells_of(facts)[1] @ cells).tolist() == exact.ravel().tolist()


# -- one estimate ----------------------------------------------------------------------------------


def test_tables_agree_and_lie_within_their_intervals(cohort, figures):
    asked = [*figures, dp.Count(by="pirads"), dp.Histogram("age", edges=[18, 50, 60, 70, 80, 100])]
    found = dp.Session(cohort, recipient="acme", budget=1.0).release_all(asked, epsilon=0.5)
    scores, _, findings, ages, by_score, decades = found
    assert np.allclose(ages.value[1] + ages.value[2], decades.value[1], atol=0.01)
    for release in found:
        low, high = release.interval
        assert (low >= 0).all() and (low <= release.value).all() and (release.value <= high).all()
        assert (high <= low.min() + 2 * 10_000).all()
    # All other rows are no part of what is shown: sums over a shown axis are at most the other table's.
    assert (scores.value.sum(axis=1) <= ages.value + 0.01).all()
    assert (findings.value.sum(axis=1) <= ages.value + 0.01).all()
    assert (scores.value.sum(axis=0) <= by_score.value + 0.01).all()


def test_the_estimate_is_that_of_weighted_least_squares_over_the_joint_table():
    schema = dp.Schema({"a": dp.Flag(), "b": dp.Category([1, 2]), "age": dp.Number(0, 10)})
    tables = (
        {"a": (False, True), "b": (1, 2, "other")},
        {"a": (False, True), "age": dp.Bins([0, 4, 10])},
        {"age": dp.Bins([0, 2, 4, 8])},
        {"b": (2,)},
    )
    layout = Layout(schema, tables)
    sizes = [int(np.prod(layout.shape(table))) for table in range(4)]
    # The joint table of the atoms: 3 of a, 4 of b, and of age [0,2) [2,4) [4,8] (8,10] and missing.
    age = {0: (0, 0, 1, 1, 2), 2: (0, 1, 2, 3, 3)}
    rows: list[list[int]] = []
    for a, b, x in product(range(3), range(4), range(5)):
        row = [0] * sum(sizes)
        row[a * 4 + b] = 1
        row[sizes[0] + a * 3 + age[0][x]] = 1
        row[sum(sizes[:2]) + age[2][x]] = 1
        row[sum(sizes[:3]) + (0 if b == 1 else 1)] = 1
        rows.append(row)
    design = np.array(rows, dtype=float).T
    variances = np.repeat([1.0, 4.0, 0.5, 2.0], sizes)
    weighted = design / np.sqrt(variances)[:, None]
    best = design @ np.linalg.pinv(weighted) / np.sqrt(variances)
    assert np.allclose(estimator(layout.relations(), variances), best, atol=1e-8)


def test_the_non_negative_fit_is_the_nearest_consistent_table():
    from scipy.optimize import minimize

    relations = np.array([[1.0, 1.0, 1.0, -1.0, -1.0, 0.0], [1.0, 1.0, 1.0, 0.0, 0.0, -1.0]])
    basis = np.linalg.qr(relations.T)[0].T
    variances = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 5.0])
    matrix = estimator(basis, variances)
    linear = matrix @ np.array([12.0, -7.0, 3.0, 9.0, -4.0, 8.0])
    found = fit_non_negative(linear, matrix)
    best = minimize(
        lambda x: ((x - linear) ** 2 / variances).sum(), np.ones(6), bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: relations @ x}, options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert np.allclose(found, best.x, atol=1e-3)


def test_no_other_split_of_epsilon_has_a_smaller_largest_error():
    workload = Workload.of([dp.Count(by="pirads"), dp.Crosstab("pirads", "bph"), dp.Count()], SCHEMA)
    relations, tables = workload.relations, workload.tables

    def largest(shares: np.ndarray) -> float:
        variances = (1 / shares)[tables] ** 2
        matrix = estimator(relations, variances)
        return float(np.sqrt((matrix**2 * variances).sum(axis=1)).max())

    found = largest(np.array([float(share) for share in workload.shares]))
    steps = [i / 40 for i in range(1, 39)]
    others = [largest(np.array([a, b, 1 - a - b])) for a, b in product(steps, steps) if a + b < 0.99]
    assert found <= min(others) * 1.005
    assert found < 0.99 * largest(np.full(3, 1 / 3))


# -- margins ---------------------------------------------------------------------------------------


SMALL = [
    dp.Crosstab("pirads", "bph"),
    dp.Count(by="pirads"),
    dp.Histogram("age", edges=[18, 40, 60, 80, 100]),
    dp.Histogram("age", edges=[18, 60, 100], by="bph"),
    dp.Count(),
]


def small(person: str | None) -> Workload:
    columns = {name: column for name, column in SCHEMA.columns.items() if name != "patient"}
    limit = {"person": person, "max_rows_per_person": 2} if person else {}
    return Workload.of(SMALL, dp.Schema(columns, name="replayed", **limit))


@pytest.mark.parametrize(
    ("person", "epsilon", "delta"),
    [("patient", 1.0, None), (None, 1.0, None), (None, 4.0, None), (None, 12.0, None), ("patient", 1.0, 1e-6),
     (None, 4.0, 1e-6), (None, 60.0, 1e-3)],
)  # fmt: skip
def test_margins_cover_as_often_as_they_say_and_are_hardly_wider_than_need_be(person, epsilon, delta):
    workload = small(person)
    made = workload.at(epsilon)
    if delta is not None:  # whether or not it is the better noise here
        made = replace(made, pairs=(), shares=workload.gaussian_shares, delta=Fraction(str(delta)))
    check_coverage(made, draws(made))


@pytest.mark.parametrize("factor", [1.1, 0.85])
def test_the_coverage_check_notices_noise_of_another_size(factor):
    measurement = small("patient").at(1.0)
    with pytest.raises(AssertionError):
        check_coverage(measurement, factor * draws(measurement))


def test_quantiles_of_groups_in_a_workload_are_read_off_a_table_and_cover():
    columns = {"stay": dp.Integer(0, 20), "bph": dp.Flag()}
    schema = dp.Schema(columns, name="stays")
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"stay": rng.binomial(20, 0.3, 900), "bph": rng.random(900) < 0.4})
    asked = [dp.Quantiles("stay", [0.25, 0.5, 0.75], by="bph"), dp.Histogram("stay", bins=5), dp.Count(by="bph")]
    measurement = Workload.of(asked, schema).at(1.0)
    assert len(measurement.workload.blocks) == 3
    truth = [
        float(np.sort(rows.stay[rows.bph == flag])[int(np.ceil(share * (rows.bph == flag).sum())) - 1])
        for flag in (False, True)
        for share in (0.25, 0.5, 0.75)
    ]
    with dp.load(rows, schema) as table:
        exact = measurement.count(table)
        with pytest.raises(dp.errors.QuestionError, match="is no table of counts"):
            Workload.of([dp.Median("stay")], schema)  # without groups, choosing it is more accurate
    hits, total, widths = np.zeros(6), 100, []
    with seeded(7):
        for _ in range(total):
            release = next(one for one in measurement.answer(exact) if one.statistic == "quantiles")
            low, high = np.array(release.low), np.array(release.high)
            hits += (low <= truth) & (truth <= high)
            widths.append(high - low)
    assert (hits >= 0.87 * total).all() and np.mean(widths) < 6
    assert "public facts" in " ".join(release.notes) and release.unit == ""
    assert any("read off a table of" in words for words in measurement.margin_words())


def test_intervals_of_released_numbers_cover_after_the_non_negative_step():
    schema = dp.Schema({"a": dp.Flag(), "b": dp.Category([1, 2])}, name="small")
    rows = pd.DataFrame({"a": [True] * 40 + [False] * 3 + [None], "b": [1] * 41 + [2] * 3})
    measurement = Workload.of([dp.Crosstab("a", "b"), dp.Count(by="a"), dp.Count(by="b")], schema).at(1.0)
    hits, total = {}, 400
    with dp.load(rows, schema) as table:
        exact = measurement.count(table)
    plain = [
        weights @ np.concatenate(exact)
        for weights in (measurement.cells_of(f)[1] for f in measurement.workload.distinct)
    ]
    with seeded(3):
        for _ in range(total):
            for place, release in enumerate(measurement.answer(exact)):
                low, high = np.array(release.low), np.array(release.high)
                hits[place] = hits.get(place, 0) + ((low <= plain[place]) & (plain[place] <= high))
                assert (low <= np.array(release.values)).all() and (np.array(release.values) <= high).all()
    for found in hits.values():
        assert (found / total).min() >= 0.89  # 95 % but for chance: once in ten million


def test_gaussian_quantiles_would_not_do():
    noise = LaplaceCells(Fraction(2**16))
    two = (Term(1.0, noise, 2**16, 1), Term(0.1, noise, 2**16, 4))
    deviation = (2 * (1 + 4 * 0.01)) ** 0.5
    assert sum_margin(two, 0.05) > 1.05 * 1.96 * deviation
    three = LaplaceCells(Fraction(3))
    assert terms_of(np.array([0.5, -0.5, 0.0]), [three] * 3, [1] * 3) == (Term(0.5, three, 1, 2),)


def test_each_is_what_the_policy_judges_and_a_cap_applies_to(cohort):
    asked = [dp.Count(by="pirads"), dp.Crosstab("pirads", "bph"), dp.Count(by="bph"), dp.Count(by="turp")]
    session = dp.Session(cohort, recipient="acme", budget=4.0)
    price = session.price_all(asked, each=[0.5, 0.5, 0.25, 0.5])
    assert 0.5 < price.epsilon < 1.75 and "for epsilon 0.25" in " ".join(price.notes)
    bought = session.release_all(asked, each=[0.5, 0.5, 0.25, 0.5])
    assert bought.cost == price.cost and bought.each is not None and len(bought.each) == 4
    assert MeasuredTables.from_json(bought.to_json()).to_json() == bought.to_json()
    assert session.release_all(asked, epsilon=price.epsilon).key != bought.key  # another split: another release
    for wrong, words in (
        ({"each": [0.5]}, "one for each"), ({}, "Choose epsilon="), ({"each": 1.0, "delta": 1e-6}, "pure"),
        ({"each": 1.0, "epsilon": 1.0}, "Choose epsilon="),
    ):  # fmt: skip
        with pytest.raises(dp.errors.ParameterError, match=words):
            session.price_all(asked, **wrong)


def test_estimates_of_every_table_come_with_their_noise_and_covariance(cohort):
    session = dp.Session(cohort, recipient="acme", budget=4.0)
    bought = session.release_all([dp.Crosstab("pirads", "bph"), dp.Count(by="bph")], epsilon=1.0)
    made = Measurement.of_stored(bought, cohort.schema)
    assert made is not None
    tables = made.tables(bought.noisy)
    both = next(table for table in tables if len(table.keys) == 2)
    one = next(table for table in tables if len(table.keys) == 1)
    assert both.linear.shape == both.noisy.shape == (7, 3) and isinstance(both.noise, LaplaceCells)
    assert both.linear.sum(axis=0) == pytest.approx(one.linear) and both.fitted.min() >= 0
    alone = both.noise.variance / both.per_row**2
    assert (np.diag(both.covariance) < alone).all() and np.allclose(both.covariance, both.covariance.T)
    sums = np.kron(np.ones((1, 7)), np.eye(3))
    assert sums @ both.covariance @ sums.T == pytest.approx(one.covariance)


def test_words_and_frames_of_all_tables(cohort):
    asked = [dp.Count(by="bph"), dp.Count(), dp.Count(by="bph")]
    found = dp.Session(cohort, recipient="acme", budget=1.0).release_all(asked, epsilon=1.0, confidence=0.9)
    text = str(found)
    assert text.startswith("2 tables, measured together: epsilon 1 for all of them")
    assert text.count("count of rows by bph") == 1 and text.count("guarantee") == 1
    assert "missing or outside of them" in text
    frame = found.to_frame(backend="pandas")
    assert list(frame) == ["table", "cell", "value", "low90", "high90", "margin90", "simultaneous90"]
    assert len(frame) == 5 and len(found) == 3 and found[0] == found[2]
    with pytest.raises(dp.errors.DataError, match="no stored tables"):
        MeasuredTables.from_json(found[0].to_json())
    with pytest.raises(dp.errors.DataError, match="no stored tables"):
        MeasuredTables.from_json(found.to_json().replace('"nano_epsilon": 1000000000', '"nano_epsilon": 1'))
