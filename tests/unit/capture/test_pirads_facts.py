"""PI-RADS next to the scoring table: patient level, density, grade, significance, contradictions, sectors."""

from __future__ import annotations

import pytest

from pydplib.capture import pirads
from pydplib.datasets._schema import PIRADS_PHRASES
from pydplib.errors import ParameterError


@pytest.mark.parametrize(
    ("lesions", "score"), [([], None), ([None], None), ([2], 2), ([2, 5, 3], 5), ([None, 1], 1), ([4, 4], 4)]
)
def test_patient_category_is_the_highest_lesion(lesions, score):
    assert pirads.patient_category(lesions) == score


@pytest.mark.parametrize("lesions", [[0], [6], ["4"], [True]])
def test_patient_category_of_something_else_is_refused(lesions):
    with pytest.raises(ParameterError):
        pirads.patient_category(lesions)


def test_psa_density_divides_and_refuses_no_volume():
    assert pirads.psa_density(psa=9.0, volume=30.0) == pytest.approx(0.3)
    for psa, volume in ((1.0, 0.0), (-1.0, 30.0), (float("nan"), 30.0), (1.0, float("inf"))):
        with pytest.raises(ParameterError):
            pirads.psa_density(psa=psa, volume=volume)


# The grade groups of the 2014 ISUP conference.
@pytest.mark.parametrize(
    ("primary", "secondary", "grade"),
    [(3, 3, 1), (3, 4, 2), (4, 3, 3), (4, 4, 4), (3, 5, 4), (5, 3, 4), (4, 5, 5), (5, 4, 5), (5, 5, 5), (2, 3, 1)],
)
def test_isup_grade_of_every_gleason_pair(primary, secondary, grade):
    assert pirads.isup_grade(primary, secondary) == grade


@pytest.mark.parametrize("pair", [(0, 3), (3, 6), (True, 3), (3.5, 3)])
def test_isup_grade_of_no_pattern_is_refused(pair):
    with pytest.raises(ParameterError):
        pirads.isup_grade(*pair)


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({"gleason": 7}, True),
        ({"volume": 0.5}, True),
        ({"extension": True}, True),
        ({"gleason": 6, "volume": 0.49, "extension": True}, True),
        ({"gleason": 6, "volume": 0.49, "extension": False}, False),
        ({"gleason": 6, "volume": 0.49}, None),
        ({"gleason": 6}, None),
        ({}, None),
    ],
)
def test_clinically_significant_is_any_of_three_and_open_while_unknown(facts, answer):
    assert pirads.clinically_significant(**facts) is answer


@pytest.mark.parametrize(
    ("t2w", "dwi", "size", "extension", "sequences"),
    [
        (5, 4, 14, "none", ["T2W 5"]),
        (4, 5, 14, "possible", ["DWI 5"]),
        (5, 5, 14, "none", ["T2W 5", "DWI 5"]),
        (5, 5, 15, "none", []),
        (5, 5, 9, "definite", []),
        (4, 3, 15, "none", ["T2W 4"]),
        (3, 4, 9, "definite", ["DWI 4"]),
        (4, 4, 14, "possible", []),
        (3, 3, 40, "none", []),  # a large 3 that enhances is a 4 without contradiction
        ("X", 5, 8, "none", ["DWI 5"]),
        (5, 5, None, "none", []),  # no size, nothing to contradict
        (4, "X", None, "definite", ["T2W 4"]),
    ],
)
def test_contradictions_name_the_sequence(t2w, dwi, size, extension, sequences):
    found = pirads.contradictions(t2w=t2w, dwi=dwi, size=size, extension=extension)
    assert [warning[:5] for warning in found] == sequences


def test_sectors_are_the_41_of_version_2_1():
    assert len(pirads.SECTORS) == 41
    assert sum(pirads.sector_zone(sector) is not None for sector in pirads.SECTORS) == 38
    assert {sector for sector in pirads.SECTORS if "-CZ-" in sector} == {"base-CZ-R", "base-CZ-L"}
    assert "base-PZpm-R" in pirads.SECTORS  # new in 2.1


def test_sector_in_another_zone_is_a_contradiction():
    assert pirads.sector_contradiction(sector="apex-AFS-L", zone="AFS") is None
    assert pirads.sector_contradiction(sector="SV-R", zone="PZ") is None
    assert "transition zone" in (pirads.sector_contradiction(sector="base-TZa-R", zone="PZ") or "")
    with pytest.raises(ParameterError):
        pirads.sector_contradiction(sector="elbow", zone="PZ")


def test_phrases_are_the_same_as_in_the_cohort():
    assert dict(pirads.PHRASES) == dict(PIRADS_PHRASES)
