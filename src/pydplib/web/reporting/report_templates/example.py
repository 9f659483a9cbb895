"""Made-up answers to a template, so that its report text can be read before anybody reports."""

from __future__ import annotations

from typing import Any

from pydplib.capture import Template, visible_items

_ROUNDS = 30  # branching opens new questions; a tree is never deeper than its most nested condition


def example_answers(template: Template) -> dict[str, object]:
    """Return answers that fill in whatever the form shows: the middle of every range, the first option.

    Examples:
        >>> from pydplib.capture import builtin, evaluate
        >>> evaluate(builtin("pirads-paper"), example_answers(builtin("pirads-paper"))).ok
        True
    """
    answers: dict[str, object] = {}
    for _ in range(_ROUNDS):
        if not _fill(visible_items(template, answers), answers):
            break
    return answers


def _fill(items: list[dict[str, Any]], into: dict[str, Any]) -> bool:
    """Answer what is open on one level; say whether anything was."""
    changed = False
    for item in items:
        if item["kind"] == "group":
            changed |= _fill(item["items"], into)
        elif item["kind"] == "loop":
            repetitions = into.setdefault(item["id"], [])
            wanted = max(1, item["min_repeats"])
            if len(repetitions) < wanted:
                repetitions.extend({} for _ in range(wanted - len(repetitions)))
                changed = True
            for answers, shown in zip(repetitions, item["repetitions"], strict=False):
                changed |= _fill(shown["items"], answers)
        elif not item["computed"] and item["value"] is None and item["id"] not in into:
            into[item["id"]] = _value(item)
            changed = True
    return changed


def _value(item: dict[str, Any]) -> Any:
    kind, low, high = item["kind"], item["low"], item["high"]
    if kind == "choice":
        return item["options"][0]["value"]
    if kind == "boolean":
        return True
    if kind == "date":
        return low or high or "2018-03-31"
    if kind == "text":
        return "Example"[: item["max_length"] or None]
    bottom = 0.0 if low is None else float(low)
    top = bottom + 100 if high is None else float(high)
    middle = bottom + (top - bottom) / 4
    return int(middle) if kind == "integer" else round(middle, item["decimals"] or 0)
