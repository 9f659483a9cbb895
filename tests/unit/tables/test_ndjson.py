"""JSON lines: a line is a row, read from itself, alike by every part of the product; FHIR becomes flat."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import pydplib as dp
from pydplib.cli import main
from pydplib.engine import Measure, Plan
from pydplib.errors import DataError
from pydplib.tables import open_tables
from pydplib.tables.ndjson import FHIR_COLUMNS, row_of

W = 2**16
SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 100, step=0.5), "pirads": dp.Category([1, 2, 3]), "bph": dp.Flag(),
        "day": dp.Date("2020-01-01", "2020-12-31"),
    },
    person="id", max_rows_per_person=1,
)  # fmt: skip
PLANS = [
    Plan(SCHEMA, by=["pirads"], measures=[Measure("count"), Measure("sum", "age", low=0, high=100, step=0.5)]),
    Plan(SCHEMA, by=["bph"], measures=[Measure("count"), Measure("count", "day")]),
]
ROWS: list[dict[str, Any]] = [
    {"id": "a", "age": 61.5, "pirads": 3, "bph": True, "day": "2020-05-01T10:00:00+02:00"},
    {"id": "b", "age": "70", "pirads": "2", "bph": "nein", "day": "01.06.2020"},
    {"id": 3, "age": None, "pirads": 9, "bph": False},
    {"id": "d", "note": 'line\nbreak, "quotes"; \u0000', "age": 20, "pirads": 1},
]


def counted(path: Path) -> list[list[Any]]:
    with dp.load(path, SCHEMA) as table:
        return [values.tolist() for plan in PLANS for values in table.aggregate(plan).values]


def write(path: Path, lines: list[bytes]) -> Path:
    data = b"\n".join(lines) + b"\n"
    if path.suffix == ".zst":
        import pyarrow as pa

        data = bytes(pa.compress(data, codec="zstd", asbytes=True))
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


LINES = [json.dumps(row).encode() for row in ROWS]


def run(*arguments: object) -> int:
    """Run the command and return its exit code."""
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


@pytest.mark.parametrize("name", ["t.ndjson", "t.jsonl", "t.NDJSON", "t.ndjson.gz", "t.ndjson.zst"])
def test_load_reads_keys_as_columns(tmp_path: Path, name: str) -> None:
    # pirads: 1, 2, 3, other; age in half years; bph: no, yes
    counts = [W, W, W, W]
    sums = [20 * 2 * W, 70 * 2 * W, 123 * W, 0]
    assert counted(write(tmp_path / name, LINES)) == [counts, sums, [2 * W, W], [W, W]]


HOSTILE = [
    b"", b"{", b"}", b"null", b"[]", b"17", b'"text"', b"{'id': 1}", b'{"id": "x"', b'{"id": "x"}}', b'{"id": "x",}',
    b"\x00",
    b"\xff\xfe{", b'{"id": "x", "age": NaN}', b'{"id": "x", "age": Infinity}', b'{"id": "x", "age": 1e999}',
    b'{"id": "x", "age": ' + b"9" * 5000 + b"}", b'{"id": "\\ud800", "age": 5}', b'{"id": "x", "pirads": "\\udfff"}',
    b'{"id": {"a": 1}, "age": [1, 2]}', b"[" * 100_000, b'{"a":' * 100_000, b'{"id": "x", "id": "y", "age": 1}',
    b'{"ID": "x", "AGE": 5}', b'{"id": "x", "age": "1\r\n2"}', b'{"id": "x"}\r{"id": "y", "age": 3}',
    b'{"": 1, " ": 2}', b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1",
    b'{"id": "x", "age": 12.5, "extra": "' + b"z" * 100_000 + b'"}', b'{"resourceType": "Patient", "id": "x"}',
    b'{"resourceType": ["Patient"], "id": "x"}', b'{"resourceType": "Observation", "subject": "x", "code": [[]]}',
    '{"id": "Müller", "age": 5}'.encode("latin-1"), b'{"id": "x", "age": "5", "bph": "\\u0000"}', b"\x1f\x8b broken",
    b'{"id": "x", "age": 1}\xef\xbb\xbf', b'\xef\xbb\xbf{"id": "x", "age": 1}',
]  # fmt: skip


def check_others_stay(without: list[Any], found: list[Any], people: int, what: object) -> None:
    for one, other, high in zip(without, found, (1, 200, 1, 1), strict=True):
        moved = [b - a for a, b in zip(one, other, strict=True)]
        assert min(moved) >= 0 and sum(moved) <= people * high * W, what


def test_a_hostile_first_line_changes_nobody_elses_row(tmp_path: Path) -> None:
    """Whatever stands in one person's line, where other files have their names: it counts at most once."""
    without = counted(write(tmp_path / "without.ndjson", LINES))
    for number, line in enumerate(HOSTILE):
        found = counted(write(tmp_path / f"{number}.ndjson", [line, *LINES]))
        check_others_stay(without, found, 2 if b"\r{" in line else 1, line[:40])  # a return ends a line too


def test_hostile_lines_between_others_change_nobody_elses_row(tmp_path: Path) -> None:
    without = counted(write(tmp_path / "without.ndjson", LINES))
    found = counted(write(tmp_path / "all.ndjson", [*LINES[:2], *HOSTILE, *LINES[2:]]))
    check_others_stay(without, found, 5, "all of them")  # of the people x, y, Müller and two without whole names


def test_commands_that_hand_a_table_on_refuse_a_broken_line_and_quote_nothing(tmp_path: Path, capsys: Any) -> None:
    path = write(tmp_path / "t.ndjson", [*LINES, b'{"id": "CANARY", '])
    with open_tables() as tables, pytest.raises(DataError, match="no JSON object") as caught:
        tables.open(path)
    assert "CANARY" not in str(caught.value)
    assert run("risk", path, "--quasi", "age") == 10
    said = capsys.readouterr()
    assert "CANARY" not in said.out + said.err and "no JSON object" in said.err
    twice = write(tmp_path / "twice.ndjson", [b'{"age": 1}', b'{"Age": 2}'])
    with open_tables() as tables, pytest.raises(DataError, match="'age' and 'Age'"):
        tables.open(twice)
    with open_tables() as tables, pytest.raises(DataError, match="no line with a JSON object"):
        tables.open(write(tmp_path / "empty.ndjson", [b""]))


def test_typed_tables_have_all_keys_and_tell_numbers_from_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "t.ndjson", [b'{"a": 1, "b": "x"}', b'{"a": "1", "c": true}', b'{" a ": 2.50}'])
    with open_tables() as tables:
        table = tables.open(path)
        assert table.format == "ndjson" and table.columns == {"a": "number", "b": "text", "c": "flag"}
        assert table.relation.fetchall() == [(1.0, "x", None), (1.0, None, "true"), (2.5, None, None)]
        assert table.cells(["a"]).fetchall() == [("1",), ("'1",), ("2.50",)]


def test_schema_init_check_release_anonymize_and_attack_read_the_same_file(tmp_path: Path, capsys: Any) -> None:
    frame = dp.datasets.pirads(n=200, seed=3, backend="pandas")[["patient_id", "age", "pirads", "bph"]]
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    path = write(tmp_path / "reports.ndjson.gz", [json.dumps(row).encode() for row in rows])
    schema = tmp_path / "schema.toml"
    assert run("schema", "init", path, "-o", schema) == 0
    text = schema.read_text()
    assert 'person = "patient_id"' in text and '[columns."bph"]\nkind = "flag"' in text
    columns = {"age": dp.Number(18, 100), "pirads": dp.Category([1, 2, 3, 4, 5]), "bph": dp.Flag()}
    declared = dp.Schema(columns, person="patient_id", max_rows_per_person=3, name="reports")
    schema.write_text(declared.to_toml())
    assert run("schema", "check", schema, path) == 0
    ledger = ("--ledger", tmp_path / "ledger.db", "--recipient", "acme")
    assert run("release", path, "-q", "count by bph", "--schema", schema, "--epsilon", "1", *ledger) == 0
    assert run("attack", path, path, "--quasi", "age", "--person", "patient_id") == 0
    result = dp.anonymize(path, quasi_identifiers=["age"], models=[dp.KAnonymity(3)], suppression=0.5)
    assert result.risk is not None
    said = capsys.readouterr()
    assert "Traceback" not in said.err


PATIENT = {
    "resourceType": "Patient",
    "id": "17",
    "gender": "male",
    "birthDate": "1950-03-01",
    "address": [{"postalCode": "01067"}],
}
OBSERVATION = {
    "resourceType": "Observation", "id": "o1", "status": "final", "subject": {"reference": "Patient/17"},
    "code": {"coding": [{"system": "http://loinc.org", "code": "2857-1"}]}, "effectiveDateTime": "2020-05-01T08:00:00Z",
    "valueQuantity": {"value": 4.10, "unit": "ng/mL", "code": "ng/mL"},
    "encounter": {"reference": "Encounter/e1/_history/2"},
}  # fmt: skip
CONDITION = {
    "resourceType": "Condition", "id": "c1", "subject": {"reference": "Patient/17"}, "onsetDateTime": "2019-01-01",
    "clinicalStatus": {"coding": [{"code": "active"}]}, "code": {"coding": [{"code": "C61"}]},
}  # fmt: skip
ENCOUNTER = {
    "resourceType": "Encounter", "id": "e1", "subject": {"reference": "urn:uuid:abc"}, "class": {"code": "AMB"},
    "period": {"start": "2020-05-01", "end": "2020-05-02"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("resource", "flat"),
    [
        (PATIENT, {"patient_id": "17", "gender": "male", "birth_date": "1950-03-01", "postal_code": "01067"}),
        (OBSERVATION, {
            "observation_id": "o1", "patient_id": "17", "encounter_id": "e1", "status": "final", "code": "2857-1",
            "code_system": "http://loinc.org", "effective_date": "2020-05-01T08:00:00Z", "value": "4.1",
            "unit": "ng/mL",
        }),
        (CONDITION, {
            "condition_id": "c1", "patient_id": "17", "clinical_status": "active", "code": "C61",
            "onset_date": "2019-01-01",
        }),
        (ENCOUNTER, {
            "encounter_id": "e1", "patient_id": "abc", "class": "AMB", "start_date": "2020-05-01",
            "end_date": "2020-05-02",
        }),
        ({**ENCOUNTER, "class": [{"coding": [{"code": "IMP"}]}], "period": 1, "actualPeriod": {"start": "2021-01"}}, {
            "encounter_id": "e1", "patient_id": "abc", "class": "IMP", "start_date": "2021-01",
        }),
        ({**CONDITION, "subject": {"reference": "Group/17"}}, {
            "condition_id": "c1", "clinical_status": "active", "code": "C61", "onset_date": "2019-01-01",
        }),
    ],
)  # fmt: skip
def test_resources_of_fhir_become_flat(resource: dict[str, Any], flat: dict[str, str]) -> None:
    assert row_of(json.dumps(resource).encode()) == flat


def test_ids_of_other_servers_are_other_people() -> None:
    found = [
        row_of(json.dumps({**CONDITION, "subject": {"reference": reference}}).encode())
        for reference in ("Patient/1", "https://a.example/Patient/1", "https://b.example/Patient/1")
    ]
    assert len({row["patient_id"] for row in found if row}) == 3


def test_bulk_export_is_asked_by_person(tmp_path: Path) -> None:
    lines = []
    for patient in range(40):
        for visit in range(3):
            value = {"value": 5.0 + visit}
            row = {
                **OBSERVATION,
                "id": f"{patient}-{visit}",
                "subject": {"reference": f"Patient/{patient}"},
                "valueQuantity": value,
            }
            lines.append(json.dumps(row).encode())
    schema = dp.Schema({"value": dp.Number(0, 100)}, person="patient_id", max_rows_per_person=1)
    with dp.load(write(tmp_path / "Observation.ndjson", lines), schema) as table:
        plan = Plan(schema, measures=[Measure("sum", "value", low=0, high=100, step=1), Measure("count")])
        rows = table.aggregate(plan)
        assert rows[0].tolist() == [40 * 18 * (W // 3)] and rows[1].tolist() == [40 * 3 * (W // 3)]


def test_the_flattened_paths_are_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "fhir-subset.md").read_text(encoding="utf-8")
    for resource, columns in FHIR_COLUMNS.items():
        assert f"`{resource}`" in page
        for column, paths in columns.items():
            assert f"`{column}`" in page and all(f"`{path}`" in page for path in paths), (resource, column)
