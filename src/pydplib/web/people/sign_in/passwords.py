"""One more rule for passwords: nothing that is long but still the first guess."""

from __future__ import annotations

import re

from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

from pydplib.web.people.models import User

_ROWS = ("abcdefghijklmnopqrstuvwxyz", "01234567890123456789", "qwertyuiop", "qwertzuiop", "asdfghjkl", "zxcvbnm")


class SimplePatternValidator:
    """Refuses repeated pieces, rows of the keyboard, digits alone, and common passwords with decoration.

    The list of common passwords knows few that have twelve characters; what people do to reach twelve is this.
    """

    def __init__(self) -> None:
        self.common = CommonPasswordValidator().passwords

    def validate(self, password: str, user: User | None = None) -> None:
        """Raise ``ValidationError`` if the password is one of these."""
        if is_simple(password) or self._is_decorated(password):
            raise ValidationError("This password is too common: it follows a pattern that is guessed first.")

    def get_help_text(self) -> str:
        """Return the rule for readers."""
        return "It must not be a row of keys, digits alone, a repetition or a well-known word with digits around it."

    def _is_decorated(self, password: str) -> bool:
        core = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", password.lower())
        return len(core) < 12 and core in self.common


def is_simple(password: str) -> bool:
    """Return whether a password is made of few pieces.

    Examples:
        >>> is_simple("123456789012"), is_simple("abcabcabcabc"), is_simple("seven unrelated words")
        (True, True, False)
    """
    text = password.lower()
    if text.isdigit() or len(set(text)) < 5:
        return True
    if re.fullmatch(r"(.{1,6}?)\1+.{0,5}", text):
        return True
    rest = text
    for row in (*_ROWS, *(row[::-1] for row in _ROWS)):
        for size in range(len(row), 4, -1):
            for start in range(len(row) - size + 1):
                rest = rest.replace(row[start : start + size], "")
    return len(rest) <= 3
