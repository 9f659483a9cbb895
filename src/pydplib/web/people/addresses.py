"""Where to go next: only ever to an address of this server."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def safe_path(request: HttpRequest, address: str | None, default: str = "/") -> str:
    r"""Return the path of ``address`` if it is on this server, else ``default``.

    Foreign hosts, other schemes and the tricks that browsers read as such (``//host``, ``\\host``) give the default.
    """
    if not address or not url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return default
    parts = urlsplit(address)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    # Once more without the host: what is left must be a path.
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else default


def next_path(request: HttpRequest, default: str = "/") -> str:
    """Return where the user wanted to go: ``next`` of the form or of the address."""
    return safe_path(request, request.POST.get("next") or request.GET.get("next"), default)
