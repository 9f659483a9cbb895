"""``pydplib noise``: one column gets noise, everything else stays, and nothing is half written."""

from __future__ import annotations

import datetime
import gzip
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest
from click.testing import CliRunner, Result

from pydplib.cli import cli, main, outputs, progress
from pydplib.cli.answers.noise import in_option_words
from pydplib.errors import PydplibError

CANARY = "CANARY-Zitronenfalter"
ASK = ("--query", "mean", "--role", "third_party")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(cli, ["noise", *arguments], input=stdin)

    return invoke


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    path = tmp_path / "reports.csv"
    lines = ["id,age,name,bph,seen"]
    lines += [
        f'{i:04d},{40 + 7 * i % 50},"Meyer, ""{i}""",{"true" if i % 3 else "false"},2024-01-{1 + i % 28:02d}'
        for i in range(200)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(path: Path | str) -> list[list[str]]:
    import csv

    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_csv_when_one_column_gets_noise_keeps_all_others_to_the_letter(run, reports, tmp_path) -> None:
    result = run(str(reports), "--column", "age", *ASK, "-o", "out.csv")
    assert result.exit_code == 0, result.output
    before, after = rows(reports), rows(tmp_path / "out.csv")
    assert before[0] == after[0]
    assert [row[:1] + row[2:] for row in before] == [row[:1] + row[2:] for row in after]
    ages = [[int(row[1]) for row in table[1:]] for table in (before, after)]
    noise = 100 * np.abs(np.subtract(*ages)).sum() / np.sum(ages[0])
    assert 8 < noise < 25


def test_summary_goes_to_standard_error_with_guarantee_and_unchanged_columns(run, reports) -> None:
    result = run(str(reports), "--column", "age", *ASK)
    assert "No privacy guarantee" in result.stderr
    assert "4 other columns, exactly as in the input: id, name, bph, seen" in result.stderr
    assert result.stdout.startswith("id,age,name,bph,seen\n")
    assert "guarantee" not in result.stdout


def test_help_says_that_other_columns_leave_as_they_are(run) -> None:
    assert "ALL OTHER COLUMNS LEAVE AS THEY ARE" in run("--help").output


def test_only_column_writes_nothing_else(run, reports, tmp_path) -> None:
    assert run(str(reports), "--column", "age", *ASK, "--only-column", "-o", "out.csv").exit_code == 0
    assert {len(row) for row in rows(tmp_path / "out.csv")} == {1}


@pytest.mark.parametrize(
    ("column", "options", "pattern"),
    [
        ("age", [], r"-?\d+"),
        ("bph", [], r"true|false"),
        ("seen", [], r"\d{4}-\d\d-\d\d"),
        ("age", ["--data-type", "float"], r"-?[\d.]+(e-?\d+)?"),
        ("age", ["--data-type", "string", "--is-range"], r"\d\d"),
        ("age", ["--is-range"], r"\d\d"),
        ("age", ["--bounds", "18,100"], r"-?\d+"),
        ("seen", ["--bounds", "2023-01-01,2025-01-01", "--is-range"], r"202[345]-\d\d-\d\d"),
        ("bph", ["--selector", "public"], r"true|false"),
        ("age", ["--selector", "search"], r"-?\d+"),
        ("age", ["--noise-metric", "range"], r"-?\d+"),
    ],
)
def test_every_kind_of_column_comes_back_as_its_kind(run, reports, tmp_path, column, options, pattern) -> None:
    import re

    result = run(str(reports), "--column", column, *ASK, *options, "--only-column", "-o", "out.csv")
    assert result.exit_code == 0, result.output
    values = [row[0] for row in rows(tmp_path / "out.csv")[1:]]
    assert len(values) == 200
    assert all(re.fullmatch(pattern, value) for value in values)


def test_parquet_when_written_keeps_types_and_rows(run, tmp_path) -> None:
    path = tmp_path / "in.parquet"
    duckdb.sql(
        "COPY (SELECT range::INTEGER AS id, (40 + range % 50)::UTINYINT AS age, range / 7.0 AS psa, "
        "range % 3 = 0 AS bph, "
        "DATE '2020-01-01' + range::INTEGER AS seen, ['n', 'y', 'chr'][1 + range % 3] AS prostatitis, [range] AS list, "
        f"(range / 10)::DECIMAL(8, 1) AS price FROM range(500)) TO '{path}'"
    )
    types = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE FROM '{path}')").fetchall())
    for column in ("age", "psa", "bph", "seen", "prostatitis", "price"):
        result = run(str(path), "--column", column, *ASK, "--is-range", "-o", "out.parquet", "--force")
        assert result.exit_code == 0, result.output
        after = dict(duckdb.sql("SELECT column_name, column_type FROM (DESCRIBE FROM 'out.parquet')").fetchall())
        assert after == types | ({"price": "DOUBLE"} if column == "price" else {})
        same = duckdb.sql(f"SELECT count(*) FROM 'out.parquet' o POSITIONAL JOIN '{path}' i WHERE o.list = i.list")
        assert same.fetchall() == [(500,)]


def test_parquet_when_noise_leaves_a_narrow_type_widens_it(run, tmp_path) -> None:
    path = tmp_path / "in.parquet"
    duckdb.sql(f"COPY (SELECT (range % 256)::UTINYINT AS v FROM range(500)) TO '{path}'")
    assert run(str(path), "--column", "v", *ASK, "-o", "out.parquet").exit_code == 0
    assert duckdb.sql("SELECT typeof(v), min(v) < 0 FROM 'out.parquet' GROUP BY 1").fetchall() == [("BIGINT", True)]


def test_parquet_of_lists_is_refused(run, tmp_path) -> None:
    path = tmp_path / "in.parquet"
    duckdb.sql(f"COPY (SELECT [range] AS v FROM range(5)) TO '{path}'")
    assert "not supported" in str(run(str(path), "--column", "v", *ASK).exception)


def test_formats_can_be_crossed_and_piped(run, reports, tmp_path) -> None:
    assert run(str(reports), "--column", "age", *ASK, "-o", "out.parquet").exit_code == 0
    piped = run("-", "--column", "age", *ASK, "--format", "csv", stdin=(tmp_path / "out.parquet").read_bytes())
    assert isinstance(piped.exception, PydplibError)  # it is no CSV, and --format says it is
    piped = run("-", "--column", "age", *ASK, stdin=(tmp_path / "out.parquet").read_bytes())
    assert piped.stdout_bytes[:4] == b"PAR1"
    piped = run("-", "--column", "age", *ASK, stdin=reports.read_bytes())
    assert piped.stdout.count("\n") == 201


def test_pipe_of_the_real_program_works_end_to_end(reports) -> None:
    command = [sys.executable, "-m", "pydplib", "noise", "-", "--column", "age", *ASK, "--json"]
    done = subprocess.run(command, input=reports.read_bytes(), capture_output=True, check=True)
    assert done.stdout.startswith(b"id,age,name,bph,seen\n")
    assert json.loads(done.stderr)["guarantee"]["kind"] == "NoGuarantee"


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ","])
def test_separator_is_found_and_kept(run, tmp_path, delimiter) -> None:
    path = tmp_path / "in.csv"
    path.write_text(
        "\n".join(delimiter.join(row) for row in [["id", "age"], *([f"0{i}", str(40 + i)] for i in range(9))])
    )
    assert run(str(path), "--column", "age", *ASK, "-o", "out.csv").exit_code == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == f"id{delimiter}age"
    assert all(line.startswith(f"0{i}{delimiter}") for i, line in enumerate(lines[1:]))


def test_decimal_commas_are_read_and_written(run, tmp_path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id;psa\n" + "".join(f"{i};{i},5\n" for i in range(1, 40)))
    assert run(str(path), "--column", "psa", *ASK, "-o", "out.csv").exit_code == 0
    values = [line.split(";")[1] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]]
    assert all("." not in value for value in values)
    assert any("," in value for value in values)


def test_gzipped_csv_is_read(run, tmp_path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(b"id;age\n1;40\n2;50\n3;66\n"))
    assert run(str(path), "--column", "age", *ASK).stdout.startswith("id;age\n")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_when_missing_are_dropped_whole(run, tmp_path, kind) -> None:
    path = tmp_path / f"in.{kind}"
    select = "SELECT range AS id, CASE WHEN range % 4 <> 0 THEN range + 40 END AS age FROM range(100)"
    duckdb.sql(f"COPY ({select}) TO '{path}'")
    stopped = run(str(path), "--column", "age", *ASK)
    assert "missing" in str(stopped.exception)
    assert run(str(path), "--column", "age", *ASK, "--on-missing", "drop", "-o", f"out.{kind}").exit_code == 0
    ids = [row[0] for row in duckdb.sql(f"SELECT id FROM 'out.{kind}'").fetchall()]
    assert ids == [i for i in range(100) if i % 4]


def test_text_when_missing_can_be_a_category(run, tmp_path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("id,p\n" + "".join(f"{i},{['n', 'y', ''][i % 3]}\n" for i in range(90)))
    options = [*ASK, "--is-range", "--on-missing", "category", "-o", "out.csv"]
    assert run(str(path), "--column", "p", *options).exit_code == 0
    assert {row[1] for row in rows(tmp_path / "out.csv")[1:]} <= {"n", "y", ""}


def test_text_with_public_categories_carries_a_guarantee(run, tmp_path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("p\n" + "n\ny\nchr\n" * 30)
    options = ["--query", "count", "--record-epsilon", "2", "--categories", "n,y,chr", "-o", "out.csv", "--json"]
    summary = json.loads(run(str(path), "--column", "p", *options).stdout)
    assert summary["guarantee"]["kind"] == "LocalDP"
    assert summary["guarantee"]["epsilon"] <= 2


def test_json_summary_goes_where_the_data_do_not(run, reports) -> None:
    to_file = run(str(reports), "--column", "age", *ASK, "-o", "out.csv", "--json")
    assert json.loads(to_file.stdout)["unchanged_columns"] == ["id", "name", "bph", "seen"]
    to_screen = run(str(reports), "--column", "age", *ASK, "--json")
    assert json.loads(to_screen.stderr)["noise_factor"] == "high"


def test_bounds_and_record_epsilon_give_a_guarantee(run, reports) -> None:
    options = ["--query", "2", "--record-epsilon", "4", "--bounds", "18,100", "-o", "out.csv", "--json"]
    summary = json.loads(run(str(reports), "--column", "age", *options).stdout)
    assert summary["guarantee"]["kind"] == "LocalDP"
    assert summary["record_epsilon"] <= 4


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["reports.csv", "--column", "agee", *ASK], 11, "Did you mean 'age'?"),
        (["reports.csv", "--column", "age", "--query", "mean"], 2, "exactly one way"),
        (["reports.csv", "--column", "age", *ASK, "--noise-factor", "low"], 2, "exactly one way"),
        (["reports.csv", "--column", "age", "--query", "mode", "--role", "owner"], 2, "mode"),
        (["reports.csv", "--column", "age", *ASK, "--bounds", "18"], 2, "LOW,HIGH"),
        (["reports.csv", "--column", "age", *ASK, "--bounds", "100,18"], 11, "low < high"),
        (["reports.csv", "--column", "name", *ASK], 10, "--is-range"),
        (["reports.csv", "--column", "name", *ASK, "--data-type", "int"], 10, "--data-type"),
        (["reports.csv", "--column", "age", "--query", "mean", "--record-epsilon", "1"], 11, "--bounds LOW,HIGH"),
        (["reports.csv", "--column", "age", *ASK, "-o", "reports.csv"], 11, "would replace 'reports.csv'"),
        (["reports.csv", "--column", "age", *ASK, "-o", "nowhere/out.csv"], 11, "does not exist"),
        (["absent.csv", "--column", "age", *ASK], 10, "There is no file"),
        (["empty.csv", "--column", "age", *ASK], 10, "empty"),
        (["ragged.csv", "--column", "a", *ASK], 10, "cannot be read"),
        (["late.csv", "--column", "a", *ASK], 10, "opens a quote"),
        (["utf16.csv", "--column", "c", *ASK], 11, "no column"),
        (["broken.parquet", "--column", "a", *ASK], 10, "Parquet"),
        (["broken.csv.gz", "--column", "a", *ASK], 10, "complete"),
        (["infinite.csv", "--column", "a", *ASK, "--data-type", "float"], 10, "Not every value"),
    ],
)
def test_errors_come_without_traceback_with_an_exit_code_and_quote_nothing(
    arguments, code, words, reports, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports.csv").write_text(reports.read_text().replace("Meyer", CANARY))
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "ragged.csv").write_text(f"a,b\n1,2\n3,4,{CANARY}\n")
    (tmp_path / "late.csv").write_text("a,b\n" + "1,2\n" * 60_000 + f'3,"{CANARY}\n4\n')
    (tmp_path / "utf16.csv").write_bytes(b"\xff\xfe" + f"a;b\n1;{CANARY}".encode("utf-16-le") + b"\x00")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1" + CANARY.encode())
    (tmp_path / "broken.csv.gz").write_bytes(b"\x1f\x8b" + CANARY.encode())
    (tmp_path / "infinite.csv").write_text("a\n1.5\ninf\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(SystemExit) as ended:
        main(["noise", *arguments])
    shown = capsys.readouterr()
    assert ended.value.code == code, shown.err
    assert words in shown.err
    assert "Traceback" not in shown.err
    assert CANARY not in shown.err + shown.out
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_output_when_writing_fails_is_left_as_it_was(run, reports, tmp_path, monkeypatch) -> None:
    target = tmp_path / "out.csv"
    target.write_text("precious")

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(outputs.os, "replace", fail)
    result = run(str(reports), "--column", "age", *ASK, "-o", "out.csv", "--force")
    assert "No space left" in str(result.exception)
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_header_without_rows_gives_an_empty_file(run, tmp_path) -> None:
    (tmp_path / "in.csv").write_text("a,b\n")
    assert run("in.csv", "--column", "a", *ASK).stdout == "a,b\n"


def test_names_with_quotes_and_commas_are_columns_like_others(run, tmp_path) -> None:
    path = tmp_path / "it's in.csv"
    path.write_text('"age, ""years""",b\n61,x\n70,y\n55,z\n')
    result = run(str(path), "--column", 'age, "years"', *ASK, "-o", "o'ut.csv")
    assert result.exit_code == 0, result.output
    assert rows(tmp_path / "o'ut.csv")[0] == ['age, "years"', "b"]


def test_large_files_say_what_they_are_doing(run, reports, monkeypatch) -> None:
    monkeypatch.setattr(progress, "_LARGE", 10)
    result = run(str(reports), "--column", "age", *ASK, "-o", "out.csv")
    assert result.stderr.startswith("Reading ...\nAdding noise ...\nWriting ...\n")


def test_large_files_on_a_terminal_show_bars(monkeypatch, tmp_path, reports) -> None:
    monkeypatch.setattr(progress, "_LARGE", 10)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress.show_steps(str(reports)) as steps:
        steps.start("Reading")
        steps.percent(-1.0)
        steps.percent(50.0)
        steps.start("Writing")
    assert steps._bar is not None


def test_rows_of_a_large_file_stay_together(run, tmp_path) -> None:
    """Noise of a known sign on a column that repeats the row number: no value may move to another row."""
    path = tmp_path / "in.parquet"
    n = 400_000
    duckdb.sql(f"COPY (SELECT range AS id, range + 1000000000 AS v FROM range({n})) TO '{path}'")
    result = run(
        str(path), "--column", "v", "--query", "mean", "--role", "owner", "--noise-metric", "range", "-o", "o.csv"
    )
    assert result.exit_code == 0, result.output
    ids, values = np.loadtxt(tmp_path / "o.csv", delimiter=",", skiprows=1, dtype=np.int64).T
    assert (ids == np.arange(n)).all()
    assert abs(np.median(values - 1_000_000_000 - ids)) < 100
    assert np.abs(values - 1_000_000_000 - ids).mean() == pytest.approx(0.025 * n, rel=0.02)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use on_missing='drop' now", "use --on-missing drop now"),
        ("add is_range=True, or", "add --is-range, or"),
        ("public bounds=(low, high), known", "public --bounds LOW,HIGH, known"),
        ("e.g. bounds=(18, 100) for ages", "e.g. --bounds 18,100 for ages"),
        ("with categories=[...].", "with --categories A,B,C."),
        ("range of epsilons=, or", "range of --epsilons, or"),
    ],
)
def test_messages_are_put_into_the_words_of_the_command_line(text, expected) -> None:
    assert in_option_words(text) == expected


def test_dates_in_bounds_are_read() -> None:
    from pydplib.cli.answers.noise import read_bounds

    assert read_bounds(None, None, "2020-01-01, 2024-12-31") == (
        datetime.date(2020, 1, 1),
        datetime.date(2024, 12, 31),
    )
