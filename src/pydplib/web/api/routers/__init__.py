"""One router per topic; ``ROUTERS`` is all of them, in the order of the OpenAPI document."""

from __future__ import annotations

from pydplib.web.api.routers import analyses, dashboards, projects, receipts

ROUTERS = (projects.router, analyses.router, dashboards.router, receipts.router)
