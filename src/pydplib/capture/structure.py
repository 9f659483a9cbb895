"""Where each item of a template stands: its order, its parents, the repetitions around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from pydplib.capture.model import Group, Item, Question
from pydplib.errors import TemplateError

if TYPE_CHECKING:
    from pydplib.capture.template import Template

MOST_LEVELS = 20
"""Deeper trees are refused: no report needs them, and a hostile file would have them."""


@dataclass(frozen=True, slots=True)
class ItemPlace:
    """One item and where it stands.

    Attributes:
        item: The item itself.
        order: Its number in the order in which the form is read.
        parents: The groups around it, outermost first.
        loops: The ids of the repeating groups around it, outermost first.
    """

    item: Item
    order: int
    parents: tuple[Group, ...]
    loops: tuple[str, ...]

    @property
    def inner_loops(self) -> tuple[str, ...]:
        """The repetitions around whatever is inside it."""
        item = self.item
        return (*self.loops, item.id) if isinstance(item, Group) and item.repeats else self.loops


@dataclass(frozen=True, slots=True)
class Index:
    """All places of a template, by id and in order."""

    places: tuple[ItemPlace, ...]
    by_id: Mapping[str, ItemPlace]
    duplicates: tuple[str, ...]

    def questions(self) -> Iterator[tuple[ItemPlace, Question]]:
        """Go through the questions in order."""
        for place in self.places:
            if isinstance(place.item, Question):
                yield place, place.item

    def groups(self) -> Iterator[tuple[ItemPlace, Group]]:
        """Go through the groups in order."""
        for place in self.places:
            if isinstance(place.item, Group):
                yield place, place.item

    def is_earlier(self, target: str, asker: ItemPlace) -> bool:
        """Whether ``target`` is asked before ``asker``."""
        return self.by_id[target].order < asker.order

    def is_repeated_for(self, target: str, asker_loops: tuple[str, ...]) -> bool:
        """Whether ``target`` can have several answers as seen from inside ``asker_loops``."""
        loops = self.by_id[target].loops
        return asker_loops[: len(loops)] != loops


def build_index(template: Template) -> Index:
    """Walk the tree once; the first item of a duplicated id is the one found by it."""
    places: list[ItemPlace] = []
    by_id: dict[str, ItemPlace] = {}
    duplicates: list[str] = []

    def walk(items: tuple[Item, ...], parents: tuple[Group, ...], loops: tuple[str, ...]) -> None:
        if len(parents) > MOST_LEVELS:
            raise TemplateError(f"The template is nested more than {MOST_LEVELS} levels deep. Flatten its groups.")
        for item in items:
            place = ItemPlace(item, len(places), parents, loops)
            places.append(place)
            if item.id in by_id:
                duplicates.append(item.id)
            else:
                by_id[item.id] = place
            if isinstance(item, Group):
                walk(item.items, (*parents, item), place.inner_loops)

    walk(template.items, (), ())
    return Index(tuple(places), MappingProxyType(by_id), tuple(duplicates))
