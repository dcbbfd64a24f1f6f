"""Every place where a participant's text comes in: none ends in status 500, whatever the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from arena.server.web import api
from asgi import respond
from web_site import NAME, ORIGIN, WebSite

OWN = [(name.lower().encode(), value.encode()) for name, value in ORIGIN.items()]
TEXTS: Sequence[bytes] = (
    b"", b" ", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\xe2\x80\xae",
    "\u0130\u0307".encode(), "\ufdfa".encode() * 40, "a\u0301".encode() * 40, b"%", b"%ff", b"%00",
    b"%ED%A0%80", b"%u0041", b"+AGE-", b"\\ud800", b"9" * 5_000, "\u00b2".encode(), b"-1", b"1e9",
    b"NaN", b"../../etc/passwd", b"a\r\nb: c", b"=cmd", b"'; DROP TABLE teams; --", b"{{ 7 * 7 }}",
    b"x" * 30_000,
)  # fmt: skip
NAMES = (
    "name", "contact", "team", "code", "version", "accept", "provider", "then", "key", "language",
    "invite", "token", "scope", "days", "submission", "account", "state", "into", "kind", "what",
    "reason", "text", "announcement", "preview", "seen", "sure", "csv", "blobFileTokens",
    "submissionDescription", "fileName", "description", "answer.method",
)  # fmt: skip
"""The fields of all forms."""


def bodies(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the type and the bytes of a body whose fields all have this text."""
    urlencoded = b"&".join(name.encode() + b"=" + text for name in NAMES)
    yield b"application/x-www-form-urlencoded", urlencoded
    yield b"application/x-www-form-urlencoded; charset=utf-7", urlencoded
    parts = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), text)
        for name in NAMES
    )
    file = b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n1\r\n' % text
    for charset in (b"", b"; charset=utf-7", b"; charset=utf-16", b"; charset=none", b"; charset="):
        yield b"multipart/form-data; boundary=b" + charset, parts + file + b"--b--\r\n"
    members = b", ".join(b'"%s": "%s"' % (name.encode(), text) for name in NAMES)
    yield b"application/json", b'{%s, "competitionName": "churn"}' % members
    yield b"application/json; charset=utf-16", b'{"name": "' + text + b'"}'
    yield b"text/csv", b"team,name,contact\n" + text


def senders(web: WebSite) -> dict[str, list[tuple[bytes, bytes]]]:
    member, organiser = web.person("Ada", "Ants"), web.person("Org", organiser=True)
    cookies = {
        name: [(b"cookie", f"__Host-arena={web.site.accounts.open_session(account)}".encode())]
        for name, account in (("member", member), ("organiser", organiser))
    }
    return {"anonymous": [], **cookies}


def filled(path: str, value: str) -> str:
    path = path.replace("{competition}", NAME).replace("{id}", NAME)
    path = path.replace("{service}", "CreateSubmission")
    for name in (
        "request",
        "run",
        "team",
        "what",
        "secret",
        "size",
        "modified",
        "file:path",
        "rest:path",
    ):
        path = path.replace(f"{{{name}}}", value)
    return path


def ask_with(web: WebSite, text: bytes, sender: list[tuple[bytes, bytes]]) -> Iterator[Any]:
    """Send a text by every entrance; yield each answer and what was sent."""
    value = text.decode("utf-8", "replace")
    for route in web.app._app.routes:
        path = getattr(route, "path", "")
        if path.endswith("/events") or path == "/static":
            continue
        query = b"&".join(
            name + b"=" + text
            for name in (
                b"page",
                b"search",
                b"before",
                b"limit",
                b"after",
                b"then",
                b"team",
                b"bracket",
                b"board",
                b"phase",
                b"answer.method",
            )
        )
        for method in sorted((getattr(route, "methods", None) or set()) - {"HEAD"}):
            headers = [*sender, *OWN, (b"idempotency-key", text), (b"if-none-match", text)]
            where = filled(path, value or "x")
            yield respond(web.app, method, where, headers=headers, query=query), (method, path)
            if method == "GET":
                continue
            for kind, body in bodies(text):
                fields = [*sender, *OWN, (b"content-type", kind)]
                answer = respond(web.app, method, filled(path, "1"), headers=fields, body=[body])
                yield answer, (method, path, kind)


def check(web: WebSite, texts: Sequence[bytes], who: Sequence[str]) -> int:
    web.site.buckets.take = lambda *_: 0  # type: ignore[method-assign]
    headers, tried = senders(web), 0
    for text in texts:
        for name in who:
            for (status, body), case in ask_with(web, text, headers[name]):
                assert status != 500, (case, name, text[:40], body[:200])
                tried += 1
        web.scorer.judge(web.site)
    return tried


AUTHORIZATIONS = (
    b"Basic \xff", b"Basic", b"Basic =", b"Basic /w==", b"Basic " + b"A" * 3, b"Basic w6Q6w6Q=",
    b"Bearer \xff", b"Bearer", b"Bearer \x00", b"\xff", b"", b"Digest x", b"Basic \xc3\xa9",
)  # fmt: skip


@pytest.mark.parametrize("value", AUTHORIZATIONS)
def test_every_authorization_has_an_answer(web: WebSite, value: bytes) -> None:
    for path in (f"/{NAME}/team", f"/api/v1/{NAME}/team", "/api/v1/competitions/list"):
        status, _body = respond(web.app, "GET", path, headers=[(b"authorization", value)])
        assert status == 401


def test_a_form_in_another_encoding_is_refused(web: WebSite) -> None:
    for charset in (b"utf-7", b"utf-16", b"none"):
        kind = b"application/x-www-form-urlencoded; charset=" + charset
        headers = [*OWN, (b"content-type", kind)]
        assert respond(web.app, "POST", f"/{NAME}/join", headers=headers, body=[b"a=b"])[0] == 415


def test_a_form_that_is_not_utf_8_is_refused_and_one_that_is_not_escaped_is_read(
    web: WebSite,
) -> None:
    headers = [*OWN, (b"content-type", b"application/x-www-form-urlencoded")]
    for name in (b"%FF", b"%ED%A0%80", b"\xff", b"%F0%28%8C%28", b"a%80"):
        body = b"team=x&name=" + name
        status, _body = respond(web.app, "POST", f"/{NAME}/join", headers=headers, body=[body])
        assert status == 400, name
    body = "team=Caf\u00e9&name=Zo%C3%AB".encode()
    assert respond(web.app, "POST", f"/{NAME}/join", headers=headers, body=[body])[0] == 200
    assert "Zo\u00eb" in {account.name for account in web.site.accounts.accounts()}
    assert web.site.accounts.team_named(NAME, "Caf\u00e9") is not None


@pytest.mark.slow
def test_no_text_ends_in_a_fault_for_a_guest(web: WebSite) -> None:
    assert check(web, TEXTS[4:5], ["anonymous"]) > 250


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.campaign)])
@pytest.mark.parametrize("sender", ["anonymous", "member", "organiser"])
def test_no_text_ends_in_a_fault(
    web: WebSite, sender: str, share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "VALIDATE_SECONDS", 0.0)  # no scorer runs that would answer
    assert check(web, TEXTS[::share], [sender]) > 6_000 // share
