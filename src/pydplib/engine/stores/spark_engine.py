"""Spark, where one machine is not enough: a DataFrame of a session, or Parquet on a cluster."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from pydplib.engine.answers import check_unique
from pydplib.engine.marginals import READ, Rows, columns_read, tables_sql
from pydplib.engine.plan import Plan
from pydplib.engine.protocol import Engine, check_same_table, guarded
from pydplib.engine.sql.plans import SqlSource
from pydplib.engine.sql.server_dialects import SparkDialect
from pydplib.engine.sql.sql_engine import BoundedEngine, SqlEngine
from pydplib.errors import import_extra
from pydplib.schema import Schema

_DIALECT = SparkDialect()


class SparkEngine(SqlEngine):
    """A Spark DataFrame, asked in SQL. A lost executor's part is computed again: the integers stay the same."""

    def __init__(
        self,
        session: Any,
        view: str,
        schema: Schema,
        source: SqlSource,
        *,
        close: Callable[[], None] | None = None,
    ) -> None:
        def run(statement: str) -> Sequence[Sequence[Any]]:
            return [tuple(row) for row in session.sql(statement).collect()]

        def finish() -> None:
            session.catalog.dropTempView(view)
            if close is not None:
                close()

        super().__init__("Spark", schema, dialect=_DIALECT, source=source, run=run, close=finish)
        self._session = session

    def _tables_rows(self, groups: Sequence[Rows]) -> Sequence[Sequence[Any]]:
        """Return what all tables answer: the columns are read once into the cluster's memory and onto its disks."""
        name = f"{READ}_{uuid.uuid4().hex}"
        select = f"SELECT {columns_read(self._compiler, groups)} FROM {self._compiler.source.text}"
        with self._lock:
            frame = guarded(self.name, lambda: self._session.sql(select).persist())
            try:
                guarded(self.name, lambda: frame.createOrReplaceTempView(name))
                return self._answer(tables_sql(self._compiler.on(name), groups, is_read=True))
            finally:
                guarded(self.name, lambda: (self._session.catalog.dropTempView(name), frame.unpersist()))

    @contextmanager
    def bounded(self, plan: Plan) -> Iterator[Engine]:
        """Bound once and keep the rows in the cluster's memory and on its disks until the end."""
        check_same_table(self.schema, plan)
        name = f"pydplib_bounded_{uuid.uuid4().hex}"
        select = self._compiler.bounded(plan)
        with self._lock:
            frame = guarded(self.name, lambda: self._session.sql(select).persist())
            guarded(self.name, lambda: frame.createOrReplaceTempView(name))
        try:
            yield BoundedEngine(self, plan, name)
        finally:
            with self._lock:
                guarded(self.name, lambda: (self._session.catalog.dropTempView(name), frame.unpersist()))


def from_frame(frame: Any, schema: Schema, *, close: Callable[[], None] | None = None) -> SparkEngine:
    """Read a DataFrame of a running session, which stays the caller's."""
    view = f"pydplib_{uuid.uuid4().hex}"
    described = guarded(
        "Spark", lambda: [(f.name, f.dataType.simpleString()) for f in frame.schema.fields], opening=True
    )
    check_unique(schema, [name for name, _ in described])
    storages = {name: _DIALECT.storage(kind) for name, kind in described}
    if not _is_pinned(frame):
        used = {*schema.stored, schema.person}
        kept = [_DIALECT.quote(name) for name, _ in described if name in used]
        rows = frame
        frame = guarded("Spark", lambda: _read_once(rows.selectExpr(*kept)), opening=True)
    guarded("Spark", lambda: frame.createOrReplaceTempView(view), opening=True)
    engine = SparkEngine(frame.sparkSession, view, schema, SqlSource(view, storages), close=close)
    engine.address = id(frame.sparkSession)
    return engine


def _read_once(rows: Any) -> Any:
    """Return rows cut off from how they were computed: another reading could give other rows than those weighed.

    They go to the session's checkpoint folder if it has one, else to two executors each, so that one may die.
    """
    context = getattr(rows.sparkSession, "sparkContext", None)  # none in Spark Connect
    if context is not None and context.getCheckpointDir() is not None:
        return rows.checkpoint(eager=True)
    from pyspark import StorageLevel

    return rows.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK_2)


_IN_PLACE = {"Range", "Project", "Filter", "SubqueryAlias", "View", "LocalRelation", "LogicalRelation"}


def _is_pinned(frame: Any) -> bool:
    """Tell whether two readings of a DataFrame give the same rows: files, filtered and renamed, and nothing drawn.

    Samples, limits, joins, shuffles and other people's sources need not; neither does what cannot be looked into.
    """
    try:
        plan = frame._jdf.queryExecution().analyzed()
        nodes = [plan]
        for node in nodes:
            kind = node.getClass().getSimpleName()
            if kind not in _IN_PLACE:
                return False
            if kind == "LogicalRelation" and node.relation().getClass().getSimpleName() != "HadoopFsRelation":
                return False
            children = node.children()
            nodes += [children.apply(i) for i in range(children.size())]
        return bool(plan.deterministic())
    except Exception:  # no plan to look into, as in Spark Connect
        return False


def from_url(url: str, schema: Schema, *, path: str) -> SparkEngine:
    """Open a session on ``spark://host:port`` and read Parquet that all its workers can reach."""
    sql = import_extra("pyspark.sql", what="Reading from Spark", extra="spark")

    def start() -> Any:
        builder = sql.SparkSession.builder.master(url).appName("pydplib")
        builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false")
        if urlsplit(url).hostname in ("127.0.0.1", "localhost"):
            # Spark listens on the machine's outer address otherwise.
            builder = builder.config("spark.driver.host", "127.0.0.1")
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
        return builder.getOrCreate()

    running = sql.SparkSession.getActiveSession()
    session = guarded("Spark", start, opening=True)
    frame = guarded("Spark", lambda: session.read.parquet(path), opening=True)
    # A session that was running before is the caller's to stop.
    return from_frame(frame, schema, close=None if running is not None else session.stop)
