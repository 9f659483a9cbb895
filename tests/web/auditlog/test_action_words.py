"""Every action that the platform writes has plain words."""

from __future__ import annotations

import ast
from pathlib import Path

import pydplib.web
from pydplib.web.auditlog.words import ACTIONS, facts_words, words_of

SOURCE = Path(pydplib.web.__file__).parent


def written_actions(source: str) -> set[str]:
    """Return the actions that calls of ``record`` and ``log.add`` name as plain texts."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("add", "record", "note", "_note"):
            texts = [
                part for argument in node.args[:3] for part in ast.walk(argument) if isinstance(part, ast.Constant)
            ]
            found |= {text.value for text in texts if isinstance(text.value, str) and _is_action(text.value)}
    return found


def _is_action(text: str) -> bool:
    thing, dot, verb = text.partition(".")
    return bool(dot) and thing.isidentifier() and verb.isidentifier() and text == text.lower()


def test_every_written_action_has_words() -> None:
    written = set().union(*(written_actions(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")))
    assert {"report.look", "policy.raise_budget", "door.refuse"} <= written, "the search itself works"
    without = sorted(written - set(ACTIONS))
    assert not without, "say them in pydplib/web/auditlog/words.py"


def test_a_planted_action_without_words_is_found() -> None:
    assert written_actions('log.add("ghost.walk", key)\nrecord(user, "a.b" if x else "c.d")') == {
        "ghost.walk",
        "a.b",
        "c.d",
    }


def test_unknown_actions_and_details_are_readable() -> None:
    assert words_of("ghost.walk_through") == "Ghost: walk through"
    assert facts_words({"after": {"role": "third_party"}, "before": {}, "kind": None, "on": True}) == (
        "on: yes; after: role third party"
    )
