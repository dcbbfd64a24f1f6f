"""Every mail and notice that a server writes, whole; and what becomes of one that fails."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import smtplib
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.requests import Answer
from arena.server.records.announcements import Announcement
from arena.server.records.mails import Mail
from arena.server.records.messages import Message
from arena.server.records.published import State
from arena.server.records.teams import TeamRequest
from arena.server.web import mail as mailing
from arena.server.web.mail import Postman
from arena.server_section import ServerSection
from kept import check_kept
from web_site import NAME, WebSite

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def site_with_mail(folder: Path) -> WebSite:
    """Return a site at a fixed time, with a mail server, a chat and members of several kinds."""
    (folder / "chat").write_text("https://chat.example.org/hook\n")
    site = WebSite(
        folder / "root",
        smtp_host="mail.example.org",
        smtp_from="race@example.org",
        contact="host@example.org",
        webhook_file=str(folder / "chat"),
        reminder_hours=48,
    )
    site.site.clock = lambda: NOW
    for name, about in {
        "Ada": {"contact": " ada@example.org "},
        "Bo": {"contact": "by phone"},
        "Cy": {"contact": "cy@example.org", "state": "waiting"},
        "Di": {"contact": "di@example.org", "state": "blocked"},
    }.items():
        site.person(name, f"Team {name}", **about)
    return site


@pytest.fixture
def new(tmp_path: Path) -> Iterator[WebSite]:
    site = site_with_mail(tmp_path)
    yield site
    site.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebSite]:
    site = site_with_mail(tmp_path_factory.mktemp("mailed"))
    yield site
    site.close()


@pytest.fixture
def mailed(shared: WebSite) -> WebSite:
    """Return a site that tests share, with its facts and without a mail that waits."""
    shared.scorer.publish(facts=shared.facts)
    waiting(shared)
    return shared


def waiting(web: WebSite) -> list[Mail]:
    """Return the mails that wait, and take them."""
    return list(iter(web.site.mails.claim, None))


def account_of(web: WebSite, name: str) -> str:
    (account,) = (
        person.account for person in web.site.accounts.accounts(NAME) if person.name == name
    )
    return account


def test_every_mail_is_kept(new: WebSite) -> None:
    postman, parts = Postman(new.site), list[str]()

    def write(case: str, /, **facts: Any) -> None:
        """Keep what is new with the state and the facts that were published last."""
        if facts:
            new.facts = replace(new.facts, **facts)
            new.scorer.publish(facts=new.facts)
        new.scorer.publisher.publish(state=State(**{"beat": NOW.timestamp(), **state}))
        written = postman.write()
        mails = waiting(new)
        assert (written, postman.write()) == (len(mails), 0)
        keep(case, mails)

    def keep(case: str, mails: list[Mail]) -> None:
        parts.append(f"== {case}\n")
        for mail in mails:
            parts.append(f"-- {mail.key}\nTo: {mail.recipient}\n{mail.subject}\n\n{mail.body}")

    def in_hours(hours: float) -> str:
        return (NOW + timedelta(hours=hours)).isoformat()

    state: dict[str, Any] = {"phase": "open"}
    write("nothing is due", title="", deadline=in_hours(48.01))
    write("48 hours before the deadline", deadline=in_hours(48))
    write("an hour before another deadline", deadline=in_hours(1), final_rule="best")
    write("at the deadline", title="Churn", deadline=in_hours(0))
    state = {"phase": "open", "set_aside": 1}
    write("a file was set aside")
    state = {"phase": "closed", "set_aside": 2, "beat": NOW.timestamp() - 60.5}
    write("files were set aside, the scorer is down, the deadline has passed")
    state = {"phase": "finalized", "beat": NOW.timestamp() - 60}
    write("the scorer was silent for a minute")
    open_to_all = new.facts.server
    write("an account waits for approval", server=open_to_all.model_copy(update={"approve": True}))
    state = {"phase": "published"}
    mark = {"time": "2026-03-01T12:00:00+00:00", "cause": "a team was disqualified"}
    new.scorer.publish_result([])
    write("results are published", result=1, server=open_to_all)
    new.scorer.publish_result([], version=2, mark=mark)
    write("new results are published and no longer hold", result=2)
    new.scorer.publish_result([], version=2, retracted={"time": "", "reason": "Wrong labels."})
    write("results are retracted")

    ada, facts, site = account_of(new, "Ada"), new.facts, new.site
    quiet = replace(facts, server=ServerSection(join="open"))
    team_request = TeamRequest(ada, "Ada", None, "t", NOW)
    message = Message(
        3,
        ada,
        from_organiser=True,
        text="*Read* the rules.",
        posted=NOW,
        answers=None,
        published="",
    )
    for about in (facts, quiet):
        name = "with a mail server" if about is facts else "without one"
        keep(f"a message, {name}", [*mailing.message_mails(site, about, [message])])
        for account in (ada, account_of(new, "Di"), ""):
            keep("a request", [*mailing.request_mails(site, about, "asker", "t", account)])
        keep("an accepted request", [*mailing.accepted_mails(site, about, team_request)])
    announcement = Announcement(4, "The *deadline* moves.", NOW)
    keep("an announcement", [*mailing.announcement_mails(site, facts, announcement)])
    keep("an invitation", [mailing.invitation_mail(facts, "Ants", "e@example.org", "https://link")])
    for contact in ("ada@example.org", "di@example.org"):
        mailing.mail_lost_key(site, f" {contact} ".strip())
        keep(f"a lost key of {contact}", waiting(new))
    text = re.sub(r"/invite/\S+", "/invite/SECRET", "\n".join(parts))
    for name in ("Ada", "Bo", "Cy", "Di"):
        text = text.replace(account_of(new, name), name)
    check_kept("mails.txt", re.sub(r"\b[0-9a-f]{12,64}\b", "DIGEST", text) + "\n")


def test_a_file_has_its_result_by_mail_if_its_sender_asked_before(mailed: WebSite) -> None:
    mailed.scorer.publisher.publish(state=State("open", NOW.timestamp()))
    mailed.site.accounts.choose_result_mail(NAME, account_of(mailed, "Ada"), wanted=True)
    mailed.site.accounts.choose_result_mail(NAME, account_of(mailed, "Di"), wanted=True)

    def answer(seq: int, member: str = "Ada", kind: str = "submit", **about: Any) -> Answer:
        fields = {"judged": "2999-01-01T00:00:00+00:00", "team": "Ants", **about}
        account = account_of(mailed, member)
        return Answer(f"request-{seq}", seq, kind=kind, status="accepted", member=account, **fields)

    mailed.scorer.publisher.publish(names={"Team Ada": "Ants"})

    mailed.scorer.publisher.publish(
        answers=[
            answer(1),
            answer(2, judged="2000-01-01T00:00:00+00:00"),  # before it was asked for
            answer(3, kind="select"),
            answer(4, of_request="request-1"),
            answer(5, "Bo"),
            answer(6, "Di"),
            answer(7, team="Team Bo"),  # which the sender has left
        ]
    )
    assert Postman(mailed.site).write() == 1
    (mail,) = waiting(mailed)
    assert (mail.key, mail.recipient) == (f"result {NAME} request-1", "ada@example.org")
    assert mail.subject == "Your file has its result: Customer <b>churn</b>"
    assert mail.body == (
        "A file that you sent to Customer <b>churn</b> has its result:\n"
        "https://arena.example.org/churn/submissions/request-1\n\n-- \n"
        "This mail was sent automatically.\nQuestions and no further mails: host@example.org\n"
    )


REFUSALS: dict[str, tuple[BaseException, str, str, str]] = {
    "no such person": (
        smtplib.SMTPRecipientsRefused({"ada@example.org": (550, b"no such person")}),
        "failed", "550 no such person", "SMTPRecipientsRefused 550",
    ),
    "499 is not for good": (
        smtplib.SMTPRecipientsRefused({"ada@example.org": (499, b"not now")}), "waiting", "",
        "SMTPRecipientsRefused 499",
    ),
    "500 is for good": (
        smtplib.SMTPDataError(500, b"too \xff large"), "failed",
        "500 too \ufffd large", "SMTPDataError 500",
    ),
    "one of two is not for good": (
        smtplib.SMTPRecipientsRefused({"a@b.org": (550, b"no"), "c@b.org": (450, b"busy")}),
        "waiting", "", "SMTPRecipientsRefused 550 450",
    ),
    "the sender is refused": (
        smtplib.SMTPSenderRefused(550, b"who?", "race@example.org"), "waiting", "",
        "SMTPSenderRefused 550",
    ),
    "the password is refused": (
        smtplib.SMTPAuthenticationError(535, b"no"), "waiting", "", "SMTPAuthenticationError 535",
    ),
    "no connection": (
        ConnectionRefusedError(111, "refused"), "waiting", "", "ConnectionRefusedError 111",
    ),
    "no TLS": (smtplib.SMTPNotSupportedError("STARTTLS"), "waiting", "", "SMTPNotSupportedError"),
    "a fault of arena": (
        ValueError("secret"), "failed",
        "it could not be written: the log of the server says why", "",
    ),
}  # fmt: skip
"""An error -> the state of the mail, the reason that organisers read, and what is logged."""


def test_a_mail_that_fails_waits_or_is_given_up(
    mailed: WebSite, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing: list[BaseException] = []

    def deliver(*_: Any) -> None:
        raise failing[-1]

    monkeypatch.setattr(mailing, "deliver", deliver)
    postman = Postman(mailed.site)
    for case, (error, state, reason, logged) in REFUSALS.items():
        failing.append(error)
        before = mailed.site.mails.counts(NAME)
        mailed.site.mails.add([Mail(case, NAME, "ada@example.org", "Subject", "Text")])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert [postman.send_one(), postman.send_one()] == [True, False]
        after = mailed.site.mails.counts(NAME)
        assert after == {**before, state: before.get(state, 0) + 1}, case
        reasons = {mail.mail: mail.reason for mail in mailed.site.mails.failures(NAME)}
        assert reasons.get(case, "") == reason
        sentence = (
            f"A mail could not be sent: {logged}." if logged else "A mail could not be written."
        )
        assert [record.getMessage() for record in caplog.records] == [sentence]
    # Of a competition that has no mail server any more.
    mailed.scorer.publish(facts=replace(mailed.facts, server=ServerSection(join="open")))
    mailed.site.mails.add([Mail("last", NAME, "ada@example.org", "S", "T")])
    waiting_before = mailed.site.mails.counts(NAME)["waiting"]
    assert postman.send_one()
    assert mailed.site.mails.counts(NAME)["waiting"] == waiting_before
    assert mailing.mailing_competitions(mailed.site) == []


def test_the_words_of_a_mail_server_are_cut() -> None:
    refused = smtplib.SMTPDataError(550, b"x" * 300)
    assert mailing.organiser_error(refused) == f"550 {'x' * 296}"
    assert mailing.organiser_error(OSError()) == "OSError"
    assert mailing.organiser_error(
        smtplib.SMTPRecipientsRefused({"a": (550, "no"), "b": (551, b"so")})
    ) == ("550 no; 551 so")


class MailServer:
    """Stands for :class:`smtplib.SMTP`; ``steps`` is what was done."""

    def __init__(self, kind: str, steps: list[Any]) -> None:
        self.kind, self.steps = kind, steps

    def __call__(self, host: str, port: int, **given: Any) -> MailServer:
        self.steps.append((self.kind, host, port, given.pop("timeout"), *given.values()))
        return self

    def __enter__(self) -> MailServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.steps.append("leave")
        raise smtplib.SMTPServerDisconnected("while leaving")

    def starttls(self, *, context: Any) -> None:
        self.steps.append(("starttls", context))

    def login(self, user: str, password: str) -> None:
        self.steps.append((user, password))

    def send_message(self, message: Any) -> None:
        self.steps.append(message["To"])


@pytest.mark.parametrize(
    ("tls", "user", "steps"),
    [
        (
            "tls", "race",
            [("SMTP_SSL", "m", 465, 30.0, "trusted"), ("race", "word"), "a@b.org", "leave"],
        ),
        (
            "starttls", "",
            [("SMTP", "m", 465, 30.0), ("starttls", "trusted"), "a@b.org", "leave"],
        ),
        ("none", "", [("SMTP", "m", 465, 30.0), "a@b.org", "leave"]),
    ],
)  # fmt: skip
def test_a_fault_while_leaving_does_not_send_a_mail_twice(
    tls: str, user: str, steps: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[Any] = []
    monkeypatch.setattr("arena.server.web.mail.ssl.create_default_context", lambda: "trusted")
    for kind in ("SMTP", "SMTP_SSL"):
        monkeypatch.setattr(f"arena.server.web.mail.smtplib.{kind}", MailServer(kind, done))
    (tmp_path / "password").write_text(" word\n")
    settings = ServerSection(
        smtp_host="m", smtp_port=465, smtp_tls=tls, smtp_user=user, smtp_from="r@b.org",
        smtp_password_file=str(tmp_path / "password"),
    )  # fmt: skip
    message = mailing.message_of(Mail("k", NAME, "a@b.org", "S", "T"), "r@b.org")
    mailing.deliver(message, settings)
    assert done == steps
    monkeypatch.setattr(MailServer, "send_message", lambda *_: 1 / 0)
    with pytest.raises((smtplib.SMTPServerDisconnected, ZeroDivisionError)):
        mailing.deliver(message, settings)


def test_a_message_has_headers_of_one_line() -> None:
    message = mailing.message_of(
        Mail("key", NAME, "ada@example.org", "A\r\nBcc: e\x07" + "x" * 300, "Tëxt", created=NOW),
        "race@example.org",
    )
    assert message["Subject"] == "A Bcc: e " + "x" * 191  # 200 characters
    assert message["Date"] == "Sun, 01 Mar 2026 12:00:00 +0000"
    assert message["Auto-Submitted"] == "auto-generated"
    # The first 32 digits of the SHA-256 of "key".
    assert message["Message-ID"] == "<2c70e12b7a0646f92279f427c7b38e73@example.org>"
    assert message.get_content() == "Tëxt\n"
    assert message["Content-Transfer-Encoding"] == "quoted-printable"
    # 64 characters, the @, three parts of 61 with their dots, and 6 or 7: 254 or 255.
    longest = f"{'a' * 64}@{('b' * 60 + '.') * 3}{'c' * 6}"
    assert [mailing.address_of(longest), mailing.address_of(f"{longest}c")] == [longest, None]


def test_a_notice_is_posted_to_the_chat(mailed: WebSite, monkeypatch: pytest.MonkeyPatch) -> None:
    posted: list[Any] = []

    @contextlib.contextmanager
    def open_address(request: Any, timeout: float) -> Iterator[None]:
        headers = dict(request.header_items())
        posted.append(
            (request.full_url, json.loads(request.data), headers["Content-type"], timeout)
        )
        yield

    monkeypatch.setattr("arena.server.web.mail.urllib.request.urlopen", open_address)
    mailed.site.mails.add(mailing.organisers_notice(mailed.facts, "key", "A text."))
    postman = Postman(mailed.site)
    assert [postman.send_one(), postman.send_one()] == [True, False]
    text = "Customer <b>churn</b>: A text."
    assert posted == [
        (
            "https://chat.example.org/hook", {"text": text, "content": text}, "application/json",
            30.0,
        )
    ]  # fmt: skip
    assert mailed.site.mails.counts(NAME)["sent"] == 1
    notice, chat = Mail("k", NAME, "chat", "S", "T"), Path(mailed.facts.server.webhook_file)
    for address, allowed in (
        ("http://127.0.0.1:8065/hook", True),
        ("http://localhost:8065/hook", True),
        ("http://chat.example.org/hook", False),
    ):
        chat.write_text(address)
        if allowed:
            mailing.post_notice(notice, mailed.facts.server)
        else:
            with pytest.raises(OSError, match="^the address of the webhook is not encrypted$"):
                mailing.post_notice(notice, mailed.facts.server)
    assert len(posted) == 3
    with pytest.raises(OSError, match="^no webhook is set$"):
        mailing.post_notice(notice, ServerSection(join="open"))
    assert mailing.organisers_notice(replace(mailed.facts, server=ServerSection()), "k", "t") == []


def test_the_postman_works_until_it_is_over(
    mailed: WebSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    monkeypatch.setattr(mailing, "_PAUSE_SECONDS", 0.001)
    postman = Postman(mailed.site)

    def write() -> int:
        steps.append("write")
        if len(steps) == 1:
            raise OSError("full")  # the next round tries again
        return 0

    sends = iter([True, True, False])
    monkeypatch.setattr(postman, "write", write)
    monkeypatch.setattr(postman, "send_one", lambda: (steps.append("send"), next(sends, False))[1])
    mailed.site.mails.add([Mail("a", NAME, "ada@example.org", "S", "T")])
    mailed.site.mails.claim()
    with postman.working():
        # What another process had begun waits again.
        assert "sending" not in mailed.site.mails.counts(NAME)
        for _ in range(1_000):
            if len(steps) >= 6:
                break
            time.sleep(0.002)
    assert steps[:5] == ["write", "write", "send", "send", "send"]
