"""Tests of which the default run takes a part, the slow run more, and a campaign all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

full = False
"""Whether this is a campaign; set by ``tests/conftest.py``."""


def thinned(values: Iterable[Any], *, every: int) -> list[Any]:
    """Return all values for ``parametrize``; all but every nth are marked slow."""
    return [
        pytest.param(value, marks=pytest.mark.slow if position % every else ())
        for position, value in enumerate(values)
    ]


def examples(count: int) -> int:
    """Return how many examples hypothesis tries: all in a campaign, else a quarter, 4 at least."""
    return count if full else min(count, max(4, count // 4))
