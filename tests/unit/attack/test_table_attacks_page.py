"""The page on attacks runs as it stands, and speaks of every attack there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pydplib import attack

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "attacks-on-tables.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


def test_page_blocks_run_one_after_the_other():
    names: dict[str, object] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"{PAGE.name}, block {number + 1}", "exec"), names)
    assert len(BLOCKS) >= 11


@pytest.mark.parametrize(
    "name",
    ["linkage", "homogeneity", "background_knowledge", "skewness", "similarity", "unsorted_matching",
     "complementary_release", "temporal", "minimality", "leak_report"],
)  # fmt: skip
def test_page_shows_every_attack(name):
    assert hasattr(attack, name)
    assert f"attack.{name}(" in "".join(BLOCKS)
