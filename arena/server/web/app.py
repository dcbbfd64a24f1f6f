"""The application: routes, and what holds for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.server.web import kaggle, pages
from arena.server.web.api import ENDPOINTS
from arena.server.web.body import read_json
from arena.server.web.call import Call, check_runner, check_who
from arena.server.web.cookies import MAX_BYTES, are_too_long, cookies_of
from arena.server.web.documents import json_bytes
from arena.server.web.endpoint import Endpoint, route_path
from arena.server.web.language import _, choose, speak
from arena.server.web.limits import network
from arena.server.web.openapi import document
from arena.server.web.operations import Metrics, check_loopback, health, log_request
from arena.server.web.people import Person, identify, refuse_other_sites
from arena.server.web.problems import EXPECTED, Problem, problem_of
from arena.server.web.shared import SharedAnswers
from arena.server.web.site import Site
from arena.utils.distribution import installed_version

_LOGGER = logging.getLogger("arena.server.web")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_HSTS = "max-age=31536000"
_REST_SECONDS = 10.0
"""Time for which the rest of a refused upload is read."""


class IncomingBody:
    """The body of a request, which may be answered before it has arrived.

    Closing a connection on which data still arrives resets it, and the client may lose the answer
    that it has not read yet: the reason why its upload was refused. The rest is therefore read and
    forgotten, for a limited time.
    """

    def __init__(self, receive: Receive, request: Request) -> None:
        self._receive = receive
        length = request.headers.get("content-length", "0")
        self.is_complete = length == "0" and "transfer-encoding" not in request.headers

    async def __call__(self) -> Message:
        """Return the next message of the body."""
        message = await self._receive()
        self.is_complete = not message.get("more_body", False)
        return message

    async def read_rest(self) -> None:
        """Read and forget what has not arrived yet, for a limited time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                while not self.is_complete:
                    await self()


class _Outer:
    """Headers, limits, language and logs of all requests."""

    def __init__(self, app: ASGIApp, site: Site, metrics: Metrics) -> None:
        self._app, self._site, self._metrics = app, site, metrics
        self._shared = SharedAnswers(site, metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        key, etags = self._shared.key(scope)
        answer = self._shared.answer(scope, key, etags) if key else None
        if answer is not None:
            for message in answer:
                await send(message)
            return
        request, started = Request(scope), time.perf_counter()
        response_start = {"status": 500}
        begun: Message = {}
        incoming = IncomingBody(receive, request)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                response_start["status"] = message["status"]
                headers = MutableHeaders(scope=message)
                header_names = {name for name, _value in headers.raw}
                headers.raw.extend(
                    raw_header for raw_header in _RAW_HEADERS if raw_header[0] not in header_names
                )
                if scope["scheme"] == "https":
                    headers["Strict-Transport-Security"] = _HSTS
                headers.setdefault("Cache-Control", "no-store")
                begun.update(message)
            elif key is not None:
                self._shared.keep(scope, key, begun, message, kind=_kind(scope["path"]))
            is_last = message["type"] == "http.response.body" and not message.get("more_body")
            if is_last and not incoming.is_complete and response_start["status"] != 408:
                await send({**message, "more_body": True})
                await incoming.read_rest()
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        # Cookies are read after the limits only.
        accepted = request.headers.get("accept-language", "")
        speak(choose(None, accepted))
        try:
            refusal = self._refusal(request)
            speak(choose(cookies_of(request).get("language"), accepted))
            if refusal is not None:
                await refused(request, refusal, self._site)(scope, incoming, send_with_headers)
            else:
                await self._app(scope, incoming, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path", None) or "(none)"
            kind = _kind(route)
            spent = time.perf_counter() - started
            self._metrics.requests.labels(kind, f"{response_start['status'] // 100}xx").inc()
            self._metrics.seconds.labels(kind).observe(spent)
            person = scope.get("arena.person")
            account = person.account.account if person and person.account else None
            address = request.client.host if request.client else ""
            log_request(
                route,
                request.method,
                status=response_start["status"],
                seconds=spent,
                account=account,
                address=address,
            )

    def _refusal(self, request: Request) -> Problem | None:
        if {"transfer-encoding", "content-length"} <= set(request.headers):
            # A proxy may take the other one for the end of the request (RFC 9112, 6.1).
            return Problem(
                400,
                "The request states its length in two ways. Send Content-Length or "
                "Transfer-Encoding, not both.",
                {"Connection": "close"},
            )
        if len(request.headers.getlist("host")) > 1 or not request.scope["query_string"].isascii():
            return Problem(
                400,
                "The request has several Host headers, or characters in its address that are not "
                "encoded.",
                {"Connection": "close"},
            )
        if request.scope["path"].startswith("/static/"):
            return None
        address = request.client.host if request.client else ""
        limits = self._site.limits()
        if address not in self._site.trusted_proxies():
            # Live boards in a lecture hall must not use up what its people need to submit.
            kind = "read" if request.method in {"GET", "HEAD"} else "write"
            wait = self._site.buckets.take((kind, network(address)), limits.reads_per_minute)
            if wait:
                return Problem(
                    429,
                    f"Too many requests from your address. Try again in {wait} s.",
                    {"Retry-After": str(wait)},
                )
        try:
            _check_cookies(request)
            refuse_other_sites(request, self._site.settings.url)
        except Problem as problem:
            return problem
        return None


def _check_cookies(request: Request) -> None:
    if are_too_long(request):
        raise Problem(
            431,
            f"The cookies of this address have more than {MAX_BYTES:,} bytes. Delete them in the "
            "browser, and open the page again.",
        )


def _kind(route: str) -> str:
    return next(
        (kind for kind in ("api", "static", "health", "metrics") if route.startswith(f"/{kind}")),
        "page",
    )


def refused(request: Request, problem: Problem, site: Site) -> Response:
    """Return a refusal: a page for browsers, a problem document for programs."""
    wants_page = not request.scope["path"].startswith(
        "/api/"
    ) and "text/html" in request.headers.get("accept", "")
    if wants_page:
        return pages.problem_page(request, problem, site)
    return JSONResponse(
        problem.document(),
        problem.status,
        headers=problem.headers,
        media_type="application/problem+json",
    )


def guarded(
    site: Site,
    who: str,
    scope: str,
    handler: Callable[..., Awaitable[Any]],
    *,
    status: int = 200,
    body: type[BaseModel] | type[bytes] | None = None,
    may_embed: bool = False,
) -> Callable[[Request], Awaitable[Response]]:
    """Return a route's function: it checks who sends the request, then answers by ``handler``.

    A body of a model is read as such, and the second argument of the handler. ``may_embed``: pages
    of other sites may read the answer, without the cookies of a person, if ``[server] embed`` says
    so.
    """

    async def answer(request: Request) -> Response:
        person: Person = identify(request, site.accounts)
        request.scope["arena.person"] = person
        competition = site.competition(request.path_params["competition"])
        call = Call(request, site, competition, person)
        check_runner(call) if who == "runner" else check_who(call, who, scope)
        bodies = (
            (await read_json(request, competition.limits, body),)
            if body is not None and issubclass(body, BaseModel)
            else ()
        )
        result = await handler(call, *bodies)
        if isinstance(result, dict):
            result = Response(json_bytes(result), status, media_type="application/json")
        if may_embed and competition.limits.embed and competition.limits.board == "anyone":
            result.headers["Access-Control-Allow-Origin"] = "*"
            result.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
        return result  # type: ignore[no-any-return, unused-ignore]

    return answer


def _endpoint(site: Site, endpoint: Endpoint) -> Route:
    return Route(
        f"/api/v1/{{competition}}{route_path(endpoint.path)}",
        guarded(
            site,
            endpoint.who,
            endpoint.scope,
            endpoint.handler,
            status=endpoint.status,
            body=endpoint.body,
            may_embed=endpoint.method == "GET"
            and endpoint.who == "reader"
            and endpoint.path != "/events",
        ),
        methods=[endpoint.method],
    )


def create_app(site: Site) -> ASGIApp:
    """Return the application of a site."""
    metrics = Metrics()
    openapi = document(installed_version())

    async def show_openapi(_request: Request) -> Response:
        return JSONResponse(openapi)

    async def show_health(request: Request) -> Response:
        check_loopback(request)
        return health(site)

    async def show_metrics(request: Request) -> Response:
        check_loopback(request)
        return metrics.page(site)

    async def on_problem(request: Request, error: Exception) -> Response:
        problem = problem_of(error)
        if problem is None and isinstance(error, HTTPException):
            detail = {
                404: _("There is no such page."),
                405: "This address does not take this method.",
            }.get(error.status_code, str(error.detail))
            problem = Problem(error.status_code, detail, error.headers)
        if problem is None:
            _LOGGER.error("A request failed.", exc_info=error)
            problem = Problem(
                500,
                "The server failed. Nothing was lost: send the request again, with the same "
                "Idempotency-Key, and tell the organiser if it fails again.",
            )
        return refused(request, problem, site)

    routes: list[BaseRoute] = [
        Route("/health", show_health),
        Route("/metrics", show_metrics),
        Route("/api/v1/openapi.json", show_openapi),
        *kaggle.routes(site),
        *(_endpoint(site, endpoint) for endpoint in ENDPOINTS),
        Mount("/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static"),
        *pages.routes(site, guarded),
    ]
    app = Starlette(
        routes=routes,
        exception_handlers={
            **dict.fromkeys((HTTPException, *EXPECTED), on_problem),
            Exception: on_problem,
        },
    )
    return _Outer(app, site, metrics)
