"""Ages of 920 synthetic patients, as in the paper's cohort."""

from __future__ import annotations

import numpy as np
import pytest

N = 920


@pytest.fixture(scope="session")
def ages() -> np.ndarray:
    """Whole ages, most between 50 and 80."""
    drawn = np.random.default_rng(920).normal(65.0, 8.5, N)
    return np.clip(np.rint(drawn), 38, 92).astype(np.int64)


@pytest.fixture(scope="session")
def psa() -> np.ndarray:
    """Decimals with a long tail, like a laboratory value."""
    return np.random.default_rng(921).gamma(2.0, 4.0, N)
