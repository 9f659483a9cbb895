"""A progress bar of named steps on a terminal; silence everywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


PATIENCE = 1.0
"""Seconds of silence before a terminal is told that something is going on."""


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal that work goes on, once it takes longer than a second; elsewhere nothing.

    Args:
        what: What is being done, e.g. ``"Reading reports.csv"``.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(f"{what} ...")
    timer = threading.Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
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
