"""One router per topic; ``ROUTERS`` is all of them, in the order of the OpenAPI document."""

from __future__ import annotations

from pydplib.web.api.routers import analyses, attacks, dashboards, exports, projects, receipts, released, synthetic

ROUTERS = (
    projects.router,
    analyses.router,
    released.router,
    dashboards.router,
    exports.router,
    synthetic.router,
    attacks.router,
    receipts.router,
)
