"""``pydplib completion SHELL``: the script that lets a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for bash, zsh or fish.

    \b
    To have it in every new shell:
      bash   echo 'eval "$(pydplib completion bash)"' >> ~/.bashrc
      zsh    echo 'eval "$(pydplib completion zsh)"' >> ~/.zshrc
      fish   pydplib completion fish > ~/.config/fish/completions/pydplib.fish
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.cli import cli

    kind = get_completion_class(shell)
    assert kind is not None  # the choices above are click's own
    script = kind(cli, {}, "pydplib", "_PYDPLIB_COMPLETE")
    click.echo(script.source_template % script.source_vars())
