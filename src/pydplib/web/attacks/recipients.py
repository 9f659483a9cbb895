"""What a recipient was given so far: what its account in the ledger paid for, and copies of exports."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from pydplib.attack import most_advantage, most_success, surer
from pydplib.budget.rules import spent
from pydplib.budget.units import ATTO, NANO
from pydplib.errors import PolicyError
from pydplib.policy import NEW_MEMBER, ROLES, roles_with
from pydplib.web.exports.models import Download, Export
from pydplib.web.exports.releases import AUDIENCE, audiences_of, place_for
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import Hospital
from pydplib.web.projects.allowances import most_of, terms_of
from pydplib.web.projects.models import Project
from pydplib.web.projects.words import audience_words
from pydplib.web.synthetic.models import SyntheticPurchase


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody has, or could get.

    Args:
        subject: An organisation's key, or ``"audience:role"``.
        name: Its words.
        roles: The roles of its members.
        epsilon: The loss of all that it has received with a guarantee: own questions, shared answers, dashboards,
            synthetic tables.
        delta: The chance by which the guarantee may fail, over all of it.
        questions: How many answers it has paid for.
        exports: The anonymized tables of which it has a copy.
        synthetic: The synthetic tables that it has bought; their loss is part of epsilon.
        unproven: How many other outputs it has that carry no guarantee.
        whole: Whether this is what its whole budget would buy, not what it was given.
        allowed: Epsilon that the policy allows it by its budget; none if unknown.
    """

    subject: str
    name: str
    roles: tuple[str, ...]
    _: KW_ONLY
    epsilon: float = 0.0
    delta: float = 0.0
    questions: int = 0
    exports: tuple[Export, ...] = ()
    synthetic: tuple[SyntheticPurchase, ...] = ()
    unproven: int = 0
    whole: bool = False
    allowed: float | None = None

    @property
    def bound(self) -> float:
        """How often the best guess whether a person is in the data can be right, by the guarantees alone."""
        return most_success(self.epsilon, min(self.delta, 1.0))

    @property
    def advantage(self) -> float:
        """The same as an advantage: 0 no better than a coin, 1 always right."""
        return most_advantage(self.epsilon, min(self.delta, 1.0))

    @property
    def percent(self) -> str:
        """The bound for readers, rounded up: it is never understated."""
        tenths = math.ceil(1000 * self.bound - 1e-6)
        return f"{tenths / 10:.1f} %" if tenths <= 999 else "more than 99.9 %"

    @property
    def surer(self) -> str:
        """How much surer a guess can get, for readers."""
        return surer(self.epsilon, min(self.delta, 1.0))

    @property
    def least_trusted(self) -> str:
        """The role by which it is judged: the one of its members' roles that may learn least."""
        least_trusted_first = reversed(roles_with("ask"))
        return next((role for role in least_trusted_first if role in self.roles), NEW_MEMBER)


def given_to_all(project: Project) -> list[Given]:
    """Return what every organisation has that takes part, asks, or has a copy of an export."""
    members = list(project.members.select_related("user__hospital"))
    names = {hospital.key: hospital.name for hospital in Hospital.objects.all()}
    known = {member.user.hospital.key for member in members if "ask" in ROLES[member.role].powers}
    known |= {a.recipient for a in DatabaseLedger().accounts(lineage=project.key) if a.recipient in names}
    holders = Export.objects.filter(project=project).values_list("downloads__recipient", flat=True)
    known |= {key for key in holders if key in names}
    found = [given_to(project, key) for key in sorted(known)]
    return sorted(found, key=lambda each: (-each.epsilon, each.name))


def given_to(project: Project, key: str) -> Given:
    """Return what one organisation has."""
    members = [m for m in project.members.select_related("user__hospital") if m.user.hospital.key == key]
    roles = tuple(dict.fromkeys(m.role for m in members))
    ledger = DatabaseLedger()
    # What it has is within the limit of its last payment, whatever the policy gives today.
    accounts = [
        (account, limit)
        for account in ledger.accounts(lineage=project.key, recipient=key)
        if (limit := ledger.last_limit(lineage=project.key, recipient=key, relation=account.relation)) is not None
    ]
    entries = ledger.entries(lineage=project.key, recipient=key)
    paid = [entry for entry in entries if entry.kind in ("debit", "share")]
    notes = [str(entry.details.get("note", "")) for entry in entries if entry.kind == "no_dp"]
    hospital = Hospital.objects.filter(key=key).first()
    budget = most_of(project, members)
    # One condition on one copy: owners who have a copy as well must not hide this organisation's.
    copies = Download.objects.filter(recipient=key).exclude(role__in=roles_with("edit_policy"))
    exports = Export.objects.filter(project=project, pk__in=copies.values("export"))
    synthetic = SyntheticPurchase.objects.filter(project=project, recipient=key)
    return Given(
        subject=key,
        name=hospital.name if hospital else key,
        roles=roles,
        epsilon=sum(spent(account.state, limit) for account, limit in accounts) / NANO,
        delta=sum(limit.atto_delta for _, limit in accounts) / ATTO,
        questions=len(paid),
        exports=tuple(exports.select_related("snapshot", "project").order_by("released", "id")),
        synthetic=tuple(synthetic.exclude(state=SyntheticPurchase.State.PAYING).order_by("made", "id")),
        unproven=sum(not note.startswith("export ") for note in notes),
        allowed=None if budget is None else min(project.data_set_budget, budget.epsilon),
    )


def if_all_is_spent(project: Project) -> list[Given]:
    """Return what every audience could get by the policy of today: its whole budget, and all of them together."""
    policy, found = project.policy, []
    for audience in audiences_of(project):
        place = place_for(audience)
        try:
            budget = terms_of(project, place.role, place.groups, policy=policy).own
        except PolicyError:
            continue
        found.append(
            Given(
                f"{AUDIENCE}{audience}",
                audience_words(audience),
                (place.role,),
                epsilon=budget.epsilon,
                delta=budget.delta,
                whole=True,
                allowed=budget.epsilon,
            )
        )
    together = Given(
        f"{AUDIENCE}*", "All recipients together", (NEW_MEMBER,), epsilon=project.data_set_budget, whole=True,
        delta=project.delta, allowed=project.data_set_budget,
    )  # fmt: skip
    return [*found, together]


def subject_of(project: Project, subject: str) -> Given:
    """Return what a subject has or could get.

    Raises:
        PolicyError: There is no such recipient in the project.
    """
    if subject.startswith(AUDIENCE):
        found = [each for each in if_all_is_spent(project) if each.subject == subject]
    else:
        found = [each for each in given_to_all(project) if each.subject == subject]
    if not found:
        raise PolicyError("This recipient has no part in the project.")
    return found[0]
