"""E-mails to participants by SMTP: invitations, announcements, the coming deadline, results.

Mails are stored in a queue and sent by a thread: no page waits for a mail server. They are plain
text and in English, and have nothing that a participant wrote.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import smtplib
import ssl
import threading
from collections.abc import Iterator
from datetime import timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path

from arena.server.records.announcements import Announcement
from arena.server.records.mails import SMTP_PASSWORD, Mail
from arena.server.records.published import CompetitionFacts
from arena.server.web.problems import Problem
from arena.server.web.site import CompetitionSite, Site
from arena.server_section import ServerSection
from arena.utils.text import EMAIL_ADDRESS

_LOGGER = logging.getLogger("arena.server.web")
_PAUSE_SECONDS = 5.0
_TIMEOUT_SECONDS = 30.0
_PERMANENT = 500
_MOST_ACCOUNTS = 5
"""With one address, to which a link is sent."""


def _password(server: ServerSection) -> str:
    """Return the password from the file or the environment; empty without one."""
    if server.smtp_password_file:
        return Path(server.smtp_password_file).read_text(encoding="utf-8").strip()
    return os.environ.get(SMTP_PASSWORD, "")


def address_of(contact: str) -> str | None:
    r"""Return a contact if it is an e-mail address that every mail server takes, else None.

    >>> address_of(" ada@example.org "), address_of("ada@b.org\nBcc: eve@b.org"), address_of("Ada")
    ('ada@example.org', None, None)
    """
    text = contact.strip()
    return text if EMAIL_ADDRESS.fullmatch(text) and len(text) < 255 else None


def message_of(mail: Mail, sender: str) -> EmailMessage:
    """Return a mail as a message; a header cannot have a second line."""
    message = EmailMessage(policy=SMTP)
    message["From"] = Address(addr_spec=sender)
    message["To"] = Address(addr_spec=mail.recipient)
    message["Subject"] = "".join(
        mark if mark.isprintable() else " " for mark in " ".join(mail.subject.split())[:200]
    )
    if mail.created is not None:
        message["Date"] = format_datetime(mail.created)
    name = hashlib.sha256(mail.key.encode()).hexdigest()[:32]
    message["Message-ID"] = f"<{name}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.body, cte="quoted-printable")
    return message


def invitation_mail(facts: CompetitionFacts, team: str, recipient: str, url: str) -> Mail:
    """Return the mail with a link that registers one person."""
    return Mail(
        f"invitation {hashlib.sha256(url.encode()).hexdigest()}",
        facts.name,
        recipient,
        f"Invitation to {_title(facts)}",
        f"You are invited to the competition {_title(facts)}, as a member of the team {team}.\n\n"
        f"This link registers you. It works once; do not pass it on:\n{url}\n{_foot(facts)}",
    )


def mailing_competitions(site: Site) -> list[CompetitionSite]:
    """Return the competitions whose server sends mail."""
    mailing = []
    for competition in site.competitions.values():
        with contextlib.suppress(Problem):
            if competition.facts.server.smtp_host:
                mailing.append(competition)
    return mailing


def mail_lost_key(site: Site, contact: str) -> None:
    """Mail a link that signs in, within an hour, to each account with an address.

    Organisers of any competition get theirs from ``arena serve``; blocked accounts get none.
    """
    for account in site.accounts.with_contact(contact)[:_MOST_ACCOUNTS]:
        names = site.accounts.competitions_of(account.account)
        mailing = [one for one in mailing_competitions(site) if one.name in names]
        if not mailing or account.state == "blocked" or site.is_organiser(account.account):
            continue
        facts = mailing[0].facts
        secret = site.accounts.invite(
            "signin",
            account=account.account,
            made_by=account.account,
            expires=site.clock() + timedelta(hours=1),
        )
        url = f"{site.settings.url}/invite/{secret}"
        text = (
            f"Somebody, perhaps you, asked for a link that signs {account.name} in to "
            f"{_title(facts)}.\n\nIt works once, within an hour; do not pass it on:\n{url}\n\n"
            f"If it was not you, do nothing.\n{_foot(facts)}"
        )
        digest = hashlib.sha256(secret.encode()).hexdigest()
        subject = f"Sign in to {_title(facts)}"
        site.mails.add([Mail(f"lost key {digest}", mailing[0].name, contact, subject, text)])


def announcement_mails(
    site: Site, facts: CompetitionFacts, announcement: Announcement
) -> Iterator[Mail]:
    """Yield the mail with an announcement to each member of a team."""
    url = f"{site.settings.url}/{facts.name}/announcements"
    text = f"{announcement.text}\n\n{url}\n{_foot(facts)}"
    for account, recipient in _members(site, facts.name):
        yield Mail(
            f"announcement {facts.name} {announcement.announcement} {account}",
            facts.name,
            recipient,
            f"Announcement of {_title(facts)}",
            text,
        )


def _members(site: Site, competition: str) -> Iterator[tuple[str, str]]:
    """Yield the account and address of each member of a team whose account is active."""
    accounts = {one.account: one for one in site.accounts.accounts(competition)}
    for _team, members in site.accounts.teams(competition):
        for member in members:
            recipient = address_of(member.contact)
            if recipient and accounts[member.account].state == "active":
                yield member.account, recipient


def _title(facts: CompetitionFacts) -> str:
    return facts.title or facts.name


def _foot(facts: CompetitionFacts) -> str:
    contact = facts.server.contact
    asked = f"Questions and no further mails: {contact}\n" if contact else ""
    return f"\n-- \nThis mail was sent automatically.\n{asked}"


class Postman:
    """Writes the mails that are due and sends those that wait."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._written: set[str] = set()
        """Keys of the stored reminders; members who join later get no mail about them."""

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Work in a thread until the block ends; wait shortly for a mail that is being sent."""
        over = threading.Event()
        thread = threading.Thread(target=self._work, args=(over,), name="mails", daemon=True)
        self._site.mails.resume()
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(_PAUSE_SECONDS)

    def _work(self, over: threading.Event) -> None:
        while not over.wait(_PAUSE_SECONDS):
            try:
                self.write()
                while not over.is_set() and self.send_one():
                    pass
            except Exception:
                _LOGGER.exception("Mails cannot be sent. They wait.")

    def write(self) -> int:
        """Store the mails about deadlines and results that are due; return how many are new."""
        return sum(map(self._write, self._site.competitions.values()))

    def _write(self, competition: CompetitionSite) -> int:
        try:
            facts, phase = competition.facts, competition.state().phase
        except Problem:  # the scorer has never run
            return 0
        settings = facts.server
        if not settings.smtp_host:
            return 0
        deadline, now = competition.deadline(), self._site.clock()
        title, url = _title(facts), f"{self._site.settings.url}/{competition.name}/"
        if phase == "published":
            version = facts.result
            key = f"results {competition.name}" + (f" {version}" if version > 1 else "")
            subject = f"Results of {title}"
            text = f"The final results of the competition {title} are published:\n{url}private\n"
            if version > 1:
                subject = f"New results of {title}"
                text = (
                    f"New final results of the competition {title} are published, as result "
                    f"{version}. They replace the earlier ones:\n{url}private\n"
                )
        elif (
            deadline is not None
            and deadline - timedelta(hours=settings.reminder_hours) <= now < deadline
        ):
            when = f"{deadline:%Y-%m-%d %H:%M} UTC"
            key = f"deadline {competition.name} {deadline.isoformat()}"
            subject = f"{title} ends at {when}"
            text = f"The competition {title} ends at {when}:\n{url}submit\n"
            if facts.final_rule == "chosen":
                text += f"\nChoose your final submissions before:\n{url}submissions\n"
        else:
            return 0
        if key in self._written:
            return 0
        self._written.add(key)
        return self._site.mails.add(
            Mail(f"{key} {account}", competition.name, recipient, subject, text + _foot(facts))
            for account, recipient in _members(self._site, competition.name)
        )

    def send_one(self) -> bool:
        """Send the next mail that is due; return whether there was one.

        Temporary failures are tried again later; mails that the server refuses for good are not.
        The log has neither addresses nor texts.
        """
        mail = self._site.mails.claim()
        if mail is None:
            return False
        mails = self._site.mails
        try:
            competition = self._site.competitions[mail.competition]
            settings = competition.facts.server
            if not settings.smtp_host:
                raise OSError("no mail server is set")
            _deliver(message_of(mail, settings.smtp_from), settings)
        except (KeyError, Problem, OSError, smtplib.SMTPException) as error:
            _LOGGER.warning("A mail could not be sent: %s.", _reason(error))
            if _is_permanent(error):
                mails.failed(mail)
            else:
                mails.postpone(mail)
        except Exception:
            _LOGGER.exception("A mail could not be written.")
            mails.failed(mail)
        else:
            mails.sent(mail)
        return True


def _deliver(message: EmailMessage, settings: ServerSection) -> None:
    """Hand a message to the mail server; return once it accepted it."""
    context = ssl.create_default_context()
    where = (settings.smtp_host, settings.smtp_port)
    accepted = False
    try:
        with (
            smtplib.SMTP_SSL(*where, timeout=_TIMEOUT_SECONDS, context=context)
            if settings.smtp_tls == "tls"
            else smtplib.SMTP(*where, timeout=_TIMEOUT_SECONDS)
        ) as server:
            if settings.smtp_tls == "starttls":
                server.starttls(context=context)
            if settings.smtp_user:
                server.login(settings.smtp_user, _password(settings))
            server.send_message(message)
            accepted = True
    except (OSError, smtplib.SMTPException):
        if not accepted:  # a fault while leaving must not send it twice
            raise


def _codes(error: BaseException) -> list[int]:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return [code for code, _text in error.recipients.values()]
    return [error.smtp_code] if isinstance(error, smtplib.SMTPResponseException) else []


def _is_permanent(error: BaseException) -> bool:
    """Return whether the mail server refused this mail, and not its sender or the connection."""
    about_mail = isinstance(error, smtplib.SMTPRecipientsRefused | smtplib.SMTPDataError)
    return about_mail and all(code >= _PERMANENT for code in _codes(error))


def _reason(error: BaseException) -> str:
    """Return an error without the words of the mail server, which can have addresses."""
    numbers = [error.errno] if isinstance(error, OSError) and error.errno else _codes(error)
    return " ".join((type(error).__name__, *map(str, numbers)))
