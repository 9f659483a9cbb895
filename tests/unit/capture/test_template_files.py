"""Templates as values and in files: JSON and TOML both ways, and errors that name the entry."""

from __future__ import annotations

import json

import pytest

from pydplib.capture import Code, Condition, Group, Option, Question, Template, builtin, builtin_names, lint
from pydplib.capture.template import from_dict, to_dict
from pydplib.errors import TemplateError


def minimal(**item):
    return {"id": "t", "version": "1", "title": "T", "items": [{"id": "a", "kind": "integer", "title": "A"} | item]}


@pytest.mark.parametrize("name", builtin_names())
def test_builtin_template_in_json_and_toml_is_the_same(name):
    template = builtin(name)
    assert Template.from_json(template.to_json()) == template
    assert Template.from_toml(template.to_toml()) == template


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_template_saved_and_loaded_is_the_same(scan, tmp_path, suffix):
    path = tmp_path / f"scan.{suffix}"
    scan.save(path)
    assert Template.load(path) == scan


def test_template_with_unusual_texts_survives_toml():
    odd = 'quote " backslash \\ newline \n tab \t umlaut ä snake 🐍 ]] ='
    question = Question(
        id="a b.c", kind="choice", title=odd, options=(Option("x y", odd), Option("z")), codes=(Code("http://x", "1"),)
    )
    template = Template(id="t", version="1", title=odd, items=(Group(id="g", items=(question,)),))
    assert Template.from_toml(template.to_toml()) == template
    assert not [problem for problem in lint(template) if problem.severity == "error"]


def test_options_in_short_form_are_read():
    values = minimal(kind="choice", options=[1, 2, {"value": 3, "title": "three"}])
    assert from_dict(values).question("a").options == (Option(1), Option(2), Option(3, "three"))


def test_default_label_follows_the_kind_and_is_not_written():
    template = from_dict(minimal(kind="text"))
    assert template.question("a").label == "identifier"
    assert from_dict(minimal()).question("a").label == "sensitive"
    assert "label" not in to_dict(template)["items"][0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "A template is a table"),
        ({"id": "t", "version": "1", "title": "T"}, "needs a list of items"),
        ({"id": "t", "title": "T", "items": []}, "needs 'version'"),
        (minimal() | {"version": 1}, "'version' must be a text"),
        (minimal() | {"titel": "x"}, "Did you mean 'title'"),
        (minimal(kind="integr"), "Did you mean 'integer'"),
        (minimal(label="secret"), "unknown label 'secret'"),
        (minimal(required="yes"), "Item 'a': 'required' must be a yes/no"),
        (minimal(low=True), "'low' must be a number or day"),
        (minimal(max_length=1.5), "'max_length' must be a whole number"),
        (minimal(enable_when={"question": "b"}), "enable_when must be a list"),
        (minimal(enable_when=[{"question": "b", "operator": "="}]), "enable_when needs 'answer'"),
        (minimal(enable_when=[{"question": "b", "operator": "~", "answer": 1}]), "unknown operator '~'"),
        (minimal(enable_behaviour="some"), "unknown enable_behaviour"),
        (minimal(options=[True]), "options must be a table"),
        (minimal(options=[{"value": 1.5}]), "'value' must be a text or whole number"),
        (minimal(computed={"function": "sum", "inputs": [1]}), "inputs must be a list of ids"),
        (minimal(computed={"expression": "1+1"}), "unknown entry 'expression'"),
        (minimal(id=""), "item without an id"),
        ({"id": "t", "version": "1", "title": "T", "items": ["a"]}, "each item is a table"),
        (minimal(kind="group"), "needs a list of items"),
    ],
)
def test_template_with_a_wrong_entry_names_it(values, message):
    with pytest.raises(TemplateError, match=message.replace("(", r"\(")):
        from_dict(values)


@pytest.mark.parametrize("text", ["{", '{"a": NaN}', "[" * 100_000, "1" * 10_000, '"text"', "null"], ids=range(6))
def test_json_that_is_no_template_is_refused(text):
    with pytest.raises(TemplateError):
        Template.from_json(text)


def test_toml_that_is_broken_names_the_line():
    with pytest.raises(TemplateError, match="line 2"):
        Template.from_toml('id = "t"\nversion = = 1')


def test_template_nested_too_deep_is_refused():
    item = {"id": "a", "kind": "integer"}
    for level in range(30):
        item = {"id": f"g{level}", "kind": "group", "items": [item]}
    with pytest.raises(TemplateError, match="20 levels"):
        from_dict({"id": "t", "version": "1", "title": "T", "items": [item]})


def test_missing_file_and_wrong_suffix_say_so(tmp_path, scan):
    with pytest.raises(TemplateError, match="does not exist"):
        Template.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TemplateError, match="cannot be read"):
        Template.load(tmp_path / "bytes.toml")
    with pytest.raises(TemplateError, match=r"\.toml or \.json"):
        scan.save(tmp_path / "scan.yaml")


def test_question_that_does_not_exist_is_suggested(scan):
    with pytest.raises(TemplateError, match="Did you mean 'origin'"):
        scan.question("orign")
    with pytest.raises(TemplateError, match="is a group"):
        scan.question("lesion")
    with pytest.raises(TemplateError, match="no built-in template"):
        builtin("birads")


def test_option_whose_code_or_title_repeats_the_value_is_the_plain_one():
    assert Option("PZ", "PZ", code="PZ") == Option("PZ")
    with pytest.raises(TemplateError, match="boolean"):
        Option(True)


def test_condition_with_an_answer_of_no_kind_is_refused():
    with pytest.raises(TemplateError, match="text, a number"):
        Condition("a", "=", ["x"])  # type: ignore[arg-type]


def test_json_is_written_without_defaults(scan):
    entry = json.loads(scan.to_json())["items"][1]
    assert entry == {"id": "seen", "kind": "boolean", "title": "Lesion seen", "required": True}
