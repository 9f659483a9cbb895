"""Output labels: raw > k_anonymous > dp_low > dp_medium > dp_high > public, and the two ways down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from pydplib.errors import ParameterError, PolicyError, did_you_mean, shown
from pydplib.policy.noise_factors import parse_noise_factor

OutputLabel: TypeAlias = Literal["raw", "k_anonymous", "dp_low", "dp_medium", "dp_high", "public"]
"""How much an output may give away, from most to least."""

LABELS: tuple[OutputLabel, ...] = get_args(OutputLabel)
"""All labels, from the one that gives most away to the one that gives nothing."""

LABEL_MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "raw": "Rows of people, as they were recorded.",
        "k_anonymous": "A table in which nobody can be narrowed down to fewer than k people.",
        "dp_low": "Differentially private statistics with little noise.",
        "dp_medium": "Differentially private statistics with medium noise.",
        "dp_high": "Differentially private statistics with much noise.",
        "public": "What everybody may know: templates, schemas, prices, the policy itself.",
    }
)
"""Each label in one sentence, for readers."""

LABEL_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "raw": "raw rows",
        "k_anonymous": "k-anonymous tables",
        "dp_low": "statistics with little noise",
        "dp_medium": "statistics with medium noise",
        "dp_high": "statistics with much noise",
        "public": "public facts only",
    }
)
"""What each label opens, in the plural, for sentences."""

DECLASSIFIERS: Mapping[str, frozenset[OutputLabel]] = MappingProxyType(
    {
        "release": frozenset(["dp_low", "dp_medium", "dp_high"]),
        "anonymize": frozenset(["k_anonymous"]),
    }
)
"""The only two ways downwards, and the labels that each can give. Both write the ledger."""


def parse_label(label: object) -> OutputLabel:
    """Return the label for a word.

    Examples:
        >>> parse_label("k-anonymous")
        'k_anonymous'
    """
    word = str(label).strip().lower().replace("-", "_").replace(" ", "_")
    for known in LABELS:
        if word == known:
            return known
    raise ParameterError(f"Unknown output label {shown(label)}.{did_you_mean(word, LABELS)}")


def label_of_noise_factor(noise_factor: object) -> OutputLabel:
    """Return the label of a differentially private release made at a noise factor.

    Examples:
        >>> label_of_noise_factor("high")
        'dp_high'
    """
    return parse_label(f"dp_{parse_noise_factor(noise_factor).name}")


def is_within(label: OutputLabel, allowed: OutputLabel) -> bool:
    """Return whether ``label`` gives away no more than ``allowed`` does.

    Examples:
        >>> is_within("dp_high", "dp_medium"), is_within("raw", "dp_medium")
        (True, False)
    """
    return LABELS.index(label) >= LABELS.index(allowed)


def join(labels: Iterable[OutputLabel]) -> OutputLabel:
    """Return the label of several outputs together: that of the one which gives most away.

    Examples:
        >>> join(["dp_high", "k_anonymous", "public"])
        'k_anonymous'
    """
    return min(labels, key=LABELS.index, default="public")


def can_declassify(source: OutputLabel, output: OutputLabel, *, by: str | None) -> bool:
    """Return whether ``by`` may turn something labelled ``source`` into something labelled ``output``.

    Keeping or raising a label needs nobody; lowering it needs ``release`` or ``anonymize``, from raw data.

    Examples:
        >>> can_declassify("raw", "dp_high", by="release"), can_declassify("raw", "dp_high", by="anonymize")
        (True, False)
    """
    if is_within(source, output):
        return True
    return source == "raw" and output in DECLASSIFIERS.get(by or "", ())


def check_declassify(source: OutputLabel, output: OutputLabel, *, by: str | None) -> None:
    """Raise ``PolicyError`` unless ``can_declassify``."""
    if not can_declassify(source, output, by=by):
        raise PolicyError(
            f"Only 'release' and 'anonymize' lower a label, and both start from raw data. Asked: from {source} to "
            f"{output} by {by or 'nobody'}."
        )
