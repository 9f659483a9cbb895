"""Requests of the client: https, one origin, a token that no message shows, errors as ``pydplib.errors``."""

from __future__ import annotations

import hashlib
import json
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any, BinaryIO, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

from pydplib._version import __version__
from pydplib.errors import (
    ERROR_TYPES,
    BudgetError,
    DataError,
    EngineError,
    MissingExtraError,
    ParameterError,
    PolicyError,
    PydplibError,
)

MOST_BYTES = 50_000_000
"""The largest answer that is read."""
_PIECE = 1 << 20
_JSON = "application/json"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_KINDS = {kind.__name__: kind for kind in ERROR_TYPES if kind is not MissingExtraError}


class Transport:
    """Sends requests to one platform.

    Args:
        url: Its address.
        token: The token; kept in the part that writes the header, and nowhere else.
        timeout: Seconds after which a request is given up.
        ca_file: The certificate of a private certificate authority.
    """

    def __init__(self, url: str, token: str, *, timeout: float, ca_file: str | Path | None = None) -> None:
        self.url, near = _check_url(url)
        self.timeout = timeout
        origin = _origin(self.url)
        handlers: list[BaseHandler] = [_Bearer(_check_token(token), origin), _SameOrigin(origin)]
        if near:
            handlers.append(ProxyHandler({}))  # what is meant for this machine goes through no proxy
        else:
            handlers.append(HTTPSHandler(context=_tls(ca_file)))
        self._opener: OpenerDirector = build_opener(*handlers)

    def json(self, method: str, *path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Return an answer's values."""
        text = self.read(method, *path, query=query, body=body)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise EngineError("The server's answer is not JSON: is this the address of a pydplib platform?") from None

    def read(self, method: str, *path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> bytes:
        """Return an answer's bytes; raise what the server says went wrong."""
        with self._answer(method, path, query, body) as response:
            found: bytes = response.read(MOST_BYTES + 1)
        if len(found) > MOST_BYTES:
            raise EngineError("The server's answer is too large.")
        return found

    def save(self, file: BinaryIO, method: str, *path: str, body: Any = None) -> str:
        """Write an answer of any length into a file, piece by piece; returns its SHA-256."""
        digest = hashlib.sha256()
        with self._answer(method, path, None, body, accept="*/*") as response:
            while piece := response.read(_PIECE):
                digest.update(piece)
                try:
                    file.write(piece)
                except OSError as fault:  # a full disk is not the server's doing
                    raise DataError(f"The file could not be written: {fault.strerror}.") from None
        return digest.hexdigest()

    @contextmanager
    def _answer(
        self, method: str, path: tuple[str, ...], query: Mapping[str, Any] | None, body: Any, *, accept: str = _JSON
    ) -> Iterator[Any]:
        address = "/".join([self.url, "api/v1", *(quote(part, safe="") for part in path)])
        if query:
            address += "?" + urlencode(query)
        headers = {"Accept": accept, "User-Agent": f"pydplib/{__version__}"}
        data = None
        if body is not None:
            headers["Content-Type"] = _JSON
            data = json.dumps(body, allow_nan=False).encode()
        request = Request(address, data=data, headers=headers, method=method)  # noqa: S310 - https, or this machine
        try:
            with self._opener.open(request, timeout=self.timeout) as response:
                yield response
        except HTTPError as error:
            with error:
                _raise(error.code, error.headers.get("Retry-After"), error.read(100_000))
        except PydplibError:  # a redirect that is not followed; PolicyError is an OSError too
            raise
        except (URLError, HTTPException, OSError) as error:
            raise EngineError(f"{self.url} does not answer ({_why(error)}). Nothing is known of the request.") from None


class _Bearer(BaseHandler):
    """Writes the token into requests to the one origin."""

    def __init__(self, token: str, origin: tuple[str, str, int]) -> None:
        self._header: Callable[[], str] = lambda: f"Bearer {token}"  # a closure: neither repr nor vars() shows it
        self._origin = origin

    def http_request(self, request: Request) -> Request:
        """Add the header; it is not carried over to other addresses."""
        if _origin(request.full_url) == self._origin:
            request.unredirected_hdrs["Authorization"] = self._header()
        return request

    https_request = http_request


class _SameOrigin(HTTPRedirectHandler):
    """Follows a redirect only if it stays where it is and changes nothing."""

    def __init__(self, origin: tuple[str, str, int]) -> None:
        self._origin = origin

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        """Return the next request, or refuse."""
        if _origin(newurl) != self._origin:
            raise PolicyError("The server sends the request to another address. It was not followed: check the URL.")
        if req.get_method() != "GET":
            raise PolicyError("The server sends a question elsewhere. It was not followed: check the URL.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_url(url: str) -> tuple[str, bool]:
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except (ValueError, AttributeError):
        host = None
    if not host or parts.scheme not in ("http", "https") or parts.username or parts.query or parts.fragment:
        raise ParameterError("The platform's address looks like https://edc.example.")
    near = host in _LOOPBACK and parts.scheme == "http"
    if parts.scheme == "http" and not near:
        raise ParameterError(
            f"A token is sent over https only, or to this very machine. Use https://{parts.netloc}{parts.path}."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path}".rstrip("/"), near


def _check_token(token: str) -> str:
    if not isinstance(token, str) or not re.fullmatch(r"[A-Za-z0-9_.~+/=-]{16,200}", token):
        raise ParameterError("This does not look like a token: copy it from the account page, where it is shown once.")
    return token


def _tls(ca_file: str | Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except (OSError, ssl.SSLError):
        raise ParameterError("ca_file= is no file with certificates (PEM).") from None


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    return parts.scheme, (parts.hostname or "").lower(), port or (443 if parts.scheme == "https" else 80)


def _raise(status: int, retry_after: str | None, text: bytes) -> NoReturn:
    """Raise the server's refusal as the class that it names, or the nearest one; without the traceback of urllib."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or not isinstance(values.get("error"), str):
        reason = f"The server answers with status {status} and no reason. Is this a pydplib platform?"
        raise EngineError(reason) from None
    message, kind = values["error"][:2000], _KINDS.get(str(values.get("kind")))
    if status == 429 and (retry_after or "").isdigit():
        raise EngineError(f"Too many requests. Wait {retry_after} s, then go on.") from None
    if kind is BudgetError:
        asked, left = (value if isinstance(value, str) else None for value in (values.get("asked"), values.get("left")))
        raise BudgetError(message, asked=asked, left=left) from None
    if kind is None:
        kind = PolicyError if status in (401, 403) else ParameterError if status < 500 else EngineError
    raise kind(message) from None


def _why(error: BaseException) -> str:
    """Return the kind of a fault; its own text may hold more than is wanted."""
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return "its certificate is not trusted"
    if isinstance(reason, TimeoutError):
        return "timeout"
    return type(reason).__name__ if isinstance(reason, BaseException) else "no connection"
