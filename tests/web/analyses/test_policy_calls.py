"""The policy is asked once for all fields of a form, by every request again; a payment passes few packages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pydplib.web.analyses.models import Analysis

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))

import walk  # noqa: E402

FIELDS = ("age", "pirads")
MOST = 250
"""Calls of policy functions in one request; with one question to the policy per field they were about 700."""


SWITCHES = 300
"""Times that a payment passes from one package to another; with everything asked again and again they were 1,260."""


def _walks(client: Any) -> dict[str, walk.Walk]:
    return dict(walk.partner_walks(client, ROOT / "src"))


def test_price_and_payment_ask_the_policy_a_few_times_only(tara: Any) -> None:
    found = _walks(tara)
    calls = {name: counted.policy_calls for name, counted in found.items()}
    assert all(0 < number <= MOST for number in calls.values()), calls
    assert 0 < found["payment"].switches <= SWITCHES, found["payment"].switches
    assert Analysis.objects.count() == 1


def test_one_question_to_the_policy_per_field_would_be_noticed(tara: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.policy import may_flow
    from pydplib.policy.flow import FlowSource
    from pydplib.web.analyses.question_form import offers as offering

    def one_by_one(source: FlowSource, *asked: Any, **more: Any) -> tuple[set[str], set[str]]:
        def opens(**names: Any) -> bool:
            return bool(may_flow(FlowSource(source.project, identifiers=source.identifiers, **names), *asked, **more))

        return (
            {name for name in source.fields if opens(fields=[name])},
            {name for name in source.filters if opens(filters=[name])},
        )

    monkeypatch.setattr(offering, "open_names", one_by_one)
    found = _walks(tara)
    assert found["price"].policy_calls > MOST and found["payment"].policy_calls > MOST


def test_a_policy_changed_after_the_price_counts_at_the_payment(study: Any, tara: Any, button: Any) -> None:
    asked = {"kind": "mean", "field": "age", "accuracy": "epsilon", "epsilon": "0.4"}
    page = tara.get("/analyses/new", asked).content.decode()
    assert '<option value="age"' in page
    rule = study.project.rules.get(audience="third_party")
    rule.fields = [name for name in FIELDS if name != "age"]
    rule.save()
    refused = tara.post("/analyses/new", button(page))
    assert refused.status_code == 422 and not Analysis.objects.exists()
    page = tara.get("/analyses/new", {"kind": "histogram"}).content.decode()
    offered = page[page.index('name="field"') : page.index("</select>", page.index('name="field"'))]
    assert 'value="pirads"' in offered and 'value="age"' not in offered
    rule.fields = list(FIELDS)
    rule.save()
    assert '<option value="age"' in tara.get("/analyses/new", {"kind": "histogram"}).content.decode()
