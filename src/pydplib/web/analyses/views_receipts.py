"""Public pages: verify a receipt, look a release up by its key, get the public keys. No login, and no data."""

from __future__ import annotations

import datetime as dt

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.formats import date_format
from django.views.decorators.http import require_http_methods, require_safe

from pydplib.errors import ReceiptError
from pydplib.receipt import Receipt
from pydplib.web.analyses.receipts.keys import issuer_keys, keys_document
from pydplib.web.analyses.receipts.published import is_key, is_paid, name_today, receipt_of
from pydplib.web.people.permissions import public

MOST_TEXT = 20_000
"""Letters of a receipt."""


class ReceiptForm(forms.Form):
    """A receipt to verify."""

    file = forms.FileField(
        required=False, label="The receipt's file", widget=forms.ClearableFileInput(attrs={"accept": ".json"})
    )
    receipt = forms.CharField(
        required=False,
        label="Or its text",
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "autocomplete": "off"}),
        help_text="The whole text of the file, from the first brace to the last.",
    )

    def clean(self) -> dict[str, object]:
        """Take the text, or that of the file."""
        values = super().clean() or {}
        file = values.get("file")
        if file and not values.get("receipt"):
            if file.size > MOST_TEXT:
                self.add_error("file", "A receipt is a short text. Is this the right file?")
            else:
                values["receipt"] = file.read().decode("utf-8", "replace")
        if not values.get("receipt") and not self.errors:
            self.add_error("receipt", "Choose the file of a receipt, or paste its text.")
        return values


@public
@require_http_methods(["GET", "HEAD", "POST"])
def receipts(request: HttpRequest) -> HttpResponse:
    """Verify a pasted receipt by this server's keys; nothing of it is kept."""
    form = ReceiptForm(request.POST or None, request.FILES or None)
    values: dict[str, object] = {"form": form}
    if request.method == "POST" and form.is_valid():
        try:
            receipt = Receipt.from_json(form.cleaned_data["receipt"]).verify(issuer_keys())
        except ReceiptError as error:
            form.add_error("receipt", str(error))
        else:
            values |= {"receipt": receipt, "facts": facts_of(receipt), "paid": is_paid(receipt.release)}
            values["today"] = name_today(receipt)
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "analyses/receipts.html", values, status=status)


@public
@require_safe
def receipt(request: HttpRequest, digest: str) -> HttpResponse:
    """Say whether a release of this key was paid and signed here."""
    found = receipt_of(digest)
    values = {
        "digest": digest if is_key(digest) else "",
        "paid": is_paid(digest),
        "receipt": found,
        "facts": facts_of(found) if found else [],
    }
    return render(request, "analyses/receipt.html", values, status=200 if values["paid"] else 404)


@public
@require_safe
def receipt_keys(request: HttpRequest) -> HttpResponse:
    """Give out the public keys, current and retired, as ``pydplib receipt verify --keys`` reads them.

    ``?issuer=ID`` gives those of one issuer alone.
    """
    return JsonResponse(keys_document(request.GET.get("issuer") or None), json_dumps_params={"indent": 2})


def facts_of(receipt: Receipt) -> list[tuple[str, str]]:
    """Return what a receipt says, as names and values; it holds no released value."""
    named = (
        ("Privacy loss (epsilon)", receipt.epsilon),
        ("Delta", receipt.delta),
        ("Guarantee", receipt.guarantee),
        ("Noise", receipt.mechanism),
        ("Data", receipt.data),
        ("Template", receipt.template),
        ("Question (hash)", receipt.question_hash),
        ("Released text (hash)", receipt.payload_hash),
        ("Release (key)", receipt.release),
        ("Signed by" if receipt.is_issuer_checked else "Issuer's name (not checked)", receipt.issuer),
        ("Issuer (id)", receipt.issuer_id),
        ("Signed on", _moment(receipt.issued)),
        ("Signing key", receipt.key_id),
    )
    return [(name, value) for name, value in named if value]


def _moment(issued: str) -> str:
    """Return when it was signed, for readers; what is no moment stays as it is."""
    try:
        return date_format(dt.datetime.fromisoformat(issued).astimezone(dt.UTC), "j F Y, H:i") + " UTC"
    except (ValueError, OverflowError):
        return issued
