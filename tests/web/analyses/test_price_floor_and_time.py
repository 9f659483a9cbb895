"""The least price, the most questions per day, and answers that take whole steps of time."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

import pydplib as dp
from pydplib.errors import QuestionError
from pydplib.release.joint.purchases import Together
from pydplib.release.prices import Accuracy
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments import purchases as asking
from pydplib.web.analyses.payments.joint_purchases import ask_all
from pydplib.web.analyses.payments.prices import quote
from pydplib.web.analyses.payments.purchases import TooManyQuestionsError, ask


def settings_with(**changes: Any) -> Any:
    from django.conf import settings

    return override_settings(CONFIGURATION=replace(settings.CONFIGURATION, **changes))


def test_a_privacy_loss_below_the_least_price_is_refused_before_anything_is_spent(study: Any, partner: Any) -> None:
    tara = partner()
    for act in (quote, ask):
        with pytest.raises(QuestionError, match=r"at least epsilon 0\.001"):
            act(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=1e-5))
    assert not Analysis.objects.filter(recipient=tara.user.hospital.key).exists()
    assert quote(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.001)).total == 1_000_000


def test_a_margin_that_would_cost_less_is_asked_at_the_least_price(study: Any, partner: Any) -> None:
    tara = partner()
    with settings_with(least_epsilon=0.2):
        found = quote(study.project, tara.user, tara.place, dp.Count(), Accuracy(margin=300.0))
        assert found.total == 200_000_000
        made = ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(margin=300.0))
    assert asking.release_of(made).cost.epsilon == pytest.approx(0.2)


def test_questions_beyond_the_most_per_day_wait_and_repeated_ones_are_free(study: Any, partner: Any) -> None:
    tara = partner()
    with settings_with(questions_per_day=2):
        first = ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.01))
        ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.02))
        with pytest.raises(TooManyQuestionsError, match="2 paid questions"):
            ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.03))
        assert ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.01)) == first
        other = partner("rita", organisation="Rival")
        ask(study.project, other.user, other.place, dp.Count(), Accuracy(epsilon=0.03))


def test_tables_that_are_bought_together_are_as_many_questions(study: Any, partner: Any) -> None:
    tara, together = partner(), [dp.Count(), dp.Count(by="bph"), dp.Count(by="pirads")]
    with settings_with(questions_per_day=3):
        ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.01))
        with pytest.raises(TooManyQuestionsError, match="3 questions, and your organisation may ask 2 more today"):
            ask_all(study.project, tara.user, tara.place, together, Together(epsilon=0.02))
        assert Analysis.objects.filter(recipient=tara.user.hospital.key).count() == 1
        bought = ask_all(study.project, tara.user, tara.place, together[:2], Together(epsilon=0.02))
        again = ask_all(study.project, tara.user, tara.place, together[:2], Together(epsilon=0.02))
        assert again.payload == bought.payload


def test_answer_takes_a_multiple_of_the_step_whatever_it_read(
    study: Any, partner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tara = partner()
    clock, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", sleep)
    real = asking._ask

    for number, took in enumerate((0.01, 0.3, 0.7, 1.2)):

        def slow(*args: Any, took: float = took, **more: Any) -> Any:
            clock[0] += took
            return real(*args, **more)

        monkeypatch.setattr(asking, "_ask", slow)
        began = clock[0]
        with settings_with(answer_seconds=0.5):
            ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.01 + number / 1000))
        whole = (clock[0] - began) / 0.5
        assert whole == pytest.approx(round(whole)) and whole >= 1
    assert len(slept) == 4


def test_refusal_takes_whole_steps_too(study: Any, partner: Any) -> None:
    tara = partner()
    began = time.monotonic()
    with settings_with(answer_seconds=0.2), pytest.raises(QuestionError):
        ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=1e-5))
    assert time.monotonic() - began >= 0.19


def test_list_of_many_analyses_is_paged_by_the_database(study: Any, partner: Any, sign_in: Any) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from pydplib.web.analyses.visibility import visible

    tara, rita = partner(), partner("rita", organisation="Rival")
    first = ask(study.project, tara.user, tara.place, dp.Count(), Accuracy(epsilon=0.01))

    def add(number: int) -> None:
        for place in range(number):
            first.pk, first.key, first.digest = None, f"{Analysis.objects.count():016x}", f"{place}-{number}"
            first.save(force_insert=True)

    counts = []
    for number in (30, 300):
        add(number)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            found = visible(study.project, tara.user, tara.place)
            page = list(found[:25])
            assert len(page) == 25 and found.count() == Analysis.objects.count()
        counts.append(len(asked))
    assert counts[0] == counts[1], "as many questions to the database for ten times as many answers"
    assert any("LIMIT 25" in each["sql"] for each in asked), "a page is read, not all of them"
    assert visible(study.project, rita.user, rita.place).count() == 0
