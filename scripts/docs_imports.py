"""The rooms and who really imports whom: read from the source at every build, drawn and counted."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from functools import cache
from itertools import pairwise
from math import inf
from pathlib import Path
from statistics import fmean

from docs_svg import Drawing

ROOT = Path(__file__).parents[1]
BOX, HEIGHT, GAP, STEP, WAY = 118, 36, 14, 84, 4
SHARED = "shared"
"""Small private modules (names that begin with an underscore) that every room may use."""


@cache
def imports() -> Counter[tuple[str, str]]:
    """Return (importer, imported) -> how many imports of modules, between rooms."""
    import grimp

    graph = grimp.build_graph("pydplib", cache_dir=None)
    found: Counter[tuple[str, str]] = Counter()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            pair = (room_of(module), room_of(imported))
            if pair[0] != pair[1] and "pydplib" not in pair:
                found[pair] += 1
    return found


def room_of(module: str) -> str:
    """Return the room of a module: its first name below ``pydplib``."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] in ("_public", "_typed", "__main__"):
        return "pydplib"  # names every package, imports none until it is asked
    return SHARED if parts[1].startswith("_") else parts[1]


def layers() -> list[list[str]]:
    """Return the declared layers, top to bottom, as import-linter checks them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    declared = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[room.strip(" ()") for room in layer.split("|")] for layer in declared]


def direct(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Leave out an arrow where a longer way of arrows leads to the same room (transitive reduction)."""
    below: dict[str, set[str]] = {}
    for importer, imported in pairs:
        below.setdefault(importer, set()).add(imported)

    def reach(room: str, seen: set[str]) -> set[str]:
        for further in below.get(room, ()):
            if further not in seen:
                seen.add(further)
                reach(further, seen)
        return seen

    return {
        (importer, imported)
        for importer, imported in pairs
        if not any(imported in reach(other, set()) for other in below[importer] - {imported})
    }


def rooms_drawing() -> str:
    """Return the rooms in their layers, with an arrow for every import that no longer way explains."""
    ordered = layers()
    level = {room: number for number, layer in enumerate(ordered) for room in layer}
    pairs = {pair for pair in imports() if SHARED not in pair}
    ways = _ways(direct({pair for pair in pairs if level[pair[0]] < level[pair[1]]}), level)
    middle = _places(ordered, ways)
    width = max(middle.values()) + BOX / 2 + GAP
    drawing = Drawing(
        round(width), len(ordered) * STEP - 20, "The rooms of pydplib and their imports, from top to bottom"
    )
    for room, number in level.items():
        drawing.box(middle[room] - BOX / 2, number * STEP + 10, BOX, HEIGHT, [room], kind="sound")
    for way in ways:
        top = level[way[0]] * STEP + 10 + HEIGHT
        points = [(middle[way[0]], top)]
        for number, stop in enumerate(way[1:-1], start=level[way[0]] + 1):  # past the boxes of a layer, straight
            points += [(middle[stop], number * STEP + 10.0), (middle[stop], number * STEP + 10.0 + HEIGHT)]
        points.append((middle[way[-1]], level[way[-1]] * STEP + 9.0))
        drawing.way(points)
    return drawing.html()


def _ways(pairs: set[tuple[str, str]], level: dict[str, int]) -> list[list[str]]:
    """Return every arrow as a way that has a place of its own in each layer it passes."""
    return [
        [importer, *(f"{importer}>{imported}>{n}" for n in range(level[importer] + 1, level[imported])), imported]
        for importer, imported in sorted(pairs)
    ]


def _places(ordered: list[list[str]], ways: list[list[str]]) -> dict[str, float]:
    """Return the middle of every room and stop, left to right: each near its neighbours, none over another.

    The usual sweeps of layered drawing (Sugiyama et al. 1981): order by the mean place of the neighbours, down and up.
    """
    rows: list[list[str]] = [list(layer) for layer in ordered]
    level = {room: number for number, layer in enumerate(ordered) for room in layer}
    near: dict[str, list[str]] = {}
    for way in ways:
        for number, stop in enumerate(way[1:-1], start=level[way[0]] + 1):
            rows[number].append(stop)
        for upper, lower in pairwise(way):
            near.setdefault(upper, []).append(lower)
            near.setdefault(lower, []).append(upper)
    size = {name: BOX if name in level else WAY for row in rows for name in row}
    place = {name: float(number * BOX) for row in rows for number, name in enumerate(row)}
    for sweep in range(60):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = {name: fmean([place[other] for other in near.get(name, [name])]) for name in row}
            row.sort(key=lambda name: (wanted[name], name))
            _set_apart(row, wanted, size, place)
    left = min(place[name] - size[name] / 2 for name in place)
    return {name: middle - left + GAP for name, middle in place.items()}


def _set_apart(row: list[str], wanted: dict[str, float], size: dict[str, int], place: dict[str, float]) -> None:
    """Put a row at its wanted places, pushed apart where two would touch, and keep its middle."""
    for before, name in zip([None, *row], row, strict=False):
        least = -inf if before is None else place[before] + (size[before] + size[name]) / 2 + GAP
        place[name] = max(wanted[name], least)
    shift = fmean([wanted[name] - place[name] for name in row])
    for name in row:
        place[name] += shift


def imports_table() -> str:
    """Return who imports whom as a table of counts, with what goes upwards marked."""
    level = {room: number for number, layer in enumerate(layers()) for room in layer}
    columns = [room for room in (*level, SHARED) if any(pair[1] == room for pair in imports())]
    head = "".join(f'<th scope="col">{room}</th>' for room in columns)
    lines = [f"<tr><td></td>{head}</tr>"]
    for importer in level:
        cells = []
        for imported in columns:
            count = imports()[importer, imported]
            upward = imported != SHARED and level[importer] >= level[imported]
            kind = "" if not count else ' class="some up"' if upward else ' class="some"'
            cells.append(f"<td{kind}>{count or ''}</td>")
        lines.append(f'<tr><th scope="row">{importer}</th>{"".join(cells)}</tr>')
    return f'<div class="dp-matrix"><table class="matrix">{"".join(lines)}</table></div>'


def imports_in_words() -> str:
    """Return the size of the graph in one sentence."""
    import grimp

    graph = grimp.build_graph("pydplib", cache_dir=None)
    rooms = {room for pair in imports() for room in pair} - {SHARED}
    return (
        f"{len(graph.modules)} modules in {len(rooms)} rooms; {sum(imports().values())} imports from one room to "
        f"another, along {sum(1 for pair in imports() if SHARED not in pair)} pairs of rooms."
    )


def packages_table() -> str:
    """Return every package of the library and of the platform, with what its docstring says and its modules."""
    source = ROOT / "src" / "pydplib"
    lines = ["| package | what it says of itself | modules |", "|---|---|---|"]
    for init in sorted(source.rglob("__init__.py"), key=lambda path: path.parent.as_posix()):
        folder = init.parent
        if folder == source or {"migrations", "templatetags", "management"} & set(folder.parts):
            continue
        said = (ast.get_docstring(ast.parse(init.read_text(encoding="utf-8"))) or "").split("\n")[0]
        inside = [path.stem for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
        name = ".".join(folder.relative_to(source).parts)
        lines.append(f"| `{name}` | {said.replace('|', '/')} | {', '.join(inside)} |")
    return "\n".join(lines)
