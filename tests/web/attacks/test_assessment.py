"""The impact assessment: in the order of the law, from policy, ledger and attack lab, with no cell, loading nothing."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pydplib.errors import MissingExtraError
from pydplib.web.attacks.assessment import assess, missing_part, refuse, to_html, to_pdf
from pydplib.web.auditlog.models import Line

needs_pdf = pytest.mark.skipif(bool(missing_part()), reason=missing_part() or "has it")


def test_sections_come_in_the_order_of_the_law(study: Any) -> None:
    text = to_html(assess(study.project), made_by="Olga")
    places = [text.index(f"35(7)({letter})") for letter in "abcd"]
    assert places == sorted(places) and "What people must judge" in text
    for words in (study.project.purpose, study.project.legal_basis, "Best guess right", "88.1 %"):
        assert words in text, words


def test_digest_follows_the_contents(study: Any) -> None:
    before = assess(study.project)
    assert assess(study.project).sha256 == before.sha256
    study.project.rules.filter(audience="third_party").update(budget=0.5)
    after = assess(study.project)
    assert after.sha256 != before.sha256 and before.sha256 in to_html(before, made_by="Olga")


def test_no_number_of_the_data_is_in_it(study: Any) -> None:
    """Neither the number of reports nor of patients, unless the owner declared it public."""
    from pydplib.web.patients.models import Patient
    from pydplib.web.reporting.models import Report

    description = assess(study.project).facts["description"]
    counts = {Report.objects.count(), Patient.objects.count()} - {0, 1, 2}
    assert counts and "not declared" in description["people"]
    for number in counts:
        assert f">{number}<" not in to_html(assess(study.project), made_by="Olga")


@pytest.mark.parametrize("name", ["</style><img src=http://x.example/y>", '" } @import url("file:///etc/passwd"); {'])
def test_texts_of_the_project_stay_texts(study: Any, name: str) -> None:
    study.project.name = study.project.purpose = name
    text = to_html(assess(study.project), made_by=name)
    assert name not in text and "<img" not in text and "@import" not in text.split("<style>")[1].split("</style>")[0]


def test_attacks_that_were_tried_are_in_it_with_their_numbers(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.attacks import runs
    from pydplib.web.attacks.launch import start_run

    monkeypatch.setattr(runs, "BACKGROUND", False)

    assert "was not used yet" in to_html(assess(study.project), made_by="Olga")
    run = start_run(study.owner, study.project, subject="audience:third_party", data="twin", minutes=1)
    run.refresh_from_db()
    assert run.state == "done", run.problem
    tried = assess(study.project).facts["risks"]["tried"]
    assert [each["name"] for each in tried] == [run.name] and tried[0]["attacks"]
    text = to_html(assess(study.project), made_by="Olga")
    assert tried[0]["attacks"][0]["attack"] in text and run.result["verdict"]["headline"] in text


@needs_pdf
def test_pdf_has_pages_and_fetches_nothing(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.attacks import assessment

    made = assess(study.project)
    data = to_pdf(made, made_by="Olga")
    assert (data.startswith(b"%PDF-") and data.count(b"/Type /Page") >= 2) or len(data) > 10_000
    asked: list[str] = []

    def noted(address: str) -> None:
        asked.append(address)
        refuse(address)

    monkeypatch.setattr(assessment, "refuse", noted)
    monkeypatch.setattr(
        assessment, "to_html", lambda made, made_by: '<img src="http://x.example/y.png"><img src="file:///etc/passwd">'
    )
    assert to_pdf(made, made_by="Olga").startswith(b"%PDF-")
    assert asked == ["http://x.example/y.png", "file:///etc/passwd"], "asked for, refused, and not drawn"


def test_missing_extra_names_its_command(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pydplib\[pdf\]'"):
        to_pdf(assess(study.project), made_by="Olga")
    assert "pydplib[pdf]" in missing_part()


@needs_pdf
def test_owner_and_officer_get_it_and_a_line_says_so(study: Any, sign_in: Any) -> None:
    client = sign_in(study.owner)
    page = client.get(f"/attacks/assessment?project={study.project.key}")
    assert page.status_code == 200 and "Download PDF" in page.content.decode()
    answer = client.get(f"/attacks/assessment.pdf?project={study.project.key}")
    assert answer["Content-Type"] == "application/pdf" and answer.content.startswith(b"%PDF-")
    assert Line.objects.filter(action="assessment.make").count() == 1
