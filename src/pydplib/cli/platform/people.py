"""``pydplib people``: for the operator of a server, when nobody can sign in any more."""

from __future__ import annotations

from pathlib import Path

import click

from pydplib.cli.platform.home import HOME, open_platform


@click.group(short_help="List a server's people; make a link for somebody who cannot sign in any more.")
def command() -> None:
    """Help people back in who lost password or phone, when no owner of their hospital can.

    It works on the server's own database, next to the running server; every change is a line in the audit log.
    """


@command.command("list", short_help="Who can sign in.")
@HOME
def list_people(home: Path | None) -> None:
    """Show who can sign in, and who manages a hospital.

    \b
    Examples:
      pydplib people list --home /srv/pydplib
    """  # noqa: D301 - click needs the backspace itself
    from rich.console import Console
    from rich.table import Table

    open_platform(home)
    from pydplib.web.people.models import User
    from pydplib.web.people.sign_in.second_factor import device_of

    table = Table("Name", "Full name", "Hospital", "Manages it", "Second factor", "State")
    for user in User.objects.select_related("hospital").order_by("hospital__name", "username"):
        table.add_row(
            user.username,
            user.full_name,
            user.hospital.name,
            "yes" if user.is_hospital_owner else "",
            "yes" if device_of(user) else "",
            user.state,
        )
    Console().print(table)


@command.command("link", short_help="Make a one-time link by which somebody chooses a new password.")
@click.argument("name")
@click.option("--lost-phone", is_flag=True, help="Also take away the second factor; ask for proof of who it is first.")
@HOME
def link(name: str, lost_phone: bool, home: Path | None) -> None:
    """Print a one-time link by which NAME chooses a new password.

    \b
    Examples:
      pydplib people link ada
      pydplib people link ada --lost-phone --home /srv/pydplib
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.errors import ParameterError, did_you_mean

    open_platform(home)
    from pydplib.web.people import accounts, links
    from pydplib.web.people.models import User

    user = User.objects.filter(username__iexact=name).select_related("hospital").first()
    if user is None:
        known = User.objects.values_list("username", flat=True)
        raise ParameterError(f"Nobody is called '{name}' here.{did_you_mean(name, known)} See: pydplib people list.")
    token = accounts.rescue(user, lost_phone=lost_phone)
    click.echo(f"For {user.username}, works once and for 24 hours; put your server's address before it:")
    click.echo(f"  {links.link_path(token)}")
