"""The documentation site builds without a warning and loads nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?://[^"]+)"', path.read_text("utf-8"))
        assert not [url for url in loaded if not url.startswith("https://pydplib.example")], path.name


def test_every_document_is_in_the_menu(site: Path) -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed_elsewhere = {"adr"}  # by the list of decisions
    for path in (ROOT / "docs").rglob("*.md"):
        address = path.relative_to(ROOT / "docs")
        assert address.parts[0] in listed_elsewhere or address.as_posix() in menu, f"not in mkdocs.yml: {address}"


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "index.md").read_text(encoding="utf-8")
    assert not [path.name for path in (ROOT / "docs" / "adr").glob("[0-9]*.md") if f"({path.name})" not in listed]


def test_every_part_that_a_page_asks_for_was_built(site: Path) -> None:
    from docs_pages import BUILT, PARTS

    asked = {name for path in (ROOT / "docs").rglob("*.md") for name in BUILT.findall(path.read_text("utf-8"))}
    assert asked == set(PARTS)
    assert not [path.name for path in site.rglob("*.html") if "<!-- built:" in path.read_text("utf-8")]


def test_figures_bring_their_values_and_the_scripts_that_draw_them(site: Path) -> None:
    for page, least in (("explanation/the-two-papers.html", 3), ("notebooks/first-private-figure.html", 2)):
        text = (site / page).read_text(encoding="utf-8")
        places = re.findall(r'data-figure="([^"]+)"', text)
        assert len(places) >= least
        assert all(f'<script type="application/json" id="{place}">' in text for place in places)
        assert "javascripts/figures.js" in text
    assert "Plotly" in (site / "assets/figures/plotly.min.js").read_text(encoding="utf-8")[:2_000_000]
    assert "pydplibLook" in (site / "assets/figures/look.js").read_text(encoding="utf-8")


PEERS = [
    "OpenDP",
    "diffprivlib",
    "PipelineDP",
    "Tumult",
    "SmartNoise",
    "ARX",
    "anjana",
    "pycanon",
    "REDCap",
    "DP Wizard",
]


@pytest.mark.parametrize("peer", PEERS)
def test_comparison_speaks_of_every_peer_and_names_its_source(peer: str) -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    features, sources = page.split("## Sources")
    assert peer in features and peer in sources


def test_comparison_shows_what_every_benchmark_measured() -> None:
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    benchmarks = {path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")}
    assert set(re.findall(r"<!-- numbers: (\w+)", page)) == benchmarks


def test_threat_model_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "explanation" / "threat-model.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) >= 20
    assert page.count("`tests/") == len(named) + 1  # the folder itself, in the first lines
    assert not [test for file, test in named if f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")]
