"""The anonymization report: every part is there, the numbers are right, no cell is on the page; seen in a browser."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from chromium import needs_chromium, open_browser

from pydplib.anonymity import Intervals, KAnonymity, LDiversity, TCloseness, anonymize, lattice_of
from pydplib.report import Chart
from pydplib.report.anonymization import anonymization_report, frontier

CANARY = "CANARY-5512"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    sites = rng.choice([f"{CANARY}-arm", f"{CANARY}-leg", f"{CANARY}-head"], 400)
    sites[0] = f"{CANARY}-rare"
    frame = pd.DataFrame({"age": rng.integers(20, 80, 400), "site": sites, "ill": rng.choice(list("abc"), 400)})
    return frame.assign(name=[f"{CANARY}{i}" for i in range(400)])


def run(table, k=5, **options):
    settings = {"models": [KAnonymity(k), LDiversity(2)], "suppression": 0.05, "identifiers": ["name"], **options}
    return anonymize(table, {"age": Intervals(0, 99, [10, 20]), "site": None}, "ill", **settings)


@pytest.fixture(scope="module")
def result(table):
    return run(table)


@pytest.fixture(scope="module")
def report(table, result):
    points = frontier(lambda k: run(table, k), (2, 5, 20, 500))
    return anonymization_report(result, name="visits.csv", points=points, lattice=lattice_of(result))


def words(report) -> str:
    return re.sub(r"<script.*?</script>", "", report.to_html(), flags=re.S)


def test_report_has_every_part(report):
    titles = [section.title for section in report.sections]
    assert titles == [
        "In short", "Risk before and after", "What holds", "What was lost", "What was suppressed", "How it was found",
        "What was asked for",
    ]  # fmt: skip
    charts = [
        block.figure.words[0] for section in report.sections for block in section.blocks if isinstance(block, Chart)
    ]
    assert charts == [
        "How easily people can be found", "How many people look alike", "How much of every column was lost",
        "What less risk costs", "Where the released table lies",
    ]  # fmt: skip


def test_report_says_what_holds_and_what_was_lost(report, result):
    text = words(report)
    for part in (
        "The models hold", "5-anonymity", "2-diversity (distinct) of ill", "Sweeney (2002)", "not differential privacy",
        f"{result.certificate.rows:,}", f"{100 * result.loss.granularity:.3g} %", "this is the optimum", "name",
        f"<dd>{result.suppressed.rows}</dd>", "For the data owner", "were made from the data",
    ):  # fmt: skip
        assert part in text


def test_report_shows_no_cell_anywhere(report):
    assert CANARY not in report.to_html()


def test_report_loads_nothing_from_anywhere(report):
    assert "http" not in words(report).replace("http-equiv", "")


def test_frontier_leaves_out_what_nothing_satisfies(table):
    points = frontier(lambda k: run(table, k), (2, 20, 500))
    assert [point.k for point in points] == [2, 20]
    assert points[0].loss <= points[1].loss and points[0].risk >= points[1].risk <= 1 / 20


def test_report_of_a_failed_certificate_warns(result):
    failed = tuple(replace(statement, holds=False) for statement in result.certificate.statements)
    broken = replace(result, certificate=replace(result.certificate, statements=failed))
    text = words(anonymization_report(broken))
    assert "Do not hand this table over" in text and "does not hold" in text and "The models hold" not in text
    assert "No privacy guarantee" in text


def test_relative_models_show_both_distributions(table):
    text = words(anonymization_report(run(table, models=[KAnonymity(5), TCloseness(0.3)])))
    assert "against the original" in text and "0.3-closeness (equal) of ill" in text


@pytest.mark.parametrize("method", ["local", "cells", "mondrian"])
def test_methods_without_one_level_per_column_are_reported(table, method):
    text = words(anonymization_report(run(table, method=method)))
    assert f"Method {method}" in text and "differs" in text


def test_search_that_ran_out_of_time_says_so(result):
    late = replace(result, search=replace(result.search, optimal=False, bound=result.search.loss - 0.01))
    assert "The time was up: the best possible loss is at most 0.0100 lower" in words(anonymization_report(late))


def test_many_models_make_a_short_lead(table):
    more = {"models": [KAnonymity(5), LDiversity(2), LDiversity(1.5, kind="entropy"), TCloseness(0.4)]}
    lead = anonymization_report(run(table, **more)).lead
    assert lead.startswith("5-anonymity: ") or "-anonymity: " in lead
    assert "All 4 models" in lead


@pytest.mark.browser
@needs_chromium
def test_browser_draws_every_figure_and_nothing_is_wider_than_a_phone(report, tmp_path):
    path = report.write(tmp_path / "report.html")
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 800}, color_scheme="dark")
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.goto(path.as_uri())
        # Figures below the screen are drawn when they come into view.
        for place in page.locator("[data-figure]").all():
            place.scroll_into_view_if_needed()
            place.locator(".main-svg").first.wait_for()
        assert page.locator("[data-figure].is-drawn").count() == 5
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert complaints == []


def test_report_of_thousands_of_rows_is_below_a_megabyte():
    rng = np.random.default_rng(9)
    people = pd.DataFrame({"age": rng.integers(18, 95, 5000), "site": rng.choice(list("abcdef"), 5000)})
    result = anonymize(people, {"age": Intervals(0, 99, [5, 10, 20]), "site": None}, models=[KAnonymity(5)])
    page = anonymization_report(result, name="visits.csv", lattice=lattice_of(result)).to_html()
    assert len(page.encode()) <= 1_000_000


def test_report_without_a_population_leaves_the_rows_of_the_journalist_empty(report):
    section = next(section for section in report.sections if section.title == "Risk before and after")
    rows = next(block.rows for block in section.blocks if getattr(block, "caption", "").startswith("Three attackers"))
    empty = [row[0] for row in rows if row[1] is None and row[2] is None]
    assert empty and all(name.startswith(("Journalist", "Marketer")) for name in empty)
    assert len(empty) == sum(row[0].startswith(("Journalist", "Marketer")) for row in rows)
