"""The gallery: every component in every state on one page, for page authors and for the tests."""

from __future__ import annotations

from types import SimpleNamespace

from django import forms
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from pydplib import plot
from pydplib.policy import OWNER, PARTNER_ROLES, ROLES
from pydplib.web.design.badges import BADGES
from pydplib.web.design.sorting import Sorting
from pydplib.web.people.permissions import public

ERRORS = (400, 403, 404, 500)


class SampleForm(forms.Form):
    """Every kind of control; what is typed here goes nowhere."""

    name = forms.CharField(label="Project name", help_text="Seen by all members.", max_length=60)
    purpose = forms.CharField(label="Purpose", widget=forms.Textarea(attrs={"rows": 3}), required=False)
    email = forms.EmailField(label="Contact")
    password = forms.CharField(label="Password", widget=forms.PasswordInput, help_text="At least 12 characters.")
    code = forms.CharField(
        label="Code from your app", widget=forms.TextInput(attrs={"class": "code", "inputmode": "numeric"})
    )
    age = forms.IntegerField(label="Age", min_value=0, max_value=120, help_text="In years.")
    until = forms.DateField(label="Kept until", widget=forms.DateInput(attrs={"type": "date"}), required=False)
    zone = forms.ChoiceField(
        label="Zone",
        choices=[("", "Choose"), ("PZ", "Peripheral zone"), ("TZ", "Transition zone"), ("CZ", "Central zone")],
    )
    fields_shown = forms.MultipleChoiceField(
        label="Fields", choices=[("age", "Age"), ("score", "PI-RADS score"), ("year", "Year")], required=False
    )
    score = forms.ChoiceField(
        label="DWI score",
        choices=[(n, n) for n in ("1", "2", "3", "4", "5", "X")],
        widget=forms.RadioSelect(attrs={"class": "pills"}),
        help_text="X: not assessable.",
    )
    role = forms.ChoiceField(
        label="Role",
        choices=[(name, ROLES[name].title) for name in PARTNER_ROLES],
        widget=forms.RadioSelect,
    )
    labels = forms.MultipleChoiceField(
        label="Tell me about",
        choices=[("budget", "budgets that run low"), ("refusal", "repeated refusals")],
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    file = forms.FileField(label="File", help_text="CSV, Excel or FHIR, up to 50 MB.", required=False)
    agreed = forms.BooleanField(label="The ethics committee agreed", help_text="Needed before data are imported.")
    fixed = forms.CharField(label="Template version", initial="pirads-2.1 (3)", disabled=True, required=False)


def _filled(*, wrong: bool) -> SampleForm:
    if not wrong:
        return SampleForm(
            auto_id="ok_%s", initial={"name": "Prostate MRI 2017-18", "zone": "TZ", "score": "4", "age": 64}
        )
    form = SampleForm({"name": "", "email": "nobody", "age": "400", "score": "", "zone": "PZ"}, auto_id="bad_%s")
    form.add_error(None, "Another owner changed this project while you were editing it. Look at the new state first.")
    return form


def _figure() -> plot.Figure:
    ages = ["50-54", "55-59", "60-64", "65-69", "70-74", "75-79"]
    return plot.bar(
        ages,
        {
            "original": [61, 118, 204, 231, 176, 92],
            "low": [60, 119, 206, 230, 174, 94],
            "high": [71, 104, 193, 247, 160, 83],
        },
        title="Reports by age group",
        caption="Synthetic data.\nWhoever sees this cannot tell whether any one patient is in it.",
    )


def _context() -> dict[str, object]:
    names = [f"PI-RADS report {number}" for number in range(1, 921)]
    return {
        "user": SimpleNamespace(is_authenticated=True, full_name="Dr. Marie Okonkwo-Lindström"),
        "user_role": OWNER,
        "user_menu": [
            {"label": "Account", "url": "/account", "icon": "user"},
            {"label": "Sign out", "url": "/logout", "icon": "log-out", "post": True},
        ],
        "project_menu": {
            "current": "Prostate MRI 2017-18",
            "projects": [
                {"label": "Prostate MRI 2017-18", "url": "#", "active": True},
                {"label": "Follow-up after focal therapy", "url": "#"},
            ],
            "all_url": "#",
        },
        "nav_items": [
            {"label": "Home", "url": "#", "icon": "house", "group": ""},
            {"label": "Gallery", "url": "#", "icon": "layers", "group": "", "active": True},
            {"label": "Reports", "url": "#", "icon": "file-text", "group": "Reporting"},
            {"label": "Labelling", "url": "#", "icon": "tag", "group": "Reporting", "count": 12},
            {"label": "Data", "url": "#", "icon": "table", "group": "Data"},
            {"label": "Analyses", "url": "#", "icon": "chart-column", "group": "Analyses"},
            {"label": "Policy", "url": "#", "icon": "shield", "group": "Governance"},
            {"label": "Requests", "url": "#", "icon": "inbox", "group": "Governance", "count": 2},
        ],
        "breadcrumb": [("Projects", "#"), ("Prostate MRI 2017-18", "#"), ("Gallery", "")],
        "demo": True,
        "preview_as": "Third party",
        "badges": BADGES,
        "form": _filled(wrong=False),
        "wrong_form": _filled(wrong=True),
        "row_form": SampleForm(auto_id="row_%s", initial={"age": 64}),
        "page": Paginator(names, 25).page(4),
        "sorting": Sorting({"name": "name", "left": "left"}, "-left"),
        "first_page": Paginator(names[:60], 25).page(1),
        "tab_items": [
            {"label": "Overview", "url": "#", "active": True, "icon": "folder"},
            {"label": "Members", "url": "#", "count": 7, "icon": "users"},
            {"label": "Requests", "url": "#", "count": 0},
            {"label": "History", "url": "#"},
        ],
        "steps": [("File", "#"), ("Columns", "#"), "Dry run", "Done"],
        "pairs": [
            ("Purpose", "How PI-RADS scores spread over age, and what became of the patients."),
            ("Legal basis", "Art. 9(2)(j) GDPR, ethics vote 2016/1042"),
            ("Kept until", "31 December 2030"),
            ("Second reader", None),
        ],
        "events": [
            {
                "title": "Signed",
                "when": "14 March 2018, 10:42",
                "who": "Dr. Okonkwo",
                "icon": "signature",
                "tone": "good",
            },
            {
                "title": "Corrected",
                "when": "15 March 2018, 09:05",
                "who": "Dr. Okonkwo",
                "text": "Lesion 2: size 12 mm instead of 21 mm.",
                "icon": "history",
                "tone": "info",
            },
            {
                "title": "Export refused",
                "when": "16 March 2018, 08:00",
                "who": "A. Partner",
                "icon": "ban",
                "tone": "danger",
            },
            {"title": "Draft begun", "when": "14 March 2018, 10:31", "who": "Dr. Okonkwo"},
        ],
        "columns": ["Age", "Original", "Low noise", "High noise", "In words"],
        "rows": [
            ["50-54", 61, 60, 71, "few"],
            ["55-59", 118, 119, 104, "some"],
            ["60-64", 204, 206, 193, "many"],
            ["65-69", 231, 230, 247, "most"],
            ["70-74", 176, 174, None, "many"],
        ],
        "drawing": _figure(),
        "figure_columns": ["Age", "Original", "Low noise", "High noise"],
        "figure_rows": [["50-54", 61, 60, 71], ["55-59", 118, 119, 104], ["60-64", 204, 206, 193]],
        "token": "pdp_4f0c9e2ab7d1468f9b3e5a7c21d08e64_example-only",
        "errors": ERRORS,
    }


@public
def gallery(request: HttpRequest) -> HttpResponse:
    """Show every component in every state."""
    return render(request, "design/gallery.html", _context())


@public
def narrow(request: HttpRequest) -> HttpResponse:
    """Show the frame of sign-in and setup."""
    return render(request, "design/gallery_narrow.html", {"form": SampleForm(auto_id="narrow_%s")})


@public
def error(request: HttpRequest, status: int) -> HttpResponse:
    """Show an error page."""
    if status not in ERRORS:
        raise Http404
    return render(request, f"{status}.html", status=status)
