"""How precise: price, margin and worth before paying; what would help; tries; what results say about themselves."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest

import pydplib as dp
from pydplib.release.facts import Facts
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.figures import worth_of
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import ask, release_of
from pydplib.web.analyses.payments.sessions import open_session
from pydplib.web.analyses.question_form.precision import counted_groups, ladder_of
from pydplib.web.auditlog.models import Line
from pydplib.web.ledger import models as rows

MEAN = {"kind": "mean", "field": "age", "by1": "pirads"}


@pytest.fixture
def sized(study: Any) -> Any:
    """The study with a declared size, as large as the demonstration's."""
    snapshot = study.project.snapshots.get()
    snapshot.schema = (
        dp.Schema.from_json(snapshot.schema)
        .__class__.from_dict({**dp.Schema.from_json(snapshot.schema).to_dict(), "size": 920})
        .to_json()
    )
    snapshot.save(update_fields=["schema"])
    study.project.rules.filter(audience="third_party").update(epsilon_per_question=1.0)
    return study


def _text(page: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


def test_the_slider_proposes_the_cheapest_useful_step_and_shows_every_group(sized: Any, tara: Any) -> None:
    page = tara.get("/analyses/new", MEAN).content.decode()
    words = _text(page)
    session, _ = open_session(sized.project, tara.user, tara.place, preview=True)
    ladder = ladder_of(session, dp.Mean("age", by="pirads"))
    assert ladder.step.outlook.is_useful and not ladder.steps[ladder.chosen - 1].outlook.is_useful
    assert f"{ladder.step.margin} for {ladder.step.points} of 100 points" in words
    assert page.count('class="lights"') == 1 and page.count("± ") >= 6 + len(ladder.steps)
    assert ladder.step.outlook.margin is not None and ladder.step.outlook.margin <= 82 / 4
    assert not rows.Entry.objects.exists(), "nothing was spent"


def test_a_useless_step_is_flagged_before_paying_and_better_ones_are_one_click_away(sized: Any, tara: Any) -> None:
    page = tara.get("/analyses/new", {**MEAN, "precision": "2"}).content.decode()
    assert "This answer would not be useful" in page and "a range of 82 years" in page
    links = [unescape(link) for link in re.findall(r'<li><a href="/analyses/new\?([^"]+)"', page)]
    assert len(links) == 3
    lights = []
    for link in links:
        better = tara.get(f"/analyses/new?{link}").content.decode()
        assert "This answer would not be useful" not in better and "Ask and pay" in better
        lights.append("Useful" in better)
    assert any(lights)
    assert {"by1" in parse_qs(link) for link in links} == {True, False}, "fewer groups are among them"


def test_the_step_that_was_chosen_is_what_is_paid(sized: Any, tara: Any, pay: Any) -> None:
    session, _ = open_session(sized.project, tara.user, tara.place, preview=True)
    steps = ladder_of(session, dp.Mean("age", by="pirads")).steps
    untouched = tara.get("/analyses/new", {**MEAN, "precision": "3", "proposed": "3"}).content.decode()
    assert "would not be useful" not in untouched, "a place that nobody chose follows the question"
    assert pay(tara, **MEAN, precision="7").status_code == 302
    spent = rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon
    assert spent == round(steps[7].epsilon * 1e9)
    assert release_of(Analysis.objects.get()).epsilon == steps[7].epsilon
    place_alone = {**MEAN, "accuracy": "slider", "precision": "2", "agreed": "900000000"}
    assert tara.post("/analyses/new", place_alone).status_code == 422, "a place is no price"
    assert rows.Account.objects.get(recipient=tara.user.hospital.key).nano_epsilon == spent


def test_lights_come_from_counts_that_were_paid_for_and_from_nobody_elses(sized: Any, tara: Any, partner: Any) -> None:
    question = dp.Mean("age", by="pirads")
    schema = dp.Schema.from_json(sized.project.snapshots.get().schema)
    facts, snapshot = Facts.of(question, schema), sized.project.snapshots.get().key

    def known(user: Any) -> list[float]:
        return counted_groups(sized.project, user.hospital.key, snapshot, question, facts)

    other = partner("rita", "third_party", "Rival")
    assert known(tara.user) == []
    made = ask(sized.project, tara.user, tara.place, dp.Count(by="pirads"), Accuracy(epsilon=0.5))
    release = release_of(made)
    assert known(tara.user) == [float(one) for one in release.noisy or ()]
    assert known(other.user) == [], "a noisy count is its payer's"
    page = tara.get("/analyses/new", MEAN).content.decode()
    assert "by the noisy counts that you have paid for" in page
    narrowed = {**MEAN, "where1": "bph", "op1": "is_in", "values1": ["1"]}
    assert "by the noisy counts" not in tara.get("/analyses/new", narrowed).content.decode()


def test_percentages_say_of_what(tara: Any) -> None:
    assert "10 to 20 % of the range of values" in tara.get("/analyses/new", MEAN).content.decode()
    assert "10 to 20 % of a group of average size" in tara.get("/analyses/new").content.decode()


def test_a_result_that_is_worth_little_says_so_in_amber_and_rounds_its_file(sized: Any, tara: Any, pay: Any) -> None:
    answer = tara.get(pay(tara, **MEAN, accuracy="epsilon", epsilon="0.01").url)
    page = answer.content.decode()
    assert "too noisy to use" in page and "Paid and answered" not in page
    made = Analysis.objects.get()
    assert worth_of(release_of(made)).is_little
    cells = tara.get(f"/analyses/{made.key}/download/csv").content.decode().splitlines()[1].split(",")
    assert all(len(cell) <= 5 for cell in cells), cells
    pay(tara, kind="mean", field="age", accuracy="epsilon", epsilon="0.5")
    exact = release_of(Analysis.objects.latest("pk"))
    (line,) = tara.get(f"/analyses/{Analysis.objects.latest('pk').key}/download/csv").content.decode().splitlines()[1:]
    assert len(str(exact.values[0])) > 8 and len(line.split(",")[0]) <= 6, "JSON keeps every digit"
    good = tara.get(pay(tara, kind="count", accuracy="epsilon", epsilon="0.5").url).content.decode()
    assert "too noisy" not in good and "Paid and answered" in good


# -- try before you pay ------------------------------------------------------------------------------


def test_a_try_reads_no_data_pays_nothing_and_is_marked(sized: Any, tara: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.analyses.payments import sessions
    from pydplib.web.intake import snapshots

    def look(*arguments: Any, **more: Any) -> None:
        pytest.fail("a try looked at the data")

    for module in (sessions, snapshots):
        monkeypatch.setattr(module, "load_snapshot", look)
    asked: list[dict[str, Any]] = [
        MEAN,
        {"kind": "count"},
        {"kind": "histogram", "field": "age"},
        {"kind": "crosstab", "field": "age", "by1": "pirads"},
        {"kind": "median", "field": "age", "by1": "bph"},
        {"kind": "count", "by1": "last_modified"},
        {**MEAN, "rule": "first", "order": "last_modified"},
    ]
    for fields in asked:
        answer = tara.get("/analyses/try", fields)
        page = answer.content.decode()
        assert answer.status_code == 200 and "cannot be tried" not in page, fields
        assert "no patient is in them" in page and "none of these numbers comes from" in unescape(page)
        assert "<td" in page
    assert not rows.Entry.objects.exists() and not Analysis.objects.exists()
    assert tara.get("/analyses/try", {"kind": "mean"}).status_code == 422


def test_a_try_of_a_closed_field_is_refused(sized: Any, tara: Any) -> None:
    sized.project.rules.filter(audience="third_party").update(fields=["pirads"], filters=["year"])
    assert tara.get("/analyses/try", MEAN).status_code == 422


def test_a_try_on_a_bought_table_is_about_its_rows_alone(study: Any) -> None:
    from pydplib.web.analyses.question_form.trials import TrialTable, try_out

    schema = dp.Schema.from_json(study.project.snapshots.get().schema)
    rows = {"age": [40] * 3_000 + [80] * 3_000, "bph": [True] * 3_000 + [False] * 3_000}
    bought = TrialTable("k", "Synthetic table of Age, BPH", rows)
    release = try_out(dp.Mean("age", by="bph"), schema, 2.0, size=None, table=bought)
    assert dict(zip(release.keys, map(round, release.values), strict=True)) == {(False,): 80, (True,): 40}
    with pytest.raises(dp.errors.QuestionError):
        try_out(dp.Mean("age", by="pirads"), schema, 2.0, size=None, table=bought)


# -- does the conclusion survive? --------------------------------------------------------------------


def test_owners_see_whether_order_and_direction_survive_and_it_is_logged(
    study: Any, owner: Any, tara: Any, pay: Any
) -> None:
    pay(tara, kind="count", by1="pirads", accuracy="epsilon", epsilon="0.5")
    made = Analysis.objects.get()
    page = owner.post(f"/analyses/{made.key}/original").content.decode()
    card = _text(page[page.index("Does the conclusion survive?") :])
    assert "Collaborator" in card and "Third party" in card and "Highest above lowest" in card
    assert Line.objects.filter(action="analysis.conclusion", subject=made.key).count() == 1
    assert "Does the conclusion survive" not in owner.get(f"/analyses/{made.key}").content.decode(), "it is not kept"
    assert tara.post(f"/analyses/{made.key}/original").status_code == 403
    assert "Does the conclusion survive" not in tara.get(f"/analyses/{made.key}").content.decode()


def test_a_clear_order_survives_and_an_even_one_does_not(study: Any) -> None:
    import pandas as pd

    from pydplib.web.analyses.conclusions import conclusions_of

    schema = dp.Schema({"group": dp.Category(["a", "b", "c"])}, name="t")
    told = {}
    for name, sizes in {"clear": (100, 5_000, 20_000), "even": (1_000, 1_001, 1_002)}.items():
        frame = pd.DataFrame({"group": [key for key, n in zip("abc", sizes, strict=True) for _ in range(n)]})
        question = dp.Count(by="group")
        with dp.load(frame, schema) as table:
            exact = [*sizes, 0][: Facts.of(question, schema).cells]
            found = conclusions_of(question, schema, table, exact, study.project.policy, project=study.project.key)
        told[name] = {each.role: each for each in found}
    for role in ("Collaborator", "Third party"):
        assert told["clear"][role].direction == 100 and told["clear"][role].highest == "c"
        assert told["even"][role].order < 60


def test_an_answer_that_is_there_is_pointed_out_before_another_one_is_paid(sized: Any, tara: Any, pay: Any) -> None:
    assert "You have an answer to this" not in tara.get("/analyses/new", MEAN).content.decode()
    where = pay(tara, **MEAN, precision="8").url
    page = tara.get("/analyses/new", {**MEAN, "precision": "5"}).content.decode()
    assert "You have an answer to this" in page and f'href="{where}"' in page
    other = tara.get("/analyses/new", {**MEAN, "by1": "bph"}).content.decode()
    assert "You have an answer to this" not in other
