"""What to know about the first paper's noise, said beside the numbers."""

from __future__ import annotations

REMARKS = (
    "All four query types release the same noisy ages: the band fixes the scale of the noise, and the sensitivity "
    "cancels. Only the printed epsilon differs.",
    "The printed epsilon belongs to one mean or one count. What is handed over are all records, and a record loses "
    "(range) / (scale): for a mean, n times the printed epsilon.",
    "Paper mode draws fresh noise at every call and keeps no account. Sound mode gives the same answer again, so that "
    "the hundredth call tells no more than the first.",
    "Fitted to the range of the data (Eq. 4), the smallest and the largest value are always those of the private data: "
    "the oldest patient is recognised for certain at any noise.",
    "The paper says that noisy data keep the distribution. Unfitted, mean and median stay near; the shape does not: "
    "noise on records widens it. Fitted by Eq. 4 it is squeezed, and mean and median move as well. A noisy histogram "
    "keeps the shape, at a known privacy loss.",
    "Sound epsilons are those of the same percentage of noise on the statistic itself, with public n: less by a factor "
    "of a hundred and more than what a record loses in paper mode.",
    "The attacker knows the law of the noise and how ages are spread in general, and names the likeliest year. Ages "
    "have decimals here, as a date of birth gives them.",
)
"""What to know before believing the numbers."""
