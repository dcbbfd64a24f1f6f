"""Plugin with arena's metrics; heavy packages are imported only when a metric is used."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from arena.hookspecs import hookimpl

if TYPE_CHECKING:
    from arena.interfaces import Deferred

__all__ = ["provide_metrics", "provide_modalities"]


@hookimpl
def provide_metrics() -> Iterable[Deferred]:
    """Return all metrics and metric families of this plugin, each imported when it is used."""
    from arena_metrics.catalogue import METRICS

    return METRICS


@hookimpl
def provide_modalities() -> Iterable[Deferred]:
    """Return the modalities other than plain tables."""
    from arena_metrics.catalogue import MODALITIES

    return MODALITIES
