"""Refusals: a status and a sentence with the remedy.

Programs get them as ``application/problem+json`` (RFC 9457), people as a page.
"""

from __future__ import annotations

import errno
import logging
import sqlite3
from collections.abc import Mapping
from typing import Any

from arena.errors import StoreError
from arena.server.records.intake import QueueFullError, RequestKeyError, TeamMergingError
from arena.server.records.names import NameTakenError, RefusedError
from arena.server.records.runs import LeaseLostError, TrialLimitError
from arena.server.records.uploads import UploadTooLargeError
from arena.server.web.language import _, ngettext

TITLES = {
    400: "The request is malformed",
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "The upload took too long",
    409: "Not possible now",
    411: "Length required",
    413: "The file is too large",
    415: "Unsupported kind of content",
    422: "The request cannot be processed",
    429: "Too many requests",
    500: "The server failed",
    503: "Busy at the moment",
    507: "The disk of the server is full",
}


class Problem(Exception):  # noqa: N818 - it is what RFC 9457 calls it
    """A request is refused.

    Parameters
    ----------
    status
        The status of the response: a key of :data:`TITLES`.
    detail
        A sentence for the person who must act.
    headers
        Further headers of the response.
    members
        Further members of the JSON document.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = members

    def document(self) -> dict[str, Any]:
        """Return the problem as JSON."""
        return {
            "type": "about:blank",
            "title": TITLES.get(self.status, "Refused"),
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }


def too_many_requests(seconds: int) -> Problem:
    """Return the problem of a sender who can send the next request after some seconds."""
    return Problem(
        429,
        ngettext(
            "Too many requests in this minute. Try again in {seconds} second.",
            "Too many requests in this minute. Try again in {seconds} seconds.",
            seconds,
        ).format(seconds=seconds),
        {"Retry-After": str(seconds)},
    )


_LOGGER = logging.getLogger("arena.server.web")
_STATUSES: Mapping[type[RefusedError], int] = {NameTakenError: 409, TrialLimitError: 429}
"""Of refusals that are no 422."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def problem_of(error: Exception) -> Problem | None:  # noqa: PLR0911, PLR0912 - one for each exception
    """Return the problem that an exception of the records means, if it is one of those expected."""
    match error:
        case Problem():
            return error
        case RefusedError():
            values = {
                key: _refusal(value) if isinstance(value, RefusedError) else value
                for key, value in error.values.items()
            }
            return Problem(_STATUSES.get(type(error), 422), _(error.template).format(**values))
        case RequestKeyError():
            return Problem(
                422,
                _(
                    "This idempotency key was used for another request of your team. "
                    "Use a new key for each new request."
                ),
            )
        case TeamMergingError():
            return Problem(
                409,
                _("Your team is being merged with another one. Try again in a minute."),
                {"Retry-After": "10"},
            )
        case QueueFullError() if error.team:
            return Problem(
                429,
                _(
                    "Your team has the highest allowed number of waiting requests. "
                    "Send the next one after one of them is answered."
                ),
                {"Retry-After": "10"},
            )
        case QueueFullError():
            return Problem(
                503,
                _(
                    "Too many submissions wait at the moment. Try again in a minute with the same "
                    "file: nothing was counted."
                ),
                {"Retry-After": "60"},
            )
        case UploadTooLargeError():
            return Problem(413, str(error))
        case LeaseLostError():
            return Problem(409, str(error))
        case OSError() if error.errno in _FULL:
            return _disk_full()
        case OSError():  # an entry that cannot be written, renamed or synced, as on a lost share
            _LOGGER.error("A file of the server cannot be written or read: %s.", error)
            return Problem(
                503,
                _("The server cannot write its files. Tell the organiser: nothing was counted."),
                {"Retry-After": "60"},
            )
        case sqlite3.OperationalError() if "full" in str(error):
            return _disk_full()
        case sqlite3.OperationalError():
            return Problem(
                503,
                _("The server is busy. Try again in a few seconds: nothing was counted."),
                {"Retry-After": "5"},
            )
        case sqlite3.DatabaseError() if type(error) is sqlite3.DatabaseError:  # no subclass
            _LOGGER.error("The file of the queue and the accounts cannot be used: %s.", error)
            return _damaged()
        case StoreError():
            _LOGGER.error("%s", error)
            return _damaged()
    return None


def _damaged() -> Problem:
    return Problem(
        503,
        _("The records of the server are damaged. Tell the organiser: nothing was counted."),
        {"Retry-After": "60"},
    )


def _disk_full() -> Problem:
    return Problem(
        507,
        _(
            "The disk of the server is full, so the file was not received and nothing was "
            "counted. Tell the organiser, and try again later."
        ),
    )


EXPECTED = (
    Problem, RefusedError, RequestKeyError, TeamMergingError, QueueFullError,
    UploadTooLargeError, LeaseLostError, OSError, sqlite3.DatabaseError,
    StoreError,
)  # fmt: skip
"""The exceptions that may mean a problem."""


def _refusal(error: RefusedError) -> str:
    return _(error.template).format(**error.values)
