"""The pages about templates run as they are printed, and list what there is."""

from __future__ import annotations

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner

from pydplib.capture import CHECKS, FUNCTIONS
from pydplib.capture.fhir import CORE_EXTENSIONS, OWN_EXTENSIONS, QUESTION_TYPES
from pydplib.cli import cli

DOCUMENTS = Path(__file__).parents[3] / "docs"
HOW_TO = (DOCUMENTS / "how-to" / "write-a-template.md").read_text(encoding="utf-8")
SUBSET = (DOCUMENTS / "reference" / "fhir-subset.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(toml|python|console)\n(.*?)```", re.S)


def check_python(code, namespace):
    """Run a block; what it prints must be the comments that follow each print."""
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(code, "write-a-template.md", "exec"), namespace)
    expected = [line[1:].strip() for line in code.splitlines() if line.startswith("#")]
    assert [line.strip() for line in said.getvalue().splitlines()] == expected


def check_console(text):
    """Run each command; what it says must be what is printed under it."""
    for command in re.split(r"^\$ ", text, flags=re.M)[1:]:
        line, _, expected = command.partition("\n")
        program, *arguments = shlex.split(line)
        assert program == "pydplib"
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, result.output
        assert result.output == expected


def test_how_to_page_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    kinds = []
    for kind, text in BLOCK.findall(HOW_TO):
        kinds.append(kind)
        if kind == "toml":
            name = text.splitlines()[0].removeprefix("# ")
            (tmp_path / name).write_text(text, encoding="utf-8")
        elif kind == "python":
            check_python(text, namespace)
        else:
            check_console(text)
    assert kinds.count("python") == 8 and kinds.count("console") == 2


def test_how_to_page_with_a_planted_mistake_is_found():
    with pytest.raises(AssertionError):
        check_python("print(1)\n# 2\n", {})
    with pytest.raises(AssertionError):
        check_console("$ pydplib template list\nnothing\n")


def test_how_to_page_names_every_function_and_check():
    for name in (*FUNCTIONS, *CHECKS):
        assert f"`{name}`" in HOW_TO, name


def test_subset_page_names_every_extension_and_type():
    for url in (*CORE_EXTENSIONS, *OWN_EXTENSIONS):
        name = url.rsplit("/", 1)[-1]
        assert f"`{name}`" in SUBSET, name
    for name in QUESTION_TYPES:
        assert re.search(rf"\b{name}\b", SUBSET), name
