"""The leak report: run every attack that applies to a release, and say who may get it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydplib._shown import Shown
from pydplib.anonymity.assessment.unnamed_columns import ColumnFinding
from pydplib.anonymity.assessment.verification import names_of
from pydplib.attack.kinds import Beside
from pydplib.attack.leaks.audiences import AUDIENCES, Audience, AudienceVerdict, kind_of
from pydplib.attack.leaks.plans import attack_column, attack_counts, attack_table
from pydplib.attack.leaks.tasks import Outcome, Progress
from pydplib.attack.result import AttackResult
from pydplib.errors import ParameterError
from pydplib.paper.result import DPResult
from pydplib.release.results.release import Release


@dataclass(frozen=True, repr=False, kw_only=True)
class LeakReport(Shown):
    """What was tried on a release, what was learnt, and who may get it. No cell of a table is in it.

    Attributes:
        kind: ``"table"``, ``"counts"`` (a differentially private release) or ``"noisy column"``.
        outcomes: Every attack with its result, or why there is none.
        verdicts: One per audience.
        quasi_identifiers: What the attacker knew.
        sensitive: What he wanted to learn.
        people: How many people were attacked.
        rows: How many rows were released; 0 for counts.
        guarantee: What the release itself promises, in words.
        seconds: How long it took.
        notes: What to know about how it was attacked.
        columns: What released columns give away that nobody gave a role.

    Examples:
        >>> import pandas as pd
        >>> table = pd.DataFrame({"age": [31, 34, 52, 57], "ill": ["flu", "flu", "burn", "hiv"]})
        >>> coarse = table.assign(age=["30-39", "30-39", "50-59", "50-59"])
        >>> report = leak_report(table, coarse, quasi_identifiers=["age"], sensitive="ill")
        >>> report.answer("public"), report.result("homogeneity").exposed
        ('no', 0.5)
    """

    kind: str
    outcomes: tuple[Outcome, ...]
    verdicts: tuple[AudienceVerdict, ...]
    quasi_identifiers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    people: int = 0
    rows: int = 0
    guarantee: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    columns: tuple[ColumnFinding, ...] = ()

    @property
    def results(self) -> tuple[AttackResult, ...]:
        """The attacks that came to a result."""
        return tuple(outcome.result for outcome in self.outcomes if outcome.result is not None)

    @property
    def unfinished(self) -> tuple[Outcome, ...]:
        """The attacks without a result, each with the reason."""
        return tuple(outcome for outcome in self.outcomes if outcome.result is None)

    @property
    def worst(self) -> AttackResult | None:
        """The attack that exposed most people."""
        return max(self.results, key=lambda result: (result.due, result.exposed, result.advantage), default=None)

    def result(self, name: str) -> AttackResult:
        """Return the first result of a kind of attack."""
        for result in self.results:
            if name in (result.name, kind_of(result)):
                return result
        raise ParameterError(
            f"No attack '{name}' came to a result. There are: {', '.join(r.name for r in self.results)}."
        )

    def answer(self, audience: str) -> str:
        """Return yes, no or open for an audience."""
        for verdict in self.verdicts:
            if verdict.audience.name == audience:
                return verdict.answer
        raise ParameterError(f"No audience '{audience}' was judged.")

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON."""
        return {
            "kind": self.kind,
            "quasi_identifiers": list(self.quasi_identifiers),
            "sensitive": list(self.sensitive),
            "people": self.people,
            "rows": self.rows,
            "guarantee": self.guarantee,
            "seconds": round(self.seconds, 3),
            "attacks": [
                {**(outcome.result.to_dict() if outcome.result else {"name": outcome.task.name}),
                 "about": outcome.task.about, "seconds": round(outcome.seconds, 3), "problem": outcome.problem}
                for outcome in self.outcomes
            ],
            "columns": [found.to_dict() for found in self.columns],
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "notes": list(self.notes),
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [str(result) for result in self.results]
        lines += [f"{outcome.task.name} ({outcome.task.about}): {outcome.problem}" for outcome in self.unfinished]
        lines += [found.sentence for found in self.columns]
        lines += [f"{v.audience.title}: {v.answer}. {' '.join(v.reasons)}" for v in self.verdicts]
        return "\n".join(lines)


def leak_report(
    table: Any,
    released: Any,
    *,
    quasi_identifiers: Sequence[str] | Mapping[str, Any] | None = None,
    sensitive: str | Sequence[str] | None = None,
    person: str | None = None,
    hierarchies: Mapping[str, Any] | None = None,
    kinds: Mapping[str, Any] | None = None,
    population: Any = None,
    previous: Sequence[Any] = (),
    came: Any = None,
    left: Any = None,
    noisy: str | Sequence[str] | Mapping[str, str | None] | None = None,
    insensitive: str | Sequence[str] = (),
    identifiers: str | Sequence[str] = (),
    margin: float = 0.2,
    audiences: Sequence[Audience] | None = None,
    workers: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> LeakReport:
    """Run every attack that applies to a release, and say who may get it.

    Args:
        table: The original: its owner attacks on behalf of everybody else. For a single noisy column, that column.
        released: What would leave: a data frame, path, ``AnonymizationResult``, a differentially private
            ``Release``, or a ``DPResult`` of ``dp_calculate``.
        quasi_identifiers: What attackers may know of a person; an ``AnonymizationResult`` knows its own.
        sensitive: What nobody may learn.
        person: The column that says whose row it is, where people have several rows: then people are counted. An
            ``AnonymizationResult`` knows its own.
        hierarchies: Quasi-identifier -> its hierarchy, where labels do not say what they cover.
        kinds: Sensitive column -> hierarchy of its values, for ``similarity``.
        population: A table of everybody with the quasi-identifiers, for journalist and marketer.
        previous: Earlier releases of the same people, oldest first.
        came: People who came since the last of them, with their sensitive values.
        left: People who left since.
        noisy: Columns of the release that carry noise on every record (paper mode), with their noise factor if known.
        insensitive: Released columns that are harmless: you vouch for them, they are not attacked. Every column
            without a role is joined with the original; one that names people or singles them out refuses the release
            or leaves the verdict open.
        identifiers: Columns that name people: their values must not be in the release, under any name.
        margin: The rise of belief that counts as exposed, see ``skewness``.
        audiences: Who is judged; by default owner, collaborator, third party and public.
        workers: Processes; each gets a copy of the coded columns. A script that asks for more than one needs the
            usual ``if __name__ == "__main__":``.
        time_limit: Seconds after which attacks that are not finished are given up, and said to be. Reading files and
            writing pages is not counted.
        progress: Called with (finished, all, name of the next attack).

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import KAnonymity, LDiversity, anonymize
        >>> table = pd.DataFrame({"age": [31, 34, 52, 57] * 20, "ill": ["flu", "burn", "burn", "flu"] * 20})
        >>> result = anonymize(table, ["age"], sensitive="ill", models=[KAnonymity(20), LDiversity(2)])
        >>> report = leak_report(table, result)
        >>> report.answer("collaborator")
        'yes'
    """
    began = time.monotonic()
    if time_limit is not None and not time_limit > 0:
        raise ParameterError("time_limit is a positive number of seconds.")
    deadline = None if time_limit is None else began + time_limit
    how: dict[str, Any] = {
        "audiences": tuple(AUDIENCES.values() if audiences is None else audiences),
        "options": {"workers": workers, "deadline": deadline, "progress": progress},
    }
    about: dict[str, Any] = {"quasi": quasi_identifiers, "sensitive": sensitive, "kinds": kinds, "margin": margin}
    of_tables = {
        "person": person, "hierarchies": hierarchies, "population": population, "previous": previous or None,
        "came": came, "left": left, "noisy": noisy, "insensitive": insensitive or None,
        "identifiers": identifiers or None,
    }  # fmt: skip
    if isinstance(released, DPResult):
        of_columns = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive, "kinds": kinds}
        _refuse("a noisy column", of_columns | of_tables)
        found = attack_column(table, released, **how)
    elif isinstance(released, Release):
        _refuse("a release of counts", of_tables)
        found = attack_counts(table, released, **about, **how)
    else:
        beside = Beside(population, previous, inserted=came, deleted=left)
        found = attack_table(
            table, released, person=person, hierarchies=hierarchies, beside=beside, noisy=noisy,
            insensitive=names_of(insensitive, "insensitive columns"), identifiers=names_of(identifiers, "identifiers"),
            **about, **how,
        )  # fmt: skip
    return LeakReport(**found, seconds=time.monotonic() - began)


def _refuse(what: str, arguments: Mapping[str, Any]) -> None:
    """Raise if something was given that no attack on this kind of release would look at."""
    given = [f"{name}=" for name, value in arguments.items() if value is not None]
    if given:
        raise ParameterError(f"{' and '.join(given)} belong to attacks on tables; this is {what}. Leave them out.")
