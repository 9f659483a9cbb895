"""``pydplib attack``: files in, verdicts out, the page on disk, and nothing private on the screen."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from pydplib.cli import cli, main
from pydplib.errors import AnonymityError


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(5)
    people = pd.DataFrame(
        {
            "age": rng.integers(20, 90, 300),
            "zip": rng.integers(10100, 10140, 300),
            "ill": rng.choice(["CANARY", "flu", "gout"], 300),
        }
    )
    people.to_csv(tmp_path / "in.csv", index=False)
    coarse = people.assign(
        age=people["age"].map(lambda a: f"{a // 10 * 10}-{a // 10 * 10 + 9}"),
        zip=people["zip"].astype(str).str[:3] + "**",
    )
    coarse.sample(frac=1, random_state=1).to_csv(tmp_path / "out.csv", index=False)
    people.assign(age=people["age"] + rng.laplace(0, 4, 300))[["age"]].to_csv(tmp_path / "noisy.csv", index=False)
    (tmp_path / "ill.csv").write_text("CANARY;bad;*\nflu;mild;*\ngout;mild;*\n")
    return tmp_path


def run(files, *arguments):
    return CliRunner().invoke(cli, ["attack", str(files / "in.csv"), *map(str, arguments)], env={"COLUMNS": "160"})


def test_attack_prints_every_attack_and_a_verdict_per_audience(files):
    result = run(files, files / "out.csv", "--quasi", "age,zip", "--sensitive", "ill")
    assert result.exit_code == 0, result.output
    for words in ("linkage", "homogeneity", "skewness", "Data owner: may have it", "Public: may have it"):
        assert words in result.output
    as_it_is = run(files, files / "in.csv", "--quasi", "age,zip", "--sensitive", "ill")
    assert "Data owner: may have it" in as_it_is.output and "Public: MUST NOT have it" in as_it_is.output
    assert "CANARY" not in result.output + as_it_is.output


def test_attack_writes_a_whole_page_and_does_not_replace_it_unasked(files):
    page = files / "leak.html"
    again = ["--quasi", "age,zip", "--sensitive", "ill", "--report", page]
    assert run(files, files / "out.csv", *again).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "CANARY" not in text and "out.csv" in text
    refused = run(files, files / "out.csv", *again)
    assert "exists already" in str(refused.exception)
    assert run(files, files / "out.csv", *again, "--force").exit_code == 0


def test_attack_json_holds_results_and_verdicts(files):
    options = ["--quasi", "age,zip", "--sensitive", "ill", "--hierarchy", f"ill={files / 'ill.csv'}", "--json"]
    found = json.loads(run(files, files / "out.csv", *options, "--population", files / "in.csv").stdout)
    names = [entry["name"] for entry in found["attacks"]]
    assert "similarity" in names and "linkage, journalist" in names
    assert [verdict["audience"] for verdict in found["verdicts"]] == ["owner", "collaborator", "third_party", "public"]
    assert "CANARY" not in json.dumps(found)


def test_attack_on_a_noisy_column_and_for_an_audience_ends_with_its_code(files, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["attack", str(files / "in.csv"), str(files / "noisy.csv"), "--noisy", "age", "--noise-factor", "medium",
              "--for", "third_party"])  # fmt: skip
    assert ended.value.code == 15
    shown = capsys.readouterr()
    assert "must not go to the audience 'third_party'" in shown.err
    assert "averaging" in shown.out


def test_attack_with_an_earlier_release_and_newcomers(files):
    people = pd.read_csv(files / "in.csv")
    people.iloc[290:].to_csv(files / "came.csv", index=False)
    coarse = pd.read_csv(files / "out.csv")
    coarse.iloc[:280].to_csv(files / "before.csv", index=False)
    options = [
        "--quasi",
        "age,zip",
        "--sensitive",
        "ill",
        "--previous",
        files / "before.csv",
        "--came",
        files / "came.csv",
    ]
    found = json.loads(run(files, files / "out.csv", *options, "--json").stdout)
    assert {"complementary release", "temporal"} <= {entry["name"] for entry in found["attacks"]}


def test_attack_in_processes_says_the_same(files):
    options = [files / "out.csv", "--quasi", "age,zip", "--sensitive", "ill", "--json"]
    one, two = (json.loads(run(files, *options, "--workers", workers).stdout) for workers in (1, 2))
    drop = ("seconds",)
    assert [{k: v for k, v in entry.items() if k not in drop} for entry in one["attacks"]] == [
        {k: v for k, v in entry.items() if k not in drop} for entry in two["attacks"]
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--quasi", "age,zp"], "Did you mean 'zip'"),
        ([], "--quasi"),
        (["--noise-factor", "low", "--quasi", "age"], "--noisy"),
        (["--quasi", "age", "--hierarchy", "ill=x.csv"], "not used here"),
        (["--quasi", "age", "--sensitive", "il"], "Did you mean 'ill'"),
    ],
)
def test_attack_explains_wrong_options(files, options, words):
    result = run(files, files / "out.csv", *options)
    assert result.exit_code != 0
    assert words in f"{result.output} {result.exception}"


def test_attack_counts_people_where_rows_belong_together(files):
    visits = pd.DataFrame({"who": ["CANARY"] * 6 + [f"p{i}" for i in range(6)], "age": [33] * 6 + list(range(50, 56))})
    visits.to_csv(files / "in.csv", index=False)
    visits.assign(age=["30-39"] * 6 + ["50-59"] * 6)[["age"]].to_csv(files / "visits.csv", index=False)
    options = [files / "visits.csv", "--quasi", "age", "--json"]
    chances = []
    for person in ([], ["--person", "who"]):
        result = run(files, *options, *person)
        assert "CANARY" not in result.output
        chances.append(json.loads(result.stdout)["attacks"][0]["details"]["maximum"])
    assert chances == [pytest.approx(1 / 6), 1.0]
    assert "Did you mean 'who'" in str(run(files, *options, "--person", "whom").exception)


def test_attack_report_is_readable_by_its_owner_only(files):
    page = files / "leak.html"
    assert run(files, files / "out.csv", "--quasi", "age,zip", "--report", page).exit_code == 0
    assert page.stat().st_mode & 0o077 == 0


def test_attack_of_an_empty_release_and_on_an_empty_original(files):
    table = pd.read_csv(files / "out.csv")
    table.head(0).to_csv(files / "none.csv", index=False)
    result = run(files, files / "none.csv", "--quasi", "age,zip", "--sensitive", "ill")
    assert "MUST NOT" not in result.output
    (files / "in.csv").write_text("age,zip,ill\n")
    assert "original has no rows" in str(run(files, files / "out.csv", "--quasi", "age").exception)


US_CONFIG = """
identifiers = ["name"]
sensitive = ["ill"]
keep = ["ward"]
suppression = 0.1
[quasi_identifiers.seen]
kind = "dates"
order = "mdy"
units = ["quarter", "year"]
[quasi_identifiers.sex]
kind = "automatic"
[[models]]
model = "k-anonymity"
k = 4
"""


def call(folder, *arguments):
    paths = [str(folder / text) if text.endswith((".csv", ".toml")) else text for text in arguments]
    return CliRunner().invoke(cli, paths, env={"COLUMNS": "160"})


@pytest.fixture(scope="module")
def anonymized(tmp_path_factory):
    """A table with dates as the US write them, its configuration and what anonymize makes of both."""
    folder = tmp_path_factory.mktemp("config")
    rng = np.random.default_rng(6)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700, 400), unit="D")
    pd.DataFrame(
        {
            "name": [f"P{i}" for i in range(400)],
            "seen": days.strftime("%m/%d/%Y"),
            "sex": rng.choice(["f", "m"], 400),
            "ward": rng.choice(["a", "b"], 400),
            "ill": rng.choice(["flu", "burn", "gout"], 400),
        }
    ).to_csv(folder / "in.csv", index=False)
    (folder / "anon.toml").write_text(US_CONFIG)
    out = call(folder, "anonymize", "in.csv", "--config", "anon.toml", "--output", "out.csv")
    assert out.exit_code == 0, out.output
    return folder


def test_roles_and_hierarchies_come_from_the_configuration(anonymized):
    found = json.loads(call(anonymized, "attack", "in.csv", "out.csv", "--config", "anon.toml", "--json").stdout)
    assert not found["columns"], "every column has a role"
    assert not any("hierarchy" in note for note in found["notes"]), "labels of US dates are read"
    plain = call(anonymized, "attack", "in.csv", "out.csv", "--quasi", "seen,sex", "--sensitive", "ill", "--json")
    bare = json.loads(plain.stdout)
    assert bare["columns"] and any("hierarchy" in note for note in bare["notes"])
    for command in ("verify", "risk"):
        out = call(anonymized, command, "out.csv", "--config", "anon.toml", "--original", "in.csv")
        assert out.exit_code == 0 and "without a role" not in out.output, out.output
    required = call(anonymized, "verify", "out.csv", "--config", "anon.toml", "--require", "k=4")
    assert required.exit_code == 0 and "yes" in required.output
    k = json.loads(call(anonymized, "verify", "out.csv", "--config", "anon.toml", "--json").stdout)["k"]
    moved = call(anonymized, "verify", "out.csv", "--config", "anon.toml", "--quasi", "ward", "--json")
    assert json.loads(moved.stdout)["k"] < k, "an option goes before the configuration: the ward tells people apart"


def test_column_of_a_configuration_that_the_table_lacks_is_not_passed_over(anonymized):
    (anonymized / "typo.toml").write_text(US_CONFIG.replace("[quasi_identifiers.sex]", "[quasi_identifiers.sexx]"))
    refused = call(anonymized, "attack", "in.csv", "out.csv", "--config", "typo.toml")
    assert "sexx" in str(refused.exception) and "sex" in str(refused.exception).replace("sexx", "")
    told = call(anonymized, "verify", "out.csv", "--config", "typo.toml")
    assert told.exit_code == 0 and "the table has no sexx" in told.stderr


def test_names_left_in_are_found_with_a_configuration(anonymized):
    released = pd.read_csv(anonymized / "out.csv").head(300)
    released["who"] = pd.read_csv(anonymized / "in.csv")["name"].head(len(released))
    released.to_csv(anonymized / "named.csv", index=False)
    out = call(anonymized, "attack", "in.csv", "named.csv", "--config", "anon.toml", "--for", "collaborator")
    assert isinstance(out.exception, AnonymityError) and "'who'" in out.output


@pytest.mark.parametrize("person", [True, False], ids=["of people", "of rows"])
def test_pseudonyms_of_a_configuration_raise_no_alarm_and_names_in_their_place_do(anonymized, person):
    key, linked = ("person", "true\nkey_file = 'a.key'") if person else ("# person", "false")
    (anonymized / "a.key").write_bytes(bytes(range(32)))
    text = f'{key} = "name"\n' + US_CONFIG.replace('identifiers = ["name"]', "").replace("k = 4", "k = 5")
    (anonymized / "ids.toml").write_text(f"{text}[pseudonyms.name]\nconsistent = {linked}\n")
    assert call(anonymized, "anonymize", "in.csv", "--config", "ids.toml", "-o", "ids.csv", "--force").exit_code == 0
    found = json.loads(call(anonymized, "attack", "in.csv", "ids.csv", "--config", "ids.toml", "--json").stdout)
    assert not found["columns"]
    assert {one["audience"]: one["answer"] for one in found["verdicts"]}["collaborator"] == "yes"
    released = pd.read_csv(anonymized / "ids.csv", dtype=str)
    released["name"] = pd.read_csv(anonymized / "in.csv")["name"].head(len(released))
    released.to_csv(anonymized / "raw.csv", index=False)
    raw = json.loads(call(anonymized, "attack", "in.csv", "raw.csv", "--config", "ids.toml", "--json").stdout)
    assert [one["column"] for one in raw["columns"]] == ["name"]
    assert {one["audience"]: one["answer"] for one in raw["verdicts"]}["collaborator"] == "no"
