"""Endpoints of the API whose answers must be of the declared type, and nothing else."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.responses import Response

from arena import responses
from arena.server.web import app
from arena.server.web.api import ENDPOINTS
from arena.server.web.documents import json_bytes
from arena.server.web.endpoint import Endpoint

WITH_MORE_COLUMNS = (responses.BoardPage, responses.Result, responses.NextResult)
"""Types whose rows have further columns, such as secondary metrics."""

adapter = cache(TypeAdapter)


def checked(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint that fails where a type checker would believe a wrong key or value."""
    if isinstance(endpoint.answer, str):
        return endpoint

    async def handler(*arguments: Any) -> Any:
        answer = await endpoint.handler(*arguments)
        if not isinstance(answer, Response):
            check(endpoint.answer, json_bytes(answer))
        elif answer.status_code == 200:
            check(endpoint.answer, answer.body)
        return answer

    return replace(endpoint, handler=handler)


def check(expected: Any, content: bytes) -> None:
    """Raise ValidationError unless JSON has the keys and values of a type, and no others.

    Other keys are found from pydantic 2.12 on.
    """
    further_keys: dict[str, Any] = {}
    if "extra" in inspect.signature(TypeAdapter.validate_json).parameters:
        further_keys = {"extra": "ignore" if expected in WITH_MORE_COLUMNS else "forbid"}
    adapter(expected).validate_json(content, strict=True, **further_keys)


_CHECKED = tuple(map(checked, ENDPOINTS))


@contextlib.contextmanager
def checked_responses() -> Iterator[None]:
    """Check that each answer of the applications created meanwhile has its declared type."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "ENDPOINTS", _CHECKED)
        yield
