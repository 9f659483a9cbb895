"""pydplib figures: the figures one by one, as pages or pictures."""

from __future__ import annotations

import pytest
from chromium import needs_chromium
from click.testing import CliRunner

from pydplib.cli.figures import NAMES, command
from pydplib.experiments.figures import FIGURES


def test_names_on_the_command_line_are_those_of_the_figures():
    assert tuple(FIGURES) == NAMES


def test_pages_are_written_for_the_figures_asked_for_once_each(tmp_path):
    arguments = ["--figure", "5", "--figure", "2", "--figure", "5", "--n", "200", "--output", str(tmp_path)]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0
    paths = [tmp_path / "figure-5.html", tmp_path / "figure-2.html"]
    assert result.stdout.splitlines() == [str(path) for path in paths]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    page = paths[1].read_text(encoding="utf-8")
    assert page.count("plotly.js v") == 1
    assert "<h1>PI-RADS score against age</h1>" in page and "synthetic data" in page and "For the data owner" in page


def test_partner_view_has_no_original(tmp_path):
    result = CliRunner().invoke(command, ["--figure", "2", "--no-original", "--n", "200", "--output", str(tmp_path)])
    assert result.exit_code == 0
    page = (tmp_path / "figure-2.html").read_text(encoding="utf-8")
    assert "For the data owner" not in page and '"Original"' not in page and "<b>Original" not in page


def test_by_default_all_figures_are_drawn(tmp_path, monkeypatch):
    from pydplib.report import Report

    monkeypatch.setattr(Report, "write", lambda self, path: path)
    result = CliRunner().invoke(command, ["--n", "200", "--output", str(tmp_path)])
    assert [line.rsplit("figure-", 1)[1] for line in result.stdout.splitlines()] == [f"{name}.html" for name in NAMES]


@pytest.mark.browser
@needs_chromium
def test_pictures_are_written_in_the_format_asked_for(tmp_path):
    arguments = ["--figure", "5", "--format", "svg", "--dark", "--n", "200", "--output", str(tmp_path)]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0
    picture = (tmp_path / "figure-5.svg").read_text(encoding="utf-8")
    assert picture.startswith("<svg") and "Reports with a yes" in picture and "private with epsilon" in picture


def test_unknown_figure_is_refused():
    result = CliRunner().invoke(command, ["--figure", "7"])
    assert result.exit_code == 2 and "variance-from-variances" in result.stderr
