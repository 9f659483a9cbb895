"""``pydplib experiment``: tables, JSON, CSV, pages and pictures."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from pydplib.cli import cli

FEW = ("inference", "--sizes", "200,2000", "-k", "5", "--no-divergence", "--seed", "3")


def run(*arguments: str):
    return CliRunner().invoke(cli, ["experiment", *arguments])


def test_inference_prints_table_one_beside_theory_and_paper():
    result = run(*FEW)
    assert result.exit_code == 0
    for word in ("Table I", "theory", "paper", "Laplace", "What to know", "no finite epsilon"):
        assert word in result.output


def test_inference_as_json_has_rows_and_repeats_with_its_seed():
    first, second = (run(*FEW, "--json").output for _ in range(2))
    rows = json.loads(first)["rows"]
    assert first == second
    assert len(rows) == 6
    assert {row["method"] for row in rows} == {"naive_uniform", "naive_gaussian", "laplace"}


def test_inference_as_csv_goes_to_standard_output_or_a_file(tmp_path):
    lines = run(*FEW, "--csv", "-").output.splitlines()
    assert lines[0].startswith("n,method,true_mean,average_noisy_mean,mse")
    target = tmp_path / "deep" / "rows.csv"
    assert run(*FEW, "--csv", str(target)).exit_code == 0
    assert len(list(csv.DictReader(target.open()))) == 6


def test_json_and_csv_on_one_standard_output_are_refused():
    assert run(*FEW, "--json", "--csv", "-").exit_code == 2


def test_inference_page_is_written(tmp_path):
    pytest.importorskip("plotly")
    page = tmp_path / "page.html"
    result = run(*FEW, "--html", str(page))
    assert result.exit_code == 0
    assert "Noise on records or noise on the answer" in page.read_text()


@pytest.mark.slow
@pytest.mark.browser
def test_inference_pictures_are_written(tmp_path):
    pytest.importorskip("kaleido")
    result = run(*FEW, "--svg", str(tmp_path), "--png", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "figure-1.svg").read_text().startswith("<svg")
    assert (tmp_path / "figure-2.png").read_bytes().startswith(b"\x89PNG")


def test_pirads_prints_printed_and_real_loss():
    result = run("pirads", "--n", "200", "--calls", "1,5", "--repetitions", "1", "--seed", "1")
    assert result.exit_code == 0
    for word in ("printed", "of a record", "sound mode, high", "oldest patient", "Kolmogorov"):
        assert word in result.output


def test_compare_prints_every_method():
    pytest.importorskip("pandas")
    result = run("compare", "--n", "200", "--seed", "1")
    assert result.exit_code == 0
    for word in ("5-anonymity", "3-diversity", "0.2-closeness", "epsilon 0.1", "homogeneity"):
        assert word in result.output


def test_a_list_that_is_no_list_is_refused_with_an_example():
    result = run("inference", "--sizes", "many")
    assert result.exit_code == 2
    assert "1000,10000,100000" in result.output


@pytest.mark.parametrize("sizes", ["inf", "nan", "10.7", "1000,", "1e999"])
def test_sizes_that_are_no_whole_numbers_are_refused(sizes):
    result = run("inference", "--sizes", sizes)
    assert result.exit_code == 2
    assert "whole numbers" in result.output


def test_a_size_given_twice_is_measured_once():
    result = run("inference", "--sizes", "200,2e2", "-k", "3", "--no-divergence", "--json")
    assert len(json.loads(result.output)["rows"]) == 3


@pytest.mark.parametrize("name", ["pirads", "compare"])
def test_experiment_with_one_seed_repeats_every_number(name):
    options = {"pirads": ("--calls", "1,3", "--repetitions", "2"), "compare": ("--epsilons", "1")}[name]
    first, second = (run(name, "--n", "150", "--seed", "5", "--json", *options).output for _ in range(2))
    assert first == second
    assert json.loads(first)["settings"]["seed"] == 5
