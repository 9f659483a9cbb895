"""Two tables with one noise: what nobody moves too far, margins that cover, and four figures for three fifths."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from neighbours import CHOSEN, arrow, lost, schema_of
from noise_replays import check_coverage, draws

import pydplib as dp
from pydplib.errors import DataError, EngineError
from pydplib.noise.testing import check_neighbours, record, replay, seeded
from pydplib.plot.recipes.sound import load_cohort, sound_figure
from pydplib.release.joint.consistent import estimator, open_relations, sum_margin
from pydplib.release.joint.measured import Measurement, Workload
from pydplib.release.joint.pair_cells import PairCells, PairTerm, added_up, moments, pair_parts
from pydplib.release.joint.stored_tables import FORMAT, FORMAT_WITH_PAIRS, MeasuredTables
from pydplib.release.statistics.count import CountNoise

SCHEMA = schema_of()
AGES = [18, 40, 60, 80, 100]


def tables_of(**options: Any) -> list[dp.Question]:
    return [
        dp.Crosstab("age", "pirads", bins={"age": AGES}, **options),
        dp.Histogram("age", edges=AGES, by={"lesions": [0, 1, 2]}, **options),
        dp.Histogram("age", edges=AGES, **options),
    ]


PAIRED = tables_of()
ONE_ROW = tables_of(per_person=dp.Person("patient").first_row(order="day"))


@pytest.fixture(scope="module")
def cohort():
    with load_cohort(dp.datasets.pirads(backend="numpy")) as table:
        yield table


@pytest.fixture(scope="module")
def figures(cohort):
    return [question for name in "2345" for question in sound_figure(name).ask(cohort.schema)]


@pytest.fixture(scope="module")
def bought(cohort, figures):
    return dp.Session(cohort, recipient="acme", budget=4.0).release_all(figures, each=1.0)


def counted(measurement: Measurement, people: list[Any]) -> tuple[np.ndarray, ...]:
    with dp.load(arrow(people), SCHEMA) as table:
        return measurement.count(table)


# -- privacy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("questions", [PAIRED, ONE_ROW], ids=["rows", "one row each"])
@pytest.mark.parametrize("place", range(len(CHOSEN)))
def test_one_person_moves_two_tables_no_further_than_claimed_and_by_equal_sums(place, questions):
    others, person = CHOSEN[place]
    measurement = Workload.of(questions, SCHEMA).at(0.5)
    assert len(measurement.pairs) == 1 and sum(measurement.shares) == 1
    smaller, larger = counted(measurement, others), counted(measurement, [*others, person])
    with record() as one:
        measurement.answer(smaller)
    with replay(one) as two:
        measurement.answer(larger)
    check_neighbours(one, two)
    assert one.fingerprint() == two.fingerprint()
    assert sorted(passed.call.kind for passed in one.passed) == ["laplace", "pair"]
    assert sum(passed.call.epsilon for passed in one.passed) == pytest.approx(0.5)
    assert lost(one, two) <= 0.5 + 1e-9


def test_the_worst_person_loses_the_whole_epsilon_and_a_smaller_claim_is_caught(monkeypatch):
    measurement = Workload.of(PAIRED, SCHEMA).at(1.0)
    smaller, larger = counted(measurement, []), counted(measurement, [CHOSEN[0][1]])

    def loss() -> float:
        with record() as one:
            measurement.answer(smaller)
        with replay(one) as two:
            measurement.answer(larger)
        check_neighbours(one, two)
        return lost(one, two)

    assert measurement.pairs and loss() == pytest.approx(1.0)
    monkeypatch.setattr(
        "pydplib.release.joint.measured.Block.reach", property(lambda self: 2**16)
    )  # one row where two count
    with pytest.raises(AssertionError, match="claims sensitivity"):
        loss()


def test_every_purchase_draws_noise_of_its_own_and_every_block_too():
    measurement = Workload.of(PAIRED, SCHEMA).at(1.0)
    exact = [np.zeros(block.cells, dtype=np.int64) for block in measurement.workload.blocks]
    one, two = (measurement.answer(exact).noisy for _ in range(2))
    (layout,) = measurement.layouts
    first = np.array(one[layout.tables[0]])[layout.first]
    assert one != two and len(np.unique(first, axis=0)) == len(first)
    second = np.array(one[layout.tables[1]])[layout.second]
    assert np.allclose(first.sum(axis=1), second.sum(axis=1))


@pytest.mark.parametrize(
    "questions",
    [
        # People are counted by a row that each table chooses for itself: sums differ.
        [dp.Count(of="persons", by=["pirads", "bph"]), dp.Count(of="persons", by=["pirads", "lesions"])],
        # Other rows.
        [dp.Crosstab("pirads", "lesions"), dp.Crosstab("pirads", "bph", where=[dp.Where("age").at_least(40)])],
        # Other cuts of the same column: a row may be in different blocks.
        [dp.Histogram("age", edges=AGES, by="bph"), dp.Histogram("age", edges=[18, 50, 100], by={"pirads": [1, 2, 3]})],
        # The same keys in another order are other cells.
        [dp.Crosstab("pirads", "bph"), dp.Count(by={"pirads": [3, 2, 1], "lesions": [0, 1]})],
        # One is a sum of the other: its noise would be that of the other.
        [dp.Crosstab("pirads", "bph"), dp.Count(by="pirads")],
    ],
)
def test_tables_that_need_not_agree_block_by_block_share_no_noise(questions):
    workload = Workload.of(questions, SCHEMA)
    one, other = workload.blocks
    layout = workload.pair_layout(0, 1)
    if one.group != other.group or not one.agrees or not other.agrees:
        assert layout is None
    elif layout is not None:  # all rows as one block: those do agree
        assert len(layout.first) == 1


def test_blocks_hold_every_cell_once_whatever_the_order_of_columns():
    workload = Workload.of(
        [dp.Crosstab("pirads", "bph"), dp.Crosstab("psa", "pirads", bins={"psa": [0, 10, 50]})], SCHEMA
    )
    layout = workload.pair_layout(0, 1)
    assert layout is not None
    for place, cells in zip((0, 1), (layout.first, layout.second), strict=True):
        assert sorted(cells.ravel().tolist()) == list(range(workload.blocks[place].cells))
    cells = counted(workload.at(1.0), [person for others, him in CHOSEN for person in (*others, him)])
    assert np.array_equal(cells[0][layout.first].sum(axis=1), cells[1][layout.second].sum(axis=1))


# -- margins ---------------------------------------------------------------------------------------


def small(person: str | None) -> Workload:
    columns = {name: column for name, column in SCHEMA.columns.items() if name != "patient"}
    limit = {"person": person, "max_rows_per_person": 2} if person else {}
    questions = [*PAIRED, dp.Count(by="pirads"), dp.Count()]
    return Workload.of(questions, dp.Schema(columns, name="replayed", **limit))


@pytest.mark.parametrize(("person", "epsilon"), [("patient", 1.0), (None, 0.2), (None, 0.6), (None, 1.0)])
def test_margins_of_shaped_noise_cover_and_are_hardly_wider_than_need_be(person, epsilon):
    made = small(person).at(epsilon)
    assert made.pairs
    check_coverage(made, draws(made))


@pytest.mark.parametrize("factor", [1.1, 0.85])
def test_the_coverage_check_notices_shaped_noise_of_another_size(factor):
    made = small("patient").at(1.0)
    with pytest.raises(AssertionError):
        check_coverage(made, factor * draws(made))


def test_narrow_noise_stays_separate():
    workload = small(None)
    assert workload.at(1.0).pairs and not workload.at(12.0).pairs  # less than a step of noise: Laplace's is exact


def test_the_estimate_is_the_best_one_under_the_noise_that_was_added():
    """Against brute force: least squares over the joint table, with the covariance of the noise."""
    made = Workload.of(PAIRED, SCHEMA).at(1.0)
    relations, cells = made.workload.relations, made.workload.cells
    covariance = made.spread(np.eye(cells))
    assert np.allclose(covariance, covariance.T)
    basis = np.linalg.svd(relations)[2][len(relations) :].T  # all tables that agree
    inverse = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
    best = basis @ np.linalg.solve(basis.T @ inverse @ basis, basis.T @ inverse)
    noise = np.linalg.svd(covariance)[0][:, : np.linalg.matrix_rank(covariance, tol=1e-6)]
    assert np.allclose(made._matrix @ noise, best @ noise, atol=1e-6)
    assert np.allclose(made.covariance(np.eye(cells)), best @ covariance @ best.T, atol=1e-6)
    assert np.abs(relations @ made._matrix @ noise).max() < 1e-8


def test_covariances_are_those_of_the_noise():
    made = small("patient").at(1.0)
    noise = draws(made)
    found, claimed = np.cov(noise), made.spread(np.eye(made.workload.cells))
    size = np.sqrt(np.outer(np.diag(claimed), np.diag(claimed)))
    assert (np.abs(found - claimed) / size).max() < 0.08  # 20,000 replays: about 0.01 each


@pytest.mark.parametrize(("first", "second"), [(2, 3), (7, 7), (3, 6)])
def test_moments_between_steps_and_the_continuous_law_meet(first, second):
    for scale in (7, 9):
        near = moments(Fraction(scale), first, second)
        assert np.allclose(near, added_up(float(scale), first, second), rtol=1e-5)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(3), Fraction(2**16)])
@pytest.mark.parametrize(
    ("some", "weight", "whole", "others", "other"),
    [
        (1, 1.0, 0.0, 0, 0.0),
        (2, 1.0, -0.3, 0, 0.0),
        (1, 0.0, 1.0, 0, 0.0),
        (3, -0.5, 0.4, 0, 0.0),
        (1, 1.0, 0.2, 2, -0.6),
    ],
)
def test_margins_of_sums_of_one_block_are_quantiles_of_it(scale, some, weight, whole, others, other):
    from pydplib.noise.pairs import pair_noise
    from pydplib.noise.testing import SeededSource

    x, y = pair_noise(scale, 60_000, 4, 3, source=SeededSource(9))
    found = np.abs(weight * x[:, :some].sum(axis=1) + whole * x.sum(axis=1) + other * y[:, :others].sum(axis=1))
    term = PairTerm(
        noise=PairCells(scale, 4, 3),
        some=some,
        weight=weight,
        whole=whole,
        per_row=1,
        count=1,
        others=others,
        other=other,
    )
    assert term.variance == pytest.approx(float((found.astype(float) ** 2).mean()), rel=0.04)
    for miss in (0.05, 0.002):
        margin = sum_margin((), miss, (term,))
        assert (found > margin + 1e-9).mean() <= miss + 4 * (miss / 60_000) ** 0.5
        needed = np.quantile(found, 1 - miss)
        assert margin <= max(1.1 * needed, needed + 1)


def test_sums_with_many_weights_come_in_parts_that_add_up():
    noise = PairCells(Fraction(5), 4, 3)
    weights = np.array([[1.0, 0.5, 0.0, 0.0, 0.2, 0.2, 0.2], [0.3, 0.3, 0.3, 0.3, 0.1, 0.1, 0.1]])
    parts = pair_parts(weights, noise, 1)
    assert [len(part) for part in parts] == [2, 1]
    assert parts[0][0].weight == 1.0 and parts[0][0].whole == 0.2 and parts[1][0].weight == 0.5
    assert parts[0][1].weight == 0.0 and parts[0][1].whole == pytest.approx(0.4)
    ((both,),) = pair_parts(np.array([[1.0, 0.0, 0.0, 0.0, 0.7, 0.0, 0.0]]), noise, 1)
    assert (both.some, both.weight, both.others, both.other, both.whole) == (1, 1.0, 1, 0.7, 0.0)
    ((theirs,),) = pair_parts(np.array([[0.1, 0.1, 0.1, 0.1, 0.7, 0.0, 0.0]]), noise, 1)
    assert (theirs.noise.cells, theirs.some, theirs.weight, theirs.whole) == (3, 1, 0.7, 0.1)


# -- the paper's figures ---------------------------------------------------------------------------


def test_four_figures_together_cost_three_fifths_of_one_by_one(cohort, bought):
    # Four figures ask three tables: epsilon 1 each, four times. Together, no margin is larger for 0.62 of that.
    alone = CountNoise(3, 2**16, 1, Fraction(1)).margin()
    assert 2.3 < bought.epsilon <= 0.62 * 4
    assert len(bought.noisy) == 3 and len(bought.pairs) == 1
    for release in bought:
        assert max(release.margins) <= alone + 1e-4
    # A hundredth less of it, and a margin is larger.
    made = Measurement.of_stored(bought, cohort.schema)
    assert made is not None
    assert replace(made, epsilon=made.epsilon * Fraction(99, 100)).widest * 3 > alone


def test_margins_of_the_four_figures_cover(cohort, bought):
    made = Measurement.of_stored(bought, cohort.schema)
    assert made is not None and made.pairs
    check_coverage(made, draws(made))


def test_separate_noises_need_two_thirds(cohort, figures):
    """Why one noise for both: a contrast within an age group is told by its own table alone."""
    workload = Workload.of(figures, cohort.schema)
    scores = next(block for block in workload.blocks if "pirads" in block.keys)
    ages = next(block for block in workload.blocks if len(block.keys) == 1)
    cells = scores.shape[1]
    # No linear estimate has a smaller mean variance in the cells of an age group than 1 - 1/cells of the noise's own.
    least = (1 - 1 / cells) ** 0.5
    rest = (1 - 2 * least**2 / cells) ** 0.5  # what the histogram needs of its own, the two others' sums included
    assert len(ages.shape) == 1 and cells == 7
    assert 0.66 < (2 * least + rest) / 4 < 0.69  # in standard deviations
    apart = workload._cheapest((Fraction(1),) * len(workload.distinct), 0.95, ())
    assert 0.67 * 4 < apart.epsilon <= 0.69 * 4


def test_at_one_epsilon_margins_are_smaller_than_with_separate_noises(cohort, figures):
    workload = Workload.of(figures, cohort.schema)
    shaped = workload.at(1.0)
    apart = replace(shaped, pairs=(), shares=workload.shares)
    assert shaped.pairs and shaped.widest < 0.93 * apart.widest


# -- stored ----------------------------------------------------------------------------------------


def test_shaped_tables_are_stored_and_answer_later_questions_for_nothing(figures, tmp_path):
    ledger = dp.SqliteLedger(tmp_path / "ledger.db")
    table = load_cohort(dp.datasets.pirads(backend="numpy"))
    first = dp.Session(table, recipient="acme", budget=4.0, ledger=ledger).release_all(figures, each=1.0)
    table.close()
    assert json.loads(first.to_json())["format"] == FORMAT_WITH_PAIRS
    assert MeasuredTables.from_json(first.to_json()).to_json() == first.to_json()
    assert "shaped for two tables" in str(first)
    session = dp.Session(table, recipient="acme", ledger=ledger)
    coarse = dp.Crosstab("pirads", "age", bins={"age": [18, 60, 80, 100]})
    for question in (dp.Count(by="pirads"), coarse, dp.Count(), dp.Count(by={"prostatitis": ["y"]})):
        answer = session.release(question)
        assert answer.remarks[0].startswith("Answered from 3 tables that you have paid for")
        assert dp.Release.from_json(answer.to_json()) == answer and min(answer.margins) > 0
    with pytest.raises(EngineError, match="closed"):
        session.release(dp.Count(by="bph"), epsilon=0.1)


def test_numbers_of_shaped_tables_agree_and_are_not_negative(bought):
    scores, _, findings, ages = bought
    for release in bought:
        low, high = release.interval
        assert (low >= 0).all() and (low <= release.value).all() and (release.value <= high).all()
    assert (scores.value.sum(axis=1) <= ages.value + 0.01).all()
    assert (findings.value.sum(axis=1) <= ages.value + 0.01).all()


def test_intervals_of_shaped_tables_cover_after_the_non_negative_step(cohort, figures):
    made = Workload.of(figures, cohort.schema).at(1.0)
    exact = made.count(cohort)
    plain = [made.cells_of(facts)[1] @ np.concatenate(exact) / 2**16 for facts in made.workload.distinct]
    hits, total = [0.0] * len(plain), 60
    with seeded(11):
        for _ in range(total):
            for place, release in enumerate(made.answer(exact)):
                low, high = np.array(release.low), np.array(release.high)
                hits[place] += float(((low <= plain[place] + 1e-4) & (plain[place] <= high + 1e-4)).mean())
    assert all(found / total >= 0.9 for found in hits)  # 95 % but for chance


@pytest.mark.parametrize("wrong", [[], [[0, 0]], [[0, 1], [1, 2]], [[0, -1]], [[0]], [[0, True]], "01", None])
def test_stored_pairs_that_are_none_are_refused(bought, wrong):
    plain = bought.to_dict() | {"pairs": wrong}
    with pytest.raises(DataError, match="no stored tables"):
        MeasuredTables.from_json(json.dumps(plain))


def test_tables_of_the_first_format_open_and_answer_as_before(cohort, figures):
    workload = Workload.of(figures, cohort.schema)
    old = Measurement(workload, Fraction(1), workload.shares)
    stored = MeasuredTables.from_json(old.answer(old.count(cohort)).to_json())
    assert stored.to_dict()["format"] == FORMAT and "pairs" not in stored.to_dict()
    made = Measurement.of_stored(stored, cohort.schema)
    assert made is not None and made.pairs == () and made.scales == old.scales
    other = replace(stored, pairs=((0, 7),))
    assert Measurement.of_stored(other, cohort.schema) is None
    assert Measurement.of_stored(replace(stored, pairs=((0, 2),)), cohort.schema) is None  # one is a sum of the other


def test_relations_that_the_noise_keeps_are_left_out():
    relations = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]) / np.array([[2**0.5], [1.0]])
    covariance = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    left = open_relations(relations, relations @ covariance)
    assert len(left) == 1 and np.allclose(np.abs(left), [[0, 0, 1]])
    found = estimator(left, np.diag(covariance), left @ covariance)
    assert np.allclose(found @ np.array([3.0, 3.0, 9.0]), [3.0, 3.0, 0.0])
