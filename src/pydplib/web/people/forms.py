"""Forms about people: small, and none of them repeats a password in an error."""

from __future__ import annotations

from typing import Unpack

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator

from pydplib.web.design.forms import Files, FormOptions, Posted
from pydplib.web.people.models import User
from pydplib.web.people.sign_in.second_factor import MOST_GRACE_DAYS

PASSWORD_HELP = "At least 12 characters. Three or four unrelated words are strong and easy to remember."  # noqa: S105
# ASCII only: names are compared without case, and databases differ about the case of other letters.
_username_letters = RegexValidator(
    r"\A[A-Za-z0-9][A-Za-z0-9._@+-]{1,79}\Z",
    "Use 2 to 80 letters (a to z), digits and . _ @ + -, beginning with a letter or digit.",
)
RESERVED = frozenset(["system", "anonymous", "unknown"])
"""What the audit log calls the operator and strangers: nobody may act under these names."""


def check_username(name: str) -> None:
    """Raise unless this can be somebody's name for signing in."""
    _username_letters(name)
    if name.casefold() in RESERVED:
        raise ValidationError("This name cannot be used. Choose another one.")


def _password(label: str, *, new: bool, help_text: str = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        strip=False,
        max_length=1024,
        help_text=help_text,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password" if new else "current-password"}),
    )


class SignInForm(forms.Form):
    """Name and password."""

    username = forms.CharField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(
            attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}
        ),
    )
    password = _password("Password", new=False)


class CodeForm(forms.Form):
    """A code from the phone, or a recovery code."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "class": "short", "autofocus": True}),
        help_text="The six digits that your phone shows now. Or one of your recovery codes.",
    )


class EnrolForm(forms.Form):
    """The first code of a phone."""

    code = forms.CharField(
        label="Code on the phone",
        max_length=12,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "class": "short"}),
        help_text="Six digits that change every half minute.",
    )


class NewPasswordForm(forms.Form):
    """A new password, twice, against the rules and the list of common ones."""

    password = _password("New password", new=True, help_text=PASSWORD_HELP)
    again = _password("New password again", new=True)

    def __init__(
        self, data: Posted = None, files: Files = None, *, user: User | None = None, **kwargs: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **kwargs)
        self.user = user

    def clean(self) -> dict[str, object]:
        """Compare the two and check the rules."""
        values = super().clean() or {}
        first, second = values.get("password"), values.get("again")
        if first and second and first != second:
            self.add_error("again", "The two passwords differ. Type the same one twice.")
        elif first:
            try:
                validate_password(first, self.whose(values))
            except ValidationError as problem:
                self.add_error("password", problem)
        return values

    def whose(self, values: dict[str, str]) -> User | None:
        """Return the user whose name the password must not resemble."""
        return self.user


class SetupForm(NewPasswordForm):
    """The first hospital and its first owner."""

    field_order = ("hospital", "username", "full_name", "password", "again")
    hospital = forms.CharField(label="Name of the hospital", max_length=120)
    username = forms.CharField(
        label="Your name for signing in",
        max_length=80,
        validators=[check_username],
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    full_name = forms.CharField(label="Your full name", max_length=120, required=False)

    def whose(self, values: dict[str, str]) -> User | None:
        """Return the user to be."""
        return User(username=values.get("username", ""), full_name=values.get("full_name", ""))


class ChangePasswordForm(NewPasswordForm):
    """The present password and a new one."""

    field_order = ("current", "password", "again")
    current = _password("Present password", new=False)


class ConfirmForm(forms.Form):
    """The password again, and a code where there is a phone."""

    password = _password("Password", new=False)
    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "class": "short"}),
        help_text="The six digits that your phone shows now; each code works once. Or a recovery code.",
    )

    def __init__(
        self, data: Posted = None, files: Files = None, *, with_code: bool, **kwargs: Unpack[FormOptions]
    ) -> None:
        super().__init__(data, files, **kwargs)
        if not with_code:
            del self.fields["code"]


class NameForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """How somebody is called on the pages."""

    class Meta:
        model = User
        fields = ("full_name",)
        labels = {"full_name": "Full name"}  # noqa: RUF012 - Django's way


class HospitalForm(forms.Form):
    """The hospital's name."""

    name = forms.CharField(
        label="Name of the hospital",
        max_length=120,
        help_text="Receipts are signed in this name. No other organisation on this server can take it, now or later.",
    )
    grace = forms.IntegerField(
        label="Days until a second factor is needed",
        required=False,
        min_value=0,
        max_value=MOST_GRACE_DAYS,
        widget=forms.NumberInput(attrs={"class": "short", "inputmode": "numeric"}),
        help_text="How long radiologists and data protection officers without a phone may still come in after they "
        "were asked to enrol one: 0 (not at all) to 14. Owners and those who manage the hospital need it at once.",
    )


class InviteForm(forms.Form):
    """Somebody new."""

    username = forms.CharField(
        label="Name for signing in",
        max_length=80,
        validators=[check_username],
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    full_name = forms.CharField(label="Full name", max_length=120, required=False)
    organisation = forms.CharField(
        label="Partner from elsewhere: organisation",
        max_length=120,
        required=False,
        help_text="Leave it empty for your own hospital. A company or another hospital is a tenant of its own: it "
        "manages its own people, sees nothing of yours, and gets a budget of its own in projects that add it.",
    )

    def clean_organisation(self) -> str:
        """Take runs of blanks for one."""
        return " ".join(self.cleaned_data["organisation"].split())
