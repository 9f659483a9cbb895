"""Rows that are read by column come to what they come to when each is read by itself."""

from __future__ import annotations

import csv
import json
import random
from typing import Any

import pytest

from pydplib.capture import builtin
from pydplib.web import uploads
from pydplib.web.intake.imports import blocks
from pydplib.web.intake.imports.blocks import BlockReader
from pydplib.web.intake.imports.duplicates import Duplicates
from pydplib.web.intake.imports.rows import Reader, department_of
from pydplib.web.intake.models import ImportBatch

WORDS = ["", " ", "yes", "ja", "no", "n", "keine", "chr", "2.0", "64", "64,5", "1.234", "640", "x" * 70, "\x07", "é"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "uploads"
    path.mkdir(mode=0o700)
    monkeypatch.setattr(uploads, "folder", lambda: path)
    monkeypatch.setattr(blocks, "CHUNK", 40)


def cells_of(name: str, choose: random.Random, template: Any) -> str:
    if choose.random() < 0.04:
        return choose.choice(WORDS)
    if name == "patient_id":
        return f" P{choose.randrange(40)}"
    if name == "@number":
        return choose.choice(["", str(choose.randrange(500))])
    if name.startswith("@"):
        return choose.choice(["", "a", "b"])
    question = next(question for _, question in template.index.questions() if question.id == name)
    if question.options:
        return str(choose.choice(question.options).value) if choose.random() < 0.9 else ""
    return {"date": f"2018-03-0{choose.randrange(1, 9)}", "boolean": choose.choice(["yes", "nein", "0"])}.get(
        question.kind, str(choose.randrange(20, 90))
    )


@pytest.mark.parametrize("department", ["", "own"])
@pytest.mark.parametrize("special", [[], ["@number"], ["@number", "@department", "@identifier"]])
def test_blocks_say_of_every_row_what_single_rows_say(version: Any, special: list[str], department: str) -> None:
    template, choose = version.template, random.Random(5)
    names = [question.id for place, question in template.index.questions() if not place.loops]
    mapping = [*names, *special]
    batch = ImportBatch(
        project=version.project, template=version, format="csv", rows=300,
        columns=mapping, mapping=mapping, comma=True, department=department,
        replacements={"prostatitis": {"keine": {"new": "n", "rows": 0}}},
    )  # fmt: skip
    rows = [[cells_of(name, choose, template) for name in mapping] for _ in range(300)]
    rows[17] = [""] * len(mapping)
    with uploads.path_of(batch.key).open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows([mapping, *rows])
    single, duplicates = Reader(batch, template), Duplicates(batch.project, template)
    reader = BlockReader(Reader(batch, template), duplicates)
    assert reader.parts is not None, "this template is read by its parts"
    expected = list(single.rows())
    seen = by_parts = 0
    for block in reader.blocks():
        for place, number in enumerate(block.numbers):
            row = expected[seen]
            assert (number, block.keys[place]) == (row.number, duplicates.keys_of([row])[0])
            seen += 1
            if block.readings[place] is None:
                assert block.single[place] == row
                continue
            by_parts += 1
            assert not row.problems and block.row(place) == row
            own = single.recorder.prepare(row.answers)
            ours = reader.prepared(block, place)
            assert (ours.text, json.loads(ours.answers), json.loads(ours.values)) == (
                own.text, json.loads(own.answers), json.loads(own.values),
            )  # fmt: skip
            assert list(json.loads(ours.answers)) == list(json.loads(own.answers))
            assert ours.department == department_of(row, batch.department)
            assert ours.identifiers["patient_id"] == own.identifiers["patient_id"]
    assert seen == 300 and 60 < by_parts < 300
    place = mapping.index("prostatitis")
    assert reader.replaced["prostatitis", "keine"] == sum(each[place].strip() == "keine" for each in rows)


def test_template_whose_answers_depend_on_each_other_is_read_row_by_row() -> None:
    from pydplib.capture import Evaluator

    assert Evaluator(builtin("pirads-2.1"), purpose="import").parts() is None
    assert Evaluator(builtin("pirads-paper"), purpose="import").parts() is not None
