"""What a viewer sees of a dashboard: released values that their organisation has paid for; no row is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib import plot
from pydplib.plot.recipes.sound import SOUND_FIGURES, guarantee_of
from pydplib.policy import ROLES, Policy
from pydplib.release import Release
from pydplib.schema import Schema
from pydplib.web.analyses.figures import figure_of, in_words, rest_words, table_of
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.originals import look_at_original
from pydplib.web.analyses.payments.purchases import answer_bytes
from pydplib.web.analyses.shared_answers import SharedOffer, offer_for
from pydplib.web.analyses.visibility import decision_for
from pydplib.web.auditlog.log import record
from pydplib.web.dashboards.models import Dashboard, Edition, Kind, Shown
from pydplib.web.dashboards.plans import PAPER_FIELDS, paper_output
from pydplib.web.dashboards.prices import label_for
from pydplib.web.ledger.models import Payment
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.policy.fields import project_fields
from pydplib.web.projects.policy.flows import decide
from pydplib.web.projects.words import plain
from pydplib.web.reporting.models import TemplateVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One figure as a page shows it.

    Args:
        id: Unique on the page.
        title: What it shows.
        label: What the paper calls it.
        figure: The drawing; none if the policy has closed it since.
        columns: Heads of its table.
        rows: Its rows.
        cost: What it cost, for all of the audience together.
        receipts: Keys of the releases.
        paper: Whether it is paper mode, which has no guarantee.
        closed: Why it is not shown; empty if it is.
    """

    id: str
    title: str
    label: str
    figure: plot.Figure | None = None
    columns: list[object] = field(default_factory=list)
    rows: list[list[object]] = field(default_factory=list)
    cost: str = ""
    receipts: tuple[str, ...] = ()
    paper: bool = False
    closed: str = ""

    @property
    def wide(self) -> bool:
        """Whether the figure has three panels or more, which need the whole width of the page."""
        return self.figure is not None and "xaxis3" in self.figure.layout


def can_view(dashboard: Dashboard, place: Member) -> bool:
    """Return whether a dashboard is somebody's business: owners', and its audience's once it is published."""
    if place.can("edit_policy"):
        return True
    return bool(place.role == dashboard.audience and dashboard.state == Dashboard.State.PUBLISHED)


def visible(project: Project, place: Member) -> list[Dashboard]:
    """Return the dashboards that somebody may see now."""
    found = Dashboard.objects.filter(project=project).select_related("project")
    return [dashboard for dashboard in found if can_view(dashboard, place)]


def releases_for(edition: Edition, place: Member) -> set[str]:
    """Return the releases that a reader of an edition learns from, as far as the policy lets them through.

    The noisy number of records is one of them where it was bought for the audience: the prices follow it, and the
    figures show their prices.
    """
    schema, policy = Schema.from_json(edition.snapshot.schema), edition.dashboard.project.policy
    keys = {key for item in edition.shown.all() for key in item.answers}
    answers = Analysis.objects.filter(key__in=keys).select_related("project")
    found = {one.digest for one in answers if decision_for(one, place, policy=policy, schema=schema)}
    if not found:
        return set()
    bought = Payment.objects.filter(recipient=edition.dashboard.recipient, release__snapshot=edition.snapshot.key)
    shown = Analysis.objects.filter(project=edition.dashboard.project, recipient=edition.dashboard.recipient)
    return found | set(bought.exclude(release__in=shown.values("digest")).values_list("release_id", flat=True))


def offer_of(edition: Edition, user: User, place: Member) -> SharedOffer | None:
    """Return what a reader's organisation would pay for the figures that it has not received; none for nothing."""
    return offer_for(edition.dashboard.project, user, place, releases_for(edition, place))


def panels_of(
    edition: Edition, place: Member, *, waiting: Iterable[str] = (), originals_for: User | None = None
) -> list[Panel]:
    """Return the figures of an edition, each let through by the policy as it is today.

    Args:
        edition: What was published.
        place: The viewer's role as it counts now.
        waiting: Releases that the viewer's organisation has not paid for: figures with one of them stay closed.
        originals_for: The owner who looks at the originals next to them; every look is logged. None for everybody else.
    """
    shown = list(edition.shown.all())
    keys = {key for item in shown for key in item.answers}
    answers = {item.key: item for item in Analysis.objects.filter(key__in=keys).select_related("project")}
    project, schema = edition.dashboard.project, Schema.from_json(edition.snapshot.schema)
    policy, known = project.policy, project_fields(project)
    exact: dict[str, NDArray[np.float64]] = {}
    if originals_for is not None:
        record(originals_for, "dashboard.originals", edition.dashboard.key, project=project)
        exact = {key: look_at_original(originals_for, answers[key]) for key in sorted(keys)}
    panels, unpaid = [], set(waiting)
    for number, item in enumerate(shown, start=1):
        facts: dict[str, Any] = {"id": f"figure-{number}", "title": item.title, "label": label_for(item)}
        if item.kind == Kind.PAPER:
            panels.append(_paper_panel(item, edition, place, known, policy, facts))
            continue
        mine = [answers[key] for key in item.answers]
        denied = _denied(mine, place, policy, schema)
        if not denied and unpaid.intersection(answer.digest for answer in mine):
            denied = "Your organisation has not received this figure yet."
        if denied:
            panels.append(Panel(**facts, closed=denied))
            continue
        panels.append(_panel(item, mine, exact, facts, edition.snapshot.template))
    return panels


def _denied(answers: Iterable[Analysis], place: Member, policy: Policy, schema: Schema) -> str:
    for answer in answers:
        decision = decision_for(answer, place, policy=policy, schema=schema)
        if not decision:
            return plain(decision.reason)
    return ""


def _panel(
    item: Shown,
    answers: list[Analysis],
    exact: Mapping[str, NDArray[np.float64]],
    facts: dict[str, Any],
    version: TemplateVersion,
) -> Panel:
    payloads = tuple(answer_bytes(answer) for answer in answers)
    drawing: Mapping[str, Any]
    if exact:
        releases = [Release.from_json(payload) for payload in payloads]
        originals = [exact[answer.key] for answer in answers]
        drawing = _draw(item.kind, item.name, item.title, releases, version, originals)
    else:
        drawing = _drawing(item.kind, item.name, item.title, payloads, version)
    return Panel(**facts, **drawing, receipts=tuple(answer.digest for answer in answers))


@lru_cache(maxsize=256)
def _drawing(
    kind: str, name: str, title: str, payloads: tuple[bytes, ...], version: TemplateVersion
) -> Mapping[str, object]:
    """Return the drawing of released values, made once: it is the same whoever looks and how often."""
    releases = [Release.from_json(payload) for payload in payloads]
    return MappingProxyType(_draw(kind, name, title, releases, version, None))


def _draw(
    kind: str,
    name: str,
    title: str,
    releases: list[Release],
    version: TemplateVersion,
    originals: list[NDArray[np.float64]] | None,
) -> dict[str, Any]:
    """Return figure and table of released values; ``version`` is the template that has the words for their codes."""
    if kind == "ready":
        drawn = SOUND_FIGURES[name].draw(releases, originals)
        figure, rows = drawn.figure, [list(row) for row in drawn.table.rows]
        columns: list[object] = list(drawn.table.columns)
    else:
        original = None if originals is None else originals[0]
        shown = in_words(releases[0], version.template)
        figure = figure_of(shown, title=title, original=original)
        figure = figure.with_words(caption=" ".join((figure.words[1], rest_words(shown))).strip())
        columns, rows = table_of(shown, original=original)
    words = guarantee_of(releases)
    return {"figure": figure.with_words(title=title), "columns": columns, "rows": rows, "cost": words}


def _paper_panel(
    item: Shown, edition: Edition, place: Member, known: Any, policy: Policy, facts: dict[str, Any]
) -> Panel:
    project, audience = edition.dashboard.project, edition.dashboard.audience
    decision = decide(
        project,
        place,
        paper_output(audience),
        purpose=project.purpose,
        fields=PAPER_FIELDS[item.name],
        known=known,
        policy=policy,
    )
    if not decision:
        return Panel(**facts, paper=True, closed=plain(decision.reason))
    if item.paper is None or not edition.snapshot.file:
        return Panel(**facts, paper=True, closed="The data behind it are gone. The owner can refresh the dashboard.")
    figure = plot.Figure(item.paper["figure"])
    rows = [list(row) for row in item.paper["rows"]]
    return Panel(
        **facts, paper=True, figure=figure.with_words(title=item.title), columns=item.paper["columns"], rows=rows
    )


def audience_title(dashboard: Dashboard) -> str:
    """Return the audience for readers."""
    return ROLES[dashboard.audience].title
