"""Debian's nginx in front, with the configuration of the examples; only ports and files differ."""

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
from serving import PATIENCE
from web_site import NAME, ORIGIN, URL, WebSite, listening

HOST = URL.removeprefix("https://")
EXAMPLE = Path(__file__).parents[2] / "examples" / "deploy" / "nginx.conf"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
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

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1_500),
    pytest.mark.skipif(NGINX is None or OPENSSL is None, reason="nginx is not installed"),
]


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


def configuration(folder: Path, port: int, upstream: int) -> str:
    """Return the example with this certificate and these ports."""
    site = EXAMPLE.read_text()
    files = f"ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
    for before, after in {
        "listen 443 ssl": f"{files} listen 127.0.0.1:{port} ssl",
        "server_name race.example.org;": f"server_name {HOST};",
        "proxy_pass http://127.0.0.1:8000;": f"proxy_pass http://127.0.0.1:{upstream};",
    }.items():
        assert site.count(before) == 1, before
        site = site.replace(before, after)
    user = "user root;" if os.geteuid() == 0 else ""
    return MAIN.format(user=user, folder=folder, site=site)


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


@contextlib.contextmanager
def nginx(upstream: int) -> Iterator[int]:
    """Run nginx in front of a port; yield its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificate(folder)
        log = folder / "error.log"
        for _attempt in range(5):  # another process may take the port first
            port = free_port()
            (folder / "nginx.conf").write_text(configuration(folder, port, upstream))
            process = subprocess.Popen(
                [str(NGINX), "-p", name, "-e", str(log), "-c", str(folder / "nginx.conf")]
            )
            if answers(port, process):
                break
        else:
            pytest.fail(log.read_text())
        try:
            yield port
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WebSite]:
    site = WebSite(tmp_path / "root", max_bytes=1_500_000)
    yield site
    site.close()


@pytest.fixture
def client(web: WebSite, tmp_path: Path) -> Iterator[httpx.Client]:
    """Return a client of the site through nginx and TLS."""
    protocol = limited_protocol(60.0, 60.0, 200, {"127.0.0.1"})
    proxied = {"proxy_headers": True, "forwarded_allow_ips": ["127.0.0.1"], "http": protocol}
    with listening(web.app, **proxied) as upstream, nginx(upstream) as port:
        pem = ssl.get_server_certificate(("127.0.0.1", port), timeout=PATIENCE)
        trusted = ssl.create_default_context(cadata=pem)
        base = f"https://127.0.0.1:{port}"
        with httpx.Client(verify=trusted, base_url=base, timeout=PATIENCE, trust_env=False) as one:
            one.headers["host"] = HOST
            one.event_hooks["request"] = [
                lambda request: request.extensions.update(sni_hostname=HOST)
            ]
            yield one


def test_uploads_boards_and_events_pass_through_nginx(web: WebSite, client: httpx.Client) -> None:
    account = web.person("Ada", "Ants")
    token = {"authorization": f"Bearer {web.token(account)}"}
    api = f"/api/v1/{NAME}"
    assert client.get("/health").status_code == client.get("/metrics").status_code == 404

    sent = client.post(f"{api}/submissions", content=b"id,y\na,0.5\n", headers=token)
    assert sent.status_code == 202, sent.text
    with client.stream("GET", f"{api}/events", headers=token) as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        lines = events.iter_lines()
        web.scorer.judge(web.site, 0.8125)
        etag = web.site.competitions[NAME].board()[1]
        assert next(line for line in lines if etag.strip('"') in line)
    rows = client.get(f"{api}/board").json()["rows"]
    assert [(row["team"], row["score"]) for row in rows] == [("Ants", 0.8125)]
    assert "Ants" in client.get(f"/{NAME}/", headers={"accept": "text/html"}).text

    # The site learns from nginx that the browser came by TLS, and from where.
    key = web.site.accounts.make_token(account, "sign-in key", "signin")[0]
    signed_in = client.post(
        "/sign-in", data={"key": key}, headers={**ORIGIN, "x-forwarded-for": "192.0.2.1"}
    )
    assert signed_in.status_code == 303, signed_in.text
    assert signed_in.headers["set-cookie"].startswith("__Host-arena=")
    assert ("sign in", "127.0.0.1") in web.site.buckets._counts

    # Too large for arena, and too large for nginx: refused by the header, and nothing is stored.
    before = len(list(web.site.uploads.folder.iterdir()))
    status, text = announced(client, f"{api}/submissions", token, web.facts.max_bytes + 1)
    assert (status, json.loads(text)["status"]) == (413, 413)
    status, text = announced(client, f"{api}/submissions", token, 212 * 2**20)
    assert (status, "nginx" in text) == (413, True)
    assert len(list(web.site.uploads.folder.iterdir())) == before


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
