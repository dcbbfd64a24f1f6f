"""The function of a foreign metric, in the process that calls it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arena_metrics.foreign.kinds import Kind
from arena_metrics.foreign.source import Source, load


def function_of(kind: Kind, source: Source) -> Callable[..., Any]:
    """Import the code of a metric, once per process, and return its function.

    Raises
    ------
    MetricError
        If the code cannot be imported, or does not define the function.
    """
    if kind.load is not None:
        return kind.load(source)
    return load(source, kind.stand_ins, replaces=kind.replaces)
