"""The ``pydplib`` command."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click
from click.shell_completion import get_completion_class

from pydplib._version import __version__
from pydplib.cli.signals import ReaderGoneError, Stop, drop_output, flush_output, plain_ends, say
from pydplib.errors import ERROR_TYPES, EngineError, PydplibError, did_you_mean

# Command -> module under pydplib.cli that defines it as `command`. Loaded only when called,
# so that `pydplib --help` and completion answer at once. The help text is here for the same reason.
COMMANDS: dict[str, str] = {
    "anonymize": "Make a table in which nobody can be singled out, with a report on risk and loss.",
    "attack": "Attack what would be released, and say who may get it: the leak report.",
    "audit": "Check by trying whether every mechanism keeps the epsilon it claims.",
    "audit-log": "Verify, show or export the platform's log of who did what.",
    "backup": "Write all of a server (database, keys, snapshots) into one file.",
    "completion": "Print the script that lets bash, zsh or fish complete commands and options.",
    "demo": "Make a synthetic cohort and a report with the paper's figures at three noise levels.",
    "doctor": "Say what is installed, which engines answer, and whether the configuration is safe.",
    "experiment": "Run the papers' experiments again, and compare k-anonymity, l-diversity, t-closeness and DP.",
    "figures": "Draw the paper's figures as interactive pages and pictures.",
    "hierarchy": "Make, show and check hierarchies: how values become coarser.",
    "ledger": "Show, verify or export the ledger: who was told how much, and what is left.",
    "noise": "Add noise to one column of a file, as the PyDPLib paper does (paper mode).",
    "people": "List a server's people; make a link for somebody who cannot sign in any more.",
    "plan": "Say how many persons and which epsilon a study needs, before any data.",
    "price": "Say what questions would cost and how accurate the answers would be; touches no data.",
    "receipt": "Verify the signed receipt of a release, without a server.",
    "release": "Answer questions with noise, paid from the recipient's budget.",
    "restore": "Bring a server back from its backup; sums and audit log are verified first.",
    "risk": "Show how easily the people of a table can be found, and which columns are to blame.",
    "roles": "Show who gets how much noise.",
    "schema": "Propose a schema for a file, or check a finished one.",
    "serve": "Start the platform in the browser; --demo with synthetic data and people of every role.",
    "synthesize": "Write a table like yours whose rows belong to nobody, drawn from noisy counts.",
    "template": "List, lint, show, export, import and compare report templates (PI-RADS, FHIR, your own).",
    "verify": "Measure k, l, t and others of a table as it is; say whether what is required holds.",
}


HOMES: dict[str, str] = {
    **dict.fromkeys(("anonymize", "attack", "hierarchy", "risk", "verify"), "tables"),
    **dict.fromkeys(("ledger", "noise", "plan", "price", "release", "roles", "schema", "synthesize"), "answers"),
    **dict.fromkeys(("audit-log", "backup", "doctor", "people", "receipt", "restore", "serve"), "platform"),
}
"""Command -> its package under ``pydplib.cli``; commands that are not named lie directly in it."""

_SHARED = {"price": "release", "restore": "backup"}
"""Command -> the command in whose module it is, as ``<name>_command``."""


class NamedGroup(click.Group):
    """A group that answers an unknown command with the nearest name, or with all of them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command, suggesting the nearest name for a typing error."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            raise click.UsageError(f"No such command '{args[0]}'.{did_you_mean(args[0], known)}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(NamedGroup):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the command names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name == "completion":
            return completion_command
        home = f"pydplib.cli.{HOMES[cmd_name]}" if cmd_name in HOMES else "pydplib.cli"
        module = import_module(f"{home}.{_SHARED.get(cmd_name, cmd_name).replace('-', '_')}")
        command: click.Command = getattr(module, f"{cmd_name}_command" if cmd_name in _SHARED else "command")
        _mark_examples(command)
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Make the context, which answers --help and --version."""
        with plain_ends():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with plain_ends():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the exit codes, which all commands share, before the epilog."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), words) for code, words in exit_codes().items()])
        super().format_epilog(ctx, formatter)


def exit_codes() -> dict[int, str]:
    """Return the exit codes that all commands share, with what each means."""
    found = {0: "Done.", 1: "Something failed, or what was to be shown does not hold.", 2: "The command is misspelled."}
    for kind in ERROR_TYPES:
        found[kind.exit_code] = (kind.__doc__ or "").strip().splitlines()[0]
    return found | {130: "Stopped by Ctrl-C."}


def _mark_examples(command: click.Command) -> None:
    """Let help texts written as raw strings keep their examples as they stand, like all others.

    Click's mark for a paragraph that is not to be wrapped is a backspace, which a raw string cannot hold.
    """
    if command.help:
        command.help = command.help.replace("\\b\n", "\b\n")
    for inner in getattr(command, "commands", {}).values():
        _mark_examples(inner)


@click.group(
    cls=LazyGroup,
    # Every command below inherits these.
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Shell completion: pydplib completion bash|zsh|fish --help.",
)
@click.version_option(__version__, "-V", "--version", prog_name="pydplib")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the full traceback of an error (may quote data).")
def cli() -> None:
    """Share what medical data says without giving away who is in it."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    To have it in every new shell:
      bash   echo 'eval "$(pydplib completion bash)"' >> ~/.bashrc
      zsh    echo 'eval "$(pydplib completion zsh)"' >> ~/.zshrc
      fish   pydplib completion fish > ~/.config/fish/completions/pydplib.fish
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    kind = get_completion_class(shell)
    assert kind is not None  # the choices above are click's own
    script = kind(cli, {}, "pydplib", "_PYDPLIB_COMPLETE")
    click.echo(script.source_template % script.source_vars())


def _show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Write what a user must know as one line; leave developers' warnings to developers."""
    if issubclass(category, UserWarning):
        say(f"Warning: {message}")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command; errors end without a traceback and with the exit code of their class."""
    arguments = list(sys.argv[1:] if args is None else args)
    debug = "--debug" in arguments
    options: dict[str, Any] = {"args": arguments, "prog_name": "pydplib", "standalone_mode": False}
    stop = Stop()
    try:
        with stop.on_signals(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = cli.main(**options)
            flush_output()
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        # On a terminal the line has a ^C in it.
        say("\nStopped." if sys.stderr is not None and sys.stderr.isatty() else "Stopped.")
        drop_output()
        sys.exit(stop.code)
    except ReaderGoneError:
        drop_output()  # end quietly, as other filters do
        sys.exit(141)
    except PydplibError as error:
        if debug:
            raise
        say(f"Error: {error}")
        sys.exit(error.exit_code)
    except MemoryError:
        say("Error: not enough memory. Try a smaller file, or a machine with more.")
        sys.exit(1)
    except OSError as error:
        if debug:
            raise
        drop_output()
        say(f"Error: a file or the output cannot be read or written: {error.strerror or type(error).__name__}.")
        sys.exit(EngineError.exit_code)
    except Exception as error:
        if debug:
            raise
        # The text of a foreign exception may quote a cell, so only its kind is shown.
        say(
            f"Error: something unexpected went wrong ({type(error).__name__}). "
            "Run again with `pydplib --debug ...` to see where; that output may quote data."
        )
        sys.exit(1)
