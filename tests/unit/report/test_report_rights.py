from __future__ import annotations

import stat
from pathlib import Path

import pandas as pd

import pydplib as dp
from pydplib.report.anonymization import anonymization_report


def test_a_written_report_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": [40, 41, 42, 43] * 5, "sex": ["m", "f"] * 10})
    result = dp.anonymize(
        table,
        quasi_identifiers={"age": dp.anonymity.Intervals(40, 50, widths=[5]), "sex": dp.Hierarchy.flat(["m", "f"])},
        models=[dp.KAnonymity(2)],
    )
    path = anonymization_report(result).write(tmp_path / "report.html")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
