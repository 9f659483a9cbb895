"""Questions as JSON, a closed and strict schema: exactly what ``Question.to_dict`` writes, within sizes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias, Union, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, create_model
from pydantic_core import core_schema

from pydplib.errors import PolicyError, QuestionError, did_you_mean
from pydplib.release import Question
from pydplib.release.joint.purchases import Together
from pydplib.release.statistics import offered_statistics
from pydplib.release.statistics.question import OfColumn
from pydplib.schema import Schema
from pydplib.web.analyses.question_form.offers import Offer, decision_on
from pydplib.web.projects.models import Member, Project

_BIG = 2**53

Name: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]*$")]
Word: TypeAlias = Annotated[str, StringConstraints(max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")]
Whole: TypeAlias = Annotated[int, Field(ge=-_BIG, le=_BIG)]
Real: TypeAlias = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Value: TypeAlias = bool | Whole | Real | Word
Edge: TypeAlias = Whole | Real | Word  # a number, or a text that a column kind reads in order, such as a day
Edges: TypeAlias = Annotated[list[Edge], Field(min_length=2, max_length=201)]


class Strict(BaseModel):
    """Nothing but what is declared, and nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class GroupIn(Strict):
    """Groups of the answer: a column, with public keys or bins where they are not the declared ones."""

    column: Name
    keys: Annotated[list[Value], Field(min_length=1, max_length=200)] | None = None
    edges: Edges | None = None


class VariableIn(GroupIn):
    """A variable of Table 1: a column, with a number of even bins where they are not the declared ones."""

    bins: Annotated[int, Field(ge=1, le=200)] | None = None


class ConditionIn(Strict):
    """One condition on the rows; all must hold."""

    column: Name
    op: Literal[
        "is_in", "not_in", "between", "at_least", "at_most", "more_than", "less_than", "is_missing", "is_present"
    ]
    values: Annotated[list[Value], Field(max_length=200)] = Field(default_factory=list)


class AnyOfIn(Strict):
    """Several conditions on the rows, at least one of which must hold."""

    any_of: Annotated[list[ConditionIn], Field(min_length=2, max_length=10)]


Conditions: TypeAlias = Annotated[list[ConditionIn | AnyOfIn], Field(max_length=10)]


class OneRowIn(Strict):
    """Which one row of each person counts: the first or last by these columns, or the one with the highest values."""

    rule: Literal["first", "last", "highest"]
    order: Annotated[list[Name], Field(min_length=1, max_length=3)]
    person: Name | None = None


class _QuestionIn(Strict):
    by: Annotated[list[GroupIn], Field(max_length=3)] = Field(default_factory=list)
    where: Conditions = Field(default_factory=list)
    per_person: OneRowIn | None = None
    after: Conditions = Field(default_factory=list)


_TYPES: dict[str, object] = {
    "number": Whole | Real,
    "whole": Annotated[int, Field(ge=1, le=10_000)],
    "shares": Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=20)],
    "edges": Edges,
    "columns": Annotated[list[VariableIn], Field(min_length=1, max_length=40)],
    "key": Value,
}


@cache
def model_of(kind: Any) -> type[BaseModel]:
    """Return the JSON form of a statistic: groups, conditions, its column and its own parts.

    Examples:
        >>> from pydplib.release import Mean
        >>> model_of(Mean).model_validate({"ask": "mean", "of": "age"}).of
        'age'
    """
    least, most = kind.api_groups
    groups = Annotated[list[GroupIn], Field(min_length=least, max_length=most)]
    parts: dict[str, Any] = {"ask": (Literal[kind.ask], ...)}
    parts["by"] = (groups, ...) if least else (groups, Field(default_factory=list))
    if issubclass(kind, OfColumn):
        parts["of"] = (Name, ...)
    for part in kind.parts:
        found: Any = Literal[tuple(part.choices)] if part.kind == "choice" else _TYPES[part.kind]
        parts[part.name] = (found | None, None) if part.default is None else (found, part.default)
    words = (kind.__doc__ or "").strip().splitlines()[0]
    return create_model(f"{kind.__name__}In", __base__=_QuestionIn, __doc__=words, **parts)


@cache
def _adapter(kinds: tuple[type[Question], ...]) -> TypeAdapter[Any]:
    models = [model_of(cast(Any, kind)) for kind in kinds]  # classes are hashable; their instances' hash says else
    union: Any = Union.__getitem__(tuple(models))
    return TypeAdapter(Annotated[union, Field(discriminator="ask")])


class _OneOfStatistics:
    """Any statistic of the registry, as it is when a question comes or the document is written."""

    @property
    def _known(self) -> TypeAdapter[object]:
        return _adapter(tuple(offered_statistics().values()))

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> object:
        return core_schema.no_info_plain_validator_function(lambda sent: self._known.validate_python(sent))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return handler(self._known.core_schema)


QuestionIn: TypeAlias = Annotated[Any, _OneOfStatistics()]


class AskIn(Strict):
    """A question, and how accurate the answer should be: at most one of the three; none for the role's noise factor."""

    question: QuestionIn
    epsilon: Annotated[float, Field(gt=0, le=100)] | None = None
    noise_factor: Literal["low", "medium", "high"] | None = None
    margin: Annotated[float, Field(gt=0, le=1e12)] | None = None
    confidence: Annotated[float, Field(ge=0.5, le=0.9999)] = 0.95
    table: Annotated[str, Field(max_length=80, description="A table next to the reports, e.g. lesion.")] = ""


class PayIn(AskIn):
    """The same, and the most epsilon to spend for it in total: ``nano_epsilon_in_all`` of the price, in epsilon.

    If it would cost more, it is refused and nothing is spent. Without it, it is paid whatever it costs.
    """

    at_most: Annotated[float, Field(ge=0, le=10_000)] | None = None


class TogetherIn(Strict):
    """Questions that are bought as one release, and what that may cost: epsilon for all, or each for one alone.

    With `each`, one number or one for each question, all together cost the least at which no margin is larger than
    alone.
    """

    questions: Annotated[list[QuestionIn], Field(min_length=1, max_length=24)]
    epsilon: Annotated[float, Field(gt=0, le=100)] | None = None
    each: Annotated[list[Annotated[float, Field(gt=0, le=100)]], Field(min_length=1, max_length=24)] | None = None
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    confidence: Annotated[float, Field(ge=0.5, le=0.9999)] = 0.95

    @property
    def said(self) -> Together:
        """What it may cost, checked."""
        each = self.each[0] if self.each is not None and len(self.each) == 1 else self.each
        return Together(self.epsilon, each, self.delta, self.confidence)


class PayTogetherIn(TogetherIn):
    """The same, and the most epsilon that may be spent for all of them."""

    at_most: Annotated[float, Field(ge=0, le=10_000)] | None = None


def read_question(sent: Any) -> Question:
    """Return the question that was sent.

    Raises:
        QuestionError: If its parts do not fit together.
    """
    plain = sent.model_dump(exclude_none=True)
    names = [group["column"] for group in plain["by"]]
    if len(set(names)) != len(names):
        raise QuestionError("Each column can be a group once.")
    if any("keys" in group and "edges" in group for group in plain["by"]):
        raise QuestionError("A group has keys or edges, not both.")
    return Question.from_dict(plain)


def check_names(question: Question, schema: Schema, opened: Iterable[str]) -> None:
    """Raise ``QuestionError`` for a column that is not there; of the others only those that are open are suggested."""
    for name in sorted(question.fields | question.filters):
        if name not in schema.columns:
            shown = f"'{name}'" if name.isidentifier() and len(name) <= 40 else "of this name"
            raise QuestionError(f"There is no field {shown}.{did_you_mean(name, opened)}")


def check_opened(question: Question, offer: Offer, project: Project, place: Member) -> None:
    """Raise ``PolicyError`` for a field that is not opened: before an error could tell what values it has.

    Free texts, among them the person column, are left to the questions' own rules: those have no values to tell.
    """
    columns = offer.schema.columns
    fields = {name for name in question.fields if columns[name].can_be_asked}
    filters = {name for name in question.filters if columns[name].can_be_asked}
    if fields <= offer.fields.keys() and filters <= offer.filters.keys():
        return
    decision = decision_on(project, place, offer.schema, fields=fields, filters=filters)
    raise PolicyError(f"{decision.reason} Ask the owner of the data to change the policy, or ask for less.")
