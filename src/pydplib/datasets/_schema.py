"""What is public about the synthetic PI-RADS cohort: the paper's columns, their bounds and labels."""

from __future__ import annotations

from types import MappingProxyType

from pydplib.schema import Category, Column, Date, Flag, Number, Schema, Text

SYNTHETIC_NOTE = "Synthetic data made by pydplib: no row belongs to a real person."
"""Goes with every table, as metadata where the library has a place for it."""

PROSTATITIS = ("chr", "y", "n", "acute", "acute on chronic")
GLEASON = (6, 7, 8, 9, 10)
LESIONS = ("0", "1", "2", "3", "4", "5", "multiple")
YES_NO = ("no", "yes", "unknown")
DEPARTMENTS = ("SYN-URO1", "SYN-URO2", "SYN-ONC", "SYN-RAD", "SYN-OUT", "SYN-EXT")
TUMOUR_STATUS = ("primary tumour", "local recurrence", "progress")
THERAPIES = (
    "no therapy",
    "active surveillance",
    "prostatectomy",
    "radiotherapy",
    "hormone therapy",
    "focal therapy",
)

PIRADS_PHRASES = MappingProxyType(
    {
        1: "very low: clinically significant cancer is highly unlikely",
        2: "low: clinically significant cancer is unlikely",
        3: "intermediate: clinically significant cancer is equivocal",
        4: "high: clinically significant cancer is likely",
        5: "very high: clinically significant cancer is highly likely",
    }
)
"""What each PI-RADS score says, for tables and figures."""

PAPER_NAMES = MappingProxyType(
    {
        "patient_id": "Anonym_ID",
        "report_id": "Report_ID",
        "department_code": "RequestRadiologyDepartmentCode",
        "physician_name": "ProcedureValidatingPhysicianName",
        "last_modified": "LastModified",
        "age": "Age",
        "year": "Year",
        "gleason": "Gleason score",
        "pca_no_pirads": "PCA_no_PIRADS_defined",
        "follow_up": "Follow up",
        "pirads": "PIRADS score",
        "lesions": "Number_of_Lesions",
        "prostatitis": "Prostatitis",
        "bph": "BPH",
        "tumour_status": "Primary_TU_LocalRecurrence_or_Progress",
        "therapy": "Therapy",
        "turp": "TURP surgery",
    }
)
"""Column -> the name it has in the PyDPLib paper (``Report_ID`` is ours: the paper has none)."""

_TITLES = MappingProxyType(
    {
        "patient_id": "Patient",
        "report_id": "Report",
        "department_code": "Requesting department",
        "physician_name": "Validating physician",
        "last_modified": "Last modified",
        "age": "Age",
        "year": "Year",
        "gleason": "Gleason score",
        "pca_no_pirads": "Cancer without a PI-RADS score",
        "follow_up": "Follow-up",
        "pirads": "PI-RADS score",
        "lesions": "Number of lesions",
        "prostatitis": "Prostatitis",
        "bph": "BPH",
        "tumour_status": "Tumour status",
        "therapy": "Therapy",
        "turp": "TURP surgery",
    }
)
"""Column -> its title for people, as in the template of the paper's columns."""


def pirads_schema() -> Schema:
    """Return the public facts about the cohort: kinds, bounds, categories, labels and the person column.

    Titles are for people; the names that the PyDPLib paper has are in ``PAPER_NAMES``. A patient counts with at most
    three reports; the generator makes up to four, so that the bound has work to do.

    Examples:
        >>> schema = pirads_schema()
        >>> schema.person, schema.column("age").high, schema.column("pirads").title
        ('patient_id', 100, 'PI-RADS score')
    """
    titles = _TITLES
    columns: dict[str, Column] = {
        "patient_id": Text(label="identifier", title=titles["patient_id"]),
        "report_id": Text(label="identifier", title=titles["report_id"]),
        "department_code": Category(DEPARTMENTS, label="quasi", title=titles["department_code"]),
        "physician_name": Text(label="identifier", title=titles["physician_name"]),
        "last_modified": Date("2017-01-01", "2018-12-31", label="quasi", title=titles["last_modified"]),  # type: ignore[arg-type]
        "age": Number(18, 100, unit="years", step=1, label="quasi", title=titles["age"]),
        "year": Category((2017, 2018), ordered=True, label="quasi", title=titles["year"]),
        "gleason": Category(GLEASON, ordered=True, label="sensitive", title=titles["gleason"]),
        "pca_no_pirads": Flag(label="sensitive", title=titles["pca_no_pirads"]),
        "follow_up": Category(YES_NO, label="quasi", title=titles["follow_up"]),
        "pirads": Category((1, 2, 3, 4, 5), ordered=True, label="sensitive", title=titles["pirads"]),
        "lesions": Category(LESIONS, ordered=True, label="sensitive", title=titles["lesions"]),
        "prostatitis": Category(PROSTATITIS, label="sensitive", title=titles["prostatitis"]),
        "bph": Flag(label="sensitive", title=titles["bph"]),
        "tumour_status": Category(TUMOUR_STATUS, label="sensitive", title=titles["tumour_status"]),
        "therapy": Category(THERAPIES, label="sensitive", title=titles["therapy"]),
        "turp": Category(YES_NO, label="sensitive", title=titles["turp"]),
    }
    return Schema(columns, person="patient_id", max_rows_per_person=3, name="pirads")
