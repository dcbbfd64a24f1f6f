"""Debian's nginx and Caddy in front, as ``arena serve --print-units`` configures them.

Only the address and the certificate differ.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from arena.server.web.protocol import limited_protocol
from browser import missing
from serving import PATIENCE
from web_site import NAME, ORIGIN, URL, WebSite, listening

HOST = URL.removeprefix("https://")
EXAMPLES = Path(__file__).parents[2] / "examples" / "deploy"
"""What ``--print-units`` writes, as another test checks."""
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
CADDY = shutil.which("caddy")
OPENSSL = shutil.which("openssl")
MAIN = """\
{user}
daemon off;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""

CADDY_MAIN = """\
{{
    admin off
    skip_install_trust
    auto_https disable_redirects
    storage file_system {folder}
}}
{site}
"""
"""The root certificate of Caddy's own authority is at this path in its storage."""
CADDY_ROOT = "pki/authorities/local/root.crt"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]


def certificate(folder: Path) -> None:
    """Write a certificate that signs itself, and its key."""
    options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subprocess.run(
        [
            str(OPENSSL), *options.split(), "-subj", f"/CN={HOST}",
            "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", "key.pem", "-out", "cert.pem",
        ],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip


def changed(example: str, changes: dict[str, str]) -> str:
    """Return an example in which some parts, each of which it holds once, are replaced."""
    site = (EXAMPLES / example).read_text()
    for before, after in changes.items():
        assert site.count(before) == 1, before
        site = site.replace(before, after)
    return site


def nginx_command(folder: Path, port: int, upstream: int) -> list[str]:
    """Write the example with this certificate and these ports; return how nginx is started."""
    files = f"ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
    site = changed(
        "nginx.conf",
        {
            "listen 80;": f"{files} listen 127.0.0.1:{port} ssl http2;",
            "server_name race.example.org;": f"server_name {HOST};",
            "proxy_pass http://127.0.0.1:8000;": f"proxy_pass http://127.0.0.1:{upstream};",
        },
    )
    user = "user root;" if os.geteuid() == 0 else ""
    main = folder / "nginx.conf"
    main.write_text(MAIN.format(user=user, folder=folder, site=site))
    return [str(NGINX), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(main)]


def test_the_configuration_of_nginx_loads_before_there_is_a_certificate(tmp_path: Path) -> None:
    if NGINX is None:
        missing("nginx")
    site = changed("nginx.conf", {"listen 80;": f"listen 127.0.0.1:{free_port()};"})
    main = tmp_path / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    main.write_text(MAIN.format(user=user, folder=tmp_path, site=site))
    options = ["-t", "-p", str(tmp_path), "-e", str(tmp_path / "error.log"), "-c", str(main)]
    subprocess.run([str(NGINX), *options], check=True, capture_output=True)


def caddy_command(folder: Path, port: int, upstream: int) -> list[str]:
    """Write the example for these ports with Caddy's own authority; return how it is started."""
    site = changed(
        "Caddyfile",
        {
            "race.example.org {": f"https://{HOST}:{port} {{\n\tbind 127.0.0.1\n\ttls internal",
            "reverse_proxy 127.0.0.1:8000": f"reverse_proxy 127.0.0.1:{upstream}",
        },
    )
    main = folder / "Caddyfile"
    main.write_text(CADDY_MAIN.format(folder=folder, site=site))
    return [str(CADDY), "run", "--config", str(main), "--adapter", "caddyfile"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait until a port takes connections; return False if the process ends first."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5.0):
            return process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    return False


def trusted(folder: Path) -> ssl.SSLContext:
    """Return a context that trusts the certificate of nginx, or the authority of Caddy."""
    certificates = [folder / "cert.pem", folder / CADDY_ROOT]
    end = time.monotonic() + PATIENCE
    while not any(path.exists() for path in certificates):
        assert time.monotonic() < end
        time.sleep(0.05)
    return ssl.create_default_context(cafile=next(path for path in certificates if path.exists()))


@contextlib.contextmanager
def proxy(name: str, upstream: int) -> Iterator[tuple[int, ssl.SSLContext]]:
    """Run a proxy in front of a port; yield its own, and a context that trusts it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if name == "nginx":
            certificate(folder)
        make = nginx_command if name == "nginx" else caddy_command
        log = folder / "log"
        environment = {**os.environ, "HOME": temporary, "XDG_CONFIG_HOME": temporary}
        for _attempt in range(5):  # another process may take the port first
            port = free_port()
            with log.open("wb") as messages:
                process = subprocess.Popen(
                    make(folder, port, upstream), env=environment, stderr=messages
                )
            if answers(port, process):
                break
        else:
            pytest.fail(log.read_text())
        try:
            yield port, trusted(folder)
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebSite]:
    site = WebSite(tmp_path / "root", max_bytes=1_500_000)
    yield site
    site.close()


@pytest.fixture(
    params=[
        pytest.param(
            "nginx",
            marks=pytest.mark.skipif(
                NGINX is None or OPENSSL is None, reason="nginx or openssl is not installed"
            ),
        ),
        pytest.param(
            "caddy", marks=pytest.mark.skipif(CADDY is None, reason="Caddy is not installed")
        ),
    ]
)
def client(request: pytest.FixtureRequest, web: WebSite) -> Iterator[httpx.Client]:
    """Return a client of the site through a proxy and TLS."""
    protocol = limited_protocol(60.0, 60.0, 200, {"127.0.0.1"})
    proxied = {"proxy_headers": True, "forwarded_allow_ips": ["127.0.0.1"], "http": protocol}
    with (
        listening(web.app, **proxied) as upstream,
        proxy(request.param, upstream) as (port, context),
    ):
        base = f"https://{HOST}:{port}"
        transport = httpx.HTTPTransport(verify=context, retries=2)
        with httpx.Client(
            transport=ToLoopback(transport), base_url=base, timeout=PATIENCE, trust_env=False
        ) as web_client:
            yield web_client


class ToLoopback(httpx.BaseTransport):
    """Sends requests to this machine, with the name of the site in TLS and in the header."""

    def __init__(self, transport: httpx.HTTPTransport) -> None:
        self._transport = transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["host"] = HOST
        request.extensions["sni_hostname"] = HOST
        request.url = request.url.copy_with(host="127.0.0.1")
        return self._transport.handle_request(request)

    def close(self) -> None:
        self._transport.close()


def test_uploads_boards_and_events_pass_through_a_proxy(web: WebSite, client: httpx.Client) -> None:
    account = web.person("Ada", "Ants")
    token = {"authorization": f"Bearer {web.token(account)}"}
    api = f"/api/v1/{NAME}"
    assert client.get("/health").status_code == client.get("/metrics").status_code == 404

    answer = client.post(f"{api}/submissions", content=b"id,y\na,0.5\n", headers=token)
    assert answer.status_code == 202, answer.text
    with client.stream("GET", f"{api}/events", headers=token) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        lines = events.iter_lines()
        web.scorer.judge(web.site, 0.8125)
        etag = web.site.competitions[NAME].board()[1]
        assert next(line for line in lines if etag.strip('"') in line)
    rows = client.get(f"{api}/board").json()["rows"]
    assert [(row["team"], row["score"]) for row in rows] == [("Ants", 0.8125)]
    assert "Ants" in client.get(f"/{NAME}/", headers={"accept": "text/html"}).text

    # The site learns from the proxy that the browser came by TLS, and from where.
    key = web.site.accounts.make_token(account, "sign-in key", "signin")[0]
    signed_in = client.post(
        "/sign-in", data={"key": key}, headers={**ORIGIN, "x-forwarded-for": "192.0.2.1"}
    )
    assert signed_in.status_code == 303, signed_in.text
    assert signed_in.headers["set-cookie"].startswith("__Host-arena=")
    assert ("sign in", "127.0.0.1") in web.site.buckets._counts

    # Too large for arena: refused by the header, and nothing is stored.
    before = len(list(web.site.uploads.folder.iterdir()))
    too_large = web.facts.max_bytes + 1
    refused = client.post(f"{api}/submissions", content=b"x" * too_large, headers=token)
    assert (refused.status_code, refused.json()["status"]) == (413, 413)
    if is_nginx(client):  # Caddy passes an answer on when the request has ended
        status, text = announced(client, f"{api}/submissions", token, too_large)
        assert (status, json.loads(text)["status"]) == (413, 413)
        status, text = announced(client, f"{api}/submissions", token, 212 * 2**20)
        assert (status, "nginx" in text) == (413, True)
    assert len(list(web.site.uploads.folder.iterdir())) == before


FORGED = (
    "192.0.2.1", "127.0.0.1", "::1", "192.0.2.1, 127.0.0.1", "127.0.0.1, 192.0.2.1", "unknown",
    "127.0.0.1:80", "[::1]:80", "fe80::1%eth0", ",", "x" * 4_000, "1.2.3.4," * 500,
    "\"127.0.0.1\"", "_hidden", "0x7f000001", "2130706433",
)  # fmt: skip


def test_no_client_chooses_the_address_that_is_counted(web: WebSite, client: httpx.Client) -> None:
    """Whatever is forwarded by the client, all of its requests count for its own address."""
    for name in ("x-forwarded-for", "X-Forwarded-For", "forwarded", "x-real-ip", "via"):
        for value in FORGED:
            client.post("/sign-in", data={"key": "x"}, headers={**ORIGIN, name: value})
    counted = {key for key in web.site.buckets._counts if key[0] == "sign in"}  # type: ignore[index]
    assert counted == {("sign in", "127.0.0.1")}
    plain = client.get(
        f"/{NAME}/rules", headers={"x-forwarded-proto": "http", "x-forwarded-host": "evil.example"}
    )
    assert "strict-transport-security" in plain.headers
    assert "evil.example" not in plain.text


def is_nginx(client: httpx.Client) -> bool:
    return client.get("/health").headers["server"].startswith("nginx")


def announced(
    client: httpx.Client, path: str, headers: dict[str, str], size: int
) -> tuple[int, str]:
    """Return the answer to the header of a request with a body of this size."""
    port = client.base_url.port
    assert port is not None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)
    plain = socket.create_connection(("127.0.0.1", port), PATIENCE)
    connection.sock = context.wrap_socket(plain, server_hostname=HOST)
    try:
        connection.putrequest("POST", path)
        for name, value in {**headers, "content-length": str(size)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
