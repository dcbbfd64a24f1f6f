"""Metrics of whole fields equal their reference implementations."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.interpolate
import scipy.optimize
from sklearn import metrics as skm

import arena
from arena.errors import MetricError
from arena.interfaces import Metric
from arena.interfaces.faults import FaultList
from arena.testing import check_modality
from arena.types import RowContext
from arena_metrics.catalogue import MODALITIES, all_metrics
from arena_metrics.retrieval import Retrieval

METRICS: dict[str, Any] = {
    metric.name: metric for metric in all_metrics() if isinstance(metric, Metric)
}
RNG = np.random.default_rng(40)


def _bound(metric: Any, n: int, **extra: Any) -> Any:
    ids = pa.array(map(str, range(n)))
    return metric.for_rows(RowContext("id", ids, ("y",), ("y",), extra=extra))


def _wis(metric: Any, truth: Any, predictions: Any) -> float:
    rules = pytest.importorskip("scoringrules")
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    alpha = 2 * levels[:2]
    lower, median, upper = predictions[:, :2], predictions[:, 2], predictions[:, :2:-1]
    return float(rules.weighted_interval_score(truth, median, lower, upper, alpha).mean())


def _crps(metric: Any, truth: Any, predictions: Any) -> float:
    rules = pytest.importorskip("scoringrules")
    return float(
        rules.crps_ensemble(truth, predictions, estimator="fair" if metric.fair else "nrg").mean()
    )


def _eer(metric: Any, truth: Any, predictions: Any) -> float:
    alarms, hits, _ = skm.roc_curve(truth, predictions, drop_intermediate=False)
    of_alarms = scipy.interpolate.interp1d(alarms, hits)
    return float(scipy.optimize.brentq(lambda x: 1.0 - x - of_alarms(x), 0.0, 1.0, xtol=1e-14))


def _min_dcf(metric: Any, truth: Any, predictions: Any) -> float:
    alarms, hits, _ = skm.roc_curve(truth, predictions, drop_intermediate=False)
    costs = metric.c_miss * (1 - hits) * metric.p_target
    costs = costs + metric.c_alarm * alarms * (1 - metric.p_target)
    return float(costs.min() / min(metric.c_miss * metric.p_target,
                                   metric.c_alarm * (1 - metric.p_target)))  # fmt: skip


def _class_weighted(metric: Any, truth: Any, predictions: Any) -> float:
    """Return the loss as the code that PLAsTiCC published computes it."""
    chances = np.clip(predictions, metric.clip, 1 - metric.clip)
    weights, losses = {0: 1.0, 1: 2.0, 2: 1.0}, []
    for label in range(3):
        losses.append(-np.log(chances[truth == label, label]).mean() * weights[label])
    return float(np.sum(losses) / sum(weights.values()))


def _ams(metric: Any, truth: Any, predictions: Any) -> float:
    weights = metric._weights
    s, b = (float(weights[(predictions == 1) & (truth == label)].sum()) for label in (1, 0))
    return float(np.sqrt(2 * ((s + b + 10) * np.log(1 + s / (b + 10)) - s)))


def _coverage(metric: Any, truth: Any, predictions: Any) -> float:
    inside = [low <= y <= high for y, (low, high) in zip(truth, predictions, strict=True)]
    return abs(sum(inside) / len(inside) - metric.level)


def _word_errors(metric: Any, truth: Any, predictions: Any) -> float:
    jiwer = pytest.importorskip("jiwer")
    return float(jiwer.wer(list(truth), list(predictions)))


def _sacrebleu(name: str) -> Callable[[Any, Any, Any], float]:
    def score(metric: Any, truth: Any, predictions: Any) -> float:
        scorers = pytest.importorskip("sacrebleu.metrics")
        return float(getattr(scorers, name)().corpus_score(list(predictions), [list(truth)]).score)

    return score


def _trec(measure: str) -> Callable[[Any, Any, Any], float]:
    def score(metric: Any, truth: Any, predictions: Any) -> float:
        evaluation = pytest.importorskip("pytrec_eval")
        read = [
            {str(position): json.loads(cell) for position, cell in enumerate(cells)}
            for cells in (truth, predictions)
        ]
        run = {
            query: {doc: float(score) for doc, score in docs.items()}
            for query, docs in read[1].items()
        }
        scores_of_queries = evaluation.RelevanceEvaluator(read[0], {measure}).evaluate(run)
        name = measure.replace(".", "_")
        return sum(scores_of_query[name] for scores_of_query in scores_of_queries.values()) / len(
            truth
        )

    return score


def _scale(n: int) -> dict[str, Any]:
    return {"scale": RNG.uniform(0.5, 2.0, n), "benchmark": RNG.normal(3.0, 1.0, n)}


def _owa(metric: Any, truth: Any, predictions: Any) -> float:
    """Return the mean of the two ratios of the M4 competition."""

    def smape(forecast: Any) -> float:
        return float(np.mean(200 * np.abs(truth - forecast) / (np.abs(truth) + np.abs(forecast))))

    def mase(forecast: Any) -> float:
        return float(np.mean(np.abs(truth - forecast) / metric._scale))

    naive = metric._benchmark
    return (smape(predictions) / smape(naive) + mase(predictions) / mase(naive)) / 2


def _mase(metric: Any, truth: Any, predictions: Any) -> float:
    return float(np.mean(np.abs(truth - predictions) / metric._scale))


def _rmsse(metric: Any, truth: Any, predictions: Any) -> float:
    series = zip(truth, predictions, metric._scale, strict=True)
    return float(np.mean([np.sqrt(np.mean((y - f) ** 2) / scale) for y, f, scale in series]))


def _labels(n: int, m: int, k: int = 2) -> tuple[Any, Any]:
    return RNG.integers(0, k, n), RNG.integers(0, k, (m, n))


def _scores(n: int, m: int) -> tuple[Any, Any]:
    truth = RNG.integers(0, 2, n)
    return truth, np.round(RNG.normal(size=(m, n)) + truth, 1)


def _numbers(n: int, m: int, *steps: int) -> tuple[Any, Any]:
    return RNG.normal(3, 1, (n, *steps)), RNG.normal(3, 1, (m, n, *steps))


def test_a_class_without_rows_has_no_part_in_a_mean_over_the_classes() -> None:
    """Losses ln 2 of the only row of a, and ln 4 of that of b, which counts twice; none is of c."""
    metric = replace(METRICS["class_weighted_log_loss"], weights="b:2 c:5")
    predictions = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])
    score = metric.for_classes(("a", "b", "c")).score(np.array([0, 1]), predictions)
    assert score == pytest.approx(np.log(2) * (1 + 2 * 2) / 3)


def test_crps_of_three_samples_by_hand() -> None:
    """0, 4 and 8 are 8/3 from 4 on average. The three pairs differ by 4, 4 and 8, each twice:
    half of the mean over 9 pairs with themselves is 16/9, over the 6 others 16/6."""
    truth, samples = np.array([4.0]), np.array([[8.0, 0.0, 4.0]])
    for fair, expected in ((False, 8 / 3 - 16 / 9), (True, 0.0)):
        metric = replace(METRICS["crps"], samples=3, fair=fair)
        assert metric.score(truth, samples) == pytest.approx(expected)


CASES: dict[str, tuple[Any, Any, Callable[[Any, Any, Any], float]]] = {
    "wis": (replace(METRICS["wis"], levels=(0.05, 0.25, 0.5, 0.75, 0.95)), None, _wis),
    "crps": (replace(METRICS["crps"], samples=7), None, _crps),
    "crps, fair": (replace(METRICS["crps"], samples=5, fair=True), None, _crps),
    "interval coverage": (METRICS["interval_coverage_error"], None, _coverage),
    "eer": (METRICS["eer"], lambda: _scores(60, 3), _eer),
    "min_dcf": (METRICS["min_dcf"], lambda: _scores(60, 3), _min_dcf),
    "min_dcf, costs": (
        replace(METRICS["min_dcf"], p_target=0.3, c_miss=10.0), lambda: _scores(60, 3), _min_dcf,
    ),
    "class-weighted log loss": (
        replace(METRICS["class_weighted_log_loss"], weights="b:2").for_classes(("a", "b", "c")),
        lambda: (RNG.integers(0, 3, 60), RNG.dirichlet(np.ones(3), (3, 60))),
        _class_weighted,
    ),
    "ams": (
        _bound(METRICS["ams"], 60, Weight=RNG.uniform(0, 3, 60)), lambda: _labels(60, 3), _ams,
    ),
    "mase": (_bound(METRICS["mase"], 60, **_scale(60)), lambda: _numbers(60, 3), _mase),
    "rmsse": (_bound(METRICS["rmsse"], 60, **_scale(60)), lambda: _numbers(60, 3, 4), _rmsse),
    "owa": (_bound(METRICS["owa"], 60, **_scale(60)), lambda: _numbers(60, 3), _owa),
    "word error rate": (METRICS["word_error_rate"], None, _word_errors),
    "bleu": (METRICS["bleu"], None, _sacrebleu("BLEU")),
    "chrf": (METRICS["chrf"], None, _sacrebleu("CHRF")),
    "map": (METRICS["trec_map"], None, _trec("map")),
    "ndcg": (METRICS["trec_ndcg"], None, _trec("ndcg")),
    "ndcg at 3": (replace(METRICS["trec_ndcg"], k=3), None, _trec("ndcg_cut.3")),
    "mrr": (METRICS["trec_mrr"], None, _trec("recip_rank")),
    "recall": (replace(METRICS["trec_recall"], k=5), None, _trec("recall.5")),
}  # fmt: skip
_NEEDS = {"word error rate": "rapidfuzz", "bleu": "sacrebleu", "chrf": "sacrebleu"}


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("metric", "problem", "reference"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] if case[2] in (_wis, _crps) else [])
        for name, case in CASES.items()  # scoringrules takes seconds to import
    ],
)
def test_scores_and_resamples_are_those_of_the_reference(
    request: pytest.FixtureRequest, metric: Any, problem: Any, reference: Any
) -> None:
    if needed := _NEEDS.get(request.node.callspec.id):
        pytest.importorskip(needed)
    truth, submissions = problem() if problem else metric.example(60, 3, RNG)
    scores = [metric.score(truth, predictions) for predictions in submissions]
    expected = [reference(metric, truth, predictions) for predictions in submissions]
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    if not hasattr(metric, "resample"):
        return
    weights = RNG.integers(0, 4, (len(truth), 3)).astype(np.uint8)
    resampled = metric.resample(truth, submissions, weights)
    for b, weight in enumerate(weights.T):
        rows = np.repeat(np.arange(len(truth)), weight)
        if hasattr(metric, "for_rows"):
            direct = [metric.score(truth, predictions, weight) for predictions in submissions]
        else:
            direct = [metric.score(truth[rows], predictions[rows]) for predictions in submissions]
        np.testing.assert_allclose(resampled[:, b], direct, rtol=1e-9)


@pytest.mark.parametrize(
    "modality", [modality.load() for modality in MODALITIES], ids=lambda modality: modality.name
)
def test_the_modalities_pass_their_checks(modality: Any) -> None:
    check_modality(modality).require()


SQUAD = {
    # answer, references, exact match, F1: as evaluate-v2.0.py of SQuAD computes them
    "articles and case": ("the Cat", ["A cat!"], 1.0, 1.0),
    "best of several": ("black cat", ["dog", "the black cat sat"], 0.0, 0.8),
    "nothing in common": ("dog", ["cat"], 0.0, 0.0),
    "no answer, rightly": ("", [""], 1.0, 1.0),
    "no answer, wrongly": ("", ["cat"], 0.0, 0.0),
    "repeated words": ("cat cat", ["cat dog cat"], 0.0, 0.8),
}


@pytest.mark.parametrize(("answer", "references", "exact", "f1"), SQUAD.values(), ids=SQUAD)
def test_answers_are_compared_as_in_squad(
    answer: str, references: list[str], exact: float, f1: float
) -> None:
    for cell in [json.dumps(references), *references[: len(references) == 1]]:
        truth, predictions = np.array([cell], dtype=object), np.array([answer], dtype=object)
        assert METRICS["exact_match"].score(truth, predictions) == exact
        assert METRICS["token_f1"].score(truth, predictions) == pytest.approx(f1)


@pytest.mark.slow
def test_a_forecasting_hub_is_scored_in_both_forms() -> None:
    levels = ("0.25", "0.5", "0.75")
    truth = {"location": ["x", "y", "z"], "day": [1, 1, 2], "target": [1.0, 2.0, 4.0]}
    wide = {"location": ["z", "x", "y"], "day": [2, 1, 1], "q0.25": [3, 0, 1], "q0.5": [4, 1, 3],
            "q0.75": [6, 3, 5]}  # fmt: skip
    rows = [
        {"location": wide["location"][row], "day": wide["day"][row], "output_type": "quantile",
         "output_type_id": level + "0" * (row == 1), "value": wide[f"q{level}"][row]}
        for row in range(3) for level in levels
    ]  # fmt: skip
    rows.append(
        {"location": "x", "day": 1, "output_type": "mean", "output_type_id": "", "value": 9}
    )
    long = {key: [str(row[key]) for row in rows] for key in rows[0]}
    metric = "wis(levels=[0.25, 0.5, 0.75])"
    board = arena.score(truth, {"wide": wide, "long": long}, metric=metric, id="location,day",
                        target="target", intervals=False)  # fmt: skip
    assert not board.rejected
    assert len({standing["score"] for standing in board.standings}) == 1
    long["location"][0], long["day"][0] = "x", "1"
    faults = arena.score(truth, {"wide": wide, "long": long}, metric=metric, id="location,day",
                         target="target", intervals=False).rejected[0].faults  # fmt: skip
    assert {"duplicate value", "empty cell"} <= {fault.kind for fault in faults}


def test_each_space_is_a_character() -> None:
    """As jiwer's ``cer``."""
    pytest.importorskip("rapidfuzz")
    metric = replace(METRICS["word_error_rate"], unit="character")
    truth, predictions = (np.array([text], dtype=object) for text in (" a  b", "a b"))
    assert metric.score(truth, predictions) == 0.25


def test_the_one_group_of_four_words_that_is_missed_counts_as_half() -> None:
    """Of groups of 1, 2, 3 and 4 words, 3 of 4, 2 of 3, 1 of 2 and none of 1 are right."""
    truth, sent = (np.array([text], dtype=object) for text in ("a b c d", "a b c x"))
    expected = 100 * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** (1 / 4)
    assert METRICS["bleu"].score(truth, sent) == pytest.approx(expected)


def test_scores_of_a_run_are_numbers_for_judged_queries(tmp_path: Path) -> None:
    """q9 has no judgements, and q3 no documents."""
    lines = "q9 Q0 c 1 8 x\nq1 Q0 b 1 3.5 x\nq1 Q0 a 2 -1 x\n\nq2 Q0 c 2 8 x\n"
    run = {"q9": {"c": 8}, "q1": {"b": 3.5, "a": -1}, "q2": {"c": 8}}
    wrong: dict[str, Any] = {"d": "1", "e": True, "f": None, "g": math.inf, "h": math.nan}
    ids = pa.array(["q1", "q2", "q3"])

    def read(text: str, faults: FaultList) -> Any:
        (tmp_path / "run").write_text(text)
        return Retrieval().read_submission(
            tmp_path / "run",
            ids,
            ("query", "documents"),
            sizes=None,
            max_bytes=1_000,
            faults=faults,
        )

    for text in (lines, json.dumps(run)):
        faults = FaultList()
        table = read(text, faults).table
        assert table.columns[0].to_pylist() == ["q1", "q2", "q3"]
        assert [json.loads(cell) for cell in table.columns[1].to_pylist()] == [
            run["q1"], run["q2"], {},
        ]  # fmt: skip
        assert not faults
    faults = FaultList()
    read(json.dumps({"q1": {"a": 1, **wrong}, "q2": {"b": 0.5}}), faults)
    assert [fault.message for fault in faults.to_tuple()] == [
        f"The value of document '{document}' is not a number." for document in wrong
    ]
    for text in ("q1,Q0,b,1,3.5,x\n", "q1 Q0 b 1 3.5\n", '{"q1": 3}', "{}", "[1]", "{"):
        assert read(text, FaultList()) is None


@pytest.mark.slow
def test_files_of_trec_are_scored(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 2\nq3\t0\td\t1\n")
    (tmp_path / "run").write_text(
        "q1 Q0 b 1 3.5 x\nq1 Q0 a 2 3.5 x\nq2 Q0 z 1 9 x\nq2 Q0 c 2 8 x\nq9 Q0 c 1 8 x\n"
    )
    board = arena.score(tmp_path / "qrels", [tmp_path / "run"], metric="trec_map", intervals=False)
    # b is ranked above a, as in trec_eval: ties are broken by name; q3 has no documents.
    assert board.standings[0]["score"] == pytest.approx((0.5 + 0.5 + 0) / 3)
    (tmp_path / "qrels.json").write_text('{"q1": {"a": 1, "b": 0}, "q2": {"c": 2}, "q3": {"d": 1}}')
    (tmp_path / "run.json").write_text('{"q1": {"b": 3.5, "a": 3.5}, "q2": {"z": 9, "c": 8}}')
    again = arena.score(
        tmp_path / "qrels.json",
        [tmp_path / "run", tmp_path / "run.json"],
        metric="trec_map",
        intervals=False,
    )
    assert {row["score"] for row in again.standings} == {board.standings[0]["score"]}
    (tmp_path / "bad").write_text("q1 Q0 b 1 x y\nq1 Q0 a 2\nq1 Q0 a 2 1 x\nq1 Q0 a 2 1 x\n")
    board = arena.score(tmp_path / "qrels", [tmp_path / "bad"], metric="trec_map", intervals=False)
    assert [(fault.kind, fault.row) for fault in board.rejected[0].faults] == [
        ("wrong number of fields", 2), ("not a number", 1), ("duplicate document", 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "columns"),
    [("mase", {}), ("owa", {"scale": [1.0, 1.0]}), ("rmsse", {"scale": [1.0, 0.0]})],
)
def test_missing_scales_are_named(metric: str, columns: dict[str, Any]) -> None:
    rows = {"id": ["a", "b"], "y": [1.0, 2.0], **columns}
    with pytest.raises(MetricError, match=r"scale"):
        arena.score(rows, {"t": {"id": ["a", "b"], "y": [1.0, 2.0]}}, metric=metric, target="y")
