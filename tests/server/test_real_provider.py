"""A real provider of OpenID Connect, installed from the registry: register, sign in again, link.

``pytest -m campaign tests/server/test_real_provider.py``: some minutes, most of them to install it.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest
from joserfc.jwk import RSAKey

from arena.server.records.layout import OIDC_SECRET
from fake_provider import CALLBACK, CLIENT, SECRET
from web_site import NAME, WebSite

pytestmark = [pytest.mark.campaign, pytest.mark.timeout(1_500)]

PASSWORD = "correct-horse-1-battery"  # noqa: S105 - of a person of this test
SETTINGS = """
SECRET_KEY = "for-this-test-only-{port}-{port}-{port}"
SERVER_NAME = "127.0.0.1:{port}"
PREFERRED_URL_SCHEME = "http"
SESSION_COOKIE_SECURE = false
DATABASE = "sql"
[CANAILLE_SQL]
DATABASE_URI = "sqlite:///{folder}/canaille.sqlite"
[CANAILLE_OIDC]
ACTIVE_JWKS = [{key}]
"""


def installed(folder: Path) -> Path:
    """Install it into an environment of its own; skip where no registry answers in time."""
    venv.create(folder)
    command = [
        sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "-q",
        "--no-compile", "--disable-pip-version-check", "canaille[front,oidc,server,sqlite]==0.3.6",
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("Installing canaille takes too long here.")
    if done.returncode:
        pytest.skip(f"canaille cannot be installed here: {done.stderr[-300:]}")
    return folder / "bin" / "canaille"


@contextmanager
def running(canaille: Path, folder: Path) -> Iterator[str]:
    """Run a provider with one person and one client; yield its issuer."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = folder / "canaille.toml"
    environment = {
        **os.environ,
        "CANAILLE_CONFIG": str(settings),
        "AUTHLIB_INSECURE_TRANSPORT": "1",
    }
    del environment[OIDC_SECRET]

    def call(*arguments: str) -> str:
        done = subprocess.run(
            [canaille, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    signing_key = RSAKey.generate_key(2048, {"kid": "one"}).as_dict(private=True)
    key = ", ".join(f'{name} = "{value}"' for name, value in signing_key.items())
    settings.write_text(SETTINGS.format(key=f"{{{key}}}", port=port, folder=folder))
    call("install")
    call("create", "user", "--user-name", "ada", "--password", PASSWORD, "--family-name", "L",
         "--formatted-name", "Ada Lovelace", "--emails", "ada@example.org")  # fmt: skip
    call("create", "client", "--client-id", CLIENT, "--client-secret", SECRET, "--client-name", "a",
         "--redirect-uris", CALLBACK, "--grant-types", "authorization_code",
         "--response-types", "code", "--id-token-signed-response-alg", "RS256",
         "--token-endpoint-auth-method", "client_secret_basic",
         "--scope", "openid", "--scope", "profile", "--scope", "email")  # fmt: skip
    call("set", "client", CLIENT, "--audience", CLIENT)  # which its own pages do by themselves
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [canaille, "run", "--bind", f"127.0.0.1:{port}"],
            env=environment, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        issuer = f"http://127.0.0.1:{port}"
        until = time.monotonic() + 300
        while True:
            try:
                configuration = httpx2.get(f"{issuer}/.well-known/openid-configuration").json()
                break
            except httpx2.HTTPError:
                assert process.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < until
                time.sleep(0.2)
        yield configuration["issuer"]
    finally:
        process.terminate()
        process.wait(60)


def sign_in(browser: httpx2.Client, url: str) -> str:
    """Fill in the provider's forms until it sends the browser back; return that address."""
    answer = browser.get(url)
    for _step in range(12):
        where = answer.headers.get("location")
        if where is not None:
            where = urljoin(str(answer.url), where)
            if where.startswith(CALLBACK):
                return where
            answer = browser.get(where)
            continue
        forms = re.findall(r"<form\b([^>]*)>(.*?)</form>", answer.text, re.DOTALL)
        assert forms, answer.text
        attributes, form = next(
            (form for form in forms if re.search(r'name="(login|password|answer)"', form[1])),
            forms[0],
        )
        fields = {
            name[1]: unescape(value[1]) if (value := re.search(r'value="([^"]*)"', tag)) else ""
            for tag in re.findall(r"<input\b[^>]*>", form)
            if (name := re.search(r'name="([^"]*)"', tag))
        }
        for name, value in (("login", "ada"), ("password", PASSWORD)):
            if name in fields:
                fields[name] = value
        if 'name="answer"' in form:
            fields["answer"] = "accept"
        action = re.search(r'action="([^"]*)"', attributes)
        target = urljoin(str(answer.url), unescape(action[1]) if action else "")
        headers = {"Referer": str(answer.url)}
        answer = browser.post(target, data=fields, headers=headers)
    raise AssertionError(f"{answer.status_code} {answer.url}: {answer.text}")


def wait_for_the_next_second() -> None:
    """Within one second the provider would make the same access token again."""
    second = int(time.time())
    while int(time.time()) == second:
        time.sleep(0.05)


def test_a_person_of_a_real_provider_takes_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(OIDC_SECRET, SECRET)
    with running(installed(tmp_path / "venv"), tmp_path) as issuer:
        web = WebSite(tmp_path / "root", oidc_issuer=issuer, oidc_client_id=CLIENT)
        with httpx2.Client() as provider_client:

            def go(client: Any, **asked: str) -> Any:
                asked["then"] = f"/{NAME}/team"
                answer = client.get("/sign-in/oidc", params=asked)
                assert answer.status_code == 303, answer.text
                return client.get(sign_in(provider_client, answer.headers["location"]))

            client = web.browser()
            back = go(client)
            assert back.headers["location"] == f"/{NAME}/join", back.text
            page = client.get(f"/{NAME}/join").text
            assert 'value="Ada Lovelace"' in page
            assert "ada@example.org" in page
            data = {"name": "Ada", "team": "Ants", "provider": "yes"}
            assert client.post(f"/{NAME}/join", data=data).status_code == 200
            wait_for_the_next_second()
            again = web.browser()
            assert go(again).headers["location"] == f"/{NAME}/team"
            assert "Ants" in again.get(f"/{NAME}/team").text
            ada = web.site.accounts.by_subject(f"{issuer} ada")
            assert ada is not None

            # The other way round: an account with a key is linked, once the identity is free.
            web.site.accounts.new_key(ada.account, again.cookies["__Host-arena"])
            key = web.site.accounts.new_key(web.person("Bo", "Bees"), None)
            other, team = web.browser(), f"/{NAME}/team"
            other.post("/sign-in", data={"key": key})
            wait_for_the_next_second()
            refused = go(other, link="yes")
            assert refused.status_code == 409, refused.text
            assert "belongs to another account" in refused.text
            wait_for_the_next_second()
            back = go(again)
            assert back.status_code == 303, back.text
            assert again.post(f"/{NAME}/provider/unlink").status_code == 303
            wait_for_the_next_second()
            assert go(other, link="yes").headers["location"] == team
            named = re.search(r'name="identity" value="([^"]+)"', other.get(team).text)
            assert named
            other.post(f"/{NAME}/provider/link", data={"identity": named[1]})
            wait_for_the_next_second()
            last = web.browser()
            assert go(last).headers["location"] == team
            assert "Bees" in last.get(team).text
        web.close()
