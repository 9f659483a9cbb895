"""Noise for two tables at once: its law, computed from the weights it is drawn by; and its exact paths, scripted."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pydplib.errors import ParameterError
from pydplib.noise import pairs
from pydplib.noise.pairs import CASES, chances_of, draw_parts, number_of, numbers_of, pair_noise, terms_of, weights_of
from pydplib.noise.randomness import permutations, uniform_below_each
from pydplib.noise.tap import add_pair
from pydplib.noise.testing import SeededSource, check_neighbours, pair_distance, record, replay

SIZES = [(1, 1), (1, 2), (2, 2), (3, 2), (2, 4), (3, 3)]


def vectors(cells: int, reach: int) -> list[tuple[int, ...]]:
    return [x for x in product(range(-reach, reach + 1), repeat=cells) if sum(map(abs, x)) <= reach]


@pytest.mark.parametrize("cells", [1, 2, 3, 4])
def test_numbers_of_vectors_are_those_found_by_listing_them(cells):
    listed: dict[tuple[int, int, int], int] = {}
    for x in vectors(cells, 6):
        low = sum(-v for v in x if v < 0)
        if sum(x) >= 0:
            key = (sum(x), low, sum(v < 0 for v in x))
            listed[key] = listed.get(key, 0) + 1
    for (total, low, negative), many in listed.items():
        if total + 2 * low <= 6:
            assert numbers_of(cells, total, low)[negative] == many
    for total, low in product(range(7), range(4)):
        if total + 2 * low <= 6:
            assert number_of(cells, total, low) == sum(m for (t, q, _), m in listed.items() if (t, q) == (total, low))


@pytest.mark.parametrize(("first", "second"), [*SIZES, (5, 4), (7, 7)])
def test_terms_add_up_to_the_number_of_pairs_in_every_case(first, second):
    """The weights that are drawn from are the law: no sampling is needed to see that."""
    terms = terms_of(first, second)
    assert min(terms.factors) > 0
    for t, u, v in product(range(4), range(6), (0, 1, 5, 40)):
        for place, (low, other, q, r) in enumerate(CASES):
            if (u and not (q[0] or r[0])) or (v and not (q[1] or r[1])):
                continue
            mine = terms.case == place
            found = sum(
                factor * math.comb(t, i) * math.comb(u, j) * math.comb(v, k)
                for (i, j, k), factor, own in zip(terms.powers.tolist(), terms.factors, mine, strict=True)
                if own
            )
            wanted = number_of(first, t, low + q[0] * u + q[1] * v) * number_of(second, t, other + r[0] * u + r[1] * v)
            assert found == wanted


def test_cases_cover_every_pair_of_negative_parts_once():
    found: dict[tuple[int, int], int] = {}
    for low, other, q, r in CASES:
        for u, v in product(range(9), range(9)):
            if (u and not (q[0] or r[0])) or (v and not (q[1] or r[1])):
                continue
            key = (low + q[0] * u + q[1] * v, other + r[0] * u + r[1] * v)
            found[key] = found.get(key, 0) + 1
            assert max(key) == max(low, other) + u + v  # so that the larger norm is t + 2 (start + u + v)
    assert all(found[pair] == 1 for pair in product(range(6), range(6)))


@pytest.mark.parametrize(("first", "second"), SIZES)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3, 2)])
def test_weights_of_all_terms_add_up_to_those_of_all_pairs(first, second, scale):
    weights = weights_of(scale, first, second, 30)
    z, start = math.exp(-1 / scale), weights_of(scale, first, second, 30)[0]
    # The first term is the constant of t = Q = Q' = 0: its weight is 1 / (1 - z).
    assert terms_of(first, second).powers[0].tolist() == [0, 0, 0] and terms_of(first, second).factors[0] == 1
    reach = 40
    mine, other = (
        np.array([[float(number_of(cells, t, q)) for q in range(reach)] for t in range(2 * reach)])
        for cells in (first, second)
    )
    t, q, r = np.ogrid[: 2 * reach, :reach, :reach]
    half = float((mine[:, :, None] * other[:, None, :] * z ** (t + 2 * np.maximum(q, r))).sum())  # all of t >= 0
    assert sum(weights) / start == pytest.approx(half * (1 - z), rel=1e-9)
    assert chances_of(scale, first, second)[-1] == 1.0


def test_a_choice_too_near_a_boundary_is_settled_by_exact_weights(monkeypatch):
    calls = []
    real = pairs.weights_of
    monkeypatch.setattr(pairs, "weights_of", lambda *args: calls.append(args[-1]) or real(*args))
    monkeypatch.setattr(pairs, "_SLACK", 2.0)  # everything is too near
    x, y = pair_noise(Fraction(7, 3), 40, 3, 2, source=SeededSource(5))
    assert max(calls) >= 57 and (x.sum(axis=1) == y.sum(axis=1)).all()
    monkeypatch.undo()
    again = pair_noise(Fraction(7, 3), 40, 3, 2, source=SeededSource(5))
    assert np.array_equal(x, again[0]) and np.array_equal(y, again[1])  # floating point had chosen the same


def test_parts_are_uniform_over_all_ways_to_make_up_a_number():
    whole, parts = np.full(60_000, 4), np.full(60_000, 3)
    drawn = draw_parts(whole, parts, 5, SeededSource(3))
    assert drawn.shape == (60_000, 5) and (drawn.sum(axis=1) == 4).all() and not drawn[:, 3:].any()
    _, counts = np.unique(drawn[:, :3], axis=0, return_counts=True)
    assert len(counts) == math.comb(6, 2)
    expected = 60_000 / len(counts)
    assert ((counts - expected) ** 2 / expected).sum() < 60  # 14 degrees of freedom: beyond it once in 10^6


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 6), (7, 7), (20, 12)])
@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(3), Fraction(2**16 * 3, 2), Fraction(2**40)])
def test_every_block_has_equal_sums_at_any_size_and_scale(first, second, scale):
    x, y = pair_noise(scale, 30, first, second, source=SeededSource(8))
    assert x.shape == (30, first) and y.shape == (30, second)
    assert np.array_equal(x.sum(axis=1), y.sum(axis=1))
    assert scale < 1 or int(np.abs(x).sum()) > 0


@pytest.mark.parametrize(
    ("scale", "first", "second"), [(0, 2, 2), (Fraction(2**41), 2, 2), (Fraction(1), 0, 2), (Fraction(1), 17, 16)]
)
def test_sizes_that_are_not_drawn_are_refused(scale, first, second):
    with pytest.raises(ParameterError, match=r"scale must be|A block has"):
        pair_noise(Fraction(scale), 2, first, second)


def test_uniform_numbers_below_bounds_of_their_own_and_orders():
    bounds = np.array([1, 2, 3, 5, 2**62] * 4000)
    drawn = uniform_below_each(bounds, source=SeededSource(2))
    assert (drawn >= 0).all() and (drawn < bounds).all()
    for bound in (2, 3, 5):
        counts = np.bincount(drawn[bounds == bound], minlength=bound)
        assert (abs(counts - 4000 / bound) < 6 * (4000 / bound) ** 0.5).all()
    with pytest.raises(ParameterError, match="bounds between"):
        uniform_below_each(np.array([0]))
    orders = permutations(24_000, 3, source=SeededSource(4))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6 and (abs(counts - 4000) < 400).all()


# -- the tap ---------------------------------------------------------------------------------------


def test_pairs_are_recorded_replayed_and_measured_by_the_larger_table():
    first, second = np.array([[5, 2], [1, 0]]), np.array([[3, 4, 0], [1, 0, 0]])
    with record() as one:
        noisy = add_pair(first, second, Fraction(3), sensitivity=2)
    with replay(one) as two:
        more = np.array([[0, 1], [1, 0]]), np.array([[1, 0, 0], [0, 0, 1]])
        again = add_pair(first + more[0], second + more[1], Fraction(3), sensitivity=2)
    assert np.array_equal(noisy[0], again[0]) and np.array_equal(noisy[1], again[1])
    check_neighbours(one, two)
    assert one.passed[0].call.epsilon == 2 / 3
    assert np.array_equal((noisy[0] - first).sum(axis=1), (noisy[1] - second).sum(axis=1))


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [([[0, 1], [2, 0]], [[1, 0, 0], [0, 0, 2]], "moved by 3"), ([[0, 1], [0, 0]], [[0, 0, 0], [1, 0, 0]], "different")],
)
def test_pairs_that_move_too_far_or_to_different_sums_are_noticed(first, second, words):
    exact = np.zeros((2, 2), dtype=np.int64), np.zeros((2, 3), dtype=np.int64)
    with record() as one:
        add_pair(*exact, Fraction(3), sensitivity=2)
    with replay(one) as two:
        add_pair(np.array(first), np.array(second), Fraction(3), sensitivity=2)
    with pytest.raises(AssertionError, match=words):
        check_neighbours(one, two)


@pytest.mark.parametrize(("first", "second"), [(2, 2), (1, 3), (3, 2)])
def test_the_norm_is_the_number_of_people_that_it_takes(first, second):
    """By brute force: the fewest single persons, added or taken away, that make up a difference of two tables."""
    moves = []
    for j, k, sign in product(range(first), range(second), (1, -1)):
        move = [0] * (first + second)
        move[j] = move[first + k] = sign
        moves.append(tuple(move))
    reached, edge = {(0,) * (first + second): 0}, [(0,) * (first + second)]
    for people in range(1, 4):
        edge = [
            found
            for here in edge
            for move in moves
            if (found := tuple(a + b for a, b in zip(here, move, strict=True))) not in reached
            and not reached.update({found: people})
        ]
    for difference, people in reached.items():
        assert pair_distance(list(difference), first, (1, first + second)) == people
    for x, y in product(vectors(first, 3), vectors(second, 3)):
        if sum(x) == sum(y):
            assert x + y in reached
