"""Coins: the thresholds they compare with, and what happens on ties, with the random bytes written down."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pydplib.errors import ParameterError
from pydplib.noise.coins import CoinRow, bernoulli_exp, bernoulli_exp_each, bernoulli_keep, settle, toss
from pydplib.noise.expansion import exp_minus, logistic_minus
from pydplib.noise.testing import SeededSource

X = Fraction(3, 7)


def test_coin_row_thresholds_are_the_first_72_bits_of_each_probability(exact):
    xs = [Fraction(1, 9), Fraction(1), Fraction(13, 3)]
    row = CoinRow([exp_minus(x) for x in xs])
    assert row.width == 8
    for j, x in enumerate(xs):
        digits = exact.exp_digits(x, 9)
        assert row._first[j] == digits[0]
        assert int(row._next[j]) == int.from_bytes(digits[1:], "big")
    assert not row._first[3:8].any() and not row._next[3:8].any()
    assert np.array_equal(row._first.reshape(row.block, 8), np.tile(row._first[:8], (row.block, 1)))


@pytest.mark.parametrize(("coins", "width"), [(1, 8), (8, 8), (9, 16), (16, 16), (17, 32), (57, 64)])
def test_coin_row_any_count_is_padded_to_a_machine_word(coins, width):
    row = CoinRow([logistic_minus(Fraction(1))] * coins)
    words = row.toss(row.block, source=SeededSource(1))
    assert row.width == width
    assert words.dtype.itemsize * 8 == width
    assert int(words.max()) < 1 << coins  # padding never falls heads


def test_coin_row_every_first_byte_heads_exactly_below_the_threshold(exact):
    # All 256 first bytes for coin 0; the one tie is settled by the next word, here 0 (below) or all ones (above).
    threshold = exact.exp_digits(X, 1)[0]
    random = np.full((256, 8), 255, dtype=np.uint8)
    random[:, 0] = np.arange(256)
    for word, heads in ((bytes(8), threshold + 1), (b"\xff" * 8, threshold)):
        script = exact.Script(random.tobytes(), word)
        words = CoinRow([exp_minus(X)]).toss(256, source=script)
        assert words.tolist() == [1] * heads + [0] * (256 - heads)
        assert script.left == b""


def test_coin_row_bit_j_belongs_to_coin_j(exact):
    row = CoinRow([exp_minus(Fraction(1))] * 16)
    random = np.full((16, 16), 255, dtype=np.uint8)
    np.fill_diagonal(random, 0)
    words = row.toss(16, source=exact.Script(random.tobytes()))
    assert words.tolist() == [1 << j for j in range(16)]


@pytest.mark.parametrize("depth", [1, 9, 17, 33, 41])
@pytest.mark.parametrize(("step", "heads"), [(-1, True), (1, False)])
def test_coin_row_tie_of_any_depth_is_settled_exactly(exact, depth, step, heads):
    digits = exact.exp_digits(X, depth + 8)
    uniform = digits[:depth] + exact.next_up(digits[depth:], step)
    # The first byte, then a 64-bit word in machine order, then bytes of 8 in reading order.
    machine_word = uniform[1:9][::-1]
    script = exact.Script(uniform[:1], b"\xff" * 7, machine_word, uniform[9:])
    assert CoinRow([exp_minus(X)]).toss(1, source=script).tolist() == [int(heads)]
    assert script.left == b""


@pytest.mark.parametrize("depth", [1, 9, 17, 33, 41])
@pytest.mark.parametrize(("step", "heads"), [(-1, True), (1, False)])
def test_toss_tie_of_any_depth_is_settled_exactly(exact, depth, step, heads):
    digits = exact.exp_digits(X, depth + 8)
    uniform = digits[:depth] + exact.next_up(digits[depth:], step)
    script = exact.Script(uniform[:1], uniform[1:9][::-1], uniform[9:])
    assert toss(exp_minus(X), 1, source=script).tolist() == [heads]
    assert script.left == b""


def test_settle_padding_coin_is_tails():
    assert settle(None, 0, None) is False


def test_coin_row_padding_coin_ties_on_zero_and_stays_tails(exact):
    # A padding coin compares with 0: byte 0 ties, word 0 ties again, and still it is tails.
    script = exact.Script(b"\xff" + bytes(1) + b"\xff" * 6, bytes(8))
    assert CoinRow([exp_minus(X)]).toss(1, source=script).tolist() == [0]


def test_toss_several_ties_take_their_words_in_order(exact):
    digits = exact.exp_digits(X, 9)
    script = exact.Script(bytes([digits[0], 0, 255, digits[0]]), bytes(8), b"\xff" * 8)
    assert toss(exp_minus(X), 4, source=script).tolist() == [True, True, False, False]


def test_toss_more_than_a_block_fills_every_sample():
    heads = toss(exp_minus(Fraction(1, 100)), (1 << 19) + 7, source=SeededSource(3))
    assert heads.shape == ((1 << 19) + 7,)
    assert 0.98 < heads.mean() < 1


def test_bernoulli_exp_zero_is_certain_and_uses_no_randomness(exact):
    assert bernoulli_exp(Fraction(0), 5, source=exact.Script()).all()


def test_bernoulli_exp_negative_raises():
    with pytest.raises(ParameterError, match="x >= 0"):
        bernoulli_exp(Fraction(-1), 1)


@pytest.mark.parametrize(("epsilon", "categories"), [(Fraction(0), 2), (Fraction(-1), 2), (Fraction(1), 1)])
def test_bernoulli_keep_bad_parameters_raise(epsilon, categories):
    with pytest.raises(ParameterError, match="two categories"):
        bernoulli_keep(epsilon, categories, 1)


def test_bernoulli_keep_threshold_byte_decides_as_the_probability_says(exact):
    first = exact.keep_digits(Fraction(2), 5, 1)[0]
    script = exact.Script(bytes([first - 1, first + 1]))
    assert bernoulli_keep(Fraction(2), 5, 2, source=script).tolist() == [True, False]


def _each_script(exact, exponent, change, beyond=b""):
    """Bytes for one coin of bernoulli_exp_each whose uniform number ties in 53 bits, then differs by ``change``."""
    digits = exact.exp_digits(exponent, 16)
    bits = int.from_bytes(digits, "big")
    top53 = bits >> (128 - 53)
    next3 = (bits >> (128 - 56)) & 7
    word = (top53 << 11) | 0b101_0101_0101  # the low 11 bits are thrown away
    if change == "below3":
        assert next3 > 0
        return exact.Script(word.to_bytes(8, "little"), bytes([0b11111_000 | (next3 - 1)]))
    if change == "above3":
        assert next3 < 7
        return exact.Script(word.to_bytes(8, "little"), bytes([next3 + 1]))
    step = {"below11": -1, "above11": 1}[change]
    return exact.Script(word.to_bytes(8, "little"), bytes([next3]), exact.next_up(digits[7:15], step))


def _exponent_with_middle_bits(exact):
    """A numerator whose three bits after the 53rd are neither 0 nor 7, so that both neighbours exist."""
    for numerator in range(1, 50):
        bits = int.from_bytes(exact.exp_digits(numerator * Fraction(1, 11), 16), "big")
        if 0 < ((bits >> (128 - 56)) & 7) < 7:
            return numerator
    raise AssertionError


@pytest.mark.parametrize(
    ("change", "heads"), [("below3", True), ("above3", False), ("below11", True), ("above11", False)]
)
def test_bernoulli_exp_each_near_the_boundary_exact_digits_decide(exact, change, heads):
    numerator = _exponent_with_middle_bits(exact)
    script = _each_script(exact, numerator * Fraction(1, 11), change)
    out = bernoulli_exp_each(np.array([numerator]), Fraction(1, 11), source=script)
    assert out.tolist() == [heads]
    assert script.left == b""


def test_bernoulli_exp_each_float_comparison_alone_would_be_wrong(exact):
    # The same 53 bits give True and False depending on later digits: no float comparison can do that.
    numerator = _exponent_with_middle_bits(exact)
    outcomes = [
        bernoulli_exp_each(
            np.array([numerator]), Fraction(1, 11), source=_each_script(exact, numerator * Fraction(1, 11), change)
        )[0]
        for change in ("below3", "above3")
    ]
    assert outcomes == [True, False]


def test_bernoulli_exp_each_zero_numerator_is_certain_even_at_the_largest_word(exact):
    script = exact.Script(b"\xff" * 8)
    assert bernoulli_exp_each(np.array([0]), Fraction(1), source=script).tolist() == [True]


def test_bernoulli_exp_each_far_from_the_boundary_takes_one_word_per_coin(exact):
    script = exact.Script(bytes(16))
    assert bernoulli_exp_each(np.array([1, 2]), Fraction(1), source=script).tolist() == [True, True]
    assert script.left == b""


def test_bernoulli_exp_each_hopeless_coin_with_zero_word_needs_exact_digits(exact):
    # exp(-100) is below 2^-53: a zero word ties, and its further digits decide. 1/2^64 is far above exp(-100).
    script = exact.Script(bytes(8), bytes(1), bytes(7) + b"\x01")
    assert bernoulli_exp_each(np.array([100]), Fraction(1), source=script).tolist() == [False]


@pytest.mark.parametrize(("numerators", "unit"), [([1], Fraction(0)), ([-1], Fraction(1))])
def test_bernoulli_exp_each_bad_parameters_raise(numerators, unit):
    with pytest.raises(ParameterError):
        bernoulli_exp_each(np.array(numerators), unit)
