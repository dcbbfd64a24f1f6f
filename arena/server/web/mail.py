"""E-mails to participants by SMTP, and notices to the organisers' chat by a webhook.

Both are stored in a queue and sent by a thread: no page waits for another server. They are plain
text and in English, and have nothing that a participant wrote.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import smtplib
import ssl
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from itertools import chain
from pathlib import Path
from typing import Any

from arena.server.records.announcements import Announcement
from arena.server.records.mails import SMTP_PASSWORD, Mail
from arena.server.records.messages import Message
from arena.server.records.published import CompetitionFacts, State
from arena.server.records.teams import TeamRequest
from arena.server.web.problems import Problem
from arena.server.web.site import SILENT_AFTER, CompetitionSite, Site
from arena.server_section import ServerSection
from arena.utils.text import EMAIL_ADDRESS

_LOGGER = logging.getLogger("arena.server.web")
_PAUSE_SECONDS = 5.0
_TIMEOUT_SECONDS = 30.0
_PERMANENT = 500
_MOST_ACCOUNTS = 5
"""With one address, to which a link is sent."""
_CHAT = "chat"
"""The recipient of a notice to the organisers; no e-mail address is like it."""
_RECENT_ANSWERS = 500
"""Newest answers that are searched, every 5 s, for results to report by e-mail."""


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
        recipient=recipient,
        subject=f"Invitation to {_title(facts)}",
        body=f"You are invited to the competition {_title(facts)}, as a member of the team "
        f"{team}.\n\nThis link registers you. It works once; do not pass it on:\n"
        f"{url}\n{_foot(facts)}",
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
        competitions = mailing_competitions(site)
        mailing = [competition for competition in competitions if competition.name in names]
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
        site.mails.add(
            [
                Mail(
                    f"lost key {digest}",
                    mailing[0].name,
                    recipient=contact,
                    subject=subject,
                    body=text,
                )
            ]
        )


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
            recipient=recipient,
            subject=f"Announcement of {_title(facts)}",
            body=text,
        )


def message_mails(
    site: Site, facts: CompetitionFacts, messages: Sequence[Message]
) -> Iterator[Mail]:
    """Yield the mail with each message of an organiser to an account that has an address."""
    url = f"{site.settings.url}/{facts.name}/messages"
    for message in messages:
        yield from _mail_to(
            site,
            facts,
            message.account,
            key=f"message {facts.name} {message.message}",
            subject=f"Message from the organisers of {_title(facts)}",
            text=f"{message.text}\n\n{url}\n",
        )


def request_mails(
    site: Site, facts: CompetitionFacts, asker: str, team: str, captain: str
) -> Iterator[Mail]:
    """Yield the mail about a request to a team to its captain: one for each asker and team."""
    yield from _mail_to(
        site,
        facts,
        captain,
        key=f"asks {facts.name} {asker} {team} {captain}",
        subject=f"A request to your team in {_title(facts)}",
        text="A person asks to join your team, or a team asks to merge with it. Accept or decline "
        f"the request on this page:\n\n{site.settings.url}/{facts.name}/team\n",
    )


def accepted_mails(site: Site, facts: CompetitionFacts, request: TeamRequest) -> Iterator[Mail]:
    """Yield the mail that a team accepted a request, to the person who asked."""
    yield from _mail_to(
        site,
        facts,
        request.account,
        key=f"accepted {facts.name} {request.account} {request.asked.isoformat()}",
        subject=f"Your request to a team in {_title(facts)}",
        text=f"The team accepted your request.\n\n{site.settings.url}/{facts.name}/team\n",
    )


def _mail_to(
    site: Site, facts: CompetitionFacts, account: str, *, key: str, subject: str, text: str
) -> Iterator[Mail]:
    """Yield a mail to one account of a competition, if it has an address and is not blocked."""
    if not (facts.server.smtp_host and account):
        return
    person = site.accounts.account(account, facts.name)
    recipient = address_of(person.contact)
    if recipient and person.state != "blocked":
        yield Mail(key, facts.name, recipient=recipient, subject=subject, body=text + _foot(facts))


def organisers_notice(facts: CompetitionFacts, key: str, text: str) -> list[Mail]:
    """Return the notice to the organisers' chat; an empty list if there is no chat."""
    if not facts.server.webhook_file:
        return []
    return [
        Mail(
            f"chat {facts.name} {key}",
            facts.name,
            recipient=_CHAT,
            subject=_title(facts),
            body=text,
        )
    ]


def _members(site: Site, competition: str) -> Iterator[tuple[str, str]]:
    """Yield the account and address of each member of a team whose account is active."""
    accounts = {account.account: account for account in site.accounts.accounts(competition)}
    for _team, members in site.accounts.teams(competition):
        for member in members:
            recipient = address_of(member.contact)
            if recipient and accounts[member.account].state == "active":
                yield member.account, recipient


def _last_result(competition: CompetitionSite) -> Mapping[str, Any]:
    """Return the last published result without its rows; empty: none was published."""
    results, _etag = competition.held("results", lambda document: document.json())
    return results[-1] if results else {}


def _mark_text(result: Mapping[str, Any]) -> str:
    since = result["mark"]["time"][:16].replace("T", " ")
    return (
        f"Result {result['version']} no longer holds since {since} UTC: {result['mark']['cause']}."
    )


def _title(facts: CompetitionFacts) -> str:
    return facts.title or facts.name


def _foot(facts: CompetitionFacts) -> str:
    contact = facts.server.contact
    contact_line = f"Questions and no further mails: {contact}\n" if contact else ""
    return f"\n-- \nThis mail was sent automatically.\n{contact_line}"


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
            facts, state = competition.facts, competition.state()
        except Problem:  # the scorer has never run
            return 0
        notices = self._notices(competition, facts, state)
        results = self._results(competition, facts)
        return self._site.mails.add(chain(notices, results)) + self._write_to_all(
            competition, facts, state.phase
        )

    def _notices(
        self, competition: CompetitionSite, facts: CompetitionFacts, state: State
    ) -> Iterator[Mail]:
        """Yield what the organisers must know; each fact has a key, so that it is sent once."""
        page = f"{self._site.settings.url}/{competition.name}/admin"
        if facts.server.webhook_file and facts.server.approve:
            for account in self._site.accounts.accounts(competition.name):
                if account.state == "waiting":
                    text = f"An account waits for approval: {page}"
                    yield from organisers_notice(facts, f"approval {account.account}", text)
        if state.set_aside:
            are = "file was" if state.set_aside == 1 else "files were"
            text = f"{state.set_aside} {are} set aside: {page}"
            yield from organisers_notice(facts, f"set aside {state.set_aside}", text)
        if self._site.clock().timestamp() - state.beat > SILENT_AFTER:
            text = f"Submissions are received but not scored: the scorer is down. {page}"
            yield from organisers_notice(facts, f"down {state.beat:.0f}", text)
        last = _last_result(competition)
        if last.get("mark"):
            text = f"{_mark_text(last)} Finalize and publish again, or retract it: {page}"
            yield from organisers_notice(
                facts, f"mark {last['version']} {last['mark']['time']}", text
            )
        if state.phase == "closed":
            text = f"The deadline has passed. Finalize, look at the private board, publish: {page}"
            yield from organisers_notice(facts, f"deadline {facts.deadline}", text)

    def _results(self, competition: CompetitionSite, facts: CompetitionFacts) -> Iterator[Mail]:
        """Yield a mail for each file that has a result and whose sender asked for mails before.

        A person who has left the team since then gets none: only the team may see the result.
        """
        accounts = self._site.accounts
        since = accounts.result_mails(competition.name) if facts.server.smtp_host else {}
        if not since:
            return
        people = {person.account: person for person in accounts.accounts(competition.name)}
        for answer in competition.published.answers(None, limit=_RECENT_ANSWERS):
            person = people.get(answer.member)
            if answer.kind != "submit" or person is None or person.state != "active":
                continue
            if answer.of_request:  # one mail for all rounds of a file
                continue
            asked, recipient = since.get(answer.member), address_of(person.contact)
            if asked is None or recipient is None or answer.judged <= asked.isoformat():
                continue
            team = accounts.team_of(competition.name, answer.member)
            if team is None or competition.published.current_name(team.name) != answer.team:
                continue
            url = f"{self._site.settings.url}/{competition.name}/submissions/{answer.request}"
            yield Mail(
                f"result {competition.name} {answer.request}",
                competition.name,
                recipient=recipient,
                subject=f"Your file has its result: {_title(facts)}",
                body=f"A file that you sent to {_title(facts)} has its result:\n{url}\n"
                f"{_foot(facts)}",
            )

    def _write_to_all(
        self, competition: CompetitionSite, facts: CompetitionFacts, phase: str
    ) -> int:
        settings = facts.server
        if not settings.smtp_host:
            return 0
        deadline, now = competition.deadline(), self._site.clock()
        title, url = _title(facts), f"{self._site.settings.url}/{competition.name}/"
        last = _last_result(competition)
        if last.get("retracted"):
            version = last["version"]
            key = f"retracted {competition.name} {version}"
            subject = f"Results of {title} are retracted"
            text = (
                f"Result {version} of the competition {title} was retracted: "
                f"{last['retracted']['reason']}\n{url}private\n"
            )
        elif phase == "published":
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
            if last.get("mark"):
                text += f"\n{_mark_text(last)} A new result follows.\n"
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
            Mail(
                f"{key} {account}",
                competition.name,
                recipient=recipient,
                subject=subject,
                body=text + _foot(facts),
            )
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
            if mail.recipient == _CHAT:
                post_notice(mail, settings)
            elif not settings.smtp_host:
                raise OSError("no mail server is set")
            else:
                deliver(message_of(mail, settings.smtp_from), settings)
        except (KeyError, Problem, OSError, smtplib.SMTPException) as error:
            _LOGGER.warning("A mail could not be sent: %s.", _reason(error))
            if _is_permanent(error):
                mails.failed(mail, organiser_error(error))
            else:
                mails.postpone(mail, organiser_error(error))
        except Exception:
            _LOGGER.exception("A mail could not be written.")
            mails.failed(mail, "it could not be written: the log of the server says why")
        else:
            mails.sent(mail)
        return True


def deliver(message: EmailMessage, settings: ServerSection) -> None:
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


def post_notice(mail: Mail, settings: ServerSection) -> None:
    """Post a notice to the webhook; return once it was accepted.

    Slack, Mattermost, Google Chat and Teams read ``text``, Discord reads ``content``.
    """
    if not settings.webhook_file:
        raise OSError("no webhook is set")
    address = Path(settings.webhook_file).read_text(encoding="utf-8").strip()
    if not address.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
        raise OSError("the address of the webhook is not encrypted")
    text = f"{mail.subject}: {mail.body}"
    request = urllib.request.Request(  # noqa: S310 - the schemes are checked above
        address,
        json.dumps({"text": text, "content": text}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):  # noqa: S310
        pass


def _answers(error: BaseException) -> list[tuple[int, str]]:
    """Return the codes and the words with which a mail server refused; empty: it did not answer."""
    answers: list[tuple[int, bytes | str]] = []
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        answers += error.recipients.values()
    elif isinstance(error, smtplib.SMTPResponseException):
        answers.append((error.smtp_code, error.smtp_error))
    return [
        (code, words.decode("utf-8", "replace") if isinstance(words, bytes) else words)
        for code, words in answers
    ]


def _is_permanent(error: BaseException) -> bool:
    """Return whether the mail server refused this mail, and not its sender or the connection."""
    about_mail = isinstance(error, smtplib.SMTPRecipientsRefused | smtplib.SMTPDataError)
    return about_mail and all(code >= _PERMANENT for code, _text in _answers(error))


def organiser_error(error: BaseException) -> str:
    """Return an error for organisers, with the words of the mail server."""
    if answers := _answers(error):
        return "; ".join(f"{code} {words}" for code, words in answers)[:300]
    return str(error) or type(error).__name__


def _reason(error: BaseException) -> str:
    """Return an error without the words of the mail server, which can have addresses."""
    numbers = [code for code, _text in _answers(error)]
    if isinstance(error, OSError) and error.errno:
        numbers = [error.errno]
    return " ".join((type(error).__name__, *map(str, numbers)))
