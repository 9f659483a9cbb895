"""Measured tables: several tables of counts bought as one release, and made to agree with each other.

``Workload`` is several questions against a schema, ``Measurement`` the same at a price, ``MeasuredTables`` what comes
out: one ledger entry, one stored release, one receipt. What further questions the tables answer costs nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib._shown import Shown
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey, canonical_json
from pydplib.engine import Bins, Measure, Plan, Table
from pydplib.engine.exact import integers
from pydplib.errors import DataError, ParameterError, PydplibError, QuestionError
from pydplib.guarantee import PureDP
from pydplib.noise.tap import add_laplace
from pydplib.policy import check_spend
from pydplib.release.consistent import Layout, best_shares, estimator, fit_non_negative, sum_margin, terms_of
from pydplib.release.facts import Facts
from pydplib.release.frames import build_frame
from pydplib.release.prices import Price
from pydplib.release.public import check_epsilon
from pydplib.release.release import Release
from pydplib.release.statistics.count import Counting
from pydplib.release.statistics.noise import COVERAGE, check_confidence, margin_steps
from pydplib.release.statistics.question import Question
from pydplib.release.words import MEASURED, fact_line, show_margin, show_number, table_lines, words_of
from pydplib.release.words import facts as facts_of
from pydplib.schema import Schema

if TYPE_CHECKING:
    from pydplib.release.session import Session

Integers: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]

FORMAT = "pydplib-tables/1"
"""The first word of stored tables: readers refuse what they do not know."""

LEDGER_WORD = "laplace_tables"
"""What the ledger calls the noise: by it, a recipient's tables are found again."""

MOST_CELLS = 2_000
"""Most cells of all tables of one purchase together, those of all other rows included."""


@dataclass(frozen=True)
class Block:
    """One table that is measured, whichever questions ask for it.

    Attributes:
        facts: The first question that asks for it.
        group: The rows that it counts: same conditions, same bound. Tables of one group are made to agree.
        agrees: Whether every row of the group is in one cell. Where a row of each person is chosen by the table's own
            columns, another table has chosen another row: nothing makes these agree.
    """

    facts: Facts
    group: str
    agrees: bool

    @property
    def keys(self) -> Mapping[str, Any]:
        """Column -> public keys or ``Bins``."""
        return self.facts.groups

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes two tables the same one: the rows, and how columns are cut; where tables agree, in any order."""
        cuts = [
            (name, "bins" if isinstance(keys, Bins) else "keys", keys.numbers if isinstance(keys, Bins) else repr(keys))
            for name, keys in self.keys.items()
        ]
        return (self.group, tuple(sorted(cuts) if self.agrees else cuts))

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells by column; where tables agree, with one more in each: all other rows."""
        more = 1 if self.agrees else 0
        return tuple(len(keys.keys if isinstance(keys, Bins) else keys) + more for keys in self.keys.values())

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    @property
    def reach(self) -> int:
        """The most that one person moves all cells together, in steps."""
        return self.facts.rows * self.facts.bound.scale


@dataclass(frozen=True)
class Workload:
    """Several questions with everything public filled in; no epsilon yet, and no data.

    Attributes:
        asked: The questions against the schema, in the order in which they were asked.
        schema: The table's public facts.
    """

    asked: tuple[Facts, ...]
    schema: Schema

    @classmethod
    def of(cls, questions: Iterable[Question], schema: Schema) -> Workload:
        """Check questions against a schema.

        Raises:
            QuestionError: If one is no table of counts over public keys, or all together are too many cells.
        """
        if isinstance(questions, Question) or not isinstance(questions, Iterable):
            raise QuestionError("release_all takes a list of questions: [Count(by='pirads'), Histogram('age')].")
        asked = tuple(Facts.of(question, schema) for question in questions)
        if not asked:
            raise QuestionError("release_all needs at least one question: [Count(by='pirads'), Histogram('age')].")
        for facts in asked:
            _check_table(facts)
        found = cls(asked, schema)
        if found.cells > MOST_CELLS:
            raise QuestionError(
                f"These tables have {found.cells} cells together; at most {MOST_CELLS} are measured at once. Use wider "
                "bins or fewer columns in a table, or buy the largest table by itself: session.release(...)."
            )
        return found

    @cached_property
    def canonical(self) -> dict[str, Any]:
        """All questions in one spelling: each once, in one order, however they were listed."""
        texts = {canonical_json(facts.canonical) for facts in self.asked}
        return {"ask": "tables", "questions": [json.loads(text) for text in sorted(texts)]}

    @cached_property
    def distinct(self) -> tuple[Facts, ...]:
        """The questions in the order of ``canonical``."""
        by_text = {canonical_json(facts.canonical): facts for facts in self.asked}
        return tuple(by_text[text] for text in sorted(by_text))

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The tables to be measured: each once, whichever questions ask for it."""
        found: dict[Any, Block] = {}
        for facts in self.distinct:
            block = block_of(facts)
            found.setdefault(block.identity, block)
        return tuple(found.values())

    @property
    def cells(self) -> int:
        """The cells of all tables together."""
        return sum(block.cells for block in self.blocks)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The tables that agree, by their places; one that agrees with no other is alone."""
        found: dict[Any, list[int]] = {}
        for place, block in enumerate(self.blocks):
            found.setdefault(block.group if block.agrees else place, []).append(place)
        return tuple(tuple(places) for places in found.values())

    @cached_property
    def tables(self) -> NDArray[np.int64]:
        """The table of each cell."""
        return np.repeat(np.arange(len(self.blocks)), [block.cells for block in self.blocks])

    @cached_property
    def relations(self) -> Floats:
        """What the exact cells of all tables keep (``Layout.relations``)."""
        rows = []
        for places in self.groups:
            if not self.blocks[places[0]].agrees:
                continue
            own = Layout(self.schema, tuple(self.blocks[place].keys for place in places)).relations()
            wide = np.zeros((len(own), self.cells))
            wide[:, np.isin(self.tables, places)] = own
            rows.append(wide)
        return np.concatenate(rows) if rows else np.zeros((0, self.cells))

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """The part of epsilon that each table gets (``best_shares``)."""
        return best_shares(self.relations, self.tables.tolist(), [float(block.facts.rows) for block in self.blocks])

    def at(self, epsilon: Any, *, confidence: float = COVERAGE) -> Measurement:
        """Return the questions with their noise and cost at a given privacy loss of all of them together."""
        return Measurement(self, check_epsilon(epsilon), self.shares, check_confidence(confidence))

    def sums(self, facts: Facts) -> tuple[int, Floats] | None:
        """Return the first table that tells a question's cells, and the matrix from its cells; None where none does.

        Every cell of the question must be a union of cells of the table, over the same rows.
        """
        wanted = block_of(facts)
        same = [place for place, block in enumerate(self.blocks) if block.identity == wanted.identity]
        for place in [*same, *range(len(self.blocks))]:
            block = self.blocks[place]
            if block.group != wanted.group or block.agrees != wanted.agrees:
                continue
            if not block.agrees:
                if block.identity == wanted.identity:
                    return place, np.eye(block.cells)
                continue
            found = Layout(self.schema, (block.keys,)).sums(0, wanted.keys)
            if found is not None:
                return place, found
        return None


def block_of(facts: Facts) -> Block:
    """Return the table that a question asks for."""
    where, after = ([c.to_dict() for c in part] for part in facts.question.split_conditions(facts.schema))
    group = canonical_json({"where": where, "bound": facts.bound.to_dict()} | ({"after": after} if after else {}))
    return Block(facts, group, agrees=facts.bound.mode != "sample")


def _check_table(facts: Facts) -> None:
    question = facts.question
    if not isinstance(question, Counting):
        way = ""
        if question.measured:
            groups = "".join(f", '{name}'" for name in facts.groups)
            way = f" Ask for the table behind it, Crosstab('{question.measured[0]}'{groups}), and read it off;"
            if not groups:
                way = f" Ask for the table behind it, Histogram('{question.measured[0]}'), and read it off;"
        raise QuestionError(
            f"'{words_of(facts.canonical)}' is no table of counts.{way} or buy it by itself: session.release(...). "
            "Count, Histogram and Crosstab are bought together."
        )
    if facts.has_unknown_keys:
        raise QuestionError(
            f"'{words_of(facts.canonical)}' has unknown keys. Buy it by itself, session.release(..., delta=...), or "
            "declare the keys in the schema."
        )


@dataclass(frozen=True)
class Measurement:
    """A workload at a price: everything about it but the data.

    Attributes:
        workload: The questions.
        epsilon: The privacy loss of all tables together, exactly.
        shares: The part of it that each table gets; they sum to 1.
        confidence: How often margins and intervals cover.
    """

    workload: Workload
    epsilon: Fraction
    shares: tuple[Fraction, ...]
    confidence: float = COVERAGE

    @classmethod
    def of_stored(cls, stored: MeasuredTables, schema: Schema) -> Measurement | None:
        """Return what made stored tables; None where the schema declares something else by now."""
        try:
            questions = [Question.from_dict(plain) for plain in stored.question["questions"]]
            workload = Workload.of(questions, schema)
        except (PydplibError, KeyError, TypeError):
            return None
        shares = tuple(Fraction(share) for share in stored.shares)
        found = cls(workload, Fraction(stored.exact_epsilon), shares, stored.confidence)
        sizes = [block.cells for block in workload.blocks]
        same = sizes == [len(cells) for cells in stored.noisy] and len(shares) == len(sizes)
        return found if same and found.declared == stored.declared else None

    @property
    def declared(self) -> tuple[str, ...]:
        """Hashes of the declarations that the answers depend on."""
        return tuple(facts.fingerprint for facts in self.workload.distinct)

    @property
    def cost(self) -> Cost:
        """What will be debited, once."""
        return Cost.pure(self.epsilon, mechanism=LEDGER_WORD)

    @property
    def guarantee(self) -> PureDP:
        """What all tables together will guarantee."""
        return PureDP(float(self.epsilon))

    @property
    def parameters(self) -> dict[str, Any]:
        """What else decides the answer, for the key of the release."""
        parameters: dict[str, Any] = {"declared": list(self.declared), "epsilon": str(self.epsilon), "version": 1}
        return parameters if self.confidence == COVERAGE else parameters | {"confidence": str(self.confidence)}

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """The scale of each table's noise, in steps.

        Proof: the scale of table A is D(A) / (share(A) epsilon), with D(A) the most that one person moves all of its
        cells together (L1): rows * per_row, because one person's rows have weights of at most that sum, fixed before
        any table is made, and each row is in one cell. So table A is share(A) epsilon-DP. The shares sum to 1, and
        privacy losses of tables over the same or other rows of the same persons add up: all together are epsilon-DP.
        Nothing is gained from conditions that exclude each other.
        """
        pairs = zip(self.workload.blocks, self.shares, strict=True)
        return tuple(block.reach / (share * self.epsilon) for block, share in pairs)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What engines are asked, as far as their stored types matter: each question's own plan."""
        return tuple(facts.plan([Measure("count")]) for facts in self.workload.distinct)

    # -- counting --------------------------------------------------------------------------------

    def count(self, table: Table) -> tuple[Integers, ...]:
        """Return the exact cells of all tables. Private: only ever called after the debit.

        The rows of a group are bounded once and kept by the engine, so that all of its tables count one state.
        """
        found: dict[int, Integers] = {}
        for places in self.workload.groups:
            blocks = [self.workload.blocks[place] for place in places]
            if not blocks[0].agrees:
                found[places[0]] = table.aggregate(blocks[0].facts.plan([Measure("count")]))[0]
                continue
            with table.engine.bounded(_outer(blocks)) as engine:
                counted: dict[Any, Integers] = {}
                for place, block in zip(places, blocks, strict=True):
                    found[place] = _with_rest(engine, block, counted)
        return tuple(found[place] for place in range(len(self.workload.blocks)))

    # -- margins ---------------------------------------------------------------------------------

    @cached_property
    def _matrix(self) -> Floats:
        """The matrix from noisy cells to consistent ones, by the variances of the noise."""
        variances = [
            0.5 / math.sinh(min(0.5 / float(scale), 300.0)) ** 2 / block.facts.bound.scale**2
            for scale, block in zip(self.scales, self.workload.blocks, strict=True)
        ]
        return estimator(self.workload.relations, np.asarray(variances)[self.workload.tables])

    def margins(self, weights: Floats, miss: float) -> Floats:
        """Return margins of weighted sums of noisy cells, a row each, that miss with a chance of at most ``miss``."""
        blocks, tables = self.workload.blocks, self.workload.tables
        rows = np.abs(weights).round(7)
        for table in range(len(blocks)):  # tables have one scale each: the order of their cells tells nothing
            rows[:, tables == table] = np.sort(rows[:, tables == table], axis=1)
        scales = [self.scales[table] for table in tables]
        steps = [blocks[table].facts.bound.scale for table in tables]
        known: dict[bytes, float] = {}
        for row in rows:
            text = row.tobytes()
            if text not in known:
                known[text] = sum_margin(terms_of(row, scales, steps), miss)
        return np.array([known[row.tobytes()] for row in rows])

    def cells_of(self, facts: Facts) -> tuple[int, Floats, Floats]:
        """Return the table that tells a question, and the question's cells and the rest as sums of all noisy cells."""
        found = self.workload.sums(facts)
        assert found is not None
        place, sums = found
        own = np.zeros((len(sums), self.workload.cells))
        own[:, self.workload.tables == place] = sums
        if not self.workload.blocks[place].agrees:
            return place, own, np.zeros((0, self.workload.cells))
        shape = tuple(len(axis.keys) + 1 for axis in facts.axes)
        inside = np.zeros(shape, dtype=bool)
        inside[tuple(slice(0, -1) for _ in shape)] = True
        rest = own[~inside.ravel()].sum(axis=0, keepdims=True) if facts.axes else own[:0]
        return place, own[inside.ravel()], rest

    def margins_of(self, facts: Facts) -> tuple[Floats, float]:
        """Return the margins of a question's cells, each by itself, and the one that all of them keep at once."""
        _, weights, _ = self.cells_of(facts)
        linear, miss = weights @ self._matrix, 1 - self.confidence
        each = self.margins(linear, miss)
        if len(weights) == 1:
            return each, float(each[0])
        return each, float(self.margins(linear, miss / len(weights)).max())

    # -- answering -------------------------------------------------------------------------------

    def answer(self, exact: Sequence[Integers]) -> MeasuredTables:
        """Return the tables of exact cells. Only ever called after the debit.

        Proof: noise by ``scales`` on cells whose sensitivity is ``Block.reach``; all else follows from noisy numbers.
        """
        noisy = [
            add_laplace(cells, scale, sensitivity=block.reach).astype(np.float64) / block.facts.bound.scale
            for cells, scale, block in zip(exact, self.scales, self.workload.blocks, strict=True)
        ]
        whole = MeasuredTables(
            question=self.workload.canonical,
            noisy=tuple(tuple(cells.tolist()) for cells in noisy),
            releases=(),
            shares=tuple(str(share) for share in self.shares),
            declared=self.declared,
            exact_epsilon=str(self.epsilon),
            guarantee=self.guarantee,
            cost=self.cost,
            confidence=self.confidence,
        )
        linear, fitted = self.estimate(whole.noisy)
        return replace(whole, releases=tuple(self.read(facts, linear, fitted) for facts in self.workload.distinct))

    def estimate(self, noisy: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
        """Return the consistent cells of all tables: the linear estimate, and the nearest ones of at least 0."""
        linear = self._matrix @ np.concatenate([np.asarray(cells, dtype=np.float64) for cells in noisy])
        return linear, fit_non_negative(linear, self._matrix)

    def read(self, facts: Facts, linear: Floats, fitted: Floats) -> Release:
        """Return the answer to a question that the tables tell: a function of noisy cells and of public facts.

        Values are consistent and at least 0. Intervals are those of the linear estimate (``noisy`` of the release), cut
        at 0 and at what the number of all rows can be, and never leave the value out.
        """
        place, weights, rest = self.cells_of(facts)
        block = self.workload.blocks[place]
        each, together = self.margins_of(facts)
        raw, values = weights @ linear, weights @ fitted
        low, high = np.maximum(raw - each, 0.0), np.maximum(raw + each, 0.0)
        if block.agrees:
            all_rows = (self.workload.tables == place).astype(np.float64)[None, :]
            most = float((all_rows @ linear)[0] + self.margins(all_rows @ self._matrix, (1 - self.confidence) / 10)[0])
            high = np.minimum(high, max(most, 0.0))
            low = np.minimum(low, high)
        values, raw = values.round(4), raw.round(4)
        steps = block.facts.bound.scale
        return Release(
            question=facts.canonical,
            values=values,  # type: ignore[arg-type]
            guarantee=self.guarantee,
            cost=self.cost,
            mechanism=MEASURED,
            scale=float(self.scales[place]) / steps,
            sensitivity=float(block.facts.rows),
            axes=facts.axes,
            low=np.minimum(_floor(low), values),  # type: ignore[arg-type]
            high=np.maximum(_ceil(high), values),  # type: ignore[arg-type]
            margins=_ceil(each),  # type: ignore[arg-type]
            simultaneous=float(_ceil(np.array([together]))[0]) if facts.axes else None,
            noisy=raw if facts.axes else None,  # type: ignore[arg-type]
            unit=facts.unit,
            confidence=self.confidence,
            counted=facts.question.counted(facts),
            notes=(*self._together_words(), *self._rest_words(rest, linear, fitted, facts), *self._person_words(block)),
        )

    def _together_words(self) -> tuple[str, ...]:
        number = len(self.workload.blocks)
        if number == 1:
            return ()
        return (
            f"One of {number} tables that were measured together: the cost is for all of them, once. Sums that two of "
            "them share agree.",
        )

    def _person_words(self, block: Block) -> tuple[str, ...]:
        if block.agrees or len(self.workload.blocks) == 1:
            return ()
        return (
            "People are counted by one of their rows, chosen within each table: the numbers of people in two tables "
            "need not agree.",
        )

    def _rest_words(self, rest: Floats, linear: Floats, fitted: Floats, facts: Facts) -> tuple[str, ...]:
        if not len(rest):
            return ()
        margin = float(self.margins(rest @ self._matrix, 1 - self.confidence)[0])
        middle, value = float((rest @ linear)[0]), float((rest @ fitted)[0])
        low, high = min(max(middle - margin, 0.0), value), max(middle + margin, value)
        return (
            f"In none of these cells, because a value is missing or outside of them: about "
            f"{show_number(value, whole=True)} {facts.unit} ({math.floor(low)} to {math.ceil(high)}).",
        )

    # -- prices ----------------------------------------------------------------------------------

    def alone(self, facts: Facts) -> float:
        """Return the margin of one cell if each question were bought by itself for an even part of epsilon."""
        each = self.epsilon / len(self.workload.distinct)
        steps = facts.bound.scale
        return margin_steps(facts.rows * steps / each, coverage=self.confidence) / steps

    def margin_words(self) -> tuple[str, ...]:
        """Return what to expect of every question, a sentence each."""
        found = []
        for facts in self.workload.distinct:
            each, together = self.margins_of(facts)
            text = f"{words_of(facts.canonical)}: ± {show_margin(float(each.max()), whole=True)} {facts.unit}"
            if len(each) > 1:
                text += f", all {len(each)} cells at once ± {show_margin(together, whole=True)}"
            text += f" (bought one by one: ± {show_margin(self.alone(facts), whole=True)})"
            found.append(text + ".")
        return tuple(found)


def _outer(blocks: Sequence[Block]) -> Plan:
    """Return the plan that bounds the rows of a group: with every column that its tables look at."""
    facts = blocks[0].facts
    columns = sorted({name for block in blocks for name in block.keys})
    measures = [Measure("count"), *(Measure("count", name) for name in columns)]
    return facts.plan(measures, by={})


def _with_rest(engine: Any, block: Block, counted: dict[Any, Integers]) -> Integers:
    """Return the cells of a table, with all other rows last in every column, from its sums over sets of columns.

    Proof (sensitivity): all sums count one state of the bounded rows, so a cell of "all other rows" is the exact weight
    of the rows that are in none of the others; each row is in one cell.
    """
    facts, names = block.facts, list(block.keys)
    sizes = [size - 1 for size in block.shape]
    cells = np.zeros(block.shape, dtype=object)
    for some in chain.from_iterable(combinations(range(len(names)), n) for n in range(len(names) + 1)):
        by = {names[i]: block.keys[names[i]] for i in some}
        text = repr(list(by.items()))
        if text not in counted:
            plan = facts.plan([Measure("count")], by=by)
            counted[text] = engine.aggregate(plan)[0]
        place = tuple(slice(0, sizes[i]) if i in some else sizes[i] for i in range(len(names)))
        cells[place] = counted[text].astype(object).reshape([sizes[i] for i in some])
    for axis, size in enumerate(sizes):
        moved = np.moveaxis(cells, axis, 0)
        moved[size] -= moved[:size].sum(axis=0)
    return integers(cells.ravel())


@dataclass(frozen=True, repr=False)
class MeasuredTables(Shown):
    """Several tables of counts that were bought as one release. Made by ``Session.release_all``.

    Attributes:
        question: All questions as plain values, each once.
        noisy: The noisy cells of every table that was measured: what all answers are computed from.
        releases: An answer to every question, in the order in which they were asked.
        shares: The part of epsilon that each table got.
        declared: Hashes of the declarations that the answers depend on.
        exact_epsilon: The privacy loss as it was asked for.
        guarantee: What is guaranteed about one person by all tables together.
        cost: What was paid, once, for all of them.
        confidence: How often margins and intervals cover.
        key: The name of the release in the ledger.
        remarks: What this recipient must know about this one ask, e.g. that it was paid before; never stored.
        entry: The number of the ledger entry.

    Examples:
        >>> import pandas as pd, pydplib as dp
        >>> schema = dp.Schema({"age": dp.Number(18, 100), "bph": dp.Flag()}, name="reports")
        >>> table = dp.load(pd.DataFrame({"age": [61, 67, 70] * 300, "bph": [True, False, False] * 300}), schema)
        >>> session = dp.Session(table, recipient="acme", budget=1.0)
        >>> ages, findings = session.release_all([dp.Histogram("age", bins=4), dp.Count(by="bph")], epsilon=1.0)
        >>> bool(abs(findings.value.sum() - 900) < 60), session.remaining.epsilon
        (True, 0.0)
    """

    question: Mapping[str, Any]
    noisy: tuple[tuple[float, ...], ...]
    releases: tuple[Release, ...]
    shares: tuple[str, ...]
    declared: tuple[str, ...]
    exact_epsilon: str
    guarantee: PureDP
    cost: Cost
    confidence: float = COVERAGE
    key: str | None = None
    remarks: tuple[str, ...] = field(default=(), compare=False)
    entry: int | None = field(default=None, compare=False)
    backend: str | None = field(default=None, compare=False)
    mechanism: str = MEASURED

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def __getitem__(self, place: int) -> Release:
        return self.releases[place]

    @property
    def epsilon(self) -> float:
        """The privacy loss of all tables together."""
        return self.cost.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as plain values, ready for JSON."""
        return {
            "format": FORMAT,
            "question": json.loads(canonical_json(dict(self.question))),
            "noisy": [list(cells) for cells in self.noisy],
            "releases": [release.to_dict() for release in self.releases],
            "shares": list(self.shares),
            "declared": list(self.declared),
            "epsilon": self.exact_epsilon,
            "cost": self.cost.to_dict(),
            "guarantee": {"kind": "PureDP", "epsilon": self.guarantee.epsilon, "sentence": self.guarantee.sentence},
            "confidence": self.confidence,
            "key": self.key,
        }

    def to_json(self) -> str:
        """Return the tables as JSON text: the same text for the same tables."""
        return json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> MeasuredTables:
        """Read tables from JSON text."""
        try:
            values = json.loads(text)
            if values["format"] != FORMAT:
                raise ValueError
            cost = Cost.from_dict(values["cost"])
            guarantee = PureDP(values["guarantee"]["epsilon"])
            releases = tuple(Release.from_dict(plain) for plain in values["releases"])
            if abs(guarantee.epsilon - cost.epsilon) > 2e-9 or any(release.cost != cost for release in releases):
                raise ValueError
            return cls(
                question=dict(values["question"]),
                noisy=tuple(tuple(float(cell) for cell in cells) for cells in values["noisy"]),
                releases=releases,
                shares=tuple(str(Fraction(share)) for share in values["shares"]),
                declared=tuple(str(text) for text in values["declared"]),
                exact_epsilon=str(Fraction(values["epsilon"])),
                guarantee=guarantee,
                cost=cost,
                confidence=check_confidence(values["confidence"]),
                key=values["key"],
            )
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, RecursionError):
            raise DataError(f"These are no stored tables ('{FORMAT}'). Use what MeasuredTables.to_json gave.") from None

    def columns(self) -> dict[str, list[Any]]:
        """Return all tables below each other: question, cell, value, interval, each margin and the simultaneous one."""
        often = f"{100 * self.confidence:g}"
        names = ("table", "cell", "value", f"low{often}", f"high{often}", f"margin{often}", f"simultaneous{often}")
        found: dict[str, list[Any]] = {name: [] for name in names}
        for release in self.releases:
            title = words_of(release.question)
            for place, key in enumerate(release.keys):
                labels = [axis.label(part) for axis, part in zip(release.axes, key, strict=True)]
                assert release.low is not None and release.high is not None and release.margins is not None
                margin = release.margins[place]
                both = margin if release.simultaneous is None else release.simultaneous
                row = (
                    title,
                    ", ".join(labels),
                    release.values[place],
                    release.low[place],
                    release.high[place],
                    margin,
                    both,
                )
                for name, value in zip(names, row, strict=True):
                    found[name].append(value)
        return found

    def to_frame(self, *, backend: str | None = None) -> Any:
        """Return all tables below each other as a data frame.

        Args:
            backend: ``"pandas"``, ``"polars"`` or ``"pyarrow"``; by default the library the data came in, or the first
                of them that is installed.
        """
        return build_frame(self.columns(), backend or self.backend)

    def __str__(self) -> str:
        shown = list({canonical_json(dict(release.question)): release for release in self.releases}.values())
        told = [facts_of(replace(release, remarks=())) for release in shown]
        shared = [pair for pair in told[0] if all(pair in pairs for pairs in told)]
        number = "1 table" if len(shown) == 1 else f"{len(shown)} tables, measured together"
        parts = [f"{number}: {self.cost} for all of them"]
        for release, pairs in zip(shown, told, strict=True):
            own = [fact_line(*pair) for pair in pairs if pair not in shared]
            parts.append("\n".join([*table_lines(release), *own]))
        parts.append("\n".join([*(fact_line(*pair) for pair in shared), *(fact_line("note", r) for r in self.remarks)]))
        return "\n\n".join(parts)


# -- buying ----------------------------------------------------------------------------------------


def _agreed(
    session: Session, questions: Iterable[Question], epsilon: float, delta: float | None, confidence: float
) -> Measurement:
    """Return questions at a price, if the role's cap and the policy let such answers out; by public facts alone."""
    if delta is not None:
        raise ParameterError(
            "Tables that are bought together get discrete Laplace noise and are pure: leave delta= out. Unknown keys, "
            "which need it, are bought by themselves: session.release(..., delta=...)."
        )
    if epsilon is None:
        raise ParameterError("Choose epsilon=: what all tables together may cost. There is no default.")
    loss = check_epsilon(epsilon)
    check_spend(float(loss), session.cap)
    workload = Workload.of(questions, session.table.schema)
    for facts in workload.asked:
        _check_policy(session, facts, float(loss))
    return workload.at(loss, confidence=confidence)


def _check_policy(session: Session, facts: Facts, epsilon: float) -> None:
    label = session.policy.label_of_epsilon(epsilon)
    session.check_fields(facts.question.fields, label, epsilon, facts.question.filters)


def _key(session: Session, measurement: Measurement) -> ReleaseKey:
    return ReleaseKey(
        lineage=session.lineage,
        snapshot=session.snapshot,
        question=measurement.workload.canonical,
        cost=measurement.cost,
        parameters=measurement.parameters,
    )


def buy_tables(
    session: Session, questions: Iterable[Question], *, epsilon: float, delta: float | None, confidence: float
) -> MeasuredTables:
    """Pay for all questions at once, count, add noise, store; what was stored before is handed out again."""
    measurement = _agreed(session, questions, epsilon, delta, confidence)
    key = _key(session, measurement)
    reservation = session.pay(key, measurement.plans)
    payload = reservation.payload
    if payload is None:

        def look() -> MeasuredTables:
            return replace(measurement.answer(measurement.count(session.table)), key=key.digest)

        payload = session.ledger.finish(reservation, session.look(look).to_json().encode())
    stored = MeasuredTables.from_json(payload)
    session.remember(stored)
    texts = [canonical_json(facts.canonical) for facts in measurement.workload.distinct]
    order = [texts.index(canonical_json(facts.canonical)) for facts in measurement.workload.asked]
    releases = [
        replace(stored.releases[i], key=key.digest, entry=reservation.entry, backend=session.table.backend)
        for i in order
    ]
    return replace(
        stored,
        releases=tuple(releases),
        remarks=session.remarks_of(reservation),
        entry=reservation.entry,
        backend=session.table.backend,
    )


def price_tables(
    session: Session, questions: Iterable[Question], *, epsilon: float, delta: float | None, confidence: float
) -> Price:
    """Return what all questions would cost together, and the margin of each; touches no data."""
    measurement = _agreed(session, questions, epsilon, delta, confidence)
    free, quote, notes = session.quote_release(_key(session, measurement))
    number = len(measurement.workload.distinct)
    titles = "; ".join(words_of(facts.canonical) for facts in measurement.workload.distinct)
    widest = max(float(measurement.margins_of(facts)[0].max()) for facts in measurement.workload.distinct)
    units = {facts.unit for facts in measurement.workload.distinct}
    return Price(
        question=titles if number == 1 else f"{number} tables together: {titles}",
        cost=measurement.cost,
        guarantee=measurement.guarantee,
        free=free,
        margin=float(_ceil(np.array([widest]))[0]),
        margin_unit="value",
        unit=units.pop() if len(units) == 1 else "",
        noise_percent=None,
        left=quote.left,
        after=quote.after,
        bar=quote.bar,
        confidence=measurement.confidence,
        notes=(*measurement.margin_words(), *notes),
    )


def answer_from_tables(
    session: Session, facts: Facts, *, margin: float | None, confidence: float = COVERAGE
) -> Release | None:
    """Return an answer that this recipient's tables tell for nothing: the first that is accurate enough, or None.

    Proof: a function of a release that this recipient has paid for, and of public facts.

    Args:
        session: Whose tables.
        facts: The question; policy is checked as for a paid one.
        margin: The margin that a purchase would have; None to take what there is.
        confidence: How often the margin covers.
    """
    if not isinstance(facts.question, Counting) or facts.has_unknown_keys:
        return None
    for stored in session.bought:
        made = Measurement.of_stored(stored, session.table.schema)
        if made is None or made.workload.sums(facts) is None:
            continue
        made = replace(made, confidence=confidence)
        if margin is not None and float(made.margins_of(facts)[0].max()) > margin:
            continue
        _check_policy(session, facts, float(made.epsilon))
        number = len(made.workload.distinct)
        tables = "a table" if number == 1 else f"{number} tables"
        told = f"Answered from {tables} that you have paid for: nothing was charged, and the data were not looked at."
        found = made.read(facts, *made.estimate(stored.noisy))
        return replace(found, key=stored.key, remarks=(told,), backend=session.table.backend)
    return None


def _floor(numbers: Floats) -> Floats:
    found: Floats = np.floor(numbers * 1e4) / 1e4
    return found


def _ceil(numbers: Floats) -> Floats:
    found: Floats = np.ceil(numbers * 1e4 - 1e-6) / 1e4
    return found
