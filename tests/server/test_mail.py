"""E-mails: each is sent once, none is lost while the mail server is down, and nothing waits."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult
from pydantic import ValidationError

from arena.config import ServerSection
from arena.server.records.mails import Mail
from arena.server.web.mail import Postman, address_of, message_of
from mail_server import Received, certificate_for, mail_server
from web_site import NAME, URL, WebSite

API = f"/api/v1/{NAME}"
SENDER = "race@example.org"


@contextmanager
def mailing(tmp_path: Path, server: Received, **settings: Any) -> Iterator[WebSite]:
    section = {
        "smtp_host": "127.0.0.1", "smtp_port": server.port, "smtp_tls": "none",
        "smtp_from": SENDER, "contact": "host@example.org",
    }  # fmt: skip
    web = WebSite(tmp_path / "root", **{**section, **settings})
    try:
        yield web
    finally:
        web.close()


def send_all(web: WebSite) -> int:
    postman = Postman(web.site)
    postman.write()
    return sum(iter(postman.send_one, False))


@pytest.mark.slow
def test_an_invitation_is_sent_once_also_after_the_mail_server_was_down(tmp_path: Path) -> None:
    with mail_server() as server, mailing(tmp_path, server) as web:
        admin = web.program(web.token(web.person("Org", organiser=True), "admin"))
        csv = "team,name,contact\nBees & Bühne,Bo,bo@example.org\nCats,Cy,by phone\n"
        invited = admin.post(f"{API}/admin/teams", content=csv).json()
        assert (len(invited["rows"]), invited["mailed"]) == (2, 1)
        server.answers = ["451 not now", "421 closing"]
        for wait in (0, 1, 2):
            web.offset += timedelta(minutes=wait)
            assert send_all(web) == 1
            assert send_all(web) == 0
        web.offset += timedelta(days=1)
        assert send_all(web) == 0
        (message,) = server.messages
        assert (message["From"], message["To"]) == (SENDER, "bo@example.org")
        assert message["Subject"] == "Invitation to Customer <b>churn</b>"
        text = message.get_content()
        assert "Bees & Bühne" in text
        assert invited["rows"][0]["url"] in text
        assert invited["rows"][1]["url"] not in text
        paths = web.site.settings.layout.intake.parent.iterdir()
        secret = invited["rows"][0]["url"].rpartition("/")[2]
        web.site.mails._database.execute("VACUUM")
        web.site.mails._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert not any(secret.encode() in path.read_bytes() for path in paths if path.is_file())
        metrics = web.program().get("/metrics").text
        assert 'arena_mails{competition="churn",state="sent"} 1.0' in metrics


@pytest.mark.slow
def test_members_are_reminded_and_told_the_results_once(tmp_path: Path) -> None:
    with mail_server() as server, mailing(tmp_path, server) as web:
        for name, about in {
            "Ada": {"contact": "ada@example.org"},
            "Bo": {"contact": "bo@example.org\r\nBcc: eve@example.org"},
            "Cy": {"contact": "cy@example.org", "state": "waiting"},
            "Di": {},
        }.items():
            web.person(name, f"Team {name}", **about)
        web.person("Org", organiser=True, contact="org@example.org")
        now = web.site.clock()
        title = "Churn\r\nBcc: eve@example.org"
        facts = replace(web.facts, title=title, deadline=(now + timedelta(hours=50)).isoformat())
        web.scorer.publish(facts=facts)
        assert send_all(web) == 0
        web.offset += timedelta(hours=3)
        assert [send_all(web), send_all(web)] == [1, 0]
        web.offset += timedelta(days=3)
        assert send_all(web) == 0
        web.scorer.state(phase="published")
        assert [send_all(web), send_all(web)] == [1, 0]
        reminder, results = server.messages
        assert {message["To"] for message in server.messages} == {"ada@example.org"}
        assert reminder["Subject"].startswith("Churn Bcc: eve@example.org ends at ")
        assert reminder["Bcc"] is None
        assert f"{URL}/{NAME}/private" in results.get_content()
        assert "host@example.org" in results.get_content()
        mark = {"time": "2026-03-01T12:00:00+00:00", "cause": "a team was disqualified"}
        web.scorer.publish_result([], version=2, mark=mark)
        web.scorer.publish(facts=replace(web.facts, result=2))
        web.scorer.state(phase="published")
        assert send_all(web) == 1  # of a second version
        sentence = "Result 2 no longer holds since 2026-03-01 12:00 UTC: a team was disqualified."
        assert sentence in server.messages[-1].get_content()
        retracted = {"time": mark["time"], "reason": "Wrong labels."}
        web.scorer.publish_result([], version=2, retracted=retracted)
        assert [send_all(web), send_all(web)] == [1, 0]
        assert server.messages[-1]["Subject"].endswith("are retracted")
        assert "was retracted: Wrong labels." in server.messages[-1].get_content()


def test_an_announcement_is_sent_to_the_members_of_all_teams_once(tmp_path: Path) -> None:
    with mail_server() as server, mailing(tmp_path, server) as web:
        web.person("Ada", "Ants", contact="ada@example.org")
        web.person("Bo", "Bees", contact="bo@example.org")
        web.person("Cy", "Cats", contact="cy@example.org", state="waiting")
        admin = web.program(web.token(web.person("Org", organiser=True), "admin"))
        quiet, mailed = (
            admin.post(f"{API}/admin/announcements", json={"text": text, "mail": mail}).json()
            for text, mail in (("Only a page", False), ("The *deadline* moves", True))
        )
        assert (quiet["mailed"], mailed["mailed"]) == (0, 2)
        assert [send_all(web), send_all(web)] == [2, 0]
        assert {message["To"] for message in server.messages} == {
            "ada@example.org",
            "bo@example.org",
        }
        text = server.messages[0].get_content()
        assert "The *deadline* moves" in text
        assert f"{URL}/{NAME}/announcements" in text


@pytest.mark.slow
def test_what_an_ended_process_had_begun_is_sent_again_under_the_same_name(tmp_path: Path) -> None:
    with mail_server() as server, mailing(tmp_path, server) as web:
        mail = Mail("a", NAME, "ada@example.org", "Subject", "Text")
        web.site.mails.add([mail])
        begun = web.site.mails.claim()
        assert begun is not None
        assert send_all(web) == 0
        web.site.mails.resume()
        assert send_all(web) == 1
        assert server.messages[0]["Message-ID"] == message_of(begun, SENDER)["Message-ID"]


@pytest.mark.slow
def test_a_mail_that_is_refused_for_good_does_not_hold_up_others(tmp_path: Path) -> None:
    with mail_server() as server, mailing(tmp_path, server) as web:
        mails = [Mail(key, NAME, f"{key}@example.org", "Subject", "Text") for key in "abc"]
        web.site.mails.add(mails)
        server.answers = ["550 no such person", "451 not now"]
        assert send_all(web) == 3
        assert web.site.mails.counts(NAME) == {"failed": 1, "sent": 1, "waiting": 1}
        for _day in range(5):
            web.offset += timedelta(days=1)
            server.answers = ["451 not now"]
            send_all(web)
        assert web.site.mails.counts(NAME) == {"failed": 2, "sent": 1}
        account = web.person("Org", organiser=True)
        organiser, program = web.browser(account), web.program(web.token(account, "admin"))
        page = organiser.get(f"/{NAME}/admin").text
        for text in ("E-mails that failed</dt><dd>2<", "a@example.org", "550 no such person",
                     "451 not now"):  # fmt: skip
            assert text in page
        again, server.answers = {"mail": "a"}, []
        assert organiser.post(f"/{NAME}/admin/mails", data=again).status_code == 303
        assert program.post(f"{API}/admin/mails", json=again).status_code == 404
        assert program.post(f"{API}/admin/mails", json={"mail": "b"}).status_code == 200
        assert send_all(web) == 2
        assert web.site.mails.counts(NAME) == {"sent": 3}
        web.site.mails.add([Mail("d", NAME, "d@example.org", "Subject", "Text")])
        server.answers = ["550 no such person"]
        assert send_all(web) == 1
        web.offset += timedelta(days=31)
        assert send_all(web) == 0
        assert web.site.mails.failures(NAME) == []
        assert web.site.mails._rows("SELECT * FROM mail_failures") == []


@pytest.mark.slow
def test_the_password_is_sent_to_the_right_server_only_and_never_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins = []

    def authenticate(_server: Any, _session: Any, _envelope: Any, _how: str, data: Any) -> Any:
        logins.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=logins[-1][1] == "right", handled=False)

    monkeypatch.setenv("ARENA_SMTP_PASSWORD", "wr0ng-secret")
    options: dict[str, Any] = {"authenticator": authenticate, "auth_require_tls": False}
    with caplog.at_level(logging.DEBUG), mail_server(**options) as server:
        with mailing(tmp_path / "a", server, smtp_user="race") as web:
            web.site.mails.add([Mail("a", NAME, "ada@example.org", "Subject", "Text")])
            assert send_all(web) == 1
            assert web.site.mails.counts(NAME) == {"waiting": 1}
            file = tmp_path / "password"
            file.write_text("right\n")
            with_file = web.facts.server.model_copy(update={"smtp_password_file": str(file)})
            web.scorer.publish(facts=replace(web.facts, server=with_file))
            web.offset += timedelta(hours=1)
            assert send_all(web) == 1
        assert set(logins) == {("race", "wr0ng-secret"), ("race", "right")}
        # A server that does not offer TLS gets neither the password nor a mail.
        logins.clear()
        with mailing(tmp_path / "b", server, smtp_user="race", smtp_tls="starttls") as web:
            web.site.mails.add([Mail("b", NAME, "ada@example.org", "Subject", "Text")])
            assert send_all(web) == 1
        assert logins == []
    assert len(server.messages) == 1
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("arena")]
    assert ours == [
        "A mail could not be sent: SMTPAuthenticationError 535.",
        "A mail could not be sent: SMTPNotSupportedError.",
    ]
    assert "secret" not in caplog.text


@pytest.mark.few(1)
@pytest.mark.parametrize("how", ["starttls", "tls"])
def test_a_mail_and_the_password_go_through_tls_to_a_server_that_is_trusted_only(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypted = []

    def authenticate(server: Any, _session: Any, _envelope: Any, _how: str, data: Any) -> Any:
        encrypted.append(server.transport.get_extra_info("ssl_object") is not None)
        return AuthResult(success=data.password == b"secret", handled=False)

    (tmp_path / "other").mkdir()
    certificate, context = certificate_for("localhost", tmp_path)
    other, _ = certificate_for("localhost", tmp_path / "other")
    options: dict[str, Any] = {"authenticator": authenticate}
    if how == "tls":
        # Its own word for "encrypted" is about STARTTLS only.
        options |= {"tls": context, "auth_require_tls": False}
    else:
        options |= {"tls_context": context, "require_starttls": True}
    monkeypatch.setenv("ARENA_SMTP_PASSWORD", "secret")
    settings = {"smtp_user": "race", "smtp_tls": how}
    with mail_server(**options) as server:
        for number, (host, trusted, state) in enumerate(
            [
                ("localhost", None, "waiting"),
                ("localhost", other, "waiting"),
                ("127.0.0.1", certificate, "waiting"),  # another name than the certificate's
                ("localhost", certificate, "sent"),
            ]
        ):
            monkeypatch.delenv("SSL_CERT_FILE", raising=False)
            if trusted is not None:
                monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
            with mailing(tmp_path / str(number), server, smtp_host=host, **settings) as web:
                web.site.mails.add([Mail("a", NAME, "ada@example.org", "Subject", "Text")])
                assert send_all(web) == 1
                assert web.site.mails.counts(NAME) == {state: 1}
        assert encrypted == [True]
        (message,) = server.messages
        assert message["To"] == "ada@example.org"


def test_settings_and_addresses_that_cannot_work_are_refused() -> None:
    for wrong in (
        {"smtp_host": "mail.example.org"},
        {"smtp_host": "mail.example.org", "smtp_from": "race@example.org\nBcc: eve@example.org"},
        {
            "smtp_host": "mail.example.org",
            "smtp_from": SENDER,
            "smtp_tls": "none",
            "smtp_user": "x",
        },
    ):
        with pytest.raises(ValidationError, match="smtp_"):
            ServerSection.model_validate(wrong)
    for text in ("", "a@", "@b", "a b@c", "a@b,c@d", "a@b\rc", "<a@b>", "ä@b.org", "a@b@c"):
        assert address_of(text) is None, text
