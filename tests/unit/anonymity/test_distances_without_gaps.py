"""Distances of t-closeness: several tops are far apart, and an order lists every value."""

from __future__ import annotations

import pandas as pd
import pytest

from pydplib.anonymity import Hierarchy, KAnonymity, TCloseness, anonymize, verify
from pydplib.errors import AnonymityError, DataError

TWO_TOPS = Hierarchy.from_rows([["a", "A"], ["b", "B"]])
VALUES_ONLY = Hierarchy.from_rows([["a"], ["b"]])
TABLE = pd.DataFrame({"q": ["x"] * 4 + ["y"] * 4, "s": ["a"] * 4 + ["b"] * 4})
FIXED = {"q": Hierarchy.from_rows([["x"], ["y"]])}


@pytest.mark.parametrize("tree", [TWO_TOPS, VALUES_ONLY], ids=["two tops", "values only"])
def test_hierarchical_distance_between_tops_is_the_longest(tree):
    # Each class holds one value of two equally frequent ones: half of its mass has to go all the way.
    assert verify(TABLE, ["q"], "s", hierarchies={"s": tree}).sensitive["s"].t_hierarchical == pytest.approx(0.5)
    model = TCloseness(0.4, distance="hierarchical", hierarchy=tree)
    with pytest.raises(AnonymityError):
        anonymize(TABLE, FIXED, "s", models=[KAnonymity(2), model])
    fine = anonymize(TABLE, FIXED, "s", models=[TCloseness(0.5, distance="hierarchical", hierarchy=tree)])
    assert fine.certificate.statements[0].value == pytest.approx(0.5)


def test_verify_refuses_an_order_that_misses_values():
    with pytest.raises(DataError, match="misses 1 of"):
        verify(TABLE, ["q"], "s", orders={"s": ["a"]})
    assert verify(TABLE, ["q"], "s", orders={"s": ["a", "b"]}).sensitive["s"].t_ordered == pytest.approx(0.5)
