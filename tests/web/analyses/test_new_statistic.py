"""A statistic that is defined here, in one class, works everywhere: nothing else knows of it, and nothing has to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from connected_client import connected

import pydplib as dp
from pydplib.engine import Bins, Measure
from pydplib.errors import QuestionError
from pydplib.release.grammar import parse_question
from pydplib.release.grids import number_column
from pydplib.release.statistics import STATISTICS, Part, statistic
from pydplib.release.statistics.mean import MeanNoise
from pydplib.release.statistics.noise import COVERAGE, Expected
from pydplib.release.statistics.question import OfColumn, group_axes


def define() -> type[OfColumn]:
    """Define "the share above a threshold" and enter it into the registry."""

    @statistic(
        "share",
        aliases=("portion",),
        title="Share above",
        hint="Which part of the records lies at a value or above it.",
        example="share age above 65 by pirads",
        about="all",
        needs_size=True,
        parts=(Part(name="threshold", kind="number", label="Above which value?", form="threshold", word="above"),),
    )
    @dataclass(frozen=True, repr=False)
    class Share(OfColumn):
        """The share of rows at or above a threshold.

        Proof: a row is in one of two cells, above or below: ``MeanNoise`` with a distance of one step.
        """

        threshold: float = 0.0

        def groups(self, schema: Any) -> dict[str, Any]:
            column = number_column(schema, self.column, self.ask)
            if not column.low < self.threshold < column.high:
                raise QuestionError(f"The threshold lies within the bounds of '{self.column}'.")
            return super().groups(schema) | {self.column: Bins([column.low, self.threshold, column.high])}

        def canonical(self, schema: Any) -> dict[str, Any]:
            plain = super().canonical(schema)
            plain["by"] = [entry for entry in plain["by"] if entry["column"] != self.column]
            return plain if plain["by"] else {key: value for key, value in plain.items() if key != "by"}

        def axes(self, schema: Any, groups: Any) -> Any:
            return group_axes(schema, {name: keys for name, keys in groups.items() if name != self.column})

        def unit(self, facts: Any) -> str:
            return ""

        def measures(self, facts: Any, epsilon: Fraction) -> tuple[Measure, ...]:
            return (Measure("count"),)

        def noise(self, facts: Any, epsilon: Fraction) -> MeanNoise:
            return MeanNoise(rows=facts.rows, per_row=facts.bound.scale, top=1, low=0.0, high=1.0, epsilon=epsilon)

        def answer(self, facts: Any, noise: MeanNoise, table: Any, *, confidence: float = COVERAGE) -> Any:
            below, above = table[0].reshape(-1, 2).T
            return noise.apply(above, below, confidence=confidence)

        def expect(self, facts: Any, noise: MeanNoise, each: float | None, *, confidence: float = COVERAGE) -> Expected:
            return Expected(None) if each is None else Expected(noise.margin(each, confidence))

        def band_epsilon(self, facts: Any, target: float, each: float) -> float:
            return 0.75 * facts.rows / (target * each)

        def exact(self, facts: Any, noise: MeanNoise, table: Any) -> Any:
            below, above = table[0].reshape(-1, 2).T.astype(np.float64)
            return above / (above + below)

    return Share


@pytest.fixture
def share() -> Iterator[type[OfColumn]]:
    yield define()
    del STATISTICS["share"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohort")
    dp.datasets.pirads(300, backend="pandas").to_csv(folder / "reports.csv", index=False)
    (folder / "schema.toml").write_text(dp.datasets.pirads_schema().to_toml())
    return folder


def test_grammar_reads_it_and_its_repr_and_json_say_the_same(share: Any) -> None:
    schema = dp.datasets.pirads_schema()
    question = parse_question("portion of age above 65 by pirads where bph = yes", schema)
    assert question == share("age", 65, by="pirads", where=[dp.Where("bph").eq(True)])
    assert eval(repr(question), {"Share": share, "Where": dp.Where}) == question
    assert dp.release.Question.from_dict(question.to_dict()) == question
    with pytest.raises(QuestionError, match="share age above 65 by pirads"):
        parse_question("share age by pirads", schema)


def test_session_prices_releases_and_draws_it(share: Any) -> None:
    frame = dp.datasets.pirads(backend="pandas")
    with dp.load(frame, dp.datasets.pirads_schema()) as table:
        session = dp.Session(table, recipient="acme", budget=50.0, policy=dp.Policy(data_set_budget=60.0))
        question = share("age", 65)
        assert session.price(question, epsilon=20.0).question == "share of age"
        release = session.release(question, epsilon=20.0)
        assert abs(release.value - float((frame["age"] >= 65).mean())) < 0.05
        assert session.release(question, epsilon=20.0) == release
        assert dp.Release.from_json(release.to_json()) == release
        figure = session.release(share("age", 65, by="pirads"), epsilon=10.0).plot()
        assert len(figure.data[0].y) >= 5 and figure.layout.yaxis.title.text == "share age"


def test_command_line_prices_and_releases_it_and_lists_it_in_the_help(share: Any, files: Path, tmp_path: Path) -> None:
    from pydplib.cli import cli

    def run(command: str, *more: str) -> str:
        named = ["--schema", str(files / "schema.toml"), "--recipient", "acme", "--ledger", str(tmp_path / "l.db")]
        asked = [command, str(files / "reports.csv"), "-q", "share age above 65 by bph", *named, "--epsilon", "0.5"]
        done = CliRunner().invoke(cli, [*asked, *more], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    assert run("price").startswith("price of: share of age by bph")
    assert json.loads(run("release", "--json"))["question"]["threshold"] == 65
    shown = CliRunner().invoke(cli, ["release", "--help"]).output
    assert "share age above 65 by pirads" in shown and "crosstab age, pirads" in shown


def test_web_form_asks_for_its_own_part_prices_pays_and_shows_the_figure(share: Any, tara: Any, pay: Any) -> None:
    asked = {"kind": "share", "field": "age", "threshold": "65", "by1": "bph", "accuracy": "epsilon", "epsilon": "0.5"}
    page = tara.get("/analyses/new", asked).content.decode()
    assert "Above which value?" in page and "Share above" in page and "Ask and pay" in page
    gap = tara.get("/analyses/new", asked | {"threshold": ""}).content.decode()
    assert "Ask and pay" not in gap
    paid = pay(tara, **asked)
    shown = tara.get(paid.url).content.decode()
    assert "Share above of" in shown and "threshold=65" in shown  # asking again fills in the form
    assert tara.get(f"{paid.url}/download/csv").status_code == 200


def test_owner_sees_the_original_of_it(share: Any, tara: Any, pay: Any, study: Any) -> None:
    from pydplib.web.analyses.models import Analysis
    from pydplib.web.analyses.originals import look_at_original

    pay(tara, kind="share", field="age", threshold="65", accuracy="epsilon", epsilon="0.5")
    (exact,) = look_at_original(study.owner, Analysis.objects.get()).ravel()
    assert 0 < exact < 1


def test_api_and_client_ask_it(share: Any, tara: Any, study: Any) -> None:
    from pydplib.web.api.api import openapi_document
    from pydplib.web.api.tokens import make_token

    token = make_token(tara.user, name="test", scopes=["read", "ask"], days=1, second_factor=False)[1]
    client = connected(token)
    project = client.project(study.project.key)
    question = share("age", 65.5, by="bph")
    assert project.price(question, epsilon=0.4).question == "share of age by bph"
    release = project.ask(question, epsilon=0.4)
    assert release.question["threshold"] == 65.5 and release.shape == (2,)
    assert release.plot().data
    assert "ShareIn" in openapi_document()["components"]["schemas"]
    wrong = {"question": {"ask": "share", "of": "age", "threshold": "much"}, "epsilon": 0.1}
    answer = client._transport.client.post(
        f"/api/v1/projects/{study.project.key}/price", json.dumps(wrong), content_type="application/json"
    )
    assert answer.status_code == 422 and "much" not in answer.json()["error"]


def test_without_it_nobody_knows_it(tara: Any) -> None:
    assert "share" not in STATISTICS
    with pytest.raises(QuestionError, match="is no statistic"):
        parse_question("share age above 65", dp.datasets.pirads_schema())
    assert "Share above" not in tara.get("/analyses/new", {"kind": "share"}).content.decode()


def test_a_word_that_is_taken_is_refused() -> None:
    with pytest.raises(QuestionError, match="another statistic"):
        statistic("mine", aliases=("average",))(OfColumn)
    with pytest.raises(QuestionError, match="has no 'titel'"):
        statistic("mine", titel="Mine")(OfColumn)
    assert "mine" not in STATISTICS
