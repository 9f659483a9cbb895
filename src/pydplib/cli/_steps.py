"""Progress on standard error, for large files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

_LARGE = 32 * 2**20  # bytes from which on progress is shown


class Steps:
    """Says on standard error what is being done; silent for small files."""

    def __init__(self, bar: Any = None, *, plain: bool = False) -> None:
        self._bar = bar
        self._plain = plain
        self._task: Any = None

    def start(self, what: str) -> None:
        """Begin a step."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.update(self._task, completed=100)
            self._task = self._bar.add_task(what, total=100)
        elif self._plain:
            click.echo(f"{what} ...", err=True)

    def percent(self, done: float) -> None:
        """Show how far the step is; DuckDB says -1 where it does not know."""
        if self._bar is not None and self._task is not None and done >= 0:
            self._bar.update(self._task, completed=done)


@contextmanager
def show_steps(file: str) -> Iterator[Steps]:
    """Show a bar for every step on a terminal, and plain lines elsewhere; nothing for small files."""
    if file != "-" and Path(file).stat().st_size < _LARGE:
        yield Steps()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Steps(plain=file != "-")
        return
    with Progress(
        SpinnerColumn(), TextColumn("{task.description:<13}"), BarColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        yield Steps(bar)
