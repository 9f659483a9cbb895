"""The how-to page about releases to a partner runs as it is printed: Python, schema and commands, in order."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from pathlib import Path

import pytest

from pydplib.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "release-to-a-partner.md"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[str, int, str]]]:
    """Run all blocks in one empty folder; return it, and every command with its exit code and output."""
    folder, before = tmp_path_factory.mktemp("partner"), Path.cwd()
    commands: list[tuple[str, int, str]] = []
    os.chdir(folder)
    try:
        for kind, block in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
            if kind == "python":
                exec(compile(block, PAGE.name, "exec"), {})
            elif kind == "toml":
                (folder / "schema.toml").write_text(block, encoding="utf-8")
            else:
                for line in block.splitlines():
                    words = shlex.split(line)
                    assert words[0] == "pydplib"
                    said = io.StringIO()
                    with contextlib.redirect_stdout(said), pytest.raises(SystemExit) as caught:
                        main(words[1:])
                    commands.append((" ".join(words[1:3]), int(str(caught.value.code)), said.getvalue()))
    finally:
        os.chdir(before)
    return folder, commands


def test_partner_page_when_run_has_no_failing_command(ran) -> None:
    _, commands = ran
    assert [name.split()[0] for name, _, _ in commands] == [
        "schema", "schema", "price", "release", "release", "release", "ledger", "ledger", "release",
    ]  # fmt: skip
    assert {code for _, code, _ in commands} == {0}


def test_partner_page_when_run_releases_once_and_charges_once(ran) -> None:
    folder, commands = ran
    assert "Differentially private with epsilon 0.4" in commands[3][2]
    # 2 in all, 0.4 for the first; the same question again is free.
    assert all("1.6" in said for _, _, said in commands[3:6])
    assert "1.6" in commands[6][2] and "acme" in commands[6][2]
    assert "1.2" in commands[8][2]  # a new snapshot is paid for again
    lines = (folder / "answer.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 3 and lines[0].startswith("bph,")
    assert "Differentially private" in (folder / "answer.html").read_text(encoding="utf-8")
    assert 'low = ""' in (folder / "proposed.toml").read_text(encoding="utf-8")
