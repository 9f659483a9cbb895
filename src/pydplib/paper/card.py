"""A ``DPResult`` in words: for the terminal and for notebooks. Says nothing that is not released anyway."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import TYPE_CHECKING

from pydplib.guarantee import LocalDP, loss_text

if TYPE_CHECKING:
    from pydplib.paper.result import DPResult

_ROLE_WORDS = {"owner": "data owners", "collaborator": "collaborators", "third_party": "third parties"}
_METRIC_WORDS = {
    "wmape": "of the typical value",
    "range": "of the range",
    "mismatch": "of the values changed",
}
_DATA_WORDS = {
    "char": "text",
    "string": "text",
    "int": "whole numbers",
    "numpy integer": "whole numbers",
    "float": "numbers",
    "numpy float": "numbers",
    "bool": "true/false",
    "numpy bool": "true/false",
    "date": "dates",
}


def rows(result: DPResult) -> list[tuple[str, str]]:
    """Return the card's lines as (label, text)."""
    lines = [("Noise", _noise(result)), ("Role", _meant_for(result))]
    if result.size:
        lines.append(("Epsilon", f"{_number(result.epsilon)} as the paper counts it (for a {result.query_type})"))
        lines.append(("Per record", _per_record(result)))
    lines.append(("Sensitivity", _number(result.sensitivity)))
    lines.append(("Guarantee", result.guarantee.sentence))
    lines.extend(("Note", note) for note in result.notes)
    return lines


def title(result: DPResult) -> str:
    """Return the card's first line."""
    words = _DATA_WORDS[result.data_type]
    count = "no values" if not result.size else f"{result.size:,} noisy value{'s' * (result.size != 1)}"
    return f"{count} ({words}), in the order of the input"


def text_card(result: DPResult) -> str:
    """Return the card for a terminal."""
    lines = [f"DPResult: {title(result)}"]
    for label, text in rows(result):
        wrapped = textwrap.wrap(text, width=84, break_long_words=False)
        lines.append(f"  {label:<12} {wrapped[0]}")
        lines.extend(" " * 15 + more for more in wrapped[1:])
    return "\n".join(lines)


def html_card(result: DPResult) -> str:
    """Return the card for a notebook: a small table, the guarantee in colour."""
    sound = isinstance(result.guarantee, LocalDP)
    colour = "#1b6e3c" if sound else "#a14400"
    mark = "Guarantee holds" if sound else "No privacy guarantee"
    body = "".join(
        '<tr><th style="text-align:left;vertical-align:top;padding:2px 14px 2px 0;font-weight:600;'
        f'white-space:nowrap">{escape(label)}</th>'
        f'<td style="text-align:left;padding:2px 0">{escape(text)}</td></tr>'
        for label, text in rows(result)
    )
    return (
        '<div style="font-family:system-ui,sans-serif;max-width:46em;line-height:1.4;'
        f'border-left:4px solid {colour};padding:4px 14px">'
        f'<div style="font-weight:600">{escape(title(result))} '
        f'<span style="color:#fff;background:{colour};border-radius:3px;padding:1px 7px;'
        f'font-size:85%;margin-left:6px">{mark}</span></div>'
        f'<table style="border-collapse:collapse;margin-top:4px">{body}</table></div>'
    )


def _noise(result: DPResult) -> str:
    if math.isnan(result.noise_percent):
        return "none: there is no data"
    text = f"about {result.noise_percent:.3g} % {_METRIC_WORDS[result.noise_metric]} on average"
    if result.noise_factor is not None:
        low, high = result.noise_factor.band
        inside = "inside" if result.in_band else "OUTSIDE"
        text += f"; {inside} the band {low:g} to {high:g} % ({result.noise_factor.name})"
    if result.shows_drawn and result.drawn_percent is not None:
        text += f"; this draw: {result.drawn_percent:.3g} %"
    return text


def _meant_for(result: DPResult) -> str:
    if result.noise_factor is None:
        return "whoever may learn as much as the record epsilon allows"
    # Whom the paper means by this noise; whether it may go there is what the guarantee says.
    return f"{_ROLE_WORDS[result.noise_factor.role]}, says the paper; what it is worth stands below"


def _per_record(result: DPResult) -> str:
    number = loss_text(result.record_epsilon)
    if isinstance(result.guarantee, LocalDP):
        return f"epsilon {number} for every record; another call on the same data adds to it"
    return f"epsilon {number} from the noise alone; not a guarantee, see below"


def _number(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.4g}"
