"""The sections of the anonymization report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydplib.anonymity.certificate import TOGETHER
from pydplib.plot import anonymity as figures
from pydplib.plot.tables import NumberTable
from pydplib.report._blocks import Block, Chart, Fact, FactsBlock, NoteBlock, Points, Section, TextBlock, percent

if TYPE_CHECKING:
    from pydplib.anonymity import (
        Advice,
        Alternative,
        AnonymizationResult,
        Attack,
        Classification,
        ColumnChange,
        Lattice,
        Risk,
    )
    from pydplib.plot.anonymity import RiskLossPoint

_KINDS = {
    "TableHierarchy": "listed values",
    "Intervals": "intervals",
    "Cuts": "intervals between given edges",
    "Codes": "groups of a code system",
    "Dates": "calendar",
    "Masking": "masked characters",
    "TopBottom": "top and bottom coding",
}
_METHODS = {
    "optimal": "every column has one level for all rows; the search proves that no other choice loses less",
    "local": "levels differ between groups of people, which keeps more detail",
    "cells": "single cells become '*'",
    "mondrian": "the people are divided again and again along their quasi-identifiers",
    "microaggregation": "people who are alike share the mean or the most common value of their group",
}


def risk_section(before: Risk, after: Risk) -> Section:
    """Return the risk of the original and of the release, as figures and by attacker."""
    rows: list[list[str | None]] = []

    def add(what: str, old: float | None, new: float | None) -> None:
        rows.append([what, None if old is None else percent(old), None if new is None else percent(new)])

    def attacker(who: str, old: Attack, new: Attack, *, known: tuple[bool, bool] = (True, True)) -> None:
        def pair(first: float, second: float) -> tuple[float | None, float | None]:
            return first if known[0] else None, second if known[1] else None

        add(f"{who}: highest chance", *pair(old.maximum, new.maximum))
        add(f"{who}: on average", *pair(old.expected, new.expected))
        for tau, share in old.at_risk.items():
            add(f"{who}: people with a chance above {100 * tau:g} %", *pair(share, new.at_risk.get(tau, 0.0)))

    # Without a population the journalist is the prosecutor again: two rows of one number would look like a finding.
    known = before.has_population, after.has_population
    attacker("Prosecutor", before.prosecutor, after.prosecutor)
    attacker("Journalist", before.journalist, after.journalist, known=known)
    add(
        "Marketer: expected share of people found",
        before.marketer if known[0] else None,
        after.marketer if known[1] else None,
    )
    add("People who are unique", before.unique, after.unique)
    chances = [label for _, _, label in figures.CHANCES]
    shares = [
        [label, round(old, 2), round(new, 2)]
        for label, old, new in zip(chances, figures.chance_shares(before), figures.chance_shares(after), strict=True)
    ]
    bins = figures.size_bins(before, after)
    sizes = [
        [label, old, new]
        for (_, _, label), old, new in zip(
            bins, figures.count_classes(before, bins), figures.count_classes(after, bins), strict=True
        )
    ]
    return Section(
        "Risk before and after",
        [
            TextBlock(
                "Somebody who knows the quasi-identifiers of a person looks for her row. Among people who look alike "
                "she can only guess: with five of them she is right one time in five."
            ),
            Chart(
                figures.risk_histogram(after, before=before),
                NumberTable(["chance of being found", "original, people in %", "released, people in %"], shares),
            ),
            Chart(
                figures.class_sizes(after, before=before),
                NumberTable(["people in a class", "original, classes", "released, classes"], sizes),
            ),
            NumberTable(["", "original", "released"], rows, caption="Three attackers, before and after"),
            Points(
                [
                    ("The prosecutor", "knows that the person is in the table."),
                    (
                        "The journalist",
                        "does not know that; the rows are empty where no population was given.",
                    ),
                    ("The marketer", "matches everybody at once and counts how many matches are right."),
                ]
            ),
        ],
    )


def models_section(result: AnonymizationResult) -> Section:
    """Return what was certified, and what each model means."""
    proof = result.certificate
    rows = []
    for statement in proof.statements:
        about = f"{statement.model}{f' of {statement.sensitive}' if statement.sensitive else ''}"
        rows.append([about, "holds" if statement.holds else "does not hold", statement.value, statement.value_input])
    if all(row[3] is None for row in rows):
        table = NumberTable(["model", "", "measured"], [row[:3] for row in rows], caption="The certificate")
    else:
        heads = ["model", "", "measured", "against the original's distribution"]
        table = NumberTable(heads, rows, caption="The certificate")
    meanings = {f"{rule.model}:": f"{rule.model.bounds}. {rule.model.paper}." for rule in result.recipe.models}
    if any(statement.model.endswith(TOGETHER) for statement in proof.statements):
        meanings["Across releases:"] = (
            "measured for people who look alike in this release and in all earlier ones that were given, with the "
            "owner's knowledge of who was in them."
        )
    return Section(
        "What holds",
        [
            TextBlock(
                f"Measured on the released table alone: {proof.rows:,} rows in {proof.classes:,} classes of "
                f"{', '.join(result.quasi_identifiers)}; the smallest has {proof.k:,} ({proof.counted}; a missing cell "
                "is a value of its own)."
            ),
            table,
            Points(list(meanings.items())),
            NoteBlock(
                "These models limit who can be found and what a group gives away. They do not limit what somebody with "
                "other knowledge can infer, and a second release of the same people can undo them: release again only "
                "with the earlier releases in view. They are not differential privacy.",
                title="What this does not promise",
            ),
        ],
    )


def loss_section(result: AnonymizationResult) -> Section:
    """Return what the release lost, per column and by several measures."""
    loss, recipe = result.loss, result.recipe
    per_column = [[name, round(100 * value, 2)] for name, value in loss.columns.items()]
    levels = []
    for name, hierarchy in recipe.hierarchies.items():
        kind = _KINDS.get(type(hierarchy).__name__, "hierarchy") + (
            ", made from the data" if hierarchy.from_data else ""
        )
        level = "differs" if recipe.levels is None else f"{recipe.levels[name]} of {hierarchy.height}"
        levels.append([name, kind, level, round(100 * loss.columns.get(name, 0.0), 2)])
    rows: list[list[Any]] = [
        ["granularity", percent(loss.granularity), "how much of its domain a released value covers, on average"],
        ["precision", percent(loss.precision), "levels climbed, of all levels there are"],
        ["entropy", percent(loss.entropy), "information lost about the original values"],
        ["discernibility", loss.discernibility, "sum of squared class sizes; suppressed rows count the whole table"],
        ["class size", loss.class_size, "mean class size over k; 1 is the best"],
    ]
    return Section(
        "What was lost",
        [
            Chart(figures.loss_per_column(loss), NumberTable(["column", "loss in %"], per_column)),
            NumberTable(
                ["column", "made coarser by", "level", "loss in %"], levels, caption="Level 0 is the original value"
            ),
            NumberTable(["measure", "loss", "what it is"], rows, caption="By several measures; smaller is better"),
        ],
    )


def suppressed_section(result: AnonymizationResult) -> Section:
    """Return how much was left out; numbers, never values."""
    gone = result.suppressed
    blocks: list[Block] = [
        FactsBlock(
            [
                Fact("rows left out", gone.rows),
                Fact("of all rows", percent(gone.share), f"limit {percent(gone.limit)}"),
                Fact("columns left out", len(result.dropped)),
            ]
        ),
        TextBlock(
            "Rows are left out where too few people look alike. Which rows is not written here. The order of the "
            "released rows is random."
        ),
    ]
    if result.dropped:
        blocks.append(TextBlock(f"Columns that are not in the released table: {', '.join(result.dropped)}."))
    return Section("What was suppressed", blocks)


def advice_section(advice: Advice) -> Section:
    """Return what each column and model costs, and what other methods lose."""

    def rows(found: Sequence[Alternative], *, others: bool = False) -> list[list[Any]]:
        out: list[list[Any]] = []
        for one in found:
            changed = [None if one.others is None else percent(one.others)] if others else []
            loss = None if one.loss is None else percent(one.loss)
            gain = advice.gain(one)
            won = None if one.loss is None else f"{100 * gain:+.3g}" if abs(gain) >= 5e-5 else "0"
            end = one.words if one.loss is None or one.what == "method" else "" if one.proven else "best found in time"
            gone = None if one.loss is None else percent(one.suppressed)
            out.append([one.subject, *([one.what] if others else []), *changed, loss, won, gone, end])
        return out

    blocks: list[Block] = [Points(list(advice.sentences))]
    if advice.columns:
        heads = [
            "column",
            "change",
            "loss of the others",
            "loss in total",
            "points won by the others",
            "rows left out",
            "",
        ]
        blocks.append(
            NumberTable(heads, rows(advice.columns, others=True), caption="What each column costs the others")
        )
    if advice.models:
        heads = ["without", "loss", "points won", "rows left out", ""]
        blocks.append(NumberTable(heads, rows(advice.models), caption="What each model costs"))
    if advice.methods:
        heads = ["method", "loss", "points won", "rows left out", "labels"]
        blocks.append(NumberTable(heads, rows(advice.methods), caption="The same table by other methods"))
    if advice.skipped:
        blocks.append(NoteBlock(f"There was no time for: {', '.join(advice.skipped)}.", tone="info"))
    return Section("What would cost less", blocks)


def utility_section(changes: Sequence[ColumnChange], found: Classification | None) -> Section:
    """Return what the release is still good for: distributions, and a classifier."""
    blocks: list[Block] = []
    if found is not None:
        rows = [
            ["trained on the original", percent(found.before)],
            ["trained on the release", percent(found.after)],
            ["always the most common value", percent(found.baseline)],
        ]
        kept = "" if found.kept is None else f" The release keeps {percent(found.kept)} of what there is to gain."
        words = (
            f"A random forest predicts {found.target} from {', '.join(found.features)}, in five-fold cross-validation."
        )
        blocks += [
            TextBlock(words + kept),
            NumberTable(["classifier", "right"], rows, caption=f"Predicting {found.target}"),
        ]
    if changes:
        near = [[one.column, one.role, percent(one.distance), percent(one.nothing_known)] for one in changes]
        heads = ["column", "role", "apart", "rows that say nothing ('*')"]
        blocks.append(
            NumberTable(heads, near, caption="How far each distribution moved: 0 % alike, 100 % nothing in common")
        )
    for one in changes:
        if one.nothing_known == 1:
            continue  # a single bar
        numbers = [
            [name, round(100 * old, 2), round(100 * new, 2)]
            for name, old, new in zip(one.bins, one.before, one.after, strict=True)
        ]
        heads = [one.column, "original, rows in %", "released, rows in %"]
        blocks.append(Chart(figures.column_change(one), NumberTable(heads, numbers)))
    return Section("What is still there", blocks)


def found_section(result: AnonymizationResult, points: Sequence[RiskLossPoint], lattice: Lattice | None) -> Section:
    """Return how the search went, with the frontier and the lattice where they are known."""
    search = result.search
    how = _METHODS.get(result.method, "")
    words = [f"Method {result.method}: {how}." if how else f"Method {result.method}."]
    if search.nodes > 1:
        end = (
            "No other combination loses less: this is the optimum."
            if search.optimal
            else f"The time was up: the best possible loss is at most {search.gap:.4f} lower."
        )
        words.append(
            f"{search.checked:,} of {search.nodes:,} combinations of levels were checked in {search.seconds:.1f} s. "
            + (end if result.method == "optimal" else "")
        )
    blocks: list[Block] = [TextBlock(*words)]
    if points:
        asked = [getattr(rule.model, "k", None) for rule in result.recipe.models]
        chosen = next((k for k in asked if k is not None), None)
        rows = [
            [point.k, *(round(100 * x, 2) for x in (point.risk, point.expected, point.loss, point.suppressed))]
            for point in points
        ]
        heads = ["k", "highest chance in %", "on average in %", "loss in %", "rows left out in %"]
        blocks.append(Chart(figures.risk_utility(points, chosen=chosen), NumberTable(heads, rows)))
    if lattice is not None:
        heads = [*lattice.columns, lattice.measure, "suppressed in %", "chosen"]
        nodes: list[list[Any]] = [
            [*node.levels, node.loss, round(100 * node.suppressed, 2), "chosen" if node.chosen else ""]
            for node in lattice.nodes
        ]
        blocks.append(Chart(figures.lattice(lattice), NumberTable(heads, nodes)))
    return Section("How it was found", blocks)


def repeat_section(result: AnonymizationResult) -> Section:
    """Return what was asked for."""
    recipe = result.recipe
    rows: list[list[Any]] = [
        ["quasi-identifiers", ", ".join(result.quasi_identifiers)],
        ["sensitive", ", ".join(result.sensitive) or None],
        ["identifiers", ", ".join(recipe.identifiers) or None],
        ["kept as they are", ", ".join(recipe.insensitive) or None],
        ["models", "; ".join(str(rule) for rule in recipe.models)],
        ["suppression limit", percent(recipe.suppression)],
        ["method", recipe.method],
        ["minimized loss", recipe.loss],
    ]
    blocks: list[Block] = [NumberTable(["", "setting"], rows)]
    if result.notes:
        blocks.append(NoteBlock(" ".join(result.notes), title="Remarks", tone="warning"))
    return Section("What was asked for", blocks)
