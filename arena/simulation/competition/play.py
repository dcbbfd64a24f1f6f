"""Lets simulated teams play: train, send, hear what is released, and go on from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from arena.execution import Progress, run_tasks
from arena.interfaces import Answer, Computation, ComputesAhead, Player
from arena.plugin_manager import PluginManager
from arena.simulation.competition.calendar import Visit
from arena.simulation.competition.desk import Desk, submission_table
from arena.simulation.competition.kept import KeptResults
from arena.simulation.competition.roster import Participant

__all__ = ["Playing", "play", "player_rng"]

_PLAYER_STREAM = 2**32 - 12
_Result = TypeVar("_Result")


def player_rng(seed: int, number: int) -> np.random.Generator:
    """Return the chance of a participant, the same under every mechanism."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_PLAYER_STREAM, number)))


@dataclass(slots=True, eq=False)
class Playing:
    """A participant in the midst of a competition."""

    participant: Participant
    player: Player
    sent: int = 0
    shown: dict[str, float] = field(default_factory=dict)
    """What the board showed last, by team."""
    gone: bool = False
    """Whether its code failed: it sends nothing more."""

    def ask(self, manager: PluginManager, function: Callable[[], _Result]) -> _Result | None:
        """Call code of the player; if it fails, that is on record and the player is gone."""
        result, self.gone = None, True
        with manager.guarded(self.participant.kind.plugin, f"playing {self.participant.team()}"):
            result = function()
            self.gone = False
        return result


def play(
    desk: Desk,
    rounds: Sequence[Sequence[Visit]],
    playing: Mapping[int, Playing],
    kept: KeptResults,
    *,
    workers: int = 1,
    progress: Progress,
) -> None:
    """Play all rounds. What players compute in a round is computed side by side.

    A player whose code fails leaves the competition; that stands among the manager's failures.

    Parameters
    ----------
    playing
        By the participants' numbers.
    workers
        Processes; the numbers do not depend on them.
    """
    for visits in rounds:
        present = [(visit, playing[visit.participant]) for visit in visits]
        trained = [one for visit, one in present if not (visit.is_last or one.gone)]
        ahead = _compute_ahead(trained, kept, desk.state.manager, workers)
        for visit, one in present:
            if not (visit.is_last or one.gone):
                next(ahead)
            if not one.gone:
                _visit(desk, visit, one)
            progress.advance()


def _visit(desk: Desk, visit: Visit, one: Playing) -> None:
    """Send one submission, and hear what the board shows for it; the last one is the choice."""
    manager, solution = desk.state.manager, desk.state.solution
    move = one.ask(manager, one.player.finish if visit.is_last else one.player.submit)
    if move is None:
        return
    table = one.ask(manager, lambda: submission_table(np.asarray(move.prediction), solution))
    if table is None:
        return
    team = one.participant.team(move.team)
    one.sent += 1
    answer = desk.hand_in(table, team, one.sent, visit.when)
    if visit.is_last:
        desk.choose(answer)
    if answer.released is None or visit.is_last:
        return
    previous, one.shown[team] = one.shown.get(team), answer.released
    one.ask(manager, partial(one.player.hear, Answer(answer.released, previous)))


def _compute_ahead(
    trained: Sequence[Playing], kept: KeptResults, manager: PluginManager, workers: int
) -> Iterator[None]:
    """Bring each of these players the result that it waits for, one with each step, in order."""
    asked: list[tuple[Playing, Computation | None, npt.NDArray[Any] | None]] = []
    for one in trained:
        player = one.player
        ready = isinstance(player, ComputesAhead)
        computation = one.ask(manager, player.computation) if ready else None  # type: ignore[attr-defined]
        asked.append((one, computation, kept.get(computation.key) if computation else None))
    missing = [work for _, work, result in asked if work is not None and result is None]
    tasks = ((work.function, work.arguments) for work in missing)
    results = run_tasks(_carry_out, tasks, workers=workers, processes=True) if missing else iter(())
    for one, computation, known in asked:
        result = known
        if computation is not None and result is None:
            result = one.ask(manager, partial(_unpacked, next(results)))
            if result is not None:
                kept.put(computation.key, result)
        player = one.player
        if result is not None and isinstance(player, ComputesAhead):
            one.ask(manager, partial(player.take, result))
        yield


def _carry_out(
    function: Callable[..., npt.NDArray[Any]], arguments: tuple[Any, ...]
) -> npt.NDArray[Any] | str:
    """Return the result of a computation, or why there is none."""
    try:
        return np.asarray(function(*arguments))
    except Exception as error:  # noqa: BLE001 - code of a plugin may raise anything
        return f"{type(error).__name__}: {error}"


def _unpacked(result: npt.NDArray[Any] | str) -> npt.NDArray[Any]:
    if isinstance(result, str):
        raise RuntimeError(result)
    return result
