"""Measured tables: several tables of counts bought as one release, and made to agree with each other.

``Workload`` is several questions against a schema, ``Measurement`` the same at a price, ``MeasuredTables`` what comes
out: one ledger entry, one stored release, one receipt. What further questions the tables answer costs nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pydplib.budget.conversion import most_nano_rho
from pydplib.budget.costs import Cost
from pydplib.budget.keys import canonical_json
from pydplib.budget.units import ATTO, NANO, exact, floor_units
from pydplib.engine import Bins, Measure, Plan, Table
from pydplib.errors import ParameterError, PydplibError, QuestionError
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.noise.pairs import MOST_CELLS as MOST_PAIR_CELLS
from pydplib.release.facts import Facts
from pydplib.release.group_quantiles import Reaches
from pydplib.release.joint.cell_noise import CellNoise, GaussianCells, LaplaceCells
from pydplib.release.joint.consistent import (
    Layout,
    Term,
    best_shares,
    estimator,
    fit_non_negative,
    open_relations,
    sum_margin,
    terms_of,
)
from pydplib.release.joint.pair_cells import PairCells, pair_parts
from pydplib.release.joint.stored_tables import MeasuredTables
from pydplib.release.public import check_epsilon
from pydplib.release.results.release import Release
from pydplib.release.results.words import (
    MEASURED,
    MEASURED_GAUSSIAN,
    MEASURED_PAIRS,
    show_margin,
    show_number,
    words_of,
)
from pydplib.release.statistics.count import Counting
from pydplib.release.statistics.noise import COVERAGE, check_confidence, margin_steps
from pydplib.release.statistics.quantiles import OfRanks
from pydplib.release.statistics.question import Question
from pydplib.schema import Schema

Integers: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Pairs: TypeAlias = tuple[tuple[int, int], ...]

LEDGER_WORD = "laplace_tables"
"""What the ledger calls the noise: by it, a recipient's tables are found again."""

GAUSSIAN_WORD = "gaussian_tables"
"""What the ledger calls Gaussian noise."""

MOST_CELLS = 2_000
"""Most cells of all tables of one purchase together, those of all other rows included."""

MOST_PAIRS = 4
"""Most pairs of tables that share a noise: a margin is that of a sum of all noises, and takes time."""

MOST_PAIRED_TABLES = 12
"""In a larger workload no tables share a noise: the few that could gain little, and looking for them takes seconds."""

_WIDE = Fraction(2**20)  # a scale at which steps do not matter
_TURNS = 3  # how often shares are adjusted to margins


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
    def plan(self) -> Plan:
        """What the engine counts."""
        return self.facts.plan([Measure("count")])

    @property
    def reach(self) -> int:
        """The most that one person moves all cells together, in steps."""
        return self.facts.rows * self.facts.bound.scale


@dataclass(frozen=True)
class PairLayout:
    """Where the cells of two tables with one noise are.

    Attributes:
        tables: The places of the two tables.
        first: The cells of the first table by block, a row for each; places among the table's own cells.
        second: The same of the second table; row i of both is the same block.
    """

    tables: tuple[int, int]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @property
    def sizes(self) -> tuple[int, int]:
        """How many cells a block has in each table."""
        return self.first.shape[1], self.second.shape[1]


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
        return self._separate[0]

    @cached_property
    def _separate(self) -> tuple[tuple[Fraction, ...], float]:
        return self._best_shares()

    @cached_property
    def gaussian_shares(self) -> tuple[Fraction, ...]:
        """The part of rho that each table gets with Gaussian noise."""
        return self._best_shares(power=1)[0]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each table's cells begin among those of all."""
        return np.concatenate([[0], np.cumsum([block.cells for block in self.blocks])])

    # -- two tables with one noise ---------------------------------------------------------------

    def pair_layout(self, one: int, other: int) -> PairLayout | None:
        """Return the blocks that two tables have in common; None where one noise cannot be shaped for both.

        Both count the same rows, and every row is in one cell of each. Columns that both cut in the same way put it
        into the same block, by the same expression of the same scan: sums over a block are equal, whatever the data.
        """
        tables = self.blocks[one], self.blocks[other]
        if tables[0].group != tables[1].group or not (tables[0].agrees and tables[1].agrees):
            return None
        names = [name for name in tables[0].keys if cut_of(tables[0], name) == cut_of(tables[1], name)]
        cells = []
        for table in tables:
            own = list(table.keys)
            shape = dict(zip(own, table.shape, strict=True))
            rest = [name for name in own if name not in names]
            order = [own.index(name) for name in (*names, *rest)]
            blocks = math.prod(shape[name] for name in names)
            cells.append(
                np.arange(table.cells).reshape(table.shape or (1,)).transpose(order or (0,)).reshape(blocks, -1)
            )
        if min(len(found[0]) for found in cells) < 2 or sum(len(found[0]) for found in cells) > MOST_PAIR_CELLS:
            return None
        return PairLayout((one, other), cells[0], cells[1])

    @cached_property
    def pairs(self) -> Pairs:
        """The tables that might share a noise, two by two: those first that would gain most if they were alone."""
        if len(self.blocks) > MOST_PAIRED_TABLES:
            return ()
        gains = []
        for one, other in combinations(range(len(self.blocks)), 2):
            layout = self.pair_layout(one, other)
            if layout is None:
                continue
            first, second = layout.sizes
            noise = PairCells(_WIDE, first, second), PairCells(_WIDE, second, first)
            price = max(math.sqrt(like.variance / 2) / float(_WIDE) for like in noise)
            apart = sum(math.sqrt(1 - 1 / size) for size in layout.sizes)
            if price < apart:
                gains.append((price - apart, one, other))
        found: list[tuple[int, int]] = []
        for _, one, other in sorted(gains):
            if not {one, other} & {place for pair in found for place in pair}:
                found.append((one, other))
        return tuple(sorted(found[:MOST_PAIRS]))

    def _units(self, pairs: Pairs) -> NDArray[np.int64]:
        """Return what gets a share of its own, by table: two tables with one noise are one."""
        found, number = [-1] * len(self.blocks), 0
        for place in range(len(self.blocks)):
            if found[place] < 0:
                for own in next((pair for pair in pairs if place in pair), (place,)):
                    found[own] = number
                number += 1
        return np.array(found)

    def relations_with(self, pairs: Pairs) -> Floats:
        """Return ``relations`` without those that the noise of pairs keeps by itself."""
        if pairs not in self._known_relations:
            made = Measurement(self, Fraction(1), (Fraction(1, len(self.blocks)),) * len(self.blocks), pairs=pairs)
            self._known_relations[pairs] = open_relations(self.relations, made.spread(self.relations))
        return self._known_relations[pairs]

    @cached_property
    def _known_relations(self) -> dict[Pairs, Floats]:
        return {(): self.relations}

    def _best_shares(
        self, *, power: int = 2, pairs: Pairs = (), targets: Sequence[float] | None = None
    ) -> tuple[tuple[Fraction, ...], float]:
        """Return the part of epsilon that each table gets, and the largest relative error.

        Two tables with one noise have half of theirs each.

        Args:
            power: 2 for shares of epsilon, 1 for shares of rho.
            pairs: The tables that share a noise.
            targets: The standard deviation of each table's cells that counts as 1; by default what it is at epsilon 1.
        """
        rows = [float(block.facts.rows) for block in self.blocks]
        wanted = np.asarray(rows if targets is None else targets)[self.tables]
        units, relations = self._units(pairs), self.relations_with(pairs)
        # The noise at all of epsilon, but wide: its variance then falls with the square of a share.
        variances = np.asarray(rows)[self.tables] ** 2.0
        spread = relations * variances
        for pair in pairs:
            layout = self._layout(pair)
            noise = PairCells(_WIDE, *layout.sizes)
            # In halves of Laplace's variance, like the others.
            matrix = noise.matrix() * (rows[pair[0]] / float(_WIDE)) ** 2 / 2
            cells = self.cells_at(layout)
            variances[cells] = np.diag(matrix)
            spread[:, cells] = relations[:, cells] @ matrix
        shares, error = best_shares(relations, spread, variances, units[self.tables], wanted, power=power)
        many = np.bincount(units)
        return tuple(shares[unit] / int(many[unit]) for unit in units.tolist()), error

    def _layout(self, pair: tuple[int, int]) -> PairLayout:
        found = self.pair_layout(*pair)
        assert found is not None
        return found

    def cells_at(self, layout: PairLayout) -> NDArray[np.int64]:
        """Return the places of a pair's cells among those of all tables, a row for each block."""
        one, other = layout.tables
        return np.concatenate([layout.first + self.starts[one], layout.second + self.starts[other]], axis=1)

    # -- at a price ------------------------------------------------------------------------------

    def at(self, epsilon: Any, delta: Any = None, *, confidence: float = COVERAGE) -> Measurement:
        """Return the questions with their noise and cost at a given privacy loss of all of them together.

        Separate noises, noise shaped for two tables each (``pairs``) or, with a delta, Gaussian noise: that with the
        smallest errors is taken, from public facts alone.

        Args:
            epsilon: The privacy loss of all tables together.
            delta: The chance that epsilon may fail; then the noise is Gaussian if that has the smaller margins.
            confidence: How often margins and intervals cover.
        """
        loss, sure = check_epsilon(epsilon), check_confidence(confidence)
        pure = Measurement(self, loss, self.shares, confidence=sure)
        if self.shaped is not None:
            pairs, shares = self.shaped
            shaped = Measurement(self, loss, shares, confidence=sure, pairs=pairs)
            pure = shaped if shaped.is_wide else pure
        if delta is None:
            return pure
        gaussian = Measurement(self, loss, self.gaussian_shares, confidence=sure, delta=check_delta(delta))
        return min(pure, gaussian, key=lambda made: made.widest)

    @cached_property
    def shaped(self) -> tuple[Pairs, tuple[Fraction, ...]] | None:
        """The tables that share a noise, and the part of epsilon that each table gets then; None where that is no use.

        All of ``pairs``, or one of them: the first for which the largest error becomes smaller, and for which the law
        of every cell's estimate is known (``Measurement.is_plain``).
        """
        several = [self.pairs] if self.pairs else []
        for pairs in several + [(pair,) for pair in self.pairs if len(self.pairs) > 1]:
            shares, error = self._best_shares(pairs=pairs)
            if error < self._separate[1] and Measurement(self, Fraction(1), shares, pairs=pairs).is_plain:
                return pairs, shares
        return None

    def cheapest(self, each: Sequence[Fraction], *, confidence: float = COVERAGE) -> Measurement:
        """Return the questions at the smallest epsilon at which no margin is larger than that of the question alone.

        Epsilon is split so that the largest error, relative to that of the table alone at its own price, is smallest,
        and lowered until one margin meets it; with separate noises, and with noise shaped for two tables each, and the
        cheaper one is taken. All of it follows from public facts.

        Args:
            each: What each question would cost alone, in the order in which they were asked.
            confidence: How often margins and intervals cover.
        """
        sure, own = check_confidence(confidence), self._own_losses(each)
        apart = self._cheapest(own, sure, ())
        if self.shaped is None:
            return apart
        shaped = self._cheapest(own, sure, self.shaped[0])
        return shaped if shaped.epsilon < apart.epsilon else apart

    def _cheapest(self, own: tuple[Fraction, ...], sure: float, pairs: Pairs) -> Measurement:
        names = [canonical_json(facts.canonical) for facts in self.distinct]
        losses = [Fraction(0)] * len(self.blocks)
        places = []
        for facts, loss in zip(self.distinct, own, strict=True):
            place = next(i for i, block in enumerate(self.blocks) if block.identity == block_of(facts).identity)
            losses[place] = max(losses[place], loss)
            places.append(place)
        rows = [float(block.facts.rows) for block in self.blocks]
        targets = np.array([size / float(loss) for size, loss in zip(rows, losses, strict=True)])
        wanted = {
            name: alone_margin(facts, loss, sure) for name, facts, loss in zip(names, self.distinct, own, strict=True)
        }
        most = sum(losses, Fraction(0))

        def excess(made: Measurement) -> Floats:
            """Return the largest margin of each table, relative to what is wanted."""
            found = np.zeros(len(self.blocks))
            for place, name, facts in zip(places, names, self.distinct, strict=True):
                found[place] = max(found[place], float(made.margins_of(facts)[0].max()) / wanted[name])
            return found

        shares, _ = self._best_shares(pairs=pairs, targets=targets.tolist())
        for _ in range(_TURNS if pairs else 0):
            # Noise that several cells make up has lighter tails than its variance says: margins decide.
            over = excess(Measurement(self, most, shares, confidence=sure, each=own, pairs=pairs))
            targets = targets / np.where(over > 0, over / over.max(), 1.0)
            shares, _ = self._best_shares(pairs=pairs, targets=targets.tolist())
        epsilon = most
        for _ in range(12):
            made = Measurement(self, epsilon, shares, confidence=sure, each=own, pairs=pairs)
            worst = float(excess(made).max())
            if worst <= 1 and epsilon != most:
                if pairs and not made.is_wide:
                    break
                return made
            step = Fraction(math.ceil(float(epsilon) * worst * (1.0 if epsilon == most else 1.0005) * 1e5), 100_000)
            if step >= most:
                break
            epsilon = step
        # Each table at its own price: consistency cannot make that worse.
        return Measurement(self, most, tuple(loss / most for loss in losses), confidence=sure, each=own)

    def _own_losses(self, each: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """Return what each of the ``distinct`` questions would cost alone: the most, where one is asked twice."""
        found: dict[str, Fraction] = {}
        for facts, loss in zip(self.asked, each, strict=True):
            name = canonical_json(facts.canonical)
            found[name] = max(found.get(name, Fraction(0)), loss)
        return tuple(found[canonical_json(facts.canonical)] for facts in self.distinct)

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


def table_of(facts: Facts) -> Facts:
    """Return the table of counts that a question is read off: its own, or the one behind quantiles of groups."""
    behind = facts.question.table(facts)
    assert behind is not None
    return facts if behind is facts.question else Facts.of(behind, facts.schema)


def block_of(facts: Facts) -> Block:
    """Return the table that a question asks for."""
    facts = table_of(facts)
    where, after = ([c.to_dict() for c in part] for part in facts.question.split_conditions(facts.schema))
    group = canonical_json({"where": where, "bound": facts.bound.to_dict()} | ({"after": after} if after else {}))
    return Block(facts, group, agrees=facts.bound.mode != "sample")


def cut_of(block: Block, name: str) -> Any:
    """Return how a table cuts a column, in a form that tells cuts apart; None where it has no such column."""
    keys = block.keys.get(name)
    if keys is None:
        return None
    return ("bins", keys.numbers) if isinstance(keys, Bins) else ("keys", tuple((type(k).__name__, k) for k in keys))


def _check_table(facts: Facts) -> None:
    question = facts.question
    if question.table(facts) is None and not isinstance(question, Counting):
        way = ""
        if question.measured:
            groups = "".join(f", '{name}'" for name in facts.groups)
            way = f" Ask for the table behind it, Crosstab('{question.measured[0]}'{groups}), and read it off;"
            if not groups:
                way = f" Ask for the table behind it, Histogram('{question.measured[0]}'), and read it off;"
        raise QuestionError(
            f"'{words_of(facts.canonical)}' is no table of counts.{way} or buy it by itself: session.release(...). "
            "Count, Histogram and Crosstab are bought together, and quantiles of groups that are read off a table."
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
        delta: The chance that epsilon may fail: then the noise is discrete Gaussian; None for discrete Laplace.
        each: What each of the workload's ``distinct`` questions would cost alone for the same margin; None where
            epsilon was said for all of them.
        pairs: The places of tables that share a noise, two by two; such two have half of their share each.
    """

    workload: Workload
    epsilon: Fraction
    shares: tuple[Fraction, ...]
    _: KW_ONLY
    confidence: float = COVERAGE
    delta: Fraction | None = None
    each: tuple[Fraction, ...] | None = None
    pairs: Pairs = ()

    @classmethod
    def of_stored(cls, stored: MeasuredTables, schema: Schema) -> Measurement | None:
        """Return what made stored tables; None where the schema declares something else by now."""
        try:
            questions = [Question.from_dict(plain) for plain in stored.question["questions"]]
            workload = Workload.of(questions, schema)
        except (PydplibError, KeyError, TypeError):
            return None
        shares = tuple(Fraction(share) for share in stored.shares)
        delta = None if stored.exact_delta is None else Fraction(stored.exact_delta)
        each = None if stored.each is None else tuple(Fraction(loss) for loss in stored.each)
        pairs = stored.pairs
        found = cls(
            workload,
            Fraction(stored.exact_epsilon),
            shares,
            confidence=stored.confidence,
            delta=delta,
            each=each,
            pairs=pairs,
        )
        sizes = [block.cells for block in workload.blocks]
        if any(max(pair) >= len(sizes) or workload.pair_layout(*pair) is None for pair in pairs):
            return None
        same = sizes == [len(cells) for cells in stored.noisy] and len(shares) == len(sizes)
        return found if same and found.declared == stored.declared else None

    @property
    def declared(self) -> tuple[str, ...]:
        """Hashes of the declarations that the answers depend on."""
        return tuple(facts.fingerprint for facts in self.workload.distinct)

    @property
    def cost(self) -> Cost:
        """What will be debited, once: epsilon, or the rho of all Gaussian tables together."""
        if self.delta is None:
            return Cost.pure(self.epsilon, mechanism=LEDGER_WORD)
        return Cost.gaussian(sensitivity_squared=2 * self.rho, variance=1, mechanism=GAUSSIAN_WORD)

    def loss_of(self, facts: Facts) -> float:
        """Return the epsilon by which the policy judges a question: all of it, or what it would cost alone."""
        if self.each is None:
            return float(self.epsilon)
        own = {
            canonical_json(known.canonical): loss for known, loss in zip(self.workload.distinct, self.each, strict=True)
        }
        return float(own.get(canonical_json(facts.canonical), max(self.each)))

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """What all tables together will guarantee."""
        if self.delta is None:
            return PureDP(float(self.epsilon))
        return ApproxDP(float(self.epsilon), float(self.delta))

    @cached_property
    def rho(self) -> Fraction:
        """The zero-concentrated loss of all Gaussian tables: the largest that (epsilon, delta) allows, in whole units.

        Proof: ``budget.conversion.most_nano_rho``, the tight conversion, rounded down.
        """
        assert self.delta is not None
        units = most_nano_rho(floor_units(self.epsilon, NANO), floor_units(self.delta, ATTO))
        if units < 1:
            raise ParameterError("This epsilon and delta are too small for Gaussian noise: leave delta= out.")
        return Fraction(units, NANO)

    @property
    def mechanism(self) -> str:
        """The noise in words."""
        if self.delta is not None:
            return MEASURED_GAUSSIAN
        return MEASURED_PAIRS if self.pairs else MEASURED

    @property
    def parameters(self) -> dict[str, Any]:
        """What else decides the answer, for the key of the release."""
        parameters: dict[str, Any] = {"declared": list(self.declared), "epsilon": str(self.epsilon), "version": 1}
        if self.delta is not None:
            parameters["delta"] = str(self.delta)
        if self.each is not None:  # another split of epsilon is another release
            parameters |= {"each": [str(loss) for loss in self.each], "shares": [str(share) for share in self.shares]}
        return parameters if self.confidence == COVERAGE else parameters | {"confidence": str(self.confidence)}

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """The scale of each table's noise, in steps.

        Proof: the scale of table A is D(A) / (share(A) epsilon), with D(A) the most that one person moves all of its
        cells together (L1): rows * per_row, because one person's rows have weights of at most that sum, fixed before
        any table is made, and each row is in one cell. So table A is share(A) epsilon-DP. Two tables A and B with one
        noise have the sum of their shares: rows that weigh D(A) together move both by that much, each row one cell of
        A and one of B in the same block (``Workload.pair_layout``), so both together are
        (share(A) + share(B)) epsilon-DP (``noise.tap.add_pair``). The shares sum to 1, and privacy losses of tables
        over the same or other rows of the same persons add up: all together are epsilon-DP. Nothing is gained from
        conditions that exclude each other.
        """
        whole = list(self.shares)
        for one, other in self.pairs:
            whole[one] = whole[other] = self.shares[one] + self.shares[other]
        tables = zip(self.workload.blocks, whole, strict=True)
        return tuple(block.reach / (share * self.epsilon) for block, share in tables)

    @cached_property
    def squares(self) -> tuple[Fraction, ...]:
        """Sigma squared of each table's Gaussian noise, in squared steps.

        Proof: with D(A) as in ``scales``, one person moves table A by at most D(A) in L2 as well. Discrete Gaussian
        noise of sigma^2 = D(A)^2 / (2 share(A) rho) makes it share(A) rho-zCDP (``noise.tap.add_gaussian``). Losses add
        up, the shares sum to 1: all together are rho-zCDP, and so (epsilon, delta)-DP.
        """
        pairs = zip(self.workload.blocks, self.shares, strict=True)
        return tuple(block.reach**2 / (2 * share * self.rho) for block, share in pairs)

    @cached_property
    def noises(self) -> tuple[CellNoise | PairCells, ...]:
        """The noise of each table's cells, in steps."""
        if self.delta is not None:
            return tuple(GaussianCells(square) for square in self.squares)
        found: list[CellNoise | PairCells] = [LaplaceCells(scale) for scale in self.scales]
        for layout in self.layouts:
            (one, other), (first, second) = layout.tables, layout.sizes
            found[one] = PairCells(self.scales[one], first, second)
            found[other] = PairCells(self.scales[other], second, first)
        return tuple(found)

    @cached_property
    def layouts(self) -> tuple[PairLayout, ...]:
        """Where the cells of tables are that share a noise."""
        return tuple(self.workload._layout(pair) for pair in self.pairs)

    @property
    def is_plain(self) -> bool:
        """Whether every cell that was asked for weighs the cells of a block in at most two ways in each table.

        The law of such sums is known; margins of others are made up of parts (``pair_parts``), and are too wide.
        """
        for facts in self.workload.distinct:
            linear = (self.cells_of(facts)[1] @ self._matrix).round(7)
            for layout in self.layouts:
                weights = linear[:, self.workload.cells_at(layout)]
                for own in (weights[:, :, : layout.sizes[0]], weights[:, :, layout.sizes[0] :]):
                    if (np.diff(np.sort(own, axis=2), axis=2) > 0).sum(axis=2).max() > 1:
                        return False
        return True

    @property
    def is_wide(self) -> bool:
        """Whether noise shaped for two tables has a scale of at least one step: else its margins would be too wide."""
        return all(self.scales[one] >= 1 for one, _ in self.pairs)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What engines are asked, as far as their stored types matter: each question's own plan."""
        return tuple(table_of(facts).plan([Measure("count")]) for facts in self.workload.distinct)

    # -- counting --------------------------------------------------------------------------------

    def count(self, table: Table) -> tuple[Integers, ...]:
        """Return the exact cells of all tables. Private: only ever called after the debit.

        Proof (sensitivity): one scan bounds the rows of each group once, and every row is in one cell of every table
        of its group (``engine.marginals``): in the last of a column, if no key takes it.
        """
        plans = [block.plan for block in self.workload.blocks]
        return tuple(cells.ravel() for cells in table.tables(plans))

    # -- margins ---------------------------------------------------------------------------------

    @cached_property
    def _matrix(self) -> Floats:
        """The matrix from noisy cells to consistent ones, by the variances of the noise."""
        relations = self.workload.relations_with(self.pairs)
        return estimator(relations, self.variances, self.spread(relations))

    @cached_property
    def _nearest(self) -> Floats:
        """The matrix from any cells to the nearest consistent ones: to ``_matrix`` belong cells with equal sums."""
        return estimator(self.workload.relations, self.variances) if self.pairs else self._matrix

    def spread(self, weights: Floats) -> Floats:
        """Return rows of weights of all cells times the covariance of the noise, in squared rows."""
        found: Floats = weights * self.variances
        for layout in self.layouts:
            noise, cells = self.noises[layout.tables[0]], self.workload.cells_at(layout)
            assert isinstance(noise, PairCells)
            per_row = self.workload.blocks[layout.tables[0]].facts.bound.scale
            found[:, cells] = weights[:, cells] @ (noise.matrix() / per_row**2)
        return found

    @cached_property
    def variances(self) -> Floats:
        """The variance of the noise of every cell, in squared rows; cells of all tables, one after the other."""
        pairs = zip(self.noises, self.workload.blocks, strict=True)
        found = [noise.variance / block.facts.bound.scale**2 for noise, block in pairs]
        return np.asarray(found)[self.workload.tables]

    @property
    def widest(self) -> float:
        """The largest margin of a cell, relative to the most rows of one person."""
        return max(float(self.margins_of(facts)[0].max()) / facts.rows for facts in self.workload.distinct)

    def covariance(self, weights: Floats) -> Floats:
        """Return the covariance of sums of consistent cells, a row of weights each, in squared rows.

        Args:
            weights: For each sum the weight of every cell, of all tables one after the other (``cells_of``).
        """
        linear = np.atleast_2d(weights) @ self._matrix
        found: Floats = self.spread(linear) @ linear.T
        return found

    def margins(self, weights: Floats, miss: float) -> Floats:
        """Return margins of weighted sums of noisy cells, a row each, that miss with a chance of at most ``miss``.

        Sums of the noise of pairs that come in several parts (``pair_parts``) have a margin for each, at a part of the
        chance: whatever the parts have to do with each other, one is passed at most that often.
        """
        blocks, tables = self.workload.blocks, self.workload.tables
        paired = {place for pair in self.pairs for place in pair}
        rows = np.abs(weights).round(7)
        for table in range(len(blocks)):  # tables have one scale each: the order of their cells tells nothing
            own = tables == table
            rows[:, own] = 0.0 if table in paired else np.sort(rows[:, own], axis=1)
        blockwise = [_sorted_blocks(weights[:, self.workload.cells_at(own)].round(7), own) for own in self.layouts]
        noises = [LaplaceCells(_WIDE) if isinstance(noise, PairCells) else noise for noise in self.noises]
        cells = [noises[table] for table in tables]
        steps = [blocks[table].facts.bound.scale for table in tables]
        known: dict[bytes, float] = {}
        names = []
        for place, row in enumerate(rows):
            own = [found[place] for found in blockwise]
            names.append(row.tobytes() + b"".join(part.tobytes() for part in own))
            if names[-1] not in known:
                known[names[-1]] = self._margin(terms_of(row, cells, steps), own, miss)
        return np.array([known[name] for name in names])

    def _margin(self, terms: tuple[Term, ...], blockwise: Sequence[Floats], miss: float) -> float:
        split = []
        for layout, weights in zip(self.layouts, blockwise, strict=True):
            noise = self.noises[layout.tables[0]]
            assert isinstance(noise, PairCells)
            split.append(pair_parts(weights, noise, self.workload.blocks[layout.tables[0]].facts.bound.scale))
        number = max([1, *(len(parts) for parts in split)])
        found = 0.0
        for place in range(number):
            pairs = tuple(term for parts in split if place < len(parts) for term in parts[place])
            found += sum_margin(terms if place == 0 else (), miss / number, pairs)
        return found

    def cells_of(self, facts: Facts) -> tuple[int, Floats, Floats]:
        """Return the table that tells a question, and the question's cells and the rest as sums of all noisy cells."""
        found = self.workload.sums(facts)
        assert found is not None
        place, sums = found
        own = np.zeros((len(sums), self.workload.cells))
        own[:, self.workload.tables == place] = sums
        if not self.workload.blocks[place].agrees:
            return place, own, np.zeros((0, self.workload.cells))
        facts = table_of(facts)
        shape = tuple(len(axis.keys) + 1 for axis in facts.axes)
        inside = np.zeros(shape, dtype=bool)
        inside[tuple(slice(0, -1) for _ in shape)] = True
        rest = own[~inside.ravel()].sum(axis=0, keepdims=True) if facts.axes else own[:0]
        return place, own[inside.ravel()], rest

    def margins_of(self, facts: Facts) -> tuple[Floats, float]:
        """Return the margins of a question's cells, each by itself, and the one that all of them keep at once."""
        name = canonical_json(facts.canonical)
        if name not in self._known_margins:
            self._known_margins[name] = self._margins_of(facts)
        return self._known_margins[name]

    @cached_property
    def _known_margins(self) -> dict[str, tuple[Floats, float]]:
        return {}

    def _margins_of(self, facts: Facts) -> tuple[Floats, float]:
        _, weights, _ = self.cells_of(facts)
        linear, miss = weights @ self._matrix, 1 - self.confidence
        each = self.margins(linear, miss)
        if len(weights) == 1:
            return each, float(each[0])
        return each, float(self.margins(linear, miss / len(weights)).max())

    # -- answering -------------------------------------------------------------------------------

    def answer(self, exact: Sequence[Integers]) -> MeasuredTables:
        """Return the tables of exact cells. Only ever called after the debit.

        Proof: noise by ``scales`` or ``squares`` on cells whose sensitivity is ``Block.reach``; all else follows
        from noisy numbers.
        """
        noisy = [
            cells.astype(np.float64) / block.facts.bound.scale
            for cells, block in zip(self._add_noise(exact), self.workload.blocks, strict=True)
        ]
        whole = MeasuredTables(
            question=self.workload.canonical,
            noisy=tuple(tuple(cells.tolist()) for cells in noisy),
            releases=(),
            shares=tuple(str(share) for share in self.shares),
            declared=self.declared,
            exact_epsilon=str(self.epsilon),
            exact_delta=None if self.delta is None else str(self.delta),
            guarantee=self.guarantee,
            cost=self.cost,
            confidence=self.confidence,
            each=None if self.each is None else tuple(str(loss) for loss in self.each),
            pairs=self.pairs,
            mechanism=self.mechanism,
        )
        linear, fitted = self.estimate(whole.noisy)
        return replace(whole, releases=tuple(self.read(facts, linear, fitted) for facts in self.workload.distinct))

    def _add_noise(self, exact: Sequence[Integers]) -> list[Integers]:
        """Return the cells of all tables with noise, in steps: one noise for two tables where they share it."""
        found: list[Integers] = [np.empty(0)] * len(exact)
        for layout in self.layouts:
            one, other = layout.tables
            noise, block = self.noises[one], self.workload.blocks[one]
            assert isinstance(noise, PairCells)
            first, second = noise.add(exact[one][layout.first], exact[other][layout.second], reach=block.reach)
            for place, cells, values in ((one, layout.first, first), (other, layout.second, second)):
                found[place] = np.empty_like(exact[place])
                found[place][cells] = values
        for place, (noise, block) in enumerate(zip(self.noises, self.workload.blocks, strict=True)):
            if not isinstance(noise, PairCells):
                found[place] = noise.add(exact[place], reach=block.reach)
        return found

    def estimate(self, noisy: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
        """Return the consistent cells of all tables: the linear estimate, and the nearest ones of at least 0."""
        linear = self._matrix @ np.concatenate([np.asarray(cells, dtype=np.float64) for cells in noisy])
        return linear, fit_non_negative(linear, self._nearest)

    def tables(self, noisy: Sequence[Sequence[float]]) -> tuple[TableEstimate, ...]:
        """Return every measured table with its noisy cells, its noise and its consistent estimates.

        Args:
            noisy: ``MeasuredTables.noisy``.
        """
        linear, fitted = self.estimate(noisy)
        found = []
        for place, (block, noise) in enumerate(zip(self.workload.blocks, self.noises, strict=True)):
            own = self.workload.tables == place
            raw, shape = np.asarray(noisy[place], dtype=np.float64), block.shape
            found.append(
                TableEstimate(
                    keys=block.keys,
                    noisy=raw.reshape(shape),
                    linear=linear[own].reshape(shape),
                    fitted=fitted[own].reshape(shape),
                    noise=noise,
                    per_row=block.facts.bound.scale,
                    covariance=self._covariance_at(own),
                )
            )
        return tuple(found)

    def _covariance_at(self, cells: NDArray[np.bool_]) -> Floats:
        return self.covariance(np.eye(self.workload.cells)[cells])

    def read(self, facts: Facts, linear: Floats, fitted: Floats) -> Release:
        """Return the answer to a question that the tables tell: a function of noisy cells and of public facts.

        Values are consistent and at least 0. Intervals are those of the linear estimate (``noisy`` of the release), cut
        at 0 and at what the number of all rows can be, and never leave the value out.
        """
        if isinstance(facts.question, OfRanks):
            return self._read_quantiles(facts, facts.question, linear)
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
            mechanism=self.mechanism,
            scale=self.noises[place].spread / steps,
            sensitivity=float(block.facts.rows),
            axes=facts.axes,
            low=np.minimum(_floor(low), values),  # type: ignore[arg-type]
            high=np.maximum(round_up(high), values),  # type: ignore[arg-type]
            margins=round_up(each),  # type: ignore[arg-type]
            simultaneous=float(round_up(np.array([together]))[0]) if facts.axes else None,
            noisy=raw if facts.axes else None,  # type: ignore[arg-type]
            unit=facts.unit,
            confidence=self.confidence,
            counted=facts.question.counted(facts),
            persons=facts.is_one_row_each,
            notes=(
                *self._together_words(),
                *self.delta_words(facts),
                *self._rest_words(rest, linear, fitted, facts),
                *self._person_words(block),
            ),
        )

    def _read_quantiles(self, facts: Facts, question: OfRanks, linear: Floats) -> Release:
        """Return quantiles of groups, read off the consistent counts of their table.

        Proof: post-processing. Intervals are those of ``read_quantiles``: the noise in D(k) is a weighted sum of all
        noisy cells, and its margin that of this very sum.
        """
        place, weights, _ = self.cells_of(facts)
        block = self.workload.blocks[place]
        cells = weights.reshape(facts.cells, -1, weights.shape[1])
        whole = cells.sum(axis=1)
        below = np.concatenate([np.zeros_like(cells[:, :1]), np.cumsum(cells, axis=1)], axis=1)
        ranks = np.stack([below - float(share) * whole[:, None] for share in question.shares], axis=1)
        miss = 1 - self.confidence
        reaches = Reaches(
            self.margins(ranks.reshape(-1, weights.shape[1]) @ self._matrix, miss).reshape(ranks.shape[:3]),
            self.margins(whole @ self._matrix, 0.1),
        )
        scale = math.sqrt(self.noises[place].variance / 2) / block.facts.bound.scale
        counts = (weights @ linear).reshape(cells.shape[:2])
        noisy, notes = question.read_counts(facts, counts, scale, reaches, confidence=self.confidence)
        doubtful = None
        if noisy.doubtful is not None and noisy.doubtful.any():
            doubtful = np.repeat(noisy.doubtful.ravel().astype(int), len(question.shares))
        return Release(
            question=facts.canonical,
            values=noisy.values.ravel(),  # type: ignore[arg-type]
            guarantee=self.guarantee,
            cost=self.cost,
            mechanism=self.mechanism,
            scale=self.noises[place].spread / block.facts.bound.scale,
            sensitivity=float(block.facts.rows),
            axes=question.answer_axes(facts.axes),
            low=noisy.low.ravel() if noisy.low is not None else None,  # type: ignore[arg-type]
            high=noisy.high.ravel() if noisy.high is not None else None,  # type: ignore[arg-type]
            margins=noisy.margins.ravel() if noisy.margins is not None else None,  # type: ignore[arg-type]
            sizes=noisy.sizes.ravel() if noisy.sizes is not None else None,  # type: ignore[arg-type]
            doubtful=doubtful,  # type: ignore[arg-type]
            unit=facts.unit,
            confidence=self.confidence,
            counted=question.counted(facts),
            persons=facts.is_one_row_each,
            population_low=None if noisy.population is None else tuple(noisy.population[0]),
            population_high=None if noisy.population is None else tuple(noisy.population[1]),
            notes=(*self._together_words(), *notes, *self._person_words(block)),
        )

    def _together_words(self) -> tuple[str, ...]:
        number = len(self.workload.blocks)
        if number == 1:
            return ()
        return (
            f"One of {number} tables that were measured together: the cost is for all of them, once. Sums that two of "
            "them share agree.",
        )

    @cached_property
    def pure(self) -> Measurement:
        """The same tables at the same epsilon without a delta."""
        return self if self.delta is None else self.workload.at(self.epsilon, confidence=self.confidence)

    def delta_words(self, facts: Facts) -> tuple[str, ...]:
        """Return what the margin of a question would be without a delta, where the noise is Gaussian."""
        if self.delta is None:
            return ()
        margin = show_margin(float(self.pure.margins_of(facts)[0].max()), whole=True)
        return (
            "Gaussian noise, because it has the smaller margins at this epsilon and delta. Without a delta, the margin "
            f"of one cell would be ± {margin}.",
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
        """Return the margin of one cell if the question were bought by itself: for its own price, or an even part."""
        each = self.epsilon / len(self.workload.distinct) if self.each is None else exact(self.loss_of(facts))
        return alone_margin(facts, each, self.confidence)

    def margin_words(self) -> tuple[str, ...]:
        """Return what to expect of every question, a sentence each."""
        found = []
        for facts in self.workload.distinct:
            each, together = self.margins_of(facts)
            behind = table_of(facts)
            read = "" if behind is facts else f", read off a table of {len(each)} counts"
            text = f"{words_of(facts.canonical)}{read}: ± {show_margin(float(each.max()), whole=True)} {behind.unit}"
            if len(each) > 1:
                text += f", all {len(each)} cells at once ± {show_margin(together, whole=True)}"
            own = "" if self.each is None else f" for epsilon {self.loss_of(facts):g}"
            text += f" (bought one by one{own}: ± {show_margin(self.alone(facts), whole=True)})"
            found.append(" ".join([text + ".", *self.delta_words(facts)]))
        return tuple(found)


@dataclass(frozen=True, kw_only=True)
class TableEstimate:
    """One measured table: what estimators of other statistics start from. Cells by column, all other rows last.

    Attributes:
        keys: Column -> public keys or ``Bins``.
        noisy: The cells as the noise left them, in rows.
        linear: The consistent estimate: unbiased, with ``covariance``; some cells may be below 0.
        fitted: The nearest consistent cells of at least 0: what releases show.
        noise: The noise of one noisy cell, in steps.
        per_row: Steps per row.
        covariance: Of the cells of ``linear`` in C order, in squared rows; ``Measurement.covariance`` gives that of any
            sums, across tables too.
    """

    keys: Mapping[str, Any]
    noisy: Floats
    linear: Floats
    fitted: Floats
    noise: CellNoise | PairCells
    per_row: int
    covariance: Floats


def _sorted_blocks(weights: Floats, layout: PairLayout) -> Floats:
    """Return weights of a pair's cells, sum by sum, in one order: cells of a block's table, and blocks, are alike."""
    first = layout.sizes[0]
    found = np.concatenate([np.sort(weights[:, :, :first], axis=2), np.sort(weights[:, :, first:], axis=2)], axis=2)
    for place, blocks in enumerate(found):
        found[place] = blocks[np.lexsort(blocks.T[::-1])]
    return found + 0.0  # no minus 0


def alone_margin(facts: Facts, epsilon: Fraction, confidence: float) -> float:
    """Return the margin of one cell of a table that is bought by itself."""
    steps = facts.bound.scale
    return margin_steps(facts.rows * steps / epsilon, coverage=confidence) / steps


def check_delta(delta: Any) -> Fraction:
    """Return a delta as the exact number that it must be."""
    found = exact(delta, name="delta")
    if not 0 < found < 1:
        raise ParameterError(f"delta must lie strictly between 0 and 1. Got {float(found):g}.")
    return found


def _floor(numbers: Floats) -> Floats:
    found: Floats = np.floor(numbers * 1e4) / 1e4
    return found


def round_up(numbers: Floats) -> Floats:
    """Return numbers rounded up to four digits after the point, so that a margin still covers."""
    found: Floats = np.ceil(numbers * 1e4 - 1e-6) / 1e4
    return found
