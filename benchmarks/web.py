"""How the platform bears 20 people at once, a large import, and many questions; on SQLite and on PostgreSQL.

A real `pydplib serve` on loopback, pressed as fast as the clients can (no time to think), for a bounded time:
* 20 radiologists save reports and load pages: no error, 95 of 100 answers within 3 s;
* an import of 100 000 reports: progress is shown, the server's memory grows by at most 300 MB;
* different questions, each debited in the ledger and answered: no error, at least 3 a second; the same question again,
  free: at least 10 a second;
* a dashboard with the paper's figures under 20 readers: 95 of 100 within 3 s;
* a private question on the imported reports costs at most one step of time (0.5 s, which hides how long it took) and
  0.1 s more than the same query on DuckDB without privacy.

    python benchmarks/web.py [--quick] [--json PATH] [--database SQLite|PostgreSQL] [--rows 100000]
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from _lines import Line, finish, summary
from _web_visitors import USERS, Memory, Platform, Timed, Visitor, platform, together

Step = Iterator[tuple[str, int, int]]


@dataclass(frozen=True)
class Sizes:
    """How much is done."""

    seconds: float
    requests: int
    rows: int
    users: int = USERS


class Bench:
    """The measurements on one server."""

    def __init__(self, database: str, server: Platform, sizes: Sizes, folder: Path) -> None:
        self.database, self.server, self.sizes, self.folder = database, server, sizes, folder
        self.people = server.people

    def row(self, claim: str, value: float, unit: str = "", **more: Any) -> Line:
        """Return one line of the output."""
        return Line(f"{self.database}: {claim}", value, unit=unit, **more)

    def _together(self, works: Sequence[Any]) -> Timed:
        return together(works, seconds=self.sizes.seconds, most=self.sizes.requests)

    def _judged(self, claim: str, found: Timed) -> list[Line]:
        return [
            self.row(f"{claim}: errors", len(found.errors), bar=0, note=found.words),
            self.row(f"{claim}: 95 of 100 within", found.quantile(0.95), "s", bar=3.0),
        ]

    # -- reporting -------------------------------------------------------------------------------

    def saves(self) -> Iterator[Line]:
        """Every radiologist saves an own draft, again and again."""

        def work(person: dict[str, str]) -> Any:
            def run() -> Step:
                visitor, revision = self.server.visitor(person["session"]), 0
                path = f"/reports/{person['draft']}/autosave"
                for number in count():
                    fields = {"revision": revision, "kind": "report", "do": "update", "exam_date": "2018-03-31",
                              "age": 40 + number % 50, "histology": "no", "prostate_volume": "45.5",
                              "lesion/0/zone": "PZ", "lesion/0/size": 5 + number % 30, "lesion/0/dwi": 1 + number % 5,
                              "lesion/0/t2w": "3", "lesion/0/dce": "neg"}  # fmt: skip
                    status, _, body = visitor.post(path, fields)
                    found = re.search(rb'name="revision" value="(\d+)"', body)
                    revision = int(found[1]) if found else revision + 1
                    yield "save", status, 200

            return run

        yield from self._judged(
            f"{self.sizes.users} people save reports", self._together([work(each) for each in self.people["readers"]])
        )

    def pages(self) -> Iterator[Line]:
        """Every radiologist and as many partners look around."""
        reader_pages = ("/", "/reports", "/reports/{draft}/edit", "/data", "/labelling", "/templates")

        def work(person: dict[str, str]) -> Any:
            def run() -> Step:
                visitor = self.server.visitor(person["session"])
                for number in count():
                    path = reader_pages[number % len(reader_pages)].format(**person)
                    yield path, visitor.get(path)[0], 200

            return run

        yield from self._judged(
            f"{self.sizes.users} people load pages", self._together([work(each) for each in self.people["readers"]])
        )

    # -- import ----------------------------------------------------------------------------------

    def imports(self) -> Iterator[Line]:
        """The owner imports a large file, looking at its progress."""
        file = write_file(self.folder / "reports.csv", self.sizes.rows)
        owner = self.server.visitor(self.people["owner"])
        query = f"project={self.people['large']}"
        with Memory(self.server.served.process.pid) as memory:
            begun = time.perf_counter()
            status, headers, body = owner.upload(f"/import?{query}", file)
            if status != 302:
                raise RuntimeError(f"The upload was answered with {status}: {body[:300]!r}")
            page = headers["location"]
            received = time.perf_counter() - begun
            status, _, body = owner.get(page)
            mapping = dict(
                re.findall(r'<select name="(column\d+)".*?<option value="([^"]+)" selected', body.decode(), re.S)
            )
            owner.post(page + "/mapping", mapping)
            checked, seen = self._wait(owner, page, "Accept", begun)
            owner.post(page + "/accept", {})
            accepted, more = self._wait(owner, page, "reports taken in", begun)
        detail = f"received {received:.1f} s, checked {checked - received:.1f} s, taken in {accepted - checked:.1f} s"
        yield self.row(f"import of {self.sizes.rows:,} reports", accepted, "s", note=detail)
        yield self.row("import, reports a second", self.sizes.rows / accepted, rule=">=", bar=200)
        yield self.row("import, progress shown, different numbers", len(seen | more), rule=">=", bar=5)
        note = f"from {memory.before:.0f} to at most {memory.most:.0f} MB"
        yield self.row("import, memory grown", memory.grown, "MB", bar=300, note=note)

    def _wait(self, owner: Visitor, page: str, words: str, begun: float) -> tuple[float, set[str]]:
        seen: set[str] = set()
        while time.perf_counter() - begun < 1800:
            status, _, body = owner.get(page)
            text = body.decode()
            if words in text and status == 200 and 'hx-trigger="every 2s"' not in text:
                return time.perf_counter() - begun, seen
            seen |= set(re.findall(r"(\d+) of \d+ rows", text))
            time.sleep(0.2)
        raise RuntimeError("The import did not end in time.")

    # -- questions -------------------------------------------------------------------------------

    def asks(self) -> Iterator[Line]:
        """Partners ask different questions, then the same ones again."""
        number = count(1)

        def work(session: str, *, again: int = 0) -> Any:
            def run() -> Step:
                visitor = self.server.visitor(session)
                while True:
                    fields = question(self.people["small"], again or next(number))
                    yield "ask", visitor.post("/analyses/new", fields)[0], 302

            return run

        new = self._together([work(each) for each in self.people["partners"]])
        yield self.row("different questions: errors", len(new.errors), bar=0, note=new.words)
        yield self.row("different questions, a second", new.rate, rule=">=", bar=3)
        once = question(self.people["small"], 999_999)
        for each in self.people["partners"]:
            self.server.visitor(each).post("/analyses/new", once)
        old = self._together([work(each, again=999_999) for each in self.people["partners"]])
        yield self.row("the same question again: errors", len(old.errors), bar=0, note=old.words)
        yield self.row("the same question again, a second", old.rate, rule=">=", bar=10)

    def boards(self) -> Iterator[Line]:
        """Partners look at the paper's figures."""
        path = f"/dashboards/{self.people['board']}"

        def work(session: str) -> Any:
            def run() -> Step:
                visitor = self.server.visitor(session)
                while True:
                    yield path, visitor.get(path)[0], 200

            return run

        alone = together([work(self.people["partners"][0])], seconds=self.sizes.seconds, most=20)
        claim = "dashboard of four figures, one reader"
        yield self.row(claim, alone.quantile(0.5), "s", bar=1.0, note=alone.words)
        yield from self._judged(
            f"dashboard, {self.sizes.users} readers", self._together([work(each) for each in self.people["partners"]])
        )

    def overhead(self) -> Iterator[Line]:
        """A private question on the imported reports against the same query without privacy."""
        import duckdb

        owner = self.server.visitor(self.people["owner"])
        partner = self.server.visitor(self.people["partners"][0])
        status, _, _ = owner.post(f"/snapshots?project={self.people['large']}", {"publish": "1"})
        if status != 302:
            raise RuntimeError(f"No snapshot could be made: {status}")
        waited = time.monotonic() + 300  # it is published in the background
        while b"Nothing can be asked now" in partner.get(f"/analyses/new?project={self.people['large']}")[2]:
            if time.monotonic() > waited:
                raise RuntimeError("The snapshot was not published within 300 s.")
            time.sleep(0.5)
        newest = max((self.server.served.home / "snapshots").glob("*.parquet"), key=lambda path: path.stat().st_mtime)
        raw, private = [], []
        for number in range(1, 4 if self.sizes.requests < 100 else 16):
            begun = time.perf_counter()
            with duckdb.connect() as connection:
                connection.execute(
                    "SELECT age < ?, count(*) FROM read_parquet(?) GROUP BY 1", [edge_of(number), str(newest)]
                ).fetchall()
            raw.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            status, _, _ = partner.post("/analyses/new", question(self.people["large"], number))
            private.append(time.perf_counter() - begun)
            if status != 302:
                raise RuntimeError(f"The question was answered with {status}.")
        mine, theirs = median(private), median(raw)
        note = f"private {mine:.3f} s through the server, raw {theirs:.4f} s"
        yield self.row("private question: more time than raw DuckDB", mine - theirs, "s", bar=0.6, note=note)
        claim = "private question: times the raw DuckDB query"
        yield self.row(claim, mine, "s", peer=theirs, ratio=mine / theirs)


def edge_of(number: int) -> float:
    """Return an edge of bins that no other number has."""
    return 30 + number / 50_000


def question(project: str, number: int) -> dict[str, Any]:
    """Return a question that no other number asks, at a small price."""
    return {"project": project, "kind": "histogram", "field": "age", "bins_age": f"20, {edge_of(number):.5f}, 95",
            "accuracy": "epsilon", "epsilon": "0.01", "agreed": 10**9}  # fmt: skip


def write_file(path: Path, rows: int) -> Path:
    """Write synthetic reports as a file with semicolons."""
    from pydplib import datasets

    columns = datasets.pirads(n=rows, seed=7, backend="numpy")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(columns)
        for cells in zip(*(values.tolist() for values in columns.values()), strict=True):
            writer.writerow(["" if cell is None or cell != cell else _cell(cell) for cell in cells])
    return path


def _cell(cell: Any) -> Any:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--database", choices=["SQLite", "PostgreSQL"], help="only this one")
    parser.add_argument("--rows", type=int, default=100_000, help="reports of the import (default 100 000)")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the numbers there as well")
    options = parser.parse_args(arguments)
    sizes = Sizes(1.5, 60, 3_200, 4) if options.quick else Sizes(15.0, 3_000, options.rows)
    lines: list[Line] = []
    for database in ("SQLite", "PostgreSQL"):
        if options.database not in (None, database):
            continue
        with tempfile.TemporaryDirectory() as folder, platform(database, Path(folder), users=sizes.users) as server:
            bench = Bench(database, server, sizes, Path(folder))
            for part in (bench.saves, bench.pages, bench.asks, bench.boards, bench.imports, bench.overhead):
                for line in part():
                    lines.append(line)
                    print(line.text(judged=not options.quick), flush=True)
    print(summary(lines, quick=options.quick))
    return finish("web", lines, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
