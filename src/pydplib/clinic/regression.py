"""Logistic regression with categorical covariates, on a noisy joint table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pydplib.clinic.intervals import Estimate, Floats, noise_quantile, normal_quantile

_ROUNDS = 60
_SMALL = 1e-12


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients (log odds ratios) with both intervals; intervals are infinite where no fit was found."""

    coefficients: Estimate
    errors: Floats
    converged: np.ndarray


def design(levels: Sequence[int]) -> Floats:
    """Return one row per combination of levels: 1, then a 0/1 column for each level but the first of each covariate.

    Examples:
        >>> design([2, 3]).astype(int).tolist()
        [[1, 0, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 1]]
    """
    grids = np.indices(tuple(levels)).reshape(len(levels), -1)
    columns = [np.ones(grids.shape[1])]
    for place, count in enumerate(levels):
        columns += [(grids[place] == level).astype(float) for level in range(1, count)]
    return np.stack(columns, axis=1)


def logistic(tables: Floats, rows: Floats, variance: float, *, confidence: float = 0.95) -> LogisticFit:
    """Return a logistic regression on noisy counts.

    Proof: the score sum x ((1 - p) yes - p no) is linear in the counts, so that noise of mean 0 leaves its mean 0 at
    the true coefficients: no bias. Its variance is sum x x' (n p (1 - p) + v ((1 - p)^2 + p^2)), and the inverse of
    its slope on both sides gives the coefficients' (the sandwich).

    Args:
        tables: (..., combinations, 2): no and yes.
        rows: The design, one row per combination (``design``).
        variance: The noise variance of one cell.
        confidence: How often each interval covers.

    Examples:
        >>> fit = logistic(np.array([[60.0, 40.0], [30.0, 70.0]]), design([2]), 0.0)
        >>> fit.coefficients.value.round(3).tolist()
        [-0.405, 1.253]
    """
    shape = tables.shape[:-2]
    flat = tables.reshape(-1, *tables.shape[-2:])
    start, _ = _fit(
        np.maximum(flat, 0.0) + (0.5 if variance > 1e-9 else 0.0), rows, np.zeros((flat.shape[0], rows.shape[1]))
    )
    beta, good = _fit(flat, rows, start)
    odds = beta @ rows.T
    p = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    sizes = flat.sum(axis=-1)
    slope = np.einsum("ci,nc,cj->nij", rows, sizes * p * (1 - p), rows)
    sampling = np.einsum("ci,nc,cj->nij", rows, np.maximum(sizes, 0.0) * p * (1 - p), rows)
    noise = variance * np.einsum("ci,nc,cj->nij", rows, (1 - p) ** 2 + p**2, rows)
    inverse = np.linalg.pinv(slope)
    found: list[Floats] = []
    for middle in (sampling + noise, noise):
        spread = np.einsum("nij,njk,nlk->nil", inverse, middle, inverse)
        found.append(np.sqrt(np.maximum(np.diagonal(spread, axis1=1, axis2=2), 0.0)))
    good = good & (np.linalg.eigvalsh(slope)[:, 0] > 0)
    value = np.where(good[:, None], beta, start)
    ends = []
    for error, reach in zip(found, (normal_quantile(confidence), noise_quantile(confidence, variance)), strict=True):
        wide = np.where(good[:, None], reach * error, np.inf)
        ends += [(value - wide).reshape(*shape, -1), (value + wide).reshape(*shape, -1)]
    return LogisticFit(Estimate(value.reshape(*shape, -1), *ends), found[0].reshape(*shape, -1), good.reshape(shape))


def _fit(tables: Floats, rows: Floats, start: Floats) -> tuple[Floats, np.ndarray]:
    """Return the root of the score by Newton's steps, and whether it was found."""
    beta = start.copy()
    sizes = tables.sum(axis=-1)
    good = np.zeros(len(tables), dtype=bool)
    for _ in range(_ROUNDS):
        p = 1 / (1 + np.exp(-np.clip(beta @ rows.T, -30, 30)))
        score = (tables[..., 1] - sizes * p) @ rows
        slope = np.einsum("ci,nc,cj->nij", rows, sizes * p * (1 - p), rows)
        slope = slope + _SMALL * np.eye(rows.shape[1])
        step = np.linalg.solve(slope, score[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        step = step * np.minimum(1.0, 2.0 / np.maximum(longest, 1e-300))
        beta = np.where(good[:, None], beta, np.clip(beta + step, -20, 20))
        good = good | (longest[:, 0] < 1e-11)
        if good.all():
            break
    p = 1 / (1 + np.exp(-np.clip(beta @ rows.T, -30, 30)))
    left = np.abs((tables[..., 1] - sizes * p) @ rows).max(axis=1)
    return beta, (left < 1e-6 * np.maximum(np.abs(sizes).sum(axis=1), 1.0)) & (np.abs(beta).max(axis=1) < 15)
