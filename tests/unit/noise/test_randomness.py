"""Random bits: the key stream, key erasure, forks, threads, interrupts, copies."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from pydplib.errors import ParameterError
from pydplib.noise import discrete_gaussian, discrete_laplace, exponential_choice, randomness
from pydplib.noise.randomness import (
    SystemSource,
    permutation,
    random_bytes,
    random_words,
    resolve,
    system_source,
    uniform_below,
)
from pydplib.noise.testing import SeededSource


def _draw(source, count: int) -> bytes:
    out = np.zeros(count, dtype=np.uint8)
    source.fill(out)
    return out.tobytes()


def _blocks(data: bytes, size: int = 16) -> set[bytes]:
    return {data[i : i + size] for i in range(0, len(data) - size + 1, size)}


def test_system_source_stream_is_aes_256_of_a_counter():
    # The stream rebuilt block by block from single-block encryptions, independent of the CTR mode in use.
    source = SystemSource()
    key = source._key
    assert len(key) == 32
    encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    expected = b"".join(encrypt.update(i.to_bytes(16, "big")) for i in range(66))
    assert _draw(source, 1024) == expected[32 : 32 + 1024]
    assert source._key == expected[:32]


def test_system_source_second_buffer_uses_the_erased_key():
    source = SystemSource()
    _draw(source, 10)
    key = source._key
    _draw(source, randomness._BUFFER_BYTES - 32 - 10)
    encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    expected = b"".join(encrypt.update(i.to_bytes(16, "big")) for i in range(6))
    assert _draw(source, 64) == expected[32:]


def test_system_source_used_bytes_are_wiped():
    source = SystemSource()
    given_out = _draw(source, 5000)
    assert any(given_out)
    assert not source._buffer[:5032].any()  # the next key and all that was handed out
    assert source._buffer[5032:].any()
    assert given_out[:16] not in source._buffer.tobytes()


def test_system_source_whole_buffers_are_wiped_too():
    source = SystemSource()
    _draw(source, 3 * (randomness._BUFFER_BYTES - 32))
    assert not source._buffer.any()


def test_system_source_two_sources_never_share_a_key():
    assert SystemSource()._key != SystemSource()._key


def test_system_source_long_draw_repeats_no_block():
    data = _draw(SystemSource(), 4 * randomness._BUFFER_BYTES)
    assert len(_blocks(data)) == len(data) // 16


def test_system_source_bytes_are_uniform():
    counts = np.bincount(np.frombuffer(_draw(SystemSource(), 1 << 21), dtype=np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-9


def test_bytes_uniform_check_planted_bias_is_noticed():
    data = np.frombuffer(_draw(SystemSource(), 1 << 21), dtype=np.uint8).copy()
    data[:: 1 << 6] &= 0x7F
    assert stats.chisquare(np.bincount(data, minlength=256)).pvalue < 1e-9


@pytest.mark.parametrize("work", [pickle.dumps, copy.copy, copy.deepcopy])
def test_system_source_copying_or_pickling_raises(work):
    with pytest.raises(TypeError, match="used once"):
        work(SystemSource())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_system_source_after_fork_child_and_parent_streams_differ():
    source = system_source()
    random_bytes(100)  # the buffer holds bytes that a careless child would hand out as well
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, random_bytes(4096))
        finally:
            os._exit(0)
    os.close(writing)
    of_child = b""
    while part := os.read(reading, 4096):
        of_child += part
    os.close(reading)
    os.waitpid(child, 0)
    of_parent = random_bytes(1 << 19)  # what was buffered at the fork, and more
    assert system_source() is source
    assert len(of_child) == 4096
    assert not any(block in of_parent for block in _blocks(of_child))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_fork_check_planted_source_without_rekeying_is_noticed():
    source = SystemSource()
    _draw(source, 100)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            source._forks = randomness._FORKS  # the planted fault: the child does not notice the fork
            os.write(writing, _draw(source, 64))
        finally:
            os._exit(0)
    os.close(writing)
    of_child = os.read(reading, 64)
    os.close(reading)
    os.waitpid(child, 0)
    assert of_child == _draw(source, 64)


def test_threads_many_share_no_block_of_bytes():
    drawn: list[bytes] = []
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        drawn.append(b"".join(random_bytes(997) for _ in range(400)))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    blocks = [_blocks(data) for data in drawn]
    assert len(set().union(*blocks)) == sum(len(b) for b in blocks)


def test_threads_each_has_its_own_source_and_keeps_it():
    seen = []
    thread = threading.Thread(target=lambda: seen.append((system_source(), system_source())))
    thread.start()
    thread.join()
    assert seen[0][0] is seen[0][1]
    assert seen[0][0] is not system_source()


class Interrupted:
    """An array that is interrupted while bytes are copied into it, as by Ctrl-C."""

    def __len__(self) -> int:
        return 64

    def __setitem__(self, where, what) -> None:
        raise KeyboardInterrupt


def test_system_source_interrupted_draw_loses_bytes_but_repeats_none():
    source = SystemSource()
    before = _draw(source, 64)
    with pytest.raises(KeyboardInterrupt):
        source.fill(Interrupted())
    after = _draw(source, 64)
    assert after != before and any(after)
    assert source._position == 32 + 3 * 64
    assert _draw(source, 64) not in (before, after)


def test_system_source_draw_inside_a_draw_leaves_the_buffer_alone():
    # A signal handler that draws while the same thread draws.
    source = SystemSource()
    inner: list[bytes] = []

    class Nested:
        got = b""

        def __len__(self) -> int:
            return 64

        def __setitem__(self, where, what) -> None:
            inner.append(_draw(source, 64))
            self.got = bytes(what)

    outer = Nested()
    source.fill(outer)
    assert any(inner[0]) and inner[0] != outer.got
    assert source._position == 32 + 64
    assert any(_draw(source, 64))


def test_seeded_source_same_seed_same_bytes_in_any_portions():
    assert random_bytes(64, source=SeededSource(5)) == random_bytes(64, source=SeededSource(5))
    assert random_bytes(64, source=SeededSource(5)) != random_bytes(64, source=SeededSource(6))
    assert np.array_equal(random_words(9, source=SeededSource(2)), random_words(9, source=SeededSource(2)))


def test_seeded_source_same_seed_same_noise():
    for sampler in (
        lambda source: discrete_laplace(Fraction(1000), 5000, source=source),
        lambda source: discrete_gaussian(Fraction(1000), 500, source=source),
        lambda source: exponential_choice(np.arange(20), Fraction(1, 10), source=source),
        lambda source: permutation(100, source=source),
        lambda source: uniform_below(10**12 + 1, 100, source=source),
    ):
        assert np.array_equal(sampler(SeededSource(11)), sampler(SeededSource(11)))


def test_resolve_none_is_the_system_source():
    seeded = SeededSource(1)
    assert resolve(None) is system_source()
    assert resolve(seeded) is seeded


@pytest.mark.parametrize("bound", [0, -1, (1 << 62) + 1])
def test_uniform_below_bound_out_of_range_raises(bound):
    with pytest.raises(ParameterError, match="bound"):
        uniform_below(bound, 1)


def test_uniform_below_every_masked_word_is_taken_or_drawn_again(exact):
    # bound 5: three bits; 5, 6 and 7 are drawn again and become 4 here.
    words = b"".join(value.to_bytes(8, "little") for value in range(8, 16))  # the fourth bit is masked away
    again = b"".join(value.to_bytes(8, "little") for value in (7, 4, 4, 2))
    script = exact.Script(words, again)
    assert uniform_below(5, 8, source=script).tolist() == [0, 1, 2, 3, 4, 2, 4, 4]
    assert script.left == b""


def test_uniform_below_one_is_zero():
    assert uniform_below(1, 4).tolist() == [0, 0, 0, 0]


def test_permutation_small_every_order_equally_likely():
    counts: dict[tuple[int, ...], int] = {}
    source = SeededSource(8)
    for _ in range(24_000):
        order = tuple(permutation(4, source=source).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > 1e-9


def test_permutation_tied_keys_are_all_drawn_again(exact):
    same = b"\x01" * 16
    fresh = (9).to_bytes(8, "little") + (3).to_bytes(8, "little")
    assert permutation(2, source=exact.Script(same, fresh)).tolist() == [1, 0]
