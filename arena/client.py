"""A participant's programs: submit to a served competition and read its answers.

Only the standard library is needed, so that any installation of arena can submit.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from arena.errors import ArenaError, UsageError

_LOCAL = {"localhost", "127.0.0.1", "::1"}
_REPEAT = {408, 429, 502, 503, 504}
_PROBLEM = "application/problem+json"


class ServerError(ArenaError):
    """A server refused a request or cannot be reached; the message says what to do.

    Attributes
    ----------
    status
        The HTTP status, or 0 if there was no answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """A served competition, as a member of a team.

    Parameters
    ----------
    url
        The address of the competition's page, such as ``https://arena.example.org/churn``.
    token
        A token from the page *Team and tokens*.
    timeout
        Seconds without an answer after which a request is repeated.
    attempts
        How often a request is sent before it fails. Repeating is safe: a submission has a key, by
        which the server counts it once.

    Raises
    ------
    UsageError
        If the address is not one of a competition, or would send the token without encryption.

    Examples
    --------
    >>> client = Client("https://arena.example.org/churn", "arena_...")
    >>> client.submit("submission.csv")  # doctest: +SKIP
    {'request': '5f0c...', 'status': 'waiting', 'place': 1, ...}
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, attempts: int = 6) -> None:
        parts = urlsplit(url.strip())
        path = parts.path.strip("/").split("/")
        if parts.scheme not in {"http", "https"} or not parts.hostname or not path[-1]:
            raise UsageError(
                f"{url} is not the address of a competition. It looks like "
                f"https://arena.example.org/NAME."
            )
        if parts.scheme == "http" and parts.hostname not in _LOCAL:
            raise UsageError(
                f"{url} is not encrypted, so anyone on the way could read the token. Use https."
            )
        if not token.strip() or not token.strip().isprintable() or not token.isascii():
            raise UsageError("The token is empty or contains characters that no token has.")
        self._parts = parts
        prefix = "".join(f"/{one}" for one in path[:-1])
        self._base = f"{prefix}/api/v1/{quote(path[-1])}"
        self._token = token.strip()
        self._timeout, self._attempts = timeout, attempts

    def info(self) -> dict[str, Any]:
        """Return the competition: title, metric, deadline, limits, columns, phase."""
        return self._json("GET", "")

    def board(self) -> list[dict[str, Any]]:
        """Return all rows of the public board, best first."""
        rows: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self._json("GET", f"/board?{urlencode({'after': after, 'limit': 500})}")
            rows += page["rows"]
            after = page["next"]
        return rows

    def submit(
        self, file: str | Path, *, description: str = "", key: str | None = None
    ) -> dict[str, Any]:
        """Submit a file and return the request, which may still wait: see :meth:`wait`.

        ``key`` is the idempotency key; by default it is the file's digest, so that the same file
        is counted once however often it is sent.

        Raises
        ------
        ServerError
            If the server refuses it or cannot be reached.
        UsageError
            If the file cannot be read.
        """
        path = Path(file)
        try:
            with path.open("rb") as opened:
                digest = hashlib.file_digest(opened, "sha256").hexdigest()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
        query = {"file": path.name} | ({"description": description} if description else {})
        return self._json(
            "POST",
            f"/submissions?{urlencode(query)}",
            file=path,
            headers={"Idempotency-Key": key or f"file-{digest}"},
        )

    def validate(self, file: str | Path) -> dict[str, Any]:
        """Check a file on the server without counting it; return ``status`` and ``faults``."""
        return self._json("POST", "/validate", file=Path(file))

    def request(self, request: str) -> dict[str, Any]:
        """Return a request: its answer, or its place in the queue."""
        return self._json("GET", f"/requests/{quote(request)}")

    def wait(self, request: str, seconds: float = 600.0) -> dict[str, Any]:
        """Return a request as soon as it is judged, or as it is after ``seconds``."""
        end, pause = time.monotonic() + seconds, 0.2
        while True:
            state = self.request(request)
            if state["status"] != "waiting" or time.monotonic() >= end:
                return state
            time.sleep(min(pause, max(end - time.monotonic(), 0.0)))
            pause = min(pause * 1.5, 10.0)

    def submissions(self) -> dict[str, Any]:
        """Return the team's requests, newest first, and how many submissions are left."""
        return self._json("GET", "/submissions")

    def select(self, submissions: Sequence[int]) -> dict[str, Any]:
        """Choose the team's final submissions by their numbers."""
        return self._json("PUT", "/selection", body={"submissions": list(submissions)})

    def _json(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        file: Path | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        sent = {"Authorization": f"Bearer {self._token}", **(headers or {})}
        sent["Content-Type"] = "application/octet-stream" if file else "application/json"
        failure = ServerError("")
        for attempt in range(self._attempts):
            if attempt:
                time.sleep(failure.wait if isinstance(failure, _Busy) else min(2**attempt, 30))
            try:
                return self._send(method, path, body, file, sent)
            except _Busy as busy:
                failure = busy
            except (OSError, http.client.HTTPException) as error:
                said = str(error) or type(error).__name__
                failure = ServerError(
                    f"{self._parts.netloc} cannot be reached: {said}. Check the address and the "
                    f"connection, and repeat the command: nothing is counted twice."
                )
                if isinstance(error, ssl.SSLCertVerificationError):
                    break
        raise ServerError(str(failure), failure.status)

    def _send(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        file: Path | None,
        headers: dict[str, str],
    ) -> dict[str, Any]:
        kind = (
            http.client.HTTPSConnection
            if self._parts.scheme == "https"
            else http.client.HTTPConnection
        )
        connection = kind(str(self._parts.hostname), self._parts.port, timeout=self._timeout)
        try:
            if file is not None:
                with file.open("rb") as opened:
                    size = {"Content-Length": str(file.stat().st_size)}
                    connection.request(method, self._base + path, opened, headers | size)
            else:
                content = None if body is None else json.dumps(body)
                connection.request(method, self._base + path, content, headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        if response.status in {200, 201, 202}:
            found: dict[str, Any] = json.loads(text)
            return found
        # A redirection is not followed: it could send the token to another machine.
        message = _message(response.getheader("Content-Type") or "", text, response.status)
        if response.status in _REPEAT:
            raise _Busy(message, response.status, response.getheader("Retry-After"))
        raise ServerError(message, response.status)


class _Busy(ServerError):  # noqa: N818 - it asks to wait
    """The server asks to repeat the request later."""

    def __init__(self, message: str, status: int, after: str | None) -> None:
        super().__init__(message, status)
        self.wait = min(int(after), 60) if after is not None and after.isdigit() else 2


def _message(kind: str, text: bytes, status: int) -> str:
    if kind.startswith(_PROBLEM):
        try:
            return str(json.loads(text)["detail"])
        except (ValueError, KeyError, TypeError):
            pass
    return f"The server answered with status {status}: is this the address of a competition?"
