"""What is a function of the real data reaches the owner alone: no partner's page, file, receipt or answer has it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

CANARY = 0.7731442


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Plant a number that stands nowhere else into the disclosure report, and note who computes one."""
    from pydplib.web.synthetic import originals

    seen: list[str] = []
    real = originals.disclosure_report

    def report(table: Any, frame: Any) -> Any:
        seen.append("report")
        found = real(table, frame)
        return replace(found, copies=CANARY, attribute=dict.fromkeys(found.attribute, CANARY))

    monkeypatch.setattr(originals, "disclosure_report", report)
    return seen


def everything_for(client: Any, key: str) -> str:
    """Return all that somebody can get at the addresses of a table."""
    found = [client.get(f"/synthetic/{key}{more}").content for more in ("", "/receipt", "/progress")]
    found += [client.post(f"/synthetic/{key}/download/{kind}").content for kind in ("csv", "json", "copies")]
    found += [client.get("/synthetic").content, client.get("/budget").content, client.get("/").content]
    found += [client.post(f"/synthetic/{key}/original").content, client.get(f"/synthetic/{key}/original").content]
    return b"".join(found).decode(errors="replace")


def test_owner_sees_original_and_report_after_a_logged_look(
    study: Any, tara: Any, owner: Any, bought: Any, planted: list[str]
) -> None:
    from pydplib.web.auditlog.models import Line
    from pydplib.web.ledger.database import DatabaseLedger

    plain = owner.get(f"/synthetic/{bought.key}").text
    assert "exact functions of the data" not in plain and "Show the original next to it" in plain and not planted
    page = owner.post(f"/synthetic/{bought.key}/original")
    assert page.status_code == 200 and planted == ["report"]
    assert "77.3 %" in page.text and "Original" in page.text and "Rows that somebody has" in page.text
    assert Line.objects.filter(action="synthetic.original", subject=bought.key).count() == 1
    looks = [entry for entry in DatabaseLedger().entries(lineage=study.project.key) if entry.kind == "look"]
    assert looks[-1].details["note"] == f"synthetic table {bought.key}"


def test_nobody_else_gets_a_function_of_the_data(
    study: Any, tara: Any, owner: Any, member: Any, bought: Any, planted: list[str]
) -> None:
    owner.post(f"/synthetic/{bought.key}/original")
    planted.clear()
    others = [tara, member("carl", "collaborator", "Bcme"), member("dora", "data_protection_officer", "St. Example")]
    for client in others:
        text = everything_for(client, bought.key)
        assert "77.3 %" not in text and str(CANARY) not in text and "exact functions" not in text
    assert not planted, "nobody else made a report be computed"
    assert member("rita", "third_party", "Rival").get(f"/synthetic/{bought.key}").status_code == 404
    assert tara.post(f"/synthetic/{bought.key}/original").status_code == 403


def test_a_page_that_showed_the_report_would_be_found(tara: Any, bought: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pydplib.web.synthetic import views

    real = views._contents
    monkeypatch.setattr(views, "_contents", lambda *given: real(*given) | {"fidelity": f"{100 * CANARY:.1f} %"})
    assert "77.3 %" in everything_for(tara, bought.key)


def test_original_rows_are_those_that_the_table_counted(study: Any, bought: Any) -> None:
    import numpy as np

    from pydplib.synthesis.counters import EngineCounter
    from pydplib.synthesis.disclosure import codes_of
    from pydplib.synthesis.purchase import bound_of
    from pydplib.web.intake.snapshots import load_snapshot
    from pydplib.web.synthetic.originals import original_rows
    from pydplib.web.synthetic.purchases import snapshot_of
    from pydplib.web.synthetic.tables import table_of

    table = table_of(bought)
    rows = original_rows(bought, table)
    codes = codes_of(table.variables, {name: np.array(values, dtype=object) for name, values in rows.items()})
    with load_snapshot(snapshot_of(bought)) as data:
        counter = EngineCounter(data, table.variables, bound_of(data.schema, "persons", table.variables))
        for place, variable in enumerate(table.variables):
            exact = counter.counts((place,))
            assert np.bincount(codes[place], minlength=variable.size).tolist() == exact.tolist(), variable.name


def test_two_drawings_of_one_figure_have_one_axis(study: Any, owner: Any, bought: Any) -> None:
    from pydplib.web.synthetic.originals import look
    from pydplib.web.synthetic.tables import table_of

    pairs = look(owner.user, bought, table_of(bought)).pairs
    assert pairs
    for synthetic, original in pairs:
        axis = "xaxis" if synthetic.label == "Figure 3" else "yaxis"
        assert synthetic.figure.layout[axis].range == original.figure.layout[axis].range is not None
