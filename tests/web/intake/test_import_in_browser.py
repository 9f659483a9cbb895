"""A German file with six systematic value errors, in a real browser: imported whole, taken back, imported again."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asking_server import seed, serving
from chromium import needs_chromium, open_browser
from web_home import make_web_home

pytestmark = [pytest.mark.browser, needs_chromium]

HEAD = [
    "Pat.-Nr.", "Befunddatum", "Alter", "Jahr", "Karzinom ohne PI-RADS", "PI-RADS", "Prostatitis", "Therapie",
    "Tumorstatus", "TURP", "Verlauf",
]  # fmt: skip
WRONG = {  # six spellings that the template does not know
    "Prostatitis": ("keine", "chronisch"),
    "Therapie": ("Prostatektomie",),
    "Tumorstatus": ("Lokalrezidiv",),
    "TURP": ("unbekannt",),
    "Verlauf": ("in Kontrolle",),
}
MOST_CLICKS = 12


def rows(count: int, *, unreadable: float = 0.0) -> Iterator[list[str]]:
    every = round(1 / unreadable) if unreadable else 0
    for i in range(count):
        day = f"{1 + i % 28:02d}.{1 + i // 28 % 12:02d}.{2017 + i // 336 % 2}"
        age = "vierundsechzig" if every and i % every == 0 else str(40 + i % 50)
        wrong = [words[i % len(words)] for words in WRONG.values()]
        yield [f"H-{i}", day, age, "2018", "nein", str(1 + i % 5), *wrong]


def write(path: Path, count: int, **more: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows([HEAD, *rows(count, **more)])
    return path


class Clicks:
    """A page whose clicks and choices are counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.count = page, 0

    def button(self, name: str) -> None:
        self.count += 1
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def file(self, path: Path) -> None:
        self.count += 1
        self.page.set_input_files("#id_file", path)

    def choose(self, label: str, option: str) -> None:
        self.count += 1
        self.page.get_by_label(label).select_option(label=option)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, _database: None) -> Iterator[Any]:
    with make_web_home(tmp_path_factory.mktemp("import") / "home") as home:
        world = seed(home, budget=2.0, data_set=10)
        with serving(home) as (port, _):
            yield world, f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("count", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_file_with_six_systematic_errors_comes_in_whole_goes_and_comes_again(
    served: Any, tmp_path: Path, count: int
) -> None:
    world, base = served
    with open_browser() as browser:
        context = browser.new_context()
        context.add_cookies([{"name": "session", "value": world["sessions"]["olivia"], "url": base}])
        page = context.new_page()
        page.set_default_timeout(600_000)
        heard: list[str] = []
        page.on("pageerror", lambda error: heard.append(str(error)))
        clicks = Clicks(page)
        page.goto(base + "/import")
        clicks.file(write(tmp_path / "reports.csv", count))
        clicks.button("Upload")
        page.get_by_role("heading", name="Match columns").wait_for()
        assert page.get_by_text("chronisch", exact=True).count(), "samples stand next to the columns"
        clicks.button("Dry run")
        page.get_by_role("heading", name="Problems by column and value").wait_for()
        assert page.locator("select[name=new]").count() == 6
        page.screenshot(path=tmp_path / "problems.png", full_page=False)
        clicks.choose("Replace in Kontrolle in Verlauf by", "yes")  # the other five are proposed
        clicks.button("Replace and check again")
        page.get_by_text("Every row is good").wait_for()
        clicks.button("Accept")
        page.get_by_role("heading", name="Import done").wait_for()
        assert page.get_by_text(f"{count} reports imported").count() and clicks.count <= MOST_CLICKS
        page.screenshot(path=tmp_path / "taken.png")

        page.get_by_role("button", name="Take this import back").click()
        page.get_by_role("button", name="Take it back").click()
        page.get_by_role("heading", name="Import taken back").wait_for()

        again = Clicks(page)
        page.goto(base + "/import")
        again.file(write(tmp_path / "reports.csv", count))
        again.button("Upload")
        again.button("Dry run")
        page.get_by_text("Every row is good").wait_for()
        assert page.get_by_text("Replaced", exact=True).count() == 6, "what is remembered is shown"
        page.screenshot(path=tmp_path / "again.png")
        again.button("Accept")
        page.get_by_role("heading", name="Import done").wait_for()
        assert again.count == 4

        page.get_by_role("button", name="Take this import back").click()
        page.get_by_role("button", name="Take it back").click()
        page.get_by_role("heading", name="Import taken back").wait_for()
        page.goto(base + "/import")
        page.set_input_files("#id_file", write(tmp_path / "unreadable.csv", count, unreadable=0.02))
        page.get_by_role("button", name="Upload").click()
        page.get_by_role("button", name="Dry run").click()
        page.get_by_role("heading", name="Problems by column and value").wait_for()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download the rows that are left out").click()
        text = Path(waiting.value.path()).read_text("utf-8-sig")
        back = list(csv.DictReader(text.splitlines()))
        assert len(back) == count // 50 and {row["Alter"] for row in back} == {"vierundsechzig"}
        page.get_by_role("button", name="Accept", exact=True).click()
        page.get_by_text(f"{count // 50} of {count} rows").wait_for()
        page.screenshot(path=tmp_path / "asked.png")
        page.get_by_role("button", name="Leave them out and accept").click()
        page.get_by_role("heading", name="Import done").wait_for()
        page.get_by_role("button", name="Take this import back").click()
        page.get_by_role("button", name="Take it back").click()
        page.get_by_role("heading", name="Import taken back").wait_for()
        assert heard == []
