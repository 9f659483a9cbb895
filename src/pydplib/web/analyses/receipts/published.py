"""Receipts that anybody may ask for who knows the key of a release; they tell nothing about who asked, or when."""

from __future__ import annotations

import json
import re
from typing import Any

from pydplib.errors import ReceiptError
from pydplib.receipt import Receipt
from pydplib.web import hooks
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import part_name, public_receipt_of
from pydplib.web.analyses.receipts.keys import issuer_keys
from pydplib.web.ledger import models as rows
from pydplib.web.people.models import Hospital


def is_key(digest: str) -> bool:
    """Return whether a text looks like the key of a release."""
    return re.fullmatch(r"[0-9a-f]{64}", digest) is not None


def is_paid(digest: str) -> bool:
    """Return whether somebody has paid for a release that is there."""
    return is_key(digest) and rows.Payment.objects.filter(release_id=digest, release__payload__isnull=False).exists()


def receipt_of(digest: str) -> Receipt | None:
    """Return a signed receipt of a release for anybody who knows its key; it tells nothing about who asked, or when."""
    if not is_key(digest):
        return None
    kept = Analysis.objects.filter(digest=digest).exclude(receipt="").select_related("project__hospital")
    found: Any = kept.filter(part=_first_part(digest)).order_by("id").first()
    found = found or next(filter(None, hooks.purchase_of(digest)), None)
    if found is None:
        return None
    try:
        Receipt.from_json(found.receipt).verify(issuer_keys())
        return public_receipt_of(found)
    except ReceiptError:
        return None


def _first_part(digest: str) -> str:
    """Return one question of tables that were bought together: the same whoever paid for them, and asked them what."""
    asked = rows.Release.objects.filter(digest=digest).values_list("question", flat=True).first()
    question = json.loads(asked or "{}")
    return min(map(part_name, question["questions"])) if question.get("ask") == "tables" else ""


def name_today(receipt: Receipt) -> str:
    """Return what the issuer is called today, where that is not what the receipt says."""
    found = Hospital.objects.filter(key=receipt.issuer_id).first() if receipt.is_issuer_checked else None
    return found.name if found is not None and found.name != receipt.issuer else ""
