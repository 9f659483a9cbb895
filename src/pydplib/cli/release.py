"""``pydplib release``: questions, paid first, answered with noise; as text, JSON, CSV, a page or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pydplib.cli._asking import QuestionCommand, asking, open_session, price_options
from pydplib.cli._outputs import check_targets
from pydplib.cli._progress import waiting
from pydplib.errors import ParameterError

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
    text = {"json": release.to_json, "csv": lambda: _csv(release), "text": lambda: str(release)}[form]()
    if output is not None:
        _write(output, text)
        click.echo(f"Wrote {output}. Cost: {release.cost}.{told} Left for '{given['recipient']}': {left}.")
        return
    click.echo(text, nl=not text.endswith("\n"))
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
        if suffix not in ("json", "csv", "html", *_PICTURES, "txt", ""):
            raise ParameterError(
                f"--output cannot write '.{suffix}'. Choose a name that ends in .csv, .json, .html, .png, .svg, .pdf "
                "or .txt."
            )
        chosen = [suffix] if suffix not in ("txt", "") else []
    form = chosen[0] if chosen else "text"
    if form in ("html", *_PICTURES) and output is None:
        raise ParameterError(f"--{form} needs a file: --output answer.{form}.")
    return form


def _csv(release: Any) -> str:
    from pydplib._csv_text import csv_pieces
    from pydplib.release import Release
    from pydplib.release.frames import release_columns

    if isinstance(release, Release) and release.printed is not None:
        return release.printed.to_csv()
    columns = release_columns(release) if isinstance(release, Release) else release.columns()
    # Keys can be words of the data: a spreadsheet must not run one as a formula.
    return "".join(csv_pieces(list(columns), zip(*columns.values(), strict=True), end="\n"))


def _draw(release: Any, form: str, output: Path | None) -> None:
    from pydplib import plot

    assert output is not None
    if form == "html" and release.printed is not None:  # a table that word processors open
        _write(output, release.printed.to_page())
        return
    figure = release.plot()
    if form == "html":
        plot.to_html(figure, output)
    else:
        plot.to_png(figure, output)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError:
        raise ParameterError(f"'{path}' cannot be written.") from None
