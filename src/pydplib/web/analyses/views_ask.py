"""Pages: ask. The form is looked at by GET, with its price; only the button that pays is a POST."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_safe

from pydplib.budget.units import NANO
from pydplib.errors import BudgetError, EngineError, PolicyError, PydplibError, QuestionError
from pydplib.release import Price, Question
from pydplib.release.facts import Facts
from pydplib.web.analyses.figures import figure_of, in_words, table_of, worth_of
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.prices import quote_in
from pydplib.web.analyses.payments.purchases import ask, release_of
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.analyses.question_form.entries import ENTRIES, person_defaults
from pydplib.web.analyses.question_form.form import QuestionForm
from pydplib.web.analyses.question_form.offers import Offer, of_table, offer_for
from pydplib.web.analyses.question_form.precision import (
    Ladder,
    answered_before,
    counted_groups,
    ladder_of,
    size_of,
    step_at,
)
from pydplib.web.analyses.question_form.proposals import proposals_for
from pydplib.web.analyses.question_form.questions import title_of
from pydplib.web.analyses.question_form.trials import tables_for, try_out
from pydplib.web.design.values import points
from pydplib.web.intake.snapshots import published_tables
from pydplib.web.projects.permissions import ProjectRequest, door
from pydplib.web.projects.requests.submissions import binding_row
from pydplib.web.projects.words import plain


@door("ask")
@require_http_methods(["GET", "HEAD", "POST"])
def analysis_new(request: ProjectRequest) -> HttpResponse:
    """Ask a question: see what it costs and how accurate it will be, then pay."""
    try:
        offer = offer_for(request.project, request.member, _table(request))
    except PolicyError as refusal:
        return render(request, "analyses/new.html", {**_frame(request), "closed": plain(str(refusal))})
    except QuestionError as gone:  # the table was there when the price was shown: nothing is paid for another one
        return render(request, "analyses/new.html", {**_frame(request), "closed": str(gone)}, status=gone.http_status)
    if request.method == "POST":
        return _pay(request, offer)
    return render(request, "analyses/new.html", _shown(request, QuestionForm(request.GET, offer=offer)))


@door("ask")
@require_safe
def analysis_entry(request: ProjectRequest, entry: str) -> HttpResponse:
    """Ask for what papers print: the question form with the statistics of one kind, and fitting defaults."""
    page = ENTRIES.get(entry)
    if page is None:
        raise Http404
    address = reverse("analysis_entry", args=[entry])
    frame = {
        "heading": page.title,
        "lead": page.lead,
        "action": address,
        "breadcrumb": [("Analyses", f"/analyses?project={request.project.key}"), (page.title, "")],
    }
    try:
        offer = offer_for(request.project, request.member, _table(request))
    except PolicyError as refusal:
        return render(request, "analyses/new.html", {**_frame(request), **frame, "closed": plain(str(refusal))})
    data = request.GET.copy()
    for name, value in person_defaults(offer).items() if "accuracy" not in data else ():
        data.setdefault(name, value)
    form = QuestionForm(data, offer=offer, kinds=page.kinds)
    return render(request, "analyses/new.html", {**_shown(request, form), **frame})


@door("ask")
@require_safe
def analysis_try(request: ProjectRequest) -> HttpResponse:
    """Show what the answer would look like: the same question and noise on a table of nobody; free, and not stored."""
    try:
        offer = offer_for(request.project, request.member, _table(request))
    except PolicyError as refusal:
        return render(request, "analyses/new.html", {**_frame(request), "closed": plain(str(refusal))})
    form = QuestionForm(request.GET, offer=offer)
    values = _shown(request, form)
    if values["price"] is None or form.question is None:
        return render(request, "analyses/new.html", values, status=403 if values["denied"] else 422)
    session, _ = open_session(
        request.project, request.user, request.member, preview=True, table=form.offer.snapshot.group
    )
    tables = tables_for(request.project, request.user, request.member, form.question)
    chosen = next((one for one in tables if one.key == request.GET.get("on", "")), tables[0])
    asked = form.data.urlencode()
    values |= {"tables": tables, "chosen": chosen, "asked": asked, "back_url": f"{reverse('analysis_new')}?{asked}"}
    try:
        size = size_of(session, form.question)
        release = try_out(form.question, offer.schema, values["step"].epsilon, size=size, table=chosen)
    except QuestionError as problem:
        return render(request, "analyses/trial.html", {**values, "problem": str(problem)}, status=422)
    shown = in_words(release, offer.snapshot.template.template)
    columns, rows = table_of(shown)
    figure = figure_of(shown, title=values["words"])
    values |= {"figure": figure.with_words(caption=TRIED), "columns": columns, "rows": rows, "worth": worth_of(shown)}
    return render(request, "analyses/trial.html", values)


TRIED = "A try: none of these numbers comes from the project's data. Nothing was paid."


def _pay(request: ProjectRequest, offer: Offer) -> HttpResponse:
    form, refusal = QuestionForm(request.POST, offer=offer), None
    # Signs that cannot be printed go: a database refuses some of them, and it is paid by then.
    words = ("".join(filter(str.isprintable, word)) for word in request.POST.get("title", "").split())
    title = " ".join(filter(None, words))[:120]
    # The button sends what a step of the slider costs; a place alone is no price, and is shown again.
    if form.is_valid() and form.question is not None and not form.has_slider:
        try:
            made = ask(
                request.project,
                request.user,
                request.member,
                form.question,
                form.noise,
                title=title,
                offer=offer,
                at_most=_agreed(request.POST) / NANO,
            )
        except PydplibError as error:
            refusal = error
        else:
            _thank(request, made)
            return redirect("analysis", key=made.key)
    return _not_paid(request, form, refusal)


def _thank(request: ProjectRequest, made: Analysis) -> None:
    if made.was_free:
        messages.info(request, "Your organisation had asked this before: here is the same answer, for nothing.")
    elif not worth_of(made.told or release_of(made)).is_little:  # else the page says so at its top
        messages.success(request, "Paid and answered. The same question again gives the same answer, for nothing.")


def _not_paid(request: ProjectRequest, form: QuestionForm, refusal: PydplibError | None) -> HttpResponse:
    """Return the form again with its price of this moment, and what stood in the way."""
    values = _shown(request, form)
    price: Price | None = values["price"]
    if price is None:
        return render(request, "analyses/new.html", values, status=403 if values["denied"] else 422)
    if price.total > _agreed(request.POST) or form.has_slider:
        values["changed"] = True
        return render(request, "analyses/new.html", values, status=422)
    assert refusal is not None, "a form that has a price has a question, and it was asked"
    if not isinstance(refusal, BudgetError | PolicyError | EngineError):
        raise refusal
    values |= {"refusal": _refusal(request, refusal), "price": None}
    return render(request, "analyses/new.html", values, status=refusal.http_status)


def _table(request: ProjectRequest) -> str:
    """Return the table that is asked; before paying, what is not published any more becomes the reports."""
    if request.method == "POST":
        return request.POST.get("table", "")
    table = request.GET.get("table", "")
    return table if table in {each.group for each in published_tables(request.project)} else ""


def _agreed(data: QueryDict) -> int:
    """Return the price that stood next to the button, in nano-epsilon."""
    word = data.get("agreed", "")
    return int(word) if word.isascii() and word.isdecimal() and len(word) < 20 else -1


def _shown(request: ProjectRequest, form: QuestionForm) -> dict[str, Any]:
    values: dict[str, Any] = {**_frame(request), "form": form, "price": None, "denied": None, "ladder": None}
    if form.is_valid() and form.question is not None:
        values["words"] = of_table(form.offer.snapshot, title_of(form.question.to_dict(), form.titles))
        try:
            values |= _offered(request, form, form.question)
        except PolicyError as refusal:
            values["denied"] = plain(str(refusal))
        except PydplibError as error:
            if error.http_status >= 500:
                raise
            form.add_error(None, str(error))
    if values["price"] is not None and not values["price"].affordable:
        values["more_url"] = more_url(request, values["price"].total / NANO)
    if request.method != "POST":
        form.forgive_gaps()
    return values


def _offered(request: ProjectRequest, form: QuestionForm, question: Question) -> dict[str, object]:
    """Return the steps of the slider, the price of the chosen one, and what would be worth more; no data are read."""
    table = form.offer.snapshot.group
    session, snapshot = open_session(request.project, request.user, request.member, preview=True, table=table)
    facts = Facts.of(question, session.table.schema)
    counts = counted_groups(request.project, session.recipient, snapshot.key, question, facts)
    chosen = form.chosen_step() if form.has_slider else 0
    ladder = ladder_of(session, question, chosen=chosen, counts=counts)
    if form.has_slider:
        form.set_step(ladder.chosen, ladder.step.epsilon, proposed=chosen is None)
    price = quote_in(session, question, form.noise)
    step = ladder.step if form.has_slider else step_at(session, question, price, counts)
    found: dict[str, object] = {"price": price, "step": step, "ladder": ladder if form.has_slider else None}
    least = "at most " if price.at_most and not price.free else ""
    found["price_points"] = f"{least}{points(price.total / NANO, price.bar.total)}"
    found["price_hint"], found["here"] = "of 100 points", request.path
    if not price.free and not request.member.preview:
        found["before"] = answered_before(request.project, session.recipient, snapshot.key, facts)
    if not price.free and step.light != "useful":
        found["proposals"] = proposals_for(form, session, ladder if form.has_slider else Ladder((step,), 0))
    return found


def _frame(request: ProjectRequest) -> dict[str, object]:
    project = request.project
    return {
        "project": project,
        "breadcrumb": [("Analyses", f"/analyses?project={project.key}"), ("New", "")],
    }


def _refusal(request: ProjectRequest, error: PydplibError) -> dict[str, object]:
    """Return a refusal in words, with asked, left and the next step."""
    words = str(error).replace(f"'{request.user.hospital.key}'", f"{request.user.hospital.name}")
    found: dict[str, object] = {"words": plain(words)}
    if isinstance(error, BudgetError):
        found |= {"title": "The budget cannot pay for this question", "asked": error.asked, "left": error.left}
        # What is left of the data set's budget is the owner's knowledge; a larger own budget would not help.
        found["more_url"] = more_url(request, None) if error.left else ""
    elif isinstance(error, EngineError):
        found["title"] = "Paid, but not answered yet"
    else:
        found["title"] = "The policy does not allow this question"
    return found


def more_url(request: ProjectRequest, cost: float | None) -> str:
    """Return the address of the request for more budget, filled in so that this question fits; empty for owners."""
    if not request.member.can("make_request") or request.member.preview:
        return ""
    row = binding_row(request.project, request.member)
    wanted = {"project": request.project.key}
    if row is not None and row.budget is not None:
        wanted["budget"] = f"{row.budget + max(cost or 0.0, row.budget / 2):.2g}"
    return f"/requests/ask/budget?{urlencode(wanted)}"
