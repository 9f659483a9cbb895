"""Headings and remarks of the comparison."""

from __future__ import annotations

from types import MappingProxyType

HEADS = MappingProxyType(
    {
        "method": "method",
        "guarantee": "guarantee",
        "answer": "answer",
        "error": "error",
        "loss": "loss (granularity)",
        "suppressed": "rows left out",
        "found": "rows found (linkage)",
        "certain": "secrets certain (homogeneity)",
        "moved": "belief moved (skewness)",
        "told_apart": "secret told by one who knows the others",
        "told_margin": "± (95 %)",
        "allowed": "allowed by epsilon",
    }
)
"""Columns of the comparison."""

REMARKS = (
    "k-anonymity limits how well a row is found, not what the rows of a class have in common; l-diversity demands "
    "different values in each class, t-closeness the same shares as everywhere. Each answers the attack that broke the "
    "one before it, and costs detail.",
    "All three give out a table that is a fixed function of the data. Whoever knows the other patients sees the last "
    "one's secret in it. Differential privacy is the only one here that bounds this, whatever the attacker knows.",
    "The anonymized tables answer many questions at once, the private count answers one. More questions cost more "
    "epsilon; but a table of counts for all ages, years and values costs as much as one count, because everybody is in "
    "one of its cells only.",
    "The error of an anonymized table comes from coarse cells: a reader has to assume that ages are evenly spread in "
    "them, and rows that were left out are missing. It has no error bar. The error of the private count is the mean of "
    "its noise.",
    "A private count has no rows, so that nothing can be linked. Homogeneity and skewness were tried on a private "
    "table of counts by age, year, department and finding, which costs the same epsilon.",
    "Told apart: of the anonymized tables a few patients' secrets were changed, one at a time, to see whether the "
    "release changes; the private counts were drawn 20 000 times. Where the measured share lies above what epsilon "
    "allows, it does so within its margin: this count uses up all that is allowed.",
)
"""What to know before believing the numbers."""
