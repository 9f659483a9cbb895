"""Releases: questions, sessions that pay before they look, and one-liners on arrays."""

from __future__ import annotations

from pydplib.release.arrays import count, histogram, mean, median, quantiles, sum, variance
from pydplib.release.joint.stored_tables import MeasuredTables
from pydplib.release.prices import Price
from pydplib.release.results.axes import Axis
from pydplib.release.results.release import Release
from pydplib.release.session import Session
from pydplib.release.statistics import (
    Count,
    Crosstab,
    Histogram,
    Mean,
    Median,
    Mode,
    Quantiles,
    Question,
    StandardDeviation,
    Sum,
    Variance,
)

__all__ = [
    "Axis",
    "Count",
    "Crosstab",
    "Histogram",
    "Mean",
    "MeasuredTables",
    "Median",
    "Mode",
    "Price",
    "Quantiles",
    "Question",
    "Release",
    "Session",
    "StandardDeviation",
    "Sum",
    "Variance",
    "count",
    "histogram",
    "mean",
    "median",
    "quantiles",
    "sum",
    "variance",
]
