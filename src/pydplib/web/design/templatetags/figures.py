"""Tags for figures: ``{% load figures %}``; a Plotly figure with its table, under the strict policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from django import template
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.html import format_html, json_script
from django.utils.safestring import mark_safe

from pydplib import plot
from pydplib.web.design.values import table_cells

register = template.Library()

HEIGHTS = range(300, 961, 60)
"""The heights that the style sheet keeps free before a figure is drawn."""


@register.simple_tag
def figure(
    drawing: plot.Figure, columns: Sequence[object], rows: Iterable[Sequence[object]], id: str, **options: object
) -> str:
    """Return a figure of ``pydplib.plot``, its caption and the same numbers as a table.

    Args:
        drawing: The figure; title and caption are taken from it. It must hold released values only.
        columns: The heads of the table.
        rows: Its rows.
        id: Unique on the page.
        options: title, level (of the heading, 3), open (the table is unfolded), caption.
    """
    title, _ = drawing.words
    wanted = drawing.layout.height or 420
    values = {
        "id": id,
        "title": title,
        "level": 3,
        "caption": drawing.caption_lines,
        "height": min(HEIGHTS, key=lambda height: abs(height - wanted)),
        "table_caption": title or "The numbers of the figure",
        # figure_json escapes <, > and &, so that no label can end the element.
        "json": format_html(
            '<script type="application/json" id="{}">{}</script>',
            id,
            mark_safe(plot.figure_json(drawing)),  # noqa: S308
        ),
        **table_cells(columns, rows),
        **options,
    }
    return render_to_string("components/figure.html", values)


@register.simple_tag
def figure_scripts() -> str:
    """Return the scripts that draw the figures of a page; put them into ``{% block scripts %}``."""
    return format_html(
        '{}<script src="{}" defer></script><script src="{}" defer></script><script src="{}" defer></script>',
        _look(),
        static("pydplib/vendor/plotly-cartesian.min.js"),
        static("pydplib/pictures.js"),
        static("pydplib/figures.js"),
    )


@cache
def _look() -> str:
    templates = {mode: plot.template(mode) for mode in ("light", "dark")}
    return json_script({"templates": templates, "config": plot.show_config()}, "pydplib-look")
