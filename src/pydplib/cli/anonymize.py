"""``pydplib anonymize FILE``: a table that may be handed over, and a report on what that costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pydplib.cli._inputs import InputFile, csv_options, open_files
from pydplib.cli._progress import waiting
from pydplib.errors import import_extra

if TYPE_CHECKING:
    from pydplib.tables import Tables

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command("anonymize")
@click.argument("file", type=InputFile())
@click.option("--config", "config_file", type=_PATH, help="Which column is what, and what has to hold (TOML).")
@click.option("-o", "--output", type=_PATH, help="Where the anonymized table goes: .csv, .parquet or .xlsx.")
@click.option("--report", type=_PATH, help="Where a report on risk and loss goes: one HTML page.")
@click.option("--recipe", type=_PATH, help="Where the chosen transformation goes (JSON), to repeat it elsewhere.")
@click.option(
    "--trace",
    type=_PATH,
    help="Where a trace of this release goes, for --previous of the next one. It stays with you, like the table.",
)
@click.option(
    "--previous",
    multiple=True,
    type=InputFile(),
    metavar="TRACE_OR_FILE",
    help="An earlier release of the same people, so that the models hold across both: its trace or, if there is none, "
    "the released table. May be given several times.",
)
@click.option(
    "--trace-key",
    type=InputFile(),
    help="A file with a secret of 16 bytes or more, without which traces tell nothing. Keep it elsewhere.",
)
@click.option("--init", "init_", is_flag=True, help="Write a configuration with guesses to --config, for you to check.")
@click.option("--sheet", help="The sheet of an Excel file that has several.")
@csv_options
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Take the best found until then.",
)
@click.option("--frontier", "with_frontier", is_flag=True, help="Also try other k, for a figure in the report.")
@click.option(
    "--advice",
    "with_advice",
    is_flag=True,
    help="Say what each column and model costs, and what other methods lose. Without --output nothing is released.",
)
@click.option(
    "--classifier", is_flag=True, help="Train a classifier before and after, for the report (needs scikit-learn)."
)
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--json", "as_json", is_flag=True, help="Write the summary as JSON.")
def command(
    file: Path,
    config_file: Path | None,
    output: Path | None,
    report: Path | None,
    recipe: Path | None,
    trace: Path | None,
    previous: tuple[Path, ...],
    trace_key: Path | None,
    init_: bool,
    sheet: str | None,
    time_limit: float | None,
    with_frontier: bool,
    with_advice: bool,
    classifier: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Make a table in which nobody can be singled out: k-anonymity, l-diversity, t-closeness and others.

    FILE is a CSV (any separator, decimal commas, UTF-8 or Latin-1), an Excel sheet or Parquet. Begin with --init, check
    every line of the configuration that it writes, and run again without it. The output is shuffled; columns that the
    configuration does not name are left out. Ends with code 15 if the models cannot be satisfied; then no table is
    written.

    \b
    Examples:
      pydplib anonymize visits.csv --init --config anon.toml
      pydplib anonymize visits.csv --config anon.toml --output out.csv --report report.html
      pydplib anonymize visits.csv --config anon.toml --advice
      pydplib anonymize visits.csv --config anon.toml --output 2025.csv --trace 2025.trace
      pydplib anonymize visits.csv --config anon.toml --output 2026.csv --trace 2026.trace --previous 2025.trace
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.cli._anonymize_past import Past
    from pydplib.cli._anonymize_run import Extras, Run, Targets
    from pydplib.cli._outputs import check_targets, output_format

    if init_:
        if output or report or recipe or trace or previous:
            raise click.UsageError("--init only writes a configuration: leave --output and the other files out.")
        config_file = config_file or file.with_name("anon.toml")
        check_targets([("--config", config_file)], [file], force=force)
    elif config_file is None:
        raise click.UsageError(f"Say which column is what: --config FILE. This writes one: {_init_call(file)}")
    elif output is None and with_advice and not (report or recipe or trace):
        pass
    elif output is None:
        raise click.UsageError("Say where the anonymized table goes: --output FILE.")
    else:
        output_format(output)
        targets = [("--output", output), ("--report", report), ("--recipe", recipe), ("--trace", trace)]
        keys = [] if trace_key is None else [trace_key]
        check_targets(targets, [file, config_file, *previous, *keys], force=force)
        if keys and trace is None and not previous:
            raise click.UsageError("--trace-key is the key of traces: give --trace or --previous as well.")
        if report is not None:
            import_extra("plotly", what="Writing a report", extra="plot")
        elif with_frontier or classifier:
            option = "--frontier adds a figure" if with_frontier else "--classifier adds a table"
            raise click.UsageError(f"{option} to the report: give --report as well.")
        if classifier:
            import_extra("sklearn", what="A classifier before and after", extra="utility")
    with open_files() as tables:
        if init_:
            _write_config(tables, file, sheet, config_file)
            return
        past = Past(previous, trace_key, keeps_trace=trace is not None)
        run = Run(tables, file, config_file, sheet, time_limit, past)
        advice = run.advise(as_json=as_json and output is None) if with_advice else None
        if output is not None:
            extras = Extras(frontier=with_frontier, classifier=classifier, advice=advice)
            run.go(Targets(output, report, recipe, trace), extras, as_json=as_json)


def _init_call(file: Path) -> str:
    return f"pydplib anonymize {file} --init --config anon.toml"


def _write_config(tables: Tables, file: Path, sheet: str | None, target: Path) -> None:
    from pydplib.cli._anonymize_init import config_text
    from pydplib.cli._guesses import guess_columns
    from pydplib.cli._outputs import staged

    with waiting(f"Reading {file.name}"):
        guesses = guess_columns(tables.open(file, sheet=sheet))
    with staged() as staging:
        staging.write_text(target, config_text(file.name, guesses, sheet=sheet))
    for role, words in (("identifier", "Identifiers"), ("quasi", "Quasi-identifiers"), ("sensitive", "Sensitive")):
        names = [guess.name for guess in guesses if guess.role == role]
        click.echo(f"{words + ':':<19}{', '.join(names) or 'none found'}")
    click.echo(f"These are guesses. Check every line of {target}, then set checked = true in it.")
