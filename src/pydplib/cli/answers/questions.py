"""What ``pydplib release`` and ``pydplib price`` share: the options of a question, and the session they make."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from pydplib.cli.inputs import csv_options, input_file, said_options
from pydplib.errors import ParameterError, PolicyError, SchemaError

Function = TypeVar("Function", bound=Callable[..., Any])


def _roles(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from pydplib.policy import ROLES

    return [name for name in ROLES if name.startswith(incomplete)]


_OPTIONS = [
    click.argument("file"),
    click.option("--schema", "schema_file", required=True, help="The schema file (TOML): what is public."),
    click.option(
        "--question",
        "-q",
        required=True,
        multiple=True,
        help='In words: "mean age by pirads where age between 60 and 70". Several tables of counts, each with its own '
        "-q, are bought together for one --epsilon.",
    ),
    click.option("--epsilon", type=float, help="The privacy loss."),
    click.option("--margin", type=float, help="The accuracy wanted: the margin, in the answer's unit."),
    click.option(
        "--confidence",
        type=click.FloatRange(0.5, 0.9999),
        default=0.95,
        show_default=True,
        help="How often margins and intervals cover.",
    ),
    click.option("--noise-factor", type=click.Choice(["low", "medium", "high"]), help="The band of noise."),
    click.option(
        "--delta",
        type=float,
        help="Needed for 'by' free text, e.g. 1e-6: only values that many people have are shown. With several tables: "
        "Gaussian noise, where that has the smaller margins.",
    ),
    click.option("--recipient", required=True, help="Who gets the answer and pays for it."),
    click.option(
        "--role", default="third_party", show_default=True, shell_complete=_roles, help="The recipient's role."
    ),
    click.option("--budget", type=float, help="The recipient's epsilon in total; by default the role's."),
    click.option(
        "--buy-size",
        type=float,
        metavar="EPSILON",
        help="Buy the noisy number of rows, once, for this epsilon: prices by margin or noise factor need it.",
    ),
    click.option(
        "--buy-limit",
        type=float,
        metavar="EPSILON",
        help="Buy the noisy histogram of rows per person, once: answers then say what is beyond the limit.",
    ),
    click.option("--ledger", "ledger_file", required=True, help="The ledger (SQLite); the first release makes it."),
    click.option("--policy", "policy_file", help="The owner's policy (TOML); by default the built-in one."),
    click.option("--snapshot", default="current", show_default=True, help="The published state of the table."),
    click.option("--table", "--sheet", "table", help="The table of a database, or the sheet of a workbook."),
    csv_options,
    click.option("--memory-limit", help="DuckDB's memory limit, e.g. 4GB."),
]


class QuestionCommand(click.Command):
    """A command about a question: its help lists the statistics that can be asked."""

    @staticmethod
    def statistics() -> list[tuple[str, str]]:
        """Return an example of every statistic, and what comes of it."""
        from pydplib.release.statistics import offered_statistics

        return [(kind.example, kind.hint) for kind in offered_statistics().values()]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help and, after it, the statistics."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Statistics"):
            formatter.write_dl(self.statistics())


def asking(function: Function) -> Function:
    """Add the options of a question to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@contextmanager
def open_session(given: dict[str, Any], *, preview: bool = False) -> Iterator[tuple[Any, list[Any]]]:
    """Load the table, open the ledger and give (session, questions); close both at the end.

    Args:
        given: The command's options.
        preview: For prices: no ledger is made, no budget is opened, nothing is written.
    """
    from pydplib.budget import MemoryLedger, SqliteLedger
    from pydplib.engine import load
    from pydplib.guarantee import ApproxDP, PureDP
    from pydplib.release import Session
    from pydplib.release.facts import Facts
    from pydplib.release.grammar import parse_question

    check_payment(given)
    schema = named_schema(given["schema_file"])
    unknown = given["delta"] is not None
    questions = [parse_question(text, schema, unknown_keys=unknown) for text in given["question"]]
    for question in questions:
        Facts.of(question, schema)  # what does not fit the schema is refused before a ledger is made
    if len(questions) > 1:
        check_together(questions, schema, given)
    policy = read_policy(given["policy_file"])
    budget: PureDP | ApproxDP | None = None
    if given["budget"] is not None:
        # Unknown keys need a budget with a delta.
        budget = ApproxDP(given["budget"], policy.delta_for(schema.size)) if unknown else PureDP(given["budget"])
    new = preview and not Path(given["ledger_file"]).exists()
    said = said_options()
    with (
        load(
            input_file(given["file"]),
            schema,
            table=given["table"],
            memory_limit=given["memory_limit"],
            multiline=said.multiline,
            decimal=said.decimal,
        ) as table,
        nullcontext(MemoryLedger()) if new else SqliteLedger(given["ledger_file"]) as ledger,
    ):
        session = Session(
            table,
            recipient=given["recipient"],
            role=given["role"],
            budget=budget,
            ledger=ledger,
            policy=policy,
            snapshot=given["snapshot"],
            size_epsilon=given["buy_size"],
            limit_epsilon=given["buy_limit"],
            preview=preview,
        )
        if not preview:
            _buy(session, given)
        yield session, questions


def _buy(session: Any, given: dict[str, Any]) -> None:
    """Buy what prices and answers are to know, and say what it cost, on standard error."""
    for option, what in (("buy_size", "number of rows"), ("buy_limit", "histogram of rows per person")):
        if given[option] is None:
            continue
        bought = session.buy_size() if option == "buy_size" else session.buy_limit()
        if not any("nothing was charged" in remark for remark in bought.remarks):
            click.echo(f"The noisy {what} was bought, once, for {bought.cost}.", err=True)


def check_together(questions: list[Any], schema: Any, given: dict[str, Any]) -> None:
    """Raise unless several questions can be bought as one: tables of counts, for one epsilon."""
    from pydplib.release.joint.measured import Workload

    if given["epsilon"] is None:
        raise ParameterError(
            "Several questions are bought together for one --epsilon 0.5, not by --margin or --noise-factor. "
            "Nothing was spent."
        )
    Workload.of(questions, schema)


def price_options(given: dict[str, Any]) -> dict[str, Any]:
    """Return how the answer is to be paid: epsilon, margin or noise factor."""
    from pydplib.release.prices import Accuracy

    return Accuracy(**{spec.name: given[spec.name] for spec in fields(Accuracy)}).options()


def check_payment(given: dict[str, Any]) -> None:
    """Raise unless the command says what the answer may cost, by itself or by a role that was named."""
    ways = ("epsilon", "margin", "noise_factor")
    source = click.get_current_context().get_parameter_source("role")
    if all(given[name] is None for name in ways) and source is ParameterSource.DEFAULT:
        raise ParameterError(
            "Choose --epsilon 0.2, --margin 3 or --noise-factor high, or name the --role, "
            "whose noise factor is then used. Nothing was spent."
        )


def named_schema(schema_file: str) -> Any:
    """Return the schema, which must say whose budget is spent: its table's name, or its lineage."""
    from pydplib.schema import Schema

    schema = Schema.load(schema_file)
    if schema.lineage == "table":
        raise SchemaError(
            f"The schema '{schema_file}' has no name. The budget belongs to the name, not to the file: a copy of the "
            'table must not get a fresh one. Write name = "reports" as its first line.'
        )
    return schema


def read_policy(path: str | None) -> Any:
    """Return the policy of a TOML file, or the built-in one."""
    from pydplib.policy import Policy

    if path is None:
        return Policy()
    try:
        return Policy.from_dict(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError):
        raise ParameterError(f"The policy file '{path}' cannot be read.") from None
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"The policy file '{path}' is not valid TOML: {error}.") from None
