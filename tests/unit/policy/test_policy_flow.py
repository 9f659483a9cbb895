"""The one door, as truth tables."""

from __future__ import annotations

import datetime as dt
import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pydplib.errors import PolicyError
from pydplib.policy import (
    LABELS,
    ROLES,
    FlowAudience,
    FlowSource,
    Output,
    Policy,
    PolicyRule,
    can_flow,
    check_flow,
    is_within,
    may_flow,
    open_names,
)
from pydplib.schema import Category, Integer, Number, Schema, Text

TODAY = dt.date(2026, 6, 30)
AGES = FlowSource("pirads", fields=["age"], identifiers=["patient_id"])

ALLOWED_BY_DEFAULT = {
    "owner": {"raw", "k_anonymous", "dp_low", "dp_medium", "dp_high", "public"},
    "collaborator": {"dp_medium", "dp_high", "public"},
    "third_party": {"dp_high", "public"},
    "radiologist": {"public"},
    "data_protection_officer": {"public"},
}


def output(label: str, epsilon: float | None = 0.1, **more: bool) -> Output:
    return Output(label, epsilon=epsilon if label.startswith("dp_") else None, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("role", "label"), list(itertools.product(ROLES, LABELS)))
def test_flow_by_default_for_every_role_and_label(role: str, label: str) -> None:
    source = AGES if label != "public" else FlowSource("pirads")
    decision = may_flow(source, FlowAudience(role), output(label), "research", policy=Policy(), on=TODAY)
    assert decision.allow is (label in ALLOWED_BY_DEFAULT[role])
    assert bool(decision) is decision.allow
    assert decision.reason.startswith("Allowed" if decision.allow else "Denied")
    assert decision.policy is not None
    assert decision.policy.audience == role


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("label", LABELS)
def test_flow_under_an_empty_policy_is_always_denied(role: str, label: str) -> None:
    decision = may_flow(AGES, FlowAudience(role), output(label), "research", policy=Policy(rules=()), on=TODAY)
    assert not decision
    assert decision.policy is None
    assert "default is no" in decision.reason


ROW = PolicyRule(
    "third_party",
    "dp_high",
    fields=("age", "pirads"),
    filters=("year",),
    epsilon_per_question=0.5,
    budget=2.0,
    expires=TODAY,
    purpose="research",
    project="pirads",
)


@pytest.mark.parametrize(
    ("change", "allow", "reason"),
    [
        ({}, True, "permits statistics with much noise"),
        ({"fields": ["age", "pirads"], "filters": ["year"]}, True, "permits"),
        ({"fields": []}, True, "permits"),
        ({"project": "lungs"}, False, "no rule mentions 'third_party'"),
        ({"role": "collaborator"}, False, "no rule mentions 'collaborator'"),
        ({"fields": ["age", "gleason", "turp"]}, False, "does not open the fields 'gleason', 'turp'"),
        ({"filters": ["age"]}, False, "does not open the filters 'age'"),
        ({"fields": ["patient_id"]}, False, "identifiers are part of no output but raw rows: 'patient_id'"),
        ({"filters": ["patient_id"]}, False, "identifiers"),
        ({"label": "dp_medium"}, False, "much noise at most, asked statistics with medium noise"),
        ({"label": "k_anonymous"}, False, "may get statistics with much noise at most"),
        ({"label": "public"}, True, "permits public facts"),
        ({"purpose": "marketing"}, False, "for the purpose 'research' only"),
        ({"on": TODAY + dt.timedelta(days=1)}, False, "expired on 2026-06-30"),
        ({"epsilon": 0.5}, True, "permits"),
        ({"epsilon": 0.5000001}, False, "may cost epsilon 0.5 at most"),
        ({"epsilon": None}, False, "must say its epsilon"),
        ({"paper_mode": True}, False, "owner has not switched them on"),
    ],
)
def test_flow_through_one_row_changes_with_every_part_of_it(
    change: dict[str, object], allow: bool, reason: str
) -> None:
    asked = {
        "project": "pirads",
        "role": "third_party",
        "fields": ["age"],
        "filters": [],
        "label": "dp_high",
        "purpose": "research",
        "on": TODAY,
        "epsilon": 0.2,
        "paper_mode": False,
        **change,
    }
    source = FlowSource(asked["project"], fields=asked["fields"], filters=asked["filters"], identifiers=["patient_id"])  # type: ignore[arg-type]
    made = Output(asked["label"], epsilon=asked["epsilon"], paper_mode=asked["paper_mode"])  # type: ignore[arg-type]
    arguments = (source, FlowAudience(asked["role"]), made, asked["purpose"])  # type: ignore[arg-type]
    decision = may_flow(*arguments, policy=Policy(rules=(ROW,)), on=asked["on"])  # type: ignore[arg-type]
    assert decision.allow is allow
    assert reason in decision.reason
    assert can_flow(*arguments, policy=Policy(rules=(ROW,)), on=asked["on"]) is allow  # type: ignore[arg-type]
    if allow:
        assert check_flow(*arguments, policy=Policy(rules=(ROW,)), on=asked["on"]).policy == ROW  # type: ignore[arg-type]
    else:
        with pytest.raises(PolicyError) as caught:
            check_flow(*arguments, policy=Policy(rules=(ROW,)), on=asked["on"])  # type: ignore[arg-type]
        assert reason in str(caught.value)


def test_paper_mode_flows_only_where_the_owner_switched_it_on() -> None:
    on = PolicyRule("third_party", "dp_high", fields=("*",), paper_mode=True)
    for policy, allow in ((Policy(), False), (Policy(rules=(on,)), True)):
        made = Output("dp_high", paper_mode=True)
        assert can_flow(AGES, FlowAudience("third_party"), made, "research", policy=policy, on=TODAY) is allow
    assert can_flow(AGES, FlowAudience("owner"), Output("raw", paper_mode=True), "care", policy=Policy(), on=TODAY)


def test_group_gets_what_its_row_says_and_others_do_not() -> None:
    policy = Policy(rules=(PolicyRule("group:acme", "k_anonymous", fields=("age",)),))
    table = Output("k_anonymous")
    assert can_flow(AGES, FlowAudience("third_party", groups=("acme",)), table, "research", policy=policy, on=TODAY)
    assert not can_flow(
        AGES, FlowAudience("third_party", groups=("other",)), table, "research", policy=policy, on=TODAY
    )
    assert not can_flow(AGES, FlowAudience("third_party"), table, "research", policy=policy, on=TODAY)


def test_second_row_may_allow_what_the_first_does_not_and_the_nearest_one_gives_the_reason() -> None:
    narrow = PolicyRule("third_party", "dp_high", fields=("pirads",), purpose="audit")
    wide = PolicyRule("third_party", "dp_high", fields=("age",))
    arguments = (AGES, FlowAudience("third_party"), output("dp_high"), "research")
    assert may_flow(*arguments, policy=Policy(rules=(narrow, wide)), on=TODAY).policy == wide
    near = PolicyRule("third_party", "dp_high", fields=("pirads",))
    decision = may_flow(*arguments, policy=Policy(rules=(narrow, near)), on=TODAY)
    assert decision.policy == near
    assert "'age'" in decision.reason


@pytest.mark.parametrize("label", LABELS)
def test_row_gives_its_label_and_everything_below_and_nothing_above(label: str) -> None:
    rule = PolicyRule("owner", label, fields=("*",))  # type: ignore[arg-type]
    for asked in LABELS:
        decision = may_flow(AGES, FlowAudience("owner"), output(asked), "care", policy=Policy(rules=(rule,)), on=TODAY)
        assert decision.allow is is_within(asked, label)  # type: ignore[arg-type]


def test_source_of_a_schema_knows_its_identifiers() -> None:
    schema = Schema(
        person="patient_id",
        max_rows_per_person=1,
        columns={"age": Number(18, 100), "pirads": Category([1, 2, 3, 4, 5]), "physician": Text(label="identifier")},
    )
    source = FlowSource.of(schema, project="pirads", fields=["age"], filters=["pirads"])
    assert source.identifiers == {"patient_id", "physician"}
    named = FlowSource.of(schema, project="pirads", fields=["physician"])
    assert not can_flow(named, FlowAudience("collaborator"), output("dp_medium"), "research", policy=Policy(), on=TODAY)
    assert can_flow(named, FlowAudience("owner"), output("raw"), "care", policy=Policy(), on=TODAY)


NAMES = ("age", "pirads", "patient_id", "bph")
OPENED = st.lists(st.sampled_from(NAMES), unique=True).map(tuple) | st.just(("*",))
RULES = st.builds(
    PolicyRule,
    st.sampled_from(["third_party", "group:acme", "group:other"]),
    st.sampled_from(["dp_low", "dp_medium", "dp_high", "public"]),
    fields=OPENED,
    filters=OPENED,
    epsilon_per_question=st.sampled_from([None, 0.05, 1.0]),
    expires=st.sampled_from([None, TODAY, TODAY - dt.timedelta(days=1)]),
    purpose=st.sampled_from(["*", "research", "care"]),
    project=st.sampled_from(["*", "pirads", "breast"]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(RULES, max_size=4), st.sampled_from(["dp_medium", "dp_high", "public"]))
def test_open_names_are_those_that_flow_one_at_a_time(rules: list[PolicyRule], label: str) -> None:
    policy, who = Policy(rules=tuple(rules)), FlowAudience("third_party", ("acme",))
    hidden = ("patient_id",)

    def flows(**asked: tuple[str, ...]) -> bool:
        one = FlowSource("pirads", identifiers=hidden, **asked)
        return can_flow(one, who, output(label), "research", policy=policy, on=TODAY)

    every = FlowSource("pirads", fields=NAMES, filters=NAMES, identifiers=hidden)
    fields, filters = open_names(every, who, output(label), "research", policy=policy, on=TODAY)
    assert fields == {name for name in NAMES if flows(fields=(name,))}
    assert filters == {name for name in NAMES if flows(filters=(name,))}


@pytest.mark.parametrize(
    ("opened", "asked", "flows"),
    [
        (("psa", "volume"), "density", True),  # all that it is computed from
        (("psa",), "density", False),
        ((), "density", False),
        (("density",), "density", True),  # the owner names it
        (("density",), "psa", False),  # and nothing else
        (("psa", "volume"), "rows", False),  # computed from no field: only by its name
        (("rows",), "rows", True),
        (("*",), "density", True),
    ],
)
def test_computed_column_is_as_open_as_the_strictest_of_its_inputs(
    opened: tuple[str, ...], asked: str, flows: bool
) -> None:
    rule = PolicyRule("third_party", "dp_high", fields=opened, filters=opened)
    schema = Schema(
        {
            "psa": Number(0, 100),
            "volume": Number(5, 300),
            "density": Number(0, 1, derived="psa / volume"),
            "rows": Integer(0, 3, derived="count_of()"),
        },
        person="id",
        max_rows_per_person=3,
    )
    who, output = FlowAudience("third_party"), Output("dp_high", epsilon=0.1)
    for use in ("fields", "filters"):
        source = FlowSource.of(schema, project="pirads", **{use: (asked,)})  # type: ignore[arg-type]
        given = {"policy": Policy(rules=(rule,)), "on": TODAY}
        assert can_flow(source, who, output, "research", **given) is flows  # type: ignore[arg-type]
        names = open_names(source, who, output, "research", **given)  # type: ignore[arg-type]
        assert (asked in names[use == "filters"]) is flows


def test_synthetic_tables_flow_unless_the_owner_switched_them_off_and_within_the_row() -> None:
    made = Output("dp_high", epsilon=0.5, synthetic=True)
    third = FlowAudience("third_party")
    assert can_flow(AGES, third, made, "research", policy=Policy(), on=TODAY)
    off = PolicyRule("third_party", "dp_high", fields=("*",), epsilon_per_question=1.0, synthetic=False)
    decision = may_flow(AGES, third, made, "research", policy=Policy((off,)), on=TODAY)
    assert not decision and "has not switched on synthetic tables" in decision.reason
    assert can_flow(AGES, third, Output("dp_high", epsilon=0.5), "research", policy=Policy((off,)), on=TODAY)
    assert PolicyRule.from_dict(off.to_dict()) == off and "synthetic" not in replace(off, synthetic=True).to_dict()
    dear = Output("dp_high", epsilon=1.5, synthetic=True)
    assert not can_flow(AGES, third, dear, "research", policy=Policy(), on=TODAY), "the cap holds for them as well"
