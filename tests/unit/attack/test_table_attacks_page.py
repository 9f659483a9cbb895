"""The pages on attacks run as they stand, and are about every attack there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pydplib import attack

FOLDER = Path(__file__).parents[3] / "docs" / "explanation"
PAGES = {
    name: re.findall(r"```python\n(.*?)```", (FOLDER / name).read_text(encoding="utf-8"), re.S)
    for name in ("attacks-on-tables.md", "attacks-on-answers.md")
}


@pytest.mark.parametrize("page", PAGES)
def test_page_blocks_run_one_after_the_other(page):
    names: dict[str, object] = {}
    for number, block in enumerate(PAGES[page]):
        exec(compile(block, f"{page}, block {number + 1}", "exec"), names)
    assert len(PAGES[page]) >= 7


@pytest.mark.parametrize(
    "name",
    ["linkage", "homogeneity", "background_knowledge", "skewness", "similarity", "unsorted_matching",
     "complementary_release", "temporal", "minimality", "leak_report", "differencing", "averaging", "reconstruction",
     "membership", "outlier_membership", "floating_point", "audit"],
)  # fmt: skip
def test_pages_show_every_attack(name):
    assert hasattr(attack, name)
    assert f"attack.{name}(" in "".join(block for blocks in PAGES.values() for block in blocks)
