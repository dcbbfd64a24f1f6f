"""What teams draw their models from, the rows they keep in memory, and their random guesses."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import InputError, UsageError
from arena.interfaces import Feedback
from arena.simulation.data import LabelledRows, TrainingRows
from arena_competitors.attackers.guesses import encode, is_better, random_codes, right_and_wrong
from arena_competitors.lightgbm import training
from arena_competitors.lightgbm.grid import read_grid
from arena_competitors.lightgbm.search import LightGBMSearch
from arena_metrics.classification import BalancedAccuracy
from arena_metrics.correlation import RSquared
from arena_metrics.pointwise import Accuracy, LogLoss
from arena_metrics.ranking import RocAuc
from arena_metrics.regression import MeanAbsoluteError
from kept import check_kept_document

SEARCH = "[search]\nnum_leaves = [7, 15]\n"
REFUSED = (
    "search = 1", "fixed = 1\n" + SEARCH, "", "[search]\n", "tries = 3\n" + SEARCH,
    "[search]\nnum_leaves = 7\n", "[search]\nnum_leaves = []\n", "[search]\nnum_leafs = [7]\n",
    "[search]\nxyz = [7]\n", "[search]\nseed = [7]\n", "[search]\nrandom_seed = [7]\n",
    "[search]\nmax_bin = [7]\n", SEARCH + "[fixed]\nnum_leaf = 7\n", "rounds = 0\n" + SEARCH,
    "early_stopping = 0\n" + SEARCH, "rounds = 2.5\n" + SEARCH, "rounds = '9'\n" + SEARCH,
)  # fmt: skip


def grid_of(path: Path, text: str) -> Any:
    path.write_text(text, encoding="utf-8")
    return read_grid(path)


def test_grids_and_their_refusals_are_kept(tmp_path: Path) -> None:
    path, messages = tmp_path / "grid.toml", {}
    for text in REFUSED:
        with pytest.raises(InputError) as error:
            grid_of(path, text)
        messages[text] = str(error.value).replace(str(path), "GRID")
    documents = {
        "grid": asdict(read_grid(None)),
        "short grid": asdict(grid_of(path, "rounds = 1\nearly_stopping = 1\n" + SEARCH)),
        "grid without counts": asdict(grid_of(path, SEARCH)),
        "refused": messages,
    }
    check_kept_document("training-grids", documents)
    assert LightGBMSearch(str(path)) == LightGBMSearch(str(path))
    assert LightGBMSearch(str(path)) != LightGBMSearch()
    assert len({LightGBMSearch(str(path)), LightGBMSearch(str(path))}) == 1
    assert "read" not in repr(LightGBMSearch(str(path)))


def rows_of(n_bytes: int) -> TrainingRows:
    """Return rows that have so many bytes by their shapes, but share one byte of memory."""
    features = np.broadcast_to(np.zeros(1, dtype=np.uint8), (n_bytes // 2, 1))
    part = LabelledRows(features, np.zeros(1))
    return TrainingRows(part, part, n_classes=2, categorical=())


def test_rows_used_last_are_kept_up_to_256_megabytes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(training, "kept_training_sets", {})
    monkeypatch.setattr(training, "_bin", lambda rows: (calls.append(1), len(calls)))

    def number(key: str, n_bytes: int) -> int:
        return int(training.binned(rows_of(n_bytes), key)[1])

    half = 2**27
    assert [number("a", half), number("b", half), number("a", half)] == [1, 2, 1]  # both fit
    assert number("c", 2) == 3  # is more than 256 MB with both: b, used before a, is left out
    assert [number("a", half), number("c", 2), number("b", half)] == [1, 3, 4]  # a was first
    assert number("d", 2**29) == 5  # is kept alone, although it is too large
    assert [number("d", 2**29), number("c", 2), number("d", 2**29)] == [5, 6, 7]


def test_the_objective_follows_the_number_of_classes() -> None:
    assert training.objective_of(None) == {"objective": "regression", "metric": "l2"}
    assert training.objective_of(2) == {"objective": "binary", "metric": "binary_logloss"}
    assert training.objective_of(3) == {
        "objective": "multiclass",
        "metric": "multi_logloss",
        "num_class": 3,
    }


def test_the_rows_that_try_a_grid_are_the_first_200_and_one_of_each_class() -> None:
    """Of 250 rows row 230 is the first of class 1."""
    features, target = np.arange(250.0)[:, np.newaxis], np.zeros(250)
    target[[230, 240]] = 1
    rows = training.first_rows_of_every_class(LabelledRows(features, target))
    assert rows.features[:, 0].tolist() == [*range(200), 230]
    assert rows.target.tolist() == [0] * 200 + [1]


def test_guesses_are_uniform_over_the_classes_and_sent_as_the_metric_takes_them() -> None:
    rng = np.random.default_rng(0)
    for n_classes, expected in ((None, {0, 1}), (2, {0, 1}), (3, {0, 1, 2})):
        for n_rows in (0, 7, 8, 9, 600):
            rows: Any = SimpleNamespace(n_rows=n_rows, n_classes=n_classes)
            codes = random_codes(rows, rng)
            assert len(codes) == n_rows
        assert {*codes.tolist()} == expected
        assert np.bincount(codes) / 600 == pytest.approx(1 / len(expected), abs=0.06)
    codes = np.array([0, 2, 1])
    assert encode(codes, Accuracy(), n_classes=3) is codes
    assert encode(codes, LogLoss(), n_classes=3).tolist() == [
        [0.75, 0.125, 0.125],
        [0.125, 0.125, 0.75],
        [0.125, 0.75, 0.125],
    ]
    assert encode(np.array([0, 1]), RocAuc(), n_classes=2).tolist() == [0.0, 1.0]
    assert right_and_wrong(LogLoss(), 2) == pytest.approx((-np.log(0.75), -np.log(0.25)))
    assert right_and_wrong(BalancedAccuracy(), 4) == (1.0, 0.0)
    for metric, expected in ((Accuracy(), [True, False, False]), (LogLoss(), [False, False, True])):
        assert [is_better(1.0, score, metric=metric) for score in (0.9, 1.0, 1.1)] == expected


@pytest.mark.parametrize(
    ("metric", "scores", "best"),
    [
        (MeanAbsoluteError(), (3.0, 1.0, 2.0), 1),
        (RSquared(), (0.1, 0.4, 0.4), 1),
        (RSquared(), (0.5, 0.4), 0),
    ],
)
def test_the_model_with_the_best_released_score_is_sent_last(
    metric: Any, scores: tuple[float, ...], best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictions = np.arange(6.0).reshape(3, 2)
    calls: list[Any] = []

    def predicted(_: LightGBMSearch, *arguments: Any) -> Any:
        calls.append(arguments)
        return predictions[len(calls) - 1]

    monkeypatch.setattr(LightGBMSearch, "predictions", predicted)
    participation: Any = SimpleNamespace(
        metric=metric, n_classes=None, training=rows_of(8), test="features"
    )
    player = LightGBMSearch().start(participation, np.random.default_rng(0))
    with pytest.raises(UsageError, match="A team without submissions has no last submission"):
        player.finish()
    for number, score in enumerate(scores):
        assert player.submit().prediction.tolist() == predictions[number].tolist()
        if not number:
            assert player.finish().prediction.tolist() == [0.0, 1.0]  # the only one, unscored
        player.receive(Feedback(score, None))
    assert player.finish().prediction.tolist() == predictions[best].tolist()
    assert {arguments[0] is participation.training for arguments in calls} == {True}
    assert {arguments[2] for arguments in calls} == {"features"}
    assert len({repr(arguments[3]) for arguments in calls}) == len(scores)


def test_a_search_needs_rows_to_train_on() -> None:
    with pytest.raises(UsageError, match="^lightgbm needs training data, but there are labels"):
        LightGBMSearch().start(SimpleNamespace(training=None), np.random.default_rng(0))  # type: ignore[arg-type]
