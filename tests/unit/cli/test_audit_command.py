"""``pydplib audit``: lists, audits, and says by its exit code what was found."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pydplib.cli import cli
from pydplib.errors import ParameterError


def run(*arguments: str):
    return CliRunner().invoke(cli, ["audit", *arguments])


def test_audit_list_names_every_mechanism():
    from pydplib import mechanisms

    result = run("--list")
    named = result.output.replace("-", "").replace(" ", "").lower()
    assert result.exit_code == 0
    for name in mechanisms.__all__:
        assert name.lower() in named, name


def test_audit_of_two_mechanisms_as_json_is_not_refuted():
    result = run("laplace", "coin-flip", "--json", "--seed", "1", "--draws", "20000")
    found = json.loads(result.output)
    assert result.exit_code == 0
    assert [one["name"] for one in found] == ["laplace", "coin-flip"]
    assert not any(one["refuted"] for one in found)


def test_audit_table_says_what_was_claimed_and_proven():
    result = run("geometric", "--seed", "1", "--draws", "20000")
    assert "not refuted" in result.output
    assert "99.9 % confidence" in result.output


def test_audit_of_planted_faults_ends_well_only_if_they_are_caught():
    caught = run("half-scale", "--faults", "--seed", "1", "--draws", "20000")
    assert caught.exit_code == 0
    assert "Refuted" in caught.output
    missed = run("float-noise", "--faults", "--seed", "1", "--draws", "100")  # too few outputs to prove anything
    assert missed.exit_code == 1


def test_audit_of_an_unknown_mechanism_suggests_the_nearest():
    result = run("laplce")
    assert isinstance(result.exception, ParameterError)
    assert "Did you mean 'laplace'?" in str(result.exception)


@pytest.mark.parametrize("option", [("--epsilon", "0"), ("--confidence", "1")])
def test_audit_with_an_impossible_option_is_refused(option):
    assert run(*option).exit_code == 2
