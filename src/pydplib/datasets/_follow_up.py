"""A synthetic second table: what became of the patients of the PI-RADS cohort, visit by visit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pydplib.datasets._frames import Coded, Columns, Nullable, to_frame
from pydplib.datasets._pirads import check_size_and_seed, make_cohort
from pydplib.datasets._schema import SYNTHETIC_NOTE, THERAPIES, pirads_schema
from pydplib.schema import Category, Column, Date, Flag, Integer, Number, Schema

ARMS = ("standard", "intensified")
MOST_MONTHS = 60

# Every number below is ours: plausible, and fitted to no data set.
_STREAM = 0xF0110  # a stream of its own: the cohort of a seed stays what it is
_VISITS = np.array([0, 3, 6, *range(12, MOST_MONTHS + 1, 6)])  # planned, in months
_MISSED = 0.08  # of the planned visits after the first
_NO_PSA = 0.03
_EVENTS_PER_YEAR = (0.006, 0.025, 0.065, 0.15, 0.34)  # by score, standard arm, Gleason 7 or below
_PER_GLEASON = 1.3  # the hazard's factor for every point above 7
_INTENSIFIED = 0.5  # the hazard's factor in the intensified arm
_LOST_EARLY = 0.35
_PSA_AT_START = (3.0, 4.5, 6.0, 8.5, 14.0)  # ng/ml, medians by score
_LEFT_BY_THERAPY = {"prostatectomy": 0.02, "radiotherapy": 0.08, "hormone therapy": 0.15, "focal therapy": 0.35}
_WARNING_MONTHS = 12.0  # PSA begins to rise this long before a recurrence

Floats = NDArray[np.float64]


def follow_up(n: int = 920, seed: int = 2018, backend: str | None = None) -> Any:
    """Return the visits of the patients of ``pirads(n, seed)``, the same ones for the same ``n`` and ``seed``.

    Everybody in the cohort is followed for up to 60 months from the first report, in one of two arms that were drawn
    by lot. A row is a visit; about 9 rows per patient, at most 12. ``follow_up_schema()`` has bounds and labels.

    * ``patient_id`` is the cohort's: the two tables have the same patients.
    * ``visit_date`` is a day; ``visit_month`` counts whole months since the patient's first visit, 0 to 60. Visits are
      planned after 3, 6 and 12 months, then every half year; a few are missed.
    * ``psa`` in ng/ml has one decimal. It falls after surgery, radiation or hormones and rises steeply
      in the year before a recurrence; missing at about 3 % of the visits.
    * ``arm`` (``"standard"`` or ``"intensified"``), ``months`` and ``recurrence`` are facts of a patient, the same in
      all of the patient's rows: ``months`` to the recurrence or to the last contact, 1 to 60, and whether there was a
      recurrence (or progress of a known cancer). The last visit is in that month.

    Recurrences come sooner with a higher PI-RADS score of the first report and with a Gleason score above 7, and later
    in the intensified arm. Nobody in it is real.

    Args:
        n: Number of reports of the cohort, 1 to 10 million; 920 reports are 652 patients.
        seed: The cohort's seed.
        backend: As for :func:`pydplib.datasets.pirads`.

    Raises:
        ParameterError: ``n``, ``seed`` or ``backend`` is out of range, or the library is not installed.

    Examples:
        >>> from pydplib.datasets import pirads
        >>> visits, reports = follow_up(n=50, backend="numpy"), pirads(n=50, backend="numpy")
        >>> set(visits["patient_id"].tolist()) == set(reports["patient_id"].tolist())
        True
    """
    check_size_and_seed(n, seed)
    cohort = make_cohort(int(n), int(seed))
    return to_frame(_make_visits(cohort, np.random.default_rng([int(seed), _STREAM])), backend, SYNTHETIC_NOTE)


def follow_up_schema() -> Schema:
    """Return the public facts about the visits of :func:`pydplib.datasets.follow_up`.

    Every patient may count with 12 rows: a plan of visits is public, and no patient has more. The patients are the
    cohort's, so the lineage is too: questions to both tables spend one budget, and the two can be joined.

    Examples:
        >>> schema = follow_up_schema()
        >>> schema.person, schema.max_rows_per_person, schema.column("months").high
        ('patient_id', 12, 60)
    """
    columns: dict[str, Column] = {
        "patient_id": pirads_schema().column("patient_id"),
        "visit_date": Date("2017-01-01", "2024-03-31", label="quasi", title="Visit"),  # type: ignore[arg-type]
        "visit_month": Integer(0, MOST_MONTHS, unit="months", label="quasi", title="Months since the first visit"),
        "psa": Number(0, 100, unit="ng/ml", step=0.1, label="sensitive", title="PSA"),
        "arm": Category(ARMS, label="sensitive", title="Treatment arm"),
        "months": Integer(
            0, MOST_MONTHS, unit="months", label="sensitive", title="Months to recurrence or last contact"
        ),
        "recurrence": Flag(label="sensitive", title="Recurrence"),
    }
    return Schema(columns, person="patient_id", max_rows_per_person=12, name="follow_up", lineage="pirads")


def _make_visits(cohort: Columns, rng: np.random.Generator) -> Columns:
    """Draw each patient's course from the first report, then the visits until it ends."""
    patient, first = np.unique(np.asarray(cohort["patient_id"]), return_index=True)
    persons = patient.size
    score = _numbers(cohort["pirads"])[first] - 1  # there, even where the report leaves it open
    above_seven = np.maximum(_numbers(cohort["gleason"])[first] - 7, 0) * ~_missing(cohort["gleason"])[first]
    start = np.asarray(cohort["last_modified"])[first]

    arm = rng.integers(0, 2, persons, dtype=np.int8)
    hazard = np.array(_EVENTS_PER_YEAR)[score] * _PER_GLEASON**above_seven * np.where(arm == 1, _INTENSIFIED, 1.0)
    event = 12 * rng.exponential(size=persons) / hazard
    lost = rng.random(persons) < _LOST_EARLY
    contact = np.where(lost, rng.uniform(6, MOST_MONTHS, persons), float(MOST_MONTHS))
    recurrence = event <= contact
    end = np.minimum(event, contact)
    months = np.ceil(end).clip(1, MOST_MONTHS).astype(np.int64)

    # Planned visits before the end, and one in the month of the end.
    kept = (months[:, None] > _VISITS) & ((rng.random((persons, _VISITS.size)) >= _MISSED) | (_VISITS == 0))
    who, planned = np.nonzero(kept)
    who = np.concatenate([who, np.arange(persons)])
    month = np.concatenate([_VISITS[planned], months])
    # Within its month, so that no two visits of a patient are on one day.
    day = np.floor(month * 30.4375 + np.where(month > 0, rng.uniform(0, 30, month.size), 0.0)).astype(np.int64)

    psa = _psa(cohort, first, score, recurrence, end, who, month, rng)
    order = np.lexsort((patient[who], start[who] + day))
    who = who[order]
    return {
        "patient_id": patient[who],
        "visit_date": (start[who] + day[order]),
        "visit_month": month[order],
        "psa": psa[order],
        "arm": Coded(ARMS, arm[who]),
        "months": months[who],
        "recurrence": recurrence[who],
    }


def _psa(
    cohort: Columns,
    first: NDArray[np.intp],
    score: NDArray[np.int64],
    recurrence: NDArray[np.bool_],
    end: Floats,
    who: NDArray[np.int64],
    month: NDArray[np.int64],
    rng: np.random.Generator,
) -> Floats:
    """Return a value per visit: a start by score, a fall by therapy, a rise before a recurrence; NaN is missing."""
    persons = first.size
    start = np.array(_PSA_AT_START)[score] * np.exp(0.45 * rng.standard_normal(persons))
    therapy = cohort["therapy"]
    assert isinstance(therapy, Coded)
    left = np.array([_LEFT_BY_THERAPY.get(name, 1.0) for name in THERAPIES])[therapy.codes[first]]
    yearly = np.where(left < 1, 1.0, 1.04)  # untreated, it grows a little with age
    rest = start * left * np.exp(0.3 * rng.standard_normal(persons))
    level = np.where(month == 0, start[who], rest[who] * yearly[who] ** (month / 12))
    # The value on the day of a recurrence: several times the rest, and plainly measurable after surgery.
    peak = np.maximum(rest * rng.uniform(3, 8, persons), rng.uniform(1.0, 4.0, persons))
    doublings = np.log2(peak / rest)
    risen = np.clip(1 - (end[who] - month) / _WARNING_MONTHS, 0, 1) * recurrence[who]
    level = np.where(month == 0, level, level * 2.0 ** (doublings[who] * risen))
    value = np.round(level * np.exp(0.08 * rng.standard_normal(month.size)), 1).clip(0.0, 100.0)
    value[rng.random(month.size) < _NO_PSA] = np.nan
    return value


def _numbers(column: Any) -> NDArray[np.int64]:
    assert isinstance(column, Nullable)
    return column.numbers


def _missing(column: Any) -> NDArray[np.bool_]:
    assert isinstance(column, Nullable)
    return column.missing
