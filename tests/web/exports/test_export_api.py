"""Exports by token: the scope counts, the bytes are those of the page, every copy is noted."""

from __future__ import annotations

from typing import Any

from export_study import make_export, open_to


def test_token_with_the_scope_gets_the_file_and_the_copy_is_noted(study: Any, partner: Any) -> None:
    from django.test import Client

    from pydplib.web.api.tokens import make_token
    from pydplib.web.exports import files
    from pydplib.web.exports.releases import release

    open_to(study.project, "third_party")
    export, tara = make_export(study.project, study.owner), partner()
    release(study.owner, export, ["third_party"])

    def get(scopes: list[str], kind: str = "csv") -> Any:
        _, token = make_token(tara.user, name="notebook", scopes=scopes, days=1, second_factor=True)
        client = Client(headers={"authorization": f"Bearer {token}"})
        return client.post(f"/api/v1/exports/{export.key}/download", {"kind": kind}, content_type="application/json")

    assert get(["read", "ask"]).status_code == 403 and not export.downloads.exists()
    assert get(["export"], "trace").status_code == 422
    for kind in files.KINDS:
        answer = get(["export"], kind)
        assert b"".join(answer.streaming_content) == files.path_of(export, kind).read_bytes()
    assert [copy.kind for copy in export.downloads.order_by("id")] == list(files.KINDS)
    study.client.post(f"/anonymize/{export.key}/withdraw", {"reason": "Wrong fields."})
    assert get(["export"]).status_code == 403


def test_api_starts_an_export_and_says_how_it_ended(study: Any) -> None:
    from django.test import Client
    from django_otp.plugins.otp_totp.models import TOTPDevice

    from pydplib.web.api.tokens import make_token

    TOTPDevice.objects.get_or_create(user=study.owner, name="phone", confirmed=True)
    _, token = make_token(study.owner, name="notebook", scopes=["export", "read"], days=1, second_factor=True)
    client = Client(headers={"authorization": f"Bearer {token}"})
    export = make_export(study.project, study.owner, models=({"model": "KAnonymity", "k": 9999},), suppression=0.0)
    assert "No generalization" in client.get(f"/api/v1/exports/{export.key}").json()["problem"]
    export.plan["models"] = [{"model": "KAnonymity", "k": 3}]
    export.save()
    made = client.post(f"/api/v1/exports/{export.key}/run", {}, content_type="application/json").json()
    assert (made["state"], made["problem"]) == ("ready", "") and made["rows"] > 0
    listed = client.get(f"/api/v1/projects/{study.project.key}/exports").json()["items"]
    assert [item["key"] for item in listed] == [export.key]
