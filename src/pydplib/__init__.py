"""pydplib: share what medical data says without giving away who is in it.

``import pydplib as dp`` gives one flat list of public names. They are loaded when
first used, so that importing the package costs little more than importing NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydplib._public import PUBLIC_MODULES, PUBLIC_NAMES
from pydplib._version import __version__

if TYPE_CHECKING:
    from pydplib._typed import *  # noqa: F403

__all__ = ["__version__", *PUBLIC_MODULES, *PUBLIC_NAMES]


def __getattr__(name: str) -> Any:
    if name in PUBLIC_MODULES:
        return import_module(f"pydplib.{name}")
    if name in PUBLIC_NAMES:
        value = getattr(import_module(PUBLIC_NAMES[name]), name)
        globals()[name] = value
        return value
    from pydplib.errors import did_you_mean

    raise AttributeError(f"pydplib has no name '{name}'.{did_you_mean(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
