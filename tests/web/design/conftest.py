"""The gallery as markup and as a page in a real browser, under the platform's own policy."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import pytest
from page_markup import Page

GALLERY_ADDRESSES = "pydplib_tests_gallery_addresses"


@pytest.fixture(scope="session")
def gallery() -> Page:
    from django.test import RequestFactory

    from pydplib.web.gallery import gallery

    response = gallery(RequestFactory().get("/design"))
    return Page(response.content.decode())


@pytest.fixture(scope="module")
def gallery_server() -> Iterator[str]:
    """Serve the gallery on loopback, with every middleware of the platform."""
    from django.core.handlers.wsgi import WSGIHandler
    from django.test import override_settings
    from django.urls import path
    from waitress.server import create_server

    from pydplib.web import gallery, urls

    addresses: Any = types.ModuleType(GALLERY_ADDRESSES)
    addresses.urlpatterns = [
        path("design", gallery.gallery),
        path("design/narrow", gallery.narrow),
        path("design/error/<int:status>", gallery.error),
        *urls.urlpatterns,
    ]
    sys.modules[GALLERY_ADDRESSES] = addresses
    with override_settings(ROOT_URLCONF=GALLERY_ADDRESSES, ALLOWED_HOSTS=["127.0.0.1"]):
        server = create_server(WSGIHandler(), host="127.0.0.1", port=0, threads=4)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.effective_port}"
        server.close()
        thread.join(timeout=5)
