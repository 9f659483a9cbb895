"""Rules about computed fields and checks: known function, fitting inputs, earlier, read-only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydplib.capture.checks import CHECKS
from pydplib.capture.functions import FUNCTIONS, Function, Parameter
from pydplib.capture.model import Check, Group, Question, Template
from pydplib.capture.problems import Problem, shorten
from pydplib.capture.structure import Index, Place
from pydplib.errors import did_you_mean


def lint_functions(template: Template) -> Iterator[Problem]:
    """Look at every computed field and every check."""
    index = template.index
    for place, question in index.questions():
        yield from _lint_read_only(question)
        if question.computed:
            yield from _lint_computed(index, place, question)
    yield from _lint_checks(index, template.checks, "", ())
    for place, group in index.groups():
        yield from _lint_checks(index, group.checks, group.id, place.inner_loops)


def _lint_read_only(question: Question) -> Iterator[Problem]:
    where = f"Item '{shorten(question.id)}'"
    if question.computed and not question.read_only:
        yield Problem("read-only", question.id, f"{where} is computed, so nobody may type it. Add read_only = true.")
    if question.computed and question.required:
        yield Problem(
            "read-only", question.id, f"{where} is computed, so nobody can supply it. Remove required from it."
        )
    if question.read_only and not question.computed:
        yield Problem(
            "read-only",
            question.id,
            f"{where} is read-only but not computed, so it can never be answered. Remove read_only.",
        )


def value_kind(question: Question) -> str:
    """Return the kind of a question's answers; a choice among whole numbers is an ``integer choice``."""
    whole = question.kind == "choice" and all(isinstance(option.value, int) for option in question.options)
    return "integer choice" if whole and question.options else question.kind


def _lint_computed(index: Index, place: Place, question: Question) -> Iterator[Problem]:
    computed = question.computed
    if computed is None:
        return
    where = f"Item '{shorten(question.id)}'"
    function = FUNCTIONS.get(computed.function)
    if function is None:
        hint = did_you_mean(computed.function, FUNCTIONS)
        yield Problem(
            "function",
            question.id,
            f"{where} is computed by the unknown function '{shorten(computed.function)}'.{hint}",
        )
        return
    if value_kind(question) not in function.result:
        kinds = " or ".join(sorted(function.result))
        yield Problem(
            "function", question.id, f"{where} is a {value_kind(question)}, but '{function.name}' gives a {kinds}."
        )
    for name in computed.inputs:
        if name in index.by_id and not index.is_earlier(name, place):
            yield Problem(
                "earlier",
                question.id,
                f"{where} is computed from '{shorten(name)}', which comes later. Move '{shorten(name)}' before it.",
            )
    findings = list(_lint_inputs(index, function.parameters, computed.inputs, question.id, where, place.loops))
    yield from findings
    if not findings and "decimal" not in value_kind(question) and _may_be_decimal(index, function, computed.inputs):
        yield Problem(
            "function", question.id, f"{where}: '{function.name}' of decimals is a decimal. Change the kind to decimal."
        )


def _may_be_decimal(index: Index, function: Function, inputs: Sequence[str]) -> bool:
    passes_on = function.name in ("sum", "minimum", "maximum", "difference", "product")
    return passes_on and any(index.by_id[name].item.kind == "decimal" for name in inputs)


def _lint_checks(index: Index, checks: tuple[Check, ...], group: str, loops: tuple[str, ...]) -> Iterator[Problem]:
    where = f"Group '{shorten(group)}'" if group else "The template"
    for check in checks:
        function = CHECKS.get(check.function)
        if function is None:
            hint = did_you_mean(check.function, CHECKS)
            yield Problem("check", group, f"{where} names the unknown check '{shorten(check.function)}'.{hint}")
            continue
        yield from _lint_inputs(index, function.parameters, check.inputs, group, where, loops)


def _lint_inputs(
    index: Index,
    parameters: tuple[Parameter, ...],
    inputs: tuple[str, ...],
    item: str,
    where: str,
    loops: tuple[str, ...],
) -> Iterator[Problem]:
    pooled = len(parameters) == 1 and parameters[0].many
    needed = sum(not parameter.optional for parameter in parameters)
    if not inputs or (not pooled and not needed <= len(inputs) <= len(parameters)):
        names = ", ".join(f"[{p.name}]" if p.optional else p.name for p in parameters)
        yield Problem("inputs", item, f"{where} gives {len(inputs)} inputs; the function reads: {names}.")
        return
    for position, name in enumerate(inputs):
        parameter = parameters[0] if pooled else parameters[position]
        place = index.by_id.get(name)
        if place is None:
            hint = did_you_mean(name, index.by_id)
            yield Problem("inputs", item, f"{where} reads '{shorten(name)}', which does not exist.{hint}")
            continue
        yield from _lint_input(place, parameter, item, where)
        repeated = index.is_repeated_for(name, loops)
        if repeated and not parameter.many and "group" not in parameter.kinds:
            yield Problem(
                "inputs",
                item,
                f"{where} reads '{shorten(name)}', which is answered once per '{place.loops[-1]}'. "
                "Use a function over all repetitions, such as maximum, sum or any_yes.",
            )


def _lint_input(place: Place, parameter: Parameter, item: str, where: str) -> Iterator[Problem]:
    target = place.item
    name = shorten(target.id)
    if isinstance(target, Group):
        if "group" not in parameter.kinds:
            yield Problem("inputs", item, f"{where} reads '{name}', which is a group. Name a question.")
        elif not target.repeats:
            yield Problem("inputs", item, f"{where} counts '{name}', which does not repeat. Name a repeating group.")
        return
    kind = value_kind(target)
    if kind not in parameter.kinds and not (kind == "integer choice" and "choice" in parameter.kinds):
        kinds = " or ".join(sorted(parameter.kinds))
        yield Problem(
            "inputs", item, f"{where} reads '{name}' as {parameter.name}: that is a {kind}, needed is a {kinds}."
        )
    elif parameter.values:
        strange = [str(option.value) for option in target.options if str(option.value) not in parameter.values]
        if strange:
            known = ", ".join(sorted(parameter.values)[:8])
            yield Problem(
                "inputs",
                item,
                f"{where} reads '{name}' as {parameter.name}, whose option '{shorten(strange[0])}' the function does "
                f"not know. It knows: {known}.",
            )
