"""Walk the whole chain and say where it was broken."""

from __future__ import annotations

from dataclasses import dataclass

from pydplib.budget.chain import GENESIS
from pydplib.web.auditlog.models import Head, Line


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """Whether the log is whole.

    Args:
        lines: How many lines were walked.
        problem: What is wrong, in words; none if all is well.
        hash: The hash of the last line: kept elsewhere, it shows a later rollback.
    """

    lines: int
    problem: str | None
    hash: str

    def __bool__(self) -> bool:
        return self.problem is None


def verify(*, expected: tuple[int, str] | None = None) -> ChainVerdict:
    """Check every line against the one before, the last one against the head, and a head noted earlier.

    Args:
        expected: Number and hash of the last line as it was noted earlier, elsewhere.
    """
    previous, count = GENESIS, 0
    # Others write meanwhile: nothing that the head counted before may be missing, and no line may be beyond it after.
    before = Head.objects.get(id=1)
    for line in Line.objects.order_by("number").iterator(chunk_size=2000):
        count += 1
        if line.number != count:
            return ChainVerdict(count, f"Line {count} is missing: found {line.number} in its place.", previous)
        if line.previous != previous or line.hash != line.seal():
            return ChainVerdict(
                count, f"Line {count} does not fit the chain: it or the one before was changed.", previous
            )
        previous = line.hash
        if count == before.number and line.hash != before.hash:
            return ChainVerdict(
                count, f"Line {count} does not fit the head of the log: one of them was changed.", previous
            )
        if expected and expected[0] == count and expected[1] != line.hash:
            return ChainVerdict(count, f"The log was rewritten: line {count} is not the one that was noted.", previous)
    if count < before.number:
        return ChainVerdict(
            count, f"Lines are missing at the end: {before.number} were written, {count} are here.", previous
        )
    after = Head.objects.get(id=1)
    if after.number < count or (after.number == count and after.hash != previous):
        return ChainVerdict(count, f"The head of the log counts {after.number} lines, but {count} are here.", previous)
    if expected and expected[0] > count:
        return ChainVerdict(
            count, f"The log was rolled back: line {expected[0]} was noted, it ends at {count}.", previous
        )
    return ChainVerdict(count, None, previous)
