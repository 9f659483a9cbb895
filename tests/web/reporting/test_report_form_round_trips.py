from __future__ import annotations

from report_forms import post


def test_x(reader, write, answers):
    r = write(reader, answers)
    assert r.values["pirads"] == 4
