"""What the server tidies by the hour: paper-mode figures whose data are gone."""

from __future__ import annotations

from pydplib.web.dashboards.models import Kind, Shown


def tidy() -> int:
    """Delete paper-mode figures of snapshots that an erasure took away; they are hidden from that moment on already.

    Released values stay: what is differentially private promises nothing less with a person gone.
    """
    gone = Shown.objects.filter(kind=Kind.PAPER, edition__snapshot__file="", paper__isnull=False)
    return int(gone.update(paper=None))
