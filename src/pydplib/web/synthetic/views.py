"""Pages: the list of synthetic tables, a new one with its price, the table as its reader may see it."""

from __future__ import annotations

from typing import cast

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from pydplib.budget.units import NANO, show_short
from pydplib.errors import BudgetError, PolicyError, PydplibError, QuestionError
from pydplib.receipt import Receipt
from pydplib.schema import Schema
from pydplib.web.analyses.payments.budgets import recipient_names
from pydplib.web.analyses.question_form.offers import offer_for, titles_of
from pydplib.web.analyses.views_ask import more_url
from pydplib.web.auditlog.log import record
from pydplib.web.people.permissions import SignedInRequest, signed_in
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.projects.words import plain
from pydplib.web.synthetic import purchases, tables
from pydplib.web.synthetic.figures import drawings, relation_tables, value_names
from pydplib.web.synthetic.forms import AskForm, SyntheticForm, WithdrawTableForm
from pydplib.web.synthetic.models import SyntheticPurchase
from pydplib.web.synthetic.offers import SyntheticOffer, quote
from pydplib.web.synthetic.originals import NextToOriginal, look

_State = SyntheticPurchase.State


@requires("ask")
@require_safe
def synthetic_tables(request: ProjectRequest) -> HttpResponse:
    """List the synthetic tables of the user's organisation; for owners, everybody's."""
    found = tables.visible(request.project, request.user, request.member)
    page = Paginator(found, 25).get_page(request.GET.get("page"))
    names = recipient_names() if request.member.can("manage_data") else {}
    entries = [
        {
            "item": item,
            "who": names.get(item.recipient, ""),
            "cost": show_short(item.nano_epsilon),
            "stalled": purchases.is_stalled(item),
        }
        for item in page.object_list
    ]
    values = {"project": request.project, "page_obj": page, "entries": entries, "own": bool(names)}
    return render(request, "synthetic/list.html", values)


@requires("ask")
@require_http_methods(["GET", "HEAD", "POST"])
def synthetic_new(request: ProjectRequest) -> HttpResponse:
    """Choose columns and relations, see price and expected fidelity, then pay."""
    values: dict[str, object] = {
        "project": request.project,
        "breadcrumb": [("Synthetic tables", f"/synthetic?project={request.project.key}"), ("New", "")],
    }
    try:
        offer = offer_for(request.project, request.member)
    except PolicyError as refusal:
        return render(request, "synthetic/new.html", values | {"closed": plain(str(refusal))})
    sent = request.POST if request.method == "POST" else request.GET
    form = SyntheticForm(sent, offer=offer)
    values |= {"form": form} | _priced(request, form)
    if request.method != "POST":
        return render(request, "synthetic/new.html", values)
    found = cast("SyntheticOffer | None", values.get("found"))
    if found is None:
        return render(request, "synthetic/new.html", values, status=403 if values.get("denied") else 422)
    agreed = request.POST.get("agreed", "")
    if not (agreed.isascii() and agreed.isdecimal() and len(agreed) < 20) or found.chosen.price.total > int(agreed):
        return render(request, "synthetic/new.html", values | {"changed": True}, status=422)
    words = ("".join(filter(str.isprintable, word)) for word in request.POST.get("title", "").split())
    try:
        made = purchases.buy(
            request.project,
            request.user,
            request.member,
            found.chosen.asked,
            title=" ".join(filter(None, words))[:120],
            at_most=int(agreed) / NANO,
        )
    except (BudgetError, PolicyError) as refusal:
        said = str(refusal).replace(f"'{request.user.hospital.key}'", request.user.hospital.name)
        values |= {"refusal": plain(said), "found": None, "more_url": more_url(request, None)}
        return render(request, "synthetic/new.html", values, status=refusal.http_status)
    if found.chosen.price.free:
        messages.info(request, "Your organisation had bought this table before: here it is again, for nothing.")
    else:
        messages.success(request, "Paid. The same table again costs nothing.")
    return redirect("synthetic_table", key=made.key)


def _priced(request: ProjectRequest, form: SyntheticForm) -> dict[str, object]:
    if not form.is_begun:
        form.is_bound = False
        form.initial = {name: form.data.get(name) for name in form.fields}
        return {}
    if not form.is_valid():
        return {}
    try:
        found = quote(request.project, request.user, request.member, form.asked)
    except PolicyError as refusal:
        return {"denied": plain(str(refusal))}
    except PydplibError as error:
        if error.http_status >= 500:
            raise
        form.add_error(None, str(error))
        return {}
    values: dict[str, object] = {"found": found}
    if not found.chosen.price.affordable:
        values["more_url"] = more_url(request, found.chosen.price.total / NANO)
    return values


@requires("ask", of=SyntheticPurchase)
@require_safe
def synthetic_table(request: TargetRequest[SyntheticPurchase]) -> HttpResponse:
    """Show one table: how far it is, or what it holds, with figures, files and a box for questions."""
    item = tables.check_concerns(request)
    return _page(request, item)


def _page(request: ProjectRequest, item: SyntheticPurchase, *, original: NextToOriginal | None = None) -> HttpResponse:
    own, manager = tables.is_own(item, request.user, request.member), request.member.can("manage_data")
    values: dict[str, object] = {
        "project": item.project,
        "item": item,
        "own": own,
        "manager": manager,
        "stalled": purchases.is_stalled(item),
        "breadcrumb": [("Synthetic tables", f"/synthetic?project={item.project.key}"), (str(item), "")],
    }
    if item.state in (_State.PAYING, _State.RUNNING):
        return render(request, "synthetic/table.html", values)
    if not manager and item.state == _State.WITHDRAWN:
        values["copies"] = tables.count_copies(item, request.user)
        return render(request, "synthetic/table.html", values)
    if not manager:
        decision = tables.decision_for(item, request.member)
        if not decision:
            record(request.user, "flow.refuse", item.key, project=item.project, reason=decision.reason)
            return render(request, "synthetic/table.html", values | {"closed": plain(decision.reason)}, status=403)
    values |= _contents(request, item)
    if manager:
        names = recipient_names()
        copies = tables.copies_of(item)
        values |= {
            "holders": [(copy, names.get(copy.recipient, copy.recipient)) for copy in copies],
            "withdraw_form": WithdrawTableForm(),
            "bought_by": names.get(item.recipient, item.recipient),
            "can_look": bool(purchases.snapshot_of(item).file),
        }
    if original is not None:
        values |= {"original": original, "guesses": original.guesses(cast("dict[str, str]", values["titles"]))}
    return render(request, "synthetic/table.html", values)


def _contents(request: HttpRequest, item: SyntheticPurchase) -> dict[str, object]:
    table, snapshot = tables.table_of(item), purchases.snapshot_of(item)
    titles = titles_of(Schema.from_json(snapshot.schema))
    rows = tables.columns_of(table)
    words = value_names(table, snapshot.template.template)
    ask = AskForm(request.GET if "column" in request.GET else None, columns=[(n, titles[n]) for n in table.columns])
    answer = None
    if ask.is_bound and ask.is_valid() and ask.names:
        try:
            answer = tables.ask_table(table, ask.cleaned_data["what"] or "share", ask.names, titles, words)
        except QuestionError as problem:
            ask.add_error(None, str(problem))
    template = snapshot.template.template
    noise = "Laplace, no delta" if table.pure else f"Gaussian, delta {table.delta:g}"
    return {
        "table": table,
        "titles": titles,
        "fidelity": f"{100 * table.fidelity['columns']:.1f} %",
        "measured": [
            {
                "words": " and ".join(titles.get(name, name) for name in relation.columns),
                "found": relation.found,
                "cells": relation.cells,
                "margin": f"± {relation.margin:.0f} persons",
                "fidelity": f"{100 * table.fidelity[' x '.join(relation.columns)]:.1f} %",
            }
            for relation in table.measured
        ],
        "columns": [
            (titles.get(name, name), str(table.margin([name]).words), len(table.variables[place].cells))
            for place, name in enumerate(table.columns)
        ],
        "merged": [
            (titles.get(name, name), "; ".join(" + ".join(group) for group in groups))
            for name, groups in table.merged.items()
        ],
        "drawn": [*drawings(table, rows, words=words, titles=titles), *relation_tables(table, titles, words)],
        "ask": ask,
        "answer": answer,
        "kinds": [(name, kind.title) for name, kind in tables.KINDS.items() if name != "copies"],
        "most_copies": tables.MOST_COPIES,
        "receipt": Receipt.from_json(item.receipt) if item.receipt else None,
        "facts": [
            ("Cost", f"epsilon {show_short(item.nano_epsilon)}"),
            ("Noise", noise),
            ("A row is", table.counted),
            ("Data", f"Snapshot {snapshot.number}"),
            ("Template", f"{template.id} {template.version}"),
            ("Bought", f"{item.made:%-d %B %Y, %H:%M}"),
        ],
    }


@requires("ask", of=SyntheticPurchase)
@require_POST
def synthetic_run(request: TargetRequest[SyntheticPurchase]) -> HttpResponse:
    """Go on after a break: what is paid is made, and what is not paid yet is paid first."""
    item = tables.check_concerns(request)
    if not tables.is_own(item, request.user, request.member):
        raise PolicyError("Those who bought this table go on with it: their budget pays.")
    if purchases.is_stalled(item):
        purchases.go_on(item, request.user, request.member)
    return redirect("synthetic_table", key=item.key)


@requires("ask", of=SyntheticPurchase)
@require_safe
def synthetic_progress(request: TargetRequest[SyntheticPurchase]) -> HttpResponse:
    """Return the progress bar alone, for the page that waits; a step that ended sends the page on."""
    item = tables.check_concerns(request)
    response = render(request, "synthetic/_progress.html", {"item": item})
    if item.state != _State.RUNNING or purchases.is_stalled(item):
        response["HX-Refresh"] = "true"
    return response


@requires("ask", of=SyntheticPurchase)
@require_POST
def synthetic_discard(request: TargetRequest[SyntheticPurchase]) -> HttpResponse:
    """Forget a table that was never paid."""
    item = tables.check_concerns(request)
    if not tables.is_own(item, request.user, request.member):
        raise PolicyError("Those who wanted this table discard it.")
    purchases.discard(request.user, item)
    messages.success(request, "Discarded. Nothing was spent.")
    return redirect(f"/synthetic?project={item.project.key}")


@requires("ask", of=SyntheticPurchase)
@require_POST
def synthetic_download(request: TargetRequest[SyntheticPurchase], kind: str) -> HttpResponse:
    """Hand out a file; the policy is asked again, and the copy is noted."""
    item = tables.check_see(request)
    if kind not in tables.KINDS:
        raise Http404
    number = request.POST.get("m", "5")
    copies = int(number) if number.isascii() and number.isdecimal() and len(number) < 4 else 0
    content = tables.take(request, item, kind, copies=copies)
    chosen = tables.KINDS[kind]
    response = HttpResponse(content, content_type=chosen.content_type)
    name = f"{slugify(str(item))[:60] or 'synthetic'}-{item.key}.{chosen.ending}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@requires("ask", of=SyntheticPurchase)
@require_safe
def synthetic_receipt(request: TargetRequest[SyntheticPurchase]) -> HttpResponse:
    """Give out the signed receipt, which holds no value of the table; also after a withdrawal."""
    item = tables.check_concerns(request)
    if not item.receipt:
        raise Http404
    record(request.user, "synthetic.receipt", item.key, project=item.project)
    response = HttpResponse(item.receipt, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="receipt-{item.key}.json"'
    return response


@requires("manage_data", of=SyntheticPurchase)
@require_POST
def synthetic_original(request: TargetRequest[SyntheticPurchase]) -> HttpResponse:
    """Show an owner the original next to the synthetic figures, and what the rows give away; logged, never stored."""
    item: SyntheticPurchase = request.target
    if item.state not in (_State.READY, _State.WITHDRAWN):
        raise Http404
    return _page(request, item, original=look(request.user, item, tables.table_of(item)))


@requires("manage_data", of=SyntheticPurchase, recent=True)
@require_POST
def synthetic_withdraw(request: TargetRequest[SyntheticPurchase]) -> HttpResponse:
    """Take a table back and tell those who have it."""
    item: SyntheticPurchase = request.target
    form = WithdrawTableForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Say why: those who have a copy read it.")
        return redirect("synthetic_table", key=item.key)
    tables.withdraw(request.user, item, reason=form.cleaned_data["reason"])
    messages.success(request, "Withdrawn. Those who have a copy are told on their home page. Nothing is refunded.")
    return redirect("synthetic_table", key=item.key)


@signed_in
def synthetic_deleted(request: SignedInRequest, key: str) -> HttpResponse:
    """Take somebody's word that their copies are deleted; members who have left the project can say so too."""
    item = tables.taken_by(request.user, key)
    if item is None:
        raise Http404
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    tables.confirm_deleted(request.user, item)
    messages.success(request, "Thank you: the owner sees that your copies are deleted.")
    return redirect("home")
