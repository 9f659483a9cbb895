"""What publishing a dashboard would cost: every figure, the sum, and what is left; from public facts alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from pydplib.budget.keys import canonical_json
from pydplib.budget.ledger import Quote
from pydplib.budget.units import NANO, ceil_units, show_nano, show_short
from pydplib.errors import PolicyError, PydplibError, QuestionError
from pydplib.plot.catalogue import CATALOGUE
from pydplib.plot.recipes.sound import SOUND_FIGURES
from pydplib.policy import ROLES
from pydplib.release import Price, Question, Session
from pydplib.release.facts import Facts
from pydplib.release.prices import Accuracy
from pydplib.schema import Schema
from pydplib.web.analyses.payments.sessions import public_facts
from pydplib.web.analyses.question_form.offers import titles_of
from pydplib.web.analyses.question_form.questions import title_of
from pydplib.web.dashboards.models import Dashboard, Figure, Kind, Shown
from pydplib.web.dashboards.plans import PAPER_FIELDS, paper_output
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.snapshots import load_snapshot, published_snapshot
from pydplib.web.ledger.database import DatabaseLedger
from pydplib.web.projects.allowances import limit_of, terms_of
from pydplib.web.projects.models import Member
from pydplib.web.projects.policy.flows import flow_for
from pydplib.web.projects.words import plain

OWNER_SIZE = Fraction(1, 10)
"""What the number of records costs for an audience without a cap per question; the page says it before it is paid."""


@dataclass(frozen=True, slots=True)
class Page:
    """The tables of counts of all figures, bought as one workload: one price, one ledger entry, numbers that agree.

    Args:
        questions: The questions, each once.
        each: What each of them would cost alone, in epsilon: no margin is larger than that.
        price: What all of them cost together.
        alone: What those that are not paid for would cost one by one, in nano-epsilon.
    """

    questions: tuple[Question, ...]
    each: tuple[float, ...]
    price: Price
    alone: int

    @property
    def cost(self) -> str:
        """The price for readers."""
        return show_short(self.price.total)

    @property
    def alone_cost(self) -> str:
        """What the same figures cost one by one, for readers."""
        return show_short(self.alone)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """One figure of the plan with its price.

    Args:
        figure: The figure.
        title: What it shows.
        label: What the paper calls it, or where it comes from.
        prices: What its questions cost, those of earlier figures left out; none where the number of records must be
            bought first.
        problem: Why it cannot be published; empty if it can.
        in_page: Whether its tables are bought together with those of other figures.
        page_is_paid: Whether these were bought already.
    """

    figure: Figure
    title: str
    label: str
    prices: tuple[Price, ...] | None = ()
    problem: str = ""
    in_page: bool = False
    page_is_paid: bool = False

    @property
    def nano(self) -> int:
        """What it adds to the price by itself, in nano-epsilon."""
        return sum(price.total for price in self.prices or ()) if not self.in_page else 0

    @property
    def margins(self) -> tuple[str, ...]:
        """The accuracy to expect, in words."""
        if self.problem or self.prices is None or self.figure.kind == Kind.PAPER:
            return ()
        if self.prices and (self.page_is_paid if self.in_page else all(price.free for price in self.prices)):
            return ("Already answered: the figure shows the margins of its answers.",)
        words = tuple(dict.fromkeys(price.margin_words for price in self.prices))
        return words or ("Drawn from the same answers as above.",)

    @property
    def cost(self) -> str:
        """The price for readers."""
        if self.figure.kind == Kind.PAPER:
            return "no guarantee, no price"
        if self.prices is None:
            return "after counting"
        if self.in_page:
            return "already paid" if self.page_is_paid else "in the price of the page"
        return f"ε {show_short(self.nano)}" if self.nano else "already paid"

    @property
    def chosen(self) -> str:
        """The epsilon that the owner chose for each question; empty for the noise factor."""
        return "" if self.figure.nano_epsilon is None else show_nano(self.figure.nano_epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The price of a whole dashboard: the sum of its questions' prices.

    Args:
        snapshot: What it would show.
        lines: One per figure, in order.
        size: What the number of records costs, in nano-epsilon, where it must be bought first; else none.
        page: The tables that are bought as one workload; none where that costs no less.
        own: What paying for all of it means for the budget of the audience's dashboards.
        whole: The same for the data set's budget, for the owner's eyes.
    """

    snapshot: Snapshot
    lines: tuple[BillLine, ...]
    size: int | None
    own: Quote
    whole: Quote
    page: Page | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """Why figures cannot be published."""
        return tuple(line.problem for line in self.lines if line.problem)

    @property
    def nano(self) -> int:
        """The sum of all figures, in nano-epsilon."""
        return sum(line.nano for line in self.lines) + (0 if self.page is None else self.page.price.total)

    @property
    def total(self) -> str:
        """The sum for readers."""
        return show_short(self.nano)

    @property
    def size_cost(self) -> str:
        """The price of the number of records."""
        return show_nano(self.size or 0)

    @property
    def can_publish(self) -> bool:
        """Whether the button is open."""
        return bool(self.lines) and not self.problems and self.size is None and self.affordable

    @property
    def affordable(self) -> bool:
        """Whether both budgets can pay."""
        return self.own.affordable and self.whole.affordable


def asked_by(figure: Figure, schema: Schema) -> tuple[tuple[Question, Accuracy], ...]:
    """Return the questions of a figure and how accurate they should be."""
    noise = Accuracy() if figure.nano_epsilon is None else Accuracy(epsilon=figure.nano_epsilon / NANO)
    if figure.kind == Kind.READY:
        return tuple((question, noise) for question in SOUND_FIGURES[figure.name].ask(schema))
    if figure.kind == Kind.QUESTION and figure.question is not None:
        return ((Question.from_dict(figure.question), noise),)
    return ()


def title_for(figure: Figure | Shown, schema: Schema | None) -> str:
    """Return what a figure shows, in words."""
    if figure.title:
        return str(figure.title)
    if isinstance(figure, Figure) and figure.kind == Kind.QUESTION and figure.question is not None:
        titles = {} if schema is None else titles_of(schema)
        return title_of(figure.question, titles)
    if figure.kind == Kind.PAPER:
        return f"{CATALOGUE[figure.name].title}, paper mode"
    return SOUND_FIGURES[figure.name].title


def label_for(figure: Figure | Shown) -> str:
    """Return what the paper calls a figure, or that it is a question of their own."""
    if figure.kind == Kind.PAPER:
        return CATALOGUE[figure.name].label
    return "Question" if figure.kind == Kind.QUESTION else SOUND_FIGURES[figure.name].label


def open_for(dashboard: Dashboard, *, preview: bool) -> tuple[Session, Snapshot]:
    """Return a session of the audience's dashboards on the published snapshot; in a preview nothing is opened.

    Raises:
        PolicyError: Nothing is published, or no row of the policy lets the audience get statistics.
    """
    project = dashboard.project
    snapshot = published_snapshot(project)
    if snapshot is None:
        raise PolicyError("No snapshot is published yet: publish one first, dashboards show nothing else.")
    limit = limit_of(project, dashboard.recipient)
    if limit is None:
        raise PolicyError("No row of the policy mentions this audience, so it gets no dashboards.")
    ledger = DatabaseLedger()
    ledger.check_sound()
    size_epsilon = snapshot.size_epsilon
    terms = terms_of(project, dashboard.audience)
    if size_epsilon is None and terms.epsilon_cap is None:
        size_epsilon = float(OWNER_SIZE)  # no cap to take a part of
    session = Session(
        public_facts(snapshot) if preview else load_snapshot(snapshot),
        recipient=dashboard.recipient,
        role=dashboard.audience,
        budget=limit.guarantee,
        ledger=ledger,
        policy=project.policy,
        purpose=project.purpose,
        snapshot=snapshot.key,
        size_epsilon=size_epsilon,
        limit_epsilon=snapshot.limit_epsilon,
        show_data_set=False,  # the bill counts both budgets itself
        preview=preview,
    )
    return session, snapshot


def bill_for(dashboard: Dashboard) -> Bill:
    """Return what publishing the plan would cost now; no row is read, nothing is spent."""
    session, snapshot = open_for(dashboard, preview=True)
    figures = list(dashboard.figures.all())
    schema = session.table.schema
    needs_size = session.size is None and any(
        not noise.options() for figure in figures for _, noise in _questions(figure, schema)
    )
    seen: set[str] = set()
    lines = tuple(_line(dashboard, figure, session, seen, needs_size) for figure in figures)
    page = None if needs_size or any(line.problem for line in lines) else _page(lines, session)
    if page is not None:
        together = _names(page.questions, schema)
        paid = page.price.free
        lines = tuple(replace(line, in_page=_is_in(line.figure, together, schema), page_is_paid=paid) for line in lines)
    costs = [price.cost for line in lines for price in line.prices or () if not price.free and not line.in_page]
    costs += [] if page is None or page.price.free else [page.price.cost]
    return Bill(
        snapshot=snapshot,
        lines=lines,
        size=ceil_units(session.size_epsilon or Fraction(0), NANO) if needs_size else None,
        page=page,
        own=session.quote(*costs),
        whole=session.quote_data_set(*costs),
    )


def _names(questions: Iterable[Question], schema: Schema) -> set[str]:
    return {canonical_json(question.canonical(schema)) for question in questions}


def _is_in(figure: Figure, names: set[str], schema: Schema) -> bool:
    """Tell whether all questions of a figure are among these."""
    asked = _names((question for question, _ in _questions(figure, schema)), schema)
    return bool(asked) and asked <= names


def _can_be_shared(figure: Figure, session: Session) -> bool:
    """Tell whether a figure is drawn from tables of counts, none of which the data set has paid for.

    An answer that was released before is shown as it is: the data set does not pay for it again.
    """
    schema = session.table.schema
    asked = _questions(figure, schema)
    return bool(asked) and all(
        question.table(Facts.of(question, schema)) is not None and not session.is_released(question, noise)
        for question, noise in asked
    )


def _page(lines: Sequence[BillLine], session: Session) -> Page | None:
    """Return the tables of all figures as one workload, if that costs less than one by one; from public facts."""
    schema = session.table.schema
    counted = [line for line in lines if _can_be_shared(line.figure, session)]
    each: dict[str, tuple[Question, Fraction]] = {}
    for line in counted:
        for question, noise in asked_by(line.figure, schema):
            name, loss = canonical_json(question.canonical(schema)), session.loss_of(question, noise)
            each[name] = (question, max(loss, each[name][1] if name in each else loss))
    if len(each) < 2:
        return None
    questions, losses = tuple(one for one, _ in each.values()), tuple(float(loss) for _, loss in each.values())
    alone = sum(line.nano for line in counted)
    try:
        price = session.price_all(questions, each=losses)
    except QuestionError:  # too many cells for one workload
        return None
    return Page(questions, losses, price, alone) if price.total < alone else None


def _questions(figure: Figure, schema: Schema) -> tuple[tuple[Question, Accuracy], ...]:
    try:
        return asked_by(figure, schema)
    except PydplibError:
        return ()


def _line(dashboard: Dashboard, figure: Figure, session: Session, seen: set[str], needs_size: bool) -> BillLine:
    schema = session.table.schema
    facts: dict[str, Any] = {"figure": figure, "title": title_for(figure, schema), "label": label_for(figure)}
    if figure.kind == Kind.PAPER:
        return BillLine(**facts, problem=_paper_problem(dashboard, figure, schema))
    try:
        asked = asked_by(figure, schema)
        if not asked:
            return BillLine(**facts, problem=f"{facts['title']}: the snapshot lacks the fields it needs.")
        if needs_size:
            for question, noise in asked if session.cap is not None else ():
                session.price(question, **noise.options())  # whether the policy opens it can be told already
            return BillLine(**facts, prices=None)
        return BillLine(**facts, prices=tuple(_new_prices(asked, session, seen)))
    except PydplibError as error:
        return BillLine(**facts, problem=f"{facts['title']}: {plain(str(error))}")


def _new_prices(asked: Iterable[tuple[Question, Accuracy]], session: Session, seen: set[str]) -> Iterator[Price]:
    for question, noise in asked:
        name = canonical_json({"question": question.canonical(session.table.schema), "noise": noise.options()})
        if name not in seen:
            seen.add(name)
            yield session.price(question, **noise.options())


def _paper_problem(dashboard: Dashboard, figure: Figure, schema: Schema) -> str:
    fields = PAPER_FIELDS[figure.name]
    if not set(fields) <= set(schema.columns):
        return f"{title_for(figure, schema)}: the snapshot lacks the fields it needs."
    place = Member.as_role(dashboard.audience)
    decision = flow_for(
        dashboard.project, place, paper_output(dashboard.audience), purpose=dashboard.project.purpose, fields=fields
    )
    return "" if decision else f"{title_for(figure, schema)}: {plain(decision.reason)}"


def noise_words(audience: str) -> str:
    """Return how much noise an audience gets, in words; how much that is in numbers stands with each figure."""
    factor = ROLES[audience].noise_factor
    return "" if factor is None else f"{factor.name} noise; each figure shows how far it may have moved a number"
