"""Stores the files of a finished competition in order, as they are read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from arena.evaluation.predictions import cell_bytes
from arena.intake import ReadSubmission, SubmissionFile
from arena.interfaces import Metric, traits_of
from arena.plugin.manager import PluginManager
from arena.scoring.memory_store import MemoryStore
from arena.scoring.submissions import competition_info, examine
from arena.store import Incoming
from arena.types import MetricTraits, PredictionKind, Solution, SubmissionRecord
from arena.utils.parallel import Progress

if TYPE_CHECKING:
    from arena.store import Store

_BATCH_FILES = 16
_BATCH_BYTES = 64 * 2**20


def admit(
    store: Store | MemoryStore,
    files: Sequence[SubmissionFile],
    solution: Solution,
    metric: Metric,
    manager: PluginManager,
    *,
    workers: int = 1,
    progress: Progress,
    no_header: Sequence[str] = (),
) -> list[SubmissionRecord]:
    """Read, check and store files, accepted or rejected; return their records in order.

    Files are stored in batches of at most 16 files or 64 MB of predictions, one transaction each.
    """
    info = competition_info(metric, solution)
    records: list[SubmissionRecord] = []
    batch: list[Incoming] = []
    progress.start("Reading submissions", len(files))
    for file, read in examine(
        files, solution, metric, manager, workers=workers, no_header=no_header, gaps=True
    ):
        key = idempotency_key(read, metric)
        incoming = Incoming(
            file.team,
            file.name,
            sha256=read.sha256,
            values=read.values,
            faults=read.faults,
            key=key,
        )
        batch.append(incoming)
        progress.advance()
        values = [entry.values for entry in batch if entry.values is not None]
        n_bytes = sum(array.size * cell_bytes(array) for array in values)
        if len(batch) >= _BATCH_FILES or n_bytes >= _BATCH_BYTES:
            records += store.add_submissions(batch)
            batch = []
    records += store.add_submissions(batch)
    for record in records:
        manager.submission_scored(record, None, info)
    return records


def idempotency_key(read: ReadSubmission, metric: Metric) -> str | None:
    """Return the idempotency key: the file, and the rules if they are not the default ones."""
    low, high = traits_of(metric).prediction_range
    if not read.sha256:
        return None
    if metric.prediction is PredictionKind.TEXT:
        return f"{read.sha256} for {metric.name}"
    if (low, high) == MetricTraits().prediction_range:
        return None
    return f"{read.sha256} in [{low}, {high}]"
