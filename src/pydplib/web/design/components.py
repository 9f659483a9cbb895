"""One way to render a component; all tags use it."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.safestring import SafeString


def component(name: str, /, **values: object) -> SafeString:
    """Return ``components/<name>.html`` with these values."""
    return render_to_string(f"components/{name}.html", values)
