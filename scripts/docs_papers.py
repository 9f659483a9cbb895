"""What the two papers' methods do, measured while the documentation is built."""

from __future__ import annotations

from functools import cache
from typing import Any

from docs_figures import figure_html, sheet_markdown

SEED = 2018


@cache
def _pirads() -> Any:
    from pydplib.experiments.pirads import run_pirads

    return run_pirads(seed=SEED)


@cache
def _inference() -> Any:
    from pydplib.experiments.inference import run_inference

    return run_inference(seed=SEED)


@cache
def _compare() -> Any:
    from pydplib.experiments.compare import run_compare

    return run_compare(seed=SEED)


def printed_and_true() -> str:
    """Return the epsilon that paper mode prints next to what a record loses."""
    columns = ("query", "noise_factor", "epsilon", "record_epsilon", "sound_epsilon", "guarantee")
    return sheet_markdown(_pirads().sheets[0], columns, title=False) + "\n\n" + figure_html(_pirads().figures()["loss"])


def recovered_ages() -> str:
    """Return how often an age is recovered by asking again."""
    sheet = _pirads().sheets[1]
    return sheet_markdown(sheet, title=False) + "\n\n" + figure_html(_pirads().figures()["recovery"])


def oldest_patient() -> str:
    """Return how often the oldest patient is recognised."""
    return sheet_markdown(_pirads().sheets[2], title=False)


def kept_distribution() -> str:
    """Return what is left of the distribution."""
    return sheet_markdown(_pirads().sheets[3], title=False)


def table_one() -> str:
    """Return the second paper's Table I beside theory and our measurement."""
    columns = ("n", "method", "mse", "theory", "standard_error", "errors_from_theory", "paper")
    table, crossing = _inference().sheets[:2]
    figure = figure_html(_inference().figures()["figure-1"])
    return "\n\n".join([sheet_markdown(table, columns, title=False), figure, sheet_markdown(crossing)])


def divergence() -> str:
    """Return the second paper's Fig. 3 and what else its measure says."""
    return sheet_markdown(_inference().sheets[2], title=False)


def side_by_side() -> str:
    """Return one question under every kind of protection, with what attacks found."""
    return sheet_markdown(_compare().sheets[0], title=False)
