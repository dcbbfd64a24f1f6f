"""A mail server on this machine that keeps what it receives, and refuses what the test says."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Received", "certificate_for", "mail_server"]


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


def certificate_for(host: str, folder: Path) -> tuple[Path, ssl.SSLContext]:
    """Write a certificate for a host, signed by itself; return it and the context of a server."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, secret)
    return certificate, context


@contextmanager
def mail_server(tls: ssl.SSLContext | None = None, **options: Any) -> Iterator[Received]:
    """Run a mail server in a thread, on a free port of ``localhost``.

    With ``tls`` every connection is encrypted from its beginning; ``options`` are those of
    aiosmtpd's SMTP, such as ``tls_context`` for STARTTLS.
    """
    received, listening, stop = Received(), threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: SMTP(received, hostname="localhost", loop=loop, **options),
            "127.0.0.1",
            0,
            ssl=tls,
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
