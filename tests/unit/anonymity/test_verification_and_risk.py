"""Measures of a table as it is: from the definitions, from the papers' examples, and against an oracle."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.anonymity import Hierarchy, KMap, risk, verify
from pydplib.anonymity.assessment.population import population_uniqueness, sample_threshold
from pydplib.errors import DataError, ParameterError

SALARIES = [3, 4, 5, 6, 11, 8, 7, 9, 10]
ILL = Hierarchy.from_rows([["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]])


def test_ordered_distance_of_the_t_closeness_paper():
    # Li, Li, Venkatasubramanian 2007, section 4: {3,4,5} has 0.375, {6,8,11} has 0.167 (thousands of salary).
    table = pd.DataFrame({"q": ["low"] * 3 + ["mid"] * 3 + ["high"] * 3, "pay": SALARIES})
    assert verify(table, ["q"], "pay").sensitive["pay"].t_ordered == pytest.approx(0.375)
    mixed = pd.DataFrame({"q": ["m", "m", "m"] + ["r"] * 6, "pay": [6, 8, 11, 3, 4, 5, 7, 9, 10]})
    assert verify(mixed, ["q"], "pay").sensitive["pay"].t_ordered == pytest.approx(1 / 6, abs=1e-9)


def test_raw_unique_table_has_the_worst_of_everything():
    table = pd.DataFrame({"q": range(4), "s": list("abcd")})
    found = verify(table, ["q"], "s")
    one = found.sensitive["s"]
    assert (found.k, found.classes, found.rows) == (1, 4, 4)
    assert (one.alpha, one.l_distinct, one.l_entropy) == (1.0, 1, 1.0)
    assert one.beta == pytest.approx(3.0)
    assert math.isinf(one.delta)
    assert math.isinf(one.beta_enhanced)  # (1 - p)/p = 3 exceeds -ln(1/4)


def test_missing_sensitive_values_are_a_value_of_their_own():
    table = pd.DataFrame({"q": ["x"] * 4, "s": ["a", None, None, "a"]})
    assert verify(table, ["q"], "s").sensitive["s"].l_distinct == 2


def test_more_sensitive_values_than_rows_in_a_class_is_measured():
    table = pd.DataFrame({"q": [1, 1, 2, 2], "s": ["a", "b", "c", "d"]})
    found = verify(table, ["q"], "s").sensitive["s"]
    assert found.l_distinct == 2
    assert found.t_equal == pytest.approx(0.5)
    assert found.recursive(2) == pytest.approx(1.0)
    assert math.isinf(found.recursive(3))


def test_empty_table_is_measured_as_zero():
    table = pd.DataFrame({"q": [], "s": []})
    found = verify(table, ["q"], "s")
    assert (found.rows, found.k, found.classes) == (0, 0, 0)
    assert risk(table, ["q"]).prosecutor.maximum == 0.0


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("aabcd")), min_size=1, max_size=20))
def test_all_measures_agree_with_the_definitions(oracle, rows):
    table = pd.DataFrame(rows, columns=["q", "s"])
    found = verify(table, ["q"], "s", hierarchies={"s": ILL})
    one = found.sensitive["s"]
    p = {v: c / len(rows) for v, c in Counter(s for _, s in rows).items()}
    classes = defaultdict(list)
    for q, s in rows:
        classes[q].append(s)
    shares = [{v: c / len(m) for v, c in Counter(m).items()} for m in classes.values()]
    assert found.k == min(map(len, classes.values()))
    assert one.alpha == pytest.approx(max(max(q.values()) for q in shares))
    assert one.l_distinct == min(len(q) for q in shares)
    assert one.l_entropy == pytest.approx(min(math.exp(-sum(x * math.log(x) for x in q.values())) for q in shares))
    assert one.t_equal == pytest.approx(max(oracle.emd_equal(p, q) for q in shares))
    assert one.t_ordered == pytest.approx(max(oracle.emd_ordered(p, q) for q in shares), abs=1e-12)
    labels = {v: ILL.labels(v) for v in p}
    assert one.t_hierarchical == pytest.approx(max(oracle.emd_hierarchical(p, q, labels) for q in shares), abs=1e-12)
    gains = [(x - p[v]) / p[v] for q in shares for v, x in q.items() if x > p[v]]
    assert one.beta == pytest.approx(max(gains, default=0.0), abs=1e-12)
    absent = any(v not in q for q in shares for v in p)
    logs = [abs(math.log2(x / p[v])) for q in shares for v, x in q.items()]
    assert one.delta == (math.inf if absent else pytest.approx(max(logs), abs=1e-12))


def test_persons_count_once_per_class():
    table = pd.DataFrame({"who": [1, 1, 1, 2, 3], "q": ["x", "x", "x", "x", "y"], "s": list("abcab")})
    assert verify(table, ["q"], "s").k == 1
    assert verify(table[table.q == "x"], ["q"], "s").k == 4
    assert verify(table[table.q == "x"], ["q"], "s", person="who").k == 2


def test_value_that_everybody_in_a_class_has_is_no_diversity():
    table = pd.DataFrame({"who": [1, 1, 2, 2], "q": ["x"] * 4, "s": ["a", "b", "a", "c"]})
    assert verify(table, ["q"], "s", person="who").sensitive["s"].l_distinct == 1
    assert verify(table, ["q"], "s").sensitive["s"].l_distinct == 3


def test_linked_rows_form_classes_of_whole_persons():
    table = pd.DataFrame({"who": [1, 1, 2, 2, 3], "q": ["x", "y", "y", "x", "x"]})
    assert verify(table, ["q"], person="who").k == 2
    assert verify(table, ["q"], person="who", linked=True).k == 1  # person 3 has one row only
    with pytest.raises(ParameterError, match="linked"):
        verify(table, ["q"], linked=True)


def test_unknown_columns_are_errors_with_a_suggestion():
    table = pd.DataFrame({"age": [1]})
    with pytest.raises(ParameterError, match="Did you mean 'age'"):
        verify(table, ["agee"])
    with pytest.raises(ParameterError, match="twice"):
        verify(table, ["age", "age"])
    with pytest.raises(DataError):
        verify({"age": [1]}, ["age"])


# -- risk ---------------------------------------------------------------------------------------


def test_prosecutor_journalist_and_marketer_follow_their_formulas():
    table = pd.DataFrame({"q": ["a"] * 2 + ["b"] * 4 + ["c"] * 14})
    people = pd.DataFrame({"q": ["a"] * 4 + ["b"] * 40 + ["c"] * 14 + ["d"] * 9})
    found = risk(table, ["q"], people)
    f, big = np.array([2, 4, 14]), np.array([4, 40, 14])
    assert found.prosecutor.maximum == pytest.approx(1 / 2)
    assert found.prosecutor.expected == pytest.approx(3 / 20)
    assert found.prosecutor.at_risk == {
        0.2: pytest.approx(6 / 20),
        0.09: pytest.approx(6 / 20),
        0.05: pytest.approx(1.0),
    }
    assert found.journalist.maximum == pytest.approx(1 / 4)
    assert found.journalist.at_risk[0.2] == pytest.approx(2 / 20)
    assert found.marketer == pytest.approx(float((f / big).sum() / 20))
    assert found.journalist.expected == pytest.approx(max(3 / big.sum(), found.marketer))


def test_population_that_lacks_the_tables_people_is_refused():
    with pytest.raises(DataError, match="population"):
        risk(pd.DataFrame({"q": ["a", "a"]}), ["q"], pd.DataFrame({"q": ["a"]}))


def test_contributions_name_the_column_that_singles_out():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "serial": np.arange(200)})
    found = risk(table, ["sex", "serial"])
    first = found.contributions[0]
    assert first.column == "serial"
    assert (first.alone, first.without) == (1.0, 0.0)
    assert "'serial': without it 0 % would be unique" in found.explain()


def test_rare_values_are_named_only_when_asked_for():
    table = pd.DataFrame({"town": ["A"] * 30 + ["CANARY"]})
    found = risk(table, ["town"])
    assert "CANARY" not in str(found) + repr(found) + found.explain()
    assert "CANARY" in found.explain(values=True)


@pytest.mark.parametrize("fraction", [0.05, 0.3])
def test_estimates_of_population_uniqueness_are_near_the_truth(fraction):
    rng = np.random.default_rng(11)
    people = rng.geometric(0.0006, 40_000)  # many classes, a long tail of uniques
    truth = float((np.unique(people, return_counts=True)[1] == 1).sum()) / len(people)
    drawn = people[rng.random(len(people)) < fraction]
    sizes = Counter(np.unique(drawn, return_counts=True)[1].tolist())
    found = population_uniqueness(sizes, len(drawn), fraction)
    assert set(found) == {"zayatz", "pitman", "snb", "dankar"}
    assert found["dankar"] == pytest.approx(truth, abs=0.05)  # another law than the estimators assume
    naive = sizes[1] / len(drawn)
    assert abs(found["dankar"] - truth) < abs(naive - truth)


def test_whole_population_needs_no_estimate():
    assert population_uniqueness({1: 3, 2: 1}, 5, 1.0)["pitman"] == pytest.approx(0.6)


@pytest.mark.parametrize(("k", "fraction"), [(10, 0.05), (20, 0.2), (5, 1.0), (50, 0.01)])
def test_sample_threshold_keeps_its_significance(k, fraction):
    for truncated in (True, False):
        size = sample_threshold(k, fraction, 0.05, truncated=truncated)
        assert 1 <= size <= k
        if size < k:
            mean = k * fraction
            tail = 1 - sum(math.exp(-mean) * mean**i / math.factorial(i) for i in range(size))
            assert tail <= 0.05 * ((1 - math.exp(-mean)) if truncated else 1.0) + 1e-12


def test_k_map_needs_a_population_or_a_fraction():
    with pytest.raises(ParameterError):
        KMap(5)
    with pytest.raises(ParameterError):
        KMap(5, population=pd.DataFrame(), fraction=0.1)


def test_contributions_with_several_rows_per_person_are_shares_like_the_risk_itself():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"who": rng.integers(0, 40, 120), "a": rng.integers(0, 60, 120), "b": rng.integers(0, 9, 120)})
    found = risk(table, ["a", "b"], person="who")
    by_name = {item.column: item for item in found.contributions}
    assert all(0 <= share <= 1 for item in found.contributions for share in (item.alone, item.without, item.gained))
    assert by_name["a"].without == pytest.approx(risk(table, ["b"], person="who").unique)
    assert by_name["b"].without == by_name["a"].alone == pytest.approx(risk(table, ["a"], person="who").unique)
    assert by_name["a"].gained == pytest.approx(max(found.unique - by_name["a"].without, 0))


def test_printed_risk_names_journalist_and_marketer_where_a_population_is_given():
    table = pd.DataFrame({"age": [50, 50, 60, 60], "sex": ["f", "f", "m", "m"]})
    alone = risk(table, ["age", "sex"])
    assert "journalist" not in str(alone)
    text = str(risk(table, ["age", "sex"], pd.concat([table] * 5)))
    assert "(journalist): at most 10 %" in text and "(marketer): 10 %" in text


def test_printed_verification_names_recursive_diversity():
    table = pd.DataFrame({"age": [50] * 6, "ill": ["a", "a", "a", "b", "b", "c"]})
    text = str(verify(table, ["age"], ["ill"]))
    assert "recursive (c, 2) for c above 1.0000" in text
    assert "for no c" in str(verify(table.assign(ill="a"), ["age"], ["ill"]))
