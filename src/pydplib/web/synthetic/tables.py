"""Who sees a synthetic table, what it holds, its files, and questions that it answers for nothing."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from pydplib._csv_text import csv_pieces
from pydplib.errors import ParameterError, PolicyError, QuestionError
from pydplib.policy import Decision, FlowAudience, FlowSource, Output, may_flow
from pydplib.release import Count, Mean
from pydplib.schema import Schema
from pydplib.synthesis import PopulationIntervals, SyntheticTable
from pydplib.web import hooks
from pydplib.web.analyses.payments.purchases import stored_payload
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.analyses.question_form.trials import TrialTable
from pydplib.web.auditlog.log import record, recorded
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.permissions import ProjectRequest, TargetRequest
from pydplib.web.synthetic.models import SyntheticCopy, SyntheticPurchase
from pydplib.web.synthetic.purchases import snapshot_of

MOST_COPIES = 20
"""Most copies in one file: more add no information about patients."""

MOST_TRIED = 3
"""Most tables that a question is offered to be tried on."""

WITHDRAWN = "The owner has withdrawn this synthetic table. Delete the copies that you have. Nothing is refunded."
"""What a recipient is told."""

_SMALL = 1e-6  # within any cap: it is paid
_State = SyntheticPurchase.State


# -- who sees it -------------------------------------------------------------------------------------


def is_own(row: SyntheticPurchase, user: User, place: Member) -> bool:
    """Return whether the user's organisation paid; who looks through another role's eyes belongs to no partner."""
    return not place.preview and row.recipient == recipient_of(user)


def decision_for(row: SyntheticPurchase, place: Member) -> Decision:
    """Ask the policy of today whether a table that is paid may still go to somebody's role and groups."""
    project = row.project
    schema = Schema.from_json(snapshot_of(row).schema)
    source = FlowSource.of(schema, project=project.key, fields=row.asked["columns"])
    output = Output(row.label, epsilon=_SMALL, synthetic=True)  # type: ignore[arg-type]
    audience = FlowAudience(place.role, tuple(place.groups))
    return may_flow(source, audience, output, project.purpose, policy=project.policy, on=timezone.localdate())


def visible(project: Project, user: User, place: Member) -> QuerySet[SyntheticPurchase]:
    """Return the tables that are somebody's business, newest first: those of their organisation; for owners, all."""
    found = SyntheticPurchase.objects.filter(project=project).select_related("project", "asked_by__hospital")
    if place.can("manage_data"):
        return found
    return found.none() if place.preview else found.filter(recipient=recipient_of(user))


def check_concerns(request: TargetRequest[SyntheticPurchase]) -> SyntheticPurchase:
    """Return the table of the address if it is the user's business; else it looks as if it were not there."""
    row: SyntheticPurchase = request.target
    if not is_own(row, request.user, request.member) and not request.member.can("manage_data"):
        raise Http404
    return row


def check_see(request: TargetRequest[SyntheticPurchase]) -> SyntheticPurchase:
    """Return the table of the address if the user may have its rows now.

    Raises:
        Http404: It is somebody else's, or not made yet.
        PolicyError: It was withdrawn, or the policy has closed it; the refusal is logged.
    """
    row = check_concerns(request)
    if row.state not in (_State.READY, _State.WITHDRAWN):
        raise Http404
    if request.member.can("manage_data"):
        return row
    if row.state == _State.WITHDRAWN:
        record(request.user, "flow.refuse", row.key, project=row.project, reason="The table was withdrawn.")
        raise PolicyError(WITHDRAWN)
    decision = decision_for(row, request.member)
    if not decision:
        record(request.user, "flow.refuse", row.key, project=row.project, reason=decision.reason)
        raise PolicyError(f"{decision.reason} Ask the owner of the data to change the policy.")
    return row


# -- what it holds ----------------------------------------------------------------------------------


def table_of(row: SyntheticPurchase) -> SyntheticTable:
    """Return the table of a purchase, read from the ledger."""
    return SyntheticTable.from_json(stored_payload(row.digest))


def columns_of(table: SyntheticTable) -> dict[str, list[object]]:
    """Return the rows as columns of plain values."""
    return {column.name: column.to_list() for column in table.decoded()}


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """A kind of file.

    Attributes:
        title: What it is called on a page.
        content_type: Its type.
        ending: The end of its name.
        write: From the table and the number of copies to the bytes.
    """

    title: str
    content_type: str
    ending: str
    write: Callable[[SyntheticTable, int], bytes]


def _csv(table: SyntheticTable, copies: int = 0) -> bytes:
    return _written(table.to_csv)


def _parquet(table: SyntheticTable, copies: int = 0) -> bytes:
    return _written(table.to_parquet)


def _json(table: SyntheticTable, copies: int = 0) -> bytes:
    return (table.to_json() + "\n").encode()


def _zip(table: SyntheticTable, copies: int) -> bytes:
    if not 2 <= copies <= MOST_COPIES:
        raise ParameterError(f"Take between 2 and {MOST_COPIES} copies.")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for number, frame in enumerate(table.copies(copies, backend="pyarrow"), start=1):
            named = frame.to_pydict()
            rows = zip(*named.values(), strict=True)
            packed.writestr(f"copy-{number:02d}.csv", "".join(csv_pieces(list(named), rows)))
        packed.writestr("README.txt", COPIES_WORDS)
    return out.getvalue()


COPIES_WORDS = """\
Copies of one synthetic table, each drawn from other probabilities that fit what was measured.

Run your analysis on each copy, then combine: the estimate is the mean of the estimates, its variance
T = (1 + 1/m) b - v, with b the variance between the m copies and v the mean of the variances that your software
reports; where T is not positive, take v. More copies add no information about patients. This holds for relations that
were declared before the purchase.
"""

KINDS: Mapping[str, FileKind] = {
    "csv": FileKind(title="Rows (CSV)", content_type="text/csv; charset=utf-8", ending="csv", write=_csv),
    "parquet": FileKind(
        title="Rows (Parquet)", content_type="application/vnd.apache.parquet", ending="parquet", write=_parquet
    ),
    "json": FileKind(title="Measurements (JSON)", content_type="application/json", ending="json", write=_json),
    "copies": FileKind(title="Copies (ZIP)", content_type="application/zip", ending="zip", write=_zip),
}
"""The files of a synthetic table."""


def _written(write: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        write(path)
        return path.read_bytes()


def take(request: ProjectRequest, row: SyntheticPurchase, kind: str, *, copies: int = 5) -> bytes:
    """Return a file for somebody who may have it; the copy is noted, so that its holder can be told of a recall."""
    if kind not in KINDS:
        raise Http404
    # The very bytes that the receipt is about.
    content = stored_payload(row.digest) if kind == "json" else KINDS[kind].write(table_of(row), copies)
    with recorded(request.user, project=row.project) as log:
        SyntheticCopy.objects.create(table=row, user=request.user, recipient=recipient_of(request.user), kind=kind)
        log.add("synthetic.download", row.key, kind=kind, role=request.member.role)
    return content


# -- questions that cost nothing ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class FreeAnswer:
    """An answer that is read off a table that is paid.

    Attributes:
        words: What was asked.
        heads: Heads of the answer's table.
        rows: Its rows.
        note: How far to trust it.
        is_measured: Whether the relation was measured; else the answer is what other tables imply, without interval.
    """

    words: str
    heads: list[str]
    rows: list[list[str]]
    note: str
    is_measured: bool = True


def ask_table(
    table: SyntheticTable,
    what: str,
    names: list[str],
    titles: Mapping[str, str],
    values: Mapping[str, Mapping[str, str]] | None = None,
) -> FreeAnswer:
    """Answer a question from a synthetic table, with intervals for the population; costs nothing.

    Args:
        table: The table.
        what: ``"share"``: how persons are spread over one or two columns; ``"average"``: the average of the first
            column, by the others.
        names: The columns.
        titles: Column -> its words.
        values: Column -> stored value -> its words.

    Raises:
        QuestionError: The question does not fit the table.
    """
    question = _question(what, names)
    shown = [titles.get(name, name) for name in names]
    words = f"Average of {shown[0]}" if what == "average" else "Share of persons"
    by = shown[1:] if what == "average" else shown
    words += f" by {' and '.join(by)}" if by else ""
    margin = table.margin(names)
    if not margin.is_measured:
        counted = _drawn(table, what, names)
        return FreeAnswer(
            words=words,
            heads=[*by, "in the synthetic rows"],
            rows=[[*_in_words(cells, names[-len(cells) :], values), value] for cells, value in counted],
            note=f"{' and '.join(shown)}: what the other tables imply. Conclude nothing about a relation from it.",
            is_measured=False,
        )
    found = table.interval(question)
    note = f"Counts move by {margin.words}." + (f" Note: {found.note}." if found.note else "")
    rows = [[*_in_words(line[:-2], list(found.names), values), *line[-2:]] for line in _lines(found)]
    return FreeAnswer(words=words, heads=[*by, found.unit or "value", "95 % interval"], rows=rows, note=note)


def _in_words(cells: list[str], names: list[str], values: Mapping[str, Mapping[str, str]] | None) -> list[str]:
    if values is None or len(cells) != len(names):
        return cells
    return [values.get(name, {}).get(cell, cell) for name, cell in zip(names, cells, strict=True)]


def _question(what: str, names: list[str]) -> Any:
    if not names or len(set(names)) != len(names):
        raise QuestionError("Choose one column, or two different ones.")
    if what == "average":
        return Mean(names[0], by=names[1:] or None)
    return Count(by=names)


def _lines(found: PopulationIntervals) -> list[list[str]]:
    share = found.unit == "share of persons"
    return [
        [*cell, _number(value, share), f"{_number(low, share)} to {_number(high, share)}"]
        for cell, value, low, high in zip(found.cells, found.values, found.low, found.high, strict=True)
    ]


def _number(value: float, share: bool) -> str:
    return f"{100 * value:.1f} %" if share else f"{value:.1f}"


def _drawn(table: SyntheticTable, what: str, names: list[str]) -> list[tuple[list[str], str]]:
    rows = list(zip(*(columns_of(table)[name] for name in names), strict=True))
    groups: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        cell = row[1:] if what == "average" else row
        groups.setdefault(tuple("missing or other" if v is None else str(v) for v in cell), []).append(row[0])
    found = []
    for cell, values in sorted(groups.items()):
        known = [float(value) for value in values if value is not None] if what == "average" else []
        average = f"{sum(known) / len(known):.1f}" if known else "–"
        found.append((list(cell), average if what == "average" else f"{100 * len(values) / len(rows):.1f} %"))
    return found


@hooks.trial_tables.register
def tables_to_try(project: Project, user: User, place: Member, names: list[str]) -> list[TrialTable]:
    """Return the tables of somebody's organisation that have these columns, for questions that are tried first."""
    mine = [row for row in visible(project, user, place).filter(state=_State.READY) if is_own(row, user, place)]
    return [
        TrialTable(row.key, str(row), columns_of(table_of(row)))
        for row in mine[:MOST_TRIED]
        if set(names) <= set(row.asked["columns"]) and decision_for(row, place)
    ]


# -- withdrawal -------------------------------------------------------------------------------------


def withdraw(actor: User, row: SyntheticPurchase, *, reason: str) -> None:
    """Take a table back: no further look or download; those who have a copy are told. Nothing is refunded."""
    with recorded(actor, project=row.project) as log:
        kept = SyntheticPurchase.objects.filter(pk=row.pk, state=_State.READY)
        if not kept.update(state=_State.WITHDRAWN, withdrawn=timezone.now(), reason=reason[:400]):
            raise ParameterError("Only a table that is ready can be withdrawn.")
        log.add("synthetic.withdraw", row.key, copies=row.copies.values("user").distinct().count())
    row.refresh_from_db()


def count_copies(row: SyntheticPurchase, user: User) -> int:
    """Return how many copies a user has."""
    return row.copies.filter(user=user, deleted__isnull=True).count()


def copies_of(row: SyntheticPurchase) -> list[SyntheticCopy]:
    """Return all copies, each with who took it."""
    return list(row.copies.select_related("user"))


def taken_by(user: User, key: str) -> SyntheticPurchase | None:
    """Return a table of which a user has a copy, whether or not they are still in the project."""
    mine = SyntheticCopy.objects.filter(table__key=key, user=user).select_related("table__project__hospital")
    copy = mine.first()
    return None if copy is None else copy.table


def confirm_deleted(user: User, row: SyntheticPurchase) -> int:
    """Note that somebody has deleted their copies; returns how many."""
    with recorded(user, project=row.project) as log:
        count = SyntheticCopy.objects.filter(table=row, user=user, deleted__isnull=True).update(deleted=timezone.now())
        if count:
            log.add("synthetic.deleted", row.key, copies=count)
    return count


def recalls_for(user: User) -> list[SyntheticPurchase]:
    """Return the withdrawn tables of which somebody still has a copy, for the home page; left members are told too."""
    mine = SyntheticCopy.objects.filter(user=user, deleted__isnull=True)
    found = SyntheticPurchase.objects.filter(state=_State.WITHDRAWN, pk__in=mine.values("table"))
    return list(found.select_related("project"))
