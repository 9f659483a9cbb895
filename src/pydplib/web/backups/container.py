"""The file of a backup: a tar stream behind a short head, encrypted in chunks if there is a passphrase."""

from __future__ import annotations

import base64
import io
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydplib.errors import DataError, ParameterError

MAGIC = b"pydplib-backup 1\n"
CHUNK = 2**18
_MOST_HEAD = 4096
_SHORTEST = 8
_SCRYPT = {"n": 2**16, "r": 8, "p": 1}  # 64 MiB of memory per guess


@dataclass(frozen=True, slots=True)
class Sealer:
    """Encrypts and decrypts chunks in order; the last one is marked, so that a cut file is noticed.

    AES-256-GCM; the nonce is a random prefix, the chunk's number and the mark of the last one. The key comes from
    the passphrase by Scrypt with a fresh salt, so no key is ever used for two files.
    """

    key: bytes
    prefix: bytes
    head: bytes

    def seal(self, number: int, chunk: bytes, *, last: bool) -> bytes:
        """Encrypt a chunk."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self.key).encrypt(self._nonce(number, last), chunk, self.head)

    def open(self, number: int, chunk: bytes, *, last: bool) -> bytes:
        """Decrypt a chunk, or raise ``DataError``."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            return AESGCM(self.key).decrypt(self._nonce(number, last), chunk, self.head)
        except InvalidTag:
            raise DataError("The passphrase is wrong, or the backup is damaged.") from None

    def _nonce(self, number: int, last: bool) -> bytes:
        return self.prefix + struct.pack(">I", number) + (b"\1" if last else b"\0")


def make_key(passphrase: str, salt: bytes) -> bytes:
    """Return the key of a passphrase; slow on purpose."""
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=salt, length=32, **_SCRYPT).derive(passphrase.encode())


class _ContainerWriter(io.RawIOBase):
    """Takes a stream and writes it in chunks, each with its length, sealed if there is a sealer."""

    def __init__(self, file: IO[bytes], sealer: Sealer | None) -> None:
        self.file, self.sealer, self.number, self.rest = file, sealer, 0, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.rest += data
        while len(self.rest) > CHUNK:  # the last chunk is written by finish()
            self._put(bytes(self.rest[:CHUNK]), last=False)
            del self.rest[:CHUNK]
        return len(data)

    def finish(self) -> None:
        self._put(bytes(self.rest), last=True)

    def _put(self, chunk: bytes, *, last: bool) -> None:
        sealed = chunk if self.sealer is None else self.sealer.seal(self.number, chunk, last=last)
        self.file.write(struct.pack(">I?", len(sealed), last) + sealed)
        self.number += 1


class _ContainerReader(io.RawIOBase):
    """Gives back the stream of a ``_ContainerWriter``."""

    def __init__(self, file: IO[bytes], sealer: Sealer | None) -> None:
        self.file, self.sealer, self.number, self.rest, self.ended = file, sealer, 0, b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.rest and not self.ended:
            self._next()
        part = self.rest[: len(buffer)]
        buffer[: len(part)] = part
        self.rest = self.rest[len(part) :]
        return len(part)

    def _next(self) -> None:
        head = self.file.read(5)
        if len(head) < 5:
            raise DataError("The backup is cut off: its end is missing.")
        length, last = struct.unpack(">I?", head)
        if length > CHUNK + 16:
            raise DataError("The backup is damaged.")
        chunk = self.file.read(length)
        if len(chunk) < length:
            raise DataError("The backup is cut off: its end is missing.")
        self.rest = chunk if self.sealer is None else self.sealer.open(self.number, chunk, last=last)
        self.number += 1
        self.ended = last


def draft_of(path: Path) -> Path:
    """Return where this process writes a backup until it is whole: a hidden file next to it."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def write_container(path: Path, passphrase: str | None) -> Iterator[IO[bytes]]:
    """Yield a stream whose content appears at ``path`` whole, readable by its owner alone, or not at all."""
    if passphrase is not None and len(passphrase) < _SHORTEST:
        raise ParameterError(f"A passphrase has at least {_SHORTEST} characters; a sentence is better.")
    draft = draft_of(path)
    head: dict[str, object] = {"encrypted": passphrase is not None}
    salt, prefix = os.urandom(16), os.urandom(7)
    if passphrase is not None:
        head |= {"salt": base64.b64encode(salt).decode(), "prefix": base64.b64encode(prefix).decode()}
    first = MAGIC + json.dumps(head).encode() + b"\n"
    sealer = None if passphrase is None else Sealer(make_key(passphrase, salt), prefix, first)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(first)
            writer = _ContainerWriter(file, sealer)
            yield writer  # type: ignore[misc]
            writer.finish()
            file.flush()
            os.fsync(file.fileno())
        # link, not replace: a backup that came to be there meanwhile is not written over.
        os.link(draft, path)
    except FileExistsError:
        raise ParameterError(f"'{path.name}' exists already. Choose another name.") from None
    finally:
        draft.unlink(missing_ok=True)


def is_encrypted(path: Path) -> bool:
    """Return whether a backup needs a passphrase; raises ``DataError`` if it is none."""
    with _opened(path) as file:
        return bool(_head_of(file)[1].get("encrypted"))


@contextmanager
def read_container(path: Path, passphrase: str | None) -> Iterator[IO[bytes]]:
    """Yield the stream of a backup."""
    with _opened(path) as file:
        first, head = _head_of(file)
        sealer = None
        if head.get("encrypted"):
            if passphrase is None:
                raise ParameterError("This backup is encrypted: give its passphrase.")
            try:
                salt, prefix = base64.b64decode(str(head["salt"])), base64.b64decode(str(head["prefix"]))
            except (KeyError, ValueError, TypeError):
                raise DataError("The backup is damaged.") from None
            sealer = Sealer(make_key(passphrase, salt), prefix, first)
        yield io.BufferedReader(_ContainerReader(file, sealer), CHUNK)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError:
        raise DataError(f"'{path.name}' cannot be read. Check its name and rights.") from None


def _head_of(file: IO[bytes]) -> tuple[bytes, dict[str, object]]:
    magic = file.read(len(MAGIC))
    line = file.readline(_MOST_HEAD)
    try:
        head = json.loads(line) if magic == MAGIC else None
    except ValueError:
        head = None
    if not isinstance(head, dict):
        raise DataError("This is no backup of pydplib, or one of a newer version.")
    return magic + line, head
