"""One operation of the HTTP API of a competition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel

from arena import responses

Handler: TypeAlias = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One operation of the API.

    Attributes
    ----------
    method, path
        The path is below ``/api/v1/{competition}``.
    who, scope
        As for :func:`~arena.server.web.call.check_who`.
    handler
        Called with the call and, if the body is a model, with the body; returns a document, or a
        response.
    summary
        One sentence for the documentation.
    status
        Of the answer, if all goes well.
    body
        The model of the request's body; ``bytes`` for a file.
    answer
        The type of the answer of :mod:`arena.responses`, or its media type.
    errors
        Further statuses of refusals: not those that follow from ``who``, the body or the query.
    query
        Parameters of the query, and their meanings.
    """

    method: str
    path: str
    who: str
    scope: str
    handler: Handler
    summary: str
    status: int = 200
    body: type[BaseModel] | type[bytes] | None = None
    answer: Any = responses.Message
    errors: tuple[int, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


def route_path(path: str) -> str:
    """Return a path as a route: the name of a file may have slashes."""
    return path.replace("{file}", "{file:path}")
