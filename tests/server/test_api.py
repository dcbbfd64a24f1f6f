"""Every operation of the HTTP API, with its method, path and body."""

from __future__ import annotations

from arena.server.web.api import ENDPOINTS
from kept import check_kept


def test_the_operations_of_the_api_are_kept() -> None:
    lines = []
    for endpoint in ENDPOINTS:
        body = "" if endpoint.body is None else f" {endpoint.body.__name__}"
        errors = "".join(f" {status}" for status in endpoint.errors)
        query = "".join(f" ?{name}" for name in endpoint.query)
        place = f"{endpoint.method} {endpoint.path or '/'} {endpoint.who} {endpoint.scope}"
        lines.append(f"{place}:{body}{query} -> {endpoint.status}{errors}")
    check_kept("api.txt", "\n".join(lines) + "\n")
