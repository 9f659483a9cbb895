"""Advice on an anonymization: what each column and each model costs, and what another method would keep."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pydplib._shown import Shown
from pydplib.anonymity.anonymization import METHODS, find_recoding, finish
from pydplib.anonymity.models import Model
from pydplib.anonymity.preparation import Task, prepare, read_suppression
from pydplib.anonymity.search.problem import SearchProblem
from pydplib.anonymity.search.recodings import measure_loss
from pydplib.anonymity.tables.columns import Resolved
from pydplib.anonymity.tables.relations import is_relation
from pydplib.errors import AnonymityError, ParameterError
from pydplib.schema import Schema

What: TypeAlias = Literal["as asked", "column left out", "column coarser", "model left out", "method"]
Progress: TypeAlias = Callable[[int, int, str], None]
"""Called with (finished, all, what is next)."""

_LABELS = {
    "optimal": "one level per column for all rows",
    "local": "levels differ between groups of people",
    "cells": "single cells become '*'",
    "mondrian": "sets of values instead of labels of the hierarchy",
    "microaggregation": "means and most common values instead of labels",
}


@dataclass(frozen=True)
class Alternative:
    """Another way to anonymize the same table, and what it would lose.

    Attributes:
        what: What is changed.
        subject: The column, model or method.
        loss: Granularity loss over all quasi-identifiers; a column that is left out counts as lost. None: nothing
            satisfies the models then.
        others: The loss of all other quasi-identifiers, where a column is changed.
        suppressed: The share of rows left out.
        holds: Whether the models hold on the output; None where they were not measured.
        proven: Whether no other choice of levels loses less; otherwise the time was up.
        words: What to know about it.
        columns: Quasi-identifier -> its loss.
    """

    what: What
    subject: str
    loss: float | None
    _: KW_ONLY
    others: float | None = None
    suppressed: float = 0.0
    holds: bool | None = None
    proven: bool = True
    words: str = ""
    columns: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the alternative as plain values."""
        return {**vars(self), "columns": dict(self.columns)}


@dataclass(frozen=True, repr=False, kw_only=True)
class Advice(Shown):
    """What an anonymization costs, and what would cost less. Numbers of the original: for its owner.

    Attributes:
        base: What was asked for.
        losses: Quasi-identifier -> its loss in what was asked for.
        columns: Each quasi-identifier left out, or one level coarser than chosen; the one that wins most first.
        models: Each model left out; the one that costs most first.
        methods: The same columns and models by every method; the least loss first.
        skipped: What the time did not suffice for.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import Intervals, KAnonymity
        >>> table = pd.DataFrame({"age": [31, 33, 38, 52, 55, 59] * 3, "id": range(18)})
        >>> found = advise(table, {"age": Intervals(0, 99, [10, 50]), "id": None}, models=[KAnonymity(3)])
        >>> sorted(one.subject for one in found.columns if one.what == "column left out")
        ['age', 'id']
    """

    base: Alternative
    losses: dict[str, float]
    columns: tuple[Alternative, ...]
    models: tuple[Alternative, ...]
    methods: tuple[Alternative, ...]
    skipped: tuple[str, ...] = ()

    def gain(self, other: Alternative) -> float:
        """Return how much less an alternative loses; for columns, of the other columns."""
        if other.loss is None:
            return 0.0
        if other.others is None:
            return (1.0 if self.base.loss is None else self.base.loss) - other.loss
        rest = [loss for name, loss in self.losses.items() if name != other.subject]
        return (sum(rest) / len(rest) if rest else 0.0) - other.others

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to do, in words; the most useful first."""
        out = []
        gone = [f"'{name}'" for name, loss in self.losses.items() if loss > 0.9995]
        if gone:
            out.append(
                f"Nothing is left of {', '.join(gone)}: '*' in every row. To keep more of a column that matters, leave "
                "out one that does not, or give it steps between its values and '*'."
            )
        best = next((one for one in self.columns if one.what == "column left out" and self.gain(one) > 0.02), None)
        if best is not None:
            out.append(
                f"Without '{best.subject}' the other columns would lose {_percent(best.others)} instead of "
                f"{_percent(best.others + self.gain(best) if best.others is not None else None)}"
                f"{self._returning(best)}; counting it as lost, {_percent(best.loss)} in total."
            )
        step = next((one for one in self.columns if one.what == "column coarser" and self.gain(one) > 0.02), None)
        if step is not None:
            out.append(
                f"Beginning '{step.subject}' one level coarser, the other columns would lose {_percent(step.others)}, "
                f"{100 * self.gain(step):.3g} points less{self._returning(step)}; over all columns the loss is "
                f"{_percent(step.loss)}."
            )
        rule = next((one for one in self.models if self.gain(one) > 0.02), None)
        if rule is not None:
            out.append(f"Of the models, {rule.subject} costs most: without it the loss is {_percent(rule.loss)}.")
        way = self.methods[0] if self.methods else None
        if way is not None and way.subject != self.base.subject and self.gain(way) > 0.02:
            out.append(
                f"method = '{way.subject}' loses {_percent(way.loss)} instead of {_percent(self.base.loss)}, with "
                f"other labels: {way.words}."
            )
        return tuple(out) or ("No single column, model or method would win more than 2 %.",)

    def _returning(self, other: Alternative) -> str:
        """Name the column that keeps the most more than it did, if one stands out."""
        won = {name: self.losses[name] - loss for name, loss in other.columns.items() if name in self.losses}
        won.pop(other.subject, None)
        name = max(won, key=lambda column: won[column], default=None)
        if name is None or won[name] < 0.1:
            return ""
        return f", above all '{name}': {_percent(other.columns[name])} instead of {_percent(self.losses[name])}"

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain values, ready for JSON."""
        return {
            "base": self.base.to_dict(),
            "losses": dict(self.losses),
            **{
                name: [{**one.to_dict(), "gain": self.gain(one)} for one in getattr(self, name)]
                for name in ("columns", "models", "methods")
            },
            "sentences": list(self.sentences),
            "skipped": list(self.skipped),
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def advise(
    table: Any,
    quasi_identifiers: Any,
    sensitive: Any = None,
    *,
    models: Sequence[Model],
    person: str | None = None,
    identifiers: Any = (),
    suppression: float = 0.0,
    method: str = "optimal",
    loss: str = "granularity",
    reference: str = "output",
    schema: Schema | None = None,
    methods: Sequence[str] = ("optimal", "local", "mondrian"),
    time_limit: float | None = 60.0,
    progress: Progress | None = None,
) -> Advice:
    """Return what each column and model costs, and what other methods would lose on the same table.

    Every number is a search of its own: the column left out or begun one level coarser than the optimum chose, a model
    left out, another method. All losses are granularity over all quasi-identifiers, so that they compare.

    Args:
        table: A data frame; what ``anonymize`` would be given, as for all arguments without a word here.
        quasi_identifiers: Column -> hierarchy, or names.
        sensitive: Sensitive columns.
        models: What has to hold.
        person: The column that says whose row it is.
        identifiers: Columns to drop, or column -> ``Pseudonym(...)``.
        suppression: The largest share of rows that may be left out.
        method: The method that was asked for.
        loss: What the searches minimize.
        reference: What t-closeness and its kin compare with.
        schema: Public facts for automatic hierarchies.
        methods: The methods to compare.
        time_limit: Seconds for all searches together; what is left then is skipped, and said to be.
        progress: Called before every search.
    """
    if is_relation(table):
        raise ParameterError("advise() takes a data frame: load the table, or a sample of it, first.")
    unknown = next((name for name in (method, *methods) if name not in METHODS), None)
    if unknown is not None:
        raise ParameterError(f"Unknown method '{unknown}'. Choose some of: {', '.join(METHODS)}.")
    task = prepare(
        table, quasi_identifiers, sensitive, person=person, identifiers=identifiers, insensitive=(), models=models,
        suppression=read_suppression(suppression), schema=schema, reference=reference,
    )  # fmt: skip
    return _Adviser(task, method, loss=loss, time_limit=time_limit, progress=progress).run(methods)


class _Adviser:
    """The searches behind an advice, within one time limit."""

    def __init__(
        self, task: Task, method: str, *, loss: str, time_limit: float | None, progress: Progress | None
    ) -> None:
        self.task, self.problem, self.method, self.loss = task, task.problem, method, loss
        self.deadline = None if time_limit is None else time.monotonic() + time_limit
        self.say = progress or (lambda done, total, name: None)
        self.done, self.total = 0, 1
        self.skipped: list[str] = []

    def run(self, methods: Sequence[str]) -> Advice:
        """Search for what was asked, then for every alternative."""
        columns, rules = self.problem.columns, self.problem.rules
        self.total = 1 + 2 * len(columns) + len(rules) + len(methods)
        base, levels, losses = self._search(self.problem, "as asked", self.method)
        others = [self._without(place) for place in range(len(columns)) if len(columns) > 1]
        if levels is not None:
            others += [self._coarser(place, levels[column.name]) for place, column in enumerate(columns)]
        fewer = [self._without_rule(place) for place in range(len(rules)) if len(rules) > 1]
        ways = [self._by(name) for name in methods]
        self.say(self.total, self.total, "")
        made = Advice(base=base, losses=losses, columns=(), models=(), methods=())
        rank = {"column left out": 0, "column coarser": 1}
        found = [one for one in others if one is not None]
        return replace(
            made,
            columns=tuple(sorted(found, key=lambda one: (rank.get(one.what, 2), -made.gain(one)))),
            models=tuple(sorted((one for one in fewer if one), key=made.gain, reverse=True)),
            methods=tuple(sorted((one for one in ways if one), key=lambda one: 2.0 if one.loss is None else one.loss)),
            skipped=tuple(self.skipped),
        )

    def _left(self, name: str) -> bool:
        """Whether there is time for one more search; notes what is skipped."""
        self.say(self.done, self.total, name)
        self.done += 1
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.skipped.append(name)
            return False
        return True

    def _seconds(self) -> float | None:
        """A fair part of the time that is left."""
        if self.deadline is None:
            return None
        return max((self.deadline - time.monotonic()) / max(self.total - self.done + 1, 1) * 2, 0.05)

    def _search(
        self, problem: SearchProblem, what: What, subject: str, method: str | None = None
    ) -> tuple[Alternative, dict[str, int] | None, dict[str, float]]:
        method = method or self.method
        try:
            recoding, info = find_recoding(problem, method, self.loss, "sets", self._seconds(), None)
        except AnonymityError:
            return Alternative(what, subject, None, words="nothing satisfies the models"), None, {}
        lost = measure_loss(problem, recoding)
        chosen = None if recoding.levels is None else dict(recoding.levels)
        found = Alternative(
            what, subject, lost.granularity, suppressed=lost.suppressed_share, proven=info.optimal, columns=lost.columns
        )
        if what == "method":
            holds = finish(self.task, recoding, info, method, self.loss).certificate.holds
            found = replace(found, holds=holds, words=_LABELS[method], proven=method != "optimal" or info.optimal)
        return found, chosen, dict(lost.columns)

    def _changed(self, place: int, least: int, what: What) -> Alternative | None:
        column = self.problem.columns[place]
        if not self._left(f"{column.name}: {what}"):
            return None
        columns = [_from_level(one, least) if at == place else one for at, one in enumerate(self.problem.columns)]
        found, _, losses = self._search(replace(self.problem, columns=columns), what, column.name, "optimal")
        rest = [loss for name, loss in losses.items() if name != column.name]
        return replace(found, others=sum(rest) / len(rest) if rest else None)

    def _without(self, place: int) -> Alternative | None:
        return self._changed(place, self.problem.columns[place].height, "column left out")

    def _coarser(self, place: int, level: int) -> Alternative | None:
        if level + 1 >= self.problem.columns[place].height:
            return None  # one more level is the last: that is leaving it out
        return self._changed(place, level + 1, "column coarser")

    def _without_rule(self, place: int) -> Alternative | None:
        rule = self.problem.rules[place]
        if not self._left(f"without {rule}"):
            return None
        rules = [one for at, one in enumerate(self.problem.rules) if at != place]
        return self._search(replace(self.problem, rules=rules), "model left out", str(rule))[0]

    def _by(self, name: str) -> Alternative | None:
        if not self._left(f"method {name}"):
            return None
        try:
            return self._search(self.problem, "method", name, name)[0]
        except ParameterError as error:
            return Alternative("method", name, None, words=str(error).split(". Use")[0])


def _from_level(column: Resolved, least: int) -> Resolved:
    """Return a column that begins at a level, with the costs that its labels have in the whole hierarchy."""
    return replace(
        column,
        levels=column.levels[least:],
        labels=column.labels[least:],
        cost=column.cost[least:],
        share=column.share[least:],
    )


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.3g} %"
