"""The items of a template as frozen values, when a condition of an item holds, and what can be wrong with either."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from pydplib.errors import TemplateError, did_you_mean
from pydplib.schema import Label

if TYPE_CHECKING:
    pass


Kind: TypeAlias = Literal["choice", "integer", "decimal", "boolean", "date", "text"]
"""What kind of answer a question takes."""

Operator: TypeAlias = Literal["exists", "=", "!=", ">", "<", ">=", "<="]
"""How a condition compares an answer; the words of FHIR."""

Behaviour: TypeAlias = Literal["", "all", "any"]
"""Whether all conditions must hold or any one; empty where there is at most one."""

Value: TypeAlias = bool | int | float | str
"""An answer as a plain value; a day is the text ``YYYY-MM-DD``."""

KINDS: tuple[str, ...] = get_args(Kind)
OPERATORS: tuple[str, ...] = get_args(Operator)
LABELS: tuple[str, ...] = get_args(Label)


def _check_word(where: str, what: str, word: str, known: Collection[str]) -> None:
    if word not in known:
        raise TemplateError(f"{where}: unknown {what} '{word}'.{did_you_mean(word, [k for k in known if k])}")


@dataclass(frozen=True, slots=True)
class Code:
    """A code of a terminology, such as LOINC or RadLex.

    Examples:
        >>> Code("http://loinc.org", "2857-1", "Prostate specific Ag").code
        '2857-1'
    """

    system: str
    code: str
    display: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One permitted answer of a choice.

    Args:
        value: What is stored: a short text or a whole number.
        title: What people read; by default the value.
        help: The definition, shown on demand.
        sentence: What the report says if this is the answer; by default the question's sentence.
        system: The terminology the code belongs to.
        code: The code in that terminology, where it differs from the value.

    Examples:
        >>> Option("PZ", "peripheral zone").text
        'peripheral zone'
    """

    value: str | int
    title: str = ""
    _: KW_ONLY
    help: str = ""
    sentence: str = ""
    system: str = ""
    code: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, str | int):
            raise TemplateError("An option's value is a text or a whole number; use kind 'boolean' for yes and no.")
        if self.code == str(self.value):
            object.__setattr__(self, "code", "")
        if self.title == str(self.value):
            object.__setattr__(self, "title", "")

    @property
    def text(self) -> str:
        """What people read."""
        return self.title or str(self.value)


@dataclass(frozen=True, slots=True)
class Condition:
    """One line of ``enableWhen``: shown when ``question`` ``operator`` ``answer``.

    Examples:
        >>> Condition("zone", "=", "CZ").operator
        '='
    """

    question: str
    operator: Operator
    answer: Value

    def __post_init__(self) -> None:
        _check_word(f"Condition on '{self.question}'", "operator", self.operator, OPERATORS)
        if not isinstance(self.answer, bool | int | float | str):
            raise TemplateError(f"Condition on '{self.question}': the answer is a text, a number or true/false.")


@dataclass(frozen=True, slots=True)
class Computed:
    """How a field is worked out: a function of the closed set, and the items it reads.

    Examples:
        >>> Computed("ratio", ("psa", "volume")).inputs
        ('psa', 'volume')
    """

    function: str
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))


@dataclass(frozen=True, slots=True)
class Check:
    """A warning that is looked for: a check of the closed set, and the items it reads.

    Examples:
        >>> Check("pirads_sector", ("sector", "zone")).function
        'pirads_sector'
    """

    function: str
    inputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", tuple(self.inputs))


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with one answer.

    Args:
        id: Unique in the template; also the column's name in tables.
        kind: ``choice``, ``integer``, ``decimal``, ``boolean``, ``date`` or ``text``.
        title: What people read.
        options: The permitted answers of a choice.
        ordered: Whether the order of the options carries meaning.
        unit: Unit of a number, as a UCUM code where there is one.
        low: Smallest possible answer (number or day): public, and the bound for privacy.
        high: Largest possible answer.
        decimals: Most digits after the point.
        step: The public grid on which medians of a decimal are released; by default what ``decimals`` say.
        max_length: Most characters of a text.
        multiline: Whether a text may have several lines.
        required: Whether a report without it can be signed.
        read_only: Whether people may not type here; computed fields are read-only.
        computed: How the answer is worked out from earlier ones.
        enable_when: Conditions on earlier answers under which the question is shown.
        enable_behaviour: ``all`` or ``any`` where there is more than one condition.
        help: Explanation, shown on demand.
        sentence: What the report says; see ``report_text``. By default "title: value unit."
        sentence_no: What the report says if a yes/no question is answered with no.
        reported: Whether the report text mentions the answer at all.
        label: How much the answer gives away; by default ``identifier`` for texts, else ``sensitive``.
        codes: What the question is called in terminologies.

    Examples:
        >>> Question(id="psa", kind="decimal", title="PSA", unit="ng/mL", low=0, high=5000).label
        'sensitive'
    """

    id: str
    kind: Kind
    title: str = ""
    options: tuple[Option, ...] = ()
    ordered: bool = False
    unit: str = ""
    low: float | str | None = None
    high: float | str | None = None
    decimals: int | None = None
    step: float | None = None
    max_length: int | None = None
    multiline: bool = False
    required: bool = False
    read_only: bool = False
    computed: Computed | None = None
    enable_when: tuple[Condition, ...] = ()
    enable_behaviour: Behaviour = ""
    help: str = ""
    sentence: str = ""
    sentence_no: str = ""
    reported: bool = True
    label: Label = ""  # type: ignore[assignment]  # empty: by kind, filled in below
    codes: tuple[Code, ...] = ()

    def __post_init__(self) -> None:
        where = f"Item '{self.id}'"
        _check_word(where, "kind", self.kind, KINDS)
        if not str(self.label):
            object.__setattr__(self, "label", "identifier" if self.kind == "text" else "sensitive")
        _check_word(where, "label", self.label, LABELS)
        _check_word(where, "enable_behaviour", self.enable_behaviour, get_args(Behaviour))
        for name in ("options", "enable_when", "codes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def text(self) -> str:
        """What people read."""
        return self.title or self.id

    @cached_property
    def option_by_word(self) -> Mapping[str, Option]:
        """The options by their values as texts."""
        return {str(option.value): option for option in reversed(self.options)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Questions that belong together; a repeating group is filled in once per lesion, vessel, drug, ...

    Args:
        id: Unique in the template; a repeating group's answers are a list under this name.
        title: What people read.
        items: Questions and groups, in the order in which they are asked.
        repeats: Whether the group is filled in several times.
        min_repeats: Fewest repetitions of a complete report.
        max_repeats: Most repetitions: public, and needed for privacy.
        enable_when: Conditions on earlier answers under which the group is shown.
        enable_behaviour: ``all`` or ``any`` where there is more than one condition.
        help: Explanation, shown on demand.
        sentence: How the report starts on the group, e.g. ``"Lesion {number}:"``.
        checks: Warnings that are looked for in each repetition.
        codes: What the group is called in terminologies.

    Examples:
        >>> size = Question(id="size", kind="integer", title="Size", unit="mm", low=1, high=150)
        >>> Group(id="lesion", title="Lesion", items=(size,), repeats=True, max_repeats=4).kind
        'group'
    """

    kind: ClassVar[str] = "group"
    id: str
    title: str = ""
    items: tuple[Item, ...] = ()
    repeats: bool = False
    min_repeats: int = 0
    max_repeats: int | None = None
    enable_when: tuple[Condition, ...] = ()
    enable_behaviour: Behaviour = ""
    help: str = ""
    sentence: str = ""
    checks: tuple[Check, ...] = ()
    codes: tuple[Code, ...] = ()

    def __post_init__(self) -> None:
        _check_word(f"Group '{self.id}'", "enable_behaviour", self.enable_behaviour, get_args(Behaviour))
        for name in ("items", "enable_when", "checks", "codes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def text(self) -> str:
        """What people read."""
        return self.title or self.id


Item: TypeAlias = Question | Group
"""A node of the tree."""


OPERATORS_OF_KIND: Mapping[str, tuple[Operator, ...]] = MappingProxyType(
    {
        "choice": ("exists", "=", "!="),
        "boolean": ("exists", "=", "!="),
        "text": ("exists", "=", "!="),
        "integer": ("exists", "=", "!=", ">", "<", ">=", "<="),
        "decimal": ("exists", "=", "!=", ">", "<", ">=", "<="),
        "date": ("exists", "=", "!=", ">", "<", ">=", "<="),
    }
)
"""Which operators fit which kind of question."""

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"=": operator.eq, ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
)


def holds(condition: Condition, answers: Sequence[Value]) -> bool:
    """Whether a condition holds for the answers of its question (none, one, or one per repetition).

    ``exists`` asks whether there is an answer; ``!=`` holds if no answer is equal, so also if there
    is none; every other operator holds if at least one answer fits.

    Examples:
        >>> holds(Condition("size", ">=", 15), [12, 16]), holds(Condition("zone", "!=", "PZ"), [])
        (True, True)
    """
    if condition.operator == "exists":
        return bool(answers) == bool(condition.answer)
    if condition.operator == "!=":
        return condition.answer not in answers
    compare = _COMPARE[condition.operator]
    if len(answers) == 1:
        return compare(answers[0], condition.answer)
    return any(compare(answer, condition.answer) for answer in answers)


def join(behaviour: Behaviour, results: Sequence[bool]) -> bool:
    """Join the conditions of an item: all by default, any where it says so; none at all means shown.

    Examples:
        >>> join("any", [False, True]), join("all", [False, True]), join("", [])
        (True, False, True)
    """
    if not results:
        return True
    return any(results) if behaviour == "any" else all(results)


Path: TypeAlias = tuple[str | int, ...]
"""Where an answer stands: ids, and numbers of repetitions counted from 0: ``("lesion", 1, "size")``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        code: Which rule, in one word that does not change between versions.
        item: The id of the item it is about; empty for the whole.
        message: What is wrong and how to fix it, in plain words; never the answer itself.
        path: Where the answer stands; empty for problems of a template.
        severity: ``error`` stops signing or import, ``warning`` asks for a second look.

    Examples:
        >>> Problem("required", "size", "Size is missing.", ("lesion", 1, "size")).place
        'lesion 2, size'
    """

    code: str
    item: str
    message: str
    path: Path = ()
    _: KW_ONLY
    severity: Literal["error", "warning"] = "error"

    @property
    def place(self) -> str:
        """The path in words, repetitions counted from 1 as people do."""
        words: list[str] = []
        for step in self.path:
            if isinstance(step, int) and words:
                words[-1] += f" {step + 1}"
            else:
                words.append(str(step))
        return ", ".join(words)


def errors_of(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems that stop signing or import."""
    return tuple(problem for problem in problems if problem.severity == "error")


def shorten(text: object, most: int = 60) -> str:
    """Make a foreign name fit for a message: one line, printable, not long."""
    clean = "".join(c if c.isprintable() else "?" for c in str(text))
    return clean if len(clean) <= most else clean[: most - 1] + "…"
