"""Publish pressed several times at once, in threads with connections of their own: one edition, paid once."""

from __future__ import annotations

import json
from pathlib import Path

from asking_server import seed
from web_home import make_web_home

PRESSES = """
import json, threading
from django.db import connection
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.models import Dashboard
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.dashboards.editions import count_records, publish
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.projects.models import Project
owner, project = User.objects.get(username="olivia"), Project.objects.get()
project.dashboard_budgets = {"third_party": 9.0}
project.save()
project.rules.filter(audience="third_party").update(paper_mode=True)
made = plans.make_dashboard(owner, project, title="For partners", audience="third_party")
plans.add_ready_made(owner, made, ["reports-by-year"])
plans.add_paper_mode(owner, made, ["3"])
count_records(owner, made)
agreed = bill_for(made).nano
spent = lambda: rows.Account.objects.get(recipient="dashboard:third_party").nano_epsilon
before, gate, said = spent(), threading.Barrier(5), []
def press():
    gate.wait()
    try:
        said.append(publish(owner, Dashboard.objects.get(pk=made.pk), agreed=agreed, after=0).number)
    except Exception as error:
        said.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()
threads = [threading.Thread(target=press) for _ in range(5)]
for thread in threads: thread.start()
for thread in threads: thread.join()
DatabaseLedger().verify()
print(json.dumps({
    "said": said, "editions": made.editions.count(), "agreed": agreed, "paid": spent() - before,
    "drawn": sum(entry.kind == "no_dp" for entry in DatabaseLedger().entries()),
}))
"""


def test_five_presses_at_once_make_one_edition_paid_and_drawn_once(tmp_path: Path) -> None:
    with make_web_home(tmp_path / "home") as home:
        seed(home, budget=2.0, data_set=20)
        done = home.python(PRESSES)
    assert done.returncode == 0, done.stderr[-3000:]
    out = json.loads(done.stdout.splitlines()[-1])
    assert out["said"] == [1] * 5
    assert (out["editions"], out["drawn"]) == (1, 1)
    assert out["paid"] == out["agreed"] > 0
