"""What owners of a hospital do about its people; every change is a line in the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction

from pydplib.errors import ParameterError, PolicyError
from pydplib.web import hooks
from pydplib.web.auditlog.log import recorded
from pydplib.web.auditlog.models import Line
from pydplib.web.people import links
from pydplib.web.people.models import TAKEN, Hospital, OneTimeLink, User
from pydplib.web.people.sign_in import rate_limits, second_factor
from pydplib.web.people.sign_in.sessions import end_sessions

if TYPE_CHECKING:
    from pydplib.web.projects.models import Member

Purpose = links.Purpose

UNUSABLE = "This name cannot be used. Choose another one."
"""What is said of a user name that is taken, here or elsewhere."""


def set_up(link: OneTimeLink, hospital: str, username: str, full_name: str, password: str) -> User:
    """Make the first hospital and its owner; works once, on a server without users."""
    with recorded("system") as log:
        links.use(link)
        if User.objects.exists():
            raise PolicyError("This server is set up already. Sign in, or ask an owner for a link.")
        made = Hospital.objects.create(name=hospital)
        owner = User.objects.create_user(
            username, hospital=made, password=password, full_name=full_name, is_hospital_owner=True
        )
        log.hospital = made.key
        log.add("hospital.set_up", made.key)
        log.add("user.invite", owner.username, owner=True)
    return owner


def choose_password(link: OneTimeLink, password: str) -> None:
    """Set the password of a one-time link's user; all sessions that were open end."""
    user = link.user
    if user is None or link.purpose not in (Purpose.WELCOME, Purpose.RESET):
        raise PolicyError("This link does not set a password. Ask for a new one.")
    with recorded(user) as log:
        links.use(link)
        user.set_password(password)
        user.save(update_fields=["password"])
        OneTimeLink.objects.filter(user=user, used=None).delete()  # of another kind, still on its way to somebody
        end_sessions(user)
        log.add("user.choose_password", user.username, by_link=str(link.purpose))


def change_password(user: User, password: str, *, session_key: str | None) -> None:
    """Set a user's own new password; all other sessions end, and links to reset it work no more."""
    with recorded(user) as log:
        user.set_password(password)
        user.save(update_fields=["password"])
        OneTimeLink.objects.filter(user=user, used=None).delete()
        ended = end_sessions(user, but=session_key)
        log.add("user.change_password", user.username, sessions_ended=ended)


def person(owner: User, username: str) -> User | None:
    """Return a user of the owner's own hospital; those of others do not exist here."""
    return User.objects.filter(hospital=owner.hospital_id, username__iexact=username).first()


def people_of(hospital: Hospital) -> list[User]:
    """Return everybody of a hospital: who can sign in first."""
    return list(User.objects.filter(hospital=hospital).order_by("-is_active", "username"))


def demo_people() -> list[User]:
    """Return the people of the demonstration who can be chosen."""
    return list(User.objects.filter(is_active=True).select_related("hospital").order_by("pk"))


def demo_person(username: str) -> User | None:
    """Return one of the people of the demonstration."""
    return User.objects.filter(username=username.replace("\0", "?"), is_active=True).first()


def places_of(user: User) -> list[Member]:
    """Return a user's memberships, each with its project."""
    return list(user.memberships.select_related("project__hospital").order_by("project__name"))


def invite(owner: User, username: str, full_name: str) -> tuple[User, str]:
    """Make a user of the owner's hospital; return it and the token of the link that sets the first password."""
    try:
        with _counting_taken(owner), recorded(owner) as log:
            _check_owner(owner)
            user = User.objects.create_user(username, hospital=owner.hospital, full_name=full_name)
            token = links.make_link(Purpose.WELCOME, user=user, made_by=owner)
            log.add("user.invite", user.username)
    except IntegrityError:
        raise ParameterError(UNUSABLE) from None
    return user, token


def invite_partner(owner: User, organisation: str, username: str, full_name: str) -> tuple[User, str]:
    """Make an organisation of its own for a partner, and its first user, who manages it; return user and token.

    The partner belongs to none of the owner's pages: it gets a budget of its own in every project that adds it.
    """
    try:
        if not rate_limits.take("organisation", family_of(owner.hospital)):
            raise PolicyError("Many organisations were made in a short time. Try again in an hour.")
        with _counting_taken(owner), recorded(owner) as log:
            _check_owner(owner)
            try:
                made = Hospital.objects.create(name=organisation)
            except ParameterError as refusal:
                # Only those who manage an organisation let people into it.
                raise ParameterError(
                    f"{refusal} If your partner is on this server already, those who manage it there invite its "
                    "people; ask them for the user name."
                ) from None
            user = User.objects.create_user(username, hospital=made, full_name=full_name, is_hospital_owner=True)
            token = links.make_link(Purpose.WELCOME, user=user, made_by=owner)
            log.add("partner.invite", user.username, organisation=made.key)
    except IntegrityError:
        raise ParameterError(UNUSABLE) from None
    return user, token


def reset_link(owner: User, subject: User) -> str:
    """Return the token of a link by which ``subject`` chooses a new password; until then the old one works."""
    with recorded(owner) as log:
        _check_other(owner, subject)
        if not subject.is_active:
            raise PolicyError("This user is disabled: enable them first, then make a link.")
        purpose = Purpose.RESET if subject.has_usable_password() else Purpose.WELCOME
        token = links.make_link(purpose, user=subject, made_by=owner)
        log.add("user.make_link", subject.username, purpose=str(purpose))
    return token


def set_active(owner: User, subject: User, *, active: bool) -> None:
    """Enable or disable a user; disabling ends all sessions, links and tokens at once, for good."""
    with recorded(owner) as log:
        _check_other(owner, subject)
        subject.is_active = active
        subject.save(update_fields=["is_active"])
        if not active:
            OneTimeLink.objects.filter(user=subject, used=None).delete()
            end_sessions(subject)
            hooks.user_disabled(subject, log)
        log.add("user.enable" if active else "user.disable", subject.username)


def set_owner(owner: User, subject: User, *, is_owner: bool) -> None:
    """Give or take the right to manage the hospital."""
    with recorded(owner) as log:
        _check_other(owner, subject)
        subject.is_hospital_owner = is_owner
        subject.save(update_fields=["is_hospital_owner"])
        log.add("user.make_owner" if is_owner else "user.unmake_owner", subject.username)


def remove_second_factor(owner: User, subject: User) -> None:
    """Take away the second factor of somebody who lost phone and recovery codes; their sessions end."""
    with recorded(owner) as log:
        _check_other(owner, subject)
        second_factor.remove(subject)
        end_sessions(subject)
        log.add("user.remove_second_factor", subject.username)


def rescue(subject: User, *, lost_phone: bool) -> str:
    """Return the token of a reset link that the server's operator asked for, when no owner can; the user is enabled."""
    with recorded("system", hospital=subject.hospital) as log:
        subject.is_active = True
        subject.save(update_fields=["is_active"])
        if lost_phone:
            second_factor.remove(subject)
            end_sessions(subject)
            log.add("user.remove_second_factor", subject.username)
        token = links.make_link(Purpose.RESET, user=subject)
        log.add("user.make_link", subject.username, purpose="reset")
    return token


def rename_hospital(owner: User, name: str) -> None:
    """Give the hospital another name; raise ``ParameterError`` if another one has, had or seems to have it."""
    try:
        with _counting_taken(owner), recorded(owner) as log:
            _check_owner(owner)
            hospital = Hospital.objects.get(pk=owner.hospital_id)
            before, hospital.name = hospital.name, name
            hospital.save(update_fields=["name"])
            if hospital.name != before:
                log.add("hospital.rename", hospital.key, before=before, after=hospital.name)
    except IntegrityError:
        raise ParameterError(TAKEN) from None


def set_grace(owner: User, days: int) -> None:
    """Set for how many days people without a phone are still let in, after they were asked to enrol one."""
    if not 0 <= days <= second_factor.MOST_GRACE_DAYS:
        raise ParameterError(f"Choose 0 to {second_factor.MOST_GRACE_DAYS} days.")
    with recorded(owner) as log:
        _check_owner(owner)
        before = Hospital.objects.get(pk=owner.hospital_id).second_factor_grace
        if days != before:
            Hospital.objects.filter(pk=owner.hospital_id).update(second_factor_grace=days)
            log.add("hospital.second_factor_grace", owner.hospital.key, before=before, after=days)


def family_of(hospital: Hospital) -> str:
    """Return the key of the organisation whose counts of tries this one shares.

    An organisation that a partner opened, directly or through others that it opened, shares the partner's: a chain of
    new organisations gives nobody more tries. Whoever the operator set up shares none, and none of theirs is used up by
    the partners whom they invited.
    """
    key, above = hospital.key, _opened_by(hospital.key)
    while above and (further := _opened_by(above)):
        key, above = above, further
    return key


def _opened_by(key: str) -> str:
    """Return the key of the organisation that opened another one; empty if the operator did."""
    lines = Line.objects.filter(project="", action="partner.invite", details__contains=f'"organisation":"{key}"')
    found: str = lines.values_list("hospital", flat=True).first() or ""
    return found


@contextmanager
def _counting_taken(owner: User) -> Iterator[None]:
    """Count names that are refused, and refuse all once there were many: nobody learns who is here by trying.

    Counted before, so that many tries at once cannot all pass; one that finds no name taken is given back.
    """
    family = family_of(owner.hospital)
    if not rate_limits.take("taken", family):
        raise PolicyError("Many names were tried that cannot be used. Try again in an hour.")
    try:
        yield
    except (IntegrityError, ParameterError):
        raise
    except BaseException:
        rate_limits.give_back("taken", family)
        raise
    rate_limits.give_back("taken", family)


def _check_other(owner: User, subject: User) -> None:
    if owner.pk == subject.pk:
        raise PolicyError("Nobody may edit their own rights: ask another owner.")
    if owner.hospital_id != subject.hospital_id:
        raise PolicyError("This user belongs to another hospital.")
    _check_owner(owner)


def _check_owner(owner: User) -> None:
    """Check that the owner is one now, with the hospital locked: two owners cannot depose each other at once."""
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("must run inside the transaction of the change")
    Hospital.objects.select_for_update().get(pk=owner.hospital_id)
    if not User.objects.filter(pk=owner.pk, is_hospital_owner=True, is_active=True).exists():
        raise PolicyError("This page is for those who manage the hospital. Ask them to do it for you.")
