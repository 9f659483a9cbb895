"""A progress bar of named steps on a terminal; silence everywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


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
