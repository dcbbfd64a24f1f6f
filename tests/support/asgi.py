"""One request to an application, without a client: its bytes, and when they arrive, are given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def respond(
    app: Any,
    method: str,
    path: str,
    *,
    headers: Sequence[tuple[bytes, bytes]] = (),
    query: bytes = b"",
    body: Iterable[bytes | Callable[[], None]] = (),
) -> tuple[int, bytes]:
    """Return the status and the body of an answer.

    A function in the body of the request is called when it is its turn: between two parts.
    """

    async def run() -> tuple[int, bytes]:
        parts = iter(body)
        messages: list[Any] = []

        async def receive() -> dict[str, Any]:
            for part in parts:
                if callable(part):
                    part()
                else:
                    return {"type": "http.request", "body": part, "more_body": True}
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": method,
            "scheme": "https",
            "path": path,
            "raw_path": path.encode("utf-8", "replace"),
            "query_string": query,
            "root_path": "",
            "headers": [(b"host", b"arena.example.org"), *headers],
            "client": ("192.0.2.1", 1),
            "server": ("arena.example.org", 443),
            "state": {},
        }
        await app(scope, receive, send)
        status = next(
            message["status"] for message in messages if message["type"] == "http.response.start"
        )
        text = b"".join(
            message["body"] for message in messages if message["type"] == "http.response.body"
        )
        return int(status), text

    return asyncio.run(run())
