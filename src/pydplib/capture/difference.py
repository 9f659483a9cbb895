"""What changed between two versions of a template, and which changes touch data already captured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, Literal

from pydplib.capture.model import LABELS, Group, Item, Option, Question
from pydplib.capture.template import Template

_WORDING = frozenset(
    {"title", "help", "sentence", "sentence_no", "description", "publisher", "codes", "reported", "report_title"}
)


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two versions.

    Attributes:
        kind: ``added``, ``removed``, ``moved`` or ``changed``.
        item: The id of the item; empty for the head of the template.
        what: Which property changed; empty for whole items.
        old: What it was, in words.
        new: What it is, in words.
        breaking: Whether reports captured with the old version may no longer fit, mean something else,
            or are less protected.

    Examples:
        >>> print(Change("changed", "age", what="low", old="18", new="40", breaking=True))
        changed 'age', low: 18 -> 40 (breaking)
    """

    kind: Literal["added", "removed", "moved", "changed"]
    item: str
    _: KW_ONLY
    what: str = ""
    old: str = ""
    new: str = ""
    breaking: bool = False

    def __str__(self) -> str:
        """Say the change in one line."""
        name = f"'{self.item}'" if self.item else "template"
        if self.kind in ("added", "removed"):
            text = f"{self.kind} {name}" + (f": {self.new or self.old}" if self.new or self.old else "")
        elif self.kind == "moved":
            text = f"moved {name}: from {self.old} to {self.new}"
        else:
            text = f"changed {name}, {self.what}: {self.old or 'nothing'} -> {self.new or 'nothing'}"
        return text + (" (breaking)" if self.breaking else "")


def compare(old: Template, new: Template) -> tuple[Change, ...]:
    """Return what changed from ``old`` to ``new``, in the order of the new form; removed items come last.

    Examples:
        >>> from pydplib.capture import Question, Template
        >>> age = Question(id="age", kind="integer", title="Age", low=18, high=100)
        >>> older = Question(id="age", kind="integer", title="Age", low=40, high=100)
        >>> first = Template(id="visit", version="1", title="Visit", items=(age,))
        >>> second = Template(id="visit", version="2", title="Visit", items=(older,))
        >>> for change in compare(first, second):
        ...     print(change)
        changed template, version: 1 -> 2
        changed 'age', low: 18 -> 40 (breaking)
    """
    changes = list(_compare_fields("", old, new, skip=("items",)))
    before, after = old.index.by_id, new.index.by_id
    moved = _moved(old, new)
    for name, place in after.items():
        if name not in before:
            needed = isinstance(place.item, Question) and place.item.required and not place.item.enable_when
            changes.append(Change("added", name, new=_kind(place.item), breaking=needed))
            continue
        was = before[name]
        if [parent.id for parent in was.parents] != [parent.id for parent in place.parents]:
            changes.append(
                Change(
                    "moved",
                    name,
                    old=_where(was.parents),
                    new=_where(place.parents),
                    breaking=was.loops != place.loops,
                )
            )
        elif name in moved:
            changes.append(Change("moved", name, old="its old place", new=f"another place in {_where(place.parents)}"))
        changes.extend(_compare_items(name, was.item, place.item))
    changes.extend(
        Change("removed", name, old=_kind(place.item), breaking=isinstance(place.item, Question))
        for name, place in before.items()
        if name not in after
    )
    return tuple(changes)


def _kind(item: Item) -> str:
    return "repeating group" if isinstance(item, Group) and item.repeats else item.kind


def _where(parents: tuple[Group, ...]) -> str:
    return f"'{parents[-1].id}'" if parents else "the top"


def _moved(old: Template, new: Template) -> set[str]:
    """Return the items that changed their order among their siblings of both versions."""
    before = old.index.by_id
    families: dict[tuple[str, ...], list[str]] = {}
    for name, place in new.index.by_id.items():
        family = tuple(parent.id for parent in place.parents)
        if name in before and family == tuple(parent.id for parent in before[name].parents):
            families.setdefault(family, []).append(name)
    order = {name: place.order for name, place in before.items()}
    return {name for kept in families.values() for name in _out_of_order(kept, order)}


def _out_of_order(kept: list[str], order: dict[str, int]) -> set[str]:
    """Return the fewest names without which the rest is in the old order."""
    # The longest run that kept its order stays; the few others are the ones that moved.
    best: list[tuple[int, int]] = []  # per item: length of the longest rising run that ends here, where it came from
    for i, name in enumerate(kept):
        candidates = [(best[j][0], j) for j in range(i) if order[kept[j]] < order[name]]
        length, origin = max(candidates, default=(0, -1))
        best.append((length + 1, origin))
    at = max(range(len(best)), key=lambda i: best[i][0], default=-1)
    stayed = set()
    while at >= 0:
        stayed.add(kept[at])
        at = best[at][1]
    return set(kept) - stayed


def _compare_items(name: str, old: Item, new: Item) -> Iterator[Change]:
    if old.kind != new.kind:
        yield Change("changed", name, what="kind", old=_kind(old), new=_kind(new), breaking=True)
        return
    yield from _compare_fields(name, old, new, skip=("items", "id", "kind", "options"))
    if isinstance(old, Question) and isinstance(new, Question):
        yield from _compare_options(name, old, new)


def _compare_options(name: str, old: Question, new: Question) -> Iterator[Change]:
    before = {option.value: option for option in old.options}
    after = {option.value: option for option in new.options}
    for value, option in after.items():
        if value not in before:
            yield Change("changed", name, what="options", old="", new=f"'{option.text}' added")
        elif before[value] != option:
            for spec in fields(Option):
                was, now = getattr(before[value], spec.name), getattr(option, spec.name)
                if was != now:
                    yield Change("changed", name, what=f"option '{value}', {spec.name}", old=_show(was), new=_show(now))
    for value, option in before.items():
        if value not in after:
            yield Change("changed", name, what="options", old=f"'{option.text}'", new="removed", breaking=True)
    kept_old = [value for value in before if value in after]
    kept_new = [value for value in after if value in before]
    if kept_old != kept_new:
        yield Change(
            "changed", name, what="order of options", old=_show(kept_old), new=_show(kept_new), breaking=new.ordered
        )


def _compare_fields(name: str, old: Any, new: Any, *, skip: tuple[str, ...]) -> Iterator[Change]:
    for spec in fields(old):
        if spec.name in skip:
            continue
        was, now = getattr(old, spec.name), getattr(new, spec.name)
        if was != now:
            yield Change(
                "changed",
                name,
                what=spec.name,
                old=_show(was),
                new=_show(now),
                breaking=_is_breaking(spec.name, was, now),
            )


def _is_breaking(what: str, old: Any, new: Any) -> bool:
    """Whether a report that fitted the old value may not fit the new one, or mean something else."""
    if what in _WORDING or what in ("version", "url", "checks", "ordered"):
        return False
    if what == "label":  # identifier > sensitive > quasi > public: less protected than promised
        return LABELS.index(new) > LABELS.index(old)
    if what == "multiline":
        return not new
    if what == "low":
        return new is not None and (old is None or new > old)
    if what in ("high", "max_length", "max_repeats", "decimals"):
        return new is not None and (old is None or new < old)
    if what == "min_repeats":
        return bool(new > old)
    if what == "required":
        return bool(new)
    return True  # unit, computed, enable_when, repeats, person, ...


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == "" or value == ():
        return ""
    if isinstance(value, tuple | list):
        return "; ".join(_show(each) for each in value)
    named = [f.name for f in fields(value)] if hasattr(value, "__dataclass_fields__") else []
    if named == ["question", "operator", "answer"]:
        return f"{value.question} {value.operator} {_show(value.answer)}"
    if named == ["function", "inputs"]:
        return f"{value.function}({', '.join(value.inputs)})"
    if named:
        return " ".join(_show(getattr(value, name)) for name in named if getattr(value, name))
    return str(value)
