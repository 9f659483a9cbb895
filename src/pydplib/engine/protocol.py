"""The one small interface that hides the engines, and the guard that keeps their words inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, runtime_checkable

from numpy.typing import NDArray

from pydplib.engine.exact import ExactTable
from pydplib.engine.plan import Plan
from pydplib.errors import EngineError, PydplibError, QuestionError
from pydplib.schema import Schema

Answer = TypeVar("Answer")


@runtime_checkable
class Engine(Protocol):
    """Where a table lives. Rows never leave it; what comes back is integers per public key."""

    name: str
    schema: Schema

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the plan's integers, one row per public key, zeros where nothing was found."""
        ...

    def tables(self, plans: Sequence[Plan]) -> tuple[NDArray[Any], ...]:
        """Return several tables of counts from one scan: integers by column, one more cell in each for all other rows.

        Tables over the same rows (conditions and bound) count the same bounded rows, each in one cell of each table.
        Samples of rows by a table's own groups have no such cell.
        """
        ...

    def bounded(self, plan: Plan) -> AbstractContextManager[Engine]:
        """Bound the plan's rows once and ask often: an engine for plans that narrow this one."""
        ...

    def explain(self, plan: Plan) -> str:
        """Return what the engine is going to run, for the audit trail. Touches no data."""
        ...


def guarded(engine: str, work: Callable[[], Answer], *, opening: bool = False) -> Answer:
    """Run ``work``; turn whatever the engine says into a generic error.

    An engine's own text may quote cells. The error is raised after the handler has ended, so that
    not even ``__context__`` carries it. A panic of Polars is no ``Exception``, and may quote cells too.
    """
    try:
        return work()
    except PydplibError:
        raise
    except BaseException as fault:  # whatever it is, its text stays inside
        if not isinstance(fault, Exception) and type(fault).__name__ != "PanicException":
            raise
    if opening:
        raise EngineError(
            f"The table could not be opened on {engine}. The engine's own message is withheld, because it may quote "
            "data or a password. Check the address, the name of the table and the right to read it."
        )
    raise EngineError(
        f"The {engine} engine could not run the question. Its own message is withheld, because it may quote "
        "data. See what was run with explain(plan), and check that the table is reachable."
    )


def check_same_table(engine_schema: Schema, plan: Plan) -> None:
    """Refuse a plan that was made for another declared table."""
    if plan.table is not engine_schema and plan.table != engine_schema:
        raise QuestionError("The plan was made for another schema than the one this table was loaded with.")


def check_narrower(outer: Plan, inner: Plan) -> None:
    """Refuse a plan that a bounded table cannot answer: it may only be narrowed."""
    if any(measure.kind == "persons" for measure in inner.measures):
        raise QuestionError("A bounded table no longer knows who has how many rows. Ask the table itself.")
    if inner.bound != outer.bound:
        raise QuestionError("A bounded table keeps its bound; ask it with the same bound.")
    missing = [str(condition) for condition in outer.where if condition not in inner.where]
    missing += [str(condition) for condition in outer.after if condition not in inner.after]
    if missing:
        raise QuestionError("A bounded table may only be narrowed: the plan leaves out " + " and ".join(missing) + ".")
    if outer.bound.mode == "row" and inner.where != outer.where:
        raise QuestionError(
            "Each person's row is chosen already: narrow this table by after=, where= must stay the same."
        )
    if outer.bound.mode == "sample" and dict(inner.by) != dict(outer.by):
        raise QuestionError("A sampled table keeps its groups: by= must stay the same.")
    absent = sorted(set(inner.columns) - set(outer.columns))
    if absent:
        raise QuestionError(f"The bounded table was made without the column(s) {', '.join(absent)}.")
