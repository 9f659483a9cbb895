"""Attacks on anonymized tables: linkage, homogeneity, skewness and the others, as those who have them could try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydplib.attack import AUDIENCES, LeakReport, leak_report
from pydplib.errors import PydplibError
from pydplib.policy import NEW_MEMBER
from pydplib.schema import Schema
from pydplib.web.exports import files
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ExportPlan
from pydplib.web.exports.runs import read_rows

_KEPT = ("column", "pieces", "attacker", "maximum", "smallest_class", "gained")


def attack_export(
    export: Export, earlier: list[Export], role: str, *, seconds: float, tell: Callable[[int, str], None]
) -> LeakReport:
    """Attack one export with everything that the same recipient got before.

    Args:
        export: The export.
        earlier: Earlier exports of which the recipient has a copy.
        role: By whose limits it is judged.
        seconds: How long it may take.
        tell: Called with percent and the name of the attack.

    Raises:
        DataError: The original or the table is gone.
    """
    plan, schema = ExportPlan.from_dict(export.plan), Schema.from_json(export.snapshot.schema)
    original, released = read_rows(export, plan, schema), files.load_table(export)
    quasi, sensitive = list(plan.named("quasi")), list(plan.named("sensitive"))
    words: dict[str, Any] = {
        "quasi_identifiers": quasi,
        "sensitive": sensitive or None,
        "insensitive": list(plan.named("keep")),
        "person": schema.person if plan.rows == "all" else None,
        "hierarchies": plan.hierarchies_for(schema, bands=False),
        "audiences": [AUDIENCES[role if role in AUDIENCES else NEW_MEMBER]],
        "time_limit": seconds,
        "progress": lambda done, total, name: tell(round(100 * done / max(total, 1)), str(name)),
    }
    before = [files.load_table(each) for each in earlier if set(quasi + sensitive) <= set(each.columns)]
    try:
        return leak_report(original, released, previous=before, **words)
    except PydplibError:
        if not before:
            raise
        return leak_report(original, released, **words)  # the tables cannot be compared: each by itself


def to_numbers(export: Export, report: LeakReport, *, compared: int) -> dict[str, object]:
    """Return a leak report as it is stored: shares, names of columns and words, never a value of a field."""
    attacks = []
    for outcome in report.outcomes:
        if outcome.result is None:
            continue
        values = outcome.result.to_dict()
        values["details"] = {name: values["details"][name] for name in _KEPT if name in values["details"]}
        attacks.append(values)
    return {
        "export": export.key,
        "title": export.title,
        "attacks": attacks,
        "unfinished": [f"{each.task.name} ({each.task.about}): {each.problem}" for each in report.unfinished],
        "verdicts": [verdict.to_dict() for verdict in report.verdicts],
        "notes": [*(found.sentence for found in report.columns), *report.notes],
        "people": report.people,
        "rows": report.rows,
        "compared": compared,
    }
