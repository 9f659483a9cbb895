"""The synthetic cohort is the paper's in shape, the same for the same seed, and plainly synthetic."""

from __future__ import annotations

import importlib

import narwhals as nw
import pytest
from lines_run import lines_run

import pydplib as dp
from pydplib.capture import builtin
from pydplib.errors import ParameterError

PAPER_COLUMNS = {
    "patient_id": "Anonym_ID",
    "department_code": "RequestRadiologyDepartmentCode",
    "physician_name": "ProcedureValidatingPhysicianName",
    "last_modified": "LastModified",
    "age": "Age",
    "year": "Year",
    "gleason": "Gleason score",
    "pca_no_pirads": "PCA_no_PIRADS_defined",
    "follow_up": "Follow up",
    "pirads": "PIRADS score",
    "lesions": "Number_of_Lesions",
    "prostatitis": "Prostatitis",
    "bph": "BPH",
    "tumour_status": "Primary_TU_LocalRecurrence_or_Progress",
    "therapy": "Therapy",
    "turp": "TURP surgery",
}


@pytest.fixture(scope="module")
def cohort():
    return dp.datasets.pirads(backend="pandas")


@pytest.fixture(scope="module")
def large():
    return dp.datasets.pirads(n=60_000, seed=7, backend="pandas")


def test_cohort_by_default_has_920_reports_and_the_papers_sixteen_columns(cohort):
    assert len(cohort) == 920
    assert len(PAPER_COLUMNS) == 16
    assert set(cohort.columns) == {*PAPER_COLUMNS, "report_id"}
    schema = dp.datasets.pirads_schema()
    assert list(schema.columns) == list(cohort.columns)
    assert {name: dp.datasets.PAPER_NAMES[name] for name in PAPER_COLUMNS} == PAPER_COLUMNS


def test_titles_of_the_schema_are_for_people_and_those_of_the_template():
    schema, template = dp.datasets.pirads_schema(), builtin("pirads-paper")
    titles = {name: schema.column(name).title for name in PAPER_COLUMNS}
    assert titles == {name: template.index.by_id[name].item.title for name in PAPER_COLUMNS}
    assert titles["department_code"] == "Requesting department"


def test_cohort_with_the_same_seed_is_the_same_and_with_another_differs(cohort):
    again = dp.datasets.pirads(backend="pandas")
    other = dp.datasets.pirads(seed=1, backend="pandas")
    assert again.equals(cohort)
    assert not other.equals(cohort)
    assert (other["age"].to_numpy() != cohort["age"].to_numpy()).mean() > 0.5


@pytest.mark.parametrize("seed", [2018, 0, 1, 2, 3])
def test_ages_and_scores_at_920_reports_follow_the_paper(seed):
    frame = dp.datasets.pirads(seed=seed, backend="pandas")
    assert frame["age"].between(50, 80).mean() > 0.9
    assert frame.groupby("pirads")["age"].mean().between(60, 70).all()
    high = frame[frame["pirads"] >= 4]
    by_decade = high.groupby(high["age"] // 10 * 10).size()
    assert by_decade.idxmax() == 60
    scores = frame.groupby(frame["age"] // 10 * 10)["pirads"].agg(["mean", "size"])
    assert scores[scores["size"] >= 50]["mean"].idxmax() == 60


def test_ages_and_scores_at_60000_reports_follow_the_paper_closely(large):
    assert large.groupby("pirads")["age"].mean().between(62, 68).all()
    assert large.groupby(large["age"] // 10 * 10)["pirads"].mean().idxmax() == 60
    shares = large["pirads"].value_counts(normalize=True)
    assert set(shares.index) == {1, 2, 3, 4, 5}
    assert shares.min() > 0.05


def test_findings_depend_on_each_other_plausibly(large):
    by_score = large.groupby("pirads")
    lesions = large["lesions"].replace("multiple", "4").astype(int).groupby(large["pirads"]).mean()
    assert lesions.is_monotonic_increasing
    known = by_score["gleason"].apply(lambda column: column.notna().mean())
    assert known.is_monotonic_increasing
    assert known[1] < 0.05 and known[5] > 0.75
    assert by_score["gleason"].mean()[5] > by_score["gleason"].mean()[3]
    surveillance = (large["therapy"] == "active surveillance").groupby(large["gleason"]).mean()
    assert surveillance[6] > 3 * surveillance[7]
    turp = large["turp"] == "yes"
    assert turp[large["bph"]].mean() > 2 * turp[~large["bph"]].mean()
    assert large[large["age"] >= 75]["bph"].mean() > large[large["age"] < 55]["bph"].mean() + 0.2


def test_missing_values_are_where_the_documentation_says_and_nowhere_else(large):
    missing = {name for name in large.columns if large[name].isna().any()}
    assert missing == {"gleason", "pirads", "tumour_status"}
    assert (large["pirads"].isna() == large["pca_no_pirads"]).all()
    assert (large["gleason"].isna() == large["tumour_status"].isna()).all()
    assert (large.loc[large["gleason"].isna(), "therapy"] == "no therapy").all()
    assert 0.04 < large["pca_no_pirads"].mean() < 0.10


def test_patients_have_one_to_four_reports_in_order_of_time(large):
    counts = large["patient_id"].value_counts()
    assert set(counts.unique()) == {1, 2, 3, 4}
    assert 0.15 < (counts > 1).mean() < 0.4
    assert large["report_id"].is_unique and large["last_modified"].is_monotonic_increasing
    repeated = large[large["patient_id"].isin(counts[counts > 1].index)]
    spread = repeated.groupby("patient_id")["age"].agg(["min", "max"])
    assert ((spread["max"] - spread["min"]) <= 2).all()
    assert (large.loc[large["patient_id"].duplicated(), "follow_up"] == "yes").mean() > 0.9
    # What was born with a patient stays with him.
    assert (repeated.groupby("patient_id")["department_code"].nunique() == 1).all()


def test_every_value_lies_in_the_schema(large):
    schema = dp.datasets.pirads_schema()
    for name, column in schema.columns.items():
        if hasattr(column, "values"):
            assert set(large[name].dropna().unique()) == set(column.values), name
    assert large["age"].between(18, 100).all()
    days = schema.column("last_modified")
    assert large["last_modified"].dt.date.between(days.low, days.high).all()
    assert dp.Schema.from_toml(schema.to_toml()) == schema


def test_types_are_those_of_the_papers_table_2(cohort, large):
    """Age float; Number_of_Lesions int or "multiple"; Follow up and TURP strings; BPH and PCA_no_PIRADS bool."""
    assert cohort["age"].dtype == "float64"
    tenths = cohort["age"].to_numpy() * 10
    assert (abs(tenths - tenths.round()) < 1e-9).all() and (cohort["age"] % 1 != 0).mean() > 0.7
    assert all(isinstance(value, str) for value in cohort["lesions"])
    assert set(cohort["lesions"]) == {"0", "1", "2", "3", "4", "5", "multiple"}
    for name in ("follow_up", "turp"):
        assert set(cohort[name]) == {"yes", "no", "unknown"}, name
        assert (large[name] == "unknown").mean() < 0.05
    assert cohort["bph"].dtype == cohort["pca_no_pirads"].dtype == bool


def test_cohort_keeps_the_reports_that_its_seed_had_before_ages_had_decimals(cohort):
    """Decimals, "multiple" and "unknown" were added without drawing anything else again."""
    first = cohort.head(4)
    assert (first["age"] // 1).tolist() == [57, 56, 65, 76]
    assert first["patient_id"].tolist() == [468, 241, 201, 344]
    assert int((cohort["prostatitis"] == "n").sum()) == 613


@pytest.mark.parametrize(
    ("backend", "module", "kind"),
    [("pandas", "pandas", "DataFrame"), ("polars", "polars", "DataFrame"), ("pyarrow", "pyarrow", "Table")],
)
def test_backends_give_the_same_rows_in_their_own_type(backend, module, kind):
    frame = dp.datasets.pirads(n=300, backend=backend)
    assert isinstance(frame, getattr(importlib.import_module(module), kind))
    plain = dp.datasets.pirads(n=300, backend="numpy")
    table = nw.from_native(frame, eager_only=True)
    for name, expected in plain.items():
        gone = table[name].is_null().to_list()
        for value, lost, want in zip(table[name].to_list(), gone, expected, strict=True):
            assert lost == (want is None or want != want), name
            if not lost and name == "last_modified":
                assert str(value)[:10] == str(want)
            elif not lost:
                assert value == want, name


def test_backend_when_not_given_is_the_first_that_is_installed(monkeypatch):
    frames = importlib.import_module("pydplib.datasets._frames")
    hidden: set[str] = set()
    real = frames.find_spec
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name in hidden else real(name))
    kinds = []
    for name in ("pandas", "polars", "pyarrow", "numpy"):
        kinds.append(type(dp.datasets.pirads(n=5)).__module__.split(".")[0])
        hidden.add(name)
    assert kinds == ["pandas", "polars", "pyarrow", "builtins"]
    with pytest.raises(ParameterError, match="pip install polars"):
        dp.datasets.pirads(n=5, backend="polars")


def test_synthetic_mark_travels_with_the_data(cohort):
    assert cohort.attrs["synthetic"] is True and "Synthetic" in cohort.attrs["note"]
    assert cohort["physician_name"].str.fullmatch(r"Dr\. Synthetic \d\d").all()
    assert cohort["department_code"].str.startswith("SYN-").all()
    arrow = dp.datasets.pirads(n=5, backend="pyarrow")
    assert arrow.schema.metadata[b"synthetic"] == b"true"


@pytest.mark.parametrize(
    "arguments",
    [{"n": 0}, {"n": 10_000_001}, {"n": 2.5}, {"n": True}, {"seed": -1}, {"backend": "pandsa"}],
)
def test_arguments_out_of_range_are_refused_with_the_rule(arguments):
    with pytest.raises(ParameterError, match=r"must be a whole number|Did you mean 'pandas'"):
        dp.datasets.pirads(**arguments)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_tiny_cohorts_have_exactly_n_rows(n):
    assert len(dp.datasets.pirads(n=n, backend="pandas")) == n


def test_generation_is_vectorised_so_that_ten_times_the_rows_run_no_more_lines():
    few, many = (lines_run(lambda n=n: dp.datasets.pirads(n=n, backend="numpy")) for n in (500, 5_000))
    assert many < 1.5 * few


def test_a_planted_loop_over_rows_runs_more_lines():
    few, many = (lines_run(lambda n=n: [i + 1 for i in range(n)]) for n in (500, 5_000))
    assert many > 5 * few


@pytest.mark.parametrize("name", ["n", "seed"])
def test_pirads_odd_arguments_are_not_repeated_at_length(name):
    with pytest.raises(ParameterError) as caught:
        dp.datasets.pirads(**{name: "long text " * 100})
    assert len(str(caught.value)) < 200
