"""The difference by chance: against simulated pairs of models, and where there is none."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from arena.plugin.manager import PluginManager
from arena.public_board.chance import chance_difference, independent_rows
from arena.public_board.clipping import clip_values
from arena.types import ROW_WEIGHTS, PredictionKind, Solution, Target, Usage

METRICS = PluginManager().metrics


@pytest.mark.parametrize("score", [0.5, 0.8, 0.97])
def test_two_equally_good_models_differ_by_less_in_95_of_100_cases(score: float) -> None:
    rng = np.random.default_rng(1)
    rights = rng.binomial(400, score, size=(40_000, 2)) / 400
    difference = chance_difference(METRICS.resolve("accuracy"), 400, score)
    assert difference is not None
    share = float((np.abs(np.diff(rights, axis=1)) > difference + 1e-12).mean())
    assert 0.035 < share < 0.055


def test_a_root_of_a_mean_moves_by_its_own_scale() -> None:
    """Of brier-like losses in 0 to 1, as the clipped rmse of ``ladder-free(clip=...)``."""
    accuracy = METRICS.resolve("accuracy")
    assert chance_difference(METRICS.resolve("rmse"), 400, 0.5) is None  # errors have no bound
    assert chance_difference(METRICS.resolve("roc_auc"), 400, 0.9) is None  # no row values
    constant = clip_values(METRICS.resolve("rmse"), (1.0, 1.0))
    assert chance_difference(constant, 400, 1.0) is None
    assert chance_difference(accuracy, 1, 0.9) is None
    assert chance_difference(accuracy, 400, float("nan")) is None
    # For two rows 1.96 * sqrt(2 * 0.9 * 0.1 / 2), towards the middle of the range of scores.
    for score in (0.1, 0.9):
        assert chance_difference(accuracy, 2, score) == pytest.approx(0.588)
    assert chance_difference(accuracy, 400, 1.0) == pytest.approx(0.0, abs=1e-6)
    dice, brier = (chance_difference(METRICS.resolve(name), 100, 0.2) for name in ("dice", "brier"))
    assert dice == pytest.approx(1.96 * np.sqrt(2 * 0.2 * 0.8 / 100))
    assert brier == pytest.approx(1.96 * np.sqrt(2 * 0.2 * 1.8 / 100))  # from 0 to 2


def test_groups_and_weights_count_as_fewer_rows() -> None:
    usage = np.full(12, np.uint8(Usage.PUBLIC))
    usage[8:] = Usage.PRIVATE

    def solution(**more: object) -> Solution:
        return Solution(
            id_column="id", targets=(Target("y", ("0", "1")),), columns=("y",),
            kind=PredictionKind.LABEL, ids=pa.array([str(i) for i in range(12)]),
            truth=np.zeros(12, dtype=np.int64), usage=usage, sha256="", **more,  # type: ignore[arg-type]
        )  # fmt: skip

    assert independent_rows(solution()) == 8
    assert independent_rows(solution(clusters=np.arange(12) // 4)) == 2
    weights = np.array([1.0] * 4 + [0.0] * 8)
    assert independent_rows(solution(extra={ROW_WEIGHTS: weights})) == 4
    assert independent_rows(solution(extra={ROW_WEIGHTS: np.zeros(12)})) == 0
    usage[:] = Usage.PRIVATE
    assert independent_rows(solution()) == 0
