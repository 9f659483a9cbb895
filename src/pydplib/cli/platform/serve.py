"""``pydplib serve``: the platform in the browser."""

from __future__ import annotations

import atexit
import gc
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pydplib.web.configuration import Configuration


@click.command(short_help="Start the platform in the browser; --demo with synthetic data and people of every role.")
@click.option("--demo", is_flag=True, help="Synthetic reports and people of every role, for this machine alone.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free one.")
@click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of database, keys and snapshots. [default: PYDPLIB_HOME or ./pydplib-data; "
    "with --demo ./pydplib-demo-data]",
)
@click.option("--behind-tls", is_flag=True, help="A proxy in front speaks https; needed beyond this machine.")
@click.option("--proxy", default="127.0.0.1", show_default=True, help="Address of that proxy; only its word is taken.")
@click.option("--open/--no-open", "open_it", default=False, help="Show it in the browser.")
def command(demo: bool, host: str, port: int, home: Path | None, behind_tls: bool, proxy: str, open_it: bool) -> None:
    """Start the platform: reports, data, policy and log in the browser.

    Without further words it keeps its data in SQLite under ./pydplib-data. DATABASE_URL=postgresql://... puts them
    into PostgreSQL, PYDPLIB_HOSTS=edc.example names the addresses that browsers use. End it with Ctrl-C.

    \b
    Examples:
      pydplib serve --demo
      pydplib serve --home /srv/pydplib
      pydplib serve --host 0.0.0.0 --behind-tls --proxy 10.0.0.5
    """  # noqa: D301 - click needs the backspace itself
    from importlib.util import find_spec

    from pydplib.errors import MissingExtraError
    from pydplib.web.configuration import Configuration
    from pydplib.web.server import check_reach, open_socket

    # Looked for, not imported: some of them read Django's settings, which are not there yet.
    if not all(
        map(find_spec, ("django", "waitress", "ninja", "axes", "csp", "django_otp", "whitenoise", "argon2", "segno"))
    ):
        raise MissingExtraError("The platform in the browser", "web")

    configuration = Configuration.from_environment()
    behind_tls = behind_tls or configuration.behind_tls
    check_reach(host, behind_tls=behind_tls, demo=demo)
    configuration = replace(configuration, behind_tls=behind_tls, demo=demo)
    if demo:
        # The demonstration never touches real data: its own folder, embedded database.
        configuration = replace(configuration, database_url=None, home=(home or Path("pydplib-demo-data")).absolute())
    elif home is not None:
        configuration = replace(configuration, home=home.absolute())
    with open_socket(host, port) as opened:
        _run(configuration, opened, host=host, proxy=proxy if behind_tls else None, open_it=open_it)


def _run(configuration: Configuration, opened: object, *, host: str, proxy: str | None, open_it: bool) -> None:
    import contextlib
    import os
    import time

    from pydplib.web import server, startup

    os.umask(0o077)  # whatever is made is for this user alone
    begun = time.monotonic()
    port = opened.getsockname()[1]  # type: ignore[attr-defined]
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    base = f"https://{configuration.hosts[0]}" if configuration.behind_tls else f"http://{name}:{port}"
    click.echo(f"Data: {configuration.home if configuration.database_url is None else 'PostgreSQL (DATABASE_URL)'}")
    with contextlib.ExitStack() as stack:
        if configuration.database_url is None:
            stack.enter_context(startup.only_server(configuration.home))
        if configuration.demo:
            startup.clear_demonstration(configuration.home)

        def step(name: str) -> None:  # a line each, on a terminal and in a log: a start is never silent for long
            click.echo(f"{time.monotonic() - begun:5.1f} s  {name}", err=True)

        step("Starting")
        startup.start_django(configuration)
        startup.check_database()
        changes = startup.migrate(step)
        step("Loading the pages")
        from pydplib.web import demo, jobs, upkeep  # they need the models
        from pydplib.web.design import storage

        if storage.collect():
            step("Compressed the static files")
        application = upkeep.application()
        people = demo.seed(step) if configuration.demo else []
        if configuration.database_url is None:
            jobs.end_claims()  # nobody else works on this database
        upkeep.tidy()
        if changes and not configuration.demo:
            click.echo(f"Database: {changes} change{'s' if changes != 1 else ''} of its tables made.")
        token = upkeep.setup_token()
        first = base
        if people:
            first = base + people[0].path
            click.echo(demo.invitation(people, base))
        elif token:
            from pydplib.web.people.links import link_path

            first = base + link_path(token)
            click.echo(
                f"Nobody can sign in yet. Set the server up with this link; it works once, for 24 hours:\n  {first}"
            )
        running = server.make_server(application, opened, proxy=proxy, demo=configuration.demo)  # type: ignore[arg-type]
        if proxy:
            click.echo(f"Listening on http://{name}:{port} for the proxy at {proxy}; its word about https is taken.")
        click.echo(f"Ready after {time.monotonic() - begun:.1f} s: {base}  (Ctrl-C ends it)")
        if open_it:
            click.launch(first)
        _spare_the_collector()
        ended = upkeep.run_by_itself()
        running.run()  # returns on Ctrl-C and SIGTERM, after the requests that are under way
        for each in ended:
            each.set()
        running.close()
        click.echo("\nStopped." if sys.stdout.isatty() else "Stopped.")  # on a terminal the line has a ^C in it


def _spare_the_collector() -> None:
    """Keep the garbage collector from walking through what stays loaded, and from running at every few rows."""
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)  # what is loaded is given back in order: DuckDB's bindings complain otherwise
    gc.set_threshold(50_000, 20, 20)
