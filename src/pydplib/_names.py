"""Names of columns as hospitals write them: which say whose row it is, and which name a person. The only such list.

Guesses for people to check, never a proof: a column with a harmless name can hold anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Literal, TypeAlias

Meaning: TypeAlias = Literal["person", "insured", "case", "birth", "identifier", "key"]
"""What a name says of its column.

``person``: whose row it is; ``insured``: a number that follows a person through life; ``case``: a stay or an
episode, of which one person may have several; ``birth``: the date of birth; ``identifier``: names and ways to
reach somebody; ``key``: the number of something else.
"""

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa"})


def _listed(words: str) -> list[str]:
    return words.split()


# All words below are as words_of gives them: small letters, umlauts as two letters, no accents.
_NUMBER = _listed(
    "id ids nr no num number nummer numero key code kennung kennzeichen kennziffer schluessel identifier ident "
    "identifikator idnr idno idnumber idnummer identifikationsnummer identifikationszahl uid uuid hash"
)
_PERSON_BARE = _listed(
    "patient patienten pat person proband probanden teilnehmer participant subject anonym pseudonym paciente paziente"
)
_PERSON_HEADS = [*_PERSON_BARE, *_listed("patients personen client klient klienten member")]
_PERSON_PHRASES = _listed(
    "mrn mrno pid piz patientkey patid medicalrecord medicalrecordnumber medicalrecordno hospitalnumber nhsnumber "
    "nhsno chartnumber studysubject studysubjectid studienteilnehmer anonymid anonymizedid anonymisedid pseudoid psn "
    "patientenkennung patientenpseudonym patientpseudonym idpatient idpaciente idpaziente numeropatient "
    "numerodepatient numeropaciente codicepaziente codigopaciente"
)
_INSURED_HEADS = _listed(
    "insurance insured insurer policy healthinsurance socialsecurity nationalinsurance healthcard medicare medicaid "
    "versicherten versicherter versicherung versicherungs krankenversicherungs krankenversicherten krankenkassen "
    "sozialversicherungs rentenversicherungs kv egk ahv"
)
_INSURED_PHRASES = _listed("ssn kvnr svnr ahvn nino codicefiscale numerodesecuritesociale")
_CASE_HEADS = _listed("case fall stay encounter episode admission aufnahme behandlungsfall")
_BIRTH_BARE = _listed("geb geboren born birth dob ddn naissance nacimiento nascita")
_BIRTH_PHRASES = _listed(
    "birthdate birthday dateofbirth dob bday birthdt geburtsdatum geburtsdat geburtstag gebdatum gebdat gebdtm gebtag "
    "geborenam datedenaissance datenaissance fechadenacimiento fechanacimiento datadinascita datanascita"
)
_ROLES = _listed(
    "physician doctor arzt aerztin radiologist radiologe nurse referrer zuweiser referring validator mother father "
    "mutter vater contact kontakt angehoerigen guardian"
)
_NAME_HEADS = [*_listed("first last full given middle maiden family user nick"), *_PERSON_HEADS, *_ROLES]
_IDENTIFIER_HEADS = _listed(
    "phone telephone telefon tel mobile mobil handy fax passport pass reisepass ausweis personalausweis personal "
    "mitarbeiter matrikel konto account bankaccount steuer tax license licence fuehrerschein haus serial"
)
_IDENTIFIER_PHRASES = _listed(
    "name names vorname vornamen nachname nachnamen zuname familienname geburtsname maedchenname rufname surname "
    "forename initials initialen prenom apellido apellidos cognome email mail emailaddress phone telephone telefon "
    "handy mobile fax street strasse address addresses adresse adressen anschrift wohnadresse emailadresse passport "
    "iban bic url ip ipaddress autokennzeichen"
)
_IDENTIFIER_BARE = _listed("nom nombre str kontakt contact")  # as a part they mean other things: "nombre de lesions"
_KEY_WORDS = _listed("id ids uuid guid")
_KEY_HEADS = _listed("accession order auftrag auftrags anforderungs befund report untersuchungs study studien")

_OTHERS = frozenset(
    _listed(
        "physician doctor arzt aerztin radiologist radiologe nurse referrer zuweiser referring validating hospital "
        "klinik clinic krankenhaus department abteilung station ward scanner device geraet serial file study studie "
        "template product drug sender employer arbeitgeber mitarbeiter user"
    )
)
"""Words which say that a name or a number is of somebody or something else than the patient."""

_LONGEST = 6  # words that are looked at together


def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a column's name: small letters, umlauts as two letters, no accents, dots or hyphens.

    Examples:
        >>> words_of("Patienten-Nr."), words_of("PatNr"), words_of("GRÖSSE_cm"), words_of("Prénom 2")
        (('patienten', 'nr'), ('pat', 'nr'), ('groesse', 'cm'), ('prenom', '2'))
    """
    text = unicodedata.normalize("NFKC", name)
    text = re.sub(r"(?<=[^\W\d_A-ZÄÖÜ])(?=[A-ZÄÖÜ])|(?<=[A-ZÄÖÜ])(?=[A-ZÄÖÜ][^\W\d_A-ZÄÖÜ])", " ", text)
    text = re.sub(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])", " ", text)
    text = unicodedata.normalize("NFKD", text.casefold().translate(_UMLAUTS))
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    return tuple(word for word in re.split(r"[\W_]+", text) if word)


@cache
def meaning_of(name: str) -> Meaning | None:
    """Return what a name says of its column; none where it says nothing of that kind.

    Examples:
        >>> [meaning_of(name) for name in ("Patienten-Nr", "Fallnummer", "Geburtsdatum", "scanner_id", "paternal_age")]
        ['person', 'case', 'birth', 'key', None]
    """
    words = tuple(word for word in words_of(name) if not word.isdigit())
    whole = "".join(words)
    bare, parts = _lists()
    if whole in bare:
        return bare[whole]
    spans = ("".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, start + _LONGEST + 1))
    found = {parts[span] for span in spans if span in parts}
    for meaning in _ORDER:
        if meaning in found:
            return meaning
    return None


def is_identifier(name: str) -> bool:
    """Return whether a name says that its column must never be released as it is.

    Examples:
        >>> is_identifier("Telefon-Nr."), is_identifier("identity_score")
        (True, False)
    """
    return meaning_of(name) is not None


def is_about_patient(name: str) -> bool:
    """Return whether a name says who the patient is; a physician's name or a device's number does not.

    Examples:
        >>> is_about_patient("Nachname"), is_about_patient("Physician name"), is_about_patient("scanner_id")
        (True, False, False)
    """
    return meaning_of(name) not in (None, "key") and not _OTHERS.intersection(words_of(name))


def person_column(names: Iterable[str]) -> str | None:
    """Return the column that most likely says whose row it is: a patient's number before a stay's.

    Examples:
        >>> person_column(["Fallnummer", "Alter", "Pat.-ID"])
        'Pat.-ID'
    """
    known = list(names)
    for wanted in ("person", "insured", "case"):
        for name in known:
            if meaning_of(name) == wanted:
                return name
    return None


_ORDER: tuple[Meaning, ...] = ("birth", "person", "insured", "identifier", "case", "key")


@cache
def _lists() -> tuple[dict[str, Meaning], dict[str, Meaning]]:
    """Return what whole names mean, and what parts of names mean."""

    def numbers(heads: Iterable[str], *, but: tuple[str, ...] = ()) -> list[str]:
        return [head + number for head in heads for number in _NUMBER if number not in but]

    bare: dict[str, Meaning] = dict.fromkeys(_IDENTIFIER_BARE, "identifier")
    bare |= dict.fromkeys(_PERSON_BARE, "person")
    bare |= dict.fromkeys(_BIRTH_BARE, "birth")
    parts: dict[str, Meaning] = dict.fromkeys(_KEY_WORDS, "key")
    vague = ("code", "key", "kennzeichen", "hash")  # a "case code" is rather what was found
    parts |= dict.fromkeys(numbers(_KEY_HEADS, but=vague), "key")
    parts |= dict.fromkeys(numbers(_CASE_HEADS, but=vague), "case")
    names = [head + "name" for head in _NAME_HEADS]
    parts |= dict.fromkeys([*_IDENTIFIER_PHRASES, *names, *numbers(_IDENTIFIER_HEADS)], "identifier")
    parts |= dict.fromkeys([*_INSURED_PHRASES, *numbers(_INSURED_HEADS)], "insured")
    parts |= dict.fromkeys([*_PERSON_PHRASES, *numbers(_PERSON_HEADS)], "person")
    parts |= dict.fromkeys(_BIRTH_PHRASES, "birth")
    return bare, parts
