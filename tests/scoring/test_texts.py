"""Metrics of texts and of rows that must be known, through a whole competition."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.config import Settings
from arena.errors import InputError, MetricError
from arena.evaluation.multi_target import mean_over_targets
from arena.scoring.columns import meaning_of_columns
from arena.scoring.validation import validate
from arena.types import PredictionKind
from arena.utils.parallel import NoProgress
from arena_metrics.classification import F1, Matthews
from arena_metrics.pointwise import Accuracy
from arena_metrics.ranking import RocAuc
from arena_metrics.segmentation import Dice
from competition_info import info_of
from program import run_here, write_csv

N_ROWS = 60
IDS = [f"r{row:02d}" for row in range(N_ROWS)]
Rows = list[tuple[Any, ...]]


def _list_of_items(rng: Any) -> str:
    items = ["a", 'b"', "c,d", "é", "-1", "=f"]
    separators = [" ", "\n", "\t", "\r", "  "]
    chosen = rng.choice(items, rng.integers(0, 4), replace=False)
    return str(rng.choice(separators)).join(chosen)


def _mask(rng: Any) -> str:
    steps = np.cumsum(rng.integers(1, 9, 2 * rng.integers(0, 4)))
    return " ".join(f"{a} {b - a}" for a, b in zip(steps[::2], steps[1::2], strict=True))


def _texts(make: Callable[[Any], str]) -> Callable[[Any], tuple[Rows, list[Rows]]]:
    def problem(rng: Any) -> tuple[Rows, list[Rows]]:
        truth = [make(rng) for _ in IDS]
        submissions = [
            [cell if rng.random() < share else make(rng) for cell in truth]
            for share in (0.9, 0.5, 0.1)
        ]
        return list(zip(IDS, truth, strict=True)), [
            list(zip(IDS, s, strict=True)) for s in submissions
        ]

    return problem


def _numbers(beside: Callable[[int], Any], sign: int) -> Callable[[Any], tuple[Rows, list[Rows]]]:
    def problem(rng: Any) -> tuple[Rows, list[Rows]]:
        truth = rng.integers(0, 4, N_ROWS).tolist()
        solution = [(id, beside(row), truth[row]) for row, id in enumerate(IDS)]
        submissions = [
            np.array(truth) * sign + noise * rng.normal(size=N_ROWS) for noise in (0.1, 2, 30)
        ]
        return solution, [list(zip(IDS, values.tolist(), strict=True)) for values in submissions]

    return problem


@dataclass(frozen=True)
class Life:
    """A metric, its files, and the settings that it needs."""

    metric: str
    columns: tuple[str, ...]
    problem: Callable[[Any], tuple[Rows, list[Rows]]]
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def target(self) -> str:
        return self.columns[-1]


LIVES = (
    Life("map_at_k(k=3)", ("items",), _texts(_list_of_items)),
    Life("dice", ("rle",), _texts(_mask)),
    Life("iou", ("rle",), _texts(_mask)),
    Life(
        "ndcg_at_k(k=3)",
        ("query", "relevance"),
        _numbers(lambda row: f"q{row % 12}", 1),
        {"target": ["relevance"], "cluster": "query"},
    ),
    Life(
        "concordance_index(predicts=risk)", ("event", "time"), _numbers(lambda row: row % 3 % 2, -1)
    ),
)


@pytest.fixture(params=LIVES, ids=lambda life: life.metric)
def life(request: pytest.FixtureRequest, tmp_path: Path) -> Life:
    """Write solution.csv and three submissions, the first the best."""
    life: Life = request.param
    solution, submissions = life.problem(np.random.default_rng(4))
    write_csv(tmp_path / "solution.csv", ["id", *life.columns], solution)
    for number, rows in enumerate(submissions):
        write_csv(tmp_path / "submissions" / f"t{number}.csv", ["id", life.target], rows)
    return life


def _made(folder: Path, life: Life) -> Competition:
    settings = Settings.model_validate(
        {"metric": {"name": life.metric}, "data": life.data, "analysis": {"resamples": 60}}
    )
    return Competition.create(folder / "c", folder / "solution.csv", settings, seed=1)


@pytest.mark.slow
def test_a_competition_lives_from_its_making_to_its_verification(
    tmp_path: Path, life: Life
) -> None:
    files = sorted((tmp_path / "submissions").iterdir())
    with _made(tmp_path, life) as competition:
        sample = competition.submit(tmp_path / "c" / "sample_submission.csv", "sample")
        answers = [competition.submit(file, file.stem) for file in files]
    assert sample.status == "accepted"
    with Competition.open(tmp_path / "c") as competition:
        again = competition.submit(files[0], "t0")
        assert again == answers[0]
        released = [answer.released or 0.0 for answer in answers]
        assert released[0] == max(released) > min(released)
        result = competition.finalize()
        assert result.standings[0]["team"] == "t0"
        competition.export(tmp_path / "export")
        silence = NoProgress()
        solution, manager = tmp_path / "solution.csv", competition.manager
        assert verify_bundle(tmp_path / "export", solution, manager, silence) == ()


@pytest.mark.slow
def test_a_corrected_solution_is_scored_again(tmp_path: Path, life: Life) -> None:
    files = sorted((tmp_path / "submissions").iterdir())
    corrected, _ = life.problem(np.random.default_rng(99))
    write_csv(tmp_path / "corrected.csv", ["id", *life.columns], corrected[::-1])
    with _made(tmp_path, life) as competition:
        for file in files:
            competition.submit(file, file.stem)
        changes = competition.rescore(tmp_path / "corrected.csv", apply=True)
        assert all(change.score_before != change.score_after for change in changes)
        result = competition.finalize()
    after = {change.team: change.score_after for change in changes}
    assert {row["team"]: row["score"] for row in result.standings} == pytest.approx(after)


@pytest.mark.slow
def test_the_program_scores_and_validates_them(tmp_path: Path, life: Life) -> None:
    options = ["--metric", life.metric]
    options += [x for name in ("target", "cluster") if name in life.data
                for x in (f"--{name}", str(np.atleast_1d(life.data[name])[0]))]  # fmt: skip
    checked = run_here("validate", "solution.csv", "submissions", *options, cwd=tmp_path)
    assert checked.stdout == "3 valid, 0 rejected.\n"
    options += ["--resamples", "50", "--json"]
    called = run_here("score", "solution.csv", "submissions", *options, cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    standings = json.loads(called.stdout)["standings"]
    assert standings[0]["team"] == "t0"
    assert {row["team"] for row in standings} == {"t0", "t1", "t2"}


def test_without_queries_nothing_is_made(tmp_path: Path) -> None:
    write_csv(tmp_path / "solution.csv", ["id", "y"], [(id, 1) for id in IDS])
    with pytest.raises(MetricError, match="--cluster"):
        Competition.create(tmp_path / "c", tmp_path / "solution.csv", "ndcg_at_k")
    assert not (tmp_path / "c").exists()
    called = run_here("score", "solution.csv", "x.csv", "-m", "ndcg_at_k", cwd=tmp_path)
    assert (called.returncode, called.stdout) == (1, "")
    assert "--cluster" in called.stderr


# -- masks that cannot be scored -------------------------------------------------------------------


@pytest.mark.slow
def test_masks_that_cannot_be_scored_are_the_teams_to_mend(tmp_path: Path) -> None:
    write_csv(tmp_path / "solution.csv", ["id", "rle"], [(id, "1 3") for id in IDS])
    cells = ["1 3 2 2", "1", *["0 1"] * 25, *[""] * (N_ROWS - 27)]
    write_csv(tmp_path / "t.csv", ["id", "rle"], list(zip(IDS, cells, strict=True)))
    _, (rejected,) = validate(tmp_path / "solution.csv", [tmp_path / "t.csv"], "dice")
    assert [fault.kind for fault in rejected.faults] == [
        "runs out of order",
        "start without length",
        *["start before 1"] * 21,
    ]
    assert (rejected.faults[0].id, rejected.faults[0].column) == ("r00", "rle")
    assert "5 more" in rejected.faults[-1].message


def test_a_solution_that_cannot_be_scored_by_is_the_organisers_to_mend(tmp_path: Path) -> None:
    rows = [(id, "1 3", "5 1 1 1" if id == "r07" else "") for id in IDS]
    write_csv(tmp_path / "solution.csv", ["id", "a", "b"], rows)
    settings = Settings.model_validate({"metric": {"name": "dice"}, "data": {"target": ["a", "b"]}})
    with pytest.raises(InputError, match="id 'r07', column 'b': Run 2 of the mask starts before"):
        Competition.create(tmp_path / "c", tmp_path / "solution.csv", settings)


def test_of_several_targets_the_mean_is_taken_and_each_is_checked() -> None:
    metric: Any = mean_over_targets(Dice(), 2)
    truth = np.array([["1 2", "1 4"], ["", "1 1"]], dtype=object)
    perfect_in_one = np.array([["1 2", ""], ["", ""]], dtype=object)
    assert metric.score(truth, perfect_in_one) == 0.5
    info = info_of(metric, ["a", "b"], ["x", "y"])
    wrong = np.array([["1 2", ""], ["", "1"]], dtype=object)
    (fault,) = metric.faults(wrong, info)
    assert (fault.id, fault.column) == ("y", "b")


def test_the_positive_class_is_named_where_the_classes_are_not_exchangeable() -> None:
    def sentences(metric: Any, kind: PredictionKind) -> list[str]:
        target = SimpleNamespace(classes=("no", "yes"))
        solution: Any = SimpleNamespace(
            kind=kind, guessed_usage=None, columns=("y",), targets=(target,)
        )
        return meaning_of_columns(solution, metric)

    other = "; --positive names another class."
    named = {
        metric.name: sentences(metric, PredictionKind.LABEL)
        for metric in (F1(), Accuracy(), Matthews())
    }
    positive = f"The positive class of column y is yes{other}"
    assert named == {"f1": [positive], "accuracy": [], "mcc": []}
    assert sentences(RocAuc(), PredictionKind.SCORE) == [
        "In a submission, column y = P(yes), or any score that is larger for the positive "
        f"class{other}"
    ]
