"""Questions as JSON, a closed and strict schema: exactly what ``Question.to_dict`` writes, within sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from pydplib.errors import PolicyError, QuestionError, did_you_mean
from pydplib.release import Question
from pydplib.schema import Schema
from pydplib.web.analyses.offering import Offer, decision_on

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


class Group(Strict):
    """Groups of the answer: a column, with public keys or bins where they are not the declared ones."""

    column: Name
    keys: Annotated[list[Value], Field(min_length=1, max_length=200)] | None = None
    edges: Edges | None = None


class ConditionIn(Strict):
    """One condition on the rows; all must hold."""

    column: Name
    op: Literal[
        "is_in", "not_in", "between", "at_least", "at_most", "more_than", "less_than", "is_missing", "is_present"
    ]
    values: Annotated[list[Value], Field(max_length=200)] = Field(default_factory=list)


class _Asked(Strict):
    by: Annotated[list[Group], Field(max_length=3)] = Field(default_factory=list)
    where: Annotated[list[ConditionIn], Field(max_length=10)] = Field(default_factory=list)


class CountIn(_Asked):
    """How many rows or persons."""

    ask: Literal["count"]
    of: Literal["rows", "persons"] = "rows"


class ColumnIn(_Asked):
    """One number about a column, or one per group."""

    ask: Literal["sum", "mean", "variance", "median"]
    of: Name


class QuantilesIn(_Asked):
    """Several quantiles of a column."""

    ask: Literal["quantiles"]
    of: Name
    quantiles: Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=20)]


class HistogramIn(_Asked):
    """How many rows lie in each bin of a column, or have each of its values."""

    ask: Literal["histogram"]
    of: Name
    edges: Edges | None = None


class CrosstabIn(_Asked):
    """How many rows have each combination of columns."""

    ask: Literal["crosstab"]
    by: Annotated[list[Group], Field(min_length=2, max_length=4)]


QuestionIn: TypeAlias = Annotated[
    CountIn | ColumnIn | QuantilesIn | HistogramIn | CrosstabIn, Field(discriminator="ask")
]


class AskIn(Strict):
    """A question, and how accurate the answer shall be: at most one of the three; none for the role's noise factor."""

    question: QuestionIn
    epsilon: Annotated[float, Field(gt=0, le=100)] | None = None
    noise_factor: Literal["low", "medium", "high"] | None = None
    margin: Annotated[float, Field(gt=0, le=1e12)] | None = None


class PayIn(AskIn):
    """The same, and the most epsilon that may be spent for it in all: ``nano_epsilon_in_all`` of the price, in epsilon.

    If it would cost more, it is refused and nothing is spent. Without it, it is paid whatever it costs.
    """

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


def check_opened(question: Question, offer: Offer, project: Any, place: Any) -> None:
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
