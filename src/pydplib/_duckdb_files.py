"""Files in DuckDB by their literal names: no patterns, no folders as columns, no lines taken for comments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydplib.errors import DataError, EngineError, looks_like_names

_SIGNS = "*?["  # what DuckDB reads as a pattern


def sql_text(text: str) -> str:
    """Return a text for SQL.

    Examples:
        >>> sql_text("it's")
        "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Return a column's name for SQL.

    Examples:
        >>> sql_name('6" lesion')
        '"6"" lesion"'
    """
    return '"' + name.replace('"', '""') + '"'


def has_pattern(name: str | Path) -> bool:
    """Tell whether DuckDB would read a name as a pattern of several files."""
    return any(sign in str(name) for sign in _SIGNS)


def exact_name(path: str | Path) -> str:
    """Return the pattern that matches this one file and no other: ``data[1].csv`` is not ``data1.csv``.

    Examples:
        >>> exact_name("/data/ages[1].csv")
        '/data/ages[[]1].csv'
    """
    text = os.path.abspath(path)  # ~ and addresses such as s3: have no meaning of their own then
    if os.sep == "\\":
        text = text.replace("\\", "/")
    if not has_pattern(text):
        return text
    if "\\" in text:
        # DuckDB takes a backslash for a separator of folders, and knows no way to write one inside a pattern.
        raise DataError("The file's name has a backslash next to *, ? or [. Rename the file first.")
    return "".join(f"[{sign}]" if sign in _SIGNS else sign for sign in text)


def file_or_pattern(source: str | Path) -> str:
    """Return how DuckDB finds a source: the file of exactly that name if there is one, else as it stands."""
    return exact_name(source) if os.path.exists(source) else str(source)


EXTENSIONS_OFF: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
}
"""What a connection that is to be confined is opened with."""


def confine(connection: Any, *folders: str | Path) -> None:
    """Let a connection reach files in these folders and nothing else, for good: its configuration is locked.

    What it lays aside while it works still goes to its own ``temp_directory``.

    Args:
        connection: A DuckDB connection, opened with ``EXTENSIONS_OFF`` and set up otherwise.
        folders: Where its files are; none for a connection that works in memory alone.

    Examples:
        >>> import duckdb
        >>> connection = duckdb.connect(config=EXTENSIONS_OFF)
        >>> confine(connection)
        >>> try:
        ...     connection.execute("FROM read_text('/etc/hostname')")
        ... except duckdb.PermissionException:
        ...     print("refused")
        refused
    """
    # A name with a sign of patterns is written as a pattern later on: both spellings must be known.
    names = {f"{each}{os.sep}" for folder in folders for each in (os.path.abspath(folder), exact_name(folder))}
    if names:
        connection.execute(f"SET allowed_directories=[{', '.join(map(sql_text, sorted(names)))}]")
    connection.execute("SET enable_external_access=false")
    connection.execute("SET lock_configuration=true")


@dataclass(frozen=True, slots=True)
class Confinement:
    """What every connection of a process keeps to.

    Args:
        folders: The only folders whose files it may touch.
        memory_limit: Such as ``"1GB"``, where a connection sets none of its own.
    """

    folders: tuple[str | Path, ...]
    memory_limit: str


_everywhere: Callable[[], Confinement] | None = None


def confine_all(rule: Callable[[], Confinement] | None) -> None:
    """Confine every connection that this process opens from now on: a server's, whatever code opens it.

    Args:
        rule: Returns what they keep to, when one is opened; none to confine no more than each asks for.
    """
    global _everywhere
    _everywhere = rule


def connect(
    config: Mapping[str, Any] | None = None,
    *,
    setup: Iterable[str] = (),
    keep_to: Iterable[str | Path] | None = None,
) -> Any:
    """Open a private in-memory DuckDB: the one way to do so, so that a server's rule holds for all.

    Args:
        config: Settings of DuckDB.
        setup: Statements that set it up, before it is confined.
        keep_to: The only folders whose files it may touch, for good; none for no limit but the process's own.

    Raises:
        EngineError: The process keeps to other folders.
    """
    import duckdb

    rule = None if _everywhere is None else _everywhere()
    options = dict(config or {})
    folders = None if keep_to is None else tuple(keep_to)
    if rule is not None:
        options.setdefault("memory_limit", rule.memory_limit)
        allowed = {os.path.abspath(folder) for folder in rule.folders}
        if folders is None:
            folders = rule.folders
        elif not allowed.issuperset(map(os.path.abspath, folders)):
            raise EngineError("DuckDB may not touch this folder in this process.")
    if folders is not None:
        options |= EXTENSIONS_OFF
    connection = duckdb.connect(":memory:", config=options)
    # It would draw into what a command prints. In a notebook without ipywidgets it is off and must not be set.
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
    for statement in setup:
        connection.execute(statement)
    if folders is not None:
        confine(connection, *folders)
    return connection


def parquet_source(name: str, *, options: str = "") -> str:
    """Return the SQL that reads Parquet from a name of ``exact_name`` or ``file_or_pattern``.

    A folder called ``year=2018`` is a folder, not a column.
    """
    return f"read_parquet({sql_text(name)}, hive_partitioning=false{options and ', ' + options})"


def csv_source(name: str, *, options: str = "all_varchar=true, header=true") -> str:
    """Return the SQL that reads CSV from a name of ``exact_name`` or ``file_or_pattern``, every line of it.

    What DuckDB would guess from the first lines (comments, lines to skip, other quotes) is said instead.
    """
    fixed = "skip=0, comment='', quote='\"', escape='\"', hive_partitioning=false"
    return f"read_csv({sql_text(name)}, {fixed}{options and ', ' + options})"


def parquet_names(connection: Any, name: str) -> list[list[str]]:
    """Return the names of the columns of every Parquet file, as they are written there.

    DuckDB itself calls the second of two columns ``age`` ``age_1``, and so hides that there are two.

    Args:
        connection: A DuckDB connection.
        name: From ``exact_name`` or ``file_or_pattern``.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    nodes = connection.execute(
        f"SELECT file_name, name, COALESCE(num_children, 0) FROM parquet_schema({sql_text(name)})"  # noqa: S608
    ).fetchall()
    for file, node, children in nodes:
        found.setdefault(file, []).append((node, children))
    return [_children_of_root(tree) for tree in found.values()]


def _children_of_root(nodes: Sequence[tuple[str, int]]) -> list[str]:
    """Return the first level of a tree whose nodes are listed depth first, each with its number of children."""
    names: list[str] = []
    inside = 0  # nodes still to come below a column
    for name, children in nodes[1:]:
        if inside:
            inside += children - 1
        else:
            names.append(name)
            inside = children
    return names


def check_parquet_names(connection: Any, name: str) -> None:
    """Refuse a Parquet file that has two columns of one name: which one is meant?"""
    for names in parquet_names(connection, name):
        seen: set[str] = set()
        for column in names:
            if column.casefold() in seen:
                which = f"Two columns are named '{column}'" if looks_like_names(names) else "Two names agree"
                raise DataError(f"{which} (large and small letters count as one). Rename one.")
            seen.add(column.casefold())
