"""CONTRIBUTING.md names the files to touch for each noun: they exist, and the source agrees that it is these."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pydplib"
TARGETS = {"A statistic": SOURCE / "release/statistics", "A column kind": SOURCE / "schema/columns"}
"""Nouns whose folder may not be there yet; once it is, their lists must hold."""


def entries() -> dict[str, list[str]]:
    """Return noun -> the paths of its list."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chapter = text.partition("\n## To add ...")[2].partition("\n## ")[0]
    found = {}
    for part in chapter.split("\n### ")[1:]:
        noun, _, rest = part.partition("\n")
        found[noun] = [path for path in re.findall(r"`([^`]+)`", rest) if "/" in path or path == "pyproject.toml"]
    return found


ENTRIES = entries()


def skip_until_there(noun: str) -> None:
    if noun in TARGETS and not TARGETS[noun].is_dir():
        pytest.skip(f"{TARGETS[noun].relative_to(ROOT)} is not there yet")


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8").lower().replace("_", " ")


@cache
def words_of(path: Path) -> frozenset[str]:
    """Return the names and whole strings in the code of a module, without docstrings; underscores count as spaces."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    words: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.FunctionDef(name=word) | ast.ClassDef(name=word):
                words.add(word)
            case ast.alias(name=word):
                words.update(word.split("."))
            case ast.Constant(value=str(word)) if id(node) not in alone:
                words.add(word)
    return frozenset(word.replace("_", " ") for word in words)


def modules() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if "migrations" not in path.parts]


def files_that_name(members: Iterable[str], *, share: float = 0.5, inside: bool = False) -> set[str]:
    """Return the modules that name at least a share of the members; inside other words too, in any case, if asked."""
    wanted = [member.replace("_", " ") for member in members]
    assert len(wanted) >= 4

    def names_enough(path: Path) -> bool:
        # Most modules are ruled out by their text alone, which spares parsing them.
        if sum(member.lower() in text_of(path) for member in wanted) < share * len(wanted):
            return False
        words = words_of(path)
        if inside:
            short = " / ".join(word.lower() for word in words if len(word) < 200)
            return sum(member in short for member in wanted) >= share * len(wanted)
        return sum(member in words for member in wanted) >= share * len(wanted)

    return {path.relative_to(ROOT).as_posix() for path in modules() if names_enough(path)}


def file_of(thing: Any) -> str:
    return Path(inspect.getfile(thing)).relative_to(ROOT).as_posix()


def statistics() -> tuple[set[str], set[str]]:
    from pydplib.release.statistics import STATISTICS

    names = [getattr(kind, "__name__", "") for kind in STATISTICS.values()]
    public = [name for name in names if name in words_of(SOURCE / "_public.py")]
    return files_that_name(public, share=1), {file_of(kind) for kind in STATISTICS.values() if kind.__name__ in public}


def kinds() -> tuple[set[str], set[str]]:
    from pydplib.schema.columns import COLUMN_KINDS

    own = {file_of(kind) for kind in COLUMN_KINDS.values()}
    return files_that_name((kind.__name__ for kind in COLUMN_KINDS.values()), share=1), own


def engines() -> tuple[set[str], set[str]]:
    own = set((SOURCE / "engine" / "stores").rglob("*_engine.py"))
    found = files_that_name((path.stem.removesuffix("_engine") for path in own), inside=True)
    return found, {path.relative_to(ROOT).as_posix() for path in own}


def attacks() -> tuple[set[str], set[str]]:
    from pydplib import attack

    functions = [getattr(attack, name) for name in attack.__all__ if inspect.isfunction(getattr(attack, name))]
    on_tables = [
        function
        for function in functions
        if "AttackResult" in str(inspect.signature(function).return_annotation)
        and next(iter(inspect.signature(function).parameters)) in ("released", "releases")
    ]
    return files_that_name(function.__name__ for function in on_tables), {file_of(function) for function in on_tables}


def models() -> tuple[set[str], set[str]]:
    from pydplib.anonymity.models import Model

    return files_that_name(model.__name__ for model in Model.__subclasses__()), set()


def roles() -> tuple[set[str], set[str]]:
    from pydplib.policy import ROLES

    # The word "owner" means other things too.
    return files_that_name(name for name in ROLES if name != "owner"), set()


def figures() -> tuple[set[str], set[str]]:
    from pydplib.plot import catalogue
    from pydplib.plot.recipes.sound import SOUND_FIGURES, SoundFigure

    drawers = {spec.drawer.partition(":")[0].rpartition(".")[2] for spec in catalogue.CATALOGUE.values()}
    found = {f"src/pydplib/plot/recipes/{module}.py" for module in drawers} | {file_of(catalogue), file_of(SoundFigure)}
    found |= {file_of(inspect.unwrap(figure.draw)) for figure in SOUND_FIGURES.values()}
    return found | {"src/pydplib/plot/_draw.py"}, set()


DERIVED: dict[str, Callable[[], tuple[set[str], set[str]]]] = {
    "A statistic": statistics,
    "A column kind": kinds,
    "An engine": engines,
    "An attack on a table": attacks,
    "A privacy model": models,
    "A role": roles,
    "A figure": figures,
}
"""Noun -> the files that name most of the existing ones, and the files that hold one each."""


def test_every_noun_has_its_list() -> None:
    assert list(ENTRIES) == list(DERIVED)


@pytest.mark.parametrize("noun", ENTRIES)
def test_every_file_of_a_list_exists(noun: str) -> None:
    skip_until_there(noun)
    for path in ENTRIES[noun]:
        assert list(ROOT.glob(re.sub(r"<\w+>", "*", path))), path


@pytest.mark.parametrize("noun", DERIVED)
def test_the_source_names_the_same_files(noun: str) -> None:
    skip_until_there(noun)
    found, own = DERIVED[noun]()
    listed = {path for path in ENTRIES[noun] if path.startswith("src/") and path.endswith(".py")}
    patterns = {path for path in listed if "<" in path}
    held = {path for path in own if any(re.fullmatch(re.sub(r"<\w+>", r"\\w+", pattern), path) for pattern in patterns)}
    assert held == own
    assert found - own == listed - patterns


def test_a_file_that_lists_the_roles_is_noticed_and_words_about_them_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.policy import ROLES

    lists, speaks = tmp_path / "lists.py", tmp_path / "speaks.py"
    lists.write_text(f"MENU = {list(ROLES)}\n")
    speaks.write_text(f'"""Of {", ".join(ROLES)}."""\n# {list(ROLES)}\n')
    monkeypatch.setattr(f"{__name__}.modules", lambda: [lists, speaks])
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert roles()[0] == {"lists.py"}
