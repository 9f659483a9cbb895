"""From outside, a study without a single report looks like a full one: same status, shape and words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from study_world import make_partner, make_study

ASKED = {
    "count": {"kind": "count", "by1": "pirads"},
    "where": {"kind": "count", "where1": "age", "op1": "at_least", "low1": "60"},
    "histogram": {"kind": "histogram", "field": "age", "bins_age": "40, 60, 80"},
    "crosstab": {"kind": "crosstab", "field": "age", "by1": "bph", "bins_age": "40, 60, 80"},
    "sum": {"kind": "sum", "field": "age"},
    "median": {"kind": "median", "field": "age", "by1": "bph"},
    "quantiles": {"kind": "quantiles", "field": "age"},
    "mean": {"kind": "mean", "field": "age"},
}

WORTH = re.compile(
    r'<div class="alert (?:(?!<div class="alert ).)*?'
    r"(?:Ask for a better one</a>.</p>|Paid and answered[^<]*)(?:</div>){3}\s*",
    re.S,
)
"""What a page says about the worth of its released number; thanks stand only where that is not little."""


def _words(page: str, project: Any) -> str:
    """Return a page without what is random or released: numbers, keys, and what is said about noisy numbers."""
    page = re.sub(r'<script type="application/json".*?</script>', "<figure/>", page, flags=re.S)
    page = page.replace(project.key, "PROJECT")
    page = re.sub(r'csrfmiddlewaretoken" value="[^"]+"|X-CSRFToken": "[^"]+"', "TOKEN", page)
    page = re.sub(r"/(analyses|receipts)/[0-9a-f]{16,64}", r"/\1/KEY", page)
    page = re.sub(r"analysis-[0-9a-f]{16}", "analysis-KEY", page)
    page = re.sub(r"Noise alone could have made these groups[^<]*", "", page)
    page = re.sub(r' In small groups chance[^<]*|<p class="hint">[^<]*worth little[^<]*</p>', "", page)
    page = WORTH.sub("", page)
    page = re.sub(r"[\d.,]+ to [\d.,]+(?=\)?</(?:td|p)>)", "± 0", page)  # the interval of a number near its bound
    return re.sub(r"\s+", " ", re.sub(r"-?\d[\d .,]*", "0", page))


@pytest.fixture
def worlds(db: None, make_user: Any, sign_in: Any) -> Any:
    """An empty and a full study of two owners, and the same partner in both."""
    found = {}
    for name, reports in (("qalpha", 0), ("qomega", 240)):
        project = make_study(make_user(f"owner-{name}", is_hospital_owner=True), reports=reports)
        found[name] = project, sign_in(make_partner(project, f"tara-{name}", organisation=f"Acme {name}"))
    return found


def test_status_shape_and_words_do_not_tell_empty_from_full(worlds: Any, pay: Any) -> None:
    seen: dict[str, dict[str, Any]] = {}
    for name, (project, client) in worlds.items():
        seen[name] = {}
        for kind, asked in ASKED.items():
            whole = {**asked, "accuracy": "epsilon", "epsilon": "0.2"}
            steps = [client.get("/analyses/new", whole), paid := pay(client, **whole)]
            steps += [client.get(paid.url + end) for end in ("", "/download/csv", "/download/json")]
            pages = [_words(step.content.decode(), project).replace(name, "NAME") for step in steps]
            seen[name][kind] = [step.status_code for step in steps], pages[:3], len(steps[3].content.splitlines())
        for page in ("/analyses", "/budget", "/"):
            answer = client.get(page)
            seen[name][page] = answer.status_code, [_words(answer.content.decode(), project).replace(name, "NAME")], 0
    for kind, (status, pages, lines) in seen["qalpha"].items():
        other = seen["qomega"][kind]
        assert (status, lines) == (other[0], other[2]), kind
        for empty, full in zip(pages, other[1], strict=True):
            assert re.findall(r"<\w+", empty) == re.findall(r"<\w+", full), f"{kind}: the same tags in the same order"
            assert empty == full, kind
