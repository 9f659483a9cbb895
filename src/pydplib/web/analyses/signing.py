"""The hospital's keys for receipts: files in the server's home; retired ones still verify old receipts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from pydplib.errors import ReceiptError
from pydplib.receipt import Receipt, key_id, new_signing_key, public_key_text
from pydplib.web.private_files import write_once

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


def _folder() -> Path:
    return settings.CONFIGURATION.folder("keys", "receipts")


def sign(receipt: Receipt) -> Receipt:
    """Return the receipt signed by the current key, which is made at the first use."""
    return receipt.signed(_current())


def public_keys() -> list[tuple[Ed25519PublicKey, bool]]:
    """Return all public keys, newest first, and whether each is the current one."""
    _current()
    found = [_read(path).public_key() for path in reversed(_files())]
    return [(key, number == 0) for number, key in enumerate(found)]


def keys_document() -> dict[str, Any]:
    """Return the public keys as ``/receipts/keys`` shows them and ``pydplib receipt verify --keys`` reads them."""
    keys = [
        {"key_id": key_id(key), "public_key": public_key_text(key), "current": current, "algorithm": "Ed25519"}
        for key, current in public_keys()
    ]
    return {"format": "pydplib-receipt-keys/1", "keys": keys}


def check_can_sign() -> None:
    """Raise before anything is paid if no receipt could be signed for it.

    Raises:
        ReceiptError: The current key is damaged.
    """
    try:
        _current()
    except ReceiptError:
        raise ReceiptError(
            "No receipt can be signed now, so nothing is answered, and nothing was spent. Whoever runs this server "
            "restores the receipt key from a backup."
        ) from None


def rotate() -> str:
    """Make a new current key and return its short name; receipts signed before stay verifiable."""
    return key_id(_make().public_key())


def _current() -> Ed25519PrivateKey:
    files = _files()
    return _read(files[-1]) if files else _make()


def _files() -> list[Path]:
    """Return the keys, oldest first. Other files there, such as copies that somebody made, are no keys."""
    return sorted(path for path in _folder().glob("*.key") if path.stem.isascii() and path.stem.isdigit())


def _make() -> Ed25519PrivateKey:
    """Write a new key under the next number; of two servers at once, one wins and both use its key."""
    key = new_signing_key()
    number = max((int(path.stem) for path in _files()), default=0) + 1
    path = _folder() / f"{number:06d}.key"
    write_once(path, key.private_bytes_raw().hex().encode())
    return _read(path)


def _read(path: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(path.read_text().strip()))
    except (OSError, ValueError):
        raise ReceiptError(f"The receipt key '{path.name}' is damaged: restore it from a backup.") from None
