"""The Python client against a real ``pydplib serve``, and the how-to page as it is printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import Request, urlopen

import pytest
from served import clean_environment, serving
from web_home import make_web_home

import pydplib as dp
from pydplib.errors import BudgetError, ParameterError, PolicyError, QuestionError, ReceiptError

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "use-the-api.md"
SETUP = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from reporting_world import session_of
from study_world import make_partner, make_study
from pydplib.web.api.tokens import make_token
from pydplib.web.people.models import Hospital, User

here = Hospital.objects.create(name="St. Example")
owner = User.objects.create_user("olivia", hospital=here, is_hospital_owner=True)
project = make_study(owner)
tokens, sessions = {}, {}
for name, role, organisation in (("tara", "third_party", "Acme"), ("carl", "collaborator", "Bcme")):
    user = make_partner(project, name, role=role, organisation=organisation)
    scopes = ["read", "ask", "export"] if role == "third_party" else ["read", "ask"]
    tokens[name] = make_token(user, name="test", scopes=scopes, days=1, second_factor=False)[1]
    sessions[name] = session_of(user)
officer = make_partner(project, "dora", role="data_protection_officer", organisation="St. Example")
tokens["dora"] = make_token(officer, name="test", scopes=["read", "ask"], days=1, second_factor=False)[1]

from export_study import make_export, open_to
from pydplib.web.exports import releases, runs
runs.BACKGROUND = False
open_to(project, "third_party")
export = make_export(project, owner)
releases.release(owner, export, ["third_party"])
print(json.dumps({"project": project.key, "tokens": tokens, "sessions": sessions}))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server process with a published study, and tokens of two organisations."""
    with make_web_home(tmp_path_factory.mktemp("client") / "home") as home:
        paths = [str(Path(__file__).parents[2] / "support")]
        done = home.python(SETUP, json.dumps(paths))
        assert done.returncode == 0, done.stderr[-2000:]
        facts = json.loads(done.stdout.splitlines()[-1])
        more = {name: home.environment[name] for name in ("DATABASE_URL",) if name in home.environment}
        with serving(home.path, **more) as served:
            yield SimpleNamespace(
                url=served.base,
                project=facts["project"],
                tokens=facts["tokens"],
                sessions=facts["sessions"],
                lines=served.lines,
            )
        assert not [line for line in served.lines if "Traceback" in line]
        for token in facts["tokens"].values():
            assert not [line for line in served.lines if token in line], "no token in the server's log"


@pytest.fixture
def client(server: Any) -> dp.Client:
    return dp.Client(server.url, server.tokens["tara"], timeout=30)


def test_a_partner_prices_asks_and_gets_a_release(server: Any, client: dp.Client) -> None:
    (listed,) = client.projects()
    assert (listed.key, listed.role) == (server.project, "third_party")
    project = client.project(listed.key)
    assert project.schema.column("age").high > project.schema.column("age").low
    assert "age" in project.fields and "physician_name" not in project.schema.columns
    before = project.budget
    price = project.price(dp.Count(by="pirads"), epsilon=0.2)
    assert price.epsilon == 0.2 and price.affordable and str(price).startswith("price of")
    assert project.budget == before, "a price spends nothing"
    with pytest.raises(BudgetError, match="that you agreed to") as dearer:
        project.ask(dp.Count(by="pirads"), epsilon=0.2, at_most=0.1)
    assert dearer.value.asked == "epsilon 0.2" and project.budget == before
    release = project.ask(dp.Count(by="pirads"), epsilon=0.2, at_most=price.epsilon)
    assert isinstance(release, dp.Release) and release.epsilon == 0.2 and release.key
    assert len(release.to_frame(backend="pandas")) == 6 and release.plot().data
    assert project.budget.nano_epsilon < before.nano_epsilon
    after = project.budget
    assert project.ask(dp.Count(by="pirads"), epsilon=0.2).to_json() == release.to_json()
    assert project.budget == after and project.price(dp.Count(by="pirads"), epsilon=0.2).free
    entry = next(entry for entry in project.analyses() if entry.release_key == release.key)
    assert client.analysis(entry.key) == release and entry.organisation == "Acme"


def test_a_page_of_figures_is_bought_for_one_price(server: Any, client: dp.Client) -> None:
    project = client.project(server.project)
    page = [dp.Crosstab("pirads", "bph"), dp.Count(by="bph")]
    price = project.price_all(page, each=0.05)
    assert 0.05 < price.epsilon < 0.1 and price.affordable
    before = project.budget.nano_epsilon
    tables = project.release_all(page, each=0.05, at_most=0.1)
    assert isinstance(tables, dp.release.MeasuredTables) and [r.question["ask"] for r in tables] == [
        "crosstab",
        "count",
    ]
    assert before - project.budget.nano_epsilon == price.cost.nano_epsilon
    assert tables[0].noisy is not None and len(tables.to_frame(backend="pandas")) == len(tables[0].values) + 2
    assert project.release_all(page, each=0.05).to_json() == tables.to_json()
    assert tables.key in [bought.key for bought in project.bought()]
    with pytest.raises(BudgetError, match="that you agreed to"):
        project.release_all(page, epsilon=0.2, at_most=0.1)
    with pytest.raises(ParameterError, match="list of questions"):
        project.price_all(dp.Count(), epsilon=0.1)


def test_a_receipt_is_verified_by_pinned_keys_alone(server: Any, client: dp.Client) -> None:
    from pydplib.receipt import new_signing_key, public_key_text

    project = client.project(server.project)
    project.ask(dp.Count(), epsilon=0.1)
    entry = project.analyses()[0]
    with pytest.raises(ReceiptError, match="keys="):
        client.receipt(entry)
    stranger = dp.Client(server.url, server.tokens["tara"], keys=[public_key_text(new_signing_key().public_key())])
    with pytest.raises(ReceiptError, match="not among those"):
        stranger.receipt(entry)
    keys = [key["public_key"] for key in client.server_keys()]
    receipt = dp.Client(server.url, server.tokens["tara"], keys=keys).receipt(entry)
    assert receipt.release == entry.release_key and receipt.issuer == "St. Example"


def test_refusals_are_the_errors_of_pydplib(server: Any, client: dp.Client) -> None:
    project = client.project(server.project)
    with pytest.raises(QuestionError, match="no field"):
        project.price(dp.Mean("no_such_field"), epsilon=0.1)
    with pytest.raises(PolicyError):
        project.ask(dp.Count(), epsilon=50)
    with pytest.raises(ParameterError, match="nothing here"):
        client.project("no-such-project")
    carl = dp.Client(server.url, server.tokens["carl"]).project(server.project)
    left = carl.budget.epsilon
    for age in range(20, 100):
        if left < 1.0:
            break
        carl.ask(dp.Count(where=[dp.Where("age").at_least(age)]), epsilon=1.0)
        left = carl.budget.epsilon
    with pytest.raises(BudgetError) as refusal:
        carl.ask(dp.Count(by="pirads"), epsilon=1.0)
    assert refusal.value.asked and refusal.value.left


def test_a_token_that_does_not_work_is_refused_without_being_shown(server: Any) -> None:
    token = "pydp_" + "A" * 43
    with pytest.raises(PolicyError) as refusal:
        dp.Client(server.url, token).projects()
    assert token not in str(refusal.value) and token not in repr(refusal.value)


def test_the_how_to_page_runs_as_printed(server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYDPLIB_URL", server.url)
    monkeypatch.setenv("PYDPLIB_TOKEN", server.tokens["tara"])
    monkeypatch.setenv("PYDPLIB_OFFICER_TOKEN", server.tokens["dora"])
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 5
    for block in blocks:
        exec(block, names)
    assert names["receipt"].issuer == "St. Example" and names["release"].epsilon == 0.2
    assert names["copy"].path.name == "scores.csv" and names["copy"].certificate_path.is_file()
    assert names["verification"].k >= names["copy"].certificate["k"] >= 2
    assert names["report"].state == "done" and names["report"].reasons, names["report"].problem
    (sent,) = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.S))
    assert dp.client.Question.from_dict(sent["question"]).to_dict() == sent["question"]
    if shutil.which("curl"):
        command = next(block for block in re.findall(r"```sh\n(.*?)```", text, re.S) if "curl" in block)
        environment = clean_environment(
            PYDPLIB_URL=server.url, PYDPLIB_TOKEN=server.tokens["tara"], PATH=os.environ["PATH"]
        )
        done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=30)
        assert json.loads(done.stdout)[0]["key"] == server.project


def test_a_table_comes_with_its_certificate_to_those_it_was_released_to(
    server: Any, client: dp.Client, tmp_path: Path
) -> None:
    project = client.project(server.project)
    (export,) = project.exports()
    assert export.state == "released" and "age" in export.columns and client.export(export.key) == export
    copy = project.download(export, tmp_path / "table.parquet")
    assert json.loads(copy.certificate_path.read_text(encoding="utf-8")) == client.certificate(export)
    with pytest.raises(ParameterError, match="overwrite=True"):
        project.download(export, copy.path)
    project.download(export, copy.path, overwrite=True)
    carl = dp.Client(server.url, server.tokens["carl"])
    assert carl.project(server.project).exports() == []
    with pytest.raises(ParameterError, match="nothing for you"):
        carl.download(export, tmp_path / "other.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.certificate.json", "table.parquet"]


def test_attack_reports_are_for_owners_and_officers(server: Any, client: dp.Client) -> None:
    with pytest.raises(PolicyError):
        client.project(server.project).recipients()
    officer = dp.Client(server.url, server.tokens["dora"]).project(server.project)
    given = {each.name: each for each in officer.recipients()}
    assert 0.5 <= given["Acme"].most_success <= 1 and not given["Acme"].whole_budget
    with pytest.raises(ParameterError, match="no part"):
        officer.start_attacks("nobody")


def test_the_how_to_page_names_every_address() -> None:
    from pydplib.web.api.api import openapi_document

    text = PAGE.read_text(encoding="utf-8")
    for path, methods in openapi_document()["paths"].items():
        name = path.removeprefix("/api/v1/").replace("receipts/{key}", "receipts/{release}")
        for method in methods:
            assert f"`{method.upper()} {name}`" in text


def test_a_partner_buys_a_synthetic_table_waits_and_verifies(server: Any, client: dp.Client) -> None:
    project = client.project(server.project)
    asked: dict[str, Any] = {"columns": ["age", "pirads"], "relations": [("age", "pirads")], "epsilon": 0.4}
    before = project.budget
    price = project.price_synthetic(**asked, noise="laplace")
    assert price.chosen.noise == "laplace" and price.chosen.price.epsilon == 0.4 and price.chosen.margin > 1
    assert price.other is None or price.other.noise == "gaussian"
    assert project.budget == before, "a price spends nothing"
    with pytest.raises(BudgetError, match="that you agreed to"):
        project.buy_synthetic(**asked, noise="laplace", at_most=0.1)
    entry = project.buy_synthetic(**asked, noise="laplace", at_most=0.4)
    table = client.synthetic_table(entry, wait=120)
    assert client.synthetic(entry).state == "ready"
    assert table.measured[0].columns == ("age", "pirads")
    for backend in ("pandas", "polars", "pyarrow"):
        assert table.to_frame(backend=backend).shape == (len(table), 2)
    after = project.budget
    assert project.buy_synthetic(**asked, noise="laplace", at_most=0).key == entry.key
    assert project.budget == after, "the same purchase is free"
    assert entry.key in [each.key for each in project.synthetic_tables()]
    with pytest.raises(ReceiptError, match="key that you trust"):
        client.synthetic_receipt(entry)
    keys = [key["public_key"] for key in client.server_keys()]
    trusting = dp.Client(server.url, server.tokens["tara"], keys=keys, timeout=30)
    assert trusting.synthetic_receipt(entry).release == table.key
    others = dp.Client(server.url, server.tokens["carl"], timeout=30)
    assert others.project(server.project).synthetic_tables() == []
    with pytest.raises(QuestionError, match="No field"):
        project.price_synthetic(["physician_name"], epsilon=0.4)
    officer = dp.Client(server.url, server.tokens["dora"], timeout=30).project(server.project)
    (acme,) = [each for each in officer.recipients() if each.name == "Acme"]
    assert entry.key in acme.synthetic


@pytest.mark.parametrize("kind", ["py", "ipynb"])
def test_the_notebook_of_an_analysis_runs_and_gives_the_same_numbers(
    server: Any, client: dp.Client, tmp_path: Path, kind: str
) -> None:
    project = client.project(server.project)
    asked = project.ask(dp.Mean("age", by="bph"), epsilon=0.15)
    (found,) = [each for each in project.analyses() if each.release_key == asked.key]
    cookie = {"Cookie": f"session={server.sessions['tara']}"}
    address = f"{server.url}/analyses/{found.key}/download/{kind}"
    with urlopen(Request(address, headers=cookie)) as answer:
        text = answer.read().decode()
    assert server.tokens["tara"] not in text and "pydp_" not in text
    assert not [value for value in asked.values if str(value) in text], "no released number is in the file"
    if kind == "ipynb":
        notebook = json.loads(text)
        assert notebook["nbformat"] == 4 and all("id" in cell for cell in notebook["cells"])
        code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    else:
        code = text
    script = tmp_path / "analysis.py"
    told = "json.dumps([list(release.values), list(again.values), receipt.release])"
    script.write_text(f"{code}\nimport json\nprint({told})\n")
    environment = {**os.environ, "PYDPLIB_TOKEN": server.tokens["tara"], "PYDPLIB_URL": server.url}
    before = project.budget
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Genuine: St. Example" in done.stdout
    values, again, release = json.loads(done.stdout.splitlines()[-1])
    assert values == again == list(asked.values) and release == asked.key
    assert project.budget == before, "repeating costs nothing"
    forged = code.replace('\\"epsilon\\": \\"0.15\\"', '\\"epsilon\\": \\"0.05\\"').replace(
        '\\"epsilon\\":\\"0.15\\"', '\\"epsilon\\":\\"0.05\\"'
    )
    assert forged != code
    script.write_text(forged)
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "forged" in done.stderr
