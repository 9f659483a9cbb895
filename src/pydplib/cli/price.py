"""``pydplib price``: what a question would cost and how accurate it would be, without touching data."""

from __future__ import annotations

import json
from typing import Any

import click

from pydplib.cli._asking import QuestionCommand, asking, open_session, price_options
from pydplib.cli._progress import waiting


@click.command("price", cls=QuestionCommand)
@asking
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool, **given: Any) -> None:
    r"""Say what questions about FILE would cost and which margin to expect. Touches no data, writes nothing.

    \b
    Examples:
      pydplib price reports.parquet --schema schema.toml --question "median age" \
        --noise-factor high --recipient partner --ledger ledger.db
    """
    with waiting("Making the price"), open_session(given, preview=True) as (session, questions):
        if len(questions) > 1:
            options = {name: given[name] for name in ("epsilon", "delta", "confidence")}
            price = session.price_all(questions, **options)
        else:
            price = session.price(questions[0], **price_options(given))
    click.echo(json.dumps(price.to_dict(), indent=2, ensure_ascii=False) if as_json else str(price))
