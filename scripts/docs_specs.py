"""The specification as chapters: every test under tests/spec as a sentence, read from the source at every build."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPECS = ROOT / "tests" / "spec"
PROMISES = ROOT / "docs" / "reference" / "engine-specs.md"  # a test holds it to the cases that run
CHAPTERS = {
    "engine": ("Engines", "A small table in, integers out: the same integers wherever the table lives."),
    "release": ("Releases", "What every question hands to the noise, and how far one person can move it."),
    "anonymity": (
        "Anonymized tables",
        "A small table in, its anonymized form out: the same in every data frame library.",
    ),
}
NAMES = {
    "duckdb": "DuckDB", "postgres": "PostgreSQL", "postgresql": "PostgreSQL", "sqlite": "SQLite", "spark": "Spark",
    "polars": "Polars", "pandas": "pandas", "parquet": "Parquet", "nan": "NaN", "sql": "SQL", "url": "URL",
    "log2": "log2", "epsilon": "epsilon",
}  # fmt: skip


@dataclass(frozen=True)
class Spec:
    """One test: its sentence, what its docstring adds, and what it runs on."""

    sentence: str
    more: str
    runs: str


def chapters() -> Iterator[tuple[str, str]]:
    """Yield address and text of the pages: an index, and a chapter per folder."""
    known = sorted(folder.name for folder in SPECS.iterdir() if any(folder.glob("test_*.py")))
    order = [name for name in CHAPTERS if name in known] + [name for name in known if name not in CHAPTERS]
    rows = []
    for name in order:
        title, lead = CHAPTERS.get(name, (name.capitalize(), ""))
        parts = [f"# What is specified: {title.lower()}", "", lead, ""]
        count = 0
        for path in sorted((SPECS / name).glob("test_*.py")):
            heading, specs = read(path)
            count += len(specs)
            parts += [f"## {heading}", "", f"`{path.relative_to(ROOT).as_posix()}`", ""]
            for spec in specs:
                parts.append(" ".join(filter(None, (f"- **{spec.sentence}.**", spec.more, spec.runs))))
            parts.append("")
        if name == "engine":
            promises = re.findall(r"^## (.+)$", PROMISES.read_text(encoding="utf-8"), re.MULTILINE)
            link = "Each with its rows and its integers in [what the engines promise](../engine-specs.md)."
            parts += ["## The small tables", "", link, "", *(f"- **{promise}.**" for promise in promises), ""]
            count += len(promises)
        rows.append(f"| [{title}]({name}.md) | {lead} | {count} |")
        yield f"reference/specification/{name}.md", "\n".join(parts)
    index = [
        "# What is specified", "",
        "These are the tests under `tests/spec`, read as sentences when this page was built. Each runs with "
        "`make test`; where it says so, on every engine.", "",
        "| chapter | about | sentences |", "|---|---|---|", *rows, "",
    ]  # fmt: skip
    yield "reference/specification/index.md", "\n".join(index)


def read(path: Path) -> tuple[str, list[Spec]]:
    """Return the purpose of a test file and its specs."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    purpose = (ast.get_docstring(tree) or path.stem).splitlines()[0].rstrip(".")
    constants = {
        target.id: ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    specs = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            more = " ".join((ast.get_docstring(node) or "").split())
            specs.append(Spec(sentence(node.name), more, _runs(node, constants)))
    return purpose, specs


def sentence(name: str) -> str:
    """Return the name of a test as a sentence.

    Examples:
        >>> sentence("test_a_lost_connection_is_opened_again")
        'A lost connection is opened again'
    """
    words = [NAMES.get(word, word) for word in name.removeprefix("test_").split("_")]
    text = " ".join(words)
    return text[0].upper() + text[1:]


def _runs(node: ast.FunctionDef, constants: dict[str, str]) -> str:
    """Say on what a test runs: every engine, one server, or a number of cases."""
    marks = " ".join(constants.get(ast.unparse(mark), ast.unparse(mark)) for mark in node.decorator_list)
    cases = {
        names: constants.get(values, values)
        for names, values in re.findall(r"parametrize\('([\w, ]+)', (\[[^\]]*\]|\w+)", marks)
    }
    arguments = {argument.arg for argument in node.args.args}
    said = []
    engines = _words(cases.pop("engine_name", ""))
    if engines:
        said.append("on " + ", ".join(NAMES.get(name, name) for name in engines))
    elif arguments & {"place", "engine_name"}:
        said.append("on every engine")
    if "table" in arguments:
        said.append("in every kind of table")
    if "postgres_server" in arguments:
        said.append("on a PostgreSQL server")
    if "spark_cluster" in arguments:
        said.append("on a Spark cluster")
    for names, values in cases.items():
        words = _words(values)
        if words:
            said.append(f"for {names}: " + ", ".join(words))
        elif names == "case":
            said.append("for every small table below")
    if "slow" in marks:
        said.append("in the slow run")
    text = "; ".join(said)
    return f"*{text[0].upper()}{text[1:]}.*" if text else ""


def _words(listed: str) -> list[str]:
    """Return the words of a list in the source, none if it is anything else."""
    try:
        found = ast.literal_eval(listed)
    except (ValueError, SyntaxError):
        return []
    return [str(word) for word in found] if isinstance(found, list | tuple) else []
