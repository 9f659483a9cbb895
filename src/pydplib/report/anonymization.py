"""The report of an anonymization: risk before and after, what holds, what it cost. For the data's owner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydplib._version import __version__
from pydplib.errors import AnonymityError
from pydplib.guarantee import KAnonymous
from pydplib.plot import anonymity as figures
from pydplib.report._anonymization_sections import (
    advice_section,
    found_section,
    loss_section,
    models_section,
    repeat_section,
    risk_section,
    suppressed_section,
    utility_section,
)
from pydplib.report._blocks import Fact, FactsBlock, NoteBlock, Section, percent
from pydplib.report._page import Report

if TYPE_CHECKING:
    from pydplib.anonymity import Advice, AnonymizationResult, Classification, ColumnChange, Lattice
    from pydplib.plot.anonymity import RiskLossPoint

KS = (2, 3, 5, 10, 20, 50, 100)
"""The k of a frontier, unless told otherwise."""


def frontier(run: Callable[[int], AnonymizationResult], ks: Sequence[int] = KS) -> tuple[RiskLossPoint, ...]:
    """Anonymize for several k and return what each leaves of the risk and what it costs.

    Args:
        run: Anonymizes with the k it is given.
        ks: Which k; those that nothing satisfies are left out.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import Intervals, KAnonymity, anonymize
        >>> table, steps = pd.DataFrame({"age": [31, 33, 38, 52, 55, 59]}), {"age": Intervals(0, 100, [10, 20])}
        >>> [point.k for point in frontier(lambda k: anonymize(table, steps, models=[KAnonymity(k)]), [2, 6, 7])]
        [2, 6]
    """
    points = []
    for k in ks:
        try:
            result = run(k)
        except AnonymityError:
            continue
        after = result.risk.after.prosecutor
        points.append(
            figures.RiskLossPoint(
                k=k,
                risk=after.maximum,
                expected=after.expected,
                loss=result.loss.granularity,
                suppressed=result.suppressed.share,
            )
        )
    return tuple(points)


def anonymization_report(
    result: AnonymizationResult,
    *,
    name: str = "the table",
    points: Sequence[RiskLossPoint] = (),
    lattice: Lattice | None = None,
    changes: Sequence[ColumnChange] = (),
    classification: Classification | None = None,
    advice: Advice | None = None,
) -> Report:
    """Return the report of an anonymization, for the owner and whoever checks it for her.

    It holds numbers and names of columns, never a value of a cell.

    Args:
        result: What ``anonymize`` returned.
        name: How the table is called on the page.
        points: What other k would have cost; see ``frontier``.
        lattice: All combinations of levels, where there are few; see ``pydplib.anonymity.lattice_of``.
        changes: Distributions before and after; see ``pydplib.anonymity.compare_columns``.
        classification: A classifier before and after; see ``pydplib.anonymity.compare_classifier``.
        advice: What would cost less; see ``pydplib.anonymity.advise``.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import KAnonymity, anonymize
        >>> table = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
        >>> anonymization_report(anonymize(table, ["sex"], models=[KAnonymity(2)]), name="visits.csv").title
        'Anonymization of visits.csv'
    """
    sections = [
        _summary(result),
        risk_section(result.risk.before, result.risk.after),
        models_section(result),
        loss_section(result),
        *([advice_section(advice)] if advice is not None else []),
        *([utility_section(changes, classification)] if changes or classification is not None else []),
        suppressed_section(result),
        found_section(result, points, lattice),
        repeat_section(result),
    ]
    return Report(
        title=f"Anonymization of {name}",
        kicker="pydplib · anonymization report",
        lead=_lead(result),
        sections=sections,
        footer=(
            f"Made with pydplib {__version__}. This page holds numbers and names of columns, no values of the table. "
            "It loads nothing from anywhere and sends nothing."
        ),
    )


def _lead(result: AnonymizationResult) -> str:
    proof = result.certificate
    if not proof.holds or len(proof.statements) <= 3:
        return proof.guarantee.sentence
    return f"{KAnonymous(proof.k).sentence} All {len(proof.statements)} models that were asked for hold."


def _summary(result: AnonymizationResult) -> Section:
    before, after, proof = result.risk.before, result.risk.after, result.certificate
    verdict = (
        NoteBlock(
            "Every model that was asked for holds. It was measured again on the released table alone.",
            title="The models hold",
            tone="good",
        )
        if proof.holds
        else NoteBlock(
            "Measured on the released table alone, at least one model does not hold. Do not hand this table over.",
            title="Not everything holds",
            tone="warning",
        )
    )
    facts = FactsBlock(
        [
            Fact("highest chance of being found", percent(after.prosecutor.maximum), _was(before.prosecutor.maximum)),
            Fact("chance on average", percent(after.prosecutor.expected), _was(before.prosecutor.expected)),
            Fact("people who are unique", percent(after.unique), _was(before.unique)),
            Fact("people in the smallest class", proof.k, f"{proof.classes:,} classes"),
            Fact("rows released", proof.rows, f"{percent(result.suppressed.share)} left out"),
            Fact("loss of detail", percent(result.loss.granularity), "granularity; 0 % is the original"),
        ]
    )
    owner = NoteBlock(
        "The numbers about the original are exact. Keep this page with the data's owner and those who check for her; "
        "what the receiver may know is the lead above and the section on what holds.",
        title="For the data owner",
        tone="warning",
    )
    return Section("In short", [verdict, facts, owner])


def _was(share: float) -> str:
    return f"{percent(share)} before"
