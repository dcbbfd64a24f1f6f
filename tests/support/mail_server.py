"""A mail server on this machine that keeps what it receives, and refuses what the test says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.smtp import SMTP

__all__ = ["Received", "mail_server"]


class Received:
    """What a mail server received."""

    def __init__(self) -> None:
        self.port = 0
        self.messages: list[EmailMessage] = []
        self.answers: list[str] = []
        """What it answers to the next mails instead of accepting them."""

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802
        if self.answers:
            return self.answers.pop(0)
        message = message_from_bytes(envelope.content, policy=default)
        assert message["To"] == ", ".join(envelope.rcpt_tos)
        self.messages.append(message)
        return "250 OK"


@contextmanager
def mail_server(**options: Any) -> Iterator[Received]:
    """Run a mail server in a thread, on a free port; ``options`` are those of aiosmtpd's SMTP."""
    received, listening, stop = Received(), threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: SMTP(received, hostname="localhost", loop=loop, **options), "127.0.0.1", 0
        )
        received.port = server.sockets[0].getsockname()[1]
        loops.append(loop)
        listening.set()
        await stop.wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert listening.wait(60)
    try:
        yield received
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(60)
