"""The keys for receipts: one line of keys per organisation, files in the server's home; retired ones still verify.

A key is called after the organisation that it signs for: ``<its key>-000001.key``. Files that are called by a number
alone are of earlier versions, when one key signed for everybody on the server; they sign nothing any more.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from pydplib.errors import ReceiptError
from pydplib.receipt import IssuerKey, Receipt, key_id, new_signing_key, public_key_text
from pydplib.web import hooks
from pydplib.web.private_files import write_once

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    from pydplib.web.people.models import Hospital

_FILE = re.compile(r"(?:(?P<issuer>[0-9a-f]{16})-)?(?P<number>[0-9]{6,9})\.key", re.ASCII)


@dataclass(frozen=True, slots=True)
class PublishedKey:
    """A public key as the server shows it.

    Args:
        public_key: The key.
        issuer_id: The only organisation for which it signs; empty for keys of earlier versions.
        current: Whether new receipts of the organisation are signed with it.
    """

    public_key: Ed25519PublicKey
    issuer_id: str
    current: bool

    def to_dict(self) -> dict[str, object]:
        """Return it as plain values. The organisation's name is left out: no list of them is for everybody."""
        return {
            "key_id": key_id(self.public_key),
            "public_key": public_key_text(self.public_key),
            "issuer_id": self.issuer_id,
            "current": self.current,
            "algorithm": "Ed25519",
        }


def sign(receipt: Receipt, hospital: Hospital) -> Receipt:
    """Return the receipt in the organisation's name, with its id, signed by its current key (made at the first use)."""
    from dataclasses import replace

    named = replace(receipt, issuer=hospital.name, issuer_id=hospital.key)
    return named.signed(_current(hospital.key))


def published_keys(issuer_id: str | None = None) -> list[PublishedKey]:
    """Return the public keys of all organisations that have signed, or of one; the newest of each first."""
    found, seen = [], set()
    for issuer, _, path in sorted(_files(_folder()), key=lambda item: (item[0], -item[1])):
        if issuer_id is not None and issuer != issuer_id:
            continue
        with suppress(ReceiptError):  # a damaged key of one organisation is no reason to doubt the others'
            found.append(PublishedKey(_read(path).public_key(), issuer, bool(issuer) and issuer not in seen))
        seen.add(issuer)
    return found


@hooks.hospital_page.register
def hospital_facts(hospital: Hospital) -> dict[str, object]:
    """Return the public key that signs for an organisation, for the page of the hospital."""
    key = next((each for each in published_keys(hospital.key) if each.current), None)
    return {"receipt_key": key.to_dict() if key else None}


def issuer_keys() -> list[IssuerKey]:
    """Return all public keys as receipts are verified by them."""
    return [IssuerKey(key.public_key, key.issuer_id) for key in published_keys()]


def current_key_id(hospital: Hospital) -> str:
    """Return the short name of the key that signs for an organisation; it is made if there is none."""
    return key_id(_current(hospital.key).public_key())


def keys_document(issuer_id: str | None = None) -> dict[str, object]:
    """Return the public keys as ``/receipts/keys`` shows them and ``pydplib receipt verify --keys`` reads them."""
    return {"format": "pydplib-receipt-keys/1", "keys": [key.to_dict() for key in published_keys(issuer_id)]}


def check_can_sign(hospital: Hospital) -> None:
    """Raise before anything is paid if no receipt could be signed for it.

    Raises:
        ReceiptError: The organisation's current key is damaged.
    """
    try:
        _current(hospital.key)
    except ReceiptError:
        raise ReceiptError(
            "No receipt can be signed now, so nothing is answered, and nothing was spent. Whoever runs this server "
            "restores the receipt key from a backup."
        ) from None


def rotate(hospital: Hospital) -> str:
    """Make a new current key of an organisation and return its short name; earlier receipts stay verifiable."""
    return key_id(_make(hospital.key, _folder()).public_key())


def _folder() -> Path:
    return settings.CONFIGURATION.folder("keys", "receipts")


def _current(issuer_id: str) -> Ed25519PrivateKey:
    folder = _folder()
    mine = [(number, path) for issuer, number, path in _files(folder) if issuer == issuer_id]
    return _read(max(mine)[1]) if mine else _make(issuer_id, folder)


def _files(folder: Path) -> list[tuple[str, int, Path]]:
    """Return issuer, number and file of every key. Other files there, such as copies somebody made, are no keys."""
    found = [(_FILE.fullmatch(path.name), path) for path in folder.glob("*.key")]
    return [(match["issuer"] or "", int(match["number"]), path) for match, path in found if match]


def _make(issuer_id: str, folder: Path) -> Ed25519PrivateKey:
    """Write a new key under the next number; of two servers at once, one wins and both use its key."""
    key = new_signing_key()
    number = max((number for issuer, number, _ in _files(folder) if issuer == issuer_id), default=0) + 1
    path = folder / f"{issuer_id}-{number:06d}.key"
    write_once(path, key.private_bytes_raw().hex().encode())
    return _read(path)


def _read(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text().strip()))
    except (OSError, ValueError):
        raise ReceiptError(f"The receipt key '{path.name}' is damaged: restore it from a backup.") from None
