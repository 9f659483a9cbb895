"""The exact law of permute-and-flip, computed from its coins."""

from __future__ import annotations

import numpy as np


def flip_chances(weights: np.ndarray) -> np.ndarray:
    """Return each candidate's chance: uniformly among the heads, of coins with these chances of heads."""
    chances = np.empty(len(weights))
    for i in range(len(weights)):
        others = np.ones(1)  # how many of the others fall heads
        for j in range(len(weights)):
            if j != i:
                others = np.convolve(others, [1 - weights[j], weights[j]])
        chances[i] = weights[i] * (others / np.arange(1, len(others) + 1)).sum()
    return chances
