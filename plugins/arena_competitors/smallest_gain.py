"""Measures the cost of a mechanism for honest teams: the smallest gain that it shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.evaluation.scores import round_significant
from arena.interfaces import Mechanism, Move
from arena_competitors.attackers.guesses import encode
from arena_competitors.attackers.overfitter import random_values
from arena_competitors.public_board import BoardSettings, PublicBoardRun
from arena_competitors.rows import Rows

_TRIALS = 20
_SHARE_SHOWN = 0.9
_SHARES_WRONG = (0.2, 0.3)
_SHARE_EXCHANGED = 0.02


def smallest_gain_shown(
    mechanism: Mechanism, rows: Rows, settings: BoardSettings, seed: int
) -> float | None:
    """Return the smallest gain in the public score that is shown in nine of ten trials.

    A team submits a model that is wrong on 20 to 30% of the public rows. Its second model is right
    on some of these; in addition, right and wrong rows are exchanged on 2% of the rows each, since
    models differ. The gain is shown if the board then shows a better score than before. Found by
    bisection over the number of rows; 20 trials each, the first model slightly different in each,
    since rounding mechanisms depend on the position within a step.

    Returns
    -------
    In the metric's unit, positive; None if even a model that is wrong only on those 2% is not
    shown.
    """
    trial = GainTrial(mechanism, rows, settings, seed)
    low, high = 0, trial.most
    if not trial.shown(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if trial.shown(middle) else (middle, high)
    return trial.gain(high)


@dataclass(frozen=True, slots=True, eq=False)
class GainTrial:
    """Two models on one board, of which the second is better by a number of rows."""

    mechanism: Mechanism
    rows: Rows
    settings: BoardSettings
    seed: int

    @property
    def _exchanged(self) -> int:
        return int(_SHARE_EXCHANGED * len(self.rows.public))

    @property
    def most(self) -> int:
        """The largest number of rows by which the second model can be better."""
        return max(int(_SHARES_WRONG[0] * len(self.rows.public)) - self._exchanged, 1)

    def shown(self, better_by: int) -> bool:
        """Return whether a gain of this many rows is shown in nine of ten trials."""
        n_shown = 0
        for number in range(_TRIALS):
            first, second = self._models(better_by, number)
            board = PublicBoardRun(self.mechanism, self.rows, self.settings, self.seed + number)
            before, after = board.send(Move(first)), board.send(Move(second))
            greater = self.rows.metric.greater_is_better
            n_shown += after.score > before.score if greater else after.score < before.score
        return n_shown >= _SHARE_SHOWN * _TRIALS

    def gain(self, better_by: int) -> float:
        """Return the mean difference of the public scores of the two models."""
        gains = []
        for number in range(_TRIALS):
            models = self._models(better_by, number)
            truth, public = self.rows.public_truth, self.rows.public
            first, second = (self.rows.score(truth, model[public]) for model in models)
            gains.append(second - first if self.rows.metric.greater_is_better else first - second)
        return float(round_significant(np.array([np.mean(gains)]))[0])

    def _models(self, better_by: int, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the two models' predictions of all rows; hidden rows do not matter."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        n_public = len(self.rows.public)
        order = rng.permutation(n_public)
        shares = np.linspace(*_SHARES_WRONG, _TRIALS)
        n_wrong = max(int(shares[number] * n_public), 1)
        first = np.zeros(n_public, dtype=bool)
        first[order[:n_wrong]] = True
        second = first.copy()
        second[order[: better_by + self._exchanged]] = False
        second[order[n_wrong : n_wrong + self._exchanged]] = True
        return self._predicted(first), self._predicted(second)

    def _predicted(self, wrong: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """Return a submission that is right on the public rows except where ``wrong``."""
        rows, n_classes = self.rows, self.rows.n_classes
        if n_classes is None:
            values = np.ones(rows.n_rows)
            noise = random_values(len(wrong), np.random.default_rng(self.seed))
            values[rows.public] = np.where(wrong, noise, rows.public_truth)
            return values
        codes = np.zeros(rows.n_rows, dtype=np.intp)
        codes[rows.public] = (rows.public_truth + wrong) % n_classes
        return encode(codes, rows.metric, n_classes)
