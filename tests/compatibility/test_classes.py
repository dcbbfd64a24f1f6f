"""Declared labels: their order, labels that no row has, and distances between labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as skm

import arena
from arena.errors import InputError, UsageError

TRUE = [0, 1, 3, 0, 1, 3, 0, 1, 3, 3]
SENT = [0, 1, 2, 0, 2, 3, 1, 1, 3, 0]
GRADES = ("low", "mid", "high", "top")


def _board(truth: list[str], predictions: list[str], metric: str, **columns: object) -> float:
    ids = list(map(str, range(len(truth))))
    solution, team = {"id": ids, "y": truth}, {"id": ids, "y": predictions}
    board = arena.score(solution, {"team": team}, metric=metric, intervals=False, **columns)
    assert not board.rejected
    return float(board.standings[0]["score"])


NUMBERS = {
    "a label that no row has": ((0, 1, 2, 3), range(4)),
    "unequal distances": ((0, 2, 3, 10), range(11)),
    "halves": ((1, 1.5, 2, 3), (1, 1.5, 2, 2.5, 3)),
    "backwards": ((3, 2, 1, 0), range(4)),
}


@pytest.mark.few(2)
@pytest.mark.parametrize(("values", "labels"), NUMBERS.values(), ids=NUMBERS)
def test_kappa_takes_numbers_by_their_value(values: tuple[float, ...], labels: range) -> None:
    truth, predictions = ([str(values[code]) for code in codes] for codes in (TRUE, SENT))
    place = {str(label): position for position, label in enumerate(labels)}
    expected = skm.cohen_kappa_score(
        [place[code] for code in truth],
        [place[code] for code in predictions],
        weights="quadratic",
        labels=range(len(labels)),
    )
    board = _board(truth, predictions, "quadratic_weighted_kappa", classes=list(map(str, values)))
    assert board == pytest.approx(expected, abs=1e-12)


def test_kappa_takes_texts_in_the_declared_order_only() -> None:
    truth, predictions = ([GRADES[code] for code in codes] for codes in (TRUE, SENT))
    expected = skm.cohen_kappa_score(TRUE, SENT, weights="quadratic", labels=range(4))
    board = _board(truth, predictions, "quadratic_weighted_kappa", classes=GRADES)
    assert board == pytest.approx(expected, abs=1e-12)
    with pytest.raises(InputError, match="texts have none: declare it"):
        _board(truth, truth, "quadratic_weighted_kappa")


def test_targets_of_kappa_share_their_labels() -> None:
    solution = {"id": ["a", "b", "c"], "x": [1, 2, 3], "y": [1, 3, 9]}
    ask = {"metric": "quadratic_weighted_kappa", "target": ["x", "y"], "intervals": False}
    with pytest.raises(UsageError, match="the same labels for all targets: declare"):
        arena.score(solution, {"t": solution}, **ask)
    board = arena.score(solution, {"t": solution}, **ask, classes=range(1, 10))
    assert board.standings[0]["score"] == 1.0


@pytest.mark.few(2)
@pytest.mark.parametrize("metric", ["log_loss", "brier", "f1(average=macro)", "accuracy"])
def test_a_label_that_no_row_has_can_be_predicted(metric: str) -> None:
    ids = list(map(str, range(len(TRUE))))
    solution = {"id": ids, "y": list(map(str, TRUE))}
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(4), len(TRUE))
    references = {
        "log_loss": lambda: skm.log_loss(TRUE, chances, labels=range(4)),
        "brier": lambda: np.square(chances - np.eye(4)[TRUE]).sum(axis=1).mean(),
        "f1(average=macro)": lambda: skm.f1_score(TRUE, SENT, average="macro"),
        "accuracy": lambda: skm.accuracy_score(TRUE, SENT),
    }
    team = {"id": ids, **{str(k): chances[:, k] for k in range(4)}}
    if metric not in ("log_loss", "brier"):
        team = {"id": ids, "y": list(map(str, SENT))}
    board = arena.score(solution, {"t": team}, metric=metric, classes=range(4), intervals=False)
    assert board.standings[0]["score"] == pytest.approx(references[metric](), abs=1e-12)


@pytest.mark.slow
def test_the_public_score_of_a_competition_has_the_same_distances(tmp_path: Path) -> None:
    values = (0, 2, 3, 10)
    for name, codes, usage in (("solution", TRUE, ",Usage"), ("team", SENT, "")):
        rows = [
            f"r{position},{values[code]}{usage and ',Public'}"
            for position, code in enumerate(codes)
        ]
        rows += [f"{row}{usage and ',Private'}" for row in ("s0,0", "s1,2")]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"id,y{usage}", *rows]))
    competition = arena.Competition.create(
        tmp_path / "c",
        tmp_path / "solution.csv",
        "quadratic_weighted_kappa",
        mechanism="full",
        classes=["0", "2", "3", "10"],
    )
    released = competition.submit(tmp_path / "team.csv", team="team")
    expected = skm.cohen_kappa_score(
        np.take(values, TRUE), np.take(values, SENT), weights="quadratic", labels=range(11)
    )
    assert released.released == pytest.approx(expected, abs=1e-9)
