"""A real ``pydplib serve`` process with a published study, and HTTP clients that ask it; on either database."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from web_home import WebHome

SEED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from reporting_world import session_of
from study_world import make_partner, make_study
from pydplib.web.people.models import Hospital, User
hospital = Hospital.objects.create(name="St. Example")
owner = User.objects.create_user("olivia", hospital=hospital, is_hospital_owner=True)
project = make_study(owner, reports=60)
people = {"olivia": owner}
for name, organisation in (("tara", "Acme"), ("theo", "Acme"), ("rita", "Rival")):
    people[name] = make_partner(project, name, organisation=organisation)
project.rules.filter(audience="third_party").update(budget=float(sys.argv[2]))
project.data_set_budget = float(sys.argv[3])
project.save()
print(json.dumps({"project": project.key, "sessions": {name: session_of(user) for name, user in people.items()},
                  "organisations": {name: user.hospital.key for name, user in people.items()}}))
"""

SUMS = """
import json, sys
from pydplib.web.analyses.models import Analysis
from pydplib.web.ledger import models as rows
from pydplib.web.ledger.database import DatabaseLedger
DatabaseLedger().verify()
print(json.dumps({
    "spent": {a.recipient: a.nano_epsilon for a in rows.Account.objects.all()},
    "limit": {a.recipient or "": DatabaseLedger().last_limit(lineage=a.lineage, recipient=a.recipient).nano_epsilon
              for a in DatabaseLedger().accounts()},
    "debits": rows.Payment.objects.count(),
    "reserved": rows.Release.objects.filter(payload__isnull=True).count(),
    "answered": rows.Release.objects.filter(payload__isnull=False).count(),
    "analyses": Analysis.objects.count(),
}))
"""

DYING = """
import os, signal
from pydplib.release.session import Session
def die(self, answer):
    os.kill(os.getpid(), signal.SIGKILL)  # the debit is on disk, nobody has looked yet
Session.look = die
"""


def seed(home: WebHome, *, budget: float, data_set: float) -> dict[str, Any]:
    """Make the study and its people; return keys and sessions."""
    done = home.python(SEED, str(Path(__file__).parent), str(budget), str(data_set))
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def sums(home: WebHome) -> dict[str, Any]:
    """Return what the ledger says, after verifying it."""
    done = home.python(SUMS)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@contextmanager
def serving(home: WebHome, *, before: str = "") -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run the server; yields its port and process. ``before`` is run in the process first, to plant a fault."""
    code = f"{before}\nfrom pydplib.cli import main\nmain(['serve', '--port', '0', '--home', {str(home.path)!r}])"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**home.environment, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(900, process.kill)  # whatever happens, no server stays behind
    watchdog.start()
    lines: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Ready"):
                break
        ready = re.search(r"http://127\.0\.0\.1:(\d+)", lines[-1] if lines else "")
        assert ready, "".join(lines)
        yield int(ready[1]), process
    finally:
        watchdog.cancel()
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
        process.wait()
        process.stdout and process.stdout.close()


class Browser:
    """Cookies and forms over HTTP, nothing else."""

    def __init__(self, port: int, session: str) -> None:
        self.port, self.cookies = port, {"session": session}

    def ask(self, path: str, sent: list[tuple[str, str]] | None = None) -> tuple[int, str, str]:
        """Return status, place to go and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if sent is not None:
            headers |= {"Content-Type": "application/x-www-form-urlencoded"}
        try:
            connection.request("GET" if sent is None else "POST", path, urlencode(sent) if sent else None, headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            for name, value in answer.getheaders():
                if name.lower() == "set-cookie":
                    key, _, rest = value.partition("=")
                    self.cookies[key] = rest.split(";")[0]
            return answer.status, answer.getheader("Location") or "", body
        finally:
            connection.close()

    def pay(self, fields: dict[str, str]) -> tuple[int, str, str]:
        """Look at a price and press the button next to it; status 0 where there is no button any more."""
        status, _, page = self.ask("/analyses/new?" + urlencode(fields))
        assert status == 200, page[:300]
        form = re.search(r'<form method="post" action="/analyses/new".*?</form>', page, re.S)
        if not form:
            return 0, "", page
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0])
        return self.ask("/analyses/new", [(name, unescape(value)) for name, value in hidden])
