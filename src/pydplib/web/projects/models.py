"""Projects, members, policy rows, requests for more and their approvals."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.text import slugify

from pydplib.policy import LABELS, NEW_MEMBER, ROLES, Policy, PolicyRule, Power, can_use, roles_with
from pydplib.web.people.models import new_key

if TYPE_CHECKING:
    from pydplib.web.reporting.models import TemplateVersion

ROLE_CHOICES = [(role.name, role.title) for role in ROLES.values()]


def project_key(name: str) -> str:
    """Return a readable key that cannot be guessed: ``pirads-4f2a91``, or ``grosses-register-...`` with an ß."""
    return f"{slugify(name.casefold())[:24].strip('-') or 'project'}-{secrets.token_hex(3)}"


class Project(models.Model):
    """What data are collected for, on which legal basis, until when, with which template."""

    key = models.CharField(max_length=40, unique=True, editable=False)
    hospital = models.ForeignKey("people.Hospital", on_delete=models.PROTECT, related_name="projects")
    name = models.CharField(max_length=120)
    purpose = models.TextField()
    legal_basis = models.TextField()
    retention_until = models.DateField()
    created = models.DateTimeField(default=timezone.now, editable=False)
    is_synthetic = models.BooleanField(default=False)
    # Counts accepted changes; partners' analyses run on a published snapshot, never on the live table.
    data_version = models.PositiveBigIntegerField(default=0)
    # What all recipients together may learn; the rows are `rules`.
    data_set_budget = models.FloatField(default=Policy().data_set_budget)
    delta = models.FloatField(default=Policy().delta)
    # Audience -> what its dashboards may spend together, where that is not what its row says.
    dashboard_budgets = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    @property
    def policy(self) -> Policy:
        """The data flow policy as ``pydplib.policy`` reads it; no row means no."""
        return Policy.of_rows(
            [{**row.said, "project": self.key} for row in self.rules.all()], self.data_set_budget, self.delta
        )

    @property
    def template_version(self) -> TemplateVersion | None:
        """The version of the template that new reports are written with; none while there is none."""
        found: TemplateVersion | None = self.templates.filter(is_current=True).order_by("-number").first()
        return found

    def active_owners(self) -> models.QuerySet[Member]:
        """Return the owners who can sign in."""
        return self.members.filter(role__in=roles_with("edit_policy"), user__is_active=True)

    def dashboard_budget(self, audience: str) -> float | None:
        """Return what the dashboards of an audience may spend together; none if no row is about it."""
        row = self.rules.filter(audience=audience).first()
        if row is None:
            return None
        own = self.dashboard_budgets.get(audience)
        return float(own) if own is not None else row.budget or self.data_set_budget


class CurrentMembers(models.Manager["Member"]):
    """All places but those whose last day is over: nobody finds these, so they open nothing."""

    def get_queryset(self) -> models.QuerySet[Member]:
        """Leave out what has ended."""
        return super().get_queryset().filter(Member.is_current())


class Member(models.Model):
    """Somebody's place in a project. Deleting the row takes the rights away at the next request."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=40, choices=ROLE_CHOICES, default=NEW_MEMBER)
    department = models.CharField(max_length=80, blank=True)  # a radiologist sees the reports of their own department
    groups = models.JSONField(default=list, blank=True)  # names for policy rows such as "group:acme"
    since = models.DateTimeField(default=timezone.now, editable=False)
    role_since = models.DateTimeField(default=timezone.now)  # who became an owner later has no say in older requests
    until = models.DateField(null=True, blank=True)  # the last day; housekeeping takes the row away after it

    objects = CurrentMembers()
    all_objects = models.Manager()

    preview = False
    """Whether an owner looks through another role's eyes; see ``as_role``."""

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project", "user"], name="one_place_per_project")]
        ordering = ("role", "user__username")

    @staticmethod
    def is_current(path: str = "") -> models.Q:
        """Return the condition that a place has not ended, for a query that reaches it by ``path``."""
        today = timezone.localdate()
        return models.Q(**{f"{path}until__isnull": True}) | models.Q(**{f"{path}until__gte": today})

    def can(self, power: Power) -> bool:
        """Return whether the role has the power."""
        return can_use(self.role, power)

    @property
    def title(self) -> str:
        """The role for readers."""
        return ROLES[self.role].title

    @classmethod
    def as_role(cls, role: str, *, department: str = "", groups: Iterable[str] = (), preview: bool = False) -> Member:
        """Return nobody in particular with a role: what would such a member get? It is not to be saved."""
        member = cls(role=role, department=department, groups=list(groups))
        member.preview = preview
        return member


class Invitation(models.Model):
    """An owner invites a name of another organisation. It points to nobody: whether such a user exists is not told."""

    class State(models.TextChoices):
        """Where it stands."""

        OPEN = "open", "Open"
        ACCEPTED = "accepted", "Accepted"
        DECLINED = "declined", "Declined"
        WITHDRAWN = "withdrawn", "Withdrawn"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="invitations_made")
    typed = models.CharField(max_length=80)  # the user name as the owner wrote it
    organisation = models.CharField(max_length=120, blank=True)  # as the owner wrote it, for the owner's list alone
    # What is given on acceptance; a role that raises what the organisation has becomes a proposal instead.
    role = models.CharField(max_length=40, choices=ROLE_CHOICES, default=NEW_MEMBER)
    group = models.CharField(max_length=40, blank=True)  # the policy's row that holds the budget of this invitation
    until = models.DateField(null=True, blank=True)
    reason = models.CharField(max_length=400, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    made = models.DateTimeField(default=timezone.now, editable=False)
    decided = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-made", "-id")

    def close(self, state: State) -> None:
        """End an open invitation; the caller holds it locked."""
        self.state, self.decided = state, timezone.now()
        self.save(update_fields=["state", "decided"])


class Rule(models.Model):
    """One row of the policy, as ``pydplib.policy.PolicyRule`` has it."""

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rules")
    audience = models.CharField(max_length=80)
    label = models.CharField(max_length=20, choices=[(label, label) for label in LABELS])
    fields = models.JSONField(default=list, blank=True)
    filters = models.JSONField(default=list, blank=True)
    epsilon_per_question = models.FloatField(null=True, blank=True)
    budget = models.FloatField(null=True, blank=True)
    expires = models.DateField(null=True, blank=True)
    purpose = models.CharField(max_length=120, default="*")
    paper_mode = models.BooleanField(default=False)
    synthetic = models.BooleanField(default=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["project", "audience"], name="one_rule_per_audience")]
        ordering = ("id",)

    def to_rule(self) -> PolicyRule:
        """Return the row as the policy room knows it; its project is this one."""
        return PolicyRule(**self.said, project=self.project.key)

    @property
    def said(self) -> dict[str, Any]:
        """What the row says, by the names of ``PolicyRule``."""
        names = ("audience", "label", "epsilon_per_question", "budget", "expires", "purpose", "paper_mode", "synthetic")
        return {name: getattr(self, name) for name in names} | {
            "fields": tuple(self.fields),
            "filters": tuple(self.filters),
        }

    @classmethod
    def from_rule(cls, project: Project, rule: PolicyRule) -> Rule:
        """Return an unsaved row."""
        return cls(
            project=project,
            audience=rule.audience,
            label=rule.label,
            fields=list(rule.fields),
            filters=list(rule.filters),
            epsilon_per_question=rule.epsilon_per_question,
            budget=rule.budget,
            expires=rule.expires,
            purpose=rule.purpose,
            paper_mode=rule.paper_mode,
            synthetic=rule.synthetic,
        )


class AccessRequest(models.Model):
    """Somebody asks for more: budget, fields or another role; owners decide, with a reason."""

    class Kind(models.TextChoices):
        """What is asked for."""

        BUDGET = "budget", "More budget"
        FIELDS = "fields", "More fields"
        ROLE = "role", "Another role"

    class State(models.TextChoices):
        """Where it stands."""

        OPEN = "open", "Open"
        APPROVED = "approved", "Approved"
        REFUSED = "refused", "Refused"
        WITHDRAWN = "withdrawn", "Withdrawn"

    key = models.CharField(max_length=16, unique=True, default=new_key, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="requests")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="requests")
    # Whose rights would change: an audience of the policy, "*" for the whole data set's budget, a user name for a role.
    beneficiary = models.CharField(max_length=80)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    # {"budget": 4.0, "from": 2.0} | {"fields": [...]} | {"role": "collaborator", "from": "third_party"}
    asked = models.JSONField(default=dict)
    reason = models.TextField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    made = models.DateTimeField(default=timezone.now, editable=False)
    decided = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["project", "by", "kind", "beneficiary"],
                condition=models.Q(state="open"),
                name="one_open_request_of_a_kind",
            )
        ]
        ordering = ("-made", "-id")

    def close(self, state: State) -> None:
        """End an open request; the caller holds it locked."""
        self.state, self.decided = state, timezone.now()
        self.save(update_fields=["state", "decided"])


class Approval(models.Model):
    """One owner's word on a request; raising a budget takes two."""

    request = models.ForeignKey(AccessRequest, on_delete=models.CASCADE, related_name="approvals")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="approvals")
    agrees = models.BooleanField()
    reason = models.TextField(blank=True)
    time = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["request", "by"], name="one_word_per_owner")]
