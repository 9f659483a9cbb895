"""Paper mode: ``dp_calculate`` and the other functions of the PyDPLib paper, and what they are really worth.

Every record gets Laplace noise of one scale b = sensitivity / epsilon. What that guarantees, and what not:

- The query type changes the printed epsilon, not the data: the band fixes b, and the sensitivity cancels.
- A record's own privacy loss is (range) / b, far more than the printed epsilon: n times it for a mean.
  ``DPResult.record_epsilon`` says this number.
- Where the range, the bounds or the scale come from the private data, nothing is guaranteed, and
  ``DPResult.guarantee`` says so. With ``selector="public"`` they do not, and ``LocalDP`` holds.
- Every call draws fresh noise and no ledger counts the calls: averaging repeated releases removes the noise.
- The output keeps the order of the input, so it links to other lists by position.

Examples:
    >>> from pydplib.paper import dp_calculate
    >>> result = dp_calculate([True, False] * 50, "count", "high")
    >>> round(result.record_epsilon, 2), type(result.guarantee).__name__
    (1.73, 'LocalDP')
"""

from pydplib.paper.calculate import dp_calculate, dp_calculate_levels
from pydplib.paper.mechanism import laplace_mechanism
from pydplib.paper.ranges import data_range, fit_data_to_range
from pydplib.paper.result import DPResult
from pydplib.paper.scales import binary_search_epsilon, default_epsilons
from pydplib.paper.sensitivity import (
    count_sensitivity,
    mean_sensitivity,
    median_sensitivity,
    sensitivity,
    variance_sensitivity,
)
from pydplib.paper.words import DATA_TYPES, ROLES
from pydplib.policy.noise_factors import NOISE_FACTORS, NoiseFactor

__all__ = [
    "DATA_TYPES",
    "NOISE_FACTORS",
    "ROLES",
    "DPResult",
    "NoiseFactor",
    "binary_search_epsilon",
    "count_sensitivity",
    "data_range",
    "default_epsilons",
    "dp_calculate",
    "dp_calculate_levels",
    "fit_data_to_range",
    "laplace_mechanism",
    "mean_sensitivity",
    "median_sensitivity",
    "sensitivity",
    "variance_sensitivity",
]
