"""What came out, as numbers: stored with the export, drawn for the owner, certified for those who get it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pydplib.anonymity import AnonymizationResult, Loss, Risk
from pydplib.anonymity.assessment.risks import risk_of_sizes
from pydplib.plot import Figure
from pydplib.plot import anonymity as figures
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ExportPlan


def to_numbers(result: AnonymizationResult, earlier: Sequence[Export], heights: Mapping[str, int]) -> dict[str, object]:
    """Return everything about a result that is shown later; no cell of the table is in it.

    Args:
        result: What ``anonymize`` found.
        earlier: The exports that were taken into account.
        heights: Field -> how many levels it could have gone up.
    """
    certificate, loss, search = result.certificate, result.loss, result.search
    return {
        "rows": certificate.rows,
        "people": certificate.people,
        "classes": certificate.classes,
        "k": certificate.k,
        "counted": certificate.counted,
        "holds": certificate.holds,
        "guarantee": certificate.guarantee.sentence,
        "statements": [
            {
                "model": item.model,
                "sensitive": item.sensitive,
                "holds": item.holds,
                "value": item.value,
                "value_input": item.value_input,
            }
            for item in certificate.statements
        ],
        "suppressed": {
            "rows": result.suppressed.rows,
            "share": result.suppressed.share,
            "limit": result.suppressed.limit,
        },
        "loss": {
            "granularity": loss.granularity,
            "precision": loss.precision,
            "entropy": loss.entropy,
            "discernibility": int(loss.discernibility),
            "class_size": loss.class_size,
            "ncp": loss.ncp,
            "columns": dict(loss.columns),
        },
        "levels": dict(result.levels or {}),
        "heights": dict(heights),
        "sizes": {"before": _sizes(result.risk.before), "after": _sizes(result.risk.after)},
        "notes": list(result.notes),
        "search": {"checked": search.checked, "nodes": search.nodes, "optimal": search.optimal, "gap": _gap(search)},
        "earlier": [export.key for export in earlier],
    }


def _gap(search: Any) -> float | None:
    return None if search.loss is None else float(search.gap)


def _sizes(risk: Risk) -> list[list[int]]:
    return [[int(size), int(number)] for size, number in sorted(risk.class_sizes.items())]


def risk_of(numbers: Mapping[str, Any], when: str) -> Risk:
    """Return the risk before or after, from the stored sizes of classes."""
    pairs = numbers["sizes"][when]
    sizes = np.repeat([size for size, _ in pairs], [count for _, count in pairs]).astype(np.int64)
    return risk_of_sizes(sizes)


def drawings(
    numbers: Mapping[str, Any], titles: Mapping[str, str]
) -> list[tuple[str, Figure, list[object], list[object]]]:
    """Return the owner's figures with their tables: id, figure, heads, rows."""
    before, after = risk_of(numbers, "before"), risk_of(numbers, "after")
    lost = numbers["loss"]["columns"]
    named = {title: lost[name] for name, title in titles.items() if name in lost}
    loss = Loss(**{**numbers["loss"], "columns": named})
    bins = figures.size_bins(before, after)
    chances = [label for _, _, label in figures.CHANCES]
    then, now = figures.chance_shares(before), figures.chance_shares(after)
    classes = zip(
        [label for *_, label in bins],
        figures.count_classes(before, bins),
        figures.count_classes(after, bins),
        strict=True,
    )
    return [
        (
            "risk",
            figures.risk_histogram(after, before=before),
            ["Chance of being found", "People before, %", "People after, %"],
            [[label, round(a, 1), round(b, 1)] for label, a, b in zip(chances, then, now, strict=True)],
        ),
        (
            "classes",
            figures.class_sizes(after, before=before),
            ["People in a class", "Classes before", "Classes after"],
            [list(row) for row in classes],
        ),
        (
            "loss",
            figures.loss_per_column(loss),
            ["Column", "Lost, %"],
            [[name, round(100 * value, 1)] for name, value in named.items()],
        ),
    ]


def level_rows(numbers: Mapping[str, Any], titles: Mapping[str, str]) -> list[tuple[str, int, int, float]]:
    """Return every field that was made coarser: its words, its level, the highest one, and the share of detail lost."""
    levels, heights, lost = numbers["levels"], numbers["heights"], numbers["loss"]["columns"]
    return [(titles[name], levels[name], heights[name], lost[name]) for name in titles if name in levels]


def risk_rows(numbers: Mapping[str, object]) -> list[list[str]]:
    """Return risk before and after, in words and percent."""
    before, after = risk_of(numbers, "before"), risk_of(numbers, "after")
    listed = [
        ("Highest chance that somebody is found", before.prosecutor.maximum, after.prosecutor.maximum),
        ("Average chance", before.prosecutor.expected, after.prosecutor.expected),
        ("People who are the only one of their kind", before.unique, after.unique),
    ]
    return [[words, f"{100 * then:.3g} %", f"{100 * now:.3g} %"] for words, then, now in listed]


def statement_rows(numbers: Mapping[str, Any], titles: Mapping[str, str], *, own: bool = False) -> list[list[str]]:
    """Return the models as measured on the output: model, field, holds, measured.

    Args:
        numbers: What is stored of the result.
        titles: Field -> its words.
        own: Whether an owner reads it, who may also know what was measured against the original.
    """
    rows = []
    for item in numbers["statements"]:
        measured = f"{item['value']:.4g}"
        if own and item["value_input"] is not None:
            measured += f" (against the original: {item['value_input']:.4g})"
        about = titles.get(item["sensitive"], item["sensitive"]) if item["sensitive"] else "all fields"
        rows.append([item["model"], about, "holds" if item["holds"] else "does NOT hold", measured])
    return rows


def certificate_of(export: Export) -> dict[str, object]:
    """Return the certificate as a file for those who get the export: it is about the output alone."""
    numbers, plan = export.result, ExportPlan.from_dict(export.plan)
    return {
        "pydplib": "anonymization certificate 1",
        "title": export.title,
        "project": export.project.name,
        "issuer": export.project.hospital.name,
        "released": export.released.isoformat(timespec="seconds") if export.released else None,
        "columns": export.columns,
        "quasi_identifiers": list(plan.named("quasi")),
        "sensitive": list(plan.named("sensitive")),
        "kept_mixed": sorted({item["sensitive"] for item in numbers["statements"] if item["sensitive"]}),
        "rows": numbers["rows"],
        "classes": numbers["classes"],
        "k": numbers["k"],
        "counted": numbers["counted"],
        "holds": numbers["holds"],
        "guarantee": numbers["guarantee"],
        "statements": [
            {name: value for name, value in item.items() if name != "value_input"} for item in numbers["statements"]
        ],
        "sha256": export.sha256,
        "not": "This limits re-identification by the quasi-identifiers. It is not differential privacy.",
    }
