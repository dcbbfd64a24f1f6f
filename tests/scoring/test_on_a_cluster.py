"""Scores and boards from a cluster: the same numbers as on this machine, to the last digit."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from arena.errors import ScoringError
from arena.evaluation import black_box
from arena.evaluation.predictions import ArrayPredictions, MappedPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.utils.engines import open_engine, using
from arena.utils.parallel import NoProgress
from clusters import InProcess, dask_cluster
from scenario import Scenario
from toy_metrics import BlackBoxRmse, PointwiseRmse, Recall, ResampledRmse

KAGGLE = Path(__file__).parents[1] / "support" / "foreign_metrics" / "kaggle_fbeta.py"


@pytest.fixture
def worth_it(monkeypatch):
    """Send also what would take this machine no time."""
    monkeypatch.setattr(black_box, "SECONDS_WORTH_A_PROCESS", 0.0)
    monkeypatch.setattr(black_box, "SECONDS_OF_A_SENT_TASK", 1e-6)
    monkeypatch.setattr(black_box, "SENT_TASKS_PER_SECOND", 1e9)


@pytest.mark.parametrize("metric", [BlackBoxRmse(), PointwiseRmse(), ResampledRmse()])
def test_resampled_scores_are_the_same(worth_it, metric):
    rng = np.random.default_rng(0)
    truth, values = rng.random(40), rng.random((5, 40))
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=7).T.astype(np.uint8)
    here = score_under_weights(metric, truth, ArrayPredictions(values), weights)
    cluster = InProcess()
    with using(cluster.engine()):
        on_cluster = score_under_weights(metric, truth, ArrayPredictions(values), weights)
    assert cluster.calls == (33 if type(metric) is BlackBoxRmse else 1)
    assert (here == on_cluster).all()


class Counted:
    """Predictions that a worker reads itself, as a place of objects gives them."""

    def __init__(self, values):
        self.values = values

    @property
    def n_submissions(self):
        return len(self.values)

    def blocks(self, size):
        raise AssertionError("read here, to be sent")

    def subset(self, submissions):
        return Counted(self.values[submissions])

    def for_workers(self):
        return ArrayPredictions(self.values)


@pytest.mark.parametrize("metric", [PointwiseRmse(), ResampledRmse()])
def test_what_workers_can_read_is_not_sent(worth_it, metric):
    rng = np.random.default_rng(0)
    truth, values = rng.random(40), rng.random((5, 40))
    weights = rng.multinomial(40, np.full(40, 1 / 40), size=7).T.astype(np.uint8)
    here = score_under_weights(metric, truth, ArrayPredictions(values), weights)
    halved = MappedPredictions(Counted(values * 2), half)
    for predictions in (Counted(values), halved, halved.subset(np.arange(5))):
        with using(InProcess().engine()):
            assert (score_under_weights(metric, truth, predictions, weights) == here).all()


def half(block):
    return block / 2


class Refuses(Recall):
    def score(self, truth, prediction, weight=None):
        if prediction[0] == 2:
            raise ScoringError("not a label", "refused", "not a label")
        return super().score(truth, prediction, weight)


def test_scores_and_refusals_are_the_same(worth_it):
    truth = np.array([0, 1, 1, 0])
    some = [[0, 1, 0, 0], [2, 1, 1, 1], [1, 1, 1, 1]]
    values = ArrayPredictions(np.array(some + some))
    outcomes = []
    for engine in (None, InProcess().engine()):
        failures: list[tuple[int, ScoringError]] = []
        if engine is None:
            scores = full_scores(Refuses(), truth, values, failures=failures)
        else:
            with using(engine):
                scores = full_scores(Refuses(), truth, values, failures=failures)
                with pytest.raises(ScoringError, match="not a label"):
                    full_scores(Refuses(), truth, values)
        outcomes.append((scores.tolist(), [(position, str(error)) for position, error in failures]))
    np.testing.assert_equal(outcomes[0], outcomes[1])
    refused = [(1, "not a label"), (4, "not a label")]
    np.testing.assert_equal(outcomes[0], ([0.5, np.nan, 1.0] * 2, refused))


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("distributed"), reason="dask is not installed")
@pytest.mark.filterwarnings("default")
def test_a_metric_of_another_platform_gives_the_same_board_on_dask(scenario: Scenario, monkeypatch):
    monkeypatch.setattr(black_box, "SECONDS_WORTH_A_PROCESS", 0.0)
    name = f"kaggle:{KAGGLE}(beta=2)"
    with scenario.create(metric=name, resamples=5, intervals=True) as competition:
        for number in range(3):
            competition.submit(scenario.file(number), f"team {number}")
        here = competition.finalize().to_dict()
        changes = competition.rescore()
        progress = Said()
        with dask_cluster() as address, open_engine("dask", address):
            assert competition.finalize(progress=progress).to_dict() == here
            assert competition.rescore() == changes
        assert "2 workers (dask)" in " ".join(progress.messages)
        assert len([event for event in competition.events() if event.kind == "finalized"]) == 1


class Said(NoProgress):
    def __init__(self):
        self.messages = []

    def say(self, message):
        self.messages.append(message)
