"""A budget at 80 % is said to those whom it concerns; one that two owners raised counts at once."""

from __future__ import annotations

from typing import Any

import pytest

AGES = {"kind": "histogram", "field": "age", "accuracy": "epsilon"}


@pytest.mark.parametrize(("epsilon", "low"), [("0.39", False), ("0.4", True)])
def test_a_budget_at_80_percent_is_said_to_partner_and_owner(
    study: Any, tara: Any, owner: Any, pay: Any, epsilon: str, low: bool
) -> None:
    study.project.rules.filter(audience="third_party").update(budget=0.5)
    assert pay(tara, **AGES, epsilon=epsilon).status_code == 302
    for client in (tara, owner):
        assert (b"Running low" in client.get(f"/budget?project={study.project.key}").content) == low


def test_a_raised_budget_counts_in_the_next_price_and_on_the_budget_page(study: Any, tara: Any, pay: Any) -> None:
    rule = study.project.rules.filter(audience="third_party")
    rule.update(budget=0.5)
    assert pay(tara, **AGES, epsilon="0.4").status_code == 302
    asked = {**AGES, "field": "year", "epsilon": "0.4"}
    assert b"The budget cannot pay for this" in tara.get("/analyses/new", asked).content
    rule.update(budget=1.0)
    page = tara.get("/analyses/new", asked).content
    assert b"Ask and pay" in page and b"cannot pay" not in page
    assert b"Running low" not in tara.get("/budget").content
    assert pay(tara, **asked).status_code == 302
    rule.update(budget=0.6)  # lower than what was spent: nothing more, and nothing is given back
    assert b"The budget cannot pay for this" in tara.get("/analyses/new", {**AGES, "epsilon": "0.1"}).content
