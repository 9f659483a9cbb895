"""What ``dp_calculate`` gives back: the paper's four values, what they are really worth, and both in words."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from pydplib.guarantee import Guarantee, LocalDP, loss_text
from pydplib.paper.words import NoiseMetric, QueryType, Selector
from pydplib.policy.noise_factors import NoiseFactor


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DPResult:
    """Noisy data and how they were made; unpacks as the paper's four values.

    Attributes:
        dp_data: The noisy data, in the container and the order that came in (so they link by position).
        epsilon: The paper's epsilon, sensitivity / scale. It is *not* the privacy loss of a record.
        sensitivity: The paper's sensitivity of the query.
        noise_percent: The *expected* noise in percent: an average over many draws. ``drawn_percent`` is what this
            draw has. Unfitted, the two are close; fitted by Eq. 4 they can be far apart, because the most
            extreme noisy value moves all the others.
        guarantee: What is really guaranteed; ``NoGuarantee`` if a private value decided anything.
        record_epsilon: The privacy loss of one record from the noise alone: the range divided by the scale
            (true/false: ln((1-p)/p)). It holds as a guarantee only where ``guarantee`` says so.
        scale: The Laplace scale; NaN where none was used.
        noise_factor: The noise factor, or None if a record epsilon was asked for.
        selector: How the scale was chosen.
        noise_metric: What the noise is a percentage of: ``"wmape"``, ``"range"`` or ``"mismatch"``.
        query_type: count, mean, median or variance.
        data_type: The paper's name of the data type.
        size: How many values ``dp_data`` holds.
        notes: What the reader should know, in plain sentences.
        drawn_percent: The noise of this very draw in percent. For the owner only: it is an exact function of the
            private data, no guarantee covers it, and it is left out of the printed result and of ``to_dict``
            unless ``realised=True`` was asked for. None where a guarantee needs that no value is measured.
        shows_drawn: Whether the printed result and ``to_dict`` show it.
        shows_extremes: Whether the smallest and largest value of ``dp_data`` are those of the private data.

    Examples:
        >>> import pydplib as dp
        >>> result = dp.dp_calculate([50 + i % 30 for i in range(900)], "mean", "high")
        >>> dp_data, epsilon, sensitivity, noise_percent = result
        >>> len(dp_data), noise_percent, type(result.guarantee).__name__
        (900, 15.0, 'NoGuarantee')
    """

    dp_data: Any
    epsilon: float
    sensitivity: float
    noise_percent: float
    guarantee: Guarantee
    record_epsilon: float
    scale: float
    noise_factor: NoiseFactor | None
    selector: Selector
    noise_metric: NoiseMetric | str
    query_type: QueryType
    data_type: str
    size: int
    notes: tuple[str, ...] = ()
    drawn_percent: float | None = None
    shows_drawn: bool = False
    shows_extremes: bool = False

    @property
    def noise_band(self) -> tuple[float, float] | None:
        """The noise band in percent, both ends included, or None if a record epsilon was asked for."""
        return None if self.noise_factor is None else self.noise_factor.band

    @property
    def in_band(self) -> bool | None:
        """Whether the *expected* noise lies in the band (a single draw may not); None if there is no band or data."""
        if self.noise_factor is None or math.isnan(self.noise_percent):
            return None
        return self.noise_factor.holds(self.noise_percent)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.dp_data, self.epsilon, self.sensitivity, self.noise_percent))

    def __len__(self) -> int:
        return 4

    def __getitem__(self, position: int) -> Any:
        return tuple(self)[position]

    def noise_words(self, *, drawn: bool = False) -> str:
        """Return the noise as a caption says it: an expectation, and for the owner what this draw has.

        Args:
            drawn: For the owner only: add the noise of this draw.

        Examples:
            >>> import pydplib as dp
            >>> dp.dp_calculate([50 + i % 30 for i in range(900)], "mean", "medium").noise_words()
            'about 7.5 % on average'
        """
        if math.isnan(self.noise_percent):
            return "no noise: there is no data"
        text = f"about {self.noise_percent:.2g} % on average"
        if drawn and self.drawn_percent is not None:
            text += f", {self.drawn_percent:.2g} % in this draw"
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the data, ready for JSON; NaN becomes None."""
        factor = self.noise_factor
        return {
            "query_type": self.query_type,
            "data_type": self.data_type,
            "size": self.size,
            "noise_factor": None if factor is None else factor.name,
            "noise_band": None if factor is None else list(factor.band),
            "noise_percent": _plain(self.noise_percent),
            "noise_metric": self.noise_metric,
            "drawn_percent": self.drawn_percent if self.shows_drawn else None,
            "in_band": self.in_band,
            "epsilon": _plain(self.epsilon),
            "sensitivity": _plain(self.sensitivity),
            "record_epsilon": _plain(self.record_epsilon),
            "selector": self.selector,
            "guarantee": {
                "kind": type(self.guarantee).__name__,
                "epsilon": self.guarantee.epsilon if isinstance(self.guarantee, LocalDP) else None,
                "sentence": self.guarantee.sentence,
            },
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return text_card(self)

    def _repr_html_(self) -> str:
        return html_card(self)

    def plot(self, **options: Any) -> Any:
        """Return an interactive figure of the noisy data, with the guarantee under it.

        Args:
            **options: Passed on to ``pydplib.plot.draw``.
        """
        from pydplib.plot import draw  # the one upward import: a result can draw itself

        return draw(self, **options)


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


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
