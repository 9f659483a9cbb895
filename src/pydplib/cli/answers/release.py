"""``pydplib release`` and ``pydplib price``: questions, paid first and answered with noise; or only their price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pydplib.cli.answers.questions import QuestionCommand, asking, open_session, price_options
from pydplib.cli.outputs import check_targets
from pydplib.cli.progress import waiting
from pydplib.errors import ParameterError
from pydplib.release.results.formats import TABLE_FORMATS

_PICTURES = ("png", "svg", "pdf")


@click.command("release", cls=QuestionCommand)
@asking
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV.")
@click.option("--html", "as_html", is_flag=True, help="Write a page with a figure (needs --output).")
@click.option("--png", "as_png", is_flag=True, help="Write a picture (needs --output).")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where to write it; the ending says as what: .json, .csv, .html, .png, .svg, .pdf or .txt.",
)
@click.option("--force", is_flag=True, help="Replace an output that exists.")
def command(
    as_json: bool, as_csv: bool, as_html: bool, as_png: bool, output: Path | None, force: bool, **given: Any
) -> None:
    r"""Answer questions about FILE with noise, and write down who was told.

    FILE is CSV, JSON lines (.ndjson), Parquet, Excel (.xlsx), a SQLite file, postgresql://..., mariadb://..., or - for
    standard input. The question reads STATISTIC [COLUMN] [by COLUMN, ...] [where COLUMN OP VALUE and ...] [per person
    first by COLUMN] [after COLUMN OP VALUE and ...]; also "last by COLUMN" and "highest COLUMN". The same question
    again costs nothing. Several tables of counts, each with its own -q, are bought together: one price, one entry,
    numbers that agree.

    \b
    Examples:
      pydplib release reports.parquet --schema schema.toml --question "mean age by pirads" \
        --noise-factor high --recipient partner --ledger ledger.db
      pydplib release reports.parquet --schema schema.toml -q "count by pirads" -q "crosstab age, bph" \
        --epsilon 0.5 --recipient partner --ledger ledger.db --csv
      pydplib release reports.parquet --schema schema.toml -q "mean age per person first by day after pirads in 4, 5" \
        --epsilon 0.5 --recipient partner --ledger ledger.db
    """
    form = _form(as_json, as_csv, as_html, as_png, output)
    _check_output(output, given, force=force)
    several = len(given["question"]) > 1
    if several and form in ("html", *_PICTURES):
        raise ParameterError(f"Several tables are written as text, --json or --csv, not as {form}.")
    with waiting(f"Reading {Path(given['file']).name}"), open_session(given) as (session, questions):
        if several:
            options = {name: given[name] for name in ("epsilon", "delta", "confidence")}
            release = session.release_all(questions, **options)
        else:
            release = session.release(questions[0], **price_options(given))
        left = session.remaining
    told = "".join(f" {remark}" for remark in release.remarks)
    if form in ("html", *_PICTURES):
        _draw(release, form, output)
        click.echo(f"Wrote {output}. Cost: {release.cost}.{told} Left for '{given['recipient']}': {left}.")
        return
    if form in TABLE_FORMATS:
        content = TABLE_FORMATS[form].write(release, "\n")
    else:
        content = f"{release.to_json() if form == 'json' else release}\n".encode()
    if output is not None:
        _write(output, content)
        click.echo(f"Wrote {output}. Cost: {release.cost}.{told} Left for '{given['recipient']}': {left}.")
        return
    click.echo(content.decode(), nl=not content.endswith(b"\n"))
    if form == "text":
        click.echo(f"  left       {left}")


def _check_output(output: Path | None, given: dict[str, Any], *, force: bool) -> None:
    """Raise before anything is paid if the output cannot be written, or would replace what is read or the ledger."""
    if output is None:
        return
    ledger = Path(given["ledger_file"])
    beside = [ledger.with_name(ledger.name + ending) for ending in ("", "-wal", "-shm", "-journal", ".head")]
    if output.resolve() in [path.resolve() for path in beside]:
        raise ParameterError(f"--output would replace the ledger '{ledger.name}'. Choose another name.")
    read = [given[name] for name in ("file", "schema_file", "policy_file") if given[name] is not None]
    inputs = [Path(name) for name in read if "://" not in name]
    check_targets([("--output", output)], [path for path in inputs if path.exists()], force=force)


def _form(as_json: bool, as_csv: bool, as_html: bool, as_png: bool, output: Path | None) -> str:
    chosen = [name for name, on in (("json", as_json), ("csv", as_csv), ("html", as_html), ("png", as_png)) if on]
    if len(chosen) > 1:
        raise ParameterError("Choose one of --json, --csv, --html and --png.")
    if not chosen and output is not None:
        suffix = output.suffix.lower().lstrip(".")
        if suffix not in (*TABLE_FORMATS, "json", "html", *_PICTURES, "txt", ""):
            endings = ", ".join(f".{ending}" for ending in (*TABLE_FORMATS, "json", "html", *_PICTURES))
            raise ParameterError(f"--output cannot write '.{suffix}'. Choose a name that ends in {endings} or .txt.")
        chosen = [suffix] if suffix not in ("txt", "") else []
    form = chosen[0] if chosen else "text"
    binary = form in TABLE_FORMATS and not TABLE_FORMATS[form].is_text
    if (binary or form in ("html", *_PICTURES)) and output is None:
        raise ParameterError(f"--{form} needs a file: --output answer.{form}.")
    return form


def _draw(release: Any, form: str, output: Path | None) -> None:
    from pydplib import plot

    assert output is not None
    if form == "html" and release.printed is not None:  # a table that word processors open
        _write(output, release.printed.to_page().encode())
        return
    figure = release.plot()
    if form == "html":
        plot.to_html(figure, output)
    else:
        plot.to_png(figure, output)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError:
        raise ParameterError(f"'{path}' cannot be written.") from None


@click.command("price", cls=QuestionCommand)
@asking
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def price_command(as_json: bool, **given: Any) -> None:
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
