"""A client of the platform's API: ask from a notebook, get releases that print, plot and become frames."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydplib._http import Transport
from pydplib.budget.costs import Cost
from pydplib.budget.rules import Limit, Remaining
from pydplib.errors import EngineError, ParameterError, PydplibError, ReceiptError
from pydplib.guarantee import ApproxDP, PureDP
from pydplib.receipt import Receipt, parse_public_key, read_public_keys
from pydplib.release import Price, Question, Release
from pydplib.schema import Schema

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_GUARANTEES: dict[str, type[PureDP] | type[ApproxDP]] = {"PureDP": PureDP, "ApproxDP": ApproxDP}


class Client:
    """A connection to a platform, in the name of whoever made the token.

    Args:
        url: The platform's address: https, or http on this very machine.
        token: The token from the account page. It is shown in no message, no repr and no log.
        keys: The public keys of receipts that you trust: base64 texts, or a file of them. Compare them with what the
            hospital told you; a server cannot vouch for itself.
        timeout: Seconds after which a request is given up.
        ca_file: The certificate of a private certificate authority, if the platform has one.

    Examples:
        >>> client = Client("https://edc.example", "pydp_" + "x" * 43)
        >>> client
        Client('https://edc.example')
        >>> Client("http://edc.example", "pydp_" + "x" * 43)
        Traceback (most recent call last):
        ...
        pydplib.errors.ParameterError: A token is sent over https only, or to this very machine. Use https://edc.example.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        keys: str | Path | Iterable[str] = (),
        timeout: float = 60.0,
        ca_file: str | Path | None = None,
    ) -> None:
        self._transport = Transport(url, token, timeout=timeout, ca_file=ca_file)
        self._keys = _read_keys(keys)

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str] = os.environ,
        *,
        keys: str | Path | Iterable[str] = (),
        timeout: float = 60.0,
        ca_file: str | Path | None = None,
    ) -> Client:
        """Return a client from ``PYDPLIB_URL``, ``PYDPLIB_TOKEN`` and, if set, ``PYDPLIB_KEYS`` (a file).

        Args:
            environment: Where these are looked up.
            keys: The public keys that you trust, if not by ``PYDPLIB_KEYS``.
            timeout: Seconds after which a request is given up.
            ca_file: The certificate of a private certificate authority.

        Examples:
            >>> Client.from_environment({"PYDPLIB_URL": "https://edc.example"})
            Traceback (most recent call last):
            ...
            pydplib.errors.ParameterError: Set PYDPLIB_TOKEN: make a token on the platform's account page.
        """
        if not environment.get("PYDPLIB_URL"):
            raise ParameterError("Set PYDPLIB_URL to the platform's address, e.g. https://edc.example.")
        if not environment.get("PYDPLIB_TOKEN"):
            raise ParameterError("Set PYDPLIB_TOKEN: make a token on the platform's account page.")
        url, token = environment["PYDPLIB_URL"], environment["PYDPLIB_TOKEN"]
        pinned = keys or environment.get("PYDPLIB_KEYS") or ()
        return cls(url, token, keys=pinned, timeout=timeout, ca_file=ca_file)

    @property
    def url(self) -> str:
        """The platform's address."""
        return self._transport.url

    def whoami(self) -> dict[str, Any]:
        """Return the token's user, organisation, scopes and expiry."""
        return dict(self._get("token"))

    def projects(self) -> list[ProjectEntry]:
        """Return the projects in which the token's user has a place."""
        return [_entry(values) for values in self._get("projects")]

    def project(self, key: str) -> Project:
        """Return one project: what may be asked in it, and how.

        Args:
            key: Its key, as ``projects()`` shows it.
        """
        return Project(self, self._get("projects", key))

    def analysis(self, key: str) -> Release:
        """Return the released values of an analysis.

        Args:
            key: The analysis's key, as ``Project.analyses()`` shows it.
        """
        return _release(self._get("analyses", key)["release"])

    def server_keys(self) -> list[dict[str, Any]]:
        """Return the public keys that the server itself shows: to compare, not to trust."""
        return list(self._get("receipts", "keys")["keys"])

    def receipt(self, analysis: AnalysisEntry | str) -> Receipt:
        """Return the receipt of an analysis, verified: signed by a key you trust, and about these very bytes.

        Args:
            analysis: An entry of ``Project.analyses()``, or its key.

        Raises:
            ReceiptError: It is forged, of another release, or signed by a key that is not among yours.
        """
        if not self._keys:
            raise ReceiptError(
                "A receipt is worth as much as the key that you trust. Give the hospital's public keys: "
                "Client(url, token, keys=...); server_keys() shows the server's own, to compare with what you heard."
            )
        key = analysis if isinstance(analysis, str) else analysis.key
        receipt = Receipt.from_json(self._transport.read("GET", "analyses", key, "receipt").decode())
        receipt.verify(self._keys)
        payload = self._transport.read("GET", "analyses", key, "release")
        if not receipt.matches(payload):
            raise ReceiptError("The receipt is genuine, but of another release than the one that the server gave out.")
        return receipt

    def __repr__(self) -> str:
        return f"Client('{self.url}')"

    def _get(self, *path: str, **query: Any) -> Any:
        return self._transport.json("GET", *path, query=query)

    def _post(self, *path: str, body: Mapping[str, Any]) -> Any:
        return self._transport.json("POST", *path, body=body)


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """A project in a list."""

    key: str
    name: str
    purpose: str
    role: str
    is_synthetic: bool


@dataclass(frozen=True, slots=True)
class AnalysisEntry:
    """An analysis in a list."""

    key: str
    words: str
    title: str
    question: Mapping[str, Any]
    label: str
    organisation: str
    made: datetime
    release_key: str


class Project:
    """One project of the platform; made by ``Client.project``."""

    def __init__(self, client: Client, values: Mapping[str, Any]) -> None:
        self._client = client
        self._offer = values.get("offer")
        self.key: str = values["key"]
        self.name: str = values["name"]
        self.purpose: str = values["purpose"]
        self.role: str = values["role"]

    @property
    def schema(self) -> Schema:
        """The public facts of the fields that the policy opens to you: kinds, bounds, categories."""
        return Schema.from_dict(self._offered["schema"])

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that answers may speak of."""
        return tuple(self._offered["fields"])

    @property
    def filters(self) -> tuple[str, ...]:
        """The fields that conditions may use."""
        return tuple(self._offered["filters"])

    @property
    def budget(self) -> Remaining | None:
        """What is left of your organisation's budget, asked anew each time; none for roles that ask nothing."""
        own = self._client._get("projects", self.key, "budget")["own"]
        return None if own is None else _remaining(own)

    def price(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        noise_factor: str | None = None,
        margin: float | None = None,
    ) -> Price:
        """Return what a question would cost and how accurate it would be; nothing is spent.

        Give at most one of ``epsilon``, ``noise_factor`` and ``margin``; with none, the noise factor is your role's.
        """
        body = _body(question, epsilon, noise_factor, margin)
        return _price(self._client._post("projects", self.key, "price", body=body))

    def ask(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        noise_factor: str | None = None,
        margin: float | None = None,
    ) -> Release:
        """Pay for a question and return the release; the same question again is free and the same.

        Proof: the platform's session makes the release (see ``Session.release``); what is done here is reading it.

        Raises:
            BudgetError: The budget cannot pay; shows asked and left. Nothing was spent.
            PolicyError: The policy does not allow it.
        """
        body = _body(question, epsilon, noise_factor, margin)
        return _release(self._client._post("projects", self.key, "analyses", body=body)["release"])

    def analyses(self) -> list[AnalysisEntry]:
        """Return the analyses that you may see, the newest first."""
        found: list[AnalysisEntry] = []
        while True:
            page = self._client._get("projects", self.key, "analyses", limit=200, offset=len(found))
            found += [_analysis(values) for values in page["items"]]
            if len(found) >= page["count"] or not page["items"]:
                return found

    def receipt(self, analysis: AnalysisEntry | str) -> Receipt:
        """Return the verified receipt of an analysis; see ``Client.receipt``."""
        return self._client.receipt(analysis)

    def __repr__(self) -> str:
        return f"Project '{self.name}' ({self.key}) as {self.role}"

    @property
    def _offered(self) -> Mapping[str, Any]:
        if self._offer is None:
            raise ParameterError(
                f"There is nothing to ask in '{self.name}': your role ({self.role}) asks no statistics, or the owner "
                "has not published any data yet."
            )
        return dict(self._offer)


def _body(question: Question, epsilon: float | None, noise_factor: str | None, margin: float | None) -> dict[str, Any]:
    if not isinstance(question, Question):
        raise ParameterError("Ask a question such as dp.Mean('age', by='pirads').")
    given = {"epsilon": epsilon, "noise_factor": noise_factor, "margin": margin}
    return {"question": question.to_dict()} | {name: value for name, value in given.items() if value is not None}


def _read_keys(keys: str | Path | Iterable[str]) -> list[Ed25519PublicKey]:
    if isinstance(keys, str | Path):
        return read_public_keys(keys)
    return [parse_public_key(key) for key in keys]


_T = TypeVar("_T")


def _understood(read: Callable[[Any], _T]) -> Callable[[Any], _T]:
    """Wrap a reader of the server's values: what does not fit is a server of another version, said as such."""

    def reader(values: Any) -> _T:
        try:
            return read(values)
        except PydplibError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            raise EngineError("The server's answer is not understood: it may be of another version.") from None

    return reader


@_understood
def _entry(values: Any) -> ProjectEntry:
    return ProjectEntry(**{name: values[name] for name in ("key", "name", "purpose", "role", "is_synthetic")})


@_understood
def _analysis(values: Any) -> AnalysisEntry:
    names = ("key", "words", "title", "question", "label", "organisation", "release_key")
    return AnalysisEntry(**{name: values[name] for name in names}, made=datetime.fromisoformat(values["made"]))


@_understood
def _release(values: Any) -> Release:
    return Release.from_dict(values)


@_understood
def _remaining(values: Any) -> Remaining:
    return Remaining(Limit(**values["limit"]), values["nano_epsilon"], values["atto_delta"])


@_understood
def _price(values: Any) -> Price:
    guarantee = dict(values["guarantee"])
    kind = _GUARANTEES[guarantee.pop("kind")]
    guarantee.pop("sentence")
    after = values["after"]
    return Price(
        question=values["question"],
        cost=Cost.from_dict(values["cost"]),
        guarantee=kind(**guarantee),
        free=values["free"],
        margin95=values["margin95"],
        margin_unit=values["margin_unit"],
        unit=values["unit"],
        noise_percent=values["noise_percent"],
        left=_remaining(values["left"]),
        after=None if after is None or not values["affordable"] else _remaining(after),
        at_most=values["at_most"],
        notes=tuple(values["notes"]),
    )
