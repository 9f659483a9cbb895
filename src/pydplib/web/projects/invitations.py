"""Invitations into a project: somebody of another organisation joins by accepting, and is not known here before.

An owner types a user name and always gets the same answer. The row holds what was typed and points to nobody, so that
neither a page nor a table tells whether such a user exists; who has that name then finds it, and decides. A user who is
made later under the name does not. A refusal looks like no answer: an unknown name never refuses.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.utils import timezone

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import NEW_MEMBER, check_edit_rights
from pydplib.web import hooks
from pydplib.web.auditlog.log import recorded
from pydplib.web.people import rate_limits
from pydplib.web.people.accounts import family_of
from pydplib.web.people.models import User
from pydplib.web.projects.changes import changing, tell_hospital
from pydplib.web.projects.memberships import start_membership
from pydplib.web.projects.models import Invitation, Member, Project

State = Invitation.State
LASTS = dt.timedelta(days=30)
"""How long an invitation can be accepted."""
REST = dt.timedelta(days=90)
"""For how long after a refusal the same project's invitations are not shown to the one who refused."""
MOST_OPEN = 50
"""How many invitations of one project may wait at a time."""


def invite(actor: User, project: Project, name: str) -> Invitation:
    """Invite whoever signs in under this name, if anybody does; the same steps and the same answer in any case.

    Args:
        actor: The owner who does it.
        project: The project.
        name: The user name as typed; letters may be small or capital.
    """
    typed = name.strip()
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
        made = Invitation.objects.create(project=change.project, by=actor, typed=typed)
        change.log.add("member.invite", typed)
        user = User.objects.filter(username__iexact=typed, is_active=True).select_related("hospital").first()
        # A line either way, so that both take as long; one about nobody belongs to no hospital's log.
        tell_hospital(change.log, user, "invitation.receive", typed, project)
    return made


def waiting(project: Project) -> Any:
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
        .exclude(project__in=refused)
        .exclude(project__members__user=user)
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
    """Become a member, as third party like everybody new; of two clicks at once, one counts."""
    with recorded(user, project=invitation.project) as log:
        project = Project.objects.select_for_update().get(pk=invitation.project_id)
        _close(invitation, State.ACCEPTED)
        member = start_membership(project, user)
        log.add("member.accept", user.username, role=NEW_MEMBER, invited_by=invitation.by.username)
        tell_hospital(log, user, "membership.begin", user.username, project)
    return member


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


def _close(invitation: Invitation, state: object) -> None:
    found = Invitation.objects.select_for_update().get(pk=invitation.pk)
    if found.state != State.OPEN or found.made <= timezone.now() - LASTS:
        raise ParameterError("This invitation was withdrawn or answered in the meantime.")
    found.close(state)
