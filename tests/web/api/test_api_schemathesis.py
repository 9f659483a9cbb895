"""Schemathesis tries the API against its own document: no 5xx, no answer that the document does not know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.core.failures import FailureGroup

EXAMPLES = 8
QUERIES = {"GET /api/v1/projects/{key}/analyses": "query"}
STILL = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
FUZZING = settings(STILL, max_examples=60)
# positive_data_acceptance is left out: whether a question fits is decided by the project's fields as well.
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


def operations() -> list[str]:
    from pydplib.web.api.api import openapi_document

    paths = openapi_document()["paths"]
    return [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]


@contextmanager
def connection_kept() -> Iterator[None]:
    """Keep the connection that holds the test's transaction: the end of a request would close it."""
    from django.core.signals import request_finished, request_started
    from django.db import close_old_connections

    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


@pytest.fixture(scope="module")
def schema(_world: Any) -> Any:
    from django.core.wsgi import get_wsgi_application

    with connection_kept():
        return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application())


@pytest.fixture
def made(world: Any, program: Any) -> dict[str, Any]:
    body = {"question": {"ask": "count", "by": [{"column": "pirads"}]}, "epsilon": 0.1}
    return program("third_party").post(f"projects/{world.project.key}/analyses", body).json()


def keys_of(label: str, world: Any, made: dict[str, Any]) -> list[str]:
    """Return keys of objects that are there, for the address of an operation."""
    if "/receipts/" in label:
        return [made["release_key"]]
    if "/dashboards/{key}" in label:
        return [world.project.key, _dashboard(world).key]
    if "/exports/{key}" in label:
        from export_study import make_export

        return [world.project.key, make_export(world.project, world.people["owner"]).key]
    if "/attacks/{key}" in label:
        from pydplib.web.attacks.models import AttackRun

        about = {"subject": "audience:third_party", "name": "Third party", "data": "twin", "minutes": 1}
        run = AttackRun.objects.create(project=world.project, by=world.people["owner"], **about)
        return [world.project.key, run.key]
    return [world.project.key, made["key"]]


def _dashboard(world: Any) -> Any:
    """A published dashboard for third parties, with one figure."""
    import pydplib as dp
    from pydplib.web.dashboards import plans
    from pydplib.web.dashboards.editions import publish
    from pydplib.web.dashboards.prices import bill_for

    owner = world.people["owner"]
    board = plans.make_dashboard(owner, world.project, title="Trends", audience="third_party")
    plans.add_question(owner, board, dp.Count(by="bph"), title="", nano_epsilon=100_000_000)
    publish(owner, board, agreed=bill_for(board).nano)
    return board


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pydplib.web.api.tokens.USES_PER_MINUTE", 10**6)


def test_the_document_is_valid_and_names_the_scheme(schema: Any) -> None:
    schema.validate()
    document = json.loads(json.dumps(schema.raw_schema))
    assert document["components"]["securitySchemes"]["GuardedBearer"]["scheme"] == "bearer"
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert ("security" in operation) == ("/receipts/" not in path)


@pytest.mark.parametrize("label", operations())
def test_no_fault_and_no_surprise(label: str, schema: Any, world: Any, made: dict[str, Any], make_token: Any) -> None:
    keys = keys_of(label, world, made)
    for caller in ("third_party", "stranger", None):
        headers = {"Authorization": f"Bearer {make_token(caller)}"} if caller else {}
        seen = attempts(schema, label, keys, headers, may_enter=caller == "third_party")
        if "/receipts/" in label:
            continue
        if caller is None:
            assert seen == {401}
        if caller == "stranger" and "{key}" in label:
            assert 200 not in seen


@pytest.mark.slow
@pytest.mark.parametrize("caller", ["owner", "third_party"])
@pytest.mark.parametrize("label", operations())
def test_fuzzing_with_the_token_of_an_owner_or_a_partner_finds_no_fault(
    label: str, caller: str, schema: Any, world: Any, made: dict[str, Any], make_token: Any
) -> None:
    keys = keys_of(label, world, made)
    headers = {"Authorization": f"Bearer {make_token(caller)}"}
    assert attempts(schema, label, keys, headers, may_enter=True, how=FUZZING)


def attempts(
    schema: Any, label: str, keys: list[str], headers: dict[str, str], *, may_enter: bool, how: Any = STILL
) -> set[int]:
    """Call an operation with values that fit the document and values that do not; return the statuses."""
    operation = next(found.ok() for found in schema.get_all_operations() if found.ok().label == label)
    has_parameters = "{key}" in label
    seen: set[int] = set()

    @how
    @given(st.data())
    def attempt(data: Any) -> None:
        wrong = has_parameters and data.draw(st.booleans())
        mode = GenerationMode.NEGATIVE if wrong else GenerationMode.POSITIVE
        path = {"key": data.draw(st.sampled_from(keys))} if has_parameters and data.draw(st.integers(0, 3)) else None
        if wrong and path and label.startswith("GET") and "query" not in QUERIES.get(label, ""):
            mode = GenerationMode.POSITIVE  # nothing is left that could be wrong
        case = data.draw(operation.as_strategy(generation_mode=mode, path_parameters=path))
        response = case.call(headers=headers)
        # Who may not enter is told so before anybody reads what was sent.
        rejects = mode is GenerationMode.NEGATIVE and may_enter
        case.validate_response(response, checks=[*CHECKS, checks.negative_data_rejection] if rejects else CHECKS)
        seen.add(response.status_code)

    with connection_kept():
        attempt()
    return seen


def test_a_planted_fault_and_an_undocumented_answer_are_found(
    schema: Any, world: Any, make_token: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.http import JsonResponse

    from pydplib.web.api.routers import projects

    headers, label = {"Authorization": f"Bearer {make_token('owner')}"}, "GET /api/v1/projects"
    for planted in (
        lambda values: JsonResponse({}, status=500),
        lambda values: JsonResponse([], safe=False, status=418),
        lambda values: JsonResponse([{"key": 1}], safe=False),
    ):
        monkeypatch.setattr(projects, "reply", planted)
        with pytest.raises(FailureGroup):
            attempts(schema, label, [], headers, may_enter=True)


NAMES = ["age", "pirads", "year", "prostatitis", "bph", "gleason", "patient_id", "physician_name", "no_such_field"]
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.integers(0, 90),
    st.floats(-1e15, 1e15),
    st.sampled_from(["chr", "2018-01-01", "other", "", "'; DROP TABLE x; --", "ß", "0"]),
)


@st.composite
def questions(draw: Any) -> dict[str, Any]:
    """Questions within the document's schema over the project's real fields, sensible or not."""
    name = st.sampled_from(NAMES)
    ask = draw(st.sampled_from(["count", "sum", "mean", "variance", "median", "quantiles", "histogram", "crosstab"]))
    question: dict[str, Any] = {"ask": ask}
    if ask == "count":
        question["of"] = draw(st.sampled_from(["rows", "persons"]))
    elif ask != "crosstab":
        question["of"] = draw(name)
    edges = st.lists(
        VALUES.filter(lambda v: not isinstance(v, bool | str)) | st.just("2018-01-01"), min_size=2, max_size=5
    )
    if ask == "quantiles":
        question["quantiles"] = draw(st.lists(st.floats(0, 1), min_size=1, max_size=3))
    if ask == "histogram" and draw(st.booleans()):
        question["edges"] = draw(edges)
    groups = st.one_of(
        st.builds(lambda column: {"column": column}, name),
        st.builds(
            lambda column, keys: {"column": column, "keys": keys}, name, st.lists(VALUES, min_size=1, max_size=3)
        ),
        st.builds(lambda column, ends: {"column": column, "edges": ends}, name, edges),
    )
    low = 2 if ask == "crosstab" else 0
    question["by"] = draw(st.lists(groups, min_size=low, max_size=2, unique_by=lambda group: group["column"]))
    operators = [
        "is_in",
        "not_in",
        "between",
        "at_least",
        "at_most",
        "more_than",
        "less_than",
        "is_missing",
        "is_present",
    ]
    condition = st.builds(
        lambda column, op, values: {"column": column, "op": op, "values": values},
        name,
        st.sampled_from(operators),
        st.lists(VALUES, max_size=2),
    )
    question["where"] = draw(st.lists(condition, max_size=2))
    return question


@pytest.mark.parametrize("path", ["price", "analyses"])
def test_questions_over_real_fields_never_fault(path: str, schema: Any, world: Any, program: Any) -> None:
    from collections import Counter

    from pydplib.web.ledger.database import DatabaseLedger

    caller, seen = program("owner"), Counter[int]()
    noise = st.one_of(
        st.builds(lambda e: {"epsilon": e}, st.floats(1e-3, 100)),
        st.builds(lambda m: {"margin": m}, st.floats(1e-3, 1e12)),
        st.sampled_from([{"noise_factor": "low"}, {"noise_factor": "high"}, {}]),
    )

    @settings(STILL, max_examples=50)
    @given(questions(), noise)
    def attempt(question: dict[str, Any], how: dict[str, Any]) -> None:
        response = caller.post(f"projects/{world.project.key}/{path}", {"question": question} | how)
        assert response.status_code in (200, 403, 422), (question, how, response.content)
        seen[response.status_code] += 1

    attempt()
    assert seen[200] >= 3, seen
    DatabaseLedger().verify()
