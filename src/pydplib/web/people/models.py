"""Hospitals (tenants), users, one-time links, recovery codes."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from typing import ClassVar, TypedDict, Unpack

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models, transaction
from django.db.models.base import ModelBase
from django.db.models.functions import Lower
from django.utils import timezone

from pydplib.errors import ParameterError
from pydplib.web.people.names import check_name, folded, skeleton

TAKEN = "An organisation cannot be called so: the name is in use, or looks too much like one that is or was."


def new_key() -> str:
    """Return a short random key for addresses: nothing can be counted or guessed from it."""
    return secrets.token_hex(8)


def new_keys(number: int) -> list[str]:
    """Return many of them at once."""
    text = secrets.token_hex(8 * number)
    return [text[begin : begin + 16] for begin in range(0, 16 * number, 16)]


def hash_of(token: str) -> str:
    """Return what the database stores of a link's or a program's token (256 random bits: a plain hash is enough)."""
    return hashlib.sha256(token.encode()).hexdigest()


class SaveOptions(TypedDict, total=False):
    """What ``save`` of a model takes."""

    force_insert: bool | tuple[ModelBase, ...]
    force_update: bool
    using: str | None
    update_fields: Iterable[str] | None


class Hospital(models.Model):
    """A tenant: a hospital, or a partner such as a company. Tenants do not see each other."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    name = models.CharField(max_length=120)
    created = models.DateTimeField(default=timezone.now, editable=False)
    # Days for which people whose role needs a second factor may still come in without one, after they were asked.
    second_factor_grace = models.PositiveSmallIntegerField(default=7)

    def __str__(self) -> str:
        return self.name

    def save(self, **options: Unpack[SaveOptions]) -> None:
        """Save, and reserve the name: receipts are signed in it, so nobody else may ever be called so, or nearly so.

        Raises:
            ParameterError: The name is another organisation's, or was, or looks like one.
        """
        with transaction.atomic():
            self.name = check_name(self.name)
            super().save(**options)
            HospitalName.reserve(self)


class HospitalName(models.Model):
    """A name that an organisation has or had; old receipts carry it, so it stays reserved for good."""

    MOST = 5
    """How many names one organisation may hold: nobody can use up the names of others."""

    hospital = models.ForeignKey(Hospital, on_delete=models.CASCADE, related_name="names")
    name = models.CharField(max_length=120)
    folded = models.CharField(max_length=400, unique=True)
    skeleton = models.CharField(max_length=800, unique=True)
    since = models.DateTimeField(default=timezone.now, editable=False)

    @classmethod
    def reserve(cls, hospital: Hospital) -> None:
        """Reserve the hospital's present name within an open transaction; raise ``ParameterError`` if it is taken."""
        marks = {"folded": folded(hospital.name), "skeleton": skeleton(hospital.name)}
        alike = cls.objects.filter(models.Q(folded=marks["folded"]) | models.Q(skeleton=marks["skeleton"]))
        owners = set(alike.values_list("hospital_id", flat=True))
        if owners - {hospital.pk}:
            raise ParameterError(TAKEN)
        if owners:
            return  # an own one, of today or earlier, perhaps spelled a little differently
        if cls.objects.filter(hospital=hospital).count() >= cls.MOST:
            raise ParameterError(
                f"An organisation keeps all names it ever had, {cls.MOST} at most, because its receipts carry them. "
                "Go back to one of them."
            )
        cls.objects.create(hospital=hospital, name=hospital.name, **marks)


class UserManager(BaseUserManager):  # type: ignore[type-arg]
    """Makes users; the name is kept as typed and compared without case."""

    def create_user(self, username: str, *, hospital: Hospital, password: str | None = None, **more: object) -> User:
        """Make a user; without a password nobody can sign in until a one-time link set one."""
        user: User = self.model(username=username, hospital=hospital, **more)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        """Find a user by name, without case."""
        user: User = self.get(username__iexact=username)
        return user


class User(AbstractBaseUser):
    """Somebody who signs in. What they may do comes from their membership of a project, and from nowhere else.

    ``is_hospital_owner`` opens the hospital's own pages: making projects, inviting people, one-time links.
    There is no superuser, and Django's admin is not mounted.
    """

    username = models.CharField(max_length=80)
    full_name = models.CharField(max_length=120, blank=True)
    hospital = models.ForeignKey(Hospital, on_delete=models.PROTECT, related_name="users")
    is_hospital_owner = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    created = models.DateTimeField(default=timezone.now, editable=False)
    second_factor_asked = models.DateTimeField(null=True)  # the sign-in from which the grace period counts

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    is_verified: Callable[[], bool]  # django-otp's middleware adds it to the user of a request
    otp_device: object  # and this one says which device gave the code

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(Lower("username"), name="one_user_per_name")]

    def __str__(self) -> str:
        return self.full_name or self.username

    @property
    def key(self) -> str:
        """How addresses name this user."""
        return self.username

    @property
    def state(self) -> str:
        """``"disabled"``, ``"invited"`` (never in, and no way in but a link), or ``"active"``."""
        if not self.is_active:
            return "disabled"
        return "active" if self.has_usable_password() or self.last_login else "invited"


class OneTimeLink(models.Model):
    """A link that works once: to set the first password, to reset it, or (demonstration only) to sign in.

    The database holds a hash; the link itself is shown once to whoever made it.
    """

    class Purpose(models.TextChoices):
        """What the link is for."""

        SETUP = "setup", "Set up this server"
        WELCOME = "welcome", "Choose a password"
        RESET = "reset", "Reset the password"
        DEMO = "demo", "Sign in to the demonstration"

    token_hash = models.CharField(max_length=64, unique=True)
    purpose = models.CharField(max_length=10, choices=Purpose.choices)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="links")
    made_by = models.CharField(max_length=80, default="system")
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True)


class RecoveryCode(models.Model):
    """A code for the day when the phone is lost; stored as a hash, works once."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    code_hash = models.CharField(max_length=200)
    used = models.DateTimeField(null=True)


class SignedInSession(models.Model):
    """A session of a user, so that it can be listed and ended."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="signed_in_sessions")
    session_key = models.CharField(max_length=40, unique=True)
    browser = models.CharField(max_length=120, blank=True)
    started = models.DateTimeField(default=timezone.now)
    last_seen = models.DateTimeField(default=timezone.now)


class TryCount(models.Model):
    """How often something was tried in the running window; see ``rate_limits``."""

    name = models.CharField(max_length=64, unique=True)  # a hash: it names neither a user nor an address
    since = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)
