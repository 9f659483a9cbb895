"""``pydplib roles``: who gets how much noise and which budget, and what that means."""

from __future__ import annotations

import json

import click

from pydplib.errors import PolicyError
from pydplib.policy.policy import Policy, Terms
from pydplib.policy.roles import ROLES, Role

WIDE = 110
"""Columns of a terminal from which on a table is read more easily than paragraphs."""


@click.command("roles")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """Show the roles, their noise factors, bands and budgets, and what each of them means.

    \b
    Examples:
      pydplib roles
    """  # noqa: D301 - click needs the backspace itself
    policy = Policy()
    if as_json:
        click.echo(json.dumps([_row(role, policy) for role in ROLES.values()], indent=2))
        return
    from rich.console import Console

    console = Console(highlight=False)
    if console.width >= WIDE:
        from rich.table import Table

        table = Table(title="Who gets how much noise", title_justify="left", show_lines=True)
        for heading in ("Role", "Noise factor", "Noise", "Epsilon", "What it means"):
            table.add_column(heading, no_wrap=heading != "What it means")
        for name, role in ROLES.items():
            factor = role.noise_factor
            table.add_row(
                f"{role.title}\n[dim]{name}[/dim]",
                "-" if factor is None else f"{factor.name} ({factor.number})",
                "-" if factor is None else f"{factor.low:g} to {factor.high:g} %",
                _budget(_terms(role, policy), "\n"),
                _meaning(role),
            )
        console.print(table)
    else:
        from rich.padding import Padding

        for name, role in ROLES.items():
            factor = role.noise_factor
            console.print(f"[bold]{role.title}[/bold] [dim]({name})[/dim]")
            if factor is not None:
                numbers = f"{factor.name} ({factor.number}), noise {factor.low:g} to {factor.high:g} %"
                console.print(Padding(f"{numbers}; epsilon {_budget(_terms(role, policy), ', ')}", (0, 0, 0, 2)))
            console.print(Padding(role.description, (0, 0, 0, 2)))
    click.echo(
        f"All recipients together: epsilon {policy.data_set_budget:g} per data set. These are the defaults; "
        "the owner's policy may say otherwise.\n"
        "Noise bands are a measure of accuracy, not a guarantee: the guarantee stands in every result."
    )


def _meaning(role: Role) -> str:
    return role.description if role.noise_factor is None else f"{role.description} {role.noise_factor.meaning}"


def _terms(role: Role, policy: Policy) -> Terms | None:
    try:
        return policy.terms(role.name)
    except PolicyError:  # a role that asks no statistics
        return None


def _budget(terms: Terms | None, between: str) -> str:
    if terms is None:
        return "-"
    if terms.epsilon_cap is None and terms.budget is None:
        return "no cap"
    each = "no cap" if terms.epsilon_cap is None else f"{terms.epsilon_cap:g}"
    in_all = "no budget" if terms.budget is None else f"{terms.budget.epsilon:g}"
    return f"{each} per question{between}{in_all} in total"


def _row(role: Role, policy: Policy) -> dict[str, object]:
    factor = role.noise_factor
    terms = _terms(role, policy)
    return {
        "role": role.name,
        "title": role.title,
        "description": role.description,
        "noise_factor": None if factor is None else factor.name,
        "number": None if factor is None else factor.number,
        "noise_band_percent": None if factor is None else list(factor.band),
        "aimed_at_percent": None if factor is None else 100 * factor.target,
        "meaning": None if factor is None else factor.meaning,
        "epsilon_per_question": None if terms is None else terms.epsilon_cap,
        "budget_epsilon": None if terms is None or terms.budget is None else terms.budget.epsilon,
        "data_set_epsilon": None if terms is None else terms.data_set_budget.epsilon,
    }
