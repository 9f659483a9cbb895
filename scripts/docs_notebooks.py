"""Notebooks: run cell by cell, as a reader would, and shown on the site with what came out."""

from __future__ import annotations

import ast
import contextlib
import html
import io
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docs_figures import figure_html

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook and, once it ran, what it printed and what its last line gave."""

    kind: str
    source: str
    printed: str = ""
    value: Any = None


def read_cells(path: Path) -> list[Cell]:
    """Return the cells of a notebook as they are stored."""
    stored = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [Cell(cell["cell_type"], "".join(cell["source"])) for cell in stored]


def run(path: Path) -> list[Cell]:
    """Run a notebook in an empty folder and return its cells with their outputs; an error in a cell is raised."""
    names: dict[str, Any] = {"__name__": "__main__"}
    before, done = Path.cwd(), []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            done = [cell if cell.kind != "code" else _run_cell(cell, names, path.name) for cell in read_cells(path)]
        finally:
            os.chdir(before)
    return done


def _run_cell(cell: Cell, names: dict[str, Any], file: str) -> Cell:
    tree = ast.parse(cell.source, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, file, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
    return Cell(cell.kind, cell.source, printed.getvalue(), value)


def notebook_pages() -> Iterator[tuple[str, str]]:
    """Yield address and text of a page per notebook, with outputs made now."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        parts = []
        for cell in run(path):
            if cell.kind == "markdown":
                parts.append(cell.source)
            elif cell.kind == "code":
                parts += [f"```python\n{cell.source}\n```", *_outputs(cell)]
        note = (
            f"*A notebook: [download it]({path.name}) and run it yourself. What stands below each cell was made when "
            "this site was built; the noise will be another when you run it.*"
        )
        parts.insert(1, note)
        yield f"notebooks/{path.stem}.md", "\n\n".join(parts) + "\n"


def _outputs(cell: Cell) -> Iterator[str]:
    if cell.printed.strip():
        yield f'<div class="dp-output"><pre><code>{html.escape(cell.printed.rstrip())}</code></pre></div>'
    if cell.value is None:
        return
    if hasattr(cell.value, "words") and hasattr(cell.value, "to_plotly_json"):
        yield figure_html(cell.value)
    elif hasattr(cell.value, "to_html") and hasattr(cell.value, "columns"):  # a data frame
        table = cell.value.to_html(index=False, border=0, float_format="{:.4g}".format)
        yield '<div class="dp-output">' + "".join(line.strip() for line in table.splitlines()) + "</div>"
    else:
        yield f'<div class="dp-output"><pre><code>{html.escape(str(cell.value))}</code></pre></div>'
