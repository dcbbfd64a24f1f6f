"""The provider of OpenID Connect that people can sign in with: its settings, and who a person is.

The protocol itself is in :mod:`arena.server.web.openid`, which is imported at the first sign-in,
because its libraries take a while to load.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from arena.utils.strict_json import parse_json

FLOW_SECONDS = 600.0
"""How long a sign-in at the provider may take."""
NEWCOMER_SECONDS = 1_800.0
"""How long a person without an account may take to register after signing in there."""
_MAX_SUBJECT, _MAX_NAME = 255, 80


class ProviderError(Exception):
    """A sign-in failed.

    Parameters
    ----------
    kind
        ``unreachable``: the provider did not answer, or not as a provider does. ``untrusted``: it
        answered, but the answer does not prove who signs in. ``setup``: it does not know this
        server.
    reason
        For the log: without secrets, and without text from a person or the provider.
    """

    def __init__(self, kind: Literal["unreachable", "untrusted", "setup"], reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a person is, as the provider says."""

    subject: str
    """The issuer and its name for the person: the only thing by which an account is found."""
    name: str
    """As suggested; empty if unknown."""
    email: str
    """Empty if unknown."""
    verified: bool
    """Whether the provider says that the e-mail address is the person's."""

    @property
    def digest(self) -> str:
        """Identifies the identity in a form."""
        return hashlib.sha256(self.subject.encode()).hexdigest()[:16]

    @classmethod
    def of(cls, issuer: str, claims: Mapping[str, Any]) -> Self:
        r"""Return the identity in checked claims.

        The name is cut, and loses the characters that no name can have.

        Raises
        ------
        ValueError
            If the subject is missing, empty, too long or not printable.

        Examples
        --------
        >>> Identity.of("https://id", {"sub": "7", "name": "A\u0000da\n", "email": 3})
        Identity(subject='https://id 7', name='Ada', email='', verified=False)
        """
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT:
            raise ValueError("sub")
        if not subject.isprintable():  # half a character cannot be stored
            raise ValueError("sub")
        named = next(
            (text for key in ("name", "preferred_username", "nickname")
             if isinstance(text := claims.get(key), str) and text.strip()), ""
        )  # fmt: skip
        name = " ".join("".join(group for group in named[:1_000] if group.isprintable()).split())
        email = claims.get("email")
        known_email = (
            email if isinstance(email, str) and len(email) < 255 and email.isprintable() else ""
        )
        verified = claims.get("email_verified")  # some providers write the boolean as a text
        return cls(
            f"{issuer} {subject}",
            name[:_MAX_NAME].strip(),
            known_email,
            bool(known_email) and (verified is True or verified == "true"),
        )


@dataclass(frozen=True, slots=True)
class Flow:
    """A sign-in under way, kept in a cookie of the browser that began it."""

    state: str
    nonce: str
    verifier: str
    """The secret of PKCE, whose digest the provider gets."""
    then: str
    """The page to show afterwards."""
    link: bool = False
    """Whether a person who is signed in wants to link the identity to the account."""

    @classmethod
    def begin(cls, then: str, *, link: bool = False) -> Self:
        """Return a new one, with new secrets."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, then, link)


class Seals:
    """Texts for cookies that only this process can have written, and that end.

    The key is random and ends with the process: sign-ins under way are begun again.

    Parameters
    ----------
    clock
        Returns the current time.

    Examples
    --------
    >>> from datetime import UTC
    >>> seals = Seals(lambda: datetime.now(UTC))
    >>> text = seals.seal("flow", {"state": "s"}, 60.0)
    >>> seals.open("flow", text), seals.open("newcomer", text), seals.open("flow", text + "x")
    ({'state': 's'}, None, None)
    >>> seals.spend("s"), seals.spend("s")
    (True, False)
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._spent: dict[str, float] = {}

    def seal(self, kind: str, values: Mapping[str, Any], seconds: float) -> str:
        """Return a text that :meth:`open` takes for this long. It can be read by its holder."""
        until = self._clock().timestamp() + seconds
        payload = _encode(json.dumps([until, values], ensure_ascii=False).encode())
        return f"{payload}.{self._tag(kind, payload)}"

    def open(self, kind: str, text: str) -> dict[str, Any] | None:
        """Return the sealed value; None if this process did not seal it, or it has ended."""
        payload, _dot, tag = text.partition(".")
        if not hmac.compare_digest(tag.encode(), self._tag(kind, payload).encode()):
            return None
        try:
            until, values = parse_json(base64.urlsafe_b64decode(payload))
        except (binascii.Error, ValueError):  # pragma: no cover - a sealed value can be read
            return None
        return values if self._clock().timestamp() < until else None

    def spend(self, state: str) -> bool:
        """Return whether a sign-in is finished for the first time."""
        now = self._clock().timestamp()
        self._spent = {seal: until for seal, until in self._spent.items() if until > now}
        if state in self._spent:
            return False
        self._spent[state] = now + FLOW_SECONDS
        return True

    def _tag(self, kind: str, payload: str) -> str:
        return _encode(hmac.digest(self._key, f"{kind}.{payload}".encode(), hashlib.sha256))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()
