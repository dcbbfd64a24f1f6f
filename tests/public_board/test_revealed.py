"""What one submission reveals: known attacks are found, and the default reveals no row."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.interfaces import HasRowValues, Metric, Scope
from arena.plugin.manager import PluginManager
from arena.public_board import advice, revealed
from arena.public_board.advice import default_mechanism, revealed_by_one, too_much_revealed
from arena.public_board.clipping import conceivable_scores
from arena.public_board.revealed import Revealed, is_measurable, learned, rows_revealed
from arena.types import PredictionKind, Release, Solution, Target
from program import write_csv

MANAGER = PluginManager()
N_ROWS = 300


def _solution(metric: Metric, n: int = N_ROWS) -> Solution:
    rng = np.random.default_rng(0)
    truth: Any = rng.integers(0, 2, n)
    if metric.prediction is PredictionKind.VALUE:
        truth = rng.exponential(size=n)
    elif metric.prediction is PredictionKind.TEXT:
        truth = rng.choice(["a word", "two words", "one"], n).astype(object)
    return Solution(
        id_column="id",
        targets=(Target("y", ("a", "b") if truth.dtype.kind == "i" else None),),
        columns=("y",),
        kind=metric.prediction,
        ids=pa.array([str(number) for number in range(n)]),
        truth=truth,
        usage=np.zeros(n, dtype=np.uint8),
        sha256="",
        extra=getattr(metric, "example_extra", lambda _: {})(n),
    )


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure what a mechanism reveals once in a test: it takes seconds, and is the same again."""
    measured: dict[tuple[object, ...], Revealed | None] = {}

    def once(
        metric: Metric, mechanism: str, solution: Solution, manager: PluginManager, **options: int
    ) -> Revealed | None:
        key = metric.name, mechanism, id(solution), *sorted(options.items())
        if key not in measured:
            measured[key] = revealed_by_one(metric, mechanism, solution, manager, **options)
        return measured[key]

    monkeypatch.setattr(advice, "revealed_by_one", once)


MEASURABLE = [entry.name for entry in MANAGER.metrics if is_measurable(entry.item)]


@pytest.mark.usefixtures("measured_once")
@pytest.mark.parametrize(
    "name",
    [
        name if name == "accuracy" else pytest.param(name, marks=pytest.mark.slow)
        for name in MEASURABLE
    ],
)
def test_the_default_reveals_no_row(name: str) -> None:
    metric = MANAGER.metrics.resolve(name)
    solution = _solution(metric)
    mechanism = default_mechanism(metric, solution, MANAGER)
    assert mechanism.startswith("ladder-free")
    revealed = advice.revealed_by_one(metric, mechanism, solution, MANAGER)
    assert revealed is not None
    assert revealed.shown_rows == 0, mechanism
    settings = Settings.of(metric=name, mechanism=mechanism)
    assert too_much_revealed(settings, solution, MANAGER) is None


@pytest.mark.slow
@pytest.mark.usefixtures("measured_once")
@pytest.mark.parametrize(
    ("name", "mechanism", "rows"),
    [
        ("accuracy", "full", 0.0),
        ("log_loss", "kaggle", 10.0),
        ("mse", "kaggle", 10.0),
        ("log_loss", "ladder-free(clip=2.8)", 1.0),
        ("f1", "ladder-free", 1.0),
    ],
)
def test_known_leaks_are_found(name: str, mechanism: str, rows: float) -> None:
    metric = MANAGER.metrics.resolve(name)
    solution = _solution(metric)
    revealed = advice.revealed_by_one(metric, mechanism, solution, MANAGER)
    assert revealed is not None
    assert revealed.shown_rows == pytest.approx(rows, abs=0.2)
    settings = Settings.of(metric=name, mechanism=mechanism)
    said = too_much_revealed(settings, solution, MANAGER)
    assert (said is not None) is (rows > 0)
    if said is not None:
        assert f"({mechanism}, {name}), and 0 are accepted" in said
        accepting = Settings.of(metric=name, mechanism=mechanism, accepted_rows=10)
        assert too_much_revealed(accepting, solution, MANAGER) is None


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("name", "mechanism", "n_classes", "rows"),
    [
        ("log_loss", "kaggle", 2, 1.0),
        ("accuracy", "full", 2, 0.0),
        ("mse", "kaggle", 0, 1.0),
        ("log_loss", "kaggle", 3, 1.0),
    ],
)
def test_one_row_is_revealed_or_not(name: str, mechanism: str, n_classes: int, rows: float) -> None:
    truth: Any = np.random.default_rng(0).exponential(size=60)
    if n_classes:
        truth = np.arange(60) % n_classes
    metric, oracle = MANAGER.metrics.resolve(name), MANAGER.mechanisms.resolve(mechanism)
    revealed = rows_revealed(metric, oracle, truth, n_classes, targets=1)
    assert revealed.shown_rows == rows


def test_designs_of_values_double_from_the_lower_quartile_within_a_trillion() -> None:
    # The quartiles are -30,000 and -10,000, so their distance is 20,000. The other rows get the
    # middle of the quartiles, zero, or a value 10,000 distances above the upper quartile.
    metric, full = MANAGER.metrics.resolve("mse"), MANAGER.mechanisms.resolve("full")
    truth = np.array([-3e4, -3e4, -1e4, -1e4])
    designs = list(revealed.ReleaseOracle(metric, full, truth, 0, teams=1, scope="team").designs())
    assert [design.other for design in designs] == np.repeat([-2e4, 0.0, 199_990_000.0], 5).tolist()
    steps = np.array([0.0, 2e4, 2e6, 2e8, 2e10] * 3)
    targets = np.stack([design.targets for design in designs])
    assert targets[:, :2].tolist() == np.stack([steps - 3e4, 2 * steps - 3e4], axis=1).tolist()
    assert targets.shape == (15, 10)
    assert targets.max() == 1e12  # the bound, as 512 times 2e10 exceeds it
    # Where the quartiles are equal, the minimum and the maximum are used instead.
    rare = np.array([5.0, 5.0, 5.0, 5.0, 9.0])
    oracle = revealed.ReleaseOracle(metric, full, rare, 0, teams=1, scope="team")
    assert next(oracle.designs()).targets[0] == 5.0
    assert {design.other for design in oracle.designs()} == {0.0, 5.0, 7.0, 40_009.0}
    far = revealed.ReleaseOracle(metric, full, np.full(5, -5e12), 0, teams=1, scope="team")
    assert {design.other for design in far.designs()} == {-1e12, 0.0}


def test_fewer_draws_are_made_of_more_targets_and_half_of_them_tell_what_scores_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    n_draws: Counter[int] = Counter()

    def released(_: Any, truth: Any, prediction: Any, seed: tuple[int, ...]) -> float:
        k, _draw, assignment = seed
        n_draws[k] += 1
        return float(assignment)  # which reveals all labels

    monkeypatch.setattr(revealed.ReleaseOracle, "_released", released)
    accuracy, full = MANAGER.metrics.resolve("accuracy"), MANAGER.mechanisms.resolve("full")
    revealed_rows = rows_revealed(accuracy, full, np.arange(20) % 2, 2)
    # For each of two designs: 100, 50, 25, 4 and 2 draws of 2, 4, 8, 64 and 1,024 assignments.
    assert n_draws == {1: 2 * 200, 2: 2 * 200, 3: 2 * 200, 6: 2 * 256, 10: 2 * 2_048}
    assert revealed_rows.rows == 10
    # One of the two draws of an assignment is known: 1 counts, and .05 shared by all 1,024.
    assert revealed_rows.bits == pytest.approx(10 + np.log2((1 + 0.05 / 1_024) / 1.05))


def test_each_team_of_a_person_draws_its_own_noise_and_the_mean_score_counts() -> None:
    draws: list[tuple[int, float]] = []

    class Draws:
        name = "draws"

        def release(self, state: Any, evaluation: Any, rng: Any) -> Release:
            draws.append((evaluation.submission, float(rng.random())))
            assert evaluation.standard_error_of_difference(1) == 0  # of equal predictions
            return Release(evaluation.score + evaluation.submission, improved=True)

    accuracy, labels = MANAGER.metrics.resolve("accuracy"), np.array([0, 1, 1, 0])
    oracle = revealed.ReleaseOracle(accuracy, Draws(), labels, 2, teams=3, scope="team")
    assert oracle._released(labels, labels[::-1], (1, 0)) == 1 + 2  # the mean of 2, 3 and 4
    assert [submission for submission, _ in draws] == [1, 2, 3]
    assert len({number for _, number in draws}) == 3


def test_a_board_of_one_label_reveals_no_label() -> None:
    accuracy, full = MANAGER.metrics.resolve("accuracy"), MANAGER.mechanisms.resolve("full")
    # With two labels, a score of 0 or 1 reveals both: half of the assignments have such a score.
    for n, rows in ((1, 0.0), (2, 0.5)):
        revealed_share = rows_revealed(accuracy, full, np.arange(n), 2, targets=1).rows
        assert revealed_share == rows


def test_more_than_two_thousand_labels_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def oracle(metric: Any, mechanism: Any, truth: Any, n_classes: int, **of_teams: Any) -> Any:
        assert of_teams == {"teams": 1, "scope": "team"}
        sizes.append(len(truth))
        return SimpleNamespace(designs=lambda: iter(()))

    monkeypatch.setattr(revealed, "ReleaseOracle", oracle)
    unused: Any = None
    for n in (2_000, 2_001, 4_000, 4_001):  # every second one of 2,001, every third of 4,001
        nothing = rows_revealed(unused, unused, truth=np.zeros(n), n_classes=2)
        assert (nothing.rows, nothing.bits) == (0.0, 0.0)
    assert sizes == [2_000, 1_001, 2_000, 1_334]


def test_the_default_noise_doubles_until_one_target_is_not_revealed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metric = MANAGER.metrics.resolve("roc_auc")
    noises_tried, quiet = list[str](), [0]

    def shown(metric: Any, mechanism: str, *_: Any, targets: int) -> Any:
        assert targets == 1
        noises_tried.append(mechanism.partition("noise=")[2])
        return (
            None if quiet[0] < 0 else SimpleNamespace(shown_rows=int(len(noises_tried) != quiet[0]))
        )

    monkeypatch.setattr(advice, "revealed_by_one", shown)
    # At most the root of the number of public rows, 300 or 256, or the next double above it.
    for n, quiet_after, noises in (
        (300, 1, [2]), (300, 3, [2, 4, 8]), (300, 9, [2, 4, 8, 16, 32]), (256, 9, [2, 4, 8, 16]),
        (300, -1, [2]), (4, 9, [2]),
    ):  # fmt: skip
        noises_tried.clear()
        quiet[0] = quiet_after
        name = default_mechanism(metric, _solution(metric, n), MANAGER)
        assert name == f"ladder-free(noise={noises[-1]})"
        assert noises_tried == [f"{noise})" for noise in noises if noise < max(2, int(n**0.5))]


def test_of_several_targets_the_first_is_tried() -> None:
    metric = MANAGER.metrics.resolve("log_loss")
    single = _solution(metric, 40)
    truth = np.stack([single.truth, np.zeros(40, dtype=np.intp)], axis=1)
    several = replace(single, targets=(single.targets[0], Target("z", ("a", "b"))), truth=truth)
    amounts = [
        revealed_by_one(metric, "kaggle", solution, MANAGER, targets=1)
        for solution in (single, several)
    ]
    assert amounts[0] == amounts[1]


PAIR = np.array([[0], [1]])
"""Two assignments of a label to one row."""


@pytest.mark.parametrize(
    ("known_scores", "tested", "rows", "chance"),
    [
        # The three nearest known scores agree: 3 counts, and .05 shared by both assignments.
        (
            [(0.1, 0), (0.2, 0), (0.3, 0), (0.35, 1), (0.9, 1), (0.95, 1)],
            [(0.22, 0), (0.8, 1)],
            1.0,
            3.025 / 3.05,
        ),
        # No score is a score that says something.
        ([(None, 0), (0.5, 1)], [(None, 0), (0.5, 1)], 1.0, 1.025 / 1.05),
        # Equal scores decide nothing if both labels give them.
        ([(0.5, 0), (0.5, 1)], [(0.5, 0), (0.5, 1)], 0.0, 1 / 2),
        # One of twenty claims is wrong, which is the bound of 5%.
        (
            [(0.1, 0), (0.9, 1)],
            [*[(0.1, 0)] * 19, (0.9, 0)],
            0.95,
            (1.025**19 * 0.025) ** (1 / 20) / 1.05,
        ),
        # One of two claims is wrong, which is more than 5%.
        ([(0.1, 0), (0.9, 1)], [(0.1, 0), (0.9, 0)], 0.0, 1 / 2),
    ],
)
def test_what_scores_say_is_learned_from_the_nearest_known_ones(
    known_scores: list[tuple[float | None, int]],
    tested: list[tuple[float | None, int]],
    rows: float,
    chance: float,
) -> None:
    """``chance``: what the assignment that is right was given, so that the rest is bits."""
    revealed = learned(known_scores, tested, PAIR)
    assert revealed.rows == rows
    assert revealed.bits == pytest.approx(max(0.0, 1 + np.log2(chance)))


def test_a_mechanism_that_shows_nothing_reveals_nothing() -> None:
    class Silent:
        name = "silent"

        def release(self, state: Any, evaluation: Any, rng: Any) -> Any:
            return Release(0.0, False)

    labels = np.arange(200) % 2
    revealed = rows_revealed(MANAGER.metrics.resolve("log_loss"), Silent(), labels, 2)
    assert (revealed.rows, revealed.bits) == (0.0, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("teams", "scope", "most"), [(1, "team", 0.0), (100, "team", 1.0), (20, "rank", 0.0)]
)
def test_several_teams_of_one_person_average_noise(teams: int, scope: Scope, most: float) -> None:
    metric = MANAGER.metrics.resolve("log_loss")
    solution = _solution(metric)
    mechanism = MANAGER.mechanisms.resolve("ladder-free(clip=2.8, noise=2)")
    revealed = rows_revealed(
        metric, mechanism, solution.truth, 2, targets=1, teams=teams, scope=scope
    )
    assert (revealed.rows > 0.3) == (most > 0)
    assert revealed.rows <= most


@pytest.mark.slow
@pytest.mark.usefixtures("measured_once")
def test_an_open_board_is_not_called_ready_where_teams_average_noise() -> None:
    solution = _solution(MANAGER.metrics.resolve("log_loss"))
    public = {"mechanism": "ladder-free(clip=2.8, noise=2)"}
    asked: dict[str, Any] = {"metric": {"name": "log_loss"}, "public": public}
    for server, is_said in (
        ({"join": "open"}, True),
        ({"join": "open", "approve": True}, False),
        ({"join": "code"}, False),
    ):
        settings = Settings.model_validate({**asked, "server": server})
        said = too_much_revealed(settings, solution, MANAGER)
        assert (said is not None) is is_said
        assert said is None or "100 of them that send the same file" in said


@pytest.mark.slow
@pytest.mark.parametrize("targets", [1, 10])
def test_scores_of_many_digits_are_read_although_no_two_are_equal(targets: int) -> None:
    labels = np.random.default_rng(0).exponential(size=2_000)
    mse, full = MANAGER.metrics.resolve("mse"), MANAGER.mechanisms.resolve("full")
    assert rows_revealed(mse, full, labels, 0, targets=targets).shown_rows == targets


@pytest.mark.slow
def test_every_metric_has_bounds_by_default() -> None:
    """Those without a bound of their own get one from a constant prediction."""
    unbounded = [
        metric.name for metric in MANAGER.metrics if conceivable_scores(metric.item) is None
    ]
    assert "pearson" not in unbounded
    # One needs the sizes of images (below), and the best value of the other has no bound.
    for name in set(unbounded) - {"hausdorff", "ams"}:
        metric = MANAGER.metrics.resolve(name)
        mechanism = default_mechanism(metric, _solution(metric), MANAGER)
        assert "clip=" in mechanism, name
    assert all(isinstance(MANAGER.metrics.resolve(one), HasRowValues) for one in ("mse", "mae"))


def test_a_competition_in_masks_is_bounded_too(tmp_path: Path) -> None:
    rows = [
        (f"i{number}", f"{11 + number} 5", 8, 8, "Public" if number % 2 else "Private")
        for number in range(12)
    ]
    header = ["id", "mask", "height", "width", "Usage"]
    write_csv(tmp_path / "solution.csv", header, rows)
    made = Competition.create(
        tmp_path / "c", tmp_path / "solution.csv", metric="hausdorff", protected=True
    )
    with made as competition:
        assert competition.settings.public.mechanism == "ladder-free(clip=46, noise=2)"
