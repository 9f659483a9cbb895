"""The certificate: the models measured again on the output alone, in words and numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from pydplib._shown import Shown
from pydplib.anonymity.assessment.measures import SensitiveMeasures, measure_spread
from pydplib.anonymity.models import OutputFacts, TCloseness
from pydplib.anonymity.search.problem import ModelRule
from pydplib.anonymity.tables.columns import Floats, Ints
from pydplib.anonymity.tables.frames import SeenFrame
from pydplib.anonymity.tables.values import as_text
from pydplib.anonymity.tables.view import Spread, View, look_at, one_of_each, spread_of
from pydplib.guarantee import Guarantee, KAnonymous, NoGuarantee

TOGETHER = " across releases"
"""What a model's name ends with where it was measured on this release and earlier ones together."""


@dataclass(frozen=True, repr=False)
class Statement(Shown):
    """One model, measured on the output.

    Attributes:
        model: The model's name.
        sensitive: The sensitive column, if any.
        holds: Whether it holds on the output alone.
        value: What was measured (k, l, t, ...) on the output.
        value_input: For models that compare with a whole table: measured against the input's distribution.
        holds_input: Whether it holds against the input's distribution.
    """

    model: str
    sensitive: str | None
    holds: bool
    value: float
    _: KW_ONLY
    value_input: float | None = None
    holds_input: bool | None = None

    def __str__(self) -> str:
        about = f" of {self.sensitive}" if self.sensitive else ""
        text = f"{self.model}{about}: {'holds' if self.holds else 'DOES NOT HOLD'} (measured {self.value:.6g}"
        if self.value_input is not None:
            text += f" against the output's distribution, {self.value_input:.6g} against the input's"
        return text + ")"


@dataclass(frozen=True, repr=False, kw_only=True)
class Certificate(Shown):
    """What the output guarantees, measured on the output alone.

    Attributes:
        statements: One per model.
        rows: Released rows.
        people: Released people.
        classes: Released classes.
        k: People in the smallest class.
        counted: What was counted, in words.

    Examples:
        >>> Certificate(statements=(Statement("5-anonymity", None, True, 6),), rows=100, people=100, classes=9, k=6,
        ...     counted="rows").holds
        True
    """

    statements: tuple[Statement, ...]
    rows: int
    people: int
    classes: int
    k: int
    counted: str

    @property
    def holds(self) -> bool:
        """Whether all models hold on the output."""
        return all(statement.holds for statement in self.statements)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the release."""
        failed = [str(s.model) for s in self.statements if not s.holds]
        if failed:
            return NoGuarantee(f"on the output alone these models do not hold: {', '.join(failed)}")
        if self.k < 1:
            return NoGuarantee("nothing was released, so there is nothing to protect")
        named = [f"{s.model} of {s.sensitive}" if s.sensitive else s.model for s in self.statements]
        # With earlier releases next to it, somebody may be narrowed down further than this table alone allows.
        together = [int(s.value) for s in self.statements if s.model.endswith(f"-anonymity{TOGETHER}")]
        others = tuple(name for name in named if not name.endswith(("-anonymity", f"-anonymity{TOGETHER}")))
        return KAnonymous(min([self.k, *together]), others)

    def __str__(self) -> str:
        head = (
            f"Measured on the output alone: {self.rows} rows in {self.classes} classes, the smallest of {self.k} "
            f"({self.counted}; a missing cell is a value of its own)."
        )
        asked = [f"- {statement}" for statement in self.statements]
        # The output often has more than was asked for: 6 where 5 would do. Say which number is which.
        return "\n".join([head, "Asked for:", *asked, f"Reached: {self.guarantee.sentence}"])


def certify(
    frame: SeenFrame,
    names: Sequence[str],
    rules: Sequence[ModelRule],
    reference: Mapping[str, Mapping[Any, float]],
    *,
    person: Ints | None = None,
    linked: bool = False,
    population: Mapping[int, Counter[tuple[Any, ...]]] | None = None,
) -> tuple[Certificate, View]:
    """Measure every rule on an output.

    Args:
        frame: The output.
        names: Quasi-identifiers.
        rules: The models with their sensitive columns.
        reference: Per sensitive column, value -> share in the input.
        person: Whose row each is (withheld from the output unless linked).
        linked: Whether the output shows which rows belong together.
        population: Per model with a population, how many people have each combination of labels.
    """
    view = look_at(frame, names, person=person, linked=linked)

    def cells() -> list[tuple[str | None, ...]]:
        first = one_of_each(view.of_row)
        coded = [frame.seen(name) for name in names]
        columns = ([as_text(column.values[i]) for i in column.codes[first].tolist()] for column in coded)
        return list(zip(*columns, strict=True))

    words = "persons counted once per class" if person is not None and not linked else "one row is one person"
    if linked:
        words = "persons by all of their rows"
    made = certify_view(
        view, rules, reference, lambda name, against: spread_of(view, frame.coded(name), against), words, cells,
        population or {},
    )  # fmt: skip
    return made, view


def certify_view(
    view: View,
    rules: Sequence[ModelRule],
    reference: Mapping[str, Mapping[Any, float]],
    spread: Callable[[str, Mapping[Any, float] | None], Spread],
    counted: str,
    cells: Callable[[], list[tuple[str | None, ...]]],
    population: Mapping[int, Counter[tuple[Any, ...]]],
) -> Certificate:
    """Measure every rule on the classes of an output, wherever they were counted."""
    measured: dict[tuple[str, Any, int, bool], SensitiveMeasures] = {}

    def measure(rule: ModelRule, *, against_input: bool) -> SensitiveMeasures:
        name = rule.sensitive or ""
        order, tree = None, None
        if isinstance(rule.model, TCloseness):
            order, tree = rule.model.order, rule.model.hierarchy
        key = (name, order, id(tree), against_input)
        if key not in measured:
            found = spread(name, reference[name] if against_input else None)
            measured[key] = measure_spread(found, order=order, hierarchy=tree)
        return measured[key]

    statements = [_state(rule, view, measure, cells, population) for rule in rules]
    k = int(view.size.min()) if len(view.size) else 0
    return Certificate(
        statements=tuple(statements), rows=view.rows, people=view.people, classes=view.classes, k=k, counted=counted
    )


def _state(
    rule: ModelRule,
    view: View,
    measure: Any,
    cells: Callable[[], list[tuple[str | None, ...]]],
    population: Mapping[int, Counter[tuple[Any, ...]]],
) -> Statement:
    model, name = rule.model, str(rule.model)
    if not view.rows:
        return Statement(name, rule.sensitive, True, 0.0)

    def people_behind() -> tuple[Floats, int]:
        behind = population[id(model)]
        return np.array([behind[row] for row in cells()], dtype=np.float64), len(behind)

    output = OutputFacts(view.size, lambda: measure(rule, against_input=False), people_behind)
    value, holds = model.measured(output)
    if not model.relative:
        return Statement(name, rule.sensitive if model.needs_sensitive else None, holds, value)
    before, held = model.measured(replace(output, measures=lambda: measure(rule, against_input=True)))
    return Statement(name, rule.sensitive, holds, value, value_input=before, holds_input=held)
