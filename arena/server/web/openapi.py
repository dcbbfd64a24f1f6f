"""The OpenAPI document, made from the table of endpoints."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import is_typeddict

from arena import responses
from arena.server.web.api import ENDPOINTS
from arena.server.web.endpoint import Endpoint
from arena.server.web.organiser_api import EXPORTS
from arena.server.web.problems import TITLES

_PARAMETERS = {
    "competition": "The name of the competition.",
    "request": "The identifier that POST /submissions returned.",
    "run": "The identifier that POST /runs/lease returned.",
    "file": "The name of a file that GET /files lists.",
    "version": "The number of a version that GET /results lists.",
    "team": "The id of a team that GET /admin/teams lists.",
    "what": f"One of {', '.join(EXPORTS)}.",
}


@functools.cache
def document(version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the API, made once; not to be changed."""
    # Here, so that arena.responses needs no pydantic.
    meanings = _meanings()
    for response in filter(is_typeddict, vars(responses).values()):
        describe = functools.partial(_describe, meanings[response.__name__])
        with_config(ConfigDict(json_schema_extra=describe))(response)
    json_types = {
        content
        for endpoint in ENDPOINTS
        for content in (endpoint.body, endpoint.answer)
        if content not in {None, bytes} and not isinstance(content, str)
    }
    references, schemas = TypeAdapter.json_schemas(
        [
            (json_type, "serialization", TypeAdapter(json_type))
            for json_type in sorted(json_types, key=repr)
        ],
        ref_template="#/components/schemas/{model}",
    )
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        path = paths.setdefault(f"/api/v1/{{competition}}{endpoint.path}", {})
        path[endpoint.method.lower()] = _operation(endpoint, references)
    problem = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "The fault and the remedy."},
        },
        "required": ["type", "title", "status", "detail"],
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "arena", "version": version},
        "paths": paths,
        "components": {
            "schemas": {**schemas.get("$defs", {}), "Problem": problem},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "__Host-arena"},
            },
        },
    }


def _meanings() -> dict[str, dict[str, str]]:
    """Return the docstrings of the fields of each class of :mod:`arena.responses`.

    pydantic can read them (``use_attribute_docstrings``), but parses the module for each class.
    """
    classes = ast.parse(inspect.getsource(responses)).body
    return {
        definition.name: {
            field.target.id: inspect.cleandoc(below.value.value)
            for field, below in itertools.pairwise(definition.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        }
        for definition in classes
        if isinstance(definition, ast.ClassDef)
    }


def _describe(meanings: Mapping[str, str], schema: dict[str, Any]) -> None:
    for name, meaning in meanings.items():
        schema["properties"][name]["description"] = meaning


def _content(content: Any, references: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the content of a body or an answer, given as its type or its media type."""
    if isinstance(content, str):
        return {content: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": references[content, "serialization"]}}


_OTHER_ANSWERS: Mapping[str, Mapping[str, str]] = {
    "/board": {"304": "Not modified."},
    "/files/{file}": {
        "206": "The part that Range names.",
        "304": "Not modified.",
        "400": "Range cannot be read.",
        "416": "The file has no such part.",
    },
}
"""Path -> further statuses of its answers, which are no problem documents."""


def errors_of(endpoint: Endpoint) -> list[int]:
    """Return the statuses of refusals; 401 for any endpoint, if the token is not valid."""
    statuses = {*endpoint.errors, 401, 404, 429, 503}
    if endpoint.who != "anyone":
        statuses.add(403)
    if endpoint.body is not None:
        statuses |= {400, 408, 413, 415, 422}
    if endpoint.query:
        statuses.add(422)
    return sorted(statuses)


def _operation(endpoint: Endpoint, references: Mapping[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": f"Who: {endpoint.who}. Scope of a token: {endpoint.scope}.",
        "operationId": f"{endpoint.method.lower()}{endpoint.path.replace('/', '_') or '_info'}",
        "parameters": [
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": _PARAMETERS[name],
                "schema": {"type": "string"},
            }
            for name in ("competition", *re.findall(r"\{(\w+)\}", endpoint.path))
        ]
        + [
            {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
            for name, text in endpoint.query.items()
        ],
        "responses": {
            str(endpoint.status): {
                "description": "Done.",
                "content": _content(endpoint.answer, references),
            },
            **{
                status: {"description": description}
                for status, description in _OTHER_ANSWERS.get(endpoint.path, {}).items()
            },
            **{
                str(status): {
                    "description": TITLES[status],
                    "content": {
                        "application/problem+json": {
                            "schema": {"$ref": "#/components/schemas/Problem"}
                        }
                    },
                }
                for status in errors_of(endpoint)
            },
        },
    }
    if endpoint.who != "anyone":
        operation["security"] = [{"token": []}, {"session": []}]
        if endpoint.who == "reader":
            operation["security"].append({})
    if endpoint.path == "/submissions" and endpoint.method == "POST":
        operation["parameters"].append(
            {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
        )
    if endpoint.body is bytes:
        operation["requestBody"] = {
            "content": {
                "application/octet-stream": {"schema": {}},
                "multipart/form-data": {
                    "schema": {"type": "object", "properties": {"file": {"type": "string"}}}
                },
            }
        }
    elif endpoint.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": _content(endpoint.body, references),
        }
    return operation
