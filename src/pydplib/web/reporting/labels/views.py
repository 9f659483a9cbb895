"""Pages of the labelling queue: progress, adding texts, reading, agreement, deciding between two readers."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from pydplib.errors import DataError
from pydplib.web.auditlog.log import record
from pydplib.web.people.permissions import SignedInRequest
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest, requires
from pydplib.web.reporting.forms.holders import Desk, desk_of_reading
from pydplib.web.reporting.forms.pages import answer_autosave, answer_form, show_form
from pydplib.web.reporting.labels.agreement import agreement_of
from pydplib.web.reporting.labels.free_texts import MOST_BYTES, NewText, check_text, read_texts
from pydplib.web.reporting.labels.queue import (
    add_texts,
    claim_next,
    differing_texts,
    finish_reading,
    give_back,
    open_judgement,
    progress_of,
    reader_differences,
    readings_by,
    readings_of,
    texts_for,
)
from pydplib.web.reporting.models import FreeText, Reading


class TextsForm(forms.Form):
    """Texts for the queue: a file with many, or one that is pasted."""

    file = forms.FileField(
        required=False,
        label="CSV file",
        help_text='One text per row; the first row names the columns: "patient", "text", and if wanted "department".',
        widget=forms.ClearableFileInput(attrs={"accept": ".csv,.txt"}),
    )
    identifier = forms.CharField(
        required=False,
        max_length=400,
        label="Or one text: patient",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    text = forms.CharField(required=False, label="Its text", widget=forms.Textarea(attrs={"rows": 8}))
    department = forms.CharField(
        required=False,
        max_length=80,
        help_text="Only readers of this department get the texts. Empty: all readers; a column of the file goes first.",
    )
    readers = forms.TypedChoiceField(
        coerce=int,
        label="Readers per text",
        choices=[(1, "One"), (2, "Two, blind of each other; an owner decides where they differ")],
        widget=forms.RadioSelect,
        initial=1,
    )

    def clean(self) -> dict[str, object]:
        """Ask for a file or a text."""
        values = super().clean() or {}
        if bool(values.get("file")) == bool(values.get("text")):
            raise forms.ValidationError("Give a file or paste a text: one of the two.")
        if values.get("file") and values["file"].size > MOST_BYTES:
            raise forms.ValidationError(f"The file has more than {MOST_BYTES // 1_000_000} MB. Split it.")
        return values

    def texts(self) -> list[NewText]:
        """Return what was given, or raise ``DataError``."""
        values = self.cleaned_data
        if not values["file"]:
            return [check_text(values["identifier"], values["text"], values["department"])]
        found = read_texts(values["file"].read())
        return [NewText(each.identifier, each.text, each.department or values["department"]) for each in found]


@requires("capture")
def labelling(request: ProjectRequest) -> HttpResponse:
    """Show the queue: how far it is, what the reader has in hand, and the next one to take."""
    in_hand, done = readings_by(request.project, request.user)
    owner = request.member.can("manage_data")
    values: dict[str, object] = {
        "waiting": texts_for(request.project, request.user, request.member).count(),
        "open_reading": in_hand,
        "read": done,
        "owner": owner,
        "version": request.project.template_version,
    }
    if owner:
        values |= {"progress": progress_of(request.project), "differing": differing_texts(request.project)[:20]}
    return render(request, "reporting/labelling.html", values)


@requires("manage_data")
def labelling_add(request: ProjectRequest) -> HttpResponse:
    """Put texts into the queue."""
    form = TextsForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            count = add_texts(request.project, form.texts(), readers=form.cleaned_data["readers"], actor=request.user)
        except DataError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{count} texts are in the queue." if count > 1 else "The text is in the queue.")
            return redirect("labelling")
    values = {"form": form, "version": request.project.template_version, "breadcrumb": _way("Add texts")}
    return render(request, "reporting/labelling_add.html", values, status=422 if form.is_bound else 200)


@requires("capture")
@require_POST
def labelling_next(request: ProjectRequest) -> HttpResponse:
    """Take the next text."""
    found = claim_next(request.project, request.user, request.member)
    if found is None:
        messages.info(request, "No text waits for you.")
        return redirect("labelling")
    return redirect("reading", key=found.key)


@requires("manage_data")
def labelling_agreement(request: ProjectRequest) -> HttpResponse:
    """Show how well the readers agree."""
    values = {"found": agreement_of(request.project), "breadcrumb": _way("Agreement")}
    return render(request, "reporting/agreement.html", values)


@requires("manage_data", of=FreeText)
@require_POST
def labelling_judge(request: TargetRequest[FreeText]) -> HttpResponse:
    """Begin to decide between two readers."""
    return redirect("reading", key=open_judgement(request.target, user=request.user).key)


@requires("capture", of=Reading)
def reading(request: TargetRequest[Reading]) -> HttpResponse:
    """Fill in the template next to the text."""
    desk = _desk(request)
    if request.method == "POST":
        return answer_form(request, desk, lambda revision: _finish(request, desk, revision))
    text = desk.holder.text
    record(request.user, "text.look", text.key, project=request.project)
    return show_form(request, desk)


@requires("capture", of=Reading)
@require_POST
def reading_autosave(request: TargetRequest[Reading]) -> HttpResponse:
    """Keep the reading while it is filled in."""
    return answer_autosave(request, _desk(request))


@requires("capture", of=Reading)
@require_POST
def reading_give_back(request: TargetRequest[Reading]) -> HttpResponse:
    """Put the text back into the queue: its reader, or an owner for somebody who is away."""
    taken: Reading = request.target
    if taken.reader_id != request.user.pk and not request.member.can("manage_data"):
        raise Http404
    give_back(taken, user=request.user)
    messages.success(request, "The text is back in the queue.")
    return redirect("labelling")


def _desk(request: TargetRequest[Reading]) -> Desk:
    """Return the form of the reader's own, unfinished reading; nobody else's, whoever asks: readers stay blind."""
    taken: Reading = request.target
    if taken.reader_id != request.user.pk or taken.finished is not None or request.member.preview:
        raise Http404
    desk = desk_of_reading(taken)
    desk.beside = {"free_text": taken.text, "reading": taken}
    if taken.number == Reading.JUDGE:
        if not request.member.can("manage_data"):
            raise Http404
        first, second = readings_of(taken.text)
        desk.beside |= {"first": first, "second": second, "judged": reader_differences(first, second)}
    return desk


def _finish(request: SignedInRequest, desk: Desk, revision: int) -> str:
    report = finish_reading(desk.holder, revision=revision, user=request.user)
    messages.success(request, "Finished: the report is signed." if report else "Finished. Thank you.")
    return desk.leave


def _way(here: str) -> list[tuple[str, str]]:
    return [("Labelling", "/labelling"), (here, "")]
