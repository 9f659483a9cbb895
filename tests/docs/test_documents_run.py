"""Tutorials and short guides run as they are printed, block after block, in an empty folder."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "tutorials/first-private-figure.md",
    "tutorials/anonymize-and-attack.md",
    "explanation/guarantees.md",
    "how-to/choose-a-noise-factor.md",
    "how-to/choose-epsilon.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_a_document_runs_as_printed(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    before, names, said = Path.cwd(), {"__name__": "document"}, io.StringIO()
    os.chdir(tmp_path)
    try:
        with contextlib.redirect_stdout(said):
            for block in blocks:
                exec(compile(block, page, "exec"), names)
    finally:
        os.chdir(before)
    assert said.getvalue().strip()


def test_every_page_with_python_runs_somewhere() -> None:
    """A page that nobody runs would rot: it is listed here, or a test of its own names it."""
    named = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.parent.glob("tests/**/test_*.py"))
    for path in sorted([*DOCS.glob("how-to/*.md"), *DOCS.glob("tutorials/*.md"), *DOCS.glob("explanation/*.md")]):
        if "```python" in path.read_text(encoding="utf-8"):
            assert path.name in named, f"no test runs docs/{path.relative_to(DOCS)}"
