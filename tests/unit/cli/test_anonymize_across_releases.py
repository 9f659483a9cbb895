"""pydplib anonymize --trace and --previous: releases of the same people, made by one process after another."""

from __future__ import annotations

import csv
import os
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pydplib.cli import main

CONFIG = """
person = "who"
identifiers = ["who"]
sensitive = ["ill"]
suppression = {suppression}
[quasi_identifiers.{column}]
kind = "flat"
values = [1, 2]
[[models]]
model = "k-anonymity"
k = {k}
"""


def write(path: Path, rows: list[dict[str, object]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [
        {"who": f"CANARY-{i}", "a": 1 + i // 8, "b": 1 + i % 2, "ill": "xyzw"[i % 4 if i < 8 else (i // 2) % 4]}
        for i in range(16)
    ]
    write(tmp_path / "t.csv", rows)
    for column in "ab":
        (tmp_path / f"{column}.toml").write_text(CONFIG.format(column=column, k=8, suppression=0))
    (tmp_path / "other.csv").write_text("x,y\n1,2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["anonymize", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(str(caught.value.code)), out, err


def cells(path: Path, column: str) -> Counter[str]:
    with path.open(newline="") as file:
        return Counter(row[column] for row in csv.DictReader(file))


def test_complementary_release_from_another_process_is_made_coarser(folder):
    command = [sys.executable, "-m", "pydplib", "anonymize", "t.csv"]
    one = [*command, "--config", "a.toml", "--output", "1.csv", "--trace", "1.trace"]
    two = [*command, "--config", "b.toml", "--output", "2.csv", "--previous", "1.trace", "--trace", "2.trace"]
    for arguments in (one, two):
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, umask=0)
        assert done.returncode == 0, done.stderr
    assert set(cells(folder / "1.csv", "a")) == {"1", "2"}
    assert set(cells(folder / "2.csv", "b")) == {"*"}
    assert "8-anonymity across releases: holds" in done.stdout
    rights = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in ("1.trace", "2.trace", "2.csv")}
    assert rights == {"1.trace": 0o600, "2.trace": 0o600, "2.csv": 0o666}
    assert b"CANARY" not in (folder / "1.trace").read_bytes()
    careless = [*command, "--config", "b.toml", "--output", "3.csv"]
    subprocess.run(careless, cwd=folder, check=True, capture_output=True)
    assert set(cells(folder / "3.csv", "b")) == {"1", "2"}  # what the trace prevents


def test_people_who_vanish_are_hidden_by_more_suppression(folder, capsys):
    rng = np.random.default_rng(4)
    rows = [{"who": i, "a": int(rng.integers(1, 3)), "b": 1, "ill": str(rng.choice(list("xyzw")))} for i in range(60)]
    write(folder / "first.csv", rows)
    write(folder / "later.csv", rows[1:])  # one person asked to be deleted
    for k, name in ((5, "k"),):
        (folder / f"{name}.toml").write_text(CONFIG.format(column="a", k=k, suppression=0.7))
    assert run(capsys, "first.csv", "--config", "k.toml", "-o", "1.csv", "--trace", "1.trace")[0] == 0
    assert run(capsys, "later.csv", "--config", "k.toml", "-o", "2.csv", "--previous", "1.trace")[0] == 0
    before, after = cells(folder / "1.csv", "a"), cells(folder / "2.csv", "a")
    assert all(before[label] - after[label] in (0, *range(5, 61)) for label in before)
    assert run(capsys, "later.csv", "--config", "k.toml", "-o", "3.csv")[0] == 0
    careless = cells(folder / "3.csv", "a")
    assert any(before[label] - careless[label] == 1 for label in before)


def test_a_key_in_its_own_file_is_asked_for(folder, capsys):
    (folder / "traces.key").write_bytes(os.urandom(32))
    words = ["t.csv", "--config", "a.toml", "-o", "1.csv", "--trace", "1.trace", "--trace-key", "traces.key"]
    assert run(capsys, *words)[0] == 0
    code, _, err = run(capsys, "t.csv", "--config", "b.toml", "-o", "2.csv", "--previous", "1.trace")
    assert code != 0 and "--trace-key" in err and not (folder / "2.csv").exists()
    more = ["--previous", "1.trace", "--trace-key", "traces.key", "--trace", "2.trace"]
    assert run(capsys, "t.csv", "--config", "b.toml", "-o", "2.csv", *more)[0] == 0
    # The second trace keeps the key out of its file, too.
    code, _, err = run(capsys, "t.csv", "--config", "b.toml", "-o", "3.csv", "--previous", "2.trace")
    assert code != 0 and "--trace-key" in err


def test_an_earlier_table_without_a_trace_is_measured(folder, capsys):
    assert run(capsys, "t.csv", "--config", "a.toml", "-o", "1.csv")[0] == 0
    code, out, err = run(capsys, "t.csv", "--config", "a.toml", "-o", "2.csv", "--previous", "1.csv")
    assert code == 0 and "across releases: holds" in out
    rows = [{"who": i, "a": 1 + i // 8, "b": 1, "ill": "x"} for i in range(15)]
    write(folder / "fewer.csv", rows)
    (folder / "c.toml").write_text(CONFIG.format(column="a", k=7, suppression=0))
    code, out, err = run(capsys, "fewer.csv", "--config", "c.toml", "-o", "3.csv", "--previous", "1.csv")
    assert code == 15 and "--previous" in err and not (folder / "3.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--previous", "none.trace"], "There is no file 'none.trace'"),
        (["--previous", "a.toml"], "--previous 'a.toml': The first line is empty"),
        (["--previous", "other.csv"], "--previous 'other.csv': The table has no column 'a'"),
        (["--trace", "t.csv"], "which is read"),
        (["--trace", "b.toml"], "exists already"),
        (["--trace-key", "a.toml"], "give --trace or --previous"),
    ],
)
def test_wrong_files_are_refused_before_any_work(folder, capsys, arguments, words):
    code, _, err = run(capsys, "t.csv", "--config", "a.toml", "-o", "out.csv", *arguments)
    assert code != 0 and words in " ".join(err.split())
    assert not (folder / "out.csv").exists()


def test_report_and_recipe_are_the_owners_alone(folder, capsys):
    before = os.umask(0)
    try:
        files = ["-o", "out.csv", "--report", "report.html", "--recipe", "recipe.json"]
        assert run(capsys, "t.csv", "--config", "a.toml", *files)[0] == 0
    finally:
        os.umask(before)
    rights = {name: stat.S_IMODE((folder / name).stat().st_mode) for name in ("out.csv", "report.html", "recipe.json")}
    assert rights == {"out.csv": 0o666, "report.html": 0o600, "recipe.json": 0o600}
    assert not list(folder.glob(".*"))
