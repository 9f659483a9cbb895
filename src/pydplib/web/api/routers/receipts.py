"""Receipts and the keys that sign them, for anybody: no token, no data."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Router

from pydplib.web.analyses.receipts.keys import published_keys
from pydplib.web.analyses.receipts.published import receipt_of
from pydplib.web.api.permissions import open_to_all
from pydplib.web.api.values import KeyOut, KeysOut, ReceiptOut, answers, reply

router = Router(tags=["receipts"])


@router.get("/receipts/keys", response=answers(KeysOut, public=True), auth=None, operation_id="list_receipt_keys")
@open_to_all
def list_receipt_keys(request: HttpRequest) -> HttpResponse:
    """The public keys of receipts. Compare them with what the hospital told you before you trust them."""
    return reply(KeysOut(keys=[KeyOut.model_validate(key.to_dict()) for key in published_keys()]))


@router.get("/receipts/{key}", response=answers(ReceiptOut, public=True), auth=None, operation_id="find_receipt")
@open_to_all
def find_receipt(request: HttpRequest, key: str) -> HttpResponse:
    """The receipt of a release, by the release's key (64 hexadecimal digits). It holds no released value."""
    found = receipt_of(key)
    if found is None:
        raise Http404
    return HttpResponse(found.to_json(), content_type="application/json")
