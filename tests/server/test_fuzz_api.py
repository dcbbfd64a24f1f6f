"""Every operation of the OpenAPI document with bodies, parameters and headers that are drawn.

The campaign, with 200 cases of each: ``pytest -m campaign tests/server/test_fuzz_api.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, seed, settings
from starlette.testclient import TestClient

from arena.server.web import api
from web_site import NAME, WebSite


@pytest.mark.timeout(1_500)
@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(20, marks=[pytest.mark.slow, pytest.mark.long]),
        pytest.param(200, marks=pytest.mark.campaign),
    ],
)
def test_answers_are_as_described_and_the_server_never_fails(
    cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sender is an organiser with a team, signed in by a browser, who may do everything."""
    schemathesis = pytest.importorskip("schemathesis", reason="needs the extra fuzz")
    from schemathesis.checks import CHECKS, load_all_checks

    load_all_checks()
    described = [
        CHECKS.get_one(name)
        for name in (
            "status_code_conformance",
            "content_type_conformance",
            "response_headers_conformance",
            "response_schema_conformance",
        )
    ]
    monkeypatch.setattr(api, "VALIDATE_SECONDS", 0.0)  # files are not checked meanwhile
    web = WebSite(tmp_path)
    web.site.buckets.take = lambda *_: 0  # type: ignore[method-assign]
    account = web.person("Org", "Ants", organiser=True)
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", web.app)
    tried = 0
    # To start a thread for each request would take as long as the request.
    with start_blocking_portal() as portal:
        for operation in (operation.ok() for operation in schema.get_all_operations()):
            if operation.path.endswith("/events"):
                continue  # it never ends
            tried += 1
            _try(operation, web, account, cases=cases, checks=described, portal=portal)
            web.scorer.judge(web.site)
    assert tried > 30
    web.close()


def _sendable(files: Any) -> list[tuple[str, Any]]:
    """Return the parts of a form as a client can send them: drawn contents can be numbers."""
    parts = files.items() if isinstance(files, dict) else files
    sendable = []
    for name, part in parts:
        file, content, *kind = part if isinstance(part, tuple) else (None, part)
        if not isinstance(content, bytes | str):
            content = str(content)
        sendable.append((name, (file, content, *kind)))
    return sendable


def _try(
    operation: Any,
    web: WebSite,
    account: str,
    *,
    cases: int,
    checks: list[Any],
    portal: BlockingPortal,
) -> None:
    client: TestClient = web.browser(account)
    client.portal = portal

    @seed(cases)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        case.path_parameters["competition"] = NAME
        request = case.as_transport_kwargs(base_url=str(client.base_url))
        own = {key: client.headers[key] for key in ("origin", "sec-fetch-site")}
        request["headers"] = {**request["headers"], **own}
        del request["cookies"]  # of the client
        if isinstance(request.get("data"), bytes | str):
            request["content"] = request.pop("data")
        if request.get("files"):
            request["files"] = _sendable(request["files"])
        answer = client.request(**request)
        assert answer.status_code != 500, answer.text
        answer.request.read()  # of a form
        case.validate_response(answer, checks=checks)

    send()
