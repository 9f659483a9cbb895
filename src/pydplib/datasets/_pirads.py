"""A synthetic cohort of PI-RADS reports, like the one of the PyDPLib paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.datasets._frames import Coded, Columns, Nullable, to_frame
from pydplib.datasets._schema import (
    DEPARTMENTS,
    LESIONS,
    PROSTATITIS,
    SYNTHETIC_NOTE,
    THERAPIES,
    TUMOUR_STATUS,
    YES_NO,
)
from pydplib.errors import ParameterError, shown

MOST_REPORTS = 10_000_000
PHYSICIANS = tuple(f"Dr. Synthetic {number:02d}" for number in range(1, 13))

# Every table of chances below is ours: plausible, and fitted to no data set.
_REPORTS_PER_PATIENT = (0.74, 0.17, 0.065, 0.025)
_SCORE_EDGES = (-1.3, -0.5, 0.1, 1.02)  # of the latent suspicion: 1 | 2 | 3 | 4 | 5
_KNOWN_CANCER = (0.01, 0.05, 0.18, 0.55, 0.85)  # by score
_GLEASON_EDGES = (-0.55, 0.75, 1.22, 2.05)  # of the latent grade; 6 | 7 | 8 | 9 | 10
_LESIONS = (  # a row per score: chance of 0, 1, ... 5 lesions
    (0.93, 0.07, 0.0, 0.0, 0.0, 0.0),
    (0.45, 0.40, 0.13, 0.02, 0.0, 0.0),
    (0.0, 0.66, 0.25, 0.07, 0.02, 0.0),
    (0.0, 0.58, 0.28, 0.10, 0.03, 0.01),
    (0.0, 0.45, 0.30, 0.15, 0.06, 0.04),
)
_PROSTATITIS = (  # a row per score: chr, y, n, acute, acute on chronic; inflammation often scores 2 or 3
    (0.17, 0.06, 0.73, 0.03, 0.01),
    (0.30, 0.11, 0.52, 0.04, 0.03),
    (0.31, 0.12, 0.49, 0.05, 0.03),
    (0.19, 0.07, 0.70, 0.02, 0.02),
    (0.13, 0.05, 0.79, 0.02, 0.01),
)
_THERAPY = (  # no therapy, active surveillance, prostatectomy, radiotherapy, hormone, focal
    (1.00, 0.00, 0.00, 0.00, 0.00, 0.00),  # 0 no known cancer
    (0.06, 0.60, 0.15, 0.08, 0.01, 0.10),  # 1 primary, Gleason 6
    (0.14, 0.11, 0.42, 0.22, 0.06, 0.05),  # 2 primary, Gleason 7
    (0.12, 0.01, 0.32, 0.30, 0.25, 0.00),  # 3 primary, Gleason 8 to 10
    (0.04, 0.02, 0.50, 0.32, 0.11, 0.01),  # 4 local recurrence: what was done before
    (0.03, 0.15, 0.12, 0.22, 0.48, 0.00),  # 5 progress
)
_DEPARTMENTS = (0.38, 0.22, 0.10, 0.09, 0.13, 0.08)
_DAYS_UNTIL_SIGNED = (0.58, 0.21, 0.08, 0.05, 0.03, 0.02, 0.015, 0.015)
_FIRST_DAY, _LAST_DAY = np.datetime64("2017-01-01"), np.datetime64("2018-12-31")

Floats = NDArray[np.float32]
Codes = NDArray[np.int8]


def pirads(n: int = 920, seed: int = 2018, backend: str | None = None) -> Any:
    """Return ``n`` synthetic PI-RADS reports, the same ones for the same ``n`` and ``seed``.

    The columns and their types are those of the PyDPLib paper's Table 2 (``pirads_schema()`` has its
    names, bounds and labels), plus a ``report_id``. As in the paper, most patients are 50 to 80 years old, the
    highest scores lie at 60 to 70, and the mean age of every score is between 60 and 70. Score,
    Gleason score, lesions, prostatitis and therapy depend on each other in a plausible way; some
    patients have up to four reports, spread over 2017 and 2018.

    Kinds and missing values:

    * ``pirads`` (1 to 5) is missing where ``pca_no_pirads`` holds: a cancer is known and no score
      was defined, mostly after recurrence or progress (about 7 % of the reports).
    * ``gleason`` (6 to 10) and ``tumour_status`` are missing where no cancer is known.
    * ``age`` is in years with one decimal.
    * ``lesions`` is text that reads as a whole number ("0" to "5"), or "multiple": the paper's "int/string".
    * ``follow_up`` and ``turp`` are text: "yes", "no" or "unknown". The other answers are true or false.
    * ``last_modified`` is a day; ``patient_id`` and ``report_id`` are whole numbers.
    * all other columns are complete.

    Nobody in it is real: physicians are called "Dr. Synthetic 03" and departments "SYN-URO1".
    pandas keeps a note in ``frame.attrs``, PyArrow in the metadata of its schema.

    Args:
        n: Number of reports, 1 to 10 million.
        seed: Whole number of at least 0; another seed is another cohort.
        backend: ``"pandas"``, ``"polars"``, ``"pyarrow"`` or ``"numpy"`` (a dict of arrays); by default
            the first of these that is installed. NumPy has no missing whole numbers or texts:
            there they are NaN and None.

    Raises:
        ParameterError: ``n``, ``seed`` or ``backend`` is out of range, or the library is not installed.

    Examples:
        >>> reports = pirads(n=1000, seed=1, backend="numpy")
        >>> bool(60 < reports["age"].mean() < 70), str(reports["physician_name"][0])[:13]
        (True, 'Dr. Synthetic')
    """
    check_size_and_seed(n, seed)
    return to_frame(make_cohort(int(n), int(seed)), backend, SYNTHETIC_NOTE)


def check_size_and_seed(n: int, seed: int) -> None:
    """Raise ParameterError unless ``n`` reports can be made from ``seed``."""
    for name, value, low, high in (("n", n, 1, MOST_REPORTS), ("seed", seed, 0, 2**63 - 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not low <= value <= high:
            raise ParameterError(f"{name} must be a whole number from {low} to {high}. Got {shown(value)}.")


def make_cohort(n: int, seed: int) -> Columns:
    """Return the cohort's columns, before they become a table of some library."""
    return _make_columns(n, np.random.default_rng(seed))


def _make_columns(n: int, rng: np.random.Generator) -> Columns:
    """Draw patients, then their visits, then what each report says."""
    counts = _reports_per_patient(n, rng)
    persons = counts.size
    patient = np.repeat(np.arange(persons), counts)
    visit = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    day = _exam_days(patient, rng)

    age_at_start = np.clip(rng.normal(64.5, 7.3, persons), 38, 92).astype(np.float32)
    exact_age = age_at_start[patient] + day / np.float32(365.25)
    age = np.floor(exact_age).astype(np.int64)
    # Suspicion is highest near 65 and mostly the patient's own, a little the day's.
    suspicion = 0.88 * rng.standard_normal(persons, dtype=np.float32)[patient]
    suspicion += 0.47 * rng.standard_normal(n, dtype=np.float32)
    suspicion += 0.38 - 0.5 * ((age - 65) / 10).astype(np.float32) ** 2
    score = np.searchsorted(_SCORE_EDGES, suspicion).astype(np.int8)

    # One draw per patient, so that a finding stays from report to report.
    def person() -> Floats:
        return rng.random(persons, dtype=np.float32)[patient]

    known = person() < np.array(_KNOWN_CANCER, dtype=np.float32)[score]
    grade = rng.standard_normal(persons, dtype=np.float32)[patient]
    grade += 0.45 * (score - 3) + 0.02 * (age - 66)
    gleason = 6 + np.searchsorted(_GLEASON_EDGES, grade)
    alike = np.zeros(n, dtype=np.int8)  # one row of chances for all reports
    status = _pick([(0.8, 0.12, 0.08)], alike, person())
    status[~known] = -1
    later = status > 0
    no_score = known & (rng.random(n, dtype=np.float32) < np.where(later, 0.72, 0.05))
    bph = person() < 0.9 / (1 + np.exp((62 - age.astype(np.float32)) / 9))
    turp = person() < np.where(bph, 0.13, 0.02) + np.where(age >= 70, 0.05, 0.0)

    case = np.select([~known, status == 1, status == 2, gleason == 6, gleason == 7], [0, 4, 5, 1, 2], 3)
    therapy = _pick(_THERAPY, case.astype(np.int8), person())
    # Surgery is rarer in the old.
    therapy[(therapy == 2) & (age >= 73) & (person() < 0.6)] = 3

    signed = day + _pick([_DAYS_UNTIL_SIGNED], alike, rng.random(n, dtype=np.float32))
    signed = np.minimum(signed, (_LAST_DAY - _FIRST_DAY).astype(np.int16))
    columns: dict[str, Any] = {
        "patient_id": (rng.permutation(persons) + 1)[patient],
        "report_id": np.arange(1, n + 1),
        "department_code": Coded(DEPARTMENTS, _pick([_DEPARTMENTS], alike, person())),
        "physician_name": Coded(PHYSICIANS, rng.integers(0, len(PHYSICIANS), n, dtype=np.int8)),
        "last_modified": _FIRST_DAY + signed,
        "age": _in_tenths(exact_age),
        "year": (_FIRST_DAY + day).astype("datetime64[Y]").astype(np.int64) + 1970,
        "gleason": Nullable(gleason, ~known),
        "pca_no_pirads": no_score,
        "follow_up": Coded(YES_NO, _no_yes((visit > 0) | later | (person() < 0.1))),
        "pirads": Nullable(score.astype(np.int64) + 1, no_score),
        "lesions": Coded(LESIONS, _pick(_LESIONS, score, rng.random(n, dtype=np.float32))),
        "prostatitis": Coded(PROSTATITIS, _pick(_PROSTATITIS, score, person())),
        "bph": bph,
        "tumour_status": Coded(TUMOUR_STATUS, status),
        "therapy": Coded(THERAPIES, therapy),
        "turp": Coded(YES_NO, _no_yes(turp)),
    }
    # Drawn last, so that everything above is what it was before reports could leave these open.
    many = columns["lesions"].codes >= 3
    columns["lesions"].codes[many & (rng.random(n, dtype=np.float32) < 0.3)] = LESIONS.index("multiple")
    for name, chance in (("follow_up", 0.02), ("turp", 0.03)):
        columns[name].codes[rng.random(n, dtype=np.float32) < chance] = YES_NO.index("unknown")
    return _in_order_of(signed, columns)


def _in_tenths(age: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Return ages with one decimal, rounded down: 64.97 is 64.9, and still 64 in whole years."""
    return np.floor(age.astype(np.float64) * 10) / 10


def _no_yes(answer: NDArray[np.bool_]) -> Codes:
    """Return yes and no as codes of ``YES_NO``."""
    return np.where(answer, YES_NO.index("yes"), YES_NO.index("no")).astype(np.int8)


def _reports_per_patient(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw how many reports each patient has, until there are ``n``."""
    edges = np.cumsum(_REPORTS_PER_PATIENT)[:-1]
    counts = 1 + np.searchsorted(edges, rng.random(n, dtype=np.float32))
    ends = np.cumsum(counts)
    persons = int(np.searchsorted(ends, n)) + 1
    counts = counts[:persons]
    counts[-1] -= ends[persons - 1] - n
    return counts


def _exam_days(patient: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int16]:
    """Draw a working day per report, ascending within each patient."""
    days = np.arange(_FIRST_DAY, _LAST_DAY + np.timedelta64(1, "D"))
    working = np.flatnonzero(np.is_busday(days))
    # The scanner is a little busier towards the end.
    place = rng.random(patient.size, dtype=np.float32) ** np.float32(0.9)
    drawn = working[(place * np.float32(working.size)).astype(np.int64).clip(max=working.size - 1)]
    # One sort of (patient, day) packed into a whole number.
    packed = np.sort((patient << 10) | drawn)
    return (packed & 1023).astype(np.int16)


def _pick(chances: Any, row: Codes, draw: Floats) -> Codes:
    """Return for each draw in [0, 1) the index it falls on in its row of ``chances``."""
    ends = np.cumsum(np.asarray(chances, dtype=np.float64), axis=1)[:, :-1].astype(np.float32)
    codes = np.zeros(row.size, dtype=np.int8)
    for end in ends.T:  # a few columns; each pass is vectorised and needs no n x k table
        codes += draw >= end[row]
    return codes


def _in_order_of(day: NDArray[np.int16], columns: Columns) -> Columns:
    """Sort the rows by the day they were signed, so that a patient's reports do not lie together."""
    order = np.argsort(day, kind="stable")
    table: dict[str, Any] = {}
    for name, column in columns.items():
        if name == "report_id":  # numbered in the order in which they were signed
            table[name] = column
        elif isinstance(column, Coded):
            table[name] = Coded(column.values, column.codes[order])
        elif isinstance(column, Nullable):
            table[name] = Nullable(column.numbers[order], column.missing[order])
        else:
            table[name] = column[order]
    return table
