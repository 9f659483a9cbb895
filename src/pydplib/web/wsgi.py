"""The platform as a WSGI application, for ``pydplib serve`` and for other servers."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pydplib.web.settings")
application = get_wsgi_application()

from pydplib._duckdb_files import confine_all  # noqa: E402 - settings first
from pydplib.web.intake.snapshots import confinement  # noqa: E402

confine_all(confinement)
