"""Files that appear whole or not at all, and never over others unless asked."""

# Names and paths enter SQL through identifier() and literal() only.
# ruff: noqa: S608
from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from pydplib._duckdb_files import exact_name, parquet_source
from pydplib._duckdb_files import sql_name as identifier
from pydplib._duckdb_files import sql_text as literal
from pydplib.errors import EngineError, ParameterError, PydplibError, import_extra

_ENDINGS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "excel"}
_EXCEL_ROWS = 1_048_575


def check_targets(targets: Sequence[tuple[str, Path | None]], inputs: Sequence[Path], *, force: bool) -> None:
    """Say before any work whether all outputs can be written.

    Args:
        targets: Option and file, None where it is not asked for.
        inputs: Files that are read, which no output may replace.
        force: Whether existing files may be replaced.
    """
    wanted = [(option, path) for option, path in targets if path is not None]
    seen: dict[Path, str] = {}
    for option, path in wanted:
        if not path.parent.is_dir():
            raise ParameterError(f"The folder of {option} does not exist: {path.parent}. Make it first.")
        for source in inputs:
            if path.exists() and source.exists() and os.path.samefile(source, path):
                raise ParameterError(f"{option} would replace '{path.name}', which is read. Choose another name.")
        place = path.resolve()
        if place in seen:
            raise ParameterError(f"{option} and {seen[place]} are the same file. Choose two names.")
        seen[place] = option
        if path.is_file() and not force:  # a pipe or a device is there to be written to
            raise ParameterError(f"'{path}' exists already. Choose another name for {option}, or replace it: --force.")


class Staging:
    """Files that are being written next to their places, readable by their owner alone until they are whole.

    Args:
        sources: The private files that the outputs are made from: no output may be read by more people than these.
        umask: The rights that new files do not get.
    """

    def __init__(self, sources: Sequence[Path] = (), umask: int = 0o077) -> None:
        self.parts: list[tuple[Path, Path]] = []
        self._private: set[Path] = set()
        self._rights = 0o666 & ~umask
        self._most = 0o666
        for source in sources:
            self._most &= source.stat().st_mode

    def part(self, target: Path, *, private: bool = False) -> Path:
        """Return where to write what becomes ``target``; its owner alone may read it if it is private."""
        place = target
        if not _is_special(target):
            place = target.resolve()  # a link stays a link, and the file behind it is written
        folder = Path(tempfile.gettempdir()) if _is_special(place) else place.parent
        path = folder / f".{place.name[:40]}.{secrets.token_hex(6)}.part"
        self.parts.append((path, place))
        if private:
            self._private.add(path)
        return path

    def write_text(self, target: Path, text: str, *, private: bool = False) -> None:
        """Write a text that becomes ``target``."""
        self.write_bytes(target, text.encode("utf-8"), private=private)

    def write_bytes(self, target: Path, content: bytes, *, private: bool = False) -> None:
        """Write what becomes ``target``."""
        try:
            self.part(target, private=private).write_bytes(content)
        except OSError as error:
            raise EngineError(f"'{target.name}' cannot be written: {error.strerror}.") from None

    def finish(self) -> None:
        """Put everything into its place."""
        for part, target in self.parts:
            if _is_special(target):
                # A pipe or a device takes what is written to it; it is not to be replaced by a file.
                with part.open("rb") as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
                continue
            rights = target.stat().st_mode if target.exists() else self._rights
            part.chmod(0o600 if part in self._private else rights & self._most)
            os.replace(part, target)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


@contextmanager
def staged(sources: Sequence[Path] = ()) -> Iterator[Staging]:
    """Yield a place for outputs; at the end all of them appear, and after an error, Ctrl-C or a signal none.

    Args:
        sources: The private files that the outputs are made from; they bound who may read the outputs.
    """
    umask = os.umask(0o077)  # whatever is written meanwhile, by DuckDB too
    staging = None
    try:
        staging = Staging(sources, umask)
        yield staging
        staging.finish()
    except (PydplibError, BrokenPipeError):
        raise  # some of ours are OSErrors too
    except OSError as error:
        raise EngineError(f"An output cannot be written: {error.strerror}.") from None
    finally:
        os.umask(umask)
        for part, _ in staging.parts if staging is not None else ():
            part.unlink(missing_ok=True)


def output_format(path: Path) -> Literal["csv", "parquet", "excel"]:
    """Return the format that the name of an output says."""
    kind = _ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise ParameterError(f"An output ends in .csv, .parquet or .xlsx. Got '{path.name}'.")
    return kind  # type: ignore[return-value]


def write_table(
    connection: Any, data: Any, part: Path, kind: str, *, separator: str = ";", commas: frozenset[str] = frozenset()
) -> None:
    """Write an anonymized table.

    Args:
        connection: A DuckDB connection.
        data: A data frame, or the path of a Parquet file.
        part: Where to.
        kind: CSV, Parquet or Excel.
        separator: What separates the columns of a CSV.
        commas: Columns whose numbers have a decimal comma.
    """
    import duckdb

    if isinstance(data, Path):
        source = parquet_source(exact_name(data))
    else:
        connection.register("released", data)
        source = "released"
    described = connection.sql(f"SELECT * FROM {source} LIMIT 0")
    parts = []
    for name, sql_type in zip(described.columns, map(str, described.types), strict=True):
        column = identifier(name)
        if kind == "csv" and name in commas and sql_type in ("DOUBLE", "FLOAT"):
            column = f"replace(CAST({column} AS VARCHAR), '.', ',') AS {column}"
        parts.append(column)
    query = f"SELECT {', '.join(parts)} FROM {source}"
    if kind == "excel":
        _write_excel(connection, query, part, described.columns)
        return
    options = f"FORMAT csv, HEADER, DELIMITER {literal(separator)}" if kind == "csv" else "FORMAT parquet"
    try:
        connection.execute(f"COPY ({query}) TO {literal(str(part))} ({options})").fetchall()
    except duckdb.InterruptException:
        raise KeyboardInterrupt from None
    except duckdb.Error:
        raise EngineError(
            "The output cannot be written. Check the folder, its rights and the room on the disk."
        ) from None


def _write_excel(connection: Any, query: str, part: Path, names: Sequence[str]) -> None:
    openpyxl = import_extra("openpyxl", what="Writing an Excel file", extra="excel")
    rows = connection.execute(query).fetchall()
    if len(rows) > _EXCEL_ROWS:
        raise ParameterError("The table has more rows than an Excel sheet can hold. Write .csv or .parquet.")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("anonymized")
    cell_of = import_extra("openpyxl.cell", what="Writing an Excel file", extra="excel").WriteOnlyCell

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        made = cell_of(sheet, value=value)
        made.data_type = "s"  # a text that begins with '=' stays a text, not a formula
        return made

    sheet.append([cell(name) for name in names])
    for row in rows:
        sheet.append([cell(value) for value in row])
    book.save(part)
