"""The impact assessment of a project (GDPR Art. 35), filled in from policy, ledger and attack lab.

The contents follow Art. 35(7): a systematic description, necessity and proportionality, risks, measures. They hold
names of fields and numbers of the ledger, no value of any field and no exact statistic of the data. What only people
can judge is left open, and the document says so.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from django.template.loader import render_to_string
from django.utils import timezone

from pydplib._version import __version__
from pydplib.attack import AUDIENCES
from pydplib.errors import MissingExtraError
from pydplib.plot.attacks import name_of
from pydplib.policy import DEFAULT_BUDGETS, ROLES
from pydplib.web.attacks.figures import results_of
from pydplib.web.attacks.models import AttackRun
from pydplib.web.attacks.recipients import Given, given_to_all, if_all_is_spent
from pydplib.web.attacks.verdicts import verdict_of
from pydplib.web.auditlog.models import Line
from pydplib.web.intake.models import Snapshot
from pydplib.web.intake.rights.processing_record import record_of_processing
from pydplib.web.projects.models import Project
from pydplib.web.projects.policy.fields import titles_in
from pydplib.web.projects.words import row_words

OPEN = (
    "Whether the purpose could be reached with fewer fields or shorter retention.",
    "What the patients, or their representatives, think of it (Art. 35(9)), where that was asked.",
    "The advice of the data protection officer (Art. 35(2)), with name and date.",
    "Who decides on the rest of the risk, and when this assessment is looked at again (Art. 35(11)).",
)
"""What a program cannot say."""
_MOST_ATTACKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """An impact assessment.

    Args:
        facts: What it says, as plain values.
        sha256: The digest of the facts: two copies with the same one say the same.
    """

    facts: Mapping[str, object]
    sha256: str


def assess(project: Project) -> Assessment:
    """Return the assessment of a project as things stand."""
    facts = {
        "title": project.name,
        "day": timezone.localdate().isoformat(),
        "version": __version__,
        "description": _description(project),
        "necessity": _necessity(project),
        "risks": _risks(project),
        "measures": _measures(project),
        "open": list(OPEN),
    }
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, default=str)
    return Assessment(facts=facts, sha256=hashlib.sha256(text.encode()).hexdigest())


def _description(project: Project) -> dict[str, object]:
    """Art. 35(7)(a): the operations and the purposes."""
    record = record_of_processing(project)
    record.pop("made")
    record.pop("measures")
    newest = Snapshot.objects.filter(project=project, published__isnull=False).order_by("-number").first()
    size = None if newest is None else newest.declared_size
    people = "not declared public, so it is not part of this document" if size is None else f"{size:,}, declared public"
    return {**record, "people": people}


def _necessity(project: Project) -> dict[str, object]:
    """Art. 35(7)(b): why these data, and why not more of them leave."""
    titles = titles_in(project)
    rows = [row_words(rule.to_rule(), titles) for rule in project.rules.all()]
    return {
        "rows": [
            {name: getattr(row, name) for name in ("who", "gets", "fields", "per_question", "budget", "until")}
            for row in rows
        ],
        "data_set_budget": project.data_set_budget,
        "delta": project.delta,
        "defaults": [
            {
                "who": ROLES[name].title if name in ROLES else name.capitalize(),
                "per_question": each.per_question,
                "total": each.total,
                "why": each.why,
            }
            for name, each in DEFAULT_BUDGETS.items()
        ],
    }


def _risks(project: Project) -> dict[str, object]:
    """Art. 35(7)(c): what recipients could learn about one person, by the guarantees and as tried."""
    runs: dict[str, AttackRun] = {}
    for run in AttackRun.objects.filter(project=project, state=AttackRun.State.DONE).order_by("ended", "id"):
        runs[run.subject] = run
    return {
        "given": [_row(each, runs) for each in given_to_all(project)],
        "allowed": [_row(each, runs) for each in if_all_is_spent(project)],
        "tried": [_tried(run) for run in runs.values()],
        "limits": [
            {
                "who": each.title,
                "chance": each.chance,
                "exposed": each.exposed,
                "epsilon": each.epsilon,
                "why": each.why,
            }
            for name, each in AUDIENCES.items()
            if name != "owner"
        ],
    }


def _row(given: Given, runs: Mapping[str, AttackRun]) -> dict[str, object]:
    run = runs.get(given.subject)
    said = verdict_of(given, {"tables": [], "missed": []}) if run is None else run.result["verdict"]
    return {
        "name": given.name,
        "roles": [ROLES[role].title for role in given.roles],
        "answers": given.questions,
        "epsilon": round(given.epsilon, 6),
        "right": given.percent,
        "tables": len(given.exports),
        "unproven": given.unproven,
        "verdict": said["headline"],
        "tone": said["tone"],
        "was_tried": run is not None,
    }


def _tried(run: AttackRun) -> dict[str, object]:
    result = run.result
    stored = [*result["simulated"], *(each for table in result["tables"] for each in table["attacks"])]
    worst = sorted(results_of(stored), key=lambda each: (each.due, each.advantage), reverse=True)[:_MOST_ATTACKS]
    return {
        "name": run.name,
        "day": None if run.ended is None else timezone.localtime(run.ended).date().isoformat(),
        "data": run.get_data_display(),
        "headline": result["verdict"]["headline"],
        "reasons": result["verdict"]["reasons"],
        "attacks": [
            {
                "attack": name_of(each),
                "right": f"{100 * each.success:.1f} %",
                "guess": f"{100 * each.baseline:.1f} %",
                "exposed": f"{100 * each.due:.2f} %",
            }
            for each in worst
        ],
    }


def _measures(project: Project) -> dict[str, object]:
    """Art. 35(7)(d): what is done about it, and how that can be shown."""
    owners = project.active_owners().count()
    lines = Line.objects.filter(project=project.key)
    newest = lines.order_by("-number").first()
    return {
        "listed": record_of_processing(project)["measures"],
        "owners": owners,
        "officers": sum(
            member.can("read_log") and not member.can("see_raw")
            for member in project.members.filter(user__is_active=True)
        ),
        "lines": lines.count(),
        "head": "" if newest is None else newest.hash,
    }


def to_html(assessment: Assessment, *, made_by: str) -> str:
    """Return the document as one page that loads nothing."""
    facts = {**assessment.facts, "sha256": assessment.sha256, "made_by": made_by, "made": timezone.now()}
    return render_to_string("attacks/assessment_document.html", facts)


def to_pdf(assessment: Assessment, *, made_by: str) -> bytes:
    """Return the document as PDF.

    Raises:
        MissingExtraError: WeasyPrint, or a library of the system that it draws letters with, is not installed.
    """
    weasyprint = _weasyprint()

    class Refusal(weasyprint.urls.URLFetcher):  # type: ignore[name-defined, misc]
        """Fetches nothing: whatever texts a document holds, no address in them is opened."""

        def fetch(self, url: str, headers: object = None) -> None:
            refuse(url)

    page = weasyprint.HTML(string=to_html(assessment, made_by=made_by), url_fetcher=Refusal())
    data: bytes = page.write_pdf()
    return data


def missing_part() -> str:
    """Return what must be installed before a PDF can be made; empty if nothing."""
    try:
        _weasyprint()
    except MissingExtraError as missing:
        return str(missing)
    return ""


def _weasyprint() -> ModuleType:
    try:
        importlib.import_module("weasyprint.urls")
        return importlib.import_module("weasyprint")
    except ImportError:
        raise MissingExtraError("A PDF", "pdf") from None
    except OSError:  # it is there, but not the library of the system that draws letters
        raise MissingExtraError("A PDF, besides Pango (apt-get install libpangoft2-1.0-0),", "pdf") from None


def refuse(address: str) -> None:
    """Refuse an address."""
    raise ValueError("This document loads nothing.")
