"""Forms of projects and members."""

from __future__ import annotations

from typing import Unpack

from django import forms
from django.utils import timezone

from pydplib.capture import builtin, builtin_names
from pydplib.policy import GROUP, NEW_MEMBER, PARTNER_ROLES, ROLES
from pydplib.web.design.forms import Files, FormOptions, Posted, choice_field
from pydplib.web.people.forms import check_username
from pydplib.web.people.models import User
from pydplib.web.projects.members.memberships import roles_for
from pydplib.web.projects.models import Member, Project

LATER = "later"


def day_field(*, label: str | None = None, help_text: str = "", required: bool = True) -> forms.DateField:
    """Return a field for a day, with the browser's own calendar."""
    widget = forms.DateInput(attrs={"type": "date", "class": "short"}, format="%Y-%m-%d")
    return forms.DateField(widget=widget, label=label, help_text=help_text, required=required)


class ProjectForm(forms.Form):
    """What a project is for."""

    name = forms.CharField(
        max_length=120, help_text="As your colleagues call it: PI-RADS register. At most 120 letters."
    )
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
    """Somebody new: a colleague from the list, or a partner with organisation, role, budget and last day."""

    colleague = forms.ChoiceField(required=False, label="From your hospital")
    organisation = forms.CharField(
        required=False,
        max_length=120,
        label="From elsewhere: organisation",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    partner = forms.CharField(
        required=False,
        max_length=80,
        label="User name",
        validators=[check_username],
        help_text="Exactly as your partner signs in. They find an invitation on their home page and join when they "
        "accept. Until then you see only what you typed here. A user of this name who is made later is not invited.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    makes_account = forms.BooleanField(
        required=False,
        label="They have no account yet: make the organisation and this user",
        help_text="You get a link that works once, to pass on. For those who manage your hospital.",
    )
    role = forms.ChoiceField(
        required=False,
        label="As",
        widget=forms.RadioSelect,
        initial=NEW_MEMBER,
        choices=[(name, f"{ROLES[name].title}: {ROLES[name].description}") for name in PARTNER_ROLES[::-1]],
    )
    budget = forms.FloatField(
        required=False,
        min_value=0.001,
        max_value=1000,
        label="Budget (epsilon in total)",
        widget=forms.TextInput(attrs={"class": "short", "inputmode": "decimal", "autocomplete": "off"}),
    )
    until = day_field(required=False, label="Until", help_text="The last day of the membership. Empty: no end.")
    reason = forms.CharField(
        required=False,
        max_length=400,
        help_text="For the other owners, where a second one must agree: a role with a larger budget for an "
        "organisation that has spent some already.",
    )

    def __init__(
        self,
        data: Posted = None,
        files: Files = None,
        *,
        project: Project,
        can_make_accounts: bool = False,
        **kwargs: Unpack[FormOptions],
    ) -> None:
        super().__init__(data, files, **kwargs)
        if not can_make_accounts:
            del self.fields["makes_account"]
        most = {row.audience: row.budget for row in project.rules.filter(audience__in=PARTNER_ROLES)}
        known = [f"{ROLES[name].title.lower()} {most[name]:g}" for name in PARTNER_ROLES if most.get(name)]
        self.fields["budget"].help_text = (
            f"Empty: what the policy gives the role ({', '.join(known) or 'no limit'}). A smaller one becomes a row of "
            "the policy; a larger one takes two owners, under Requests."
        )
        people = (
            User.objects.filter(hospital=project.hospital, is_active=True)
            .exclude(pk__in=project.members.values("user"))
            .order_by("full_name", "username")
        )
        choice_field(self, "colleague").choices = [
            ("", "Choose…"),
            *(
                (user.username, f"{user.full_name} ({user.username})" if user.full_name else user.username)
                for user in people
            ),
        ]

    def clean(self) -> dict[str, object]:
        """Take exactly one of the two."""
        values = super().clean() or {}
        chosen = [name for name in (values.get("colleague"), values.get("partner")) if name]
        if len(chosen) != 1 and not self.errors:
            raise forms.ValidationError("Choose a colleague or write a partner's user name: one of the two.")
        values["username"] = chosen[0] if chosen else ""
        values["role"] = values.get("role") or NEW_MEMBER
        if values.get("makes_account") and not values.get("organisation"):
            self.add_error("organisation", "Name the organisation that is made for your partner.")
        for name in ("organisation", "budget", "until"):
            if values.get("colleague") and values.get(name):
                self.add_error(name, "This is for partners from elsewhere. Change colleagues on their own page.")
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

    def __init__(
        self, data: Posted = None, files: Files = None, *, member: Member, **kwargs: Unpack[FormOptions]
    ) -> None:
        kwargs.setdefault("initial", {"role": member.role, "department": member.department, "groups": member.groups})
        super().__init__(data, files, **kwargs)
        choice_field(self, "role").choices = [
            (name, f"{ROLES[name].title}: {ROLES[name].description}") for name in roles_for(member.project, member.user)
        ]
        audiences = member.project.rules.filter(audience__startswith=GROUP).values_list("audience", flat=True)
        names = sorted({audience.removeprefix(GROUP) for audience in audiences} | set(member.groups))
        if names:
            choice_field(self, "groups").choices = [(name, name) for name in names]
        else:
            del self.fields["groups"]
