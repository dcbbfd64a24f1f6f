"""Answers that are the same for everybody: the board, as JSON and as a page for guests.

A live board is read by all its readers at once whenever it changes. Its answer is therefore made
once, and kept for a second at most, while nothing new is published or announced. A kept answer
costs little more than the HTTP server itself; it is counted in the metrics and towards the limit
of its reader's address, but has no line in the log.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.types import Message, Scope

from arena.server.web.call import Call
from arena.server.web.language import LANGUAGES, choose
from arena.server.web.limits import network
from arena.server.web.operations import Metrics
from arena.server.web.problems import Problem
from arena.server.web.site import CompetitionSite, Site

KEPT_SECONDS = 1.0
"""Pages say how long ago the scorer gave a sign of life."""
_MOST = 200
SHARED_KEY = "arena.shared"
_LANGUAGE_COOKIE = b"language="
_NOT_PLAIN = {b"authorization", b"content-length", b"transfer-encoding", b"expect", b"range"}
Key = tuple[str, bytes, str, str]


def share(call: Call) -> None:
    """Say that everybody without an account gets the answer to this request.

    Called before the answer is made, so that a publication meanwhile ends it.
    """
    if call.competition.limits.board == "anyone" and call.person.account is None:
        call.request.scope[SHARED_KEY] = call.competition, call.competition.published.version()


@dataclass(slots=True)
class _Kept:
    """An answer, and the state that it was made from."""

    competition: CompetitionSite
    version: int
    announced: int
    until: float
    reads_per_minute: int
    unlimited: tuple[str, ...]
    kind: str
    etag: bytes
    start: Message
    body: Message
    not_modified: Message


class SharedAnswers:
    """Keeps the answers of a site that are the same for everybody."""

    def __init__(self, site: Site, metrics: Metrics) -> None:
        self._site = site
        self._kept: dict[Key, _Kept] = {}
        self._requests = {
            (kind, status): metrics.requests.labels(kind, status)
            for kind in ("api", "page")
            for status in ("2xx", "3xx")
        }
        self._seconds = {kind: metrics.seconds.labels(kind) for kind in ("api", "page")}

    def key(self, scope: Scope) -> tuple[Key | None, bytes]:
        """Return what names the answer to a request, and the ETag that its sender has.

        No key: something in the request could make the answer another one.
        """
        if scope["method"] != "GET":
            return None, b""
        chosen, accepted, etags = None, b"", b""
        for name, value in scope["headers"]:
            if name in _NOT_PLAIN:
                return None, b""
            if name == b"cookie":
                chosen = value.removeprefix(_LANGUAGE_COOKIE).decode("latin-1")
                if not value.startswith(_LANGUAGE_COOKIE) or chosen not in LANGUAGES:
                    return None, b""
            elif name == b"accept-language":
                accepted = value
            elif name == b"if-none-match":
                etags = value
        language = choose(chosen, accepted.decode("latin-1")) if chosen or accepted else "en"
        return (scope["path"], scope["query_string"], language, scope["scheme"]), etags

    def answer(self, scope: Scope, key: Key, etags: bytes) -> tuple[Message, Message] | None:
        """Return the answer to a request, and count it; None if it must be made."""
        kept_answer = self._kept.get(key)
        if kept_answer is None:
            return None
        begun = time.perf_counter()
        if not self._is_current(kept_answer) or (etags and not kept_answer.etag):
            return None
        address = scope["client"][0] if scope["client"] else ""
        if address not in kept_answer.unlimited and self._site.buckets.take(
            ("read", network(address)), kept_answer.reads_per_minute
        ):
            return None
        same = bool(etags) and kept_answer.etag in etags
        self._requests[kept_answer.kind, "3xx" if same else "2xx"].inc()
        self._seconds[kept_answer.kind].observe(time.perf_counter() - begun)
        if same:
            return kept_answer.not_modified, {"type": "http.response.body", "body": b""}
        return kept_answer.start, kept_answer.body

    def _is_current(self, kept_answer: _Kept) -> bool:
        now = self._site.clock().timestamp()
        try:
            return (
                kept_answer.until - KEPT_SECONDS <= now < kept_answer.until
                and kept_answer.announced == self._site.announcements.changes
                and kept_answer.version == kept_answer.competition.published.version()
            )
        except (Problem, sqlite3.DatabaseError):
            return False

    def keep(self, scope: Scope, key: Key, start: Message, body: Message, *, kind: str) -> None:
        """Keep an answer if :func:`share` was called for it."""
        shared = scope.get(SHARED_KEY)
        if shared is None or start["status"] != 200 or body.get("more_body"):
            return
        competition, version = shared
        if len(self._kept) >= _MOST:
            self._kept.clear()
        headers: list[tuple[bytes, bytes]] = list(start["headers"])
        self._kept[key] = _Kept(
            competition=competition,
            version=version,
            announced=self._site.announcements.changes,
            until=self._site.clock().timestamp() + KEPT_SECONDS,
            reads_per_minute=self._site.limits().reads_per_minute,
            unlimited=self._site.trusted_proxies(),
            kind=kind,
            etag=dict(headers).get(b"etag", b""),
            start={**start, "headers": headers},
            body=body,
            not_modified={**start, "status": 304, "headers": _without_content(headers)},
        )


def _without_content(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [header for header in headers if header[0] not in {b"content-length", b"content-type"}]
