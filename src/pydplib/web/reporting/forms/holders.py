"""What a form is open on: a new report, a correction, or a free text; one set of pages serves all three."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.crypto import salted_hmac

from pydplib.capture import Template
from pydplib.web.people.models import User
from pydplib.web.reporting.forms.drafts import DraftConflict, save_draft
from pydplib.web.reporting.models import Correction, Reading, Report
from pydplib.web.reporting.report_templates.versions import capturing_template


@dataclass(slots=True, kw_only=True)
class Desk:
    """An open form.

    Args:
        holder: Where the draft is kept: a report, a correction or a reading.
        kind: ``"report"``, ``"correction"`` or ``"reading"``.
        template: The template as forms use it.
        page: The address of the form.
        autosave: The address that keeps the draft and answers with what changed.
        leave: The address to go to when done or given up.
        finish: The words on the last button.
        beside: What stands next to the form: a prior report, a free text, differences of two readers.
    """

    holder: Any  # a DraftHolder: the kind says which
    kind: str
    template: Template
    page: str
    autosave: str
    leave: str
    finish: str
    beside: dict[str, object] = field(default_factory=dict)

    @property
    def revision(self) -> int:
        """The revision of the draft; 0 for one that was not saved yet."""
        return int(self.holder.revision)

    def save(self, answers: dict[str, object], *, revision: int, user: User, **more: object) -> int:
        """Keep the draft; see ``save_draft``."""
        if self.holder.pk is None:  # a correction that nobody has touched yet
            try:
                with transaction.atomic():
                    self.holder.save()
            except IntegrityError:
                raise DraftConflict("You are correcting this report in another window.") from None
        return save_draft(self.holder, answers, revision=revision, by=user, **more)

    def keep_key(self, user: User) -> str:
        """Return a key that only this user's pages on this draft know.

        With it the script encrypts what was typed after a timeout, until the same person signs in again:
        whoever sits at the computer meanwhile finds nothing that can be read.
        """
        return str(salted_hmac("pydplib.reporting.kept", f"{user.pk}:{self.page}", algorithm="sha256").hexdigest())


def desk_of_report(report: Report) -> Desk:
    """Return the form of a draft that was never signed."""
    return _desk(report, "report", report, leave=reverse("reports"), finish="Sign")


def desk_of_correction(correction: Correction) -> Desk:
    """Return the form that corrects a signed report."""
    report = correction.report
    leave = reverse("report", args=[report.key])
    return _desk(correction, "correction", report, leave=leave, finish="Sign the correction")


def _desk(holder: Report | Correction, kind: str, report: Report, *, leave: str, finish: str) -> Desk:
    """Return a form on the pages of a report."""
    page, autosave = reverse("report_edit", args=[report.key]), reverse("report_autosave", args=[report.key])
    return Desk(
        holder=holder,
        kind=kind,
        template=capturing_template(report.template),
        page=page,
        autosave=autosave,
        leave=leave,
        finish=finish,
    )


def desk_of_reading(reading: Reading) -> Desk:
    """Return the form of a free text."""
    return Desk(
        holder=reading,
        kind="reading",
        template=capturing_template(reading.template),
        page=reverse("reading", args=[reading.key]),
        autosave=reverse("reading_autosave", args=[reading.key]),
        leave=reverse("labelling"),
        finish="Finish",
    )
