"""Plans: labels are never undercut, hierarchies are read and refused, several exports hold together."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from export_study import FEW, make_export, open_to


def draft(study: Any, **fields: str) -> Any:
    from pydplib.schema import Schema
    from pydplib.web.exports.models import Export
    from pydplib.web.exports.plans import propose
    from pydplib.web.intake.snapshots import published_snapshot

    snapshot = published_snapshot(study.project)
    plan = propose(Schema.from_json(snapshot.schema))
    chosen = FEW | fields
    plan = plan.with_fields({name: chosen.get(name, "drop") for name in plan.fields})
    return Export.objects.create(
        project=study.project, snapshot=snapshot, by=study.owner, title="Draft", plan=plan.to_dict()
    )


def test_fields_keep_the_declared_order_on_every_database(study: Any) -> None:
    from pydplib.schema import Schema
    from pydplib.web.exports.plans import ExportPlan, fields_offered
    from pydplib.web.exports.results import level_rows

    export = draft(study)
    export.refresh_from_db()  # as the database keeps it: PostgreSQL sorts the keys of objects
    schema = Schema.from_json(export.snapshot.schema)
    declared = list(fields_offered(schema))
    assert declared != sorted(declared, key=lambda name: (len(name), name)), "else the test could not fail"
    assert list(ExportPlan.from_dict(export.plan).fields) == declared
    made = make_export(study.project, study.owner)
    assert made.columns == [name for name in declared if name in FEW]
    levels = level_rows(made.result, {name: name for name in schema.columns})
    assert [name for name, *_ in levels] == [name for name in declared if FEW.get(name) == "quasi"]


def test_ages_stay_in_bands_unless_nothing_else_fits(study: Any) -> None:
    made = make_export(study.project, study.owner, fields={"age": "quasi", "pirads": "sensitive"})
    assert made.state == "ready" and made.result["levels"]["age"] <= made.result["heights"]["age"] == 4
    assert made.result["loss"]["columns"]["age"] < 1
    assert "Nothing is left of some fields" not in study.client.get(f"/anonymize/{made.key}").content.decode()
    # Not even two bands are possible: all but a few people must look alike.
    most = make_export(
        study.project,
        study.owner,
        fields={"age": "quasi", "bph": "sensitive"},
        models=({"model": "KAnonymity", "k": 120},),
        suppression=0.0,
    )
    assert most.state == "ready" and most.result["levels"]["age"] == most.result["heights"]["age"] == 5
    assert "Nothing is left of some fields" in study.client.get(f"/anonymize/{most.key}").content.decode()


def test_the_proposal_keeps_ages_where_dropping_them_would_keep_more_of_the_rest(study: Any) -> None:
    from pydplib.schema import Schema
    from pydplib.web.exports.plans import propose

    schema = Schema.from_json(study.project.snapshots.get().schema)
    plan = propose(schema)
    assert plan.hierarchies_for(schema, bands=True)["age"].labels(64) == (64, "63-67", "58-67", "58-77", "58-97")
    assert plan.hierarchies_for(schema, bands=False)["age"].labels(64)[-1] == "*"


def test_coarsening_says_what_yes_no_and_the_star_mean(study: Any) -> None:
    export = draft(study, bph="quasi")
    words = study.client.get(f"/anonymize/{export.key}/coarsening").content.decode()
    assert "True (yes)" in words and "False (no)" in words
    assert "A star (*) means that nothing of the value is left" in words and "Numbers stay in bands" in words


def test_labels_propose_and_identifiers_are_not_even_offered(study: Any) -> None:
    export = draft(study)
    page = study.client.get(f"/anonymize/{export.key}/fields").content.decode()
    assert 'name="age"' in page and 'name="patient_id"' not in page and 'name="physician_name"' not in page


@pytest.mark.parametrize(
    ("field", "treatment"), [("age", "keep"), ("pirads", "keep"), ("age", "sensitive"), ("patient_id", "keep")]
)
def test_treatment_below_the_label_is_refused(study: Any, field: str, treatment: str) -> None:
    from dataclasses import replace

    from pydplib.errors import ParameterError
    from pydplib.schema import Schema
    from pydplib.web.exports.plans import ExportPlan, check_plan

    export = draft(study)
    given = {name: FEW.get(name, "drop") for name, _ in export.plan["fields"]}
    answer = study.client.post(f"/anonymize/{export.key}/fields", given | {field: treatment})
    export.refresh_from_db()
    assert answer.status_code == (302 if field == "patient_id" else 422)
    plan = ExportPlan.from_dict(export.plan)
    assert plan.fields.get(field) == FEW.get(field)
    with pytest.raises(ParameterError):
        check_plan(replace(plan, fields={**plan.fields, field: treatment}), Schema.from_json(export.snapshot.schema))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"k": "1"}, "greater than or equal to 2"),
        ({"l_kind": "recursive", "l_value": "3"}, "needs c"),
        ({"t_kind": "equal"}, "0.2 to 0.4"),
        ({"l_kind": "distinct", "l_value": "2.5"}, "whole number"),
        ({"suppression": "80"}, "less than or equal to 50"),
        ({"l_kind": "distinct", "l_value": "2", "mixed": []}, "at least one field that must stay mixed"),
        ({"l_kind": "distinct", "l_value": "2", "mixed": ["age"]}, "not one of the available choices"),
    ],
)
def test_half_a_model_is_refused_in_words(study: Any, values: dict[str, str], words: str) -> None:
    export = draft(study)
    given = {"k": "5", "l_kind": "", "t_kind": "", "suppression": "5", "minutes": "1", "mixed": ["pirads"]} | values
    answer = study.client.post(f"/anonymize/{export.key}/models", given)
    assert answer.status_code == 422 and words in answer.content.decode()


def test_all_models_can_be_asked_for(study: Any) -> None:
    from pydplib.web.exports.plans import ExportPlan

    export = draft(study)
    given = {
        "k": "3", "l_kind": "recursive", "l_value": "2", "c": "3", "t_kind": "ordered", "t": "0.5", "alpha": "0.9",
        "beta": "5", "delta": "9", "suppression": "10", "minutes": "1", "mixed": ["pirads", "bph"],
    }  # fmt: skip
    assert study.client.post(f"/anonymize/{export.key}/models", given).status_code == 302
    export.refresh_from_db()
    names = [str(model) for model in ExportPlan.from_dict(export.plan).rules]
    assert names == [
        "3-anonymity", "recursive (3, 2)-diversity", "0.5-closeness (ordered)", "(0.9, 3)-anonymity",
        "5-likeness (basic beta)", "9-disclosure privacy (log2)",
    ]  # fmt: skip
    page = study.client.get(f"/anonymize/{export.key}/models").content.decode()
    assert 'value="0.9"' in page and 'value="ordered" selected' in page


def test_the_proposal_keeps_fields_with_few_values_mixed_and_says_why(study: Any) -> None:
    from pydplib.schema import Schema
    from pydplib.web.exports.plans import ExportPlan, propose

    plan = propose(Schema.from_json(study.project.snapshots.first().schema))
    assert {"pirads", "therapy"} < set(plan.watched) and not {"bph", "turp"} & set(plan.watched)
    assert {"bph", "turp"} < set(plan.named("sensitive")), "they are protected all the same: never a way to find people"
    assert ExportPlan.from_dict(plan.to_dict()) == plan
    assert "year" in plan.with_fields({**plan.fields, "year": "sensitive"}).watched, "what the owner adds counts"
    older = {name: value for name, value in plan.to_dict().items() if name != "mixed"}
    assert ExportPlan.from_dict(older).watched == plan.named("sensitive"), "plans of before are about all of them"
    page = study.client.get(f"/anonymize/{draft(study).key}/models").content.decode()
    assert 'value="pirads" ' in page and "a rare yes must then be in every group" in page


def test_models_hold_for_the_fields_that_were_chosen_and_the_certificate_names_them(study: Any) -> None:
    from pydplib.web.exports.results import certificate_of

    export = make_export(study.project, study.owner)
    certificate = certificate_of(export)
    assert certificate["kept_mixed"] == ["pirads"] and sorted(certificate["sensitive"]) == ["bph", "pirads"]
    assert {item["sensitive"] for item in certificate["statements"]} == {None, "pirads"}
    both = make_export(study.project, study.owner, mixed=None)
    assert certificate_of(both)["kept_mixed"] == ["bph", "pirads"]
    assert both.result["loss"]["granularity"] >= export.result["loss"]["granularity"]


TABLE = (
    "SYN-URO1;=HYPERLINK(1);*\nSYN-URO2;=HYPERLINK(1);*\nSYN-ONC;+other;*\nSYN-RAD;+other;*\n"
    "SYN-OUT;@out;*\nSYN-EXT;@out;*\n"
)


def test_uploaded_hierarchy_is_used_and_its_formulas_are_defused(study: Any) -> None:
    from pydplib.web.exports import files
    from pydplib.web.exports.runs import start

    fields = dict.fromkeys(("age", "year", "follow_up"), "drop")
    export = draft(study, **fields)
    file = SimpleUploadedFile("departments.csv", TABLE.encode())
    given = {"action": "upload", "field": "department_code", "file": file}
    assert study.client.post(f"/anonymize/{export.key}/coarsening", given).status_code == 302
    export.refresh_from_db()
    export.plan["suppression"], export.plan["models"] = 0.0, [{"model": "KAnonymity", "k": 12}]
    export.save()
    start(export)
    export.refresh_from_db()
    assert export.state == "ready" and export.result["levels"]["department_code"] == 1
    text = files.path_of(export, "csv").read_text()
    cells = {cell for line in text.splitlines()[1:] for cell in line.split(",")}
    assert "'=HYPERLINK(1)" in cells and not any(cell.startswith(("=", "+", "@", "-")) for cell in cells)
    assert "=HYPERLINK(1)" in files.load_table(export)["department_code"].to_pylist()  # Parquet runs nothing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SYN-URO1;a;*\n", "misses 5 values"),
        (TABLE + "SYN-NEW;b\n", "levels"),
        (TABLE.replace("+other;*\nSYN-RAD", "+other;all\nSYN-RAD"), "different labels on level 2"),
        ("\n\n", "empty"),
        ("SYN-URO1;" + "x" * 200 + ";*\n", "printable letters"),
    ],
)
def test_hierarchy_that_does_not_fit_is_refused_in_words(study: Any, text: str, words: str) -> None:
    export = draft(study)
    file = SimpleUploadedFile("departments.csv", text.encode())
    given = {"action": "upload", "field": "department_code", "file": file}
    answer = study.client.post(f"/anonymize/{export.key}/coarsening", given)
    if text.strip():
        assert answer.status_code == 422 and words in answer.content.decode()
    typed = study.client.post(f"/anonymize/{export.key}/coarsening", {"tree-department_code": text})
    export.refresh_from_db()
    assert typed.status_code == (422 if text.strip() else 302) and not export.plan["hierarchies"]


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [("age", "10, 15", "multiple"), ("age", "ten", "numbers")],
)
def test_widths_that_do_not_nest_are_refused(study: Any, field: str, text: str, words: str) -> None:
    export = draft(study)
    answer = study.client.post(f"/anonymize/{export.key}/coarsening", {f"tree-{field}": text})
    assert answer.status_code == 422 and words in answer.content.decode() and text in answer.content.decode()


def test_widths_of_whole_numbers_are_whole_and_of_decimals_need_not_be() -> None:
    from pydplib.errors import HierarchyError
    from pydplib.schema import Integer, Number
    from pydplib.web.exports.trees import read_edit

    assert read_edit("intervals", "2.5", Number(18, 100)).widths[0] == 2.5
    with pytest.raises(HierarchyError, match="whole"):
        read_edit("intervals", "2.5", Integer(18, 100))


def test_edited_hierarchy_goes_back_to_the_automatic_one(study: Any) -> None:
    export = draft(study)
    study.client.post(f"/anonymize/{export.key}/coarsening", {"tree-age": "20, 40"})
    study.client.post(f"/anonymize/{export.key}/coarsening", {"tree-age": "20, 40", "automatic-age": "1"})
    export.refresh_from_db()
    assert export.plan["hierarchies"] == {}


def test_impossible_models_leave_a_draft_with_the_reason(study: Any) -> None:
    export = make_export(study.project, study.owner, models=({"model": "KAnonymity", "k": 5000},), suppression=0.0)
    assert export.state == "draft" and "No generalization satisfies 5000-anonymity" in export.problem
    page = study.client.get(f"/anonymize/{export.key}").content.decode()
    assert "No generalization satisfies" in page and "Change the plan" in page


def released(study: Any, **settings: Any) -> Any:
    from pydplib.web.exports.releases import release

    open_to(study.project, "third_party")
    export = make_export(study.project, study.owner, **settings)
    assert export.state == "ready", export.problem
    release(study.owner, export, ["third_party"])
    return export


def test_second_export_holds_together_with_the_first(study: Any) -> None:
    first = released(study)
    second = make_export(study.project, study.owner, title="Second", fields=FEW | {"department_code": "drop"})
    assert second.state == "ready" and second.result["earlier"] == [first.key] and second.result["holds"]
    assert any(s["model"].endswith("across releases") for s in second.result["statements"])


def test_exports_that_cannot_hold_together_are_refused_with_the_reason(study: Any) -> None:
    released(study)
    other = make_export(study.project, study.owner, title="Other", fields=FEW | {"bph": "drop"})
    assert other.state == "draft" and "protects other fields (bph, pirads)" in other.problem
    several = make_export(study.project, study.owner, title="All", rows="all")
    assert several.state == "draft" and "one row per person" in several.problem


def test_all_rows_count_persons_and_close_the_way_for_further_exports(study: Any) -> None:
    first = released(study, rows="all", models=({"model": "KAnonymity", "k": 3},))
    assert first.result["counted"] == "persons counted once per class" and not first.traced
    assert first.result["rows"] > 110  # more than one row of some people
    later = make_export(study.project, study.owner, title="Later")
    assert later.state == "draft" and "several rows of one person" in later.problem


def test_exports_made_side_by_side_cannot_both_be_released(study: Any) -> None:
    from pydplib.errors import ParameterError
    from pydplib.web.exports.releases import release
    from pydplib.web.exports.runs import start

    open_to(study.project, "third_party")
    first, second = (make_export(study.project, study.owner, title=title) for title in ("One", "Two"))
    release(study.owner, first, ["third_party"])
    with pytest.raises(ParameterError, match="'One' was released"):
        release(study.owner, second, ["third_party"])
    start(second)
    second.refresh_from_db()
    release(study.owner, second, ["third_party"])
    assert second.state == "released"


def test_erased_person_stops_an_export_that_was_not_released(study: Any) -> None:
    from pydplib.errors import DataError
    from pydplib.web.exports.releases import release
    from pydplib.web.intake.rights.erasure import erase
    from pydplib.web.patients.models import Patient

    open_to(study.project, "third_party")
    export = make_export(study.project, study.owner)
    erase(Patient.objects.filter(project=study.project).first(), actor=study.owner)
    export.snapshot.refresh_from_db()
    with pytest.raises(DataError, match="erased"):
        release(study.owner, export, ["third_party"])


def test_discarded_export_takes_its_files_along(study: Any) -> None:
    from pydplib.web.exports import files

    export = make_export(study.project, study.owner)
    assert len(list(files.folder().iterdir())) == 3
    study.client.post(f"/anonymize/{export.key}/discard")
    assert not list(files.folder().iterdir())
    assert study.client.get(f"/anonymize/{export.key}").status_code == 404


def test_stray_files_of_a_crash_go(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.exports import files

    export = make_export(study.project, study.owner)
    (files.folder() / "left-over.csv").write_text("x")
    monkeypatch.setattr(files, "_FRESH", -1)
    assert files.remove_stray_files() == 1 and files.path_of(export, "csv").exists()
