"""Which names of columns say whose row it is or name a person: one table for all commands and pages."""

from __future__ import annotations

import pytest

from pydplib._names import is_about_patient, is_identifier, meaning_of, person_column, words_of

MEANINGS = {
    "person": (
        "Patienten-Nr", "Patienten-Nr.", "Patient ID", "PatientID", "patient_id", "PATIENTID", "PatNr", "PATNR",
        "Pat.-Nr.", "Pat_ID", "Patientennummer", "Patientenkennung", "MRN", "Medical Record No.", "PID",
        "Anonym_ID", "Subject-ID",
        "Proband", "hashed_patient_id", "Pseudonym", "N\u00fam\u00e9ro patient", "ID Paciente",
    ),
    "insured": ("KVNR", "Versicherten-Nr.", "Krankenversicherungsnummer", "insurance number", "SSN"),
    "case": ("Fallnummer", "Fall-Nr.", "FALLNR", "case_number", "Aufnahmenummer", "Encounter ID"),
    "birth": (
        "Geburtsdatum", "Geb.-Dat.", "GebDatum", "geb", "Geburtstag", "Date of Birth", "birth_date", "DOB",
        "Date de naissance", "Fecha de nacimiento",
    ),
    "identifier": (
        "Name", "Nachname", "Vorname", "Patientenname", "PatientName", "ProcedureValidatingPhysicianName",
        "E-Mail-Adresse", "Telefonnr.", "Handynummer", "Stra\u00dfe", "Strasse", "Hausnr.", "Anschrift", "IBAN",
        "Pr\u00e9nom",
        "Personalnummer",
    ),
    "key": ("ID", "report_id", "scanner_id", "Befundnummer", "Accession Number", "Studien-ID", "uuid"),
    None: (
        "paternal_age", "identity_score", "valid", "covid", "paid", "hidden", "steroid", "pattern", "patient_age",
        "patient_count", "number_of_patients", "Patientenanzahl", "birth_weight", "Geburtsjahr", "Geburtsgewicht",
        "insurance_type", "Versicherungsart", "case_control", "worst_case", "falls", "Number_of_Lesions",
        "nombre de l\u00e9sions", "filename", "tournament", "nominal", "stroke", "personality", "zip_code", "Order",
        "PCA_no_PIRADS_defined", "Primary_TU_LocalRecurrence_or_Progress", "LastModified", "Gleason score", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("meaning", "name"), [(meaning, name) for meaning, names in MEANINGS.items() for name in names]
)
def test_a_name_in_any_spelling_means_what_people_mean(meaning: str | None, name: str) -> None:
    assert meaning_of(name) == meaning
    assert is_identifier(name) == (meaning is not None)


def test_umlauts_composed_or_not_hyphens_and_capitals_are_one_spelling() -> None:
    spellings = ("Größe", "GRÖSSE", "Groesse", "Gro\u0308ße", "größe")
    assert {words_of(name) for name in spellings} == {("groesse",)}
    assert words_of("PatientIDNumber") == ("patient", "id", "number")


def test_a_patients_number_goes_before_an_insurance_and_a_stay() -> None:
    assert person_column(["Fallnummer", "KVNR", "Alter", "Pat.-Nr."]) == "Pat.-Nr."
    assert person_column(["Fallnummer", "KVNR", "Alter"]) == "KVNR"
    assert person_column(["Fallnummer", "Alter"]) == "Fallnummer"
    assert person_column(["report_id", "Alter", "Name"]) is None


def test_what_is_of_a_physician_or_a_device_is_not_about_the_patient() -> None:
    assert is_about_patient("Name") and is_about_patient("Geburtsdatum") and is_about_patient("Fallnummer")
    for name in ("Physician name", "Name Arzt", "scanner_id", "Age", "user_name"):
        assert not is_about_patient(name), name


def test_all_commands_and_pages_read_a_german_table_alike(tmp_path) -> None:
    from pydplib.cli.answers.schema import propose
    from pydplib.cli.tables.guesses import guess_columns, person_of
    from pydplib.tables import open_tables

    columns = ["Patienten-Nr", "Fallnummer", "Geburtsdatum", "Alter"]
    file = tmp_path / "befunde.csv"
    file.write_text(
        "\n".join(
            [";".join(columns), *(f"{i % 30};{9000 + i};1950-01-{i % 28 + 1:02};{50 + i % 20}" for i in range(60))]
        )
    )
    schema = propose(str(file))
    assert 'person = "Patienten-Nr"' in schema and schema.count('label = "identifier"') == 3
    with open_tables() as tables:
        guesses = guess_columns(tables.open(file))
    assert [guess.role for guess in guesses] == ["identifier", "identifier", "quasi", "quasi"]
    assert person_of(guesses) == "Patienten-Nr"


def test_the_platform_maps_and_reads_german_names_too() -> None:
    pytest.importorskip("django")
    from pydplib.capture import builtin
    from pydplib.web.intake.imports.columns import guess
    from pydplib.web.reporting.labels.free_texts import read_texts

    columns = ["Fallnummer", "PatNr", "Nachname", "Geb.-Dat.", "Befundnummer", "scanner_id", "Age"]
    mapped = guess(builtin("pirads-paper"), columns)
    assert mapped == ["@identifier", "patient_id", "@identifier", "@identifier", "@number", "", "age"]
    assert guess(builtin("pirads-paper"), ["Fallnummer", "Age"]) == ["patient_id", "age"]
    assert read_texts(b"Patienten-Nr.;Befund\nA 17;No lesion.\n")[0].identifier == "A 17"
