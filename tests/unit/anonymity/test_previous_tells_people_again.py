"""Earlier releases protect only people who are told again: by any spelling of their identifier, or not at all."""

from __future__ import annotations

import pandas as pd
import pytest

from pydplib.anonymity import Hierarchy, KAnonymity, LDiversity, anonymize
from pydplib.errors import ParameterError

FLAT = Hierarchy.flat([1, 2])
TABLE = pd.DataFrame(
    {"p": range(8), "a": [1] * 4 + [2] * 4, "b": [1, 2, 2, 2, 1, 1, 1, 2], "s": list("xyzwuvtr")}
)  # fmt: skip
MODELS = [KAnonymity(4), LDiversity(4)]


def _first(**words):
    return anonymize(TABLE, {"a": FLAT}, "s", models=MODELS, **words)


@pytest.mark.parametrize("kind", ["int64", "float64", "str", "int8", "Int64", "object"])
def test_person_is_told_again_when_the_identifier_changes_its_kind(kind):
    later = TABLE.astype({"p": kind})
    second = anonymize(later, {"b": FLAT}, "s", models=MODELS, person="p", previous=[_first(person="p")])
    assert second.levels == {"b": 1}


def test_previous_is_refused_when_nobody_is_told_again():
    later = TABLE.assign(p=[f"person {i}" for i in range(8)])
    with pytest.raises(ParameterError, match="finds nobody"):
        anonymize(later, {"b": FLAT}, "s", models=MODELS, person="p", previous=[_first(person="p")])


@pytest.mark.parametrize("before", [{}, {"person": "p"}])
def test_previous_is_refused_without_person_when_the_quasi_identifiers_differ(before):
    with pytest.raises(ParameterError, match="cannot tell the same people again"):
        anonymize(TABLE, {"b": FLAT}, "s", models=MODELS, previous=[_first(**before)])


def test_previous_is_refused_when_only_the_later_release_names_a_person():
    with pytest.raises(ParameterError, match="cannot tell the same people again"):
        anonymize(TABLE, {"a": FLAT}, "s", models=MODELS, person="p", previous=[_first()])


def test_people_are_told_again_when_the_quasi_identifiers_come_in_another_order():
    both, turned = {"a": FLAT, "b": FLAT}, {"b": FLAT, "a": FLAT}
    first = anonymize(TABLE, both, "s", models=[KAnonymity(2)], suppression=1.0)
    assert anonymize(TABLE, turned, "s", models=[KAnonymity(2)], suppression=1.0, previous=[first]).certificate.holds
