"""A few made-up reports and dictated texts for the demonstration; nobody in them exists."""

from __future__ import annotations

DEPARTMENT = "SYN-RAD"

COMPUTED: tuple[dict[str, object], ...] = (
    {
        "table": "",
        "name": "first_score",
        "column": {
            "kind": "category",
            "values": [1, 2, 3, 4, 5],
            "ordered": True,
            "label": "sensitive",
            "title": "First PI-RADS score",
            "derived": "first(pirads by last_modified)",
        },
    },
    {
        "table": "follow_up",
        "name": "psa_change",
        "column": {
            "kind": "number",
            "low": -20,
            "high": 20,
            "unit": "ng/ml",
            "label": "sensitive",
            "title": "Change of PSA",
            "derived": "change(psa by visit_date)",
        },
    },
    {
        "table": "follow_up",
        "name": "first_arm",
        "column": {
            "kind": "category",
            "values": ["standard", "intensified"],
            "label": "sensitive",
            "title": "Arm of the patient",
            "derived": "first(arm by visit_date)",
        },
    },
    {
        "table": "follow_up",
        "name": "high_psa",
        "column": {
            "kind": "integer",
            "low": 0,
            "high": 12,
            "unit": "visits",
            "label": "sensitive",
            "title": "Visits with a PSA of 10 or more",
            "derived": "count_of(psa >= 10)",
        },
    },
)
"""Computed columns of the demonstration: what can be asked of each patient."""

REPORTS: tuple[dict[str, object], ...] = (
    {
        "patient_id": "SYN-R-001",
        "exam_date": "2025-03-12",
        "age": 61,
        "histology": False,
        "therapy": "no therapy",
        "psa": 5.8,
        "prostate_volume": 46.0,
        "image_quality": "optimal",
        "bph": True,
        "prostatitis": "n",
        "lesion": [
            {
                "sector": "mid-PZpl-L",
                "zone": "PZ",
                "size": 8,
                "t2w": "3",
                "dwi": "3",
                "dce": "neg",
                "extension": "none",
            }
        ],
    },
    {  # the same patient a year later: the earlier report stands next to the new one
        "patient_id": "SYN-R-001",
        "exam_date": "2026-03-18",
        "age": 62,
        "follow_up": True,
        "histology": True,
        "gleason_primary": 3,
        "gleason_secondary": 4,
        "tumour_status": "primary tumour",
        "therapy": "active surveillance",
        "psa": 8.1,
        "prostate_volume": 47.0,
        "image_quality": "optimal",
        "bph": True,
        "prostatitis": "n",
        "lesion": [
            {
                "sector": "mid-PZpl-L",
                "zone": "PZ",
                "size": 13,
                "t2w": "4",
                "dwi": "4",
                "dce": "pos",
                "extension": "none",
            },
            {
                "sector": "base-TZa-R",
                "zone": "TZ",
                "size": 9,
                "t2w": "2",
                "dwi": "4",
                "dce": "neg",
                "extension": "none",
            },
        ],
    },
    {
        "patient_id": "SYN-R-002",
        "exam_date": "2026-05-04",
        "age": 55,
        "histology": False,
        "psa": 3.2,
        "prostate_volume": 31.0,
        "image_quality": "acceptable",
        "prostatitis": "chr",
        "lesion": [],
        "category_without_lesion": 2,
    },
)

TEXTS: tuple[tuple[str, str], ...] = (
    (
        "SYN-R-003",
        "MRI of the prostate, patient of 66 years, PSA 9.4 ng/ml, volume 52 ml. Left peripheral zone, mid-gland, "
        "posterolateral, a 17 mm focus, markedly dark on T2 and on the ADC map, early enhancement. The capsule bulges, "
        "no definite extension. Transition zone with nodules of hyperplasia. Good image quality.",
    ),
    (
        "SYN-R-004",
        "Control under active surveillance, 70 years, Gleason 3+3 in 2024. PSA 6.0, volume 40 ml. Right apex, "
        "peripheral zone, 6 mm, mildly dark on the ADC map, T2 heterogeneous, no early enhancement. No extension.",
    ),
    (
        "SYN-R-005",
        "58 years, raised PSA of 4.1, volume 35 ml. Wedge-shaped dark area in the peripheral zone on both sides after "
        "prostatitis, no focal restriction of diffusion. No suspicious lesion.",
    ),
)
