"""Releases: questions, sessions that pay before they look, and one-liners on arrays."""

from __future__ import annotations

from pydplib.release.arrays import count, histogram, mean, median, quantiles, sum, variance
from pydplib.release.axes import Axis
from pydplib.release.release import Release

__all__ = ["Axis", "Release", "count", "histogram", "mean", "median", "quantiles", "sum", "variance"]
