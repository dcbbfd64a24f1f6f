"""Models of scikit-learn on a board; metrics of arena as scorers of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.svm import LinearSVC

import arena
from arena.errors import UsageError

X, Y = make_classification(90, n_classes=3, n_informative=5, random_state=1)
TWO = Y > 0
NUMBERS = X[:, 0] + np.random.default_rng(0).normal(size=90)


@pytest.mark.parametrize(
    ("metric", "scorer", "model", "y"),
    [
        ("roc_auc", "roc_auc", LogisticRegression(), TWO),
        ("roc_auc", "roc_auc", LinearSVC(), TWO),
        ("log_loss", "neg_log_loss", LogisticRegression(), Y),
        ("accuracy", "accuracy", LogisticRegression(), Y),
        ("rmse", "neg_root_mean_squared_error", Ridge(), NUMBERS),
    ],
)
def test_a_scorer_agrees_with_that_of_scikit_learn(
    metric: str, scorer: str, model: Any, y: Any
) -> None:
    scores = cross_val_score(model, X, y, scoring=arena.make_scorer(metric), cv=3)
    np.testing.assert_allclose(scores, cross_val_score(model, X, y, scoring=scorer, cv=3))


def test_the_positive_label_of_a_scorer_can_be_chosen() -> None:
    model = LogisticRegression().fit(X, TWO)
    pairs = [arena.make_scorer("f1", positive=label)(model, X, TWO) for label in (True, False)]
    assert pairs[0] != pairs[1]
    with pytest.raises(UsageError, match="'yes' must be one of two labels"):
        arena.make_scorer("f1", positive="yes")(model, X, TWO)


@pytest.mark.slow
def test_the_board_holds_the_scores_of_out_of_fold_predictions() -> None:
    folds = StratifiedKFold(3, shuffle=True, random_state=4)
    models = {"logistic": LogisticRegression(), "constant": DummyClassifier()}
    board = arena.from_estimators(models, X, Y, metric="accuracy", cv=3, seed=4, resamples=20)
    predicted = cross_val_predict(LogisticRegression(), X, Y, cv=folds)
    first = board.standings[0]
    assert (first["team"], first["score"]) == ("logistic", pytest.approx((predicted == Y).mean()))
    assert [row["team"] for row in board.standings] == ["logistic", "constant"]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("labels", "positive"), [((2, 10, 9), None), ((9, 10), None), ((0.0, 1.0), 0)]
)
def test_labels_that_are_numbers_are_in_the_order_of_their_values(
    labels: tuple[float, ...], positive: float | None
) -> None:
    y = np.array(labels)[np.minimum(Y, len(labels) - 1)]
    model = LogisticRegression()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    predicted = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    board = arena.from_estimators(
        [model], X, y, metric="log_loss", cv=3, intervals=False, positive=positive
    )
    assert board.standings[0]["score"] == pytest.approx(log_loss(y, predicted))


@pytest.mark.slow
def test_groups_are_resampled_whole_and_never_split() -> None:
    groups = np.arange(90) // 3
    board = arena.from_estimators(
        [Ridge(), Ridge(alpha=1e6)], X, NUMBERS, metric="rmse", groups=groups, resamples=20, cv=3
    )
    assert [row["team"] for row in board.standings] == ["Ridge", "Ridge 2"]
    assert board.best_score_corrected["effective_units"] <= 30


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"estimators": {"svm": LinearSVC()}}, "svm has no predict_proba, which log_loss needs"),
        ({"estimators": LogisticRegression()}, "are a sklearn LogisticRegression"),
        ({"estimators": {}}, "no estimators"),
        ({"cv": "five"}, "cv is a str"),
        ({"cv": [([0, 1, 2], [3])]}, "exactly one test fold"),
    ],
)
def test_what_cannot_be_ranked_is_refused(keywords: dict[str, Any], message: str) -> None:
    arguments = {"estimators": [LogisticRegression()], **keywords}
    with pytest.raises(UsageError, match=message):
        arena.from_estimators(arguments.pop("estimators"), X, TWO, metric="log_loss", **arguments)


def test_several_targets_are_refused_before_anything_is_trained() -> None:
    with pytest.raises(UsageError, match=r"y is an array of shape \(90, 2\)"):
        arena.from_estimators([Ridge()], X, X[:, :2], metric="rmse")


def test_text_labels_with_a_metric_of_numbers_are_refused() -> None:
    x, y = np.zeros((6, 1)), np.array(["cat", "dog"] * 3)
    model = DummyClassifier().fit(x, y)
    with pytest.raises(UsageError, match="compares numbers, but y is text"):
        arena.make_scorer("rmse")(model, x, y)
    with pytest.raises(UsageError, match="compares numbers, but y is text"):
        arena.from_estimators({"a": model}, x, y, metric="rmse", cv=2)
    with pytest.raises(UsageError, match="compares numbers, but the predictions are text"):
        arena.make_scorer("rmse")(model, x, np.arange(6.0))
