"""The leak report as a page: what was tried, what was learnt, against which baseline, and who may get it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydplib._version import __version__
from pydplib.attack.leaks.tasks import KINDS
from pydplib.plot import attacks as figures
from pydplib.plot.tables import NumberTable
from pydplib.report._blocks import Block, Chart, Fact, FactsBlock, NoteBlock, Points, Section, TextBlock, Tone, percent
from pydplib.report._page import Report

if TYPE_CHECKING:
    from pydplib.attack import AttackResult, AudienceVerdict, LeakReport

_ANSWERS = {"yes": "may have it", "no": "must not have it", "open": "not decided"}
_TONES: dict[str, Tone] = {"yes": "good", "no": "warning", "open": "info"}

EXPLAINED = {kind.name: (kind.does, kind.helps) for kind in KINDS}
"""Attack -> what it does, and what helps against it."""


def leak_page(report: LeakReport, *, name: str = "the release", original: str = "the original") -> Report:
    """Return the leak report as a page. It holds numbers and names of columns, never a value of a cell.

    Args:
        report: What ``leak_report`` found.
        name: How the release is called on the page.
        original: How the original is called on the page.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.attack import leak_report
        >>> table = pd.DataFrame({"age": [31, 34, 52, 57], "ill": ["flu", "flu", "burn", "hiv"]})
        >>> coarse = table.assign(age=["30-39", "30-39", "50-59", "50-59"])
        >>> leak_page(leak_report(table, coarse, quasi_identifiers=["age"], sensitive="ill"), name="out.csv").title
        'What leaks from out.csv'
    """
    return Report(
        title=f"What leaks from {name}",
        kicker="pydplib · leak report",
        lead=_lead(report),
        sections=[
            _summary(report),
            _tried(report, original),
            _learnt(report),
            *_columns(report),
            _verdicts(report.verdicts),
            _limits(report),
        ],
        footer=(
            f"Made with pydplib {__version__} in {report.seconds:.1f} s. This page holds numbers and names of columns, "
            "no values of the table. It loads nothing from anywhere and sends nothing."
        ),
    )


def _lead(report: LeakReport) -> str:
    fine = [v.audience.title.lower() for v in report.verdicts if v.answer == "yes" and v.audience.attacks]
    refused = [v.audience.title.lower() for v in report.verdicts if v.answer == "no"]
    tried = f"{len(report.results)} attacks were tried on behalf of everybody who might try them. "
    if not refused and fine:
        return tried + f"None of them learnt too much for: {', '.join(fine)}."
    if refused and fine:
        return tried + f"It may go to: {', '.join(fine)}. Too much leaks for: {', '.join(refused)}."
    return tried + (f"Too much leaks for: {', '.join(refused)}." if refused else "Not all of them were finished.")


def _summary(report: LeakReport) -> Section:
    facts = [Fact("people attacked", report.people or None), Fact("attacks tried", len(report.results))]
    linked = next((r for r in report.results if r.name == "linkage"), None)
    if linked is not None:
        facts.append(Fact("highest chance of being found", percent(linked.details["maximum"]), "by the prosecutor"))
    worst = report.worst
    if worst is not None:
        facts.append(Fact("most people exposed", percent(worst.due), figures.name_of(worst)))
    blocks: list[Block] = [FactsBlock(facts)]
    naming = [found for found in report.columns if found.names_people]
    if naming:
        blocks.append(
            NoteBlock(" ".join(one.sentence for one in naming), title="Columns that name people", tone="warning")
        )
    if worst is not None and worst.due > 0:
        blocks.append(NoteBlock(worst.sentence, title="The worst of it", tone="warning"))
    elif report.results and not naming:
        blocks.append(
            NoteBlock(
                "The release tells nothing certain about anybody that was not known anyway.",
                title="Nothing certain",
                tone="good",
            )
        )
    blocks.append(
        NumberTable(
            ["audience", "verdict"],
            [[v.audience.title, _ANSWERS[v.answer]] for v in report.verdicts],
            caption="Who may get it; the reasons are at the end",
        )
    )
    blocks.append(
        NoteBlock(
            "The attacks used the original, so the numbers are exact. Keep this page with the owner and those who "
            "check for her.",
            title="For the data owner",
            tone="warning",
        )
    )
    return Section("In short", blocks)


def _tried(report: LeakReport, original: str) -> Section:
    kinds = list(dict.fromkeys(result.name.split(",")[0] for result in report.results))
    points: list[str | tuple[str, str]] = []
    if report.quasi_identifiers:
        points.append(("Known of a person:", f"{', '.join(report.quasi_identifiers)}."))
    if report.sensitive:
        points.append(("Wanted:", f"{', '.join(report.sensitive)}."))
    if report.guarantee:
        points.append(("What the release promises:", report.guarantee))
    rows = [[kind, *EXPLAINED.get(kind, ("", ""))] for kind in kinds]
    words = f"The attackers knew what outsiders may know; {original} was only used to see whether they were right."
    blocks: list[Block] = [TextBlock(words), Points(points)] if points else []
    blocks.append(NumberTable(["attack", "what it does", "what helps"], rows, caption="What was tried"))
    blocks.append(
        TextBlock(
            "A generalized cell matches what it covers: '50-59' matches 57, a set its members, a masked code all codes "
            "that fit. Texts are never compared."
        )
    )
    return Section("What was tried", blocks)


def _learnt(report: LeakReport) -> Section:
    results = report.results
    if not results:
        return Section("What was learnt", [TextBlock("No attack came to a result.")])
    heads = ["attack", "right", "95 % interval", "by guessing", "certain", "exposed", "people"]
    rows = [_row(result) for result in results]
    table = NumberTable(heads, rows, caption="Certain: known for sure. Exposed: by this release, what verdicts count")
    twin = NumberTable(
        ["attack", "right in %", "by guessing in %"],
        [[figures.name_of(r), round(100 * r.success, 2), round(100 * r.baseline, 2)] for r in results],
    )
    shares = NumberTable(["attack", "exposed in %"], [[figures.name_of(r), round(100 * r.due, 3)] for r in results])
    blocks: list[Block] = [Chart(figures.exposed_bars(results), shares), Chart(figures.success_bars(results), twin)]
    for result in results:
        if result.name == "averaging" and "calls" in result.details:
            calls = zip(result.details["calls"], result.details["success_by_calls"], strict=True)
            numbers = NumberTable(
                ["calls", "values known in %"], [[call, round(100 * share, 2)] for call, share in calls]
            )
            title = f"Asking again for {result.target}"
            blocks.append(Chart(figures.repeated_calls(result, title=title), numbers))
    blocks += [table, Points([(f"{figures.name_of(result)}:", result.sentence) for result in results])]
    if report.unfinished:
        lost = [(f"{o.task.name} ({o.task.about}):", o.problem) for o in report.unfinished]
        blocks += [
            NoteBlock("Some attacks have no result; a verdict may be open because of them.", tone="info"),
            Points(lost),
        ]
    if report.notes:
        blocks.append(NoteBlock(" ".join(report.notes), title="Mind"))
    return Section("What was learnt", blocks)


def _columns(report: LeakReport) -> list[Section]:
    """Return what released columns give away that nobody gave a role."""
    if not report.columns:
        return []
    rows = [[one.column, one.kind, percent(one.share), one.source, one.sentence] for one in report.columns]
    heads = ["column", "what it is", "people singled out", "from", "in words"]
    words = (
        "Every released column was compared with the original. These are neither quasi-identifiers nor sensitive, and "
        "nobody vouched for them. Drop them, or give each a role and run the report again."
    )
    return [Section("Columns without a role", [TextBlock(words), NumberTable(heads, rows)])]


def _row(result: AttackResult) -> list[str | int]:
    low, high = result.interval
    return [
        figures.name_of(result),
        percent(result.success),
        f"{percent(low)} to {percent(high)}",
        percent(result.baseline),
        percent(result.exposed),
        percent(result.due),
        result.tries,
    ]


def _verdicts(verdicts: Sequence[AudienceVerdict]) -> Section:
    blocks: list[Block] = []
    for verdict in verdicts:
        title = f"{verdict.audience.title}: {_ANSWERS[verdict.answer]}"
        blocks.append(NoteBlock(" ".join(verdict.reasons), title=title, tone=_TONES[verdict.answer]))
    rows = [
        [v.audience.title, percent(v.audience.chance), percent(v.audience.exposed), v.audience.epsilon, v.audience.why]
        for v in verdicts
        if v.audience.attacks
    ]
    heads = ["audience", "highest chance", "most exposed", "largest epsilon", "because"]
    blocks.append(NumberTable(heads, rows, caption="The limits behind the verdicts"))
    return Section("Who may get it", blocks)


def _limits(report: LeakReport) -> Section:
    words = (
        "A proof bounds every attack, known or not; the verdict rests on it."
        if report.kind == "counts"
        else "Attacks show what leaks; that none succeeds is no proof. Somebody may know more than was assumed, or "
        "think of something else. Only differential privacy bounds all of them, and only for what it releases."
    )
    return Section("What this cannot show", [TextBlock(words)])
