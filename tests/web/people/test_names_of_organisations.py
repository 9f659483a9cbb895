"""Names of organisations: unique however they are written, also after a rename, also when two come at once."""

from __future__ import annotations

from typing import Any

import pytest

from pydplib.errors import ParameterError
from pydplib.web.people import accounts
from pydplib.web.people.models import Hospital, HospitalName
from pydplib.web.people.names import check_name, folded, skeleton

NAME = "St. Example Hospital 1"
ALIKE = {
    "the same": NAME,
    "case": NAME.upper(),
    "blanks": "  St.   Example\u00a0Hospital 1 ",
    "full width": "Ｓｔ. Example Hospital １",
    "a Cyrillic o": "St. Example H\u043espital 1",
    "a Greek Omicron": "St. Example H\u039fSPITAL 1",
    "a small L for the one": "St. Example Hospital l",
    "a capital I for the one": "St. Example Hospital I",
    "r and n for m": "St. Exarnple Hospital 1",
    "an accent": "St. Exámple Hospital 1",
    "no full stop": "St Example Hospital 1",
    "a hyphen": "St.-Example-Hospital-1",
    "a Hangul filler, which shows nothing": "St. Example Hospital 1\u3164",
    "a filler inside": "St. Example Hosp\u1160ital 1",
    "a Latin click for the l": "St. Example Hospita\u01c0 1",
    "a small capital o": "St. Example H\u1d0fspital 1",
    "a Hangul vowel for the l": "St. Example Hospita\u3163 1",
    "a Hangul ring for the o": "St. Example H\u3147spital 1",
    "an ideographic zero for the o": "St. Example H\u3007spital 1",
    "an ideographic stroke for the l": "St. Example Hospita\u4e28 1",
    "a long dash of Katakana": "St.\u30fcExample Hospital 1",
    "an Arabic one": "St. Example Hospital \u0661",
    "an estimated sign for the e": "St. Exampl\u212e Hospital 1",
    "a times sign for the x": "St. E\u00d7ample Hospital 1",
    "a divides sign for the one": "St. Example Hospital \u2223",
    "a circle for the o": "St. Example H\u25cbspital 1",
    "a dagger for the t": "S\u2020. Example Hospital 1",
    "a plus for the t": "S+. Example Hospital 1",
    "a thorn for the p": "St. Example Hos\u00feital 1",
    "a dollar for the S": "$t. Example Hospital 1",
    "an ideographic hook for the l": "St. Example Hospita\u4e85 1",
    "an empty Braille cell": "St. Example Hospital 1\u2800",
}


@pytest.mark.parametrize("how", ALIKE)
def test_a_name_that_looks_like_another_is_refused_for_new_and_renamed_ones(db: None, make_user: Any, how: str) -> None:
    Hospital.objects.create(name=NAME)
    with pytest.raises(ParameterError):
        Hospital.objects.create(name=ALIKE[how])
    other = make_user("manager", is_hospital_owner=True)
    with pytest.raises(ParameterError):
        accounts.rename_hospital(other, ALIKE[how])
    with pytest.raises(ParameterError):
        accounts.invite_partner(other, ALIKE[how], "pia", "")
    other.hospital.refresh_from_db()
    assert other.hospital.name == "St. Example"


@pytest.mark.parametrize(
    "name",
    [
        "Klinikum Köln",
        "Клиника Сеченова",
        "東京大学 Hospital",
        "Νοσοκομείο Αθηνών",
        "Charité – Berlin",
        "Łódź 2",
        "NTTデータ病院",
        "서울 Hospital",
        "Bệnh viện Từ Dũ",
        "Bakı Mərkəzi Klinika",
        "Iași Spitalul Județean",
        "مستشفى ١",
        "अखिल भारतीय आयुर्विज्ञान संस्थान",
        "Kinder & Jugend (Haus 2), O'Neill: «Nord»",
    ],
)
def test_honest_names_of_one_alphabet_are_taken(db: None, name: str) -> None:
    assert Hospital.objects.create(name=name).name == name


@pytest.mark.parametrize("name", ["", "···", "Hosp\u200bital", "H\u043espital", "Hospital\u202e", "ᏢᎬ", "a" * 121])
def test_names_that_cannot_be_read_are_refused(name: str) -> None:
    with pytest.raises(ParameterError):
        check_name(name)


def test_a_former_name_stays_with_its_organisation_and_can_be_taken_back(hospital: Any) -> None:
    hospital.name = "Second Name"
    hospital.save()
    with pytest.raises(ParameterError):
        Hospital.objects.create(name="St. Example")
    hospital.name = "ST. EXAMPLE"
    hospital.save()
    assert HospitalName.objects.filter(hospital=hospital).count() == 2


def test_an_organisation_cannot_use_up_the_names_of_others(hospital: Any) -> None:
    for number in range(2, HospitalName.MOST + 1):
        hospital.name = f"Name {number}"
        hospital.save()
    hospital.name = "One Too Many"
    with pytest.raises(ParameterError, match="Go back to one of them"):
        hospital.save()
    assert Hospital.objects.get(pk=hospital.pk).name == f"Name {HospitalName.MOST}"


def test_different_names_have_different_skeletons() -> None:
    names = ["Hospital 1", "Hospital 2", "Hospital 11", "Acme", "Acme Diagnostics", "St. Example", "Klinikum Köln"]
    assert len({skeleton(name) for name in names}) == len({folded(name) for name in names}) == len(names)


def test_existing_names_are_reserved_and_those_that_look_alike_are_marked(db: None) -> None:
    from importlib import import_module

    from django.apps import apps

    HospitalName.objects.all().delete()
    Hospital.objects.bulk_create(
        [Hospital(name=name) for name in ("Hospital 1", "hospital I", "H\u043espital 1", "Other")]
    )
    import_module("pydplib.web.people.migrations.0002_names_of_organisations").reserve(apps, None)
    names = list(Hospital.objects.order_by("pk").values_list("name", flat=True))
    keys = list(Hospital.objects.order_by("pk").values_list("key", flat=True))
    assert names == ["Hospital 1", f"hospital I ({keys[1]})", f"H\u043espital 1 ({keys[2]})", "Other"]
    assert HospitalName.objects.count() == 4
