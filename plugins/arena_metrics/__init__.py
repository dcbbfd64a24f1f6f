"""The metrics of arena, as a plugin: nothing heavy is imported before a metric is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import Metric, MetricFamily

__all__ = ["provide_metrics"]


@hookimpl
def provide_metrics() -> Iterable[Metric | MetricFamily]:
    """Return every metric, and the family ``sklearn:``."""
    from arena_metrics.catalogue import all_metrics

    return all_metrics()
