"""pydplib template: list, lint, show, export, import, diff, with their exit codes."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from pydplib.capture import Template, builtin, builtin_names, questionnaire_to_fhir, to_schema
from pydplib.cli import cli
from pydplib.cli.template import runs_of
from pydplib.errors import ParameterError, TemplateError
from pydplib.schema import Schema

FOREIGN = {
    "resourceType": "Questionnaire",
    "id": "visit",
    "version": "1",
    "title": "Visit",
    "status": "active",
    "item": [
        {"linkId": "smoker", "text": "Smoker", "type": "boolean", "initial": [{"valueBoolean": True}]},
        {"linkId": "file", "text": "File", "type": "attachment"},
        {"linkId": "when", "text": "When", "type": "dateTime"},
    ],
}


def run(*arguments, **options):
    return CliRunner().invoke(cli, ["template", *map(str, arguments)], **options)


@pytest.fixture
def broken(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text('id = "b"\nversion = "1"\ntitle = "B"\n[[items]]\nid = "zone"\nkind = "choice"\n', encoding="utf-8")
    return path


@pytest.fixture
def foreign(tmp_path):
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(FOREIGN), encoding="utf-8")
    return path


def test_list_names_the_builtin_templates():
    result = run("list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == list(builtin_names())
    assert [row["id"] for row in json.loads(run("list", "--json").output)] == list(builtin_names())


def test_lint_of_a_good_template_ends_with_0():
    result = run("lint", "pirads-2.1")
    assert (result.exit_code, result.output) == (0, "pirads-2.1 version 1: 37 questions, 0 errors, 0 warnings.\n")


def test_lint_of_a_broken_template_ends_with_17_and_says_the_fix(broken):
    result = run("lint", broken)
    assert result.exit_code == 17
    assert "error: Item 'zone' is a choice without options. Add the permitted answers. [options]" in result.output
    assert json.loads(run("lint", broken, "--json").output)[0]["item"] == "zone"


def test_lint_counts_warnings_as_errors_when_asked(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text('id = "t"\nversion = "1"\ntitle = "T"\n[[items]]\nid = "a"\nkind = "integer"\ntitle = "A"\n')
    assert run("lint", path).exit_code == 0
    assert run("lint", path, "--strict").exit_code == 17


def test_show_draws_the_tree():
    output = run("show", "pirads-2.1", "--no-options").output
    assert "Lesions  lesion  repeats 0 to 4 times" in output
    assert "if zone = CZ or zone = AFS" in output
    assert "PSA  psa  decimal, 0 to 500 ng/mL  sensitive" in output
    assert "peripheral" not in output
    full = run("show", "pirads-2.1", "--help-texts").output
    assert "right mid, posterolateral peripheral zone" in full
    assert "Counts as negative." in full


def test_show_collapses_long_runs_of_whole_numbers_and_nothing_else():
    output = run("show", "pirads-2.1").output
    assert "2010 to 2040" in output
    assert not re.search(r"── 20[1-4]\d\s*$", output, re.M)
    assert re.search(r"── 10\s*$", output, re.M)  # five Gleason scores are listed


def test_runs_need_six_bare_numbers_in_a_row():
    from pydplib.capture.model import Option

    def shown(*values):
        return [(option.value, last) for option, last in runs_of([Option(value) for value in values])]

    assert shown(1, 2, 3, 4, 5, 6, 8) == [(1, 6), (8, None)]
    assert shown(1, 2, 3, 4, 5) == [(value, None) for value in range(1, 6)]
    assert all(last is None for _, last in shown("01", "02", "03", "04", "05", "06", "07"))


def test_show_of_a_template_with_markup_in_its_texts_prints_them(tmp_path):
    path = tmp_path / "t.toml"
    path.write_text(
        'id = "t"\nversion = "1"\ntitle = "[bold]T[/x]"\n[[items]]\nid = "a"\nkind = "boolean"\ntitle = "[red]A"\n'
    )
    result = run("show", path)
    assert result.exit_code == 0
    assert "[bold]T[/x]" in result.output and "[red]A" in result.output


@pytest.mark.parametrize("format_", ["fhir-r4", "fhir-r5", "json", "toml", "schema"])
def test_export_writes_each_format(format_, tmp_path):
    text = run("export", "pirads-2.1", "--format", format_).output
    template = builtin("pirads-2.1")
    if format_ == "schema":
        assert Schema.from_toml(text).to_dict() == to_schema(template).to_dict()
    elif format_ in ("json", "toml"):
        assert (Template.from_json if format_ == "json" else Template.from_toml)(text) == template
    else:
        assert json.loads(text) == questionnaire_to_fhir(template, version=format_[-2:].upper())
    result = run("export", "pirads-2.1", "--format", format_, "-o", tmp_path / "out.json")
    assert result.stderr == f"Written: {tmp_path / 'out.json'}\n"
    assert (tmp_path / "out.json").read_text(encoding="utf-8") == text


def test_export_of_a_schema_of_lesions():
    text = run("export", "pirads-2.1", "--format", "schema", "--group", "lesion").output
    assert "sector" in Schema.from_toml(text).columns
    assert run("export", "pirads-2.1", "--format", "json", "--group", "lesion").exit_code == 2


def test_export_never_replaces_its_source(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(builtin("pirads-paper").to_toml(), encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    assert isinstance(run("export", path, "--format", "json", "-o", path).exception, ParameterError)
    assert path.read_text(encoding="utf-8") == before


def test_import_lists_what_is_left_out_and_ends_with_3(foreign, tmp_path):
    target = tmp_path / "visit.toml"
    result = run("import", foreign, "-o", target)
    assert result.exit_code == 3
    assert "'smoker', initial: left out: answers are never filled in beforehand" in result.output
    assert "'file', item: left out" in result.output
    assert "'when', dateTime: adapted" in result.output
    assert result.output.endswith(f"2 questions imported, 1 adapted, 2 left out. Written: {target}\n")
    assert list(Template.load(target).index.by_id) == ["smoker", "when"]


def test_import_without_a_target_writes_the_template_alone_to_standard_output(foreign):
    result = run("import", foreign)
    assert Template.from_toml(result.stdout).id == "visit"
    assert "left out" in result.stderr
    piped = run("import", "-", input=foreign.read_text())
    assert piped.stdout == result.stdout


def test_import_as_json_lists_the_notes(foreign):
    values = json.loads(run("import", foreign, "--json").stdout)
    assert values["template"] == "visit"
    assert {"item": "file", "what": "item"}.items() <= values["notes"][1].items()


def test_import_of_our_own_export_ends_with_0(tmp_path):
    path = tmp_path / "ours.json"
    run("export", "pirads-2.1", "--format", "fhir-r5", "-o", path)
    result = run("import", path, "-o", tmp_path / "again.json")
    assert (result.exit_code, result.output) == (
        0,
        f"37 questions imported, 0 adapted, 0 left out. Written: {tmp_path / 'again.json'}\n",
    )
    assert Template.load(tmp_path / "again.json") == builtin("pirads-2.1")


@pytest.mark.parametrize("text", ["{", "[]", '{"resourceType": "Patient"}'])
def test_import_of_something_else_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert isinstance(run("import", path).exception, TemplateError)


def test_import_into_an_unknown_format_is_refused(foreign, tmp_path):
    assert isinstance(run("import", foreign, "-o", tmp_path / "x.yaml").exception, ParameterError)
    assert isinstance(run("import", foreign, "-o", tmp_path / "no" / "x.toml").exception, ParameterError)


def test_diff_ends_with_1_if_there_is_one(tmp_path):
    assert (run("diff", "pirads-2.1", "pirads-2.1").exit_code, run("diff", "pirads-2.1", "pirads-2.1").output) == (
        0,
        "No difference.\n",
    )
    result = run("diff", "pirads-paper", "pirads-2.1")
    assert result.exit_code == 1
    assert "added 'lesion': repeating group" in result.output
    assert json.loads(run("diff", "pirads-paper", "pirads-2.1", "--json").output)[0]["kind"] == "changed"


def test_fhir_file_where_a_template_is_wanted_names_the_command(foreign):
    with pytest.raises(TemplateError, match="pydplib template import"):
        run("show", foreign, catch_exceptions=False)


def test_unknown_template_is_suggested_and_ends_with_17():
    done = subprocess.run(
        [sys.executable, "-m", "pydplib", "template", "show", "pirads-2.2"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 17
    assert "pirads-2.1" in done.stderr and "Traceback" not in done.stderr


def test_exit_code_of_lint_reaches_the_shell(broken):
    done = subprocess.run(
        [sys.executable, "-m", "pydplib", "template", "lint", str(broken)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 17
