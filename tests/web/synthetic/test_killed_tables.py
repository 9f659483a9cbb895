"""kill -9 anywhere in a purchase: paid once or not at all, and gone on with to the end; nothing half is seen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from killed_steps import Steps

BEGIN = """
import datetime as dt
from study_world import make_partner, make_study
from pydplib.synthesis import purchase
from pydplib.web import jobs
from pydplib.web.auditlog import log
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.projects.models import Member
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Project, project_key
from pydplib.web.synthetic import purchases
from pydplib.web.synthetic.models import SyntheticPurchase
from pydplib.web.synthetic.offers import Asked
jobs.STALE = dt.timedelta(0)
purchases.BACKGROUND = False
ASKED = Asked(columns=("age", "pirads"), relations=(("age", "pirads"),), epsilon=0.5, noise="laplace")
"""

SET_UP = """
hospital = Hospital.objects.get_or_create(name="St. Example")[0]
owner = User.objects.create_user("olivia-" + project_key("x"), hospital=hospital, is_hospital_owner=True)
project = make_study(owner, reports=60)
name = "tara-" + project_key("x")
make_partner(project, name, organisation="Acme " + project.key)
print(json.dumps(project.key))
"""

WHO = """
project = Project.objects.get(key=sys.argv[1])
tara = project.members.get(role="third_party").user
"""

BUY = "purchases.buy(project, tara, Member.as_role('third_party'), ASKED)"

GO_ON = """
row = SyntheticPurchase.objects.get(project=project)
assert purchases.is_stalled(row)
purchases.go_on(row, tara, Member.as_role("third_party"))
"""

STATE = """
row = SyntheticPurchase.objects.filter(project=project).first()
paid = rows.Payment.objects.filter(recipient=tara.hospital.key)
account = rows.Account.objects.filter(recipient=tara.hospital.key).first()
print(json.dumps({
    "state": row.state if row else None, "receipt": bool(row and row.receipt), "payments": paid.count(),
    "spent": 0 if account is None else account.nano_epsilon,
    "answered": paid.filter(release__payload__isnull=False).count(),
    "bought": Line.objects.filter(project=project.key, action="synthetic.buy").count(),
    "made": Line.objects.filter(project=project.key, action="synthetic.make").count(), "chain": bool(verify()),
}))
DatabaseLedger().verify()
"""

POINTS = {
    "before it is paid": ("purchases.pay_synthetic = die", {"state": "paying", "payments": 0, "answered": 0}),
    "paid, before its line in the log": (
        "purchases._note_payment = die",
        {"state": "paying", "payments": 1, "answered": 0, "bought": 0},
    ),
    "paid, before the job": ("purchases.start = die", {"state": "paying", "payments": 1, "answered": 0}),
    "in the middle of measuring": ("purchase.answer = die", {"state": "running", "payments": 1, "answered": 0}),
    "before the receipt": ("purchases._receipt = die", {"state": "running", "payments": 1, "answered": 1}),
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steps]:
    """A home with empty tables (on PostgreSQL the tables are in the server); every test makes its own project."""
    steps = Steps(tmp_path_factory.mktemp("home"), BEGIN)
    yield steps
    steps.close()


@pytest.mark.parametrize("point", POINTS)
def test_purchase_killed_is_paid_once_and_gone_on_with(run: Steps, point: str) -> None:
    args = (run(SET_UP),)
    fault, expected = POINTS[point]
    run(WHO, fault, BUY, args=args, killed=True)
    after = run(WHO, STATE, args=args)
    assert after == after | expected | {"receipt": False, "made": 0, "chain": True}
    run(WHO, GO_ON, args=args)
    found = run(WHO, STATE, args=args)
    assert found == {
        "state": "ready", "receipt": True, "payments": 1, "spent": 500_000_000, "answered": 1,
        "bought": 1, "made": 1, "chain": True,
    }  # fmt: skip


def test_purchase_killed_before_it_is_paid_can_be_discarded(run: Steps) -> None:
    args = (run(SET_UP),)
    run(WHO, POINTS["before it is paid"][0], BUY, args=args, killed=True)
    run(WHO, "purchases.discard(tara, SyntheticPurchase.objects.get(project=project))", args=args)
    found = run(WHO, STATE, args=args)
    assert found["state"] is None and found["spent"] == 0


def test_purchase_killed_and_bought_again_is_the_same_purchase(run: Steps) -> None:
    args = (run(SET_UP),)
    run(WHO, POINTS["in the middle of measuring"][0], BUY, args=args, killed=True)
    run(WHO, BUY, args=args)
    found = run(WHO, STATE, args=args)
    assert (found["state"], found["payments"], found["spent"], found["answered"]) == ("ready", 1, 500_000_000, 1)
