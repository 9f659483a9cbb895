"""Invitations into a project: somebody of another organisation joins by accepting, and is not known here before.

An owner types a user name and always gets the same answer. The row holds what was typed and points to nobody, so that
neither a page nor a table tells whether such a user exists; who has that name then finds it, and decides. A user who is
made later under the name does not. A refusal looks like no answer: an unknown name never refuses.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import slugify

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import GROUP, NEW_MEMBER, PARTNER_ROLES, ROLES, PolicyRule, check_edit_rights
from pydplib.web import hooks
from pydplib.web.auditlog.log import recorded
from pydplib.web.people.accounts import family_of
from pydplib.web.people.models import User
from pydplib.web.people.sign_in import rate_limits
from pydplib.web.projects.allowances import Seat, raise_by
from pydplib.web.projects.changes import ProjectChange, changing, tell_hospital
from pydplib.web.projects.members.memberships import propose_rights, start_membership
from pydplib.web.projects.models import Invitation, Member, Project, Rule

State = Invitation.State
LASTS = dt.timedelta(days=30)
"""How long an invitation can be accepted."""
REST = dt.timedelta(days=90)
"""For how long after a refusal the same project's invitations are not shown to the one who refused."""
MOST_OPEN = 50
"""How many invitations of one project may wait at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationTerms:
    """What somebody gets who accepts.

    Args:
        organisation: Where they work, as the owner wrote it.
        role: Collaborator or third party.
        budget: Epsilon in total, at most what the role has; none for what the role has.
        until: The last day of the membership; none for no end.
        reason: Why; shown to the second owner where the role takes one.
    """

    organisation: str = ""
    role: str = NEW_MEMBER
    budget: float | None = None
    until: dt.date | None = None
    reason: str = ""


def invite(actor: User, project: Project, name: str, terms: InvitationTerms | None = None) -> Invitation:
    """Invite whoever signs in under this name, if anybody does; the same steps and the same answer in any case.

    Args:
        actor: The owner who does it.
        project: The project.
        name: The user name as typed; letters may be small or capital.
        terms: What is given on acceptance; none for the place of everybody new.
    """
    typed, terms = name.strip(), terms or InvitationTerms()
    if terms.role not in PARTNER_ROLES:
        raise PolicyError("People of other organisations can be collaborator or third party.")
    if terms.until is not None and terms.until < timezone.localdate():
        raise ParameterError("The last day is over already. Choose a later one.")
    if not rate_limits.take("invite", family_of(actor.hospital)):
        raise PolicyError("Your organisation has invited many people in a short time. Try again in an hour.")
    with changing(actor, project) as change:
        check_edit_rights(change.role, editor=actor.username, subject=typed)
        open_ones = waiting(change.project)
        if open_ones.filter(typed__iexact=typed).exists():
            raise ParameterError("This name is invited already. The invitation waits for an answer.")
        if Member.objects.filter(project=change.project, user__username__iexact=typed).exists():
            raise ParameterError("Somebody of this name is a member already.")
        if open_ones.count() >= MOST_OPEN:
            raise ParameterError(f"{MOST_OPEN} invitations wait for an answer. Withdraw some first.")
        made = Invitation.objects.create(
            project=change.project,
            by=actor,
            typed=typed,
            organisation=terms.organisation.strip(),
            role=terms.role,
            group=_group_for(change, terms),
            until=terms.until,
            reason=terms.reason.strip(),
        )
        change.log.add("member.invite", typed, role=terms.role, budget=terms.budget, until=str(terms.until or ""))
        user = User.objects.filter(username__iexact=typed, is_active=True).select_related("hospital").first()
        # A line either way, so that both take as long; one about nobody belongs to no hospital's log.
        tell_hospital(change.log, user, "invitation.receive", typed, project)
    return made


def _group_for(change: ProjectChange, terms: InvitationTerms) -> str:
    """Return the group whose row holds a smaller budget than the role's, made if need be; empty for the role's own."""
    row = change.project.rules.filter(audience=terms.role).first()
    most = None if row is None else row.budget
    if terms.budget is None or terms.budget == most:
        return ""
    if terms.budget <= 0:
        raise ParameterError("A budget is larger than 0.")
    if most is not None and terms.budget > most:
        raise ParameterError(
            f"The policy gives a {ROLES[terms.role].title.lower()} {most:g} in total. A larger budget takes two "
            "owners: propose it under Requests first, or choose a smaller one here."
        )
    stem = slugify(terms.organisation)[:32] or "invited"
    for name in (stem, *(f"{stem}-{number}" for number in range(2, 100))):
        known = change.project.rules.filter(audience=GROUP + name).first()
        if known is None:
            # It opens nothing by itself: the smallest budget of all rows counts.
            rule = PolicyRule(GROUP + name, "public", budget=terms.budget, project=change.project.key)
            Rule.from_rule(change.project, rule).save()
            change.log.add("policy.add", GROUP + name, row=rule.to_dict())
            return name
        if (known.budget, known.expires, known.label, known.fields) == (terms.budget, None, "public", []):
            return name
    raise ParameterError("The policy has many groups of this name. Use one of them on the members page.")


def waiting(project: Project) -> QuerySet[Invitation]:
    """Return the project's invitations that nobody has accepted; a refused one is among them until its time is over."""
    return Invitation.objects.filter(
        project=project, state__in=(State.OPEN, State.DECLINED), made__gt=timezone.now() - LASTS
    ).order_by("typed")


def invitations_for(user: User) -> list[Invitation]:
    """Return what a user can accept, the newest first; not from projects that they refused lately."""
    now = timezone.now()
    mine = Invitation.objects.filter(typed__iexact=user.username)
    refused = mine.filter(state=State.DECLINED, decided__gt=now - REST).values("project")
    # Who takes a name after it was invited is not the one who was meant: no organisation can lie in wait under a name.
    found = (
        mine.filter(state=State.OPEN, made__gt=now - LASTS, made__gte=user.created)
        .exclude(until__lt=timezone.localdate())  # its time would be over before it began
        .exclude(project__in=refused)
        .exclude(project__in=Member.objects.filter(user=user).values("project"))
        .select_related("project__hospital", "by")
    )
    return list(found.order_by("-made")[:10])


@hooks.account_page.register
def account_facts(user: User) -> dict[str, object]:
    """Return the open invitations, for the page of the account."""
    return {"invitations": invitations_for(user)}


def find_for(user: User, key: str) -> Invitation | None:
    """Return the invitation of an address if it is this user's to decide."""
    return next((each for each in invitations_for(user) if each.key == key), None)


def accept(user: User, invitation: Invitation) -> Member:
    """Become a member on the invitation's terms; of two clicks at once, one counts.

    A role that gives an organisation more than it has, after it spent something, is proposed to a second owner.
    """
    with recorded(user, project=invitation.project) as log:
        project = Project.objects.select_for_update().get(pk=invitation.project_id)
        _close(invitation, State.ACCEPTED)
        member = start_membership(project, user, until=invitation.until)
        _give(ProjectChange(project, "owner", log), member, invitation)
        log.add("member.accept", user.username, role=member.role, invited_by=invitation.by.username)
        tell_hospital(log, user, "membership.begin", user.username, project)
    return member


def _give(change: ProjectChange, member: Member, invitation: Invitation) -> None:
    """Put the new member into the invitation's group and role, as far as one owner alone may."""
    if invitation.group and change.project.rules.filter(audience=GROUP + invitation.group).exists():
        member.groups = sorted({*member.groups, invitation.group})
    elif invitation.group:
        raise ParameterError("The terms of this invitation do not exist any more. Ask for another invitation.")
    member.save(update_fields=["groups"])
    if invitation.role == member.role:
        return
    still_owner = change.project.active_owners().filter(user=invitation.by)
    if not still_owner.exists():  # who gave the role has no say any more: the place stays that of everybody new
        return
    after = {"role": invitation.role, "department": "", "groups": member.groups}
    more = raise_by(change.project, member.user, seat=Seat(invitation.role, tuple(member.groups)))
    if more is None:
        member.role, member.role_since = invitation.role, timezone.now()
        member.save(update_fields=["role", "role_since"])
        return
    before = {"role": member.role, "department": "", "groups": member.groups}
    reason = invitation.reason or "Invited in this role."
    propose_rights(change, invitation.by, member, before, after, more, reason)


def decline(user: User, invitation: Invitation) -> None:
    """Refuse; the one who invited sees no difference to an invitation that nobody has answered."""
    with recorded(user) as log:
        Project.objects.select_for_update().get(pk=invitation.project_id)
        _close(invitation, State.DECLINED)
        log.add("invitation.decline", user.username, organisation=invitation.project.hospital.name)


def withdraw_invitation(actor: User, invitation: Invitation) -> None:
    """Take an invitation back that was not accepted."""
    with changing(actor, invitation.project) as change:
        check_edit_rights(change.role, editor=actor.username, subject=invitation.typed)
        found = Invitation.objects.select_for_update().get(pk=invitation.pk)
        if found.state == State.ACCEPTED:
            raise ParameterError("This invitation was accepted in the meantime. Remove the member instead.")
        found.close(State.WITHDRAWN)
        change.log.add("member.uninvite", found.typed)


def _close(invitation: Invitation, state: Invitation.State) -> None:
    found = Invitation.objects.select_for_update().get(pk=invitation.pk)
    if found.state != State.OPEN or found.made <= timezone.now() - LASTS:
        raise ParameterError("This invitation was withdrawn or answered in the meantime.")
    found.close(state)
