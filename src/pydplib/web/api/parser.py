"""Bodies of requests: one small JSON object, read strictly."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja.parser import Parser

MOST_BYTES = 65_536
"""The largest body: a question is short."""
MOST_DEPTH = 8


class StrictParser(Parser):
    """Reads a body, refusing what other readers could read differently: keys twice, NaN, endless nesting."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body's values."""
        values: dict[str, Any] = json.loads(
            request.body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant
        )
        _check_depth(values, MOST_DEPTH)
        return values


def check_length(request: HttpRequest) -> None:
    """Refuse a body that is too large before it is read."""
    try:
        length = int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        length = 0
    if length > MOST_BYTES or len(request.body) > MOST_BYTES:
        raise RequestDataTooBig


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError
    return values


def _no_constant(name: str) -> NoReturn:
    raise ValueError


def _check_depth(value: object, left: int) -> None:
    if left == 0:
        raise ValueError
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_depth(inner, left - 1)
