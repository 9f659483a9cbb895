"""Cells of two releases: dates, masks and sets are read as what they cover, and unknown labels never look harmless."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pydplib.anonymity import Hierarchy, KAnonymity, Masking, anonymize, verify
from pydplib.anonymity.hierarchies.cells import can_meet, read_cover
from pydplib.anonymity.tables.values import read_set, write_set
from pydplib.errors import ParameterError


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("2017-03", "2017", True),
        ("2017-03", 2017, True),
        ("2017-03", "3", False),
        ("2017-03", "1000", False),
        ("2017-Q1", "2017", True),
        ("2017-Q1", "2017-03", True),
        ("2017-Q1", "2017-04", False),
        (dt.date(2017, 3, 9), "2017", True),
        (dt.date(2017, 3, 9), "2017-03", True),
        (dt.datetime(2017, 3, 9, 12), "2017-Q1", True),
        (dt.date(2017, 3, 9), "2018", False),
        ("2017", "2010-2019", True),
        ("2009-12-31", "2010-2019", False),
        ("2017-01-05 to 2017-02-01", "2017-02", True),
        ("2017-01-05 to 2017-02-01", "2017-03", False),
        ("[2017-01-05, 2017-02-01]", "2017-02", True),
        ("[2017-01-05, 2017-02-01]", dt.date(2017, 2, 2), False),
        ("{2017-01-05 to 2017-02-01, missing}", "2017-01-31", True),
        ("{2017-01-05 to 2017-02-01, missing}", None, True),
        ("{2017-01-05, 2018-02-01}", "2018", True),
        ("23", "20-24", True),
        (23.0, "23", True),
        ("[1e+06, 2e+06)", 1500000, True),
        ("{1, 7}", "5-9", True),
        ('{"a, b", c}', "a, b", True),
        ('{"a, b", c}', "a", False),
    ],
)
def test_cells_meet_when_they_can_mean_the_same(one, other, meet):
    assert can_meet(read_cover(one), read_cover(other)) is meet
    assert can_meet(read_cover(other), read_cover(one)) is meet


@given(st.lists(st.one_of(st.none(), st.text(max_size=4), st.sampled_from(["missing", 'a"', "a,b", "{", " x"]))))
def test_sets_read_back_as_written(values):
    values = [value for value in values if value is None or value.strip()]
    assert read_set(write_set(values)) == values


def test_mask_of_another_character_is_read_with_its_hierarchy():
    masking = Masking(3, character="#")
    now = pd.DataFrame({"zip": ["81#"] * 4 + ["92#"] * 4, "s": list("abcdefgh")})
    then = pd.DataFrame({"zip": ["8##"] * 4 + ["9##"] * 4, "s": list("abcdefgh")})
    assert verify(now, {"zip": masking}, "s", previous=[then]).across.k == 4
    with pytest.raises(ParameterError, match="Give its hierarchy"):
        verify(now, ["zip"], "s", previous=[then])


def test_months_of_one_release_meet_years_of_another():
    now = pd.DataFrame({"day": ["2017-03"] * 2 + ["2017-04"] * 2, "s": list("abcd")})
    then = pd.DataFrame({"day": ["2017"] * 4, "s": list("abcx")})
    across = verify(now, ["day"], "s", previous=[then]).across
    assert (across.k, across.appeared, across.vanished) == (1, 1, 1)


def test_label_that_one_release_has_alone_possibly_covers_the_others():
    now = pd.DataFrame({"q": ["flu"] * 2 + ["infection"] * 2, "s": list("abcd")})
    then = pd.DataFrame({"q": ["flu"] * 4, "s": list("abcx")})
    assert verify(now, ["q"], "s", previous=[then]).across.k == 1
    tree = Hierarchy.grouping({"infection": ["flu"]})
    assert verify(now, {"q": tree}, "s", previous=[then]).across.k == 1


def test_mondrian_sets_of_values_with_commas_stay_apart():
    table = pd.DataFrame({"q": ["a, b", "c"] * 2 + ["a", "b, c"] * 2})
    result = anonymize(table, ["q"], models=[KAnonymity(4)], method="mondrian")
    assert len({tuple(read_set(label)) for label in result.data["q"]}) == result.certificate.classes
    assert {part for label in result.data["q"] for part in read_set(label)} == {"a, b", "c", "a", "b, c"}
