"""``pydplib doctor``: what is installed, which engines answer, whether the configuration is safe."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import click

_SIGNS = {"ok": "✓", "missing": "·", "broken": "✗", "unsafe": "!"}
_TITLES = {
    "core": "The library",
    "extra": "Extras",
    "noise": "Noise",
    "engine": "Engines",
    "picture": "Pictures",
    "platform": "The platform",
}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """Say what is installed, which engines answer, and whether the configuration is safe.

    Looks at PYDPLIB_HOME, DATABASE_URL and the platform's other settings as they are in this shell. Nothing is
    changed, nothing is sent. Ends with code 1 if something is broken or unsafe; what is only not installed is fine.

    \b
    Examples:
      pydplib doctor
      PYDPLIB_HOME=/srv/pydplib pydplib doctor --json
    """  # noqa: D301 - click needs the backspace itself
    from pydplib._version import __version__
    from pydplib.cli._doctor_checks import examine

    findings = list(examine(os.environ))
    bad = [finding for finding in findings if finding.state in ("broken", "unsafe")]
    if as_json:
        click.echo(json.dumps({"version": __version__, "healthy": not bad, "findings": [asdict(f) for f in findings]}))
    else:
        click.echo(f"pydplib {__version__}")
        part = ""
        for finding in findings:
            if finding.part != part:
                part = finding.part
                click.echo(f"\n{_TITLES[part]}")
            click.echo(f"  {_SIGNS[finding.state]} {finding.name:<14} {finding.words}")
        click.echo("\nAll is well." if not bad else f"\nTo be fixed: {', '.join(f.name for f in bad)}.")
    if bad:
        raise SystemExit(1)
