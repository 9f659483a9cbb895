"""A live session as a target: real questions to a real table, paid from a real ledger until it is empty."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib._duckdb_files import connect
from pydplib.attack.answers.targets import Floats, Generator, Target, draw_seed, laplace_likelihood
from pydplib.engine.conditions import Where
from pydplib.engine.load import load
from pydplib.errors import BudgetError
from pydplib.guarantee import PureDP
from pydplib.noise.testing import seeded
from pydplib.policy import Policy
from pydplib.release import Sum
from pydplib.release.session import Session
from pydplib.schema import Column, Integer, Number, Schema


@dataclass(frozen=True)
class LiveSession(Target):
    """A ``Session`` on a table of the attacked values, asked with ``Sum`` and ``Where`` as any partner would.

    Every attack gets a session with a fresh ledger and the whole budget. A question that the ledger
    refuses is NaN; the same question again is free and brings the same answer.

    Args:
        per_question: The epsilon of one question.
        budget: The epsilon of the recipient.
        bounds: Public (low, high) of the values.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> target = LiveSession(per_question=0.5, budget=1.0)
        >>> answers = target.sums(np.ones(6), np.eye(6, dtype=bool)[[0, 0, 1, 2]], rng)
        >>> bool(answers[0] == answers[1]), bool(np.isfinite(answers[2])), bool(np.isnan(answers[3]))
        (True, True, True)
    """

    per_question: float
    budget: float
    bounds: tuple[float, float] = (0.0, 1.0)

    @property
    def name(self) -> str:
        """What is attacked."""
        return f"live session, budget {self.budget:g}"

    @property
    def epsilon(self) -> float:
        """The budget."""
        return self.budget

    def exchanged_epsilon(self, columns: int = 1) -> float:
        """Return the budget, times how far an exchange moves a sum compared with a removal: at most twice it."""
        low, high = self.bounds
        return self.budget * (high - low) / max(abs(low), abs(high))

    @property
    def scale(self) -> float:
        """The scale of the noise of one sum."""
        return max(abs(self.bounds[0]), abs(self.bounds[1])) / self.per_question

    def open(self, values: Floats) -> Any:
        """Return a session with the whole budget on a table of these values, one row per person."""
        return self._session(("value",), values[:, np.newaxis])

    def _session(self, names: tuple[str, ...], table: Floats) -> Any:
        rows = np.ascontiguousarray(table, dtype=np.float64)
        loaded = _table(names, rows.tobytes(), (float(self.bounds[0]), float(self.bounds[1])))
        policy = Policy(data_set_budget=self.budget)  # no other bound than this one
        return Session(loaded, recipient="attacker", budget=PureDP(self.budget), policy=policy)

    def _ask(self, session: Any, column: str, members: NDArray[np.int64] | None) -> float:
        where = () if members is None else (Where("number").is_in(members.tolist()),)
        try:
            return float(session.release(Sum(column, where=where), epsilon=self.per_question).value)
        except BudgetError:
            return float("nan")

    def sums(self, values: Floats, subsets: NDArray[np.bool_], rng: Generator) -> Floats:
        """Return the answers of one session; once the ledger has refused, later questions are not even asked."""
        out = np.full(len(subsets), np.nan)
        session = self.open(values)
        with seeded(draw_seed(rng)):
            for place, subset in enumerate(subsets):
                out[place] = self._ask(session, "value", np.flatnonzero(subset))
                if np.isnan(out[place]):
                    break
        return out

    def sum_error(self, sizes: Floats) -> Floats:
        """Return the standard deviation of the noise, the same for every subset."""
        return np.full_like(sizes, np.sqrt(2) * self.scale)

    def means(self, values: Floats, size: int, rng: Generator, *, people: int | None = None) -> Floats:
        """Return the sum over a declared number of people, from ``size`` sessions that know nothing of each other."""
        with seeded(draw_seed(rng)):
            sums = [self._ask(self.open(values), "value", None) for _ in range(size)]
        return np.array(sums) / (people or len(values))

    def about_each(self, values: Floats, calls: int, rng: Generator) -> Floats:
        """Return what asking for each single person ``calls`` times brings: rows that differ.

        For every person a new attacker with the whole budget.
        """
        answers = np.empty((calls, len(values)))
        with seeded(draw_seed(rng)):
            for person in range(len(values)):
                session = self.open(values)
                for call in range(calls):
                    answers[call, person] = self._ask(session, "value", np.array([person]))
        return answers[:1] if bool((answers == answers[0]).all()) else answers

    def log_likelihood(self, observed: Floats, candidates: Floats) -> Floats:
        """Return the log density of Laplace noise."""
        return laplace_likelihood(observed, candidates, self.scale)

    def column_sums(self, table: Floats, rng: Generator) -> Floats:
        """Return the sum of every column, asked one after the other until the ledger refuses."""
        names = tuple(f"attribute_{place}" for place in range(table.shape[1]))
        session = self._session(names, table)
        out = np.full(len(names), np.nan)
        with seeded(draw_seed(rng)):
            for place, name in enumerate(names):
                out[place] = self._ask(session, name, None)
                if np.isnan(out[place]):
                    break
        return out


@lru_cache(maxsize=4)  # the table is the same for all sessions of an attack; the ledgers are not
def _table(names: tuple[str, ...], rows: bytes, bounds: tuple[float, float]) -> Any:
    table = np.frombuffer(rows, dtype=np.float64).reshape(-1, len(names))
    columns = {name: np.ascontiguousarray(table[:, place]) for place, name in enumerate(names)}
    kinds: dict[str, Column] = {"number": Integer(0, max(len(table) - 1, 1))}
    kinds |= {name: Number(*bounds) for name in names}
    connection = connect(keep_to=())  # nothing but memory
    connection.register("arrays", {"number": np.arange(len(table), dtype=np.int64), **columns})
    connection.execute("create table attacked as select * from arrays")
    connection.unregister("arrays")
    return load(connection, Schema(kinds, name="attacked"), table="attacked")
