"""The owner's story in a real browser: first set-up, project, import with two bad rows, policy, preview."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import needs_chromium

pytestmark = [
    pytest.mark.browser,
    needs_chromium,
]
BAD = {10: ("age", "sixty", "60"), 500: ("pirads", "9", "4")}
"""Line of the file -> field, what stands there, what it should have been."""
STORED = """
from pydplib.web.auditlog.models import Line
from pydplib.web.auditlog.verification import verify
from pydplib.web.projects.models import Project
from pydplib.web.reporting.models import Report
project = Project.objects.get()
rule = project.rules.get(audience="third_party")
print(json.dumps({
    "reports": Report.objects.filter(state="signed").count(), "version": project.data_version,
    "corrected": Report.objects.filter(values__age=60).count(), "fields": rule.fields, "budget": rule.budget,
    "cap": rule.epsilon_per_question, "chain": bool(verify()),
    "actions": sorted(set(Line.objects.values_list("action", flat=True))),
}))
"""


def cohort_file(path: Path) -> dict[str, int]:
    """Write the synthetic cohort as a German hospital's spreadsheet does, with two bad cells; return true counts."""
    from pydplib.datasets import pirads

    rows = pirads(seed=7, backend="polars").to_dicts()
    for line, (name, wrong, _) in BAD.items():
        rows[line - 2] |= {"pca_no_pirads": False, name: wrong}  # line 1 has the names
    with path.open("w", encoding="latin-1", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=";")
        writer.writeheader()
        writer.writerows(
            {
                name: "" if cell is None else ("ja" if cell else "nein") if isinstance(cell, bool) else
                cell.strftime("%d.%m.%Y") if isinstance(cell, dt.date) else cell
                for name, cell in row.items()
            }
            for row in rows
        )  # fmt: skip
    return {"rows": len(rows), "sixty": sum(row["age"] in (60, "sixty") for row in rows)}


def test_owner_sets_up_imports_920_rows_mends_two_sets_the_policy_and_looks_as_third_party(
    platform: Any, tmp_path: Path
) -> None:
    true = cohort_file(tmp_path / "export.csv")
    assert true["rows"] == 920
    ada = platform.visitor("owner")
    ada.set_up(platform.served.setup_link, hospital="St. Example", username="ada")
    ada.picture("1-home")

    page = ada.go("/projects/new")
    ada.fill(name="Prostate MRI", purpose="Which scores go with which age", legal_basis="Ethics vote 12/2018")
    ada.fill(retention_until=str(dt.date.today().replace(month=1, day=1) + dt.timedelta(days=3653)))
    page.get_by_label("(pirads-paper)").check(force=True)
    ada.press("Create the project")
    page.wait_for_url("**/projects/*")

    ada.go("/import")
    page.set_input_files("#id_file", tmp_path / "export.csv")
    ada.press("Upload")
    page.get_by_role("heading", name="Match columns").wait_for()
    assert "920 rows" in page.locator(".lead").inner_text()
    ada.picture("2-columns")
    ada.press("Dry run")
    page.get_by_role("heading", name="Dry run").wait_for()
    assert page.locator("section[id^='row-']").count() == len(BAD)
    ada.picture("3-dry-run")
    for line, (name, wrong, right) in BAD.items():
        row = page.locator(f"#row-{line}")
        cell = row.locator(f"[name='field:{name}']")
        assert cell.input_value() == wrong and wrong not in row.locator("ul").inner_text(), "no cell in a message"
        cell.fill(right)
        row.get_by_role("button", name="Check this row again").click()
        page.get_by_text(f"Row {line} is good now.").wait_for()
    ada.picture("4-corrected")
    ada.press("Accept")
    page.get_by_text("920 reports imported").wait_for()
    assert not list((platform.served.home / "uploads").iterdir()), "the uploaded file is gone"

    ada.go("/policy")
    ada.confirm_if_asked()
    page.get_by_role("row", name="Third party").get_by_role("link", name="Edit").click()
    ada.confirm_if_asked()
    page.locator("input[name='fields_extent'][value='some']").check(force=True)
    for name in ("age", "pirads", "year"):
        page.locator(f"input[name='open_fields'][value='{name}']").check(force=True)
    page.locator("input[name='filters_extent'][value='none']").check(force=True)
    ada.fill(epsilon_per_question="0.25", budget="1")
    ada.picture("5-rule")
    ada.press("Save")
    page.get_by_text("Saved; it counts from the next click on.").wait_for()
    ada.picture("6-policy")

    ada.press("Third party")
    page.get_by_role("button", name="End the preview").wait_for()
    ada.go("/policy/access")
    rows = {
        row.locator("th").inner_text(): row.locator("td").all_inner_texts()
        for row in page.locator("table").nth(1).locator("tbody tr").all()
    }
    opened = {name for name, cells in rows.items() if "allowed" in cells[2].lower()}
    assert opened == {"Age", "PI-RADS score", "Year"}
    assert not any("allowed" in cells[1].lower() for cells in rows.values()), "no raw rows for third parties"
    ada.picture("7-as-third-party")
    ada.expected.add(403)
    ada.go("/data")
    assert "Third party" in page.locator("body").inner_text()
    assert page.locator("tbody tr").count() == 0, "nothing of the data in the preview"
    ada.picture("8-refused-in-the-preview")
    ada.go("/policy/access")
    ada.press("End the preview")
    ada.go("/data")
    assert page.locator("tbody tr").count() > 0, "the owner again"
    assert urlsplit(page.url).path == "/data"

    stored = platform.run(STORED)
    assert (stored["reports"], stored["version"], stored["corrected"]) == (920, 1, true["sixty"])
    assert (stored["budget"], stored["cap"], sorted(stored["fields"])) == (1.0, 0.25, ["age", "pirads", "year"])
    assert stored["chain"]
    assert {"hospital.set_up", "import.mend", "import.accept", "door.refuse"} <= set(stored["actions"])
