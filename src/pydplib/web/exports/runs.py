"""Making an export: read the pinned data, search, write files, keep numbers; taken up again after a kill."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from pydplib._duckdb_files import sql_name
from pydplib.anonymity import AnonymizationResult, Hierarchy, SearchInfo, anonymize
from pydplib.errors import AnonymityError, DataError, ParameterError, PydplibError
from pydplib.schema import Schema
from pydplib.web import jobs
from pydplib.web.auditlog.log import recorded
from pydplib.web.exports import files
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ExportPlan, check_plan, propose
from pydplib.web.exports.results import to_numbers
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.pinned import select_rows
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project

if TYPE_CHECKING:
    import pyarrow

BACKGROUND = True
"""Whether the search runs in a thread of its own; tests let the page wait for it."""

_GRACE = 120.0
_State = Export.State


def begin(actor: User, project: Project, pinned: Snapshot, title: str, rows: str) -> Export:
    """Begin an export of a snapshot, with the plan that its schema proposes."""
    plan = replace(propose(Schema.from_json(pinned.schema)), rows=rows)
    with recorded(actor, project=project) as log:
        made = Export.objects.create(project=project, snapshot=pinned, by=actor, title=title, plan=plan.to_dict())
        log.add("export.plan", made.key, snapshot=pinned.key, rows=plan.rows)
    return made


def store_plan(actor: User, export: Export, plan: ExportPlan) -> None:
    """Store a changed plan; an export that was made already is a draft again, and its files go with the next run."""
    if plan.to_dict() == export.plan:
        return
    with recorded(actor, project=export.project) as log:
        kept = Export.objects.filter(pk=export.pk, state__in=(_State.DRAFT, _State.READY))
        if not kept.update(plan=plan.to_dict(), state=_State.DRAFT, problem=""):
            raise ParameterError("This export is being made or was released: its plan cannot be changed any more.")
        log.add("export.plan", export.key, fields=dict(plan.fields), models=[str(model) for model in plan.rules])
    export.refresh_from_db()


def start(export: Export) -> None:
    """Begin to make an export, or go on after a break."""
    related = ("project__hospital", "snapshot__template", "by")
    jobs.start(make, export, take=claim_making, inline=not BACKGROUND, related=related)


def is_stalled(export: Export) -> bool:
    """Return whether it should be worked on and nobody does."""
    return jobs.is_stalled(export, (_State.RUNNING,))


def claim_making(export: Export) -> jobs.Claim:
    """Claim an export that is planned, made already or broken off."""
    among = (_State.DRAFT, _State.RUNNING, _State.READY)
    return jobs.Claim(export, _State.RUNNING, among=among, progress=None, progress_words="About to begin")


def make(export: Export, claim: jobs.Claim | None = None) -> None:
    """Anonymize the pinned data as planned. Killed anywhere, nothing of it is seen, and it can be begun again."""
    claim = claim or claim_making(export)
    export.refresh_from_db()
    try:
        _make(export, claim)
    except PydplibError as problem:
        # Its words are written for the owner and hold no cell. The plan can be changed again.
        with recorded(export.by, project=export.project) as log:
            claim.save(state=_State.DRAFT, problem=str(problem)[:600], progress_words="")
            Export.objects.filter(pk=export.pk).update(worker="")
            log.add("export.fail", export.key, reason=str(problem)[:300])


def _make(export: Export, claim: jobs.Claim) -> None:
    before = export.file
    claim.save(progress=None, progress_words="Reading the data", file="", sha256={}, result={}, columns=[])
    files.remove(before)
    plan, schema = ExportPlan.from_dict(export.plan), Schema.from_json(export.snapshot.schema)
    check_plan(plan, schema)
    limit = 60.0 * plan.minutes
    with claim.beating(most=limit + _GRACE):
        earlier = earlier_exports(export)
        check_earlier(plan, earlier)
        table = read_rows(export, plan, schema)
        result, heights = _search(table, plan, schema, earlier, limit, _teller(claim))
        claim.save(progress_words="Writing the files")
        traced = plan.rows == "latest"
        stem = f"{export.key}-{claim.token}"
        trace = result.trace_to_save(key=files.trace_key()) if traced else None
        digests = files.write(stem, result.data, trace)
    with recorded(export.by, project=export.project) as log:
        claim.save(
            state=_State.READY,
            file=stem,
            sha256=digests,
            columns=list(result.data.column_names),
            result=to_numbers(result, earlier, heights),
            traced=traced,
            progress=None,
            progress_words="",
        )
        Export.objects.filter(pk=export.pk).update(worker="")
        models = [str(model) for model in plan.rules]
        log.add(
            "export.make", export.key, models=models, suppressed_limit=plan.suppression, snapshot=export.snapshot.key
        )


def _search(
    table: pyarrow.Table,
    plan: ExportPlan,
    schema: Schema,
    earlier: list[Export],
    limit: float,
    tell: Callable[[SearchInfo], None],
) -> tuple[AnonymizationResult, dict[str, int]]:
    """Return the anonymized table and how many levels each field could have gone up.

    Numbers stay in bands if that is possible at all; else they may go too.
    """
    began, previous = time.monotonic(), [files.load_trace(each) for each in earlier]

    def search(trees: dict[str, Hierarchy], seconds: float) -> tuple[AnonymizationResult, dict[str, int]]:
        found = anonymize(
            table,
            trees,
            plan.own_rules or None,
            models=[model for model in plan.rules if not model.needs_sensitive],
            person=schema.person,
            insensitive=list(plan.named("keep")),
            suppression=plan.suppression,
            schema=schema,
            previous=previous,
            time_limit=seconds,
            progress=tell,
        )
        return found, {name: tree.height for name, tree in trees.items()}

    try:
        return search(plan.hierarchies_for(schema, bands=True), limit)
    except AnonymityError:
        left = limit - (time.monotonic() - began)
        if left <= 0:
            raise
        return search(plan.hierarchies_for(schema, bands=False), left)


def read_rows(export: Export, plan: ExportPlan, schema: Schema) -> pyarrow.Table:
    """Return the rows that are exported, under pseudonyms that the output will not have (PyArrow)."""
    person = str(schema.person)
    latest_of = person if plan.rows == "latest" else None
    table = select_rows(export.snapshot, map(sql_name, (person, *plan.columns)), latest_of=latest_of)
    if not table.num_rows:
        raise DataError("The pinned data hold no report yet: there is nothing to export.")
    return table


def earlier_exports(export: Export) -> list[Export]:
    """Return the exports of the project that others have or can get: this one must hold together with all of them."""
    found = Export.objects.filter(project=export.project, released__isnull=False).exclude(pk=export.pk)
    return [
        each
        for each in found.order_by("released", "id")
        if each.state == _State.RELEASED or each.partner_copies().exists()
    ]


def check_earlier(plan: ExportPlan, earlier: list[Export]) -> None:
    """Raise ``ParameterError`` with the reason where an export cannot hold together with earlier ones."""
    if not earlier:
        return
    for each in earlier:
        if not each.traced:
            raise ParameterError(
                f"The earlier export '{each.title}' has several rows of one person, so that nothing can be shown to be "
                "safe together with it: who compares both tables may find people. It stays the only export of this "
                "project."
            )
    if plan.rows != "latest":
        raise ParameterError(
            "Others have an earlier export of this project. To hold together with it, an export must have one row per "
            "person: choose the latest report of every person."
        )
    watched = sorted(plan.named("sensitive"))
    for each in earlier:
        before = sorted(ExportPlan.from_dict(each.plan).named("sensitive"))
        if before != watched:
            raise ParameterError(
                f"The earlier export '{each.title}' protects other fields ({', '.join(before) or 'none'}). What both "
                "tables tell together can only be bounded if they protect the same ones: choose these."
            )


def _teller(claim: jobs.Claim) -> Callable[[SearchInfo], None]:
    """Return what writes down how far a search is."""

    def tell(info: SearchInfo) -> None:
        share = "none fits yet" if info.loss is None else f"best so far loses {100 * info.loss:.0f} % of the detail"
        claim.tell(progress_words=f"{info.checked} of {info.nodes} combinations tried, {share}")

    return tell


def discard(export: Export, *, actor: User) -> None:
    """Throw an export away that nobody else has."""
    claim = jobs.Claim(export, _State.DISCARDED, among=(_State.DRAFT, _State.RUNNING, _State.READY))
    with recorded(actor, project=export.project) as log:
        claim.save(file="", sha256={}, result={}, columns=[], problem="", progress_words="")
        Export.objects.filter(pk=export.pk).update(worker="")
        log.add("export.discard", export.key)
    files.remove(export.file)
    export.refresh_from_db()
