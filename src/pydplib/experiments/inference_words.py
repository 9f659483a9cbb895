"""The second paper's printed values, and what its measure does not show."""

from __future__ import annotations

from types import MappingProxyType

LABELS = MappingProxyType(
    {"naive_uniform": "naive uniform", "naive_gaussian": "naive Gaussian", "laplace": "Laplace (DP)"}
)
"""How the methods are called in tables and figures."""

SHORT = MappingProxyType({"naive_uniform": "uniform", "naive_gaussian": "Gaussian", "laplace": "Laplace"})
"""The same in one word."""

PAPER_MSE = MappingProxyType(
    {
        (1_000, "naive_uniform"): 4.02e-4,
        (1_000, "naive_gaussian"): 1.14e-3,
        (1_000, "laplace"): 3.22e-3,
        (10_000, "naive_uniform"): 3.25e-5,
        (10_000, "naive_gaussian"): 1.05e-4,
        (10_000, "laplace"): 3.01e-5,
        (100_000, "naive_uniform"): 3.76e-6,
        (100_000, "naive_gaussian"): 9.02e-6,
        (100_000, "laplace"): 2.53e-7,
    }
)
"""Table I as printed: (n, method) -> mean squared error."""

PAPER_JS = MappingProxyType({(1_000, "naive_uniform"): 0.1131, (1_000, "laplace"): 0.0251})
"""Fig. 3 as printed; the paper does not say for which n, and 1000 reproduces it."""

REMARKS = (
    "The Jensen-Shannon divergence is an average over all outputs. Privacy is about the worst one: an output that "
    "is possible with a person and impossible without gives that person away, however rare it is.",
    "At n = 10 000 the same divergence ranks naive uniform noise better than Laplace noise. Yet uniform noise has a "
    "bounded support and so no finite epsilon: there are outputs that exclude a data set for certain.",
    "The naive methods hand over noisy records. Each of them stands almost bare: a record of 5 to 45 is known to "
    "within 1, for everybody, whatever n is. Their divergence is small only because the mean hides single records, "
    "not because the noise does.",
    "Noise on records has an error of 1/sqrt(n), noise on the mean one of 1/n. So there is a size from which on the "
    "guarantee costs less accuracy than the home-made noise without one: at epsilon 1, n = 3200 against Gaussian and "
    "9600 against uniform noise.",
    "Laplace noise of 40/n protects one record exchanged for another, with a public n. Where n itself is private, "
    "use pydplib's default mean, which pays for the count as well.",
    "With a seed the noise comes from a repeatable source made for experiments. Releases of real data never do.",
)
"""What to know before believing the figures."""
