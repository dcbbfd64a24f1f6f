"""The public function ``arena.bayes_error``."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.types import DEFAULT_LEVEL, DEFAULT_RESAMPLES
from arena.utils.arguments import several
from arena.utils.progress import stage
from arena_bayes_error.kinds import LabelAnswer, answer
from arena_bayes_error.label_file import label_table
from arena_bayes_error.request import FloorRequest


def bayes_error(
    labels: Any,
    kind: str = "soft",
    *,
    columns: str | Sequence[str] = (),
    sign: str | None = None,
    label: str | None = None,
    positive: str | None = None,
    prior: float | None = None,
    cluster: str | None = None,
    metrics: str | Sequence[str] = (),
    neighbours: int | None = None,
    delta: float = 0.05,
    level: float = DEFAULT_LEVEL,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = 0,
    manager: PluginManager | None = None,
) -> LabelAnswer:
    """Estimate the lowest error rate that any classifier can reach on rows like these.

    Parameters
    ----------
    labels
        The path of a CSV, Parquet or .npy file; an array ``(n,)`` or ``(n, k)``, whose columns are
        called ``"0"``, ``"1"`` and so on; or named columns: a data frame, or a mapping of names to
        ``(n,)``.
    kind
        The information on each row: ``soft``, ``uncertainty``, ``noisy``, ``hard``, ``counts``,
        ``positive-confidence``, ``scores`` or ``features``, as in ``arena bayes-error --help``, or
        a kind of another plugin.
    columns
        Columns of the labels or features; empty: those that no other argument names.
    sign, label, cluster
        The columns of the likelier class, of the observed label, and of groups of rows.
    positive
        The positive label of two, or the positive classes, such as ``"2,3,4"``.
    prior
        The share of positive rows, in (0, 1).
    metrics
        Metrics whose best possible score is also computed.
    neighbours
        Number of neighbours, for features; None: 1.
    delta
        Probability that the bound fails, in (0, 1).
    level, resamples, seed
        Of the intervals and their bootstrap.
    manager
        The plugins that provide the kinds; None: those installed.

    Returns
    -------
    Answer
        ``found`` is the estimate, or bounds for features; ``metric_floors`` has the best possible
        score in each of ``metrics``.

    Raises
    ------
    UsageError
        If the kind needs an argument that is missing, or does not use one that is given.
    InputError
        If the labels are not of that kind.

    Examples
    --------
    >>> round(bayes_error([0.9, 0.2, 1.0]).found.estimate, 3)
    0.1
    >>> columns = {"cat": [3, 1, 0, 5], "dog": [2, 4, 5, 0]}
    >>> round(bayes_error(columns, "counts", resamples=20).found.estimate, 3)
    0.15
    """
    if not isinstance(seed, Integral) or seed < 0:
        raise UsageError("The seed must be 0 or more, and whole.")
    table = label_table(labels)
    request = FloorRequest(
        file=table,
        columns=several(columns),
        sign=sign,
        label=label,
        positive=positive,
        prior=prior,
        cluster=cluster,
        metric=several(metrics),
        neighbours=neighbours,
        options={
            "level": level,
            "delta": delta,
            "resamples": resamples,
            "rng": np.random.default_rng(seed),
            "row_number": table.row_number,
        },
    )
    with stage("Estimating the Bayes error"):
        return answer(kind, request, PluginManager() if manager is None else manager)
