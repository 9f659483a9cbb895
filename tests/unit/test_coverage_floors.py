"""Coverage is told apart for library and web, and neither falls below its floor."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import coverage_floors  # noqa: E402
from coverage_floors import FLOORS, Share, shares, verdicts  # noqa: E402


def _facts(lines: int, of: int, branches: int, of_branches: int) -> dict[str, dict[str, int]]:
    return {
        "summary": {
            "covered_lines": lines,
            "num_statements": of,
            "missing_lines": of - lines,
            "covered_branches": branches,
            "num_branches": of_branches,
        }
    }


def test_library_and_web_are_added_up_apart_and_migrations_left_out():
    found = shares(
        {
            "src/pydplib/budget/ledger.py": _facts(90, 100, 1, 4),
            "src/pydplib/errors.py": _facts(100, 100, 0, 0),
            "src/pydplib/web/people/views.py": _facts(3, 4, 1, 2),
            "src/pydplib/web/people/migrations/0001_initial.py": _facts(0, 400, 0, 0),
        }
    )
    assert found == {
        "library": Share(95.0, 25.0, {"src/pydplib/budget/ledger.py": 10}),
        "web": Share(75.0, 50.0, {"src/pydplib/web/people/views.py": 1}),
    }


def test_a_share_below_its_floor_fails_and_one_above_raises_it():
    found = {"library": Share(94.96, 90.0, {}), "web": Share(90.27, 80.0, {})}
    below, rise = verdicts(found, {"library": (95.0, 90.0), "web": (90.1, 80.0)})
    assert len(below) == 1 and below[0].startswith("library: 94.96 % of lines")
    assert rise == ["web: the floor of lines can rise from 90.1 to 90.2 %"]


def test_floors_are_per_cents_of_both_parts():
    assert FLOORS.keys() == shares({}).keys()
    assert all(0 < least <= 100 for floor in FLOORS.values() for least in floor)


def test_a_fall_ends_with_one(monkeypatch, capsys, tmp_path):
    files = {"files": {"src/pydplib/errors.py": _facts(1, 100, 0, 10)}}
    (tmp_path / "files.json").write_text(json.dumps(files), encoding="utf-8")
    monkeypatch.setattr(coverage_floors, "ROOT", tmp_path.parent)
    monkeypatch.setattr(coverage_floors, "KEPT", tmp_path)
    assert coverage_floors.main(["--shown"]) == 1
    assert "BELOW THE FLOOR: library: 1.00 % of lines" in capsys.readouterr().out
