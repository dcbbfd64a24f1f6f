"""What metrics and hooks are told of a competition."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.types import CompetitionInfo


def info_of(
    metric: Metric, columns: Sequence[str], ids: Sequence[str] | pa.Array | None = None
) -> CompetitionInfo:
    """Return the facts of a competition without a title by this metric."""
    return CompetitionInfo(
        title="",
        metric=metric.name,
        greater_is_better=metric.greater_is_better,
        kind=metric.prediction,
        id_column="id",
        columns=tuple(columns),
        ids=None if ids is None else pa.array(ids),
    )


def mae_info() -> CompetitionInfo:
    """Return the facts of a competition by the mean absolute error, without ids."""
    return info_of(PluginManager().metrics.resolve("mae"), ["target"])
