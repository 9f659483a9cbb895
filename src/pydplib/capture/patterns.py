"""Sentence patterns: plain text with ``{placeholders}`` and ``[optional parts]``; nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

_PLACEHOLDER = re.compile(r"\{([^{}\[\]]+)\}")


class PatternError(Exception):
    """A pattern with unbalanced or nested brackets; the text ends the sentence 'The sentence of x ...'."""


@dataclass(frozen=True)
class PatternPart:
    """A stretch of a pattern; an optional one is left out if one of its placeholders has no answer."""

    text: str
    optional: bool

    @cached_property
    def placeholders(self) -> tuple[str, ...]:
        """The names in braces, in order."""
        return tuple(_PLACEHOLDER.findall(self.text))


@lru_cache(maxsize=4096)
def parse_pattern(pattern: str) -> tuple[PatternPart, ...]:
    """Split a pattern into plain and optional parts.

    Examples:
        >>> [part.text for part in parse_pattern("Lesion[ of {size} mm] seen.")]
        ['Lesion', ' of {size} mm', ' seen.']
    """
    parts: list[PatternPart] = []
    for position, piece in enumerate(re.split(r"([\[\]])", pattern)):
        if position % 2:  # a bracket
            wanted = "[" if position % 4 == 1 else "]"
            if piece != wanted:
                raise PatternError("has square brackets that do not match. Write [ ... ] around optional parts.")
            continue
        optional = position % 4 == 2
        if "{" in _PLACEHOLDER.sub("", piece) or "}" in _PLACEHOLDER.sub("", piece):
            raise PatternError("has braces that do not match. Write {value}, or the id of a question in braces.")
        if piece:
            parts.append(PatternPart(piece, optional))
    if len(re.findall(r"[\[\]]", pattern)) % 2:
        raise PatternError("has an opening square bracket without its closing one.")
    return tuple(parts)


def fill_pattern(pattern: str, values: Mapping[str, str]) -> str:
    """Fill in the values; what is missing leaves its optional part out, elsewhere it reads "not stated".

    Examples:
        >>> fill_pattern("Lesion[ of {size} mm] in {zone}.", {"zone": "the peripheral zone"})
        'Lesion in the peripheral zone.'
    """
    text = ""
    for part in parse_pattern(pattern):
        if part.optional and any(not values.get(name) for name in part.placeholders):
            continue
        text += _PLACEHOLDER.sub(lambda match: values.get(match[1]) or "not stated", part.text)
    return text
