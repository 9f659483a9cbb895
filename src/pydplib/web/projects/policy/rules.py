"""Change the policy: rows are edited, added and taken away; nothing here raises a budget."""

from __future__ import annotations

import re
from dataclasses import replace

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import GROUP, PolicyRule, can_edit_rights, check_edit_rights, check_use
from pydplib.web.people.models import User
from pydplib.web.projects.allowances import raise_by
from pydplib.web.projects.changes import ProjectChange, changing
from pydplib.web.projects.models import Member, Project, Rule

COLUMNS = (
    "label", "fields", "filters", "epsilon_per_question", "budget", "expires", "purpose", "paper_mode", "synthetic"
)  # fmt: skip
_GROUP_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


def is_raise(before: float | None, after: float | None) -> bool:
    """Return whether a budget would grow; no budget of its own is the largest of all.

    Examples:
        >>> is_raise(2.0, 3.0), is_raise(2.0, None), is_raise(None, 2.0), is_raise(2.0, 1.0)
        (True, True, False, False)
    """
    return before is not None and (after is None or after > before)


def can_edit_rule(role: str, member: Member, rule: Rule) -> bool:
    """Return whether somebody may edit a row: owners, and not a row that is about themselves.

    Args:
        role: The role as it counts now.
        member: Who would edit: with ``user``, ``role`` and ``groups``.
        rule: The row.
    """
    editor = member.user.username
    return can_edit_rights(role, editor=editor, subject=_subject(member, rule))


def check_edit_rule(role: str, member: Member, rule: Rule) -> None:
    """Raise ``PolicyError`` unless ``can_edit_rule``."""
    check_edit_rights(role, editor=member.user.username, subject=_subject(member, rule))


def _subject(member: Member, rule: Rule) -> str:
    """A row that is about the editor is the editor's own right."""
    own = rule.to_rule().is_for(member.role, tuple(member.groups))
    return str(member.user.username) if own else f"row {rule.audience}"


def change_rule(actor: User, rule: Rule, wanted: PolicyRule) -> list[str]:
    """Put other terms into a row; return the names of what changed. A larger budget is refused: it takes two owners."""
    with changing(actor, rule.project) as change:
        row = _fresh(rule, change)
        _check_not_own(change, actor, row)
        before, after = row.to_rule(), replace(wanted, audience=row.audience, project=change.project.key)
        if is_raise(before.budget, after.budget):
            raise PolicyError(
                "Raising a budget takes two owners. Propose it under Requests; everything else can be changed here."
            )
        _check_raises_nobody(change, row, after)
        changed = [name for name in COLUMNS if getattr(before, name) != getattr(after, name)]
        if changed:
            fresh = Rule.from_rule(change.project, after)
            for name in COLUMNS:
                setattr(row, name, getattr(fresh, name))
            row.save()
            old, new = before.to_dict(), after.to_dict()
            change.log.add(
                "policy.change",
                row.audience,
                before={name: old.get(name) for name in changed},
                after={name: new.get(name) for name in changed},
            )
    return changed


def add_group(actor: User, project: Project, name: str, wanted: PolicyRule) -> Rule:
    """Add a row for a named group. For its members the strictest budget of all their rows counts."""
    if not _GROUP_NAME.fullmatch(name):
        raise ParameterError("A group's name is small letters, digits and hyphens, such as acme-research.")
    with changing(actor, project) as change:
        check_use(change.role, "edit_policy")
        audience = GROUP + name
        if change.project.rules.filter(audience=audience).exists():
            raise ParameterError(f"There is a row for the group '{name}' already.")
        row = Rule.from_rule(change.project, replace(wanted, audience=audience, project=change.project.key))
        _check_not_own(change, actor, row)
        row.save()
        change.log.add("policy.add", audience, row=row.to_rule().to_dict())
    return row


def remove_group(actor: User, rule: Rule) -> None:
    """Take a group's row away once nobody is in the group; rows of roles stay (open nothing instead)."""
    with changing(actor, rule.project) as change:
        row = _fresh(rule, change)
        check_use(change.role, "edit_policy")
        if not row.audience.startswith(GROUP):
            raise PolicyError("The row of a role cannot be taken away; let it open nothing instead.")
        name = row.audience.removeprefix(GROUP)
        inside = [member for member in Member.objects.filter(project=change.project) if name in member.groups]
        if inside:
            # A row may be what keeps its members' budget small: taking it away under them would raise it.
            raise PolicyError(
                f"{len(inside)} members are in the group '{name}': take them out on the members page first."
            )
        change.log.add("policy.remove", row.audience, row=row.to_rule().to_dict())
        row.delete()


def lower_data_set_budget(actor: User, project: Project, budget: float) -> None:
    """Make what all recipients together may learn smaller; making it larger takes two owners."""
    with changing(actor, project) as change:
        check_use(change.role, "edit_policy")
        before = change.project.data_set_budget
        if is_raise(before, budget):
            raise PolicyError("Raising the data set's budget takes two owners. Propose it under Requests.")
        if budget <= 0:
            raise ParameterError("The data set's budget is a positive number.")
        if budget == before:
            return
        change.project.data_set_budget = budget
        change.project.save(update_fields=["data_set_budget"])
        change.log.add("policy.data_set_budget", project.key, before=before, after=budget)


def lower_dashboard_budget(actor: User, project: Project, audience: str, budget: float) -> None:
    """Make what the dashboards of an audience may spend together smaller; making it larger takes two owners."""
    with changing(actor, project) as change:
        check_use(change.role, "edit_policy")
        before = change.project.dashboard_budget(audience)
        if before is None:
            raise ParameterError("No row of the policy mentions this audience, so it has no dashboards.")
        if is_raise(before, budget):
            raise PolicyError("Raising a budget takes two owners. Propose it; it counts once another owner agrees.")
        if budget <= 0:
            raise ParameterError("A budget is a positive number.")
        if budget == before:
            return
        change.project.dashboard_budgets[audience] = budget
        change.project.save(update_fields=["dashboard_budgets"])
        change.log.add("policy.dashboard_budget", audience, before=before, after=budget)


def _check_raises_nobody(change: ProjectChange, row: Rule, after: PolicyRule) -> None:
    """A row that ends early no longer keeps a budget small: that is a raise too."""
    policy = change.project.policy
    rules = tuple(after if rule.audience == row.audience else rule for rule in policy.rules)
    wanted, seen = replace(policy, rules=rules), set()
    for member in Member.objects.filter(project=change.project).select_related("user__hospital"):
        if member.user.hospital_id not in seen and after.is_for(member.role, tuple(member.groups)):
            seen.add(member.user.hospital_id)
            more = raise_by(change.project, member.user, policy=wanted, caps=False)
            if more is not None:
                raise PolicyError(
                    f"This would raise {more.words}, because this row would no longer hold it down. Raising a budget "
                    "takes two owners: propose it under Requests."
                )


def _fresh(rule: Rule, change: ProjectChange) -> Rule:
    found = Rule.objects.select_for_update().filter(pk=rule.pk, project=change.project).first()
    if found is None:
        raise ParameterError("This row was taken away in the meantime.")
    return found


def _check_not_own(change: ProjectChange, actor: User, row: Rule) -> None:
    check_edit_rule(change.role, Member.objects.select_related("user").get(project=change.project, user=actor), row)
