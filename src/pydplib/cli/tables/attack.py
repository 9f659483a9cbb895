"""``pydplib attack ORIGINAL RELEASED``: run every attack that applies, and write the leak report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib.cli.inputs import InputFile, csv_options, open_files
from pydplib.cli.tables.risk import check_quasi
from pydplib.cli.tables.words import (
    NAMES_HELP,
    percent,
    print_columns,
    print_json,
    print_table,
    read_names,
    read_pairs,
    role_options,
)
from pydplib.errors import AnonymityError, ParameterError, import_extra
from pydplib.policy import PARTNER_ROLES

if TYPE_CHECKING:
    from pydplib.anonymity import Hierarchy
    from pydplib.attack import LeakReport

_PATH = InputFile()
_OUT = click.Path(dir_okay=False, path_type=Path)
_LARGE = 50_000  # rows from which on more than one process is worth its start
_MOST_WORKERS = 4


@click.command("attack")
@click.argument("original", type=_PATH)
@click.argument("released", type=_PATH)
@click.option("--quasi", multiple=True, callback=read_names, help=f"What an outsider may know. {NAMES_HELP}")
@click.option("--sensitive", multiple=True, callback=read_names, help=f"What nobody may learn. {NAMES_HELP}")
@role_options
@click.option("--person", help="The column that says whose row it is, where people have several rows.")
@click.option(
    "--noisy",
    multiple=True,
    callback=read_names,
    help=f"Columns that left with noise on every record (paper mode), in the order of ORIGINAL. {NAMES_HELP}",
)
@click.option("--noise-factor", type=click.Choice(["low", "medium", "high"]), help="The noise factor of --noisy.")
@click.option(
    "--hierarchy",
    "trees",
    multiple=True,
    metavar="COLUMN=FILE",
    callback=read_pairs,
    help="A column's hierarchy: what its labels cover, or which sensitive values are alike.",
)
@click.option("--population", type=_PATH, help="A table of everybody, for journalist and marketer.")
@click.option("--previous", multiple=True, type=_PATH, help="An earlier release of the same people, oldest first.")
@click.option("--came", type=_PATH, help="People who came since the last --previous, with their sensitive values.")
@click.option("--left", type=_PATH, help="People who left since.")
@click.option("--report", type=_OUT, help="Write the leak report to this HTML file.")
@click.option(
    "--for",
    "audience",
    type=click.Choice([*PARTNER_ROLES, "public"]),
    help="End with code 15 unless this audience may get it.",
)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds; what is not done then is open.")
@click.option("--workers", type=click.IntRange(1, 64), help="Processes; by default as many as the table is worth.")
@csv_options
@click.option("--force", is_flag=True, help="Replace an existing report.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(
    original: Path,
    released: Path,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    config: Path | None,
    insensitive: tuple[str, ...],
    identifiers: tuple[str, ...],
    person: str | None,
    noisy: tuple[str, ...],
    noise_factor: str | None,
    trees: dict[str, str],
    population: Path | None,
    previous: tuple[Path, ...],
    came: Path | None,
    left: Path | None,
    report: Path | None,
    audience: str | None,
    time_limit: float | None,
    workers: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Attack RELEASED with the knowledge of ORIGINAL (CSV, Excel, Parquet), and say who may get it.

    Every released column needs a role. One that has none is joined with ORIGINAL: names, hashed ids, row numbers and
    copies refuse the release or leave the verdict open. A quasi-identifier that was left out counts as '*'.

    \b
    Examples:
      pydplib attack visits.csv out.csv --config anon.toml --for public
      pydplib attack visits.csv out.csv --quasi age,sex,zip --sensitive diagnosis --report leak.html
      pydplib attack reports.csv noisy.csv --noisy age --noise-factor high --for third_party
    """  # noqa: D301 (click's mark for a paragraph that is not to be wrapped)
    from pydplib.cli.outputs import check_targets, staged
    from pydplib.cli.tables.configuration import Roles

    if noise_factor is not None and not noisy:
        raise click.UsageError("--noise-factor says how noisy the columns of --noisy are: name them.")
    inputs = [original, released, *previous, *(p for p in (population, came, left) if p is not None)]
    check_targets([("--report", report)], inputs, force=force)
    if report is not None:
        import_extra("plotly", what="Writing a report", extra="plot")
    with open_files() as tables:
        first = tables.open(original)
        call = f"pydplib attack {original} {released}"
        said = Roles(quasi=quasi, sensitive=sensitive, insensitive=insensitive, identifiers=identifiers, person=person)
        roles = said.filled(config, lambda path: tables.open(path).frame(), first.columns, whole=True)
        names = check_quasi(first, roles.quasi, call) if roles.quasi or not noisy else []
        watched, person = list(dict.fromkeys(roles.sensitive)), roles.person
        first.check([*watched, *noisy], "--sensitive or --noisy")
        _check_trees(trees, [*names, *watched])
        second = tables.open(released)
        second.check(noisy, "--noisy, in the release")
        _check_overlap(second.columns, [*names, *watched])
        whose = [] if person is None else [person]
        first.check(whose, "--person")
        options: dict[str, Any] = {
            "quasi_identifiers": names or None,
            "sensitive": watched,
            "insensitive": list(dict.fromkeys(roles.insensitive)),
            "identifiers": list(dict.fromkeys(roles.identifiers)),
            "person": person,
            "noisy": dict.fromkeys(noisy, noise_factor),
            **_hierarchies(roles.hierarchies, trees, names, watched),
            "population": None if population is None else _frame(tables, population, names),
            "previous": [_frame(tables, path, watched, [*names, *whose]) for path in previous],
            "came": None if came is None else _frame(tables, came, [*names, *watched], whose),
            "left": None if left is None else _frame(tables, left, [*names, *watched], whose),
        }
        table, data = first.frame(), second.frame()  # all columns: those without a role are joined with the original
        for name in roles.pseudonyms:
            if name in second.columns:
                # Pseudonyms name nobody; what the original has there does.
                options["identifiers" if _share_values(table, data, name) else "insensitive"].append(name)
    from pydplib.attack import leak_report

    processes = workers or (min(os.cpu_count() or 1, _MOST_WORKERS) if len(table) >= _LARGE else 1)
    with _bar(as_json) as progress:
        found = leak_report(table, data, **options, workers=processes, time_limit=time_limit, progress=progress)
    if report is not None:
        from pydplib.report.leak import leak_page

        page = leak_page(found, name=released.name, original=original.name).to_html()
        with staged() as staging:
            staging.write_text(report, page, private=True)
    if as_json:
        print_json({"original": str(original), "released": str(released), **found.to_dict()})
    else:
        _print(found)
        if report is not None:
            click.echo(f"Report: {report}")
    if audience is not None and found.answer(audience) != "yes":
        raise AnonymityError(
            f"This must not go to the audience '{audience}': the verdict is '{found.answer(audience)}'."
        )


def _check_overlap(columns: Any, wanted: Sequence[str]) -> None:
    if wanted and not any(name in columns for name in wanted):
        raise ParameterError(
            "The release has none of the columns of --quasi and --sensitive. Are these two versions of one table?"
        )


def _check_trees(trees: dict[str, str], known: Sequence[str]) -> None:
    from pydplib.errors import did_you_mean

    for name in trees:
        if name not in known:
            raise ParameterError(f"--hierarchy names '{name}', which is not used here.{did_you_mean(name, known)}")


def _hierarchies(
    known: Mapping[str, Hierarchy], trees: dict[str, str], names: Sequence[str], watched: Sequence[str]
) -> dict[str, Any]:
    from pydplib.anonymity import Hierarchy

    made = {**known, **{name: Hierarchy.from_csv(path) for name, path in trees.items()}}
    return {
        "hierarchies": {name: tree for name, tree in made.items() if name in names},
        "kinds": {name: tree for name, tree in made.items() if name in watched},
    }


def _share_values(table: Any, data: Any, name: str) -> bool:
    """Whether a column has a value in both tables."""
    from pydplib.anonymity.tables.frames import Frame
    from pydplib.anonymity.tables.values import show

    first, second = (
        {show(value) for value in Frame(one).coded(name).values if value is not None} for one in (table, data)
    )
    return bool(first & second)


def _frame(tables: Any, path: Path, names: Sequence[str], perhaps: Sequence[str] = ()) -> Any:
    table = tables.open(path)
    table.check(names, f"in {path.name}")
    return table.frame([*names, *(name for name in perhaps if name in table.columns)])


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """Show a bar on a terminal; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    with Progress(
        TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        console=console, transient=True,
    ) as bar:  # fmt: skip
        task = bar.add_task("reading and matching", total=None)

        def show(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name or "done")

        yield show


def _print(found: LeakReport) -> None:
    from pydplib.attack.leaks.audiences import kind_of

    rows = [
        [
            kind_of(result),
            result.target,
            percent(result.success),
            percent(result.baseline),
            percent(result.exposed),
            percent(result.due),
        ]
        for result in found.results
    ]
    if rows:
        print_table(["attack", "on", "right", "by guessing", "certain", "exposed"], rows)
        click.echo(
            "Certain: people of whom it is known for sure. Exposed: those of them by this release; verdicts count it."
        )
    for result in found.results:
        if result.exposed > 0:
            click.echo(f"{result.sentence}")
    for outcome in found.unfinished:
        click.echo(f"{outcome.task.name} ({outcome.task.about}): {outcome.problem}")
    for note in found.notes:
        click.echo(note)
    print_columns(found.columns)
    words = {"yes": "may have it", "no": "MUST NOT have it", "open": "not decided"}
    for verdict in found.verdicts:
        click.echo(f"\n{verdict.audience.title}: {words[verdict.answer]}.")
        for reason in verdict.reasons:
            click.echo(f"  {reason}")
