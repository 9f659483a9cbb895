"""``pydplib roles``: who gets how much noise, and what that means."""

from __future__ import annotations

import json

import click

from pydplib.policy.roles import ROLES


@click.command("roles", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """Show the roles, their noise factors and bands, and what each of them means."""
    if as_json:
        click.echo(json.dumps([_row(name) for name in ROLES], indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Who gets how much noise", title_justify="left", show_lines=True)
    for heading in ("Role", "Noise factor", "Noise", "What it means"):
        table.add_column(heading, no_wrap=heading != "What it means")
    for name, role in ROLES.items():
        factor = role.noise_factor
        table.add_row(
            f"{role.title}\n[dim]{name}[/dim]",
            "-" if factor is None else f"{factor.name} ({factor.number})",
            "-" if factor is None else f"{factor.low:g} to {factor.high:g} %",
            role.description if factor is None else f"{role.description} {factor.meaning}",
        )
    Console().print(table)
    click.echo("Noise bands are a measure of accuracy, not a guarantee: the guarantee stands in every result.")


def _row(name: str) -> dict[str, object]:
    role = ROLES[name]
    factor = role.noise_factor
    return {
        "role": name,
        "title": role.title,
        "description": role.description,
        "noise_factor": None if factor is None else factor.name,
        "number": None if factor is None else factor.number,
        "noise_band_percent": None if factor is None else list(factor.band),
        "aimed_at_percent": None if factor is None else 100 * factor.target,
        "meaning": None if factor is None else factor.meaning,
    }
