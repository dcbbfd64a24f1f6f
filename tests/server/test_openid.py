"""Sign-in by a provider of OpenID Connect: what goes well, and everything that must be refused."""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey
from pydantic import ValidationError
from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.testclient import TestClient
from typer.testing import CliRunner

from arena.cli.commands import serve
from arena.config import Settings
from arena.server import check
from arena.server.check import problems
from arena.server.records.layout import OIDC_SECRET
from arena.server.records.names import RefusedError
from arena.server.web import openid, provider_pages
from arena.server.web.problems import Problem
from arena.server.web.site import Buckets
from arena.server_section import ServerSection
from fake_provider import (
    CALLBACK,
    CLIENT,
    SECRET,
    FakeProvider,
    dripping,
    fake_provider,
    keys,
    rsa_signature,
    token,
)
from web_site import NAME, RULES, WebSite

START = "/sign-in/oidc"
ISSUER = "https://id.example.org"
SETTINGS = ServerSection(oidc_issuer=ISSUER, oidc_client_id=CLIENT)


@pytest.fixture(scope="module")
def running() -> Iterator[FakeProvider]:
    with fake_provider() as provider:
        yield provider


@pytest.fixture
def provider(running: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    """Return the provider as it is when new."""
    monkeypatch.setenv(OIDC_SECRET, SECRET)
    issuer = running.issuer
    running.__init__()  # type: ignore[misc]
    running.issuer = issuer
    return running


@pytest.fixture
def site(tmp_path: Path, provider: FakeProvider) -> Iterator[Callable[..., WebSite]]:
    web_sites: list[WebSite] = []

    def make(**server: Any) -> WebSite:
        settings = {
            "oidc_issuer": provider.issuer,
            "oidc_client_id": CLIENT,
            "oidc_name": "Uni <i>",
        }
        web_sites.append(WebSite(tmp_path / f"root{len(web_sites)}", **{**settings, **server}))
        return web_sites[-1]

    yield make
    for web_site in web_sites:
        web_site.close()


def begin(client: TestClient, then: str = "/", **asked: str) -> str:
    answer = client.get(START, params={"then": then, **asked})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def sign_in(
    client: TestClient, provider: FakeProvider, then: str = "/", link: str = "", **changes: str
) -> Any:
    parameters = {"link": link} if link else {}
    return client.get(provider.sign_in(begin(client, then, **parameters), **changes))


def register(client: TestClient, team: str, **fields: str) -> Any:
    data = {"name": "Ada", "team": team, "provider": "yes", **fields}
    return client.post(f"/{NAME}/join", data=data)


def assert_nobody(client: TestClient, answer: Any, status: int) -> None:
    """Assert that the page shows an error message and that no session was opened."""
    alert = re.search(r'role="alert"><p>([^<]+)', answer.text)
    assert alert, answer.text
    assert answer.status_code == status, alert[1]
    assert len(re.findall(r"[.!]( |$)|/sign-in$", alert[1])) >= 1, alert[1]
    assert set(client.cookies) <= {"__Host-arena-sign-in"}


def test_a_person_registers_and_signs_in_again(
    site: Any, provider: FakeProvider, caplog: pytest.LogCaptureFixture
) -> None:
    web = site()
    web.scorer.publish(rules=RULES)
    client = web.browser()
    page = client.get("/sign-in", params={"then": f"/{NAME}/team"}).text
    assert "Sign in with Uni &lt;i&gt;" in page
    link = re.search(r'href="(/sign-in/oidc\?then=[^"]+)"', page)
    assert link
    with caplog.at_level(logging.DEBUG):
        answer = client.get(link[1])
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-arena-sign-in=")
        assert {"HttpOnly", "Path=/", "SameSite=lax", "Secure"} <= set(cookie.split("; "))
        back = client.get(provider.sign_in(answer.headers["location"]))
    assert (back.status_code, back.headers["location"]) == (303, f"/{NAME}/join")
    assert set(client.cookies) == {"__Host-arena-newcomer"}
    assert web.site.accounts.accounts() == []
    page = client.get(f"/{NAME}/join").text
    assert 'value="Ada &lt;b&gt;L&lt;/b&gt;"' in page
    assert "<bdi>ada@example.org</bdi>" in page
    assert 'id="contact"' not in page
    assert register(client, "Ants").status_code == 422  # the rules
    version = web.site.competitions[NAME].rules()[1]
    registration = register(
        client, "Ants", accept="yes", version=version, contact="eve@example.org"
    )
    assert registration.status_code == 200
    assert 'class="secret"' not in registration.text
    (account,) = web.site.accounts.accounts()
    assert (account.state, account.contact) == ("active", "ada@example.org")
    assert web.site.accounts.by_subject(f"{provider.issuer} ada-1") == account
    assert web.site.accounts.tokens(account.account) == []
    assert client.get(f"/{NAME}/submissions").status_code == 200
    assert set(client.cookies) == {"__Host-arena"}

    other = web.browser()
    back = sign_in(other, provider, f"/{NAME}/team")
    assert back.headers["location"] == f"/{NAME}/team"
    assert set(other.cookies) == {"__Host-arena"}
    assert "Ants" in other.get(f"/{NAME}/team").text
    assert provider.asked.count("/.well-known/openid-configuration") == 1
    ours = "".join(
        record.getMessage() for record in caplog.records if record.name.startswith("arena")
    )
    assert not {"ada", SECRET, "code-"} & {
        text for text in ("ada", SECRET, "code-") if text in ours
    }
    web.site.accounts.set_state(account.account, "blocked")
    assert_nobody(blocked := web.browser(), sign_in(blocked, provider), 403)


def test_an_account_is_never_found_by_its_address_or_name(
    site: Any, provider: FakeProvider
) -> None:
    web = site()
    web.person("Ada <b>L</b>", "Ants", contact="ada@example.org")
    web.person("Bo", subject="https://other.example.org ada-1")
    web.person("Cy", subject="ada-1")
    client = web.browser()
    assert sign_in(client, provider).headers["location"] == f"/{NAME}/join"
    assert set(client.cookies) == {"__Host-arena-newcomer"}
    assert register(client, "ants").status_code == 409
    assert len(web.site.accounts.accounts()) == 3
    assert client.get(f"/{NAME}/team").status_code == 401


def other_key(claims: dict[str, Any], provider: FakeProvider) -> str:
    key = RSAKey.generate_key(2048)
    return jwt.encode({"alg": "RS256", "kid": "rsa"}, claims, key)


def hmac_with(value: bytes) -> Callable[..., str]:
    def forge(claims: dict[str, Any], _provider: FakeProvider) -> str:
        header = {"alg": "HS256", "kid": "rsa"}
        return token(header, claims, lambda text: hmac.digest(value, text, "sha256"))

    return forge


def changed(claims: dict[str, Any], provider: FakeProvider) -> str:
    """The signature is another token's."""
    first, second = provider.signed(claims), provider.signed({**claims, "sub": "eve"})
    return ".".join([*second.split(".")[:2], first.split(".")[2]])


CLAIMS: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "n" * 43},
    "no nonce": {"nonce": None},
    "another issuer": {"iss": "https://evil.example.org"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "someone-else"},
    "no audience": {"aud": None},
    "an audience of many, another party": {"aud": [CLIENT, "b"], "azp": "b"},
    "an audience of many, no party": {"aud": ["b", CLIENT]},
    "another party": {"azp": "b"},
    "expired": {"exp": 1_000},
    "no expiry": {"exp": None},
    "an expiry that is a text": {"exp": "never"},
    "from the future": {"iat": 10**11},
    "not yet valid": {"nbf": 10**11},
    "no time": {"iat": None},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a number as subject": {"sub": 7},
    "a huge subject": {"sub": "s" * 256},
    "another access token": {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
}
FORGED: dict[str, Callable[..., str]] = {
    "no ID token": lambda claims, provider: "",
    "not a token": lambda claims, provider: "a.b.c",
    "nested too deep": lambda claims, provider: "e30." + "W1tb" * 20_000 + ".x",
    "unsigned": lambda claims, provider: token({"alg": "none"}, claims, lambda text: b""),
    "unsigned, another spelling": lambda claims, provider: token(
        {"alg": "nOnE", "kid": "rsa"}, claims, lambda text: b""
    ),
    "no algorithm": lambda claims, provider: token({"kid": "rsa"}, claims, rsa_signature),
    "the key of another": other_key,
    "another token's signature": changed,
    "HMAC with the public key": hmac_with(keys()["RS256"].as_pem(private=False)),
    "HMAC with nothing": hmac_with(b""),
    "HMAC with the client's secret": hmac_with(SECRET.encode()),
    "an unknown critical header": lambda claims, provider: token(
        {"alg": "RS256", "kid": "rsa", "crit": ["new"], "new": 1}, claims, rsa_signature
    ),
    "half a character as subject": lambda claims, provider: token(
        {"alg": "RS256", "kid": "rsa"}, {**claims, "sub": "a\ud800"}, rsa_signature
    ),
    "an unknown key": lambda claims, provider: token(
        {"alg": "RS256", "kid": "unknown"}, claims, rsa_signature
    ),
    "a key of another kind": lambda claims, provider: token(
        {"alg": "RS256", "kid": "ec"}, claims, rsa_signature
    ),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("case", [*CLAIMS, *FORGED])
def test_an_answer_that_proves_nothing_is_refused(
    case: str, site: Any, provider: FakeProvider
) -> None:
    web = site()
    web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    provider.claims = CLAIMS.get(case, {})
    if case in FORGED:
        provider.forge = lambda claims: FORGED[case](claims, provider)
    client = web.browser()
    answer = sign_in(client, provider)
    assert_nobody(client, answer, 403)
    assert "does not prove who you are" in answer.text
    assert not client.cookies  # the sign-in is over


@pytest.mark.few(1)
@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
def test_signatures_by_private_keys_are_taken(
    algorithm: str, site: Any, provider: FakeProvider
) -> None:
    provider.algorithm = algorithm
    provider.claims = {"aud": [CLIENT]}
    client = site().browser()
    assert sign_in(client, provider).headers["location"] == f"/{NAME}/join"


def test_a_sign_in_is_finished_once_by_the_browser_that_began_it(
    site: Any, provider: FakeProvider
) -> None:
    web = site()
    web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    client, other = web.browser(), web.browser()
    back = provider.sign_in(begin(client))
    sealed = client.cookies["__Host-arena-sign-in"]
    begin(other)
    n_requests = len(provider.asked)
    for browser, url in (
        (client, CALLBACK),
        (client, f"{CALLBACK}?code=x&state=wrong"),
        (client, f"{CALLBACK}?code=x&state=%C3%A4"),
        (client, f"{back}&state=other"),
        (web.browser(), back),
        (other, back),
    ):
        answer = browser.get(url)
        assert_nobody(browser, answer, 400)
        assert "Start again" in answer.text
    for wrong in (sealed[:-3] + "AAA", "x", "", "e30.x", f"{sealed}.", sealed.replace(".", "")):
        browser = web.browser()
        browser.cookies.set("__Host-arena-sign-in", wrong)
        assert_nobody(browser, browser.get(back), 400)
    assert len(provider.asked) == n_requests  # nothing was sent to the provider
    assert client.get(back).headers["location"] == "/"
    replayed = web.browser()
    replayed.cookies.set("__Host-arena-sign-in", sealed)
    assert_nobody(replayed, replayed.get(back), 400)
    late = web.browser()
    back = provider.sign_in(begin(late))
    web.offset += timedelta(seconds=601)
    assert_nobody(late, late.get(back), 400)
    # A code that was used already, in a new sign-in of the same browser.
    web.offset = timedelta()
    for code in ("code-0", "unknown", "", "x" * 5_000):
        assert_nobody(again := web.browser(), sign_in(again, provider, code=code), 403)
    # The cookie of one kind is not taken for the other.
    thief = web.browser()
    thief.cookies.set("__Host-arena-newcomer", sealed)
    assert register(thief, "Wasps").status_code == 403


def test_what_the_provider_refuses_is_said_without_its_words(
    site: Any, provider: FakeProvider
) -> None:
    web = site()
    for error, status, words in (
        ("access_denied", 403, "did not sign you in"),
        ("<script>", 403, "did not sign you in"),
        ("server_error", 503, "Try again in a few"),
        ("unauthorized_client", 503, "Tell the organiser"),
    ):
        client = web.browser()
        answer = sign_in(client, provider, error=error, error_description="Call 0900-EVIL")
        assert_nobody(client, answer, status)
        assert words in answer.text
        assert "EVIL" not in answer.text
        assert "<script>" not in answer.text
    client = web.browser()
    assert_nobody(client, sign_in(client, provider, iss="https://evil.example.org"), 403)
    assert sign_in(client, provider, iss=provider.issuer).status_code == 303


def test_a_secret_that_is_wrong_or_missing_is_said(
    site: Any, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    web = site()
    monkeypatch.setenv(OIDC_SECRET, "wrong")
    client = web.browser()
    answer = sign_in(client, provider)
    assert_nobody(client, answer, 503)
    assert "not set up completely" in answer.text
    assert "invalid_client" in caplog.text
    monkeypatch.delenv(OIDC_SECRET)
    assert_nobody(client, client.get(START), 503)

    def missing(_name: str) -> None:
        raise ImportError

    monkeypatch.setattr(provider_pages.importlib, "import_module", missing)
    assert_nobody(client, client.get(START), 503)
    assert "the extra oidc" in caplog.text
    monkeypatch.undo()
    assert site(oidc_issuer="").browser().get(START).status_code == 404


def test_the_secret_is_sent_in_the_body_where_the_provider_wants_it(
    site: Any, provider: FakeProvider
) -> None:
    provider.discovery = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert sign_in(site().browser(), provider).status_code == 303


ANSWERS: dict[str, Response | Callable[[], Response]] = {
    "an error": PlainTextResponse("no", 500),
    "not found": PlainTextResponse("no", 404),
    "a page": PlainTextResponse("<html>"),
    "a list": JSONResponse([1]),
    "too deep": PlainTextResponse("[" * 100_000),
    "no end": lambda: dripping(100_000),
    "too long": lambda: JSONResponse({"keys": ["x" * 300_000]}),
    "too long, compressed": PlainTextResponse("x", headers={"Content-Encoding": "gzip"}),
    "another address": RedirectResponse("http://127.0.0.1:9/"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("case", ANSWERS)
@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/token", "/keys",
                                  "/userinfo"])  # fmt: skip
def test_a_provider_that_answers_otherwise_is_given_up(
    case: str, path: str, site: Any, provider: FakeProvider
) -> None:
    provider.answers[path] = ANSWERS[case]
    provider.claims = {"name": None, "email": None}
    web = site()
    client = web.browser()
    answer = client.get(START)
    if answer.status_code == 303:
        answer = client.get(provider.sign_in(answer.headers["location"]))
    assert_nobody(client, answer, 503)
    assert "cannot be reached" in answer.text


ANSWERS_OF_OTHER_TYPES: dict[str, Any] = {
    "token_type": (["Bearer"], None, 7),
    "expires_in": ([1], {}, "soon"),
    "access_token": (["a"], {}, 7),
    "id_token": (["x"], {}, 7),
    "error": (["x"], {"a": 1}, 7),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS_OF_OTHER_TYPES)
def test_an_answer_of_other_types_signs_nobody_in(
    name: str, site: Any, provider: FakeProvider
) -> None:
    web = site()
    web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    provider.claims = {"name": None, "email": None}
    for value in ANSWERS_OF_OTHER_TYPES[name]:
        provider.token_answer = {name: value}
        client = web.browser()
        answer = sign_in(client, provider)
        assert_nobody(client, answer, 503 if answer.status_code == 503 else 403)


@pytest.mark.slow
def test_a_provider_that_is_slow_or_down_is_asked_once_for_all(
    site: Any, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/.well-known/openid-configuration"
    monkeypatch.setattr(openid, "SECONDS", 0.3)
    monkeypatch.setattr(openid, "MAX_BYTES", 10**15)
    provider.answers[path] = lambda: dripping(1)
    web = site()
    for _ in range(5):
        assert_nobody(client := web.browser(), client.get(START), 503)
    assert provider.asked.count(path) == 1
    monkeypatch.undo()
    monkeypatch.setenv(OIDC_SECRET, SECRET)
    down = site(oidc_issuer="http://127.0.0.1:9").browser()
    assert_nobody(down, down.get(START), 503)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://evil.example.org"},
        {"issuer": None},
        {"token_endpoint": "http://192.0.2.1/token"},
        {"token_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": ["x"]},
    ],
)
def test_a_discovery_document_that_is_wrong_is_not_used(
    discovery: dict[str, Any], site: Any, provider: FakeProvider
) -> None:
    provider.discovery = discovery
    client = site().browser()
    assert_nobody(client, client.get(START), 503)


@pytest.mark.slow
def test_a_page_of_another_site_is_not_shown_afterwards(site: Any, provider: FakeProvider) -> None:
    web = site()
    web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    for then in (
        "//evil.example.org", "/\\evil.example.org", "https://evil.example.org", "javascript:x",
        "/\t/evil.example.org", "/" + "x" * 400,
    ):  # fmt: skip
        answer = sign_in(web.browser(), provider, then)
        assert (answer.status_code, answer.headers["location"]) == (303, "/"), then


@pytest.mark.slow
def test_addresses_that_are_not_verified_or_not_admitted_are_refused(
    site: Any, provider: FakeProvider
) -> None:
    provider.discovery = {"userinfo_endpoint": None}
    web = site(oidc_domains=["Example.org"])
    web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    for email, verified, words in (
        ("ada@example.org", False, "verified"),
        ("ada@example.org", None, "verified"),
        (None, True, "verified"),
        (["ada@example.org"], True, "verified"),
        ("ada@other.org", True, "domains"),
        ("ada@example.org@other.org", True, "domains"),
        ("ada@evilexample.org", True, "domains"),
    ):
        provider.person |= {"email": email, "email_verified": verified}
        provider.person = {
            key: value for key, value in provider.person.items() if value is not None
        }
        client = web.browser()
        answer = sign_in(client, provider)
        assert_nobody(client, answer, 403)
        assert words in answer.text
    provider.person |= {"email": "ada@EXAMPLE.org", "email_verified": "true"}
    assert sign_in(web.browser(), provider).headers["location"] == "/"
    strict = site(oidc_verified_email=True).browser()
    provider.person["email_verified"] = False
    assert_nobody(strict, sign_in(strict, provider), 403)
    client = site().browser()
    assert sign_in(client, provider).status_code == 303
    assert 'id="contact" name="contact" value="ada@EXAMPLE.org"' in client.get(f"/{NAME}/join").text


@pytest.mark.slow
def test_userinfo_says_what_the_id_token_does_not(site: Any, provider: FakeProvider) -> None:
    provider.claims = {"name": None, "email": None, "email_verified": None}
    provider.userinfo = {"sub": "eve", "email": "eve@example.org", "email_verified": True}
    client = site().browser()
    assert_nobody(client, sign_in(client, provider), 403)
    provider.userinfo = {**provider.person, "iss": "https://evil.example.org"}
    assert sign_in(client, provider).status_code == 303
    assert "<bdi>ada@example.org</bdi>" in client.get(f"/{NAME}/join").text
    # An address and whether it is verified are not taken from two documents.
    provider.claims = {"name": None, "email": "eve@example.org", "email_verified": None}
    strict = site(oidc_verified_email=True).browser()
    assert_nobody(strict, sign_in(strict, provider), 403)


def test_registration_follows_the_code_the_invitation_and_the_approval(
    site: Any, provider: FakeProvider
) -> None:
    web = site(join="code", approve=True)
    accounts = web.site.accounts
    code = accounts.invite("register", competition=NAME, uses=None)
    client = web.browser()
    sign_in(client, provider)
    assert register(client, "Ants").status_code == 403
    assert accounts.accounts() == []
    registration = register(client, "Ants", code=code)
    assert "The organiser approves each account" in registration.text
    (account,) = accounts.accounts(NAME)
    assert account.state == "waiting"
    assert client.post(f"/{NAME}/team/rename", data={"name": "B"}).status_code == 403
    # Somebody with an invitation of their own is approved, and comes back to it.
    provider.person["sub"] = "bo-1"
    secret = accounts.invite("register", competition=NAME, team="Bees")
    invited = web.browser()
    link = re.search(r'href="(/sign-in/oidc[^"]+)"', invited.get(f"/invite/{secret}").text)
    assert link
    back = invited.get(provider.sign_in(invited.get(link[1]).headers["location"]))
    assert back.headers["location"] == f"/invite/{secret}"
    assert 'name="provider"' in invited.get(back.headers["location"]).text
    assert register(invited, "", code=secret).status_code == 200
    assert accounts.by_subject(f"{provider.issuer} bo-1").state == "active"
    # The same person again, with a page that is open still, gets no second account.
    again, last = web.browser(), web.browser()
    provider.person["sub"] = "cy-1"
    sign_in(again, provider)
    sign_in(last, provider)
    assert register(again, "Cats", code=code).status_code == 200
    refused = register(last, "Dogs", code=code)
    assert (refused.status_code, "have an account already" in refused.text) == (422, True)
    assert len(accounts.accounts()) == 3


def test_who_signed_in_is_kept_for_half_an_hour_and_can_be_dropped(
    site: Any, provider: FakeProvider
) -> None:
    web = site(oidc_only=True)
    guest = web.browser()
    page = guest.get(f"/{NAME}/join").text
    assert "Sign in with Uni" in page
    assert 'name="team"' not in page
    refused = guest.post(f"/{NAME}/join", data={"name": "Eve", "team": "Eves"})
    assert (refused.status_code, "sign in with Uni &lt;i&gt;" in refused.text) == (403, True)
    client = web.browser()
    sign_in(client, provider)
    assert 'name="team"' in client.get(f"/{NAME}/join").text
    web.offset += timedelta(minutes=31)
    refused = register(client, "Ants")
    assert (refused.status_code, "half an hour" in refused.text) == (403, True)
    web.offset = timedelta()
    client.post("/sign-out")
    assert not client.cookies
    assert web.site.accounts.accounts() == []
    key = web.token(web.person("Old"), "signin")
    assert guest.post("/sign-in", data={"key": key}).status_code == 303  # with a key, as before


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name",
    [
        '"><script>alert(1)</script>',
        "x" * 50_000,
        "\u202eevil\x00\x1b[31m",
        "\ud800",
        7,
        ["a"],
        "",
    ],
)
def test_names_of_any_kind_do_no_harm(name: Any, site: Any, provider: FakeProvider) -> None:
    provider.person["name"] = name
    provider.person["email"] = f"<script>{'x' * 10}@example.org"
    header = {"alg": "RS256", "kid": "rsa", "new": "is ignored"}
    provider.forge = lambda claims: token(header, claims, rsa_signature)
    client = site().browser()
    answer = sign_in(client, provider)
    assert answer.status_code == 303
    assert all(len(cookie) < 4_000 for cookie in answer.headers.get_list("set-cookie"))
    page = client.get(f"/{NAME}/join").text
    assert "<script>alert" not in page
    assert "<script>x" not in page
    name_field = re.search(r'id="name" name="name" value="([^"]*)"', page)
    assert name_field
    assert register(client, "Ants", name=name_field[1] or "Ada").status_code == 200


@pytest.mark.slow
def test_a_class_behind_one_address_signs_in_and_a_flood_does_not(
    site: Any, provider: FakeProvider
) -> None:
    web = site()
    statuses = [web.browser().get(START).status_code for _ in range(62)]
    assert statuses == [303] * 60 + [429] * 2


def test_settings_that_cannot_work_are_refused() -> None:
    good = {"oidc_issuer": "https://id.example.org/realms/a", "oidc_client_id": "arena"}
    ServerSection.model_validate(good)
    ServerSection.model_validate({**good, "oidc_issuer": "http://127.0.0.1:5000"})
    for wrong in (
        {"oidc_issuer": "http://id.example.org"},
        {"oidc_issuer": "id.example.org"},
        {"oidc_issuer": "https://"},
        {"oidc_issuer": "https://id.example.org?x=1"},
        {"oidc_issuer": "https://me:secret@id.example.org"},
        {"oidc_issuer": "https://id.example.org:port"},
        {"oidc_client_id": ""},
        {"oidc_domains": ["ada@example.org"]},
    ):
        with pytest.raises(ValidationError, match="oidc_"):
            ServerSection.model_validate({**good, **wrong})
    with pytest.raises(ValidationError, match="oidc_only needs"):
        ServerSection.model_validate({"oidc_only": True})


def test_a_server_has_one_provider(site: Any, tmp_path: Path) -> None:
    web = site()
    web.scorer.publish(facts=replace(web.facts, server=ServerSection()))
    assert web.site.provider() is None
    folders = []
    for name in ("a", "b"):
        folders += ["-C", str(tmp_path / name)]
        (tmp_path / name).mkdir()
        keys = f'oidc_issuer = "https://{name}.example.org"\noidc_client_id = "arena"\n'
        (tmp_path / name / "competition.toml").write_text(
            f'[metric]\nname = "accuracy"\n[server]\n{keys}'
        )
        (tmp_path / name / "arena.duckdb").touch()
    answer = CliRunner().invoke(serve.app, folders)
    assert "one provider" in str(answer.exception), answer.output


def test_a_check_says_what_a_provider_lacks(
    provider: FakeProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(**changes: Any) -> str:
        keys = {"oidc_issuer": provider.issuer, "oidc_client_id": CLIENT, **changes}
        settings = Settings.model_validate({"metric": {"name": "accuracy"}, "server": keys})
        lines = problems(tmp_path, settings, "https://race.example.org")
        return " ".join(line for line in lines if "oidc" in line.lower())

    assert "is for tests only" in found()
    assert "cannot be used" not in found()
    assert OIDC_SECRET not in found()
    monkeypatch.delenv(OIDC_SECRET)
    assert f"{OIDC_SECRET} is not set" in found()
    provider.discovery = {"issuer": f"{provider.issuer}/"}
    assert "names another issuer" in found()
    assert "ConnectError" in found(oidc_issuer="http://127.0.0.1:9")
    assert found(oidc_issuer="", oidc_client_id="") == ""
    monkeypatch.setattr(check.importlib.util, "find_spec", lambda name: None)
    assert "[oidc]" in found()


def link_form(page: str) -> dict[str, str] | None:
    """Return the fields of the form that links an identity; None without it."""
    field = re.search(r'name="identity" value="([^"]+)"', page)
    return field and {"identity": field[1]}


@pytest.mark.slow
def test_an_account_with_a_key_is_linked_and_unlinked(site: Any, provider: FakeProvider) -> None:
    web = site(oidc_name="Uni")
    accounts, team = web.site.accounts, f"/{NAME}/team"
    ada = web.person("Ada", "Ants")
    accounts.new_key(ada, None)
    client = web.browser(ada)
    link = re.search(r'href="(/sign-in/oidc\?link=yes&amp;then=[^"]+)"', client.get(team).text)
    assert link
    redirect = client.get(unescape(link[1]))
    query = parse_qs(urlsplit(redirect.headers["location"]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert {"state", "nonce", "code_challenge"} <= set(query)
    back = client.get(provider.sign_in(redirect.headers["location"]))
    assert (back.status_code, back.headers["location"]) == (303, team)
    assert accounts.subject(ada) is None  # only the form links
    page = client.get(team).text
    assert "<bdi>ada@example.org</bdi>" in page
    form = link_form(page)
    assert client.post(f"/{NAME}/provider/link", data=form).headers["location"] == team
    assert accounts.subject(ada) == f"{provider.issuer} ada-1"
    assert "__Host-arena-newcomer" not in client.cookies
    assert "You can sign in with Uni." in client.get(team).text
    other = web.browser()
    assert sign_in(other, provider, team).headers["location"] == team
    assert "Ants" in other.get(team).text
    assert other.post(f"/{NAME}/provider/unlink").headers["location"] == team
    assert accounts.subject(ada) is None
    assert sign_in(web.browser(), provider).headers["location"] == f"/{NAME}/join"


def test_the_last_way_to_sign_in_is_not_unlinked(site: Any, provider: FakeProvider) -> None:
    web = site()
    ada = web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    client = web.browser(ada)
    unlink = f"/{NAME}/provider/unlink"
    assert "create a sign-in key first" in client.get(f"/{NAME}/team").text
    refused = client.post(unlink)
    assert (refused.status_code, "Create a sign-in key first." in refused.text) == (422, True)
    key = re.search(r'class="secret">(arena_[^<]+)', client.post(f"/{NAME}/sign-in-key").text)
    assert key
    web.offset += timedelta(minutes=61)
    assert client.post(unlink).status_code == 403
    again = web.browser()
    assert again.post("/sign-in", data={"key": key[1]}).status_code == 303
    assert again.post(unlink).status_code == 303
    assert web.site.accounts.subject(ada) is None
    # Where everybody has one identity, it cannot be given up to register again with it.
    strict = site(oidc_only=True)
    bo = strict.person("Bo", "Bees", subject=f"{provider.issuer} bo-1")
    strict.site.accounts.new_key(bo, None)
    refused = strict.browser(bo).post(unlink)
    assert (refused.status_code, "stays linked" in refused.text) == (409, True)


def test_an_identity_of_another_account_is_not_linked(site: Any, provider: FakeProvider) -> None:
    web = site()
    accounts, team = web.site.accounts, f"/{NAME}/team"
    owner = web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1", contact="ada@example.org")
    eve = web.person("Eve", "Eves", contact="ada@example.org")
    client = web.browser(eve)
    before = client.cookies["__Host-arena"]

    def linked() -> Any:
        redirect = client.get(START, params={"link": "yes", "then": team})
        return client.get(provider.sign_in(redirect.headers["location"]))

    refused = linked()
    assert (refused.status_code, "belongs to another account" in refused.text) == (409, True)
    assert client.cookies["__Host-arena"] == before  # neither linked nor signed in as the owner
    assert link_form(client.get(team).text) is None
    # The same address and name at the provider say nothing.
    provider.person["sub"] = "eve-1"
    linked()
    assert accounts.subject(eve) is None
    # The identity got an account meanwhile.
    form = link_form(client.get(team).text)
    bo = web.person("Bo", subject=f"{provider.issuer} eve-1")
    refused = client.post(f"/{NAME}/provider/link", data=form)
    assert (refused.status_code, "belongs to another account" in refused.text) == (422, True)
    assert [accounts.subject(account) for account in (owner, eve, bo)] == [
        f"{provider.issuer} ada-1", None, f"{provider.issuer} eve-1"
    ]  # fmt: skip
    # Nor does a blocked person's identity come back by another account.
    accounts.set_state(bo, "blocked")
    assert linked().status_code == 409


def test_only_the_form_that_names_the_identity_links_it(site: Any, provider: FakeProvider) -> None:
    web = site()
    accounts, link = web.site.accounts, f"/{NAME}/provider/link"
    ada = web.person("Ada", "Ants")
    client = web.browser(ada)
    assert client.post(link).status_code == 409  # nobody signed in there
    sign_in(client, provider, link="yes")
    form = link_form(client.get(f"/{NAME}/team").text)
    assert form
    provider.person["sub"] = "eve-1"  # another site sends the browser there in another tab
    sign_in(client, provider, link="yes")
    assert client.post(link, data=form).status_code == 409
    evil = {"Sec-Fetch-Site": "cross-site"}
    fresh = link_form(client.get(f"/{NAME}/team").text)
    assert client.post(link, data=fresh, headers=evil).status_code == 403
    assert web.program(web.token(ada)).post(link, data=fresh).status_code == 403
    web.offset += timedelta(minutes=31)
    assert client.post(link, data=fresh).status_code == 409
    web.offset = timedelta()
    assert client.post(f"/{NAME}/provider/forget").status_code == 303
    assert link_form(client.get(f"/{NAME}/team").text) is None
    assert accounts.subject(ada) is None
    # Signed out at the end of the flow: nothing is linked and nobody is signed in.
    provider_url = client.get(START, params={"link": "yes"}).headers["location"]
    client.post("/sign-out")
    refused = client.get(provider.sign_in(provider_url))
    assert (refused.status_code, "You were signed out meanwhile." in refused.text) == (401, True)
    assert "__Host-arena-newcomer" not in client.cookies


def test_a_newcomer_who_has_an_account_links_it(site: Any, provider: FakeProvider) -> None:
    web = site()
    ada = web.person("Ada", "Ants")
    key = web.site.accounts.new_key(ada, None)
    client = web.browser()
    sign_in(client, provider)
    assert "then link this identity" in client.get(f"/{NAME}/join").text
    team = f"/{NAME}/team"
    assert client.post("/sign-in", data={"key": key, "then": team}).headers["location"] == team
    client.post(f"/{NAME}/provider/link", data=link_form(client.get(team).text))
    assert web.site.accounts.subject(ada) == f"{provider.issuer} ada-1"
    assert len(web.site.accounts.accounts()) == 1


def test_an_identity_of_the_former_issuer_is_replaced(site: Any, provider: FakeProvider) -> None:
    web = site()
    ada = web.person("Ada", "Ants", subject="https://old.example.org ada-1")
    accounts = web.site.accounts
    accounts.link_subject(ada, f"{provider.issuer} ada-1")
    with pytest.raises(RefusedError, match="Unlink it first"):
        accounts.link_subject(ada, f"{provider.issuer} ada-2")
    assert accounts.subject(ada) == f"{provider.issuer} ada-1"
    assert accounts.by_subject("https://old.example.org ada-1") is None


def test_a_link_for_another_device_works_once_for_a_quarter_of_an_hour(
    site: Any, provider: FakeProvider
) -> None:
    web = site()
    ada = web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    client = web.browser(ada)

    def made() -> str:
        page = client.post(f"/{NAME}/device").text
        link = re.search(r'class="secret">https://[^/]+(/invite/[^<]+)', page)
        assert link
        return link[1]

    path, phone = made(), web.browser()
    assert phone.get(path).status_code == 200
    assert not phone.cookies  # a preview of the link signs nobody in
    assert phone.post(path).headers["location"] == f"/{NAME}/"
    assert "Ants" in phone.get(f"/{NAME}/team").text
    assert web.browser().post(path).status_code == 404
    late = made()
    web.offset += timedelta(minutes=16)
    assert web.browser().post(late).status_code == 404
    lost = made()
    client.post(f"/{NAME}/sign-in-key")
    assert web.browser().post(lost).status_code == 404
    blocked = made()
    web.site.accounts.set_state(ada, "blocked")
    assert web.browser().post(blocked).status_code == 404


def test_each_sign_in_ends_the_browsers_old_session(site: Any, provider: FakeProvider) -> None:
    web = site()
    ada = web.person("Ada", "Ants", subject=f"{provider.issuer} ada-1")
    client = web.browser()
    sign_in(client, provider)
    old = client.cookies["__Host-arena"]
    key = web.site.accounts.new_key(ada, old)
    for again in (
        lambda: sign_in(client, provider),
        lambda: client.post("/sign-in", data={"key": key}),
    ):
        again()
        new = client.cookies["__Host-arena"]
        assert new != old
        assert web.site.accounts.session(old) is None
        old = new
    assert client.get(f"/{NAME}/team").status_code == 200


HOSTILE_ANSWERS = [
    {"state": value} for value in ("", "\x00", "\ufffd", "x" * 5_000, "../..", "\u0130", "9" * 500)
] + [
    {"code": value} for value in ("", "\x00", "\ufffd", "x" * 5_000, "\r\na: b", "'", "\u202e")
] + [
    {"iss": value} for value in ("", "http://127.0.0.1:1", "javascript:x", "\x00", "x" * 5_000)
]  # fmt: skip


@pytest.mark.slow
def test_no_answer_that_was_changed_on_its_way_signs_in(site: Any, provider: FakeProvider) -> None:
    """Each parameter is replaced, doubled or left out; the sealed cookie has any bit flipped."""
    web = site()
    web.site.buckets.take = lambda *_: 0
    tried = 0
    for changes in [*HOSTILE_ANSWERS, *({"state": bit} for bit in range(40))]:
        client = web.browser()
        location = httpx.URL(provider.sign_in(begin(client)))
        parameters = dict(location.params)
        ((name, value),) = changes.items()
        if isinstance(value, int):
            cookie = next(
                kept_cookie
                for kept_cookie in client.cookies.jar
                if kept_cookie.value and "sign-in" in kept_cookie.name
            )
            place = value * max(len(cookie.value) // 40, 1) % len(cookie.value)
            letter = "A" if cookie.value[place] != "A" else "B"
            changed = cookie.value[:place] + letter + cookie.value[place + 1 :]
            client.cookies.clear()
            client.cookies.set(cookie.name, changed)
        else:
            parameters[name] = value
        answer = client.get(str(location.copy_with(params=parameters)))
        # An issuer that is stated must be the right one; a client need not be told it.
        assert answer.status_code in {400, 401, 403, 503}, (changes, answer.status_code)
        assert "__Host-arena" not in client.cookies
        tried += 1
    for name in ("state", "code"):
        client = web.browser()
        location = provider.sign_in(begin(client))
        doubled = client.get(f"{location}&{name}=x")
        assert doubled.status_code in {400, 401, 403}
        assert "__Host-arena" not in client.cookies
        tried += 1
    assert tried > 55


def test_the_clocks_of_the_provider_and_the_server_may_differ_by_a_minute() -> None:
    now = datetime(2026, 5, 6, 12, tzinfo=UTC)
    flow, provider = provider_pages.Flow.begin("/"), openid.Provider(SETTINGS, CALLBACK)
    public = {"keys": [keys()["RS256"].as_dict(private=False)]}

    def is_accepted(ends: int, begins: int) -> bool:
        """Return whether a token is accepted that ends and begins this many seconds from now."""
        seconds = int(now.timestamp())
        claims = {
            "iss": ISSUER, "aud": CLIENT, "sub": "ada", "nonce": flow.nonce,
            "exp": seconds + ends, "iat": seconds + begins, "nbf": seconds + begins,
        }  # fmt: skip
        text = token({"alg": "RS256", "kid": "rsa"}, claims, rsa_signature)
        try:
            return provider._claims({"id_token": text}, public, flow, now) == claims
        except openid.ProviderError:
            return False

    times = ((-59, -90), (-60, -90), (300, 60), (300, 61))
    assert [is_accepted(*seconds) for seconds in times] == [True, False, True, False]


def test_the_reason_for_an_unusable_token_names_its_fault_and_no_value() -> None:
    flow, provider = provider_pages.Flow.begin("/"), openid.Provider(SETTINGS, CALLBACK)
    key = keys()["RS256"].as_dict(private=False)
    signed_token = token({"alg": "RS256", "kid": "rsa"}, {"sub": "ada"}, rsa_signature)
    header_of_text = base64.urlsafe_b64encode(b'"alg"').decode().rstrip("=")

    def reason(text: object, **changes: str) -> str:
        """Return why a token is refused where the provider's key has these parts."""
        public = {"keys": [{**key, **changes}]}
        with pytest.raises(openid.ProviderError) as refused:
            provider._claims({"id_token": text}, public, flow, datetime.now(UTC))
        return str(refused.value)

    reasons = [
        reason(7), reason("a.b.c"), reason(signed_token), reason("\ud800"),
        reason(f"{header_of_text}.e30.x"), reason(signed_token, n=""),
    ]  # fmt: skip
    assert reasons == [
        "there is no ID token", "ID token: decode_error", "ID token: missing_claim iss",
        "ID token: UnicodeEncodeError", "ID token: TypeError", "ID token: ValueError",
    ]  # fmt: skip


def test_metadata_are_kept_for_an_hour_and_failures_for_five_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = openid.ProviderError("unreachable", "it is down")
    discovered: list[Any] = [fault, {"at": 1}, {"at": 2}]
    now = 100.0

    async def discover() -> Any:
        outcome = discovered.pop(0)
        if outcome is fault:
            raise outcome
        return outcome

    provider = openid.Provider(ServerSection(), CALLBACK)
    monkeypatch.setattr(provider, "_discover", discover)
    # Only the clock of this module: the threads of the test need that of the process.
    monkeypatch.setattr(openid, "time", SimpleNamespace(monotonic=lambda: now))

    def at(seconds: float) -> Any:
        nonlocal now
        now = seconds
        try:
            return asyncio.run(provider.metadata())
        except openid.ProviderError as error:
            return error.reason

    assert [at(seconds) for seconds in (100.0, 104.9, 105.0, 3_704.9, 3_705.0)] == [
        "it is down", "it is down", {"at": 1}, {"at": 1}, {"at": 2},
    ]  # fmt: skip


QUERIES: dict[str, int] = {
    "code=" + "x" * 4_096: 200, "code=" + "x" * 4_097: 403, "code=a&code=b": 403, "code=": 403,
    f"code=a&iss={ISSUER}": 200, f"code=a&iss={ISSUER}&iss=x": 403, "code=a&iss=": 403,
    "error=unauthorized_client": 503, "error=invalid_scope": 503,
    "error=unsupported_response_type": 503, "error=server_error": 503,
    "error=temporarily_unavailable": 503, "error=access_denied&code=a": 403,
}  # fmt: skip
"""Query with which a provider sends a browser back -> the status of the response."""


def test_a_provider_sends_back_one_code_of_a_bounded_length() -> None:

    def status(query: str) -> int:
        request: Any = SimpleNamespace(query_params=QueryParams(query))
        try:
            assert (
                provider_pages.authorization_code(request, SETTINGS) == query[5:].partition("&")[0]
            )
        except Problem as problem:
            return problem.status
        return 200

    assert {query: status(query) for query in QUERIES} == QUERIES


def test_an_address_has_sixty_steps_of_sign_ins_a_minute() -> None:
    web: Any = SimpleNamespace(provider=lambda: SETTINGS, buckets=Buckets(clock=lambda: 0.0))
    request: Any = SimpleNamespace(client=SimpleNamespace(host="192.0.2.1"))
    for _ in range(60):
        assert provider_pages.provider_settings(web, request) is SETTINGS
    with pytest.raises(Problem) as refused:
        provider_pages.provider_settings(web, request)
    assert refused.value.status == 429


def test_claims_are_completed_by_userinfo() -> None:
    claims = {"sub": "1", "name": "Ada", "email_verified": True}
    user_info = {
        "sub": "2", "name": "Eve", "nickname": "e", "email": "e@x.org", "email_verified": False,
        "phone": "1",
    }  # fmt: skip
    address = {"email": "e@x.org", "email_verified": False}
    assert openid.merge_claims(claims, user_info) == {
        "sub": "1", "name": "Ada", "nickname": "e", **address,
    }  # fmt: skip
    with_address = {**claims, "email": "ada@x.org"}
    assert openid.merge_claims(with_address, user_info) == {**with_address, "nickname": "e"}
    for claims_of_person, complete in (
        ({"email": "a", "name": "A"}, True), ({"email": "a", "preferred_username": "A"}, True),
        ({"email": "a"}, False), ({"name": "A"}, False),
    ):  # fmt: skip
        assert openid.are_complete(claims_of_person) is complete
