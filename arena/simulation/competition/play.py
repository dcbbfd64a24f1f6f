"""Plays the rounds of a simulated competition: teams train, submit and react to released scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arena.interfaces import (
    Computation,
    ComputesAhead,
    Feedback,
    MayStop,
    Metric,
    Notebook,
    Player,
    Standing,
)
from arena.plugin.manager import PluginManager
from arena.plugin.returned import checked_move
from arena.simulation.competition.cache import ResultCache
from arena.simulation.competition.calendar import Visit
from arena.simulation.competition.submit import Submitter, submission_table
from arena.simulation.competition.teams import Participant
from arena.utils.engines import cluster_in_use, local_engine
from arena.utils.parallel import Progress
from arena.utils.text import type_and_text

_PLAYER_STREAM = 2**32 - 12
_NOTEBOOK_STREAM = 2**32 - 15
_Result = TypeVar("_Result")


def player_rng(seed: int, number: int) -> np.random.Generator:
    """Return the chance of a participant, the same under every mechanism."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_PLAYER_STREAM, number)))


@dataclass(slots=True, eq=False)
class Publication:
    """The public notebooks: submissions of honest teams, each public with the same probability."""

    share: float = 0.0
    seed: int = 0
    notebooks: list[Notebook] = field(default_factory=list)
    """In the order of their submission."""

    def offer(self, playing: Playing, prediction: npt.NDArray[Any], score: float | None) -> None:
        """Make a submission public, by chance; the chance is the same under every mechanism."""
        if not self.share or playing.participant.kind.conduct != "honest":
            return
        key = (_NOTEBOOK_STREAM, playing.participant.number, playing.sent)
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
        if rng.random() < self.share:
            self.notebooks.append(Notebook(prediction, score))


@dataclass(slots=True, eq=False)
class Playing:
    """A participant during a competition."""

    participant: Participant
    player: Player
    sent: int = 0
    shown: dict[str, float] = field(default_factory=dict)
    """The score last shown to each of its teams."""
    failed: bool = False
    """Whether its code raised: it submits nothing more."""
    stopped: bool = False
    """Whether it has left the competition: it submits nothing more."""

    def call(self, manager: PluginManager, function: Callable[[], _Result]) -> _Result | None:
        """Call the player's code; an exception is recorded by the manager and ends its play."""
        result, self.failed = None, True
        with manager.guarded(self.participant.kind.plugin, f"playing {self.participant.team()}"):
            result = function()
            self.failed = False
        return result


def play(
    submitter: Submitter,
    rounds: Sequence[Sequence[Visit]],
    players: Mapping[int, Playing],
    cache: ResultCache,
    *,
    published: Publication | None = None,
    workers: int = 1,
    progress: Progress,
) -> None:
    """Play all rounds. What players compute in a round is computed side by side.

    A player whose code raises leaves the competition; the manager records the failure.

    Parameters
    ----------
    players
        By the participants' numbers.
    published
        Receives what teams make public; None: nothing is.
    workers
        Processes, unless a cluster is in use; the numbers do not depend on them.
    """
    published = published or Publication()
    board: dict[str, float] = {}
    for visits in rounds:
        present = [(visit, players[visit.participant]) for visit in visits]
        for _, playing in present:
            if isinstance(playing.player, MayStop) and not playing.failed and not playing.stopped:
                playing.stopped = bool(
                    playing.call(submitter.state.manager, playing.player.has_stopped)
                )
        present = [(visit, playing) for visit, playing in present if not playing.stopped]
        progress.advance(len(visits) - len(present))
        trained = [playing for visit, playing in present if not (visit.is_last or playing.failed)]
        ahead = _compute_ahead(trained, cache, submitter.state.manager, workers)
        for visit, playing in present:
            if not (visit.is_last or playing.failed):
                next(ahead)
            if not playing.failed:
                _visit(submitter, visit, playing=playing, board=board, published=published)
            progress.advance()


def _visit(
    submitter: Submitter,
    visit: Visit,
    playing: Playing,
    board: dict[str, float],
    published: Publication,
) -> None:
    """Submit once and pass on the released score; the last submission is selected as final."""
    manager, solution = submitter.state.manager, submitter.state.solution
    send = playing.player.finish if visit.is_last else playing.player.submit
    name, n_rows = playing.participant.kind.specification, solution.n_rows
    move = playing.call(manager, lambda: checked_move(name, send(), n_rows))
    if move is None:
        return
    table = playing.call(manager, lambda: submission_table(np.asarray(move.prediction), solution))
    if table is None:
        return
    team = playing.participant.team(move.team)
    playing.sent += 1
    as_program = playing.participant.kind.sends_programs
    answer = submitter.submit(table, team, playing.sent, visit.when, as_program=as_program)
    if visit.is_last:
        submitter.select_final(answer)
    if answer.released is None or visit.is_last:
        return
    published.offer(playing, np.array(move.prediction), answer.released)
    previous, playing.shown[team] = playing.shown.get(team), answer.released
    standing = standing_after_release(board, team, answer.released, submitter.state.metric)
    playing.call(
        manager, partial(playing.player.receive, Feedback(answer.released, previous, standing))
    )


def standing_after_release(
    board: dict[str, float], team: str, released: float, metric: Metric
) -> Standing:
    """Enter a released score, and return where its team stands."""
    better = max if metric.greater_is_better else min
    best = board[team] = better(board.get(team, released), released)
    scores = np.fromiter(board.values(), np.float64, len(board))
    ahead = scores > best if metric.greater_is_better else scores < best
    return Standing(int(ahead.sum()) + 1, len(board), better(board.values()))


def _compute_ahead(
    trained: Sequence[Playing], cache: ResultCache, manager: PluginManager, workers: int
) -> Iterator[None]:
    """Compute what these players need in parallel; each step delivers the next player's result."""
    requested: list[tuple[Playing, Computation | None, npt.NDArray[Any] | None]] = []
    for playing in trained:
        player = playing.player
        ready = isinstance(player, ComputesAhead)
        computation = playing.call(manager, player.computation) if ready else None  # type: ignore[attr-defined]
        requested.append(
            (playing, computation, cache.get(computation.key) if computation else None)
        )
    missing = [work for _, work, result in requested if work is not None and result is None]
    tasks = ((work.function, work.arguments) for work in missing)
    results: Iterator[npt.NDArray[Any] | str] = iter(())
    if missing:
        results = (cluster_in_use() or local_engine(workers)).run(result_or_reason, (), tasks)
    for playing, computation, known_board in requested:
        result = known_board
        if computation is not None and result is None:
            result = playing.call(manager, partial(result_or_raise, next(results)))
            if result is not None:
                cache.put(computation.key, result)
        player = playing.player
        if result is not None and isinstance(player, ComputesAhead):
            playing.call(manager, partial(player.receive_result, result))
        yield


def result_or_reason(
    function: Callable[..., npt.NDArray[Any]], arguments: tuple[Any, ...]
) -> npt.NDArray[Any] | str:
    """Return the result of a computation, or why there is none."""
    try:
        return np.asarray(function(*arguments))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - code of a plugin may raise anything
        return type_and_text(error)


def result_or_raise(result: npt.NDArray[Any] | str) -> npt.NDArray[Any]:
    """Return the result of a computation; RuntimeError if there is only the reason why not."""
    if isinstance(result, str):
        raise RuntimeError(result)
    return result
