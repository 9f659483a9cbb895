"""The ways that a notice goes: a mail server and a webhook, both named by the operator alone.

Neither follows a redirect or a proxy of the environment, both give up after ``SECONDS``. A webhook goes by https, or by
http to this machine. Addresses within the hospital's network are allowed, because the operator chose the host;
link-local ones (where clouds keep their credentials), multicast and unspecified ones are not.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import smtplib
import socket
import ssl
from email.message import EmailMessage
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings

from pydplib.errors import ParameterError

SECONDS = 15.0
SUBJECT = "Something waits for you on pydplib"
WORDS = "Something waits for you: {address}"
BODY = (
    WORDS + "\n\nThis message has no details on purpose: sign in to see them. "
    "To get fewer messages or none: {address}/account/notices\n"
)
_MAIL = "PYDPLIB_MAIL_URL looks like smtps://USER@HOST:465 or smtp://USER@HOST:587 (with STARTTLS)."
_WEBHOOK = "PYDPLIB_WEBHOOK_URL looks like https://HOST/PATH; http is for this machine alone."


class NotSentError(Exception):
    """A notice could not be handed over; its text is the kind of trouble alone."""


def has_mail() -> bool:
    """Return whether this server sends mail."""
    return bool(settings.CONFIGURATION.mail_url) and not settings.CONFIGURATION.demo


def has_webhook() -> bool:
    """Return whether this server calls a webhook."""
    return bool(settings.CONFIGURATION.webhook_url) and not settings.CONFIGURATION.demo


def send_mail(to: str, *, key: str) -> None:
    """Hand a notice to the mail server.

    Args:
        to: The address of the user.
        key: The notice's key: a message that goes out twice after a crash has the same id both times.

    Raises:
        NotSentError: The server does not answer, or does not take it.
    """
    configuration = settings.CONFIGURATION
    where = parts_of(configuration.mail_url, ("smtp", "smtps"), _MAIL)
    host, port = str(where.hostname), where.port or (465 if where.scheme == "smtps" else 587)
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = SUBJECT, configuration.mail_from, to
    message["Message-ID"] = f"<{key}@{urlsplit(configuration.address).hostname or 'pydplib'}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(BODY.format(address=configuration.address))
    context = ssl.create_default_context()
    try:
        if where.scheme == "smtps":
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=SECONDS, context=context)
        else:
            server = smtplib.SMTP(host, port, timeout=SECONDS)
        with server:
            if where.scheme == "smtp" and not is_this_machine(host):
                server.starttls(context=context)
            if where.username:
                server.login(unquote(where.username), configuration.mail_password or unquote(where.password or ""))
            server.send_message(message)
    except (OSError, smtplib.SMTPException) as error:
        raise NotSentError(type(error).__name__) from None


def call_webhook(username: str) -> None:
    """Tell the webhook that something waits for a user who asked for it.

    Args:
        username: Whose turn it is.

    Raises:
        NotSentError: It does not answer with 2xx; a redirect counts as no.
    """
    configuration = settings.CONFIGURATION
    where = parts_of(configuration.webhook_url, ("http", "https"), _WEBHOOK)
    host = str(where.hostname)
    check_host(host, where.scheme)
    told = {"text": WORDS.format(address=configuration.address), "user": username, "link": configuration.address}
    kind = http.client.HTTPSConnection if where.scheme == "https" else http.client.HTTPConnection
    connection = kind(host, where.port, timeout=SECONDS)
    path = (where.path or "/") + (f"?{where.query}" if where.query else "")
    try:
        connection.request("POST", path, json.dumps(told).encode(), {"Content-Type": "application/json"})
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        raise NotSentError(type(error).__name__) from None
    finally:
        connection.close()
    if not 200 <= status < 300:
        raise NotSentError(f"status {status}")


def parts_of(url: str | None, schemes: tuple[str, ...], words: str) -> SplitResult:
    """Take an address of the operator apart.

    Raises:
        ParameterError: It is none; the words do not repeat it, because it may hold a password.
    """
    try:
        parts = urlsplit(url or "")
        _ = parts.port  # looked at only now
    except ValueError:
        raise ParameterError(words) from None
    if parts.scheme not in schemes or not parts.hostname:
        raise ParameterError(words)
    return parts


def check_host(host: str, scheme: str) -> None:
    """Look at every address of a host before anything is sent there.

    Raises:
        NotSentError: One of them is link-local, multicast or unspecified, or http would leave this machine.
    """
    try:
        found = {str(entry[4][0]).split("%")[0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        raise NotSentError("unknown host") from None
    addresses = [ipaddress.ip_address(each) for each in found]
    if any(each.is_link_local or each.is_multicast or each.is_unspecified for each in addresses):
        raise NotSentError("forbidden address")
    if scheme == "http" and not all(each.is_loopback for each in addresses):
        raise NotSentError("http is for this machine alone")


def is_this_machine(host: str) -> bool:
    """Return whether a host is a loopback address or its name.

    Examples:
        >>> is_this_machine("127.0.0.1"), is_this_machine("mail.example")
        (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
