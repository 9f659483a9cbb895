"""A ``pydplib.Client`` that talks to the platform in this process: the real client and the real API, no network."""

from __future__ import annotations

import json
from typing import Any

import pydplib as dp


class InProcess:
    """The client's transport, by way of Django's own test client."""

    def __init__(self, token: str) -> None:
        from django.test import Client

        self.client = Client(headers={"authorization": f"Bearer {token}"})

    def json(self, method: str, *path: str, query: Any = None, body: Any = None) -> Any:
        """Return the answer's values; anything but a good answer fails the test."""
        address = "/api/v1/" + "/".join(path)
        if method == "GET":
            answer = self.client.get(address, query or {})
        else:
            answer = self.client.post(address, json.dumps(body), content_type="application/json")
        assert answer.status_code == 200, answer.content
        return answer.json()


def connected(token: str) -> Any:
    """Return a client with this token."""
    client = dp.Client("https://edc.example", token)
    client._transport = InProcess(token)  # type: ignore[assignment]
    return client
