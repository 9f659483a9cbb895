"""Prices: from an accuracy to an epsilon that is agreed, and what a question would cost; from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, cast

from pydplib._shown import Shown
from pydplib.budget.costs import Cost
from pydplib.budget.rules import Bar, Remaining
from pydplib.budget.units import NANO, ceil_units, exact, show_nano
from pydplib.errors import BudgetError, CalibrationError, ParameterError, PolicyError
from pydplib.guarantee import ApproxDP, LocalDP, PureDP, guarantee_dict, read_guarantee
from pydplib.mechanisms._common import check_margin, solve_epsilon
from pydplib.policy import (
    NoiseFactor,
    OutputLabel,
    check_spend,
    label_of_noise_factor,
    parse_noise_factor,
    settle_epsilon,
)
from pydplib.release.facts import Facts
from pydplib.release.public import check_epsilon
from pydplib.release.results.release import Release
from pydplib.release.results.words import show_margin, words_of
from pydplib.release.statistics.count import UNITS
from pydplib.release.statistics.noise import COVERAGE, MarginUnit, check_confidence, confidence_words

if TYPE_CHECKING:
    from pydplib.release.session import Session

NEEDS_SIZE = (
    "needs the number of rows, and the schema declares none. Declare it (size=920 in the schema) if it is public, "
    "or buy it once: session.buy_size(epsilon=...), on the command line pydplib release ... --buy-size 0.05 (and the "
    "same option with pydplib price). With a role, a release by noise factor buys it by itself."
)

_MATCHING = (
    "The noise factor is about the whole table. How many rows meet the conditions is not public: with fewer rows "
    "the noise weighs more."
)
LEAST = 1e-6
"""An epsilon within any cap: asks what is open, not what it costs."""

WEIGHS = (
    "After many small questions or Gaussian noise, which add up to less than their sum, a large one takes more of the "
    "budget than its own epsilon."
)
READABLE = 20
"""Noise in percent beyond which figures show little but noise; that of the noisiest role is 15."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Price(Shown):
    """The cost of a question and the accuracy to expect. No data were touched for it.

    A session makes it; pages and ``pydplib price`` show it, the API sends it and the client reads it.

    Attributes:
        question: The question in words.
        cost: What the answer costs; see ``total`` for all that would be debited.
        guarantee: What the release would guarantee.
        free: Whether this recipient has paid for it before.
        margin: The margin to expect; None where it depends on a size that nobody declared.
        margin_unit: What the margin counts: the value's unit, or ranks.
        unit: The unit of the values.
        noise_percent: The expected noise in percent of the reference magnitude.
        left: What is left of the recipient's budget.
        after: What would be left; None if the budget cannot pay.
        bar: What is spent of the recipient's own budget and what this asks of it.
        size_cost: What a noisy number of rows costs with it, once, in nano-epsilon; 0 if none has to be bought.
        at_most: Whether the cost is an upper bound, because the exact price needs a size that is not known.
        notes: What else to know.
        confidence: How often the margin covers.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> schema = dp.Schema({"age": dp.Number(18, 100)}, name="reports")
        >>> table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 300}), schema)
        >>> price = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0)).price(dp.Count(), epsilon=0.5)
        >>> price.epsilon, price.margin95, price.affordable, price.total
        (0.5, 6, True, 500000000)
        >>> dp.release.Price.from_dict(price.to_dict()) == price
        True
    """

    question: str
    cost: Cost
    guarantee: PureDP | ApproxDP
    free: bool
    margin: float | None
    margin_unit: MarginUnit
    unit: str
    noise_percent: float | None
    left: Remaining
    after: Remaining | None
    bar: Bar
    size_cost: int = 0
    at_most: bool = False
    notes: tuple[str, ...] = ()
    confidence: float = COVERAGE

    @classmethod
    def of_known(cls, release: Release, left: Remaining, bar: Bar) -> Price:
        """Return the price of an answer that the recipient has already: nothing.

        Args:
            release: The answer.
            left: What is left of the recipient's budget, before and after.
            bar: What is spent of it.
        """
        return cls(
            question=words_of(release.question),
            cost=release.cost,
            guarantee=cast(PureDP, release.guarantee),
            free=True,
            margin=max(release.margins or (0.0,)),
            margin_unit=release.margin_unit,
            unit=release.unit,
            noise_percent=None,
            left=left,
            after=left,
            bar=bar,
            notes=release.remarks,
            confidence=release.confidence,
        )

    @property
    def margin95(self) -> float | None:
        """``margin``, of a price with a confidence of 95 %."""
        if self.confidence != COVERAGE:
            raise ParameterError(f"This margin has a confidence of {confidence_words(self.confidence)}: use margin.")
        return self.margin

    @property
    def epsilon(self) -> float:
        """The privacy loss of the answer; see ``total`` for all that would be debited."""
        return self.guarantee.epsilon if self.cost.nano_epsilon is None else self.cost.epsilon  # paid in rho

    @property
    def delta(self) -> float:
        """The chance that it may fail."""
        if self.cost.nano_epsilon is None and isinstance(self.guarantee, ApproxDP):
            return self.guarantee.delta
        return self.cost.delta

    @property
    def total(self) -> int:
        """The most that would be debited, in nano-epsilon: with the number of rows, and 0 if it was paid before."""
        if self.free:
            return 0
        paid = self.cost.nano_epsilon
        return (ceil_units(exact(self.epsilon), NANO) if paid is None else paid) + self.size_cost

    @property
    def total_words(self) -> str:
        """``total`` as an exact decimal.

        Examples:
            ``"0.2"``, or ``"at most 0.55"`` while the number of rows is not known.
        """
        return ("at most " if self.at_most and not self.free else "") + show_nano(self.total)

    @property
    def affordable(self) -> bool:
        """Whether the recipient's budget can pay."""
        return self.free or self.after is not None

    @property
    def too_noisy(self) -> bool:
        """Whether hardly anything could be read from the answer, so that it is money for nothing."""
        return self.noise_percent is not None and self.noise_percent > READABLE

    @property
    def noise_words(self) -> str:
        """The expected noise, such as ``"about 15 %"``; empty where nobody knows."""
        return "" if self.noise_percent is None else f"about {self.noise_percent:.2g} %"

    @property
    def margin_words(self) -> str:
        """The accuracy to expect, as one sentence for readers of pages."""
        if self.margin is None:
            return "How far the noise moves the answer depends on how many records answer it, which is not public."
        # While the number of records is unknown, this is the margin at the highest price: a cheaper answer has a wider
        # one.
        top = self.at_most and not self.free
        share = f"{100 * self.confidence:g} of 100 such answers"
        often = f"At the highest price, in {share}" if top else f"In {share}"
        shown = show_margin(self.margin, whole=self.margin_unit != "value" or self.unit in UNITS)
        if self.margin_unit == "ranks":
            words = f"{often} at most {shown} records lie between the number shown and the exact one"
        elif self.margin_unit == "rows":
            words = f"{often} at most {shown} fewer records have the value shown than the most frequent one"
        else:
            moved = f"{shown} {UNITS.get(self.unit, self.unit)}".strip()
            words = f"{often} the noise moves a number by at most {moved}"
        return f"{words}; if the answer costs less, by more." if top else f"{words}."

    def to_dict(self) -> dict[str, Any]:
        """Return the price as plain values: what the API answers and ``pydplib price --json`` writes."""
        return {
            "question": self.question,
            "cost": self.cost.to_dict(),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "guarantee": guarantee_dict(self.guarantee),
            "free": self.free,
            "affordable": self.affordable,
            "at_most": self.at_most,
            "nano_epsilon_in_all": self.total,
            "nano_epsilon_of_size": self.size_cost,
            "margin": self.margin,
            "margin95": self.margin if self.confidence == COVERAGE else None,
            "confidence": self.confidence,
            "margin_unit": self.margin_unit,
            "margin_words": self.margin_words,
            "unit": self.unit,
            "noise_percent": self.noise_percent,
            "too_noisy": self.too_noisy,
            "left": self.left.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            "bar": self.bar._asdict(),
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Price:
        """Build a price from ``to_dict``'s values, or from those of a platform of version 0.1."""
        guarantee = read_guarantee(values["guarantee"])
        if isinstance(guarantee, LocalDP):
            raise ValueError("The price of a question is PureDP or ApproxDP.")
        cost, free = Cost.from_dict(values["cost"]), values["free"]
        answer = 0 if free else cost.nano_epsilon or 0
        total = values.get("nano_epsilon_in_all", answer)
        left, after = Remaining.from_dict(values["left"]), values["after"]
        whole = left.limit.nano_epsilon / NANO
        bar = values.get("bar") or {"spent": whole - left.epsilon, "asked": total / NANO, "total": whole}
        return cls(
            question=values["question"],
            cost=cost,
            guarantee=guarantee,
            free=free,
            margin=values["margin"] if "margin" in values else values["margin95"],
            margin_unit=values["margin_unit"],
            unit=values["unit"],
            noise_percent=values["noise_percent"],
            left=left,
            after=None if after is None or not values["affordable"] else Remaining.from_dict(after),
            bar=Bar(**bar),
            size_cost=total - answer,
            at_most=values["at_most"],
            notes=tuple(values["notes"]),
            confidence=values.get("confidence", COVERAGE),
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the price as (word, sentence) pairs."""
        word = "at most " if self.at_most else ""
        size = f", and epsilon {show_nano(self.size_cost)} once for the number of rows" if self.size_cost else ""
        cost = "nothing: paid before, the same answer again" if self.free else f"{word}{self.cost}{size}"
        found = [("cost", cost)]
        if self.margin is not None:
            whole = self.margin_unit != "value" or self.unit in ("rows", "persons")
            unit = self.unit if self.margin_unit == "value" else self.margin_unit
            least = "at least " if self.at_most and not self.free else ""  # less than the most cost: more noise
            often = confidence_words(self.confidence)
            shown = f"± {show_margin(self.margin, whole=whole)} {unit}".strip()
            if self.margin_unit == "rows":
                shown = f"at most {shown.removeprefix('± ')} behind the most frequent value"
            shown = f"{least}{shown} ({often})"
            if self.margin_unit == "ranks":
                shown += ": at most this many rows, as counted, lie between the answer and the quantile"
            found.append(("margin", shown))
        else:
            found.append(("margin", "depends on how many rows answer, which is not public"))
        if self.noise_words:
            found.append(("noise", f"{self.noise_words} expected"))
        found.append(("guarantee", self.guarantee.sentence))
        after = str(self.after) if self.after is not None else "the budget cannot pay for it"
        found.append(("left", f"{self.left}; after it: {after}"))
        return found + [("note", note) for note in self.notes]

    def __str__(self) -> str:
        return "\n".join([f"price of: {self.question}", *(f"  {word:<9}  {text}" for word, text in self.lines())])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(word)}</td><td>{escape(text)}</td></tr>" for word, text in self.lines())
        return f"<div class='pydplib-price'><p>{escape(self.question)}</p><table>{rows}</table></div>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How accurate an answer is to be, and so what it may cost: at most one of epsilon, margin and noise factor.

    Args:
        epsilon: The privacy loss.
        margin: The accuracy wanted.
        noise_factor: The noise wanted.
        delta: For unknown keys: the chance that a key of one person alone is shown.
        confidence: How often margins and intervals cover.
    """

    epsilon: float | None = None
    margin: float | None = None
    noise_factor: str | int | None = None
    delta: float | None = None
    confidence: float = COVERAGE

    def __post_init__(self) -> None:
        given = [name for name in ("epsilon", "margin", "noise_factor") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ParameterError(f"Give one of epsilon, margin and noise_factor. Got {' and '.join(given)}.")
        check_confidence(self.confidence)

    def options(self) -> dict[str, Any]:
        """Return what ``Session.price`` and ``Session.release`` take."""
        said = {name: getattr(self, name) for name in ("epsilon", "margin", "noise_factor", "delta")}
        found = {name: value for name, value in said.items() if value is not None}
        return found if self.confidence == COVERAGE else found | {"confidence": self.confidence}


@dataclass(frozen=True, slots=True)
class Agreement:
    """An epsilon that was agreed: by number, margin or noise factor.

    Args:
        epsilon: The privacy loss.
        label: The label of the output.
        size: The number of rows as far as the recipient knows it.
        at_most: Whether the true price may be lower.
        notes: What else to know.
        remarks: What was bought on the way, in words.
    """

    epsilon: Fraction
    label: OutputLabel
    size: float | None
    _: KW_ONLY
    at_most: bool = False
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def agree(session: Session, facts: Facts, asked: Accuracy, *, buy: bool) -> Agreement:
    """Return the epsilon of a question, as far as public facts and what the recipient has bought tell.

    Args:
        session: Whose terms hold.
        facts: The question against the schema.
        asked: What the recipient says.
        buy: Whether the number of rows may be bought now, where the price needs it.
    """
    if asked.epsilon is not None:
        loss = check_epsilon(asked.epsilon)
        check_spend(float(loss), session.cap)
        return Agreement(loss, session.policy.label_of_epsilon(float(loss)), session.size)
    if asked.margin is not None:
        return _by_margin(session, facts, asked, buy=buy)
    factor = session.noise_factor if asked.noise_factor is None else parse_noise_factor(asked.noise_factor)
    if factor is None:
        raise ParameterError(
            "Choose epsilon=, margin= or noise_factor=. There is no default "
            "(but a session with role= has the role's noise factor)."
        )
    delta_of(session, facts, asked.delta)  # refused before anything is bought
    return _by_noise_factor(session, facts, factor, buy=buy)


def delta_of(session: Session, facts: Facts, delta: float | None) -> float | None:
    """Return the delta of a question: what was given, or a tenth of the policy's; none without unknown keys."""
    if facts.has_unknown_keys:
        return session.policy.delta_for(session.table.schema.size) / 10 if delta is None else delta
    if delta is not None:
        raise ParameterError("delta= belongs to unknown keys; this question has none and is pure.")
    return None


def _by_margin(session: Session, facts: Facts, asked: Accuracy, *, buy: bool) -> Agreement:
    delta = delta_of(session, facts, asked.delta)
    wanted = parse_margin(asked.margin)
    needs = facts.question.needs_size and not facts.question.is_narrowed
    if buy and needs:
        _check_open(session, facts, "dp_high")
    size, remarks = _known_size(session, buy=buy and needs)
    loss = margin_epsilon(facts, wanted, size, delta, confidence=asked.confidence)
    with telling(remarks):
        check_spend(float(loss), session.cap)
    return Agreement(loss, session.policy.label_of_epsilon(float(loss)), size, remarks=remarks)


def _by_noise_factor(session: Session, facts: Facts, factor: NoiseFactor, *, buy: bool) -> Agreement:
    label = label_of_noise_factor(factor)
    matching = (_MATCHING,) if facts.question.is_narrowed else ()
    if buy:
        _check_open(session, facts, label)
    size, remarks = _known_size(session, buy=buy)
    if size is None and session.cap is not None:
        note = (
            "This is the most expensive case, because the number of rows is not public: with many rows the answer "
            f"costs less, and the noise is what the noise factor '{factor.name}' says. A noisy number of rows is "
            f"included in the price, once, for epsilon {float(session.size_epsilon or 0):g}."
        )
        return Agreement(Fraction(str(session.cap)), label, None, at_most=True, notes=(note, *matching))
    band = band_epsilon(facts, factor.target, size)
    used, lowered = settle_epsilon(float(band), session.cap, on_conflict=session.on_conflict)
    if not lowered:
        return Agreement(max(band, Fraction(1, 10**6)), label, size, at_most=False, notes=matching, remarks=remarks)
    note = (
        f"The noise factor '{factor.name}' would need epsilon {float(band):.4g}; the role's cap is {used:g}, so "
        "there is more noise than the band says."
    )
    return Agreement(Fraction(str(used)), label, size, at_most=False, notes=(note, *matching), remarks=remarks)


def _check_open(session: Session, facts: Facts, label: OutputLabel) -> None:
    """Raise if no answer of this label may mention these fields: before a number of rows is bought for it."""
    session.check_fields(facts.question.fields, label, LEAST, facts.question.filters)


def _known_size(session: Session, *, buy: bool) -> tuple[float | None, tuple[str, ...]]:
    """Return the number of rows as far as it is known, and what was said where it had to be bought."""
    size, cost = session.size, session.size_epsilon
    if size is not None or not buy or cost is None:
        return size, ()
    session.buy_size()
    told = f"The number of rows was bought as well, once, for epsilon {float(cost):g}: prices need it."
    return session.size, (told,)


@contextmanager
def telling(bought: tuple[str, ...]) -> Iterator[None]:
    """Let a refusal say what was paid before it came: the number of rows, where it was bought in the same breath."""
    try:
        yield
    except (BudgetError, PolicyError) as refusal:
        if not bought:
            raise
        words = f"{str(refusal).replace(' Nothing was spent.', ' Nothing else was spent.')} {' '.join(bought)}"
        if isinstance(refusal, BudgetError):
            raise BudgetError(words, asked=refusal.asked, left=refusal.left) from None
        raise PolicyError(words) from None


def parse_margin(margin: Any) -> float:
    """Return a margin as the positive, finite number that it must be."""
    try:
        return check_margin(float(margin))
    except (TypeError, ValueError):
        raise ParameterError("margin is a positive number, in the unit of the answer.") from None


def band_epsilon(facts: Facts, target: float, size: float | None) -> Fraction:
    """Return the epsilon at which the expected noise is ``target`` times the reference magnitude, in closed form.

    n is the declared size of the table or a noisy one that was bought, never the exact one. Where an answer has
    k groups (or cells), the reference is an even group of n / k rows: that many rows for counts, times the largest
    value for sums, the range for means, that of evenly spread values for variances, that many ranks for quantiles.

    Args:
        facts: The question against the schema.
        target: The middle of the noise band, e.g. 0.15.
        size: The declared or bought number of rows.
    """
    if size is None:
        raise CalibrationError(f"A price by noise factor {NEEDS_SIZE}")
    found = facts.question.band_epsilon(facts, target, max(float(size), 1.0) / facts.cells)
    if facts.has_unknown_keys and not facts.question.is_count:
        found *= 2  # the other half finds the keys
    return _rounded(found, down=True)


def margin_epsilon(
    facts: Facts, margin: float, size: float | None, delta: Any = None, *, confidence: float = COVERAGE
) -> Fraction:
    """Return the smallest epsilon whose expected margin is at most ``margin`` (in ranks for quantiles)."""
    if facts.question.needs_size:
        if facts.question.is_narrowed:
            raise CalibrationError(
                f"The margin of a {facts.question.noun} under conditions depends on how many rows meet them, which "
                "is not public: give epsilon instead, or count them first (the margin of a count is known)."
            )
        if size is None:
            raise CalibrationError(f"A price by margin {NEEDS_SIZE}")

    def margin_of(epsilon: float) -> float:
        bounded = min(max(epsilon, 1e-6), 1e4)
        found = facts.at(_rounded(bounded), delta, confidence=confidence).expect(size).margin
        assert found is not None
        return found

    return _rounded(solve_epsilon(margin_of, margin))


def _rounded(epsilon: float, *, down: bool = False) -> Fraction:
    """Return epsilon with six significant digits, so that prices are short decimals: up for margins, down for bands."""
    digits = 5 - math.floor(math.log10(epsilon))
    scaled = Fraction(epsilon) * Fraction(10) ** digits
    whole = math.floor(scaled) if down else math.ceil(scaled - Fraction(1, 10**6))
    return Fraction(whole) / Fraction(10) ** digits
