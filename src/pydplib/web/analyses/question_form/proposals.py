"""What would help: other questions that are worth more, each as an address that opens the form with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import QueryDict

from pydplib.engine import Bins
from pydplib.errors import PydplibError
from pydplib.release import Question
from pydplib.release.session import Session
from pydplib.web.analyses.question_form.entries import person_defaults
from pydplib.web.analyses.question_form.form import SLIDER, QuestionForm
from pydplib.web.analyses.question_form.precision import Ladder, Step, ladder_of
from pydplib.web.analyses.question_form.questions import edges_text

_MOST = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """One way to a better answer.

    Attributes:
        words: What is changed.
        step: What to expect of it.
        fields: The form's fields, as an address has them.
    """

    words: str
    step: Step
    fields: str


def proposals_for(form: QuestionForm, session: Session, ladder: Ladder) -> list[Proposal]:
    """Return what would make an answer useful: this price, fewer groups, wider bins, one record of each person.

    Args:
        form: The form, filled in and valid.
        session: Whose terms and budget hold; no data are read.
        ladder: The steps of the question as it stands.
    """
    found = []
    best = ladder.best
    if best is not None and best.place != ladder.chosen:
        data = form.data.copy()
        data["accuracy"], data["precision"] = SLIDER, str(best.place)
        data.pop("proposed", None)
        found.append(Proposal(f"The same question for {best.points} points", best, data.urlencode()))
    for words, data in _others(form):
        step = _expected(form, session, data)
        if step is not None and _is_better(step, ladder.step):
            data["accuracy"], data["precision"] = SLIDER, str(step.place)
            data.pop("proposed", None)
            found.append(Proposal(words, step, data.urlencode()))
    return found[:_MOST]


def _is_better(step: Step, now: Step) -> bool:
    order = ("useful", "rough", "unknown", "useless")
    if step.light == "unknown":
        return False
    return order.index(step.light) < order.index(now.light)


def _expected(form: QuestionForm, session: Session, data: QueryDict) -> Step | None:
    """Return the best step of another question; none where it cannot be asked."""
    other = QuestionForm(data, offer=form.offer)
    if not other.is_valid() or other.question is None:
        return None
    try:
        ladder = ladder_of(session, other.question)
    except PydplibError:
        return None
    return ladder.best or ladder.step


def _others(form: QuestionForm) -> Iterator[tuple[str, QueryDict]]:
    """Yield other questions near the one that is asked, in words and as the form's fields."""
    data: QueryDict = form.data
    question: Question | None = form.question
    if question is None:
        return
    if data.get("by2"):
        yield _without(form, "by2")
    if not data.get("rule") and "rule" in form.fields:
        usual = person_defaults(form.offer)
        if usual:
            one = data.copy()
            one.update(usual)
            yield "Only the first record of each person, which makes every person count once", one
    wider = data.copy()
    for name, keys in _bins_of(form):
        edges = keys.edges
        if len(edges) > 3:
            fewer = [*edges[:-1:2], edges[-1]]
            wider[f"bins_{name}"] = edges_text(fewer)
    if wider != data:
        yield "Bins twice as wide", wider
        both = wider.copy()
        both.update({name: value for name, value in person_defaults(form.offer).items() if not data.get("rule")})
        if both != wider:
            yield "Bins twice as wide, and the first record of each person", both
    if data.get("by1") and not form.shape.needs_group and not data.get("by2"):
        yield _without(form, "by1")


def _without(form: QuestionForm, name: str) -> tuple[str, QueryDict]:
    data = form.data.copy()
    title = form.titles.get(data.pop(name)[-1], "")
    return f"Without the groups of {title}", data


def _bins_of(form: QuestionForm) -> list[tuple[str, Bins]]:
    found = []
    for bound in form.bin_fields:
        name = bound.name.removeprefix("bins_")
        made = form.bins.get(name)
        if made is not None:
            found.append((name, made))
    return found
