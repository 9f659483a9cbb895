"""``draw``: a figure of whatever may leave. Releases and results are drawn, tables and arrays are refused."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pydplib.errors import ParameterError
from pydplib.plot._figure import Figure

# Name of a class (its own or a base's) -> the function that draws it. Written as text so that
# drawing one kind imports nothing of the others; a room that adds a kind adds its line here.
_DRAWERS: dict[str, str] = {
    "AnonymizationResult": "pydplib.plot.anonymity:draw_anonymization",
    "DPResult": "pydplib.plot._results:draw_result",
    "Release": "pydplib.plot.releases:draw_release",
}


def draw(released: Any, *, original: Any = None, **options: Any) -> Figure:
    """Return a figure of a release: aggregates with their margins, and the guarantee as the caption.

    Only what may leave is drawn. Raw columns are refused; the owner adds them to compare, by
    naming them: ``original=``.

    Args:
        released: What a session released, or what ``dp_calculate`` or ``anonymize`` returned.
        original: For the owner's eyes only: what is drawn beside it, as aggregates. The column that was made noisy;
            the exact values of a release; for an anonymized table ``True``. Whoever gets the figure then has exact
            statistics of private data.
        options: ``title=`` and whatever else the kind of release understands.

    Raises:
        ParameterError: ``released`` is not a release.

    Examples:
        >>> from pydplib import plot
        >>> plot.draw([61, 67, 70])
        Traceback (most recent call last):
        ...
        pydplib.errors.ParameterError: plot.draw takes what may leave: a release of a session, or a result of \
dp_calculate or anonymize. Got list. Make a release of it first; raw values enter a figure only as original=, for \
the owner.
    """
    for kind in type(released).__mro__:
        if kind.__module__.split(".")[0] == "pydplib" and kind.__name__ in _DRAWERS:
            module, function = _DRAWERS[kind.__name__].split(":")
            drawer = getattr(import_module(module), function)
            figure: Figure = drawer(released, original=original, **options)
            return figure
    raise ParameterError(
        "plot.draw takes what may leave: a release of a session, or a result of dp_calculate or anonymize. "
        f"Got {type(released).__name__}. "
        "Make a release of it first; raw values enter a figure only as original=, for the owner."
    )
