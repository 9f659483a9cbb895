"""Make, find, count and end tokens: random, shown once, stored as a hash, dead with the user's rights."""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
import secrets
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError, did_you_mean
from pydplib.web import hooks
from pydplib.web.api.models import ApiToken
from pydplib.web.auditlog.log import Log, record, recorded
from pydplib.web.people.models import User, hash_of
from pydplib.web.people.sign_in import second_factor as factor
from pydplib.web.people.sign_in.rate_limits import SKEW

Scope: TypeAlias = Literal["read", "ask", "export"]
"""What a token may be used for."""

SCOPES: Mapping[Scope, str] = MappingProxyType(
    {
        "read": "See projects, prices, budgets and answers that are paid for",
        "ask": "Ask questions, which spends the budget; start attacks, which takes the server's time",
        "export": "Download anonymized exports",
    }
)
"""Scope -> its words for readers."""

PREFIX = "pydp_"
"""How every token begins, so that scanners find one that was published by mistake."""

MOST_DAYS = 365
MOST_TOKENS = 20
USES_PER_MINUTE = 120
_WINDOW = dt.timedelta(minutes=1)
_FORM = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")


class NoToken(Exception):
    """There is no token, or none that counts; the answer is the same whatever the reason."""


class TooOften(Exception):
    """The token was used too often in the running minute."""

    def __init__(self, wait: int) -> None:
        super().__init__()
        self.wait = wait


def make_token(
    user: User, *, name: str, scopes: Collection[str], days: int, second_factor: bool
) -> tuple[ApiToken, str]:
    """Return a new token's row and the token itself, which is shown once and stored nowhere.

    Args:
        user: Whose token it is.
        name: What it is for, in the user's words.
        scopes: What it may be used for.
        days: How long it works; at most a year.
        second_factor: Whether the session that makes it has given a second factor.
    """
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise ParameterError(f"A token needs scopes.{did_you_mean(unknown[0] if unknown else '', SCOPES)}")
    if not 1 <= days <= MOST_DAYS:
        raise ParameterError(f"A token works from 1 to {MOST_DAYS} days.")
    token, now = PREFIX + secrets.token_urlsafe(32), timezone.now()
    with recorded(user) as log:
        # The user's row is locked, so that two tabs at once cannot pass the limit.
        User.objects.select_for_update().get(pk=user.pk)
        if ApiToken.objects.filter(user=user, revoked=None, expires__gt=now).count() >= MOST_TOKENS:
            raise PolicyError(f"You have {MOST_TOKENS} tokens already. Revoke those that you no longer need.")
        made = ApiToken.objects.create(
            user=user,
            name=name,
            token_hash=hash_of(token),
            scopes=[scope for scope in SCOPES if scope in scopes],
            password_mark=user.get_session_auth_hash(),
            second_factor=second_factor,
            expires=now + dt.timedelta(days=days),
        )
        log.add("token.make", made.key, scopes=made.scopes, days=days)
    return made, token


def revoke(token: ApiToken) -> None:
    """End a token at once."""
    with recorded(token.user) as log:
        if ApiToken.objects.filter(pk=token.pk, revoked=None).update(revoked=timezone.now()):
            log.add("token.revoke", token.key)


def token_of(user: User, key: str) -> ApiToken | None:
    """Return one of a user's own tokens."""
    return ApiToken.objects.filter(user=user, key=key).select_related("user__hospital").first()


@hooks.user_disabled.register
def revoke_all(user: User, log: Log) -> int:
    """End every token of a user, inside the transaction of the change that asks for it; returns how many.

    Args:
        user: Whose tokens.
        log: What ``recorded`` gave for the change.
    """
    ended = ApiToken.objects.filter(user=user, revoked=None).update(revoked=timezone.now())
    if ended:
        log.add("token.revoke", user.username, tokens=ended)
    return ended


def tokens_of(user: User) -> list[ApiToken]:
    """Return a user's tokens, the newest first."""
    return list(ApiToken.objects.filter(user=user))


def state_of(token: ApiToken) -> str:
    """Return where a token stands: ``"active"``, ``"revoked"``, ``"expired"``, or ``"ended"`` by a new password.

    Whether the user is disabled is asked apart.
    """
    if token.revoked is not None:
        return "revoked"
    if token.expires <= timezone.now():
        return "expired"
    if not secrets.compare_digest(token.password_mark, token.user.get_session_auth_hash()):
        return "ended"
    return "active"


def use(header: str, *, basic: bool = False) -> ApiToken:
    """Return the token of an ``Authorization`` header, counted and checked against what is true now.

    Args:
        header: ``Bearer TOKEN``.
        basic: Whether the token may also be a password of HTTP's basic scheme, with any user name: tables are read by
            software that knows no other.

    Raises:
        NoToken: None was given, or it does not work (any more).
        TooOften: It was used too often.
    """
    scheme, _, text = header.partition(" ")
    text = text.strip()
    if basic and scheme.lower() == "basic":
        scheme, text = "bearer", _password_of(text)
    if scheme.lower() != "bearer" or not _FORM.fullmatch(text):
        raise NoToken
    token = ApiToken.objects.select_related("user__hospital").filter(token_hash=hash_of(text)).first()
    if token is None:
        raise NoToken
    _count(token)
    why = state_of(token) if token.user.is_active else "disabled"
    if why != "active":
        # Somebody still has it: the user, or whoever found it. That is worth a line.
        record(token.user, "token.refuse", token.key, reason=why)
        raise NoToken
    return token


def _password_of(text: str) -> str:
    """Return the password of basic credentials; nothing where they cannot be read.

    Examples:
        >>> _password_of("dGFyYTpweWRwX3g="), _password_of("?")
        ('pydp_x', '')
    """
    try:
        return base64.b64decode(text[:400], validate=True).decode().partition(":")[2]
    except ValueError:  # no base64, or no text
        return ""


def factor_problem(token: ApiToken, *, demo: bool) -> str:
    """Return why a token does not open the rights of a role that needs a second factor, or nothing if it does."""
    device = factor.device_of(token.user)
    if demo or (token.second_factor and device is not None) or (device is None and factor.grace_left(token.user) > 0):
        return ""
    return (
        "Your role needs a second factor, and this token was made without one. Sign in with your phone, revoke it on "
        "your account page and make a new one."
    )


def _count(token: ApiToken) -> None:
    """Count one use, in one statement for all servers at once."""
    now = timezone.now()
    stale = Q(minute__lte=now - _WINDOW) | Q(minute__gt=now + SKEW)  # a clock that ran ahead counts for nothing
    ApiToken.objects.filter(pk=token.pk).update(
        uses=Case(When(stale, then=Value(1)), default=F("uses") + 1),
        minute=Case(When(stale, then=Value(now)), default=F("minute")),
        last_used=now,
    )
    token.refresh_from_db(fields=["uses", "minute"])
    if token.uses > USES_PER_MINUTE:
        raise TooOften(max(1, math.ceil((token.minute + _WINDOW - now).total_seconds())))
