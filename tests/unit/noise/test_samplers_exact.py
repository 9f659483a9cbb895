"""The samplers' distributions, computed (not sampled) from their coins, and their tie-breaking paths, scripted."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.errors import ParameterError
from pydplib.noise import samplers
from pydplib.noise.samplers import (
    discrete_gaussian,
    discrete_laplace,
    exponential_choice,
    fill_laplace,
    gaussian_accept,
    laplace_coins,
)
from pydplib.noise.testing import SeededSource


class EveryWord:
    """A row of coins that falls in every possible way once; whatever is drawn again comes out as ``again``."""

    def __init__(self, count: int, again: int) -> None:
        self.block = 1 << (count + 2)
        self.again = again
        self.redone = 0

    def toss(self, size, *, source=None):
        if size == self.block:
            return np.arange(self.block, dtype=np.uint8)
        self.redone += size
        return np.full(size, self.again, dtype=np.uint8)


def _weight(word: int, a: Fraction, count: int) -> Fraction:
    """The chance of one way of falling, for coins of the probabilities that the proof names."""
    weight = Fraction(1, 2)  # the sign
    for j in range(count):
        heads = a ** (2**j) / (1 + a ** (2**j))
        weight *= heads if word >> j & 1 else 1 - heads
    more = a ** (2**count)
    return weight * (more if word >> count & 1 else 1 - more)


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("extra", [0, 1, 2])
def test_fill_laplace_every_fall_of_the_coins_gives_the_discrete_laplace_exactly(monkeypatch, a, extra):
    # The real code maps every way the coins can fall to an integer; their exact chances must add up to the
    # discrete Laplace's. ``extra`` is how often the tail coin falls heads again: chance more^extra (1 - more).
    count = 6
    tails = iter([True] * extra + [False] * 50)
    monkeypatch.setattr(
        samplers, "bernoulli_exp", lambda x, size, source=None: np.full(size, next(tails), dtype=np.bool_)
    )
    out = np.empty(1 << (count + 2), dtype=np.int64)
    row = EveryWord(count, again=5)
    fill_laplace(out, Fraction(1), row, count, None)
    more = a ** (2**count)
    chances: dict[int, Fraction] = defaultdict(Fraction)
    rejected = Fraction(0)
    for word, z in enumerate(out.tolist()):
        chance = _weight(word, a, count)
        if word >> count & 1:  # the tail coin was tossed again, ``extra`` times heads and once tails
            chance *= more**extra * (1 - more)
            assert abs(z) == (word & 63) + 64 * (1 + extra)
        if word == 1 << (count + 1):  # minus zero: drawn again
            rejected += chance
            assert z == 5
            continue
        chances[z] += chance
    assert row.redone == 1
    assert rejected == Fraction(1, 2) * (1 - a)
    # Given that minus zero is drawn again, P(z) = (1-a)/(1+a) a^|z|.
    for z, chance in chances.items():
        assert chance / (1 - rejected) == (1 - a) / (1 + a) * a ** abs(z)
    assert set(range(-63, 64)) <= set(chances)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 3), Fraction(1500), Fraction(10**6, 7)])
def test_laplace_coins_probabilities_are_those_of_the_proof(exact, scale):
    row, count = laplace_coins(scale)
    assert (1 << count) >= 7 * scale
    for j in range(count):
        digits = exact.logistic_digits(Fraction(1 << j) / scale, 9)
        assert (row._first[j], int(row._next[j])) == (digits[0], int.from_bytes(digits[1:], "big"))
    digits = exact.exp_digits(Fraction(1 << count) / scale, 9)
    assert (row._first[count], int(row._next[count])) == (digits[0], int.from_bytes(digits[1:], "big"))
    assert (row._first[count + 1], int(row._next[count + 1])) == (0x80, 0)
    assert not row._first[count + 2 : row.width].any()


def test_laplace_coins_half_scale_planted_gives_other_digits(exact):
    row, _ = laplace_coins(Fraction(2))
    assert row._first[0] != exact.logistic_digits(Fraction(1) / Fraction(4), 1)[0]


def test_discrete_laplace_largest_scale_fits_the_word():
    out = discrete_laplace(Fraction(1 << 52), 2000, source=SeededSource(0))
    assert 2.0**50 < np.median(np.abs(out)) < 2.0**53


def test_discrete_laplace_tiny_scale_is_zero_and_ends():
    assert not discrete_laplace(Fraction(1, 1000), 5000, source=SeededSource(0)).any()


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_discrete_laplace_not_positive_raises(scale):
    with pytest.raises(ParameterError, match="positive"):
        discrete_laplace(scale, 1)


def test_discrete_laplace_too_large_raises():
    with pytest.raises(ParameterError, match="coarser grid"):
        discrete_laplace(Fraction((1 << 52) + 1), 1)


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(1, 10**400)])
def test_discrete_gaussian_variance_too_small_raises_instead_of_looping(variance):
    with pytest.raises(ParameterError, match="variance"):
        discrete_gaussian(variance, 1)


def test_discrete_gaussian_smallest_variance_is_zero_and_ends():
    assert not discrete_gaussian(Fraction(1, 1 << 1000), 100, source=SeededSource(0)).any()


def test_discrete_gaussian_empty_size_is_empty():
    assert discrete_gaussian(Fraction(4), 0).shape == discrete_laplace(Fraction(4), 0).shape == (0,)


@pytest.mark.parametrize("variance", [Fraction(1, 5), Fraction(1), Fraction(9, 2), Fraction(100)])
def test_gaussian_rejection_weights_multiply_to_the_discrete_gaussian(variance):
    # log(Laplace weight) + log(acceptance) = -y^2/(2 v) + constant, in exact fractions.
    t = math.isqrt(variance.numerator // variance.denominator) + 1
    constants = set()
    for y in range(-40, 41):
        log_weight = -Fraction(abs(y), t) - (abs(y) - variance / t) ** 2 / (2 * variance)
        constants.add(log_weight + Fraction(y * y) / (2 * variance))
    assert len(constants) == 1


def _accept_exponent(y: int, variance: Fraction, t: int) -> Fraction:
    return (abs(y) - variance / t) ** 2 / (2 * variance)


@pytest.mark.parametrize(("step", "accepted"), [(-1, True), (1, False)])
@pytest.mark.parametrize("y", [0, 3, -7])
def test_gaussian_accept_near_the_boundary_exact_digits_decide(exact, y, step, accepted):
    variance, t = Fraction(17, 2), 3
    digits = exact.exp_digits(_accept_exponent(y, variance, t), 24)
    bits = int.from_bytes(digits, "big")
    word = (bits >> (192 - 53)) << 11
    script = exact.Script(
        word.to_bytes(8, "little"), bytes([bits >> (192 - 56) & 7]), exact.next_up(digits[7:15], step)
    )
    assert gaussian_accept(np.array([y]), variance, t, script).tolist() == [accepted]
    assert script.left == b""


def test_gaussian_accept_certain_proposal_is_accepted_whatever_the_word(exact):
    # |y| = variance / t: the exponent is 0.
    script = exact.Script(b"\xff" * 8)
    assert gaussian_accept(np.array([2]), Fraction(4), 2, script).tolist() == [True]


def test_gaussian_accept_float_chance_is_within_the_margin_of_the_exact_one(exact):
    # The filter decides by floats outside 2^-30 of the boundary; the float chance must be far nearer than that.
    for variance in (Fraction(17, 2), Fraction(10**12 + 1, 3), Fraction(2**99, 7)):
        t = math.isqrt(variance.numerator // variance.denominator) + 1
        for y in (0, 1, t // 2, t, 3 * t, 9 * t):
            gap = abs(float(y) - float(variance / t))
            chance = math.exp(-(gap * gap) / (2 * float(variance)))
            low, _ = exact.exp_bounds(_accept_exponent(y, variance, t), 80)
            assert abs(Fraction(chance) - low) < Fraction(1, 2**40)


def _boundary(exact, scores, unit, index, bits):
    """Bounds of the cumulative share up to and including ``index``, as a fraction of the total."""
    best = max(scores)
    bounds = [exact.exp_bounds(unit * (best - s), bits + 40) if s < best else (Fraction(1),) * 2 for s in scores]
    low = sum(b[0] for b in bounds[: index + 1]) / sum(b[1] for b in bounds)
    high = sum(b[1] for b in bounds[: index + 1]) / sum(b[0] for b in bounds)
    return low, high


@pytest.mark.parametrize("words", [1, 2, 3, 5])
@pytest.mark.parametrize(("step", "offset"), [(-1, 0), (1, 1)])
@pytest.mark.parametrize(
    ("scores", "unit", "index"),
    [([0, 1], Fraction(1), 0), ([5, 3, 9, 9, 0], Fraction(1, 3), 2), ([4, 4, 1], Fraction(2, 5), 1)],
)
def test_exponential_choice_tie_of_any_depth_is_decided_by_exact_weights(
    exact, scores, unit, index, words, step, offset
):
    # U agrees with the boundary after candidate ``index`` in 53 + 64 (words - 1) bits, then differs by one unit.
    bits = 53 + 64 * words
    low, high = _boundary(exact, scores, unit, index, bits + 64)
    first = (low.numerator << bits) // low.denominator
    assert first == (high.numerator << bits) // high.denominator
    uniform = first + step
    script = exact.Script(
        ((uniform >> (64 * words)) << 11).to_bytes(8, "little"),
        *[(uniform >> (64 * k) & (2**64 - 1)).to_bytes(8, "little") for k in reversed(range(words))],
        bytes(8) * 2,  # further digits of U: zeros, in case the last word is not yet enough
    )
    assert exponential_choice(np.array(scores), unit, source=script) == index + offset


def test_exponential_choice_equal_scores_at_one_half_exactly(exact):
    # The boundary is 1/2, a number with a finite expansion: U = 1/2 + 2^-100 is candidate 1, 1/2 - 2^-100 candidate 0.
    above = exact.Script((1 << 63).to_bytes(8, "little"), (1 << 17).to_bytes(8, "little"))
    below = exact.Script(((1 << 63) - (1 << 11)).to_bytes(8, "little"), (2**64 - (1 << 17)).to_bytes(8, "little"))
    assert exponential_choice(np.array([7, 7]), Fraction(1), source=above) == 1
    assert exponential_choice(np.array([7, 7]), Fraction(1), source=below) == 0


def test_exponential_choice_last_word_with_hopeless_tail_stays_with_the_likely_candidate(exact):
    # U just below 1, but farther from it than the tail's weight exp(-1000).
    script = exact.Script(b"\xff" * 8, (2**64 - 2).to_bytes(8, "little"), bytes(8))
    assert exponential_choice(np.array([1000, 0]), Fraction(1), source=script) == 0


def test_exponential_choice_single_candidate_is_chosen_at_both_ends(exact):
    assert exponential_choice(np.array([-3]), Fraction(1), source=exact.Script(bytes(8))) == 0
    assert exponential_choice(np.array([-3]), Fraction(1), source=exact.Script(b"\xff" * 8)) == 0


@settings(max_examples=60)
@given(
    scores=st.lists(st.integers(-30, 30), min_size=1, max_size=8),
    unit=st.fractions(Fraction(1, 50), 3, max_denominator=50),
    word=st.integers(0, 2**53 - 1),
)
def test_exponential_choice_any_word_falls_into_its_exact_cell(exact, scores, unit, word):
    best = max(scores)
    weights = [exact.exp_bounds(unit * (best - s), 200) if s < best else (Fraction(1),) * 2 for s in scores]
    total_low, total_high = sum(w[0] for w in weights), sum(w[1] for w in weights)
    u_low, u_high = Fraction(word, 2**53), Fraction(word + 1, 2**53)
    chosen = exponential_choice(
        np.array(scores), unit, source=exact.Script((word << 11).to_bytes(8, "little"), b"\x55" * 64)
    )
    before = sum(w[0] for w in weights[:chosen])
    after = sum(w[1] for w in weights[: chosen + 1])
    assert before <= u_high * total_high and u_low * total_low <= after


@pytest.mark.parametrize(
    ("scores", "unit"), [([], Fraction(1)), ([[1, 2]], Fraction(1)), ([1], Fraction(0)), ([1], Fraction(-1))]
)
def test_exponential_choice_bad_parameters_raise(scores, unit):
    with pytest.raises(ParameterError):
        exponential_choice(np.array(scores, dtype=np.int64), unit)


def test_exponential_choice_extreme_scores_do_not_overflow():
    assert exponential_choice(np.array([-(2**62) + 1, 2**62 - 1]), Fraction(1), source=SeededSource(0)) == 1


def test_many_choices_follow_the_law_of_single_ones():
    from pydplib.noise.samplers import exponential_choices, flip_choices

    scores, unit, size = np.array([3, 5, 4]), Fraction(1, 2), 200_000
    weights = np.exp(0.5 * scores)
    seen = np.bincount(exponential_choices(scores, unit, size, source=SeededSource(5)), minlength=3) / size
    assert seen == pytest.approx(weights / weights.sum(), abs=6 * 0.5 / math.sqrt(size))
    # Permute-and-flip: coins 1, e^-1/2, e^-1 for gaps 0, 1, 2; the winner is uniform among the heads.
    half, one = math.exp(-0.5), math.exp(-1)
    best = (1 - half) * (1 - one) + (half * (1 - one) + one * (1 - half)) / 2 + half * one / 3
    chosen = np.bincount(flip_choices(scores, unit, size, source=SeededSource(6)), minlength=3) / size
    assert chosen[1] == pytest.approx(best, abs=6 * 0.5 / math.sqrt(size))
    assert chosen[1] > seen[1] + 0.02  # never worse than the exponential mechanism, and here better


def test_one_choice_of_many_uses_the_bits_of_a_single_choice():
    from pydplib.noise.samplers import exponential_choice, exponential_choices

    scores = np.arange(50)
    for seed in range(20):
        single = exponential_choice(scores, Fraction(1, 7), source=SeededSource(seed))
        assert exponential_choices(scores, Fraction(1, 7), 1, source=SeededSource(seed)).tolist() == [single]
