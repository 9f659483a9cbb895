"""Many readers press "next" at once, on the real database: no text goes to two who should not both have it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from web_home import make_web_home

SCRIPT = """
import json, sys, threading
sys.path.insert(0, sys.argv[1])
from django.db import connections
from reporting_world import make_world
from pydplib.web.auditlog.verification import verify
from pydplib.web.projects.models import Member
from pydplib.web.reporting.labels import queue
from pydplib.web.reporting.labels.free_texts import NewText
from pydplib.web.reporting.models import FreeText, Reading

READERS, ROUNDS = 6, 4
world = make_world(readers=READERS)
project = world["project"]
for readers in (1, 2):
    texts = [NewText(f"P {readers}-{n}", f"Text {n}") for n in range(10)]
    queue.add_texts(project, texts, readers=readers, actor=world["olga"])
got, faults, start = [], [], threading.Barrier(READERS)

def read(user):
    start.wait()
    try:
        for _ in range(ROUNDS):
            reading = queue.claim_next(project, user, Member.as_role("radiologist", department="radiology"))
            if reading is None:
                return
            got.append([user.username, reading.text_id, reading.number])
            Reading.objects.filter(pk=reading.pk).update(finished="2026-01-01T00:00:00Z")  # so that the next one comes
    except Exception as fault:
        faults.append(repr(fault))
    finally:
        connections.close_all()

threads = [threading.Thread(target=read, args=(world[f"rita{n}"],)) for n in range(READERS)]
[t.start() for t in threads]; [t.join() for t in threads]
wanted = dict(FreeText.objects.values_list("pk", "readers"))
print(json.dumps({"got": got, "faults": faults, "wanted": wanted, "whole": verify().problem}))
"""


def test_readers_at_once_never_share_a_place(tmp_path: Path) -> None:
    with make_web_home(tmp_path) as home:
        done = home.python(SCRIPT, str(Path(__file__).parents[2] / "support"))
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert not found["faults"] and found["whole"] is None
    wanted = {int(key): value for key, value in found["wanted"].items()}
    places = Counter((text, number) for _, text, number in found["got"])
    assert len(found["got"]) == 24 and max(places.values()) == 1, "one reader per place"
    readers = Counter(text for _, text, _ in found["got"])
    assert all(count <= wanted[text] for text, count in readers.items())
    assert max(Counter((who, text) for who, text, _ in found["got"]).values()) == 1, "nobody reads a text twice"
