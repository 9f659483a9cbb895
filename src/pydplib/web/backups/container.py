"""The file of a backup: the tar of its files, in the age format if there is a passphrase.

So ``tar x`` opens one, and ``age -d server.backup | tar x`` the other, without pydplib (https://age-encryption.org/v1).
Backups of version 0.1, which had a container of their own, are read as well.
"""

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
from typing import IO, Literal

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from pydplib.errors import DataError, ParameterError

AGE = b"age-encryption.org/v1"
PIECE = 2**16
_LOG_N, _MOST_LOG_N = 16, 20  # 64 MiB of memory per guess; foreign files may ask for 1 GiB
_MOST_LINE = 128
_SHORTEST = 8
_WRONG = "The passphrase is wrong, or the backup is damaged."

Kind = Literal["plain", "age", "earlier"]


def draft_of(path: Path) -> Path:
    """Return where this process writes a backup until it is whole: a hidden file next to it."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


@contextmanager
def write_container(path: Path, passphrase: str | None) -> Iterator[IO[bytes]]:
    """Yield a stream for the tar of the files; it appears at ``path`` whole, for its owner alone, or not at all."""
    if passphrase is not None and len(passphrase) < _SHORTEST:
        raise ParameterError(f"A passphrase has at least {_SHORTEST} characters; a sentence is better.")
    draft = draft_of(path)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            if passphrase is None:
                yield file
            else:
                writer = _AgeWriter(file, passphrase)
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
        kind = _kind(file)
        return kind == "age" or (kind == "earlier" and bool(_head_of(file)[1].get("encrypted")))


@contextmanager
def read_container(path: Path, passphrase: str | None) -> Iterator[IO[bytes]]:
    """Yield the tar of the files; read it to its end, where a cut or changed file is noticed at the latest."""
    with _opened(path) as file:
        kind = _kind(file)
        if kind == "plain":
            yield file
        elif kind == "earlier":
            yield _earlier(file, passphrase)
        elif passphrase is None:
            raise ParameterError("This backup is encrypted: give its passphrase.")
        else:
            yield io.BufferedReader(_AgeReader(file, passphrase), PIECE)


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError:
        raise DataError(f"'{path.name}' cannot be read. Check its name and rights.") from None


def _kind(file: IO[bytes]) -> Kind:
    """Return what kind of backup a file is, and go back to its beginning."""
    first = file.read(512)
    file.seek(0)
    if first.startswith(AGE + b"\n"):
        return "age"
    if first.startswith(MAGIC):
        return "earlier"
    if first[257:262] != b"ustar":
        raise DataError("This is no backup of pydplib, or one of a newer version.")
    return "plain"


# -- the age format with a passphrase ----------------------------------------------------------------------------------


def _wrapping_key(passphrase: str, salt: bytes, log_n: int) -> ChaCha20Poly1305:
    """Return what a file's key is encrypted with; slow on purpose."""
    derived = Scrypt(salt=AGE + b"/scrypt" + salt, length=32, n=2**log_n, r=8, p=1).derive(passphrase.encode())
    return ChaCha20Poly1305(derived)


def _derived(key: bytes, salt: bytes | None, info: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt, info).derive(key)


def _seal_of(key: bytes, head: bytes) -> HMAC:
    seal = HMAC(_derived(key, None, b"header"), SHA256())
    seal.update(head)
    return seal


def _nonce(number: int, *, last: bool) -> bytes:
    """Return the nonce of a piece: its number, and whether it is the last one, so that a cut file is noticed."""
    return number.to_bytes(11, "big") + (b"\1" if last else b"\0")


def _text(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def _bytes(text: bytes, length: int) -> bytes:
    data = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    if len(data) != length or _text(data) != text:
        raise ValueError
    return data


class _AgeWriter(io.RawIOBase):
    """Takes a stream and writes it as an age file, piece by piece."""

    def __init__(self, file: IO[bytes], passphrase: str) -> None:
        key, salt, nonce = os.urandom(16), os.urandom(16), os.urandom(16)
        wrapped = _wrapping_key(passphrase, salt, _LOG_N).encrypt(bytes(12), key, None)
        head = b"%s\n-> scrypt %s %d\n%s\n---" % (AGE, _text(salt), _LOG_N, _text(wrapped))
        file.write(head + b" " + _text(_seal_of(key, head).finalize()) + b"\n" + nonce)
        self.file, self.number, self.rest = file, 0, bytearray()
        self.cipher = ChaCha20Poly1305(_derived(key, nonce, b"payload"))

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.rest += data
        while len(self.rest) > PIECE:  # the last piece is written by finish()
            self._put(bytes(self.rest[:PIECE]), last=False)
            del self.rest[:PIECE]
        return len(data)

    def finish(self) -> None:
        self._put(bytes(self.rest), last=True)

    def _put(self, piece: bytes, *, last: bool) -> None:
        self.file.write(self.cipher.encrypt(_nonce(self.number, last=last), piece, None))
        self.number += 1


class _AgeReader(io.RawIOBase):
    """Gives back the stream of an age file with a passphrase."""

    def __init__(self, file: IO[bytes], passphrase: str) -> None:
        self.cipher = _opened_head(file, passphrase)
        self.file, self.number, self.rest = file, 0, b""
        self.coming = file.read(PIECE + 16)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self.rest and (self.coming or not self.number):
            self._next()
        part = self.rest[: len(buffer)]
        buffer[: len(part)] = part
        self.rest = self.rest[len(part) :]
        return len(part)

    def _next(self) -> None:
        piece, self.coming = self.coming, self.file.read(PIECE + 16)
        try:
            self.rest = self.cipher.decrypt(_nonce(self.number, last=not self.coming), piece, None)
        except InvalidTag:
            raise DataError("The backup is damaged, or it is cut off: its end is missing.") from None
        if self.number and not self.rest:  # only nothing at all ends with an empty piece
            raise DataError("The backup is damaged.")
        self.number += 1


def _opened_head(file: IO[bytes], passphrase: str) -> ChaCha20Poly1305:
    """Read the head of an age file, and return what its pieces are encrypted with."""
    lines = [file.readline(_MOST_LINE) for _ in range(4)]
    words = lines[1].split()
    if len(words) != 4 or words[:2] != [b"->", b"scrypt"] or lines[3][:4] != b"--- ":
        raise DataError("This backup is damaged, or it is not encrypted by a passphrase: decrypt it with age first.")
    if not words[3].isdigit() or not 1 <= int(words[3]) <= _MOST_LOG_N:
        raise DataError("The backup asks for more memory than a passphrase needs. It is damaged, or hostile.")
    try:
        wrapping = _wrapping_key(passphrase, _bytes(words[2], 16), int(words[3]))
        key = wrapping.decrypt(bytes(12), _bytes(lines[2][:-1], 32), None)
        _seal_of(key, b"".join(lines[:3]) + b"---").verify(_bytes(lines[3][4:-1], 32))
    except (ValueError, InvalidTag, InvalidSignature):
        raise DataError(_WRONG) from None
    nonce = file.read(16)
    return ChaCha20Poly1305(_derived(key, nonce, b"payload"))


# -- backups of version 0.1: chunks behind a short head, sealed by AES-256-GCM if there is a passphrase ----------------

MAGIC = b"pydplib-backup 1\n"
CHUNK = 2**18
_MOST_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Opener:
    """Decrypts chunks in order; the last one is marked, so that a cut file is noticed.

    The nonce is a random prefix, the chunk's number and the mark of the last one; the key comes from the passphrase by
    Scrypt with a salt of the file.
    """

    key: bytes
    prefix: bytes
    head: bytes

    @classmethod
    def of(cls, passphrase: str, first: bytes, head: dict[str, object]) -> Opener:
        """Return what opens the chunks behind a head."""
        try:
            salt, prefix = base64.b64decode(str(head["salt"])), base64.b64decode(str(head["prefix"]))
        except (KeyError, ValueError, TypeError):
            raise DataError("The backup is damaged.") from None
        return cls(Scrypt(salt=salt, length=32, n=2**16, r=8, p=1).derive(passphrase.encode()), prefix, first)

    def open(self, number: int, chunk: bytes, *, last: bool) -> bytes:
        """Decrypt a chunk, or raise ``DataError``."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            nonce = self.prefix + struct.pack(">I", number) + (b"\1" if last else b"\0")
            return AESGCM(self.key).decrypt(nonce, chunk, self.head)
        except InvalidTag:
            raise DataError(_WRONG) from None


def _earlier(file: IO[bytes], passphrase: str | None) -> IO[bytes]:
    first, head = _head_of(file)
    if not head.get("encrypted"):
        return io.BufferedReader(_EarlierReader(file, None), CHUNK)
    if passphrase is None:
        raise ParameterError("This backup is encrypted: give its passphrase.")
    return io.BufferedReader(_EarlierReader(file, Opener.of(passphrase, first, head)), CHUNK)


class _EarlierReader(io.RawIOBase):
    """Gives back the stream behind chunks, each with its length."""

    def __init__(self, file: IO[bytes], opener: Opener | None) -> None:
        self.file, self.opener, self.number, self.rest, self.ended = file, opener, 0, b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
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
        self.rest = chunk if self.opener is None else self.opener.open(self.number, chunk, last=last)
        self.number += 1
        self.ended = last


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
