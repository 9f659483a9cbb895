"""pydplib demo: one command, one report, its path on standard output."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from pydplib.cli import cli
from pydplib.cli.demo import command
from pydplib.datasets import pirads
from pydplib.plot.catalogue import CATALOGUE
from pydplib.plot.recipes.sound import load_cohort
from pydplib.report import Chart, Table
from pydplib.report.demo import demo_report, demo_steps, same_words_section, sound_section


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new"
    result = CliRunner().invoke(cli, ["demo", "--output", str(folder)])
    return result, folder


def test_demo_writes_the_report_and_prints_its_path(run):
    result, folder = run
    assert result.exit_code == 0
    assert result.stdout == f"Report: {folder / 'report.html'}\n"
    assert (folder / "report.html").stat().st_size > 500_000


def test_demo_report_shows_cohort_queries_figures_and_plain_words(run):
    page = (run[1] / "report.html").read_text(encoding="utf-8")
    text = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    for words in (
        "Synthetic data",
        "920",
        "Paper mode: four query types",
        "epsilon per record",
        "No privacy guarantee",
        "Extremes",
    ):
        assert words in text
    for spec in CATALOGUE.values():
        assert spec.title in text and spec.label in text
    for number in (2, 3, 4, 5):
        for form in ("the original, owner only", "the paper&#x27;s method", "sound: what a partner sees"):
            assert f"Figure {number} · {form}" in text, (number, form)
    assert page.count('id="pydplib-plotly"') == 1
    rows = re.findall(r'<th scope="row" class="short">(count|mean|median|variance)</th>', text)
    # In paper mode, and next to it what the same words cost.
    assert sorted(rows) == sorted(["count", "mean", "median", "variance"] * 6)


def test_demo_report_leads_with_sound_releases_and_their_cost(run):
    page = (run[1] / "report.html").read_text(encoding="utf-8")
    text = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    heads = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert heads[:2] == ["The cohort", "Numbers that may leave"]
    sound = text[text.index(">Numbers that may leave</h2>") : text.index("three noise factors</h2>")]
    for words in ("How many reports?", "±", "Differentially private with epsilon 0.25", "cost epsilon 3.75 together"):
        assert words in sound
    assert "No privacy guarantee" not in sound


def test_sound_releases_of_the_demo_lie_near_the_cohort_within_a_wide_interval():
    data = pirads(n=2000, seed=5, backend="numpy")
    table = next(block for block in sound_section(data, load_cohort(data)).blocks if isinstance(block, Table))
    count, mean = table.rows[0], table.rows[1]
    # 2000 reports, some of them fourth ones that do not count; seven times the 95 % margin fails less than once in 1e9.
    assert abs(count[1].value - count[2]) < 7 * count[1].margin + 60
    assert abs(mean[1].value - mean[2]) < 7 * mean[1].margin
    assert [row[4] for row in table.rows] == [0.25, 0.25, 0.25, 1.0]


def test_same_words_cost_far_less_as_a_sound_release():
    data = pirads(n=920, seed=5, backend="numpy")
    table = next(b for b in same_words_section(data, load_cohort(data)).blocks if isinstance(b, Table))
    assert all(paper > 10 * sound for *_, paper, sound in table.rows)


def test_demo_report_has_a_table_under_every_figure(run):
    page = (run[1] / "report.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure.*?</figure>", page, flags=re.S)
    forms = sum(len(spec.forms) if spec.number else 1 for spec in CATALOGUE.values())
    assert len(figures) == 3 + forms  # two sound ones first, one of a partner
    assert all("<table>" in figure and "<figcaption>" in figure for figure in figures)


def test_demo_steps_are_those_that_are_taken():
    seen = []
    report = demo_report(n=150, seed=3, step=seen.append)
    assert tuple(seen) == demo_steps()
    charts = [block for section in report.sections for block in section.blocks if isinstance(block, Chart)]
    for chart in charts:
        words = chart.figure.words[1]
        if "sound" in chart.eyebrow.lower():
            assert "Differentially private" in words and "owner" not in words
        elif "high noise" in chart.eyebrow:
            assert "No privacy guarantee" in words and "owner" not in words
        else:
            assert "data owner only" in words or chart.eyebrow.startswith("Figure 5"), chart.eyebrow


def test_demo_with_open_shows_the_report(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("click.launch", shown.append)
    result = CliRunner().invoke(command, ["--n", "150", "--output", str(tmp_path), "--open"])
    assert result.exit_code == 0
    assert shown == [(tmp_path / "report.html").as_uri()]


def test_demo_refuses_sizes_that_make_no_sense(tmp_path):
    result = CliRunner().invoke(command, ["--n", "5", "--output", str(tmp_path)])
    assert result.exit_code == 2 and "100<=x<=10000000" in result.stderr
    assert not any(tmp_path.iterdir())


def test_demo_into_a_place_that_cannot_be_written_ends_with_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(cli, ["demo", "--n", "150", "--output", str(tmp_path / "file" / "x")])
    assert result.exit_code != 0
    assert "cannot be written" in str(result.exception)
