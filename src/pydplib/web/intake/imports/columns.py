"""Columns of a file to fields of a template: guessed by name, changed by people, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydplib._names import is_about_patient, person_column
from pydplib.capture import Group, Question, Template, field_name
from pydplib.errors import DataError

NUMBER, DEPARTMENT, IDENTIFIER = "@number", "@department", "@identifier"
"""Where a column can go besides the template's fields."""

_MOST_REPEATS = 6
_KNOWN = {
    NUMBER: ("reportid", "reportnumber", "accession", "accessionnumber", "ordernumber", "befundnummer"),
    DEPARTMENT: ("department", "abteilung", "requestingdepartment"),
}
_GERMAN = {
    "alter": ("age",),
    "patientenalter": ("age",),
    "alterinjahren": ("age",),
    "jahr": ("year",),
    "befundjahr": ("year",),
    "untersuchungsjahr": ("year",),
    "datum": ("date", "examdate", "studydate", "lastmodified"),
    "befunddatum": ("reportdate", "date", "examdate", "lastmodified"),
    "untersuchungsdatum": ("examdate", "studydate", "date", "lastmodified"),
    "zuletztgeändert": ("lastmodified",),
    "änderungsdatum": ("lastmodified",),
    "verlauf": ("followup",),
    "verlaufskontrolle": ("followup",),
    "nachsorge": ("followup",),
    "therapie": ("therapy", "treatment"),
    "behandlung": ("therapy", "treatment"),
    "abteilungscode": ("departmentcode",),
    "anforderndeabteilung": ("departmentcode",),
    "zuweiser": ("departmentcode", "department"),
    "arzt": ("physicianname", "physician"),
    "befunder": ("physicianname", "physician"),
    "befundenderarzt": ("physicianname", "physician"),
    "radiologe": ("physicianname", "physician"),
    "geschlecht": ("sex", "gender"),
    "größe": ("size", "height"),
    "gewicht": ("weight",),
    "volumen": ("volume", "prostatevolume"),
    "prostatavolumen": ("volume", "prostatevolume"),
    "psawert": ("psa",),
    "läsionen": ("lesions",),
    "anzahlläsionen": ("lesions", "numberoflesions"),
    "anzahlderläsionen": ("lesions", "numberoflesions"),
    "herde": ("lesions", "numberoflesions"),
    "tumorstatus": ("tumourstatus",),
    "gleasonscore": ("gleason",),
    "pirads": ("pirads", "piradsscore"),
    "piradsscore": ("pirads",),
    "piradskategorie": ("pirads",),
    "turp": ("turp",),
    "turpoperation": ("turp",),
    "benigneprostatahyperplasie": ("bph",),
    "prostatahyperplasie": ("bph",),
    "pcaohnepirads": ("pcanopirads",),
    "karzinomohnepirads": ("pcanopirads",),
}
"""How German files call a field -> what templates call it, the likeliest first."""


@dataclass(frozen=True, slots=True)
class MappingTarget:
    """Somewhere a column can go.

    Args:
        name: The field's name as in a form: ``age``, ``lesion/0/size``.
        title: What people read.
        question: The question, for fields of the template.
    """

    name: str
    title: str
    question: Question | None = None
    group: str = ""


def targets_of(template: Template) -> tuple[MappingTarget, ...]:
    """Return all fields that a column can go to, in the order of the form, the special ones last."""
    found: list[MappingTarget] = []
    for place, question in template.index.questions():
        if not place.loops:
            found.append(MappingTarget(field_name((question.id,)), question.text, question))
        elif len(place.loops) == 1:
            group = template.item(place.loops[0])
            repeats = group.max_repeats or 1 if isinstance(group, Group) else 1
            for number in range(min(repeats, _MOST_REPEATS)):
                name = field_name((group.id, number, question.id))
                found.append(MappingTarget(name, f"{group.text} {number + 1}: {question.text}", question, group.id))
    return (
        *found,
        MappingTarget(NUMBER, "Report number (only to find duplicates)"),
        MappingTarget(DEPARTMENT, "Department"),
        MappingTarget(IDENTIFIER, "Identifier of the patient, kept apart"),
    )


def guess(template: Template, columns: Sequence[str]) -> list[str]:
    """Return for every column the field it most likely means, or an empty text.

    Examples:
        >>> from pydplib.capture import builtin
        >>> guess(builtin("pirads-paper"), ["Pat.-Nr.", "PIRADS score", "Geburtsdatum", "Colour"])
        ['patient_id', 'pirads', '@identifier', '']
        >>> guess(builtin("pirads-paper"), ["Alter", "Jahr", "Verlauf", "Befunddatum"])
        ['age', 'year', 'follow_up', 'last_modified']
    """
    words: dict[str, str] = {}
    for target in reversed(targets_of(template)):
        if target.question is not None:
            if not target.group:  # a code is the question's name elsewhere, and a file's header may well be it
                words |= dict.fromkeys((bare(code.code) for code in target.question.codes), target.name)
            words[bare(target.title)] = words[bare(_spoken(target))] = target.name
    for word, meant in _GERMAN.items():
        if word not in words and (found_word := next((each for each in meant if each in words), "")):
            words[word] = words[found_word]
    for name, known in _KNOWN.items():
        for word in known:
            words.setdefault(word, name)
    person = field_name((template.person,)) if template.person else ""
    rest = [column for column in columns if bare(column) not in words]
    whose = None if person in {words.get(bare(column)) for column in columns} else person_column(rest)
    found, taken = [], set[str]()
    for column in columns:
        name = words.get(bare(column), "")
        if not name and is_about_patient(column):
            name = person if column == whose else IDENTIFIER
        if name in taken and name != IDENTIFIER:
            name = ""
        taken.add(name)
        found.append(name)
    return found


def check_mapping(template: Template, columns: Sequence[str], mapping: Sequence[str]) -> None:
    """Raise ``DataError`` if two columns go to one field, or nothing says whose report a row is."""
    known = {target.name for target in targets_of(template)}
    seen: dict[str, str] = {}
    if len(mapping) != len(columns):
        raise DataError("Every column needs a field, or none.")
    for column, name in zip(columns, mapping, strict=True):
        if not name:
            continue
        if name not in known:
            raise DataError(f"The template has no such field for column '{column}'.")
        if name in seen and name != IDENTIFIER:
            raise DataError(f"Columns '{seen[name]}' and '{column}' go to the same field. Ignore one of them.")
        seen[name] = column
    if template.person and field_name((template.person,)) not in seen:
        title = template.question(template.person).text
        raise DataError(f"Say which column holds '{title}': without it nobody knows whose report a row is.")
    if not any(not name.startswith("@") for name in seen):
        raise DataError("No column goes to a field of the template: nothing would be imported.")


def missing_fields(template: Template, mapping: Sequence[str]) -> list[str]:
    """Return the titles of required fields that no column goes to: rows that need them will fail."""
    mapped = set(mapping)
    return [
        question.text
        for place, question in template.index.questions()
        if question.required and not question.computed and not place.loops and field_name((question.id,)) not in mapped
    ]


def titles_of(template: Template) -> Mapping[str, str]:
    """Return field name -> title."""
    return {target.name: target.title for target in targets_of(template)}


def _spoken(target: MappingTarget) -> str:
    """Return a field's name as files write it: ``lesion/0/size`` is ``lesion 1 size`` there."""
    loop, number, question = target.name.split("/") if target.group else ("", "", target.name)
    return f"{loop} {int(number) + 1} {question}" if loop else question


def bare(name: str) -> str:
    """Return a name without blanks, signs and case: two spellings of one column are the same."""
    return re.sub(r"[\W_]+", "", name.casefold())
