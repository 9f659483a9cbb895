"""Who is told that something waits, and when: written down first, then sent by a job that a kill cannot lose.

Nothing here runs in a request. A message can go out twice if the process dies between the mail server's yes and the
note of it; it never gets lost, and never goes out more often than the user chose otherwise.
"""

from __future__ import annotations

import datetime as dt
import logging
import threading

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from pydplib.web.notices import channels
from pydplib.web.notices.models import Notice, NoticePreference
from pydplib.web.people.models import User
from pydplib.web.projects.members.invitations import invitations_for
from pydplib.web.projects.models import AccessRequest, Member
from pydplib.web.projects.permissions import projects_of
from pydplib.web.waiting import waiting_for

MOST_TRIES = 8
FIRST_WAIT = dt.timedelta(minutes=1)
"""After the first failure; each further one doubles it."""
IN_HAND = dt.timedelta(minutes=5)
"""How long a notice belongs to the job that took it."""
KEPT_DAYS = 30
_SPANS = {NoticePreference.Every.HOUR: dt.timedelta(hours=1), NoticePreference.Every.DAY: dt.timedelta(days=1)}
_log = logging.getLogger("pydplib.web")


def waits_for(user: User) -> dict[str, int]:
    """Return how much waits for a user, by project and kind; numbers alone."""
    found: dict[str, int] = {}
    for project in projects_of(user):
        place = Member.objects.filter(project=project, user=user).first()
        for each in waiting_for(project, place, user) if place is not None else ():
            name = f"{project.key} {each.kind}"
            found[name] = found.get(name, 0) + each.count
    found["invitations"] = len(invitations_for(user))
    found["decided"] = AccessRequest.objects.filter(by=user, decided__isnull=False).count()
    return {name: count for name, count in found.items() if count}


def write_notices(now: dt.datetime | None = None) -> int:
    """Write a notice for everybody for whom more waits than when they were told last; return how many."""
    now = now or timezone.now()
    written = 0
    asked = NoticePreference.objects.filter(user__is_active=True).select_related("user")
    for preference in asked.exclude(mail="", webhook=False):
        if preference.last is not None and now - preference.last < _SPANS[NoticePreference.Every(preference.every)]:
            continue
        waits = waits_for(preference.user)
        if not any(count > preference.told.get(name, 0) for name, count in waits.items()):
            if waits != preference.told:  # less than before: what comes on top of it is new
                NoticePreference.objects.filter(pk=preference.pk, last=preference.last).update(told=waits)
            continue
        written += _write(preference, waits, now)
    return written


def _write(preference: NoticePreference, waits: dict[str, int], now: dt.datetime) -> int:
    """Write the notices of one user, in one step with the note of what they were told of."""
    ways = [Notice.Channel.MAIL] if preference.mail and channels.has_mail() else []
    ways += [Notice.Channel.WEBHOOK] if preference.webhook and channels.has_webhook() else []
    if not ways:
        return 0
    with transaction.atomic():
        mine = NoticePreference.objects.filter(pk=preference.pk, last=preference.last)
        if not mine.update(told=waits, last=now):
            return 0  # another process was first
        Notice.objects.bulk_create([Notice(user=preference.user, channel=way, due=now) for way in ways])
    return len(ways)


def send_due(now: dt.datetime | None = None) -> int:
    """Send what is due; return how many went out. Each is taken by one conditional update, so one process sends it."""
    now = now or timezone.now()
    sent = 0
    for notice in Notice.objects.filter(state=Notice.State.WAITING, due__lte=now).select_related("user")[:200]:
        mine = Notice.objects.filter(pk=notice.pk, state=Notice.State.WAITING, due=notice.due)
        if not mine.update(due=now + IN_HAND, tries=F("tries") + 1):
            continue
        sent += _send(notice, notice.tries + 1, now)
    return sent


def _send(notice: Notice, tries: int, now: dt.datetime) -> bool:
    mine = Notice.objects.filter(pk=notice.pk)
    preference = NoticePreference.objects.filter(user=notice.user_id, user__is_active=True).first()
    wanted = preference is not None and (
        preference.mail if notice.channel == Notice.Channel.MAIL else preference.webhook
    )
    if preference is None or not wanted:  # turned off meanwhile
        mine.delete()
        return False
    try:
        if notice.channel == Notice.Channel.MAIL:
            channels.send_mail(preference.mail, key=notice.key)
        else:
            channels.call_webhook(notice.user.username)
    except Exception as error:  # whatever it is, the next try may work; its text may hold an address
        given_up = tries >= MOST_TRIES
        state = Notice.State.GIVEN_UP if given_up else Notice.State.WAITING
        mine.update(state=state, due=now + FIRST_WAIT * 2 ** (tries - 1))
        words = str(error) if isinstance(error, channels.NotSentError) else type(error).__name__
        _log.warning("notice by %s, try %d: %s%s", notice.channel, tries, words, "; given up" if given_up else "")
        return False
    mine.update(state=Notice.State.SENT, sent=timezone.now())
    return True


def tidy() -> None:
    """Forget notices that were sent or given up a while ago."""
    old = timezone.now() - dt.timedelta(days=KEPT_DAYS)
    Notice.objects.exclude(state=Notice.State.WAITING).filter(made__lt=old).delete()


def send_by_the_minute(*, seconds: float = 60) -> threading.Event | None:
    """Write and send notices while the server runs; the event that is returned ends it. None where all ways are off."""
    if not (channels.has_mail() or channels.has_webhook()):
        return None
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(seconds):
            try:
                write_notices()
                send_due()
            except Exception as error:
                # A busy database: the next minute will do. Its text may quote data.
                _log.error("notices: %s", type(error).__name__)
            finally:
                connection.close()

    threading.Thread(target=work, daemon=True, name="notices").start()
    return ended
