"""Attacks on what was released, so that the owner sees what leaks before anyone else does; and the audit.

Names are loaded when first used.

Examples:
    >>> from pydplib import attack
    >>> attack.AttackResult.of_tries("guess", hits=5, tries=10, baseline=0.5, sentence="Chance.").advantage
    0.0
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydplib.attack.result import AttackResult as AttackResult

# Module under pydplib.attack -> its public names.
_BY_MODULE: dict[str, tuple[str, ...]] = {
    "result": ("AttackResult",),
}

_NAMES = {name: module for module, names in _BY_MODULE.items() for name in names}

__all__ = sorted(_NAMES)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(f"pydplib.attack.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    from pydplib.errors import did_you_mean

    raise AttributeError(f"pydplib.attack has no name '{name}'.{did_you_mean(name, __all__)}")


def __dir__() -> list[str]:
    return __all__
