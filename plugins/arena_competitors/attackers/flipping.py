"""Attacks that change some rows of the best submission so far and watch the board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import (
    Competitor,
    Conduct,
    Feedback,
    HasRowValues,
    Move,
    Participation,
    Player,
)
from arena.types import IntArray, PredictionKind
from arena_competitors.attackers.guesses import (
    encode,
    is_better,
    needs_classes,
    random_codes,
    right_and_wrong,
    takes_numbers,
)
from arena_competitors.attackers.numbers import numeric_blocks

_SIZES = (1, 4, 16, 64, 256, 1024)
_TOLERANCE = 0.1
"""Tolerance, in rows, within which a gain counts as that of two rows."""


@dataclass(frozen=True, slots=True)
class BlockFlip:
    """Flip some random rows of the best submission so far; keep them if the board improves.

    Hill climbing, the common way to overfit a public board. With more than two classes a row gets
    one of the other labels at random; a number steps up or down from the baseline. Needs classes or
    numbers. Holds 24 bytes per row.

    Parameters
    ----------
    rows
        The number of rows flipped at a time; None: the best of 1, 4, 16, 64, 256 and 1024, found by
        a sweep.
    base
        ``baseline``: start from the public baseline (needs a metric of labels); None: start from
        random labels.

    Raises
    ------
    UsageError
        If ``rows`` is not a positive integer, or the base is unknown.
    """

    rows: int | None = None
    base: str | None = None
    name: str = "block-flip"
    conduct: ClassVar[Conduct] = "attacks"

    def __post_init__(self) -> None:
        if self.rows is not None and (not isinstance(self.rows, int) or self.rows < 1):
            raise UsageError(f"block-flip: rows must be a positive integer, not {self.rows!r}.")
        if self.base not in (None, "baseline"):
            raise UsageError(f"block-flip: base must be baseline or omitted, not {self.base!r}.")

    def variants(self) -> Sequence[Competitor]:
        """Return an attack for each size of the sweep; only itself if ``rows`` is given."""
        return (self,) if self.rows else tuple(replace(self, rows=rows) for rows in _SIZES)

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError if the metric takes texts, or there is no baseline."""
        rows = min(self.rows or _SIZES[2], participation.n_rows)
        if takes_numbers(participation):
            return numeric_blocks(participation, rng, rows)
        n_classes = needs_classes(self.name, participation)
        return _BlockFlipPlayer(
            participation, self._first(participation, rng), rng=rng, rows=rows, n_classes=n_classes
        )

    def _first(self, participation: Participation, rng: np.random.Generator) -> IntArray:
        if self.base is None:
            return random_codes(participation, rng)
        if participation.metric.prediction is not PredictionKind.LABEL:
            raise UsageError("block-flip: base=baseline needs a metric of labels, e.g. accuracy.")
        if participation.baseline is None:
            raise UsageError("block-flip: base=baseline needs a public baseline.")
        return np.asarray(participation.baseline, dtype=np.intp)


class _BlockFlipPlayer:
    def __init__(
        self,
        participation: Participation,
        first: IntArray,
        rng: np.random.Generator,
        rows: int,
        n_classes: int,
    ) -> None:
        self._metric, self._rng = participation.metric, rng
        self._rows, self._n_classes = rows, n_classes
        self._best = first
        self._tried = self._best
        self._best_score: float | None = None

    def submit(self) -> Move:
        self._tried = self._best
        if self._best_score is not None:
            chosen = self._rng.choice(len(self._best), self._rows, replace=False, shuffle=False)
            self._tried = self._best.copy()
            shift = self._rng.integers(1, self._n_classes, self._rows)
            self._tried[chosen] = (self._tried[chosen] + shift) % self._n_classes
        return Move(encode(self._tried, self._metric, self._n_classes))

    def receive(self, feedback: Feedback) -> None:
        if self._best_score is None or is_better(feedback.score, self._best_score, self._metric):
            self._best, self._best_score = self._tried, feedback.score

    def finish(self) -> Move:
        return Move(encode(self._best, self._metric, self._n_classes))


@dataclass(frozen=True, slots=True)
class PairProbe:
    """Flip two rows at a time: a released gain reveals both labels.

    Two rows that were both wrong gain 2/n when flipped. The parameter-free Ladder (Blum and Hardt
    2015, Figure 2) has the step s/sqrt(n), which is sqrt(2)/n for two differing rows. It therefore
    releases the gain, and both labels are known for certain. A quarter of the pairs of a random
    submission are of this kind. A board that shows every score also reveals the pairs that were
    both right. A larger ``minimum_step`` of the Ladder prevents this attack.

    Needs two classes and a metric that is a mean over rows. Holds 32 bytes per row.
    """

    name: str = "pair-probe"
    conduct: ClassVar[Conduct] = "attacks"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError unless the metric is a mean over rows of two classes."""
        metric = participation.metric
        if needs_classes(self.name, participation) != 2 or not isinstance(metric, HasRowValues):
            raise UsageError(
                f"pair-probe needs two classes and a metric that is a mean over rows, such as "
                f"accuracy, not {metric.name}."
            )
        return _PairProbePlayer(participation, rng)


class _PairProbePlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self._metric = participation.metric
        right, wrong = right_and_wrong(self._metric, 2)
        self._gain_of_a_row = (right - wrong) / participation.n_public
        self._baseline_score = participation.baseline_score
        self._best = random_codes(participation, rng)
        self._pairs = rng.permutation(participation.n_rows)[: participation.n_rows // 2 * 2]
        self._next, self._pair = 0, self._pairs[:0]
        self._shown: float | None = None
        self._known: IntArray = np.full(participation.n_rows, -1, dtype=np.intp)

    def submit(self) -> Move:
        self._pair = self._pairs[:0]
        if self._shown is not None:
            self._pair = self._pairs[self._next : self._next + 2]
            self._next += 2
        return Move(encode(self._flipped(), self._metric, 2))

    def _flipped(self) -> IntArray:
        codes = self._best.copy()
        codes[self._pair] = 1 - codes[self._pair]
        return codes

    def receive(self, feedback: Feedback) -> None:
        if self._shown is None:
            self._shown = feedback.score
            return
        rows = (feedback.score - self._shown) / self._gain_of_a_row
        flipped = self._flipped()
        # The board may have shown the baseline's score; a difference from it has no information.
        if self._shown != self._baseline_score and len(self._pair):
            if abs(rows - 2) < _TOLERANCE:
                self._known[self._pair] = flipped[self._pair]
            elif abs(rows + 2) < _TOLERANCE:
                self._known[self._pair] = self._best[self._pair]
        if is_better(feedback.score, self._shown, self._metric):
            self._best, self._shown = flipped, feedback.score

    def finish(self) -> Move:
        return Move(encode(self._best, self._metric, 2))

    def known_labels(self) -> IntArray:
        """Return ``(n_rows,)`` codes, -1 where the label is not known."""
        return self._known
