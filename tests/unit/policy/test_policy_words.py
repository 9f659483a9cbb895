"""Noise factors, labels and roles: the words, their order and what they mean."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pydplib.errors import ParameterError, PolicyError
from pydplib.policy import (
    DECLASSIFIERS,
    LABEL_MEANINGS,
    LABELS,
    NEW_MEMBER,
    NOISE_FACTORS,
    ROLES,
    can_declassify,
    can_edit_rights,
    can_raise_budget,
    can_read_ledger,
    can_use,
    check_declassify,
    check_edit_rights,
    check_raise_budget,
    check_read_ledger,
    check_use,
    is_within,
    join,
    label_of_noise_factor,
    parse_label,
    parse_noise_factor,
    parse_role,
)


def test_noise_factors_are_the_papers_bands_with_their_middles() -> None:
    assert [(f.number, f.name, f.band, f.target, f.role) for f in NOISE_FACTORS.values()] == [
        (0, "low", (0.0, 5.0), 0.025, "owner"),
        (1, "medium", (5.0, 10.0), 0.075, "collaborator"),
        (2, "high", (10.0, 20.0), 0.15, "third_party"),
    ]
    assert NOISE_FACTORS["low"].holds(5.0)
    assert NOISE_FACTORS["medium"].holds(5.0)
    assert not NOISE_FACTORS["high"].holds(9.99)
    assert str(NOISE_FACTORS["high"]) == "high (10 to 20 % noise)"


@pytest.mark.parametrize(
    ("word", "name"),
    [(0, "low"), ("1", "medium"), (" HIGH ", "high"), (np.uint8(2), "high"), (NOISE_FACTORS["low"], "low")],
)
def test_noise_factor_is_read_from_number_word_or_itself(word: object, name: str) -> None:
    assert parse_noise_factor(word).name == name


@pytest.mark.parametrize("word", ["hihg", 3, True, None, -1, 1.0, [2]])
def test_noise_factor_unknown_raises_and_says_what_there_is(word: object) -> None:
    with pytest.raises(ParameterError, match="0 low, 1 medium or 2 high"):
        parse_noise_factor(word)


def test_labels_are_in_order_and_each_has_a_meaning() -> None:
    assert LABELS == ("raw", "k_anonymous", "dp_low", "dp_medium", "dp_high", "public")
    assert set(LABEL_MEANINGS) == set(LABELS)
    for first, second in itertools.combinations_with_replacement(LABELS, 2):
        assert is_within(second, first)
        assert is_within(first, second) == (first == second)
        assert join([second, first]) == first
    assert join([]) == "public"


@pytest.mark.parametrize(("factor", "label"), [("low", "dp_low"), (1, "dp_medium"), ("high", "dp_high")])
def test_label_of_a_noise_factor(factor: object, label: str) -> None:
    assert label_of_noise_factor(factor) == label


def test_label_unknown_raises() -> None:
    with pytest.raises(ParameterError, match="Did you mean 'dp_high'"):
        parse_label("dp_hihg")


def test_only_release_and_anonymize_lower_a_label_and_only_from_raw() -> None:
    lowered = {
        (source, output, by)
        for source in LABELS
        for output in LABELS
        for by in (None, "release", "anonymize", "copy")
        if can_declassify(source, output, by=by) and not is_within(source, output)
    }
    assert lowered == {("raw", label, by) for by, labels in DECLASSIFIERS.items() for label in labels}
    assert not can_declassify("raw", "public", by="release")
    check_declassify("dp_high", "dp_high", by=None)
    with pytest.raises(PolicyError, match="Only 'release' and 'anonymize'"):
        check_declassify("raw", "dp_high", by="copy")


def test_roles_are_data_with_a_description() -> None:
    assert list(ROLES) == ["owner", "collaborator", "third_party", "radiologist", "data_protection_officer"]
    for name, role in ROLES.items():
        assert role.name == name
        assert role.title
        assert role.description.endswith(".")
        assert str(role) == role.title
    assert NEW_MEMBER == "third_party"


@pytest.mark.parametrize(
    ("role", "ask", "capture", "edit", "ledgers", "log", "raw", "noise"),
    [
        ("owner", True, True, True, True, True, True, "low"),
        ("collaborator", True, False, False, False, False, False, "medium"),
        ("third_party", True, False, False, False, False, False, "high"),
        ("radiologist", False, True, False, False, False, True, None),
        ("data_protection_officer", False, False, False, True, True, False, None),
    ],
)
def test_powers_of_every_role(
    role: str, ask: bool, capture: bool, edit: bool, ledgers: bool, log: bool, raw: bool, noise: str | None
) -> None:
    expected = {
        "ask": ask,
        "capture": capture,
        "edit_policy": edit,
        "read_all_ledgers": ledgers,
        "read_log": log,
        "see_raw": raw,
    }
    for power, allowed in expected.items():
        assert can_use(role, power) is allowed  # type: ignore[arg-type]
        if allowed:
            check_use(role, power)  # type: ignore[arg-type]
        else:
            with pytest.raises(PolicyError, match=r"this is for: .*owner"):
                check_use(role, power)  # type: ignore[arg-type]
    factor = parse_role(role).noise_factor
    assert (factor.name if factor else None) == noise


@pytest.mark.parametrize("role", list(ROLES))
@pytest.mark.parametrize("own", [True, False])
def test_ledgers_are_read_by_whom_they_concern_by_owners_and_by_the_officer(role: str, own: bool) -> None:
    allowed = own or role in ("owner", "data_protection_officer")
    assert can_read_ledger(role, own=own) is allowed
    if allowed:
        check_read_ledger(role, own=own)
    else:
        with pytest.raises(PolicyError, match="own ledger only"):
            check_read_ledger(role, own=own)


@pytest.mark.parametrize("role", list(ROLES))
@pytest.mark.parametrize("subject", ["ada", "bob"])
def test_rights_are_edited_by_owners_and_never_the_own_ones(role: str, subject: str) -> None:
    allowed = role == "owner" and subject != "ada"
    assert can_edit_rights(role, editor="ada", subject=subject) is allowed
    if allowed:
        check_edit_rights(role, editor="ada", subject=subject)
    else:
        with pytest.raises(PolicyError):
            check_edit_rights(role, editor="ada", subject=subject)


@pytest.mark.parametrize(
    ("approvals", "allowed"),
    [
        ({}, False),
        ({"ada": "owner"}, False),
        ({"ada": "owner", "bob": "owner"}, True),
        ({"ada": "owner", "bob": "data_protection_officer"}, False),
        ({"ada": "owner", "acme": "owner"}, False),
        ({"ada": "owner", "bob": "owner", "acme": "third_party"}, True),
    ],
)
def test_budget_is_raised_by_two_owners_other_than_whom_it_benefits(
    approvals: dict[str, object], allowed: bool
) -> None:
    assert can_raise_budget(approvals, beneficiary="acme") is allowed
    if allowed:
        check_raise_budget(approvals, beneficiary="acme")
    else:
        with pytest.raises(PolicyError, match="takes two owners"):
            check_raise_budget(approvals, beneficiary="acme")


def test_role_is_read_from_words_and_an_unknown_one_raises() -> None:
    assert parse_role("Third party").name == "third_party"
    assert parse_role(ROLES["owner"]) is ROLES["owner"]
    with pytest.raises(ParameterError, match="Did you mean 'owner'"):
        parse_role("ownr")
