"""The mechanism of a planned public board: what one team may gain from it, and what to choose."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from arena.errors import InputError, UsageError
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.public_board.advice import default_mechanism
from arena.public_board.mechanism import public_rows
from arena.scoring.splits import rows_of
from arena.types import Solution, Usage
from arena.utils.text import printable


@dataclass(frozen=True, slots=True)
class Attacked:
    """What ``arena attack`` measured of a mechanism."""

    mechanism: str
    """Its specification."""
    bias: float
    """The largest bias that any attack reached."""
    bias_high: float | None
    """A one-sided 95% upper bound of it; None: there was one repetition."""
    worst_attack: str
    """The attack that reached it."""
    smallest_gain: float | None
    """The smallest honest gain that is shown in nine of ten trials; None: none that was tried."""
    submissions: int
    """Before the attacker's last one."""
    public_rows: int
    """The attacked rows."""


def read_attacks(path: Path, metric: str) -> tuple[Attacked, ...]:
    """Return the verdicts of ``arena attack --json``, for a plan with a metric.

    Raises
    ------
    InputError
        If the file is not such a document.
    UsageError
        If another metric was attacked.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema"] != "arena/attack/1":
            raise ValueError
        attacked = tuple(
            Attacked(
                mechanism=verdict["mechanism"],
                bias=float(verdict["bias"]),
                bias_high=verdict["bias_high"],
                worst_attack=verdict["worst_attack"],
                smallest_gain=verdict["smallest_gain"],
                submissions=int(document["submissions"]),
                public_rows=int(document["rows"]),
            )
            for verdict in document["verdicts"]
        )
        of_metric = str(document["metric"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{printable(str(path))} is not what arena attack --json prints."
        ) from error
    if of_metric != metric:
        raise UsageError(
            f"{printable(str(path))} has attacks on {printable(of_metric)}, and the plan is for "
            f"{metric}: attack that metric."
        )
    return attacked


def recommended_mechanism(
    metric: Metric, solution: Solution, split: str, manager: PluginManager
) -> str:
    """Return the mechanism that ``arena init`` would choose for a competition of such rows.

    A pilot without public rows is taken as if its ranked rows, those of the split, were public.
    """
    if not public_rows(solution).any():
        usage = np.where(rows_of(solution, split), Usage.PUBLIC, Usage.IGNORED)
        solution = replace(solution, usage=usage.astype(np.uint8))
    return default_mechanism(metric, solution, manager)


def attack_bias(
    score_range: tuple[float, float] | None, submissions: int, public_rows: int
) -> float | None:
    """Return by how much a vote over random labels improves the score on a board that shows all.

    ``(R / pi) sqrt(k / (2 n))`` for k submissions, n rows and scores in a range of width R, at most
    R / 2: Blum and Hardt (2015), section 5, where R is 1. It is that of the attack ``boosting`` on
    the accuracy of two equally frequent classes, k much smaller than n, and an approximation for
    other metrics of labels. A vote weighted by the scores, ``boosting(vote=signed)``, reaches
    ``R (Phi(sqrt(k / n)) - 1/2)``, which is up to 1.8 times as much.

    Returns
    -------
    None if the scores have no range.

    Examples
    --------
    >>> round(attack_bias((0.0, 1.0), 400, 4_000), 3), attack_bias(None, 400, 4_000)
    (0.071, None)
    """
    width = np.inf if score_range is None else score_range[1] - score_range[0]
    if not np.isfinite(width):
        return None
    return float(width * min(np.sqrt(submissions / (2 * public_rows)) / np.pi, 0.5))
