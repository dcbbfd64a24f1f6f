"""Folders for metrics that read files; and values by name out of what they return."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from arena.errors import MetricError

__all__ = ["chosen", "scratch_folder"]


@cache
def _kept() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="arena-metric-", ignore_cleanup_errors=True)


def scratch_folder() -> Path:
    """Return a folder that only this user can read, and that goes when this process ends.

    It is asked for in the process that waits: a worker process may be killed in the middle of a
    call, and what it wrote holds labels.
    """
    return Path(_kept().name)


def chosen(metric: str, what: str, values: Any, name: str) -> Any:
    """Return the value of this name, or, without a name, the only one.

    Raises
    ------
    MetricError
        If it is not among them, or there are several to choose from.

    Examples
    --------
    >>> chosen("hf:metric.py", "value", {"f1": 0.5}, "")
    0.5
    >>> chosen("hf:metric.py", "value", {"f1": 0.5, "auc": 0.7}, "")
    Traceback (most recent call last):
    arena.errors.MetricError: hf:metric.py returns several: f1, auc. Choose one: \
hf:metric.py(value=f1).
    """
    if not isinstance(values, Mapping):
        return values
    if name in values:
        return values[name]
    if len(values) == 1 and not name:
        return next(iter(values.values()))
    names = ", ".join(map(str, values)) or "nothing"
    if name:
        raise MetricError(f"{metric} returns no {what} {name!r}; it returns: {names}.")
    example = f" Choose one: {metric}({what}={next(iter(values))})." if values else ""
    raise MetricError(f"{metric} returns several: {names}.{example}")
