"""Which reports somebody sees, and finding them again: filters, never a search in texts or names."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from django import forms
from django.db.models import Expression, Q, QuerySet
from django.db.models.fields.json import KeyTransform
from django.http import Http404, QueryDict

from pydplib.capture import Question
from pydplib.errors import ParameterError
from pydplib.web.design.forms import choice_field
from pydplib.web.design.sorting import Sorting
from pydplib.web.patients.models import Patient
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import ProjectRequest
from pydplib.web.reporting.forms.answers import headline
from pydplib.web.reporting.models import Report, ReportVersion, SavedFilter


def sees_all(request: ProjectRequest) -> bool:
    """Whether the role sees every report of the project: those who manage its data."""
    return bool(request.member.can("manage_data"))


def visible_reports(request: ProjectRequest) -> QuerySet[Report]:
    """Return the reports that the member may see: owners all, others those of their department and their own."""
    return reports_visible_to(request.project, request.user, request.member)


def reports_visible_to(project: Project, user: User, place: Member) -> QuerySet[Report]:
    """Return the reports of a project that somebody in a place may see; see ``visible_reports``."""
    reports = Report.objects.filter(project=project)
    if place.can("manage_data"):
        return reports
    mine = Q(author=user)
    if place.department:
        mine |= Q(department=place.department)
    return reports.filter(mine)


def check_visible(request: ProjectRequest, report: Report) -> None:
    """Raise ``Http404`` for a report of another department: to this member it does not exist."""
    if not visible_reports(request).filter(pk=report.pk).exists():
        raise Http404


def prior_report(request: ProjectRequest, report: Report) -> Report | None:
    """Return the latest other signed report of the same patient that the member may see."""
    others = visible_reports(request).filter(patient=report.patient_id, state=Report.State.SIGNED)
    return others.exclude(pk=report.pk).select_related("template", "author").order_by("-signed").first()


def draft_about(request: ProjectRequest, patient: Patient) -> Report | None:
    """Return a draft about a patient that the member may see."""
    drafts = visible_reports(request).filter(patient=patient, state=Report.State.DRAFT)
    return drafts.select_related("author").first()


def drafts_of(request: ProjectRequest, most: int = 10) -> list[Report]:
    """Return the member's own drafts."""
    drafts = visible_reports(request).filter(author=request.user, state=Report.State.DRAFT)
    return list(drafts.select_related("patient")[:most])


def listed(reports: QuerySet[Report]) -> QuerySet[Report]:
    """Return reports as lists show them: the latest first, with author and patient."""
    return reports.select_related("author", "patient").order_by("-changed", "-id")


def sorting_of(asked: str, question: Question | None) -> Sorting:
    """Return how the list of reports is sorted.

    Args:
        asked: What the address says: ``author``, ``-changed`` ...
        question: The question whose answer stands for a report, if there is one.
    """
    columns: dict[str, str | Expression] = {
        "changed": "changed",
        "state": "state",
        "author": "author__username",
        "department": "department",
        "report": "key",
    }
    if question is not None:
        columns["score"] = KeyTransform(question.id, "values")
    return Sorting(columns, "-changed", asked)


def reports_about(request: ProjectRequest, patient: Patient | None) -> QuerySet[Report]:
    """Return the reports about a patient that the member may see, as lists show them; none about nobody."""
    return listed(Report.objects.none() if patient is None else visible_reports(request).filter(patient=patient))


def version_of(report: Report, number: str) -> ReportVersion | None:
    """Return one version of a report by what an address says."""
    return report.versions.filter(number=number).first() if re.fullmatch("[0-9]{1,5}", number) else None


class ReportFilter(forms.Form):
    """What to look for; whatever is left empty does not matter."""

    state = forms.ChoiceField(required=False, choices=[("", "Any"), ("draft", "Draft"), ("signed", "Signed")])
    score = forms.ChoiceField(required=False, label="Score")
    author = forms.ChoiceField(required=False)
    department = forms.ChoiceField(required=False)
    since = forms.DateField(required=False, label="Changed since", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="Changed until", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, data: Mapping[str, object], *, request: ProjectRequest) -> None:
        super().__init__(data)
        self.question = score_question(request.project)
        seen = visible_reports(request)
        choice_field(self, "score").choices = [("", "Any"), *_scores(self.question)]
        if self.question is not None:
            self.fields["score"].label = self.question.text
        users = User.objects.filter(pk__in=seen.values("author")).order_by("username")
        choice_field(self, "author").choices = [("", "Anybody"), *((user.username, str(user)) for user in users)]
        departments = seen.exclude(department="").order_by("department").values_list("department", flat=True)
        choice_field(self, "department").choices = [("", "Any"), *((d, d) for d in departments.distinct())]

    def apply(self, reports: QuerySet[Report]) -> QuerySet[Report]:
        """Return the reports that fit; a filter that cannot be read finds nothing."""
        if not self.is_valid():
            return reports.none()
        asked = self.cleaned_data
        if asked["state"]:
            reports = reports.filter(state=asked["state"])
        if asked["author"]:
            reports = reports.filter(author__username=asked["author"])
        if asked["department"]:
            reports = reports.filter(department=asked["department"])
        if asked["since"]:
            reports = reports.filter(changed__gte=_midnight(asked["since"]))
        if asked["until"] and asked["until"] < dt.date.max:
            reports = reports.filter(changed__lt=_midnight(asked["until"]) + dt.timedelta(days=1))
        if asked["score"] and self.question is not None:
            value = next(o.value for o in self.question.options if str(o.value) == asked["score"])
            reports = reports.alias(found=KeyTransform(self.question.id, "values")).filter(found=value)
        return reports

    @property
    def used(self) -> list[str]:
        """The names of the filters that were filled in."""
        return [name for name in self.fields if self.data.get(name)]


def score_question(project: Project) -> Question | None:
    """Return the question whose answer stands for a report in this project's lists."""
    version = project.template_version
    return headline(version.template) if version else None


def _scores(question: Question | None) -> list[tuple[str, str]]:
    return [(str(option.value), option.text) for option in question.options] if question else []


def _midnight(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), tzinfo=dt.UTC)


def saved_filters(project: Project, user: User) -> list[SavedFilter]:
    """Return the filters that a member keeps in a project, by name."""
    return list(SavedFilter.objects.filter(project=project, user=user))


def save_filter(project: Project, user: User, *, name: str, filters: ReportFilter, sort: str) -> SavedFilter:
    """Keep filters under a name; the same name again replaces what was there.

    Args:
        project: The project.
        user: Whose it is.
        name: The name.
        filters: What is looked for; only fields of the form are kept.
        sort: The order.

    Raises:
        ParameterError: There is nothing to keep, no name, or there are too many.
    """
    name = " ".join(name.split())[:60]
    kept = QueryDict(mutable=True)
    for field in filters.used:
        kept[field] = str(filters.data[field])[:80]
    if sort.removeprefix("-") in sorting_of("", filters.question).columns:
        kept["sort"] = sort
    if not name or not kept or not filters.is_valid():
        raise ParameterError("Choose a filter or an order first, and a name for it.")
    mine = SavedFilter.objects.filter(project=project, user=user)
    if mine.count() >= SavedFilter.MOST and not mine.filter(name=name).exists():
        raise ParameterError(f"You keep {SavedFilter.MOST} filters already. Remove one first.")
    made, _ = SavedFilter.objects.update_or_create(
        project=project, user=user, name=name, defaults={"query": kept.urlencode()[:400]}
    )
    return made


def remove_filter(project: Project, user: User, key: str) -> bool:
    """Remove a filter of the member's own; return whether there was one."""
    return bool(SavedFilter.objects.filter(project=project, user=user, key=key).delete()[0])
