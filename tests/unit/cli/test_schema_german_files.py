"""``schema init`` on files with decimal commas, German words and other encodings."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pydplib.cli.schema import propose

LINES = ["größe;psa;tag;bph;notiz", *(f"{i};{i},5;31.12.2017;{'ja' if i % 2 else 'Nein'};wort{i}x" for i in range(60))]


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_german_file_gets_the_kinds_that_it_has(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "befunde.csv"
    path.write_bytes("\n".join([*LINES, ""]).encode(encoding))
    columns = tomllib.loads(propose(str(path)))["columns"]
    kinds = {name: column["kind"] for name, column in columns.items()}
    assert kinds == {"größe": "integer", "psa": "number", "tag": "date", "bph": "flag", "notiz": "text"}
