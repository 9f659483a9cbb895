"""An export from the plan to the recall, through the pages: who gets what, what stands in ledger and log."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from export_study import CANARY, FEW, make_export, open_to


def lines_of(project: Any, action: str) -> Any:
    from pydplib.web.auditlog.models import Line

    return Line.objects.filter(project=project.key, action=action)


def entries_of(project: Any, **where: Any) -> list[Any]:
    from pydplib.web.ledger.database import DatabaseLedger

    return [e for e in DatabaseLedger().entries(lineage=project.key, **where) if e.kind == "no_dp"]


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_owner_plans_step_by_step_and_partner_downloads(study: Any, partner: Any, tmp_path: Path) -> None:
    from pydplib.anonymity import verify
    from pydplib.schema import Schema
    from pydplib.web.exports.models import Export

    owner, project, tara = study.client, study.project, partner()
    first = owner.get("/anonymize/new").content.decode()
    assert "Who may receive it" in first and "may get statistics with much noise at most" in first, "said at once"
    answer = owner.post("/anonymize/new", {"title": "Scores", "source": "published", "rows": "latest"})
    export = Export.objects.get()
    assert answer.url == f"/anonymize/{export.key}/fields"
    page = owner.get(answer.url).content.decode()
    assert "Quasi-identifier" in page and "Person" in page and CANARY not in page
    assert "Who may receive it" in page and "Nobody may receive" in page
    fields = {name: FEW.get(name, "drop") for name, _ in export.plan["fields"]}
    answer = owner.post(answer.url, fields)
    assert answer.url == f"/anonymize/{export.key}/models"
    assert "narrowed down to fewer people" in owner.get(answer.url).content.decode()
    chosen = {"k": 4, "l_kind": "distinct", "l_value": 2, "t_kind": "", "suppression": 20, "minutes": 1}
    answer = owner.post(answer.url, chosen | {"mixed": ["pirads", "bph"]})
    assert answer.url == f"/anonymize/{export.key}/coarsening"
    assert "58-67" in owner.get(answer.url).content.decode()
    answer = owner.post(answer.url, {"tree-age": "10, 20, 40", "action": "next"})
    assert answer.url == f"/anonymize/{export.key}"
    export.refresh_from_db()
    assert export.plan["hierarchies"]["age"]["widths"] == [10, 20, 40]
    owner.post(f"/anonymize/{export.key}/run")
    export.refresh_from_db()
    assert (export.state, export.problem) == ("ready", "")
    page = owner.get(f"/anonymize/{export.key}").content.decode()
    assert "Risk before and after" in page and "4-anonymity" in page and CANARY not in page
    assert "may get statistics with much noise at most" in page  # why the third party cannot have it

    # The policy has not opened it: refused, logged, and nothing stands in the ledger.
    assert tara.client.get(f"/anonymize/{export.key}").status_code == 404
    refused = owner.post(f"/anonymize/{export.key}/release", {"audience": "third_party"})
    assert refused.status_code == 403 and lines_of(project, "flow.refuse").count() == 1
    assert not entries_of(project)

    open_to(project, "third_party")
    assert owner.post(f"/anonymize/{export.key}/release", {"audience": "third_party"}).status_code == 302
    assert [e.recipient for e in entries_of(project)] == ["audience:third_party"]
    assert "Scores" in tara.client.get("/anonymize").content.decode()
    page = tara.client.get(f"/anonymize/{export.key}").content.decode()
    assert "What is guaranteed" in page and "Before" not in page and "left out" not in page
    got = tara.client.post(f"/anonymize/{export.key}/download/csv")
    text = body(got).decode()
    assert got.status_code == 200 and "attachment" in got["Content-Disposition"]
    heads = next(csv.reader(io.StringIO(text)))
    declared = Schema.from_json(export.snapshot.schema).columns
    assert heads == [name for name in declared if name in FEW] and CANARY not in text
    assert lines_of(project, "export.download").count() == 1
    given = entries_of(project, recipient=tara.user.hospital.key)
    assert len(given) == 1 and given[0].cost.mechanism.startswith("anonymize: 4-anonymity")
    assert given[0].details["note"] == f"export {export.key}"

    # The certificate, from the file alone.
    certificate = json.loads(body(tara.client.get(f"/anonymize/{export.key}/certificate")))
    assert certificate["sha256"]["csv"] == hashlib.sha256(text.encode()).hexdigest()
    file = tmp_path / "got.csv"
    file.write_text(text)
    found = verify(file, certificate["quasi_identifiers"], certificate["sensitive"])
    assert found.k == certificate["k"] >= 4
    assert len(text.splitlines()) - 1 == certificate["rows"]
    measured = {(s["model"], s["sensitive"]): s["value"] for s in certificate["statements"]}
    for name in certificate["sensitive"]:
        assert found.sensitive[name].l_distinct == measured["2-diversity (distinct)", name] >= 2


def test_parquet_holds_the_same_rows_as_the_csv(study: Any, partner: Any) -> None:
    import pyarrow.parquet as parquet

    open_to(study.project, "third_party")
    export, tara = make_export(study.project, study.owner), partner()
    study.client.post(f"/anonymize/{export.key}/release", {"audience": "third_party"})
    table = parquet.read_table(io.BytesIO(body(tara.client.post(f"/anonymize/{export.key}/download/parquet"))))
    text = body(tara.client.post(f"/anonymize/{export.key}/download/csv")).decode()
    rows = list(csv.reader(io.StringIO(text)))
    assert table.column_names == rows[0]
    assert [["" if c is None else str(c) for c in row.values()] for row in table.to_pylist()] == rows[1:]
    assert not table.schema.metadata
    assert export.downloads.count() == 2
    assert len(entries_of(study.project, recipient=tara.user.hospital.key)) == 1  # one table, one entry


def test_snapshot_order_and_pseudonyms_are_not_in_the_files(study: Any) -> None:
    from pydplib.web.exports import files as storing
    from pydplib.web.patients.models import Patient

    export = make_export(study.project, study.owner)
    again = make_export(study.project, study.owner, title="Again")
    text = storing.path_of(export, "csv").read_text()
    for pseudonym in Patient.objects.filter(project=study.project).values_list("pseudonym", flat=True):
        assert pseudonym not in text
    other = storing.path_of(again, "csv").read_text()
    assert sorted(text.splitlines()) == sorted(other.splitlines()) and text != other  # shuffled again
    assert oct(storing.path_of(export, "csv").stat().st_mode & 0o777) == "0o600"
    assert oct(storing.path_of(export, "trace").stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize(
    ("role", "released_to", "opened", "listed", "page", "file"),
    [
        ("third_party", "third_party", True, True, 200, 200),
        ("third_party", "collaborator", True, False, 404, 404),
        ("third_party", "third_party", False, False, 403, 403),  # the policy closed it afterwards
        ("collaborator", "collaborator", True, True, 200, 200),
        ("radiologist", "third_party", True, False, 403, 403),
        ("data_protection_officer", "third_party", True, False, 403, 403),
    ],
)
def test_who_sees_and_gets_a_released_table(
    study: Any, partner: Any, role: str, released_to: str, opened: bool, listed: bool, page: int, file: int
) -> None:
    from pydplib.web.exports.releases import release

    open_to(study.project, released_to)
    export, who = make_export(study.project, study.owner), partner(role)
    release(study.owner, export, [released_to])
    if not opened:
        study.project.rules.filter(audience=released_to).update(label="dp_high")
    assert ("Ages and scores" in who.client.get("/anonymize").content.decode()) == listed
    assert who.client.get(f"/anonymize/{export.key}").status_code == page
    assert who.client.post(f"/anonymize/{export.key}/download/csv").status_code == file
    assert export.downloads.count() == (file == 200)
    if not opened:
        assert lines_of(study.project, "flow.refuse").count() >= 2


def test_group_of_the_policy_gets_what_was_released_to_it(study: Any, partner: Any) -> None:
    from pydplib.web.exports.releases import release
    from pydplib.web.projects.models import Rule

    Rule.objects.create(project=study.project, audience="group:acme", label="k_anonymous", fields=["*"], filters=["*"])
    export = make_export(study.project, study.owner)
    inside, outside = partner(groups=["acme"]), partner(username="tom", organisation="Other")
    release(study.owner, export, ["group:acme"])
    assert inside.client.post(f"/anonymize/{export.key}/download/csv").status_code == 200
    assert outside.client.post(f"/anonymize/{export.key}/download/csv").status_code == 404


def test_release_and_download_ask_for_the_password_again(study: Any, partner: Any, sign_in: Any) -> None:
    export, tara = make_export(study.project, study.owner), partner()
    stale = sign_in(study.owner, recent=False)
    for address in ("release", "withdraw", "download/csv"):
        assert stale.post(f"/anonymize/{export.key}/{address}").url.startswith("/confirm?")
    assert sign_in(tara.user, recent=False).post(f"/anonymize/{export.key}/download/csv").url.startswith("/confirm?")


def test_withdrawn_table_is_recalled_from_those_who_have_it(study: Any, partner: Any) -> None:
    open_to(study.project, "third_party")
    export = make_export(study.project, study.owner)
    tara, tom = partner(), partner(username="tom", organisation="Other")
    study.client.post(f"/anonymize/{export.key}/release", {"audience": "third_party"})
    tara.client.post(f"/anonymize/{export.key}/download/csv")
    assert study.client.post(f"/anonymize/{export.key}/withdraw", {"reason": ""}).status_code == 302
    export.refresh_from_db()
    assert export.state == "released"  # no reason, no withdrawal
    study.client.post(f"/anonymize/{export.key}/withdraw", {"reason": "Wrong fields were released."})
    page = study.client.get(f"/anonymize/{export.key}").content.decode()
    assert "Acme" in page and "Not confirmed" in page
    assert "Wrong fields were released." in tara.client.get("/").content.decode()
    assert "Wrong fields" not in tom.client.get("/").content.decode()  # he has no copy
    assert tara.client.post(f"/anonymize/{export.key}/download/csv").status_code == 403
    assert tom.client.post(f"/anonymize/{export.key}/deleted").status_code == 404
    # Who has left the project is told all the same.
    study.project.members.filter(user=tara.user).delete()
    assert "Wrong fields were released." in tara.client.get("/").content.decode()
    assert tara.client.post(f"/anonymize/{export.key}/deleted").url == "/"
    assert "Wrong fields" not in tara.client.get("/").content.decode()
    assert lines_of(study.project, "export.deleted").count() == 1
    assert "Not confirmed" not in study.client.get(f"/anonymize/{export.key}").content.decode()


def test_changed_file_is_not_handed_out(study: Any) -> None:
    from pydplib.web.exports import files as storing

    export = make_export(study.project, study.owner)
    assert study.client.post(f"/anonymize/{export.key}/download/csv").status_code == 200
    with storing.path_of(export, "csv").open("a") as file:
        file.write("one more line\n")
    assert study.client.post(f"/anonymize/{export.key}/download/csv").status_code >= 400
    assert export.downloads.count() == 1


def test_preview_as_third_party_sees_what_the_third_party_sees(study: Any) -> None:
    from pydplib.web.exports.releases import release

    open_to(study.project, "third_party")
    hidden, shown = make_export(study.project, study.owner), make_export(study.project, study.owner, title="Open one")
    release(study.owner, shown, ["third_party"])
    session = study.client.session
    session["preview"] = {"project": study.project.key, "role": "third_party"}
    session.save()
    page = study.client.get("/anonymize").content.decode()
    assert "Open one" in page and hidden.title not in page
    assert study.client.get(f"/anonymize/{hidden.key}").status_code == 404
    assert study.client.post(f"/anonymize/{shown.key}/download/csv").status_code == 403


def test_partner_reads_nothing_that_was_measured_on_the_original(study: Any, partner: Any) -> None:
    from pydplib.anonymity import KAnonymity, TCloseness

    models = (KAnonymity(4).to_dict(), TCloseness(0.5, distance="ordered").to_dict())
    fields = {"age": "quasi", "year": "quasi", "pirads": "sensitive"}
    export, tara = make_export(study.project, study.owner, fields=fields, models=models), partner()
    assert any(item["value_input"] is not None for item in export.result["statements"])
    open_to(study.project, "third_party")
    study.client.post(f"/anonymize/{export.key}/release", {"audience": "third_party"})
    theirs = tara.client.get(f"/anonymize/{export.key}").content.decode()
    assert "0.5-closeness" in theirs and "against the original" not in theirs
    assert "against the original" in study.client.get(f"/anonymize/{export.key}").content.decode()


def test_table_that_was_made_again_meanwhile_is_not_released(study: Any) -> None:
    from pydplib.errors import ParameterError
    from pydplib.web.exports.models import Export
    from pydplib.web.exports.releases import release
    from pydplib.web.exports.runs import start

    export = make_export(study.project, study.owner)
    open_to(study.project, "third_party")
    seen = Export.objects.select_related("snapshot", "project").get(pk=export.pk)
    files = {path: path.read_bytes() for path in _files(seen)}
    start(export)  # by somebody else, while the first owner's button is on its way
    for path, content in files.items():
        path.write_bytes(content)  # still there when they were looked at
    with pytest.raises(ParameterError, match="Look again"):
        release(study.owner, seen, ["third_party"])
    export.refresh_from_db()
    assert export.state == "ready" and export.file != seen.file


def _files(export: Any) -> list[Path]:
    from pydplib.web.exports import files as storing

    return [storing.path_of(export, kind) for kind in storing.KINDS]


def test_where_the_policy_opens_tables_to_nobody_the_page_leads_to_the_policy(study: Any) -> None:
    export = make_export(study.project, study.owner)
    closed = study.client.get(f"/anonymize/{export.key}").content.decode()
    assert "Nobody may get it yet" in closed and "To the policy" in closed
    open_to(study.project, "collaborator")
    opened = study.client.get(f"/anonymize/{export.key}").content.decode()
    assert "Nobody may get it yet" not in opened
