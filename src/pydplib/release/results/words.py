"""A release in plain words: for the terminal, and as HTML for notebooks and pages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from pydplib.engine import OneRow, RowCondition
from pydplib.release.results.findings import ends_text, show, widest_words
from pydplib.release.statistics.noise import confidence_words
from pydplib.release.statistics.question import ROW_IS_PERSON, STATISTICS

if TYPE_CHECKING:
    from pydplib.release.results.release import Release

MEASURED = "discrete Laplace, tables measured together"
"""The mechanism of tables that are made to agree: a value need not lie in the middle of its interval."""

MEASURED_GAUSSIAN = "discrete Gaussian, tables measured together"
"""The same with Gaussian noise."""

MEASURED_PAIRS = "discrete Laplace, and noise shaped for two tables, tables measured together"
"""The same where two tables share one noise."""

TOGETHER = (MEASURED, MEASURED_GAUSSIAN, MEASURED_PAIRS)
"""The mechanisms of tables that are made to agree."""

MOST_ROWS = 40
"""Rows of a table that are written out; the rest is in ``to_frame``."""

_RELATIONS = {
    "add_remove": "one person, with all of that person's rows, added or removed",
    "substitute": "one person exchanged for another; the number of people is public",
    "local": "every record by itself",
}
_ROWS = "one row, added or removed; a person with several rows has proportionally less protection"
_ELEMENTS = {
    "add_remove": "one element of the list, added or removed; a person with several has proportionally less protection",
    "substitute": "one element of the list, exchanged for another; the number of elements is public, and a person "
    "with several has proportionally less protection",
}


def show_number(value: float, margin: float | None = None, *, whole: bool = False) -> str:
    """Return a number with as many digits as its margin deserves: two digits of the margin.

    Examples:
        >>> show_number(66.12345, 0.24), show_number(918.2, 12.4, whole=True), show_number(0.00123)
        ('66.12', '918', '0.00123')
    """
    if whole or isinstance(value, int):
        return f"{round(value):,}".replace(",", " ")
    if margin is None or not math.isfinite(margin) or margin <= 0:
        return f"{value:.5g}"
    digits = max(0, 1 - math.floor(math.log10(margin)))
    return f"{value:.{min(digits, 12)}f}"


def show_margin(margin: float, *, whole: bool = False) -> str:
    """Return a margin rounded up, so that what is shown still covers."""
    if margin <= 0:
        return "0"
    if whole:
        return str(math.ceil(margin))
    digits = 1 - math.floor(math.log10(margin))
    return f"{math.ceil(margin * 10**digits - 1e-9) / 10**digits:.{max(digits, 0)}f}"


def words_of(question: Mapping[str, Any]) -> str:
    """Return a question's plain values as a line of words.

    Examples:
        >>> words_of({"ask": "mean", "of": "age", "by": [{"column": "pirads"}]})
        'mean of age by pirads'
    """
    ask = question.get("ask", "release")
    if ask == "tables":
        return f"{len(question['questions'])} tables together: " + "; ".join(map(words_of, question["questions"]))
    if ask in STATISTICS:
        words = [STATISTICS[ask].sentence(question)]
    else:
        of = question.get("of")
        words = [str(ask), *([] if of in (None, "array") else [f"of {of}"])]
    columns = [entry["column"] for entry in question.get("by", ())]
    joint = STATISTICS[ask].joint if ask in STATISTICS else ()
    if joint and columns:
        words.append(f"{joint[0]} {columns.pop(0)}")
    if columns:
        words.append("by " + ", ".join(columns))
    if question.get("where"):
        words.append("where " + " and ".join(str(RowCondition.from_dict(entry)) for entry in question["where"]))
    if question.get("per_person"):
        words.append(f"per person {OneRow.from_dict(question['per_person'])}")
    if question.get("after"):
        words.append("after " + " and ".join(str(RowCondition.from_dict(entry)) for entry in question["after"]))
    return " ".join(words)


def value_words(release: Release, place: int = 0) -> str:
    """Return one value with its margin and unit."""
    whole = release.is_count
    value = release.values[place]
    unit = f" {release.unit}" if release.unit else ""
    chosen = release.label(place)
    if chosen is not None:
        behind = (
            ""
            if release.margins is None
            else f" (at most {show_margin(release.margins[place], whole=True)} rows behind)"
        )
        return f"{chosen}{unit}{behind}"
    if release.margins is None:
        return (show(value) if release.population_low is not None else show_number(value, whole=whole)) + unit
    margin = release.margins[place]
    if release.margin_unit == "ranks":
        return f"{show_number(value)}{unit} (± {show_margin(margin, whole=True)} ranks)"
    shown = show_number(value, margin, whole=whole)
    ends = _ends(release, place)
    if ends is not None:
        return f"{shown}{unit} ({ends})"
    # What rounding took from the value is given to the margin, so that what is shown still covers.
    rounded = abs(float(shown.replace(" ", "")) - value)
    return f"{shown} ± {show_margin(margin + rounded, whole=whole)}{unit}"


def _ends(release: Release, place: int) -> str | None:
    """Return "low to high" where a number lies far from the middle of its interval, e.g. at a bound."""
    if release.low is None or release.high is None or release.margins is None:
        return None
    value, margin = release.values[place], release.margins[place]
    low, high = release.low[place], release.high[place]
    if release.is_count:
        # Agreeing tables move numbers away from the middle; others are only cut at 0, which ± still covers.
        agrees = release.mechanism in TOGETHER
        moved = agrees and (value - low > margin + 0.5 or high - value > margin + 0.5)
        return f"{math.floor(low)} to {math.ceil(high)}" if moved else None
    if abs((high - value) - (value - low)) <= 0.1 * margin:
        return None
    scale = 10.0 ** max(0, 1 - math.floor(math.log10(margin))) if margin > 0 else 1.0
    ends = math.floor(low * scale + 1e-9) / scale, math.ceil(high * scale - 1e-9) / scale
    return " to ".join(show_number(end, margin) for end in ends)


def facts(release: Release) -> list[tuple[str, str]]:
    """Return what a reader must know besides the values: (word, sentence) pairs."""
    printed = release.printed is not None  # its notes say what the noise does, its cells hold the findings
    found = [("margin", _margin_words(release))] if release.margins is not None and not printed else []
    if release.counted:
        found.append(("counted", release.counted))
    if not printed:
        found.extend(("finding", finding.text) for finding in release.findings)
    sampling = "" if printed else _sampling_words(release)
    if sampling:
        found.append(("sampling", sampling))
    found.append(("guarantee", release.guarantee.sentence))
    found.append(("protects", _protects(release) + "."))
    found.append(("cost", f"{release.cost} ({release.mechanism})"))
    found.extend(("note", note) for note in (*release.notes, *release.remarks))
    return found


def _protects(release: Release) -> str:
    if release.question.get("of") == "array":
        return _ELEMENTS.get(release.relation, _RELATIONS[release.relation])
    if release.relation == "add_remove" and release.counted.startswith(ROW_IS_PERSON):
        return _ROWS
    return _RELATIONS[release.relation]


def _margin_words(release: Release) -> str:
    often = f"in {confidence_words(release.confidence)} of all releases"
    if release.margin_unit == "rows":
        return f"in rows: {often} at most this many fewer rows, as counted, have this value than the most frequent one."
    if release.margin_unit == "ranks":
        return (
            f"in ranks: {often} at most this many rows, as counted, lie between this value and the "
            "quantile. In the unit of the values it is private: it would tell how close they lie."
        )
    text = f"how far the noise moved a number, at most, {often}."
    if any(_ends(release, place) is not None for place in range(len(release.values))):
        text = f"the number of the table, as counted, lies within ±, or from low to high (in brackets), {often}."
    if release.simultaneous is not None and len(release.values) > 1:
        shown = show_margin(release.simultaneous, whole=release.is_count)
        text += f" All {len(release.values)} at once: ± {shown}."
    return text


def _sampling_words(release: Release) -> str:
    if release.statistic in ("local", "records"):
        return ""
    population = release.population
    wide = f" {widest_words(release)}" if population is not None and widest_words(release) else ""
    if population is not None and not release.axes:
        return f"for the population (sampling and noise): {ends_text(*_finite(population))}.{wide}"
    if release.population_low is not None:
        return "population intervals include sampling and noise; margins and brackets hold the noise alone."
    if release.margins is None and any(found.p is not None for found in release.findings):
        return "the p-value includes sampling and noise."
    text = "the margin covers the noise alone and does not include sampling error"
    if population is not None:
        text += " (.population has both)"
    small = small_groups(release)
    if not small:
        return f"{text}.{wide}"
    names = ", ".join(small[:4]) + (" and others" if len(small) > 4 else "")
    return f"{text}, and in small groups chance alone weighs more than the noise: {names}.{wide}"


def _finite(ends: tuple[float, float]) -> list[float | None]:
    return [float(end) if math.isfinite(end) else None for end in ends]


def small_groups(release: Release, *, fewer_than: float = 30) -> list[str]:
    """Return the groups whose noisy size is small, in words; judged by released numbers alone."""
    if release.sizes is None:
        return []
    found = []
    for key, size in zip(release.keys, release.sizes, strict=True):
        if size < fewer_than:
            parts = [axis.label(part) for axis, part in zip(release.axes, key, strict=True) if axis.kind != "quantile"]
            found.append(f"{', '.join(parts) or 'this table'} (about {max(0, round(size))} rows)")
    return list(dict.fromkeys(found))  # the quantiles of a group share its size


def release_text(release: Release) -> str:
    """Return a release for the terminal.

    Examples:
        >>> import pydplib as dp
        >>> print(str(dp.count([0] * 920, epsilon=1.0)).splitlines()[0].startswith("count"))
        True
    """
    return "\n".join([*table_lines(release), *(fact_line(word, sentence) for word, sentence in facts(release))])


def fact_line(word: str, sentence: str) -> str:
    """Return one fact as a line of text."""
    return f"  {word:<9}  {sentence}"


def table_lines(release: Release) -> list[str]:
    """Return question and values of a release as lines of text."""
    title = words_of(release.question)
    if not release.axes:
        return [f"{title}: {value_words(release)}"]
    if release.printed is not None:
        return [title, *(f"  {line}" for line in release.printed.text_lines)]
    rows = _rows(release)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [title]
    lines += ["  " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    if len(release.values) > MOST_ROWS:
        lines.append(f"  ... {len(release.values) - MOST_ROWS} more in to_frame()")
    return lines


def _rows(release: Release) -> list[list[str]]:
    """Return the table of a release as words: a line of names, then keys and value of each of the first rows."""
    own = release.population_low is not None and release.population_high is not None
    rows = [[*(axis.title or axis.name or "from" for axis in release.axes), "value", *(["population"] if own else [])]]
    for place, key in enumerate(release.keys[:MOST_ROWS]):
        labels = [axis.label(part) for axis, part in zip(release.axes, key, strict=True)]
        rows.append([*labels, value_words(release, place)])
        if release.population_low is not None and release.population_high is not None:
            rows[-1].append(ends_text(release.population_low[place], release.population_high[place]))
    return rows


def release_html(release: Release) -> str:
    """Return a release as an HTML fragment: table, then the facts. No script, no foreign host."""
    title = escape(words_of(release.question))
    cell = 'style="text-align:left;padding:2px 12px 2px 0"'
    if release.printed is not None:
        body = release.printed.to_html()
    elif not release.axes:
        body = f'<p style="font-size:1.3em;margin:4px 0"><strong>{escape(value_words(release))}</strong></p>'
    else:
        names, *rows = _rows(release)
        head = "".join(f"<th {cell}>{escape(name)}</th>" for name in names)
        lines = ("".join(f"<td {cell}>{escape(word)}</td>" for word in row) for row in rows)
        inner = "".join(f"<tr>{line}</tr>" for line in lines)
        more = len(release.values) - MOST_ROWS
        tail = f"<p>... {more} more in to_frame()</p>" if more > 0 else ""
        body = f"<table><thead><tr>{head}</tr></thead><tbody>{inner}</tbody></table>{tail}"
    told = "".join(
        f'<dt style="float:left;clear:left;width:6em;opacity:.7">{escape(word)}</dt>'
        f'<dd style="margin-left:6.5em">{escape(sentence)}</dd>'
        for word, sentence in facts(release)
    )
    return (
        f'<div class="pydplib-release"><p style="margin:0">{title}</p>{body}<dl style="margin:4px 0">{told}</dl></div>'
    )
