"""The scripts that count how simple the source is: each number on a small source whose answer is known."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import house  # noqa: E402
import walk  # noqa: E402

SOURCE = {
    "__init__.py": '__all__ = ["one", "two", "three"]\n',
    "schema/__init__.py": "class Number:\n    pass\n\ndef here(x):\n    return isinstance(x, Number)\n",
    "schema/columns/__init__.py": "class Clock(Range):\n    pass\n\n\nclass Range(Column):\n    pass\n",
    "a.py": (
        '"""A docstring\n\nof three lines."""\n\n# a comment\nfrom typing import TYPE_CHECKING\n\n'
        "if TYPE_CHECKING:\n    from pydplib import c\n\nVALUE = (\n    1\n)\n"
        '"""What the value means."""\n\n\nclass Plan:\n    """A plan."""\n\n    def run(self):\n'
        "        from pydplib.b import other\n        return other  # late\n"
    ),
    "b.py": (
        "from pydplib.a import VALUE\n\n\nclass Plan:\n    class Meta:\n        pass\n\n\n"
        "def other():\n    return VALUE\n"
    ),
    "c.py": "from pydplib import a\n",
    "long.py": "x = 1\n" * 58 + "class Long:\n    def __init__(self, a, b, c, d, e): ...\n",
    "web/__init__.py": "",
    "web/app/__init__.py": "",
    "web/app/views.py": (
        "from typing import Any\nfrom pydplib.web.base.models import Row\nfrom pydplib.schema import Number as N\n"
        "from pydplib.schema.columns import Clock\nfrom pydplib import schema\nBOTH = (N, int)\n\n\n"
        "class Meta:\n    pass\n\n\n"
        "def view(request: Any, row: Row) -> Any:\n"
        "    if isinstance(row, N) or isinstance(row, BOTH):\n        return 1\n"
        "    if isinstance(row, schema.Number) or type(row) is N or isinstance(row, int):\n        return 2\n"
        "    assert issubclass(row, Clock)\n    match row:\n        case N():\n            return 3\n"
    ),
    "web/base/__init__.py": "",
    "web/base/models.py": "class Row:\n    pass\n\n\ndef late():\n    from ..app import views\n    return views\n",
    "web/base/migrations/0001.py": "class Plan:\n    pass\n\n\nclass Row:\n    pass\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name, text in SOURCE.items():
        path = tmp_path / "src" / "pydplib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "src"


def test_every_number_of_a_small_source(source: Path) -> None:
    texts = [text for name, text in SOURCE.items() if "migrations" not in name]
    a = 1 + 2 + 3 + 1 + 1 + 2  # an import, the one for types, the value, the class, the method, what it holds
    others = sum(bool(line.strip()) for text in texts for line in text.splitlines() if text != SOURCE["a.py"])
    assert house.measure(source) == {
        "code lines": a + others,
        "all lines": sum(len(text.splitlines()) for text in texts),
        "modules": 12,
        "modules under 60 lines": 11,
        "modules under 60 lines, no __init__": 5,
        "cycles between modules": 2,
        "modules in cycles": 4,
        "modules in cycles, with types": 5,
        "cycles between packages": 2,
        "packages in cycles": 4,
        "packages in cycles, with types": 5,
        "class names defined twice": 1,
        "late imports of our own modules": 2,
        "late imports outside the CLI": 2,
        "Any in web": 2,
        "isinstance over column kinds": 6,
        "constructors with more than 4 positional arguments": 1,
        "public names": 3,
    }


def test_places_behind_the_numbers(source: Path) -> None:
    assert house.places(source, "twice") == ["Plan: pydplib.a pydplib.b"]
    assert house.places(source, "late") == ["pydplib.a:21", "pydplib.web.base.models:6"]
    assert house.places(source, "cycles") == [
        "pydplib.a pydplib.b", "pydplib.web.app.views pydplib.web.base.models", "a b", "web.app web.base"
    ]  # fmt: skip
    assert {place.split(":")[0] for place in house.places(source, "kinds")} == {"pydplib.web.app.views"}


def test_a_walk_counts_named_functions_and_no_imports(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = source / "pydplib"
    for name in ("policy", "paper"):
        (package / name).mkdir()
    (package / "policy" / "walked_rows.py").write_text("def ask():\n    return [one for one in (lambda: (1, 2))()]\n")
    (package / "paper" / "walked_late.py").write_text("def made():\n    return 1\n\n\nclass A:\n    x = made()\n")
    (package / "paper" / "walked_use.py").write_text(
        "def use(ask):\n    from walked_late import A\n    ask(), ask()\n    return A, near()\n\n\n"
        "def near():\n    return 0\n"
    )
    for folder in ("policy", "paper"):
        monkeypatch.syspath_prepend(str(package / folder))
    import walked_rows  # type: ignore[import-not-found]
    import walked_use  # type: ignore[import-not-found]

    with walk.Walk(source) as counted:
        walked_use.use(walked_rows.ask)
    assert counted.numbers == {
        "calls": 4, "functions": 3, "files": 2, "packages": 2, "package switches": 2, "policy calls": 2
    }  # fmt: skip


def test_every_walk_of_the_real_source_runs() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "walk.py"), str(ROOT / "src")]
    done = subprocess.run([*script, "--json"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert set(found) == {name for names in walk.GROUPS.values() for name in names}
    for numbers in found.values():
        assert tuple(numbers) == walk.COLUMNS
        assert numbers["functions"] > 20 and numbers["calls"] >= numbers["functions"] >= numbers["files"]
