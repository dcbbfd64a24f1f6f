"""What the plugin provides, and what it declares."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import arena_metrics
from arena.errors import MetricError, UsageError
from arena.interfaces import HasInfluenceValues, HasResample, HasRowValues, Metric, traits_of
from arena_metrics.catalogue import all_metrics

PROVIDED = {metric.name: metric for metric in all_metrics() if isinstance(metric, Metric)}

LOWER = {
    *("log_loss", "brier", "mae", "mse", "rmse", "rmsle", "mape", "smape", "quantile_loss"),
    "hausdorff",
    *("mase", "rmsse", "wis", "crps"),
}
LOWER_STATISTICS = {
    *("owa", "wrmsse", "interval_coverage_error", "class_weighted_log_loss", "word_error_rate"),
}
LOWER_AT_A_THRESHOLD = {"eer", "min_dcf"}
POINTWISE = {
    *("accuracy", "map_at_k", "dice", "iou", "surface_dice", *LOWER, "exact_match", "token_f1"),
    *("trec_map", "trec_ndcg", "trec_mrr", "trec_recall"),
}
STATISTICS = {
    *("balanced_accuracy", "f1", "mcc", "quadratic_weighted_kappa", "roc_auc"),
    *("average_precision", "gini", "r2", "pearson", "spearman"),
    *("ndcg_at_k", "concordance_index", "bleu", "chrf", *LOWER_STATISTICS),
    *("panoptic_quality", "instance_f1"),
}
AS_A_WHOLE = {"mean_average_precision", *LOWER_AT_A_THRESHOLD, "ams"}


def test_the_documented_names_are_provided() -> None:
    assert sorted(PROVIDED) == sorted(POINTWISE | STATISTICS | AS_A_WHOLE)
    families = [item.prefix for item in all_metrics() if hasattr(item, "prefix")]
    assert families == ["sklearn", "kaggle", "hf", "evalai", "codabench", "mlebench", ""]


def test_each_is_provided_by_its_own_name() -> None:
    for metric in arena_metrics.provide_metrics():
        loaded = metric.load()
        assert metric.name == (loaded.prefix if metric.is_family else loaded.name)


def test_one_metric_is_found_without_importing_the_others() -> None:
    code = (
        "import sys; from arena.plugin.manager import PluginManager; from pathlib import Path; "
        "PluginManager().within(Path('.')).metrics.resolve('roc_auc'); "
        "print([name for name in sys.modules if name.startswith('arena_metrics.') "
        "and name.partition('.')[2] in ('detection', 'surfaces', 'regression', 'foreign.family')])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "[]"


def test_every_metric_has_a_fast_path_and_standard_errors() -> None:
    for name in POINTWISE:
        assert isinstance(PROVIDED[name], HasRowValues)
    for name in STATISTICS:
        assert isinstance(PROVIDED[name], HasResample)
        assert isinstance(PROVIDED[name], HasInfluenceValues)


def test_directions() -> None:
    lower = [name for name, metric in PROVIDED.items() if not metric.greater_is_better]
    assert sorted(lower) == sorted(LOWER | LOWER_STATISTICS | LOWER_AT_A_THRESHOLD)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("f1", {"average": "marco"}),
        ("roc_auc", {"average": "micro"}),
        ("log_loss", {"clip": 0.5}),
        ("log_loss", {"clip": 0}),
        ("log_loss", {"clip": "small"}),
        ("quantile_loss", {"alpha": 1}),
        ("quantile_loss", {"alpha": True}),
    ],
)
def test_wrong_parameters_are_refused_in_a_sentence(name: str, parameters: Any) -> None:
    value = next(iter(parameters.values()))
    with pytest.raises(UsageError) as refused:
        dataclasses.replace(PROVIDED[name], **parameters)
    assert name in str(refused.value)
    assert repr(value) in str(refused.value)


@pytest.mark.parametrize("name", ["f1", "average_precision", "roc_auc"])
def test_more_classes_than_two_are_refused_where_only_two_make_sense(name: str) -> None:
    truth, prediction = np.array([0, 1, 2]), np.array([0, 1, 2])
    metric: Any = PROVIDED[name]
    with pytest.raises(MetricError, match="two classes"):
        metric.score(truth, prediction)
    with pytest.raises(MetricError, match="two classes"):
        metric.resample(truth, prediction[np.newaxis], np.ones((3, 1), np.uint8))


def test_needs_and_ranges() -> None:
    needing = [name for name, metric in PROVIDED.items() if traits_of(metric).needs_every_class]
    stratified = [name for name, metric in PROVIDED.items() if traits_of(metric).stratify_by_class]
    assert sorted(needing) == ["average_precision", "eer", "min_dcf", "roc_auc"]
    assert stratified == ["roc_auc"]
    clipped: Any = dataclasses.replace(PROVIDED["log_loss"], clip=0.01)
    assert traits_of(PROVIDED["log_loss"]).row_range is None
    assert traits_of(clipped).row_range == pytest.approx((-np.log(0.99), -np.log(0.01)))
    low, _ = traits_of(PROVIDED["rmsle"]).prediction_range
    assert low > -1


@pytest.mark.slow
def test_the_package_is_imported_without_its_libraries() -> None:
    program = (
        "import sys, arena_metrics.catalogue; arena_metrics.catalogue.all_metrics(); "
        "print([name for name in ('numba', 'scipy', 'sklearn', 'pandas') if name in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=900,
        check=True,
    ).stdout
    assert printed == "[]\n"
