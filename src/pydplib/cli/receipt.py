"""``pydplib receipt verify|keys|rotate``: check a signed receipt offline; for the operator, the keys that sign."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pydplib.cli._platform import HOME, open_platform
from pydplib.errors import ReceiptError

_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group("receipt")
def command() -> None:
    """Verify the signed receipt of a release without a server; show or renew a server's keys."""


@command.command("verify")
@click.argument("file", type=_EXISTING)
@click.option(
    "--keys",
    type=_EXISTING,
    required=True,
    help="The issuer's public keys: the JSON of its /receipts/keys address, or one base64 key per line.",
)
@click.option(
    "--release",
    "release_file",
    type=_EXISTING,
    help="The released JSON: checks that it is the one that the receipt speaks of.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def verify(file: Path, keys: Path, release_file: Path | None, as_json: bool) -> None:
    r"""Check that the issuer signed FILE, and say what it says.

    Ends with code 18 if the receipt is forged, damaged or signed by another key, or if the
    release is not the one that it speaks of. Nothing is sent anywhere.

    \b
    Examples:
      pydplib receipt verify receipt.json --keys keys.json
      pydplib receipt verify receipt.json --keys keys.json --release release.json
    """
    from pydplib.receipt import Receipt, read_public_keys

    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ReceiptError(f"'{file.name}' is not a receipt of pydplib.") from None
    receipt = Receipt.from_json(text).verify(read_public_keys(keys))
    if release_file is not None and not receipt.matches(release_file.read_bytes()):
        raise ReceiptError("The receipt is genuine, but it speaks of another release: the values at hand differ.")
    if as_json:
        click.echo(
            json.dumps({"genuine": True, "release_matches": release_file is not None or None, **_words(receipt)})
        )
        return
    click.echo("Genuine: signed by the issuer, and unchanged since." + (" The values fit." if release_file else ""))
    for name, value in _words(receipt).items():
        click.echo(f"  {name.replace('_', ' '):14} {value}")


@command.command("keys", short_help="Print the public keys of a server, current and retired.")
@HOME
def keys(home: Path | None) -> None:
    """Print the public keys of a server, current and retired, as JSON: what its /receipts/keys address shows.

    \b
    Examples:
      pydplib receipt keys --home /srv/pydplib > keys.json
    """  # noqa: D301 - click needs the backspace itself
    open_platform(home)
    from pydplib.web.analyses.signing import keys_document

    click.echo(json.dumps(keys_document(), indent=2))


@command.command("rotate", short_help="Make a new key that signs from now on; old ones still verify.")
@HOME
def rotate(home: Path | None) -> None:
    r"""Make a new key that signs from now on; the old ones are kept and still verify what they signed.

    The running server signs with the new key at once. Tell partners the new public key: pydplib receipt keys.

    \b
    Examples:
      pydplib receipt rotate --home /srv/pydplib
    """
    open_platform(home)
    from pydplib.web.analyses.signing import rotate as make_key
    from pydplib.web.auditlog.writing import record

    name = make_key()
    record("system", "receipt.rotate", name)
    click.echo(f"Receipts are signed with the new key {name} from now on. Keys used before still verify.")


def _words(receipt: object) -> dict[str, str]:
    from dataclasses import asdict

    values: dict[str, str] = asdict(receipt)  # type: ignore[call-overload]
    return {name: value for name, value in values.items() if value and name != "signature"}
