"""Tags: what they show, and that values are escaped."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.paginator import Paginator
from django.template import Context, Template
from django.test import RequestFactory
from page_markup import Page

from pydplib import plot
from pydplib.policy import LABELS, ROLES
from pydplib.web.design.badges import BADGES, badge_for

EVIL = "<img src=x onerror=alert(1)>"


def show(source: str, **values: Any) -> Page:
    return Page(Template("{% load design figures %}" + source).render(Context(values)))


@pytest.mark.parametrize("name", [*ROLES, *LABELS])
def test_every_role_and_output_label_has_a_badge_in_its_own_words(name: str) -> None:
    assert name in BADGES
    if name in ROLES:
        assert BADGES[name].text == ROLES[name].title
        assert badge_for(ROLES[name].title) == BADGES[name]


@pytest.mark.parametrize(
    "source",
    [
        "{% badge v %}",
        "{% button v %}",
        "{% button v href=v icon=v %}",
        "{% card title=v hint=v href=v %}{{ v }}{% endcard %}",
        "{% alert title=v %}{{ v }}{% endalert %}",
        "{% empty_state title=v %}{{ v }}{% endempty_state %}",
        "{% table caption=v %}<tbody><tr><td>{{ v }}</td></tr></tbody>{% endtable %}",
        "{% data_table columns rows caption=v %}",
        "{% stat v v hint=v %}",
        "{% key_values pairs %}",
        "{% tabs items label=v %}",
        "{% breadcrumb pairs %}",
        "{% stepper steps 2 label=v %}",
        "{% timeline events %}",
        "{% progress 3 v hint=v %}",
        "{% budget_bar 1 1 3 words=v %}",
        "{% secret v v hint=v id=v %}",
        "{% copy_button v v %}",
        "{% confirm id=v title=v action=v label=v word=v %}{{ v }}{% endconfirm %}",
        "{% icon v label=v %}",
        "{% figure drawing columns rows id='f' %}",
    ],
)
def test_values_in_tags_are_escaped(source: str) -> None:
    page = show(
        source,
        v=EVIL,
        pairs=[(EVIL, EVIL), (EVIL, EVIL)],
        columns=[EVIL],
        rows=[[EVIL]],
        items=[{"label": EVIL, "url": EVIL, "count": EVIL, "icon": EVIL}],
        steps=[(EVIL, EVIL), EVIL],
        events=[{"title": EVIL, "when": EVIL, "who": EVIL, "text": EVIL, "icon": EVIL, "url": EVIL}],
        drawing=plot.bar([EVIL], {EVIL: [1]}, title=EVIL, caption=EVIL),
    )
    assert page.all("img") == []
    assert "<img" not in page.html


def test_icon_alone_has_a_name_and_else_is_silent() -> None:
    assert show('{% icon "check" %}').all("svg")[0].attributes["aria-hidden"] == "true"
    named = show('{% icon "check" label="Done" %}').all("svg")[0].attributes
    assert (named["role"], named["aria-label"]) == ("img", "Done")


def test_pagination_keeps_the_rest_of_the_query() -> None:
    request = RequestFactory().get("/reports", {"status": "signed", "page": "2"})
    page = show("{% pagination page %}", page=Paginator(list(range(100)), 10).page(2), request=request)
    links = {link.attributes["href"] for link in page.all("a")}
    assert "?status=signed&page=3" in links and "?status=signed&page=1" in links


def test_pagination_of_one_page_shows_nothing() -> None:
    assert show("{% pagination page %}", page=Paginator([1], 10).page(1)).all("nav") == []


@pytest.mark.parametrize(
    ("spent", "asked", "total", "widths"),
    [
        (0.5, 0.25, 1, ["100%", "50.00%", "25.00%"]),
        (0.9, 0.5, 1, ["100%", "90.00%", "10.00%"]),
        (0, 0, 0, ["100%", "0.00%"]),
    ],
)
def test_budget_bar_never_runs_over_its_end(spent: float, asked: float, total: float, widths: list[str]) -> None:
    page = show("{% budget_bar spent asked total %}", spent=spent, asked=asked, total=total)
    assert [rect.attributes["width"] for rect in page.all("rect")] == widths


def test_stepper_marks_the_current_step_and_links_only_back() -> None:
    page = show("{% stepper steps 2 %}", steps=[("File", "/a"), ("Columns", "/b"), ("Done", "/c")])
    assert [link.attributes["href"] for link in page.all("a")] == ["/a"]
    assert [item.text for item in page.all("li") if item.attributes.get("aria-current")] == ["2Columns"]


@pytest.mark.parametrize(
    ("spent", "asked", "total", "words"),
    [
        (0.719858, 0.5, 2, ["36</strong> spent", "25</strong>", "39</strong> of 100 points left after"]),
        (1.999999999, 0, 2, ["100</strong> spent", "0</strong> of 100 points left"]),
        (0, 0, 2, ["0</strong> spent", "100</strong> of 100 points left"]),
    ],
)
def test_budget_bar_rounds_never_to_the_readers_favour(
    spent: float, asked: float, total: float, words: list[str]
) -> None:
    page = show("{% budget_bar spent asked total %}", spent=spent, asked=asked, total=total).html
    assert all(f"<strong>{word}" in page for word in words), page
    assert f"It is ε {total} (epsilon" in page, "epsilon is one click away"


def test_long_names_of_fields_may_break_at_their_words() -> None:
    page = show("{% key_values items %}", items=[("Number_of_Lesions", 2), ("LastModified<", "x")]).html
    assert "Number_<wbr>of_<wbr>Lesions" in page
    assert "Last<wbr>Modified&lt;" in page


def test_day_of_a_moment_is_written_as_on_all_pages() -> None:
    assert show("{{ moment|day }}", moment="2026-11-16T02:46:14+00:00").html == "16 November 2026"
    assert show("{{ moment|day }}", moment="never").html == "never"


def test_data_table_sets_numbers_right_and_says_what_is_missing() -> None:
    page = show("{% data_table c r caption='T' %}", c=["day", "n"], r=[["Mon", 3], ["Tue", None]])
    assert [cell.attributes.get("class") for cell in page.all("td")] == ["num", "num"]
    assert page.all("td")[1].text == "–"


def test_confirm_sends_the_token_of_the_page() -> None:
    page = show('{% confirm id="x" title="Sure?" action="/go" label="Go" %}Really.{% endconfirm %}', csrf_token="t0ken")
    form = page.all("form")[0]
    assert (form.attributes["method"], form.attributes["action"]) == ("post", "/go")
    assert page.all("input")[0].attributes["value"] == "t0ken"


@pytest.mark.parametrize(
    ("cookie", "expected"), [("dark", 'data-theme="dark"'), ("light", 'data-theme="light"'), (EVIL, "")]
)
def test_look_is_taken_from_the_cookie_if_it_is_one(cookie: str, expected: str) -> None:
    request = RequestFactory().get("/")
    request.COOKIES["pydplib_theme"] = cookie
    html = Template("{% load design %}<html{% theme_attribute %}>").render(Context({"request": request}))
    assert html == (f"<html {expected}>" if expected else "<html>")


def test_figure_has_a_table_twin_and_no_cloud() -> None:
    page = show(
        "{% figure drawing c r id='f' %}{% figure_scripts %}",
        drawing=plot.bar(["a"], {"n": [1]}, title="T"),
        c=["x", "n"],
        r=[["a", 1]],
    )
    assert len(page.all("table")) == 1
    assert '"showSendToCloud": false' in page.html and '"plotlyServerURL": ""' in page.html
    assert all(
        "src" in script.attributes or script.attributes["type"] == "application/json" for script in page.all("script")
    )
