"""Follow real runs through the source: how many functions, files and packages does one task pass?

    python scripts/walk.py                        all walks, of src
    python scripts/walk.py OTHER/src              of another source folder, such as an older commit's checkout
    python scripts/walk.py --only payment report  some of them, with those that come before them
    python scripts/walk.py --json                 for machines

The walks (each group runs in a process of its own, in a temporary folder, on synthetic data):

release                  ``pydplib release reports.csv --question "mean age by bph"`` with a new ledger
calculate                ``dp_calculate(ages, "mean", "high", is_range=True)``
anonymize                ``anonymize`` with k = 5 and l = 2 over persons with several rows
price, payment, figure   a partner opens the price of "mean age by pirads", clicks "Ask and pay", reads the answer
report, snapshot         a radiologist's PI-RADS form becomes a signed report; the owner pins a snapshot

What is counted, by ``sys.setprofile``, of functions that are defined below the source folder:

calls              Named functions that were called, and generators each time they go on. Lambdas and comprehensions
                   count with the function around them.
functions, files   Distinct ones among these.
packages           Distinct first names below ``pydplib``; inside ``web`` the second ones, the apps. A module that lies
                   directly in ``pydplib`` or ``web`` is a package of its own.
package switches   How often a call lands in another package than the call before it.
policy calls       Calls of functions of ``pydplib.policy``.

What runs while a module is imported is no part of a walk. Caches are as cold as in a new process in which the platform
has started. The web walks find their world in ``tests/support`` next to the source folder.

Other ways of counting give other numbers of the same run. The payment of commit 036950f makes 690 policy calls here;
849 with generator expressions and lambdas, 1,050 with comprehensions too. It makes 638 package switches here; 611 if
only folders are packages, 591 if ``web`` is one package.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from html import unescape
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
GROUPS: dict[str, tuple[str, ...]] = {
    "release": ("release",),
    "calculate": ("calculate",),
    "anonymize": ("anonymize",),
    "partner": ("price", "payment", "figure"),
    "capture": ("report", "snapshot"),
}
"""Which walks run in one process, in this order."""

COLUMNS = ("calls", "functions", "files", "packages", "package switches", "policy calls")


class Walk:
    """Counts what is called below a source folder while it is entered.

    Args:
        folder: The source folder.
    """

    def __init__(self, folder: Path) -> None:
        self._top = str(folder.resolve() / "pydplib") + os.sep
        self._package: dict[CodeType, str | None] = {}
        self._importing = 0
        self._last: str | None = None
        self._functions: set[CodeType] = set()
        self._before: Any = None
        self.by_package: dict[str, int] = {}
        self.switches = 0

    def __enter__(self) -> Walk:
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *problem: object) -> None:
        sys.setprofile(self._before)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code.co_name == "<module>":
            self._importing += 1 if event == "call" else -1
        if event == "return" or self._importing:
            return
        package = self._package_of(code)
        if package is None:
            return
        self._functions.add(code)
        self.by_package[package] = self.by_package.get(package, 0) + 1
        self.switches += self._last is not None and self._last != package
        self._last = package

    def _package_of(self, code: CodeType) -> str | None:
        """Return the package of a named function of ours; none for what does not count."""
        if code not in self._package:
            path = code.co_filename
            counts = path.startswith(self._top) and not code.co_name.startswith("<")
            if counts and code.co_flags & inspect.CO_OPTIMIZED:  # a class body is none
                parts = Path(path.removeprefix(self._top)).with_suffix("").parts
                self._package[code] = ".".join(parts[: 2 if parts[0] == "web" else 1])
            else:
                self._package[code] = None
        return self._package[code]

    @property
    def numbers(self) -> dict[str, int]:
        """What was counted, by the names of ``COLUMNS``."""
        calls = sum(self.by_package.values())
        files = {code.co_filename for code in self._functions}
        counted = (calls, len(self._functions), len(files), len(self.by_package), self.switches, self.policy_calls)
        return dict(zip(COLUMNS, counted, strict=True))

    @property
    def policy_calls(self) -> int:
        """How many functions of the policy were called."""
        return self.by_package.get("policy", 0)


def partner_walks(client: Any, folder: Path) -> Iterator[tuple[str, Walk]]:
    """Walk as a partner whose browser is signed in: the price of a question, its payment, the answer's page."""
    asked = {"kind": "mean", "field": "age", "by1": "pirads", "accuracy": "epsilon", "epsilon": "0.4"}
    with Walk(folder) as price:
        page = client.get("/analyses/new", asked)
    yield "price", price
    form = re.search(r'<form method="post" action="/analyses/new".*?</form>', page.content.decode(), re.S)
    assert form is not None, "the price has no button to pay"
    sent: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form[0]):
        sent.setdefault(name, []).append(unescape(value))
    with Walk(folder) as payment:
        answer = client.post("/analyses/new", sent)
    assert answer.status_code == 302, f"the payment was answered by {answer.status_code}"
    yield "payment", payment
    with Walk(folder) as figure:
        page = client.get(answer.headers["Location"])
    assert page.status_code == 200, f"the answer's page is {page.status_code}"
    yield "figure", figure


def _partner(folder: Path, home: Path) -> Iterator[tuple[str, Walk]]:
    _start_platform(home)
    from reporting_world import session_of
    from study_world import make_partner, make_study

    from pydplib.web.people.models import Hospital, User

    where = Hospital.objects.get_or_create(name="St. Example")[0]
    owner = User.objects.create_user("olivia", hospital=where, is_hospital_owner=True)
    yield from partner_walks(_browser(session_of(make_partner(make_study(owner, reports=100), "tara"))), folder)


def _capture(folder: Path, home: Path) -> Iterator[tuple[str, Walk]]:
    _start_platform(home)
    from report_forms import COMPLETE, as_fields
    from reporting_world import make_world, session_of

    from pydplib.web.intake.snapshots import make_snapshot
    from pydplib.web.reporting.models import Report

    world = make_world()
    radiologist = _browser(session_of(world["rita0"]))
    key = {"project": world["project"].key}
    with Walk(folder) as report:
        radiologist.get("/reports/new", key)
        begun = radiologist.post("/reports/new", {**key, "identifier": "A 17", "new_patient": "A 17"})
        address = begun.headers["Location"]
        radiologist.get(address)
        filled = as_fields(COMPLETE)
        radiologist.post(address, {"revision": 0, "kind": "report", "do": "update", **filled})
        revision = Report.objects.get().revision
        signed = radiologist.post(address, {"revision": revision, "kind": "report", "do": "finish", **filled})
    assert Report.objects.get().state == Report.State.SIGNED, f"the report is not signed: {signed.status_code}"
    yield "report", report
    with Walk(folder) as snapshot:
        make_snapshot(world["project"], actor=world["olga"])  # as the job does that the page starts
    yield "snapshot", snapshot


def _start_platform(home: Path) -> None:
    for name in ("PYDPLIB_DEMO", "PYDPLIB_BEHIND_TLS", "PYDPLIB_HOSTS", "PYDPLIB_GALLERY", "DATABASE_URL"):
        os.environ.pop(name, None)
    os.environ |= {
        "PYDPLIB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "pydplib.web.settings", "PYDPLIB_ANSWER_SECONDS": "0"
    }  # fmt: skip
    import django
    from django.core.management import call_command
    from django.test.utils import setup_test_environment

    django.setup()
    setup_test_environment()
    call_command("migrate", verbosity=0)
    call_command("check", fail_level="ERROR")


def _browser(session: str) -> Any:
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = session
    return client


def _release(folder: Path, home: Path) -> Iterator[tuple[str, Walk]]:
    from pydplib.cli import main
    from pydplib.datasets import pirads, pirads_schema

    rows = pirads(n=200, backend="numpy")
    with (home / "reports.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    (home / "schema.toml").write_text(pirads_schema().to_toml(), encoding="utf-8")
    words = ["release", str(home / "reports.csv"), "--schema", str(home / "schema.toml"), "--question"]
    words += ["mean age by bph", "--epsilon", "0.4", "--recipient", "acme", "--role", "third_party"]
    words += ["--ledger", str(home / "ledger.db"), "--output", str(home / "answer.csv")]
    with Walk(folder) as walk, _ends_well():
        main(words)
    yield "release", walk


def _calculate(folder: Path, home: Path) -> Iterator[tuple[str, Walk]]:
    from pydplib.datasets import pirads
    from pydplib.paper import dp_calculate

    ages = pirads(n=200, backend="numpy")["age"]
    with Walk(folder) as walk:
        dp_calculate(ages, "mean", "high", is_range=True)
    yield "calculate", walk


def _anonymize(folder: Path, home: Path) -> Iterator[tuple[str, Walk]]:
    import pyarrow

    from pydplib.anonymity import Intervals, KAnonymity, LDiversity, anonymize

    visits = pyarrow.table(
        {
            "patient": [f"p{number // 2}" for number in range(200)],
            "age": [30 + number // 2 % 40 for number in range(200)],
            "score": [str(number * 7 % 5) for number in range(200)],
        }
    )
    with Walk(folder) as walk:
        anonymize(
            visits, {"age": Intervals(0, 120, [10, 20, 40])}, "score", person="patient",
            models=[KAnonymity(5), LDiversity(2)],
        )  # fmt: skip
    yield "anonymize", walk


RUNS: dict[str, Callable[[Path, Path], Iterator[tuple[str, Walk]]]] = {
    "release": _release, "calculate": _calculate, "anonymize": _anonymize, "partner": _partner, "capture": _capture
}  # fmt: skip


@contextmanager
def _ends_well() -> Iterator[None]:
    try:
        yield
    except SystemExit as end:
        if end.code:
            raise


def run_group(group: str, folder: Path) -> dict[str, dict[str, int]]:
    """Run the walks of a group here and now; meant for a process of its own."""
    folder = folder.resolve()
    sys.path[:0] = [str(folder), str(folder.parent / "tests" / "support")]
    import pydplib

    if not Path(pydplib.__file__).is_relative_to(folder):
        raise SystemExit(f"{pydplib.__file__} is not below {folder}: another pydplib was imported first.")
    # What the runs print has no place among our numbers.
    with tempfile.TemporaryDirectory(prefix="pydplib-walk-") as home, redirect_stdout(StringIO()):
        return {name: walk.numbers for name, walk in RUNS[group](folder, Path(home))}


def measure(folder: Path, wanted: set[str] | None = None) -> dict[str, dict[str, int]]:
    """Return walk -> numbers, each group measured in a new process."""
    found: dict[str, dict[str, int]] = {}
    for group, names in GROUPS.items():
        if wanted is not None and not wanted & set(names):
            continue
        command = [sys.executable, __file__, str(folder), "--group", group, "--json"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYDPLIB_")}
        done = subprocess.run(
            command, env=clean | {"PYTHONPATH": str(folder.resolve())}, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"The walk '{group}' failed:\n{done.stderr[-4000:]}")
        found |= json.loads(done.stdout)
    return found


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src", help="the source folder (src)")
    parser.add_argument("--only", nargs="+", choices=[name for names in GROUPS.values() for name in names])
    parser.add_argument("--group", choices=list(GROUPS), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args(arguments)
    numbers = (
        run_group(asked.group, asked.folder) if asked.group else measure(asked.folder, asked.only and set(asked.only))
    )
    if asked.json:
        print(json.dumps(numbers, indent=2))
        return
    print(f"{'walk':<10}" + "".join(f"{column:>18}" for column in COLUMNS))
    for name, row in numbers.items():
        print(f"{name:<10}" + "".join(f"{row[column]:>18,}" for column in COLUMNS))


if __name__ == "__main__":
    main(sys.argv[1:])
