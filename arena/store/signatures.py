"""Signatures of the results that runners report."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from arena.store.events import canonical_json


def signature_of(document: Mapping[str, Any], key: bytes) -> str:
    """Return the signature of a document in hexadecimal: HMAC-SHA256 of its canonical JSON.

    >>> signature_of({"end": "ok"}, bytes(32))[:8]
    '43b9ff9f'
    """
    return hmac.new(key, canonical_json(document).encode(), hashlib.sha256).hexdigest()
