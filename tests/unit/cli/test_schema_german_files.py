"""``schema init`` on files with decimal commas, German words and other encodings."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pydplib.cli.answers.schema import propose

LINES = ["größe;psa;tag;bph;notiz", *(f"{i};{i},5;31.12.2017;{'ja' if i % 2 else 'Nein'};wort{i}x" for i in range(60))]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_german_file_gets_the_kinds_that_it_has(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "befunde.csv"
    path.write_bytes("\n".join([*LINES, ""]).encode(encoding))
    columns = tomllib.loads(propose(str(path)))["columns"]
    kinds = {name: column["kind"] for name, column in columns.items()}
    assert kinds == {"größe": "integer", "psa": "number", "tag": "date", "bph": "flag", "notiz": "text"}


def test_one_line_of_another_encoding_leaves_the_names_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "befunde.csv"
    path.write_bytes("\n".join(LINES).encode() + "\n61;1,5;31.12.2017;ja;Jäger\n".encode("latin-1"))
    assert list(tomllib.loads(propose(str(path)))["columns"]) == ["größe", "psa", "tag", "bph", "notiz"]


@pytest.mark.parametrize(
    "row", ['61;1,5;31.12.2017;ja;"open', "61;1,5", "61;1,5;31.12.2017;ja;wort;more;cells", '"6"1;1,5;;ja;x']
)
def test_one_broken_row_changes_no_kind(tmp_path: Path, row: str) -> None:
    path = tmp_path / "befunde.csv"
    path.write_text("\n".join([*LINES[:4], row, *LINES[4:], ""]))
    columns = tomllib.loads(propose(str(path)))["columns"]
    assert [(name, columns[name]["kind"]) for name in ("größe", "psa", "tag", "bph")] == [
        ("größe", "integer"), ("psa", "number"), ("tag", "date"), ("bph", "flag"),
    ]  # fmt: skip
    assert len(columns) == 5
