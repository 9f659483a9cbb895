"""pydplib release, price and schema: the whole way from a file to an answer, and errors with their exit codes."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import pydplib as dp
from pydplib import datasets, plot
from pydplib.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("release")
    frame = datasets.pirads(300, backend="pandas")
    frame.to_parquet(path / "reports.parquet")
    frame.to_csv(path / "reports.csv", index=False)
    (path / "schema.toml").write_text(datasets.pirads_schema().to_toml())
    return path


@pytest.fixture
def run(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def call(*args: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as done:
            main(list(args))
        captured = capsys.readouterr()
        return int(done.value.code or 0), captured.out, captured.err

    def ask(command: str, question: str, *args: str, file: str = "reports.parquet", recipient: str = "partner"):
        return call(
            command, str(folder / file), "--schema", str(folder / "schema.toml"), "--question", question,
            "--recipient", recipient, "--ledger", str(tmp_path / "ledger.db"), *args,
        )  # fmt: skip

    ask.call = call  # type: ignore[attr-defined]
    return ask


def test_release_as_in_the_manual_answers_and_says_what_is_left(run):
    code, out, _ = run("release", "mean age by pirads", "--noise-factor", "high")
    assert code == 0
    assert out.startswith("mean of age by pirads")
    assert "Differentially private with epsilon" in out and "left       epsilon 1." in out


def test_release_twice_costs_once_and_is_the_same_on_csv_and_parquet(run):
    first = run("release", "count by pirads", "--epsilon", "0.3", "--json")
    again = run("release", "count by pirads", "--epsilon", "0.3", "--json")
    csv_file = run("release", "count by pirads", "--epsilon", "0.3", "--json", file="reports.csv")
    assert first == again == csv_file and first[0] == 0
    release = dp.Release.from_json(first[1])
    assert release.epsilon == 0.3
    price = json.loads(run("price", "count by pirads", "--epsilon", "0.3", "--json")[1])
    assert price["free"] and price["left"]["epsilon"] == 1.7 and price["nano_epsilon_in_all"] == 0


def test_release_as_csv_holds_no_cell_that_a_spreadsheet_would_run(tmp_path):
    from pydplib.release.results.formats import to_csv

    schema = dp.Schema({"site": dp.Category(["=1+1", "north"])}, person="id", max_rows_per_person=1, name="sites")
    file = tmp_path / "sites.csv"
    file.write_text("id,site\n1,=1+1\n2,north\n3,north\n")
    table = dp.load(file, schema)
    session = dp.Session(table, recipient="partner", budget=dp.PureDP(1.0))
    text = to_csv(session.release(dp.Count(by="site"), epsilon=1.0))
    assert "'=1+1," in text and "\n=1+1" not in text


def test_release_as_csv_has_one_row_per_key(run):
    _, out, _ = run("release", "mean age by bph", "--epsilon", "0.5", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["bph", "value", "low95", "high95", "margin95"] and len(rows) == 2


def test_a_format_that_is_entered_can_be_written(run, tmp_path, monkeypatch):
    from pydplib.release.results.formats import TABLE_FORMATS, TableFormat, table_of

    def write(release, end):
        return f"{len(table_of(release)['value'])} values".encode()

    sheet = TableFormat(ending="sheet", title="Sheet", media_type="x/sheet", write=write, is_text=False)
    monkeypatch.setitem(TABLE_FORMATS, "sheet", sheet)
    file = tmp_path / "answer.sheet"
    code, _, _ = run("release", "mean age by bph", "--epsilon", "0.5", "--output", str(file))
    assert code == 0 and file.read_bytes() == b"2 values"
    code, _, said = run("release", "mean age by bph", "--epsilon", "0.5", "--output", str(tmp_path / "answer.odd"))
    assert code == 11 and ".csv, .parquet, .sheet, .json" in said


def test_release_as_page_draws_and_shows_the_guarantee(run, tmp_path):
    page = tmp_path / "answer.html"
    code, out, _ = run("release", "histogram age", "--epsilon", "0.5", "--html", "--output", str(page))
    assert code == 0 and "Wrote" in out
    text = page.read_text()
    assert "Differentially private" in text and "Error bars: how far the noise may have moved a number" in text
    assert "Counted: " in text


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_release_as_picture_draws_the_words_in(run, tmp_path, monkeypatch, ending):
    drawn = []
    monkeypatch.setattr(plot, "to_png", lambda figure, path: drawn.append((figure.drawn(), path)))
    code, out, _ = run("release", "histogram age", "--epsilon", "0.5", "--output", str(tmp_path / f"a.{ending}"))
    assert code == 0 and "Wrote" in out
    (figure, path), *_ = drawn
    words = figure.layout.annotations[-1].text.replace("<br>", " ")
    assert path.suffix == f".{ending}" and figure.layout.title.text == "Histogram of age"
    assert "Differentially private" in words and "Error bars: how far the noise may have moved a number" in words


def test_release_over_budget_ends_with_code_20_and_shows_asked_and_left(run):
    run("release", "count", "--epsilon", "0.4", "--budget", "0.5")
    code, _, err = run("release", "mean age", "--epsilon", "0.4", "--budget", "0.5")
    assert code == 20 and "asked epsilon 0.4, left epsilon 0.1 of 0.5" in err


@pytest.mark.parametrize(
    ("question", "args", "code", "message"),
    [
        ("maen age", ["--epsilon", "0.1"], 13, "Did you mean 'mean'"),
        ("mean age", ["--epsilon", "1.5"], 21, "at most"),
        ("mean age", ["--noise-factor", "low"], 21, "much noise at most"),
        ("mean age", ["--epsilon", "0.1", "--margin", "3"], 11, "one of"),
        ("mean age", ["--epsilon", "-1"], 11, "positive"),
        ("mean age", ["--epsilon", "0.1", "--png"], 11, "--output"),
        ("mean age", ["--epsilon", "0.1", "--json", "--csv"], 11, "one of --json"),
        ("mean age", ["--epsilon", "0.1", "--role", "kind"], 11, "Unknown role"),
    ],
)
def test_release_errors_end_with_the_code_of_their_class(run, question, args, code, message):
    found, _, err = run("release", question, *args)
    assert found == code and message in err
    assert "Traceback" not in err


def test_price_shows_cost_and_margin_without_spending(run):
    code, out, _ = run("price", "median age", "--margin", "100")
    assert code == 0 and "± 100 ranks" in out
    assert json.loads(run("price", "count", "--epsilon", "0.2", "--json")[1])["left"]["epsilon"] == 2.0


def test_policy_file_changes_caps(run, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        "data_set_budget = 5.0\n[[rules]]\naudience = 'third_party'\nlabel = 'dp_high'\nfields = ['age']\n"
        "filters = []\nepsilon_per_question = 0.1\nbudget = 0.5\n"
    )
    assert run("price", "mean age", "--epsilon", "0.1", "--policy", str(policy))[0] == 0
    assert run("price", "mean age", "--epsilon", "0.2", "--policy", str(policy), recipient="b")[0] == 21
    assert run("price", "mean age by bph", "--epsilon", "0.1", "--policy", str(policy), recipient="c")[0] == 21


def test_schema_without_a_name_is_refused_before_a_ledger_is_made(run, folder, tmp_path):
    (tmp_path / "plain.toml").write_text('[columns.age]\nkind = "number"\nlow = 18\nhigh = 100\n')
    ledger = tmp_path / "other.db"
    args = ["--schema", str(tmp_path / "plain.toml"), "-q", "count", "--epsilon", "0.1", "--recipient", "a"]
    code, _, err = run.call("release", str(folder / "reports.csv"), *args, "--ledger", str(ledger))
    assert code == 12 and 'name = "reports"' in err and not ledger.exists()


def test_price_makes_no_ledger_and_opens_no_budget(run, tmp_path):
    ledger = tmp_path / "ledger.db"
    assert run("price", "count", "--epsilon", "0.2")[0] == 0
    assert not ledger.exists()
    run("release", "count", "--epsilon", "0.2")
    assert run("price", "count", "--epsilon", "0.2", recipient="another")[0] == 0
    with dp.SqliteLedger(ledger) as opened:
        assert {account.recipient for account in opened.accounts()} == {None, "partner"}


def test_release_never_writes_over_what_it_reads_or_over_the_ledger(run, folder, tmp_path):
    before = (folder / "reports.csv").read_bytes()
    for target in (folder / "reports.csv", folder / "schema.toml", tmp_path / "ledger.db"):
        for force in ([], ["--force"]):
            args = ["--epsilon", "0.1", "--csv", "--output", str(target), *force]
            assert run("release", "count", *args, file="reports.csv")[0] == 11
    assert (folder / "reports.csv").read_bytes() == before
    assert not (tmp_path / "ledger.db").exists()  # refused before anything was paid
    assert run("release", "count", "--epsilon", "0.1", "--output", str(tmp_path / "answer.docx"))[0] == 11
    assert not (tmp_path / "ledger.db").exists() and not (tmp_path / "answer.docx").exists()
    target = tmp_path / "answer.csv"
    target.write_text("mine")
    assert run("release", "count", "--epsilon", "0.1", "--output", str(target))[0] == 11
    assert target.read_text() == "mine"
    assert run("release", "count", "--epsilon", "0.1", "--output", str(target), "--force")[0] == 0
    assert target.read_text() != "mine"


def test_release_without_a_price_is_refused_unless_a_role_is_named(run, tmp_path):
    code, _, err = run("release", "count")
    assert code == 11 and "--epsilon" in err and "--noise-factor" in err
    assert not (tmp_path / "ledger.db").exists()
    assert run("release", "count", "--role", "third_party")[0] == 0


def test_release_says_what_was_bought_and_what_was_paid_before(run):
    _, first, _ = run("release", "mean age", "--noise-factor", "high")
    assert "bought as well, once, for epsilon 0.1" in first
    _, again, _ = run("release", "mean age", "--noise-factor", "high")
    assert "Paid before: nothing was charged." in again and "Answered from the ledger" in again


def test_release_of_free_text_needs_a_delta_and_then_shows_common_values(run, tmp_path):
    (tmp_path / "cities.csv").write_text("id,city\n" + "".join(f"p{i},Oslo\n" for i in range(500)))
    (tmp_path / "cities.toml").write_text(
        'name = "cities"\nperson = "id"\nmax_rows_per_person = 1\n[columns.id]\nkind = "text"\n'
        '[columns.city]\nkind = "text"\nlabel = "quasi"\n'
    )
    args = [
        str(tmp_path / "cities.csv"), "--schema", str(tmp_path / "cities.toml"), "-q", "count by city", "--epsilon",
        "0.4", "--recipient", "a", "--ledger", str(tmp_path / "cities.db"),
    ]  # fmt: skip
    code, _, err = run.call("release", *args)
    assert code == 13 and "--delta" in err and "None" not in err
    code, out, err = run.call("release", *args, "--delta", "1e-7")
    assert code == 0 and "Oslo" in out, err


def test_schema_check_lists_every_empty_entry_at_once(run, tmp_path):
    path = tmp_path / "draft.toml"
    path.write_text(
        'name = "a"\n[columns.age]\nkind = "number"\nlow = ""\nhigh = ""\n[columns.sex]\nkind = "category"\n'
        "values = []\n"
    )
    code, _, err = run.call("schema", "check", str(path))
    assert code == 12 and "age: low, high" in err and "sex: values" in err and "may be deleted" in err


def test_help_lists_subcommands_whole_and_examples_as_they_stand(run):
    _, out, _ = run.call("schema", "--help")
    assert "..." not in out.split("Commands")[1]
    for name in ("release", "price", "audit"):
        assert "\\b" not in run.call(name, "--help")[1]


def test_schema_init_proposes_kinds_and_leaves_bounds_empty(run, folder, tmp_path):
    path = tmp_path / "draft.toml"
    code, out, _ = run.call("schema", "init", str(folder / "reports.csv"), "-o", str(path))
    assert code == 0 and "Fill in the empty entries" in out
    text = path.read_text()
    assert 'person = "patient_id"' in text and 'low = ""' in text and "values = []" in text
    ages = datasets.pirads(300, backend="pandas").age
    assert str(ages.max()) not in text and "chr" not in text.split("[columns", 1)[1].replace("character", "")
    code, _, err = run.call("schema", "check", str(path))
    assert code == 12 and "still to be filled in" in err
    assert 'max_rows_per_person = ""' in text and "max_rows_per_person: how many rows of one person count" in err
    path.write_text("mine")
    code, _, err = run.call("schema", "init", str(folder / "reports.csv"), "-o", str(path))
    assert code == 11 and path.read_text() == "mine" and "--force" in err, "never overwritten unless asked"
    assert run.call("schema", "init", str(folder / "reports.csv"), "-o", str(path), "--force")[0] == 0
    assert "[columns." in path.read_text()


def test_schema_init_reads_parquet_and_prints(run, folder):
    code, out, _ = run.call("schema", "init", str(folder / "reports.parquet"))
    assert code == 0 and '[columns."age"]' in out and 'kind = "flag"' in out


def test_schema_check_accepts_a_finished_schema_and_its_file(run, folder):
    code, out, _ = run.call("schema", "check", str(folder / "schema.toml"), str(folder / "reports.parquet"))
    assert (
        code == 0
        and "The schema is complete: 17 columns; person 'patient_id', at most 3 rows each count in full" in out
    )


def test_schema_init_of_a_missing_or_broken_file_is_a_clear_error(run, tmp_path):
    assert run.call("schema", "init", str(tmp_path / "none.csv"))[0] == 10
    (tmp_path / "broken.parquet").write_bytes(b"CANARY-1")
    code, _, err = run.call("schema", "init", str(tmp_path / "broken.parquet"))
    assert code == 10 and "CANARY" not in err
    assert run.call("schema", "init", str(tmp_path / "x.docx"))[0] == 11


def test_filled_in_proposal_can_be_asked(run, folder, tmp_path):
    _, out, _ = run.call("schema", "init", str(folder / "reports.csv"))
    lines, column = [], ""
    for line in out.splitlines():
        column = line if line.startswith("[") else column
        if line.startswith("low ="):
            line = 'low = "2017-01-01"' if "last_modified" in column else "low = 0"
        if line.startswith("high ="):
            line = 'high = "2018-12-31"' if "last_modified" in column else "high = 3000"
        if line.startswith("max_rows_per_person"):
            line = "max_rows_per_person = 3"
        lines.append('values = ["a"]' if line.startswith("values") else line)
    (tmp_path / "filled.toml").write_text("\n".join(lines))
    args = ["--schema", str(tmp_path / "filled.toml"), "-q", "mean age", "--epsilon", "0.1", "--recipient", "a"]
    assert run.call("release", str(folder / "reports.csv"), *args, "--ledger", str(tmp_path / "l.db"))[0] == 0


def test_help_of_the_commands_answers_at_once():
    for name in ("release", "price", "schema"):
        done = subprocess.run(
            [sys.executable, "-m", "pydplib", name, "--help"], capture_output=True, text=True, check=True
        )
        assert "Usage" in done.stdout


def test_several_questions_are_bought_together_and_answer_others_for_nothing(run):
    more = ("-q", "crosstab age, bph", "-q", "count", "--epsilon", "0.5")
    code, out, _ = run("price", "count by pirads", *more)
    assert code == 0 and out.startswith("price of: 3 tables together: ") and "bought one by one: ±" in out
    code, out, _ = run("release", "count by pirads", *more, "--json")
    tables = dp.release.MeasuredTables.from_json(out)
    assert code == 0 and len(tables) == 3 and tables.epsilon == 0.5
    assert run("release", "count by pirads", *more, "--json")[1] == out
    code, out, _ = run("release", "count by pirads", *more, "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {"table", "cell", "value", "margin95", "simultaneous95"} <= set(rows[0])
    assert rows[-1]["table"] == "count of rows"
    code, out, _ = run("release", "count by pirads", *more)
    assert code == 0 and out.startswith("3 tables, measured together: epsilon 0.5") and "Paid before" in out
    code, out, _ = run("release", "count by bph", "--epsilon", "0.05")
    assert code == 0 and "Answered from 3 tables that you have paid for" in out
    price = json.loads(run("price", "count by bph", "--epsilon", "0.05", "--json")[1])
    assert price["free"] and price["left"]["epsilon"] == 1.5


def test_several_questions_take_a_delta_and_pay_it_only_for_gaussian_noise(run):
    asked = ("count by pirads", "-q", "count by bph", "--epsilon", "0.1", "--budget", "2", "--delta")
    code, out, _ = run("price", *asked, "1e-9", "--json")
    assert code == 0 and json.loads(out)["cost"]["mechanism"] == "laplace_tables"  # two tables need no delta
    code, _, err = run("price", *asked, "0.4")
    assert code != 0 and "Ask for at most that" in " ".join(err.split())


def test_several_questions_need_one_epsilon_and_tables_of_counts(run, tmp_path):
    for options, words in (
        (("--margin", "3"), "one --epsilon"),
        (("-q", "median age", "--epsilon", "0.1"), "no table of counts"),
        (("--epsilon", "0.1", "--png", "--output", str(tmp_path / "a.png")), "--json or --csv"),
    ):
        code, _, err = run("release", "count by pirads", "-q", "count by bph", *options)
        assert code != 0 and words in " ".join(err.split())
    assert not (tmp_path / "ledger.db").exists()


def test_decimal_says_what_a_point_means_in_every_command_on_a_table(run, tmp_path):
    path, schema = tmp_path / "sizes.csv", tmp_path / "sizes.toml"
    path.write_text("\n".join(["id;size", *(f"p{i};1.500" for i in range(400))]))
    schema.write_text(dp.Schema({"size": dp.Number(0, 2000)}, person="id", max_rows_per_person=1, name="s").to_toml())
    for recipient, said, expected in (("a", (), (0, 300)), ("b", ("--decimal", ","), (1300, 1700))):
        code, out, _ = run.call(
            "release", str(path), "--schema", str(schema), "-q", "mean size", "--epsilon", "1", "--json",
            "--recipient", recipient, "--ledger", str(tmp_path / f"{recipient}.db"), *said,
        )  # fmt: skip
        assert code == 0 and expected[0] <= json.loads(out)["values"][0] <= expected[1]
    schema.write_text(dp.Schema({"size": dp.Number(0, 100)}, person="id", max_rows_per_person=1, name="s").to_toml())
    assert "no value lies beyond" in run.call("schema", "check", str(schema), str(path))[1]
    assert "no value lies beyond" not in run.call("schema", "check", str(schema), str(path), "--decimal", ",")[1]
    code, out, _ = run.call("schema", "init", str(path), "-o", str(tmp_path / "new.toml"), "--decimal", ",")
    assert code == 0 and out.rstrip().endswith("--decimal ,")
