"""A real server on loopback with people signed in, and clients that press its buttons; for benchmarks/web.py."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

SUPPORT = Path(__file__).resolve().parent.parent / "tests" / "support"
sys.path.insert(0, str(SUPPORT))  # the same starters of servers as in the tests

USERS = 20
WORLD = """
import datetime as dt, json, sys
from reporting_world import make_world, session_of
from pydplib.web.patients.pseudonyms import patient_for
from pydplib.web.intake.imports.records import accept_rows
from pydplib.web.intake.snapshots import make_snapshot, publish
from pydplib.web.dashboards import plans
from pydplib.web.dashboards.prices import bill_for
from pydplib.web.dashboards.editions import count_records, publish as show
from pydplib.web.demo import synthetic_rows
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.setup import create_project
from pydplib.web.projects.models import Member, Project
from pydplib.web.reporting.models import Report
users = int(sys.argv[1])
world = make_world(readers=users)
desk, owner = world["project"], world["olga"]
template = desk.templates.get(number=1)
readers = []
for number in range(users):
    reader = world[f"rita{number}"]
    draft = Report.objects.create(project=desk, patient=patient_for(desk, {"patient_id": f"P{number}"}),
                                  template=template, author=reader, department="radiology")
    readers.append({"session": session_of(reader), "draft": draft.key})
User.objects.filter(pk=owner.pk).update(is_hospital_owner=True)
owner.refresh_from_db()

def study(name):
    made = create_project(owner, name=name, purpose="research", legal_basis="Synthetic data",
                          retention_until=dt.date(2040, 1, 1), template="pirads-paper")
    # Room for thousands of questions: what is measured is the ledger, not the policy.
    made.rules.filter(audience="third_party").update(budget=1000.0)
    Project.objects.filter(pk=made.pk).update(data_set_budget=2000.0)
    return made

small, large = study("Study"), study("Large study")
accept_rows(small, small.templates.get(number=1), synthetic_rows(), actor=owner)
publish(make_snapshot(small, actor=owner), actor=owner)
small.refresh_from_db()
board = plans.make_dashboard(owner, small, title="Figures", audience="third_party")
plans.add_ready_made(owner, board, ("2", "3", "4", "5"))
count_records(owner, board)
show(owner, board, agreed=bill_for(board).nano)
partners = []
for number in range(users):
    partner = User.objects.create_user(f"paul{number}", hospital=Hospital.objects.create(name=f"Partner {number}"))
    for project in (small, large):
        Member.objects.create(project=project, user=partner, role="third_party")
    partners.append(session_of(partner))
print(json.dumps({"readers": readers, "owner": session_of(owner), "partners": partners, "small": small.key,
                  "large": large.key, "board": board.key}))
"""


class Visitor:
    """One browser: keeps its connection and its cookies, and knows the token of forms."""

    def __init__(self, port: int, session: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.token = "a" * 32  # any secret of our own: cookie and form must agree
        self.cookie = f"session={session}; csrf={self.token}"

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        sent = {"Cookie": self.cookie, **{name.replace("_", "-"): value for name, value in headers.items()}}
        try:
            self.connection.request(method, path, body=body, headers=sent)
            response = self.connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        except (http.client.HTTPException, OSError):
            self.connection.close()
            return 0, {}, b""

    def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        return self.ask("GET", path)

    def post(self, path: str, fields: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        body = urlencode({"csrfmiddlewaretoken": self.token, **fields}, doseq=True).encode()
        return self.ask("POST", path, body, Content_Type="application/x-www-form-urlencoded")

    def upload(self, path: str, file: Path) -> tuple[int, dict[str, str], bytes]:
        edge = "edge-of-the-parts"
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{self.token}\r\n'
            f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="reports.csv"\r\n'
            "Content-Type: text/csv\r\n\r\n"
        )
        body = head.encode() + file.read_bytes() + f"\r\n--{edge}--\r\n".encode()
        return self.ask("POST", path, body, Content_Type=f"multipart/form-data; boundary={edge}")


@dataclass
class Timed:
    """Seconds of many requests, and how many went wrong."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    took: float = 0.0

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("inf")

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.took if self.took else 0.0

    @property
    def words(self) -> str:
        wrong = f", first error: {self.errors[0]}" if self.errors else ""
        return (
            f"{len(self.seconds)} requests, {self.rate:.1f} a second, p50 {self.quantile(0.5):.3f} s, "
            f"p95 {self.quantile(0.95):.3f} s{wrong}"
        )


def together(works: Sequence[Callable[[], Iterator[tuple[str, int, int]]]], *, seconds: float, most: int) -> Timed:
    """Run every work in a thread of its own, all at once, for a bounded time and number of requests.

    Args:
        works: Each yields, per request, its name, its status and the status that is right; time is taken between.
        seconds: When to stop.
        most: The most requests of all together.
    """
    found, lock, begun = Timed(), threading.Lock(), time.perf_counter()
    ends = begun + seconds

    def run(work: Callable[[], Iterator[tuple[str, int, int]]]) -> None:
        last = time.perf_counter()
        for name, status, right in work():
            now = time.perf_counter()
            with lock:
                found.seconds.append(now - last)
                if status != right:
                    found.errors.append(f"{name}: {status}")
                if now > ends or len(found.seconds) >= most:
                    return
            last = time.perf_counter()

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=seconds + 130)
    found.took = time.perf_counter() - begun
    return found


class Memory:
    """The most memory that a process held while it was watched, in MB."""

    def __init__(self, pid: int) -> None:
        self.pid, self.before, self.most = pid, self._now(pid), 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @staticmethod
    def _now(pid: int) -> float:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self.most = max(self.most, self._now(self.pid))

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def grown(self) -> float:
        return max(0.0, self.most - self.before)


@dataclass
class Platform:
    """A running server, its home, and the people in it."""

    served: Any
    people: dict[str, Any]

    def visitor(self, session: str) -> Visitor:
        return Visitor(self.served.port, session)


@contextmanager
def platform(database: str, folder: Path, *, users: int) -> Iterator[Platform]:
    """Start a server on SQLite or on a PostgreSQL of its own, and fill it."""
    from postgres_server import run_postgres
    from served import clean_environment, own_database, serving

    with ExitStack() as stack:
        url = stack.enter_context(run_postgres()).url if database == "PostgreSQL" else None
        environment = stack.enter_context(own_database(url))
        served = stack.enter_context(serving(folder / "home", **environment))
        begin = f"import sys; sys.path.insert(0, {str(SUPPORT)!r})\nimport django; django.setup()\n"
        done = subprocess.run(
            [sys.executable, "-c", begin + WORLD, str(users)],
            env=clean_environment(
                DJANGO_SETTINGS_MODULE="pydplib.web.settings", PYDPLIB_HOME=str(served.home), **environment
            ),
            capture_output=True,
            text=True,
            timeout=300,
        )
        if done.returncode:
            raise RuntimeError("The server could not be filled:\n" + done.stderr[-2000:])
        yield Platform(served, json.loads(done.stdout))
