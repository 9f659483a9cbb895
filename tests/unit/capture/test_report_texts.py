"""The report text: patterns, optional parts, repetitions; hidden and muted answers are never said."""

from __future__ import annotations

import pytest

from pydplib.capture import Condition, Group, Option, Question, Template, builtin, report_text
from pydplib.capture.patterns import PatternError, fill_pattern, parse_pattern


def text(*items, **answers):
    return report_text(Template(id="t", version="1", title="T", items=items), answers).removeprefix("T").strip()


def test_question_without_a_sentence_says_title_value_and_unit():
    psa = Question(id="psa", kind="decimal", title="PSA", unit="ng/mL", low=0, high=500)
    assert text(psa, psa=7.25) == "PSA: 7.25 ng/mL."
    assert text(psa) == ""


def test_option_says_its_own_sentence_and_the_others_the_question():
    zone = Question(
        id="zone",
        kind="choice",
        title="Zone",
        sentence="Lies in the {value}.",
        options=(Option("PZ", "peripheral zone"), Option("X", sentence="Cannot be placed.")),
    )
    assert text(zone, zone="PZ") == "Lies in the peripheral zone."
    assert text(zone, zone="X") == "Cannot be placed."


@pytest.mark.parametrize(
    ("sentence", "sentence_no", "answer", "said"),
    [
        ("", "", True, "BPH: yes."),
        ("", "", False, "BPH: no."),
        ("Seen.", "", True, "Seen."),
        ("Seen.", "", False, ""),
        ("", "Not seen.", True, ""),
        ("", "Not seen.", False, "Not seen."),
    ],
)
def test_yes_no_question_says_what_belongs_to_the_answer(sentence, sentence_no, answer, said):
    bph = Question(id="bph", kind="boolean", title="BPH", sentence=sentence, sentence_no=sentence_no)
    assert text(bph, bph=answer) == said


def test_muted_hidden_and_invalid_answers_are_not_said():
    items = (
        Question(id="name", kind="text", title="Name", reported=False),
        Question(id="seen", kind="boolean", title="Seen"),
        Question(id="size", kind="integer", title="Size", low=1, high=9, enable_when=(Condition("seen", "=", True),)),
    )
    assert text(*items, name="Canary", seen=False, size=3) == "Seen: no."
    assert text(*items, name="Canary", seen=True, size=300) == "Seen: yes."


def test_repetitions_are_numbered_paragraphs_with_optional_parts():
    lesion = Group(
        id="lesion",
        title="Lesions",
        repeats=True,
        max_repeats=3,
        sentence="Lesion {number} in {zone}[, {size} mm].",
        items=(
            Question(id="zone", kind="choice", title="Zone", options=(Option("PZ"), Option("TZ")), reported=False),
            Question(id="size", kind="integer", title="Size", low=1, high=150, reported=False),
            Question(id="dce", kind="boolean", title="DCE", sentence="Enhances early."),
        ),
    )
    said = text(lesion, lesion=[{"zone": "PZ", "size": 9, "dce": True}, {"zone": "TZ"}, {"size": 4}])
    assert said == (
        "Lesions\nLesion 1 in PZ, 9 mm. Enhances early.\n\nLesion 2 in TZ.\n\nLesion 3 in not stated, 4 mm."
    )


def test_free_text_with_several_lines_keeps_them_and_one_line_is_ended():
    other = Question(id="other", kind="text", title="Other", multiline=True)
    assert text(other, other="First.\nSecond") == "Other:\nFirst.\nSecond"
    assert text(other, other="Nothing.") == "Other: Nothing."
    asked = Question(id="asked", kind="boolean", title="Asked?")
    assert text(asked, asked=True) == "Asked? yes."


def test_answers_cannot_smuggle_placeholders_into_the_text():
    items = (
        Question(id="secret", kind="text", title="Secret", reported=False),
        Question(id="note", kind="text", title="Note", sentence="Note: {value}."),
    )
    assert text(*items, secret="canary", note="{secret} [x] {value}") == "Note: {secret} [x] {value}."


def test_pattern_parts_are_left_out_or_said_to_be_missing():
    assert fill_pattern("a[ {x}] b {y}", {}) == "a b not stated"
    assert fill_pattern("a[ {x}] b {y}", {"x": "1", "y": "2"}) == "a 1 b 2"
    for broken in ("{", "}", "[", "]", "[[a]]", "{a b", "a]b["):
        with pytest.raises(PatternError):
            parse_pattern(broken)


def test_pirads_report_reads_as_a_report():
    answers = {
        "patient_id": "17",
        "exam_date": "2018-03-01",
        "age": 64,
        "follow_up": False,
        "histology": True,
        "gleason_primary": 4,
        "gleason_secondary": 3,
        "psa": 6,
        "prostate_volume": 40,
        "image_quality": "acceptable",
        "quality_reason": "hip implant",
        "lesion": [
            {
                "sector": "mid-PZpl-R",
                "zone": "PZ",
                "size": 18,
                "t2w": "5",
                "dwi": "5",
                "dce": "pos",
                "extension": "definite",
            },
            {"sector": "apex-TZa-L", "zone": "TZ", "size": 8, "t2w": "2", "dwi": "X", "dce": "X", "extension": "none"},
        ],
    }
    said = report_text(builtin("pirads-2.1"), answers)
    for words in (
        "MRI of the prostate of 2018-03-01.",
        "Gleason score 4 + 3 = 7 (ISUP grade 3)",
        "PSA density 0.15 ng/mL/mL.",
        "Image quality is acceptable: hip implant.",
        "Lesion 1: right mid, posterolateral peripheral zone, 18 mm. T2W 5, DWI 5, DCE positive. "
        "Definite extraprostatic extension. "
        "PI-RADS category 5 (very high: clinically significant cancer is highly likely).",
        "no PI-RADS category, the examination serves staging only",
        "Overall PI-RADS category 5",
        "The cancer is clinically significant.",
    ):
        assert words in said
    assert "17" not in said  # the patient's number
