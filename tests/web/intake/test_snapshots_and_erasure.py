from __future__ import annotations

import datetime as dt
import os
import stat
import time

import pytest

from pydplib.errors import DataError
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.intake import snapshots
from pydplib.web.intake.models import Snapshot, SnapshotSchedule
from pydplib.web.intake.rights.erasure import erase, look_up, overdue, purge, set_consent
from pydplib.web.intake.snapshots import load_snapshot, make_snapshot, publish, published_snapshot, snapshot_schema
from pydplib.web.intake.upkeep import publish_scheduled, tidy
from pydplib.web.patients.models import Identifier, Patient
from pydplib.web.reporting.models import Report, ReportVersion

CANARY = "ZZCANARY-7731"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch) -> None:
    """Files outlive the rolled back transaction of a test: each test has its own folder."""
    path = tmp_path / "snapshots"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(snapshots, "folder", lambda: path)


def _people(snapshot: Snapshot) -> set[str]:
    import duckdb

    path = snapshots.folder() / snapshot.file
    return {row[0] for row in duckdb.execute("SELECT patient_id FROM read_parquet(?)", [str(path)]).fetchall()}


def test_snapshot_holds_consenting_people_under_pseudonyms_and_loads(project, filled) -> None:
    withdrawn = Patient.objects.first()
    set_consent(withdrawn, "withdrawn", actor=filled.user)
    snapshot = make_snapshot(project, actor=filled.user)
    people = _people(snapshot)
    assert len(people) == 24 and withdrawn.pseudonym not in people
    assert people < set(Patient.objects.values_list("pseudonym", flat=True))
    table = load_snapshot(snapshot)
    assert table.schema.person == "patient_id" and table.schema.lineage == project.key
    assert snapshot.data_version == 3
    assert table.schema.column("age").high == 100


def test_snapshot_file_is_private_and_holds_no_identifier_and_no_free_text(project, filled) -> None:
    snapshot = make_snapshot(project, actor=filled.user)
    path = snapshots.folder() / snapshot.file
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in snapshots.folder().iterdir()] == [snapshot.file]
    import duckdb

    columns = [row[0] for row in duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()]
    assert "physician_name" not in columns and len(columns) == 15
    cells = str(duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall())
    assert CANARY not in cells
    assert not any(f"'{value}'" in cells for value in Identifier.objects.values_list("value", flat=True))
    assert CANARY not in snapshot.schema


def test_snapshot_keeps_types_and_missing_cells(project, version, row, make_user) -> None:
    from pydplib.web.intake.imports.records import accept_rows

    accept_rows(project, version, [row("P1", bph="yes", gleason=None, therapy="radiotherapy")], actor=make_user("ada"))
    snapshot = make_snapshot(project, actor="system")
    import duckdb

    path = str(snapshots.folder() / snapshot.file)
    found = duckdb.execute("SELECT age, bph, gleason, therapy, last_modified FROM read_parquet(?)", [path]).fetchall()
    assert found == [(64, True, None, "radiotherapy", dt.date(2018, 3, 1))]


def test_changed_snapshot_is_not_loaded(project, filled) -> None:
    snapshot = make_snapshot(project, actor=filled.user)
    path = snapshots.folder() / snapshot.file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="was changed"):
        load_snapshot(snapshot)
    path.unlink()
    with pytest.raises(DataError, match="gone"):
        load_snapshot(snapshot)


def test_erasure_takes_person_out_of_everything_and_leaves_a_stub(project, filled) -> None:
    old = make_snapshot(project, actor=filled.user)
    current = make_snapshot(project, actor=filled.user)
    publish(current, actor=filled.user)
    patient = look_up(project, "P3")
    assert patient == look_up(project, patient.key) == look_up(project, patient.pseudonym)
    version = project.data_version
    key, pseudonym = patient.key, patient.pseudonym
    assert erase(patient, actor=filled.user) == 2
    project.refresh_from_db()
    assert project.data_version == version + 1
    assert look_up(project, "P3") is None
    assert not Identifier.objects.filter(value="P3").exists()
    assert Report.objects.count() == 28 and ReportVersion.objects.count() == 28
    new = published_snapshot(project)
    assert new.number == 3 and new.data_version == current.data_version
    assert pseudonym not in _people(new) and len(_people(new)) == 24
    assert [each.name for each in snapshots.folder().iterdir()] == [new.file]
    old.refresh_from_db()
    assert old.file == ""
    with pytest.raises(DataError, match="gone"):
        load_snapshot(current.__class__.objects.get(pk=current.pk))
    stub = Line.objects.get(action="patient.erase")
    assert stub.subject == key and stub.facts == {"reports": 2, "data_version": version + 1}
    assert verify()
    assert load_snapshot(new)


@pytest.mark.parametrize("end", [erase, lambda patient, actor: set_consent(patient, "withdrawn", actor=actor)])
def test_snapshot_published_while_somebody_is_taken_out_does_not_keep_them(project, filled, monkeypatch, end) -> None:
    from pydplib.web.intake.rights import erasure as erasing

    patient = look_up(project, "P3")
    pseudonym, begin = patient.pseudonym, erasing.recorded

    def after_another_owner_published(*args, **more):
        publish(make_snapshot(project, actor=filled.user), actor=filled.user)
        return begin(*args, **more)

    monkeypatch.setattr(erasing, "recorded", after_another_owner_published)
    end(patient, actor=filled.user)

    new = published_snapshot(project)
    assert new.number == 2 and pseudonym not in _people(new)
    assert [each.name for each in snapshots.folder().iterdir()] == [new.file]
    assert not snapshots.snapshots_with(project, pseudonym)


def test_question_called_person_does_not_take_the_place_of_people() -> None:
    from pydplib.capture import Question, Template

    asked = Question(id="person", kind="integer", title="Persons at home", low=0, high=9)
    schema = snapshots.snapshot_schema(Template(id="t", version="1", title="T", items=(asked,)), lineage="x")
    assert schema.person == "person_" and set(schema.columns) == {"person_", "person"}


def test_erasure_of_somebody_erased_says_so(project, filled) -> None:
    patient = look_up(project, "P3")
    again = look_up(project, "P3")
    erase(patient, actor=filled.user)
    with pytest.raises(DataError, match="already"):
        erase(again, actor=filled.user)


def test_withdrawal_replaces_the_published_snapshot_and_return_waits_for_the_next(project, filled) -> None:
    publish(make_snapshot(project, actor=filled.user), actor=filled.user)
    patient = look_up(project, "P3")
    set_consent(patient, "withdrawn", actor=filled.user)
    assert patient.pseudonym not in _people(published_snapshot(project))
    assert Report.objects.filter(patient=patient).count() == 2
    number = published_snapshot(project).number
    set_consent(patient, "given", actor=filled.user)
    assert published_snapshot(project).number == number
    publish(make_snapshot(project, actor=filled.user), actor=filled.user)
    assert patient.pseudonym in _people(published_snapshot(project))


def test_retention_purge_waits_for_its_day_then_takes_everything(project, filled) -> None:
    publish(make_snapshot(project, actor=filled.user), actor=filled.user)
    with pytest.raises(DataError, match="until 2040-01-01"):
        purge(project, actor=filled.user)
    later = dt.date(2040, 1, 2)
    assert overdue(project, today=later) | {"until": None} == {
        "due": True, "until": None, "patients": 25, "reports": 30, "snapshots": 1, "imports": 0,
    }  # fmt: skip
    assert purge(project, actor=filled.user, today=later) == 25
    assert not Patient.objects.exists() and not Report.all_objects.exists() and not Identifier.objects.exists()
    assert not list(snapshots.folder().iterdir()) and published_snapshot(project) is None
    assert verify()


def test_scheduled_snapshot_is_published_once_on_its_day(project, filled) -> None:
    SnapshotSchedule.objects.create(project=project, every="month", next_day=dt.date(2030, 2, 1))
    assert publish_scheduled(dt.date(2030, 1, 31)) == 0
    assert publish_scheduled(dt.date(2030, 2, 1)) == 1
    assert publish_scheduled(dt.date(2030, 2, 1)) == 0
    assert SnapshotSchedule.objects.get().next_day == dt.date(2030, 3, 1)
    assert Line.objects.get(action="snapshot.publish").actor == "system"


def test_files_that_no_snapshot_names_go_once_they_are_old(project, filled) -> None:
    snapshot = make_snapshot(project, actor=filled.user)
    stray = snapshots.folder() / "left-by-a-crash.parquet"
    stray.write_bytes(b"x")
    tidy()
    assert stray.exists()
    os.utime(stray, (time.time() - 3600,) * 2)
    tidy()
    assert not stray.exists() and (snapshots.folder() / snapshot.file).exists()


def test_schema_of_a_snapshot_is_of_the_template_alone(project, version) -> None:
    schema = snapshot_schema(version.template, lineage="a")
    assert schema.column("pirads").values == (1, 2, 3, 4, 5)
    assert schema.lineage == "a" and schema.max_rows_per_person == 3


def test_server_tidies_again_and_again_and_outlives_a_fault(monkeypatch) -> None:
    from pydplib.web import upkeep

    calls: list[int] = []

    def work() -> None:
        calls.append(1)
        if len(calls) == 1:
            raise OSError(CANARY)

    monkeypatch.setattr(upkeep, "tidy", work)
    ended = upkeep.tidy_by_the_hour(seconds=0.01)
    for _ in range(12_000):
        if len(calls) > 2:
            break
        time.sleep(0.01)
    ended.set()
    assert len(calls) > 2


def test_an_older_snapshot_is_refused_in_words_and_changes_nothing(project, filled) -> None:
    from pydplib.errors import ParameterError

    older, newer = (make_snapshot(project, actor=filled.user) for _ in range(2))
    assert f"/snapshots/{older.key}/publish" in filled.get("/snapshots").content.decode()
    publish(newer, actor=filled.user)
    with pytest.raises(ParameterError, match="never go back"):
        publish(older, actor=filled.user)
    page = filled.post(f"/snapshots/{older.key}/publish", {"size": "private"}, follow=True).content.decode()
    assert "never go back" in page and "is published." not in page
    assert f"/snapshots/{older.key}/publish" not in page, "nor is it offered"
    page = filled.post(f"/snapshots/{newer.key}/publish", follow=True).content.decode()
    assert "nothing changes" in page
    assert published_snapshot(project) == newer
    assert Line.objects.filter(action="snapshot.publish").count() == 1
