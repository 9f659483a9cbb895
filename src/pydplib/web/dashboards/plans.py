"""The plan of a dashboard: make it, put figures on it, take them off, move them. Nothing here spends or shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from django.db.models import Max

from pydplib.budget.units import MOST_EPSILON, NANO, floor_units
from pydplib.errors import ParameterError
from pydplib.plot.catalogue import CATALOGUE
from pydplib.plot.recipes.sound import SOUND_FIGURES
from pydplib.policy import ROLES, Output, label_of_noise_factor
from pydplib.release import Question
from pydplib.schema import Schema
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import release_of
from pydplib.web.analyses.visibility import question_of
from pydplib.web.auditlog.log import recorded
from pydplib.web.dashboards.models import AUDIENCES, Dashboard, Figure, Kind
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import published_snapshot, snapshot_schema
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.policy.fields import current_template
from pydplib.web.projects.policy.flows import flow_for

PAPER_FIELDS = {name: spec.fields for name, spec in CATALOGUE.items() if spec.query_type != 4}
"""The figures in paper mode, and the columns that each reads."""

MOST_FIGURES = 24


@dataclass(frozen=True, slots=True)
class FigureChoice:
    """A figure that can be put on a dashboard."""

    name: str
    label: str
    title: str
    hint: str

    @property
    def further(self) -> bool:
        """Whether it is neither a figure of the paper nor a trend: chosen one by one, never with all the others."""
        return self.name in CATALOGUE and CATALOGUE[self.name].number is None


def schema_of(project: Project) -> Schema | None:
    """Return the public schema that questions are made for: the published snapshot's, or else the template's."""
    snapshot = published_snapshot(project)
    if snapshot is not None:
        return Schema.from_json(snapshot.schema)
    template = current_template(project)
    return None if template is None else snapshot_schema(template, lineage=project.key)


def ready_made(schema: Schema | None) -> list[FigureChoice]:
    """Return the ready-made figures whose fields the schema has."""
    if schema is None:
        return []
    return [FigureChoice(f.name, f.label, f.title, f.hint) for f in SOUND_FIGURES.values() if f.ask(schema)]


def paper_output(audience: str) -> Output:
    """Return what a paper-mode figure is to the policy: noisy records at the audience's noise factor, no guarantee."""
    factor = ROLES[audience].noise_factor
    assert factor is not None
    return Output(label_of_noise_factor(factor), paper_mode=True)


def ready_names(dashboard: Dashboard) -> set[str]:
    """Return the ready-made figures that are on a dashboard."""
    return set(dashboard.figures.filter(kind=Kind.READY).values_list("name", flat=True))


def last_number(dashboard: Dashboard) -> int:
    """Return the number of the newest edition; 0 if nothing was published."""
    return dashboard.editions.aggregate(last=Max("number"))["last"] or 0


def paper_mode(project: Project, audience: str, schema: Schema | None) -> list[FigureChoice]:
    """Return the paper-mode figures that the owner has switched on for an audience: none by default.

    The paper shows some figures at high noise only: audiences with less noise are not offered these.
    """
    factor = ROLES[audience].noise_factor
    if schema is None or factor is None:
        return []
    found = []
    for name, fields in PAPER_FIELDS.items():
        spec = CATALOGUE[name]
        opened = set(fields) <= set(schema.columns) and flow_for(
            project, Member.as_role(audience), paper_output(audience), purpose=project.purpose, fields=fields
        )
        if opened and factor.name in spec.levels:
            found.append(FigureChoice(name, spec.label, f"{spec.title}, paper mode", "No guarantee."))
    return found


def own_analyses(project: Project, snapshot: Snapshot | None) -> list[Analysis]:
    """Return what their own organisation has asked of the published snapshot."""
    if snapshot is None:
        return []
    own = Analysis.objects.filter(project=project, recipient=project.hospital.key, snapshot=snapshot.key)
    return list(own.select_related("project"))


def make_dashboard(actor: User, project: Project, *, title: str, audience: str, intro: str = "") -> Dashboard:
    """Make an empty dashboard for an audience."""
    if audience not in dict(AUDIENCES):
        raise ParameterError("A dashboard is for a role that gets statistics.")
    with recorded(actor, project=project) as log:
        made = Dashboard.objects.create(project=project, title=title, audience=audience, intro=intro, made_by=actor)
        log.add("dashboard.make", made.key, audience=audience)
    return made


def edit_dashboard(actor: User, dashboard: Dashboard, *, title: str, intro: str) -> None:
    """Change title and introduction of the plan; the audience sees them from the next edition on."""
    with recorded(actor, project=dashboard.project) as log:
        dashboard.title, dashboard.intro = title, intro
        dashboard.save(update_fields=["title", "intro"])
        log.add("dashboard.edit", dashboard.key, what="title")


def add_ready_made(actor: User, dashboard: Dashboard, names: Iterable[str]) -> int:
    """Put ready-made figures on the plan; those that are there already stay as they are."""
    known = {choice.name for choice in ready_made(schema_of(dashboard.project))}
    there = set(dashboard.figures.filter(kind=Kind.READY).values_list("name", flat=True))
    wanted = [name for name in dict.fromkeys(names) if name not in there]
    if not known.issuperset(wanted):
        raise ParameterError("The project's template lacks the fields of this figure.")
    return _add(actor, dashboard, [Figure(kind=Kind.READY, name=name) for name in wanted])


def add_paper_mode(actor: User, dashboard: Dashboard, names: Iterable[str]) -> int:
    """Put paper-mode figures on the plan, where the owner switched paper mode on for the audience."""
    project = dashboard.project
    known = {choice.name for choice in paper_mode(project, dashboard.audience, schema_of(project))}
    wanted = list(dict.fromkeys(names))
    if not known.issuperset(wanted):
        raise ParameterError("Paper mode is not switched on for this audience: see the policy.")
    return _add(actor, dashboard, [Figure(kind=Kind.PAPER, name=name) for name in wanted])


def add_question(
    actor: User, dashboard: Dashboard, question: Question, *, title: str, nano_epsilon: int | None = None
) -> int:
    """Put a question on the plan, at the audience's noise factor unless an epsilon is given."""
    figure = Figure(kind=Kind.QUESTION, question=question.to_dict(), title=title, nano_epsilon=nano_epsilon)
    return _add(actor, dashboard, [figure])


def add_analysis(actor: User, dashboard: Dashboard, key: str) -> int:
    """Put an answered question of their own organisation on the plan, at the price it was answered for.

    The audience gets the same bytes: its account pays, the data set's does not pay again.
    """
    snapshot = published_snapshot(dashboard.project)
    found = next((item for item in own_analyses(dashboard.project, snapshot) if item.key == key), None)
    if found is None:
        raise ParameterError("This analysis is not one of your organisation's on the published snapshot.")
    nano = release_of(found).cost.nano_epsilon
    if nano is None:
        raise ParameterError("Only answers with a pure epsilon can be put on a dashboard.")
    return add_question(actor, dashboard, question_of(found), title=found.title, nano_epsilon=nano)


def move_figure(actor: User, figure: Figure, *, up: bool) -> None:
    """Change places with the neighbour."""
    with recorded(actor, project=figure.project) as log:
        dashboard = Dashboard.objects.select_for_update().get(pk=figure.dashboard_id)
        order = list(dashboard.figures.all())
        place = next((i for i, item in enumerate(order) if item.pk == figure.pk), None)
        other = None if place is None else place - 1 if up else place + 1
        if place is None or other is None or not 0 <= other < len(order):
            return
        order[place], order[other] = order[other], order[place]
        for position, item in enumerate(order, start=1):
            item.position = position
        Figure.objects.bulk_update(order, ["position"])
        log.add("dashboard.edit", dashboard.key, what="order")


def set_price(actor: User, figure: Figure, epsilon: float | None) -> None:
    """Let the owner choose what each question of a figure costs; none for the audience's noise factor.

    The policy's cap per question and its label for the audience hold all the same: pricing asks them.
    """
    if figure.kind == Kind.PAPER:
        raise ParameterError("Paper mode has no price.")
    nano = None if epsilon is None else floor_units(Fraction(str(epsilon)), NANO)
    if nano is not None and not 0 < nano <= MOST_EPSILON * NANO:
        raise ParameterError("The price of a question is a positive number of epsilon.")
    with recorded(actor, project=figure.project) as log:
        figure.nano_epsilon = nano
        figure.save(update_fields=["nano_epsilon"])
        log.add("dashboard.edit", figure.dashboard.key, what="price")


def remove_figure(actor: User, figure: Figure) -> None:
    """Take a figure off the plan; what was published stays until the next edition."""
    with recorded(actor, project=figure.project) as log:
        Figure.objects.filter(pk=figure.pk).delete()
        log.add("dashboard.edit", figure.dashboard.key, what="figures")


def withdraw(actor: User, dashboard: Dashboard) -> bool:
    """Show it to nobody any more; a plan that was never published goes. Returns whether it is gone."""
    with recorded(actor, project=dashboard.project) as log:
        found = Dashboard.objects.select_for_update().get(pk=dashboard.pk)
        log.add("dashboard.withdraw", found.key, audience=found.audience)
        if not found.editions.exists():
            found.delete()
            return True
        found.state = Dashboard.State.WITHDRAWN
        found.save(update_fields=["state"])
        return False


def _add(actor: User, dashboard: Dashboard, figures: list[Figure]) -> int:
    with recorded(actor, project=dashboard.project) as log:
        locked = Dashboard.objects.select_for_update().get(pk=dashboard.pk)
        if locked.figures.count() + len(figures) > MOST_FIGURES:
            raise ParameterError(f"A dashboard has at most {MOST_FIGURES} figures: make a second one.")
        last = locked.figures.aggregate(last=Max("position"))["last"] or 0
        for position, figure in enumerate(figures, start=last + 1):
            figure.dashboard, figure.position = locked, position
            figure.save()
        if figures:
            log.add("dashboard.edit", locked.key, what="figures", added=len(figures))
    return len(figures)
