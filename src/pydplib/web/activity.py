"""What happened in a project lately, as far as a member may see it; where the things that the log names are shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from itertools import islice

from django.apps import apps
from django.utils import timezone

from pydplib.policy import Power
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.visibility import asked_and_of_dashboards
from pydplib.web.analyses.visibility import visible as visible_analyses
from pydplib.web.auditlog.lines import KEY, LineFilter, ShownLine, keys_named, lines_of, narrow, show
from pydplib.web.auditlog.models import Line
from pydplib.web.dashboards.models import Dashboard
from pydplib.web.dashboards.panels import visible as visible_dashboards
from pydplib.web.exports.releases import visible as visible_exports
from pydplib.web.intake.models import Snapshot
from pydplib.web.patients.models import Patient
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.reporting.models import Report
from pydplib.web.synthetic.tables import visible as visible_tables

DAYS = 30
_LOOKED_AT = 60
_THINGS: dict[str, tuple[str, str, Power]] = {
    "analysis": ("analyses.Analysis", "/analyses/{}", "ask"),
    "import": ("intake.ImportBatch", "/import/{}", "import_records"),
    "export": ("exports.Export", "/anonymize/{}", "ask"),
    "attack": ("attacks.AttackRun", "/attacks/{}", "read_log"),
    "dashboard": ("dashboards.Dashboard", "/dashboards/{}", "ask"),
    "request": ("projects.AccessRequest", "/requests/{}", "read_log"),
}
"""First word of an action -> the model of its subject, where that is shown, and who may look there."""

NEWSWORTHY = (
    "analysis.ask", "analysis.share", "dashboard.publish", "dashboard.withdraw", "export.release", "export.withdraw",
    "import.accept", "import.undo", "member.accept", "member.add", "member.change", "member.leave", "member.remove",
    "patient.erase", "policy.add", "policy.change", "policy.open_fields", "policy.raise_budget", "policy.remove",
    "project.edit", "report.correct", "report.sign", "request.approve", "request.make", "request.refuse",
    "snapshot.publish", "synthetic.make", "synthetic.withdraw", "table.add", "table.replace", "template.add",
    "template.use", "text.read", "texts.add",
)  # fmt: skip
"""Actions that change something for others: looks, drafts and downloads are in the log alone."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Args:
        time: When; the last time of several.
        text: What, in words without data.
        who: Who did it, as far as the reader may know.
        url: Where it is shown; empty where it is not.
        times: How often in a row.
    """

    time: dt.datetime
    text: str
    who: str = ""
    url: str = ""
    _: KW_ONLY
    times: int = 1

    @property
    def times_words(self) -> str:
        """How often, in words: there may be more than were looked at."""
        return f"{self.times} times" + (" or more" if self.times >= _LOOKED_AT else "")


def recent(project: Project, place: Member, user: User, most: int = 6) -> list[Event]:
    """Return what happened in the last days, newest first: from the log for its readers, else what they may open."""
    events = _logged(project, place) if place.can("read_log") else iter(_offered(project, place, user))
    return list(islice(_together(events), most))


def _logged(project: Project, place: Member) -> Iterator[Event]:
    since = timezone.localdate() - dt.timedelta(days=DAYS)
    _, of_boards = asked_and_of_dashboards(Analysis.objects.filter(project=project))
    # A dashboard that was published is news; the questions behind its figures are part of it.
    found = narrow(lines_of([project.key]), LineFilter(actions=NEWSWORTHY, since=since))
    lines = list(found.exclude(action="analysis.ask", subject__in=of_boards.values("key"))[:_LOOKED_AT])
    urls = urls_of(lines, project, place)
    boards = dict(Dashboard.objects.filter(project=project).values_list("key", "title"))
    for line in lines:
        shown: ShownLine = show(line, urls)
        title = boards.get(line.subject, "") if line.action.startswith("dashboard.") else ""
        yield Event(shown.time, f"{shown.words}: {title}" if title else shown.words, shown.actor, shown.url)


def _offered(project: Project, place: Member, user: User) -> list[Event]:
    """Return what a member without the log may know of: results and tables that are theirs to open, signed reports."""
    found: list[Event] = []
    since = timezone.now() - dt.timedelta(days=DAYS)
    if place.can("ask"):
        found += _results(project, place, user, since)
    if place.can("capture"):
        found += _signed(project, place, user, since)
    return sorted(found, key=lambda event: event.time, reverse=True)


def _results(project: Project, place: Member, user: User, since: dt.datetime) -> Iterator[Event]:
    asked, _ = asked_and_of_dashboards(visible_analyses(project, user, place))
    for each in asked.filter(made__gte=since)[:10]:
        own = each.recipient == user.hospital.key
        text = "Asked for a statistic" if own else "A statistic was shared with your role"
        yield Event(each.made, text, str(each.asked_by) if own else "", f"/analyses/{each.key}")
    for board in visible_dashboards(project, place):
        edition = board.edition
        if edition is not None and edition.made >= since:
            yield Event(edition.made, f"Dashboard published: {edition.title}", "", f"/dashboards/{board.key}")
    for table in visible_tables(project, user, place).filter(made__gte=since)[:10]:
        yield Event(table.made, "Asked for a synthetic table", str(table.asked_by), f"/synthetic/{table.key}")
    for export in visible_exports(project, place):
        if export.released is not None and export.released >= since:
            yield Event(export.released, "An anonymized table was released to you", "", f"/anonymize/{export.key}")
    for published in Snapshot.objects.filter(project=project, published__gte=since, group="").values_list(
        "published", flat=True
    ):
        if published is not None:
            yield Event(published, "A new state of the data was published")


def _signed(project: Project, place: Member, user: User, since: dt.datetime) -> Iterator[Event]:
    """Yield that reports were signed, by whom, and not which: a list of patients would be a look at each of them."""
    mine = Report.objects.filter(project=project, state=Report.State.SIGNED, signed__gte=since)
    mine = mine.filter(department=place.department) if place.department else mine.filter(author=user)
    for report in mine.select_related("author").order_by("-signed", "-id")[:_LOOKED_AT]:
        yield Event(report.signed or since, "Signed a report", str(report.author), "")


def _together(events: Iterator[Event]) -> Iterator[Event]:
    """Yield events, those in a row that differ in their time or object alone as one."""
    last: Event | None = None
    for event in events:
        if last is not None and (event.text, event.who) == (last.text, last.who):
            last = replace(last, times=last.times + 1, url="")
            continue
        if last is not None:
            yield last
        last = event
    if last is not None:
        yield last


def urls_of(lines: Collection[Line], project: Project, place: Member) -> dict[str, str]:
    """Return key -> address for what lines of a project are about, as far as it is still there and the reader's to see.

    A patient leads to the page with the access report. So does a report for those who may not read reports.
    """
    keys = {line.subject for line in lines if KEY.fullmatch(line.subject)}
    keys.update(key for line in lines for key in keys_named(line.facts))
    found: dict[str, str] = {}
    for thing, (model, address, power) in _THINGS.items():
        mine = {line.subject for line in lines if line.action.startswith(f"{thing}.")} & keys
        if mine and place.can(power):
            held = apps.get_model(model)._default_manager.filter(project=project, key__in=mine)
            found |= {key: address.format(key) for key in held.values_list("key", flat=True)}
    if place.can("erase"):
        for key in Patient.objects.filter(project=project, key__in=keys).values_list("key", flat=True):
            found[key] = f"/privacy-rights/patients/{key}"
    reports = Report.objects.filter(project=project, key__in=keys).values_list("key", "patient__key")
    for key, patient in reports:
        if place.can("capture"):
            found[key] = f"/reports/{key}"
        elif place.can("erase") and patient:
            found[key] = f"/privacy-rights/patients/{patient}"
    return found
