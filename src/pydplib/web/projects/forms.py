"""Forms of projects and members."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils import timezone

from pydplib.capture import builtin, builtin_names
from pydplib.policy import GROUP, ROLES
from pydplib.web.people.forms import check_username
from pydplib.web.people.models import User
from pydplib.web.projects.memberships import roles_for
from pydplib.web.projects.models import Member, Project

LATER = "later"


def day_field(**options: object) -> forms.DateField:
    """Return a field for a day, with the browser's own calendar."""
    widget = forms.DateInput(attrs={"type": "date", "class": "short"}, format="%Y-%m-%d")
    return forms.DateField(widget=widget, **options)


class ProjectForm(forms.Form):
    """What a project is for."""

    name = forms.CharField(max_length=120, help_text="Short, as your colleagues call it: PI-RADS register.")
    purpose = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3}),
        max_length=2000,
        help_text="What the data are collected for. Everybody in the project reads this.",
    )
    legal_basis = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 2}),
        max_length=1000,
        help_text="Why this is lawful: consent, a hospital law, an ethics vote with its number.",
    )
    retention_until = day_field(label="Keep records until", help_text="After this day records are due for deletion.")

    def clean_retention_until(self) -> object:
        """Refuse a day that has passed."""
        day = self.cleaned_data["retention_until"]
        if day <= timezone.localdate():
            raise forms.ValidationError("Choose a day that is still to come.")
        return day


class NewProjectForm(ProjectForm):
    """A new project, with the template it starts from."""

    template = forms.ChoiceField(
        widget=forms.RadioSelect,
        choices=lambda: [
            *((name, f"{builtin(name).title} ({name})") for name in builtin_names()),
            (LATER, "I bring my own later"),
        ],
        initial="pirads-2.1",
        help_text="What a report asks. It can be changed later; every version is kept.",
    )


class AddMemberForm(forms.Form):
    """Somebody new: a colleague from the list, or a partner by exact user name."""

    colleague = forms.ChoiceField(required=False, label="From your hospital")
    partner = forms.CharField(
        required=False,
        max_length=80,
        label="From elsewhere: exact user name",
        validators=[check_username],
        help_text="Ask your partner for it once they have an account: a user of this name who is made later is not "
        "invited. They find an invitation on their home page and join when they accept. Until then you "
        "see only what you typed here.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, *args: object, project: Project, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        people = (
            User.objects.filter(hospital=project.hospital, is_active=True)
            .exclude(memberships__project=project)
            .order_by("full_name", "username")
        )
        self.fields["colleague"].choices = [
            ("", "Choose…"),
            *(
                (user.username, f"{user.full_name} ({user.username})" if user.full_name else user.username)
                for user in people
            ),
        ]

    def clean(self) -> dict[str, Any]:
        """Take exactly one of the two."""
        values: dict[str, Any] = super().clean() or {}
        chosen = [name for name in (values.get("colleague"), values.get("partner")) if name]
        if len(chosen) != 1 and not self.errors:
            raise forms.ValidationError("Choose a colleague or write a partner's user name: one of the two.")
        values["username"] = chosen[0] if chosen else ""
        return values


class MemberForm(forms.Form):
    """Role, department and groups of a member."""

    role = forms.ChoiceField(widget=forms.RadioSelect)
    department = forms.CharField(
        max_length=80, required=False, help_text="Radiologists see the reports of their own department only."
    )
    groups = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Rows of the policy that also apply to this member. The strictest budget of all rows counts.",
    )
    reason = forms.CharField(
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Only needed where the change raises the budget of an organisation that has spent some of it: the "
        "change is then proposed, and counts once a second owner agrees.",
    )

    def __init__(self, *args: object, member: Member, **kwargs: object) -> None:
        kwargs.setdefault("initial", {"role": member.role, "department": member.department, "groups": member.groups})
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [
            (name, f"{ROLES[name].title}: {ROLES[name].description}") for name in roles_for(member.project, member.user)
        ]
        audiences = member.project.rules.filter(audience__startswith=GROUP).values_list("audience", flat=True)
        names = sorted({audience.removeprefix(GROUP) for audience in audiences} | set(member.groups))
        if names:
            self.fields["groups"].choices = [(name, name) for name in names]
        else:
            del self.fields["groups"]
