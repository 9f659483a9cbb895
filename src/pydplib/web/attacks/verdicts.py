"""The verdict in words: what the guarantees allow, what the attacks found, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydplib.attack import AUDIENCES
from pydplib.policy import ROLES
from pydplib.web.attacks.giving import Given


def verdict_of(given: Given, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return tone, headline and reasons: ``good``, ``warning`` (something is open) or ``danger`` (too much).

    Examples:
        >>> verdict_of(Given("acme", "Acme", ("third_party",), own=0.2), {"tables": [], "missed": []})["tone"]
        'good'
        >>> verdict_of(Given("acme", "Acme", ("third_party",), own=9.0), {"tables": [], "missed": []})["tone"]
        'danger'
    """
    role = given.least_trusted
    audience, title = AUDIENCES[role], ROLES[role].title.lower()
    bad: list[str] = []
    open_: list[str] = []
    good: list[str] = []
    if given.epsilon > audience.epsilon + 1e-12 and audience.attacks:
        bad.append(
            f"The statistics lose epsilon {given.epsilon:.4g} in all; we advise {audience.epsilon:g} at most for a "
            f"{title} (the policy is yours, and may allow more). "
            f"The best guess whether a person is in the data can be right in {given.percent} of the cases."
        )
    elif given.epsilon > 0:
        good.append(
            f"Whatever else somebody knows, from the statistics the best guess whether a person is in the data is "
            f"right in at most {given.percent} of the cases; a coin is in 50 %."
        )
    elif not given.whole:
        good.append("No statistics were given yet.")
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
        tone, headline = "warning", "Nothing too much was found, but not everything was tried"
    else:
        tone, headline = "good", "Nothing was found that this recipient should not learn"
    if given.whole:
        headline = f"If the whole budget is spent: {headline[0].lower()}{headline[1:]}"
    return {"tone": tone, "headline": headline, "reasons": [*bad, *open_, *good]}
