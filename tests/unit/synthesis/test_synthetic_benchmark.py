"""The stored measurements of synthetic tables: what was promised is kept, and what is not kept is named here."""

from __future__ import annotations

import json
from pathlib import Path

STORED = Path(__file__).parents[3] / "benchmarks" / "results" / "synthetic.json"

NOT_KEPT = {
    # Next to independent columns the cohort keeps its goal; by itself it misses by less than two standard errors.
    "cohort, epsilon 1, 2-way distance",
    "cohort, epsilon 1, 3-way distance",
    # Cells of 20 persons below noise of 26: intervals are wider than they need to be.
    "copies(20), rare 2x2, epsilon 0.5, coverage not beyond",
}


def test_every_goal_is_kept_but_those_that_are_named():
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    lines = {line["what"]: line for line in stored["lines"]}
    assert {what for what, line in lines.items() if line["met"] is False} <= NOT_KEPT
    assert stored["quick"] is False and stored["machine"]["numpy"] and stored["commit"]
    for epsilon, two, three in ((0.3, 0.065, 0.12), (1, 0.034, 0.080), (3, 0.025, 0.065), (10, 0.018, 0.052)):
        assert lines[f"Adult, epsilon {epsilon}, 2-way distance"]["ours"] <= two
        assert lines[f"Adult, epsilon {epsilon}, 3-way distance"]["ours"] <= three
    for epsilon in (0.5, 1, 2):
        for kind in ("balanced", "rare"):
            assert lines[f"copies(20), {kind} 2x2, epsilon {epsilon}, false alarms"]["ours"] <= 6.5
            assert lines[f"copies(20), {kind} 2x2, epsilon {epsilon}, coverage"]["ours"] >= 93.5
