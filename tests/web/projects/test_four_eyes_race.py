"""Owners who decide at the same moment, in threads with connections of their own, on a real database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web_home import WebHome, make_web_home

SET_UP = """
import datetime as dt, json, threading
from django.db import connection
from pydplib.errors import PydplibError
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.setup import create_project
from pydplib.web.projects.requests.decisions import decide
from pydplib.web.projects.members.memberships import remove_member
from pydplib.web.projects.models import AccessRequest, Member
from pydplib.web.projects.requests.submissions import ask_budget, propose_budget
hospital = Hospital.objects.create(name="St. Example")
def user(name):
    return User.objects.create_user(name, hospital=hospital, is_hospital_owner=name == "ada")
ada, ben, cyd, carl = map(user, ["ada", "ben", "cyd", "carl"])
project = create_project(
    ada, name="P", purpose="p", legal_basis="l", retention_until=dt.date(2040, 1, 1), template=None
)
for other, role in ((ben, "owner"), (cyd, "owner"), (carl, "collaborator")):
    Member.objects.create(project=project, user=other, role=role)

def at_once(*steps):
    gate, said = threading.Barrier(len(steps)), [None] * len(steps)
    def run(number, step):
        gate.wait()
        try:
            step()
            said[number] = "ok"
        except PydplibError as error:
            said[number] = type(error).__name__
        finally:
            connection.close()
    threads = [threading.Thread(target=run, args=item) for item in enumerate(steps)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return said
"""

RACES = """
def words(request, *owners):
    return [lambda owner=owner: decide(owner, request, agrees=True, reason="yes") for owner in owners]

out = {"two_words": [], "same_owner_twice": [], "three_on_a_proposal": []}
for turn in range(8):
    row = project.rules.get(audience="collaborator")
    request = ask_budget(carl, project, budget=row.budget + 1, reason="more")
    said = at_once(*words(request, ada, ben))
    raised = project.rules.get(audience="collaborator").budget - row.budget
    out["two_words"].append([said, raised, AccessRequest.objects.get(pk=request.pk).state])

    request = ask_budget(carl, project, budget=row.budget + 5, reason="more")
    said = at_once(*words(request, ada, ada, ada))
    raised = project.rules.get(audience="collaborator").budget - row.budget
    out["same_owner_twice"].append([sorted(said), raised])
    decide(ben, request, agrees=False, reason="no")

    before = type(project).objects.get(pk=project.pk).data_set_budget
    request = propose_budget(ada, project, audience="*", budget=before + 1, reason="more")
    said = at_once(*words(request, ben, cyd))
    after = type(project).objects.get(pk=project.pk).data_set_budget
    out["three_on_a_proposal"].append([sorted(said), after - before])
out["raises"] = Line.objects.filter(action="policy.raise_budget").count()
out["whole"] = bool(verify())
print(json.dumps(out))
"""

EACH_OTHER = """
removed = at_once(
    lambda: remove_member(ada, Member.objects.get(user=ben)),
    lambda: remove_member(ben, Member.objects.get(user=ada)),
)
owners = list(Member.objects.filter(project=project, role="owner").values_list("user__username", flat=True))
print(json.dumps({"said": sorted(removed), "owners": sorted(owners), "whole": bool(verify())}))
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WebHome]:
    with make_web_home(tmp_path) as made:
        yield made


def _run(home: WebHome, code: str) -> Any:
    done = home.python(SET_UP + code)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_words_given_at_once_apply_exactly_once(home: WebHome) -> None:
    out = _run(home, RACES)
    for said, raised, state in out["two_words"]:
        assert (said, raised, state) == (["ok", "ok"], 1, "approved"), "the second word sees the first"
    for said, raised in out["same_owner_twice"]:
        assert said == ["ParameterError", "ParameterError", "ok"], "one owner has one word"
        assert raised == 1, "and it does not raise anything"
    for said, raised in out["three_on_a_proposal"]:
        assert (said, raised) == (["ParameterError", "ok"], 1), "decided is decided"
    assert out["raises"] == 16
    assert out["whole"]


def test_owners_who_remove_each_other_at_once_leave_one(home: WebHome) -> None:
    out = _run(home, EACH_OTHER)
    assert out["said"] == ["PolicyError", "ok"]
    assert out["owners"] in (["ada", "cyd"], ["ben", "cyd"])
    assert out["whole"]
