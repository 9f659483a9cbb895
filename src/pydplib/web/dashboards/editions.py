"""Publish a dashboard: pay for every figure once, then put a new edition in the old one's place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from django.conf import settings
from django.db.models import Max

from pydplib import plot
from pydplib._duckdb_files import sql_name
from pydplib.budget.keys import canonical_json
from pydplib.budget.units import NANO
from pydplib.errors import BudgetError, ParameterError, PolicyError
from pydplib.plot.recipes.paper import paper_figure
from pydplib.policy import ROLES
from pydplib.release import Release, Session
from pydplib.schema import Schema
from pydplib.web.analyses.payments.purchases import keep
from pydplib.web.analyses.receipts.keys import check_can_sign
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.dashboards.models import Dashboard, Edition, Figure, Kind, Shown
from pydplib.web.dashboards.plans import PAPER_FIELDS
from pydplib.web.dashboards.prices import Bill, asked_by, bill_for, open_for, title_for
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.pinned import select_rows
from pydplib.web.locks import locked
from pydplib.web.people.models import User


def count_records(actor: User, dashboard: Dashboard) -> None:
    """Buy the noisy number of records for the audience, from which its prices are made: once per snapshot.

    Raises:
        BudgetError: The budget cannot pay; the refusal is logged.
    """
    with _noting_refusals(actor, dashboard):
        session, _ = open_for(dashboard, preview=False)
        with session.table:
            bought = session.buy_size()
    record(actor, "dashboard.count", dashboard.key, project=dashboard.project, cost=str(bought.cost))


def publish(actor: User, dashboard: Dashboard, *, agreed: int, after: int | None = None) -> Edition:
    """Pay for every figure of the plan, and show them to the audience from now on.

    Tables of counts are bought as one workload where that costs less: one entry, and numbers that agree across figures.

    Every debit is committed by the ledger before a row is read. A crash in the middle shows nothing new and wastes
    nothing: what was paid is free when it is published again. Buttons pressed at once make one edition.

    Args:
        actor: The owner.
        dashboard: The dashboard.
        agreed: The price that the owner saw, in nano-epsilon; another one is refused and shown first.
        after: The number of the edition that the owner saw, 0 for none. If this plan was published since, that
            edition is returned and nothing is made. None: publish in any case.

    Raises:
        ParameterError: The price changed, a figure cannot be published, or another plan was published since.
        BudgetError: The audience's or the data set's budget cannot pay for all of it; nothing was spent.
    """
    check_can_sign(dashboard.project.hospital)
    # The ledger commits by itself, so no transaction can span a whole publication: one after another instead.
    with locked(settings.CONFIGURATION.home / "dashboards"):
        newest = dashboard.editions.order_by("-number").first()
        if newest is None or after is None or newest.number <= after:
            return _publish(actor, dashboard, agreed)
    if newest.made_by_id == actor.pk and _is_plan(newest, dashboard):
        return newest
    raise ParameterError("Another edition was published since you looked. Look at the plan again.")


def _is_plan(edition: Edition, dashboard: Dashboard) -> bool:
    """Return whether an edition shows what the plan has now."""
    plan, schema = Dashboard.objects.get(pk=dashboard.pk), Schema.from_json(edition.snapshot.schema)
    shown = [(item.kind, item.name, item.title) for item in edition.shown.all()]
    return (edition.title, edition.intro, shown) == (
        plan.title,
        plan.intro,
        [(figure.kind, figure.name, title_for(figure, schema)) for figure in plan.figures.all()],
    )


def _publish(actor: User, dashboard: Dashboard, agreed: int) -> Edition:
    with _noting_refusals(actor, dashboard):
        bill = bill_for(dashboard)
        _check(bill, agreed)
        session, snapshot = open_for(dashboard, preview=False)
        with session.table:
            page = _bought_together(bill, session)
            shown = [_answered(actor, dashboard, figure, session, snapshot, page) for figure in dashboard.figures.all()]
    with recorded(actor, project=dashboard.project) as log:
        held = Dashboard.objects.select_for_update().get(pk=dashboard.pk)
        last = held.editions.aggregate(last=Max("number"))["last"] or 0
        edition = Edition.objects.create(
            dashboard=held,
            number=last + 1,
            title=held.title,
            intro=held.intro,
            snapshot=snapshot,
            made_by=actor,
        )
        for position, item in enumerate(shown, start=1):
            item.edition, item.position = edition, position
        Shown.objects.bulk_create(shown)
        # Noisy records of an older edition have no guarantee: nobody keeps them longer than they are shown.
        Shown.objects.filter(edition__dashboard=held, kind=Kind.PAPER).exclude(edition=edition).update(paper=None)
        held.state = Dashboard.State.PUBLISHED
        held.save(update_fields=["state"])
        log.add(
            "dashboard.publish",
            held.key,
            audience=held.audience,
            edition=edition.number,
            snapshot=snapshot.number,
            figures=len(shown),
            cost=agreed / NANO,
        )
    dashboard.state = held.state
    return edition


def _check(bill: Bill, agreed: int) -> None:
    if not bill.lines:
        raise ParameterError("There is no figure to publish yet.")
    if bill.problems:
        raise ParameterError(bill.problems[0])
    if bill.size is not None:
        raise ParameterError("Prices need the number of records: count them for this audience first.")
    if bill.nano != agreed:
        raise ParameterError(f"The price is epsilon {bill.total} now, not what you agreed to. Look at it again.")
    if not bill.own.affordable:
        raise BudgetError(
            f"The budget of this audience's dashboards cannot pay for all figures: asked epsilon {bill.total}, left "
            f"{bill.own.left}. Nothing was spent. Take figures off, or propose a larger budget to the other owners.",
            asked=f"epsilon {bill.total}",
            left=str(bill.own.left),
        )
    if not bill.whole.affordable:
        raise BudgetError(
            f"The data set's own budget, shared by all recipients, cannot pay for all figures: asked epsilon "
            f"{bill.total}, left {bill.whole.left}. Nothing was spent.",
            asked=f"epsilon {bill.total}",
            left=str(bill.whole.left),
        )


def _bought_together(bill: Bill, session: Session) -> dict[str, tuple[Release, float]]:
    """Buy the tables of all figures as one workload: question -> its answer, and what it would have cost alone."""
    if bill.page is None:
        return {}
    names = [canonical_json(question.canonical(session.table.schema)) for question in bill.page.questions]
    tables = session.release_all(bill.page.questions, each=bill.page.each)
    return dict(zip(names, zip(tables, bill.page.each, strict=True), strict=True))


def _answered(
    actor: User,
    dashboard: Dashboard,
    figure: Figure,
    session: Session,
    snapshot: Snapshot,
    page: Mapping[str, tuple[Release, float]],
) -> Shown:
    schema = session.table.schema
    made = Shown(kind=figure.kind, name=figure.name, title=title_for(figure, schema))
    if figure.kind == Kind.PAPER:
        made.paper = _paper(dashboard, figure, session, snapshot)
        return made
    for question, noise in asked_by(figure, schema):
        release, loss = page.get(canonical_json(question.canonical(schema)), (None, None))
        if release is None:
            release = session.release(question, **noise.options())
        kept = keep(dashboard.project, actor, session, snapshot, question, release, title=made.title, loss=loss)
        made.answers.append(kept.key)
    return made


def _paper(dashboard: Dashboard, figure: Figure, session: Session, snapshot: Snapshot) -> dict[str, object]:
    """Return a paper-mode figure at the audience's noise factor, drawn once; the ledger says that it has no DP."""
    factor = ROLES[dashboard.audience].noise_factor
    assert factor is not None
    session.ledger.enter_no_dp(
        lineage=session.lineage,
        recipient=session.recipient,
        role=dashboard.audience,
        mechanism="paper mode",
        note=f"figure {figure.name} on a dashboard",
    )
    names = PAPER_FIELDS[figure.name]
    rows = select_rows(snapshot, map(sql_name, names))
    columns = {name: np.array(rows[name].to_pylist(), dtype=object) for name in names}
    drawn = paper_figure(figure.name, columns, levels=(factor.name,))
    return {
        "figure": json.loads(plot.figure_json(drawn.figure)),
        "columns": list(drawn.table.columns),
        "rows": [["" if cell is None else str(cell) for cell in row] for row in drawn.table.rows],
    }


@contextmanager
def _noting_refusals(actor: User, dashboard: Dashboard) -> Iterator[None]:
    """Write a line for what budget or policy refused."""
    try:
        yield
    except (BudgetError, PolicyError) as error:
        record(actor, "dashboard.refuse", dashboard.key, project=dashboard.project, reason=str(error))
        raise
