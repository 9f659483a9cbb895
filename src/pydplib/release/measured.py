"""Measured tables: several tables of counts bought as one release, and made to agree with each other.

``Workload`` is several questions against a schema, ``Measurement`` the same at a price, ``MeasuredTables`` what comes
out: one ledger entry, one stored release, one receipt. What further questions the tables answer costs nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
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
from pydplib.release.cell_noise import CellNoise, GaussianCells, LaplaceCells
from pydplib.release.consistent import Layout, best_shares, estimator, fit_non_negative, sum_margin, terms_of
from pydplib.release.facts import Facts
from pydplib.release.group_quantiles import Reaches
from pydplib.release.measured_tables import MeasuredTables
from pydplib.release.public import check_epsilon
from pydplib.release.release import Release
from pydplib.release.statistics.count import Counting
from pydplib.release.statistics.noise import COVERAGE, check_confidence, margin_steps
from pydplib.release.statistics.quantiles import OfRanks
from pydplib.release.statistics.question import Question
from pydplib.release.words import (
    MEASURED,
    MEASURED_GAUSSIAN,
    show_margin,
    show_number,
    words_of,
)
from pydplib.schema import Schema

Integers: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]

LEDGER_WORD = "laplace_tables"
"""What the ledger calls the noise: by it, a recipient's tables are found again."""

GAUSSIAN_WORD = "gaussian_tables"
"""What the ledger calls Gaussian noise."""

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
    def plan(self) -> Plan:
        """What the engine counts."""
        return self.facts.plan([Measure("count")])

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
        return self._best_shares(power=2)

    @cached_property
    def gaussian_shares(self) -> tuple[Fraction, ...]:
        """The part of rho that each table gets with Gaussian noise."""
        return self._best_shares(power=1)

    def _best_shares(self, *, power: int) -> tuple[Fraction, ...]:
        rows = [float(block.facts.rows) for block in self.blocks]
        return best_shares(self.relations, self.tables.tolist(), rows, power=power)

    def at(self, epsilon: Any, delta: Any = None, *, confidence: float = COVERAGE) -> Measurement:
        """Return the questions with their noise and cost at a given privacy loss of all of them together.

        Args:
            epsilon: The privacy loss of all tables together.
            delta: The chance that epsilon may fail; then the noise is Gaussian if that has the smaller margins.
            confidence: How often margins and intervals cover.
        """
        loss, sure = check_epsilon(epsilon), check_confidence(confidence)
        pure = Measurement(self, loss, self.shares, sure)
        if delta is None:
            return pure
        gaussian = Measurement(self, loss, self.gaussian_shares, sure, check_delta(delta))
        return min(pure, gaussian, key=lambda made: made.widest)

    def cheapest(self, each: Sequence[Fraction], *, confidence: float = COVERAGE) -> Measurement:
        """Return the questions at the smallest epsilon at which no margin is larger than that of the question alone.

        Epsilon is split so that the largest error, relative to that of the table alone at its own price, is smallest,
        and lowered until one margin meets it. All of it follows from public facts.

        Args:
            each: What each question would cost alone, in the order in which they were asked.
            confidence: How often margins and intervals cover.
        """
        sure, own = check_confidence(confidence), self._own_losses(each)
        names = [canonical_json(facts.canonical) for facts in self.distinct]
        losses = [Fraction(0)] * len(self.blocks)
        for facts, loss in zip(self.distinct, own, strict=True):
            place = next(i for i, block in enumerate(self.blocks) if block.identity == block_of(facts).identity)
            losses[place] = max(losses[place], loss)
        rows = [float(block.facts.rows) for block in self.blocks]
        targets = [size / float(loss) for size, loss in zip(rows, losses, strict=True)]
        shares = best_shares(self.relations, self.tables.tolist(), rows, targets=targets)
        wanted = {
            name: alone_margin(facts, loss, sure) for name, facts, loss in zip(names, self.distinct, own, strict=True)
        }
        most = sum(losses, Fraction(0))

        def excess(made: Measurement) -> float:
            return max(
                float(made.margins_of(facts)[0].max()) / wanted[name]
                for name, facts in zip(names, self.distinct, strict=True)
            )

        epsilon = most
        for _ in range(12):
            made = Measurement(self, epsilon, shares, sure, each=own)
            over = excess(made)
            if over <= 1 and epsilon != most:
                return made
            step = Fraction(math.ceil(float(epsilon) * over * (1.0 if epsilon == most else 1.0005) * 1e5), 100_000)
            if step >= most:
                break
            epsilon = step
        # Each table at its own price: consistency cannot make that worse.
        return Measurement(self, most, tuple(loss / most for loss in losses), sure, each=own)

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
    """

    workload: Workload
    epsilon: Fraction
    shares: tuple[Fraction, ...]
    confidence: float = COVERAGE
    delta: Fraction | None = None
    each: tuple[Fraction, ...] | None = None

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
        found = cls(workload, Fraction(stored.exact_epsilon), shares, stored.confidence, delta, each)
        sizes = [block.cells for block in workload.blocks]
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
        return MEASURED if self.delta is None else MEASURED_GAUSSIAN

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
        any table is made, and each row is in one cell. So table A is share(A) epsilon-DP. The shares sum to 1, and
        privacy losses of tables over the same or other rows of the same persons add up: all together are epsilon-DP.
        Nothing is gained from conditions that exclude each other.
        """
        pairs = zip(self.workload.blocks, self.shares, strict=True)
        return tuple(block.reach / (share * self.epsilon) for block, share in pairs)

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
    def noises(self) -> tuple[CellNoise, ...]:
        """The noise of each table's cells, in steps."""
        if self.delta is None:
            return tuple(LaplaceCells(scale) for scale in self.scales)
        return tuple(GaussianCells(square) for square in self.squares)

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
        return estimator(self.workload.relations, self.variances)

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
        found: Floats = (linear * self.variances) @ linear.T
        return found

    def margins(self, weights: Floats, miss: float) -> Floats:
        """Return margins of weighted sums of noisy cells, a row each, that miss with a chance of at most ``miss``."""
        blocks, tables = self.workload.blocks, self.workload.tables
        rows = np.abs(weights).round(7)
        for table in range(len(blocks)):  # tables have one scale each: the order of their cells tells nothing
            rows[:, tables == table] = np.sort(rows[:, tables == table], axis=1)
        noises = [self.noises[table] for table in tables]
        steps = [blocks[table].facts.bound.scale for table in tables]
        known: dict[bytes, float] = {}
        for row in rows:
            text = row.tobytes()
            if text not in known:
                known[text] = sum_margin(terms_of(row, noises, steps), miss)
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
            noise.add(cells, reach=block.reach).astype(np.float64) / block.facts.bound.scale
            for cells, noise, block in zip(exact, self.noises, self.workload.blocks, strict=True)
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
        )
        linear, fitted = self.estimate(whole.noisy)
        return replace(whole, releases=tuple(self.read(facts, linear, fitted) for facts in self.workload.distinct))

    def estimate(self, noisy: Sequence[Sequence[float]]) -> tuple[Floats, Floats]:
        """Return the consistent cells of all tables: the linear estimate, and the nearest ones of at least 0."""
        linear = self._matrix @ np.concatenate([np.asarray(cells, dtype=np.float64) for cells in noisy])
        return linear, fit_non_negative(linear, self._matrix)

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
            cells = raw.reshape(shape), linear[own].reshape(shape), fitted[own].reshape(shape)
            found.append(TableEstimate(block.keys, *cells, noise, block.facts.bound.scale, self._covariance_at(own)))
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
        return self if self.delta is None else replace(self, shares=self.workload.shares, delta=None)

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


@dataclass(frozen=True)
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
    noise: CellNoise
    per_row: int
    covariance: Floats


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
