"""Random bits: AES-256 in counter mode, keyed by the operating system, one generator per thread.

Design:
* The key stream of AES-256-CTR is indistinguishable from random for anyone without
  the key. The key comes from ``os.urandom``.
* Fast key erasure: the first 32 bytes of every buffer become the next key and are
  wiped, so that a later look into memory tells nothing about earlier noise.
* After a fork the child draws a new key: two processes never share a stream.
* Each thread has a generator of its own: a shared buffer could hand out the same
  bits twice, and noise used twice cancels. For the same reason an interrupted draw
  loses bytes rather than repeat them.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pydplib.errors import ParameterError

_KEY_BYTES = 32
_BUFFER_BYTES = 1 << 18  # fits the second-level cache; large enough that re-keying costs nothing
_ZEROS = bytes(_BUFFER_BYTES)
_FORKS = 0  # counts forks; a generator made before the last fork re-keys itself


def _count_fork() -> None:
    global _FORKS
    _FORKS += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class Source(Protocol):
    """Where random bytes come from. Only tests, attacks and experiments use another than ``SystemSource``."""

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Fill a one-dimensional, contiguous array with random bytes."""
        ...


class SystemSource:
    """The generator of every release: AES-256-CTR, keyed by the operating system.

    Examples:
        >>> out = np.zeros(8, dtype=np.uint8)
        >>> SystemSource().fill(out)
    """

    __slots__ = ("_buffer", "_busy", "_forks", "_key", "_position")

    def __init__(self) -> None:
        self._buffer = np.empty(_BUFFER_BYTES, dtype=np.uint8)
        self._busy = False
        self._rekey()

    def _rekey(self) -> None:
        self._key = os.urandom(_KEY_BYTES)
        self._forks = _FORKS
        self._position = _BUFFER_BYTES  # nothing left: what a parent process buffered is never used

    def _refill(self) -> None:
        stream = self._buffer.data
        _encryptor(self._key).update_into(_ZEROS, stream)
        self._key = bytes(stream[:_KEY_BYTES])
        self._buffer[:_KEY_BYTES] = 0
        self._position = _KEY_BYTES

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Fill a one-dimensional, contiguous array with random bytes."""
        if self._busy:  # a signal handler or finalizer broke into a fill of this thread: stay out of its buffer
            out[:] = np.frombuffer(os.urandom(len(out)), dtype=np.uint8)
            return
        self._busy = True
        try:
            self._fill(out)
        finally:
            self._busy = False

    def _fill(self, out: NDArray[np.uint8]) -> None:
        if self._forks != _FORKS:
            self._rekey()
        filled, wanted = 0, len(out)
        while filled < wanted:
            if self._position == _BUFFER_BYTES:
                self._refill()
            start = self._position
            take = min(wanted - filled, _BUFFER_BYTES - start)
            # First: an interrupt from here on loses bytes, but never hands out wiped ones.
            self._position = start + take
            part = self._buffer[start : start + take]
            out[filled : filled + take] = part
            part[:] = 0
            filled += take

    def __reduce__(self) -> Any:
        raise TypeError("A random source cannot be copied or sent to another process: its bits are used once.")


def _encryptor(key: bytes) -> Any:
    # Imported here: `import pydplib` should not pay for what it may not use.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()


class StoredSource:
    """Bits that can be drawn again, because a release stores their key: for rows of noisy numbers, never for noise.

    Args:
        key: Random bytes that were drawn for one release and stored with it.
        purpose: What the bits are for; another purpose gives other bits.

    Examples:
        >>> one, two = StoredSource(bytes(32), "rows"), StoredSource(bytes(32), "rows")
        >>> random_bytes(4, source=one) == random_bytes(4, source=two)
        True
    """

    def __init__(self, key: bytes, purpose: str) -> None:
        self._stream = _encryptor(hashlib.sha256(key + purpose.encode()).digest())

    def fill(self, out: NDArray[np.uint8]) -> None:
        """Fill a one-dimensional, contiguous array with bytes of the stream."""
        out[:] = np.frombuffer(self._stream.update(bytes(len(out))), dtype=np.uint8)


_local = threading.local()


def system_source() -> SystemSource:
    """Return this thread's generator."""
    source: SystemSource | None = getattr(_local, "source", None)
    if source is None:
        source = _local.source = SystemSource()
    return source


def resolve(source: Source | None) -> Source:
    """Return ``source``, or this thread's generator where none is given."""
    return system_source() if source is None else source


def random_bytes(count: int, *, source: Source | None = None) -> bytes:
    """Return ``count`` random bytes.

    Examples:
        >>> len(random_bytes(16))
        16
    """
    out = np.empty(count, dtype=np.uint8)
    resolve(source).fill(out)
    return out.tobytes()


def random_words(count: int, *, source: Source | None = None) -> NDArray[np.uint64]:
    """Return ``count`` random 64-bit words."""
    out = np.empty(count * 8, dtype=np.uint8)
    resolve(source).fill(out)
    return out.view(np.uint64)


def uniform_below(bound: int, size: int, *, source: Source | None = None) -> NDArray[np.int64]:
    """Return ``size`` integers, each exactly uniform on 0, 1, ..., bound - 1.

    Proof: Words are masked to the smallest power of two that covers ``bound`` and
    rejected if not below it; what remains is uniform.

    Examples:
        >>> bool((uniform_below(6, 100) < 6).all())
        True
    """
    if not 1 <= bound <= 1 << 62:
        raise ParameterError("uniform_below needs a bound between 1 and 2^62.")
    mask = np.uint64((1 << (bound - 1).bit_length()) - 1)
    out = (random_words(size, source=source) & mask).astype(np.int64)
    while True:
        redo = np.flatnonzero(out >= bound)
        if not len(redo):
            return out
        out[redo] = (random_words(len(redo), source=source) & mask).astype(np.int64)


def uniform_below_each(bounds: NDArray[np.int64], *, source: Source | None = None) -> NDArray[np.int64]:
    """Return one integer for each bound, exactly uniform on 0, 1, ..., bound - 1.

    Proof: as ``uniform_below``, with a mask for each.

    Examples:
        >>> uniform_below_each(np.array([1, 1])).tolist()
        [0, 0]
    """
    if len(bounds) and not 1 <= int(bounds.min()) <= int(bounds.max()) <= 1 << 62:
        raise ParameterError("uniform_below_each needs bounds between 1 and 2^62.")
    mask = (bounds - 1).astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    out = np.empty(len(bounds), dtype=np.int64)
    redo = np.arange(len(bounds))
    while len(redo):
        out[redo] = (random_words(len(redo), source=source) & mask[redo]).astype(np.int64)
        redo = redo[out[redo] >= bounds[redo]]
    return out


def permutation(size: int, *, source: Source | None = None) -> NDArray[np.int64]:
    """Return a uniformly random order of 0, 1, ..., size - 1.

    Proof: Sorting by independent 64-bit keys is uniform given that the keys differ;
    on a tie (probability below size^2 / 2^65) all keys are drawn again.

    Examples:
        >>> sorted(permutation(4).tolist())
        [0, 1, 2, 3]
    """
    while True:
        keys = random_words(size, source=source)
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        if not (ordered[1:] == ordered[:-1]).any():
            return order


def permutations(count: int, size: int, *, source: Source | None = None) -> NDArray[np.int64]:
    """Return ``count`` uniformly random orders of 0, 1, ..., size - 1, a row each.

    Proof: as ``permutation``; rows with a tie are drawn again.

    Examples:
        >>> permutations(3, 2).sum(axis=1).tolist()
        [1, 1, 1]
    """
    found = np.empty((count, size), dtype=np.int64)
    rows = np.arange(count)
    while len(rows):
        keys = random_words(len(rows) * size, source=source).reshape(len(rows), size)
        order = np.argsort(keys, axis=1, kind="stable")
        found[rows] = order
        ordered = np.take_along_axis(keys, order, axis=1)
        rows = rows[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
    return found
