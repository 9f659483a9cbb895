"""An analysis to take along: a notebook, or a script, that repeats it through ``dp.Client`` and verifies its receipt.

It holds the question, the receipt and the public keys; no released number and no token.
"""

from __future__ import annotations

import json
from pprint import pformat

from pydplib._version import __version__
from pydplib.web.analyses.models import Analysis
from pydplib.web.analyses.payments.purchases import release_of
from pydplib.web.analyses.receipts.keys import published_keys
from pydplib.web.analyses.visibility import question_of, snapshot_of


def cells_of(analysis: Analysis, *, title: str, address: str) -> list[tuple[str, str]]:
    """Return the cells of the notebook: kind (``"markdown"`` or ``"code"``) and text.

    Args:
        analysis: What was paid for.
        title: What it is called.
        address: The platform's address.
    """
    release, question, snapshot = release_of(analysis), question_of(analysis), snapshot_of(analysis)
    keys = [key.to_dict()["public_key"] for key in published_keys(analysis.project.hospital.key)]
    head = " ".join(title.split())
    cells = [
        (
            "markdown",
            f"# {head}\n\nThis repeats an analysis of {address}. It costs nothing: the answer is paid for, and is the "
            "same every time.\n\nBefore you run it, install `pydplib` and set `PYDPLIB_TOKEN` to a token of yours, "
            f"made on {address}/account/tokens with the scopes *read* and *ask*. The token is not in this file.",
        ),
        (
            "code",
            "import os\n\nimport pydplib as dp\nfrom pydplib.errors import BudgetError\n"
            "from pydplib.receipt import Receipt, parse_public_key\n"
            "from pydplib.release import Question\n\n"
            "# The public keys that signed the receipt. Compare them with what the hospital told you:\n"
            "# a server cannot vouch for itself.\n"
            f"keys = {_literal(keys)}\n"
            f'client = dp.Client(os.environ.get("PYDPLIB_URL", {json.dumps(address)}), os.environ["PYDPLIB_TOKEN"], '
            "keys=keys)\n"
            f"project = client.project({json.dumps(analysis.project.key)})\n"
            "print(project.name)",
        ),
        ("markdown", f"## The answer\n\n{analysis.words}"),
        ("code", f"release = client.analysis({json.dumps(analysis.key)})\nprint(release)"),
    ]
    if analysis.receipt:
        cells += [
            (
                "markdown",
                "## The receipt\n\nIt says what was released under which guarantee. It must be signed by one of the "
                "keys above, and be about these very numbers.",
            ),
            (
                "code",
                f"receipt = Receipt.from_json({_text(analysis.receipt)})\n"
                "receipt.verify([parse_public_key(key) for key in keys])\n"
                f"assert client.receipt({json.dumps(analysis.key)}).release == receipt.release\n"
                'print("Genuine:", receipt.issuer, "paid epsilon", receipt.epsilon)',
            ),
        ]
    if not analysis.part:  # tables that were bought together are asked together
        asked = f"epsilon={json.dumps(float(release.epsilon))}, confidence={release.confidence!r}, at_most=0"
        asked += f", table={json.dumps(snapshot.group)}" if snapshot.group else ""
        cells += [
            (
                "markdown",
                "## The same question again\n\n`at_most=0` makes sure that nothing is spent. While the same data are "
                "published, the answer is the same; on newer data it is a new question, which costs again.",
            ),
            (
                "code",
                f"question = Question.from_dict({_literal(question.to_dict())})\n"
                "try:\n"
                f"    again = project.ask(question, {asked})\n"
                "    assert again.values == release.values\n"
                "except BudgetError as refusal:\n"
                "    again = None\n"
                '    print("Newer data are published:", refusal)',
            ),
        ]
    cells += [
        ("markdown", "## As a table and as a figure"),
        ("code", "table = release.to_dict()\nfigure = release.plot()\nfigure"),
    ]
    return cells


def to_script(cells: list[tuple[str, str]]) -> str:
    """Return the cells as a Python file; editors that know ``# %%`` show them as cells."""
    parts = []
    for kind, text in cells:
        if kind == "markdown":
            commented = "\n".join(f"# {line}".rstrip() for line in text.splitlines())
            parts.append(f"# %% [markdown]\n{commented}\n")
        else:
            parts.append(f"# %%\n{text}\n")
    return "\n".join(parts)


def to_notebook(cells: list[tuple[str, str]]) -> str:
    """Return the cells as a Jupyter notebook (nbformat 4.5), without outputs."""
    return (
        json.dumps(
            {
                "cells": [_cell(number, kind, text) for number, (kind, text) in enumerate(cells, start=1)],
                "metadata": {
                    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                    "language_info": {"name": "python"},
                    "pydplib": {"version": __version__},
                },
                "nbformat": 4,
                "nbformat_minor": 5,
            },
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def _cell(number: int, kind: str, text: str) -> dict[str, object]:
    cell: dict[str, object] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": text.splitlines(keepends=True)}


def _literal(value: object) -> str:
    return pformat(value, width=100, sort_dicts=False)


def _text(text: str) -> str:
    """Return a text as a literal of several lines: nothing in it can end it."""
    lines = text.strip().splitlines()
    return "\n".join(["(", *(f"    {json.dumps(line + chr(10), ensure_ascii=True)}" for line in lines), ")"])
