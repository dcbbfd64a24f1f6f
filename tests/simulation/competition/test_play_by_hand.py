"""The rounds of a simulated competition, played by players whose every answer is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from arena.errors import InputError, SandboxError
from arena.interfaces import Computation, End, Feedback, Move, Notebook, Outcome, Standing
from arena.plugin.manager import PluginManager
from arena.simulation.competition import play as module
from arena.simulation.competition import submit
from arena.simulation.competition.cache import ResultCache
from arena.simulation.competition.calendar import Visit
from arena.simulation.competition.play import Playing, Publication, play, standing_after_release
from arena.types import Fault
from counted_progress import CountedProgress

NOW = datetime(2001, 1, 1, tzinfo=UTC)
MOST = SimpleNamespace(greater_is_better=True)
LEAST = SimpleNamespace(greater_is_better=False)


class PlayerByHand:
    """Sends 1, 2, … on two rows, and -1 at last."""

    def __init__(self) -> None:
        self.sent, self.heard = 0, list[Feedback]()

    def submit(self) -> Move:
        self.sent += 1
        return Move(np.full(2, self.sent))

    def receive(self, feedback: Feedback) -> None:
        self.heard.append(feedback)

    def finish(self) -> Move:
        return Move(np.full(2, -1))


class Computing(PlayerByHand):
    """Has the double of 10, 20, … computed for it."""

    def __init__(self, function: Callable[[float], npt.NDArray[Any]]) -> None:
        super().__init__()
        self.function, self.results = function, list[float]()

    def computation(self) -> Computation:
        factor = 10.0 * (self.sent + 1)
        return Computation(f"double of {factor}", self.function, (factor,))

    def receive_result(self, result: npt.NDArray[Any]) -> None:
        self.results.append(float(result[0]))


class Leaving(PlayerByHand):
    """Leaves after its first submission."""

    def has_stopped(self) -> bool:
        return self.sent == 1


def double(factor: float) -> npt.NDArray[Any]:
    return np.array([2 * factor])


def refuse(_: float) -> npt.NDArray[Any]:
    raise ValueError("No memory.")


def playing_of(number: int, player: Any, conduct: str = "honest") -> Playing:
    kind = SimpleNamespace(
        specification="by-hand", plugin="hands", conduct=conduct, sends_programs=number == 1
    )
    participant = SimpleNamespace(number=number, kind=kind, team=lambda account=0: f"t{number}")
    return Playing(participant, player)  # type: ignore[arg-type]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Play three rounds; return what was sent, the steps, and the failures."""
    monkeypatch.setattr(module, "submission_table", lambda prediction, _: prediction.tolist())
    released = {"t0": [0.5, 0.25, 0.5], "t1": [0.75, None, 0.5], "t2": [0.75]}

    def play_rounds(players: Iterable[Any], **options: Any) -> tuple[list[Any], int, list[str]]:
        manager, submissions = PluginManager(entry_points=False), list[Any]()

        def submit(table: Any, team: str, number: int, when: datetime, *, as_program: bool) -> Any:
            submissions.append((team, number, table[0], as_program))
            return SimpleNamespace(team=team, released=released[team][number - 1])

        submitter = SimpleNamespace(
            state=SimpleNamespace(manager=manager, solution=SimpleNamespace(n_rows=2), metric=MOST),
            submit=submit,
            select_final=lambda answer: submissions.append(("final", answer.team)),
        )
        rounds = [
            [Visit(NOW, number, is_last=False) for number in (0, 1, 2)],
            [Visit(NOW, number, is_last=False) for number in (0, 1, 2)],
            [Visit(NOW, number, is_last=True) for number in (0, 1)],
        ]
        progress = CountedProgress()
        play(
            submitter, rounds, dict(enumerate(players)), ResultCache(tmp_path),  # type: ignore[arg-type]
            progress=progress, **options,
        )  # fmt: skip
        return submissions, progress.done, [str(failure) for failure in manager.failures]

    return play_rounds


def test_three_rounds_are_sent_and_heard_in_their_order(played: Any) -> None:
    """The board is t0: 0.5, then t1 and t2 with 0.75 each; a worse score of t0 changes nothing."""
    players = [PlayerByHand(), Computing(double), Leaving()]
    playing = [playing_of(number, player) for number, player in enumerate(players)]
    submissions, steps, failures = played(playing)
    assert submissions == [
        ("t0", 1, 1, False), ("t1", 1, 1, True), ("t2", 1, 1, False),
        ("t0", 2, 2, False), ("t1", 2, 2, True),
        ("t0", 3, -1, False), ("final", "t0"), ("t1", 3, -1, True), ("final", "t1"),
    ]  # fmt: skip
    assert (steps, failures) == (8, [])
    first, computing, leaving = players
    assert first.heard == [
        Feedback(0.5, None, standing=Standing(1, 1, best=0.5)),
        Feedback(0.25, 0.5, standing=Standing(3, 3, best=0.75))
    ]  # fmt: skip
    assert computing.heard == [Feedback(0.75, None, standing=Standing(1, 2, best=0.75))]
    assert leaving.heard == [Feedback(0.75, None, standing=Standing(1, 3, best=0.75))]
    assert computing.results == [20.0, 40.0]
    assert [participant.stopped for participant in playing] == [False, False, True]
    again = Computing(refuse)  # the results are in the cache
    played([playing_of(0, PlayerByHand()), playing_of(1, again), playing_of(2, Leaving())])
    assert again.results == [20.0, 40.0]


def leave(_: float) -> npt.NDArray[Any]:
    raise SystemExit(3)


@pytest.mark.parametrize("function", [refuse, leave])
def test_who_cannot_compute_leaves_and_the_others_play_on(played: Any, function: Any) -> None:
    broken = playing_of(1, Computing(function))
    submissions, steps, failures = played(
        [playing_of(0, PlayerByHand()), broken, playing_of(2, Leaving())]
    )
    assert [team for team, *_ in submissions] == ["t0", "t2", "t0", "t0", "final"]
    assert (steps, broken.failed, broken.sent) == (8, True, 0)
    assert len(failures) == 1
    assert "playing t1" in failures[0]


@pytest.mark.parametrize(
    ("share", "conduct", "n_public"), [(0.0, "honest", 0), (1.0, "honest", 4), (1.0, "copies", 0)]
)
def test_honest_teams_make_submissions_public_with_their_scores(
    played: Any, share: float, conduct: str, n_public: int
) -> None:
    published = Publication(share, seed=1)
    players = (PlayerByHand(), Computing(double), Leaving())
    played(
        [playing_of(number, player, conduct) for number, player in enumerate(players)],
        published=published,
    )
    notebooks = [(notebook.prediction.tolist(), notebook.score) for notebook in published.notebooks]
    # Neither those of which no score is released nor the last ones are.
    assert notebooks == [([1, 1], 0.5), ([1, 1], 0.75), ([1, 1], 0.75), ([2, 2], 0.25)][:n_public]
    assert all(isinstance(notebook, Notebook) for notebook in published.notebooks)


def test_the_chance_of_a_notebook_is_of_the_seed_the_team_and_the_number() -> None:
    """Of 400 submissions about half are public, others with another seed, team or number."""
    public: dict[tuple[int, int], list[int]] = {}
    for seed, number in ((1, 0), (2, 0), (1, 1)):
        published, playing = Publication(0.5, seed), playing_of(number, PlayerByHand())
        for submission in range(100):
            playing.sent = submission
            published.offer(playing, np.full(1, submission), score=None)
        public[seed, number] = [int(notebook.prediction[0]) for notebook in published.notebooks]
    assert all(30 < len(chosen) < 70 for chosen in public.values())
    assert len({tuple(chosen) for chosen in public.values()}) == 3


@pytest.mark.parametrize(
    ("metric", "released", "standing", "best"),
    [
        # Better than its own 0.4, and behind 0.9 and 0.8.
        (MOST, 0.5, Standing(3, 4, best=0.9), 0.5),
        (MOST, 0.8, Standing(2, 4, best=0.9), 0.8),  # as good as another one
        (MOST, 0.3, Standing(3, 4, best=0.9), 0.4),
        (LEAST, 0.5, Standing(2, 4, best=0.1), 0.4),
        (LEAST, 0.05, Standing(1, 4, best=0.05), 0.05),
    ],
)
def test_a_standing_is_of_the_best_score_of_each_team(
    metric: Any, released: float, standing: Standing, best: float
) -> None:
    board = {"a": 0.9, "b": 0.8, "c": 0.1, "own": 0.4}
    assert standing_after_release(board, "own", released=released, metric=metric) == standing
    assert board["own"] == best


# -- files -----------------------------------------------------------------------------------------


def test_a_file_is_sent_at_its_time_and_answered_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines: list[str] = []
    trials = {
        "slow": Outcome(
            end=End.TIME, seconds=1.0, cpu_seconds=1.0, peak_mb=1.0, log=b"", output=None
        ),
        "torn": (Fault("zip", "It is no archive."), Fault("zip", "It is empty.")),
    }

    def submit_program(*_: Any, file: Path, team: str, phase: str) -> Any:
        lines.append(f"{team} sends {file.name} to the phase {phase}")
        submitted = None if team in trials else f"answer to a program of {team}"
        return SimpleNamespace(submitted=submitted, trial=trials.get(team))

    def judged(request: Any) -> str:
        lines.append(f"{request.file} {request.read} at {request.received} for {request.actor}")
        return f"answer {len(lines)}"

    monkeypatch.setattr(submit, "named_file", lambda path, team: f"{path.name} of {team}")
    monkeypatch.setattr(submit, "submit_program", submit_program)
    state: Any = SimpleNamespace(
        folder="c", phase="final", actor="simulation", examine=lambda files: [(files[0], "read")]
    )
    handler: Any = SimpleNamespace(submit=judged)
    submitter = submit.Submitter(
        state, handler, clock=submit.SimulatedClock(NOW), folder=tmp_path, known={}, left=set()
    )
    table, later = pa.table({"id": ["a"]}), NOW + timedelta(hours=1)
    for team, number in (("ants", 7), ("bees", 12), ("ants", 8)):  # the last file is known
        answer = submitter.submit(table, team, number, when=NOW)
    assert answer == "answer 1"
    assert submitter.submit(table, "ants", 9, when=later, as_program=True) == (
        "answer to a program of ants"
    )
    assert submitter.clock() == later
    assert lines == [
        f"simulated-007.csv of ants read at {NOW} for simulation",
        f"simulated-012.csv of bees read at {NOW} for simulation",
        "ants sends simulated-009.zip to the phase final",
    ]
    assert list(tmp_path.iterdir()) == []
    for team, reason in (("slow", "time"), ("torn", "It is no archive. It is empty.")):
        with pytest.raises(SandboxError) as failed:
            submitter.submit(table, team, 1, when=later, as_program=True)
        assert str(failed.value) == f"The trial of a program of {team} failed: {reason}"
    submitter.left = {key for key in submitter.known if key[0] == "bees"}
    assert submitter.submit(table, "ants", 7, when=NOW) == "answer 1"
    with pytest.raises(InputError, match=r"^c holds submissions that this simulation does not"):
        submitter.submit(pa.table({"id": ["b"]}), "ants", 10, when=later)
    assert submitter.submit(table, "bees", 12, when=NOW) == "answer 2"
    assert submitter.left == set()  # now the simulation is where it was interrupted


def test_a_team_selects_an_accepted_submission_once_where_teams_select(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selected: list[Any] = []
    monkeypatch.setattr(submit, "select", lambda _, team, chosen: selected.append((team, chosen)))
    for rule, status, earlier, selects in (
        ("chosen", "accepted", None, True),
        ("chosen", "accepted", [6], True),
        ("chosen", "accepted", [7], False),
        ("chosen", "rejected", None, False),
        ("best", "accepted", None, False),
    ):
        state: Any = SimpleNamespace(
            settings=SimpleNamespace(final=SimpleNamespace(rule=rule)),
            ledger=SimpleNamespace(selections=lambda earlier=earlier: {"ants": earlier}),
        )
        answer: Any = SimpleNamespace(submission=7, team="ants", status=status)
        submit.Submitter.select_final(SimpleNamespace(state=state), answer)  # type: ignore[arg-type]
        assert (selected == [("ants", [7])]) == selects, (rule, status, earlier)
        selected.clear()
