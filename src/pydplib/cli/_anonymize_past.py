"""Earlier releases for ``pydplib anonymize``: their traces, or the tables that were handed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydplib.errors import DataError, ParameterError

if TYPE_CHECKING:
    from pydplib.tables import Tables


@dataclass(frozen=True)
class Past:
    """What is known of earlier releases.

    Attributes:
        files: Traces and released tables.
        key_file: A file with the key of the traces, if it is not in them.
        keeps_trace: Whether this release's trace is asked for.
    """

    files: Sequence[Path] = ()
    key_file: Path | None = None
    keeps_trace: bool = False

    @property
    def needs_memory(self) -> bool:
        """Whether the table has to be loaded: people are told again one by one."""
        return bool(self.files) or self.keeps_trace

    @property
    def key(self) -> bytes | None:
        """The key of the traces, if it is kept in a file of its own."""
        if self.key_file is None:
            return None
        try:
            return self.key_file.read_bytes()
        except OSError:
            raise ParameterError(
                f"The key file '{self.key_file}' cannot be read. Make one: openssl rand -out traces.key 32"
            ) from None

    def read(self, tables: Tables, quasi: Sequence[str]) -> list[Any]:
        """Return the earlier releases as ``anonymize`` takes them."""
        from pydplib.anonymity import Trace
        from pydplib.anonymity.tables.frames import SeenFrame
        from pydplib.anonymity.traces import is_trace

        out: list[Any] = []
        for path in self.files:
            if is_trace(path):
                out.append(_load(Trace, path, self.key))
                continue
            try:
                table = tables.open(path)
                table.check(quasi, "quasi-identifier")
                out.append(SeenFrame.of_file(table, list(quasi)))
            except (DataError, ParameterError) as error:
                raise type(error)(f"--previous '{path.name}': {error}") from None
        return out


def _load(trace: Any, path: Path, key: bytes | None) -> Any:
    try:
        return trace.load(path, key=key)
    except ParameterError as error:
        if key is None and "saved with a key" in str(error):
            raise ParameterError(f"The trace '{path.name}' was saved with a key: give it with --trace-key.") from None
        raise
