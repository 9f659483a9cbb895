"""From what names a patient to a keyed pseudonym, and back only through the identifiers' own table.

Stored answers never hold the answer to the template's person question: ``set_apart`` takes it out before a
report is written.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from pydplib.anonymity.pseudonyms import Pseudonym
from pydplib.capture import Template
from pydplib.errors import DataError
from pydplib.web.configuration import Configuration
from pydplib.web.design.values import SHORT
from pydplib.web.patients.inserts import insert_many, stored
from pydplib.web.patients.models import Identifier, Patient
from pydplib.web.people.models import new_keys
from pydplib.web.projects.models import Project

_MOST_NAMES = 2500
LONGEST = 400
"""Most characters of an identifier, as the table has them."""


def clean(value: object) -> str:
    r"""Return an identifier in one spelling: composed letters, single spaces, none around it.

    Examples:
        >>> clean("  A\u00a017 ")
        'A 17'
    """
    text = str(value)
    text = " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).split())
    if not text:
        raise DataError("A patient needs an identifier: it is empty.")
    if len(text) > LONGEST:
        raise DataError(f"An identifier has at most {LONGEST} characters.")
    return text


def pseudonyms_of(project: Project, values: Iterable[object]) -> list[str]:
    """Return the pseudonym of each identifier: HMAC-SHA-256 under the server's key, other in every project."""
    return _keyed(f"patient\x1f{project.key}", [clean(value) for value in values])


def report_numbers(project: Project, values: Iterable[object]) -> list[str]:
    """Return the keyed form of report numbers, by which a second import of the same report is noticed."""
    return _keyed(f"report\x1f{project.key}", [clean(value) for value in values])


def _keyed(domain: str, values: Sequence[str]) -> list[str]:
    return [str(name) for name in _namer(settings.CONFIGURATION).names(domain, values)]


@lru_cache(maxsize=4)
def _namer(configuration: Configuration) -> Pseudonym:
    """Read the key once: it stays the same while the server runs."""
    return Pseudonym(key=configuration.key("pseudonyms"), consistent=True)


def find_patient(project: Project, identifiers: Mapping[str, str]) -> Patient | None:
    """Return the patient of exactly these identifiers, if the project has one."""
    if not identifiers:
        return None
    (pseudonym,) = pseudonyms_of(project, [_first(identifiers)])
    return Patient.objects.filter(project=project, pseudonym=pseudonym).first()


def by_short_id(project: Project, text: str) -> Patient | None:
    """Return the one patient whose id, or whose report's id, is or begins like this; none if there is none, or two."""
    word = text.strip().lower()
    if not re.fullmatch(f"[0-9a-f]{{{SHORT},16}}", word):
        return None
    known = Patient.objects.filter(project=project)
    found = list(known.filter(key__startswith=word)[:2])
    if not found:
        found = list(known.filter(reports__key__startswith=word).distinct()[:2])
    return found[0] if len(found) == 1 else None


def patient_for(project: Project, identifiers: Mapping[str, str]) -> Patient:
    """Return the patient of these identifiers, made if need be.

    Args:
        project: The project; the same person has unrelated pseudonyms in two projects.
        identifiers: Field -> value. The first one names the person (the template's person question);
            further ones are kept next to it.
    """
    (patient,) = patients_for(project, [identifiers])
    return patient


def patients_for(project: Project, many: Sequence[Mapping[str, str]]) -> list[Patient]:
    """Return the patients of many sets of identifiers, in a handful of statements."""
    ids = patient_ids_for(project, many)
    found = Patient.objects.in_bulk(set(ids))
    return [found[each] for each in ids]


def patient_ids_for(
    project: Project, many: Sequence[Mapping[str, str]], names: Sequence[str] | None = None
) -> list[int]:
    """Return the rows of the patients of many sets of identifiers, made if need be.

    Args:
        project: The project.
        many: The sets, the person's own identifier first in each.
        names: The pseudonyms of these, where they are known already.
    """
    if names is None:
        names = pseudonyms_of(project, [_first(identifiers) for identifiers in many])
    with transaction.atomic():
        found = _by_pseudonym(project, set(names))
        missing = [name for name in dict.fromkeys(names) if name not in found]
        if missing:
            # Of two writers at once, one makes the patient and both find it.
            consent, now = str(Patient.Consent.NOT_NEEDED), stored(Patient, "created", timezone.now())
            columns = ("key", "project", "pseudonym", "consent", "created")
            made = [
                (key, project.pk, name, consent, now) for key, name in zip(new_keys(len(missing)), missing, strict=True)
            ]
            found |= insert_many(Patient, columns, made, ignore_conflicts=True, returns=("pseudonym", "id"))
            if others := [name for name in missing if name not in found]:
                found |= _by_pseudonym(project, set(others))
        rows = {
            (found[name], field[:80]): clean(value)
            for name, identifiers in zip(names, many, strict=True)
            for field, value in identifiers.items()
            if value and not value.isspace()
        }
        held = [(patient, field, value) for (patient, field), value in rows.items()]
        insert_many(Identifier, ("patient", "field", "value"), held, ignore_conflicts=True)
    return [found[name] for name in names]


def identifier_of(patient: Patient, field: str) -> str:
    """Return what a column says about who a patient is; empty if it says nothing."""
    found = patient.identifiers.filter(field=field).first()
    return found.value if found else ""


def identifiers_of(patient: Patient) -> list[tuple[str, str]]:
    """Return all that names a patient, by column."""
    return list(patient.identifiers.order_by("field").values_list("field", "value"))


def nameless_patient(project: Project) -> Patient:
    """Make a patient whom nothing names: for templates without a person question, every report is somebody else."""
    return Patient.objects.create(project=project, pseudonym=secrets.token_hex(16))


def set_apart(template: Template, answers: Mapping[str, object]) -> tuple[dict[str, str], dict[str, object]]:
    """Return the identifiers of clean answers, and the answers without them, as they are stored.

    Examples:
        >>> from pydplib.capture import builtin
        >>> set_apart(builtin("pirads-paper"), {"patient_id": "A 17", "age": 64})
        ({'patient_id': 'A 17'}, {'age': 64})
    """
    person = template.person
    if not person or person not in answers:
        return {}, dict(answers)
    kept = dict(answers)
    return {person: str(kept.pop(person))}, kept


def _first(identifiers: Mapping[str, str]) -> str:
    for value in identifiers.values():
        return value
    raise DataError("A patient needs an identifier: none was given.")


def _by_pseudonym(project: Project, names: set[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    if not Patient.objects.filter(project=project).exists():
        return found
    table, asked = connection.ops.quote_name(Patient._meta.db_table), list(names)
    with connection.cursor() as cursor:
        for begin in range(0, len(asked), _MOST_NAMES):
            part = asked[begin : begin + _MOST_NAMES]
            places = ", ".join(["%s"] * len(part))
            cursor.execute(
                f"SELECT pseudonym, id FROM {table} WHERE project_id = %s AND pseudonym IN ({places})",  # noqa: S608
                [project.pk, *part],
            )
            found.update(cursor.fetchall())
    return found
