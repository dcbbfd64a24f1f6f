"""The documents that the HTTP API takes: their keys, bounds and defaults."""

from __future__ import annotations

from pydantic import BaseModel

from arena.server.web.api import ENDPOINTS
from arena.server.web.models import Join
from kept import check_kept_document


def test_the_bodies_that_the_api_takes_are_kept() -> None:
    bodies = {
        endpoint.body.__name__: endpoint.body.model_json_schema()
        for endpoint in ENDPOINTS
        if endpoint.body is not None and issubclass(endpoint.body, BaseModel)
    }
    check_kept_document("api-bodies", bodies)
    assert Join(team=" Ants\n").team == "Ants"
