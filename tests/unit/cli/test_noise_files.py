"""``pydplib noise`` and the files around it: types, names, rights, links, pipes, signals and full disks."""

from __future__ import annotations

import csv
import gzip
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from pydplib.cli import cli
from pydplib.errors import DataError, ParameterError

ASK = ("--column", "age", "--query", "mean", "--noise-factor", "low")
PUBLIC = ("--column", "age", "--query", "mean", "--record-epsilon", "2", "--bounds", "18,100")
PROGRAM = [sys.executable, "-m", "pydplib"]


def run(*arguments: object):
    return CliRunner().invoke(cli, ["noise", *map(str, arguments)])


def good(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.exception
    return result.stdout


def table(text: str, separator: str = ",") -> list[list[str]]:
    return list(csv.reader(text.splitlines(), delimiter=separator))


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows) + "\n")
    return path


# Types under a guarantee


@pytest.mark.parametrize("last", ["55", "55.5"])
def test_csv_when_public_gives_decimals_whatever_the_values_are(tmp_path, last) -> None:
    path = write(tmp_path / "in.csv", "age", *["61"] * 300, last)
    values = [row[0] for row in table(good(path, *PUBLIC))[1:]]
    assert any(float(value) != round(float(value)) for value in values)


def test_csv_when_public_and_data_type_is_said_gives_whole_numbers(tmp_path) -> None:
    path = write(tmp_path / "in.csv", "age", *["61"] * 300)
    assert all(re.fullmatch(r"-?\d+", row[0]) for row in table(good(path, *PUBLIC, "--data-type", "int"))[1:])


@pytest.mark.parametrize("last", ["55", "55,5", "55.5"])
def test_csv_with_semicolons_when_public_has_decimal_commas_whatever_the_values_are(tmp_path, last) -> None:
    path = write(tmp_path / "in.csv", "age;x", *["61;1"] * 100, f"{last};1")
    values = [row[0] for row in table(good(path, *PUBLIC), ";")[1:]]
    assert len(values) == 101 and all(re.fullmatch(r"-?\d+,\d+(e-?\d+)?", value) for value in values)


def test_csv_when_public_and_values_do_not_fit_is_an_error(tmp_path) -> None:
    path = write(tmp_path / "in.csv", "age", "61", "Zaphod")
    assert isinstance(run(path, *PUBLIC).exception, DataError)
    assert "Zaphod" not in str(run(path, *PUBLIC).exception)
    assert isinstance(run(path, *PUBLIC[:-2]).exception, ParameterError)


@pytest.mark.parametrize("words", [("1", "0"), ("yes", "no"), ("Y", "n"), ("True", "FALSE")])
def test_data_type_bool_reads_the_usual_words(tmp_path, words) -> None:
    path = write(tmp_path / "in.csv", "age", *words * 50)
    written = {"true", "false"} if words == ("1", "0") else set(words)
    assert {row[0] for row in table(good(path, *ASK, "--data-type", "bool"))[1:]} == written


# Names and texts


def test_cells_of_several_lines_are_declared(tmp_path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'age,note\n61,"two\nlines"\n70,one\n')
    refused = run(path, *ASK).exception
    assert isinstance(refused, DataError) and "--multiline" in str(refused)
    assert [row[1][:3] for row in table(good(path, *ASK, "--multiline"))[1:]] == ["two", "one"]
    path.write_bytes(b"age,note\n61,a\r70,b\r\n80,c\n")  # every line ends by itself
    assert [row[1] for row in table(good(path, *ASK))[1:]] == ["a", "b", "c"]


def test_empty_texts_stay_to_the_letter_and_names_lose_their_blanks(tmp_path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(b'\xef\xbb\xbf age , name,\'x\',y\r\n61,"",,#a\r\n70,"a\nb", c ,""\r\n')
    good(path, "--column", "age", *ASK[2:], "--multiline", "-o", tmp_path / "out.csv")
    text = (tmp_path / "out.csv").read_text()
    rows = list(csv.reader(text.splitlines(keepends=True)))
    assert rows[0] == ["age", "name", "'x'", "y"]
    assert [row[1:] for row in rows[1:]] == [["", "", "#a"], ["a\nb", " c ", ""]]
    assert re.search(r'^\S+,"",,', text, re.M)  # the one that was quoted still is, the other is not


@pytest.mark.parametrize("header", ["age,age", "Age,age", "age,", "age,x,AGE"])
def test_names_that_agree_or_are_missing_are_refused(tmp_path, header) -> None:
    cells = ",".join("1" * len(header.split(",")))
    result = run(write(tmp_path / "in.csv", header, cells, cells), *ASK)
    assert isinstance(result.exception, DataError)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_other_encodings_are_read_and_written_as_utf_8(tmp_path, encoding) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes("age,name\n61,Müller\n70,Größe\n".encode(encoding))
    assert [row[1] for row in table(good(path, *ASK))] == ["name", "Müller", "Größe"]


def test_one_line_of_another_encoding_changes_no_other(tmp_path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes("größe,name\n61,Müller\n".encode() + "70,Jäger €\n".encode("cp1252"))
    rows = table(good(path, "--column", "größe", *ASK[2:]))
    assert rows[0] == ["größe", "name"]
    assert [row[1] for row in rows[1:]] == ["Müller", "Jäger €"]


# Endings


def test_endings_of_the_output_say_its_format(tmp_path) -> None:
    path = write(tmp_path / "in.csv", "age,name", "61,A", "70,B")
    good(path, *ASK, "-o", tmp_path / "o.csv.gz")
    assert table(gzip.decompress((tmp_path / "o.csv.gz").read_bytes()).decode())[0] == ["age", "name"]
    good(path, *ASK, "-o", tmp_path / "o.tsv")
    assert table((tmp_path / "o.tsv").read_text(), "\t")[0] == ["age", "name"]
    good(tmp_path / "o.csv.gz", *ASK, "-o", tmp_path / "o.parquet")
    assert duckdb.sql(f"FROM '{tmp_path / 'o.parquet'}'").columns == ["age", "name"]
    for name in ("o.xlsx", "o.json", "o.parquet.gz", "o.csv.zst"):
        assert isinstance(run(path, *ASK, "-o", tmp_path / name).exception, ParameterError)
        assert not (tmp_path / name).exists()
    good(path, *ASK, "-o", tmp_path / "o.dat", "--format", "csv")


def test_parquet_with_the_largest_whole_numbers_is_written(tmp_path) -> None:
    path = tmp_path / "in.parquet"
    duckdb.sql("SELECT unnest([-9223372036854775808, 0, 9223372036854775807]) AS age").write_parquet(str(path))
    good(path, *ASK[:-1], "high", "-o", tmp_path / "o.parquet")
    assert len(duckdb.sql(f"FROM '{tmp_path / 'o.parquet'}'").fetchall()) == 3


# Rights, links, special files


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize(("mode", "expected"), [(0o600, 0o600), (0o640, 0o640), (0o666, 0o644), (0o400, 0o400)])
def test_output_is_readable_by_no_more_people_than_the_input(tmp_path, umask, mode, expected) -> None:
    path = write(tmp_path / "in.csv", "age,name", "61,A", "70,B")
    path.chmod(mode)
    good(path, *ASK, "-o", tmp_path / "o.csv")
    assert stat.S_IMODE((tmp_path / "o.csv").stat().st_mode) == expected
    (tmp_path / "o.csv").unlink()
    write(tmp_path / "o.csv", "old").chmod(0o600)
    good(path, *ASK, "-o", tmp_path / "o.csv", "--force")
    assert stat.S_IMODE((tmp_path / "o.csv").stat().st_mode) == 0o600 & expected


def test_link_stays_a_link_and_the_file_behind_it_is_written(tmp_path) -> None:
    path = write(tmp_path / "in.csv", "age,name", "61,A", "70,B")
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "real" / "o.csv")
    for _ in range(2):  # first the file behind it is not there yet
        good(path, *ASK, "-o", link, "--force")
        assert link.is_symlink()
        assert len(table((tmp_path / "real" / "o.csv").read_text())) == 3


def test_pipe_and_device_are_written_to_and_stay_what_they_are(tmp_path) -> None:
    path = write(tmp_path / "in.csv", "age,name", "61,A", "70,B")
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    good(path, *ASK, "-o", pipe)
    reader.join(60)
    assert len(table(got[0])) == 3
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    good(path, *ASK, "-o", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


# Signals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
@pytest.mark.parametrize("when", ["spooling", "writing"])
def test_signal_ends_cleanly_and_leaves_nothing_behind(tmp_path, number, code, when) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    slow = (
        "import time, pydplib.cli.answers.column_files as c\n"
        "class Slow(c.ColumnFiles):\n"
        "    def write(self, *a, **k):\n"
        "        super().write(*a, **k); print('now', flush=True); time.sleep(60)\n"
        "import pydplib.cli.answers.noise as n; n.ColumnFiles = Slow\n"
        "from pydplib.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "noise", "-", *ASK, "-o", "o.csv"],
        cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # under nohup, or behind &, it would be ignored
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(b"age,name\n61,A\n70,B\n" * 1)
    process.stdin.flush()
    if when == "writing":
        process.stdin.close()
        assert process.stdout.readline() == b"now\n"
        (part,) = tmp_path.glob(".o.csv.*.part")
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
    else:
        for _ in range(1200):
            if list(temporary.glob("pydplib-*/input")):
                break
            time.sleep(0.05)
        (spooled,) = temporary.glob("pydplib-*/input")
        assert stat.S_IMODE(spooled.parent.stat().st_mode) == 0o700
    process.send_signal(number)
    assert process.wait(120) == code
    assert process.stderr.read() == b"Stopped.\n"
    assert list(temporary.glob("pydplib-*")) == []
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_ctrl_c_in_the_middle_of_a_query_stops_it(tmp_path) -> None:
    path = tmp_path / "large.csv"
    duckdb.sql(f"COPY (SELECT 40 + range % 50 AS age, md5(range::VARCHAR) AS x FROM range(2000000)) TO '{path}'")
    for pause in (0.9, 1.4):
        process = subprocess.Popen(
            [*PROGRAM, "noise", str(path), *ASK, "-o", "o.csv"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        time.sleep(pause)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=120)
        # Python itself ends by the signal where it comes during an import; 0: it was quicker.
        assert process.returncode in (130, -signal.SIGINT, 0)
        assert "unexpected" not in words
        (tmp_path / "o.csv").unlink(missing_ok=True)
    assert [found.name for found in tmp_path.iterdir()] == ["large.csv"]


# Standard output


def shell(command: str, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False, **more)


def test_closed_standard_output_is_said_in_a_sentence(tmp_path) -> None:
    write(tmp_path / "ok.csv", "age", "61", "70")
    ended = shell(f"{' '.join(PROGRAM)} noise ok.csv {' '.join(ASK)} >&-", cwd=tmp_path)
    assert ended.returncode == 31
    assert "Standard output is closed" in ended.stderr


@pytest.mark.parametrize(
    "words", ["roles", "--help", "noise --help", "noise ok.csv " + " ".join(ASK), "completion bash"]
)
def test_full_disk_is_said_in_a_sentence(tmp_path, words) -> None:
    write(tmp_path / "ok.csv", "age", "61", "70")
    ended = shell(f"{' '.join(PROGRAM)} {words} >/dev/full", cwd=tmp_path)
    assert ended.returncode == 31
    assert "No space left on device" in ended.stderr
    assert "unexpected" not in ended.stderr and "Exception" not in ended.stderr


@pytest.mark.parametrize("words", ["roles", "--help", "noise ok.csv " + " ".join(ASK)])
def test_reader_that_went_away_ends_the_command_quietly(tmp_path, words) -> None:
    write(tmp_path / "ok.csv", "age", "61", "70")
    # The first part of the pipe ends before anything is written to it.
    ended = shell(f"{' '.join(PROGRAM)} {words} 2>err | true; echo ${{PIPESTATUS[0]}}; cat err >&2", cwd=tmp_path)
    assert ended.stdout.strip() == "141"
    assert "rror" not in ended.stderr


def test_output_that_exists_is_replaced_only_if_asked(tmp_path) -> None:
    path, target = write(tmp_path / "in.csv", "age,name", "61,A", "70,B"), write(tmp_path / "o.csv", "precious")
    result = run(path, *ASK, "-o", target)
    assert isinstance(result.exception, ParameterError) and "--force" in str(result.exception)
    assert target.read_text() == "precious\n"
    good(path, *ASK, "-o", target, "--force")
    assert table(target.read_text())[0] == ["age", "name"]
    assert good(path, *ASK, "-o", "/dev/null") == ""  # a device is there to be written to


def test_workbook_is_read_like_a_csv(tmp_path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "reports"
    for row in (["age", "name"], [61, "A"], [70, "B"]):
        book.active.append(row)
    book.save(tmp_path / "one.xlsx")
    book.create_sheet("notes").append(["x"])
    book.save(tmp_path / "two.xlsx")
    found = table(good(tmp_path / "one.xlsx", *PUBLIC))
    assert [row[1] for row in found] == ["name", "A", "B"] and float(found[1][0]) != 61
    result = run(tmp_path / "two.xlsx", *PUBLIC)
    assert "several sheets. Choose one with --sheet: reports, notes" in str(result.exception)
    assert len(table(good(tmp_path / "two.xlsx", *PUBLIC, "--sheet", "reports"))) == 3
    csv_file = write(tmp_path / "in.csv", "age,name", "61,A")
    assert "--sheet is for Excel files" in str(run(csv_file, *PUBLIC, "--sheet", "reports").exception)


def test_parquet_with_one_name_twice_is_refused(tmp_path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for names in (["age", "age"], ["age", "Age"]):
        pq.write_table(pa.table([[61, 70], [1, 2]], names=names), tmp_path / "in.parquet")
        result = run(tmp_path / "in.parquet", *PUBLIC)
        assert isinstance(result.exception, DataError) and f"Two columns are named '{names[1]}'" in str(
            result.exception
        )
