"""What the dry run kept of the rows is used once more when it fits, and never when it does not."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from imported_files import agreed

from pydplib.web import uploads
from pydplib.web.intake.imports import row_store
from pydplib.web.intake.imports.duplicates import Duplicates
from pydplib.web.intake.models import ImportBatch, ImportRow
from pydplib.web.patients.models import Patient
from pydplib.web.reporting.models import Report, ReportVersion

NAMES = {"patient_id": "Anonym_ID", "last_modified": "LastModified", "pirads": "PIRADS score"}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "uploads"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(uploads, "folder", lambda: path)


@pytest.fixture
def checked(version: Any, member: Any, row: Any) -> tuple[Any, ImportBatch]:
    """An owner, and an import of six rows after its dry run; one of them repeats another, one has a wrong age."""
    owner = member("owner")
    rows = [row(f"P{number}", last_modified=f"2018-04-0{number + 1}") for number in range(5)]
    rows = [*rows, rows[0], row("bad", age="640")]
    lines = [";".join(NAMES.get(name, name) for name in rows[0])]
    lines += [";".join("" if value is None else str(value) for value in each.values()) for each in rows]
    owner.post("/import", {"file": SimpleUploadedFile("a.csv", "\n".join(lines).encode())})
    batch = ImportBatch.objects.get()
    owner.post(f"/import/{batch.key}/mapping", {f"column{n}": name for n, name in enumerate(rows[0])})
    batch.refresh_from_db()
    assert (batch.state, batch.good, batch.bad) == ("checked", 5, 2), batch.problem
    return owner, batch


def written() -> list[tuple[Any, ...]]:
    """Return everything that an import leaves, without random keys and times."""
    reports = Report.all_objects.order_by("id").values_list(
        "answers", "values", "department", "state", "number_hash", "patient__pseudonym", "patient__identifiers__value"
    )
    texts = ReportVersion.objects.order_by("id").values_list("answers", "text", "number", "reason")
    return [*reports, *texts]


def test_accepting_makes_no_pseudonym_again_and_writes_the_same(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, batch = checked
    path = row_store.path_of(batch.key)
    assert path.exists() and path.stat().st_mode & 0o077 == 0, "as private as the upload"
    with monkeypatch.context() as patch:
        patch.setattr(Duplicates, "_keyed", lambda *more: pytest.fail("pseudonyms are made again"))
        owner.post(f"/import/{batch.key}/accept", agreed(batch))
    batch.refresh_from_db()
    assert (batch.state, batch.good) == ("accepted", 5) and not list(path.parent.iterdir())


@pytest.mark.parametrize("change", ["missing", "other file", "other mapping", "other program"])
def test_what_does_not_fit_is_read_again_with_the_same_result(
    checked: Any, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, batch = checked
    path, upload = row_store.path_of(batch.key), uploads.path_of(batch.key)
    if change == "missing":
        path.unlink()
    elif change == "other file":
        upload.write_bytes(upload.read_bytes())
    elif change == "other mapping":
        ImportBatch.objects.filter(pk=batch.pk).update(comma=not batch.comma)
        batch.refresh_from_db()
    else:
        monkeypatch.setattr(row_store, "__version__", "0.0.0")
    assert not row_store.KeptKeys(batch).fits
    owner.post(f"/import/{batch.key}/accept", agreed(batch))
    batch.refresh_from_db()
    assert (batch.state, batch.good) == ("accepted", 5)
    people = sorted(Patient.objects.values_list("identifiers__value", flat=True))
    assert people == [f"P{number}" for number in range(5)]


def test_both_ways_write_the_same(checked: Any) -> None:
    from pydplib.web.intake.imports.acceptance import accept_batch

    _, batch = checked
    held = {path.name: path.read_bytes() for path in uploads.folder().iterdir()}
    rows = list(batch.problem_rows.values("number", "fields", "problems", "decision"))
    accept_batch(batch)
    first = written()
    Report.all_objects.all().delete()
    Patient.objects.all().delete()
    for name, data in held.items():
        if not name.endswith(".read"):
            (uploads.folder() / name).write_bytes(data)
    ImportRow.objects.bulk_create([ImportRow(batch=batch, **each) for each in rows])
    ImportBatch.objects.filter(pk=batch.pk).update(state="checked", done=0)
    batch.refresh_from_db()
    accept_batch(batch)
    assert written() == first and len(first) == 10


def test_rows_of_a_dry_run_that_fails_are_not_kept(checked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.intake.imports import dry_run as checking

    owner, batch = checked
    monkeypatch.setattr(checking.CellGroups, "add", lambda *more: 1 / 0)
    mapping = {f"column{n}": name for n, name in enumerate(batch.mapping)}
    owner.post(f"/import/{batch.key}/mapping", mapping)
    assert not row_store.path_of(batch.key).exists()
    assert {path.suffix for path in uploads.folder().iterdir()} == {".rows"}
