"""The how-to page runs as it is printed: Python, configuration and commands, in order."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from pydplib.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "anonymize-a-table.md"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object], dict[str, int]]:
    """Run all blocks in one folder. The page shows the configuration before the hierarchy file it names."""
    folder, before = tmp_path_factory.mktemp("how-to"), Path.cwd()
    names: dict[str, object] = {}
    codes: dict[str, int] = {}
    os.chdir(folder)
    try:
        for kind, block in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
            if kind == "python":
                exec(compile(block, PAGE.name, "exec"), names)
            elif kind == "toml":
                (folder / "guesses.toml").write_text((folder / "anon.toml").read_text())
                (folder / "anon.toml").write_text(block)
            else:
                for line in block.splitlines():
                    words = shlex.split(line)
                    assert words[0] == "pydplib"
                    with pytest.raises(SystemExit) as caught:
                        main(words[1:])
                    codes[line] = int(str(caught.value.code))
    finally:
        os.chdir(before)
    return folder, names, codes


def test_page_when_run_has_no_failing_command(ran) -> None:
    _, _, codes = ran
    assert len(codes) == 9
    assert set(codes.values()) == {0}
    assert {line.split()[1] for line in codes} == {"risk", "anonymize", "hierarchy", "verify", "attack"}


def test_page_when_run_leaves_table_report_and_recipe(ran) -> None:
    folder, names, _ = ran
    result = names["result"]
    assert result.certificate.holds and result.certificate.k >= 5
    lines = (folder / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "age;zip;sex;visit;diagnosis"
    assert len(lines) - 1 == result.certificate.rows  # the command line found the same optimum
    assert "Patient" not in (folder / "out.csv").read_text(encoding="utf-8")
    for page in ("report.html", "report-python.html"):
        assert "The models hold" in (folder / page).read_text(encoding="utf-8")
    assert (folder / "recipe.json").exists()


def test_page_when_run_finds_the_roles_that_it_shows(ran) -> None:
    import tomllib

    folder, _, _ = ran
    guesses = tomllib.loads((folder / "guesses.toml").read_text())
    assert guesses["checked"] is False
    assert guesses["identifiers"] == ["name"]
    assert guesses["sensitive"] == ["diagnosis"]
    assert set(guesses["quasi_identifiers"]) == {"age", "zip", "sex", "visit", "weight"}
    assert guesses["quasi_identifiers"]["zip"] == {"kind": "masking", "length": 5}


def test_page_when_run_releases_again_with_the_first_trace(ran) -> None:
    folder, names, _ = ran
    second = names["second"]
    assert second.certificate.holds
    assert any("across releases" in statement.model for statement in second.certificate.statements)
    assert (folder / "second.trace").stat().st_mode & 0o077 == 0
