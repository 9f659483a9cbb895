"""The home page: what waits, what changed, and a card per project with its numbers and what to do next."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from pydplib.errors import LedgerError
from pydplib.policy import GROUP, roles_with
from pydplib.web import activity
from pydplib.web.analyses.payments.budgets import WORRY, BudgetState, all_purses, own_purse
from pydplib.web.analyses.visibility import asked_and_of_dashboards
from pydplib.web.analyses.visibility import visible as visible_analyses
from pydplib.web.auditlog.alerts import Alert, repeated_refusals
from pydplib.web.auditlog.lines import lines_of
from pydplib.web.auditlog.words import REFUSING
from pydplib.web.dashboards.panels import visible as visible_dashboards
from pydplib.web.exports.models import Export
from pydplib.web.exports.releases import recalls_for
from pydplib.web.patients.models import Patient
from pydplib.web.people.models import User
from pydplib.web.people.permissions import SignedInRequest, second_factor_detour, signed_in
from pydplib.web.people.sign_in.second_factor import is_guarded
from pydplib.web.projects.members.invitations import invitations_for
from pydplib.web.projects.models import AccessRequest, Member, Project
from pydplib.web.projects.permissions import memberships
from pydplib.web.projects.policy.fields import titles_in
from pydplib.web.projects.setup import can_create_project
from pydplib.web.projects.words import request_words
from pydplib.web.reporting.models import Report
from pydplib.web.synthetic import tables
from pydplib.web.synthetic.models import SyntheticPurchase
from pydplib.web.waiting import Waiting, waiting_for

NEWS_DAYS = 30
MOST_EVENTS = 10


@dataclass(frozen=True, slots=True)
class NextStep:
    """One thing to do next."""

    text: str
    url: str
    icon: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class Budget:
    """What a member has left, for the bar on the card."""

    spent: float
    total: float


@dataclass(frozen=True, slots=True)
class Card:
    """A project on the home page.

    Args:
        project: The project.
        place: The user's place in it, as it counts now.
        open_requests: Requests that the user made, and that are not decided.
        waiting: What waits for the user.
        numbers: What there is: words, number and where it is shown.
        steps: What to do next.
        setup: Steps until the project is ready, for owners of a young one; empty once all are done.
        budget: What is left to spend; none where nothing is counted.
    """

    project: Project
    place: Member
    open_requests: int
    steps: list[NextStep]
    _: KW_ONLY
    waiting: list[Waiting] = field(default_factory=list)
    numbers: list[tuple[str, str, str]] = field(default_factory=list)
    setup: list[NextStep] = field(default_factory=list)
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class News:
    """A request that was decided and concerns the user."""

    request: AccessRequest
    words: str
    reason: str


def card_of(project: Project, place: Member, user: User) -> Card:
    """Return the card of a project."""
    asked = 0
    if not place.can("decide_requests") and not place.preview:
        asked = AccessRequest.objects.filter(project=project, state=AccessRequest.State.OPEN, by=user).count()
    setup = _setup(project) if place.can("edit_policy") else []
    if all(step.done for step in setup):
        setup = []
    steps = [step for step in _next_steps(project, place) if not (setup and step.icon == "upload")]
    waits = waiting_for(project, place, user)
    return Card(
        project,
        place,
        asked,
        steps,
        waiting=waits,
        numbers=_numbers(project, place, user),
        setup=setup,
        budget=_budget(project, place, user),
    )


def _numbers(project: Project, place: Member, user: User) -> list[tuple[str, str, str]]:
    """Return the numbers of a card: exact ones of records for those alone who see the records."""
    where, week = f"?project={project.key}", timezone.now() - dt.timedelta(days=7)
    found: list[tuple[str, int, str]] = []
    if place.can("capture"):
        signed = Report.objects.filter(project=project, state=Report.State.SIGNED)
        if place.can("manage_data"):
            patients = Patient.objects.filter(project=project).count()
            found += [("Reports", signed.count(), "/reports" + where), ("Patients", patients, "/data" + where)]
        else:
            mine = signed.filter(author=user, signed__gte=week).count()
            found.append(("Signed by you in 7 days", mine, f"/reports{where}&author={user.username}"))
            if place.department:
                others = signed.filter(department=place.department, signed__gte=week).count()
                found.append(("In your department in 7 days", others, "/reports" + where))
    if place.can("ask"):
        asked, _ = asked_and_of_dashboards(visible_analyses(project, user, place))
        boards = visible_dashboards(project, place)
        found += [("Answers", asked.count(), "/analyses" + where), ("Dashboards", len(boards), "/dashboards" + where)]
    if place.can("read_log"):
        found.append(("Members", project.members.count(), reverse("members", kwargs={"key": project.key})))
        if not place.can("see_raw"):
            lines = lines_of([project.key]).filter(time__gte=week.isoformat())
            found.append(("Lines of the log in 7 days", lines.count(), "/audit" + where))
            refused = lines.filter(action__in=REFUSING).count()
            found.append(("Refusals in 7 days", refused, "/audit" + where))
    return [(words, f"{number:,}", url) for words, number, url in found]


def _budget(project: Project, place: Member, user: User) -> Budget | None:
    """Return the bar of those who ask; owners and officers see all budgets on their own page."""
    if place.can("read_all_ledgers") or place.preview:
        return None
    try:
        purse = own_purse(project, user, place)
    except LedgerError:  # said on the page of the budget
        return None
    return None if purse is None else Budget(purse.spent, purse.total)


def low_budgets(cards: list[Card]) -> list[tuple[Card, BudgetState]]:
    """Return budgets of which most is spent: their own ones, and for owners and officers everybody's."""
    found: list[tuple[Card, BudgetState]] = []
    for card in cards:
        if card.place.can("read_all_ledgers"):
            try:
                purses, whole = all_purses(card.project)
            except LedgerError:
                continue
            found += [(card, purse) for purse in (whole, *purses) if purse.is_low]
        elif card.budget is not None and card.budget.spent >= WORRY * card.budget.total:
            found.append(
                (card, BudgetState(name="Your organisation", spent=card.budget.spent, total=card.budget.total))
            )
    return found


def _next_steps(project: Project, place: Member) -> Iterator[NextStep]:
    def step(text: str, name: str, icon: str) -> NextStep:
        return NextStep(text, f"{reverse(name)}?project={project.key}", icon)

    if place.can("capture") and project.template_version is not None:
        yield step("Write a report", "report_new", "file-text")
    if place.can("capture") and not place.can("manage_data"):
        yield step("Label free-text reports", "labelling", "tag")
    if place.can("manage_data"):
        yield step("Import records", "import", "upload")
        yield step("Look at the policy", "policy", "shield")
    if place.can("ask") and _has_snapshot(project):  # before, there is nothing to ask
        yield step("Ask for statistics", "analyses", "chart-column")
    if place.can("make_request"):
        yield step("See your access", "access", "eye")
        yield step("Ask for more", "requests", "send")
    if place.can("read_log") and not place.can("see_raw"):
        yield step("Read the audit log", "audit", "scroll-text")
        yield step("Privacy rights of patients", "privacy_rights", "scale")


def _setup(project: Project) -> list[NextStep]:
    where = f"?project={project.key}"
    members = reverse("members", kwargs={"key": project.key})
    owners = Member.objects.filter(project=project, role__in=roles_with("edit_policy")).count()
    return [
        NextStep("Choose a report template", reverse("templates") + where, "list-tree", project.templates.exists()),
        NextStep("Add the people who take part", members, "users", project.members.count() > 1),
        NextStep("Name a second owner: raising a budget takes two", members, "key-round", owners > 1),
        NextStep("Bring in records, by form or import", reverse("import") + where, "upload", project.data_version > 0),
        NextStep("Publish a snapshot for partners", reverse("snapshots") + where, "layers", _has_snapshot(project)),
    ]


def _has_snapshot(project: Project) -> bool:
    return bool(project.snapshots.filter(published__isnull=False).exists())


def news_of(user: User, cards: list[Card]) -> list[News]:
    """Return what was decided lately and concerns the user: asked by them, about them, or their audience's rights."""
    since = timezone.now() - dt.timedelta(days=NEWS_DAYS)
    places = {card.project.pk: card for card in cards}
    decided = (
        AccessRequest.objects.filter(project__in=places, decided__gte=since)
        .exclude(state=AccessRequest.State.WITHDRAWN)
        .select_related("project", "by")
        .prefetch_related("approvals")
        .order_by("-decided")
    )
    titles: dict[int, dict[str, str]] = {}
    found = []
    for request in decided:
        if not _concerns(request, places[request.project_id].place, user):
            continue
        if request.project_id not in titles:
            titles[request.project_id] = titles_in(request.project)
        last = max(request.approvals.all(), key=lambda word: word.time, default=None)
        mine = request.by_id == user.pk
        found.append(
            News(request, request_words(request, titles[request.project_id]), last.reason if last and mine else "")
        )
    return found[:10]


def _concerns(request: AccessRequest, place: Member, user: User) -> bool:
    if request.by_id == user.pk or request.beneficiary == user.username:
        return True
    audiences = {place.role, *(GROUP + name for name in place.groups)}
    return request.state == AccessRequest.State.APPROVED and request.beneficiary in audiences


def recalls_of(user: User) -> list[tuple[str, Export | SyntheticPurchase, str]]:
    """Return anonymized and synthetic tables that their owner has withdrawn and of which the user has a copy.

    Each comes with the address where the user says that the copies are deleted.
    """
    exports: list[tuple[str, Export | SyntheticPurchase, str]] = [
        (export.title, export, reverse("export_deleted", args=[export.key])) for export in recalls_for(user)
    ]
    exports += [(str(row), row, reverse("synthetic_deleted", args=[row.key])) for row in tables.recalls_for(user)]
    return exports


def events_of(cards: list[Card], user: User) -> list[tuple[Card, activity.Event]]:
    """Return what happened lately in the user's projects, newest first."""
    open_ones = [card for card in cards if card.numbers]  # of the others nothing is said
    found = [(card, event) for card in open_ones for event in activity.recent(card.project, card.place, user)]
    return sorted(found, key=lambda pair: pair[1].time, reverse=True)[:MOST_EVENTS]


def alerts_of(cards: list[Card]) -> list[tuple[Card, Alert]]:
    """Return repeated refusals in the projects whose log the user may read."""
    watched = {card.project.key: card for card in cards if card.place.can("read_log")}
    return [(watched[alert.project], alert) for alert in repeated_refusals(watched)] if watched else []


def _card(request: SignedInRequest, project: Project, place: Member) -> Card:
    """Return the card of a project; an empty one while the second factor is missing that the role needs."""
    if is_guarded(place.role) and second_factor_detour(request) is not None:
        return Card(project, place, 0, [NextStep("Set up your second factor", reverse("second_factor"), "key-round")])
    return card_of(project, place, request.user)


@signed_in
@require_safe
def home(request: SignedInRequest) -> HttpResponse:
    """Show the user's projects, what is open in them and what to do next."""
    cards = [_card(request, project, member) for project, member in memberships(request)]
    values = {
        "cards": cards,
        "waiting": [(card, each) for card in cards for each in card.waiting],
        "events": events_of(cards, request.user),
        "news": news_of(request.user, cards),
        "alerts": alerts_of(cards),
        "low_budgets": low_budgets(cards),
        "recalls": recalls_of(request.user),
        "invitations": invitations_for(request.user),
        "can_create": can_create_project(request.user),
    }
    return render(request, "home.html", values)
