"""``pydplib anonymize FILE``: a table that may be handed over, a report on what that costs, a first configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib._toml import toml_key, toml_value
from pydplib.cli.inputs import InputFile, csv_options, open_files
from pydplib.cli.progress import waiting
from pydplib.cli.tables.guesses import Guess, person_of
from pydplib.errors import DataError, ParameterError, import_extra

if TYPE_CHECKING:
    from pydplib.tables import Tables


@dataclass(frozen=True)
class Past:
    """What is known of earlier releases.

    Attributes:
        files: Traces and released tables.
        key_file: A file with the key of the traces, if it is not in them.
        keeps_trace: Whether this release's trace is asked for.
    """

    files: Sequence[Path] = ()
    key_file: Path | None = None
    keeps_trace: bool = False

    @property
    def needs_memory(self) -> bool:
        """Whether the table has to be loaded: people are told again one by one."""
        return bool(self.files) or self.keeps_trace

    @property
    def key(self) -> bytes | None:
        """The key of the traces, if it is kept in a file of its own."""
        if self.key_file is None:
            return None
        try:
            return self.key_file.read_bytes()
        except OSError:
            raise ParameterError(
                f"The key file '{self.key_file}' cannot be read. Make one: openssl rand -out traces.key 32"
            ) from None

    def read(self, tables: Tables, quasi: Sequence[str]) -> list[Any]:
        """Return the earlier releases as ``anonymize`` takes them."""
        from pydplib.anonymity import Trace
        from pydplib.anonymity.tables.frames import SeenFrame
        from pydplib.anonymity.traces import is_trace

        out: list[Any] = []
        for path in self.files:
            if is_trace(path):
                out.append(_load(Trace, path, self.key))
                continue
            try:
                table = tables.open(path)
                table.check(quasi, "quasi-identifier")
                out.append(SeenFrame.of_file(table, list(quasi)))
            except (DataError, ParameterError) as error:
                raise type(error)(f"--previous '{path.name}': {error}") from None
        return out


def _load(trace: Any, path: Path, key: bytes | None) -> Any:
    try:
        return trace.load(path, key=key)
    except ParameterError as error:
        if key is None and "saved with a key" in str(error):
            raise ParameterError(f"The trace '{path.name}' was saved with a key: give it with --trace-key.") from None
        raise


_HEAD = """\
# How `pydplib anonymize` treats {file}.
#
# EVERYTHING BELOW IS A GUESS, made from the names of the columns and from how their values look.
# Read it line by line and change what is wrong. Only then write true here:
checked = false
{sheet}
# Who can be found? Every column has one of four roles. A column without a role is dropped.
#   identifiers         name somebody directly: dropped (or see [pseudonyms] below)
#   quasi_identifiers   an outsider may know them (age, postcode, dates): made coarser until nobody stands out
#   sensitive           what nobody may learn about somebody (diagnosis, income): kept, and watched by models
#   keep                harmless, handed over as it is
"""
_MODELS = """\
# What has to hold afterwards. All models hold together, or nothing is written.
[[models]]
model = "k-anonymity"   # nobody can be narrowed down to fewer than k people
k = 5
"""
_DIVERSITY = """
[[models]]
model = "l-diversity"   # in every group of people at least l different values{of}
l = 2
"""
_OTHERS = """
# More models, to be used by removing the '#' (sensitive = "..." limits one to a column):
# [[models]]
# model = "l-diversity"
# l = 3
# kind = "entropy"      # or "distinct", or "recursive" with c = 4
# [[models]]
# model = "t-closeness" # in every group the values are spread as in the whole table, within t
# t = 0.2
# distance = "equal"    # or "ordered" (numbers, stages), or "hierarchical" with hierarchy = "file.csv"
# Others: alpha-k (alpha, k), beta-likeness (beta), delta-disclosure (delta), k-map (k and fraction, or population =
# "file.csv"), delta-presence (upper, population), average-risk (limit = 0.05), population-uniqueness (limit = 0.01 and
# fraction = 0.1).
"""
_PSEUDONYMS = """
# Instead of dropping an identifier, replace it. Consistent pseudonyms link a person's rows, and need a secret key:
# openssl rand -out pseudonyms.key 32
# [pseudonyms.{column}]
# consistent = true
# key_file = "pseudonyms.key"
"""


def config_text(file: str, guesses: list[Guess], *, sheet: str | None = None) -> str:
    """Return the text of a configuration with every guess and the reason for it.

    Examples:
        >>> text = config_text("a.csv", [Guess("age", role="quasi", why="the name says so",
        ...     hierarchy={"kind": "automatic"})])
        >>> "[quasi_identifiers.age]" in text and "checked = false" in text
        True
    """
    identifiers = [guess for guess in guesses if guess.role == "identifier"]
    quasi = [guess for guess in guesses if guess.role == "quasi"]
    sensitive = [guess for guess in guesses if guess.role == "sensitive"]
    person = person_of(guesses)
    lines = [_HEAD.format(file=one_line(file), sheet=f"\nsheet = {toml_value(sheet)}\n" if sheet else "")]
    lines += _listed("identifiers", identifiers)
    lines += _listed("sensitive", sensitive)
    lines += _listed("keep", [guess for guess in guesses if guess.role == "keep"])
    empty = [one_line(guess.name) for guess in guesses if guess.role == "empty"]
    if empty:
        lines += [f"# No row has a value, so they have no role and are dropped: {', '.join(empty)}", ""]
    if person is None:
        lines += ["# If somebody can have several rows, name the column that says whose row it is:"]
        lines += ['# person = "patient_id"', ""]
    else:
        lines += ["# Whose row it is: somebody has several, so people are counted, not rows."]
        lines += [f"person = {toml_value(person)}", ""]
    lines += [
        "suppression = 0.05      # at most this share of the rows may be left out",
        'method = "optimal"      # or "local", "cells", "mondrian", "microaggregation"',
        'loss = "granularity"    # what is kept small: or "precision", "entropy", "discernibility", "class_size"',
        'reference = "output"    # what t-closeness compares with: the released rows, or "input": all rows',
        "",
        "# How quasi-identifiers become coarser, step by step. Kinds: intervals, cuts (edges), dates, masking, codes",
        '# (system = "icd-10" or "uk-postcode"), order (values), grouping (groups), flat (values: each value, or "*"),',
        "# file (path of a CSV as ARX writes them), top-bottom, automatic. `pydplib hierarchy` makes and checks files.",
        "# Bounds and values from the data can give something away: those are marked from_data, or automatic,",
        "# and every run reminds you of them until you have put in what is possible in the real world.",
    ]
    if not quasi:
        lines.append('# No column looks like one. Name at least one: [quasi_identifiers.age] with kind = "automatic".')
    for guess in quasi:
        lines += [f"[quasi_identifiers.{toml_key(guess.name)}]   # {guess.why}"]
        remark = f"   # {guess.hint}" if guess.hint else ""
        for place, (key, value) in enumerate(guess.hierarchy.items()):
            lines.append(f"{key} = {toml_value(value)}{remark if place == 0 else ''}")
        lines.append("")
    lines.append(_MODELS.rstrip("\n"))
    if sensitive:
        lines.append(_DIVERSITY.format(of=f" of {one_line(sensitive[0].name)}" if len(sensitive) == 1 else "").rstrip())
    lines.append(_OTHERS.rstrip("\n"))
    if identifiers:
        column = person or identifiers[0].name
        lines.append(_PSEUDONYMS.format(column=toml_key(column)).rstrip("\n"))
    return "\n".join(lines) + "\n"


def _listed(key: str, guesses: Iterable[Guess]) -> list[str]:
    entries = list(guesses)
    if not entries:
        return [f"{key} = []", ""]
    inside = [f"  {toml_value(guess.name)},   # {guess.why}" for guess in entries]
    return [f"{key} = [", *inside, "]", ""]


def one_line(text: str) -> str:
    """Return a name for a comment, which ends with its line."""
    return " ".join(text.split())


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
    from pydplib.cli.outputs import check_targets, output_format
    from pydplib.cli.tables.anonymize_run import Extras, Run, Targets

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
        run = Run(tables, file, config=config_file, sheet=sheet, time_limit=time_limit, past=past)
        advice = run.advise(as_json=as_json and output is None) if with_advice else None
        if output is not None:
            extras = Extras(frontier=with_frontier, classifier=classifier, advice=advice)
            run.go(Targets(output, report, recipe, trace), extras, as_json=as_json)


def _init_call(file: Path) -> str:
    return f"pydplib anonymize {file} --init --config anon.toml"


def _write_config(tables: Tables, file: Path, sheet: str | None, target: Path) -> None:
    from pydplib.cli.outputs import staged
    from pydplib.cli.tables.guesses import guess_columns

    with waiting(f"Reading {file.name}"):
        guesses = guess_columns(tables.open(file, sheet=sheet))
    with staged() as staging:
        staging.write_text(target, config_text(file.name, guesses, sheet=sheet))
    for role, words in (("identifier", "Identifiers"), ("quasi", "Quasi-identifiers"), ("sensitive", "Sensitive")):
        names = [guess.name for guess in guesses if guess.role == role]
        click.echo(f"{words + ':':<19}{', '.join(names) or 'none found'}")
    click.echo(f"These are guesses. Check every line of {target}, then set checked = true in it.")
