"""A keyed sample as SQL: at most M rows per person, or M rows in each of at most G groups.

Rows and groups are ranked by a cubic polynomial over the integers mod 2^31-1 with secret coefficients;
ties are broken by the values themselves, never by a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydplib.engine.bounds import PRIME
from pydplib.engine.plan import Plan
from pydplib.engine.sql.dialects import Dialect
from pydplib.schema import Storage

if TYPE_CHECKING:
    from pydplib.engine.sql.plans import Compiler


def sampling_sql(compiler: Compiler, plan: Plan) -> str:
    """Return the WITH clauses whose last one, ``bounded``, holds the sampled rows and their groups."""
    bound, names, dialect = plan.bound, compiler.names(plan), compiler.dialect
    unknown = [(i, name) for i, (name, keys) in enumerate(plan.by.items()) if keys is None]
    keys = [f"{compiler.key_sql(plan.by)} AS k", *(f"{compiler.name(name)} AS u{i}" for i, name in unknown)]
    groups = ["k", *(f"u{i}" for i, _ in unknown)]
    present = " AND ".join(f"{group} IS NOT NULL" for group in groups)
    carried = ["p", *names, *(["rk"] if bound.row_key is not None else [])]
    texts = {name for name in plan.columns if compiler.schema.cells[name].is_text}
    folded = {"p": _fold(dialect, "p", compiler.person_storage(bound.person or "")), "k": dialect.as_bigint("k")}
    folded |= {f"u{i}": _fold(dialect, f"u{i}", "text" if name in texts else "float") for i, name in unknown}
    if bound.row_key is not None:
        content = {"rk": _fold(dialect, "rk", compiler.storage(bound.row_key))}
    else:
        content = {
            name: _fold(dialect, name, "float") for name in (compiler.name(c) for c in plan.columns if c not in texts)
        }
    folds = ", ".join(f"{text} AS f_{name}" for name, text in (folded | content).items())
    group_hash = _mix([_poly(f"f_{name}", plan, f"group {name}") for name in folded])
    row_hash = _mix([_poly(f"f_{name}", plan, f"row {name}") for name in ("p", *content)])
    # The tie-break is the whole row: what remains tied is equal in everything the plan looks at.
    ties = [f"{tie}{dialect.nulls_first}" for tie in (["rk"] if bound.row_key else []) + names]
    partition = ["p", *groups] if bound.max_groups is not None else ["p"]
    order = ["hr", *([] if bound.max_groups is not None else groups), *ties]
    ranks = [f"ROW_NUMBER() OVER (PARTITION BY {', '.join(partition)} ORDER BY {', '.join(order)}) AS r"]
    limit = f"r <= {bound.max_rows}"
    if bound.max_groups is not None:
        ranks.append(f"DENSE_RANK() OVER (PARTITION BY p ORDER BY hg, {', '.join(groups)}) AS g")
        limit += f" AND g <= {bound.max_groups}"
    step = dialect.step
    return (
        f"WITH {compiler.reading(plan)}rows_ AS {step}(\n{compiler.rows(plan)}\n),\n"
        f"keyed AS {step}(SELECT {', '.join([*carried, *keys])} FROM rows_),\n"
        f"folded AS {step}(SELECT *, {folds} FROM keyed WHERE {present}),\n"
        f"mixed AS {step}(SELECT *, {group_hash} AS mg, {row_hash} AS mr FROM folded),\n"
        f"hashed AS {step}"
        f"(SELECT *, {_poly('mg', plan, 'groups')} AS hg, {_poly('mr', plan, 'rows')} AS hr FROM mixed),\n"
        f"ranked AS (SELECT *, {', '.join(ranks)} FROM hashed),\n"
        f"bounded AS (SELECT {', '.join([*names, *groups])} FROM ranked WHERE {limit})"
    )


def _poly(value: str, plan: Plan, purpose: str) -> str:
    a, b, c, d = plan.bound.coefficients(purpose)
    return f"(((({a} * {value} + {b}) % {PRIME} * {value} + {c}) % {PRIME} * {value} + {d}) % {PRIME})"


def _mix(parts: Sequence[str]) -> str:
    return f"(({' + '.join(parts)}) % {PRIME})"


def _fold(dialect: Dialect, cell: str, storage: Storage) -> str:
    # COALESCE: missing cells hash alike, and the tie-break orders them.
    return f"COALESCE({dialect.fold(cell, storage)}, 0)"
