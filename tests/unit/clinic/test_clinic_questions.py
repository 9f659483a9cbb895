"""Clinical questions in sessions: large epsilon gives the exact table's estimate, and what is stored reads back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import pydplib as dp
from pydplib.clinic.contrasts import compare_shares
from pydplib.clinic.survival_curves import survival_curve
from pydplib.errors import QuestionError
from pydplib.release.grammar import parse_question
from pydplib.release.statistics import STATISTICS

EXACT = 40.0
FIRST = dp.Person("patient_id").first_row(order="last_modified")


@pytest.fixture(scope="module")
def visits() -> Any:
    return dp.datasets.follow_up(backend="pandas")


@pytest.fixture
def session(visits: Any) -> Iterator[dp.Session]:
    with dp.load(visits, dp.datasets.follow_up_schema()) as table:
        yield dp.Session(table, recipient="acme", budget=500.0, policy=dp.Policy(data_set_budget=1000.0))


@pytest.fixture
def reports() -> Iterator[dp.Session]:
    with dp.load(dp.datasets.pirads(backend="pandas"), dp.datasets.pirads_schema()) as table:
        yield dp.Session(table, recipient="acme", budget=500.0, policy=dp.Policy(data_set_budget=1000.0))


def test_survival_of_large_epsilon_is_that_of_the_patients(session: dp.Session, visits: Any) -> None:
    release = session.release(dp.clinic.Survival("months", "recurrence", by="arm", bins=12), epsilon=EXACT)
    patients = visits.drop_duplicates("patient_id")
    for place, arm in enumerate(release.axes[0].keys):
        own = patients[patients["arm"] == arm]
        table = np.zeros((12, 2))
        np.add.at(table, (np.minimum(own["months"] // 5, 11).to_numpy(), own["recurrence"].astype(int)), 1)
        exact = survival_curve(table, 0.0)
        assert np.allclose(release.value[place], exact.survival.value, atol=1e-9)
        assert np.allclose(np.array(release.sizes).reshape(2, 12)[place], exact.at_risk, atol=1e-9)
    low, high = release.population
    assert (low <= release.value).all() and (release.value <= high).all() and (high - low > 0.005).all()
    assert release.finding("log-rank test").p == 0.001
    mean = release.finding("restricted mean up to 60", "standard")
    assert mean.low is not None and mean.value is not None and mean.low < mean.value < 60
    assert release.finding("median survival", "standard").value is None  # fewer than half had an event


def test_a_horizon_before_the_last_contact_censors_there(session: dp.Session, visits: Any) -> None:
    whole = session.release(dp.clinic.Survival("months", "recurrence", bins=12), epsilon=EXACT)
    short = session.release(dp.clinic.Survival("months", "recurrence", edges=range(0, 31, 5)), epsilon=EXACT)
    assert short.shape == (6,) and np.allclose(short.value, whole.value[:6], atol=1e-9)
    assert short.question["edges"] == [0, 5, 10, 15, 20, 25, 30]
    assert np.allclose(short.sizes, whole.sizes[:6], atol=1e-9)


def test_ratios_and_differences_are_those_of_the_patients(session: dp.Session, visits: Any) -> None:
    patients = visits.drop_duplicates("patient_id")
    arms = dp.datasets.follow_up_schema().column("arm").values  # type: ignore[attr-defined]
    table = np.array(
        [[((patients.arm == arm) & (patients.recurrence == yes)).sum() for yes in (0, 1)] for arm in arms], dtype=float
    )
    wanted = {
        dp.clinic.OddsRatio: "odds ratio", dp.clinic.RiskRatio: "risk ratio", dp.clinic.Difference: "difference",
    }  # fmt: skip
    for kind, measure in wanted.items():
        release = session.release(kind("recurrence", by="arm"), epsilon=EXACT)
        exact = compare_shares(table[::-1], 0.0, measure=measure)  # type: ignore[arg-type]
        assert np.isclose(release.values[0], exact.value, rtol=1e-9)
        assert np.allclose([end[0] for end in release.population], [exact.low, exact.high], rtol=1e-6)


def test_any_group_can_be_what_the_others_are_compared_with(session: dp.Session) -> None:
    first = session.release(dp.clinic.OddsRatio("recurrence", by="arm"), epsilon=EXACT)
    other = session.release(dp.clinic.OddsRatio("recurrence", by="arm", reference="intensified"), epsilon=EXACT)
    assert other.axes[0].keys == ("standard",) and np.isclose(other.values[0], 1 / first.values[0], rtol=1e-9)
    assert np.allclose([end[0] for end in other.population], [1 / end[0] for end in reversed(first.population)])
    assert "Each group is compared with Treatment arm = intensified." in other.notes
    said = dp.clinic.OddsRatio("recurrence", by="arm", reference="standard")
    assert said.canonical(session.table.schema) == first.question  # one question, however it is written
    with pytest.raises(QuestionError, match=r"has no group 'none' to compare with\. Its groups: standard, intensified"):
        session.price(dp.clinic.OddsRatio("recurrence", by="arm", reference="none"), epsilon=1.0)


def test_a_reference_of_bins_is_named_by_its_lower_end(reports: dp.Session) -> None:
    by = {"age": dp.Bins([18, 60, 70, 100])}
    release = reports.release(dp.clinic.Difference("bph", by=by, reference=60, per_person=FIRST), epsilon=EXACT)
    plain = reports.release(dp.clinic.Difference("bph", by=by, per_person=FIRST), epsilon=EXACT)
    assert release.axes[0].keys == ((18, 60), (70, 100))
    assert np.isclose(release.values[0], -plain.values[0])
    assert np.isclose(release.values[1], plain.values[1] - plain.values[0])


QUESTIONS = [
    "odds ratio of bph by prostatitis", "trend of bph by pirads", "roc pirads against bph",
    "logistic bph by pirads, prostatitis", "standard error of age by bph", "top pirads places 2",
    "series last_modified every month", "correlation of age and pirads", "association of bph and prostatitis",
    "difference of age by bph", "risk ratio of bph by pirads", "odds ratio of bph by pirads against 3",
    "difference of age by prostatitis against acute",
    "table one of age, prostatitis by bph per person first by last_modified", "table 1 of age, lesions",
]  # fmt: skip


@pytest.mark.parametrize("text", QUESTIONS)
def test_every_word_is_read_released_stored_drawn_and_asked_again(text: str, reports: dp.Session) -> None:
    question = parse_question(text, reports.table.schema)
    assert eval(repr(question), {**vars(dp.clinic), "dp": dp, "Person": dp.Person}) == question
    assert dp.release.Question.from_dict(question.to_dict()) == question
    priced = reports.price(question, epsilon=2.0)
    release = reports.release(question, epsilon=2.0)
    assert dp.Release.from_json(release.to_json()) == release
    assert priced.question in str(release)
    again = dp.release.Question.from_dict(release.question)
    assert reports.release(again, epsilon=2.0).values == release.values  # the same key: nothing is paid twice
    assert release.plot().data
    assert len(release.to_frame(backend="pandas")) == len(release.values)


def test_examples_of_the_registry_read(session: dp.Session, reports: dp.Session) -> None:
    schema = dp.datasets.pirads_schema()
    known = {**schema.columns, **dp.datasets.follow_up_schema().columns}
    whole = dp.Schema(known, person="patient_id", max_rows_per_person=3)
    for kind in STATISTICS.values():
        if kind.__module__.startswith("pydplib.clinic"):
            assert isinstance(parse_question(kind.example, whole), kind), kind.example


def test_which_row_counts_can_be_said(reports: dp.Session) -> None:
    release = reports.release(dp.clinic.OddsRatio("bph", by="pirads", per_person=FIRST), epsilon=2.0)
    assert "the first by last_modified" in release.counted
    found = parse_question("odds ratio of bph by pirads per person first by last_modified", reports.table.schema)
    assert found.canonical(reports.table.schema) == dict(release.question)


def test_noise_that_would_hide_the_answer_is_refused_before_paying() -> None:
    rows = dp.datasets.follow_up(backend="pandas").drop_duplicates("patient_id")
    plain = dp.datasets.follow_up_schema()
    schema = dp.Schema(dict(plain.columns), person="patient_id", max_rows_per_person=1, size=652)
    with dp.load(rows, schema) as table:
        session = dp.Session(table, recipient="acme", budget=10.0)
        before = session.remaining.epsilon
        question = dp.clinic.Survival("months", "recurrence", by="arm", bins=60)
        with pytest.raises(QuestionError, match="noise would hide") as refused:
            session.release(question, epsilon=0.05)
        assert "epsilon of at least" in str(refused.value)
        assert session.remaining.epsilon == before
        session.price(question, epsilon=1.0)


def test_where_the_size_is_not_public_a_price_says_how_many_persons_it_takes(session: dp.Session) -> None:
    question = dp.clinic.Survival("months", "recurrence", by="arm", bins=12)
    [warned] = session.price(question, epsilon=1.0).notes
    assert warned.startswith("How many persons there are is not public. With fewer than about 29, noise of about 1.4")
    assert "count the persons first" in warned and "larger epsilon" in warned
    narrowed = dp.clinic.Survival("months", "recurrence", by="arm", bins=12, where=dp.Where("psa").at_least(1))
    assert "How many persons meet the conditions is not public" in session.price(narrowed, epsilon=1.0).notes[0]
    session.buy_size(epsilon=5.0)
    assert session.price(question, epsilon=1.0).notes == ()
    [hidden] = session.price(question, epsilon=0.005).notes
    assert hidden.startswith("The noise would hide this answer: 48 cells") and "epsilon of at least" in hidden
    assert "How many persons meet" in session.price(narrowed, epsilon=1.0).notes[0]


def test_persons_may_be_fewer_than_the_rows_that_were_bought(reports: dp.Session) -> None:
    reports.buy_size(epsilon=5.0)
    size, question = reports.size, dp.clinic.OddsRatio("bph", by="pirads")
    spread = (size or 0.0) * 0.9 / (3 * 10**0.5)  # enough for the rows, too much if many are of one person
    [warned] = reports.price(question, epsilon=2**0.5 / spread).notes
    assert warned.startswith("How many persons there are is not public")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.clinic.Survival("months"), "survival months until recurrence"),
        (lambda: dp.clinic.OddsRatio("bph"), "odds ratio of"),
        (lambda: dp.clinic.Top("pirads", places=0), "whole number from 1"),
        (lambda: dp.clinic.Series("last_modified", every="week"), "month, quarter or year"),
    ],
)
def test_a_question_that_is_not_whole_says_how_it_reads(make: Any, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        make()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (dp.clinic.OddsRatio("pirads", by="bph"), "yes/no column"),
        (dp.clinic.Trend("bph", by="prostatitis"), "are no numbers"),
        (dp.clinic.Series("age"), "is no date"),
        (dp.clinic.Survival("pirads", "bph"), "bins"),
        (dp.clinic.Top("bph", places=3), "at most 2 places"),
    ],
)
def test_a_column_that_does_not_fit_is_refused_by_the_schema_alone(question: Any, words: str, reports: Any) -> None:
    with pytest.raises(QuestionError, match=words):
        reports.price(question, epsilon=1.0)


def test_population_of_existing_statistics_needs_one_row_per_person(reports: dp.Session) -> None:
    assert reports.release(dp.Mean("age"), epsilon=1.0).population is None  # several rows of one person count
    release = reports.release(dp.Mean("age", per_person=FIRST), epsilon=1.0)
    low, high = release.population
    assert low < release.interval[0] and release.interval[1] < high and high - low < 12
    counts = reports.release(dp.Count(by="bph", per_person=FIRST), epsilon=1.0)
    assert (counts.population[0] < counts.interval[0]).all() and (counts.interval[1] < counts.population[1]).all()
    assert dp.Release.from_json(release.to_json()).population == release.population


def test_the_same_release_has_the_same_p_value_everywhere(reports: dp.Session) -> None:
    release = reports.release(dp.clinic.Association("bph", "prostatitis"), epsilon=1.0)
    counts = np.array(release.counts).reshape(5, 2)
    from pydplib.clinic.association import independence_test

    assert independence_test(counts, release.scale).p == release.findings[0].p


def test_top_values_are_the_most_frequent(reports: dp.Session) -> None:
    rows = dp.datasets.pirads(backend="pandas")["pirads"].value_counts()
    release = reports.release(dp.clinic.Top("pirads", places=3), epsilon=EXACT)
    assert list(release.value) == rows.index[:3].tolist()


@pytest.mark.parametrize(
    "plain",
    [
        None, 5, {"ask": ["count"]}, {"ask": "count", "by": 5}, {"ask": "count", "by": [None]},
        {"ask": "count", "by": [{}]}, {"ask": "count", "where": 5}, {"ask": "count", "after": [None]},
    ],
)  # fmt: skip
def test_plain_values_that_are_no_question_are_refused_in_words(plain: Any) -> None:
    with pytest.raises(QuestionError):
        dp.Mean.from_dict(plain)


def test_text_of_a_test_speaks_of_its_p_value_and_a_ratio_has_three_digits() -> None:
    reports = dp.load(dp.datasets.pirads(backend="pandas"), dp.datasets.pirads_schema())
    session = dp.Session(reports, recipient="acme", budget=dp.PureDP(4.0))
    tested = str(session.release(dp.clinic.Association("bph", "prostatitis"), epsilon=1.0))
    assert "the p-value includes sampling and noise" in tested and "the margin covers" not in tested
    asked = dp.clinic.OddsRatio("bph", by="prostatitis", per_person=dp.Person("patient_id").highest_row("pirads"))
    hidden = session.release(asked, epsilon=0.05)
    assert hidden.margins is None and hidden.population_low is not None
    for value in hidden.values:
        assert f" {value:.3g} " in str(hidden)
