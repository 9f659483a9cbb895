"""A further table about the same patients is pinned, joined, asked, exported and erased with the reports."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import duckdb
import pytest

import pydplib as dp
from pydplib.engine import Measure, OneRow, Plan
from pydplib.errors import DataError, QuestionError
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.payments.purchases import ask, release_of
from pydplib.web.analyses.question_form.offers import offer_for
from pydplib.web.auditlog.models import Line
from pydplib.web.exports import runs
from pydplib.web.exports.models import Export
from pydplib.web.exports.plans import ExportPlan
from pydplib.web.intake import snapshots
from pydplib.web.intake.further_tables.rows import remove_table, write_rows
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.rights.access_report import access_report
from pydplib.web.intake.rights.erasure import erase, purge, set_consent
from pydplib.web.intake.snapshots import load_snapshot, make_snapshot, publish, published_snapshot, published_tables
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.patients.models import Patient
from pydplib.web.tables.declared import ComputedColumn, PersonJoin, declare, newest
from pydplib.web.tables.models import PersonRow, PersonTable


def rows_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    path = snapshots.folder() / snapshot.file
    return duckdb.read_parquet(str(path)).to_arrow_table().to_pylist()


def test_snapshot_has_reports_visits_and_both_as_one(study: Any) -> None:
    tables = {each.group: each for each in published_tables(study.project)}
    assert list(tables) == ["", "follow_up", "reports_follow_up"]
    assert len({each.number for each in tables.values()}) == 1
    assert [each.table_title for each in tables.values()] == [
        "Reports",
        "Follow-up visits",
        "Reports with Follow-up visits",
    ]
    reports, visits, both = (rows_of(each) for each in tables.values())
    names = {row["patient_id"] for row in study.rows}
    people = {row["patient_id"] for row in visits}
    assert len(reports) == 60 and len(names) == len(people) and {row["patient_id"] for row in reports} == people
    assert people == set(Patient.objects.values_list("pseudonym", flat=True)) and not people & names
    # Every report with every visit of the same patient, and nothing else.
    expected = sorted(
        (one["patient_id"], one["last_modified"], other["visit_date"])
        for one in reports
        for other in visits
        if one["patient_id"] == other["patient_id"]
    )
    assert sorted((row["patient_id"], row["last_modified"], row["visit_date"]) for row in both) == expected
    # Computed columns are pinned as declarations; no file holds them.
    schema = dp.Schema.from_json(tables["follow_up"].schema)
    assert str(schema.column("psa_change").formula) == "change(psa by visit_date)"
    assert "psa_change" not in visits[0] and schema.lineage == study.project.key
    joined = dp.Schema.from_json(tables["reports_follow_up"].schema)
    assert {"first_score", "psa_change", "first_arm"} <= set(joined.columns)
    assert "high_psa" not in joined.columns  # a number of visits is none of joined rows
    assert joined.max_rows_per_person == 3 * 12 and joined.size is None


def test_change_of_psa_by_arm_is_the_truth_plus_noise(study: Any) -> None:
    question = dp.Mean("psa_change", by="first_arm")
    made = ask(study.project, study.partner, study.place, question, Accuracy(epsilon=1.0), table="follow_up")
    assert "Follow-up visits" in made.receipt
    answer = release_of(made)
    exact = exact_changes(rows_of(published_snapshot(study.project, "follow_up")))
    for arm, value in zip(("standard", "intensified"), answer.to_frame()["value"], strict=False):
        assert abs(value - exact[arm]) < 20  # bounds of 40, about 20 patients in an arm
    # One person counts once: the engine's own integers say so.
    with load_snapshot(published_snapshot(study.project, "follow_up")) as table:
        one = OneRow("first", ("visit_date",)).bound(table.schema)
        counts = table.aggregate(Plan(table.schema, by=["first_arm"], measures=[Measure("count")], bound=one))
        assert sum(counts[0]) == len({row["patient_id"] for row in study.rows})


def exact_changes(visits: list[dict[str, Any]]) -> dict[str, float]:
    """The mean change of PSA in each arm, clamped as declared, by the rows themselves."""
    found: dict[str, list[float]] = {"standard": [], "intensified": []}
    people: dict[str, list[dict[str, Any]]] = {}
    for row in visits:
        people.setdefault(row["patient_id"], []).append(row)
    for rows in people.values():
        told = [row for row in sorted(rows, key=lambda row: row["visit_date"]) if row["psa"] is not None]
        if told:
            found[rows[0]["arm"]].append(min(20.0, max(-20.0, told[-1]["psa"] - told[0]["psa"])))
    return {arm: sum(values) / len(values) for arm, values in found.items()}


def test_question_over_both_tables_spends_the_one_budget(study: Any) -> None:
    offer = offer_for(study.project, study.place, "reports_follow_up")
    assert {"psa_change", "first_score", "arm", "pirads"} <= set(offer.fields)
    user, place = study.partner, study.place
    joined = dp.Mean("psa_change", by="first_score")
    ask(study.project, user, place, joined, Accuracy(epsilon=0.5), table="reports_follow_up")
    ask(study.project, user, place, dp.Count(by="arm"), Accuracy(epsilon=0.25), table="follow_up")
    ask(study.project, user, place, dp.Count(by="pirads"), Accuracy(epsilon=0.25))
    accounts = [each for each in DatabaseLedger().accounts(lineage=study.project.key) if each.recipient is None]
    assert len(accounts) == 1 and accounts[0].state.nano_epsilon == 1_000_000_000
    with pytest.raises(QuestionError, match="There are: follow_up, reports_follow_up"):
        ask(study.project, user, place, joined, Accuracy(epsilon=0.5), table="visits")


def test_policy_opens_a_computed_column_with_its_inputs_or_by_its_own_name(study: Any) -> None:
    def offered(*fields: str) -> set[str]:
        study.project.rules.filter(audience="collaborator").update(fields=list(fields), filters=list(fields))
        return set(offer_for(study.project, study.place, "follow_up").fields)

    assert offered("psa", "visit_date") == {"psa", "visit_date", "psa_change", "high_psa"}
    assert offered("psa") == {"psa", "high_psa"}
    assert offered("psa_change") == {"psa_change"}
    with pytest.raises(dp.errors.PolicyError, match="does not open"):
        ask(study.project, study.partner, study.place, dp.Mean("psa"), Accuracy(epsilon=0.1), table="follow_up")


def test_erased_and_withdrawn_patients_are_in_no_table(study: Any) -> None:
    first, second = Patient.objects.order_by("pk")[:2]
    assert PersonRow.objects.filter(patient=first).exists()
    erase(first, actor=study.owner.user)
    set_consent(second, "withdrawn", actor=study.owner.user)
    assert not PersonRow.objects.filter(patient_id=first.pk).exists()
    tables = published_tables(study.project)
    assert [each.group for each in tables] == ["", "follow_up", "reports_follow_up"]
    for each in tables:
        assert not {first.pseudonym, second.pseudonym} & {row["patient_id"] for row in rows_of(each)}
    assert {path.name for path in snapshots.folder().iterdir()} == {each.file for each in tables}
    made = make_snapshot(study.project, actor=study.owner.user)
    for each in Snapshot.objects.filter(number=made.number):
        assert second.pseudonym not in {row["patient_id"] for row in rows_of(each)}


def test_retention_purge_takes_the_rows_of_every_table(study: Any) -> None:
    import datetime as dt

    purge(study.project, actor=study.owner.user, today=dt.date(2041, 1, 1))
    assert not PersonRow.objects.exists() and not list(snapshots.folder().iterdir())


def test_access_report_holds_a_patients_rows(study: Any) -> None:
    patient = Patient.objects.order_by("pk").first()
    held = access_report(patient, with_values=True)["tables"]
    assert held[0]["title"] == "Follow-up visits" and held[0]["rows"] == patient.table_rows.count()
    assert ["Treatment arm", held[0]["values"][0]["values"]["arm"]] in held[0]["values"][0]["in_words"]
    assert "values" not in access_report(patient, with_values=False)["tables"][0]


def test_unknown_and_nameless_rows_are_counted_and_left_out(study: Any) -> None:
    table = PersonTable.objects.get()
    known = study.rows[0]["patient_id"]
    rows = [
        (2, known, {"psa": "6,5", "arm": "STANDARD", "visit_date": "1.2.2018", "recurrence": "ja"}),
        (3, "somebody else", {"psa": "5"}),
        (4, " ", {"psa": "5"}),
        (5, known, {"psa": "a lot", "arm": "none of them"}),
    ]
    found = write_rows(table, rows, actor=study.owner.user, decimals="either", again=True)
    assert (found.rows, found.known, found.patients, found.unknown, found.nameless) == (4, 2, 1, 1, 1)
    assert dict(found.unread) == {"psa": 1, "arm": 1}
    first, second = PersonRow.objects.order_by("pk")
    assert first.values == {"psa": 6.5, "arm": "standard", "visit_date": "2018-02-01", "recurrence": True}
    assert second.values == {}
    line = Line.objects.filter(action="table.replace").get()
    details = json.loads(line.details)
    assert (details["rows"], details["left_out"]) == (2, 2) and "a lot" not in line.details
    with pytest.raises(DataError, match="nothing was imported"):
        write_rows(table, [(2, "nobody", {})], actor=study.owner.user, again=True)
    assert PersonRow.objects.count() == 2  # all or nothing


def test_a_computed_column_that_fits_no_more_is_left_out_of_the_next_snapshot(study: Any) -> None:
    stale = {"kind": "number", "low": 0, "high": 1, "label": "sensitive", "derived": "gone / 2"}
    columns = [ComputedColumn.from_dict(each) for each in newest(study.project).columns]
    columns.append(ComputedColumn.from_dict({"table": "", "name": "stale", "column": stale}))
    made = declare(study.project, columns=columns, joins=[PersonJoin(table="follow_up")], actor="system", by="olivia")
    assert made.number == 2
    snapshot = make_snapshot(study.project, actor=study.owner.user)
    assert "stale" not in dp.Schema.from_json(snapshot.schema).columns
    assert "first_score" in dp.Schema.from_json(snapshot.schema).columns
    assert Line.objects.filter(action="columns.leave_out").count() == 1


def test_removed_table_is_in_no_later_snapshot(study: Any) -> None:
    remove_table(PersonTable.objects.get(), actor=study.owner.user)
    assert not PersonRow.objects.exists()
    made = make_snapshot(study.project, actor=study.owner.user)
    publish(made, actor=study.owner.user)
    assert [each.group for each in published_tables(study.project)] == [""]


def test_export_of_visits_counts_people_in_all_rows_that_an_attacker_sees(study: Any) -> None:
    owner, project = study.owner, study.project
    page = owner.get("/anonymize/new", {"project": project.key}).content.decode()
    assert "Follow-up visits: all of every person" in page and "Reports with" not in page
    sent = {"project": project.key, "title": "Visits", "source": "published", "rows": "follow_up"}
    made = owner.post(f"/anonymize/new?project={project.key}", sent)
    assert made.status_code == 302, made.content.decode()[-1500:]
    export = Export.objects.get()
    plan = ExportPlan.from_dict(export.plan)
    assert export.snapshot.group == "follow_up" and plan.rows == "all"
    assert "psa_change" not in plan.fields and {"psa", "visit_month", "arm"} <= set(plan.fields)
    few = dict.fromkeys(plan.fields, "drop") | {"visit_month": "quasi", "arm": "quasi"}
    models = (dp.KAnonymity(5).to_dict(),)
    export.plan = replace(plan, fields=few, models=models, suppression=0.5, mixed=None).to_dict()
    export.save()
    runs.make(export)
    export.refresh_from_db()
    assert export.state == "ready", export.problem
    assert not export.traced  # several rows of one person: it stays the only export of its project
    # k counts people, and not the rows of one.
    from pydplib.web.exports import files

    released = duckdb.read_parquet(str(files.folder() / f"{export.file}.parquet")).to_arrow_table().to_pylist()
    assert released and "patient_id" not in released[0]
