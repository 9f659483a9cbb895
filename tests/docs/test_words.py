"""Pages, errors, help, docs and docstrings use words that a native engineer would use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pydplib"

INSTEAD = {
    r"mend(s|ed|ing)?": "fix, correct",
    r"anew": "again",
    r"dearest": "most expensive",
    r"bought along": "included in the price",
    r"the own": "their own",
    r"so many(?! (that|\w+ that|rows would))": "this many",
    r"speaks? of": "mentions, is about",
    r"beside(?!s)": "next to",
    r"shall": "will, must",
    r"keep its head": "save the latest hash",
    r"in all(?=\s*([.,;:)]|$))": "in total",
    r"data that stay": "data that stays",
    r"press(es|ed|ing)?(?= (the |a |on |\w+ button|button))": "click",
    r"most rows per person": "maximum rows per person",
    r"every row another person": "one row per person",
    r"has not (its|the|a)": "lacks",
    r"which is no number": "which is not a number",
    r"this file is none": "is not a ... file",
    r"say what (the|an) answer may cost": "Choose --epsilon, --margin or --noise-factor",
    r"(is|are) said to be": "report it clearly",
    r"given your word": "voted",
    r"stands for other people": "does not include sampling error",
    r"rhythm": "schedule",
    r"at most 1 rows": "at most 1 row",
    r"whilst|hitherto|thereof|therein|heretofore|aforementioned": "a plain word",
    r"(an|another) own": "its own, another",
    r"informations|datas\b|analysises": "information, data, analyses",
    r"(?<!@)doors?|table twins?|walls?": "permission, table, layer",
}
"""A pattern of words that we do not write -> what we write."""

PATTERN = re.compile(r"\b(?:" + "|".join(f"(?P<w{n}>{words})" for n, words in enumerate(INSTEAD)) + r")\b", re.I)


def found_in(text: str) -> Iterator[str]:
    """Yield the words of a text that have a better one, each with it."""
    for match in PATTERN.finditer(re.sub(r"\s+", " ", text)):
        better = list(INSTEAD.values())[int((match.lastgroup or "w0")[1:])]
        around = match.string[max(0, match.start() - 40) : match.end() + 30]
        yield f"{match[0]!r} -> {better}: ...{around}..."


def strings_of(path: Path) -> Iterator[str]:
    """Yield what a module says: its strings of several words, docstrings included, parts of f-strings joined."""
    text = path.read_text(encoding="utf-8")
    if not PATTERN.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield re.sub(r"``[^`]*``|^\s+\w+: (?=[A-Z])", " ", node.value, flags=re.M)


def pages() -> list[Path]:
    """Return the documents that readers see; the changelog's older versions are history."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def prose_of(page: Path) -> str:
    """Return a document without code."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"```.*?```|`[^`]*`|<!--.*?-->|\]\([^)]*\)", " ", text, flags=re.S)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_documents_use_plain_words(page: Path) -> None:
    assert list(found_in(prose_of(page))) == []


@pytest.mark.parametrize("package", sorted({path.name for path in SOURCE.iterdir() if path.name != "__pycache__"}))
def test_strings_and_docstrings_use_plain_words(package: str) -> None:
    top = SOURCE / package
    files = [top] if top.suffix == ".py" else sorted(top.rglob("*.py"))
    assert [
        f"{path.relative_to(ROOT)}: {words}"
        for path in files
        if path.suffix == ".py" and "migrations" not in path.parts
        for text in strings_of(path)
        for words in found_in(text)
    ] == []


def test_templates_of_pages_use_plain_words() -> None:
    found = []
    for path in sorted((SOURCE / "web").rglob("*.html")):
        text = path.read_text(encoding="utf-8")
        said = " ".join(re.findall(r'"([^"]* [^"]*)"', " ".join(re.findall(r"\{%.*?%\}", text))))
        shown = re.sub(r"<[^>]*>|\{[{%#].*?[}%#]\}", " ", text, flags=re.S)
        found += [f"{path.relative_to(ROOT)}: {words}" for part in (said, shown) for words in found_in(part)]
    assert found == []


@pytest.mark.parametrize("bad", ["You shall not.", "It stands beside it.", "3 in all.", "press the button", "mend it"])
def test_words_are_noticed(bad: str) -> None:
    assert list(found_in(bad))


@pytest.mark.parametrize("good", ["besides", "in all columns", "so many groups that it fails", "shallow"])
def test_other_words_are_left_alone(good: str) -> None:
    assert not list(found_in(good))
