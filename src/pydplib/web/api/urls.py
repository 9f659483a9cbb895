"""Addresses of the API and of the account's tokens."""

from __future__ import annotations

from django.urls import path

from pydplib.web.api import views
from pydplib.web.api.api import api
from pydplib.web.api.permissions import guarded_urls

urlpatterns = [
    path("account/tokens", views.tokens, name="api_tokens"),
    path("account/tokens/new", views.new_token, name="api_token_new"),
    path("account/tokens/<str:key>/revoke", views.revoke_token, name="api_token_revoke"),
    path("api/v1/openapi.json", views.openapi, name="openapi"),
    *(path(f"api/v1/{item.pattern}", item.callback) for item in guarded_urls(api)),
    path("api/v1", views.nothing),
    path("api/v1/<path:rest>", views.nothing),
]
