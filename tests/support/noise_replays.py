"""Replays of the noise of measured tables, and the check that their margins cover."""

from __future__ import annotations

import numpy as np

from pydplib.noise.pairs import pair_noise
from pydplib.noise.samplers import discrete_gaussian, discrete_laplace
from pydplib.noise.testing import SeededSource
from pydplib.release.joint.cell_noise import GaussianCells, LaplaceCells
from pydplib.release.joint.measured import Measurement

REPLAYS = 20_000


def draws(measurement: Measurement) -> np.ndarray:
    """Return replays of the noise of all cells, in rows: cells x replays."""
    source, found = SeededSource(19), []
    for block, like in zip(measurement.workload.blocks, measurement.noises, strict=True):
        number = block.cells * REPLAYS
        if isinstance(like, LaplaceCells):
            noise = discrete_laplace(like.scale, number, source=source)
        elif isinstance(like, GaussianCells):
            noise = discrete_gaussian(like.sigma_squared, number, source=source)
        else:
            noise = np.zeros(number)
        found.append(noise.reshape(block.cells, REPLAYS) / block.facts.bound.scale)
    whole = np.concatenate(found)
    for layout in measurement.layouts:
        blocks = len(layout.first)
        both = pair_noise(
            measurement.noises[layout.tables[0]].scale, blocks * REPLAYS, *layout.sizes, source=source
        )  # fmt: skip
        steps = measurement.workload.blocks[layout.tables[0]].facts.bound.scale
        noise = np.concatenate(both, axis=1).reshape(blocks, REPLAYS, -1) / steps
        whole[measurement.workload.cells_at(layout)] = noise.transpose(0, 2, 1)
    return whole


def check_coverage(measurement: Measurement, noise: np.ndarray) -> None:
    """Demand margins that cover as often as they say, and that are hardly wider than the smallest that do."""
    step = 1 / measurement.workload.blocks[0].facts.bound.scale
    for facts in measurement.workload.distinct:
        _, weights, _ = measurement.cells_of(facts)
        each, together = measurement.margins_of(facts)
        errors = np.abs(weights @ measurement._matrix @ noise)
        for error, margin in zip(errors, each, strict=True):
            assert (error <= margin + 1e-9).mean() >= 0.94
            needed = np.quantile(error, 0.95, method="higher")
            assert margin <= max(1.1 * needed, needed + step) + 1e-9
        largest = errors.max(axis=0)
        assert (largest <= together + 1e-9).mean() >= 0.94
        needed = np.quantile(largest, 0.95, method="higher")
        assert together <= max(1.1 * needed, needed + step) + 1e-9
