"""The rows of a simulated competition and what its teams start with, worked out by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.interfaces import Computation, Move, Participation
from arena.plugin.manager import PluginManager
from arena.simulation.competition import existing, run, simulate
from arena.simulation.competition.calendar import Visit
from arena.simulation.competition.run import published
from arena.simulation.competition.setup import (
    CompetitionData,
    data_from_world,
    with_drift,
    with_held_out_rows,
)
from arena.simulation.competition.true_scores import truth_kind
from arena.simulation.data import LabelledRows, Population, Sizes, TrainingRows, World
from arena.types import Usage


def data_of(n: int, **columns: Any) -> CompetitionData:
    table = pa.table({"id": [str(row) for row in range(n)], **columns})
    return CompetitionData("own", table, columns={"id": "id"}, notes=("Before.",))


def counts_of(data: CompetitionData) -> dict[str, int]:
    return dict(Counter(data.solution["Usage"].to_pylist()))


@pytest.mark.parametrize(
    ("n", "usage", "counts", "held_out"),
    [
        # Half of 21 rows, and 30% of the other 11.
        (21, None, {"Ignored": 10, "Public": 3, "Private": 8}, 10),
        (2, None, {"Ignored": 1, "Private": 1}, 1),
        # Half of the private rows.
        (9, ["Private"] * 5 + ["Public"] * 4, {"Ignored": 2, "Public": 4, "Private": 3}, 2),
    ],
)
def test_half_of_the_rows_are_held_out(
    n: int, usage: Any, counts: dict[str, int], held_out: int
) -> None:
    before = data_of(n) if usage is None else data_of(n, Usage=usage)
    data = with_held_out_rows(before, 0.3, seed=0)
    assert (counts_of(data), data.holds_out) == (counts, True)
    assert data.notes == (
        "Before.",
        f"{held_out} of the {n} rows to predict are held out: they count on no board, and true "
        "scores are those on them, so a true score has an error of its own.",
    )
    assert data.identity != before.identity


def test_public_and_private_rows_drift_apart() -> None:
    before = replace(data_of(10), test=np.linspace(0, 1, 10)[:, np.newaxis])
    data = with_drift(before, 0.25, 1.0, seed=0)
    assert counts_of(data) == {"Public": 2, "Private": 8}  # 2.5 is rounded to an even number
    public = [row == "Public" for row in data.solution["Usage"].to_pylist()]
    assert public in ([True] * 2 + [False] * 8, [False] * 8 + [True] * 2)


def world_of(classes: Any, target: Any, chance: Any = None) -> World:
    rows = [LabelledRows(np.zeros((3, 1)), np.array(target)) for _ in range(2)]
    return World(
        "hands",
        rows=TrainingRows(*rows, n_classes=len(classes or ())),
        population=Population(np.arange(3.0)[:, np.newaxis], np.array(target), chance),
        classes=classes,
        identity="",
    )


@pytest.mark.parametrize(
    ("classes", "truth", "codes", "order", "about"),
    [
        (("no", "yes"), ["no", "yes", "yes"], [0, 1, 1], ("no", "yes"), {"positive": "yes"}),
        (("10", "9"), ["10", "9", "9"], [0, 1, 1], ("10", "9"), {"positive": "9"}),
        # Three numbers are sorted by value, as in the solution.
        (("10", "9", "-1"), ["10", "9", "9"], [2, 1, 1], ("-1", "9", "10"), {}),
        (("b", "a", "1"), ["b", "a", "a"], [0, 1, 1], ("b", "a", "1"), {}),
        (None, [0, 1, 1], [0, 1, 1], None, {}),
    ],
)
def test_the_population_of_a_world_has_the_rows_to_predict(
    classes: Any, truth: Any, codes: Any, order: Any, about: Any
) -> None:
    data = data_from_world(world_of(classes, [0, 1, 1]))
    assert data.solution["id"].to_pylist() == ["row-000000", "row-000001", "row-000002"]
    assert data.solution["y"].to_pylist() == truth
    assert data.columns == {"id": "id", "target": ["y"], **about}
    assert (data.classes, data.truth is not None and data.truth.tolist()) == (order, codes)
    assert data.training is not None
    for part in (data.training.training, data.training.validation):
        assert part.target.tolist() == codes
    assert data.test is not None
    assert data.test.ravel().tolist() == [0, 1, 2]


def test_known_chances_are_shares_and_the_ids_give_way_to_a_target() -> None:
    chance = np.array([0, 25, 100], dtype=np.uint8)
    data = data_from_world(world_of(("no", "yes"), [0, 1, 1], chance), target="id")
    assert data.solution.column_names == ["row", "id", "chance_of_positive"]
    assert data.solution["chance_of_positive"].to_pylist() == [0.0, 0.25, 1.0]
    assert data.columns["soft_labels"] == ["chance_of_positive"]


def test_everything_in_the_data_is_in_their_identity() -> None:
    world = world_of(("no", "yes"), [0, 1, 1])
    data = data_from_world(world)
    assert data.training is not None
    other = LabelledRows(np.ones((3, 1)), np.array([0, 1, 1]))
    others = [
        replace(data, columns={**data.columns, "positive": "no"}),
        replace(data, solution=data.solution.slice(1)),
        replace(data, test=np.ones((3, 1))),
        replace(data, training=replace(data.training, training=other)),
        replace(data, training=replace(data.training, validation=other)),
        replace(data, training=None),
    ]
    assert len({variant.identity for variant in (data, *others)}) == 7
    assert replace(data, name="other").identity == data.identity


# -- what players start with -----------------------------------------------------------------------


@dataclass
class Starting:
    """A competitor that keeps what it starts with."""

    name: str = "hands"

    def start(self, part: Any, rng: str) -> tuple[Any, str]:
        return part, rng


def test_players_start_with_the_baseline_and_as_many_submissions_as_visits_before_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = Participation(None, n_rows=2, n_public=1, n_classes=None, submissions=0)  # type: ignore[arg-type]
    monkeypatch.setattr(run, "published", lambda *_, visits: replace(part, submissions=visits))
    monkeypatch.setattr(run, "public_baseline", lambda *_: np.array([5.0, 6.0]))
    monkeypatch.setattr(run, "submission_table", lambda prediction, _: prediction.tolist())
    monkeypatch.setattr(run, "player_rng", lambda seed, number: f"stream {number} of {seed}")
    monkeypatch.setattr(run, "first_day", lambda *_: "first day")
    submissions: list[Any] = []

    def submit(*submission: Any) -> Any:
        submissions.append(submission)
        return SimpleNamespace(released=0.25)

    when = datetime(2001, 1, 1, tzinfo=UTC)
    rounds = [[Visit(when, number, is_last=False) for number in numbers] for numbers in (
        (0, 1), (0,), (0,))]  # fmt: skip
    kind = SimpleNamespace(plugin="hands", specification="hands", competitor=Starting())
    participants: Any = [SimpleNamespace(number=number, kind=kind) for number in range(3)]
    simulation: Any = SimpleNamespace(request=SimpleNamespace(days=3, seed=7))
    publication: Any = SimpleNamespace(notebooks=["a notebook"])
    for reference, score in (("Host", 0.25), (None, None)):
        settings = SimpleNamespace(competition=SimpleNamespace(reference=reference))
        submitter: Any = SimpleNamespace(
            state=SimpleNamespace(settings=settings, solution=None), submit=submit
        )
        nothing: Any = None
        players = run.start_players(
            simulation, submitter, participants, rounds=rounds, cache=nothing,
            publication=publication,
        )  # fmt: skip
        starts: list[Any] = [players[number].player for number in range(3)]
        # Three visits leave two submissions; one or none at least one.
        assert [player.submissions for player, _ in starts] == [2, 1, 1]
        assert [rng for _, rng in starts] == [f"stream {number} of 7" for number in range(3)]
        first = starts[0][0]
        assert (first.baseline.tolist(), first.notebooks) == ([5, 6], ["a notebook"])
        assert first.baseline_score == score
    assert submissions == [([5.0, 6.0], "Host", 0, "first day")]


def test_participants_are_told_numbers_of_rows_and_classes_only() -> None:
    usage = np.array([Usage.PUBLIC, Usage.PRIVATE, Usage.IGNORED, Usage.PUBLIC], dtype=np.uint8)
    simulation: Any = SimpleNamespace(data=SimpleNamespace(training="training", test="test"))
    for classes, n_classes in ((("a", "b", "c"), 3), (None, None)):
        state: Any = SimpleNamespace(
            solution=SimpleNamespace(
                targets=[SimpleNamespace(classes=classes)], n_rows=4, usage=usage
            ),
            settings=SimpleNamespace(metric=SimpleNamespace(specification="f1")),
            manager=SimpleNamespace(metrics=SimpleNamespace(resolve=lambda name: f"the {name}")),
        )
        part = published(simulation, state, visits=3)
        assert (part.metric, part.n_rows, part.n_public, part.submissions) == ("the f1", 4, 2, 3)
        assert (part.n_classes, part.training, part.test) == (n_classes, "training", "test")


def test_the_baseline_is_of_a_player_with_one_submission_whose_result_is_cached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    computed: list[float] = []

    def double(value: float) -> Any:
        computed.append(value)
        return np.full(2, 2 * value)

    class Player:
        def computation(self) -> Computation:
            return Computation("double of 3", double, (3.0,))

        def receive_result(self, result: Any) -> None:
            self.result = result

        def submit(self) -> Move:
            return Move(self.result)

    starts: list[Any] = []
    competitor = SimpleNamespace(start=lambda *given: starts.append(given) or Player())
    kind = SimpleNamespace(plugin="hands", specification="hands", competitor=competitor)
    monkeypatch.setattr(run, "published", lambda *_, visits: f"{visits} visits")
    monkeypatch.setattr(run, "player_rng", lambda *stream: stream)
    simulation: Any = SimpleNamespace(baseline=kind, request=SimpleNamespace(seed=7))
    state: Any = SimpleNamespace(solution=SimpleNamespace(n_rows=2))
    kept: dict[str, Any] = {}
    cache: Any = SimpleNamespace(get=kept.get, put=kept.__setitem__)
    for _ in range(2):
        assert run.public_baseline(simulation, state, cache).tolist() == [6.0, 6.0]
    assert (computed, starts) == ([3.0], [("1 visits", (7, 2**32 - 1))] * 2)
    monkeypatch.setattr(run, "sample_prediction", lambda _: "the sample")
    simulation.baseline = None
    assert run.public_baseline(simulation, state, cache) == "the sample"


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        (1, "5 teams (3 a, 2 b) in 4 days on own, predictions of the kind label, under full and "
            "ladder; 2 workers (here)."),
        (2, "2 seeds, 5 teams (3 a, 2 b) in 4 days on own, predictions of the kind label, under "
            "full and ladder; 2 workers (here)."),
    ],
)  # fmt: skip
def test_a_simulation_is_announced_with_its_teams_and_seeds(seeds: int, said: str) -> None:
    kinds = [
        SimpleNamespace(specification=name, share=share)
        for name, share in (("a", 3.0), ("none", 0.0), ("b", 2.0))
    ]
    prepared: Any = SimpleNamespace(
        kinds=kinds, request=SimpleNamespace(teams=5, days=4, seeds=seeds), metric="accuracy",
        data=SimpleNamespace(name="own"), mechanisms=("full", "ladder"),
    )  # fmt: skip
    engine: Any = SimpleNamespace(workers=2, name="here")
    assert simulate.describe_simulation(prepared, engine, PluginManager()) == said


def test_soft_labels_have_a_column_for_each_name() -> None:
    both = np.array([[0.75, 0.25], [0.5, 0.5]])
    for names, soft, columns in (
        (("p",), both[:, 1], [[0.25, 0.5]]),
        (("p",), both, [[0.25, 0.5]]),
        (("no", "yes"), both[:, 1], [[0.75, 0.5], [0.25, 0.5]]),
        (("no", "yes"), both, [[0.75, 0.5], [0.25, 0.5]]),
    ):
        columns_of_names = existing.soft_label_columns(names, soft)
        assert [columns_of_names[name].tolist() for name in names] == columns


def test_the_truth_is_exact_where_one_target_has_soft_labels() -> None:
    plain: Any = SimpleNamespace()
    bound: Any = SimpleNamespace(for_rows=lambda _: None)
    for soft, targets, metric, held_out, kind in (
        ("soft", 1, plain, False, "exact"), ("soft", 1, plain, True, "exact"),
        ("soft", 2, plain, False, "private"), ("soft", 1, bound, True, "held_out"),
        (None, 1, plain, True, "held_out"), (None, 1, plain, False, "private"),
    ):  # fmt: skip
        solution: Any = SimpleNamespace(soft_labels=soft, targets=[None] * targets)
        assert truth_kind(solution, metric, held_out=held_out) == kind
        if not held_out:
            assert truth_kind(solution, metric) == kind


@pytest.mark.parametrize(
    ("given", "n_rows", "sizes"),
    [
        # Twenty rows of each size that was not given are the fewest.
        ((), 59, None), ((), 60, (24, 12, 24)), ((), 1_000, (400, 200, 400)),
        ((), 2_000, (400, 200, 400)), (("training",), 439, None),
        (("training",), 440, (400, 13, 26)), (("training", "validation"), 619, None),
        (("training", "validation"), 620, (400, 200, 20)),
        (("training", "validation", "population"), 999, None),
        (("training", "validation", "population"), 1_000, (400, 200, 400)),
    ],
)  # fmt: skip
def test_sizes_that_were_not_given_shrink_together(given: Any, n_rows: int, sizes: Any) -> None:
    expected = None if sizes is None else Sizes(*sizes)
    assert Sizes(400, 200, 400).shrunk(n_rows, given) == expected
