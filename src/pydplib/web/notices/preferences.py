"""A user's own choice where notices go, and the form of it."""

from __future__ import annotations

from django import forms

from pydplib.web.auditlog.log import recorded
from pydplib.web.design.forms import Posted
from pydplib.web.notices.models import Notice, NoticePreference
from pydplib.web.people.models import User


class PreferenceForm(forms.ModelForm):  # type: ignore[type-arg]
    """Where and how often; only the ways that this server has."""

    class Meta:
        model = NoticePreference
        fields = ("mail", "webhook", "every")
        labels = {"mail": "Mail address", "webhook": "Tell the chat of this server", "every": "How often"}  # noqa: RUF012
        help_texts = {  # noqa: RUF012
            "mail": "Leave it empty for no mail.",
            "webhook": "The operator chose where that is. It learns your user name, and that something waits.",
        }

    def __init__(self, data: Posted = None, *, instance: NoticePreference, mail: bool, webhook: bool) -> None:
        super().__init__(data, instance=instance)
        if not mail:
            del self.fields["mail"]
        if not webhook:
            del self.fields["webhook"]


def preference_of(user: User) -> NoticePreference:
    """Return a user's choice; an unsaved one that sends nothing, if there is none."""
    return NoticePreference.objects.filter(user=user).first() or NoticePreference(user=user)


def save(form: PreferenceForm, user: User) -> None:
    """Keep the choice; what waits already is not told again, and what was on its way to an old address is dropped."""
    with recorded(user) as log:
        form.save()
        Notice.objects.filter(user=user, state=Notice.State.WAITING).delete()
        log.add("user.notices", user.username)
