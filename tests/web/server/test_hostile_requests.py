"""Requests that no page of ours sends: an answer for them, never a fault."""

from __future__ import annotations

from typing import Any

import pytest

from pydplib.capture import builtin, builtin_names
from pydplib.errors import TemplateError

ZERO = "\0"
ODD = "\u00b2"  # str.isdigit() is true of it, and int() fails


@pytest.fixture
def owner(member: Any) -> Any:
    from pydplib.web.reporting.report_templates.versions import add_template

    client = member("owner")
    client.raise_request_exception = False
    add_template(client.user.memberships.get().project, builtin("pirads-2.1"), actor="system")
    return client


@pytest.mark.parametrize(
    "address",
    ["/data?project=%00", "/data?department=%00", "/hospital/people/a%00b", "/templates/%00", "/reports?author=%00"],
)
def test_address_with_a_zero_byte_is_a_bad_request(owner: Any, address: str) -> None:
    response = owner.get(address)

    assert response.status_code == 400
    assert response.headers["Content-Security-Policy"]


def test_posted_zero_byte_finds_nothing(owner: Any) -> None:
    assert owner.post("/reports/new", {"project": ZERO, "identifier": "x"}).status_code == 404
    assert owner.post("/demo/person", {"person": ZERO}).status_code == 404


@pytest.mark.parametrize("address", ["/reports?until=9999-12-31", "/audit?until=9999-12-31&since=0001-01-01"])
def test_last_day_of_all_is_a_filter_like_others(owner: Any, address: str) -> None:
    assert owner.get(address).status_code == 200


def test_digits_that_are_no_numbers_change_nothing(owner: Any) -> None:
    key = owner.post("/reports/new", {"identifier": "A 17", "new_patient": "A 17"}).headers["Location"].split("/")[2]

    saved = owner.post(f"/reports/{key}/autosave", {"revision": "0", "do": f"remove:lesion/{ODD}"})

    assert saved.status_code == 200
    assert owner.get(f"/reports/{key}?version={ODD}").status_code == 404
    assert owner.post("/account/sessions/end", {"session": ODD}).status_code == 404


def test_template_whose_names_have_thousands_of_parts_is_refused_at_once() -> None:
    from pydplib.web.reporting.report_templates.versions import read_upload

    for part in ("a.", '"a b" . ', "a\t .  "):
        with pytest.raises(TemplateError, match="parts between dots"):
            read_upload(f"{part * 5000}b=1".encode())


def test_template_with_thousands_of_questions_is_refused_before_it_is_linted() -> None:
    from pydplib.web.reporting.report_templates.versions import read_upload

    items = ",".join(f'{{"id":"q{n}","title":"t","kind":"integer","low":0,"high":5}}' for n in range(3000))

    with pytest.raises(TemplateError, match="at most 2000"):
        read_upload(f'{{"id":"t","version":"1","title":"T","items":[{items}]}}'.encode())


@pytest.mark.parametrize("sign", ["\\ud800", "\\u0000"])
def test_template_with_what_no_page_can_show_is_refused(owner: Any, sign: str) -> None:
    item = '{"id":"q","title":"t","kind":"integer","low":0,"high":5}'
    text = f'{{"id":"t","version":"1","title":"T{sign}","items":[{item}]}}'

    response = owner.post("/templates/new", {"text": text})

    assert response.status_code == 422
    assert "characters that are not text" in response.content.decode()


@pytest.mark.parametrize("name", builtin_names())
def test_our_own_templates_stay_readable(name: str) -> None:
    from pydplib.web.reporting.report_templates.versions import read_upload

    for text in (builtin(name).to_toml(), builtin(name).to_json()):
        assert read_upload(text.encode()).ok
