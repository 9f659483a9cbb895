"""People of other organisations join by accepting; before that nobody learns whether a name exists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from web_home import WebHome, make_web_home

from pydplib.errors import ParameterError
from pydplib.web.auditlog.models import Line
from pydplib.web.people.models import Hospital
from pydplib.web.projects.members import invitations
from pydplib.web.projects.members.invitations import accept, decline, invitations_for, invite, withdraw_invitation
from pydplib.web.projects.members.memberships import add_member
from pydplib.web.projects.models import Invitation, Member, Project, project_key


def _shape(page: str) -> str:
    """Return a page without what must differ: tokens, keys and the names that were typed."""
    page = re.sub(r"acme-anna|no-such-anna", "NAME", page)
    return re.sub(r"[A-Za-z0-9]{64}|[0-9a-f]{16}", "X", page)


def _seen(client: Any, project: Any, name: str) -> tuple[Any, ...]:
    """Invite a name and return everything that the owner sees of it."""
    answer = client.post(f"/projects/{project.key}/members/new", {"partner": name}, follow=True)
    members = client.get(f"/projects/{project.key}/members").content.decode()
    log = client.get(f"/audit?project={project.key}").content.decode()
    seen = (answer.status_code, answer.redirect_chain, _shape(answer.content.decode()), _shape(members))
    assert name in members
    client.post(f"/invitations/{Invitation.objects.latest('id').key}/withdraw", follow=True)
    return (*seen, "Acme" in members + log + answer.content.decode())


def test_known_and_unknown_names_get_the_same_answer_and_pages(member: Any, project: Any, partner: Any) -> None:
    partner.full_name = "Anna of Acme"
    partner.save()
    client = member("owner")
    known, unknown = _seen(client, project, "acme-anna"), _seen(client, project, "no-such-anna")
    assert known == unknown and known[0] == 200 and known[-1] is False
    assert not Member.objects.filter(project=project, user=partner).exists()


def test_known_and_unknown_names_take_the_same_statements(member: Any, project: Any, partner: Any) -> None:
    """Time tells what the database is asked: the same statements, in the same order."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    owner, taken = member("owner").user, []
    invite(owner, project, "the-first")  # opens the count of tries
    for name in ("acme-anna", "no-such-anna"):
        with CaptureQueriesContext(connection) as caught:
            invite(owner, project, name)
        taken.append([re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "?", query["sql"])[:60] for query in caught])
    assert taken[0] == taken[1]


def test_who_takes_a_name_after_it_was_invited_does_not_find_the_invitation(
    member: Any, project: Any, make_user: Any, sign_in: Any
) -> None:
    owner = member("owner").user
    made = invite(owner, project, "acme-anna")
    squatter = make_user("acme-anna", hospital=Hospital.objects.create(name="Lying in Wait"))
    client = sign_in(squatter)
    assert invitations_for(squatter) == [] and project.name not in client.get("/").content.decode()
    assert client.post(f"/invitations/{made.key}/accept").status_code == 404
    assert not Member.objects.filter(project=project, user=squatter).exists()
    withdraw_invitation(owner, made)
    again = invite(owner, project, "acme-anna")
    assert invitations_for(squatter) == [again], "who is invited knowingly is"


def test_invitations_are_limited_per_organisation(member: Any, project: Any) -> None:
    client = member("owner")
    address = f"/projects/{project.key}/members/new"
    answers = [client.post(address, {"partner": f"guess-{number}"}).status_code for number in range(22)]
    assert answers[:20] == [302] * 20 and answers[20:] == [403, 403]


def test_the_invited_accepts_joins_as_third_party_and_is_seen_by_name_only_then(
    member: Any, project: Any, partner: Any, sign_in: Any
) -> None:
    partner.full_name = "Anna of Acme"
    partner.save()
    owner, anna = member("owner"), sign_in(partner)
    owner.post(f"/projects/{project.key}/members/new", {"partner": "ACME-Anna"})
    members = f"/projects/{project.key}/members"
    assert "Anna of Acme" not in owner.get(members).content.decode()
    for page in ("/", "/account"):
        assert "You are invited" in anna.get(page).content.decode()
    assert anna.get(f"/projects/{project.key}").status_code == 404
    key = Invitation.objects.get().key
    assert anna.post(f"/invitations/{key}/accept").url == f"/projects/{project.key}"
    assert Member.objects.get(project=project, user=partner).role == "third_party"
    page = owner.get(members).content.decode()
    assert "Anna of Acme" in page and "No answer yet" not in page
    assert "You are invited" not in anna.get("/").content.decode()
    assert anna.post(f"/invitations/{key}/accept").status_code == 404


def test_a_refusal_looks_like_no_answer_and_keeps_further_ones_away(
    member: Any, project: Any, partner: Any, sign_in: Any
) -> None:
    owner, anna = member("owner"), sign_in(partner)
    invite(owner.user, project, "acme-anna")
    before = owner.get(f"/projects/{project.key}/members").content.decode()
    assert anna.post(f"/invitations/{Invitation.objects.get().key}/decline").status_code == 302
    after = owner.get(f"/projects/{project.key}/members").content.decode()
    assert _shape(before) == _shape(after) and "No answer yet" in after
    with pytest.raises(ParameterError, match="invited already"):
        invite(owner.user, project, "acme-anna")
    withdraw_invitation(owner.user, Invitation.objects.get())
    Invitation.objects.update(state="declined", decided=timezone.now())
    Invitation.objects.update(made=timezone.now() - invitations.LASTS)
    invite(owner.user, project, "acme-anna")
    assert invitations_for(partner) == [], "refused lately"


def test_only_the_invited_finds_an_invitation_and_only_while_it_lasts(
    member: Any, project: Any, partner: Any, make_user: Any, sign_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = member("owner")
    made = invite(owner.user, project, "acme-anna")
    for client in (sign_in(make_user("eve", hospital=partner.hospital)), owner):
        assert client.post(f"/invitations/{made.key}/accept").status_code == 404
    assert invitations_for(partner) == [made]
    later = timezone.now() + invitations.LASTS
    monkeypatch.setattr(invitations.timezone, "now", lambda: later)
    assert invitations_for(partner) == []
    with pytest.raises(ParameterError, match="withdrawn or answered"):
        accept(partner, made)


def test_the_affected_hospital_reads_it_in_its_own_log(
    member: Any, project: Any, partner: Any, make_user: Any, sign_in: Any
) -> None:
    owner = member("owner")
    accept(partner, invite(owner.user, project, "acme-anna"))
    sign_in(partner).post(f"/projects/{project.key}/leave")
    here = Line.objects.filter(hospital=partner.hospital.key, project="")
    assert [line.action for line in here] == ["invitation.receive", "membership.begin", "membership.end"]
    assert here[0].facts == {"organisation": "St. Example", "in_project": "PI-RADS"}
    decline_me = make_user("acme-berta", hospital=partner.hospital)
    decline(decline_me, invite(owner.user, project, "acme-berta"))
    assert "invitation.decline" not in {line.action for line in Line.objects.filter(project=project.key)}
    manager = make_user("acme-boss", hospital=partner.hospital, is_hospital_owner=True)
    accept(partner, invite(owner.user, project, "acme-anna"))
    page = sign_in(manager).get("/hospital/people/acme-anna").content.decode()
    assert "PI-RADS" in page and "of St. Example" in page


def test_colleagues_of_the_own_hospital_join_at_once_and_others_do_not(
    member: Any, project: Any, partner: Any, make_user: Any
) -> None:
    owner = member("owner")
    make_user("ben")
    owner.post(f"/projects/{project.key}/members/new", {"partner": "ben"})
    assert Member.objects.filter(project=project, user__username="ben").exists()
    with pytest.raises(ParameterError, match="are invited"):
        add_member(owner.user, project, "acme-anna")


def test_leaving_ends_every_right_withdraws_requests_and_keeps_the_last_owner(
    member: Any, project: Any, sign_in: Any
) -> None:
    from pydplib.web.projects.models import AccessRequest
    from pydplib.web.projects.requests.submissions import ask_budget

    owner, carl = member("owner"), member("collaborator", "carl")
    ask_budget(carl.user, project, budget=8, reason="more")
    assert "Leave project" in carl.get(f"/projects/{project.key}").content.decode()
    assert carl.post(f"/projects/{project.key}/leave").status_code == 302
    assert carl.get(f"/projects/{project.key}").status_code == 404
    assert AccessRequest.objects.get().state == "withdrawn"
    assert owner.post(f"/projects/{project.key}/leave").status_code == 403
    assert Member.objects.filter(project=project, user=owner.user).exists()


def test_the_own_hospitals_project_is_the_current_one_whatever_others_are_called(
    member: Any, project: Any, partner: Any
) -> None:
    """A foreign project that stands first in the alphabet does not push in front of their own department."""
    import datetime as dt

    rosa = member("radiologist", "rosa")
    foreign = Project.objects.create(
        key=project_key("aaa"),
        hospital=partner.hospital,
        name="AAA first of all",
        purpose="x",
        legal_basis="x",
        retention_until=dt.date(2040, 1, 1),
    )
    Member.objects.create(project=foreign, user=rosa.user, role="third_party")
    assert rosa.get("/reports").status_code == 200
    page = rosa.get("/").content.decode()
    assert page.index("PI-RADS") < page.index("AAA first of all")


def test_a_new_colleague_brings_an_organisation_no_larger_budget(
    project: Any, make_user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody of Acme is held to a strict group: who joins later is too."""
    from pydplib.policy import PolicyRule
    from pydplib.web.projects import allowances
    from pydplib.web.projects.members import memberships
    from pydplib.web.projects.models import Rule

    acme = Hospital.objects.create(name="Acme")
    strict = PolicyRule("group:strict", "dp_high", epsilon_per_question=0.2, budget=0.5)
    Rule.from_rule(project, strict).save()
    first, second = make_user("anna", hospital=acme), make_user("berta", hospital=acme)
    Member.objects.create(project=project, user=first, groups=["strict"])
    with monkeypatch.context() as spent:
        spent.setattr(allowances, "_opened", lambda project, organisation: 0.5)
        assert memberships.start_membership(project, second).groups == ["strict"]
    Member.objects.filter(user=second).delete()
    assert memberships.start_membership(project, second).groups == [], "before anything was spent"


AT_ONCE = """
import datetime as dt, json, threading
import django; django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.db import connection
from pydplib.errors import PydplibError
from pydplib.web.auditlog.verification import verify
from pydplib.web.people.models import Hospital, HospitalName, User
from pydplib.web.projects.setup import create_project
from pydplib.web.projects.members.invitations import accept, invite, withdraw_invitation
from pydplib.web.projects.models import Invitation, Member

def at_once(*acts):
    said, gate = [None] * len(acts), threading.Barrier(len(acts))
    def run(number, act):
        gate.wait()
        try:
            act(); said[number] = "ok"
        except Exception as error:
            said[number] = type(error).__name__
        finally:
            connection.close()
    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(acts)]
    [t.start() for t in threads]; [t.join() for t in threads]
    return said

here, acme = Hospital.objects.create(name="St. Example"), Hospital.objects.create(name="Acme")
owner = User.objects.create_user("olga", hospital=here, is_hospital_owner=True)
anna = User.objects.create_user("anna", hospital=acme)
project = create_project(owner, name="Study", purpose="x", legal_basis="x", retention_until=dt.date(2040, 1, 1),
                         template=None)
out = {"accepts": [], "races": [], "names": []}
for number in range(4):
    made = invite(owner, project, "anna")
    out["accepts"].append(sorted(at_once(*[lambda: accept(anna, made)] * 3)))
    assert Member.objects.filter(user=anna).count() == 1
    Member.objects.filter(user=anna).delete()
    made = invite(owner, project, "anna")
    said = at_once(lambda: accept(anna, made), lambda: withdraw_invitation(owner, made))
    out["races"].append([said.count("ok"), Member.objects.filter(user=anna).count() == (said[0] == "ok")])
    Member.objects.filter(user=anna).delete()
    names = [f"Clinic {number}x", f"CLINIC {number}X", f"C1inic {number}x"]
    said = at_once(*[lambda name=name: Hospital.objects.create(name=name) for name in names])
    out["names"].append([said.count("ok"), Hospital.objects.filter(name__in=names).count()])
print(json.dumps(out | {"whole": bool(verify())}))
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WebHome]:
    with make_web_home(tmp_path) as made:
        yield made


def test_clicks_at_once_join_once_and_names_at_once_are_taken_once(home: WebHome) -> None:
    done = home.python(AT_ONCE)
    assert done.returncode == 0, done.stderr[-3000:]
    out = json.loads(done.stdout)
    assert out["whole"]
    assert all(said.count("ok") == 1 for said in out["accepts"]), out
    assert all(race == [1, True] for race in out["races"]), out
    assert all(race == [1, 1] for race in out["names"]), out


def test_one_form_gives_role_budget_and_last_day_once_accepted(
    member: Any, project: Any, partner: Any, sign_in: Any
) -> None:
    import datetime as dt

    owner, anna = member("owner"), sign_in(partner)
    day = timezone.localdate() + dt.timedelta(days=30)
    sent = {"partner": "acme-anna", "organisation": "Acme Research", "role": "collaborator", "budget": "1.5",
            "until": day.isoformat()}  # fmt: skip
    assert owner.post(f"/projects/{project.key}/members/new", sent).status_code == 302
    page = owner.get(f"/projects/{project.key}/members").content.decode()
    assert "Acme Research" in page and "group acme-research" in page
    row = project.rules.get(audience="group:acme-research")
    assert (row.budget, row.label, row.fields) == (1.5, "public", []), "the row opens nothing"
    assert "collaborator" in anna.get("/").content.decode() and not Member.objects.filter(user=partner).exists()
    anna.post(f"/invitations/{Invitation.objects.get().key}/accept")
    joined = Member.objects.get(user=partner)
    assert (joined.role, joined.groups, joined.until) == ("collaborator", ["acme-research"], day)
    terms = project.policy.terms("collaborator", groups=("acme-research",), project=project.key)
    assert terms.budget.epsilon == 1.5, "the smallest row counts"


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"budget": "50"}, "takes two"),
        ({"budget": "-1"}, "greater than or equal"),
        ({"until": "2001-01-01"}, "over already"),
        ({"role": "owner"}, "Select a valid choice"),
    ],
)
def test_terms_that_one_owner_cannot_give_are_refused(
    member: Any, project: Any, sent: dict[str, str], words: str
) -> None:
    answer = member("owner").post(f"/projects/{project.key}/members/new", {"partner": "acme-anna", **sent})
    assert answer.status_code == 422 and words in answer.content.decode()
    assert not Invitation.objects.exists() and not project.rules.filter(audience__startswith="group:").exists()


def test_role_that_raises_what_an_organisation_has_waits_for_a_second_owner(
    member: Any, project: Any, partner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.projects import allowances
    from pydplib.web.projects.members.invitations import InvitationTerms
    from pydplib.web.projects.models import AccessRequest
    from pydplib.web.projects.words import request_meaning

    owner = member("owner").user
    Member.objects.create(project=project, user=partner, role="third_party")
    second = type(partner).objects.create_user("acme-bert", hospital=partner.hospital)
    monkeypatch.setattr(allowances, "_opened", lambda project, organisation: 2.0)
    invite(owner, project, "acme-bert", InvitationTerms(role="collaborator", reason="The joint paper."))
    assert accept(second, Invitation.objects.get()).role == "third_party"
    request = AccessRequest.objects.get()
    assert (request.by, request.asked["role"], request.reason) == (owner, "collaborator", "The joint paper.")
    assert request.approvals.count() == 1 and "at most" in request_meaning(request)


def test_membership_ends_after_its_last_day_everywhere_and_can_begin_again(
    member: Any, project: Any, partner: Any, sign_in: Any
) -> None:
    import datetime as dt

    from pydplib.web.projects.members.invitations import InvitationTerms
    from pydplib.web.projects.members.memberships import end_expired_memberships

    owner, anna, today = member("owner"), sign_in(partner), timezone.localdate()
    invite(owner.user, project, "acme-anna", InvitationTerms(until=today))
    accept(partner, Invitation.objects.get())
    assert anna.get(f"/projects/{project.key}").status_code == 200, "the last day counts"
    Member.objects.filter(user=partner).update(until=today - dt.timedelta(days=1))
    assert anna.get(f"/projects/{project.key}").status_code == 404
    assert project.name not in anna.get("/projects").content.decode()
    assert not project.members.filter(user=partner).exists() and not partner.memberships.exists()
    assert end_expired_memberships() == 1 and not Member.all_objects.filter(user=partner).exists()
    assert Line.objects.filter(action="member.expire", subject="acme-anna").count() == 1
    again = invite(owner.user, project, "acme-anna")
    assert accept(partner, again).until is None


def test_a_membership_that_ends_makes_no_owner_and_its_end_stops_no_housekeeping(
    member: Any, project: Any, partner: Any
) -> None:
    import datetime as dt

    from pydplib.errors import PolicyError
    from pydplib.web.projects.members.invitations import InvitationTerms
    from pydplib.web.projects.members.memberships import change_member, end_expired_memberships

    owner, today = member("owner").user, timezone.localdate()
    carl = type(owner).objects.create_user("carl", hospital=owner.hospital)
    late = invite(owner, project, "carl", InvitationTerms(until=today))
    place = accept(carl, late)
    with pytest.raises(PolicyError, match="owners have no end"):
        change_member(owner, place, role="owner", department="", groups=[])
    # An owner with an end, as earlier versions let be, and nobody else: the others' ends go on.
    accept(partner, invite(owner, project, "acme-anna", InvitationTerms(until=today)))
    Member.objects.filter(user=owner).update(until=today - dt.timedelta(days=1))
    Member.objects.exclude(user=owner).update(until=today - dt.timedelta(days=1))
    assert end_expired_memberships() == 2
    assert [each.user for each in Member.all_objects.filter(project=project)] == [owner]


def test_an_invitation_whose_last_day_is_over_is_not_offered(member: Any, project: Any, partner: Any) -> None:
    import datetime as dt

    from pydplib.web.projects.members.invitations import InvitationTerms

    today = timezone.localdate()
    invite(member("owner").user, project, "acme-anna", InvitationTerms(until=today))
    assert len(invitations_for(partner)) == 1
    Invitation.objects.update(until=today - dt.timedelta(days=1))
    assert invitations_for(partner) == []


def test_manager_makes_organisation_and_user_in_the_same_form(member: Any, project: Any, sign_in: Any) -> None:
    owner = member("owner")
    sent = {"partner": "new-nora", "organisation": "Nora's Institute", "makes_account": "on", "budget": "1"}
    address = f"/projects/{project.key}/members/new"
    assert "makes_account" not in owner.get(address).content.decode(), "only for those who manage the hospital"
    type(owner.user).objects.filter(pk=owner.user.pk).update(is_hospital_owner=True)
    answer = owner.post(address, sent)
    assert answer.status_code == 200 and "/welcome/" in answer.content.decode()
    nora = type(owner.user).objects.get(username="new-nora")
    assert nora.hospital.name == "Nora's Institute" and not Member.objects.filter(user=nora).exists()
    assert [each.role for each in invitations_for(nora)] == ["third_party"]
