"""Progress on a terminal, silence everywhere else: a bar of named steps, and lines for large files."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console


PATIENCE = 1.0
"""Seconds of silence before a terminal is told that something is going on."""
_SHOWN: list[str] = []


def _terminal() -> Console | None:
    """Return standard error as a console, if somebody is looking at it."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal that work goes on, once it takes longer than a second; elsewhere nothing.

    Nothing may be printed meanwhile. Inside of another one nothing is shown: one line is enough.

    Args:
        what: What is being done, e.g. ``"Reading reports.csv"``.
    """
    console = None if _SHOWN else _terminal()
    if console is None:
        yield
        return
    status = console.status(f"{what} ...")
    timer = threading.Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    _SHOWN.append(what)
    try:
        yield
    finally:
        _SHOWN.pop()
        timer.cancel()
        timer.join()
        status.stop()


@contextmanager
def steps_bar(console: Console, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that is called with the name of each step as it begins.

    The bar goes to ``console`` (standard error), so that standard output stays for results.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<26}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        begun = 0

        def step(name: str) -> None:
            nonlocal begun
            progress.update(task, completed=begun, description=name)
            begun += 1

        yield step
        progress.update(task, completed=total, description="Done")


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
