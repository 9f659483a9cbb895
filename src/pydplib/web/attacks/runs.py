"""A run of attacks: statistics first, then every table; parts that are done are kept, so a killed run goes on."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from pydplib.budget.units import NANO
from pydplib.errors import PolicyError, PydplibError
from pydplib.schema import Schema
from pydplib.web import jobs
from pydplib.web.attacks import linkage, neighbours, simulations
from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.recipients import Given, subject_of
from pydplib.web.attacks.verdicts import verdict_of
from pydplib.web.auditlog.log import recorded
from pydplib.web.exports.models import Export
from pydplib.web.intake.snapshots import published_snapshot, snapshot_schema
from pydplib.web.people.models import User
from pydplib.web.projects.allowances import terms_of
from pydplib.web.projects.models import Project
from pydplib.web.projects.policy.fields import current_template

BACKGROUND = True
"""Whether attacks run in a thread of their own; tests let the page wait for them."""

MINUTES = (1, 5, 15)
_GRACE = 120.0
_State = AttackRun.State


def start(run: AttackRun) -> None:
    """Begin a run, or go on after a break."""
    jobs.start(attack, run, take=claim_attack, inline=not BACKGROUND, related=("project__hospital", "by"))


def is_stalled(run: AttackRun) -> bool:
    """Return whether it should be worked on and nobody does."""
    return jobs.is_stalled(run, (_State.WAITING, _State.RUNNING))


def claim_attack(run: AttackRun) -> jobs.Claim:
    """Claim a run that has not ended."""
    among = (_State.WAITING, _State.RUNNING)
    return jobs.Claim(run, _State.RUNNING, among=among, progress=None, progress_words="About to begin")


def attack(run: AttackRun, claim: jobs.Claim | None = None) -> None:
    """Attack on behalf of a recipient. What is done is stored part by part; nothing else of the data is kept."""
    claim = claim or claim_attack(run)
    run.refresh_from_db()
    deadline = time.monotonic() + 60.0 * run.minutes
    result: dict[str, Any] = dict(run.result)
    given = subject_of(run.project, run.subject)
    with claim.beating(most=60.0 * run.minutes + _GRACE):
        result["given"] = given_facts(given)
        if "simulated" not in result:
            result |= _statistics(run, given, claim, deadline)
            claim.save(result=result)
        done = {part["export"] for part in result.setdefault("tables", [])}
        for place, export in enumerate(given.exports):
            if export.key not in done:
                earlier = list(given.exports[:place])
                result["tables"] = [*result["tables"], _table(export, earlier, given, claim, deadline)]
                claim.save(result=result)
    result["verdict"] = verdict_of(given, result)
    with recorded(run.by, project=run.project) as log:
        claim.save(state=_State.DONE, result=result, ended=timezone.now(), progress=100, progress_words="")
        AttackRun.objects.filter(pk=run.pk).update(worker="")
        log.add("attack.finish", run.key, tables=len(result["tables"]))


def given_facts(given: Given) -> dict[str, object]:
    """Return what was given away, as plain values that a run stores."""
    return {
        "roles": list(given.roles),
        "epsilon": given.epsilon,
        "delta": given.delta,
        "bound": given.bound,
        "advantage": given.advantage,
        "questions": given.questions,
        "synthetic": [
            {"key": row.key, "title": str(row), "epsilon": row.nano_epsilon / NANO} for row in given.synthetic
        ],
        "unproven": given.unproven,
        "whole": given.whole,
    }


def _statistics(run: AttackRun, given: Given, claim: jobs.Claim, deadline: float) -> dict[str, object]:
    try:
        people = _people(run)
    except PydplibError as problem:
        return {"simulated": [], "missed": [str(problem)]}
    found, missed = simulations.simulate(
        people,
        given,
        _per_question(run.project, given),
        late=lambda: time.monotonic() > deadline,
        tell=_teller(claim, 0, 40 if given.exports else 95),
    )
    words = [f"{name}: the time was over." for name in missed]
    return {"simulated": [simulations.to_numbers(each) for each in found], "missed": words}


def _people(run: AttackRun) -> NDArray[np.bool_]:
    if run.data == AttackRun.Data.REAL:
        return neighbours.published(run.project, seed=simulations.SEED)
    snapshot, template = published_snapshot(run.project), current_template(run.project)
    if snapshot is not None:
        schema = Schema.from_json(snapshot.schema)
    elif template is not None:
        schema = snapshot_schema(template, lineage=run.project.key)
    else:
        raise PolicyError("The project has no template yet, so there are no fields to attack.")
    return neighbours.made_up(schema, seed=simulations.SEED)


def _per_question(project: Project, given: Given) -> float | None:
    """Return the most that one question may cost a recipient in this role: what an attacker would choose."""
    try:
        terms = terms_of(project, given.least_trusted)
    except PolicyError:
        return None
    cap: float | None = terms.epsilon_cap
    return cap


def _table(
    export: Export, earlier: list[Export], given: Given, claim: jobs.Claim, deadline: float
) -> dict[str, object]:
    left = deadline - time.monotonic()
    empty = {"export": export.key, "title": export.title, "attacks": [], "verdicts": [], "notes": [], "compared": 0}
    if left <= 1:
        return {**empty, "unfinished": ["The time was over before this table was attacked. Run again with more time."]}
    try:
        report = linkage.attack_export(export, earlier, given.least_trusted, seconds=left, tell=_teller(claim, 40, 95))
    except PydplibError as problem:
        return {**empty, "unfinished": [f"Not attacked: {problem}"]}
    return linkage.to_numbers(export, report, compared=len(earlier))


def _teller(claim: jobs.Claim, low: int, high: int) -> simulations.Tell:
    """Return what writes down how far a part of the run is, between two percentages of the whole."""

    def tell(percent: int, name: str) -> None:
        claim.tell(progress=low + (high - low) * percent // 100, progress_words=name[:200])

    return tell


def discard(run: AttackRun, *, actor: User) -> None:
    """Forget a run; one that somebody works on cannot be forgotten."""
    claim = jobs.Claim(run, _State.DONE, among=(_State.WAITING, _State.RUNNING, _State.DONE))
    with recorded(actor, project=run.project) as log:
        log.add("attack.discard", run.key)
        AttackRun.objects.filter(pk=run.pk, worker=claim.token).delete()
