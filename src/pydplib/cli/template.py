"""``pydplib template``: list, lint, show, export, import and compare report templates."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pydplib.errors import ParameterError, TemplateError

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from pydplib.capture.model import Item, Problem
    from pydplib.capture.template import Template

_FORMATS = ("fhir-r4", "fhir-r5", "json", "toml", "schema")
_SHORT_RUN = 5  # runs of up to five numbers are short enough to be listed
LEFT_OUT = 3
"""Exit code of an import that had to leave something out."""

DIFFERENT = 1
"""Exit code of a comparison that found differences, as diff does it."""


@click.group("template")
def command() -> None:
    """Work with report templates: decision trees from which forms, texts, FHIR and schemas are made.

    TEMPLATE is the name of a built-in template (`pydplib template list`), or a .toml or .json file.
    """


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def list_templates(as_json: bool) -> None:
    """List the built-in templates.

    \b
    Examples:
      pydplib template list
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.capture import builtin, builtin_names

    found = [builtin(name) for name in builtin_names()]
    if as_json:
        rows = [{"id": t.id, "version": t.version, "title": t.title, "description": t.description} for t in found]
        click.echo(json.dumps(rows, indent=2))
        return
    for template in found:
        click.echo(f"{template.id:<14} version {template.version}  {template.title}")


@command.command("lint", short_help="Look for mistakes in TEMPLATE, each with its fix.")
@click.argument("template")
@click.option("--strict", is_flag=True, help="Count warnings as errors.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_context
def lint_template(ctx: click.Context, template: str, strict: bool, as_json: bool) -> None:
    """Look for mistakes in TEMPLATE; each finding names the item and the fix.

    Ends with 0 if there are none, with 17 if there are errors (or warnings, with --strict).

    \b
    Examples:
      pydplib template lint thyroid.toml --strict
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.capture import lint

    found = named_template(template)
    problems = lint(found)
    errors = [problem for problem in problems if strict or problem.severity == "error"]
    if as_json:
        click.echo(json.dumps([_as_values(problem) for problem in problems], indent=2, ensure_ascii=False))
    else:
        for problem in problems:
            click.echo(f"{problem.severity}: {problem.message} [{problem.code}]")
        questions = sum(1 for _ in found.index.questions())
        click.echo(
            f"{found.id} version {found.version}: {_count(questions, 'question')}, "
            f"{_count(sum(p.severity == 'error' for p in problems), 'error')}, "
            f"{_count(sum(p.severity == 'warning' for p in problems), 'warning')}."
        )
    ctx.exit(TemplateError.exit_code if errors else 0)


@command.command("show", short_help="Show TEMPLATE as a tree of questions.")
@click.argument("template")
@click.option("--options/--no-options", "with_options", default=True, help="Show the options of choices.")
@click.option("--help-texts", is_flag=True, help="Show the help texts.")
def show_template(template: str, with_options: bool, help_texts: bool) -> None:
    """Show TEMPLATE as a tree: kinds, bounds, labels, and when each question is asked.

    \b
    Examples:
      pydplib template show pirads-2.1
      pydplib template show thyroid.toml --help-texts
    """  # noqa: D301 - click needs the backspace itself
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    found = named_template(template)
    tree = Tree(
        Text(f"{found.title}", style="bold").append(f"  {found.id}, version {found.version}", style="not bold dim")
    )
    for item in found.items:
        _grow(tree, item, with_options=with_options, help_texts=help_texts)
    Console(highlight=False).print(tree)


@command.command("export", short_help="Write TEMPLATE as FHIR, JSON, TOML or a schema.")
@click.argument("template")
@click.option("--format", "format_", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option("--group", help="With --format schema: the repeating group whose repetitions are the rows.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True),
    default="-",
    show_default=True,
    help="Where it goes; - is the screen.",
)
def export_template(template: str, format_: str, group: str | None, output: str) -> None:
    """Write TEMPLATE as FHIR Questionnaire (R4 or R5), JSON or TOML, or the public schema that it declares.

    \b
    Examples:
      pydplib template export pirads-2.1 --format fhir-r4 -o pirads.json
      pydplib template export pirads-paper --format schema -o schema.toml
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.capture import questionnaire_to_fhir, to_schema

    found = named_template(template)
    if group is not None and format_ != "schema":
        raise click.UsageError("--group is for --format schema.")
    if format_ == "schema":
        text = to_schema(found, group=group).to_toml()
    elif format_ in ("json", "toml"):
        text = found.to_json() if format_ == "json" else found.to_toml()
    else:
        resource = questionnaire_to_fhir(found, version="R4" if format_ == "fhir-r4" else "R5")
        text = json.dumps(resource, indent=2, ensure_ascii=False) + "\n"
    _write(text, output, template)


@command.command("import", short_help="Read a FHIR Questionnaire as a template.")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Where the template goes: a .toml or .json file.")
@click.option("--json", "as_json", is_flag=True, help="Write what was left out or adapted as JSON.")
@click.pass_context
def import_template(ctx: click.Context, file: str, output: str | None, as_json: bool) -> None:
    """Read a FHIR Questionnaire (R4 or R5, JSON) from FILE, or - for standard input, as a template.

    What is not supported is listed item by item, on standard error if the template goes to standard
    output. Ends with 0 if everything came over or was adapted, with 3 if something was left out, with
    17 if the result still has errors.

    \b
    Examples:
      pydplib template import questionnaire.json -o again.toml
    """  # noqa: D301 - click needs the backspace itself
    from pydplib.capture import questionnaire_from_fhir
    from pydplib.capture.template import read_json, read_text

    text = sys.stdin.read() if file == "-" else read_text(file, "The file")
    imported = questionnaire_from_fhir(read_json(text, "The questionnaire"))
    on_screen = output is None
    if output is not None:
        _check_output(output, file)
        imported.template.save(output)
    elif not as_json:
        click.echo(imported.template.to_toml(), nl=False)
    if as_json:
        values = {
            "template": imported.template.id,
            "notes": [
                {"item": note.item, "what": note.what, "outcome": note.outcome, "reason": note.reason}
                for note in imported.notes
            ],
            "problems": [_as_values(problem) for problem in imported.problems],
        }
        click.echo(json.dumps(values, indent=2, ensure_ascii=False))
    else:
        _say_import(imported, on_screen, output)
    ctx.exit(TemplateError.exit_code if not imported.ok else LEFT_OUT if imported.left_out else 0)


@command.command("diff", short_help="Show what changed from template OLD to template NEW.")
@click.argument("old")
@click.argument("new")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@click.pass_context
def diff_templates(ctx: click.Context, old: str, new: str, as_json: bool) -> None:
    """Show what changed from template OLD to template NEW; "breaking" touches reports already captured.

    Ends with 0 if they are the same, with 1 if they differ.

    \b
    Examples:
      pydplib template diff pirads-1.toml pirads-2.toml
    """  # noqa: D301 - click needs the backspace itself
    from dataclasses import asdict

    from pydplib.capture import compare

    changes = compare(named_template(old), named_template(new))
    if as_json:
        click.echo(json.dumps([asdict(change) for change in changes], indent=2, ensure_ascii=False))
    else:
        for change in changes:
            click.echo(str(change))
        if not changes:
            click.echo("No difference.")
    ctx.exit(DIFFERENT if changes else 0)


def named_template(source: str) -> Template:
    """Return a built-in template or one from a file."""
    from pydplib.capture import Template, builtin, builtin_names
    from pydplib.capture.template import from_dict, read_json, read_text

    if source in builtin_names():
        return builtin(source)
    path = Path(source)
    if path.suffix.lower() not in (".toml", ".json") and not path.exists():
        return builtin(source)  # raises, with a suggestion
    if path.suffix.lower() != ".json":
        return Template.load(path)
    values = read_json(read_text(path, "The template file"), "The template")
    if isinstance(values, dict) and "resourceType" in values:
        raise TemplateError(
            f"'{source}' is a FHIR resource. Make a template of it first: pydplib template import {source}"
        )
    return from_dict(values)


def _check_output(output: str, source: str) -> None:
    target = Path(output)
    if target.suffix.lower() not in (".toml", ".json"):
        raise ParameterError(f"A template is written as .toml or .json. Got --output {output}.")
    _check_place(target, source)


def _check_place(target: Path, source: str) -> None:
    if not target.parent.is_dir():
        raise ParameterError(f"The folder of the output does not exist: {target.parent}. Make it first.")
    if target.exists() and Path(source).exists() and target.samefile(source):
        raise ParameterError("The output would replace the original file. Choose another name for --output.")


def _write(text: str, output: str, source: str) -> None:
    if output == "-":
        click.echo(text, nl=False)
        return
    _check_place(Path(output), source)
    Path(output).write_text(text, encoding="utf-8")
    click.echo(f"Written: {output}", err=True)


def _say_import(imported: Any, on_screen: bool, output: str | None) -> None:
    for note in imported.notes:
        click.echo(str(note), err=on_screen)
    for problem in imported.problems:
        click.echo(f"{problem.severity}: {problem.message}", err=on_screen)
    adapted = len(imported.notes) - len(imported.left_out)
    questions = sum(1 for _ in imported.template.index.questions())
    summary = f"{_count(questions, 'question')} imported, {adapted} adapted, {len(imported.left_out)} left out."
    click.echo(f"{summary} Written: {output}" if output else summary, err=on_screen)


def _as_values(problem: Problem) -> dict[str, str]:
    return {"severity": problem.severity, "code": problem.code, "item": problem.item, "message": problem.message}


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _grow(tree: Tree, item: Item, *, with_options: bool, help_texts: bool) -> None:
    """Add an item and what is below it to the tree."""
    from rich.text import Text

    branch = tree.add(_describe(item))
    if help_texts and item.help:
        branch.add(Text(item.help, style="italic"))
    if item.kind == "group":
        for child in item.items:  # type: ignore[union-attr]
            _grow(branch, child, with_options=with_options, help_texts=help_texts)
        return
    if with_options:
        for option, last in runs_of(item.options):  # type: ignore[union-attr]
            if last is not None:
                branch.add(Text(f"{option.value} to {last}", style="cyan"))
                continue
            line = Text(str(option.value), style="cyan")
            if option.title:
                line.append(f"  {option.title}", style="default")
            leaf = branch.add(line)
            if help_texts and option.help:
                leaf.add(Text(option.help, style="italic"))


def runs_of(options: Sequence[Any]) -> Iterator[tuple[Any, int | None]]:
    """Yield options one by one, or the first of a run of bare whole numbers with its last value (2010 to 2040)."""
    place = 0
    while place < len(options):
        end = place
        if _is_bare_number(options[place]):
            while (
                end + 1 < len(options)
                and _is_bare_number(options[end + 1])
                and int(options[end + 1].value) == int(options[end].value) + 1
            ):
                end += 1
        if end - place < _SHORT_RUN:
            end = place
        yield options[place], int(options[end].value) if end > place else None
        place = end + 1


def _is_bare_number(option: Any) -> bool:
    """Return whether an option is a whole number that says all there is to say about it."""
    value = option.value
    whole = str(value).isdecimal() and str(int(value)) == str(value)  # "007" is a code, no number
    return whole and not option.help and option.title in (None, "", str(value))


def _describe(item: Item) -> Text:
    """Return one line about an item."""
    from rich.text import Text

    from pydplib.capture.model import Question

    line = Text(item.text, style="bold").append(f"  {item.id}", style="not bold dim")
    facts = _facts(item) if isinstance(item, Question) else []
    if not isinstance(item, Question) and item.repeats:
        facts.append(f"repeats {item.min_repeats} to {item.max_repeats or 'any number of'} times")
    if facts:
        line.append("  " + ", ".join(facts), style="not bold")
    if isinstance(item, Question):
        line.append(f"  {item.label}", style="not bold magenta")
    if item.enable_when:
        joined = f" {'or' if item.enable_behaviour == 'any' else 'and'} "
        words = joined.join(_condition(c) for c in item.enable_when)
        line.append(f"\nif {words}", style="not bold yellow")
    return line


def _facts(question: Any) -> list[str]:
    facts = [question.kind]
    unit = f" {question.unit}" if question.unit else ""
    if question.low is not None or question.high is not None:
        low, high = ("…" if bound is None else _word(bound) for bound in (question.low, question.high))
        facts.append(f"{low} to {high}{unit}")
    elif unit:
        facts.append(unit.strip())
    if question.required:
        facts.append("required")
    if question.computed:
        facts.append(f"= {question.computed.function}({', '.join(question.computed.inputs)})")
    return facts


def _condition(condition: Any) -> str:
    if condition.operator == "exists":
        return f"{condition.question} is {'' if condition.answer else 'not '}answered"
    return f"{condition.question} {condition.operator} {_word(condition.answer)}"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
