"""What was typed when a page asks for the password again: kept in the session, sent again by a press of its own.

Never a secret and never a file: a form with one of those is not kept at all, and is filled in once more.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.utils import timezone

MINUTES = 15
MOST_FIELDS, MOST_LETTERS = 200, 20_000
SECRETS = frozenset(["password", "again", "current", "code", "passphrase", "secret", "token"])
_OWN = frozenset(["csrfmiddlewaretoken"])
_UNSEEN = frozenset(["project", "next", "agreed", "after"])  # sent again, but nothing that somebody typed


@dataclass(frozen=True, slots=True)
class Kept:
    """A form on its way.

    Args:
        path: Where it was sent to.
        page: The page on which it was filled in.
        fields: Name and value of every field.
    """

    path: str
    page: str
    fields: tuple[tuple[str, str], ...]

    @property
    def shown(self) -> list[tuple[str, str]]:
        """What somebody typed or chose, for reading."""
        return [
            (name.replace("_", " ").replace("-", " ").capitalize(), value)
            for name, value in self.fields
            if value and name not in _UNSEEN
        ]


def keep(request: HttpRequest, page: str) -> bool:
    """Keep what was sent; return whether it could be kept, and was more than the press of a button."""
    request.session.pop("kept", None)
    fields = [(name, value) for name, values in request.POST.lists() for value in values if name not in _OWN]
    letters = sum(len(name) + len(value) for name, value in fields)
    if request.FILES or len(fields) > MOST_FIELDS or letters > MOST_LETTERS:
        return False
    if any(name.rsplit("-", 1)[-1] in SECRETS for name, _ in fields):
        return False
    if not Kept("", "", tuple(fields)).shown:
        return False
    request.session["kept"] = {
        "path": request.get_full_path(),
        "page": page,
        "fields": fields,
        "user": request.user.pk,
        "at": timezone.now().timestamp(),
    }
    return True


def kept(request: HttpRequest) -> Kept | None:
    """Return what was kept for this user, unless that is long ago."""
    found = request.session.get("kept") or {}
    if found.get("user") != request.user.pk or timezone.now().timestamp() - found.get("at", 0) > 60 * MINUTES:
        return None
    return Kept(found["path"], found["page"], tuple((name, value) for name, value in found["fields"]))


def forget(request: HttpRequest) -> None:
    """Forget what was kept: it was sent, or something else was done."""
    if "kept" in request.session:
        del request.session["kept"]
