"""PI-RADS 2.1: category, patient level, PSA density, ISUP grade, significance, contradictions. Pure functions.

Rules after: Prostate Imaging Reporting and Data System, version 2.1 (ACR, ESUR, AdMeTech, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import MappingProxyType

from pydplib.errors import ParameterError, did_you_mean

PHRASES = MappingProxyType(
    {
        1: "very low: clinically significant cancer is highly unlikely",
        2: "low: clinically significant cancer is unlikely",
        3: "intermediate: clinically significant cancer is equivocal",
        4: "high: clinically significant cancer is likely",
        5: "very high: clinically significant cancer is highly likely",
    }
)
"""What each category says (Table 1 of the PyDPLib paper); it labels the score everywhere."""

ZONES = MappingProxyType(
    {
        "PZ": "peripheral zone",
        "TZ": "transition zone",
        "CZ": "central zone",
        "AFS": "anterior fibromuscular stroma",
    }
)
"""The zones of the prostate. CZ and AFS have no scores of their own."""

SCORED_ZONES = ("PZ", "TZ")
DCE = ("neg", "pos", "X")
LARGE_MM = 15
"""From this size on, a score-4 appearance is scored 5."""

SIGNIFICANT_GLEASON = 7
SIGNIFICANT_ML = 0.5


def _sectors() -> dict[str, str]:
    """Build the sector map of version 2.1: 38 sectors of the prostate, seminal vesicles and sphincter."""
    parts = {
        "PZpm": "posteromedial peripheral zone",
        "PZpl": "posterolateral peripheral zone",
        "PZa": "anterior peripheral zone",
        "CZ": "central zone",
        "TZp": "posterior transition zone",
        "TZa": "anterior transition zone",
        "AFS": "anterior fibromuscular stroma",
    }
    sectors = {}
    for level in ("base", "mid", "apex"):
        for side, word in (("R", "right"), ("L", "left")):
            for part, name in parts.items():
                if part == "CZ" and level != "base":  # the central zone surrounds the ducts at the base only
                    continue
                sectors[f"{level}-{part}-{side}"] = f"{word} {level}, {name}"
    sectors |= {"SV-R": "right seminal vesicle", "SV-L": "left seminal vesicle", "US": "membranous urethra"}
    return sectors


SECTORS = MappingProxyType(_sectors())
"""Sector -> its name in words: the 41 places of the version 2.1 map."""


def sector_zone(sector: str) -> str | None:
    """Return the zone a sector lies in, None outside the prostate.

    Examples:
        >>> sector_zone("mid-PZpl-R"), sector_zone("SV-L")
        ('PZ', None)
    """
    if sector not in SECTORS:
        raise ParameterError(f"Unknown sector '{sector}'.{did_you_mean(sector, SECTORS)}")
    part = sector.split("-")[1] if sector.count("-") == 2 else ""
    return next((zone for zone in ZONES if part.startswith(zone)), None)


def _score(name: str, value: int | str) -> int | None:
    """Read a score 1 to 5; None for X, a sequence that is missing or not good enough."""
    if not isinstance(value, bool) and str(value) in ("1", "2", "3", "4", "5"):
        return int(value)
    if value == "X":
        return None
    raise ParameterError(f"{name} must be a score from 1 to 5, or 'X' if it cannot be judged.")


def category(*, zone: str, t2w: int | str, dwi: int | str, dce: str) -> int | None:
    """Return the PI-RADS 2.1 category of one lesion, 1 to 5, or None where there is none.

    Peripheral zone: the DWI score; 3 with positive contrast enhancement becomes 4. Transition zone:
    the T2W score; 2 with DWI 4 or 5 becomes 3, 3 with DWI 5 becomes 4. Without DWI, T2W takes its
    place. Without contrast, enhancement counts as negative. Without both, the examination serves
    staging only and there is no category; nor is there one where the leading sequence and its
    substitute are both missing.

    Args:
        zone: ``"PZ"`` or ``"TZ"``. A lesion of the central zone or the anterior stroma is scored as
            the zone that it comes from: give that one.
        t2w: T2-weighted score 1 to 5, or ``"X"``.
        dwi: Diffusion score 1 to 5, or ``"X"``.
        dce: Dynamic contrast enhancement: ``"neg"``, ``"pos"`` or ``"X"``.

    Raises:
        ParameterError: A value outside these.

    Examples:
        >>> category(zone="PZ", t2w=2, dwi=3, dce="pos")
        4
        >>> category(zone="TZ", t2w=3, dwi=4, dce="pos")
        3
        >>> category(zone="TZ", t2w=3, dwi="X", dce="X") is None
        True
    """
    if zone in ("CZ", "AFS"):
        raise ParameterError(
            f"A lesion of the {ZONES[zone]} is scored as the zone that it comes from. Give zone='PZ' or zone='TZ'."
        )
    if zone not in SCORED_ZONES:
        raise ParameterError(f"zone must be 'PZ' or 'TZ'.{did_you_mean(zone, ZONES)}")
    if dce not in DCE:
        raise ParameterError(f"dce must be 'neg', 'pos' or 'X'.{did_you_mean(dce, DCE)}")
    t2w_score, dwi_score = _score("t2w", t2w), _score("dwi", dwi)
    if dwi_score is None and dce == "X":
        return None
    if zone == "PZ":
        leading = t2w_score if dwi_score is None else dwi_score
        return 4 if leading == 3 and dce == "pos" else leading
    if dwi_score is not None and t2w_score == 2 and dwi_score >= 4:
        return 3
    if dwi_score is not None and t2w_score == 3 and dwi_score == 5:
        return 4
    return t2w_score


def patient_category(lesions: Iterable[int | None]) -> int | None:
    """Return the patient's category: that of the highest lesion; None if no lesion has one.

    Examples:
        >>> patient_category([2, 4, None])
        4
    """
    scores = [lesion for lesion in lesions if lesion is not None]
    if any(isinstance(score, bool) or score not in PHRASES for score in scores):
        raise ParameterError("Categories are whole numbers from 1 to 5, or None.")
    return max(scores, default=None)


def psa_density(*, psa: float, volume: float) -> float:
    """Return PSA (ng/mL) per prostate volume (mL).

    Examples:
        >>> psa_density(psa=6.0, volume=40.0)
        0.15
    """
    if not (math.isfinite(psa) and math.isfinite(volume) and psa >= 0 and volume > 0):
        raise ParameterError("PSA density needs a PSA of at least 0 and a volume above 0.")
    return psa / volume


def isup_grade(primary: int, secondary: int) -> int:
    """Return the ISUP grade group, 1 to 5, of a Gleason score given as its two patterns.

    Grade 1: up to 3+3; 2: 3+4; 3: 4+3; 4: sum 8; 5: sum 9 or 10.

    Examples:
        >>> isup_grade(3, 4), isup_grade(4, 3)
        (2, 3)
    """
    for pattern in (primary, secondary):
        if isinstance(pattern, bool) or pattern not in (1, 2, 3, 4, 5):
            raise ParameterError("A Gleason pattern is a whole number from 1 to 5; graded today are 3, 4 and 5.")
    total = primary + secondary
    if total <= 6:
        return 1
    if total == 7:
        return 2 if primary <= 3 else 3
    return 4 if total == 8 else 5


def clinically_significant(
    *, gleason: int | None = None, volume: float | None = None, extension: bool | None = None
) -> bool | None:
    """Whether a cancer is clinically significant: Gleason >= 7, or >= 0.5 ml, or beyond the prostate.

    Returns:
        True if one of the three is known to hold, False if all three are known not to, else None.

    Examples:
        >>> clinically_significant(gleason=6, volume=0.7), clinically_significant(gleason=6)
        (True, None)
    """
    facts = (
        None if gleason is None else gleason >= SIGNIFICANT_GLEASON,
        None if volume is None else volume >= SIGNIFICANT_ML,
        extension,
    )
    if any(facts):
        return True
    return None if None in facts else False


def contradictions(
    *, t2w: int | str, dwi: int | str, size: float | None = None, extension: str | None = None
) -> tuple[str, ...]:
    """Return a warning for each sequence whose score contradicts the lesion's size or extension.

    In both sequences, 5 is the appearance of a 4 with at least 15 mm or definite extension. Only
    what is stated can contradict: without a size there is no warning about size. The category is
    not looked at, for a 4 may also be a 3 that was raised.

    Args:
        t2w: T2-weighted score 1 to 5, or ``"X"``.
        dwi: Diffusion score 1 to 5, or ``"X"``.
        size: Greatest diameter in mm.
        extension: Extraprostatic extension: ``"none"``, ``"possible"`` or ``"definite"``.

    Examples:
        >>> contradictions(t2w=4, dwi=5, size=9, extension="none")
        ('DWI 5 needs at least 15 mm or definite extraprostatic extension; neither is stated.',)
        >>> contradictions(t2w=4, dwi=4, size=9, extension="none")
        ()
    """
    definite = extension == "definite"
    large = size is not None and size >= LARGE_MM
    small = size is not None and size < LARGE_MM
    warnings = []
    for name, raw in (("T2W", t2w), ("DWI", dwi)):
        score = _score(name, raw)
        if score == 5 and small and not definite:
            warnings.append(
                f"{name} 5 needs at least {LARGE_MM} mm or definite extraprostatic extension; neither is stated."
            )
        if score == 4 and (large or definite):
            reason = f"a lesion of {LARGE_MM} mm or more" if large else "definite extraprostatic extension"
            warnings.append(f"{name} 4 contradicts {reason}: the same appearance is then scored 5.")
    return tuple(warnings)


def sector_contradiction(*, sector: str, zone: str) -> str | None:
    """Return a warning where the zone is not the one that the sector lies in.

    Examples:
        >>> sector_contradiction(sector="mid-PZpl-R", zone="TZ")
        'The sector lies in the peripheral zone, but the zone says transition zone.'
        >>> sector_contradiction(sector="mid-PZpl-R", zone="PZ")
    """
    if zone not in ZONES:
        raise ParameterError(f"Unknown zone '{zone}'.{did_you_mean(zone, ZONES)}")
    true_zone = sector_zone(sector)
    if true_zone is None or true_zone == zone:
        return None
    return f"The sector lies in the {ZONES[true_zone]}, but the zone says {ZONES[zone]}."
