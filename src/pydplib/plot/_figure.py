"""The figure of the house: a Plotly figure that never talks to a cloud and keeps its words with it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
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
        """The title and the caption. A title that was set with ``update_layout`` comes first."""
        meta = self.layout.meta or {}
        return str(self.layout.title.text or meta.get("title", "")), str(meta.get("caption", ""))

    @property
    def caption_lines(self) -> list[str]:
        """The paragraphs of the caption as they are set: no line ends between a number and its percent sign."""
        return [line.replace(" %", "\N{NO-BREAK SPACE}%") for line in self.words[1].split("\n") if line]

    def with_words(self, title: str | None = None, caption: str | None = None) -> Figure:
        """Return a copy with another title or caption."""
        copy = Figure(self)
        meta = dict(self.layout.meta or {})
        meta.update({k: v for k, v in (("title", title), ("caption", caption)) if v is not None})
        copy.layout.meta = meta
        if title is not None:
            copy.layout.title.text = None
        return copy

    def drawn(self, *, width: int = 960, mode: Mode = "light") -> Figure:
        """Return a copy for a picture of ``width`` pixels, with title and caption drawn in; once is enough."""
        copy = Figure(self)
        if (self.layout.meta or {}).get("drawn"):
            return copy
        title, caption = self.words
        layout = copy.layout
        layout.template = template(mode)
        narrow = (layout.meta or {}).get("narrow")
        if narrow and width < NARROW:
            copy.update_layout(narrow)
        margin = {**template(mode)["layout"]["margin"], **(layout.margin.to_plotly_json() or {})}
        # Plotly would widen the margin for long labels, and move the caption with it.
        margin["l"] = max(margin["l"], _label_room(copy))
        height = layout.height or 420
        above = 0
        if title:
            lines = wrap(title, max(20, int((width - 40) / 10)))
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
            lines = [line for text in self.caption_lines for line in wrap(text, most)]
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
        layout.meta = {**(layout.meta or {}), "drawn": True}
        return copy

    def show(self, *args: Any, **options: Any) -> Any:
        """Show the figure with its words, without Plotly's cloud button; in a notebook also when it is offline."""
        if not args and not options and _in_a_notebook():
            return import_module("IPython.display").display(self)
        return go.Figure.show(self._for_a_notebook(), *args, **_with_config(options))

    def to_html(self, *args: Any, **options: Any) -> str:
        """Return a page with the figure, its title and its caption, which loads nothing from anywhere.

        With any of Plotly's options it is Plotly's HTML, with the same words drawn in.
        """
        if args or options:
            return str(go.Figure.to_html(self._for_a_notebook(), *args, **_with_config(options)))
        from pydplib.plot._export import to_html

        return to_html(self)

    def write_html(self, file: Any, *args: Any, **options: Any) -> None:
        """Write a page with the figure, its title and its caption to a path or an open file; see ``to_html``."""
        if args or options:
            go.Figure.write_html(self._for_a_notebook(), file, *args, **_with_config(options))
            return
        from pydplib.plot._export import to_html

        if hasattr(file, "write"):
            file.write(to_html(self))
        else:
            to_html(self, file)

    def to_image(
        self,
        format: str | None = None,
        width: int | None = None,
        height: int | None = None,
        scale: float | None = None,
        *,
        mode: Mode = "light",
    ) -> bytes:
        """Return a picture as bytes, with title and caption drawn in; drawn offline by Chromium or Chrome.

        Args:
            format: ``"png"`` (the default), ``"svg"``, ``"pdf"``, ``"webp"`` or ``"jpeg"``.
            width: In pixels, before ``scale``; 960 by default.
            height: In pixels, words included; by default what figure and words need.
            scale: Pixels of the picture per pixel of ``width``.
            mode: ``"light"`` or ``"dark"``.
        """
        from pydplib.plot._export import picture

        return picture(self, format or "png", width=width or 960, height=height, scale=scale or 1, mode=mode)

    def write_image(
        self,
        file: Any,
        format: str | None = None,
        width: int | None = None,
        height: int | None = None,
        scale: float | None = None,
        *,
        mode: Mode = "light",
    ) -> None:
        """Write a picture to a path or an open file, with title and caption drawn in; see ``to_image``."""
        from pydplib.plot._export import format_of, write_file

        if hasattr(file, "write"):
            file.write(self.to_image(format, width, height, scale, mode=mode))
            return
        path = Path(file)
        write_file(path, self.to_image(format or format_of(path), width, height, scale, mode=mode))

    def _ipython_display_(self) -> None:
        if _is_interactive(str(_renderers().default)):
            # IPython then takes the bundle; Plotly's own way would show nothing in a converted notebook.
            raise NotImplementedError
        self.show()

    def _repr_html_(self) -> str:
        from pydplib.plot._export import to_frame

        return to_frame(self)

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        # The renderer that the reader chose; wherever it needs Plotly's own viewer, the page as well: converted
        # notebooks and viewers without it show that, offline.
        renderer = str(_renderers().default)
        if not _is_interactive(renderer):
            return go.Figure._repr_mimebundle_(self._for_a_notebook(), *args, **_with_config(options))
        bundle = _renderers()._build_mime_bundle(
            self._for_a_notebook().to_dict(), "plotly_mimetype", **_with_config(options)
        )
        return {**bundle, "text/html": self._repr_html_(), "text/plain": self._in_words()}

    def __repr__(self) -> str:
        return self._in_words()

    def _in_words(self) -> str:
        title, caption = self.words
        return "\n".join(
            [f"Figure: {title or 'without a title'}", *(f"  {line}" for line in caption.split("\n") if line)]
        )

    def _for_a_notebook(self) -> Figure:
        drawn = self.drawn()
        drawn.layout.width = None  # as wide as the cell
        return drawn


def _label_room(figure: Figure) -> int:
    """Return the pixels that the longest label of a y axis of words needs, or 0."""
    axis = figure.layout.yaxis
    labels = [str(text) for text in axis.ticktext or ()]
    if not labels and axis.type == "category":
        labels = [str(label) for trace in figure.data for label in (trace.y if trace.y is not None else ())]
    if not labels:
        return 0
    return 32 + round(7.2 * max(map(len, labels)))


def _renderers() -> Any:
    return import_extra("plotly.io", what="Showing a figure", extra="plot").renderers


def _is_interactive(renderer: str) -> bool:
    """Tell whether a renderer of Plotly's is one of those that need its viewer or its script."""
    return bool({"plotly_mimetype", "notebook", "notebook_connected", "jupyterlab", "vscode", "nteract", "colab"}
                & set(renderer.split("+")))  # fmt: skip


def _in_a_notebook() -> bool:
    """Tell whether a kernel of Jupyter's runs this, and shows figures as they show themselves."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel") and _is_interactive(str(_renderers().default))


def _with_config(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a Plotly method, with its settings as ``show_config`` allows them."""
    return {**options, "config": show_config(**(options.get("config") or {}))}
