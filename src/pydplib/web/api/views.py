"""Pages of a user's tokens, the OpenAPI document, and what is answered where nothing is."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from pydplib.web.api import problems
from pydplib.web.api import tokens as work
from pydplib.web.api.api import openapi_document
from pydplib.web.api.forms import TokenForm
from pydplib.web.api.models import ApiToken
from pydplib.web.people.permissions import SignedInRequest, has_second_factor, public, signed_in
from pydplib.web.people.sign_in import second_factor as factor

_ACCOUNT = ("Account", "/account")


@signed_in
@require_safe
def tokens(request: SignedInRequest) -> HttpResponse:
    """List the user's tokens."""
    rows = [(token, work.state_of(token), _words(token)) for token in work.tokens_of(request.user)]
    values = {"rows": rows, "per_minute": work.USES_PER_MINUTE, "breadcrumb": [_ACCOUNT, ("API tokens", "")]}
    return render(request, "api/tokens.html", values)


@signed_in(recent=True)
@require_http_methods(["GET", "HEAD", "POST"])
def new_token(request: SignedInRequest) -> HttpResponse:
    """Make a token and show it once; owners need their second factor in this session."""
    if factor.must_have(request.user) and not has_second_factor(request):
        return redirect("second_factor")
    form = TokenForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        made, token = work.make_token(
            request.user,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            days=form.cleaned_data["days"],
            second_factor=bool(request.user.is_verified()),
        )
        values = {"made": made, "token": token, "address": request.build_absolute_uri("/").rstrip("/")}
        return render(request, "api/token.html", values)
    values = {"form": form, "breadcrumb": [_ACCOUNT, ("API tokens", "/account/tokens"), ("New", "")]}
    return render(request, "api/token_new.html", values, status=422 if form.is_bound else 200)


@signed_in
def revoke_token(request: SignedInRequest, key: str) -> HttpResponse:
    """End one of the user's own tokens."""
    token = work.token_of(request.user, key)
    if token is None:
        raise Http404
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    work.revoke(token)
    return redirect("api_tokens")


@public
@require_safe
def openapi(request: HttpRequest) -> HttpResponse:
    """Show the OpenAPI document: what can be called, and nothing about any data."""
    return JsonResponse(openapi_document())


@public
@csrf_exempt
def nothing(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer an address of the API that does not exist, as JSON."""
    return problems.answer(request, Http404())


def _words(token: ApiToken) -> list[str]:
    return [words for scope, words in work.SCOPES.items() if scope in token.scopes]
