"""--init on columns as hospitals have them: what it guesses can be used as it is, and says where it is unsure."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pydplib.anonymity import Codes, Cuts, Dates, Hierarchy
from pydplib.cli import main
from pydplib.errors import HierarchyError, ParameterError


def cohort(n: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    born = pd.Timestamp("1930-01-01") + pd.to_timedelta(rng.integers(0, 30_000, n), unit="D")
    seen = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    return pd.DataFrame(
        {
            "mrn": rng.permutation(n) + 10_000,
            "birth_date": born.strftime("%Y-%m-%d"),
            "seen_us": seen.strftime("%m/%d/%Y"),
            "seen_uk": seen.strftime("%d/%m/%Y"),
            "unclear": [
                f"{m:02}/{d:02}/2020" for m, d in zip(rng.integers(1, 12, n), rng.integers(1, 12, n), strict=True)
            ],
            "home": rng.choice(["SW1A 1AA", "M1 4BT", "EC1A 1BB", "W1A 0AX"], n),
            "code": rng.choice(["E11.9", "I10", "C61", "J45.0", "Z99.2"], n),
            "wait": np.minimum(rng.pareto(0.9, n) * 5, 70_000).astype(int),
            "smoker": rng.integers(0, 2, n),
            "insured": rng.choice(["yes", "no"], n),
            "country": "DE",
            "remark": "",
            "clinic_name": rng.choice(["North", "South"], n),
            "hemoglobin": rng.normal(13, 2, n).round(1),
            "clinic_phone": rng.permutation(n) + 5_000_000,
        }
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> tuple[Path, dict]:
    folder = tmp_path_factory.mktemp("init")
    cohort().to_csv(folder / "visits.csv", index=False)
    with pytest.raises(SystemExit) as end:
        main(["anonymize", str(folder / "visits.csv"), "--init", "--config", str(folder / "anon.toml")])
    assert not end.value.code
    return folder, tomllib.loads((folder / "anon.toml").read_text())


def test_init_gives_every_column_the_role_that_a_steward_would(written):
    _, config = written
    assert {"mrn", "clinic_phone"} <= set(config["identifiers"])
    assert {"code", "hemoglobin", "smoker"} <= set(config["sensitive"])
    assert config["keep"] == ["country"], "a constant tells nobody from anybody"
    quasi = set(config["quasi_identifiers"])
    assert {"birth_date", "seen_us", "seen_uk", "home", "wait", "insured", "clinic_name"} <= quasi
    assert "remark" not in quasi and "remark" not in config["keep"], "an empty column is dropped"


def test_init_steps_fit_the_kind_of_column(written):
    folder, config = written
    steps = config["quasi_identifiers"]
    assert steps["birth_date"]["units"] == ["month", "year", "decade"] and "from_data" not in steps["birth_date"]
    assert steps["seen_us"]["order"] == "mdy" and steps["seen_uk"]["order"] == "dmy"
    assert "CHECK: month first" in (folder / "anon.toml").read_text()
    assert steps["home"] == {"kind": "codes", "system": "uk-postcode"}
    assert steps["wait"]["kind"] == "cuts" and steps["wait"]["from_data"] is True
    assert "quantiles of the data" in (folder / "anon.toml").read_text()
    counts = np.histogram(cohort()["wait"], steps["wait"]["edges"][0])[0]
    assert counts.max() < 0.35 * counts.sum(), "no interval holds most of the rows"


def test_config_that_init_wrote_runs_once_it_is_checked(written, capsys):
    folder, _ = written
    text = (folder / "anon.toml").read_text().replace("checked = false", "checked = true")
    (folder / "checked.toml").write_text(text.replace("suppression = 0.05", "suppression = 0.2"))
    call = ["anonymize", folder / "visits.csv", "--config", folder / "checked.toml", "--output", folder / "out.csv"]
    with pytest.raises(SystemExit) as end:
        main([*map(str, call), "--time-limit", "20"])
    assert not end.value.code, capsys.readouterr().err
    released = pd.read_csv(folder / "out.csv")
    assert "mrn" not in released and (released["country"] == "DE").all()


def test_flags_and_pairs_never_become_intervals(tmp_path):
    table = pd.DataFrame({"flag": [0, 1] * 30, "code": [1, 2] * 30, "sex": ["m", "f"] * 30})
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(SystemExit):
        main(["anonymize", str(tmp_path / "t.csv"), "--init", "--config", str(tmp_path / "a.toml")])
    steps = tomllib.loads((tmp_path / "a.toml").read_text())["quasi_identifiers"]
    assert steps["flag"] == {"kind": "flat", "values": [0, 1]} and steps["code"] == {"kind": "flat", "values": [1, 2]}
    assert steps["sex"]["kind"] == "automatic"


def test_dates_with_a_time_of_day_get_steps(tmp_path):
    days = pd.date_range("2022-01-01", periods=60, freq="31h")
    table = pd.DataFrame({"Aufnahme": days.strftime("%d.%m.%Y %H:%M"), "seen": days.strftime("%m/%d/%Y %I:%M %p")})
    table.to_csv(tmp_path / "t.csv", index=False, sep=";")
    with pytest.raises(SystemExit):
        main(["anonymize", str(tmp_path / "t.csv"), "--init", "--config", str(tmp_path / "a.toml")])
    steps = tomllib.loads((tmp_path / "a.toml").read_text())["quasi_identifiers"]
    assert (steps["Aufnahme"]["order"], steps["seen"]["order"]) == ("dmy", "mdy")
    assert Dates(order="dmy").labels("05.02.2022 07:30")[1:3] == ("2022-02", "2022-Q1")


def test_codes_cuts_and_dates_with_slashes_survive_json_and_nest():
    for tree, value in (
        (Codes("icd-10"), "c61"),
        (Codes("uk-postcode"), "M14BT"),
        (Cuts([[0, 1.5, 9], [0, 9]], from_data=True), 1.5),
        (Dates("1900-01-01", "2030-12-31", order="mdy"), "12/31/1999"),
    ):
        again = Hierarchy.from_dict(tree.to_dict())
        assert again == tree and again.labels(value) == tree.labels(value)
    assert Cuts([[0, 10, 100]]).labels(100) == (100, "10-100", "*")
    assert Cuts([[0, 10, 100]], outside="clamp").labels(700)[0] == 100
    assert Dates("1999-01-01", "1999-12-31", order="dmy", outside="clamp").labels("31/12/2001")[0] == "31/12/1999"
    found = Codes("icd-10").resolve("x", ["A00.1", "B99", "C7A.1", "D48", "D50", "T98", "U07.1", "Y98", "Z99"])
    assert found.labels[3] == ("A00-B99", "C00-D48", "D50-D89", "S00-T98", "U00-U99", "V01-Y98", "Z00-Z99")


@pytest.mark.parametrize(
    "edges", [[], [[1]], [[0, 0]], [[0, 5, 9], [0, 4, 9]], [[0, 5, 9], [0, 5]], [[0, float("inf")]]]
)
def test_edges_that_cannot_nest_are_refused(edges):
    with pytest.raises(HierarchyError):
        Cuts(edges)


def test_unknown_systems_orders_and_codes_are_named():
    with pytest.raises(ParameterError, match="icd-10"):
        Codes("icd10")
    with pytest.raises(ParameterError, match="mdy"):
        Dates(order="us")
    with pytest.raises(HierarchyError, match="1 of the column's values are not ICD-10 codes"):
        Codes("icd-10").resolve("x", ["hello", "E11"])


def test_init_says_where_a_column_should_be_cleaned_first(tmp_path):
    rng = np.random.default_rng(8)
    table = pd.DataFrame(
        {
            "bmi": rng.choice(["21.5", "30,1", "NA", "27"], 200, p=[0.4, 0.3, 0.1, 0.2]),
            "sex": rng.choice(["F", "f", "M", "m "], 200),
            "team": rng.choice(["red", "blue", "green"], 200),
        }
    )
    table.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(SystemExit) as end:
        main(["anonymize", str(tmp_path / "a.csv"), "--init", "--config", str(tmp_path / "a.toml")])
    assert not end.value.code
    parts = (tmp_path / "a.toml").read_text().split("[quasi_identifiers.")
    told = {part.split("]")[0]: part for part in parts[1:]}
    assert "numbers but for a few words" in told["bmi"]
    assert "capitals or spaces" in told["sex"]
    assert "CHECK" not in told["team"]
