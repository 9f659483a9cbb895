"""Pages: analyses that were paid for; their figures, tables, files and receipts; sharing; the owner's original."""

from __future__ import annotations

import numpy as np
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe
from numpy.typing import NDArray

from pydplib.budget.units import NANO, show_nano, show_short
from pydplib.plot import Figure, heatmap
from pydplib.policy import ROLES
from pydplib.receipt import Receipt
from pydplib.release import Release
from pydplib.release.results.formats import TABLE_FORMATS
from pydplib.schema import Schema
from pydplib.web.analyses.conclusions import RUNS
from pydplib.web.analyses.figures import (
    figure_of,
    headline_of,
    in_words,
    printed_of,
    rest_words,
    sampling_words,
    table_of,
    worth_of,
)
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.originals import look_at_conclusions, look_at_original
from pydplib.web.analyses.payments.budgets import budget_total, recipient_names
from pydplib.web.analyses.payments.purchases import answer_bytes, release_of
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.analyses.question_form.entries import ENTRIES
from pydplib.web.analyses.question_form.offers import of_table, titles_of
from pydplib.web.analyses.question_form.questions import params_of, title_of
from pydplib.web.analyses.receipts.notebooks import cells_of, to_notebook, to_script
from pydplib.web.analyses.shared_answers import offer_for, receive_analysis
from pydplib.web.analyses.visibility import (
    asked_and_of_dashboards,
    audiences_for,
    check_concerns,
    check_see,
    is_received,
    payer_for,
    question_of,
    share,
    snapshot_of,
    visible,
)
from pydplib.web.auditlog.log import record
from pydplib.web.design.forms import seen
from pydplib.web.design.sorting import Sorting
from pydplib.web.design.values import epsilon, points, table_cells
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import published_snapshot, published_tables
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.projects.words import plain

_COLUMNS = {"when": "made", "who": "asked_by__username", "cost": "nano_epsilon", "protection": "label"}
"""What the list of analyses is sorted by."""


@requires("ask")
@require_safe
def analyses(request: ProjectRequest) -> HttpResponse:
    """List what their own organisation asked and what is shared with the role; for owners, everything.

    Answers that dashboards paid for have a list of their own: there are many, and nobody asked for one of them alone.
    """
    asked, of_boards = asked_and_of_dashboards(visible(request.project, request.user, request.member))
    boards = request.GET.get("of") == "dashboards"
    sorting = Sorting(_COLUMNS, "-when", request.GET.get("sort", ""))
    page = Paginator(sorting.apply(of_boards if boards else asked), 25).get_page(request.GET.get("page"))
    tables = published_tables(request.project)
    names = recipient_names()
    titles = {name: word for each in tables for name, word in titles_of(Schema.from_json(each.schema)).items()}
    current, total = {each.key for each in tables}, budget_total(request.project, request.member)
    values = {
        "project": request.project,
        "page_obj": page,
        "sorting": sorting,
        "entries": [_entry(item, request, current, titles, names, total) for item in page.object_list],
        "sees_all": request.member.can("read_all_ledgers"),
        "published": bool(tables),
        "ways": list(ENTRIES.items()),
        "boards": boards,
        "tabs": [
            {"label": "Questions", "url": "?", "active": not boards, "count": asked.count()},
            {"label": "Of dashboards", "url": "?of=dashboards", "active": boards, "count": of_boards.count()},
        ]
        if of_boards.exists()
        else [],
    }
    return render(request, "analyses/list.html", values)


@requires("ask", of=Analysis)
@require_safe
def analysis(request: TargetRequest[Analysis]) -> HttpResponse:
    """Show the released values of one analysis; of one that is shared and not received yet, what it costs."""
    item = check_concerns(request)
    if is_received(item, request.user, request.member):
        return render(request, "analyses/analysis.html", _page(request, item))
    words = title_of(question_of(item).to_dict(), titles_of(Schema.from_json(snapshot_of(item).schema)))
    values = {
        "item": item,
        "words": words,
        "title": item.title or words,
        "offer": offer_for(item.project, request.user, request.member, [item.digest]),
        "breadcrumb": [("Analyses", f"/analyses?project={item.project.key}"), (item.title or words, "")],
    }
    return render(request, "analyses/receive.html", values)


@requires("ask", of=Analysis)
@require_POST
def analysis_receive(request: TargetRequest[Analysis]) -> HttpResponse:
    """Pay for an analysis that is shared with the role, and keep it."""
    item = check_concerns(request)
    mine = receive_analysis(request.user, request.member, item, agreed=seen(request, "agreed"))
    messages.success(request, "Paid and received. It is your organisation's from now on.")
    return redirect("analysis", key=mine.key)


@requires("ask", of=Analysis)
@require_safe
def analysis_download(request: TargetRequest[Analysis], kind: str) -> HttpResponse:
    """Give out released values as CSV or JSON, a printed table as HTML, a notebook, or the signed receipt."""
    item = check_see(request)
    release = release_of(item)
    printed = printed_of(release, snapshot_of(item).template.template)
    content: str | bytes
    if kind == "csv" and printed is not None:
        content, content_type = printed.to_csv(), TABLE_FORMATS[kind].media_type
    elif kind in TABLE_FORMATS:
        content, content_type = TABLE_FORMATS[kind].write(release, "\r\n"), TABLE_FORMATS[kind].media_type
    elif kind == "html" and printed is not None:
        content, content_type = printed.to_page(item.title or item.words), "text/html; charset=utf-8"
    elif kind == "json":
        content, content_type = answer_bytes(item), "application/json"
    elif kind in ("py", "ipynb"):
        cells = cells_of(item, title=item.title or item.words, address=request.build_absolute_uri("/").rstrip("/"))
        content = to_script(cells) if kind == "py" else to_notebook(cells)
        content_type = "text/x-python; charset=utf-8" if kind == "py" else "application/x-ipynb+json"
    elif kind == "receipt" and item.receipt:
        content, content_type = item.receipt, "application/json"
    else:
        raise Http404
    record(request.user, "analysis.export", item.key, project=request.project, kind=kind)
    response = HttpResponse(content, content_type=content_type)
    name = f"receipt-{item.key}.json" if kind == "receipt" else f"analysis-{item.key}.{kind}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@requires("edit_policy", of=Analysis)
@require_POST
def analysis_share(request: TargetRequest[Analysis]) -> HttpResponse:
    """Show an analysis to members in other roles, as far as the policy lets it go to them."""
    share(request.user, request.target, request.POST.getlist("role"))
    messages.success(request, "Saved: who sees this analysis.")
    return redirect("analysis", key=request.target.key)


@requires("manage_data", of=Analysis)
@require_POST
def analysis_original(request: TargetRequest[Analysis]) -> HttpResponse:
    """Show an owner the exact values next to the released ones; logged, and never stored."""
    original = look_at_original(request.user, request.target)
    left = look_at_conclusions(request.user, request.target, original)
    values = _page(request, request.target, original=original)
    return render(request, "analyses/analysis.html", {**values, "conclusions": left, "runs": RUNS})


def _page(request: ProjectRequest, item: Analysis, *, original: NDArray[np.float64] | None = None) -> dict[str, object]:
    release, snapshot = release_of(item), snapshot_of(item)
    schema, current = Schema.from_json(snapshot.schema), published_snapshot(item.project, snapshot.group)
    titles = titles_of(schema)
    words = of_table(snapshot, title_of(dict(release.question), titles))
    shown = in_words(release, snapshot.template.template)
    columns, rows = table_of(shown, original=original)
    printed = printed_of(release, snapshot.template.template) if original is None else None
    figure = figure_of(shown, title=words, original=original)
    figure = figure.with_words(caption=" ".join((figure.words[1], rest_words(shown))).strip())
    receipt = Receipt.from_json(item.receipt) if item.receipt else None
    values: dict[str, object] = {
        "project": item.project,
        "item": item,
        "formats": TABLE_FORMATS.values(),
        "words": words,
        "title": item.title or words,
        "release": release,
        "findings": shown.findings,
        "worth": worth_of(shown),
        "headline": headline_of(release),
        "figure": figure,
        "printed": None if printed is None else table_cells(printed.head, printed.rows),
        "columns": columns,
        "rows": rows,
        "unfolded": len(rows) <= 24,
        "sampling": sampling_words(shown),
        "facts": _facts(request, item, release, snapshot),
        "is_current": current is not None and current.key == snapshot.key,
        "receipt": receipt,
        "own": item.recipient == recipient_of(request.user),
        "again_url": _again(item, schema, snapshot.group),
        "better_url": _better(item, schema, snapshot.group),
        "breadcrumb": [("Analyses", f"/analyses?project={item.project.key}"), (item.title or words, "")],
    }
    if request.member.can("edit_policy"):
        values["audiences"] = [
            (ROLES[role], role in item.shared_with, decision.allow, plain(decision.reason))
            for role, decision in audiences_for(item)
        ]
        values["can_look"] = bool(snapshot.file)
    if original is not None:
        values["original_shown"] = True
        values["original_figure"] = _original_table(release, original)
    return values


def _facts(request: ProjectRequest, item: Analysis, release: Release, snapshot: Snapshot) -> list[tuple[str, str]]:
    template, nano = snapshot.template.template, release.cost.nano_epsilon
    published = f", published {snapshot.published:%-d %B %Y}" if snapshot.published else ""
    by = f" by {item.asked_by}" if item.recipient == recipient_of(request.user) else ""
    cost = f"ε {show_short(nano)}" if nano is not None else str(release.cost)
    if nano is not None and item.recipient == recipient_of(request.user):
        cost = f"{points(nano / NANO, budget_total(item.project, request.member))} of 100 points ({cost})"
    return [
        ("Cost", cost),
        ("Noise", release.mechanism),
        (
            "Data",
            f"{f'{snapshot.table_title} of snapshot' if snapshot.group else 'Snapshot'} {snapshot.number}{published}",
        ),
        ("Template", f"{template.id} {template.version}"),
        ("Asked", f"{item.made:%-d %B %Y, %H:%M}{by}"),
    ]


def _original_table(release: Release, original: NDArray[np.float64]) -> Figure | None:
    """Return the original of a table of two fields as a figure of its own: colours cannot lie next to colours."""
    if len(release.axes) != 2 or not release.is_count:
        return None
    down, across = release.axes
    return heatmap(
        across.labels,
        down.labels,
        original.reshape(release.shape),
        value_title="original",
        x_title=across.title or across.name,
        y_title=down.title or down.name,
        title="Original",
        caption="The exact numbers: for the data owner only.",
    )


def _again(item: Analysis, schema: Schema, table: str) -> str:
    question, release = question_of(item), release_of(item)
    params = [("project", item.project.key), *params_of(question, schema.columns), ("accuracy", "epsilon")]
    params += [("table", table)] if table else []
    params.append(("epsilon", show_nano(release.cost.nano_epsilon or 0)))
    return f"/analyses/new?{urlencode(params)}"


def _better(item: Analysis, schema: Schema, table: str) -> str:
    """Return the address of the same question with the step of the slider that is proposed today."""
    params = [("project", item.project.key), *params_of(question_of(item), schema.columns)]
    return f"/analyses/new?{urlencode(params + ([('table', table)] if table else []))}"


def _entry(
    item: Analysis,
    request: ProjectRequest,
    current: set[str],
    titles: dict[str, str],
    names: dict[str, str],
    total: float,
) -> dict[str, object]:
    receipt = Receipt.from_json(item.receipt) if item.receipt else None
    own = item.recipient == recipient_of(request.user)
    sees_all = request.member.can("read_all_ledgers")
    payer = payer_for(item, request.user, request.member, names)
    return {
        "item": item,
        "words": title_of(question_of(item).to_dict(), titles),
        "own": own,
        "who": f"{item.asked_by}, {payer}" if sees_all else str(item.asked_by) if own else "",
        "cost": epsilon(float(receipt.epsilon)) if receipt else "",
        "points": points(float(receipt.epsilon), total) if receipt else "",
        "is_current": item.snapshot in current,
        "shared_with": [ROLES[role].title for role in item.shared_with if role in ROLES],
    }
