"""Polars: the same plan in Polars' own lazy expressions, a second voice next to the SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pydplib.engine.answers import EngineAnswer, check_present, column_names, read_table
from pydplib.engine.bounds import PRIME, WEIGHT_UNIT, fold_text
from pydplib.engine.exact import ExactTable
from pydplib.engine.marginals import Rows, read_tables, rows_of, size_of
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine, check_narrower, check_same_table, guarded
from pydplib.engine.sql.columns import check_storages
from pydplib.engine.stores.polars import polars_columns as words
from pydplib.engine.stores.polars.polars_formulas import computed_rows, row_order, told_persons
from pydplib.errors import QuestionError, SchemaError
from pydplib.schema import Schema, Storage

if TYPE_CHECKING:
    import polars as pl


_PINNED = ("DF [", "Parquet SCAN")


def from_frame(frame: Any, schema: Schema) -> PolarsEngine:
    """Read a Polars DataFrame or LazyFrame."""
    import polars as pl

    # What a lazy frame computes may come out differently when it is computed again; a frame and a file do not.
    is_pinned = isinstance(frame, pl.DataFrame) or frame.explain(optimized=False).startswith(_PINNED)
    return PolarsEngine(frame.lazy(), schema, is_pinned=is_pinned)


class PolarsEngine:
    """A Polars frame; lazy ones (``scan_parquet``) are read in streaming."""

    name = "Polars"

    def __init__(self, frame: pl.LazyFrame, schema: Schema, *, is_pinned: bool = True) -> None:
        self.schema = schema
        self._frame = frame
        self._is_pinned = is_pinned
        self._types = dict(guarded(self.name, frame.collect_schema, opening=True))
        self._names = column_names(schema)
        check_present(schema, self._types)
        check_storages(schema, {name: words.storage_of(self._types[name]) for name in schema.stored})
        if schema.person is not None:
            self._folding(schema.person, "person column")

    def __repr__(self) -> str:
        return f"<{self.name} engine, {len(self.schema.columns)} declared columns>"

    @property
    def frame(self) -> pl.LazyFrame:
        """The rows."""
        return self._frame

    @property
    def person_storage(self) -> Storage:
        """How the person column is stored."""
        return self._folding(self.schema.person or "", "person column")

    def person_expr(self) -> pl.Expr:
        """Return who a row is about; null for nobody."""
        return self._identity(self.schema.person or "", "person column")

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the plan's integers, one row per public key."""
        check_same_table(self.schema, plan)
        if plan.measures[0].kind == "persons":
            frame = self._persons_by_rows(plan)
            return read_table(plan, [EngineAnswer(guarded(self.name, partial(_collected, frame)), (0,), True)])
        if len(plan.measures) > 1 and any(measure.kind == "cells" for measure in plan.measures):
            with self.bounded(plan) as engine:
                return engine.aggregate(plan)
        return self._ask(plan, self._read_once(plan)._bounded(plan))

    def tables(self, plans: Sequence[Plan]) -> tuple[NDArray[Any], ...]:
        """Return several tables of counts from one collection, in which what they share is computed once."""
        for plan in plans:
            check_same_table(self.schema, plan)
        groups = rows_of(plans)
        if not groups:
            return ()
        rows = guarded(self.name, lambda: _collected(self.tables_frame(groups)))
        return guarded(self.name, lambda: read_tables(groups, rows))

    def tables_frame(self, groups: Sequence[Rows]) -> pl.LazyFrame:
        """Return the lazy frame of all tables: (group, places ..., sum)."""
        import polars as pl

        looked_at: dict[str, None] = {}
        for group in groups:
            names = [*group.outer.stored, group.outer.bound.person, group.outer.bound.row_key]
            looked_at.update(dict.fromkeys(name for name in names if name is not None))
        engine, width = self._read_once(looked_at), max(group.width for group in groups)
        parts = []
        for number, group in enumerate(groups):
            bounded = engine._bounded(group.outer)
            if group.has_rest:
                places = [
                    words.key_expr({name: keys}, self.schema, self._names).fill_null(size_of(keys)).alias(f"x{i}")
                    for i, (name, keys) in enumerate(group.cuts)
                ]
            else:
                places = [pl.col("k").cast(pl.Int64).alias("x0")]
            placed = bounded.select(*places, pl.col("w").cast(pl.Int64))
            for cuts in sorted({tuple(sorted(cuts)) for cuts in group.sets}):
                names = [f"x{i}" for i in cuts]
                total = pl.col("w").cast(pl.Int128).sum()
                added = placed.group_by(names).agg(total) if names else placed.select(total)
                empty = pl.lit(None, dtype=pl.Int64)
                own = [pl.col(f"x{i}") if i in cuts else empty.alias(f"x{i}") for i in range(width)]
                parts.append(added.select(pl.lit(number).alias("g"), *own, pl.col("w")))
        return pl.concat(parts)

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound the plan's rows once and keep them in memory."""
        check_same_table(self.schema, plan)
        kept = guarded(self.name, lambda: self._read_once(plan)._bounded(plan).collect(engine="streaming"))
        yield BoundedPolars(self, plan, kept.lazy())

    def explain(self, plan: Plan) -> str:
        """Return Polars' own plan of the question, unoptimised, for the audit trail."""
        check_same_table(self.schema, plan)
        if plan.measures[0].kind == "persons":
            return self._persons_by_rows(plan).explain(optimized=False)
        frames = self._frames(plan, self._bounded(plan))
        return "\n\n".join(frame.explain(optimized=False) for frame, _, _ in frames)

    def rows_per_person(self, plan: Plan) -> pl.LazyFrame:
        """Return persons by their exact number of rows ``n``, before any bound."""
        import polars as pl

        return self._rows(plan).group_by("p").agg(pl.len().cast(pl.Int64).alias("n"))

    def _persons_by_rows(self, plan: Plan) -> pl.LazyFrame:
        import polars as pl

        place = pl.lit(0, dtype=pl.Int64)
        for i, edge in enumerate(plan.measures[0].edges or ()):
            place = pl.when(pl.col("n") >= int(edge)).then(pl.lit(i, dtype=pl.Int64)).otherwise(place)
        persons = self.rows_per_person(plan).select(pl.lit(0).alias("k"), place.alias("cell"))
        return persons.group_by("k", "cell").agg(pl.len())

    def _read_once(self, plan: Plan | Iterable[str]) -> PolarsEngine:
        """Return the engine over what is looked at, read once, where a second reading could give other rows."""
        if self._is_pinned:
            return self
        looked_at: Iterable[str | None] = (
            dict.fromkeys([*plan.stored, plan.bound.person, plan.bound.row_key]) if isinstance(plan, Plan) else plan
        )
        names = [name for name in looked_at if name is not None] or list(self._types)[:1]
        engine = copy(self)
        engine._frame = guarded(self.name, lambda: self._frame.select(names).collect(engine="streaming")).lazy()
        engine._is_pinned = True
        return engine

    def _ask(self, plan: Plan, bounded: pl.LazyFrame) -> ExactTable:
        answers = []
        for frame, measures, is_cells in self._frames(plan, bounded):
            answers.append(EngineAnswer(guarded(self.name, partial(_collected, frame)), measures, is_cells))
        return read_table(plan, answers)

    def _frames(self, plan: Plan, bounded: pl.LazyFrame) -> Iterator[tuple[pl.LazyFrame, tuple[int, ...], bool]]:
        import polars as pl

        if plan.bound.mode != "sample":
            unknown = {f"u{i}": self._names[name] for i, (name, keys) in enumerate(plan.by.items()) if keys is None}
            bounded = bounded.with_columns(
                words.key_expr(plan.by, self.schema, self._names).alias("k"),
                *(pl.col(name).alias(key) for key, name in unknown.items()),
            ).drop_nulls(list(unknown))
        weighed = bounded.filter(pl.col("k").is_not_null())
        groups = ["k", *(f"u{i}" for i, keys in enumerate(plan.by.values()) if keys is None)]
        scalars = [i for i, measure in enumerate(plan.measures) if measure.kind != "cells"]
        if scalars:
            # Values first, sums second: an expression clamped inside agg() is clamped per group.
            values = [self._value(plan, i).alias(f"v{i}") for i in scalars]
            # In 128 bits: a sum of 64 would wrap, and whether it does would depend on the data.
            sums = [(pl.col("w") * pl.col(f"v{i}")).cast(pl.Int128).sum().alias(f"s{i}") for i in scalars]
            yield weighed.with_columns(*values).group_by(groups).agg(*sums), tuple(scalars), False
        for i, measure in enumerate(plan.measures):
            if measure.kind == "cells":
                cell = words.cell_expr(measure, self.schema, self._names[measure.column or ""])
                placed = weighed.with_columns(cell.alias("cell")).filter(pl.col("cell").is_not_null())
                yield placed.group_by("k", "cell").agg(pl.col("w").sum()), (i,), True

    def _value(self, plan: Plan, position: int) -> pl.Expr:
        import polars as pl

        measure = plan.measures[position]
        if measure.column is None:
            return pl.lit(1, dtype=pl.Int64)
        return words.value_expr(measure, self.schema, self._names[measure.column])

    def _bounded(self, plan: Plan) -> pl.LazyFrame:
        import polars as pl

        rows = self._rows(plan)
        if plan.bound.mode == "sample":
            return self._sampled(plan, rows)
        if plan.bound.mode == "row":
            return self._one_row(plan, rows)
        if plan.bound.person is None:
            return rows.with_columns(pl.lit(1, dtype=pl.Int64).alias("w"))
        most = plan.bound.max_rows
        count = pl.col("c").cast(pl.Int64)
        share = pl.when(count <= most).then(pl.lit(WEIGHT_UNIT)).otherwise(most * WEIGHT_UNIT // count)
        weights = rows.group_by("p").agg(pl.len().alias("c")).select("p", share.cast(pl.Int64).alias("w"))
        return rows.join(weights, on="p").drop("p")

    def _rows(self, plan: Plan) -> pl.LazyFrame:
        import polars as pl

        columns = [
            words.column_expr(name, self.schema.columns[name], self._types[name]).alias(self._names[name])
            for name in plan.stored
        ]
        if plan.bound.person is not None:
            columns.append(self._identity(plan.bound.person, "person column").alias("p"))
        if plan.bound.row_key is not None:
            columns.append(self._identity(plan.bound.row_key, "row key").alias("rk"))
        if not columns:  # a bare count still needs one row per row
            columns = [pl.int_range(pl.len()).alias("one")]
        rows = self._frame.select(*columns)
        for name in plan.read:
            rows = computed_rows(rows, name, self.schema, self._names)
        if plan.bound.person is not None:
            rows = rows.filter(pl.col("p").is_not_null())
        met = [words.condition_expr(c, self.schema, self._names) for c in plan.where]
        return rows.filter(*met) if met else rows

    def _identity(self, column: str, what: str) -> pl.Expr:
        import polars as pl

        storage = self._folding(column, what)
        if storage == "text":
            return words.text_expr(pl.col(column))
        if storage == "float":
            return pl.col(column).cast(pl.Float64).fill_nan(None) + 0.0
        return pl.col(column)

    def _folding(self, column: str, what: str) -> Storage:
        if column not in self._types:
            raise SchemaError(f"The table has no column '{column}' to be its {what}.")
        storage = words.storage_of(self._types[column])
        allowed = ("integer", "text", "float", "decimal")
        if storage not in allowed:
            raise SchemaError(f"The {what} '{column}' must hold {' or '.join(allowed)}, not {storage}.")
        return storage

    def _one_row(self, plan: Plan, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return one row of each person, as ``persons`` says."""
        import polars as pl

        bound, steps = plan.bound, [name for name in plan.told if name in self.schema.steps]
        told = told_persons(rows, steps, self.schema, self._names) if steps else None
        if bound.rule == "any" and told is not None:
            chosen = told
        else:
            texts = [name for name in plan.columns if self.schema.cells[name].is_text]
            keys, downwards = row_order(self.schema, self._names, bound.order, descending=bound.is_descending)
            keys = [pl.col("p"), *keys, *(pl.col(self._names[name]) for name in texts)]
            downwards = [False, *downwards, *(False for _ in texts)]
            ordered = rows.sort(keys, descending=downwards, nulls_last=True)
            chosen = ordered.unique("p", keep="first", maintain_order=True)
            chosen = chosen if told is None else chosen.join(told, on="p")
        met = [words.condition_expr(c, self.schema, self._names) for c in plan.after]
        names = [self._names[column] for column in plan.told]
        counted = (chosen.filter(*met) if met else chosen).with_columns(pl.lit(1, dtype=pl.Int64).alias("w"))
        return counted.select(*names, "w")

    def _sampled(self, plan: Plan, rows: pl.LazyFrame) -> pl.LazyFrame:
        import polars as pl

        bound = plan.bound
        unknown = [(i, name) for i, (name, keys) in enumerate(plan.by.items()) if keys is None]
        groups = ["k", *(f"u{i}" for i, _ in unknown)]
        keyed = rows.with_columns(
            words.key_expr(plan.by, self.schema, self._names).alias("k"),
            *(pl.col(self._names[name]).alias(f"u{i}") for i, name in unknown),
        ).drop_nulls(groups)
        folds: dict[str, Storage] = {"p": self._folding(bound.person or "", "person column"), "k": "integer"}
        for i, name in unknown:
            folds[f"u{i}"] = "text" if self.schema.cells[name].is_text else "float"
        content: dict[str, Storage] = {}
        if bound.row_key is not None:
            content["rk"] = self._folding(bound.row_key, "row key")
        else:
            plain = [c for c in plan.columns if not self.schema.cells[c].is_text]
            content = {self._names[c]: "float" for c in plain}
        group_parts = [_poly(_fold(n, s), plan, f"group {n}") for n, s in folds.items()]
        row_parts = [_poly(_fold(n, s), plan, f"row {n}") for n, s in {"p": folds["p"], **content}.items()]
        hashed = keyed.with_columns(
            (pl.sum_horizontal(*group_parts) % PRIME).alias("hg"), (pl.sum_horizontal(*row_parts) % PRIME).alias("hr")
        ).with_columns(_poly(pl.col("hg"), plan, "groups").alias("hg"), _poly(pl.col("hr"), plan, "rows").alias("hr"))
        names = [self._names[column] for column in plan.columns]
        ties = [*(["rk"] if bound.row_key is not None else []), *names]
        inner = groups if bound.max_groups is not None else []
        order = ["p", *inner, "hr", *([] if inner else groups), *ties]
        ranked = hashed.sort(order, nulls_last=False).with_columns(pl.int_range(pl.len()).over("p", *inner).alias("r"))
        kept = ranked.filter(pl.col("r") < bound.max_rows)
        if bound.max_groups is not None:
            chosen = hashed.select("p", *groups, "hg").unique().sort("p", "hg", *groups)
            chosen = chosen.with_columns(pl.int_range(pl.len()).over("p").alias("g"))
            kept = kept.join(chosen.filter(pl.col("g") < bound.max_groups), on=["p", *groups], how="semi")
        return kept.select(*names, *groups, pl.lit(1, dtype=pl.Int64).alias("w"))


class BoundedPolars:
    """A Polars frame whose rows are bounded already: it can only be asked narrower plans."""

    def __init__(self, engine: PolarsEngine, plan: Plan, frame: pl.LazyFrame) -> None:
        self.name = engine.name
        self.schema = engine.schema
        self._engine = engine
        self._plan = plan
        self._frame = frame

    def __repr__(self) -> str:
        return f"<{self.name} engine, bounded: {self._plan.bound!r}>"

    def aggregate(self, plan: Plan) -> ExactTable:
        """Return the integers of a narrower plan, from the rows as they were bounded."""
        return self._engine._ask(plan, self._narrowed(plan))

    def tables(self, plans: Sequence[Plan]) -> tuple[NDArray[Any], ...]:
        """Refuse: a table whose rows are bounded is asked one plan at a time."""
        raise QuestionError("Several tables are counted from the table itself: table.tables(plans).")

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Return this table: it is bounded already."""
        self._narrowed(plan)
        yield self

    def explain(self, plan: Plan) -> str:
        """Return Polars' own plan of the question on the bounded rows."""
        frames = self._engine._frames(plan, self._narrowed(plan))
        return "\n\n".join(frame.explain(optimized=False) for frame, _, _ in frames)

    def _narrowed(self, plan: Plan) -> pl.LazyFrame:
        check_same_table(self.schema, plan)
        check_narrower(self._plan, plan)
        names = self._engine._names
        extra = [
            words.condition_expr(condition, self.schema, names)
            for condition in (*plan.where, *plan.after)
            if condition not in (*self._plan.where, *self._plan.after)
        ]
        return self._frame.filter(*extra) if extra else self._frame


def _collected(frame: pl.LazyFrame) -> list[tuple[Any, ...]]:
    return frame.collect(engine="streaming").rows()


def _poly(value: pl.Expr, plan: Plan, purpose: str) -> pl.Expr:
    """Return the keyed cubic polynomial mod 2^31-1; every product fits into 64 signed bits."""
    a, b, c, d = plan.bound.coefficients(purpose)
    return (((a * value + b) % PRIME * value + c) % PRIME * value + d) % PRIME


def _fold(name: str, storage: Storage) -> pl.Expr:
    """Return a cell as an integer of the hash's field; missing cells fold alike."""
    import polars as pl

    cell = pl.col(name)
    if storage == "text":
        return cell.cast(pl.String).map_batches(_fold_texts, return_dtype=pl.Int64).fill_null(0)
    if storage == "integer":
        return ((cell.cast(pl.Int64) % PRIME + PRIME) % PRIME).fill_null(0)
    number = cell.cast(pl.Float64)
    whole = pl.when(number.abs() < 1e15).then(number.floor()).otherwise(pl.when(number.is_not_null()).then(0.0))
    return ((whole.cast(pl.Int64) % PRIME + PRIME) % PRIME).fill_null(0)


def _fold_texts(texts: pl.Series) -> pl.Series:
    """Fold texts, each different one once."""
    import polars as pl

    different: Sequence[str] = texts.drop_nulls().unique().to_list()
    folded = [fold_text(text) for text in different]
    return texts.replace_strict(pl.Series(different, dtype=pl.String), pl.Series(folded, dtype=pl.Int64), default=None)
