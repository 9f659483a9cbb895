"""What the anonymization commands print: numbers as JSON, tables for a terminal, option words in errors."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib.anonymity import HierarchyGap
from pydplib.cli.inputs import InputFile
from pydplib.errors import HierarchyError

if TYPE_CHECKING:
    from pydplib.anonymity import AnonymizationResult, Attack, ColumnFinding, Risk, SensitiveMeasures

NAMES_HELP = "Columns, separated by commas; may be given several times."


def read_names(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Split the values of an option into names of columns; a name with a comma is put in quotes."""
    import csv

    return tuple(name.strip() for row in csv.reader(values, skipinitialspace=True) for name in row if name.strip())


def role_options(command: Any) -> Any:
    """Add the options that give a role to columns which are neither quasi-identifiers nor sensitive."""
    for flag, name, words in (
        ("--identifier", "identifiers", "Columns that name people: their values must not be in the release."),
        ("--insensitive", "insensitive", "Harmless columns: you vouch for them, and they are not attacked."),
    ):
        command = click.option(flag, name, multiple=True, callback=read_names, help=f"{words} {NAMES_HELP}")(command)
    about = "The configuration of pydplib anonymize: its roles are taken where no option names another."
    return click.option("--config", type=InputFile(), help=about)(command)


ROLES_HINT = "Give each a role: --quasi, --sensitive, --insensitive (harmless) or --identifier."


def print_columns(columns: Sequence[ColumnFinding]) -> None:
    """Print what columns give away that nobody gave a role, and how to give them one."""
    told = [found for found in columns if found.kind != "no role"]
    quiet = [found.column for found in columns if found.kind == "no role"]
    if columns:
        click.echo("\nColumns without a role:")
    for found in told:
        click.echo(f"  {found.sentence}")
    if quiet:
        click.echo(f"  Nothing stands out in {', '.join(quiet)}; not attacked.")
    if columns:
        click.echo(f"  {ROLES_HINT}")


def read_pairs(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Split the values of an option into column -> what is said about it."""
    out = {}
    for text in values:
        column, equals, rest = text.partition("=")
        if not equals or not column.strip() or not rest.strip():
            raise click.BadParameter(f"'{text}' is not COLUMN=..., such as {param.metavar}.")
        out[column.strip()] = rest.strip()
    return out


def percent(share: float) -> str:
    """Return a share as people read it."""
    return "< 0.001 %" if 0 < share < 1e-5 else f"{100 * share:.3g} %"


def plain(value: Any) -> Any:
    """Return a value that JSON knows: infinite numbers become the word.

    Examples:
        >>> plain({"delta": math.inf, "k": 5})
        {'delta': 'infinite', 'k': 5}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "infinite" if value > 0 else "-infinite" if value < 0 else None
    return value.item() if hasattr(value, "item") else value


def print_json(values: Mapping[str, Any]) -> None:
    """Write JSON to standard output."""
    click.echo(json.dumps(plain(values), indent=2, ensure_ascii=False))


def risk_values(risk: Risk) -> dict[str, Any]:
    """Return a risk as plain values; no cell is among them."""

    def attack(found: Attack) -> dict[str, Any]:
        at_risk = {f"{tau:g}": share for tau, share in found.at_risk.items()}
        return {"maximum": found.maximum, "expected": found.expected, "at_risk": at_risk}

    return {
        "records": risk.rows,
        "classes": risk.classes,
        "unique": risk.unique,
        "prosecutor": attack(risk.prosecutor),
        "journalist": attack(risk.journalist) if risk.has_population else None,
        "marketer": risk.marketer if risk.has_population else None,
        "population_estimated": risk.estimated,
        "population_unique": dict(risk.population_unique),
        "class_sizes": dict(risk.class_sizes),
        "columns": [
            {
                "column": item.column,
                "unique_alone": item.alone,
                "unique_without": item.without,
                "gained": item.gained,
                "rare_values": item.rare,
            }
            for item in risk.contributions
        ],
        "without_role": [found.to_dict() for found in risk.columns],
    }


def measure_values(found: SensitiveMeasures) -> dict[str, Any]:
    """Return the measures of a sensitive column as plain values."""
    return {
        "alpha": found.alpha,
        "l_distinct": found.l_distinct,
        "l_entropy": found.l_entropy,
        "recursive_c": list(found.recursive_c),
        "t_equal": found.t_equal,
        "t_ordered": found.t_ordered,
        "t_hierarchical": found.t_hierarchical,
        "beta": found.beta,
        "beta_enhanced": found.beta_enhanced,
        "delta": found.delta,
    }


def result_values(result: AnonymizationResult) -> dict[str, Any]:
    """Return an anonymization as plain values, without its rows."""
    proof, loss, search = result.certificate, result.loss, result.search
    return {
        "certificate": {
            "holds": proof.holds,
            "sentence": proof.guarantee.sentence,
            "rows": proof.rows,
            "people": proof.people,
            "classes": proof.classes,
            "k": proof.k,
            "counted": proof.counted,
            "models": [
                {
                    "model": statement.model,
                    "sensitive": statement.sensitive,
                    "holds": statement.holds,
                    "measured": statement.value,
                    "measured_against_original": statement.value_input,
                }
                for statement in proof.statements
            ],
        },
        "suppressed": {
            "rows": result.suppressed.rows,
            "share": result.suppressed.share,
            "limit": result.suppressed.limit,
        },
        "levels": None if result.levels is None else dict(result.levels),
        "loss": {
            "granularity": loss.granularity,
            "precision": loss.precision,
            "entropy": loss.entropy,
            "discernibility": loss.discernibility,
            "class_size": loss.class_size,
            "columns": dict(loss.columns),
        },
        "risk": {"before": risk_values(result.risk.before), "after": risk_values(result.risk.after)},
        "search": {
            "method": result.method,
            "nodes": search.nodes,
            "checked": search.checked,
            "optimal": search.optimal,
            "gap": search.gap,
            "seconds": round(search.seconds, 3),
        },
        "dropped_columns": list(result.dropped),
        "notes": list(result.notes),
    }


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "", words: Sequence[str] = ()
) -> None:
    """Print a table that fits a terminal; all columns but the first, and those with words, are set right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", title_style="bold", pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place == 0 or head in words else "right", overflow="fold")
    for row in rows:
        # Text, not markup: a name with brackets is a name.
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)


@contextmanager
def hierarchy_gaps(file: Path) -> Iterator[None]:
    """Say what to do on the command line about values that a hierarchy does not cover."""
    try:
        yield
    except HierarchyGap as error:
        words = str(error).split(" Add them (", 1)[0]
        if "leaves" in words:
            step = f"This lists them: pydplib hierarchy check HIERARCHY {file.name} --column {error.column} --list"
        elif "outside" in words:
            step = 'Widen the bounds, or set outside = "clamp" in the configuration.'
        else:
            step = 'Choose another kind of hierarchy, or kind = "automatic".'
        raise HierarchyError(f"{words} {step}") from None
