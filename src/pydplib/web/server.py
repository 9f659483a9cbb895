"""The HTTP server (waitress): a socket that is checked first, limits on bodies and time, headers on its own errors."""

from __future__ import annotations

import errno
import ipaddress
import re
import shutil
import socket
import tempfile
import threading
import weakref
from copy import copy
from typing import Any

from pydplib.errors import EngineError, ParameterError, PolicyError
from pydplib.web import room

THREADS = 8
SMALL_BODY = 3_000_000
"""The largest body of a request that uploads no file, in bytes."""
LARGE_BODY = 220_000_000
"""The largest body of an upload, in bytes."""
UPLOADS = frozenset(["/import", "/labelling/add"])
"""Where files are uploaded."""
ALL_BODIES = 4 * LARGE_BODY
"""The most bytes of large bodies that are on their way in at once, of all users together."""
CONNECTIONS = 400
IDLE_SECONDS = 20
"""A connection on which nothing happens this long is closed; one whose request is being answered is not idle."""
CROWDED = 300
"""From this many connections on, a new one takes the place of the one that has been idle longest."""


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

    trust: dict[str, object] = {}
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
        channel_timeout=IDLE_SECONDS,
        cleanup_interval=5,
        connection_limit=CONNECTIONS,
        asyncore_use_poll=True,  # select() ends at 1024 files
        max_request_header_size=32_768,
        max_request_body_size=LARGE_BODY,
        clear_untrusted_proxy_headers=not demo,
        **trust,
    )
    server.channel_class = _channel_class()
    return server


class Bodies:
    """Counts large bodies that are on their way in, so that together they cannot fill the disk.

    Args:
        most: The most bytes at once.

    Examples:
        >>> bodies = Bodies(100)
        >>> bodies.take(60), bodies.take(60)
        (True, False)
        >>> bodies.give_back(60)
        >>> bodies.take(60)
        True
    """

    def __init__(self, most: int) -> None:
        self.most, self.taken, self._lock = most, 0, threading.Lock()

    def take(self, size: int) -> bool:
        """Count a body in, if it fits."""
        with self._lock:
            fits = self.taken + size <= self.most
            self.taken += size if fits else 0
            return fits

    def give_back(self, size: int) -> None:
        """Count a body out: it was read, refused, or never came to its end."""
        with self._lock:
            self.taken -= size


def is_signed_in(cookies: str) -> bool:
    """Return whether the cookies of a request are those of somebody who is signed in now; asked before a body is read.

    A database that does not answer knows nobody.
    """
    from django.conf import settings
    from django.contrib.auth import SESSION_KEY
    from django.contrib.sessions.models import Session
    from django.db import DatabaseError, InterfaceError, close_old_connections
    from django.http.cookie import parse_cookie
    from django.utils import timezone

    key = parse_cookie(cookies).get(settings.SESSION_COOKIE_NAME, "")
    if not re.fullmatch("[0-9a-z]{8,64}", key):
        return False
    close_old_connections()
    try:
        found = Session.objects.filter(session_key=key, expire_date__gt=timezone.now()).first()
    except (DatabaseError, InterfaceError):
        return False
    return found is not None and SESSION_KEY in found.get_decoded()


def has_room(size: int) -> bool:
    """Return whether a body of this many bytes fits where it is kept on its way in, and into the home afterwards."""
    try:
        return room.has_room(size) and shutil.disk_usage(tempfile.gettempdir()).free - size >= room.LEAST
    except OSError:
        return True


def _channel_class() -> Any:
    from waitress.channel import HTTPChannel
    from waitress.parser import HTTPRequestParser
    from waitress.task import ErrorTask
    from waitress.utilities import Error

    bodies = Bodies(ALL_BODIES)

    class NoRoom(Error):
        code = 503
        reason = "Service Unavailable"

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
        """Large bodies are read where files are uploaded, from those who are signed in, and while there is room."""

        adj: Any
        error: Any

        def parse_header(self, header_plus: bytes) -> None:
            super().parse_header(header_plus)
            if not self.chunked and self.content_length < SMALL_BODY:
                return
            if self.path not in UPLOADS or not is_signed_in(self.headers.get("COOKIE", "")):
                self.adj = copy(self.adj)
                self.adj.max_request_body_size = SMALL_BODY
                return
            size = LARGE_BODY if self.chunked else self.content_length
            if size > LARGE_BODY:
                return  # refused by its length
            if not has_room(size) or not bodies.take(size):
                self.error, self.completed = NoRoom("no room"), True
                return
            weakref.finalize(self, bodies.give_back, size)

    class Channel(HTTPChannel):
        error_task_class = PlainErrors
        parser_class = LimitedParser

        def add_channel(self, map: object = None) -> None:
            """Count the connection in; where many are open, close the one on which nothing has happened longest.

            Connections that do nothing could otherwise take every place until they time out, and keep all others out.
            """
            others = [each for each in self.server.active_channels.values() if not (each.requests or each.will_close)]
            if len(self.server.active_channels) >= CROWDED and others:
                min(others, key=lambda each: each.last_activity).will_close = True
            super().add_channel(map)

    return Channel
