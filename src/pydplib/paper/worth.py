"""What a paper-mode release is really worth: its guarantee, a record's own epsilon, and what to know."""

from __future__ import annotations

from pydplib.guarantee import Guarantee, LocalDP, NoGuarantee
from pydplib.paper.mechanism import flip_epsilon
from pydplib.paper.plan import PaperPlan
from pydplib.paper.words import Kind

_MISSING_SHOWS = "records with a missing value were left out, which shows whose value is missing"


def record_epsilon(
    plan: PaperPlan, kind: Kind, *, span: tuple[float, float], sensitivity: float, scale: float
) -> float:
    """Return the privacy loss of one record (for aggregates: of one patient) from the noise alone.

    A record moves its own value across the whole range, so the loss is range / scale: n times the paper's
    epsilon for a mean or median, range times it for a count. An aggregate moves by the sensitivity, but
    a median can move across the whole range. True/false: ln((1-p)/p).
    """
    if kind == "bool":
        return flip_epsilon(scale)
    if plan.aggregated and plan.query != "median":
        return sensitivity / scale
    return (span[1] - span[0]) / scale


def guarantee_from_data(plan: PaperPlan, kind: Kind, *, shows_extremes: bool, scale: float, shared: bool) -> Guarantee:
    """Return the guarantee where the scale was computed from the column.

    Only true/false in closed form has one: its flip probability is the middle of the band, and
    no value decides it. Where several levels share one draw, two of them give the values away.
    """
    if shared:
        reason = "two noise levels of one draw give the private values away"
    elif plan.selector == "search":
        reason = "epsilon was searched for by trying noise on the private values themselves"
    elif kind == "bool" and plan.realised:
        reason = "the noise of this draw was computed from the private values"
    elif kind == "bool" and plan.on_missing == "drop":
        reason = _MISSING_SHOWS
    elif kind == "bool" and not plan.aggregated:
        return LocalDP(flip_epsilon(scale))
    else:
        reason = "the amount of noise was computed from the private values themselves"
    if shows_extremes:
        reason = (
            "the smallest and largest values are those of the private data, so whoever has one can be recognised; "
            + reason
        )
    return NoGuarantee(reason)


def guarantee_from_public(plan: PaperPlan, epsilon: float) -> Guarantee:
    """Return the guarantee where nothing but public facts decided."""
    return NoGuarantee(_MISSING_SHOWS) if plan.on_missing == "drop" else LocalDP(epsilon)


def notes_for(
    plan: PaperPlan,
    kind: Kind,
    *,
    stretched: bool,
    shows_extremes: bool,
    has_bounds: bool,
    shared: bool,
    record_epsilon: float,
) -> tuple[str, ...]:
    """Return what the reader should know, in plain sentences."""
    notes = []
    if record_epsilon < 1 and kind != "bool" and not plan.aggregated:
        left = "the smallest and the largest value" if shows_extremes else "the range"
        notes.append(f"With an epsilon below 1 per record, little but {left} is left of the data.")
    if stretched:
        notes.append(
            "The percentage is an average over many draws. Eq. 4 follows the most extreme noisy value, so a single "
            "draw can have much less noise, or much more."
        )
    if shows_extremes:
        notes.append(
            "The smallest and the largest noisy value are those of the private data (Eq. 4). "
            "With public bounds=(low, high) they are not."
        )
    if plan.aggregated and plan.query != "count" and not has_bounds:
        notes.append(
            "The range of aggregates is narrower than that of single patients, so this sensitivity is too small. "
            "Give the bounds of single patients."
        )
    if has_bounds and not plan.aggregated and kind != "bool" and not shared:
        notes.append("With selector='public' the same bounds would give a real guarantee for every record.")
    if plan.realised:
        notes.append("The noise of this draw was computed from the private values; do not hand it on.")
    if shared:
        notes.append("This level shares its draw of noise with others: for the data owner only.")
    return tuple(notes)
