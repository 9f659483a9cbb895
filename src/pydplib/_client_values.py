"""What the client gets, as values, and how they are read from the server's JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydplib.budget.rules import Remaining
from pydplib.errors import EngineError, PydplibError
from pydplib.release import MeasuredTables, Price, Release

_T = TypeVar("_T")
_BUSY = ("waiting", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectEntry:
    """A project in a list."""

    key: str
    name: str
    purpose: str
    role: str
    is_synthetic: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisEntry:
    """An analysis in a list."""

    key: str
    words: str
    title: str
    question: Mapping[str, Any]
    label: str
    organisation: str
    made: datetime
    release_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportEntry:
    """An anonymized table on the platform.

    Attributes:
        key: Its key, for ``Client.download`` and ``Client.certificate``.
        project: The project's key.
        title: Its name.
        state: Where it stands: a partner sees ``"released"``; an owner also what is being made or was withdrawn.
        columns: Its columns.
        rows: How many rows it has; none while it is not made.
        guarantee: What it guarantees, in one sentence.
        sha256: Kind of file -> its digest.
        released: When it was released.
        progress: How far it is, in words; for owners.
        problem: Why it could not be made; for owners.
    """

    key: str
    project: str
    title: str
    state: str
    columns: tuple[str, ...]
    rows: int | None
    guarantee: str
    sha256: Mapping[str, str]
    released: datetime | None
    progress: str
    problem: str


@dataclass(frozen=True, slots=True)
class Download:
    """A copy of an anonymized table.

    Attributes:
        path: The file.
        certificate_path: Its certificate, as JSON next to it.
        certificate: The same as values.
    """

    path: Path
    certificate_path: Path
    certificate: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """What an organisation was given, or an audience could get with its whole budget, and what that allows at most.

    Attributes:
        subject: What ``Project.start_attacks`` takes.
        name: Its name.
        whole_budget: Whether it is about a whole budget, not about what was given.
        epsilon: The loss in total.
        delta: The chance by which the guarantee may fail.
        most_success: How often the best guess whether a person is in the data is right at most; a coin has 0.5.
        questions: How many questions it has paid for.
        tables: The keys of the anonymized tables that it has copies of.
        synthetic: The keys of the synthetic tables that it has bought; their loss is part of epsilon.
    """

    subject: str
    name: str
    whole_budget: bool
    epsilon: float
    delta: float
    most_success: float
    questions: int
    tables: tuple[str, ...]
    synthetic: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticEntry:
    """A synthetic table on the platform.

    Attributes:
        key: Its key.
        project: The project's key.
        title: Its name.
        state: ``"running"``, ``"ready"``, ``"withdrawn"``; ``"paying"`` or ``"stalled"`` if it broke off.
        progress: Percent done; none while the end is not known.
        problem: Why it could not be made yet.
        columns: Its columns.
        relations: The relations that were declared.
        epsilon: What it cost.
        release_key: Its name in the ledger.
        made: When it was bought.
        reason: Why it was withdrawn.
    """

    key: str
    project: str
    title: str
    state: str
    progress: int | None
    problem: str
    columns: tuple[str, ...]
    relations: tuple[tuple[str, ...], ...]
    epsilon: float
    release_key: str
    made: datetime
    reason: str

    @property
    def is_busy(self) -> bool:
        """Whether it is being made."""
        return self.state == "running"


@dataclass(frozen=True, slots=True)
class SyntheticVariant:
    """A synthetic table with one kind of noise, before it is bought.

    Attributes:
        noise: ``"gaussian"`` or ``"laplace"``.
        price: What it costs and what it leaves.
        margin: How far noise moves one count of a column or declared relation in 95 of 100 tables, in persons.
        distance: The expected total variation of the columns; None where the number of persons is not known.
    """

    noise: str
    price: Price
    margin: float
    distance: float | None


@dataclass(frozen=True, slots=True)
class SyntheticPrice:
    """What a synthetic table would cost.

    Attributes:
        chosen: What would be bought.
        other: The other kind of noise at equal fidelity; None where there is none.
        why: Why this one.
    """

    chosen: SyntheticVariant
    other: SyntheticVariant | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackReport:
    """A run of attacks on behalf of a recipient: how far it is, or what it found. It holds no value of any field.

    Attributes:
        key: Its key.
        project: The project's key.
        name: On whose behalf.
        state: ``"waiting"``, ``"running"``, ``"done"``, or ``"stalled"`` if nobody works on it any more.
        progress: Percent done.
        problem: Why it ended early.
        made: When it was started.
        result: Everything that was found, as plain values; empty until it is done.
    """

    key: str
    project: str
    name: str
    state: str
    progress: int | None
    problem: str
    made: datetime
    result: Mapping[str, Any] = field(repr=False)

    @property
    def is_busy(self) -> bool:
        """Whether it is worth waiting for."""
        return self.state in _BUSY and not self.problem

    @property
    def headline(self) -> str:
        """The verdict in one sentence; empty until it is done."""
        return str(self.result.get("verdict", {}).get("headline", ""))

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the verdict rests on, the worst first."""
        return tuple(self.result.get("verdict", {}).get("reasons", ()))


def understood(read: Callable[[Any], _T]) -> Callable[[Any], _T]:
    """Wrap a reader of the server's values: what does not fit is a server of another version, said as such."""

    def reader(values: Any) -> _T:
        try:
            return read(values)
        except PydplibError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            raise EngineError("The server's answer is not understood: it may be of another version.") from None

    return reader


@understood
def read_export(values: Any) -> ExportEntry:
    """Return a table of the server's list."""
    names = ("key", "project", "title", "state", "rows", "guarantee", "progress", "problem")
    return ExportEntry(
        **{name: values[name] for name in names},
        columns=tuple(values["columns"]),
        sha256=dict(values["sha256"]),
        released=None if values["released"] is None else datetime.fromisoformat(values["released"]),
    )


@understood
def read_recipient(values: Any) -> Recipient:
    """Return a recipient of the server's list."""
    names = ("subject", "name", "whole_budget", "epsilon", "delta", "most_success", "questions")
    return Recipient(
        **{name: values[name] for name in names},
        tables=tuple(values["tables"]),
        synthetic=tuple(values.get("synthetic", ())),
    )


@understood
def read_report(values: Any) -> AttackReport:
    """Return a run of attacks."""
    names = ("key", "project", "name", "state", "progress", "problem")
    return AttackReport(
        **{name: values[name] for name in names},
        made=datetime.fromisoformat(values["made"]),
        result=dict(values["result"]),
    )


@understood
def read_synthetic(values: Any) -> SyntheticEntry:
    """Return a synthetic table of the list."""
    names = ("key", "project", "title", "state", "progress", "problem", "epsilon", "release_key", "reason")
    return SyntheticEntry(
        **{name: values[name] for name in names},
        columns=tuple(values["columns"]),
        relations=tuple(tuple(relation) for relation in values["relations"]),
        made=datetime.fromisoformat(values["made"]),
    )


@understood
def read_synthetic_price(values: Any) -> SyntheticPrice:
    """Return what a synthetic table would cost."""

    def variant(plain: Any) -> SyntheticVariant:
        price = Price.from_dict(plain["price"])
        return SyntheticVariant(plain["noise"], price, float(plain["margin"]), plain["distance"])

    other = values["other"]
    return SyntheticPrice(variant(values["chosen"]), None if other is None else variant(other), values["why"])


@understood
def read_project(values: Any) -> ProjectEntry:
    """Return a project of the list."""
    return ProjectEntry(**{name: values[name] for name in ("key", "name", "purpose", "role", "is_synthetic")})


@understood
def read_analysis(values: Any) -> AnalysisEntry:
    """Return an analysis of the list."""
    names = ("key", "words", "title", "question", "label", "organisation", "release_key")
    return AnalysisEntry(**{name: values[name] for name in names}, made=datetime.fromisoformat(values["made"]))


@understood
def read_release(values: Any) -> Release:
    """Return released values."""
    return Release.from_dict(values)


@understood
def read_tables(values: Any) -> MeasuredTables:
    """Return tables that were bought together, their answers in the order in which they were asked."""
    tables = MeasuredTables.from_json(json.dumps(values["tables"]))
    order = values.get("order", range(len(tables.releases)))
    releases = [replace(tables.releases[place], key=tables.key) for place in order]
    return replace(tables, releases=tuple(releases))


@understood
def read_remaining(values: Any) -> Remaining:
    """Return what is left of a budget."""
    return Remaining.from_dict(values)


@understood
def read_price(values: Any) -> Price:
    """Return a price."""
    return Price.from_dict(values)
