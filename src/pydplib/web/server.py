"""The HTTP server (waitress): a socket that is checked first, limits on bodies and time, headers on its own errors."""

from __future__ import annotations

import errno
import ipaddress
import socket
from copy import copy
from typing import Any

from pydplib.errors import EngineError, ParameterError, PolicyError

THREADS = 8
SMALL_BODY = 3_000_000
"""The largest body of a request that uploads no file, in bytes."""
LARGE_BODY = 220_000_000
"""The largest body of an upload, in bytes."""
UPLOADS = frozenset(["/import", "/labelling/add"])
"""Where files are uploaded."""


def is_loopback(host: str) -> bool:
    """Return whether a host is this very machine.

    Examples:
        >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_reach(host: str, *, behind_tls: bool, demo: bool) -> None:
    """Raise ``PolicyError`` for a server that strangers could reach, or overhear."""
    if demo and (behind_tls or not is_loopback(host)):
        raise PolicyError(
            "The demonstration has no passwords, so it serves this machine alone: leave out --host and --behind-tls."
        )
    if not behind_tls and not is_loopback(host):
        raise PolicyError(
            f"'{host}' can be reached from other machines, and without https anybody on the way reads what is sent. "
            "Put a proxy with TLS in front and add --behind-tls (see docs/how-to/run-the-platform.md), "
            "or leave --host out to serve this machine alone."
        )


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address, not listening yet; raise in plain words if it is taken."""
    name = host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise ParameterError(f"'{host}' is not an address of this machine. Try --host 127.0.0.1.") from None
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(address)
    except OSError as error:
        opened.close()
        if error.errno == errno.EADDRINUSE:
            raise EngineError(
                f"Port {port} is taken: another program, perhaps this one started twice, listens there. "
                f"Choose another: --port {port + 1 if port < 65535 else 8000}."
            ) from None
        if error.errno == errno.EACCES:
            raise EngineError(f"Port {port} needs the rights of an administrator. Choose one above 1023.") from None
        raise ParameterError(f"'{host}' is not an address of this machine. Try --host 127.0.0.1.") from None
    return opened


def make_server(application: Any, opened: socket.socket, *, proxy: str | None = None, demo: bool = False) -> Any:
    """Return the server for a bound socket; ``run()`` serves until it is interrupted.

    Args:
        application: The WSGI application.
        opened: The socket of ``open_socket``.
        proxy: The address of the one proxy whose ``X-Forwarded-*`` headers are believed; all others' are dropped.
        demo: Whether it is the demonstration: it sees those headers, believes none, and lets nobody in by a proxy.
    """
    from waitress.server import create_server

    trust: dict[str, Any] = {}
    if proxy:
        trust = {
            "trusted_proxy": proxy,
            "trusted_proxy_count": 1,
            "trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"},
        }
    server = create_server(
        application,
        sockets=[opened],
        threads=THREADS,
        ident=None,  # no Server header
        server_name="localhost",
        channel_timeout=60,
        cleanup_interval=15,
        connection_limit=200,
        max_request_header_size=32_768,
        max_request_body_size=LARGE_BODY,
        clear_untrusted_proxy_headers=not demo,
        **trust,
    )
    server.channel_class = _channel_class()
    return server


def _channel_class() -> Any:
    from waitress.channel import HTTPChannel
    from waitress.parser import HTTPRequestParser
    from waitress.task import ErrorTask

    class PlainErrors(ErrorTask):
        """What waitress refuses by itself (too large, malformed): without details, with our headers."""

        def execute(self) -> None:
            from pydplib.web.middleware import HEADERS, content_security_policy

            error = self.request.error
            # The details would repeat what was sent, or say where our code failed.
            error.body = "The request could not be answered."
            self.response_headers.extend(HEADERS.items())
            self.response_headers.append(("Content-Security-Policy", content_security_policy()))
            self.response_headers.append(("Cache-Control", "no-store"))
            super().execute()

    class LimitedParser(HTTPRequestParser):
        """Large bodies are read where files are uploaded, and nowhere else."""

        adj: Any

        def parse_header(self, header_plus: bytes) -> None:
            super().parse_header(header_plus)
            if self.path not in UPLOADS:
                self.adj = copy(self.adj)
                self.adj.max_request_body_size = SMALL_BODY

    class Channel(HTTPChannel):
        error_task_class = PlainErrors
        parser_class = LimitedParser

    return Channel
