"""Attacks on a column that left with noise on every record: its order, its ends, and asking again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pydplib.anonymity.tables.columns import Floats
from pydplib.attack.answers.averaging import averaging, judge_answers
from pydplib.attack.answers.targets import PaperMode
from pydplib.attack.kinds import AttackKind
from pydplib.attack.result import AttackResult, percent
from pydplib.attack.tables.cells import as_day, as_number, text_of
from pydplib.errors import DataError

_MOST = 2_000  # people on whom asking again is tried
_SEED = 7


def as_numbers(values: Any, name: str) -> Floats:
    """Return a column as numbers; dates as days, yes and no as 1 and 0, what is missing as NaN."""
    out = np.empty(len(values), dtype=np.float64)
    words = {"true": 1.0, "false": 0.0}
    for row, value in enumerate(values):
        day = as_day(value)
        number = float(day.toordinal()) if day is not None else as_number(text_of(value))
        if number is None:
            number = words.get(text_of(value).lower(), np.nan)
        out[row] = number
    if not np.isfinite(out).any():
        raise DataError(f"Column '{name}' has no numbers: noise on texts is attacked as a table. Name it as sensitive.")
    return out


def judge_noisy_order(exact: Floats, noisy: Floats, name: str, *, seed: int = _SEED) -> AttackResult:
    """Return whether noisy values stand at their people's places: the larger of two is larger in the original, too."""
    good = np.isfinite(exact) & np.isfinite(noisy)
    x, y = exact[good], noisy[good]
    if len(x) < 2:
        raise DataError("The order of a column needs at least two people.")
    order = np.random.default_rng(seed).permutation(len(x))
    other = np.empty(len(x), dtype=np.int64)
    other[order] = np.roll(order, 1)  # everybody against somebody else
    agree = np.sign(x - x[other]) * np.sign(y - y[other])
    hits = round(float(((agree + 1) / 2).sum()))
    result = AttackResult.of_tries(
        "unsorted matching", target=f"order of {name}", hits=hits, tries=len(x), baseline=0.5, sentence="",
        details={"column": name},
    )  # fmt: skip
    # Spearman's correlation, five standard errors: a shuffled column is called ordered less than once in a million.
    above = rank_correlation(x, y) * np.sqrt(len(x) - 1) > 5
    words = (
        f"The noisy values of {name} stand in the order of the original: everybody's noisy value is found by its place."
        if above
        else f"The order of {name} tells nothing."
    )
    return replace(result, exposed=1.0 if above else 0.0, sentence=words)


def rank_correlation(x: Floats, y: Floats) -> float:
    """Return Spearman's correlation; equal values share their mean rank.

    Examples:
        >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 90.0]))
        1.0
    """

    def ranks(values: Floats) -> Floats:
        _, into, count = np.unique(values, return_inverse=True, return_counts=True)
        return np.asarray((np.cumsum(count) - (count - 1) / 2)[into.reshape(-1)], dtype=np.float64)

    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return round(float((a * b).sum()) / spread, 12) if spread > 0 else 0.0


def judge_extremes(exact: Floats, noisy: Floats, name: str) -> AttackResult:
    """Return whether the smallest and largest noisy values are those of the private data, as Eq. 4 makes them."""
    good = np.isfinite(exact) & np.isfinite(noisy)
    if good.sum() < 2 or is_flags(exact[good], noisy[good]):
        raise DataError("Only numbers of at least two people have ends that could give somebody away.")
    hits = sum(bool(np.isclose(pick(exact), pick(noisy), rtol=1e-12, atol=1e-12)) for pick in (np.nanmin, np.nanmax))
    alone = sum(int(np.count_nonzero(exact == end) == 1) for end in (np.nanmin(exact), np.nanmax(exact)))
    people = int(np.isfinite(exact).sum())
    return AttackResult.of_tries(
        "extremes",
        target=f"range of {name}",
        hits=hits,
        tries=2,
        baseline=0.0,
        exposed=min(alone, hits, people) / people,
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
    flags = is_flags(x, y)
    fitted = not flags and len(x) > 2 and min(y) == min(x) and max(y) == max(x)
    if scale is None or not np.isfinite(scale):
        scale = estimate_scale(x, y, flags=flags, fitted=fitted)
    if not scale > 0:
        return AttackResult.of_tries(
            "averaging", target=name, hits=len(x), tries=len(x), baseline=0.0,
            sentence=f"The released {name} carries no noise at all.", details={"column": name},
        )  # fmt: skip
    rng = np.random.default_rng(seed)
    spread = float(np.ptp(x)) or 1.0
    near = 0.0 if flags else 1.0 if spread > 20 else spread / 20
    some = np.arange(len(x)) if len(x) <= _MOST else np.sort(rng.choice(len(x), _MOST, replace=False))
    target = PaperMode(factor or "given", is_range=fitted, scale=float(scale), flags=flags)
    if fitted:
        # The first call is the release itself; more can only be had where the noise factor is known.
        calls = (1, 10, 100) if factor else (1,)
        more = target.records(x, calls[-1] - 1, rng) if factor else np.empty((0, len(x)))
        answers = target.straighten(np.concatenate([y[np.newaxis], more]), float(x.mean()), float(x.std()))
        plain = replace(target, is_range=False)
        result = judge_answers(plain, answers[:, some], x[some], x, calls, near)
    else:
        result = averaging(target, x[some], calls=(1, 10, 100), tolerance=near, population=x, seed=seed)
    shares, asked = result.details["success_by_calls"], result.details["calls"]
    again = f", {asked[-1]} of them {percent(shares[-1])}" if len(asked) > 1 else ""
    words = (
        f"One release tells {percent(shares[0])} of the values of {name}{again}; guessing: {percent(result.baseline)}."
    )
    return replace(result, target=name, sentence=words, details={**result.details, "column": name})


def is_flags(x: Floats, y: Floats) -> bool:
    """Return whether both columns hold yes and no only, as 1 and 0."""
    return bool(np.isin(x, (0.0, 1.0)).all() and np.isin(y, (0.0, 1.0)).all())


def estimate_scale(x: Floats, y: Floats, *, flags: bool, fitted: bool) -> float:
    """Return the scale of the noise: the owner has both columns, the attacker reads it off the printed epsilon."""
    if flags:
        flip = float(np.mean(x != y))
        return 0.0 if flip == 0 else float(1 / (2 * np.log(1 / (2 * min(flip, 0.499)))))
    if not fitted:
        return float(np.mean(np.abs(y - x)))
    # Fitting moves and squeezes, which leaves the correlation as it was: its square is var / (var + 2 b^2).
    kept = min(max(float(np.corrcoef(x, y)[0, 1]) ** 2, 1e-6), 1.0)
    return float(np.std(x) * np.sqrt(max(1 / kept - 1, 0.0) / 2)) if (x != y).any() else 0.0


COLUMN_ATTACKS: tuple[AttackKind, ...] = (
    AttackKind(
        name="averaging",
        does="Asks for the same noisy column again and again.",
        helps="answering once; a ledger",
        tried={"averaging": "near"},
        runs={
            "asking again": lambda s, column, **how: judge_asking_again(
                s.columns[column][0], s.columns[column][1], column, **how
            )
        },
    ),
    AttackKind(
        name="extremes",
        does="Reads the smallest and the largest value.",
        helps="public bounds",
        tried={"extremes": "near"},
        runs={
            "extremes": lambda s, column: judge_extremes(s.columns[column][0], s.columns[column][1], column),
            "noisy order": lambda s, column: judge_noisy_order(s.columns[column][0], s.columns[column][1], column),
        },
    ),
)
"""The attacks on a noisy column, as a leak report explains and runs them."""
