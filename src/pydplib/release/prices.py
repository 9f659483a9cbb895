"""What a question would cost, in words: made without touching data."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from pydplib._shown import Shown
from pydplib.budget.costs import Cost
from pydplib.budget.rules import Remaining
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.release.release import MarginUnit
from pydplib.release.words import show_margin


@dataclass(frozen=True, slots=True, repr=False)
class Price(Shown):
    """The cost of a question and the accuracy to expect. No data were touched for it.

    Attributes:
        question: The question in words.
        cost: What would be debited.
        guarantee: What the release would guarantee.
        free: Whether this recipient has paid for it before.
        margin95: The margin to expect; None where it depends on a size that nobody declared.
        margin_unit: What the margin counts: the value's unit, or ranks.
        unit: The unit of the values.
        noise_percent: The expected noise in percent of the reference magnitude.
        left: What is left of the recipient's budget.
        after: What would be left; None if the budget cannot pay.
        at_most: Whether the cost is an upper bound, because the exact price needs a size that is not known.
        notes: What else to know.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> schema = dp.Schema({"age": dp.Number(18, 100)}, name="reports")
        >>> table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 300}), schema)
        >>> price = dp.Session(table, recipient="acme", budget=dp.PureDP(1.0)).price(dp.Count(), epsilon=0.5)
        >>> price.epsilon, price.margin95, price.affordable
        (0.5, 6, True)
    """

    question: str
    cost: Cost
    guarantee: PureDP | ApproxDP
    free: bool
    margin95: float | None
    margin_unit: MarginUnit
    unit: str
    noise_percent: float | None
    left: Remaining
    after: Remaining | None
    at_most: bool = False
    notes: tuple[str, ...] = ()

    @property
    def epsilon(self) -> float:
        """The privacy loss."""
        return self.cost.epsilon

    @property
    def delta(self) -> float:
        """The chance that it may fail."""
        return self.cost.delta

    @property
    def affordable(self) -> bool:
        """Whether the recipient's budget can pay."""
        return self.free or self.after is not None

    def lines(self) -> list[tuple[str, str]]:
        """Return the price as (word, sentence) pairs."""
        word = "at most " if self.at_most else ""
        cost = "nothing: paid before, the same answer again" if self.free else f"{word}{self.cost}"
        found = [("cost", cost)]
        if self.margin95 is not None:
            whole = self.margin_unit == "ranks" or self.unit in ("rows", "persons")
            unit = "ranks" if self.margin_unit == "ranks" else self.unit
            least = "at least " if self.at_most and not self.free else ""  # less than the most cost: more noise
            shown = f"{least}± {show_margin(self.margin95, whole=whole)} {unit} (95 %)".replace("  ", " ")
            if self.margin_unit == "ranks":
                shown += ": at most so many rows, as counted, lie between the answer and the quantile"
            found.append(("margin", shown))
        else:
            found.append(("margin", "depends on how many rows answer, which is not public"))
        if self.noise_percent is not None:
            found.append(("noise", f"about {self.noise_percent:.2g} % expected"))
        found.append(("guarantee", self.guarantee.sentence))
        after = str(self.after) if self.after is not None else "the budget cannot pay for it"
        found.append(("left", f"{self.left}; after it: {after}"))
        return found + [("note", note) for note in self.notes]

    def __str__(self) -> str:
        return "\n".join([f"price of: {self.question}", *(f"  {word:<9}  {text}" for word, text in self.lines())])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(word)}</td><td>{escape(text)}</td></tr>" for word, text in self.lines())
        return f"<div class='pydplib-price'><p>{escape(self.question)}</p><table>{rows}</table></div>"
