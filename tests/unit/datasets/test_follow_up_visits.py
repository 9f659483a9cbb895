"""The synthetic visits belong to the cohort's patients and tell a plausible course, the same for the same seed."""

from __future__ import annotations

import pytest
from lines_run import lines_run

import pydplib as dp
from pydplib.errors import ParameterError


@pytest.fixture(scope="module")
def visits():
    return dp.datasets.follow_up(backend="pandas")


@pytest.fixture(scope="module")
def large():
    return dp.datasets.follow_up(n=40_000, seed=7, backend="pandas")


@pytest.fixture(scope="module")
def first_reports():
    return dp.datasets.pirads(n=40_000, seed=7, backend="pandas").drop_duplicates("patient_id")


@pytest.mark.parametrize(("n", "seed"), [(920, 2018), (920, 3), (1, 0), (7, 1)])
def test_visits_of_the_same_n_and_seed_have_the_cohorts_patients(n, seed):
    visits = dp.datasets.follow_up(n=n, seed=seed, backend="numpy")
    reports = dp.datasets.pirads(n=n, seed=seed, backend="numpy")
    assert set(visits["patient_id"].tolist()) == set(reports["patient_id"].tolist())


def test_visits_with_the_same_seed_are_the_same_and_with_another_differ(visits):
    assert dp.datasets.follow_up(backend="pandas").equals(visits)
    assert not dp.datasets.follow_up(seed=1, backend="pandas").equals(visits)
    # Pinned: documentation and examples show these rows.
    assert visits["patient_id"].nunique() == 652
    assert visits["patient_id"].head(4).tolist() == [468, 241, 201, 344]


def test_every_value_lies_in_the_schema_and_only_psa_is_missing(large):
    schema = dp.datasets.follow_up_schema()
    assert list(schema.columns) == list(large.columns)
    assert {name for name in large.columns if large[name].isna().any()} == {"psa"}
    assert 0.02 < large["psa"].isna().mean() < 0.04
    for name in ("visit_month", "psa", "months"):
        column = schema.column(name)
        assert large[name].dropna().between(column.low, column.high).all(), name
    days = schema.column("visit_date")
    assert large["visit_date"].dt.date.between(days.low, days.high).all()
    assert set(large["arm"]) == set(schema.column("arm").values)
    assert large.groupby("patient_id").size().max() == schema.max_rows_per_person
    assert dp.Schema.from_toml(schema.to_toml()) == schema


def test_course_is_constant_over_a_patients_rows_and_ends_with_the_last_visit(large):
    by_patient = large.groupby("patient_id")
    assert (by_patient[["arm", "months", "recurrence"]].nunique() == 1).all().all()
    assert (by_patient["visit_month"].max() == by_patient["months"].first()).all()
    assert (by_patient["visit_month"].min() == 0).all()
    assert not large.duplicated(["patient_id", "visit_date"]).any()
    assert large["visit_date"].is_monotonic_increasing


@pytest.mark.parametrize("seed", [2018, 0, 1, 2, 3])
def test_recurrences_at_652_patients_come_sooner_with_the_score(seed):
    visits = dp.datasets.follow_up(seed=seed, backend="pandas").drop_duplicates("patient_id")
    reports = dp.datasets.pirads(seed=seed, backend="pandas").drop_duplicates("patient_id")
    patients = visits.merge(reports, on="patient_id")
    patients = patients[patients["pirads"].notna()]
    patients["risk"] = patients["pirads"].astype(int).map({1: 0, 2: 0, 3: 1, 4: 2, 5: 3})
    recurred = patients.groupby("risk")["recurrence"].mean()
    assert recurred.is_monotonic_increasing and recurred[3] > recurred[0] + 0.35
    assert patients.groupby("risk")["months"].mean().is_monotonic_decreasing


def test_recurrences_follow_score_grade_and_arm(large, first_reports):
    patients = large.drop_duplicates("patient_id").merge(first_reports, on="patient_id")
    assert len(patients) == len(first_reports)
    rates = patients.groupby("pirads")["recurrence"].sum() / patients.groupby("pirads")["months"].sum()
    assert rates.is_monotonic_increasing and rates[5] > 20 * rates[1]
    rates = patients.groupby("arm")["recurrence"].sum() / patients.groupby("arm")["months"].sum()
    assert 0.4 < rates["intensified"] / rates["standard"] < 0.65
    high = patients[patients["pirads"] == 5]
    assert high[high["gleason"] >= 9]["recurrence"].mean() > high[high["gleason"] == 6]["recurrence"].mean() + 0.05
    # The arm was drawn by lot.
    assert abs((patients[patients["pirads"] == 5]["arm"] == "standard").mean() - 0.5) < 0.05


def test_psa_falls_after_surgery_and_rises_before_a_recurrence(large, first_reports):
    rows = large.merge(first_reports[["patient_id", "therapy"]], on="patient_id").dropna(subset=["psa"])
    surgery = rows[rows["therapy"] == "prostatectomy"]
    assert (
        surgery[surgery["visit_month"] == 3]["psa"].median()
        < 0.1 * surgery[surgery["visit_month"] == 0]["psa"].median()
    )
    late = rows[rows["months"] >= 30]
    at_end = late[late["visit_month"] == late["months"]].set_index("patient_id")
    early = late[late["visit_month"] == 12].set_index("patient_id")
    ratio = ((at_end["psa"] + 0.1) / (early["psa"] + 0.1)).dropna()
    recurred = at_end["recurrence"].loc[ratio.index]
    assert ratio[recurred].median() > 2 and 0.8 < ratio[~recurred].median() < 1.3


def test_arguments_out_of_range_are_refused_like_the_cohorts():
    with pytest.raises(ParameterError, match="whole number from 1"):
        dp.datasets.follow_up(n=0)
    with pytest.raises(ParameterError, match="Did you mean 'polars'"):
        dp.datasets.follow_up(backend="polar")


def test_generation_of_visits_is_vectorised():
    few, many = (lines_run(lambda n=n: dp.datasets.follow_up(n=n, backend="numpy")) for n in (500, 5_000))
    assert many < 1.5 * few


def test_visits_can_be_asked(visits):
    table = dp.load(visits, dp.datasets.follow_up_schema())
    session = dp.Session(table, recipient="acme", budget=dp.PureDP(8.0))
    answer = session.release(dp.Count(by="arm", of="persons"), epsilon=8.0).to_frame()
    assert abs(answer["value"].sum() - 652) < 25


def test_visits_and_reports_are_joined_as_shipped_and_spend_one_budget():
    reports = dp.load(dp.datasets.pirads(n=60, backend="pandas"), dp.datasets.pirads_schema())
    visits = dp.load(dp.datasets.follow_up(n=60, backend="pandas"), dp.datasets.follow_up_schema())
    assert reports.schema.lineage == visits.schema.lineage
    both = reports.join(visits)
    session = dp.Session(both, recipient="acme", budget=8.0)
    first = dp.Person("patient_id").first_row(order="last_modified")
    counted = session.release(dp.Count(by="arm", per_person=first), epsilon=8.0)
    patients = dp.datasets.pirads(n=60, backend="pandas")["patient_id"].nunique()
    assert abs(sum(counted.values) - patients) <= 3  # noise of a tenth of a person
