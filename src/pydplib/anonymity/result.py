"""What ``anonymize`` hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydplib._shown import Shown
from pydplib.anonymity.assessment.risks import Risk
from pydplib.anonymity.certificate import Certificate
from pydplib.anonymity.recipe import Recipe
from pydplib.anonymity.search.lattice import SearchInfo
from pydplib.anonymity.search.losses import Loss
from pydplib.anonymity.traces import LazyTrace, Trace
from pydplib.errors import ParameterError


@dataclass(frozen=True, repr=False)
class RiskChange(Shown):
    """Risk of the table before and of the output after anonymization.

    Attributes:
        before: Risk of the input.
        after: Risk of the output.
    """

    before: Risk
    after: Risk

    def __str__(self) -> str:
        b, a = self.before.prosecutor, self.after.prosecutor
        return (
            f"Highest chance of re-identification {100 * b.maximum:.3g} % before, {100 * a.maximum:.3g} % after; "
            f"on average {100 * b.expected:.3g} % before, {100 * a.expected:.3g} % after."
        )


@dataclass(frozen=True, repr=False)
class Suppression(Shown):
    """How many rows were left out. Numbers only, never which.

    Attributes:
        rows: Suppressed rows.
        share: Their share of the input.
        limit: The largest share that was allowed.
    """

    rows: int
    share: float
    limit: float

    def __int__(self) -> int:
        return self.rows

    def __str__(self) -> str:
        return f"{100 * self.share:.3g} % of the rows suppressed (limit {100 * self.limit:.3g} %)"


@dataclass(frozen=True, repr=False, kw_only=True)
class AnonymizationResult(Shown):
    """The anonymized table and everything its owner has to show for it. The repr shows no rows.

    Attributes:
        data: The output, in the library of the input: shuffled, without identifiers and earlier index.
        levels: Per quasi-identifier, its level; None where levels differ between rows.
        suppressed: How many rows were left out.
        loss: What was lost, by several measures.
        risk: Risk before and after.
        certificate: The models measured again on the output alone.
        recipe: The transformation, to save and to apply elsewhere.
        search: How the search went: checked nodes, bound, whether the optimum is proven.
        method: ``"optimal"``, ``"local"``, ``"cells"``, ``"mondrian"`` or ``"microaggregation"``.
        quasi_identifiers: The columns that form classes.
        sensitive: The sensitive columns.
        dropped: Columns of the input that the output does not have.
        notes: Remarks for the owner, in words.
        trace: Who was released in which class; private, needed for ``previous=[...]``.

    Examples:
        >>> import pandas as pd
        >>> from pydplib.anonymity import KAnonymity, anonymize
        >>> table = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
        >>> anonymize(table, quasi_identifiers=["sex"], models=[KAnonymity(2)]).certificate.holds
        True
    """

    data: Any = field(repr=False)
    levels: Mapping[str, int] | None
    suppressed: Suppression
    loss: Loss
    risk: RiskChange
    certificate: Certificate
    recipe: Recipe
    search: SearchInfo
    method: str
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    trace: Any = field(default=None, repr=False, compare=False)

    def save_trace(self, path: str | Path, *, key: bytes | str | None = None, overwrite: bool = False) -> None:
        """Write what later releases of the same people need: ``anonymize(..., previous=[path])``.

        The file tells who was released in which class, by keyed hashes. Its owner alone can read it, and it belongs
        to the table: never hand it over.

        Args:
            path: The file; one that exists is not replaced.
            key: A secret of at least 16 bytes that is kept elsewhere: without it the file tells nothing. By default
                the file holds a random key, and a release with ``previous=[...]`` takes the key of the earlier ones.
            overwrite: Replace a file that exists.

        Examples:
            >>> import pandas as pd, tempfile, pathlib
            >>> from pydplib.anonymity import KAnonymity, anonymize
            >>> table = pd.DataFrame({"who": [1, 2, 3, 4], "sex": ["f", "f", "m", "m"]})
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "2026.trace"
            >>> anonymize(table, ["sex"], models=[KAnonymity(2)], person="who").save_trace(path)
            >>> oct(path.stat().st_mode & 0o777)
            '0o600'
        """
        self.trace_to_save(key=key).save(path, overwrite=overwrite)

    def trace_to_save(self, *, key: bytes | str | None = None) -> Trace:
        """Return the trace as ``save_trace`` writes it."""
        if not isinstance(self.trace, LazyTrace):
            raise ParameterError(
                "This result has no trace: it was copied or stored, or its table stayed in DuckDB. Load the table into "
                "memory and anonymize it there, e.g. duckdb.read_parquet(path).pl()."
            )
        return self.trace.to_save(key)

    def __str__(self) -> str:
        parts = [
            str(self.search),
            str(self.suppressed) + ".",
            str(self.risk),
            str(self.certificate),
            *self.notes,
        ]
        return "\n".join(parts)
