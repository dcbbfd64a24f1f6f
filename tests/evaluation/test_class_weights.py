from __future__ import annotations

import numpy as np
import pytest

from arena.evaluation.class_weights import class_weights
from arena.plugin.manager import PluginManager
from arena.types import PredictionKind

METRICS = PluginManager().metrics
TRUTH = np.repeat([0, 1, 2], [1, 3, 6])


@pytest.mark.parametrize(
    ("name", "of_classes"),
    [
        ("balanced_accuracy", [1 / 3, 1 / 9, 1 / 18]),
        ("f1(average=micro)", [0.1, 0.1, 0.1]),
    ],
)
def test_each_row_has_its_share_of_what_its_class_counts(name, of_classes):
    class_counts = class_weights(METRICS.resolve(name), TRUTH)
    assert class_counts == pytest.approx(np.array(of_classes)[TRUTH])


def test_an_auc_of_several_classes_is_asked_with_certain_probabilities():
    class_counts = class_weights(METRICS.resolve("roc_auc"), TRUTH)
    assert (
        class_counts[0] > class_counts[1] > class_counts[4]
    )  # rows of rarer classes count for more


def test_values_have_no_such_weights():
    assert class_weights(METRICS.resolve("mse"), TRUTH) is None


def test_too_many_predictions_are_not_scored():
    many = np.arange(3000)
    assert class_weights(METRICS.resolve("balanced_accuracy"), many) is None


class _Distance:
    name = "distance"
    greater_is_better = False
    prediction = PredictionKind.LABEL

    def score(self, truth, prediction, weight=None):
        return float(np.average(np.abs(truth - prediction), weights=weight))


def test_the_last_class_gets_the_label_of_the_first():
    """Of ten rows each adds a tenth of its distance: 1 to the next class, and 2 from 2 to 0."""
    assert class_weights(_Distance(), TRUTH) == pytest.approx(np.array([0.1, 0.1, 0.2])[TRUTH])


class _NeedsEveryClass:
    name = "needs every class"
    greater_is_better = True
    prediction = PredictionKind.LABEL

    def score(self, truth, prediction, weight=None):
        if len(np.unique(prediction)) < 3:
            raise ValueError("a class was not predicted")
        return float((truth == prediction).mean())


def test_a_metric_that_cannot_score_the_changed_labels_gives_no_weights():
    assert class_weights(_NeedsEveryClass(), TRUTH) is None
