"""What waits for a member of a project: for the home page, the numbers in the navigation, and notices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse

from pydplib.errors import LedgerError
from pydplib.web.analyses.payments.budgets import WORRY, own_purse
from pydplib.web.analyses.visibility import is_received
from pydplib.web.analyses.visibility import visible as visible_analyses
from pydplib.web.exports import releases as exports
from pydplib.web.exports.models import Export
from pydplib.web.intake.models import ImportBatch, Snapshot
from pydplib.web.people.models import User
from pydplib.web.projects.models import AccessRequest, Member, Project
from pydplib.web.reporting.labels.queue import differing_texts, texts_for
from pydplib.web.reporting.models import Correction, Report
from pydplib.web.synthetic import tables as synthetic
from pydplib.web.synthetic.models import SyntheticPurchase

MOST_SHARED = 50
"""How many answers that are shared with a role are looked at: whether each is paid is asked one by one."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that waits for somebody.

    Args:
        kind: What it is, in one word: the name of the page where it is done.
        count: How many.
        text: What to do, in words without data.
        url: Where it is done.
        icon: One of the design's icons.
    """

    kind: str
    count: int
    _: KW_ONLY
    text: str
    url: str
    icon: str


def waiting_for(project: Project, place: Member, user: User) -> list[Waiting]:
    """Return what waits for a member, the most urgent first; nothing for an owner who looks as another role.

    Args:
        project: The project.
        place: The member's place as it counts now.
        user: The member.
    """
    if place.preview:
        return []
    found = [*_of_reports(project, place, user), *_of_owners(project, place), *_of_partners(project, place, user)]
    counts = counts_for(project, place, user)
    if counts.get("requests"):
        text = _number(counts["requests"], "request to decide", "requests to decide")
        found.insert(0, Waiting("requests", counts["requests"], text=text, url=_url("requests", project), icon="inbox"))
    return [each for each in found if each.count]


def counts_for(project: Project, place: Member, user: User) -> dict[str, int]:
    """Return the numbers of the navigation by the name of the page, in one query: what a member has to do there."""
    if place.preview:
        return {}
    asked: dict[str, list[QuerySet[Report] | QuerySet[AccessRequest] | QuerySet[ImportBatch] | QuerySet[Correction]]]
    asked = {}
    if place.can("decide_requests"):
        asked["requests"] = [requests_to_decide(user)]
    if place.can("capture"):
        asked["reports"] = [_drafts(user), Correction.objects.filter(author=user)]
    if place.can("import_records"):
        asked["import"] = [_open_imports(place, user)]
    if not asked:
        return {}
    columns = {f"{name}_{number}": _counted(rows) for name, all_ in asked.items() for number, rows in enumerate(all_)}
    counted = Project.objects.filter(pk=project.pk).order_by().annotate(**columns).values_list(*columns).get()
    row: dict[str, int] = dict(zip(columns, counted, strict=True))
    return {name: sum(row[f"{name}_{number}"] for number in range(len(all_))) for name, all_ in asked.items()}


def requests_to_decide(user: User) -> QuerySet[AccessRequest]:
    """Return the open requests to which an owner has not said a word yet, of all projects."""
    return AccessRequest.objects.filter(state=AccessRequest.State.OPEN).exclude(approvals__by=user)


def _drafts(user: User) -> QuerySet[Report]:
    return Report.objects.filter(author=user, state=Report.State.DRAFT)


def _open_imports(place: Member, user: User) -> QuerySet[ImportBatch]:
    """Return imports that wait for a person: columns to match, or checked and not accepted."""
    steps = (ImportBatch.State.UPLOADED, ImportBatch.State.CHECKED)
    found = ImportBatch.objects.filter(state__in=steps)
    return found if place.can("manage_data") else found.filter(by=user)


def _counted(rows: QuerySet[object]) -> Coalesce:  # type: ignore[type-var]
    """Return the number of rows of the outer query's project."""
    path = "report__project" if rows.model is Correction else "project"
    of_project = rows.filter(**{path: OuterRef("pk")}).order_by().values(path).annotate(n=Count("pk", distinct=True))
    return Coalesce(Subquery(of_project.values("n"), output_field=IntegerField()), 0)


def _of_reports(project: Project, place: Member, user: User) -> Iterable[Waiting]:
    if place.can("capture"):
        drafts = _drafts(user).filter(project=project).count()
        drafts += Correction.objects.filter(author=user, report__project=project).count()
        yield Waiting(
            "reports",
            drafts,
            text=_number(drafts, "draft to finish", "drafts to finish"),
            url=_url("reports", project),
            icon="pencil",
        )
        texts = texts_for(project, user, place).count()
        text = _number(texts, "free text to label", "free texts to label")
        yield Waiting("labelling", texts, text=text, url=_url("labelling", project), icon="tag")
    if place.can("import_records"):
        imports = _open_imports(place, user).filter(project=project)
        checked = imports.filter(state=ImportBatch.State.CHECKED).count()
        begun = imports.count() - checked
        where = _url("import", project)
        yield Waiting(
            "import", checked, text=_number(checked, "import to accept", "imports to accept"), url=where, icon="upload"
        )
        yield Waiting(
            "import",
            begun,
            text=_number(begun, "import to go on with", "imports to go on with"),
            url=where,
            icon="upload",
        )


def _of_owners(project: Project, place: Member) -> Iterable[Waiting]:
    if not place.can("manage_data"):
        return
    differ = len(differing_texts(project))
    text = _number(differ, "text on which two readers differ", "texts on which two readers differ")
    yield Waiting("agreement", differ, text=text, url=_url("labelling_agreement", project), icon="scale")
    made = Export.objects.filter(project=project, state=Export.State.READY).count()
    text = _number(made, "anonymized table to release", "anonymized tables to release")
    yield Waiting("anonymize", made, text=text, url=_url("anonymize", project), icon="users")
    newest = Snapshot.objects.filter(project=project, published__isnull=False).order_by("-number").first()
    if newest is not None and newest.data_version < project.data_version:
        text = "The data changed since the published snapshot"
        yield Waiting("snapshots", 1, text=text, url=_url("snapshots", project), icon="camera")


def _of_partners(project: Project, place: Member, user: User) -> Iterable[Waiting]:
    if not place.can("ask") or place.can("read_all_ledgers"):
        return
    try:
        purse = own_purse(project, user, place)
    except LedgerError:  # said on the page of the budget
        purse = None
    if purse is not None and purse.spent >= WORRY * purse.total:
        text = f"{purse.percent} % of your organisation's budget is used"
        yield Waiting("budget", 1, text=text, url=_url("budget", project), icon="wallet")
    shared = visible_analyses(project, user, place).exclude(recipient=user.hospital.key)[:MOST_SHARED]
    unpaid = sum(not is_received(each, user, place) for each in shared)
    text = _number(unpaid, "answer shared with you, not received yet", "answers shared with you, not received yet")
    yield Waiting("analyses", unpaid, text=text, url=_url("analyses", project), icon="chart-column")
    copied = {"copies__user": user}
    ready = (
        synthetic.visible(project, user, place).filter(state=SyntheticPurchase.State.READY).exclude(**copied).count()
    )
    text = _number(ready, "synthetic table ready", "synthetic tables ready")
    yield Waiting("synthetic", ready, text=text, url=_url("synthetic", project), icon="database")
    released = [each for each in exports.visible(project, place) if not each.downloads.filter(user=user).exists()]
    text = _number(len(released), "anonymized table to download", "anonymized tables to download")
    yield Waiting("anonymize", len(released), text=text, url=_url("anonymize", project), icon="download")


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _url(name: str, project: Project) -> str:
    return f"{reverse(name)}?project={project.key}"
