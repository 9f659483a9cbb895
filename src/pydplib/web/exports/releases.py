"""Who gets an export: the policy, the ledger, the recall list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.http import Http404
from django.utils import timezone

from pydplib.errors import DataError, ParameterError, PolicyError
from pydplib.policy import GROUP, NEW_MEMBER, PARTNER_ROLES, ROLES, Decision, OutputLabel, roles_with
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.exports import files as storing
from pydplib.web.exports.models import Download, Export
from pydplib.web.exports.plans import ExportPlan
from pydplib.web.exports.runs import earlier_exports
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest
from pydplib.web.projects.policy.flows import check_flow_for, flow_for
from pydplib.web.projects.words import audience_words, plain

LABEL: OutputLabel = "k_anonymous"
AUDIENCE = "audience:"
"""How the ledger names an audience, as against an organisation."""
_State = Export.State


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceChoice:
    """An audience on the page of a release.

    Args:
        name: A role or ``"group:name"``.
        title: Its words.
        allowed: Whether the policy lets the export go there.
        reason: Why, or why not.
        people: How many members that would be.
    """

    name: str
    title: str
    allowed: bool
    reason: str
    people: int


def place_for(audience: str) -> Member:
    """Return the place in which the policy is asked about an audience; of a group, the least of its members."""
    if audience.startswith(GROUP):
        return Member.as_role(NEW_MEMBER, groups=(audience.removeprefix(GROUP),))
    return Member.as_role(audience)


def audiences_of(project: Project) -> list[str]:
    """Return whom an export could be released to: roles that ask, and groups that the policy names."""
    roles = list(PARTNER_ROLES)
    groups = [rule.audience for rule in project.policy.rules if rule.audience.startswith(GROUP)]
    return roles + sorted(set(groups))


def choices_of(export: Export) -> list[AudienceChoice]:
    """Return every audience with the policy's answer for this export."""
    return recipients_of(export.project, export.columns)


def recipients_of(project: Project, fields: Iterable[str] = ()) -> list[AudienceChoice]:
    """Return every audience with the policy's answer for an anonymized table of these fields."""
    members, leaving = list(project.members.all()), list(fields)
    found = []
    for name in audiences_of(project):
        decision = _flow(project, place_for(name), leaving)
        people = sum(_is_in(member.role, member.groups, [name]) for member in members)
        found.append(
            AudienceChoice(
                name=name,
                title=audience_words(name),
                allowed=decision.allow,
                reason=plain(decision.reason),
                people=people,
            )
        )
    return found


def decision_for(export: Export, place: Member) -> Decision:
    """Ask the policy whether the export may go to somebody, by the policy of today."""
    return _flow(export.project, place, export.columns)


def _flow(project: Project, place: Member, fields: Iterable[str]) -> Decision:
    return flow_for(project, place, LABEL, purpose=project.purpose, fields=fields)


def concerns(export: Export, place: Member) -> bool:
    """Return whether an export is somebody's business: owners', and of those whom it was released to."""
    if place.can("manage_data"):
        return True
    return export.has_left and _is_in(place.role, place.groups, export.audiences)


def _is_in(role: str, groups: Iterable[str], audiences: Iterable[str]) -> bool:
    mine = {role, *(f"{GROUP}{name}" for name in groups)}
    return not mine.isdisjoint(audiences) and "ask" in ROLES[role].powers


def visible(project: Project, place: Member) -> list[Export]:
    """Return the exports that somebody may see now, newest first."""
    found = Export.objects.filter(project=project).exclude(state=_State.DISCARDED)
    listed = [each for each in found.select_related("project", "by", "snapshot") if concerns(each, place)]
    if place.can("manage_data"):
        return listed
    return [each for each in listed if each.state == _State.RELEASED and decision_for(each, place)]


def check_concerns(request: TargetRequest[Export]) -> Export:
    """Return the export of the address if it is the user's business; else it looks as if it were not there."""
    export: Export = request.target
    if not concerns(export, request.member) or export.state == _State.DISCARDED:
        raise Http404
    return export


def release(actor: User, export: Export, audiences: Iterable[str]) -> None:
    """Release a checked export to audiences; each must be allowed by the policy, and the ledger is written first.

    Raises:
        PolicyError: The policy does not let it go to one of them; logged.
        ParameterError: It does not hold, is not made, or does not know of an export that was released meanwhile.
    """
    chosen = sorted(set(audiences))
    known = audiences_of(export.project)
    if not chosen or any(name not in known for name in chosen):
        raise ParameterError("Choose at least one audience that the policy knows.")
    for name in chosen:
        decision = decision_for(export, place_for(name))
        if not decision:
            record(actor, "flow.refuse", export.key, project=export.project, reason=decision.reason, role=name)
            raise PolicyError(f"{plain(decision.reason)} Change the policy first, or choose another audience.")
    _check_ready(export)
    for kind in storing.KINDS:
        storing.check_file(export, kind)
    for name in chosen:
        _enter(export, recipient=f"{AUDIENCE}{name}", role=name)
    with recorded(actor, project=export.project) as log:
        Project.objects.select_for_update().get(pk=export.project.pk)  # of two releases, the second sees the first
        _check_ready(export)
        now = timezone.now()
        # The very files that were checked: one that was made again meanwhile has others.
        kept = Export.objects.filter(pk=export.pk, state__in=(_State.READY, _State.RELEASED), file=export.file)
        if not kept.update(state=_State.RELEASED, audiences=chosen, released=export.released or now):
            raise ParameterError("This export is not ready to be released. Look again.")
        log.add(
            "export.release",
            export.key,
            audiences=chosen,
            models=[str(m) for m in ExportPlan.from_dict(export.plan).rules],
        )
    export.refresh_from_db()


def _check_ready(export: Export) -> None:
    if export.state not in (_State.READY, _State.RELEASED):
        raise ParameterError("This export is not ready to be released. Look again.")
    if not export.result.get("holds"):
        raise ParameterError("The models do not hold on the output, so it cannot be released. Change the plan.")
    if export.released is not None:
        return
    if not export.snapshot.file:
        raise DataError("Somebody was erased since, and is in this export. Make it again from the current data.")
    unknown = [each for each in earlier_exports(export) if each.key not in export.result["earlier"]]
    if unknown:
        raise ParameterError(
            f"Since this export was made, '{unknown[0].title}' was released. Make it again, so that both hold together."
        )


def _enter(export: Export, *, recipient: str, role: str) -> None:
    """Write into the ledger that a table without differential privacy went to somebody; once for each."""
    ledger, note = DatabaseLedger(), f"export {export.key}"
    entries = ledger.entries(lineage=export.project.key, recipient=recipient.lower())
    if any(entry.kind == "no_dp" and entry.details.get("note") == note for entry in entries):
        return
    mechanism = "anonymize: " + ", ".join(str(model) for model in ExportPlan.from_dict(export.plan).rules)
    ledger.enter_no_dp(
        lineage=export.project.key, recipient=recipient, role=role, mechanism=mechanism[:200].strip(), note=note
    )


def take(request: ProjectRequest, export: Export, kind: str) -> Path:
    """Return the path of a file for somebody who may have it; policy, ledger, recall list and log first.

    Raises:
        PolicyError: The policy of today does not let it go to this member; logged.
        DataError: The file is gone or was changed.
    """
    own = request.member.can("manage_data")
    if export.state == _State.WITHDRAWN and not own:
        record(request.user, "flow.refuse", export.key, project=export.project, reason="The export was withdrawn.")
        raise PolicyError("The owner has withdrawn this export. Delete the copies that you have.")
    if export.state not in (_State.RELEASED, _State.WITHDRAWN) and not (own and export.state == _State.READY):
        raise Http404
    check_flow_for(request, LABEL, purpose=export.project.purpose, fields=export.columns)
    path = storing.check_file(export, kind)
    recipient = recipient_of(request.user)
    if not own:  # owners hold the original
        _enter(export, recipient=recipient, role=request.member.role)
    with recorded(request.user, project=export.project) as log:
        Download.objects.create(
            export=export, user=request.user, recipient=recipient, role=request.member.role, kind=kind
        )
        log.add("export.download", export.key, kind=kind, role=request.member.role)
    return path


def withdraw(actor: User, export: Export, *, reason: str) -> None:
    """Take an export back: no further download, and those who have a copy are told."""
    with recorded(actor, project=export.project) as log:
        kept = Export.objects.filter(pk=export.pk, state=_State.RELEASED)
        if not kept.update(state=_State.WITHDRAWN, withdrawn=timezone.now(), reason=reason[:400]):
            raise ParameterError("Only an export that is released can be withdrawn.")
        copies = export.partner_copies().values("user").distinct().count()
        log.add("export.withdraw", export.key, copies=copies)
    export.refresh_from_db()


def holders(export: Export) -> int:
    """Return how many people other than the owners have a copy."""
    return export.partner_copies().values("user").distinct().count()


def copies_of(export: Export, user: User) -> list[Download]:
    """Return a user's own copies."""
    return list(export.downloads.filter(user=user))


def named_holders(export: Export) -> list[tuple[Download, str]]:
    """Return every copy with the name of the organisation that has it."""
    names = dict(Hospital.objects.values_list("key", "name"))
    return [(copy, names.get(copy.recipient, copy.recipient)) for copy in export.downloads.select_related("user")]


def taken_by(user: User, key: str) -> Export | None:
    """Return an export of which a user has a copy, whether or not they are still in the project."""
    copy = Download.objects.filter(export__key=key, user=user).select_related("export__project__hospital").first()
    return None if copy is None else copy.export


def confirm_deleted(user: User, export: Export) -> int:
    """Note that somebody has deleted their own copies; returns how many."""
    with recorded(user, project=export.project) as log:
        mine = Download.objects.filter(export=export, user=user, deleted__isnull=True)
        count = mine.update(deleted=timezone.now())
        if count:
            log.add("export.deleted", export.key, copies=count)
    return count


def recalls_for(user: User) -> list[Export]:
    """Return the withdrawn exports of which somebody still has a copy, for the home page; left members are told too."""
    mine = Download.objects.filter(user=user, deleted__isnull=True).exclude(role__in=roles_with("edit_policy"))
    found = Export.objects.filter(state=_State.WITHDRAWN, pk__in=mine.values("export"))
    return list(found.select_related("project"))
