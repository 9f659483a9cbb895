"""Commands that read for longer than a second say so on a terminal, in one line, and print nothing into it."""

from __future__ import annotations

import io
import sys
import time

import pytest

from pydplib.cli import main, progress
from pydplib.cli.progress import waiting


class Screen:
    """A terminal that remembers which lines were asked for, and which were shown."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.shown: list[str] = []

    def status(self, text: str) -> Screen:
        self.asked.append(text)
        return self

    def start(self) -> None:
        self.shown.append(self.asked[-1])

    def stop(self) -> None: ...


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    made = Screen()
    monkeypatch.setattr(progress, "_terminal", lambda: made)
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    return made


def test_work_that_takes_long_is_shown_and_short_work_is_not(screen, monkeypatch):
    with waiting("Reading reports.csv"):
        for _ in range(6000):
            if screen.shown:
                break
            time.sleep(0.01)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with waiting("Reading another.csv"):
        pass
    assert screen.shown == ["Reading reports.csv ..."]


def test_one_line_is_shown_where_one_step_is_part_of_another(screen):
    with waiting("Measuring reports.csv"), waiting("Reading reports.csv"):
        pass
    with pytest.raises(ValueError), waiting("Reading bad.csv"):
        raise ValueError
    with waiting("Reading later.csv"):  # the others have ended
        pass
    assert screen.asked == ["Measuring reports.csv ...", "Reading bad.csv ...", "Reading later.csv ..."]


def test_pipe_gets_no_word_of_it(monkeypatch):
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with waiting("Reading reports.csv"):
        time.sleep(0.05)
    assert plain.getvalue() == ""


@pytest.mark.parametrize(
    "command",
    [
        ["schema", "init", "FILE"],
        ["schema", "check", "s.toml", "FILE"],
        ["release", "FILE", "--schema", "s.toml", "-q", "count", "--epsilon", "1", "--recipient", "a", "--ledger", "l"],
        ["risk", "FILE", "--quasi", "age"],
        ["verify", "FILE", "--quasi", "age"],
        ["attack", "FILE", "r.csv", "--quasi", "age"],
        ["anonymize", "FILE", "--init", "--config", "made.toml"],
        ["hierarchy", "make", "masking", "--table", "FILE", "--column", "age"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_every_command_that_reads_a_table_says_that_it_reads(screen, tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.csv").write_text("id,age\n" + "".join(f"{i},{20 + i % 50}\n" for i in range(200)))
    (tmp_path / "s.toml").write_text('name = "r"\n[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\n')
    with pytest.raises(SystemExit) as done:
        main(["r.csv" if word == "FILE" else word for word in command])
    assert done.value.code == 0, capsys.readouterr().err
    assert any("r.csv ..." in text for text in screen.asked)
