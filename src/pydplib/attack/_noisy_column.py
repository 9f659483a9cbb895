"""Attacks on a column that left with noise on every record: its order, its ends, and asking again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pydplib.anonymity.resolved import Floats
from pydplib.attack._words import percent
from pydplib.attack.averaging import averaging
from pydplib.attack.record_targets import PaperMode
from pydplib.attack.result import AttackResult
from pydplib.errors import DataError

_MOST = 2_000  # people on whom asking again is tried
_SEED = 7


def as_numbers(values: Any, name: str) -> Floats:
    """Return a column as numbers; dates as days, yes and no as 1 and 0, what is missing as NaN."""
    from pydplib.attack.cells import as_day, as_number, text_of

    out = np.empty(len(values), dtype=np.float64)
    words = {"true": 1.0, "false": 0.0}
    for row, value in enumerate(values):
        day = as_day(value)
        number = float(day.toordinal()) if day is not None else as_number(text_of(value))
        if number is None:
            number = words.get(text_of(value).lower(), np.nan)
        out[row] = number
    if not np.isfinite(out).any():
        raise DataError(f"Column '{name}' has no numbers: noise on texts is attacked as a table, with --sensitive.")
    return out


def judge_noisy_order(exact: Floats, noisy: Floats, name: str, *, seed: int = _SEED) -> AttackResult:
    """Return whether noisy values stand at their people's places: nearer there than at a random other place."""
    good = np.isfinite(exact) & np.isfinite(noisy)
    x, y = exact[good], noisy[good]
    if len(x) < 2:
        raise DataError("The order of a column needs at least two people.")
    other = np.roll(np.random.default_rng(seed).permutation(len(x)), 1)
    here, there = np.abs(y - x), np.abs(y[other] - x)
    closer = (here < there) + 0.5 * (here == there)
    hits = round(float(closer.sum()))
    result = AttackResult.of_tries(
        "unsorted matching", target=f"order of {name}", hits=hits, tries=len(x), baseline=0.5, sentence="",
        details={"column": name},
    )  # fmt: skip
    above = hits > len(x) / 2 + 5 * np.sqrt(len(x)) / 2 + 1
    words = (
        f"The noisy values of {name} stand in the order of the original: everybody's value is found by its place."
        if above
        else f"The order of {name} tells nothing."
    )
    return replace(result, exposed=1.0 if above else 0.0, sentence=words)


def judge_extremes(exact: Floats, noisy: Floats, name: str) -> AttackResult:
    """Return whether the smallest and largest noisy values are those of the private data, as Eq. 4 makes them."""
    ends = [(np.nanmin, exact, noisy), (np.nanmax, exact, noisy)]
    hits = sum(bool(np.isclose(pick(a), pick(b), rtol=1e-12, atol=1e-12)) for pick, a, b in ends)
    both = np.unique(exact[np.isfinite(exact)])
    alone = sum(int(np.count_nonzero(exact == end) == 1) for end in (both[0], both[-1])) if len(both) else 0
    people = max(int(np.isfinite(exact).sum()), 1)
    return AttackResult.of_tries(
        "extremes",
        target=f"range of {name}",
        hits=hits,
        tries=2,
        baseline=0.0,
        exposed=min(alone, hits) / people,
        sentence=(
            f"The {'smallest and the largest' if hits == 2 else 'smallest or the largest'} {name} of the release is "
            "that of the private data: a conspicuous person is recognised with certainty."
            if hits
            else f"The ends of the released {name} are not those of the private data."
        ),
        details={"column": name, "ends_shown": hits},
    )


def judge_asking_again(
    exact: Floats, noisy: Floats, name: str, *, factor: str | None, scale: float | None, seed: int = _SEED
) -> AttackResult:
    """Return how many values are known from 1, 10 and 100 calls with fresh noise, as paper mode gives it."""
    good = np.isfinite(exact) & np.isfinite(noisy)
    x, y = exact[good], noisy[good]
    flags = bool(np.isin(x, (0.0, 1.0)).all() and np.isin(y, (0.0, 1.0)).all())
    if scale is None or not np.isfinite(scale):
        # The owner knows both columns; the attacker reads the scale off the printed epsilon and sensitivity.
        flip = float(np.mean(x != y))
        scale = 1 / (2 * np.log(1 / (2 * min(max(flip, 1e-6), 0.499)))) if flags else float(np.mean(np.abs(y - x)))
    if not scale > 0:
        return AttackResult.of_tries(
            "averaging", target=name, hits=len(x), tries=len(x), baseline=0.0,
            sentence=f"The released {name} carries no noise at all.", details={"column": name},
        )  # fmt: skip
    rng = np.random.default_rng(seed)
    some = x if len(x) <= _MOST else x[rng.choice(len(x), _MOST, replace=False)]
    spread = float(np.ptp(x)) or 1.0
    near = 0.0 if flags else 1.0 if spread > 20 else spread / 20
    target = PaperMode(factor or "given", scale=float(scale), flags=flags)
    result = averaging(target, some, calls=(1, 10, 100), tolerance=near, population=x, seed=seed)
    once = result.details["success_by_calls"][0]
    words = (
        f"One release tells {percent(once)} of the values of {name}, a hundred of them {percent(result.success)}; "
        f"guessing gets {percent(result.baseline)}."
    )
    return replace(result, target=name, sentence=words, details={**result.details, "column": name})
