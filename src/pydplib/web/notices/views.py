"""The page on which a user says where notices go."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from pydplib.web.notices import channels
from pydplib.web.notices.preferences import PreferenceForm, preference_of, save
from pydplib.web.people.permissions import SignedInRequest, signed_in


@signed_in
@require_http_methods(["GET", "HEAD", "POST"])
def notices(request: SignedInRequest) -> HttpResponse:
    """Show and change where notices go."""
    mail, webhook = channels.has_mail(), channels.has_webhook()
    form = PreferenceForm(request.POST or None, instance=preference_of(request.user), mail=mail, webhook=webhook)
    if request.method == "POST" and (mail or webhook) and form.is_valid():
        save(form, request.user)
        messages.success(request, "Saved.")
        return redirect("notices")
    values = {"form": form, "on": mail or webhook, "breadcrumb": [("Account", "/account"), ("Notices", "")]}
    return render(request, "notices/notices.html", values)
