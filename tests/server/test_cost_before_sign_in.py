"""What one request costs before its sender is known: no route and no header takes long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from arena.server.web.cookies import MAX_BYTES
from asgi import respond
from web_site import NAME, ORIGIN, WebSite

Grown = Callable[[int], bytes]
MOST = 60_000
"""Bytes of a header: the server takes 64 kB of all headers."""
CHEAP = 0.03
"""Seconds of processor time for the longest header, up to which no growth is measured."""
MOST_GROWTH = 2.5
"""A step that takes quadratic time takes four times as long for twice the bytes."""


def repeated(text: bytes, before: bytes = b"", after: bytes = b"") -> Grown:
    return lambda size: before + text * max((size - len(before + after)) // len(text), 1) + after


HEADERS: Mapping[str, tuple[Grown, ...]] = {
    "accept": (repeated(b"text/html,"), repeated(b"a;q=0.1,")),
    "accept-encoding": (repeated(b"gzip,"),),
    "accept-language": (repeated(b"de;q=1,"), repeated(b"-")),
    "authorization": (
        repeated(b"x", b"Bearer "),
        repeated(b" ", b"Bearer "),
        repeated(b"QUFB", b"Basic "),
        repeated(b"=", b"Basic "),
        repeated(b":", b"Basic "),
        repeated(b"\xff", b"Basic "),
    ),
    "connection": (repeated(b"close,"),),
    "content-length": (repeated(b"0"), repeated(b"9")),
    "content-type": (
        repeated(b"a", b"multipart/form-data; boundary="),
        repeated(b"\\", b'multipart/form-data; boundary="'),
        repeated(b'a="\\"";', b"multipart/form-data;"),
        repeated(b";", b"application/x-www-form-urlencoded"),
        repeated(b"a*0=b;", b"multipart/form-data;"),
    ),
    "cookie": (
        repeated(b"\\", b'a="'),
        repeated(b"\\", b'__Host-arena="', b'"'),
        repeated(b'"', b"a="),
        repeated(b"a=b;"),
        repeated(b"="),
        repeated(b"\\101", b'language="', b'"'),
    ),
    "expect": (repeated(b"100-continue,"),),
    "forwarded": (repeated(b"for=1;"),),
    "host": (repeated(b"a."), repeated(b":")),
    "idempotency-key": (repeated(b"k"),),
    "if-match": (repeated(b'"a",'),),
    "if-modified-since": (repeated(b"Mon, "), repeated(b"(")),
    "if-none-match": (repeated(b'"a",'), repeated(b"W/")),
    "if-range": (repeated(b'"a"'), repeated(b"Mon, ")),
    "last-event-id": (repeated(b"9"),),
    "origin": (repeated(b"https://"),),
    "range": (repeated(b"0-0,", b"bytes="), repeated(b"-1,", b"bytes="), repeated(b"9", b"bytes=")),
    "referer": (repeated(b"https://"),),
    "sec-fetch-site": (repeated(b"none,"),),
    "te": (repeated(b"gzip,"),),
    "transfer-encoding": (repeated(b"chunked,"),),
    "user-agent": (repeated(b"(a) "),),
    "via": (repeated(b"1.1 a,"),),
    "x-forwarded-for": (repeated(b"::1,"), repeated(b":")),
    "x-forwarded-proto": (repeated(b"https,"),),
}
QUERIES: tuple[Grown, ...] = (
    repeated(b"0", b"page="),
    repeated(b"9", b"before="),
    repeated(b"a=b&"),
    repeated(b"%ff", b"search="),
    repeated(b"%", b"then="),
    repeated(b"/", b"then="),
)
BODIES: Mapping[bytes, tuple[Grown, ...]] = {
    b"application/x-www-form-urlencoded": (
        repeated(b"a=b&"),
        repeated(b"%", b"name="),
        repeated(b"%cc%81", b"name=a"),
        repeated(b"-", b"code="),
    ),
    b"application/json": (
        repeated(b"["),
        repeated(b'{"a":'),
        repeated(b"9"),
        repeated(b"\\ud800", b'{"competitionName": "', b'"}'),
    ),
    b"multipart/form-data; boundary=b": (
        repeated(b"\r\n--", b"--b\r\n"),
        repeated(b"a: b\r\n", b"--b\r\n"),
        repeated(b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n', b"", b"--b--"),
        repeated(b"\\", b'--b\r\nContent-Disposition: form-data; name="'),
    ),
}


def routes_of(web: WebSite) -> Iterator[tuple[str, str]]:
    """Yield the method and an address of each route that ends."""
    for route in web.app._app.routes:
        if route.path == "/static":
            yield "GET", "/static/arena.css"
            continue
        path = route.path
        for name, value in {
            "{competition}": NAME, "{id}": NAME, "{request}": "0" * 32, "{run}": "1",
            "{team}": "Ants", "{what}": "teams",
            "{version}": "1",
            "{page}": "overview", "{file}": "a.csv", "{image}": "a.png",
            "{secret}": "s" * 43, "{service}": "ListCompetitions", "{size}": "1",
            "{modified}": "1", "{file:path}": "a.csv", "{rest:path}": "x",
        }.items():  # fmt: skip
            path = path.replace(name, value)
        if path.endswith("/events"):
            continue  # it never ends
        assert "{" not in path, path
        for method in sorted(route.methods - {"HEAD"}):
            yield method, path


def seconds(ask: Callable[[], Any], repeats: int = 1) -> float:
    durations = []
    for _ in range(repeats):
        begun = time.process_time()
        ask()
        durations.append(time.process_time() - begun)
    return min(durations)


def assert_linear(ask: Callable[[int], Any], case: object) -> None:
    """Double the size until the longest; the time may grow by :data:`MOST_GROWTH` only."""
    if seconds(lambda: ask(MOST)) < CHEAP:
        return
    half, whole = (seconds(lambda size=size: ask(size), 5) for size in (MOST // 2, MOST))  # type: ignore[misc]
    assert whole < max(MOST_GROWTH * half, CHEAP), (case, half, whole)


def cases_of_headers(
    web: WebSite, names: Mapping[str, tuple[Grown, ...]]
) -> Iterator[tuple[str, str, bytes, Grown]]:
    for method, path in routes_of(web):
        for name, grown in names.items():
            for value in grown:
                yield method, path, name.encode(), value


def check_headers(web: WebSite, names: Mapping[str, tuple[Grown, ...]], share: int = 1) -> int:
    tried = 0
    for method, path, name, grown in [*cases_of_headers(web, names)][::share]:

        def ask(
            size: int, method: str = method, path: str = path, name: bytes = name,
            grown: Grown = grown,
        ) -> None:  # fmt: skip
            status, _body = respond(web.app, method, path, headers=[(name, grown(size))])
            assert status != 500, (method, path, name, grown(60))

        assert_linear(ask, (method, path, name, grown(60)))
        tried += 1
    return tried


def test_a_cookie_costs_no_more_than_its_bytes_on_any_route(web: WebSite) -> None:
    assert check_headers(web, {"cookie": HEADERS["cookie"]}, share=7) > 80


def test_long_cookies_are_refused_and_counted_before_they_are_read(web: WebSite) -> None:
    long = [(b"cookie", b"a=" + b"b" * MAX_BYTES)]
    assert respond(web.app, "GET", f"/{NAME}/", headers=long)[0] == 431
    web.site.buckets.take = lambda *_: 7  # type: ignore[method-assign]
    assert respond(web.app, "GET", f"/{NAME}/", headers=long)[0] == 429


@pytest.mark.slow
def test_no_header_costs_more_than_its_bytes_on_any_route(web: WebSite) -> None:
    assert check_headers(web, HEADERS) > 4_000


@pytest.mark.slow
def test_no_query_or_body_costs_more_than_its_bytes_on_any_route(web: WebSite) -> None:
    own = [(name.lower().encode(), value.encode()) for name, value in ORIGIN.items()]
    plain = [(own, query, b"") for query in QUERIES]
    forms = [
        ([*own, (b"content-type", kind)], None, body)
        for kind, bodies in BODIES.items()
        for body in bodies
    ]
    tried = 0
    for (method, path), (headers, query, body) in product(routes_of(web), [*plain, *forms]):
        if body and method == "GET":
            continue

        def ask(size: int, case: Any = (method, path, headers, query, body)) -> None:
            method, path, headers, query, body = case
            status, _body = respond(
                web.app,
                method,
                path,
                headers=headers,
                query=query(size) if query else b"",
                body=[body(size)] if body else [],
            )
            assert status != 500, (method, path, (query or body)(60))

        assert_linear(ask, (method, path, (query or body)(60)))  # type: ignore[operator]
        tried += 1
    assert tried > 1_000
