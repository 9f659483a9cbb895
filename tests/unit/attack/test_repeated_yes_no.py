"""Asking about yes and no again and again: what counts as right, and coins that are tossed at every call."""

from __future__ import annotations

import numpy as np
import pytest

from pydplib.attack import CoinFlips, PaperMode, averaging

FLAGS = (np.arange(400) % 3 == 0).astype(float)


def test_averaging_of_yes_and_no_counts_only_the_right_answer() -> None:
    """Within 1 of a yes lies every no: with the tolerance of ages, whoever guesses is always right."""
    result = averaging(PaperMode("high"), FLAGS, calls=(1, 100), seed=1)
    assert result.details["tolerance"] == 0
    assert result.baseline == pytest.approx(np.mean(FLAGS == 0))
    assert result.details["success_by_calls"][0] < 0.95 < result.success
    careless = averaging(PaperMode("high"), FLAGS, calls=(1, 100), tolerance=1.0, seed=1)
    assert careless.baseline == careless.success == 1


def test_averaging_of_numbers_keeps_its_tolerance() -> None:
    ages = np.random.default_rng(2).normal(65, 8, 200)
    assert averaging(PaperMode("high"), ages, calls=(1,), seed=1).details["tolerance"] == 1


def test_coins_that_are_kept_tell_no_more_when_asked_again() -> None:
    result = averaging(CoinFlips(), FLAGS, calls=(1, 100), seed=3)
    once, often = result.details["success_by_calls"]
    assert once == often < 0.85


def test_coins_that_are_tossed_again_expose_the_answers() -> None:
    """The weakness that the PyDPLib paper names: repeated queries expose the original values."""
    result = averaging(CoinFlips(kept=False), FLAGS, calls=(1, 10, 100), seed=3)
    once, ten, hundred = result.details["success_by_calls"]
    assert once < 0.85 < ten < hundred
    assert hundred > 0.99
    assert "tossed again" in result.target
