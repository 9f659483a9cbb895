"""Traces: what the owner keeps of a release, so that later ones hold together with it. No identifier is in clear."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pydplib.anonymity.search.groups import combine, group
from pydplib.anonymity.search.problem import SearchProblem
from pydplib.anonymity.tables.columns import Bools, Ints
from pydplib.anonymity.tables.frames import Frame
from pydplib.anonymity.tables.values import show, write_whole
from pydplib.errors import DataError, ParameterError
from pydplib.noise import random_bytes

if TYPE_CHECKING:
    from pydplib.anonymity.preparation import Task
    from pydplib.anonymity.search.recodings import Recoding

VERSION = 1
_HEAD = "pydplib-trace"
_WIDTH = 16
_LEAST_KEY = 16


@dataclass(eq=False, kw_only=True)
class Trace:
    """Who was released in which class. Private: it stays with the owner, like the table itself.

    People and sensitive values are keyed hashes. Whoever has the key can test guesses, so a trace that holds its own
    key is as private as the table; one that was saved with a key of the owner's tells nothing without it.

    Attributes:
        people: Per row of the input, what tells the person again (a keyed hash).
        classes: Per row, the number of the released class; -1 if suppressed.
        values: Per sensitive column, the row's value (a keyed hash).
        told_by: The columns whose cells tell a person again; None: a person column.
        key: The key of the hashes.
        holds_key: Whether its file holds the key.

    Examples:
        >>> import pandas as pd, tempfile, pathlib
        >>> from pydplib.anonymity import KAnonymity, anonymize
        >>> table = pd.DataFrame({"who": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"]})
        >>> first = anonymize(table, ["sex"], models=[KAnonymity(2)], person="who")
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "first.trace"
        >>> first.save_trace(path)
        >>> later = anonymize(table, ["sex"], models=[KAnonymity(2)], person="who", previous=[path])
        >>> later.certificate.holds, Trace.load(path)
        (True, Trace(private))
    """

    people: list[bytes]
    classes: Ints
    values: dict[str, list[bytes]]
    told_by: frozenset[str] | None
    key: bytes = field(repr=False)
    holds_key: bool = True

    def __repr__(self) -> str:
        return "Trace(private)"

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the trace to a file that its owner alone can read; it appears whole or not at all.

        Args:
            path: The file. One that exists is not replaced.
            overwrite: Replace it after all.
        """
        write_whole(path, self.to_bytes(), private=True, overwrite=overwrite)

    def to_bytes(self) -> bytes:
        """Return the file's content. Rows are in the order of their hashes, not of the table."""
        people = np.frombuffer(b"".join(self.people), dtype=np.uint8).reshape(-1, _WIDTH)
        order = np.lexsort(people.T[::-1]) if len(people) else np.zeros(0, dtype=np.int64)
        head = {
            "version": VERSION,
            "told_by": None if self.told_by is None else sorted(self.told_by),
            "sensitive": list(self.values),
            "key": self.key.hex() if self.holds_key else None,
            "check": digest(self.key, "check", "").hex(),
        }
        arrays: dict[str, Any] = {
            _HEAD: np.frombuffer(json.dumps(head).encode(), dtype=np.uint8),
            "people": people[order],
            "classes": self.classes[order],
        }
        for i, values in enumerate(self.values.values()):
            cells = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(-1, _WIDTH)
            arrays[f"values{i}"] = cells[order]
        out = io.BytesIO()
        np.savez_compressed(out, **arrays)
        return out.getvalue()

    @classmethod
    def load(cls, path: str | Path, *, key: bytes | str | None = None) -> Trace:
        """Read a trace from a file.

        Args:
            path: The file.
            key: The owner's key, for a trace that was saved with one.
        """
        name = Path(path).name
        try:
            with np.load(path, allow_pickle=False) as found:
                head = json.loads(found[_HEAD].tobytes())
                version = int(head["version"])
                if version == VERSION:
                    people, classes = found["people"], found["classes"].astype(np.int64)
                    values = {column: found[f"values{i}"] for i, column in enumerate(head["sensitive"])}
        except FileNotFoundError:
            raise ParameterError(f"There is no trace '{path}'.") from None
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
            raise DataError(f"'{name}' is not a trace as pydplib writes them, or it is damaged.") from None
        if version != VERSION:
            raise ParameterError(f"The trace '{name}' has version {version}; this pydplib reads version {VERSION}.")
        if any(part.ndim != 2 or part.shape != (len(classes), _WIDTH) for part in (people, *values.values())):
            raise DataError(f"'{name}' is not a trace as pydplib writes them, or it is damaged.")
        secret = read_key(key)
        if secret is None and head["key"] is None:
            raise ParameterError(f"The trace '{name}' was saved with a key: Trace.load(path, key=...).")
        known = secret if head["key"] is None else bytes.fromhex(head["key"])
        if known is None or digest(known, "check", "").hex() != head["check"]:
            raise ParameterError(f"This is not the key with which the trace '{name}' was saved.")
        told = head["told_by"]
        return cls(
            people=_rows(people), classes=classes, values={column: _rows(cells) for column, cells in values.items()},
            told_by=None if told is None else frozenset(told), key=known, holds_key=head["key"] is not None,
        )  # fmt: skip


def _rows(cells: Any) -> list[bytes]:
    whole = np.ascontiguousarray(cells).tobytes()
    return [whole[i : i + _WIDTH] for i in range(0, len(whole), _WIDTH)]


def is_trace(path: str | Path) -> bool:
    """Return whether a file is a trace, by what is in it."""
    try:
        with zipfile.ZipFile(path) as file:
            return f"{_HEAD}.npy" in file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_key(key: bytes | str | None) -> bytes | None:
    """Check an owner's key."""
    if key is None:
        return None
    secret = key.encode() if isinstance(key, str) else bytes(key)
    if len(secret) < _LEAST_KEY:
        raise ParameterError(f"A trace's key has at least {_LEAST_KEY} bytes: secrets.token_bytes(32). Keep it.")
    return secret


def digest(key: bytes, what: str, text: str) -> bytes:
    """Return a keyed hash; ``what`` keeps the hashes of people, checks and columns unrelated."""
    message = f"{what}\x1f{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(message, key=_short(key), digest_size=_WIDTH).digest()


def _short(key: bytes) -> bytes:
    """Return a key of any length as one of the length that the hash takes."""
    return hashlib.blake2b(key, digest_size=32, person=b"pydplib-trace").digest()


def hash_values(key: bytes, column: str, values: Sequence[Any]) -> list[bytes]:
    """Return the keyed hashes of a column's values; 7, 7.0 and "7" are one value, whatever the file."""
    return [digest(key, f"value\x1e{column}", _written(value)) for value in values]


def told_by(person: str | None, names: Sequence[str]) -> frozenset[str] | None:
    """Return which columns tell a person again; None where a person column does."""
    return None if person is not None else frozenset(names)


def people_of(frame: Frame, person: str | None, names: Sequence[str], key: bytes) -> list[bytes]:
    """Return what tells every row's person again: her identifier, or the whole row and which copy it is."""
    copies = person is None
    columns = [frame.coded(person)] if person is not None else [frame.coded(name) for name in sorted(names)]
    seen: dict[str, int] = {}
    start = hashlib.blake2b(b"person\x1f", key=_short(key), digest_size=_WIDTH)
    texts = [[_written(value) for value in column.values] for column in columns]
    out = []
    for cells in zip(*(column.codes.tolist() for column in columns), strict=True):
        text = "\x1f".join([words[i] for words, i in zip(texts, cells, strict=True)])
        copy = seen[text] = seen.get(text, -1) + 1 if copies else 0
        hashed = start.copy()
        hashed.update(f"{text}\x1e{copy}".encode("utf-8", "surrogatepass"))
        out.append(hashed.digest())
    return out


def _written(cell: Any) -> str:
    """Return a cell as one text whatever its kind: 7, 7.0 and "7" are the same person in another file."""
    return "\x00" if cell is None else show(cell).strip()


class LazyTrace:
    """A trace that is worked out when a later release asks for it, or when it is saved.

    Args:
        task: What was asked.
        recoding: What was chosen.
        gone: Per row, whether it was suppressed.
        key: The key of the earlier releases' traces, if there were any: together they tell the same people again.
        holds_key: Whether files of the trace hold the key.
    """

    def __init__(
        self, task: Task, recoding: Recoding, gone: Bools, key: bytes | None = None, *, holds_key: bool = True
    ) -> None:
        self._parts = (task, recoding, gone)
        self._made: Trace | None = None
        self.tied = key is not None
        self.key = key or _fresh_key()
        self.holds_key = holds_key

    def __repr__(self) -> str:
        return "Trace(private)"

    @property
    def problem(self) -> SearchProblem:
        """The table as the search saw it."""
        return self._parts[0].problem

    def __reduce__(self) -> Any:
        # A result that is copied or stored must not take the private table along.
        return (_no_trace, ())

    def read(self, key: bytes | None = None) -> Trace:
        """Return the trace, with hashes under a key; by default its own."""
        key = key or self.key
        if self._made is None or self._made.key != key:
            task, recoding, gone = self._parts
            assert task.problem.of_row is not None
            ids = [column.ids[task.problem.of_row] for column in recoding.columns]
            numbers = group(combine(ids, [len(c.labels) for c in recoding.columns], len(gone))[0]).into
            names = [*task.quasi, *task.sensitive]
            values = {}
            for name in task.sensitive:
                hashes = hash_values(key, name, task.coded[name].values)
                values[name] = [hashes[i] for i in task.coded[name].codes.tolist()]
            self._made = Trace(
                people=people_of(task.frame, task.person, names, key), classes=np.where(gone, -1, numbers),
                values=values,
                told_by=told_by(task.person, names), key=key, holds_key=self.holds_key,
            )  # fmt: skip
        return self._made

    def to_save(self, key: bytes | str | None) -> Trace:
        """Return the trace as it goes to a file, under the owner's key if one is given."""
        secret = read_key(key)
        if secret is not None and self.tied and secret != self.key:
            raise ParameterError(
                "The earlier traces have another key. Save this one with theirs, or without key=: it then takes theirs."
            )
        made = self.read(secret)
        if len(set(made.people)) < len(made.people):
            raise ParameterError("A trace needs one row per person. Summarize each person's rows first.")
        holds = self.holds_key and secret is None
        return Trace(
            people=made.people,
            classes=made.classes,
            values=made.values,
            told_by=made.told_by,
            key=made.key,
            holds_key=holds,
        )


def _fresh_key() -> bytes:
    return random_bytes(32)


def _no_trace() -> None:
    """Stands in for a trace that was left behind."""
