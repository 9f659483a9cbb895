"""The closed language of questions, and errors that point at the word."""

from __future__ import annotations

import pytest

import pydplib as dp
from pydplib.errors import QuestionError
from pydplib.release.grammar import parse_question

W = dp.Where


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("count", dp.Count()),
        ("count rows by pirads", dp.Count(by="pirads")),
        ("count persons where bph = yes", dp.Count(of="persons", where=[W("bph").eq(True)])),
        ("MEAN Age BY Pirads", dp.Mean("age", by="pirads")),
        ("mean of age by pirads, bph", dp.Mean("age", by=["pirads", "bph"])),
        ("average age where age between 60 and 70 and pirads in 2, 3",
         dp.Mean("age", where=[W("age").between(60, 70), W("pirads").is_in([2, 3])])),
        ("median age where pirads in (2, 3) and psa >= 4.5",
         dp.Median("age", where=[W("pirads").is_in([2, 3]), W("psa").at_least(4.5)])),
        ("sum psa where age < 60", dp.Sum("psa", where=[W("age").less_than(60)])),
        ("variance age where pirads != 1", dp.Variance("age", where=[W("pirads").ne(1)])),
        ("quantiles age", dp.Quantiles("age")),
        ("histogram age by bph where seen >= 2017-06-01",
         dp.Histogram("age", by="bph", where=[W("seen").at_least("2017-06-01")])),
        ("crosstab age, pirads", dp.Crosstab("age", "pirads")),
        ("crosstab age by pirads where bph is present", dp.Crosstab("age", "pirads", where=[W("bph").is_present()])),
        ("count where pirads is missing", dp.Count(where=[W("pirads").is_missing()])),
        ("count where pirads not in 1, other", dp.Count(where=[W("pirads").not_in([1, "other"])])),
        ("mean 'age' where \"pirads\" = '2'", dp.Mean("age", where=[W("pirads").eq(2)])),
    ],
)  # fmt: skip
def test_question_in_words_is_the_question_in_code(text, question, schema):
    assert parse_question(text, schema) == question


def test_values_of_several_words_need_no_quotes():
    schema = dp.Schema({"p": dp.Category(["acute", "acute on chronic"]), "bph": dp.Flag()})
    found = parse_question("count where p = acute on chronic and bph = no", schema)
    assert found == dp.Count(where=[W("p").eq("acute on chronic"), W("bph").eq(False)])
    assert parse_question("count where p = acute", schema) == dp.Count(where=[W("p").eq("acute")])


@pytest.mark.parametrize(
    ("text", "message", "word"),
    [
        ("maen age", "Did you mean 'mean'", "maen"),
        ("mean agee", "Did you mean 'age'", "agee"),
        ("mean age by pirds", "Did you mean 'pirads'", "pirds"),
        ("mean age where pirads = 9", "no declared value", "9"),
        ("mean age where age = old", "holds numbers", "old"),
        ("mean age where age = nan", "holds numbers", "nan"),
        ("mean age where bph = maybe", "yes or no", "maybe"),
        ("mean age where seen > monday", "days", "monday"),
        ("mean age where name = x", "free text", "x"),
        ("mean age where age near 60", "no comparison", "near"),
        ("mean age by pirads please", "not expected", "please"),
        ("mean age where age between 60 70", "between LOW and HIGH", "70"),
        ("count where pirads in (1, 2", "not closed", ""),
        ("crosstab age", "two columns", ""),
        ("mean", "the column of 'mean'", ""),
        ("", "a statistic", ""),
        ("count where", "a column", ""),
        ("count; drop table", "Did you mean 'count'", "count;"),
        ("mean age !", "sign", "!"),
    ],
)
def test_error_points_at_the_word(text, message, word, schema):
    with pytest.raises(QuestionError, match=message) as caught:
        parse_question(text, schema)
    lines = str(caught.value).splitlines()
    assert lines[-2].strip() == text.strip()
    start = lines[-1].index("^")
    if word:
        assert lines[-2][start : start + lines[-1].count("^")].strip("'\"") == word


def test_values_that_differ_by_case_alone_are_told_apart():
    schema = dp.Schema({"c": dp.Category(["M", "m", "Mixed"])})
    for value in ("M", "m"):
        assert parse_question(f"count where c = {value}", schema).conditions[0].values == (value,)
    assert parse_question("count where c = mixed", schema).conditions[0].values == ("Mixed",)
    twins = dp.Schema({"c": dp.Category(["ab", "Ab"]), "Age": dp.Number(0, 1), "age": dp.Number(0, 1)})
    with pytest.raises(QuestionError, match="to the letter"):
        parse_question("count where c = AB", twins)
    assert parse_question("mean Age", twins).measured == ("Age",)
    with pytest.raises(QuestionError, match="to the letter"):
        parse_question("mean AGE", twins)


def test_errors_echo_no_control_characters():
    schema = dp.Schema({"age": dp.Number(0, 1)})
    for text in ("maen\x1b[31m age", "mean \x1b]0;x\x07", "mean age \x9b2J", 'mean "\x1b[2J"'):
        with pytest.raises(QuestionError) as caught:
            parse_question(text, schema)
        assert all(c.isprintable() or c == "\n" for c in str(caught.value))


def test_quoted_name_may_hold_a_doubled_quote():
    schema = dp.Schema({'say "hi"': dp.Number(0, 1), "it's": dp.Number(0, 1)})
    assert parse_question('mean "say ""hi"""', schema).measured == ('say "hi"',)
    assert parse_question("mean 'it''s'", schema).measured == ("it's",)


def test_name_of_several_words_without_quotes_is_told_to_take_them():
    number = dp.Number(0, 9)
    schema = dp.Schema({"PSA (ng/ml)": number, 'so "called"': number, "Größe": number})
    for text, shown in (("median psa (ng/ml)", '"PSA (ng/ml)"'), ('mean so "called" by x', '"so ""called"""')):
        with pytest.raises(QuestionError) as error:
            parse_question(text, schema)
        assert str(error.value).splitlines()[0] == f"The name of this column needs quotes: {shown}."
    assert parse_question("mean GRÖSSE", schema) == dp.Mean("Größe")
    with pytest.raises(QuestionError, match="no column 'Größen'"):
        parse_question("mean Größen", schema)


def test_free_text_after_by_asks_for_unknown_keys_where_they_are_allowed():
    schema = dp.Schema({"city": dp.Text(), "id": dp.Text()}, person="id", max_rows_per_person=1)
    assert parse_question("count by city", schema, unknown_keys=True) == dp.Count(by={"city": None})
    with pytest.raises(QuestionError, match="--delta"):
        parse_question("count by city", schema)


@pytest.mark.parametrize(
    ("text", "next_step"),
    [
        ("quantiles 0.1, 0.9 of age", r"dp\.Quantiles\('age', \[0\.1, 0\.9\]\)"),
        ("quantiles age 0.1", r"dp\.Quantiles"),
        ("histogram age 20, 40", r"dp\.Histogram\('age', edges=\[\.\.\.\]\)"),
    ],
)
def test_shares_and_edges_are_no_words_of_the_language_and_the_error_says_where_to_ask(text, next_step):
    with pytest.raises(QuestionError, match=next_step):
        parse_question(text, dp.Schema({"age": dp.Number(18, 100)}))
