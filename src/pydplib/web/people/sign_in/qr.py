"""QR codes as SVG elements, drawn here: no picture leaves the server's own page."""

from __future__ import annotations

import segno
from django.utils.html import format_html
from django.utils.safestring import SafeString


def qr_code(text: str) -> SafeString:
    """Return an SVG element that shows ``text`` as a QR code."""
    matrix = [list(row) for row in segno.make(text, error="m", micro=False).matrix]
    quiet = 4
    size = len(matrix) + 2 * quiet
    path = "".join(
        f"M{x + quiet} {y + quiet}h1v1h-1z" for y, row in enumerate(matrix) for x, dark in enumerate(row) if dark
    )
    return format_html(
        '<svg class="qr" viewBox="0 0 {} {}" width="232" height="232" role="img" aria-label="QR code for your phone" '
        'shape-rendering="crispEdges"><rect width="{}" height="{}" fill="#fff"/><path d="{}" fill="#000"/></svg>',
        size,
        size,
        size,
        size,
        path,
    )
