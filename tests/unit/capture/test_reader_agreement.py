"""Cohen's kappa for two readers: textbook values, weights, and what is not defined."""

from __future__ import annotations

import math

import pytest

from pydplib.capture import Option, Question, Template, cohens_kappa, reader_agreement
from pydplib.errors import DataError, ParameterError


def spread(table, categories):
    """Turn a table of counts (rows: first reader) into two lists of answers."""
    pairs = [
        (a, b)
        for a, row in zip(categories, table, strict=True)
        for b, n in zip(categories, row, strict=True)
        for _ in range(n)
    ]
    return [a for a, _ in pairs], [b for _, b in pairs]


def test_kappa_of_a_worked_example_is_the_textbook_value():
    # 50 grant proposals, two readers: both yes 20, both no 15, 5 and 10 split: 0.7 observed, 0.5 by chance.
    first, second = spread([[20, 5], [10, 15]], ["yes", "no"])
    result = cohens_kappa(first, second)
    assert (result.n, result.observed, result.expected) == (50, 0.7, 0.5)
    assert result.kappa == pytest.approx(0.4)
    assert result.in_words == "fair"


def test_weighted_kappa_is_one_minus_the_ratio_of_disagreements():
    # An independent formula: 1 - sum(w O) / sum(w E) with distances as weights.
    table, scores = [[11, 3, 1], [1, 8, 2], [0, 4, 6]], [1, 2, 3]
    first, second = spread(table, scores)
    n = sum(map(sum, table))
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    for weights, power in (("linear", 1), ("quadratic", 2)):
        seen = sum(abs(i - j) ** power * table[i][j] for i in range(3) for j in range(3)) / n
        chance = sum(abs(i - j) ** power * rows[i] * columns[j] for i in range(3) for j in range(3)) / n**2
        result = cohens_kappa(first, second, categories=scores, weights=weights)
        assert result.kappa == pytest.approx(1 - seen / chance)


def test_kappa_of_full_and_of_opposite_agreement():
    assert cohens_kappa([1, 2, 3], [1, 2, 3]).kappa == 1.0
    assert cohens_kappa([1, 2], [2, 1]).kappa == -1.0
    assert cohens_kappa([1, 2], [2, 1]).in_words == "poor"


@pytest.mark.parametrize(("first", "second"), [([], []), (["y"], ["y"]), ([None], ["y"]), (["y", "y"], ["y", "y"])])
def test_kappa_is_not_defined_without_variety(first, second):
    result = cohens_kappa(first, second)
    assert result.kappa is None and result.in_words == "not defined"


def test_kappa_leaves_out_what_only_one_reader_judged():
    assert cohens_kappa([1, None, 2, 1], [1, 2, 2, None]).n == 2


def test_kappa_of_wrong_inputs_is_refused_without_quoting():
    with pytest.raises(DataError, match="different lengths"):
        cohens_kappa([1], [1, 2])
    with pytest.raises(DataError, match="categories") as caught:
        cohens_kappa(["CANARY"], [1], categories=[1, 2])
    assert "CANARY" not in str(caught.value)
    with pytest.raises(ParameterError, match="categories"):
        cohens_kappa([1], [1], weights="linear")
    with pytest.raises(ParameterError, match="weights"):
        cohens_kappa([1], [1], weights="cubic")  # type: ignore[arg-type]


def test_readers_are_compared_question_by_question():
    score = Question(id="score", kind="choice", title="S", options=(Option(1), Option(2), Option(3)), ordered=True)
    items = (score, Question(id="bph", kind="boolean", title="BPH"), Question(id="note", kind="text", title="N"))
    template = Template(id="t", version="1", title="T", items=items)
    first = [{"score": 1, "bph": True}, {"score": 2, "bph": False}, {"score": 3}]
    second = [{"score": 1, "bph": True}, {"score": 3, "bph": False}, {"score": 3, "bph": True}]
    found = reader_agreement(template, first, second)
    assert list(found) == ["score", "bph"]
    assert found["bph"].kappa == 1.0 and found["bph"].n == 2
    assert found["score"].kappa == cohens_kappa([1, 2, 3], [1, 3, 3], categories=[1, 2, 3], weights="linear").kappa
    assert not math.isclose(found["score"].observed, 2 / 3)  # nearly right counts for half
