"""Count how simple the source is: sizes, cycles, names that are used twice, switches over kinds.

    python scripts/house.py                 of src
    python scripts/house.py OTHER/src       of another source folder, such as an older commit's
    python scripts/house.py --json          for machines
    python scripts/house.py --list late     the places behind a number: cycles, twice, late, kinds, small, positional

Only ``ast`` and ``tokenize`` read the source; nothing is imported but, in a process of its own, ``pydplib`` itself for
its public names. Folders called ``migrations`` are left out everywhere: Django writes them.

What is counted:

modules
    Files that end in ``.py``.
code lines
    Lines that hold a token of code. Blank lines, comments and strings that stand alone (docstrings of modules,
    classes, functions and values) are none. Imports and closing brackets are.
modules under 60 lines
    All lines of the file, not only those of code; and of these, those that are no ``__init__.py``.
cycles between modules
    Groups of modules that import each other, directly or around (strongly connected components of two or more).
    An import inside a function counts like any other. One under ``if TYPE_CHECKING`` never runs: it counts in the
    numbers "with types" only.
    ``from package import name`` leads to the module ``package.name`` if there is one, else to ``package``.
    Importing ``a.b`` does not count as importing ``a``. The CLI's commands are loaded by name, and so are the names of
    ``pydplib/__init__.py``: they are no imports here. Neither are the named exceptions (``EXCEPTIONS``): a release and
    a result can draw themselves, and a session can make a synthetic table.
cycles between packages
    The same between the first names below ``pydplib``; inside ``web`` between the second ones, the apps. A module that
    lies directly in ``pydplib`` or ``web`` is a package of its own.
class names defined twice
    Names of classes at the top of a module that two or more modules define.
late imports
    Statements inside functions that import a module of ours; and of these, those outside the CLI, whose commands
    load what they need when they are called.
Any in web
    The word ``Any`` in code of ``web``, without import statements.
isinstance over column kinds
    Tests whether something is a ``Number``, ``Integer``, ``Category``, ``Flag``, ``Date`` or ``Text`` column, or of
    another class of ``schema/columns`` below ``Column``, outside the kinds' home (``schema`` and ``_column_kinds``):
    calls of ``isinstance`` and ``issubclass`` that name one or a constant made of some, ``type(x) is Kind``, and class
    patterns of ``match``. A call that names three kinds is one.
constructors with more than 4 positional arguments
    Classes at the top of a module whose ``__init__``, written or made by ``dataclass``, takes more than four arguments
    without their names. Fields of base classes that are dataclasses of ours count. ``*args`` is none.
public names
    The length of ``pydplib.__all__``.

Other ways of counting give other numbers of the same source. At commit 036950f, ``grep`` finds the word ``Any`` 982
times in ``web`` (here 822: no imports, no migrations) and 105 lines with ``isinstance`` and a kind (here 106); counted
by imported modules, late imports are 265 (here 259: statements); and with the strings that describe values, code lines
are 54,640 (here 54,376).
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

ROOT = Path(__file__).parents[1]
OURS = "pydplib"
SMALL = 60
POSITIONAL = 4
KINDS = frozenset({"Number", "Integer", "Category", "Flag", "Date", "Text"})
HOMES = (f"{OURS}.schema", f"{OURS}._column_kinds")
"""Where column kinds are defined; below these a test of a kind is at home."""

EXCEPTIONS = frozenset(
    {
        (f"{OURS}.release.results.release", f"{OURS}.plot"),
        (f"{OURS}.paper.result", f"{OURS}.plot"),
        (f"{OURS}.release.session", f"{OURS}.synthesis.purchase"),
    }
)
"""Imports inside functions that may lead upwards: ``Release.plot()``, ``DPResult.plot()``, ``Session.synthesize``."""

When: TypeAlias = Literal["first", "late", "types"]
"""When an import runs: with its module, when a function is called, or never."""

_LAYOUT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.text, filename=str(self.path))

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        """The tokens of code: neither layout nor comments nor strings that stand alone."""
        alone = {
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        return [
            token
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline)
            if token.type not in _LAYOUT and not (token.type == tokenize.STRING and token.start[0] in alone)
        ]

    @property
    def code_lines(self) -> int:
        """How many lines hold code."""
        lines: set[int] = set()
        for token in self.tokens:
            lines.update(range(token.start[0], token.end[0] + 1))
        return len(lines)

    @property
    def lines(self) -> int:
        """How many lines the file has."""
        return len(self.text.splitlines())

    @property
    def package(self) -> str:
        """The package that cycles are looked for between: the first name below ours, in ``web`` the second."""
        parts = self.name.split(".")[1:]
        depth = 2 if parts and parts[0] == "web" else 1
        return ".".join(parts[:depth]) or OURS

    @property
    def is_package(self) -> bool:
        """Whether this is the ``__init__`` of a package."""
        return self.path.name == "__init__.py"


@dataclass(frozen=True)
class House:
    """All modules of a source folder."""

    modules: Mapping[str, Module]

    @classmethod
    def of(cls, folder: Path) -> House:
        """Read the package below a source folder."""
        top = folder / OURS
        if not top.is_dir():
            raise SystemExit(f"{folder} holds no {OURS}.")
        found: dict[str, Module] = {}
        for path in sorted(top.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            if "migrations" not in parts:
                name = ".".join(parts).removesuffix(".__init__")
                found[name] = Module(name, path)
        return cls(found)

    @cached_property
    def imports(self) -> dict[str, list[tuple[str, int, When]]]:
        """Module -> each module of ours that it imports: its name, the line, and when it is imported."""
        return {name: list(self._imports_of(module)) for name, module in self.modules.items()}

    def _imports_of(self, module: Module) -> Iterator[tuple[str, int, When]]:

        def walk(node: ast.AST, when: When) -> Iterator[tuple[str, int, When]]:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):  # holds no statement
                    continue
                if isinstance(child, ast.Import | ast.ImportFrom):
                    for target in self._targets(module, child):
                        yield target, child.lineno, when
                elif isinstance(child, ast.If) and _for_types(child.test):
                    yield from walk(ast.Module(child.body, []), "types")
                    yield from walk(ast.Module(child.orelse, []), when)
                elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield from walk(child, "late")
                else:
                    yield from walk(child, when)

        yield from walk(module.tree, "first")

    def _targets(self, module: Module, node: ast.Import | ast.ImportFrom) -> set[str]:
        if isinstance(node, ast.Import):
            return {alias.name for alias in node.names if alias.name in self.modules}
        base = node.module or ""
        if node.level:
            here = module.name.split(".")
            above = here[: len(here) - node.level + module.is_package]
            base = ".".join([*above, *([base] if base else [])])
        if base not in self.modules:
            return set()
        return {inner if (inner := f"{base}.{alias.name}") in self.modules else base for alias in node.names} - {
            module.name
        }

    def edges(self, *, types: bool = False) -> dict[str, set[str]]:
        """Return module -> the modules that it imports, for types too if asked."""
        return {
            name: {
                target
                for target, _, when in found
                if (types or when != "types") and not (when == "late" and (name, target) in EXCEPTIONS)
            }
            for name, found in self.imports.items()
        }

    def module_cycles(self, *, types: bool = False) -> list[list[str]]:
        """Return groups of modules that import each other."""
        return cycles(self.edges(types=types))

    def package_cycles(self, *, types: bool = False) -> list[list[str]]:
        """Return groups of packages that import each other."""
        between: dict[str, set[str]] = defaultdict(set)
        for name, targets in self.edges(types=types).items():
            here = self.modules[name].package
            between[here] |= {self.modules[target].package for target in targets} - {here}
        return cycles(between)

    def late_imports(self) -> list[str]:
        """Return the places where a function imports a module of ours."""
        found = {(name, line) for name, all_ in self.imports.items() for _, line, when in all_ if when == "late"}
        return [f"{name}:{line}" for name, line in sorted(found)]

    def classes_twice(self) -> dict[str, list[str]]:
        """Return each class name that several modules define, with these modules."""
        homes: dict[str, list[str]] = defaultdict(list)
        for module in self.modules.values():
            for name in {node.name for node in module.tree.body if isinstance(node, ast.ClassDef)}:
                homes[name].append(module.name)
        return {name: where for name, where in sorted(homes.items()) if len(where) > 1}

    def any_in_web(self) -> int:
        """Return how often ``web`` says ``Any``, without imports."""
        return sum(
            isinstance(node, ast.Name) and node.id == "Any"
            for module in self.below("web")
            for node in ast.walk(module.tree)
        )

    def below(self, package: str) -> list[Module]:
        """Return the modules of a package."""
        whole = f"{OURS}.{package}"
        return [module for name, module in self.modules.items() if name == whole or name.startswith(f"{whole}.")]

    def kind_tests(self) -> list[str]:
        """Return the places outside the kinds' home that test for a kind of column."""
        kinds = self.kinds()
        return [
            f"{module.name}:{line}"
            for module in self.modules.values()
            if not _is_home(module.name)
            for line in kind_tests(module.tree, kinds)
        ]

    def long_constructors(self) -> list[str]:
        """Return the classes whose constructor takes too many arguments by position, with how many."""
        classes = {
            node.name: node
            for module in self.modules.values()
            for node in module.tree.body
            if isinstance(node, ast.ClassDef)
        }
        return [
            f"{module.name}.{node.name}: {many}"
            for module in self.modules.values()
            for node in module.tree.body
            if isinstance(node, ast.ClassDef) and (many := positional(node, classes)) > POSITIONAL
        ]

    def kinds(self) -> frozenset[str]:
        """Return the names of the column kinds: the first six, and classes made from a kind or from ``Column``."""
        classes = [
            node
            for module in self.below("schema.columns")
            for node in module.tree.body
            if isinstance(node, ast.ClassDef)
        ]
        found = set(KINDS)
        for _ in classes:  # a class may be read before its base
            found |= {
                node.name for node in classes if {getattr(base, "id", "") for base in node.bases} & (found | {"Column"})
            }
        return frozenset(found)


def positional(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> int:
    r"""Return how many arguments a class's constructor takes by position.

    Args:
        node: The class.
        classes: Name -> class, to look up its bases.

    Examples:
        >>> code = "@dataclass\nclass A:\n    a: int\n    b: int = 0\n    _: KW_ONLY\n    c: int = 0"
        >>> positional(ast.parse(code).body[0], {})
        2
    """
    written = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
    if written:
        return len(written[0].args.posonlyargs) + len(written[0].args.args) - 1
    bases = [classes[name] for base in node.bases if (name := _last_name(base)) in classes and name != node.name]
    if not any(_last_name(decorator) == "dataclass" for decorator in node.decorator_list):
        return positional(bases[0], classes) if bases else 0
    return len(_fields(node, classes))


def _fields(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> dict[str, None]:
    """Return the fields of a dataclass that are arguments by position."""
    found: dict[str, None] = {}
    for base in reversed(node.bases):
        if (name := _last_name(base)) in classes and name != node.name:
            found |= _fields(classes[name], classes)
    made = [decorator for decorator in node.decorator_list if _last_name(decorator) == "dataclass"]
    if not made or _says(made[0], "kw_only", True):
        return found
    for part in node.body:
        if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
            continue
        if _last_name(part.annotation) == "KW_ONLY":
            break
        if (
            _last_name(part.annotation) == "ClassVar"
            or _says(part.value, "init", False)
            or _says(part.value, "kw_only", True)
        ):
            continue
        found[part.target.id] = None
    return found


def _says(node: ast.expr | None, name: str, value: bool) -> bool:
    """Return whether a call has an argument of this name and value."""
    given = node.keywords if isinstance(node, ast.Call) else []
    return any(each.arg == name and getattr(each.value, "value", None) is value for each in given)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Subscript):
        return _last_name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def kind_tests(tree: ast.Module, kinds: frozenset[str] = KINDS) -> list[int]:
    """Return the lines of a module that test for a kind of column."""
    names: set[str] = set()  # local names of kinds, and of constants made of some
    homes: set[str] = set()  # local names of the kinds' home itself, as in ``schema.Number``
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_home(node.module):
            names |= {alias.asname or alias.name for alias in node.names if alias.name in kinds}
            homes |= {alias.asname or alias.name for alias in node.names if _is_home(f"{node.module}.{alias.name}")}
        elif isinstance(node, ast.ImportFrom) and node.module == OURS:
            homes |= {alias.asname or alias.name for alias in node.names if _is_home(f"{OURS}.{alias.name}")}
            names |= {alias.asname or alias.name for alias in node.names if alias.name in kinds}

    def mentions(node: ast.AST) -> bool:
        return any(
            (isinstance(part, ast.Name) and part.id in names)
            or (
                isinstance(part, ast.Attribute)
                and part.attr in kinds
                and isinstance(part.value, ast.Name)
                and part.value.id in homes
            )
            for part in ast.walk(node)
        )

    for node in tree.body:  # constants made of kinds, such as ``NUMERIC = (Number, Integer)``
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = getattr(node, "value", None)
        if targets and isinstance(value, ast.Tuple | ast.BinOp | ast.Name) and mentions(value):
            names |= {target.id for target in targets if isinstance(target, ast.Name)}

    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2:
            if node.func.id in ("isinstance", "issubclass") and mentions(node.args[1]):
                found.append(node.lineno)
        elif isinstance(node, ast.Compare) and _is_type_call(node.left):
            if any(mentions(other) for other in node.comparators):
                found.append(node.lineno)
        elif isinstance(node, ast.MatchClass) and mentions(node.cls):
            found.append(node.cls.lineno)
    return sorted(found)


def _for_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def _is_home(module: str | None) -> bool:
    return module is not None and any(module == home or module.startswith(f"{home}.") for home in HOMES)


def _is_type_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components of two or more, largest first (Tarjan, without recursion).

    Examples:
        >>> cycles({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
        [['a', 'b', 'c']]
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    waiting: set[str] = set()
    found: list[list[str]] = []
    for start in sorted(edges):
        if start in order:
            continue
        work = [(start, iter(sorted(edges[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        waiting.add(start)
        while work:
            node, further = work[-1]
            for other in further:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    waiting.add(other)
                    work.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in waiting:
                    low[node] = min(low[node], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        waiting.discard(group[-1])
                    if len(group) > 1:
                        found.append(sorted(group))
    return sorted(found, key=lambda group: (-len(group), group))


def public_names(folder: Path) -> int:
    """Return how many names ``pydplib`` offers, asked of the package in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "import pydplib; print(len(pydplib.__all__))"],
        env=os.environ | {"PYTHONPATH": str(folder.resolve())}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout)


def measure(folder: Path) -> dict[str, int]:
    """Return all numbers of a source folder by name."""
    house = House.of(folder)
    modules = house.modules.values()
    small = [module for module in modules if module.lines < SMALL]
    loops, rounds = house.module_cycles(), house.package_cycles()
    return {
        "code lines": sum(module.code_lines for module in modules),
        "all lines": sum(module.lines for module in modules),
        "modules": len(modules),
        f"modules under {SMALL} lines": len(small),
        f"modules under {SMALL} lines, no __init__": sum(not module.is_package for module in small),
        "cycles between modules": len(loops),
        "modules in cycles": sum(map(len, loops)),
        "modules in cycles, with types": sum(map(len, house.module_cycles(types=True))),
        "cycles between packages": len(rounds),
        "packages in cycles": sum(map(len, rounds)),
        "packages in cycles, with types": sum(map(len, house.package_cycles(types=True))),
        "class names defined twice": len(house.classes_twice()),
        "late imports of our own modules": len(house.late_imports()),
        "late imports outside the CLI": sum(not place.startswith(f"{OURS}.cli.") for place in house.late_imports()),
        "Any in web": house.any_in_web(),
        "isinstance over column kinds": len(house.kind_tests()),
        f"constructors with more than {POSITIONAL} positional arguments": len(house.long_constructors()),
        "public names": public_names(folder),
    }


def places(folder: Path, what: str) -> list[str]:
    """Return the places behind a number."""
    house = House.of(folder)
    if what == "cycles":
        return [" ".join(group) for group in (*house.module_cycles(), *house.package_cycles())]
    if what == "twice":
        return [f"{name}: {' '.join(where)}" for name, where in house.classes_twice().items()]
    if what == "late":
        return house.late_imports()
    if what == "kinds":
        return house.kind_tests()
    if what == "positional":
        return house.long_constructors()
    return [f"{module.name}: {module.lines}" for module in house.modules.values() if module.lines < SMALL]


def main(arguments: list[str]) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\s*\n", __doc__ or "")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "src", help="the source folder (src)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    lists = ("cycles", "twice", "late", "kinds", "small", "positional")
    parser.add_argument("--list", choices=lists, help="print places instead")
    asked = parser.parse_args(arguments)
    if asked.list:
        print(*places(asked.folder, asked.list), sep="\n")
        return
    numbers = measure(asked.folder)
    if asked.json:
        print(json.dumps(numbers, indent=2))
        return
    width = max(map(len, numbers))
    for name, number in numbers.items():
        print(f"{name:<{width}}  {number:>7,}")


if __name__ == "__main__":
    main(sys.argv[1:])
