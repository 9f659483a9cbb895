"""An analysis: who sees it, what the page and its files hold (released values, and nothing else), the original."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest
from study_world import CANARY

import pydplib as dp
from pydplib.plot import figure_arrays
from pydplib.release.prices import Accuracy
from pydplib.release.results.axes import Axis
from pydplib.release.results.formats import to_csv
from pydplib.release.results.words import show_margin
from pydplib.web.analyses.figures import figure_of, table_of
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import ask, release_of, stored_payload
from pydplib.web.auditlog.models import Line
from pydplib.web.ledger import models as rows
from pydplib.web.projects.models import Member

QUESTIONS = [
    dp.Count(by="pirads"),
    dp.Mean("age", by=["pirads", "bph"]),
    dp.Histogram("age", edges=[40, 60, 80, 100]),
    dp.Crosstab("age", "pirads", bins={"age": [40, 60, 80]}),
    dp.Quantiles("age", [0.05, 0.25, 0.5, 0.75, 0.95], by="bph"),
    dp.Count(of="persons"),
    dp.Variance("age"),
    dp.Median("age"),
    dp.Sum("age", by="year"),
]


@pytest.fixture
def asked(study: Any, tara: Any) -> Any:
    """Return a function by which Tara asks."""

    def make(question: Any = QUESTIONS[0], epsilon: float = 0.2) -> Analysis:
        return ask(study.project, tara.user, tara.place, question, Accuracy(epsilon=epsilon))

    return make


def _figures(page: str) -> list[dict[str, Any]]:
    found = re.findall(r'<script type="application/json" id="(?:analysis|original)">(.*?)</script>', page, re.S)
    return [json.loads(text) for text in found]


def _numbers(figure: dict[str, Any]) -> set[float]:
    arrays = figure_arrays({"data": figure["data"]})
    drawn = [array for name, array in arrays.items() if "marker" not in name]  # how faint a mark is, is no number
    flat = [value for array in drawn for value in np.asarray(array).ravel().tolist()]
    return {round(float(value), 6) for value in flat if isinstance(value, int | float) and value == value}


def _allowed(release: dp.Release) -> set[float]:
    """Released numbers, their margins and ends, public keys; and their differences, where error bars are uneven."""
    numbers = [np.asarray(release.values, dtype=float)]
    parts = (release.margins95, release.low95, release.high95)
    numbers += [np.asarray(part, dtype=float) for part in parts if part is not None]
    if release.low95 is not None and release.high95 is not None:
        numbers += [np.asarray(release.high95) - numbers[0], numbers[0] - np.asarray(release.low95)]
    numbers.append(np.rint(numbers[0]))
    numbers += [np.array([float(show_margin(one)), np.ceil(one)]) for one in release.margins95 or ()]
    found = {round(float(value), 6) for part in numbers for value in part}
    return found | {round(max(0.0, value), 6) for value in found}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.ask)
def test_figure_table_and_files_hold_released_values_alone(asked: Any, tara: Any, question: Any) -> None:
    made = asked(question)
    release = release_of(made)
    answer = tara.get(f"/analyses/{made.key}")
    page = answer.content.decode()
    assert answer.status_code == 200
    (figure,) = _figures(page)
    sent = _numbers(figure)
    assert sent, "the figure holds numbers"
    assert sent <= _allowed(release), "every number of the figure was released"
    kinds = {trace["type"] for trace in figure["data"]}
    assert kinds <= {"bar", "scatter", "heatmap", "box"} and all(
        "x" in trace or "z" in trace for trace in figure["data"]
    )
    assert release.guarantee.sentence in unescape(page)
    assert page.count("<tr>") >= len(release.values)
    for kind in ("csv", "json", "receipt"):
        assert CANARY not in tara.get(f"/analyses/{made.key}/download/{kind}").content.decode()
    assert CANARY not in page and "SYN-0" not in page


def test_files_are_the_stored_bytes_and_a_table_of_them(asked: Any, tara: Any) -> None:
    made = asked()
    release = release_of(made)
    got = tara.get(f"/analyses/{made.key}/download/json")
    assert got.content == stored_payload(made.digest) and got["Content-Disposition"].startswith("attachment")
    lines = list(csv.DictReader(io.StringIO(tara.get(f"/analyses/{made.key}/download/csv").content.decode())))
    shown = [float(line["value"]) for line in lines]
    assert shown == [round(value) for value in release.values], "rounded to the margin, which is more than 10"
    assert tara.get(f"/analyses/{made.key}/download/receipt").content.decode() == made.receipt
    assert tara.get(f"/analyses/{made.key}/download/rows").status_code == 404
    assert Line.objects.filter(action="analysis.export").count() == 3


def test_csv_runs_no_formula() -> None:
    from dataclasses import replace

    from pydplib.release.results.axes import Axis

    release = dp.histogram([1, 2], edges=[0, 1, 2], epsilon=1.0)
    evil = replace(release, axes=(Axis("=cmd|' /C calc'!A0", ("@SUM(1)", "+1")),))
    text = to_csv(evil)
    assert text.splitlines()[0].startswith("'=cmd") and "\n'@SUM(1)" in text and "\n'+1" in text


def test_who_sees_an_analysis_is_the_organisation_that_paid_and_the_owner(
    asked: Any, partner: Any, sign_in: Any, owner: Any
) -> None:
    made = asked()
    colleague = sign_in(partner("theo").user)
    rival = sign_in(partner("rita", organisation="Rival").user)
    assert colleague.get(f"/analyses/{made.key}").status_code == 200
    assert owner.get(f"/analyses/{made.key}").status_code == 200
    assert rival.get(f"/analyses/{made.key}").status_code == 404
    assert rival.get(f"/analyses/{made.key}/download/json").status_code == 404
    for client, count in ((colleague, 1), (owner, 1), (rival, 0)):
        assert client.get("/analyses").content.decode().count(f'href="/analyses/{made.key}"') == count


def test_sharing_opens_it_to_a_role_as_far_as_the_policy_lets_it_go(
    study: Any, asked: Any, partner: Any, sign_in: Any, owner: Any
) -> None:
    made = asked()
    rival = sign_in(partner("rita", organisation="Rival").user)
    assert owner.post(f"/analyses/{made.key}/share", {"role": ["third_party"]}).status_code == 302
    page = rival.get(f"/analyses/{made.key}")
    assert page.status_code == 200 and "tara" not in page.content.decode(), "who asked is not told"
    assert not _figures(page.content.decode()) and "<table" not in page.content.decode(), "no number before it is paid"
    assert "Shared with you" in rival.get("/analyses").content.decode()
    study.project.rules.filter(audience="third_party").update(fields=["age"])
    assert rival.get(f"/analyses/{made.key}").status_code == 403, "the policy closed the field"
    assert f"/analyses/{made.key}" not in rival.get("/analyses").content.decode()
    assert Line.objects.filter(action="flow.refuse").count() == 1
    study.project.rules.filter(audience="third_party").update(fields=["*"])
    owner.post(f"/analyses/{made.key}/share", {})
    assert rival.get(f"/analyses/{made.key}").status_code == 404
    assert Line.objects.filter(action="analysis.share").count() == 2


def test_too_exact_an_answer_is_not_shared_and_not_seen_by_noisier_roles(
    study: Any, partner: Any, sign_in: Any, owner: Any
) -> None:
    made = ask(study.project, study.owner, Member.as_role("owner"), QUESTIONS[0], Accuracy(epsilon=0.9))
    assert made.label == "dp_medium"
    page = owner.get(f"/analyses/{made.key}").content.decode()
    assert 'id="share-third_party" disabled' in page and 'id="share-collaborator">' in page
    refused = owner.post(f"/analyses/{made.key}/share", {"role": ["collaborator", "third_party"]})
    assert refused.status_code == 403
    assert Analysis.objects.get().shared_with == []
    assert owner.post(f"/analyses/{made.key}/share", {"role": ["radiologist"]}).status_code == 422
    colleague = sign_in(partner("inge", organisation=study.owner.hospital.name).user)
    assert colleague.get(f"/analyses/{made.key}").status_code in (403, 404), "same hospital, noisier role"


def test_only_owners_share_and_look_at_originals(asked: Any, tara: Any) -> None:
    made = asked()
    for way in ("share", "original"):
        assert tara.post(f"/analyses/{made.key}/{way}", {"role": "collaborator"}).status_code == 403
    page = tara.get(f"/analyses/{made.key}").content.decode()
    assert "Show the original" not in page and "Who else sees it" not in page


def _exact(study: Any, sql: str) -> list[Any]:
    import duckdb

    from pydplib.web.intake.snapshots import folder, published_snapshot

    path = folder() / published_snapshot(study.project).file
    return duckdb.sql(sql.replace("ROWS", f"read_parquet('{path}')")).fetchall()


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        (
            dp.Count(by="bph"),
            "SELECT count(*) FILTER (bph = k) FROM ROWS, (VALUES (false), (true)) t(k) GROUP BY k ORDER BY k",
        ),
        (dp.Mean("age", by="year"), "SELECT avg(age) FROM ROWS GROUP BY year ORDER BY year"),
        (
            dp.Sum("age", where=[dp.Where("age").between(50, 90)]),
            "SELECT sum(age) FROM ROWS WHERE age BETWEEN 50 AND 90",
        ),
        (dp.Variance("age"), "SELECT var_pop(age) FROM ROWS"),
        # A median lies on the public grid, here of whole years.
        (dp.Median("age"), "SELECT quantile_disc(round(age), 0.5) FROM ROWS"),
        (dp.Count(of="persons"), "SELECT count(DISTINCT patient_id) FROM ROWS"),
        (
            dp.Histogram("age", edges=[40, 60, 80]),
            "SELECT count(*) FROM ROWS WHERE age >= 40 AND age < 60",
        ),
    ],
    ids=lambda value: getattr(value, "ask", None),
)
def test_the_original_is_exact_logged_and_never_stored(
    study: Any, asked: Any, owner: Any, question: Any, sql: str
) -> None:
    from pydplib.web.analyses.originals import look_at_original

    made = asked(question)
    exact = look_at_original(study.owner, made)
    wanted = [float(value) for (value,) in _exact(study, sql)]
    shown = np.asarray(exact).ravel()[: len(wanted)]
    np.testing.assert_allclose(shown, wanted, rtol=1e-6)
    page = owner.post(f"/analyses/{made.key}/original")
    assert page.status_code == 200 and "With the original" in page.content.decode()
    assert "original" in json.dumps(_figures(page.content.decode()))
    assert Line.objects.filter(action="analysis.original").count() == 2
    assert rows.Entry.objects.filter(body__contains='"kind":"look"').count() == 2
    assert stored_payload(made.digest) == release_of(made).to_json().encode()
    assert "With the original" not in owner.get(f"/analyses/{made.key}").content.decode()


def test_an_erased_snapshot_leaves_the_answer_and_takes_the_original(asked: Any, owner: Any, study: Any) -> None:
    made = asked()
    study.project.snapshots.update(file="", sha256="")
    page = owner.get(f"/analyses/{made.key}")
    assert page.status_code == 200 and "This snapshot is gone" in page.content.decode()
    assert owner.post(f"/analyses/{made.key}/original").status_code == 422
    assert not Line.objects.filter(action="analysis.original").exists()


def test_the_way_back_to_the_form_asks_exactly_the_same(asked: Any, tara: Any) -> None:
    question = dp.Histogram(
        "age", edges=[40, 60, 80], by="bph", where=[dp.Where("pirads").is_in([4, 5]), dp.Where("age").between(50, 75)]
    )
    made = asked(question, epsilon=0.25)
    page = tara.get(f"/analyses/{made.key}").content.decode()
    again = unescape(re.search(r'href="(/analyses/new\?[^"]+)"', page)[1])  # type: ignore[index]
    assert "paid before" in tara.get(again).content.decode()


def test_groups_are_named_as_the_form_names_them_and_the_rest_is_explained(asked: Any, tara: Any) -> None:
    page = tara.get(f"/analyses/{asked(dp.Count(by='prostatitis')).key}").content.decode()
    [figure] = _figures(page)
    assert figure["data"][0]["x"][:1] == ["chronic"]
    assert ">chronic<" in page and ">chr<" not in page
    assert "“other”: no answer" in page


def test_answers_of_dashboards_have_a_list_of_their_own(asked: Any, owner: Any) -> None:
    made = asked()
    row = f'href="/analyses/{made.key}"'
    assert row in owner.get("/analyses").content.decode()
    Analysis.objects.filter(pk=made.pk).update(recipient="dashboard:third_party")
    questions, boards = (owner.get(f"/analyses{more}").content.decode() for more in ("", "?of=dashboards"))
    assert row in boards and row not in questions and "Of dashboards" in questions


def _crosstab(values: list[float]) -> dp.Release:
    made = dp.histogram([1.0], edges=[0, 1], epsilon=1.0)
    axes = (Axis("sex", ("f", "m", "other")), Axis("bph", ("n", "y", "other")))
    return replace(
        made, question={"ask": "crosstab"}, axes=axes, values=tuple(values), noisy=None, sizes=None, unit="rows",
        low=tuple(value - 6 for value in values), high=tuple(value + 6 for value in values),
        margins=(6.0,) * 9, simultaneous=None,
    )  # fmt: skip


def test_heat_map_leaves_out_a_group_other_that_the_noise_alone_can_have_made() -> None:
    released = _crosstab([300, 280, 4, 250, 270, 1, 0, 5, 2])
    figure = figure_of(released, title="Sex by hyperplasia")
    (drawn,) = figure.data
    assert list(drawn.x) == ["n", "y"] and list(drawn.y) == ["f", "m"] and np.shape(drawn.z) == (2, 2)
    assert "Not drawn, because the noise alone can have made it: “other” of sex, “other” of bph." in figure.words[1]
    assert len(table_of(released)[1]) == 9  # the table twin has every released number
    real = figure_of(_crosstab([300, 280, 40, 250, 270, 30, 20, 50, 20]))
    assert np.shape(real.data[0].z) == (3, 3) and "Not drawn" not in real.words[1]


def test_a_mode_is_shown_by_its_words_with_how_far_it_may_be_behind(tara: Any, owner: Any, pay: Any) -> None:
    asked = {"kind": "mode", "field": "prostatitis", "by1": "bph", "accuracy": "epsilon", "epsilon": "0.5"}
    paid = pay(tara, **asked)
    page = tara.get(paid.url).content.decode()
    assert "Most frequent value of" in page and "records behind the most frequent" in page
    release = release_of(Analysis.objects.get())
    assert release.choices is not None and release.label(0) in page
    assert "value,margin95_rows" in tara.get(f"{paid.url}/download/csv").content.decode()
    original = owner.post(f"{paid.url}/original")
    assert original.status_code == 200 and "Original" in original.content.decode()


def test_a_standard_deviation_is_shown_in_the_unit_of_its_field(tara: Any, pay: Any) -> None:
    page = tara.get(pay(tara, kind="deviation", field="age", accuracy="epsilon", epsilon="0.5").url).content.decode()
    assert "Standard deviation of" in page and "years" in page
