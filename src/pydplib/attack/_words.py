"""Words that sentences about attacks share; numbers and names of columns, never a value."""

from __future__ import annotations

from collections.abc import Sequence


def percent(share: float) -> str:
    """Return a share as people read it.

    Examples:
        >>> percent(0.12345), percent(0.0), percent(1.0), percent(0.99996)
        ('12.3 %', '0 %', '100 %', '99.9 %')
    """
    if 0 < share < 0.0005:
        return "less than 0.1 %"
    if 0.9995 <= share < 1:
        return "99.9 %"
    return f"{100 * share:.3g} %"


def listed(names: Sequence[str]) -> str:
    """Return names as a reader expects them.

    Examples:
        >>> listed(["age", "sex", "zip"])
        'age, sex and zip'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"
