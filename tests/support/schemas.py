"""The schemas of what arena prints, and documents that are held to them."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema

from checkout import ROOT


@functools.cache
def schema(name: str) -> Any:
    """Return the schema ``NAME-VERSION.json``, which is a valid one."""
    (file,) = (ROOT / "schemas").glob(f"{name}-[0-9]*.json")
    described = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(described)
    return described


def check_document(document: Any, name: str) -> None:
    """Hold a document to its schema."""
    jsonschema.Draft202012Validator(schema(name)).validate(document)
