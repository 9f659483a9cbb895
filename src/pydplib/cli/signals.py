"""How the command ends before its time: signals, readers that went away, full disks."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import click

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class ReaderGoneError(Exception):
    """The reader of our output (head, less) went away."""


class Stop:
    """Remembers which signal asked for the end; Ctrl-C until told otherwise."""

    def __init__(self) -> None:
        self.signal = int(signal.SIGINT)

    @property
    def code(self) -> int:
        """The exit code: 128 and the signal's number, as shells count."""
        return 128 + self.signal

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        for further in _SIGNALS:
            signal.signal(further, signal.SIG_IGN)  # while what was begun is being removed
        raise KeyboardInterrupt

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """End on SIGTERM and SIGHUP as on Ctrl-C, so that no temporary file with data stays behind."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:  # nohup means it
                signal.signal(number, self._handle)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextlib.contextmanager
def plain_ends() -> Iterator[None]:
    """Pass on interrupts and broken pipes in words of our own, which click does not answer by itself."""
    try:
        yield
    except KeyboardInterrupt:
        raise click.Abort from None
    except BrokenPipeError:
        raise ReaderGoneError from None
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich's way
            raise ReaderGoneError from None
        raise


def flush_output() -> None:
    """Write out what is still buffered, while errors can be told."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderGoneError from None


def drop_output() -> None:
    """Send whatever is still buffered nowhere, so that Python does not complain about it at its own end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say(text: str) -> None:
    """Write a line to standard error, if there is one."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            click.echo(text, err=True)
