"""HTTP connections that end when a client does not finish its headers, or does not read its answer.

uvicorn waits for both without a limit. This is the only use of its internals; a test that opens
slow connections fails if a new release changes them. The parser is httptools, which takes a third
of the processor time of h11; where it is not installed, h11 is used.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from arena.server.web.limits import network

MAX_HEAD = 64 * 1024
"""Bytes of a request's headers, or of the trailer of a body in chunks, as in h11."""


def parsers() -> tuple[type[Any], ...]:
    """Return the protocol classes of uvicorn that can be used here, the preferred one first."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return (H11Protocol,)

    class Bounded(HttpToolsProtocol):  # type: ignore[misc, unused-ignore]
        """httptools without h11's limit would keep headers of any length in memory."""

        _unparsed = 0
        """Bytes since headers were complete or a part of a body was given on."""

        def data_received(self, data: bytes) -> None:
            self._unparsed += len(data)
            super().data_received(data)
            if self._unparsed > MAX_HEAD and not self.transport.is_closing():
                self.send_400_response("The headers of the request are too long.")

        def on_headers_complete(self) -> None:
            self._unparsed = 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._unparsed = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._unparsed = 0
            super().on_message_complete()

    return Bounded, H11Protocol


def limited_protocol(
    header_seconds: float,
    read_seconds: float,
    per_address: int,
    unlimited: Collection[str],
    base: type[Any] | None = None,
) -> type[Any]:
    """Return the protocol class of a server.

    Parameters
    ----------
    header_seconds
        Time from the connection, or from the first byte of a further request, to complete headers.
    read_seconds
        Time for which a client may read nothing of an answer that waits in full buffers.
    per_address
        Open connections of one address; more are closed at once.
    unlimited
        Addresses without that limit: those of proxies.
    base
        One of :func:`parsers`; by default the first.
    """
    connections: Counter[str] = Counter()
    chosen: Any = base or parsers()[0]

    class LimitedProtocol(chosen):  # type: ignore[misc, unused-ignore]
        _timer: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None
        _address = ""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            host = self.client[0] if self.client else ""
            self._address = network(host)
            connections[self._address] += 1
            if host not in unlimited and connections[self._address] > per_address:
                self.transport.abort()
                return
            self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            connections[self._address] -= 1
            if not connections[self._address]:
                del connections[self._address]
            self._stop_timer()
            self._is_read()
            super().connection_lost(exc)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._wait_for_reader()

        def _wait_for_reader(self) -> None:
            self._is_read()
            size = self.transport.get_write_buffer_size()
            self._unread = self.loop.call_later(read_seconds, self._end_if_unread, size)

        def _end_if_unread(self, before: int) -> None:
            if self.transport.get_write_buffer_size() < before:
                self._wait_for_reader()  # a large answer on a slow line
            else:
                self.transport.abort()

        def resume_writing(self) -> None:
            self._is_read()
            super().resume_writing()

        def _is_read(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._busy():
                self._stop_timer()
            elif self._timer is None:
                self._start_timer()

        def send_400_response(self, msg: str) -> None:
            if self.cycle is not None:  # what began to answer it must not answer a second time
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            super().send_400_response(msg)

        def on_response_complete(self) -> None:
            self._stop_timer()
            super().on_response_complete()

        def _busy(self) -> bool:
            return self.cycle is not None and not self.cycle.response_complete

        def _start_timer(self) -> None:
            self._timer = self.loop.call_later(header_seconds, self._end_if_unfinished)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _end_if_unfinished(self) -> None:
            self._timer = None
            if not self._busy():
                self.transport.abort()

    return LimitedProtocol
