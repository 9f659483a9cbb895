"""Drawings, chapters and notebooks are made from the code as it is, and say so when it is not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("grimp")
ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_every_room_of_the_source_is_drawn_and_no_other() -> None:
    import docs_imports

    source = ROOT / "src" / "pydplib"
    rooms = {path.stem for path in source.iterdir() if not path.name.startswith("_") and path.name != "py.typed"}
    drawn = set(re.findall(r'class="name">([^<]+)<', docs_imports.rooms_drawing()))
    assert drawn == rooms


def test_import_table_counts_what_a_reader_finds_in_the_source() -> None:
    import docs_imports

    found = sum(
        len(set(re.findall(r"^\s*from (pydplib\.noise\S*) import", path.read_text("utf-8"), re.MULTILINE)))
        for path in (ROOT / "src" / "pydplib" / "mechanisms").glob("*.py")
    )
    assert docs_imports.imports()["mechanisms", "noise"] == found > 0
    row = re.search(r'<th scope="row">mechanisms</th>(.*?)</tr>', docs_imports.imports_table())
    assert row is not None and f'<td class="some">{found}</td>' in row[1]


def test_only_the_named_exceptions_go_upwards() -> None:
    import docs_imports

    upwards = re.findall(r'<th scope="row">(\w+)</th>(?:(?!</tr>).)*?class="some up"', docs_imports.imports_table())
    assert upwards == ["release", "paper"]


def test_arrows_leave_out_what_a_longer_way_says_and_nothing_else() -> None:
    import docs_imports

    pairs = {("a", "b"), ("b", "c"), ("a", "c"), ("a", "d")}
    assert docs_imports.direct(pairs) == {("a", "b"), ("b", "c"), ("a", "d")}


def test_rooms_do_not_lie_over_each_other() -> None:
    import docs_imports

    boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', docs_imports.rooms_drawing())
    by_row: dict[str, list[float]] = {}
    for x, y, _ in boxes:
        by_row.setdefault(y, []).append(float(x))
    for row in by_row.values():
        assert all(right - left >= docs_imports.BOX for left, right in zip(sorted(row), sorted(row)[1:], strict=False))


def test_every_spec_test_is_a_sentence_of_a_chapter() -> None:
    import docs_specs

    text = "\n".join(page for _, page in docs_specs.chapters())
    tests = [
        name
        for path in (ROOT / "tests" / "spec").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(tests) > 40
    assert [name for name in tests if f"**{docs_specs.sentence(name)}.**" not in text] == []
    assert {address for address, _ in docs_specs.chapters()} == {
        "reference/specification/index.md",
        *(
            f"reference/specification/{path.name}.md"
            for path in (ROOT / "tests/spec").iterdir()
            if any(path.glob("test_*"))
        ),
    }


def test_a_spec_says_on_what_it_runs(tmp_path: Path) -> None:
    import docs_specs

    path = tmp_path / "test_x.py"
    path.write_text(
        '"""What x is. And more."""\nimport pytest\nSQL = ["duckdb", "sqlite"]\n'
        'on_sql = pytest.mark.parametrize("engine_name", SQL, indirect=True)\n'
        "@on_sql\ndef test_null_is_missing_on_sql(place):\n    '''Also empty text.'''\n"
        '@pytest.mark.parametrize("method", ["a", "b"])\ndef test_plain(method): pass\n'
        "def test_everywhere(place): pass\n",
        encoding="utf-8",
    )
    purpose, specs = docs_specs.read(path)
    assert purpose == "What x is. And more"
    assert [(spec.sentence, spec.more, spec.runs) for spec in specs] == [
        ("Null is missing on SQL", "Also empty text.", "*On DuckDB, SQLite.*"),
        ("Plain", "", "*For method: a, b.*"),
        ("Everywhere", "", "*On every engine.*"),
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_from_top_to_bottom(path: Path) -> None:
    import docs_notebooks

    cells = docs_notebooks.run(path)
    code = [cell for cell in cells if cell.kind == "code"]
    assert len(code) >= 5
    assert sum(bool(cell.printed.strip()) or cell.value is not None for cell in code) >= 5
    assert any(hasattr(cell.value, "to_plotly_json") for cell in code), "a notebook shows a figure"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_kept_without_outputs_and_opens_in_jupyter(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in stored["cells"]}) == len(stored["cells"])
    code = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_a_cell_that_fails_stops_the_notebook(tmp_path: Path) -> None:
    import docs_notebooks

    path = tmp_path / "broken.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1\n", "1 / 0"]}]}), encoding="utf-8")
    before = Path.cwd()
    with pytest.raises(ZeroDivisionError):
        docs_notebooks.run(path)
    assert Path.cwd() == before


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


def test_methods_drawing_names_every_question_and_model() -> None:
    import docs_methods

    said = " ".join(re.findall(r">([^<]+)</text>", docs_methods.methods_drawing()))
    for name in ("count", "sum", "mean", "variance", "median", "quantiles", "histogram", "crosstab"):
        assert name in said
    assert all(name in said for name in ("KAnonymity", "LDiversity", "TCloseness", "mondrian", "numpy", "high"))


def test_links_into_the_repository_lead_to_the_pages_that_stand_for_them() -> None:
    from docs_pages import follow_links

    text = "[a](../../LIMITATIONS.md) [b](../../tests/spec) [c](../adr/index.md)"
    followed = "[a](../limitations.md) [b](../reference/specification/index.md) [c](../adr/index.md)"
    assert follow_links(text, "explanation/x.md") == followed
    assert follow_links("[a](../LIMITATIONS.md)", "index.md") == "[a](limitations.md)"


def test_names_of_tests_are_shown_as_sentences() -> None:
    from docs_pages import TEST, _as_sentence

    shown = TEST.sub(_as_sentence, "| a | `tests/web/test_x.py::test_a_code_works_once` |")
    assert "A code works once.<br><small>tests/web/test_x.py</small>" in shown and "`" not in shown
