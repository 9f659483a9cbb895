"""``pydplib receipt verify|keys|rotate``: check a signed receipt offline; for the operator, the keys that sign."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pydplib.cli.inputs import InputFile
from pydplib.cli.platform.home import HOME, open_platform
from pydplib.errors import ReceiptError

_EXISTING = InputFile()


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
    help="The released JSON: checks that it is the one that the receipt names.",
)
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def verify(file: Path, keys: Path, release_file: Path | None, as_json: bool) -> None:
    r"""Check that the issuer signed FILE, and say what it says.

    Ends with code 18 if the receipt is forged, damaged or signed by another key, or if the
    release is not the one that it names. Nothing is sent anywhere.

    \b
    Examples:
      pydplib receipt verify receipt.json --keys keys.json
      pydplib receipt verify receipt.json --keys keys.json --release release.json
    """
    from pydplib.receipt import NAME_UNCHECKED, Receipt, read_public_keys

    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ReceiptError(f"'{file.name}' is not a receipt of pydplib.") from None
    receipt = Receipt.from_json(text).verify(read_public_keys(keys))
    if release_file is not None and not receipt.matches(release_file.read_bytes()):
        raise ReceiptError("The receipt is genuine, but it is about another release: the values at hand differ.")
    if as_json:
        click.echo(
            json.dumps(
                {
                    "genuine": True,
                    "issuer_checked": receipt.is_issuer_checked,
                    "release_matches": release_file is not None or None,
                    **_words(receipt),
                }
            )
        )
        return
    fits = " The values fit." if release_file else ""
    if receipt.is_issuer_checked:
        click.echo(f"Genuine: signed by {receipt.issuer} (issuer {receipt.issuer_id}), and unchanged since.{fits}")
        click.echo("Compare the issuer's id with what the hospital told you: it never changes, and nobody else has it.")
    else:
        click.echo(f"{NAME_UNCHECKED} Unchanged since.{fits}")
    for name, value in _words(receipt).items():
        click.echo(f"  {name.replace('_', ' '):14} {value}")


@command.command("keys", short_help="Print the public keys of a server, current and retired.")
@HOME
def keys(home: Path | None) -> None:
    """Print the public keys of a server, current and retired, with the issuer of each, as /receipts/keys shows them.

    \b
    Examples:
      pydplib receipt keys --home /srv/pydplib > keys.json
    """  # noqa: D301 - click needs the backspace itself
    open_platform(home)
    from pydplib.web.analyses.receipts.keys import keys_document

    click.echo(json.dumps(keys_document(), indent=2))


@command.command("rotate", short_help="Make a new key that signs from now on; old ones still verify.")
@click.option(
    "--issuer", "issuers", multiple=True, help="The issuer's id; all organisations that hold data if left out."
)
@HOME
def rotate(issuers: tuple[str, ...], home: Path | None) -> None:
    r"""Make a new key that signs from now on; the old ones are kept and still verify what they signed.

    Every organisation has keys of its own. The running server signs with the new key at once. Tell partners the new
    public key: pydplib receipt keys.

    \b
    Examples:
      pydplib receipt rotate --home /srv/pydplib
      pydplib receipt rotate --issuer 4f2a91c07b3e5d68 --home /srv/pydplib
    """
    open_platform(home)
    from pydplib.web.analyses.receipts.keys import rotate as make_key
    from pydplib.web.auditlog.log import recorded
    from pydplib.web.people.models import Hospital

    holders = Hospital.objects.filter(key__in=issuers) if issuers else Hospital.objects.exclude(projects=None)
    found = list(holders.distinct().order_by("name"))
    if missing := set(issuers) - {hospital.key for hospital in found}:
        raise ReceiptError(f"No organisation of this server has the issuer id '{sorted(missing)[0]}'.")
    if not found:
        click.echo("No organisation of this server holds data, so none has a key to renew.")
    for hospital in found:
        name = make_key(hospital)
        with recorded("system", hospital=hospital) as log:
            log.add("receipt.rotate", name)
        click.echo(f"{hospital.name} (issuer {hospital.key}) signs with the new key {name} from now on.")
    if found:
        click.echo("Keys used before still verify what they signed.")


def _words(receipt: object) -> dict[str, str]:
    from dataclasses import asdict

    values: dict[str, str] = asdict(receipt)  # type: ignore[call-overload]
    return {name: value for name, value in values.items() if value and name != "signature"}
