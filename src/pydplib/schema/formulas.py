"""Columns that are computed from others: a small, closed language, read once.

Of each row: ``psa / volume``, ``(systolic + 2 * diastolic) / 3``, ``year(day)``, ``month(day)``, and for the values of
a category ``cut(psa, 4, 10)`` (below 4, from 4 to below 10, from 10 on).

Of each person, from all of that person's rows: ``first(pirads by day)``, ``last(pirads by day)``, ``highest(pirads)``,
``change(psa by day)`` (the last value minus the first), ``days_between(day)`` (from the first day to the last),
``days_between(diagnosis, surgery)``, ``days_to_next(day)`` (from the first day to the next one) and
``count_of(pirads in 4, 5)``. A value that is missing is none: the first value is the first that is there, and of
several at the same place in the order it is the smallest.

One rule for all engines, in doubles of IEEE 754:

* operands are the values of their columns, clamped as declared; a missing operand makes the result missing;
* a divisor closer to 0 than 1e-100 counts as 0, and a division by 0 is missing;
* a result beyond 1e100 is missing, and one closer to 0 than 1e-100 is 0: so no engine overflows or underflows;
* the result is clamped to the bounds that its own column declares.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NoReturn, TypeAlias

from pydplib.errors import SchemaError, did_you_mean

TINY, HUGE = 1e-100, 1e100
"""Between these sizes, products and quotients of any two numbers are ordinary doubles."""

MOST_OPERATIONS = 12
"""The most signs of one formula."""

StepKind: TypeAlias = Literal["first", "last", "highest", "change", "days_between", "days_to_next", "count_of"]
"""What is told of each person."""

STEPS: dict[str, str] = {
    "first": "first(pirads by day)",
    "last": "last(pirads by day)",
    "highest": "highest(pirads)",
    "change": "change(psa by day)",
    "days_between": "days_between(day)",
    "days_to_next": "days_to_next(day)",
    "count_of": "count_of(pirads in 4, 5)",
}
"""Each step -> an example."""

FUNCTIONS: dict[str, str] = {"year": "year(day)", "month": "month(day)", "cut": "cut(psa, 4, 10)"}
"""What is computed of each row besides arithmetic -> an example."""


@dataclass(frozen=True, slots=True)
class Operand:
    """The value of a column in the same row."""

    column: str

    def __str__(self) -> str:
        return quoted(self.column)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:.0f}" if self.value.is_integer() and abs(self.value) < 1e15 else repr(self.value)


@dataclass(frozen=True, slots=True)
class Operation:
    """Two values and a sign; ``whole`` rounds the result down, as calendars need it."""

    sign: str
    left: Node
    right: Node
    whole: bool = False

    def __str__(self) -> str:
        return f"({self.left} {self.sign} {self.right})"


@dataclass(frozen=True, slots=True)
class Calendar:
    """The year or the month of a day."""

    part: Literal["year", "month"]
    column: str

    def __str__(self) -> str:
        return f"{self.part}({quoted(self.column)})"

    @property
    def arithmetic(self) -> Node:
        """The same in whole numbers: days since 1970-01-01 to the civil calendar, in years that begin in March."""
        shifted: Node = Operation("+", Operand(self.column), Constant(719468.0))
        era = _floor(shifted, 146097)
        day = Operation("-", shifted, Operation("*", era, Constant(146097.0)))  # of 400 years
        leap: Node = Operation("-", day, _floor(day, 1460))
        leap = Operation("-", Operation("+", leap, _floor(day, 36524)), _floor(day, 146096))
        year = _floor(leap, 365)
        past = Operation("-", Operation("+", Operation("*", year, Constant(365.0)), _floor(year, 4)), _floor(year, 100))
        month = _floor(Operation("+", Operation("*", Operation("-", day, past), Constant(5.0)), Constant(2.0)), 153)
        later = _floor(Operation("+", month, Constant(2.0)), 12)  # January and February belong to the next year
        if self.part == "month":
            return Operation("-", Operation("+", month, Constant(3.0)), Operation("*", later, Constant(12.0)))
        return Operation("+", Operation("+", year, Operation("*", era, Constant(400.0))), later)


def _floor(of: Node, divisor: int) -> Operation:
    return Operation("/", of, Constant(float(divisor)), whole=True)


@dataclass(frozen=True, slots=True)
class Cut:
    """The place of a value among ascending edges: 0 below the first, 1 from the first on, and so on."""

    of: Node
    edges: tuple[float, ...]

    def __str__(self) -> str:
        return f"cut({_bare(self.of)}, {', '.join(str(Constant(edge)) for edge in self.edges)})"


Node: TypeAlias = Operand | Constant | Operation | Calendar
"""A part of a formula that is a number."""


@dataclass(frozen=True, slots=True)
class FormulaStep:
    """One value of each person, from all of that person's rows.

    Attributes:
        kind: What is told.
        columns: The columns that it looks at; none for the number of rows.
        order: What orders a person's rows.
        op: Of a count: the condition on the column.
        values: Of a count: what the condition compares with, as it is written.
    """

    kind: StepKind
    columns: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    _: KW_ONLY
    op: str = ""
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        inside = ", ".join(map(quoted, self.columns))
        if self.order:
            inside += f" by {', '.join(map(quoted, self.order))}"
        if self.values:
            inside += f" {_SIGN_OF[self.op]} {', '.join(map(quoted, self.values))}"
        return f"{self.kind}({inside})"


_SIGNS = {">=": "at_least", "<=": "at_most", ">": "more_than", "<": "less_than", "=": "is_in", "!=": "not_in"}
_SIGN_OF = {"at_least": ">=", "at_most": "<=", "more_than": ">", "less_than": "<", "is_in": "in", "not_in": "not in"}


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, read.

    Examples:
        >>> formula = parse_formula("psa/volume")
        >>> str(formula), formula.columns, formula.is_step
        ('psa / volume', ('psa', 'volume'), False)
        >>> parse_formula("change( psa by day )").step.order
        ('day',)
    """

    root: Node | Cut | FormulaStep

    @property
    def is_step(self) -> bool:
        """Whether it tells one value of each person, and not of each row."""
        return isinstance(self.root, FormulaStep)

    @property
    def step(self) -> FormulaStep:
        """The step that it is."""
        if not isinstance(self.root, FormulaStep):
            raise SchemaError(f"'{self}' is computed of each row.")
        return self.root

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at, each once."""
        if isinstance(self.root, FormulaStep):
            return tuple(dict.fromkeys((*self.root.columns, *self.root.order)))
        return tuple(dict.fromkeys(node.column for node in walk(self.root) if isinstance(node, Operand | Calendar)))

    def __str__(self) -> str:
        return str(self.root) if isinstance(self.root, Cut | FormulaStep) else _bare(self.root)


def walk(node: Node | Cut) -> Iterator[Node | Cut]:
    """Go through a formula of rows, each part before what it is made of."""
    yield node
    if isinstance(node, Operation):
        yield from walk(node.left)
        yield from walk(node.right)
    elif isinstance(node, Cut):
        yield from walk(node.of)


def quoted(name: str) -> str:
    """Return a name or value as a formula writes it: in quotes where it is no plain word or number."""
    plain = re.fullmatch(r"[^\W\d]\w*|-?[0-9]+(\.[0-9]+)?|\d{4}-\d\d-\d\d", name)
    return name if plain and name not in ("by", "in", "not") else '"' + name.replace('"', '""') + '"'


def _bare(node: Node) -> str:
    text = str(node)
    return text[1:-1] if isinstance(node, Operation) else text


_TOKEN = re.compile(
    r"\s*(?:(\"(?:[^\"]|\"\")*\")|(\d{4}-\d\d-\d\d)|([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|([^\W\d]\w*)|(<=|>=|!=|[-+*/(),<>=]))"
)


@lru_cache(maxsize=1024)
def parse_formula(text: str) -> Formula:
    """Read a formula; an error points at the part that is wrong."""
    return _Parser(text).formula()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.place, self.signs = text, 0, 0
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                self._fail_at(
                    position + len(text[position:]) - len(text[position:].lstrip()), "this has no meaning here"
                )
            kind = ("name", "day", "number", "name", "sign")[(match.lastindex or 1) - 1]
            found = match.group(match.lastindex or 0)
            plain = found[1:-1].replace('""', '"') if found.startswith('"') else found
            self.tokens.append(("quoted" if found.startswith('"') else kind, plain, match.start(match.lastindex or 0)))
            position = match.end()

    def _fail_at(self, at: int, message: str) -> NoReturn:
        raise SchemaError(f"The formula cannot be read: {message}.\n  {self.text}\n  {' ' * at}^")

    def _fail(self, message: str) -> NoReturn:
        self._fail_at(self.tokens[self.place][2] if self.place < len(self.tokens) else len(self.text), message)

    def _peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place][1] if place < len(self.tokens) and self.tokens[place][0] != "quoted" else ""

    def _take(self, *signs: str) -> str:
        if self._peek() in signs and self._peek():
            self.place += 1
            return self.tokens[self.place - 1][1]
        return ""

    def _need(self, sign: str) -> None:
        if not self._take(sign):
            self._fail(f"'{sign}' is needed here")

    def formula(self) -> Formula:
        root: Node | Cut | FormulaStep
        called = self._peek() if self._peek(1) == "(" else ""
        if called in STEPS:
            root = self._step(called)
        elif called == "cut":
            root = self._cut()
        else:
            root = self._sum()
        if self.place < len(self.tokens):
            self._fail("the formula has ended before this")
        if not isinstance(root, FormulaStep) and not Formula(root).columns:
            self._fail("a formula names at least one column")
        return Formula(root)

    def _name(self, wanted: str = "a column") -> str:
        if self.place >= len(self.tokens) or self.tokens[self.place][0] not in ("name", "quoted"):
            self._fail(f"{wanted} is needed here")
        self.place += 1
        return self.tokens[self.place - 1][1]

    def _number(self) -> float:
        sign = -1.0 if self._take("-") else 1.0
        if self.place >= len(self.tokens) or self.tokens[self.place][0] != "number":
            self._fail("a number is needed here")
        self.place += 1
        found = float(self.tokens[self.place - 1][1])
        if found and not TINY <= found <= HUGE:
            self.place -= 1
            self._fail("this number is too large or too small to compute with")
        return sign * found

    def _signed(self, node: Node) -> Node:
        self.signs += 1
        if self.signs > MOST_OPERATIONS:
            self._fail(f"a formula has at most {MOST_OPERATIONS} signs")
        return node

    def _sum(self) -> Node:
        found = self._product()
        while sign := self._take("+", "-"):
            found = self._signed(Operation(sign, found, self._product()))
        return found

    def _product(self) -> Node:
        found = self._atom()
        while sign := self._take("*", "/"):
            other = self._atom()
            if sign == "/" and other == Constant(0.0):
                self._fail("a division by 0 is always missing")
            found = self._signed(Operation(sign, found, other))
        return found

    def _atom(self) -> Node:
        if self._take("("):
            found = self._sum()
            self._need(")")
            return found
        if self._peek() == "-" or (self.place < len(self.tokens) and self.tokens[self.place][0] == "number"):
            return Constant(self._number())
        called = self._peek() if self._peek(1) == "(" else ""
        if called in ("year", "month"):
            self.place += 2
            column = self._name()
            self._need(")")
            return Calendar("year" if called == "year" else "month", column)
        if called:
            known = {**FUNCTIONS, **STEPS}
            hint = f"'{called}' stands alone, e.g. {known[called]}" if called in known else (
                f"there is no function '{called}'.{did_you_mean(called, known)}".rstrip(".?")
            )  # fmt: skip
            self._fail(hint)
        return Operand(self._name("a column, a number or a bracket"))

    def _cut(self) -> Cut:
        self.place += 2
        of, edges = self._sum(), []
        while self._take(","):
            edges.append(self._number())
        self._need(")")
        if not edges or not all(a < b for a, b in pairwise(edges)):
            self._fail(f"cut needs ascending edges, e.g. {FUNCTIONS['cut']}")
        return Cut(of, tuple(edges))

    def _step(self, kind: str) -> FormulaStep:
        self.place += 2
        columns = [] if self._peek() == ")" else [self._name()]
        while kind == "days_between" and len(columns) == 1 and self._take(","):
            columns.append(self._name())
        if not columns and kind != "count_of":
            self._fail(f"'{kind}' needs its column, e.g. {STEPS[kind]}")
        order: list[str] = []
        if kind in ("first", "last", "change"):
            self._need("by")
            order.append(self._name())
            while self._take(","):
                order.append(self._name())
        op, values = self._test() if kind == "count_of" and columns else ("", ())
        self._need(")")
        return FormulaStep(kind, tuple(columns), tuple(order), op=op, values=values)  # type: ignore[arg-type]

    def _test(self) -> tuple[str, tuple[str, ...]]:
        if self._peek() == ")":
            return "is_present", ()
        if sign := self._take(*_SIGNS):
            return _SIGNS[sign], (self._value(),)
        negated = bool(self._take("not"))
        self._need("in")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        return ("not_in" if negated else "is_in"), tuple(values)

    def _value(self) -> str:
        minus = self._take("-")
        if self.place >= len(self.tokens) or self.tokens[self.place][0] == "sign":
            self._fail("a value is needed here")
        self.place += 1
        return minus + self.tokens[self.place - 1][1]


def compute(formula: Formula, values: dict[str, float | None]) -> float | None:
    """Compute a formula of one row, as every engine does; for checks and examples.

    Examples:
        >>> compute(parse_formula("psa / volume"), {"psa": 6.0, "volume": 40.0})
        0.15
        >>> compute(parse_formula("psa / volume"), {"psa": 6.0, "volume": 0.0}) is None
        True
        >>> compute(parse_formula("month(day)"), {"day": 59.0})  # 1970-03-01
        3.0
    """
    root = formula.root
    if isinstance(root, FormulaStep):
        raise SchemaError(f"'{formula}' is computed for each person, not for each row.")
    number = _compute(root.of if isinstance(root, Cut) else root, values)
    if number is None or not isinstance(root, Cut):
        return number
    return float(sum(edge <= number for edge in root.edges))


def _compute(node: Node, values: dict[str, float | None]) -> float | None:
    if isinstance(node, Constant):
        return node.value
    if isinstance(node, Operand):
        return _ordinary(values[node.column])
    if isinstance(node, Calendar):
        return _compute(node.arithmetic, values)
    left, right = _compute(node.left, values), _compute(node.right, values)
    if left is None or right is None or (node.sign == "/" and right == 0):
        return None
    found = _ordinary(
        {"+": left + right, "-": left - right, "*": left * right}.get(node.sign) if node.sign != "/" else left / right
    )
    return None if found is None else float(math.floor(found)) if node.whole else found


def _ordinary(number: float | None) -> float | None:
    if number is None or abs(number) > HUGE:
        return None
    return 0.0 if abs(number) < TINY else number
