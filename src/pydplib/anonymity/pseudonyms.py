"""Pseudonyms for identifiers: keyed and consistent, or fresh for every row."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydplib.errors import ParameterError
from pydplib.noise import random_bytes

_LEAST_KEY = 16


@dataclass(frozen=True)
class Pseudonym:
    """How an identifier is replaced.

    Args:
        key: A secret of at least 16 bytes that the owner keeps; without it nobody can test guesses.
            Needed for consistent pseudonyms only.
        consistent: The same identifier gets the same pseudonym, so a person's rows stay linked and classes
            are formed on all of her rows. Otherwise every row gets a fresh random one.
        prefix: Put before every pseudonym.

    Examples:
        >>> Pseudonym(key=b"0123456789abcdef", consistent=True)
        Pseudonym(consistent=True, prefix='')
    """

    key: bytes | None = field(default=None, repr=False)
    consistent: bool = False
    prefix: str = ""

    def __init__(self, *, key: bytes | str | None = None, consistent: bool = False, prefix: str = "") -> None:
        secret = key.encode() if isinstance(key, str) else key
        if consistent and (secret is None or len(secret) < _LEAST_KEY):
            raise ParameterError(
                f"Consistent pseudonyms need a secret key of at least {_LEAST_KEY} bytes (secrets.token_bytes). "
                "Keep it: it is what links the pseudonyms to people."
            )
        object.__setattr__(self, "key", secret)
        object.__setattr__(self, "consistent", consistent)
        object.__setattr__(self, "prefix", prefix)

    def names(self, column: str, values: Sequence[Any]) -> list[str | None]:
        """Return the consistent pseudonym of every value; a missing one stays missing."""
        assert self.key is not None
        key, prefix, digest = self.key, self.prefix, hmac.digest
        # Column and kind are part of the message: equal texts in two columns get unrelated pseudonyms.
        return [
            None
            if value is None
            else prefix + digest(key, f"{column}\x1f{type(value).__name__}\x1f{value}".encode(), "sha256").hex()[:32]
            for value in values
        ]

    def fresh(self, number: int) -> list[str]:
        """Return unrelated random pseudonyms."""
        text = random_bytes(16 * number).hex()
        return [self.prefix + text[i : i + 32] for i in range(0, 32 * number, 32)]
