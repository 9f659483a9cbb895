"""For owners alone: the original next to the synthetic table, and what the rows give away. Logged, never stored.

Everything here is a function of the real data. It is in no receipt, no answer of the API, and on no partner's page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pydplib._duckdb_files import sql_name
from pydplib.errors import DataError
from pydplib.policy import OWNER
from pydplib.schema import Schema
from pydplib.synthesis import DisclosureReport, SyntheticTable, disclosure_report
from pydplib.web.analyses.payments.sessions import recipient_of
from pydplib.web.auditlog.log import record
from pydplib.web.intake.pinned import select_rows
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.people.models import User
from pydplib.web.synthetic.figures import SyntheticFigure, drawings, share_axes, value_names
from pydplib.web.synthetic.models import SyntheticPurchase
from pydplib.web.synthetic.purchases import snapshot_of
from pydplib.web.synthetic.tables import columns_of

MOST_ROWS = 200_000
"""Most rows of the original that a page compares."""


@dataclass(frozen=True, kw_only=True)
class NextToOriginal:
    """What an owner sees.

    Attributes:
        pairs: The figures of the synthetic table, each with the original's.
        report: What the rows give away.
        persons: How many persons were compared.
    """

    pairs: list[tuple[SyntheticFigure, SyntheticFigure]]
    report: DisclosureReport
    persons: int

    @property
    def distances(self) -> list[tuple[str, str]]:
        """How far the tables are apart, for readers."""
        names = ("Columns", "Pairs of columns", "Triples of columns")
        return [(name, f"{100 * share:.1f} %") for name, share in zip(names, self.report.distances, strict=True)]

    def guesses(self, titles: dict[str, str]) -> list[tuple[str, str, str]]:
        """How often values are guessed from the nearest row, next to the most frequent value; for readers."""
        return [
            (titles.get(name, name), f"{100 * guessed:.1f} %", f"{100 * self.report.baseline[name]:.1f} %")
            for name, guessed in self.report.attribute.items()
        ]

    @property
    def copied(self) -> str:
        """The share of rows that some person has in all columns."""
        return f"{100 * self.report.copies:.1f} %"


def look(user: User, row: SyntheticPurchase, table: SyntheticTable) -> NextToOriginal:
    """Return the original next to the synthetic table, after writing down in log and ledger who looks.

    Raises:
        DataError: The snapshot is gone, or was changed.
    """
    rows = original_rows(row, table)
    ledger = DatabaseLedger()
    ledger.enter_look(
        lineage=row.project.key, recipient=recipient_of(user), role=OWNER, note=f"synthetic table {row.key}"
    )
    record(user, "synthetic.original", row.key, project=row.project)
    try:
        words = value_names(table, snapshot_of(row).template.template)
        shown = drawings(table, columns_of(table), words=words)
        exact = {figure.label: figure for figure in drawings(table, rows, name="original", words=words)}
        frame = {name: np.array(values, dtype=object) for name, values in rows.items()}
        report = disclosure_report(table, frame)
    except DataError:
        raise
    except Exception:
        raise DataError(
            "The original cannot be shown now. The reason is withheld, because it may quote data."
        ) from None
    pairs = [(figure, exact[figure.label]) for figure in shown if figure.label in exact]
    for pair in pairs:
        share_axes(*pair)
    return NextToOriginal(pairs=pairs, report=report, persons=len(next(iter(rows.values()), [])))


def original_rows(row: SyntheticPurchase, table: SyntheticTable) -> dict[str, list[object]]:
    """Return the row of each person that the table counted, as columns."""
    snapshot = snapshot_of(row)
    schema = Schema.from_json(snapshot.schema)
    order = list(table.question.get("bound", {}).get("order", ()))
    wanted = list(dict.fromkeys([*([schema.person] if schema.person else []), *order, *table.columns]))
    found = select_rows(snapshot, map(sql_name, wanted))
    if found.num_rows > MOST_ROWS:
        raise DataError(f"The original has more than {MOST_ROWS:,} rows: compare it with pydplib in a notebook.")
    if schema.person is None:
        return {name: found[name].to_pylist() for name in table.columns}
    keys = [(name, "ascending") for name in [schema.person, *order]]
    sorted_rows = found.sort_by(keys).to_pydict()
    first: dict[object, int] = {}
    for place, person in enumerate(sorted_rows[schema.person]):
        if person is not None:
            first.setdefault(person, place)
    return {name: [sorted_rows[name][place] for place in first.values()] for name in table.columns}
