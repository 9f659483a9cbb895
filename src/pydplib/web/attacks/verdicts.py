"""The verdict in words: what the guarantees allow, what the attacks found, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydplib.attack import AUDIENCES
from pydplib.policy import ROLES
from pydplib.web.attacks.recipients import Given


def verdict_of(given: Given, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return tone, headline and reasons: ``good``, ``warning`` (something is open) or ``danger`` (too much).

    Examples:
        >>> verdict_of(Given("acme", "Acme", ("third_party",), epsilon=0.2), {"tables": [], "missed": []})["tone"]
        'good'
        >>> verdict_of(Given("acme", "Acme", ("third_party",), epsilon=9.0), {"tables": [], "missed": []})["tone"]
        'danger'
        >>> found = verdict_of(Given("acme", "Acme", ("third_party",), epsilon=1.0), {"tables": [], "missed": []})
        >>> "from 50 % to at most 73.2 %" in found["reasons"][0]
        True
    """
    role = given.least_trusted
    audience, title = AUDIENCES[role], ROLES[role].title.lower()
    bad: list[str] = []
    open_: list[str] = []
    much = False
    good: list[str] = []
    limit = audience.epsilon if given.allowed is None else given.allowed
    lost = f"The statistics lose epsilon {given.epsilon:.4g} in total"
    guess = f"A guess whether a person is in the data can get surer {given.surer}, whatever else somebody knows."
    if not audience.attacks or given.epsilon <= 0:
        if not given.whole and given.epsilon <= 0:
            good.append("No statistics were given yet.")
    elif given.epsilon > limit + 1e-9:
        bad.append(f"{lost}; the policy allows {limit:.4g}. {guess}")
    elif given.epsilon > audience.epsilon + 1e-9:
        much = True
        open_.append(
            f"{lost}: within the {limit:.4g} that the policy allows, but more than the {audience.epsilon:g} of one "
            f"default budget for a {title}, because it was raised. {guess}"
        )
    else:
        good.append(f"{lost}, within the {limit:.4g} that the policy allows. {guess}")
    for table in result["tables"]:
        for verdict in table["verdicts"]:
            where = {"yes": good, "no": bad}.get(verdict["answer"], open_)
            where += [f"'{table['title']}': {reason}" for reason in verdict["reasons"]]
        if table.get("unfinished"):
            open_.append(f"'{table['title']}': {len(table['unfinished'])} attacks have no result.")
    open_ += list(result["missed"])
    if given.unproven:
        bad.append(f"{given.unproven} outputs without any guarantee were given as well; nothing bounds what they tell.")
    if bad:
        tone, headline = "danger", "More than this recipient should be able to learn"
    elif open_:
        headline = "Nothing too much was found, but not everything was tried"
        tone, headline = "warning", "Within the policy, but a guess about a person can get good" if much else headline
    else:
        tone, headline = "good", "Nothing was found that this recipient should not learn"
    if given.whole:
        headline = f"If the whole budget is spent: {headline[0].lower()}{headline[1:]}"
    return {"tone": tone, "headline": headline, "reasons": [*bad, *open_, *good]}
