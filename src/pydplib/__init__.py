"""pydplib: share what medical data says without giving away who is in it.

``import pydplib as dp`` gives a flat list of the names that a notebook needs; the rest is in sub-packages such as
``dp.anonymity``, ``dp.errors`` and ``dp.paper``. Names are loaded when first used, so that importing the package
costs little more than importing NumPy.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydplib._public import MOVED_NAMES, OTHER_MODULES, PUBLIC_MODULES, PUBLIC_NAMES
from pydplib._version import __version__

if TYPE_CHECKING:
    from pydplib._typed import *  # noqa: F403

__all__ = ["__version__", *PUBLIC_MODULES, *PUBLIC_NAMES]


def __getattr__(name: str) -> Any:
    if name in PUBLIC_MODULES or name in OTHER_MODULES:
        return import_module(f"pydplib.{name}")
    if name in PUBLIC_NAMES:
        value = getattr(import_module(PUBLIC_NAMES[name]), name)
        globals()[name] = value
        return value
    if name in MOVED_NAMES:
        place = MOVED_NAMES[name].replace("pydplib.", "dp.", 1)
        message = f"dp.{name} moves to {place}.{name}; the short name works until version 0.3."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(import_module(MOVED_NAMES[name]), name)
    from pydplib.errors import did_you_mean

    raise AttributeError(f"pydplib has no name '{name}'.{did_you_mean(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
