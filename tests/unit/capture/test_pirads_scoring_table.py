"""The whole PI-RADS 2.1 scoring table, written out by hand from the rules, against the one function."""

from __future__ import annotations

import itertools

import pytest

from pydplib.capture import pirads
from pydplib.errors import ParameterError

# One block per zone and contrast result. Rows: T2W 1 2 3 4 5 X. Columns: DWI 1 2 3 4 5 X. A dot: no category.
TABLE = {
    # Peripheral zone: diffusion leads, whatever T2W says; a 3 with early enhancement is a 4.
    # Without diffusion T2W takes its place, by the same rule.
    ("PZ", "neg"): """
        1 2 3 4 5 1
        1 2 3 4 5 2
        1 2 3 4 5 3
        1 2 3 4 5 4
        1 2 3 4 5 5
        1 2 3 4 5 .
    """,
    ("PZ", "pos"): """
        1 2 4 4 5 1
        1 2 4 4 5 2
        1 2 4 4 5 4
        1 2 4 4 5 4
        1 2 4 4 5 5
        1 2 4 4 5 .
    """,
    # No contrast counts as negative; with no diffusion either, staging only.
    ("PZ", "X"): """
        1 2 3 4 5 .
        1 2 3 4 5 .
        1 2 3 4 5 .
        1 2 3 4 5 .
        1 2 3 4 5 .
        1 2 3 4 5 .
    """,
    # Transition zone: T2W leads; contrast never matters. A 2 rises to 3 with DWI 4 or 5, a 3 to 4 with DWI 5 only.
    ("TZ", "neg"): """
        1 1 1 1 1 1
        2 2 2 3 3 2
        3 3 3 3 4 3
        4 4 4 4 4 4
        5 5 5 5 5 5
        . . . . . .
    """,
    ("TZ", "pos"): """
        1 1 1 1 1 1
        2 2 2 3 3 2
        3 3 3 3 4 3
        4 4 4 4 4 4
        5 5 5 5 5 5
        . . . . . .
    """,
    ("TZ", "X"): """
        1 1 1 1 1 .
        2 2 2 3 3 .
        3 3 3 3 4 .
        4 4 4 4 4 .
        5 5 5 5 5 .
        . . . . . .
    """,
}
SCORES = ("1", "2", "3", "4", "5", "X")


def expected() -> dict[tuple[str, str, str, str], int | None]:
    cells = {}
    for (zone, dce), block in TABLE.items():
        rows = [line.split() for line in block.strip().splitlines()]
        for (i, t2w), (j, dwi) in itertools.product(enumerate(SCORES), enumerate(SCORES)):
            cells[zone, t2w, dwi, dce] = None if rows[i][j] == "." else int(rows[i][j])
    return cells


def differences(rule) -> list[tuple[str, str, str, str]]:
    return [cell for cell, score in expected().items() if rule(*cell) != score]


def ours(zone, t2w, dwi, dce):
    return pirads.category(zone=zone, t2w=t2w, dwi=dwi, dce=dce)


def test_category_of_every_combination_is_the_table():
    assert len(expected()) == 2 * 6 * 6 * 3
    assert differences(ours) == []


def test_category_as_whole_number_scores_is_the_same():
    for zone, t2w, dwi, dce in expected():
        numbers = [score if score == "X" else int(score) for score in (t2w, dwi)]
        assert pirads.category(zone=zone, t2w=numbers[0], dwi=numbers[1], dce=dce) == ours(zone, t2w, dwi, dce)


def wrong_dwi_4_upgrade(zone, t2w, dwi, dce):
    return 4 if zone == "TZ" and t2w == "3" and dwi == "4" else ours(zone, t2w, dwi, dce)


def wrong_contrast_in_transition_zone(zone, t2w, dwi, dce):
    return 4 if zone == "TZ" and t2w == "3" and dce == "pos" else ours(zone, t2w, dwi, dce)


def wrong_no_upgrade_of_two(zone, t2w, dwi, dce):
    return 2 if zone == "TZ" and t2w == "2" else ours(zone, t2w, dwi, dce)


@pytest.mark.parametrize(
    "rule", [wrong_dwi_4_upgrade, wrong_contrast_in_transition_zone, wrong_no_upgrade_of_two], ids=lambda f: f.__name__
)
def test_category_with_a_planted_mistake_of_the_transition_zone_is_found(rule):
    assert differences(rule)


@pytest.mark.parametrize("zone", ["CZ", "AFS"])
def test_category_of_central_zone_or_stroma_asks_for_the_origin(zone):
    with pytest.raises(ParameterError, match="zone='PZ' or zone='TZ'"):
        pirads.category(zone=zone, t2w=3, dwi=3, dce="neg")


@pytest.mark.parametrize(
    "change", [{"zone": "pz"}, {"t2w": 0}, {"t2w": True}, {"dwi": 6}, {"dwi": "x"}, {"dce": "positive"}, {"t2w": None}]
)
def test_category_outside_the_scale_is_refused(change):
    with pytest.raises(ParameterError):
        pirads.category(**{"zone": "PZ", "t2w": 3, "dwi": 3, "dce": "neg"} | change)
