"""The templates that come with pydplib."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from pydplib.capture.model import Template
from pydplib.errors import TemplateError, did_you_mean

_NAMES = ("pirads-2.1", "pirads-paper")


def builtin_names() -> tuple[str, ...]:
    """Return the names of the built-in templates.

    Examples:
        >>> builtin_names()
        ('pirads-2.1', 'pirads-paper')
    """
    return _NAMES


@cache
def builtin(name: str) -> Template:
    """Return a built-in template: ``pirads-2.1`` or ``pirads-paper``.

    Examples:
        >>> builtin("pirads-2.1").title
        'MRI of the prostate, PI-RADS 2.1'
    """
    if name not in _NAMES:
        raise TemplateError(f"There is no built-in template '{name}'.{did_you_mean(name, _NAMES)}")
    text = (files("pydplib.capture") / "templates" / f"{name}.toml").read_text(encoding="utf-8")
    return Template.from_toml(text)
