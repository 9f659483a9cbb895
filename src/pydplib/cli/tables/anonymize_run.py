"""One run of ``pydplib anonymize``: search, prove, report, write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib.errors import AnonymityError, ParameterError

if TYPE_CHECKING:
    from pydplib.anonymity import Advice, Alternative, AnonymizationResult, SearchInfo
    from pydplib.cli.outputs import Staging
    from pydplib.cli.tables.anonymize import Past
    from pydplib.cli.tables.configuration import Config
    from pydplib.tables import TableFile, Tables

LARGE = 2_000_000
"""Rows above which a table stays in DuckDB and only its distinct combinations are loaded."""

_MUCH = 0.3  # loss from which on a run points to --advice


@dataclass(frozen=True)
class Targets:
    """Where everything goes. All but the output tell something about the original, and are the owner's alone.

    Attributes:
        output: The anonymized table.
        report: The report.
        recipe: The transformation.
        trace: What the next release needs to know about this one.
    """

    output: Path
    report: Path | None = None
    recipe: Path | None = None
    trace: Path | None = None


@dataclass(frozen=True)
class Extras:
    """What else a report holds.

    Attributes:
        frontier: What other k would cost.
        classifier: A classifier before and after.
        advice: What would cost less.
    """

    frontier: bool = False
    classifier: bool = False
    advice: Advice | None = None


class Run:
    """One anonymization: the configuration is read, the table is opened, the search runs, everything is written."""

    def __init__(
        self, tables: Tables, file: Path, *, config: Path, sheet: str | None, time_limit: float | None, past: Past
    ) -> None:
        from pydplib.cli.tables.configuration import read_config

        self.tables, self.file, self.time_limit, self.past = tables, file, time_limit, past
        self.config = read_config(config, lambda path: tables.open(path).frame())
        if not self.config.checked:
            raise ParameterError(
                f"'{config.name}' holds guesses that nobody has checked. Read it line by line, correct it, and set "
                "checked = true."
            )
        self.table = tables.open(file, sheet=sheet or self.config.sheet)
        self._loaded: Any = None
        self._stays = False

    def advise(self, *, as_json: bool) -> Advice:
        """Work out what each column, model and method costs, and print it."""
        from pydplib.anonymity import advise
        from pydplib.cli.tables.words import hierarchy_gaps, print_json

        config, table = self.config, self._table(self.config)
        if self._stays:
            raise ParameterError(
                f"--advice runs many searches and loads the table: it takes up to {LARGE:,} rows. Try it on a sample."
            )
        wanted = ("suppression", "method", "loss", "reference")
        options = {key: config.options[key] for key in wanted if key in config.options}
        with hierarchy_gaps(self.file), _advice_progress() as progress:
            found = advise(
                table, config.quasi_identifiers, config.sensitive or None, models=config.models, person=config.person,
                identifiers=config.identifiers, schema=config.schema, time_limit=self.time_limit or 60.0,
                progress=progress, **options,
            )  # fmt: skip
        if as_json:
            print_json(found.to_dict())
        else:
            print_advice(found)
        return found

    def go(self, targets: Targets, extras: Extras, *, as_json: bool) -> None:
        """Anonymize, and write everything or nothing."""
        from pydplib.cli.outputs import staged
        from pydplib.cli.tables.words import hierarchy_gaps, print_json, result_values

        earlier = self.past.read(self.tables, list(self.config.quasi_identifiers))
        with staged() as staging:
            with hierarchy_gaps(self.file):
                result = self._anonymize(self.config, "Searching", earlier)
            proven = result.certificate.holds
            if targets.report is not None:
                staging.write_text(targets.report, self._report(result, earlier, extras), private=True)
            if proven:
                self._write(result, targets.output, staging)
                if targets.recipe is not None:
                    staging.write_text(targets.recipe, result.recipe.to_json() + "\n", private=True)
                if targets.trace is not None:
                    trace = result.trace_to_save(key=self.past.key)
                    staging.write_bytes(targets.trace, trace.to_bytes(), private=True)
        written = {
            name: path for name, path in vars(targets).items() if path is not None and (proven or name == "report")
        }
        if as_json:
            told = {} if extras.advice is None else {"advice": extras.advice.to_dict()}
            print_json({**result_values(result), **told, "files": {name: str(path) for name, path in written.items()}})
        else:
            _print_summary(result, written)
            if extras.advice is None and result.loss.granularity > _MUCH:
                click.echo("\nMuch is lost. --advice says which column or model costs most, and what would cost less.")
        if not proven:
            failed = ", ".join(statement.model for statement in result.certificate.statements if not statement.holds)
            raise AnonymityError(
                f"Measured on the output, these models do not hold: {failed}. The table was not written. "
                + _remedy(failed)
            )

    def _anonymize(self, config: Config, what: str, earlier: Sequence[Any] = ()) -> AnonymizationResult:
        from pydplib.anonymity import anonymize

        table = self._table(config)
        if self._stays:
            self.parquet.unlink(missing_ok=True)  # of an earlier try
        with _search_progress(what) as progress:
            result = anonymize(
                table,
                config.quasi_identifiers,
                config.sensitive or None,
                models=config.models,
                person=config.person,
                identifiers=config.identifiers,
                insensitive=config.keep,
                schema=config.schema,
                time_limit=self.time_limit,
                progress=progress,
                previous=earlier,
                **config.options,
                output=self.parquet if self._stays else None,
            )
        kept = {*config.quasi_identifiers, *config.sensitive, *config.keep}
        kept |= {name for name, pseudonym in config.identifiers.items() if pseudonym is not None}
        return replace(result, dropped=tuple(name for name in self.table.columns if name not in kept))

    @property
    def parquet(self) -> Path:
        """Where a table that stays in DuckDB is written first."""
        return self.tables.workspace / "released.parquet"

    def _table(self, config: Config) -> Any:
        """Return the columns that are needed: loaded, or as a relation where the table is large."""
        person = () if config.person is None else (config.person,)
        roles = {
            "quasi-identifier": tuple(config.quasi_identifiers),
            "sensitive": tuple(config.sensitive),
            "identifier": tuple(config.identifiers),
            "keep": config.keep,
            "person": person,
        }
        for role, names in roles.items():
            self.table.check(names, role)
        if self._loaded is None:
            wanted = list(dict.fromkeys(name for names in roles.values() for name in names))
            self._stays = not (config.needs_memory or self.past.needs_memory) and (
                not can_load() or self.table.rows() > LARGE
            )
            if self._stays:
                from pydplib._duckdb_files import sql_name as identifier

                self._loaded = self.table.relation.project(", ".join(map(identifier, wanted)))
            else:
                self._loaded = self.table.frame(wanted)
        return self._loaded

    def _report(self, result: AnonymizationResult, earlier: Sequence[Any], extras: Extras) -> str:
        from pydplib.anonymity import compare_classifier, compare_columns, lattice_of
        from pydplib.report.anonymization import anonymization_report, frontier

        points: tuple[Any, ...] = ()
        if extras.frontier:
            kept = self.parquet.rename(self.parquet.with_suffix(".kept")) if self._stays else None
            run = partial(self._anonymize, earlier=earlier)
            points = frontier(partial(_with_k, self.config, run))
            if kept is not None:
                kept.replace(self.parquet)
        lattice = lattice_of(result, most=300)
        here = not self._stays  # a table that stays in DuckDB is not loaded for this
        return anonymization_report(
            result, name=self.file.name, points=points, lattice=lattice, advice=extras.advice,
            changes=compare_columns(self._loaded, result) if here else (),
            classification=compare_classifier(self._loaded, result) if here and extras.classifier else None,
        ).to_html()  # fmt: skip

    def _write(self, result: AnonymizationResult, output: Path, staging: Staging) -> None:
        from pydplib.cli.outputs import output_format, write_table

        table: TableFile = self.table
        tab = output.suffix.lower() == ".tsv"
        separator = "\t" if tab else table.separator if table.format == "csv" else ","
        write_table(
            self.tables.connection,
            self.parquet if self._stays else result.data,
            staging.part(output),
            output_format(output),
            separator=separator,
            commas=table.commas if separator != "," else frozenset(),
        )


def _remedy(failed: str) -> str:
    from pydplib.anonymity.certificate import TOGETHER

    if TOGETHER in failed:
        return "Give the earlier release's trace with --previous: the search can then take it into account."
    return "Use a stricter limit in the configuration, or less suppression."


def can_load() -> bool:
    """Tell whether a library is installed that can hold a table in memory; DuckDB works without any."""
    return any(find_spec(library) is not None for library in ("pyarrow", "polars", "pandas"))


def _with_k(config: Config, run: Callable[[Config, str], AnonymizationResult], k: int) -> AnonymizationResult:
    """Anonymize with another k in every model that has one."""

    def other(models: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(replace(model, k=k) if hasattr(model, "k") else model for model in models)

    sensitive = {name: other(own) for name, own in config.sensitive.items()}
    return run(replace(config, models=other(config.models), sensitive=sensitive), f"Trying k = {k}")


def print_advice(found: Advice) -> None:
    """Print what each column, model and method costs."""
    from pydplib.cli.tables.words import percent, print_table

    def share(value: float | None) -> str:
        return "" if value is None else percent(value)

    def won(one: Alternative) -> str:
        gain = found.gain(one)
        return "" if one.loss is None else f"{100 * gain:+.3g}" if abs(gain) >= 5e-5 else "0"

    base = found.base
    lost = "nothing satisfies the models" if base.loss is None else f"loss {percent(base.loss)}"
    click.echo(f"As asked: {lost}, {percent(base.suppressed)} of the rows left out.")
    if found.columns:
        rows = [[one.subject, one.what, share(one.others), share(one.loss), won(one)] for one in found.columns]
        heads = ["column", "change", "loss of the others", "loss in total", "points won by the others"]
        print_table(heads, rows, words=("change",))
    if found.models:
        print_table(
            ["model left out", "loss", "points won"], [[one.subject, share(one.loss), won(one)] for one in found.models]
        )
    if found.methods:
        rows = [[one.subject, share(one.loss) or "none", won(one), one.words] for one in found.methods]
        print_table(["method", "loss", "points won", "labels"], rows, words=("labels",))
    for sentence in found.sentences:
        click.echo(sentence)
    if found.skipped:
        click.echo(f"There was no time for: {', '.join(found.skipped)}. Give --time-limit.")
    click.echo("")


@contextmanager
def _advice_progress() -> Iterator[Callable[[int, int, str], None]]:
    """Show on a terminal which search runs."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda done, total, name: None
        return
    with Progress(
        TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True
    ) as bar:
        task = bar.add_task("searching", total=None)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name or "done")


@contextmanager
def _search_progress(what: str) -> Iterator[Callable[[SearchInfo], None]]:
    """Show on a terminal how far the search is: a line on standard error that disappears at the end."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda info: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(f"{what} ...", total=None)

        def show(info: SearchInfo) -> None:
            best = "" if info.loss is None else f", best loss {info.loss:.4f}, at most {info.gap:.4f} above the optimum"
            bar.update(task, description=f"{what}: {info.checked:,} of {info.nodes:,} combinations{best}")

        yield show


def _print_summary(result: AnonymizationResult, files: dict[str, Path]) -> None:
    from pydplib.cli.tables.words import percent, print_table

    before, after, proof = result.risk.before, result.risk.after, result.certificate
    rows = [
        ["Highest chance of being found", percent(before.prosecutor.maximum), percent(after.prosecutor.maximum)],
        ["Chance on average", percent(before.prosecutor.expected), percent(after.prosecutor.expected)],
        ["People who are unique", percent(before.unique), percent(after.unique)],
    ]
    print_table(["", "before", "after"], rows)
    if result.levels is not None:
        heights = {name: hierarchy.height for name, hierarchy in result.recipe.hierarchies.items()}
        levels = [
            [name, f"{level} of {heights[name]}", percent(result.loss.columns[name])]
            for name, level in result.levels.items()
        ]
        print_table(["column", "level", "loss"], levels)
    search = result.search
    click.echo(f"Loss (granularity): {percent(result.loss.granularity)}. {result.suppressed}.")
    if search.nodes > 1 and result.method == "optimal":
        end = "this is the optimum" if search.optimal else f"time is up: at most {search.gap:.4f} above the optimum"
        click.echo(f"{search.checked:,} of {search.nodes:,} combinations of levels checked: {end}.")
    click.echo(f"\n{proof}")
    for note in result.notes:
        click.echo(f"\nMind: {note}")
    if result.dropped:
        click.echo(f"\nLeft out: {', '.join(result.dropped)}")
    for name, path in files.items():
        click.echo(f"{name.capitalize() + ':':<8} {path}")
