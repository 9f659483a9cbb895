"""Table 1: one purchase, the patients' numbers at large epsilon, corrected tests, and files that are real tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import pydplib as dp
from pydplib.cli import cli
from pydplib.clinic.printed_table import PrintedLine
from pydplib.clinic.table_one import agreeing, at_least_0
from pydplib.errors import PydplibError, QuestionError
from pydplib.release import Question

FIRST = dp.Person("patient_id").first_row(order="last_modified")
TABLE = dp.clinic.TableOne(["age", "prostatitis", "lesions"], by="bph", bins={"age": 6}, per_person=FIRST)


@pytest.fixture
def reports() -> Iterator[dp.Session]:
    with dp.load(dp.datasets.pirads(backend="pandas"), dp.datasets.pirads_schema()) as table:
        yield dp.Session(table, recipient="acme", budget=500.0, policy=dp.Policy(data_set_budget=1000.0))


@pytest.fixture(scope="module")
def patients() -> Any:
    return dp.datasets.pirads(backend="pandas").sort_values("last_modified").drop_duplicates("patient_id")


def test_it_is_one_purchase_with_tests_that_are_corrected(reports: dp.Session) -> None:
    before, entries = reports.remaining.epsilon, len(list(reports.ledger.entries()))
    release = reports.release(TABLE, epsilon=2.0)
    assert before - reports.remaining.epsilon == pytest.approx(2.0)
    debits = [entry for entry in list(reports.ledger.entries())[entries:] if entry.kind == "reserve"]
    assert len(debits) <= 1
    found = release.printed
    tests = [line for line in found.lines if line.p is not None]
    assert found.tests == len(tests) == 3 and "3 tests" in str(found) and "Holm" in str(found)
    assert [line.adjusted for line in tests] == dp.clinic.holm([line.p for line in tests])
    assert all("after Holm's correction over 3 tests" in one.words for one in release.findings if one.p is not None)
    again = reports.release(Question.from_dict(TABLE.to_dict()), epsilon=2.0)
    assert again.printed.rows == found.rows and reports.remaining.epsilon == before - 2.0


def test_at_large_epsilon_it_is_that_of_the_patients(reports: dp.Session, patients: Any) -> None:
    release = reports.release(TABLE, epsilon=180.0)
    arms = [patients[~patients.bph], patients[patients.bph]]
    table = np.asarray(release.value)
    edges = np.asarray(release.question["variables"][0]["edges"], dtype=float)
    middles = (edges[:-1] + edges[1:]) / 2
    labels = release.axes[0].labels
    for place, arm in enumerate(arms):
        assert table[0][place] == pytest.approx(len(arm), abs=1e-6)
        binned = middles[np.clip(np.digitize(arm.age, edges) - 1, 0, len(middles) - 1)]
        assert table[1][place] == pytest.approx(binned.mean(), rel=1e-9)
        (deviation,) = [f for f in release.findings if f.name == "Age: SD" and f.group == ("no", "yes")[place]]
        assert deviation.value == pytest.approx(binned.std(ddof=1), rel=1e-9)
        known = arm.prostatitis.isin(["chr", "y", "n", "acute", "acute on chronic"])
        share = 100 * (arm.prostatitis == "chr").sum() / known.sum()
        assert table[labels.index("Prostatitis: chr, percent")][place] == pytest.approx(share, rel=1e-9)
    counts = np.array([[(arm.prostatitis == key).sum() for key in ("chr", "y", "n", "acute", "acute on chronic")]
                       for arm in arms])  # fmt: skip
    oracle = stats.chi2_contingency(counts, correction=False).statistic
    assert release.finding("Prostatitis: chi-squared test").value == pytest.approx(oracle, rel=1e-9)


def test_numbers_of_all_variables_agree_where_the_same_row_counts(reports: dp.Session) -> None:
    release = reports.release(TABLE, epsilon=2.0)
    assert all("need not agree" not in note for note in release.notes)
    picked = reports.release(dp.clinic.TableOne(["age", "lesions"], by="bph"), epsilon=2.0)
    assert any("need not agree" in note for note in picked.notes) and "public rule" in picked.counted


def test_tables_are_made_to_agree_by_least_squares() -> None:
    generator = np.random.default_rng(3)
    tables = [generator.normal(20, 4, (3, size)) for size in (2, 5, 7)]
    persons, fitted = agreeing(tables)
    for table in fitted:
        assert np.allclose(table.sum(axis=1), persons)
    # The normal equations: no other tables with equal totals are nearer.
    for moved in (0.1, -0.1):
        other = [table + moved / table.shape[1] for table in fitted]
        near, far = (sum(((t - o) ** 2).sum() for t, o in zip(tables, made, strict=True)) for made in (fitted, other))
        assert near < far


def test_nearest_counts_of_at_least_zero_keep_the_total() -> None:
    generator = np.random.default_rng(4)
    counts = generator.normal(3, 6, (200, 9))
    fitted = at_least_0(counts)
    some = counts.sum(axis=1) > 0
    assert (fitted >= 0).all() and np.allclose(fitted.sum(axis=1)[some], counts.sum(axis=1)[some])
    assert (fitted[~some] == 0).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dp.clinic.TableOne("age"), "needs a list of variables"),
        (lambda: dp.clinic.TableOne([]), "needs its variables"),
        (lambda: dp.clinic.TableOne(["age"], by="age"), "one column of arms"),
        (lambda: dp.clinic.TableOne(["age"], by=["bph", "pirads"]), "one column of arms"),
        (lambda: dp.clinic.TableOne(["age"], bins=5), "bins="),
        (lambda: dp.clinic.TableOne(["age"], bins={"psa": 5}), "no variable of this table"),
        (lambda: Question.from_dict({"ask": "table one", "variables": 5}), "a list of columns"),
        (lambda: Question.from_dict({"ask": "table one", "variables": [{"column": 5}]}), "entry column"),
        (lambda: Question.from_dict({"ask": "table one", "variables": [{"column": "a"}, {"column": "a"}]}), "once"),
    ],
)
def test_a_table_that_is_not_whole_is_refused(make: Any, words: str) -> None:
    with pytest.raises(QuestionError, match=words):
        make()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"bins": {"age": 10**9}}, "from 1 to 10000"),
        ({"bins": {"age": 0}}, "from 1 to 10000"),
        ({"variables": ["bph"], "bins": {"bph": 3}, "by": None}, "no number"),
        ({"variables": ["last_modified"]}, "no number"),
        ({"variables": ["nothing"]}, "nothing"),
    ],
)
def test_columns_that_do_not_fit_are_refused_before_paying(reports: dp.Session, said: Any, words: str) -> None:
    before = reports.remaining.epsilon
    with pytest.raises(PydplibError, match=words):
        dp.clinic.table_one(reports, **({"variables": ["age"], "by": "bph", "epsilon": 1.0} | said))
    assert reports.remaining.epsilon == before


def test_noise_that_would_hide_it_is_refused_with_the_way_out() -> None:
    schema = dp.datasets.pirads_schema()
    small = dp.Schema(schema.columns, person="patient_id", max_rows_per_person=3, name="small", size=60)
    with dp.load(dp.datasets.pirads(backend="pandas"), small) as table:
        session = dp.Session(table, recipient="acme", budget=50.0)
        with pytest.raises(QuestionError, match=r"fewer variables, wider bins, or an epsilon of at least") as refused:
            session.price(TABLE, epsilon=0.5)
        enough = float(str(refused.value).rsplit(" ", 1)[1].rstrip("."))
        assert session.price(TABLE, epsilon=1.05 * enough).cost.epsilon == pytest.approx(1.05 * enough)


def test_only_a_table_that_outgrew_its_size_is_said_to_have() -> None:
    rows = dp.datasets.pirads(backend="pandas").drop_duplicates("patient_id")
    columns = dp.datasets.pirads_schema().columns
    for size, outgrown in ((652, False), (250, True)):
        schema = dp.Schema(columns, person="patient_id", max_rows_per_person=1, name="sized", size=size)
        with dp.load(rows, schema) as table:
            session = dp.Session(table, recipient="acme", budget=8.0)
            for question in (dp.clinic.TableOne(["age", "bph", "lesions"]), dp.clinic.OddsRatio("bph", by="pirads")):
                notes = session.release(question, epsilon=4.0).notes
                assert any("outgrew" in note for note in notes) == outgrown
                assert not any("need not agree" in note for note in notes)


class Cells(HTMLParser):
    """Reads the rows of a table as a browser or a word processor does."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag != "meta":  # it has no end
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_html_is_a_real_table_with_its_styles_written_in(reports: dp.Session) -> None:
    found = reports.release(TABLE, epsilon=2.0).printed
    html = found.to_html()
    read = Cells(html)
    assert not read.open and read.rows[0][1:] == found.head[1:] and read.rows[1:] == found.rows
    assert html.startswith("<table style=") and "class=" not in html and "border-top:1.5pt solid black" in html
    page = found.to_page()
    assert page.startswith("<!doctype html>") and html in page


def test_csv_runs_no_formula(reports: dp.Session) -> None:
    found = reports.release(TABLE, epsilon=2.0).printed
    assert found.to_csv().splitlines()[0].count(",") == 4 and "mean (SD)" in found.to_csv()
    lines = (PrintedLine("=1+1", ("-",)), PrintedLine("@b", ("2",), indent=1))
    hostile = replace(found, arms=("+cmd",), lines=lines).to_csv().splitlines()
    assert hostile == [",'+cmd", "'=1+1,'-", "'    @b,2"]


def test_figure_is_the_table(reports: dp.Session) -> None:
    release = reports.release(TABLE, epsilon=2.0)
    words = {note.text for note in release.plot().layout.annotations}
    assert {cell for row in release.printed.rows for cell in row if cell.strip()} <= words


def test_command_writes_a_table_that_word_processors_open(tmp_path: Path) -> None:
    dp.datasets.pirads(backend="pandas").to_parquet(tmp_path / "reports.parquet")
    dp.datasets.pirads_schema().save(tmp_path / "schema.toml")
    question = "table one of age, prostatitis by bph per person first by last_modified"
    shared = [
        str(tmp_path / "reports.parquet"), "--schema", str(tmp_path / "schema.toml"), "-q", question, "--epsilon", "1",
        "--recipient", "acme", "--budget", "5", "--ledger", str(tmp_path / "ledger.db"),
    ]  # fmt: skip
    for name in ("table.html", "table.csv", "table.txt", "table.json"):
        done = CliRunner().invoke(cli, ["release", *shared, "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    assert Cells((tmp_path / "table.html").read_text()).rows[1][0] == "Age (years)"
    assert (tmp_path / "table.csv").read_text().splitlines()[1].startswith("Age (years),")
    assert "mean (SD)" in (tmp_path / "table.txt").read_text()
    stored = dp.Release.from_json((tmp_path / "table.json").read_text())
    assert stored.printed.rows[0][0] == "Age (years)"
    priced = CliRunner().invoke(cli, ["price", *shared])
    assert "Paid before" in priced.output or "nothing" in priced.output.lower()
