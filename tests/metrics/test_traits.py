"""Traits, defaults and refused parameters of every metric, and of some of scikit-learn."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from arena.errors import MetricError, UsageError
from arena.evaluation.scores import influence_values, resample_block
from arena.interfaces import HasRowValues, Metric, MetricFamily, traits_of
from arena.testing.problems import problem_for
from arena.utils.tabular import as_json
from arena_metrics.catalogue import all_metrics
from arena_metrics.forecasts import SampleCrps
from arena_metrics.foreign.codabench import CODABENCH
from arena_metrics.foreign.evalai import EVALAI
from arena_metrics.foreign.failures import LONGEST_SHOWN, safe_line
from arena_metrics.foreign.hugging_face import HUGGING_FACE
from arena_metrics.foreign.kaggle import KAGGLE
from arena_metrics.foreign.kinds import Kind
from arena_metrics.foreign.lines import Lines
from arena_metrics.foreign.metric import default_context
from arena_metrics.foreign.mlebench import MLEBENCH
from arena_metrics.foreign.plain import PLAIN
from arena_metrics.instances import InstanceF1, ObjectColumns, PanopticQuality
from arena_metrics.weighted_classes import ClassWeightedLogLoss
from kept import check_kept_document

KINDS = (KAGGLE, HUGGING_FACE, EVALAI, CODABENCH, MLEBENCH, PLAIN)
OF_SKLEARN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("log_loss", {}), ("mean_squared_log_error", {}), ("root_mean_squared_log_error", {}),
    ("mean_poisson_deviance", {}), ("mean_gamma_deviance", {}), ("max_error", {}),
    ("r2_score", {"force_finite": False}), ("matthews_corrcoef", {}), ("d2_tweedie_score", {}),
    *(("mean_tweedie_deviance", {"power": power}) for power in (-3, -0.5, 0, 1, 1.5, 2, 3)),
    *(("d2_tweedie_score", {"power": power}) for power in (1.5, 2)),
    ("neg_mean_absolute_error", {}), ("f1_macro", {}), ("jaccard_weighted", {}),
)  # fmt: skip


OTHER_PARAMETERS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("f1", {"average": average}) for average in ("macro", "micro", "weighted")),
    ("roc_auc", {"average": "weighted"}), ("log_loss", {"clip": 0.4}),
    ("min_dcf", {"p_target": 0.2, "c_miss": 2.0, "c_alarm": 3.0}),
    ("quantile_loss", {"alpha": 0.8}), ("crps", {"samples": 100, "fair": True}),
    ("interval_coverage_error", {"level": 0.5}),
    ("ndcg_at_k", {"k": 2, "gain": "exponential"}), ("map_at_k", {"k": 1}),
    ("trec_ndcg", {"k": 2}), ("trec_mrr", {"k": 1}), ("trec_recall", {"k": 2}),
    ("exact_match", {"normalise": "none"}), ("token_f1", {"normalise": "none"}),
    ("word_error_rate", {"unit": "character"}), ("bleu", {"tokenize": "none", "lowercase": True}),
    ("chrf", {"word_order": 2, "lowercase": True}), ("mean_average_precision", {"iou": 0.3}),
    ("concordance_index", {"predicts": "risk"}), ("instance_f1", {"iou": 0.7}),
    ("surface_dice", {"tolerance": 2.5}), ("hausdorff", {"percentile": 60.0}),
)  # fmt: skip


def plain(value: Any) -> Any:
    """Return a value as JSON; floats and objects that JSON lacks become texts."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return repr(float(value))
    return value if value is None or isinstance(value, str | int) else str(value)


def described(metric: Metric) -> dict[str, Any]:
    fields = dataclasses.fields(metric) if dataclasses.is_dataclass(metric) else ()
    usual = {field.name: field.default for field in dataclasses.fields(traits_of(object()))}
    return {
        "prediction": metric.prediction.value,
        "greater_is_better": metric.greater_is_better,
        "parameters": {field.name: getattr(metric, field.name) for field in fields if field.init},
        "traits": {
            name: value
            for name, value in dataclasses.asdict(traits_of(metric)).items()
            if value != usual[name]
        },
    }


def test_scores_of_the_problem_of_a_check_are_kept() -> None:
    """Of 20 rows, which have every kind of data that a metric of arena takes."""
    metrics = {metric.name: metric for metric in all_metrics() if isinstance(metric, Metric)}
    documents: dict[str, Any] = {}
    for metric in metrics.values():
        problem = problem_for(metric, 20, 2, seed=3)
        arrays = problem.metric, problem.truth, problem.predictions
        of_rows: dict[str, Any] = {"influences": influence_values(*arrays)}
        if isinstance(problem.metric, HasRowValues):
            of_rows["row values"] = problem.metric.row_values(*arrays[1:])
        documents[metric.name] = {
            "truth": problem.truth[:3],
            "predictions": problem.predictions[:, :3],
            "scores": [problem.metric.score(problem.truth, sent) for sent in problem.predictions],
            "resampled": resample_block(*arrays, problem.weights),
            **{name: values[:, :3] for name, values in of_rows.items() if values is not None},
        }
    for name, parameters in OTHER_PARAMETERS:
        problem = problem_for(dataclasses.replace(metrics[name], **parameters), 20, 2, seed=3)
        documents[f"{name}, {parameters}"] = resample_block(
            problem.metric, problem.truth, problem.predictions, problem.weights
        )
    check_kept_document("metric-scores", as_json(documents))


def test_traits_and_parameters_of_metrics_are_kept() -> None:
    metrics = {metric.name: metric for metric in all_metrics() if isinstance(metric, Metric)}
    (sklearn,) = (
        family
        for family in all_metrics()
        if isinstance(family, MetricFamily) and family.prefix == "sklearn"
    )
    for name, parameters in OF_SKLEARN:
        metrics[f"sklearn:{name} {parameters}"] = sklearn.make(name, parameters)
    kinds = {
        kind.form: {
            field.name: value
            for field in dataclasses.fields(Kind)
            if not callable(value := getattr(kind, field.name)) and field.name != "stand_ins"
        }
        for kind in KINDS
    }
    documents = {"metrics": {name: described(metric) for name, metric in metrics.items()}}
    lines = {
        field.name: field.default
        for field in dataclasses.fields(Lines)
        if field.default is not dataclasses.MISSING
    }
    check_kept_document("metric-traits", plain({**documents, "kinds": kinds, "lines": lines}))


def test_counts_of_classes_are_combined_for_any_number_of_sums() -> None:
    """Two classes, of which the second occurs in the first two sums only, or none does."""
    first_class, second_class, absent_class = [1.5, 2, 1, 0], [0, 0, 1, 3], [0, 0, 0, 0]
    sums = np.array(
        [
            [first_class + second_class, first_class + absent_class, absent_class * 2],
            [second_class * 2, second_class + first_class, first_class * 2],
        ]
    )
    for metric, score_of_first in ((InstanceF1(), 2 / 2.5), (PanopticQuality(), 1.5 / 2.5)):
        expected = np.array(
            [[score_of_first / 2, score_of_first, 1.0], [0.0, score_of_first / 2, score_of_first]]
        )
        with np.errstate(invalid="ignore"):  # as where it is called
            np.testing.assert_allclose(metric.combine(sums), expected)
            np.testing.assert_allclose(metric.combine(sums[0]), expected[0])


def test_columns_of_objects_are_found_by_their_names() -> None:
    positions = {
        ("a",): (0, None),
        ("a", "b"): (0, 1),
        ("Encoded_Pixels",): (0, None),
        ("RLE", "Class Id"): (0, 1),
        ("class_name", "segmentation"): (1, 0),
    }
    assert {names: tuple(ObjectColumns.of("x", names)) for names in positions} == positions
    for names in (
        ("a", "b", "c"),
        ("mask", "b"),
        ("label",),
        ("mask", "rle"),
        ("mask", "class", "label"),
    ):
        with pytest.raises(MetricError, match=r"^x needs a column mask with a run-length encoding"):
            ObjectColumns.of("x", names)


def test_weights_of_classes_are_pairs() -> None:
    assert ClassWeightedLogLoss(weights="15:2 a:b:0")._parsed() == {"15": 2.0, "a:b": 0.0}
    for part in ("15", ":2", "15:x", "15:-1", "15:inf", "15:nan"):
        with pytest.raises(UsageError) as refusal:
            ClassWeightedLogLoss(weights=f"1:2 {part}")
        assert str(refusal.value) == (
            f"class_weighted_log_loss needs weights such as 15:2 64:2, not {part!r}."
        )


def test_a_foreign_metric_gets_default_ids_and_column_names() -> None:
    column, columns = np.zeros(2), np.zeros((2, 3))
    context = default_context(columns, column)
    assert context.ids is not None
    assert context.ids.to_pylist() == ["0", "1"]
    assert context.targets == ("target", "column 1", "column 2")
    assert context.columns == ("target",)


def test_texts_of_foreign_errors_are_cut_after_280_characters() -> None:
    assert LONGEST_SHOWN == 280
    assert safe_line("x" * 280) == "x" * 280
    assert safe_line("x" * 281) == "x" * 279 + "…"


ABOVE_0, BELOW_1, INF = 1e-300, 1 - 1e-9, float("inf")
ENDS: dict[tuple[str, str], tuple[list[Any], list[Any]]] = {
    ("map_at_k", "k"): ([1, 10**6], [0, 1.0, True]),
    ("ndcg_at_k", "k"): ([1], [0, 2.5]),
    ("ndcg_at_k", "gain"): (["linear", "exponential"], ["log"]),
    ("trec_ndcg", "k"): ([0, 1], [-1]),
    ("trec_mrr", "k"): ([0, 1], [-1]),
    ("trec_recall", "k"): ([1], [0]),
    ("crps", "samples"): ([1], [0]),
    ("wis", "levels"): (
        [(0.5,), (ABOVE_0, BELOW_1)],
        [(), (0.5, 0.5), (0.9, 0.5), (0, 0.5), (0.5, 1), "x", None],
    ),
    ("quantile_loss", "alpha"): ([ABOVE_0, BELOW_1], [0, 1, True, "x"]),
    ("interval_coverage_error", "level"): ([ABOVE_0, BELOW_1], [0, 1]),
    ("log_loss", "clip"): ([None, ABOVE_0, 0.4999], [0, 0.5]),
    ("class_weighted_log_loss", "clip"): ([ABOVE_0, 0.4999], [0, 0.5]),
    ("min_dcf", "p_target"): ([ABOVE_0, BELOW_1], [0, 1]),
    ("min_dcf", "c_miss"): ([ABOVE_0, 1e300], [0, INF]),
    ("min_dcf", "c_alarm"): ([ABOVE_0, 1e300], [0, INF]),
    ("instance_f1", "iou"): ([BELOW_1], [-0.1, 1]),
    ("mean_average_precision", "iou"): ([0, ABOVE_0, BELOW_1], [-0.1, 1, True]),
    ("surface_dice", "tolerance"): ([0, 1e300], [-1e-9, INF]),
    ("hausdorff", "percentile"): ([ABOVE_0, 100], [0, 100.001]),
    ("f1", "average"): (["binary", "macro", "micro", "weighted"], ["mean"]),
    ("roc_auc", "average"): (["macro", "weighted"], ["micro"]),
    ("concordance_index", "predicts"): (["time", "risk"], ["rank"]),
    ("exact_match", "normalise"): (["squad", "lower", "none"], ["upper"]),
    ("token_f1", "normalise"): (["squad", "lower", "none"], ["upper"]),
    ("word_error_rate", "normalise"): (["squad", "lower", "none"], ["upper"]),
    ("word_error_rate", "unit"): (["word", "character"], ["line"]),
}
"""Of each parameter the values at its ends, and those beyond them."""


def test_parameters_are_refused_beyond_their_ends_only() -> None:
    metrics = {metric.name: metric for metric in all_metrics() if isinstance(metric, Metric)}
    messages = {}
    for (name, parameter), (inside, beyond) in ENDS.items():
        metric: Any = metrics[name]
        for value in inside:
            assert getattr(dataclasses.replace(metric, **{parameter: value}), parameter) == value
        for value in beyond:
            with pytest.raises(UsageError) as error:
                dataclasses.replace(metric, **{parameter: value})
            messages[f"{name}({parameter}={value!r})"] = str(error.value)
    assert SampleCrps(samples=2, fair=True).samples == 2
    with pytest.raises(UsageError, match="of 2 or more"):  # a pair of different samples
        SampleCrps(samples=1, fair=True)
    check_kept_document("metric-parameters", messages)
