"""Hierarchies of public code systems: ICD-10 by category, block and chapter; UK postcodes by sector, district, area."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydplib.anonymity.hierarchies.base import Hierarchy
from pydplib.anonymity.hierarchies.rules import read_values
from pydplib.anonymity.tables.columns import ROOT, Resolved, resolve_labels
from pydplib.errors import ParameterError, did_you_mean

# Chapters of ICD-10 (WHO) by their first and last category, each with the first categories of its blocks: compared with
# the 2,050 categories of the version of 2019. U50 and U80 begin blocks of national versions; WHO's starts at U82.
_CHAPTERS = (
    ("A00-B99", "A00 A15 A20 A30 A50 A65 A70 A75 A80 A92 B00 B15 B20 B25 B35 B50 B65 B85 B90 B95 B99"),
    ("C00-D48", "C00 C15 C30 C40 C43 C45 C50 C51 C60 C64 C69 C73 C76 C81 C97 D00 D10 D37"),
    ("D50-D89", "D50 D55 D60 D65 D70 D80"),
    ("E00-E90", "E00 E10 E15 E20 E40 E50 E65 E70"),
    ("F00-F99", "F00 F10 F20 F30 F40 F50 F60 F70 F80 F90 F99"),
    ("G00-G99", "G00 G10 G20 G30 G35 G40 G50 G60 G70 G80 G90"),
    ("H00-H59", "H00 H10 H15 H25 H30 H40 H43 H46 H49 H53 H55"),
    ("H60-H95", "H60 H65 H80 H90"),
    ("I00-I99", "I00 I05 I10 I20 I26 I30 I60 I70 I80 I95"),
    ("J00-J99", "J00 J09 J20 J30 J40 J60 J80 J85 J90 J95"),
    ("K00-K93", "K00 K20 K35 K40 K50 K55 K65 K70 K80 K90"),
    ("L00-L99", "L00 L10 L20 L40 L50 L55 L60 L80"),
    ("M00-M99", "M00 M05 M15 M20 M30 M40 M45 M50 M60 M65 M70 M80 M86 M91 M95"),
    ("N00-N99", "N00 N10 N17 N20 N25 N30 N40 N60 N70 N80 N99"),
    ("O00-O99", "O00 O10 O20 O30 O60 O80 O85 O94"),
    ("P00-P96", "P00 P05 P10 P20 P35 P50 P70 P75 P80 P90"),
    ("Q00-Q99", "Q00 Q10 Q20 Q30 Q35 Q38 Q50 Q60 Q65 Q80 Q90"),
    ("R00-R99", "R00 R10 R20 R25 R30 R40 R47 R50 R70 R80 R83 R90 R95"),
    ("S00-T98", "S00 S10 S20 S30 S40 S50 S60 S70 S80 S90 T00 T08 T15 T20 T26 T29 T33 T36 T51 T66 T79 T80 T90"),
    ("U00-U99", "U00 U50 U80"),
    ("V01-Y98", "V01 W00 X60 X85 Y10 Y35 Y40 Y85 Y90"),
    ("Z00-Z99", "Z00 Z20 Z30 Z40 Z55 Z70 Z80"),
)
_BLOCKS = sorted((first, chapter) for chapter, blocks in _CHAPTERS for first in blocks.split())
_FIRSTS = [first for first, _ in _BLOCKS]
_ICD = re.compile(r"([A-Za-z][0-9][0-9A-Za-z])(?:[.\-]?[0-9A-Za-z*+!\-]{0,5})?")
_UK = re.compile(r"([A-Za-z]{1,2})([0-9][A-Za-z0-9]?)\s*([0-9])([A-Za-z]{2})")


def _icd_labels(value: Any) -> tuple[str, ...] | None:
    """Return category, block and chapter of a code, or None if it is none.

    Examples:
        >>> _icd_labels("E11.9"), _icd_labels("C61"), _icd_labels("hello")
        (('E11', 'E10-', 'E00-E90'), ('C61', 'C60-', 'C00-D48'), None)
    """
    found = _ICD.fullmatch(str(value).strip())
    if found is None:
        return None
    category = found.group(1).upper()
    # A letter in the third place (ICD-10-CM's C7A) belongs to the ten before it.
    at = bisect_right(_FIRSTS, f"{category[:2]}9" if category[2].isalpha() else category) - 1
    if at < 0:
        return None
    first, chapter = _BLOCKS[at]
    return category, f"{first}-", chapter


def _uk_labels(value: Any) -> tuple[str, ...] | None:
    """Return sector, district and area of a postcode, or None if it is none.

    Examples:
        >>> _uk_labels("sw1a1aa"), _uk_labels("M1 4BT"), _uk_labels("80331")
        (('SW1A 1', 'SW1A', 'SW'), ('M1 4', 'M1', 'M'), None)
    """
    found = _UK.fullmatch(str(value).strip())
    if found is None:
        return None
    area, rest, sector, _ = (part.upper() for part in found.groups())
    return f"{area}{rest} {sector}", f"{area}{rest}", area


@dataclass(frozen=True)
class _System:
    """How a code system groups its codes, and roughly how many groups each level has (for the loss)."""

    labels: Callable[[Any], tuple[str, ...] | None]
    groups: tuple[int, ...]
    what: str


SYSTEMS: dict[str, _System] = {
    "icd-10": _System(_icd_labels, (2000, len(_BLOCKS), len(_CHAPTERS)), "are not ICD-10 codes"),
    "uk-postcode": _System(_uk_labels, (11000, 3000, 124), "are not UK postcodes"),
}
"""The code systems that are known, by name."""


class Codes(Hierarchy, kind="codes"):
    """Codes of a public system, made coarser along its own groups; nothing is taken from the data.

    ``"icd-10"``: code, category, block, chapter, "*"; a block is named by its first category, so that national
    versions with other ends fit too. ``"uk-postcode"``: postcode, sector, district, area, "*".

    Args:
        system: ``"icd-10"`` or ``"uk-postcode"``.

    Examples:
        >>> Codes("icd-10").labels("E11.9")
        ('E11.9', 'E11', 'E10-', 'E00-E90', '*')
        >>> Codes("uk-postcode").labels("SW1A 1AA")
        ('SW1A 1AA', 'SW1A 1', 'SW1A', 'SW', '*')
    """

    def __init__(self, system: str) -> None:
        if system not in SYSTEMS:
            raise ParameterError(f"Unknown code system '{system}'.{did_you_mean(system, SYSTEMS)}")
        self.system = system

    @property
    def height(self) -> int:
        """The number of levels above the values."""
        return len(SYSTEMS[self.system].groups) + 1

    def resolve(self, name: str, values: Sequence[Any]) -> Resolved:
        """Return the codes, labels and costs of ``values`` at every level."""
        system = SYSTEMS[self.system]
        present, found = read_values(name, values, system.labels, system.what)
        labels: list[list[Any]] = [list(present)]
        points = [[0.0] * len(present)]
        for level, groups in enumerate(system.groups):
            labels.append([parts[level] for parts in found])
            points.append([1.0 / groups] * len(present))
        labels.append([ROOT] * len(present))
        points.append([1.0] * len(present))
        return resolve_labels(name, values, labels, points, math.inf)

    def to_dict(self) -> dict[str, Any]:
        """Return the hierarchy as plain values, ready for JSON."""
        return {"kind": "codes", "system": self.system}

    def __repr__(self) -> str:
        return f"Codes({self.system!r})"
