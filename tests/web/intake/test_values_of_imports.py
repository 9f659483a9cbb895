"""Problems by column and value, replacing them in the whole file, what is remembered, rows as a file, taking back."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from imported_files import agreed

from pydplib.web import uploads
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.intake.imports.acceptance import accept_batch
from pydplib.web.intake.imports.dry_run import tally
from pydplib.web.intake.models import ImportBatch, ImportMemory
from pydplib.web.intake.rights.erasure import erase
from pydplib.web.intake.snapshots import make_snapshot
from pydplib.web.patients.models import Patient
from pydplib.web.reporting.models import Report

HEAD = ["Pat.-Nr.", "Befunddatum", "Alter", "Jahr", "Karzinom ohne PI-RADS", "PI-RADS", "Prostatitis", "Verlauf"]
GERMAN = {"keine": "n", "chronisch": "chr", "akut": "acute"}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "uploads"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(uploads, "folder", lambda: path)


def german(count: int = 12, *, first: int = 0, **cells: str) -> list[list[str]]:
    words = list(GERMAN)
    return [
        [
            f"H-{first + i}",
            f"{1 + i % 28:02d}.03.2018",
            "64",
            "2018",
            "nein",
            "4",
            words[i % 3],
            cells.get("follow_up", "no"),
        ]
        for i in range(count)
    ]


def upload(client: Any, rows: list[list[str]], head: list[str] = HEAD) -> ImportBatch:
    out = io.StringIO()
    csv.writer(out, delimiter=";").writerows([head, *rows])
    answer = client.post("/import", {"file": SimpleUploadedFile("r.csv", out.getvalue().encode())})
    assert answer.status_code == 302, answer.content.decode()[-3000:]
    return ImportBatch.objects.get(key=answer.url.rsplit("/", 1)[-1])


def dry_run(client: Any, batch: ImportBatch) -> ImportBatch:
    answer = client.post(
        f"/import/{batch.key}/mapping", {f"column{place}": name for place, name in enumerate(batch.mapping)}
    )
    assert answer.status_code == 302, answer.content.decode()
    batch.refresh_from_db()
    return batch


def replace(client: Any, batch: ImportBatch, **values: dict[str, str]) -> ImportBatch:
    said = [(field, old, new) for field, each in values.items() for old, new in each.items()]
    sent = dict(zip(("field", "old", "new"), (list(each) for each in zip(*said, strict=True)), strict=True))
    assert client.post(f"/import/{batch.key}/replace", sent).status_code == 302
    batch.refresh_from_db()
    return batch


def accept(client: Any, batch: ImportBatch) -> None:
    client.post(f"/import/{batch.key}/accept", agreed(batch))
    batch.refresh_from_db()
    assert batch.state == "accepted", batch.problem


@pytest.fixture
def owner(version: Any, member: Any) -> Any:
    return member("owner")


def test_german_headers_are_matched_and_columns_show_values(owner: Any) -> None:
    batch = upload(owner, german())
    assert batch.mapping == [
        "patient_id", "last_modified", "age", "year", "pca_no_pirads", "pirads", "prostatitis", "follow_up",
    ]  # fmt: skip
    page = owner.get(f"/import/{batch.key}").content.decode()
    for sample in ("<code>H-0</code>, <code>H-1</code>", "<code>01.03.2018</code>", "<code>keine</code>"):
        assert sample in page
    assert Line.objects.filter(action="import.look", subject=batch.key).exists(), "cells were shown"


def test_problems_are_grouped_by_column_and_value_with_words_instead_of_codes(owner: Any) -> None:
    rows = german(12)
    rows[0][2] = "640"
    batch = dry_run(owner, upload(owner, rows))
    found = {(each["column"], each["text"]): each["rows"] for each in batch.groups}
    assert found == {
        ("Prostatitis", "keine"): 4,
        ("Prostatitis", "chronisch"): 4,
        ("Prostatitis", "akut"): 4,
        ("Alter", "640"): 1,
    }
    page = owner.get(f"/import/{batch.key}").content.decode()
    assert "must be one of the options: chronic (chr), yes (y), no (n)" in page
    assert '<option value="=n" selected>no</option>' in page, "a likely option is proposed"
    assert '<option value="=acute" selected>acute</option>' in page


def test_one_click_replaces_values_in_the_whole_file_and_the_next_file_needs_none(owner: Any, project: Any) -> None:
    batch = dry_run(owner, upload(owner, german(12)))
    assert (batch.good, batch.bad) == (0, 12)
    batch = replace(owner, batch, prostatitis={old: "=" + new for old, new in GERMAN.items()})
    assert (batch.good, batch.bad, batch.groups) == (12, 0, [])
    assert batch.replacements["prostatitis"]["keine"] == {"new": "n", "rows": 4}
    assert "Replaced" in owner.get(f"/import/{batch.key}").content.decode()
    line = Line.objects.get(action="import.replace")
    assert line.facts == {"fields": ["prostatitis"], "values": 3} and "keine" not in line.details
    accept(owner, batch)
    assert batch.replacements == {} and batch.groups == [], "no cell is kept with the import"
    assert (
        sorted(Report.objects.values_list("values__prostatitis", flat=True)) == ["acute"] * 4 + ["chr"] * 4 + ["n"] * 4
    )

    head = [*HEAD[:6], "Entzündung", HEAD[7]]
    second = upload(owner, german(6, first=100), head)
    assert "prostatitis" not in second.mapping
    second.mapping[6] = "prostatitis"
    second = dry_run(owner, second)
    assert (second.good, second.bad) == (6, 0), "spellings are remembered, whatever the column is called"
    page = owner.get(f"/import/{second.key}").content.decode()
    assert "Replaced" in page, "and shown"
    accept(owner, second)
    third = upload(owner, german(6, first=200), head)
    assert third.mapping[6] == "prostatitis", "so is the column"
    verify()


def test_a_replacement_can_be_taken_back_and_only_options_of_the_template_are_taken(owner: Any) -> None:
    batch = dry_run(owner, upload(owner, german(3)))
    batch = replace(owner, batch, prostatitis={"keine": "=nonsense", "akut": "=n"}, nobody={"keine": "=n"})
    assert batch.replacements == {"prostatitis": {"akut": {"new": "n", "rows": 1}}}
    batch = replace(owner, batch, prostatitis={"akut": ""})
    assert batch.replacements == {} and batch.bad == 3


def test_an_optional_answer_can_be_left_empty_and_a_required_one_cannot(owner: Any) -> None:
    rows = german(3, follow_up="???")
    for row in rows:
        row[6] = "n"
    batch = dry_run(owner, upload(owner, rows))
    entry = owner.get(f"/import/{batch.key}").context["entries"][0]
    assert entry["text"] == "???" and entry["can_be_empty"]
    assert replace(owner, batch, follow_up={"???": "="}).good == 3


def test_what_stands_in_one_row_alone_and_free_text_is_not_remembered(owner: Any, project: Any) -> None:
    rows = german(3)  # each value once
    batch = replace(owner, dry_run(owner, upload(owner, rows)), prostatitis={"keine": "=n", "akut": "=acute"})
    accept(owner, batch)
    assert ImportMemory.objects.get(project=project).values == {}


def test_what_was_remembered_by_another_project_is_not_used(owner: Any, project: Any) -> None:
    from pydplib.web.intake.imports.mappings import remembered_columns
    from pydplib.web.projects.models import Project

    ImportMemory.objects.create(project=project, columns={"colour": "age"}, values={})
    other = Project(pk=project.pk + 1)
    template = project.template_version.template
    assert remembered_columns(project, template, ["Colour"]) == ["age"]
    assert remembered_columns(other, template, ["Colour"]) == [""]
    assert remembered_columns(project, template, ["Age", "Colour"]) == ["", "age"], "what was said comes first"


def test_many_different_values_are_counted_together_and_rows_beyond_the_list_too(
    owner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pydplib.web.intake.imports import dry_run as checking
    from pydplib.web.intake.imports import problem_groups as groups

    monkeypatch.setattr(checking, "MOST_PROBLEM_ROWS", 2)
    monkeypatch.setattr(groups, "MOST_GROUPS", 3)
    rows = german(12)
    for number, row in enumerate(rows):
        row[6] = "keine" if number < 7 else f"x{number}"
    batch = dry_run(owner, upload(owner, rows))
    assert next((each["text"], each["rows"]) for each in batch.groups) == ("keine", 7)
    assert sum(each["rows"] for each in batch.groups) == 12 and any(each["text"] is None for each in batch.groups)
    assert replace(owner, batch, prostatitis={"keine": "=n"}).good == 7, "rows that are not listed one by one too"


def test_rows_that_are_left_out_come_back_as_a_file_that_can_be_uploaded_again(owner: Any) -> None:
    rows = german(6)
    for number, row in enumerate(rows):
        row[6] = "n" if number else "keine"
    rows[3][2] = "=1+1"
    batch = dry_run(owner, upload(owner, rows))
    answer = owner.get(f"/import/{batch.key}/left-out.csv")
    text = b"".join(answer.streaming_content).decode().removeprefix("\ufeff")
    found = list(csv.reader(io.StringIO(text)))
    assert found[0] == [*HEAD, "Row", "Problem"]
    assert [line[0] for line in found[1:]] == ["H-0", "H-3"] and [line[8] for line in found[1:]] == ["2", "5"]
    assert "must be one of the options" in found[1][9]
    assert not found[2][2].startswith("="), "no formula"
    assert Line.objects.get(action="import.download").facts == {"rows": 2}
    accept(owner, batch)
    assert owner.get(f"/import/{batch.key}/left-out.csv").status_code == 404, "the file is gone"


def test_more_than_one_percent_left_out_is_asked_about_first(owner: Any) -> None:
    rows = german(120)
    for row in rows:
        row[6] = "n"
    rows[0][6] = rows[1][6] = "keine"
    batch = dry_run(owner, upload(owner, rows))
    page = owner.get(f"/import/{batch.key}").content.decode()
    assert "2 of 120 rows" in page and 'name="left_out" value="2"' in page
    for sent in ({}, {"left_out": "1"}, {"left_out": "x"}):
        answer = owner.post(f"/import/{batch.key}/accept", sent, follow=True)
        assert "Nothing was imported" in answer.content.decode() and not Report.objects.exists()
    owner.post(f"/import/{batch.key}/rows/2", {"action": "mend", "field:prostatitis": "n"})
    assert tally(batch)["left_out"] == 1  # less than one percent: no question
    owner.post(f"/import/{batch.key}/accept")
    assert Report.objects.count() == 119


def test_import_is_taken_back_until_a_snapshot_holds_it(owner: Any, project: Any, row: Any, version: Any) -> None:
    from pydplib.web.intake.imports.records import accept_rows

    accept_rows(project, version, [row("H-0", last_modified="2017-01-01")], actor=owner.user)
    make_snapshot(project, actor=owner.user)
    kept = Patient.objects.get()
    batch = replace(
        owner, dry_run(owner, upload(owner, german(12))), prostatitis={o: "=" + n for o, n in GERMAN.items()}
    )
    accept(owner, batch)
    project.refresh_from_db()
    version_before = project.data_version
    assert (
        Report.objects.count() == 13 and "Take this import back" in owner.get(f"/import/{batch.key}").content.decode()
    )
    owner.post(f"/import/{batch.key}/undo")
    batch.refresh_from_db()
    project.refresh_from_db()
    assert (batch.state, Report.all_objects.count(), Patient.objects.get()) == ("discarded", 1, kept)
    assert project.data_version > version_before
    assert "Import taken back" in owner.get(f"/import/{batch.key}").content.decode()
    assert Line.objects.get(action="import.undo").facts["reports"] == 12

    again = dry_run(owner, upload(owner, german(12)))
    assert again.good == 12, "remembered, and no duplicate of what was taken back"
    accept(owner, again)
    make_snapshot(project, actor=owner.user)
    page = owner.post(f"/import/{again.key}/undo", follow=True).content.decode()
    assert "A snapshot was made since" in page and Report.objects.count() == 13
    verify()


def test_import_with_a_corrected_report_is_not_taken_back(owner: Any) -> None:
    batch = replace(
        owner, dry_run(owner, upload(owner, german(3))), prostatitis={o: "=" + n for o, n in GERMAN.items()}
    )
    accept(owner, batch)
    Report.objects.filter(pk=Report.objects.first().pk).update(version=2)
    assert "Take this import back" not in owner.get(f"/import/{batch.key}").content.decode()
    owner.post(f"/import/{batch.key}/undo")
    batch.refresh_from_db()
    assert batch.state == "accepted" and Report.objects.count() == 3 and "corrected since" in batch.problem


@pytest.mark.parametrize("emptied", [True, False])
def test_erased_person_stays_left_out_when_values_are_replaced_and_is_in_no_file(
    owner: Any, project: Any, monkeypatch: pytest.MonkeyPatch, emptied: bool
) -> None:
    """Their listed row alone keeps them out too: earlier versions did not empty the rows in the file."""
    if not emptied:
        monkeypatch.setattr(uploads, "empty_rows", lambda key, is_theirs: 0)
    first = replace(owner, dry_run(owner, upload(owner, german(1))), prostatitis={"keine": "=n"})
    accept(owner, first)
    batch = dry_run(owner, upload(owner, german(6)))
    assert batch.groups
    erase(Patient.objects.get(), actor=owner.user)
    batch.refresh_from_db()
    assert batch.groups == [], "no value of theirs is shown"
    text = b"".join(owner.get(f"/import/{batch.key}/left-out.csv").streaming_content).decode()
    assert "H-0" not in text and "H-1" in text
    batch = replace(owner, batch, prostatitis={old: "=" + new for old, new in GERMAN.items()})
    assert (batch.good, batch.bad) == (5, 1)
    accept_batch(batch)
    assert Patient.objects.count() == 5


@pytest.mark.parametrize("most", [0, 2000])
@pytest.mark.parametrize("matched", [True, False])
def test_erased_person_is_emptied_in_the_file_too_listed_or_not(
    owner: Any, project: Any, monkeypatch: pytest.MonkeyPatch, most: int, matched: bool
) -> None:
    """Beyond the rows that are kept for a decision, a row is in the file alone: there it must go as well."""
    from pydplib.web.intake.imports import dry_run as checking

    said = {"prostatitis": {old: "=" + new for old, new in GERMAN.items()}}
    accept(owner, replace(owner, dry_run(owner, upload(owner, german(1))), **said))
    monkeypatch.setattr(checking, "MOST_PROBLEM_ROWS", most)
    rows = [[*cells[:6], "n", cells[7]] for cells in german(6)]
    rows[0][1] = "02.07.2018"  # another day: nothing is wrong with it
    rows.append([*rows[0][:1], "nonsense", *rows[0][2:]])
    batch = upload(owner, rows)
    if matched:
        batch = dry_run(owner, batch)
        assert (batch.good, batch.bad) == (6, 1)
    else:
        batch.mapping = ["" if name == "patient_id" else name for name in batch.mapping]
        batch.save()
    held = uploads.path_of(batch.key)
    assert held.read_text().count("H-0,") == 2
    erase(Patient.objects.get(), actor=owner.user)
    assert "H-0" not in held.read_text() and held.read_text().count("\n") == 8, "rows keep their places"
    assert not [path for path in held.parent.glob(f"{batch.key}.*") if b"H-0" in path.read_bytes()]
    batch.refresh_from_db()
    if not matched:
        batch.mapping = ["patient_id", *batch.mapping[1:]]
        batch = dry_run(owner, batch)
    assert (batch.good, batch.bad) == (5, 2)
    text = b"".join(owner.get(f"/import/{batch.key}/left-out.csv").streaming_content).decode()
    assert "H-0" not in text and "H-1" not in text
    accept(owner, batch)
    assert batch.good == 5 and Patient.objects.count() == 5
    assert not Report.objects.filter(patient__identifiers__value="H-0").exists()


def test_radiologist_takes_back_the_own_import_and_no_other(owner: Any, member: Any) -> None:
    batch = replace(
        owner, dry_run(owner, upload(owner, german(3))), prostatitis={o: "=" + n for o, n in GERMAN.items()}
    )
    accept(owner, batch)
    doctor = member("radiologist", "rosa", department="MR")
    assert doctor.post(f"/import/{batch.key}/undo").status_code == 404
    assert Report.objects.count() == 3
