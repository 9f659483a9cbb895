"""The documentation site builds without a warning, loads nothing from elsewhere, and leaves out nothing public."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import click
import pytest
from chromium import needs_chromium, open_browser

ROOT = Path(__file__).parents[2]
INTERNAL = {"PYDPLIB_COMPLETE"}  # Click's own word for shell completion; `pydplib completion` is the way to it


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="(https?://[^"]+)"', path.read_text("utf-8"))
        assert not [url for url in loaded if not url.startswith("https://pydplib.example")], path.name


@pytest.mark.browser
@needs_chromium
def test_search_finds_words_in_pages_that_are_opened_from_a_folder(site: Path) -> None:
    with open_browser() as browser:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "how-to" / "receipts.html").as_uri())
        page.wait_for_load_state("networkidle")
        page.locator(".md-search__input").click()
        page.locator(".md-search__input").press_sequentially("homogeneity")
        page.locator(".md-search-result__link").first.wait_for(state="attached")
        found = page.locator(".md-search-result__link").evaluate_all("links => links.map(link => link.href)")
        assert any("attacks-on-tables.html" in address for address in found)
        assert all(address.startswith("file:") for address in asked)


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


def public_names() -> list[str]:
    """Every name that `pydplib` or one of its public rooms offers, with its room."""
    from pydplib._public import OTHER_MODULES, PUBLIC_MODULES, PUBLIC_NAMES

    rooms = [f"pydplib.{room}" for room in (*PUBLIC_MODULES, *OTHER_MODULES)]
    offered = [f"{room}.{name}" for room in rooms for name in getattr(importlib.import_module(room), "__all__", ())]
    return sorted({f"{room}.{name}" for name, room in PUBLIC_NAMES.items()} | set(offered))


def missing_names(text: str) -> list[str]:
    return [name for name in public_names() if f'id="{name}"' not in text]


def test_every_public_name_has_an_entry_with_its_words(site: Path) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in (site / "reference" / "python").glob("*.html"))
    assert len(public_names()) > 250
    assert missing_names(text) == []
    assert missing_names(text.replace('id="pydplib.release.Count"', "")) == ["pydplib.release.Count"]


def commands() -> list[str]:
    """Every command and subcommand, as it is typed."""
    from pydplib.cli import COMMANDS, LazyGroup

    def below(command: click.Command, name: str) -> list[str]:
        if not isinstance(command, click.Group):
            return [name]
        context = click.Context(command, info_name=name)
        return [name, *(further for sub in command.list_commands(context)
                        for further in below(command.get_command(context, sub), f"{name} {sub}"))]  # fmt: skip

    group = LazyGroup("pydplib")
    return [
        typed for name in COMMANDS for typed in below(group.get_command(click.Context(group), name), f"pydplib {name}")
    ]


def test_every_command_and_subcommand_has_a_heading_and_its_options(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    headings = {re.sub(r"<[^>]+>|¶", "", found).strip() for found in re.findall(r"<h\d[^>]*>(.*?)</h\d>", page, re.S)}
    headings = {heading.replace("&para;", "").strip() for heading in headings}
    assert len(commands()) > 25
    assert [name for name in commands() if name not in headings] == []
    assert page.count("--help") >= len(commands())


def rows(site: Path) -> set[str]:
    """The first word of every row in the tables of words."""
    page = (site / "reference" / "words.html").read_text(encoding="utf-8")
    return set(re.findall(r"<tr>\s*<td[^>]*><code>([^<]+)</code>", page))


def test_every_role_and_error_has_a_row(site: Path) -> None:
    from pydplib import errors
    from pydplib.policy import ROLES

    raised = [
        name for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.PydplibError)
    ]  # fmt: skip
    assert len(raised) >= 15 and len(ROLES) >= 5
    assert {*raised, *ROLES} <= rows(site)


def test_every_environment_variable_in_the_source_has_a_row(site: Path) -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    quoted = re.findall(r'"(PYDPLIB_[A-Z_]+|DATABASE_[A-Z_]+)"', source)
    read = {*quoted, *re.findall(r"``(PYDPLIB_[A-Z_]+|DATABASE_[A-Z_]+)``", source)}
    assert len(read) >= 10
    assert read - INTERNAL <= rows(site)


@pytest.mark.parametrize("option", ["--home", "--behind-tls", "--epsilon", "--noise-factor", "--json"])
def test_options_are_shown_as_the_terminal_shows_them(site: Path, option: str) -> None:
    assert option in (site / "reference" / "commands.html").read_text(encoding="utf-8")
