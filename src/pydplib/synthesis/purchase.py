"""Buying a synthetic table: agreed from public facts, debited, then measured, fitted, stored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.budget.conversion import most_nano_rho
from pydplib.budget.costs import Cost
from pydplib.budget.keys import ReleaseKey, canonical_json, sha256_hex
from pydplib.budget.units import ATTO, NANO, ceil_units
from pydplib.budget.workflow import Reservation
from pydplib.capture import Template
from pydplib.engine import Bound, OneRow, Plan, Table, load
from pydplib.errors import ParameterError, QuestionError
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.noise.randomness import random_bytes
from pydplib.policy import OutputLabel, Policy, check_spend, label_of_noise_factor, parse_noise_factor, settle_epsilon
from pydplib.release.joint.measured import check_delta
from pydplib.release.joint.purchases import check_kept_delta
from pydplib.release.prices import NEEDS_SIZE, Price
from pydplib.release.public import check_epsilon
from pydplib.release.session import Session
from pydplib.schema import Schema
from pydplib.synthesis.counters import EngineCounter
from pydplib.synthesis.domain import Variable, relations_of, variables_of
from pydplib.synthesis.draws import whole_weights
from pydplib.synthesis.mechanism import (
    CELLS_CAP,
    DECLARED_SHARE,
    FIRST_SHARE,
    MOST_MERGED,
    Measured,
    Progress,
    Settings,
    Spending,
    Unit,
    measure,
    share_in_search,
    share_without_search,
)
from pydplib.synthesis.model import NoisyTable
from pydplib.synthesis.rules import (
    MOST_COUNTED,
    CellRule,
    Impossible,
    cell_rules,
    edges_of,
    possible_cells,
    with_deciding,
    with_edges,
)
from pydplib.synthesis.table import MECHANISM, SyntheticTable, expected_distance
from pydplib.synthesis.tree import Columns, tree_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 2
"""Counts up when the same purchase would be measured in another way."""

WORTHLESS, POOR = 0.2, 0.1
"""Expected distance of the columns with the whole budget beyond which a table is refused, or comes with a warning."""


@dataclass(frozen=True, kw_only=True)
class SyntheticDesign:
    """Everything public about a synthetic table before it is bought.

    Attributes:
        schema: The declarations.
        variables: The columns and their cells.
        relations: Declared relations, as places of columns.
        bound: How one person's rows count.
        find: Whether further relations are searched for.
        epsilon: The privacy loss.
        delta: Of the guarantee; None for a pure one.
        rules: Combinations that cannot be.
        notes: What else a reader must know.
    """

    schema: Schema
    variables: tuple[Variable, ...]
    relations: tuple[Columns, ...]
    bound: Bound
    find: bool
    epsilon: Fraction
    delta: Fraction | None
    rules: tuple[CellRule, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def one_row(self) -> bool:
        """Whether everybody counts with one row."""
        return self.bound.mode == "row" or self.bound.person is None

    @property
    def counted(self) -> str:
        """What one row of the table stands for."""
        if self.bound.person is None:
            return "each row counts as one person"
        if self.bound.mode == "row":
            return f"one row of each person: {OneRow(self.bound.rule, self.bound.order)}"  # type: ignore[arg-type]
        return f"rows, weighed so that at most {self.bound.max_rows} of one person count in full"

    @property
    def budget(self) -> Fraction:
        """Epsilon of a pure table; rho elsewhere."""
        if self.delta is None:
            return self.epsilon
        nano_rho = most_nano_rho(int(self.epsilon * NANO), int(self.delta * ATTO))
        if nano_rho <= 0:
            raise ParameterError("This epsilon and delta leave nothing to spend. Use a larger one.")
        return Fraction(nano_rho, NANO)

    @property
    def spending(self) -> Spending:
        """The budget, not yet spent."""
        scale = self.bound.scale
        return Spending(self.budget, self.delta is None, Unit(scale, self.bound.max_rows * scale))

    @property
    def cost(self) -> Cost:
        """What will be debited, once."""
        if self.delta is None:
            return Cost.pure(self.epsilon, mechanism=MECHANISM)
        return Cost(MECHANISM, "add_remove", None, ceil_units(self.budget, NANO))

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """What will be guaranteed."""
        return PureDP(float(self.epsilon)) if self.delta is None else ApproxDP(float(self.epsilon), float(self.delta))

    @property
    def canonical(self) -> dict[str, Any]:
        """The purchase in its one spelling."""
        found = {
            "ask": "synthesize",
            "columns": [variable.to_dict() for variable in self.variables],
            "relations": [[self.variables[c].name for c in columns] for columns in self.relations],
            "bound": self.bound.to_dict(),
            "find": self.find,
        }
        names = [variable.name for variable in self.variables]
        return found | {"impossible": [rule.to_dict(names) for rule in self.rules]} if self.rules else found

    @property
    def parameters(self) -> dict[str, Any]:
        """What else decides the answer, for the key of the release."""
        # Which row of a person counts depends on every column that orders rows: all of them are declared here.
        used = sorted({name for plan in self.plans for name in plan.read})
        columns = {name: self.schema.column(name).to_dict() for name in used}
        declared = {"table": self.schema.name, "columns": columns}
        found = {"declared": sha256_hex(canonical_json(declared)), "epsilon": str(self.epsilon), "version": VERSION}
        return found if self.delta is None else found | {"delta": str(self.delta)}

    @property
    def words(self) -> str:
        """The purchase in words."""
        return f"synthetic table of {', '.join(variable.name for variable in self.variables)}"

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What engines are asked, as far as stored types matter."""
        counter = EngineCounter(_Unread(self.schema), self.variables, self.bound)  # type: ignore[arg-type]
        return tuple(counter.plan((place,)) for place in range(len(self.variables)))

    def distance(self, size: float | None) -> float | None:
        """Return the expected mean total variation of the columns with the whole budget; None without a size."""
        if size is None or size < 1:
            return None
        variance = self.spending.variance(self.budget / len(self.variables))
        each = [expected_distance(NoisyTable((0,), np.zeros(v.size), variance), size) for v in self.variables]
        return sum(each) / len(each)

    def expect(self, size: float | None) -> ExpectedNoise:
        """Return what noise will do to the table, from what is agreed; without a size no distance is known."""
        spending, shape = self.spending, [variable.size for variable in self.variables]
        width, declared = len(shape), len(self.relations)
        searching = self.find and width > 1
        first = DECLARED_SHARE if searching and declared else Fraction(0)
        share = FIRST_SHARE if searching else share_without_search(width, self.relations)

        def variances(part: Fraction) -> list[float]:
            return [self._column_variance(place, shape, part, each, size) for place in range(width)]

        def distance(found: list[float]) -> float:
            tables = [NoisyTable((0,), np.zeros(cells), v) for cells, v in zip(shape, found, strict=True)]
            return sum(expected_distance(table, size or 1.0) for table in tables) / width

        parts = self.budget * (first if searching else 1 - share)
        each = spending.variance(parts / declared) if declared else math.inf
        columns = variances(self.budget * (1 - first) * share / width)
        if searching and size is not None and size >= 1:
            share = share_in_search(distance([spending.variance(self.budget * (1 - first) * share / width)] * width))
            columns = variances(self.budget * (1 - first) * share / width)
        known = size is not None and size >= 1
        moved = distance(columns) if known else None
        alone = spending.variance(self.budget * (1 - first) * share / width)
        named = {place for columns in self.relations for place in columns}
        cut = any(self._may_merge(place, alone, each, size) for place in named)
        return ExpectedNoise(max(columns), each if declared else None, moved, searching or cut)

    def _may_merge(self, place: int, own: float, each: float, size: float | None) -> bool:
        """Return whether bins of a column may be counted in groups within a relation, as the mechanism decides it."""
        if not self.variables[place].column.is_ranged:
            return False
        return size is None or MOST_MERGED * math.sqrt(size * math.sqrt(each)) > math.sqrt(own)

    def _column_variance(
        self, place: int, shape: Sequence[int], part: Fraction, each: float, size: float | None
    ) -> float:
        """Return the variance of one value of a column: counted by itself, or summed over a declared relation.

        A relation that counts bins in groups says nothing about single ones.
        """
        own = [self.spending.variance(part)]
        held = [columns for columns in self.relations if place in columns]
        if self._may_merge(place, own[0], each, size):
            held = []
        return min(own + [each * math.prod(shape[c] for c in columns if c != place) for columns in held])

    def check_worth(self, size: float | None) -> tuple[str, ...]:
        """Refuse a table that public facts say is worthless; return a warning for a poor one."""
        distance = self.distance(size)
        if distance is None or distance <= POOR:
            return ()
        enough = float(self.epsilon) * distance / POOR
        words = (
            f"With epsilon {float(self.epsilon):g} for {len(self.variables)} columns and about {size:.0f} persons, "
            f"noise alone moves the shares of a column by {100 * distance:.0f} % on average. Take fewer columns, or "
            f"epsilon of at least {enough:.2g}."
        )
        if distance > WORTHLESS:
            raise ParameterError(f"{words} Nothing was spent.")
        return (words,)


@dataclass(frozen=True)
class ExpectedNoise:
    """What noise will do to a synthetic table, known before it is bought.

    Attributes:
        column: The variance of one value of the noisiest column, in persons.
        relation: That of one cell of a declared relation; None where there is none.
        distance: The expected share by which noise moves a column (total variation); None without a size.
        at_most: Whether the distance may be smaller: what a search leaves goes to the columns, and a relation may tell
            more about single bins than their column.
    """

    column: float
    relation: float | None
    distance: float | None
    at_most: bool = False

    @property
    def cell(self) -> float:
        """The variance of what was asked for: a cell of a declared relation, or else of a column."""
        return self.column if self.relation is None else self.relation

    @property
    def margin(self) -> float:
        """How far noise moves such a cell in 95 of 100 tables, one person of rounding included."""
        return 1.96 * math.sqrt(self.cell) + 1

    @property
    def distance_words(self) -> str:
        """The distance for readers; empty where nobody knows."""
        if self.distance is None:
            return ""
        return f"{'at most about' if self.at_most else 'about'} {100 * self.distance:.1f} %"

    @property
    def words(self) -> str:
        """The margins for readers."""
        columns = f"± {1.96 * math.sqrt(self.column) + 1:.0f} persons in a value of a column"
        if self.relation is None:
            return columns
        return f"± {self.margin:.0f} persons in a cell of a declared relation, at most {columns}"


@dataclass(frozen=True)
class _Unread:
    """Stands for a table where only plans are made."""

    schema: Schema


def bound_of(schema: Schema, of: Any, variables: Sequence[Variable]) -> Bound:
    """Return how one person's rows count.

    Args:
        schema: The declarations.
        of: ``"persons"`` (one row of each: the first by the first date column, or by the table's columns), a rule
            such as ``Person("patient_id").last_row(order="day")``, or ``"rows"`` (all rows, with weights).
        variables: The columns.
    """
    if isinstance(of, OneRow):
        return of.bound(schema)
    if of == "rows" or schema.person is None:
        if of not in ("rows", "persons"):
            raise QuestionError(
                "of= is 'persons', 'rows', or one row of each person: Person('id').last_row(order='day')."
            )
        return Bound.from_schema(schema)
    if of != "persons":
        raise QuestionError("of= is 'persons', 'rows', or one row of each person: Person('id').last_row(order='day').")
    days = [name for name, column in schema.columns.items() if column.widget == "date"]
    order = days[:1] or [variable.name for variable in variables]
    return OneRow("first", tuple(order)).bound(schema)


def design(
    session: Session,
    *,
    columns: Iterable[str] | Mapping[str, Any] | None,
    relations: Iterable[Iterable[str]],
    of: Any,
    find: bool,
    epsilon: float | None,
    delta: float | None,
    noise_factor: str | int | None,
    buy: bool,
    impossible: Template | Iterable[Impossible] = (),
) -> tuple[SyntheticDesign, tuple[str, ...]]:
    """Return a purchase that the role's cap and the policy let out, with notes; by public facts alone.

    Raises:
        ParameterError: Neither epsilon nor noise factor, or a table that public facts say is worthless.
        PolicyError: The role may not get this.
    """
    schema = session.table.schema
    edges = edges_of(impossible, schema)
    variables = tuple(with_edges(v, edges.get(v.name, ())) for v in variables_of(schema, columns))
    declared = relations_of(variables, relations)
    rules, not_kept = cell_rules(impossible, variables)
    _check_rules(rules, declared, variables)
    bound = bound_of(schema, of, variables)
    limit = session.quote().left.limit
    own_delta = limit.atto_conversion  # what the account itself converts rho with
    if delta and not own_delta:
        raise ParameterError(
            "This budget is pure, and so is everything bought from it: leave delta= out (discrete Laplace noise). For "
            "Gaussian noise, which is smaller here, open a budget with a delta: budget=dp.ApproxDP(1.0, 1e-6)."
        )
    chance = None if not own_delta or delta == 0 else Fraction(own_delta, ATTO)
    if delta:
        chance = check_delta(delta)
        check_kept_delta(limit, chance)
    draft = SyntheticDesign(
        schema=schema,
        variables=variables,
        relations=declared,
        bound=bound,
        find=bool(find),
        epsilon=Fraction(1),
        delta=chance,
        rules=rules,
        notes=not_kept,
    )
    loss, label, notes = _agree(session, draft, epsilon, noise_factor, buy=buy)
    found = replace(draft, epsilon=loss)
    session.check_fields([variable.name for variable in variables], label, float(loss), synthetic=True)
    return found, (*notes, *found.check_worth(session.size))


def _check_rules(rules: Sequence[CellRule], declared: Sequence[Columns], variables: Sequence[Variable]) -> None:
    """Refuse rules that would need tables beyond reach; by public facts alone."""
    shape = [variable.size for variable in variables]
    if rules and tree_cells(shape, possible_cells(rules)) > 5 * CELLS_CAP:
        raise QuestionError("The rules tie too many columns together for one table. Name fewer columns: columns=[...].")
    for columns in declared:
        counted = math.prod(shape[place] for place in with_deciding(rules, columns))
        if counted > MOST_COUNTED:
            names = " x ".join(variables[place].name for place in columns)
            raise QuestionError(
                f"The relation {names} has {counted} cells with the columns that rules look at. Use wider bins or "
                "fewer columns."
            )


def _agree(
    session: Session, draft: SyntheticDesign, epsilon: float | None, noise_factor: str | int | None, *, buy: bool
) -> tuple[Fraction, OutputLabel, tuple[str, ...]]:
    """Return epsilon, the label of the output, and notes."""
    if epsilon is not None:
        if noise_factor is not None:
            raise ParameterError("Give one of epsilon and noise_factor.")
        loss = check_epsilon(epsilon)
        check_spend(float(loss), session.cap)
        return loss, session.policy.label_of_epsilon(float(loss)), ()
    factor = session.noise_factor if noise_factor is None else parse_noise_factor(noise_factor)
    if factor is None:
        raise ParameterError(
            "Choose epsilon= or noise_factor=. There is no default (but a session with role= has the role's noise "
            "factor)."
        )
    label, notes = label_of_noise_factor(factor), list[str]()
    session.check_fields([variable.name for variable in draft.variables], label, 1e-6, synthetic=True)
    if session.size is None and buy and session.size_epsilon is not None:
        session.buy_size()
        notes.append(f"The number of rows was bought as well, once, for epsilon {float(session.size_epsilon):g}.")
    if session.size is None:
        raise ParameterError(f"A noise factor {NEEDS_SIZE}")
    low, high = Fraction(1, 10**6), Fraction(1000)
    for _ in range(60):  # the smallest epsilon whose columns are within the factor's band
        middle = (low + high) / 2
        distance = replace(draft, epsilon=middle.limit_denominator(10**6)).distance(session.size) or 0.0
        low, high = (middle, high) if distance > factor.target else (low, middle)
    band = Fraction(math.ceil(high * 1000), 1000)
    used, lowered = settle_epsilon(float(band), session.cap, on_conflict=session.on_conflict)
    if lowered:
        notes.append(
            f"The noise factor '{factor.name}' would need epsilon {float(band):.4g}; the role's cap is {used:g}, so "
            "there is more noise than the band says."
        )
        return Fraction(str(used)), label, tuple(notes)
    return band, label, tuple(notes)


def key_of(session: Session, made: SyntheticDesign) -> ReleaseKey:
    """Return the name of a purchase in the ledger: the same for the same purchase."""
    return ReleaseKey(
        lineage=session.lineage,
        snapshot=session.snapshot,
        question=made.canonical,
        cost=made.cost,
        parameters=made.parameters,
    )


def buy_synthetic(session: Session, *, progress: Progress | None = None, **asked: Any) -> SyntheticTable:
    """Pay, measure, fit, store; what was stored before is handed out again, and nobody looks.

    Proof: ``mechanism.measure`` with the whole budget; the ledger debits exactly that before the engine runs. Rows and
    copies are drawn from what was stored with bits of their own: post-processing. What is agreed and refused before
    depends on public facts and earlier releases alone.
    """
    made, notes = design(session, buy=True, **asked)
    key = key_of(session, made)
    reservation = session.pay(key, made.plans)
    payload = reservation.payload
    if payload is None:
        found = session.look(lambda: replace(answer(made, session.table, progress=progress), key=key.digest))
        payload = session.ledger.finish(reservation, found)
    stored = SyntheticTable.from_json(payload)
    return replace(
        stored,
        remarks=(*notes, *session.remarks_of(reservation)),
        entry=reservation.entry,
        backend=session.table.backend,
    )


def pay_synthetic(session: Session, **asked: Any) -> Reservation:
    """Pay for a synthetic table and look at nothing: ``buy_synthetic`` makes it later, for no further payment."""
    made, _ = design(session, buy=True, **asked)
    return session.pay(key_of(session, made), made.plans)


def price_synthetic(session: Session, **asked: Any) -> Price:
    """Return what a synthetic table would cost and what to expect of it. Touches no data and spends nothing."""
    made, notes = design(session, buy=False, **asked)
    free, quote, more = session.quote_release(key_of(session, made))
    noise = made.expect(session.size)
    expected = (
        ("Its fidelity depends on the number of persons, which is not public.",)
        if noise.distance is None
        else (f"Expected distance of the columns: {noise.distance_words} (total variation).",)
    )
    return Price(
        question=made.words,
        cost=made.cost,
        guarantee=made.guarantee,
        free=free,
        margin=math.ceil(noise.margin),
        margin_unit="value",
        unit="persons",
        noise_percent=None,
        left=quote.left,
        after=quote.after,
        bar=quote.bar,
        notes=(*expected, *notes, *more),
    )


def answer(made: SyntheticDesign, table: Table, *, progress: Progress | None = None) -> SyntheticTable:
    """Look at the data, within the budget. Only ever called after the debit."""
    counter = EngineCounter(table, made.variables, made.bound, made.rules)
    spending = made.spending
    found = measure(
        counter,
        spending,
        ordered=[variable.is_ordered for variable in made.variables],
        listed=[not variable.column.is_ranged for variable in made.variables],
        relations=made.relations,
        settings=Settings(find=made.find),
        possible=possible_cells(made.rules),
        progress=progress,
    )
    return table_of(made, found)


def table_of(made: SyntheticDesign, found: Measured) -> SyntheticTable:
    """Return what was measured as a table that can be stored."""
    pairs = zip(found.model.tree.cliques, whole_weights(found.model), strict=True)
    return SyntheticTable(
        question=made.canonical,
        variables=made.variables,
        one_ways=found.one_ways,
        groups=found.groups,
        relations=found.relations,
        declared=found.declared,
        candidates=found.candidates,
        total=round(found.total, 3),
        cliques=tuple(pairs),
        seed=random_bytes(32).hex(),
        pure=made.delta is None,
        guarantee=made.guarantee,
        cost=made.cost,
        counted=made.counted,
        one_row=made.one_row,
        notes=(*_notes(found), *made.notes),
        rules=made.rules,
    )


def _notes(found: Measured) -> tuple[str, ...]:
    notes = []
    if found.quiet == "gate":
        notes.append(
            "The budget carries no search for relations: all of it went into the columns and declared relations."
        )
    elif found.quiet == "stop":
        notes.append("The search for relations ended early; the rest of the budget went into the columns.")
    if len(found.relations) > found.declared:
        notes.append(
            f"Found relations were chosen among {found.candidates} candidates: their p-values are multiplied by that "
            "number, and their intervals do not cover after selection."
        )
    return tuple(notes)


def synthesize(
    frame: Any,
    schema: Schema,
    *,
    epsilon: float,
    delta: float | None = None,
    columns: Iterable[str] | Mapping[str, Any] | None = None,
    relations: Iterable[Iterable[str]] = (),
    of: Any = "persons",
    find: bool = True,
    impossible: Template | Iterable[Impossible] = (),
    progress: Progress | None = None,
) -> SyntheticTable:
    """Return a synthetic table of a data frame or file: rows of nobody that show what was measured with noise.

    No ledger: what is released is the caller's to add up. With a person column in the schema one person is protected,
    without one, one row.

    Proof: ``purchase.buy_synthetic``.

    Args:
        frame: A data frame, or whatever ``dp.load`` opens.
        schema: What is public about it.
        epsilon: The privacy loss; there is no default.
        delta: With a delta the noise is Gaussian and smaller; without one everything is pure.
        columns: The columns; as a mapping, with the edges or the number of bins of numbers and dates.
        relations: Declared relations, pairs or triples of columns: always measured, and tests hold for them.
        of: ``"persons"``, ``"rows"``, or one row of each person: ``dp.Person("id").last_row(order="day")``.
        find: Whether further relations are searched for.
        impossible: Rules that rows never break, ``[dp.synthesis.Impossible("gleason", when={"tumour": False})]``, or a
            report template as published, whose hidden questions have no answer. Never learnt from the data.
        progress: Called with what is being done, the step and the number of steps.

    Examples:
        >>> import pydplib as dp
        >>> cohort = dp.datasets.pirads()
        >>> table = dp.synthesize(cohort, dp.datasets.pirads_schema(), columns=["pirads", "bph"], epsilon=1.0)
        >>> table.to_frame().columns.tolist()
        ['pirads', 'bph']
    """
    loss = check_epsilon(epsilon)
    budget: PureDP | ApproxDP = PureDP(float(loss))
    if delta is not None:
        if check_delta(delta) >= Fraction(1, 2):
            raise ParameterError(
                "A synthetic table needs a delta below a half, and a sensible one is below a millionth."
            )
        # Half of an account's delta converts rho: twice the delta of the one table that it pays for.
        budget = ApproxDP(float(loss), 2 * delta)
    table = frame if isinstance(frame, Table) else load(frame, schema)
    whole = Policy(data_set_budget=max(1.0, 2 * float(loss)))
    session = Session(table, recipient="notebook", budget=budget, policy=whole, show_data_set=False)
    asked = {"columns": columns, "relations": relations, "of": of, "find": find, "impossible": impossible}
    return buy_synthetic(session, progress=progress, epsilon=float(loss), delta=None, noise_factor=None, **asked)
