"""The figure of the house: a Plotly figure that never talks to a cloud and keeps its words with it."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from pydplib.errors import import_extra
from pydplib.plot._theme import Mode, template

go: Any = import_extra("plotly.graph_objects", what="Drawing a figure", extra="plot")

NARROW = 620
"""Figures below this width in pixels stack their panels and break their labels, as pages do (figures.js)."""


def show_config(**changes: Any) -> dict[str, Any]:
    """Return the settings with which every figure is shown: no cloud button, no cloud address, no logo.

    Plotly's own default shows a button that sends the data of a chart to a host of Plotly's.

    Args:
        changes: Further settings of Plotly's; they cannot bring the cloud back.

    Examples:
        >>> show_config(scrollZoom=True)["showSendToCloud"]
        False
    """
    return {
        "responsive": True,
        "displayModeBar": "hover",
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
        **changes,
        "showSendToCloud": False,
        "plotlyServerURL": "",
        "displaylogo": False,
    }


class Figure(go.Figure):  # type: ignore[misc]
    """A Plotly figure with the settings of the house; all of Plotly's methods work on it.

    Its title and its caption (the honest label of what is drawn) live in ``layout.meta``, so that
    pages set them as text and pictures get them drawn in.

    Examples:
        >>> from pydplib import plot
        >>> figure = plot.bar(["a", "b"], {"visits": [3, 5]}, title="Visits", caption="Made up.")
        >>> figure.words
        ('Visits', 'Made up.')
    """

    @property
    def words(self) -> tuple[str, str]:
        """The title and the caption."""
        meta = self.layout.meta or {}
        return str(meta.get("title", "")), str(meta.get("caption", ""))

    def with_words(self, title: str | None = None, caption: str | None = None) -> Figure:
        """Return a copy with another title or caption."""
        copy = Figure(self)
        meta = dict(self.layout.meta or {})
        meta.update({k: v for k, v in (("title", title), ("caption", caption)) if v is not None})
        copy.layout.meta = meta
        return copy

    def drawn(self, *, width: int = 960, mode: Mode = "light") -> Figure:
        """Return a copy for a picture of ``width`` pixels, with title and caption drawn in."""
        copy = Figure(self)
        title, caption = self.words
        layout = copy.layout
        layout.template = template(mode)
        narrow = (layout.meta or {}).get("narrow")
        if narrow and width < NARROW:
            copy.update_layout(narrow)
        margin = {**template(mode)["layout"]["margin"], **(layout.margin.to_plotly_json() or {})}
        height = layout.height or 420
        above = 0
        if title:
            lines = wrap(title, max(20, int(width / 9)))
            above = 16 + 24 * len(lines)
            layout.title = {
                "text": "<br>".join(lines),
                "x": 0,
                "xref": "container",
                "pad": {"l": 20, "t": 18},
                "y": 1,
                "yanchor": "top",
            }
            if width < NARROW and layout.showlegend:
                above += 26  # the legend needs a second line there
        below = 0
        if caption:
            # A caption may have paragraphs: what is shown, and what is guaranteed.
            most = max(30, int((width - 40) / 6.9))
            lines = [line for text in caption.split("\n") for line in wrap(text, most)]
            below = 14 + 17 * len(lines)
            layout.annotations = (
                *layout.annotations,
                {
                    "text": "<br>".join(lines),
                    "align": "left",
                    "xref": "paper",
                    "x": 0,
                    "xanchor": "left",
                    "xshift": 20 - margin["l"],
                    "yref": "paper",
                    "y": 0,
                    "yanchor": "bottom",
                    "yshift": -(margin["b"] + below - 10),
                    "font": {"size": 12, "color": template(mode)["layout"]["yaxis"]["tickfont"]["color"]},
                },
            )
        layout.margin = {**margin, "t": margin["t"] + above, "b": margin["b"] + below}
        layout.height, layout.width = height + above + below, width
        return copy

    def show(self, *args: Any, **options: Any) -> Any:
        """Show the figure, without Plotly's cloud button."""
        return go.Figure.show(self._for_a_notebook(), *args, **_with_config(options))

    def to_html(self, *args: Any, **options: Any) -> str:
        """Return Plotly's HTML, with the settings of the house."""
        return str(super().to_html(*args, **_with_config(options)))

    def write_html(self, *args: Any, **options: Any) -> None:
        """Write Plotly's HTML, with the settings of the house."""
        super().write_html(*args, **_with_config(options))

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_html_(self) -> str:
        # Plotly's own fallback would load its script from a foreign host.
        return self._for_a_notebook().to_html(full_html=False, include_plotlyjs=True)

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return go.Figure._repr_mimebundle_(self._for_a_notebook(), *args, **_with_config(options))

    def _for_a_notebook(self) -> Figure:
        drawn = self.drawn()
        drawn.layout.width = None  # as wide as the cell
        return drawn


def _with_config(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a Plotly method, with its settings as ``show_config`` allows them."""
    return {**options, "config": show_config(**(options.get("config") or {}))}
