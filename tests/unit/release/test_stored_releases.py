"""Stored releases that contradict themselves or are not whole are refused with one clear error."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pydplib as dp
from pydplib.errors import DataError, PydplibError

HISTOGRAM = json.loads(dp.histogram([61, 67, 70] * 300, edges=[50, 60, 70], epsilon=1.0).to_json())


def _changed(**parts: Any) -> str:
    plain = json.loads(json.dumps(HISTOGRAM))
    for name, value in parts.items():
        if isinstance(value, dict) and name in ("guarantee", "cost"):
            plain[name].update(value)
        elif name == "axis":
            plain["axes"][0].update(value)
        else:
            plain[name] = value
    return json.dumps(plain)


@pytest.mark.parametrize(
    "parts",
    [
        {"guarantee": {"epsilon": 0.0001}},
        {"guarantee": {"relation": "substitute"}},
        {"cost": {"nano_epsilon": 1}},
        {"notes": [5]},
        {"notes": 5},
        {"question": [1]},
        {"question": {"ask": "mean", "by": [1]}},
        {"question": {"ask": "mean", "where": [{"column": 1}]}},
        {"values": [float("inf"), 1]},
        {"values": ["a", "b"]},
        {"values": [10**400, 1]},
        {"axis": {"keys": ["a", "b"]}},
        {"axis": {"keys": [{"a": 1}, {"b": 1}]}},
        {"axis": {"name": 5}},
        {"simultaneous95": "x"},
        {"expected_noise": "x"},
        {"scale": "x"},
        {"margin_unit": "zz"},
        {"mechanism": 5},
        {"key": 5},
    ],
    ids=str,
)
def test_stored_release_with_a_wrong_part_is_refused(parts):
    with pytest.raises(PydplibError):
        dp.Release.from_json(_changed(**parts))


def test_stored_release_nested_without_end_is_refused():
    for text in ("[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(DataError):
            dp.Release.from_json(text)


def test_stored_release_as_it_was_is_read_and_shown():
    release = dp.Release.from_json(json.dumps(HISTOGRAM))
    assert str(release) and release._repr_html_() and json.loads(release.to_json()) == HISTOGRAM


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1 / 3, 0.123456789123, 7.0])
def test_any_epsilon_survives_the_way_through_json(epsilon):
    release = dp.count([1, 2, 3], epsilon=epsilon)
    assert dp.Release.from_json(release.to_json()) == release
