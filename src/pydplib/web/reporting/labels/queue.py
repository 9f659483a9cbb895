"""The labelling queue: texts come in, readers take them, what they agree on (or a judge decides) becomes a report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, connection
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from pydplib.errors import DataError, TemplateError
from pydplib.web.auditlog.log import Log, recorded
from pydplib.web.patients.pseudonyms import nameless_patient, patients_for
from pydplib.web.people.models import User
from pydplib.web.projects.models import Member, Project
from pydplib.web.reporting.differences import AnswerDifference, differences
from pydplib.web.reporting.forms.drafts import DraftConflict
from pydplib.web.reporting.labels.free_texts import NewText
from pydplib.web.reporting.models import FreeText, Reading, Report
from pydplib.web.reporting.report_templates.versions import capturing_template
from pydplib.web.reporting.signatures import Complete, complete, sign_label


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the queue is.

    Args:
        texts: All texts.
        labelled: Those that became a report.
        in_hand: Readings that somebody has taken and not finished.
        differ: Texts whose two readers differ, waiting for a judge.
    """

    texts: int
    labelled: int
    in_hand: int
    differ: int


def add_texts(project: Project, texts: Sequence[NewText], *, readers: int, actor: User) -> int:
    """Put texts into the queue in one transaction: all of them, or none."""
    version = project.template_version
    if version is None:
        raise TemplateError("This project has no template yet. Add one before texts are labelled with it.")
    if readers not in (1, 2):
        raise DataError("A text is read by one reader or by two.")
    person = version.template.person
    with recorded(actor, project=project) as log:
        if person:
            patients = patients_for(project, [{person: each.identifier} for each in texts])
        else:
            patients = [nameless_patient(project) for _ in texts]
        FreeText.objects.bulk_create(
            [
                FreeText(
                    project=project,
                    patient=patient,
                    department=each.department,
                    text=each.text,
                    readers=readers,
                    added_by=actor.username,
                )
                for each, patient in zip(texts, patients, strict=True)
            ],
            batch_size=500,
        )
        log.add("texts.add", project.key, texts=len(texts), readers=readers)
    return len(texts)


def texts_for(project: Project, reader: User, place: Member) -> QuerySet[FreeText]:
    """Return the texts that a member may take: they want a reader, are of their department and unread by them."""
    waiting = FreeText.objects.filter(project=project, report=None).alias(taken=Count("readings"))
    waiting = waiting.filter(taken__lt=F("readers")).exclude(readings__reader=reader)
    if not place.can("manage_data"):
        waiting = waiting.filter(Q(department="") | Q(department=place.department))
    return waiting


def readings_by(project: Project, reader: User) -> tuple[Reading | None, int]:
    """Return what a reader has in hand, and how many texts they have read."""
    mine = Reading.objects.filter(text__project=project, reader=reader)
    in_hand = mine.filter(finished=None).exclude(number=Reading.JUDGE).first()
    return in_hand, mine.exclude(finished=None).count()


def claim_next(project: Project, reader: User, place: Member) -> Reading | None:
    """Give the reader a text: the one already in hand, or the next; none if the queue is empty.

    Two readers at once never get the same place: on PostgreSQL rows that another is taking are skipped,
    SQLite lets one writer in at a time, and the table refuses a second reading in the same place.
    """
    mine = Reading.objects.filter(text__project=project, reader=reader, finished=None).exclude(number=Reading.JUDGE)
    found = mine.order_by("claimed").first()
    if found is not None:
        return found
    version = project.template_version
    if version is None:
        raise TemplateError("This project has no template yet. Ask an owner to add one.")
    for _ in range(20):
        try:
            with recorded(reader, project=project) as log:
                text, waiting = _lock_next(project, reader, place)
                if not waiting:
                    return None
                if text is None:  # others are taking all of them right now
                    time.sleep(0.01)
                    continue
                taken = set(text.readings.values_list("number", flat=True))
                free = [number for number in range(1, text.readers + 1) if number not in taken]
                if not free:
                    continue
                reading = Reading.objects.create(text=text, number=free[0], reader=reader, template=version)
                log.add("text.claim", text.key, place=free[0])
                return reading
        except IntegrityError:
            continue  # somebody took the place between our look and our write: the next one, then
    return None


def _lock_next(project: Project, reader: User, place: Member) -> tuple[FreeText | None, bool]:
    """Return a text that nobody else is taking, and whether any text waits at all."""
    # PostgreSQL cannot lock a grouped query, so the ids come from one query and the lock from another.
    candidates = list(texts_for(project, reader, place).order_by("id").values_list("pk", flat=True)[:50])
    rows = FreeText.objects.filter(pk__in=candidates).order_by("id")
    if connection.features.has_select_for_update_skip_locked:
        rows = rows.select_for_update(skip_locked=True)
    return rows.first(), bool(candidates)


def give_back(reading: Reading, *, user: User) -> None:
    """Put a text back into the queue; what was filled in is dropped."""
    with recorded(user, project=reading.project) as log:
        gone, _ = Reading.objects.filter(pk=reading.pk, finished=None).delete()
        if not gone:
            raise DraftConflict("This text is finished: it cannot be put back.")
        log.add("text.give_back", reading.text.key, place=reading.number)


def finish_reading(reading: Reading, *, revision: int, user: User) -> Report | None:
    """Finish a reading; if that settles the text, its report is signed in the same transaction.

    Returns:
        The report, or none while a second reader or a judge is awaited.

    Raises:
        NotReady: Something is missing or wrong.
        DraftConflict: It was changed or finished elsewhere.
    """
    done = complete(capturing_template(reading.template), reading.answers)
    with recorded(user, project=reading.project) as log:
        # The text's row first: of two readers who finish at once the second sees the first one's answers.
        text = FreeText.objects.select_for_update().get(pk=reading.text_id)
        now = timezone.now()
        rows = Reading.objects.filter(pk=reading.pk, finished=None, revision=revision)
        if text.report_id is not None or not rows.update(finished=now, answers=done.answers, changed=now):
            raise DraftConflict("This text was finished elsewhere since you opened it.")
        log.add("text.read", text.key, place=reading.number)
        return _settle(text, reading, done, user=user, log=log)


def _settle(text: FreeText, reading: Reading, done: Complete, *, user: User, log: Log) -> Report | None:
    if reading.number == Reading.JUDGE:
        return _make_report(text, reading, done, user=user, log=log, reason="Decided between two readers")
    if text.readers == 1:
        return _make_report(text, reading, done, user=user, log=log)
    other = text.readings.exclude(pk=reading.pk).exclude(finished=None).exclude(number=Reading.JUDGE).first()
    if other is None or other.template_id != reading.template_id or reader_differences(reading, other, done.answers):
        return None
    return _make_report(text, reading, done, user=user, log=log, reason="Two readers agree")


def reader_differences(
    one: Reading, other: Reading, answers: dict[str, object] | None = None
) -> list[AnswerDifference]:
    """Return where two readings differ."""
    template = capturing_template(one.template)
    return differences(template, one.answers if answers is None else answers, other.answers)


def _make_report(text: FreeText, reading: Reading, done: Complete, *, user: User, log: Log, reason: str = "") -> Report:
    report = Report.objects.create(
        project=text.project,
        patient=text.patient,
        template=reading.template,
        origin=Report.Origin.LABEL,
        department=text.department,
        author=user,
        answers=done.answers,
    )
    sign_label(report, done, user=user, log=log, reason=reason)
    FreeText.objects.filter(pk=text.pk).update(report=report)
    return report


def differing_texts(project: Project) -> list[FreeText]:
    """Return the texts that both readers finished without a report coming of it: a judge must look."""
    finished = Count("readings", filter=Q(readings__finished__isnull=False) & ~Q(readings__number=Reading.JUDGE))
    texts = FreeText.objects.filter(project=project, report=None, readers=2).annotate(ready=finished)
    return list(texts.filter(ready=2).order_by("id"))


def open_judgement(text: FreeText, *, user: User) -> Reading:
    """Begin (or go on) to decide between two readers; what they agree on is filled in already."""
    first, second = readings_of(text)
    if text.report_id is not None:
        raise DraftConflict("This text is labelled already.")
    with recorded(user, project=text.project) as log:
        reading, made = Reading.objects.get_or_create(
            text=text,
            number=Reading.JUDGE,
            defaults={"reader": user, "template": first.template, "answers": agreed(first.answers, second.answers)},
        )
        if made:
            log.add("text.judge", text.key)
    if reading.reader_id != user.pk:
        raise DraftConflict(f"{reading.reader} is deciding about this text.")
    return reading


def readings_of(text: FreeText) -> tuple[Reading, Reading]:
    """Return both finished readings of a text, or raise."""
    found = list(text.readings.exclude(finished=None).exclude(number=Reading.JUDGE).order_by("number"))
    if len(found) != 2:
        raise DataError("There is nothing to decide yet: two readers must have finished this text.")
    return found[0], found[1]


def agreed(first: object, second: object) -> object:
    """Return what two sets of answers have in common.

    Examples:
        >>> agreed({"age": 64, "bph": True}, {"age": 64, "bph": False})
        {'age': 64}
    """
    if isinstance(first, dict) and isinstance(second, dict):
        both = {name: agreed(value, second[name]) for name, value in first.items() if name in second}
        return {name: value for name, value in both.items() if value is not None}
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [agreed(one, other) for one, other in zip(first, second, strict=True)]
    return first if first == second else None


def progress_of(project: Project) -> Progress:
    """Return how far the queue is."""
    texts = FreeText.objects.filter(project=project)
    return Progress(
        texts=texts.count(),
        labelled=texts.exclude(report=None).count(),
        in_hand=Reading.objects.filter(text__project=project, text__report=None, finished=None).count(),
        differ=len(differing_texts(project)),
    )
