"""A small study of ranks, with models that need no training: everything that it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import arena
import arena_metrics
import arena_ranking
from arena.errors import PluginError, UsageError
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from arena.report.rank_simulation import rank_simulation_report
from arena.simulation.data import TrainingRows
from arena.simulation.ranks import coverage as coverage_module
from arena.simulation.ranks import prepare as prepare_module
from arena.simulation.ranks.coverage import Boards
from arena.simulation.ranks.outcome import (
    WinFrequency,
    effective_trials,
    rank_quantiles,
    shares_of_wins,
    wilson_interval,
    win_frequency,
)
from arena.simulation.ranks.prepare import prepare
from arena.simulation.ranks.scores import ModelScores
from arena.simulation.ranks.study import (
    RowsNeeded,
    rows_for_probabilities,
    simulation_verdict,
)
from arena.simulation.requests import RanksRequest
from arena.types import FloatArray
from arena.utils.parallel import NoProgress
from arena.utils.tabular import as_json
from kept import check_kept, check_kept_document
from study_boards import Accuracy, make_study

TEST_ROWS, COMPETITORS, TESTS = (50, 200), (2, 4), 4


@dataclass(frozen=True)
class Steps:
    """Models that know the trend of one feature, up to noise that is each one's own."""

    name: str = "steps"

    def start(self, *_: Any) -> Any:
        raise NotImplementedError

    def identity(self) -> str:
        return "steps 1"

    def check(self, rows: TrainingRows) -> None:
        assert len(rows.training.target) == 30
        assert len(rows.validation.target) == 20

    def draw(self, rng: np.random.Generator) -> Mapping[str, Any]:
        return {"noise": float(rng.random()), "seed": int(rng.integers(100))}

    def predictions(
        self, rows: TrainingRows, key: str, features: FloatArray, settings: Mapping[str, Any]
    ) -> npt.NDArray[np.float32]:
        noise = np.random.default_rng(settings["seed"]).random(len(features))
        blurred = features[:, 1] + settings["noise"] * (noise - 0.5)
        return np.clip(blurred, 0, 1).astype(np.float32)


class Provider:
    """A plugin that provides this competitor."""

    @hookimpl
    def provide_competitors(self) -> list[Steps]:
        return [Steps()]


class Said(NoProgress):
    """Keeps what is announced, without times."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, text: str) -> None:
        assert all(int(seconds) < 600 for seconds in re.findall(r"(\d+) s\.", text))
        self.sentences.append(re.sub(r"\d+ s\.", "TIME.", text))


@pytest.fixture(scope="module")
def manager() -> PluginManager:
    manager = PluginManager(entry_points=False)
    for plugin in (arena_metrics, arena_ranking, Provider()):
        manager.register(plugin, getattr(plugin, "__name__", "a stranger's"))
    return manager


def test_everything_that_a_small_study_says(
    tmp_path: Path, manager: PluginManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    progress = Said()
    result = arena.simulate_ranks(
        TEST_ROWS, COMPETITORS, metric="roc_auc", tests=TESTS, sets=2, boards=2, resamples=40,
        train_rows=30, validation_rows=20, population=600, search="steps", models="models",
        workers=1, manager=manager, progress=progress,
    )  # fmt: skip
    report = rank_simulation_report(result)
    document = {
        "said": progress.sentences,
        "result": result.to_dict(),
        "report": as_json(asdict(report)),
    }
    check_kept_document("rank-study", document)

    # The best of the models 0 to 3 is that of the highest true score; a win shared by k is 1/k.
    for wins in result.by_set[0]:
        first = 0.0
        shown_scores = result.scores.competition[wins.test_rows]
        groups = [range(start, start + wins.competitors) for start in range(0, 4, wins.competitors)]
        for models in groups:
            best = max(models, key=result.scores.true.__getitem__)
            for test in range(TESTS):
                top = max(shown_scores[model, test] for model in models)
                winners = [model for model in models if shown_scores[model, test] == top]
                first += (best in winners) / len(winners)
        assert wins.frequency == pytest.approx(first / (TESTS * len(groups)))


def test_a_test_has_at_most_the_rows_of_the_population(manager: PluginManager) -> None:
    study_request = RanksRequest(
        test_rows=(20, 50), competitors=(2,), search="steps", train_rows=30, validation_rows=20
    )
    assert prepare(replace(study_request, population=50), manager).world.population.n_rows == 50
    assert prepare(study_request, manager).world.population.n_rows == 5 * 50
    with pytest.raises(UsageError) as refused:
        prepare(replace(study_request, population=49), manager)
    assert str(refused.value) == (
        "Tests of 50 rows need a population of at least as many, not 49; request more with "
        "--population, or fewer --test-rows."
    )


@pytest.mark.parametrize(
    ("wins", "trials"),
    [
        # Means by test of 1 and 0.5: (0.75 * 0.25) / (0.125 / 2) = 3, of at most 4.
        ([[1, 0], [1, 1]], 3.0),
        # Means of 1, 0, 1, 0: 0.25 / (1 / 3 / 4) = 3.
        ([[1, 0, 1, 0]], 3.0),
        # Means of 1, 1, 1, 2/3: the variance is 1/36, and (11/12 * 1/12) / (1/144) = 11.
        ([[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1]], 11.0),
        # Tests that all have the same mean, and a single one, count as they are.
        ([[1, 0], [0, 1]], 2.0),
        ([[1], [0], [0]], 1.0),
    ],
)
def test_wins_of_groups_on_the_same_tests_are_fewer_trials(
    wins: list[list[int]], trials: float
) -> None:
    assert effective_trials(np.array(wins, dtype=float)) == pytest.approx(trials)


def test_a_win_is_shared_by_those_that_tie_for_it() -> None:
    true, competition = np.array([0.9, 0.9, 0.5]), np.array([[3, 1, 1], [3, 0, 2], [3, 0, 3.0]])
    # Both that are truly best count: 2 of 3 that tie, 1 of 1, and 0 of 1.
    assert shares_of_wins(true, competition, greater=True) == pytest.approx([2 / 3, 1, 0])
    # The smallest is the truly best: in the first test 1 of 3, then those with 0 and with 1.
    assert shares_of_wins(true, competition, greater=False) == pytest.approx([1 / 3, 1 / 2, 0])


def test_the_verdict_in_every_state_is_kept() -> None:
    """100 times 200 rows is as far as tests of 200 rows are extrapolated."""
    wins = WinFrequency(200, 4, 0.425, low=0.25, high=0.75, populations=1)
    two = replace(wins, populations=2)
    needed = RowsNeeded(4, 0.9, 150.4, low=100.0, high=300.0)
    scores = SimpleNamespace(
        true=np.array([0.9, 0.8, 0.7, 0.6, 0.5]), constant=0.55, greater_is_better=True
    )
    usual: dict[str, Any] = {
        "settings": SimpleNamespace(test_rows=(50, 200), competitors=(2, 4)), "scores": scores,
        "win_frequency": [replace(wins, test_rows=50), replace(wins, competitors=2), wins],
        "rows_needed": [replace(needed, probability=0.5, rows=9.0), needed], "by_set": (),
    }  # fmt: skip
    states: dict[str, dict[str, Any]] = {
        "one set": {},
        "two sets of one training": {"win_frequency": [two]},
        "two trainings": {"by_set": ((wins, replace(wins, competitors=2, frequency=0.01)),
                                     (replace(wins, frequency=0.875),))},
        "a constant is as good": {"scores": SimpleNamespace(**{**vars(scores), "constant": 0.9})},
        "a constant is as good as the fifth": {
            "scores": SimpleNamespace(**{**vars(scores), "constant": 0.5})
        },
        **{
            name: {"rows_needed": [replace(needed, **changes)]}
            for name, changes in {
                "fewer rows": {"rows": 0.0}, "200 rows": {"rows": 200.0},
                "201 rows": {"rows": 201.0}, "20,000 rows": {"rows": 20_000.0, "high": 20_000.0},
                "20,001 rows": {"rows": 20_001.0}, "to 20,001 rows": {"high": 20_001.0},
                "no limit": {"high": None},
            }.items()
        },
    }  # fmt: skip
    lines = []
    for name, changes in states.items():
        result: Any = SimpleNamespace(**{**usual, **changes})
        lines += [f"== {name}", simulation_verdict(result)]
    check_kept("rank-verdicts.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("metric", "n_classes", "kind", "megabytes"),
    [
        ("mse", None, "value", 40),
        ("accuracy", 2, "label", 40),  # a probability of the second class
        ("accuracy", 3, "label", 120),
        ("log_loss", 4, "class probabilities", 160),
    ],
)
def test_a_study_is_announced_with_its_disk_space(
    monkeypatch: pytest.MonkeyPatch, metric: str, n_classes: Any, kind: str, megabytes: int
) -> None:
    """Ten models on a million rows: 4 bytes a number."""
    monkeypatch.setattr(prepare_module, "missing_models", lambda folder, count: range(count - 3))
    prepared: Any = SimpleNamespace(
        request=SimpleNamespace(n_models=10, test_rows=(50, 2_000), tests=4, boards=1),
        world=SimpleNamespace(
            name="own", population=SimpleNamespace(n_rows=10**6),
            rows=SimpleNamespace(n_classes=n_classes, training=SimpleNamespace(target=range(30))),
        ),
        metric=PluginManager().metrics.resolve(metric), search=SimpleNamespace(name="steps"),
    )  # fmt: skip
    folder: Any = SimpleNamespace(path="models")
    engine: Any = SimpleNamespace(workers=2, name="here")
    assert prepare_module.describe_study(prepared, folder, engine) == (
        f"steps on own, predictions of the kind {kind}: 7 of 10 models to train on 30 rows, 2 at "
        "once (here); then 4 tests of 50 and 2,000 rows out of 1,000,000, 1 analysed as boards. "
        f"Disk space: {megabytes} MB in models."
    )


def test_ranges_hold_the_true_ranks_and_a_withheld_one_excludes_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two boards the second withholds no range, and misses the best of three models."""
    truth, predictions = np.zeros(4, dtype=np.intp), np.eye(3, 4, dtype=np.intp)
    study, numbers = make_study(Accuracy(), truth, predictions, resamples=5), []

    def study_of_test(*_: Any, number: int, competitors: int, **__: Any) -> Any:
        numbers.append((number, competitors))
        return study

    ends = iter([([None, 1, 3], [None, 2, None]), ([2, 2, 3], [3, 2, 3])])
    simultaneous: dict[str, list[int | None]] = {}

    def rank(_: Any) -> Any:
        low, high = next(ends)
        simultaneous.update(rank_low=low, rank_high=high)
        return SimpleNamespace(columns=lambda: dict(simultaneous))

    spread = {"bootstrap_rank_low": [1, 1, 1], "bootstrap_rank_high": [1, 1, 3]}
    analysis: Any = SimpleNamespace(
        name="spread", run=lambda *_: SimpleNamespace(columns=dict(spread))
    )
    ranker: Any = SimpleNamespace(rank=rank)
    monkeypatch.setattr(coverage_module, "_study", study_of_test)
    nothing: Any = None
    settings = Boards(boards=2, resamples=5, level=0.9, seed=1, workers=1)
    true = np.array([0.9, 0.8, 0.7])

    def covered() -> Any:
        return coverage_module.coverage(
            nothing, Accuracy(), ranker, analysis, folder=nothing, true=true, test_rows=4,
            settings=settings,
        )  # fmt: skip

    (whole, bootstrapped), first = covered()
    assert numbers == [(0, 3), (1, 3)]
    assert (whole.kind, whole.all_ranks, whole.best, whole.each) == ("intervals", 0.5, 0.5, 5 / 6)
    assert (bootstrapped.kind, bootstrapped.all_ranks, bootstrapped.best) == ("spread", 0.0, 1.0)
    assert (bootstrapped.each, bootstrapped.boards, bootstrapped.level) == (2 / 3, 2, 0.9)
    low, high = first.ranges["intervals"]
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [3, 2, 3])
    assert (first.true_ranks.tolist(), first.ranks.tolist()) == ([1, 2, 3], [1, 1, 1])
    del spread["bootstrap_rank_high"]
    ends = iter([([1, 1, 1], [1, 1, 1])])
    with pytest.raises(PluginError, match="'spread' delivers no bootstrap_rank_high"):
        covered()


def test_figures_of_wins_are_kept() -> None:
    rng = np.random.default_rng(0)
    true = np.linspace(0.9, 0.6, 7)
    model_scores = {
        rows: true[:, None] + rng.normal(size=(7, 40)) / rows**0.5 for rows in (25, 400)
    }
    document = {}
    for greater in (True, False):
        scores = ModelScores(true, model_scores, greater)
        document["larger" if greater else "smaller"] = {
            "wins": [asdict(win_frequency(scores, rows, 3)) for rows in (25, 400)],
            "ranks": [asdict(rank_quantiles(scores, rows, 4)) for rows in (25, 400)],
            "needed": [asdict(needed) for needed in rows_for_probabilities(scores, 3)],
            "ends": [wilson_interval(share, 9) for share in (0.0, 0.25, 1.0)],
        }
    check_kept_document("rank-figures", as_json(document))
