"""Diagnostic accuracy from two noisy histograms over a score: ROC, AUC, sensitivity, specificity, predictive values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pydplib.clinic.intervals import Estimate, Floats, around, noise_quantile, normal_quantile, share


@dataclass(frozen=True)
class Accuracy:
    """What a test tells at each cut: positive from this level on. The first cut calls everybody positive."""

    sensitivity: Estimate
    specificity: Estimate
    positive_value: Estimate
    negative_value: Estimate


def area(tables: Floats, variance: float, *, confidence: float = 0.95) -> Estimate:
    """Return the area under the ROC curve of noisy counts: the chance that somebody ill scores higher; ties count half.

    Proof: with the share of healthy people below each level (ties half), the area is its mean over the ill: the
    variances of these two placements, over the numbers of persons, are its sampling variance (DeLong); one person more
    in a cell moves it by (placement - area) / persons, the squares of which, times v, are the noise variance. The
    interval is made on the log odds.

    Args:
        tables: (..., 2, levels): without and with the disease.
        variance: The noise variance of one cell.
        confidence: How often the interval covers.

    Examples:
        >>> found = area(np.array([[30.0, 15.0, 5.0], [5.0, 15.0, 30.0]]), 0.0)
        >>> round(float(found.value), 3)
        0.825
    """
    well, ill = tables[..., 0, :], tables[..., 1, :]
    healthy, sick = well.sum(axis=-1), ill.sum(axis=-1)
    known = (healthy > 0) & (sick > 0)
    healthy, sick = np.where(known, healthy, 1.0), np.where(known, sick, 1.0)
    below = (np.cumsum(well, axis=-1) - well / 2) / healthy[..., None]
    above = (sick[..., None] - np.cumsum(ill, axis=-1) + ill / 2) / sick[..., None]
    value = np.where(known, np.clip((below * ill).sum(axis=-1) / sick, 1e-9, 1 - 1e-9), 0.5)
    centre = value[..., None]
    spread_ill = np.maximum((ill * (below - centre) ** 2).sum(axis=-1), 0.0)
    spread_well = np.maximum((well * (above - centre) ** 2).sum(axis=-1), 0.0)
    sampling = spread_ill / sick / np.maximum(sick - 1, 1.0) + spread_well / healthy / np.maximum(healthy - 1, 1.0)
    noise = ((below - centre) ** 2).sum(axis=-1) / sick**2 + ((above - centre) ** 2).sum(axis=-1) / healthy**2
    ends: list[Floats] = []
    known_noise, reaches = variance * noise, (normal_quantile(confidence), noise_quantile(confidence, variance))
    for spread, reach in zip((sampling + known_noise, known_noise), reaches, strict=True):
        half = reach * np.sqrt(spread) / (value * (1 - value))
        odds = np.log(value / (1 - value))
        low, high = (1 / (1 + np.exp(-np.clip(end, -500, 500))) for end in (odds - half, odds + half))
        ends += around(value, np.where(known, low, 0.0), np.where(known, high, 1.0))
    return Estimate(value, *ends)


def accuracy(tables: Floats, variance: float, *, confidence: float = 0.95) -> Accuracy:
    """Return sensitivity, specificity and predictive values at each cut of a score.

    Args:
        tables: (..., 2, levels): without and with the disease.
        variance: The noise variance of one cell.
        confidence: How often each interval covers.

    Examples:
        >>> found = accuracy(np.array([[30.0, 15.0, 5.0], [5.0, 15.0, 30.0]]), 0.0)
        >>> found.sensitivity.value.tolist(), found.specificity.value.tolist()
        ([1.0, 0.9, 0.6], [0.0, 0.6, 0.9])
    """
    levels = tables.shape[-1]
    from_here = np.cumsum(tables[..., ::-1], axis=-1)[..., ::-1]
    before = np.cumsum(tables, axis=-1) - tables
    many, few = variance * np.arange(levels, 0, -1.0), variance * np.arange(float(levels))
    well, ill = 0, 1

    def found(yes: Floats, no: Floats, noise: Any, other: Any) -> Estimate:
        return share(yes, no, noise, other, confidence=confidence)

    return Accuracy(
        sensitivity=found(from_here[..., ill, :], before[..., ill, :], many, few),
        specificity=found(before[..., well, :], from_here[..., well, :], few, many),
        positive_value=found(from_here[..., ill, :], from_here[..., well, :], many, many),
        negative_value=found(before[..., well, :], before[..., ill, :], few, few),
    )
