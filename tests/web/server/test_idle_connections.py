"""Connections that do nothing keep nobody out: a new one takes the place of the one that was idle longest."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pydplib.web import server


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A server with few places and a long patience."""
    monkeypatch.setattr(server, "CONNECTIONS", 20)
    monkeypatch.setattr(server, "CROWDED", 12)
    monkeypatch.setattr(server, "IDLE_SECONDS", 300)

    def answer(environ: Any, start: Any) -> list[bytes]:
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    opened = server.open_socket("127.0.0.1", 0)
    running = server.make_server(answer, opened)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    yield opened.getsockname()
    running.asyncore.close_all(running._map)  # ends the loop of the thread
    thread.join(60)
    running.task_dispatcher.shutdown()


def ask(address: tuple[str, int], *, head: bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n") -> bytes:
    with socket.create_connection(address, timeout=60) as asking:
        asking.sendall(head)
        return asking.recv(100)


def test_many_idle_connections_keep_nobody_out(address: tuple[str, int]) -> None:
    idle = [socket.create_connection(address, timeout=60) for _ in range(40)]
    half = [socket.create_connection(address, timeout=60) for _ in range(40)]
    for one in half:
        one.sendall(b"GET / HT")
    for _ in range(5):
        assert ask(address).startswith(b"HTTP/1.1 200")
    assert idle[0].recv(1) == b"", "the one that was idle longest was closed"
    for one in (*idle, *half):
        one.close()


def test_few_idle_connections_are_kept(address: tuple[str, int]) -> None:
    kept = [socket.create_connection(address, timeout=60) for _ in range(8)]
    assert ask(address).startswith(b"HTTP/1.1 200")
    kept[0].sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert kept[0].recv(100).startswith(b"HTTP/1.1 200")
    for one in kept:
        one.close()
