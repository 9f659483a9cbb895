"""Lists that readers sort by a column: links in the heads of a table, sorted by the database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar, cast

from django.db.models import F, Model, QuerySet
from django.db.models.expressions import Combinable
from django.http import QueryDict
from django.template.context import Context

from pydplib.web.design.components import component

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Sorting:
    """How a list is sorted.

    Args:
        columns: Name in the address -> what the database sorts by. No other name sorts anything.
        default: The name that counts if none is asked for; with ``-`` in front, the largest first.
        asked: What the address says.
    """

    columns: Mapping[str, str | Combinable]
    default: str
    asked: str = ""

    @property
    def name(self) -> str:
        """The column that counts."""
        return self._chosen.removeprefix("-")

    @property
    def is_down(self) -> bool:
        """Whether the largest comes first."""
        return self._chosen.startswith("-")

    @property
    def _chosen(self) -> str:
        return self.asked if self.asked.removeprefix("-") in self.columns else self.default

    def apply(self, rows: QuerySet[M]) -> QuerySet[M]:
        """Return the rows in order; those without a value come last, and ties by the newest first."""
        by = self.columns[self.name]
        key = F(by) if isinstance(by, str) else cast("F", by)
        return rows.order_by(key.desc(nulls_last=True) if self.is_down else key.asc(nulls_last=True), "-pk")


def sort_head(context: Context, sorting: Sorting, name: str, label: str, kind: str = "") -> str:
    """Return the head of a column that sorts the list: a link that turns the order round; other filters stay."""
    request = context.get("request")
    chosen = sorting.name == name
    # A column that is new begins where readers look first: at A, or at the latest.
    descends = not sorting.is_down if chosen else sorting.default == f"-{name}"
    query = request.GET.copy() if request is not None else QueryDict(mutable=True)
    query["sort"] = f"-{name}" if descends else name
    query.pop("page", None)
    address = f"?{query.urlencode()}"
    order = ("descending" if sorting.is_down else "ascending") if chosen else ""
    return component("sort_head", url=address, label=label, order=order, kind=kind)
