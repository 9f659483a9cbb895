"""Pages: the list of exports, one export as its reader may see it, release, download, recall."""

from __future__ import annotations

from django.contrib import messages
from django.http import FileResponse, Http404, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from pydplib.schema import Schema
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.auditlog.log import record
from pydplib.web.exports import files, releases, results, runs
from pydplib.web.exports.forms import WithdrawForm
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ROWS, ExportPlan
from pydplib.web.exports.views_plan import STEPS
from pydplib.web.people.permissions import SignedInRequest, signed_in
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, door
from pydplib.web.projects.words import audience_words

_State = Export.State


@door("ask")
@require_safe
def exports(request: ProjectRequest) -> HttpResponse:
    """List the exports: for owners all of them, for others what was released to them."""
    found = releases.visible(request.project, request.member)
    own = request.member.can("manage_data")
    entries = []
    for export in found:
        copies = releases.holders(export) if own else 0
        entries.append({"export": export, "copies": copies, "to": [audience_words(a) for a in export.audiences]})
    return render(request, "exports/list.html", {"entries": entries, "own": own, "project": request.project})


@door("ask", of=Export)
@require_safe
def export(request: TargetRequest[Export]) -> HttpResponse:
    """Show one export: to owners where it stands and everything about it, to others what they get."""
    item = releases.check_concerns(request)
    schema = Schema.from_json(item.snapshot.schema)
    titles, plan = titles_of(schema), ExportPlan.from_dict(item.plan)
    values: dict[str, object] = {
        "export": item,
        "project": item.project,
        "own": request.member.can("manage_data"),
        "breadcrumb": [("Anonymize", f"/anonymize?project={item.project.key}"), (item.title, "")],
        "columns": [titles.get(name, name) for name in item.columns],
        "coarser": [titles[name] for name in plan.named("quasi")],
    }
    if item.result:
        values["statements"] = results.statement_rows(item.result, titles, own=bool(values["own"]))
    if not values["own"]:
        decision = releases.decision_for(item, request.member)
        if not decision:
            record(request.user, "flow.refuse", item.key, project=item.project, reason=decision.reason)
        values |= {"allowed": decision.allow, "copies": releases.copies_of(item, request.user)}
        return render(request, "exports/taken.html", values, status=200 if decision.allow else 403)
    return render(request, "exports/export.html", values | _for_owner(item, plan, titles))


def _for_owner(item: Export, plan: ExportPlan, titles: dict[str, str]) -> dict[str, object]:
    values: dict[str, object] = {
        "steps": STEPS,
        "step": 6 if item.has_left else 5,
        "stalled": runs.is_stalled(item),
        "plan_facts": [
            ("Data", f"Snapshot {item.snapshot.number}, {item.snapshot.words}"),
            ("Rows", ROWS[plan.rows]),
            ("Made coarser", ", ".join(titles[name] for name in plan.named("quasi")) or "nothing"),
            ("Protected", ", ".join(titles[name] for name in plan.named("sensitive")) or "nothing"),
            ("Kept mixed among those who look alike", ", ".join(titles[name] for name in plan.watched) or "nothing"),
            ("Kept as they are", ", ".join(titles[name] for name in plan.named("keep")) or "nothing"),
            ("Left out", ", ".join(titles[name] for name in titles if name not in plan.columns)),
            ("Models", ", ".join(str(model) for model in plan.rules)),
            ("Rows that may be left out", f"{100 * plan.suppression:g} %"),
        ],
    }
    numbers = item.result
    if numbers:
        levels = results.level_rows(numbers, titles)
        values |= {
            "numbers": numbers,
            "risk_rows": results.risk_rows(numbers),
            "drawings": results.drawings(numbers, titles),
            "levels": [(title, level, height, f"{100 * lost:.0f} %") for title, level, height, lost in levels],
            "gone": [title for title, *_, lost in levels if lost >= 1],
            "suppressed_share": f"{100 * numbers['suppressed']['share']:.3g} %",
            "suppressed_limit": f"{100 * numbers['suppressed']['limit']:.3g} %",
            "lost": f"{100 * numbers['loss']['granularity']:.0f} %",
            "choices": (choices := releases.choices_of(item)),
            "somebody": any(choice.allowed for choice in choices),
        }
    if item.has_left:
        values |= {
            "holders": releases.named_holders(item),
            "withdraw_form": WithdrawForm(),
            "to": [audience_words(name) for name in item.audiences],
        }
    return values


@door("manage_data", of=Export, recent=True)
@require_POST
def export_release(request: TargetRequest[Export]) -> HttpResponse:
    """Release an export to the audiences that were chosen."""
    item: Export = request.target
    releases.release(request.user, item, request.POST.getlist("audience"))
    messages.success(request, "Released. Those who may have it find it under Anonymize.")
    return redirect("export", key=item.key)


@door("manage_data", of=Export, recent=True)
@require_POST
def export_withdraw(request: TargetRequest[Export]) -> HttpResponse:
    """Take an export back and tell those who have it."""
    item: Export = request.target
    form = WithdrawForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Say why: those who have a copy read it.")
        return redirect("export", key=item.key)
    releases.withdraw(request.user, item, reason=form.cleaned_data["reason"])
    messages.success(request, "Withdrawn. Those who have a copy are told on their home page.")
    return redirect("export", key=item.key)


@door("ask", of=Export, recent=True)
@require_POST
def export_download(request: TargetRequest[Export], kind: str) -> FileResponse:
    """Hand out a file: the policy is asked again, and the copy is noted."""
    item = releases.check_concerns(request)
    if kind not in files.KINDS:
        raise Http404
    path = releases.take(request, item, kind)
    return FileResponse(
        path.open("rb"),
        content_type=files.KINDS[kind],
        as_attachment=True,
        filename=f"{slugify(item.title) or 'export'}-{item.key}.{kind}",
    )


@door("ask", of=Export)
@require_safe
def export_certificate(request: TargetRequest[Export]) -> HttpResponse:
    """Hand out the certificate, which is about the output alone."""
    item = releases.check_concerns(request)
    if not item.result or not (request.member.can("manage_data") or releases.decision_for(item, request.member)):
        raise Http404
    record(request.user, "export.certificate", item.key, project=item.project)
    response = JsonResponse(results.certificate_of(item), json_dumps_params={"indent": 2, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="certificate-{item.key}.json"'
    return response


@signed_in
def export_deleted(request: SignedInRequest, key: str) -> HttpResponse:
    """Take somebody's word that their own copies are deleted; members who have left the project can say so too."""
    item = releases.taken_by(request.user, key)
    if item is None:
        raise Http404
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    releases.confirm_deleted(request.user, item)
    messages.success(request, "Thank you: the owner sees that your copies are deleted.")
    return redirect("home")
