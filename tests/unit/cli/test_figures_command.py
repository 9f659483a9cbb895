"""pydplib figures: the figures one by one, as pages, pictures or JSON; and their list."""

from __future__ import annotations

import json

import plotly.graph_objects as go
import pytest
from chromium import needs_chromium
from click.testing import CliRunner

from pydplib.cli.figures import command
from pydplib.plot.catalogue import CATALOGUE, figure_entries


def run(*arguments):
    result = CliRunner().invoke(command, [*arguments])
    assert result.exit_code == 0, result.output
    return result


def test_list_as_json_is_the_list_of_figures():
    assert json.loads(run("--list", "--json").stdout) == figure_entries()


def test_list_in_words_names_every_figure_and_draws_nothing(tmp_path):
    shown = run("--list", "--output", str(tmp_path / "new")).stdout
    assert all(name in shown and spec.title in shown for name, spec in CATALOGUE.items())
    assert not any(tmp_path.iterdir())


def test_json_without_list_is_refused():
    result = CliRunner().invoke(command, ["--json"])
    assert result.exit_code == 2 and "--format json" in result.stderr


def test_pages_hold_the_three_forms_of_the_figures_asked_for_once_each(tmp_path):
    result = run("--figure", "5", "--figure", "2", "--figure", "5", "--n", "200", "--output", str(tmp_path))
    paths = [tmp_path / "figure-5.html", tmp_path / "figure-2.html"]
    assert result.stdout.splitlines() == [str(path) for path in paths]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    page = paths[1].read_text(encoding="utf-8")
    assert page.count('id="pydplib-plotly"') == 1
    for words in ("<h1>Patient age and PI-RADS score</h1>", "synthetic data", "The original", "The paper&#x27;s method",
                  "Sound: what a partner sees", "for the data owner only", "Differentially private"):  # fmt: skip
        assert words in page, words


def test_one_form_at_one_level_is_what_a_partner_gets(tmp_path):
    run("--figure", "2", "--form", "paper", "--level", "high", "--n", "200", "--output", str(tmp_path))
    page = (tmp_path / "figure-2.html").read_text(encoding="utf-8")
    assert "data owner" not in page and "The original" not in page and "about" in page


def test_plotly_json_is_written_per_form_and_opens_in_plotly(tmp_path):
    result = run("--figure", "4", "--format", "json", "--n", "300", "--output", str(tmp_path))
    names = [line.rsplit("/", 1)[1] for line in result.stdout.splitlines()]
    assert names == ["figure-4-original.json", "figure-4-paper.json", "figure-4-sound.json"]
    for name in names:
        figure = go.Figure(json.loads((tmp_path / name).read_text(encoding="utf-8")))
        assert {trace.type for trace in figure.data} == {"box"}
        words = {"original": ", original", "paper": ", paper mode", "sound": ", private"}[name[9:-5]]
        assert figure.layout.title.text == f"Figure 4. Prostatitis and median age{words}"


def test_noise_seed_draws_the_same_noise_again_and_without_it_noise_is_new(tmp_path):
    def drawn(*seed: str) -> list[str]:
        given = ("--figure", "5", "--form", "paper", "--form", "sound", "--format", "json", "--n", "200")
        result = run(*given, *seed, "--output", str(tmp_path))
        assert "epsilon 1 for every table" in result.stderr and "nobody pays" in result.stderr
        return [path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir())]

    assert drawn("--noise-seed", "7") == drawn("--noise-seed", "7")
    first, second = drawn(), drawn()
    assert first[0] != second[0] and first[1] != second[1]


def test_by_default_the_papers_figures_are_drawn_and_with_all_the_further_ones(tmp_path, monkeypatch):
    from pydplib.report import Report

    monkeypatch.setattr(Report, "write", lambda self, path: path)
    papers = [f"{name}.html" for name, spec in CATALOGUE.items() if spec.number is not None]
    shown = run("--n", "200", "--output", str(tmp_path)).stdout.splitlines()
    assert [line.rsplit("figure-", 1)[1] for line in shown] == papers
    shown = run("--n", "200", "--figure", "all", "--form", "paper", "--output", str(tmp_path)).stdout.splitlines()
    assert [line.rsplit("figure-", 1)[1] for line in shown] == [f"{name}.html" for name in CATALOGUE]


@pytest.mark.browser
@needs_chromium
def test_pictures_are_written_in_the_format_asked_for(tmp_path):
    run("--figure", "5", "--form", "sound", "--format", "svg", "--dark", "--n", "200", "--output", str(tmp_path))
    picture = (tmp_path / "figure-5-sound.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg") and "Patient age" in picture and "private with epsilon" in picture


def test_unknown_figure_or_form_is_refused():
    result = CliRunner().invoke(command, ["--figure", "7"])
    assert result.exit_code == 2 and "variance-from-variances" in result.stderr
    result = CliRunner().invoke(command, ["--figure", "variance", "--form", "sound"])
    assert result.exit_code == 2 and "no such form" in result.stderr
