"""Signed receipts of releases: what was released, under which guarantee, without the values themselves."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydplib._shown import Shown
from pydplib.budget.keys import canonical_json, sha256_hex
from pydplib.budget.units import ATTO, NANO, ceil_units, exact, show_atto, show_nano
from pydplib.errors import ReceiptError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

    from pydplib.release import Release
    from pydplib.synthesis import SyntheticTable

FORMAT = "pydplib-receipt/2"
"""The first word of a receipt: readers refuse what they do not know."""
OLD_FORMAT = "pydplib-receipt/1"
"""Receipts without an issuer's id: one key signed for everybody on a server, so the issuer's name proves nothing."""
NAME_UNCHECKED = "Signed by this server; the issuer's name was not checked then."
"""What a good receipt of the old format shows."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Receipt(Shown):
    """What a hospital signs about one release. It holds no value of the release, only a hash of it.

    Args:
        release: The key of the release in the ledger.
        payload_hash: The SHA-256 of the released JSON text: shows that a release at hand is the one that was paid.
        question_hash: The SHA-256 of the canonical question.
        mechanism: What added the noise.
        epsilon: The privacy loss, exact to 1e-9; empty where only the guarantee's sentence says it (Gaussian noise).
        delta: The chance that the guarantee fails; 0 for pure guarantees.
        guarantee: The guarantee in one sentence.
        data: The published state of the data that was asked.
        template: The template and version by which the data were captured; empty if there is none.
        issuer: Who signs.
        issued: When, in UTC (ISO 8601); empty where that would tell when somebody asked.
        key_id: Which key signed.
        signature: The Ed25519 signature over all of the above, base64.
        issuer_id: Who signs, by an id that never changes and that nobody else can have; empty in the old format.

    Examples:
        >>> key = new_signing_key()
        >>> receipt = Receipt(
        ...     release="ab" * 32, payload_hash="cd" * 32, question_hash="ef" * 32, mechanism="laplace",
        ...     epsilon="0.2", delta="0", guarantee="Pure", data="2018-12",
        ... ).signed(key)
        >>> receipt.verify([key.public_key()]).release[:4]
        'abab'
    """

    release: str
    payload_hash: str
    question_hash: str
    mechanism: str
    epsilon: str
    delta: str
    guarantee: str
    data: str
    template: str = ""
    issuer: str = ""
    issued: str = ""
    key_id: str = ""
    signature: str = ""
    issuer_id: str = ""

    def __str__(self) -> str:
        loss = f"epsilon {self.epsilon or '-'}, delta {self.delta} ({self.mechanism})"
        facts = {
            "guarantee": self.guarantee,
            "cost": loss,
            "data": self.data,
            "template": self.template,
            "issuer": self.issuer,
            "issued": self.issued,
            "signed": f"with key {self.key_id}" if self.signature else "not yet",
        }
        return "\n".join(
            [
                f"Receipt of release {self.release[:12]}",
                *(f"  {word:<9}  {text}" for word, text in facts.items() if text),
            ]
        )

    @classmethod
    def of(
        cls,
        release: Release | SyntheticTable,
        payload: bytes,
        *,
        data: str,
        issued: str,
        template: str = "",
        issuer: str = "",
        issuer_id: str = "",
    ) -> Receipt:
        """Return the receipt of a stored release, not yet signed.

        Args:
            release: The release; it must come from a ledger and so have a key.
            payload: The very bytes that the ledger stores.
            data: The published state of the data.
            issued: When, in UTC.
            template: The template and its version.
            issuer: Who signs.
            issuer_id: The issuer's id, which never changes.
        """
        if release.key is None:
            raise ReceiptError("Only a release from a ledger has a receipt: ask it through a Session.")
        return cls(
            release=release.key,
            payload_hash=sha256_hex(payload),
            question_hash=sha256_hex(canonical_json(dict(release.question))),
            mechanism=release.mechanism,
            epsilon=_epsilon_words(release),
            delta=show_atto(ceil_units(exact(release.delta), ATTO) if release.delta else 0),
            guarantee=release.guarantee.sentence,
            data=data,
            template=template,
            issuer=issuer,
            issued=issued,
            issuer_id=issuer_id,
        )

    @property
    def is_issuer_checked(self) -> bool:
        """Whether the signing key belongs to one issuer alone; in the old format one key signed for all."""
        return bool(self.issuer_id)

    @property
    def body(self) -> str:
        """What is signed: all but the signature, as canonical JSON."""
        values = self._values()
        del values["signature"]
        return canonical_json(values)

    def _values(self) -> dict[str, Any]:
        values: dict[str, Any] = asdict(self)
        if self.is_issuer_checked:
            return {"format": FORMAT, **values}
        del values["issuer_id"]
        return {"format": OLD_FORMAT, **values}

    def signed(self, key: Ed25519PrivateKey) -> Receipt:
        """Return the receipt with the signature of ``key``."""
        named = replace(self, key_id=key_id(key.public_key()), signature="")
        return replace(named, signature=base64.b64encode(key.sign(named.body.encode())).decode())

    def verify(self, keys: Iterable[Ed25519PublicKey | IssuerKey]) -> Receipt:
        """Return the receipt if one of the keys signed exactly this; raise ``ReceiptError`` if not.

        Args:
            keys: The issuer's public keys, current and retired, from a place that you trust. One that names its issuer
                (``IssuerKey``) verifies receipts of that issuer alone.
        """
        from cryptography.exceptions import InvalidSignature

        trusted = [key if isinstance(key, IssuerKey) else IssuerKey(key) for key in keys]
        known = {key_id(key.public_key): key.public_key for key in trusted}
        issuers = {key_id(key.public_key): key.issuer_id for key in trusted}
        if self.key_id not in known:
            raise ReceiptError(
                "This receipt was signed by a key that is not among those given. Get the issuer's public keys "
                "(from its /receipts/keys address) and compare them with the ones you were told."
            )
        try:
            signature = base64.b64decode(self.signature, validate=True)
            known[self.key_id].verify(signature, self.body.encode())
        except (InvalidSignature, ValueError):
            raise ReceiptError("This receipt is forged or damaged: its signature does not fit its words.") from None
        if self.is_issuer_checked and issuers[self.key_id] not in ("", self.issuer_id):
            raise ReceiptError("This receipt is forged: its key belongs to another issuer than the one that it names.")
        return self

    def matches(self, payload: bytes) -> bool:
        """Return whether these are the released bytes that the receipt is about."""
        return sha256_hex(payload) == self.payload_hash

    def to_json(self) -> str:
        """Return the receipt as a small JSON text."""
        return json.dumps(self._values(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        """Read a receipt; it says nothing until ``verify`` was called."""
        try:
            values = json.loads(text, object_pairs_hook=_no_twins)
            form = values.pop("format", None) if isinstance(values, dict) else None
            known = {item.name for item in fields(cls)} - ({"issuer_id"} if form == OLD_FORMAT else set())
            if (
                form not in (FORMAT, OLD_FORMAT)
                or set(values) != known
                or not all(isinstance(value, str) for value in values.values())
                or (form == FORMAT and not values["issuer_id"])
            ):
                raise ValueError
        except (ValueError, RecursionError):
            raise ReceiptError(f"This is not a receipt of pydplib ({FORMAT}).") from None
        return cls(**values)


@dataclass(frozen=True, slots=True)
class IssuerKey:
    """A public key and whose it is.

    Args:
        public_key: The key.
        issuer_id: The only issuer for whom it signs; empty if that is not known, or for keys of the old format.
    """

    public_key: Ed25519PublicKey
    issuer_id: str = ""


def _epsilon_words(release: Release | SyntheticTable) -> str:
    """Return epsilon as an exact decimal: that of the guarantee where Gaussian noise is paid in rho."""
    paid = release.cost.nano_epsilon
    if paid is None and math.isfinite(release.epsilon):
        paid = ceil_units(exact(release.epsilon), NANO)
    return "" if paid is None else show_nano(paid)


def new_signing_key() -> Ed25519PrivateKey:
    """Return a new key to sign receipts with."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def key_id(key: Ed25519PublicKey) -> str:
    """Return the short name of a public key: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()[:16]


def public_key_text(key: Ed25519PublicKey) -> str:
    """Return a public key as base64, as the address of the public keys shows it."""
    return base64.b64encode(key.public_bytes_raw()).decode()


def parse_public_key(text: str) -> Ed25519PublicKey:
    """Read a public key from base64."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(text.strip(), validate=True))
    except ValueError:
        raise ReceiptError("This is not a public key for receipts: 32 bytes in base64 were expected.") from None


def read_public_keys(path: str | Path) -> list[IssuerKey]:
    """Read public keys from a file: the JSON of ``/receipts/keys``, or one base64 key per line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ReceiptError(f"The key file '{Path(path).name}' cannot be read.") from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, Mapping):
        keys = found.get("keys")
        if not isinstance(keys, list) or not all(isinstance(key, dict) and "public_key" in key for key in keys):
            raise ReceiptError(f"The key file '{Path(path).name}' has no list 'keys' with a 'public_key' each.")
        lines = [(str(key["public_key"]), str(key.get("issuer_id") or "")) for key in keys]
    else:
        lines = [(line, "") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        raise ReceiptError(f"The key file '{Path(path).name}' is empty.")
    return [IssuerKey(parse_public_key(line), issuer) for line, issuer in lines]


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: readers would disagree on which one counts."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError
    return values
