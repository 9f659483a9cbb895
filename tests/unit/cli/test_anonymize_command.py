"""pydplib anonymize: from a file and a configuration to a table, a report and a recipe, or to a clear sentence."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pydplib.cli import main
from pydplib.cli.tables import anonymize_run

CANARY = "CANARY-7731"
CONFIG = """
identifiers = ["name"]
sensitive = ["ill"]
suppression = 0.1
[quasi_identifiers.age]
kind = "intervals"
low = 0
high = 99
widths = [5, 10, 20]
[quasi_identifiers.sex]
kind = "flat"
values = ["f", "m"]
[[models]]
model = "k-anonymity"
k = 4
[[models]]
model = "l-diversity"
l = 2
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["anonymize", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(str(caught.value.code)), out, err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(5)
    rows = [
        [f"{CANARY}-{i}", int(age), sex, ill, f"{weight:.1f}".replace(".", ",")]
        for i, (age, sex, ill, weight) in enumerate(
            zip(
                rng.integers(20, 80, 200), rng.choice(["f", "m"], 200), rng.choice(["ä", "b", "c"], 200),
                rng.normal(80, 9, 200), strict=True,
            )
        )
    ]  # fmt: skip
    with (tmp_path / "visits.csv").open("w", encoding="latin-1", newline="") as file:
        csv.writer(file, delimiter=";").writerows([["name", "age", "sex", "ill", "weight"], *rows])
    (tmp_path / "anon.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def classes(path: Path, names: list[str], separator: str = ";") -> Counter[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="") as file:
        return Counter(tuple(row[name] for name in names) for row in csv.DictReader(file, delimiter=separator))


def test_table_report_and_recipe_are_written_and_the_models_hold(folder: Path, capsys) -> None:
    code, out, err = run(
        capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--report", "report.html", "--recipe", "r.json"
    )
    assert (code, err) == (0, "")
    assert "this is the optimum" in out and "4-anonymity: holds" in out and "Left out: name, weight" in out
    sizes = classes(folder / "out.csv", ["age", "sex"])
    assert min(sizes.values()) >= 4 and sum(sizes.values()) >= 180
    for group in sizes:
        assert (
            len([ill for age, sex, ill in classes(folder / "out.csv", ["age", "sex", "ill"]) if (age, sex) == group])
            > 1
        )
    assert json.loads((folder / "r.json").read_text())["models"][0]["k"] == 4
    everything = (
        out + (folder / "out.csv").read_text() + (folder / "report.html").read_text() + (folder / "r.json").read_text()
    )
    assert CANARY not in everything
    assert sorted(os.listdir(folder)) == ["anon.toml", "out.csv", "r.json", "report.html", "visits.csv"]


def test_kept_numbers_have_the_decimal_comma_of_the_input(folder: Path, capsys) -> None:
    (folder / "anon.toml").write_text('keep = ["weight"]\n' + CONFIG)
    assert run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")[0] == 0
    with (folder / "visits.csv").open(encoding="latin-1") as file:
        before = Counter(float(row["weight"].replace(",", ".")) for row in csv.DictReader(file, delimiter=";"))
    after = Counter(float(weight.replace(",", ".")) for (weight,) in classes(folder / "out.csv", ["weight"]).elements())
    assert after <= before
    assert any("," in weight for (weight,) in classes(folder / "out.csv", ["weight"]))


@pytest.mark.parametrize("ending", ["parquet", "xlsx", "tsv"])
def test_other_outputs_hold_the_same_table(folder: Path, capsys, ending: str) -> None:
    code, _, _ = run(capsys, "visits.csv", "--config", "anon.toml", "-o", f"out.{ending}")
    assert code == 0
    assert run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")[0] == 0
    expected = classes(folder / "out.csv", ["age", "sex", "ill"])
    if ending == "tsv":
        assert classes(folder / "out.tsv", ["age", "sex", "ill"], "\t") == expected
        return
    import pandas as pd

    frame = pd.read_parquet(folder / "out.parquet") if ending == "parquet" else pd.read_excel(folder / "out.xlsx")
    assert Counter(map(tuple, frame[["age", "sex", "ill"]].astype(str).to_numpy().tolist())) == expected


def test_json_summary_has_numbers_and_no_cells(folder: Path, capsys) -> None:
    code, out, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--json")
    values = json.loads(out)
    assert (code, err) == (0, "")
    assert values["certificate"]["holds"] is True and values["certificate"]["k"] >= 4
    assert values["risk"]["after"]["prosecutor"]["maximum"] <= 0.25 < values["risk"]["before"]["prosecutor"]["maximum"]
    assert values["files"] == {"output": "out.csv"}
    assert CANARY not in out and '"ä"' not in out


def test_init_writes_guesses_that_are_refused_until_checked(folder: Path, capsys) -> None:
    code, out, _ = run(capsys, "visits.csv", "--init", "--config", "new.toml")
    assert code == 0 and "These are guesses" in out
    text = (folder / "new.toml").read_text()
    values = tomllib.loads(text)
    assert values["identifiers"] == ["name"] and values["sensitive"] == ["ill"]
    assert set(values["quasi_identifiers"]) == {"age", "sex", "weight"}
    assert values["quasi_identifiers"]["age"] == {"kind": "intervals", "low": 0, "high": 120, "widths": [5, 10, 20, 40]}
    assert CANARY not in text and "ä" not in text
    code, _, err = run(capsys, "visits.csv", "--config", "new.toml", "-o", "out.csv")
    assert code == 11 and "nobody has checked" in err and not (folder / "out.csv").exists()
    (folder / "new.toml").write_text(text.replace("checked = false", "checked = true"))
    assert run(capsys, "visits.csv", "--config", "new.toml", "-o", "out.csv")[0] == 0


def test_existing_files_stay_unless_forced(folder: Path, capsys) -> None:
    (folder / "out.csv").write_text("mine")
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")
    assert code == 11 and "--force" in err and (folder / "out.csv").read_text() == "mine"
    assert run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--force")[0] == 0
    assert (folder / "out.csv").read_text() != "mine"
    code, _, err = run(capsys, "visits.csv", "--init", "--config", "anon.toml")
    assert code == 11 and (folder / "anon.toml").read_text() == CONFIG


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "visits.csv"], "which is read"),
        (["-o", "none/out.csv"], "folder of --output does not exist"),
        (["-o", "out.doc"], ".csv, .parquet or .xlsx"),
        (["-o", "out.csv", "--report", "out.csv"], "same file"),
        (["-o", "out.csv", "--frontier"], "--report"),
        (["-o", "out.csv", "--init"], "leave --output"),
        (["-o", "out.csv", "--sheet", "x"], "--sheet is for Excel"),
        ([], "--output FILE"),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_any_work(folder: Path, capsys, arguments, words) -> None:
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", *arguments)
    assert code in (2, 11) and words in err
    assert sorted(os.listdir(folder)) == ["anon.toml", "visits.csv"]


def test_models_that_nothing_satisfies_end_with_15_and_write_nothing(folder: Path, capsys) -> None:
    (folder / "anon.toml").write_text(CONFIG.replace("k = 4", "k = 400"))
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--report", "r.html")
    assert code == 15 and "400-anonymity" in err
    assert sorted(os.listdir(folder)) == ["anon.toml", "visits.csv"]


def test_output_that_does_not_hold_is_not_written_but_reported(folder: Path, capsys, monkeypatch) -> None:
    from dataclasses import replace

    import pydplib.anonymity as room

    true = room.anonymize

    def broken(*args, **options):
        result = true(*args, **options)
        wrong = tuple(replace(statement, holds=False) for statement in result.certificate.statements)
        return replace(result, certificate=replace(result.certificate, statements=wrong))

    monkeypatch.setattr(room, "anonymize", broken)
    code, out, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--report", "r.html")
    assert code == 15 and "was not written" in err and "DOES NOT HOLD" in out
    assert sorted(os.listdir(folder)) == ["anon.toml", "r.html", "visits.csv"]
    assert "Do not hand this table over" in (folder / "r.html").read_text()


def test_frontier_adds_a_figure_over_k(folder: Path, capsys) -> None:
    code, _, _ = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--report", "r.html", "--frontier")
    page = re.sub(r"<script>.*?</script>", "", (folder / "r.html").read_text(), flags=re.S)
    assert code == 0 and "What less risk costs" in page and "Where the released table lies" in page


def test_large_tables_stay_in_the_engine_and_give_the_same_result(folder: Path, capsys, monkeypatch) -> None:
    assert run(capsys, "visits.csv", "--config", "anon.toml", "-o", "small.csv")[0] == 0
    monkeypatch.setattr(anonymize_run, "LARGE", 10)
    monkeypatch.setattr("pydplib.tables.TableFile.frame", lambda *_: pytest.fail("the table was loaded"))
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "large.csv", "--report", "r.html")
    assert (code, err) == (0, "")
    names = ["age", "sex", "ill"]
    assert classes(folder / "large.csv", names) == classes(folder / "small.csv", names)
    code, _, _ = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "large.parquet")
    assert code == 0 and (folder / "large.parquet").exists()


def test_light_installation_without_data_frames_works_in_the_engine(folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(anonymize_run, "find_spec", lambda name: None)
    monkeypatch.setattr("pydplib.tables.TableFile.frame", lambda *_: pytest.fail("the table was loaded"))
    assert run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")[0] == 0
    assert min(classes(folder / "out.csv", ["age", "sex"]).values()) >= 4


def test_persons_are_counted_even_in_large_tables(folder: Path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(anonymize_run, "LARGE", 10)
    (folder / "anon.toml").write_text('person = "name"\n' + CONFIG)
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")
    assert (code, err) == (0, "")


def test_consistent_pseudonyms_need_a_key_file_and_hide_names(folder: Path, capsys) -> None:
    lines = CONFIG.replace('identifiers = ["name"]', "") + "[pseudonyms.name]\nconsistent = true\n"
    (folder / "anon.toml").write_text(lines)
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")
    assert code == 11 and "key_file" in err
    (folder / "anon.toml").write_text(lines + 'key_file = "secret"\n')
    assert "openssl" in run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")[2]
    (folder / "secret").write_bytes(bytes(range(32)))
    assert run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")[0] == 0
    names = [name for (name,) in classes(folder / "out.csv", ["name"])]
    assert all(re.fullmatch("[0-9a-f]{32}", name) for name in names) and len(names) > 100


def test_time_limit_takes_the_best_so_far_and_says_so(folder: Path, capsys, monkeypatch) -> None:
    import pydplib.anonymity.search.lattice as search

    clock = iter(range(10_000))
    monkeypatch.setattr(search.time, "monotonic", lambda: float(next(clock)))
    code, out, _ = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--time-limit", "3")
    assert code == 0 and "time is up" in out


def test_hierarchy_gap_says_how_many_and_what_to_do_but_no_value(folder: Path, capsys) -> None:
    (folder / "anon.toml").write_text(CONFIG.replace("high = 99", "high = 59"))
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")
    assert code == 16 and 'outside = "clamp"' in err
    (folder / "sex.csv").write_text("f;*\n")
    (folder / "anon.toml").write_text(
        CONFIG.replace('kind = "flat"\nvalues = ["f", "m"]', 'kind = "file"\npath = "sex.csv"')
    )
    code, _, err = run(capsys, "visits.csv", "--config", "anon.toml", "-o", "out.csv")
    assert code == 16 and "pydplib hierarchy check" in err and "--column sex --list" in err


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_leaves_nothing_behind(folder: Path) -> None:
    # Writing is slow here, so that the signal arrives when the report and half of the table lie next to their places.
    slow = (
        "import time, pydplib.cli.outputs as o\n"
        "def wait(c, data, part, *a, **k): part.write_text('half'); print('now', flush=True); time.sleep(60)\n"
        "o.write_table = wait\n"
        "from pydplib.cli import main; main()"
    )
    words = ["anonymize", "visits.csv", "--config", "anon.toml", "-o", "out.csv", "--report", "r.html"]
    process = subprocess.Popen(
        [sys.executable, "-c", slow, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "now\n"
    assert len(os.listdir(folder)) == 4
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and err.strip() == "Stopped."
    assert sorted(os.listdir(folder)) == ["anon.toml", "visits.csv"]


def test_staged_outputs_appear_together_or_not_at_all(tmp_path: Path) -> None:
    from pydplib.cli.outputs import staged

    def stop_in_the_middle() -> None:
        with staged() as staging:
            staging.write_text(tmp_path / "a", "1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_in_the_middle()
    assert not any(tmp_path.iterdir())
    with staged() as staging:
        staging.write_text(tmp_path / "a", "1")
        staging.write_text(tmp_path / "b", "2")
        assert not (tmp_path / "a").exists()
    assert (tmp_path / "a").read_text() == "1" and (tmp_path / "b").read_text() == "2"
    assert len(list(tmp_path.iterdir())) == 2


def test_summary_says_what_was_asked_for_and_what_was_reached_with_all_models(tmp_path: Path, capsys) -> None:
    table, config = tmp_path / "t.csv", tmp_path / "c.toml"
    table.write_text("q,s\n" + "x,a\nx,b\nx,a\nx,b\nx,a\nx,b\n")
    config.write_text(
        'sensitive = ["s"]\n[quasi_identifiers.q]\nkind = "flat"\nvalues = ["x"]\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 5\n[[models]]\nmodel = "l-diversity"\nl = 2\n'
    )
    with pytest.raises(SystemExit):
        main(["anonymize", str(table), "--config", str(config), "--output", str(tmp_path / "out.csv")])
    out = capsys.readouterr().out
    assert "Asked for:\n- 5-anonymity: holds (measured 6)" in out
    assert "Reached: 6-anonymity, 2-diversity (distinct) of s:" in out


def test_guessed_bounds_are_marked_and_every_run_reminds_of_them(tmp_path: Path, capsys) -> None:
    table, config = tmp_path / "t.csv", tmp_path / "c.toml"
    rows = [f"{100 + i % 2},2017-0{1 + i % 2}-05,{'ab'[i % 2]}" for i in range(40)]
    table.write_text("\n".join(["weight,visit_date,region", *rows]) + "\n")
    with pytest.raises(SystemExit):
        main(["anonymize", str(table), "--init", "--config", str(config)])
    text = config.read_text()
    assert text.count("from_data = true") == 2 and "flat (values" in text
    config.write_text(text.replace("checked = false", "checked = true"))
    capsys.readouterr()
    call = ["anonymize", str(table), "--config", str(config), "--output", str(tmp_path / "out.csv"), "--force"]
    with pytest.raises(SystemExit):
        main(call)
    assert "The hierarchies of weight, visit_date, region were made from the data" in capsys.readouterr().out
    config.write_text(config.read_text().replace("from_data = true\n", ""))
    with pytest.raises(SystemExit):
        main(call)
    assert "The hierarchies of region were made from the data" in capsys.readouterr().out


@pytest.fixture
def costly(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    ages, wards = rng.integers(20, 90, 300), rng.integers(0, 60, 300)
    table = pd.DataFrame({"age": ages, "ward": wards, "ill": ["a", "b", "c"] * 100})
    table.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "anon.toml").write_text(
        'checked = true\nsensitive = ["ill"]\nquasi_identifiers = ["age", "ward"]\n'
        '[[models]]\nmodel = "k-anonymity"\nk = 60\n[[models]]\nmodel = "l-diversity"\nl = 2\n'
    )
    return tmp_path


def test_advice_says_what_each_column_and_model_costs_and_releases_nothing(costly: Path, capsys) -> None:
    call = ["anonymize", str(costly / "visits.csv"), "--config", str(costly / "anon.toml"), "--advice"]
    with pytest.raises(SystemExit) as end:
        main(call)
    out = capsys.readouterr().out
    assert not end.value.code
    assert "column left out" in out and "model left out" in out and "mondrian" in out and "in total" in out
    assert sorted(path.name for path in costly.iterdir()) == ["anon.toml", "visits.csv"]
    with pytest.raises(SystemExit):
        main([*call, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert {one["subject"] for one in found["columns"]} == {"age", "ward"} and found["sentences"]


def test_report_holds_advice_distributions_and_a_classifier(costly: Path, capsys) -> None:
    call = ["anonymize", str(costly / "visits.csv"), "--config", str(costly / "anon.toml"), "--output"]
    call += [str(costly / "out.csv"), "--report", str(costly / "r.html"), "--advice", "--classifier"]
    with pytest.raises(SystemExit) as end:
        main(call)
    assert not end.value.code, capsys.readouterr().err
    page = (costly / "r.html").read_text()
    for words in ("What would cost less", "What is still there", "A random forest predicts ill", "apart"):
        assert words in page


def test_much_loss_points_to_the_advice(costly: Path, capsys) -> None:
    call = ["anonymize", costly / "visits.csv", "--config", costly / "anon.toml", "--output", costly / "out.csv"]
    with pytest.raises(SystemExit):
        main([str(part) for part in call])
    assert "--advice says which column" in capsys.readouterr().out


def test_safe_harbor_ends_with_15_where_an_identifier_is_left(costly: Path, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["verify", str(costly / "visits.csv"), "--safe-harbor"])
    assert not end.value.code and "none found" in capsys.readouterr().out
    (costly / "mails.csv").write_text("reach\na@x.org\nb@y.org\n")
    with pytest.raises(SystemExit) as end:
        main(["verify", str(costly / "mails.csv"), "--safe-harbor"])
    out, err = capsys.readouterr()
    assert end.value.code == 15 and "reach (by content)" in out and "x.org" not in out + err
    with pytest.raises(SystemExit) as end:
        main(["verify", str(costly / "mails.csv"), "--safe-harbor", "--insensitive", "reach"])
    assert not end.value.code
