"""Drawings of the documentation: boxes, words and arrows as inline SVG, coloured by the site's own style sheet."""

from __future__ import annotations

from html import escape
from itertools import pairwise

LINE = 17  # pixels from one line of a box to the next


class Drawing:
    """An SVG that grows by shapes and is written once.

    Colours are classes of ``docs/stylesheets/site.css``, so that one drawing serves the light and the dark look.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._below: list[str] = []
        self._above: list[str] = []

    def box(
        self, x: float, y: float, width: float, height: float, lines: list[str], *, kind: str = "plain", link: str = ""
    ) -> None:
        """Draw a box with centred lines, the first of them bold; ``kind`` is a class of the style sheet."""
        middle = y + height / 2 - (len(lines) - 1) * LINE / 2 + 5
        words = "".join(
            f'<text x="{x + width / 2:g}" y="{middle + number * LINE:g}" class="{"name" if number == 0 else "small"}">'
            f"{escape(line)}</text>"
            for number, line in enumerate(lines)
        )
        shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7"/>'
        inner = f'<g class="box {kind}">{shape}{words}</g>'
        self._above.append(f'<a href="{escape(link)}">{inner}</a>' if link else inner)

    def text(self, x: float, y: float, words: str, *, kind: str = "small", anchor: str = "start") -> None:
        """Write a line of words."""
        self._above.append(
            f'<text x="{x:g}" y="{y:g}" class="{kind}" style="text-anchor:{anchor}">{escape(words)}</text>'
        )

    def band(self, x: float, y: float, width: float, height: float, *, kind: str = "lane") -> None:
        """Draw a quiet ground under the boxes."""
        self._below.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="10" class="{kind}"/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float) -> None:
        """Draw a straight arrow."""
        self._below.append(f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" class="arrow" marker-end="url(#tip)"/>')

    def way(self, points: list[tuple[float, float]]) -> None:
        """Draw an arrow through points from top to bottom, leaving and reaching each of them vertically."""
        path = "M{:g} {:g}".format(*points[0])
        for (x1, y1), (x2, y2) in pairwise(points):
            middle = (y1 + y2) / 2
            path += f" C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}"
        self._below.append(f'<path d="{path}" class="arrow" marker-end="url(#tip)"/>')

    def html(self) -> str:
        """Return the drawing as one line of HTML that Markdown leaves alone; narrow screens scroll it."""
        tip = (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0 0 L8 4 L0 8 z" class="tip"/></marker></defs>'
        )
        return (
            f'<div class="dp-drawing" tabindex="0" role="group" aria-label="{escape(self.title)}">'
            f'<svg viewBox="0 0 {self.width} {self.height}" role="img" style="min-width:{min(self.width, 720)}px">'
            f"<title>{escape(self.title)}</title>{tip}{''.join(self._below)}{''.join(self._above)}</svg></div>"
        )
