"""Runs the same simulation with several seeds side by side, one folder for each seed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena.errors import InputError, UsageError
from arena.plugin.manager import PluginManager
from arena.simulation.competition.cache import write_file
from arena.simulation.competition.comparison import Story
from arena.simulation.competition.existing import is_own_competition
from arena.simulation.competition.prepare import prepare
from arena.simulation.competition.run import PreparedSimulation, run_competition
from arena.simulation.requests import SimulationRequest
from arena.store.digests import text_digest
from arena.utils.distribution import installed_version
from arena.utils.engines import Engine
from arena.utils.parallel import NoProgress, Progress
from arena.utils.text import printable

_FILE = "outcomes.json"


_SECONDS_OF_A_LEFT_TASK = 600.0
"""A worker of a cluster still finishes the seed of a command that was interrupted."""


def request_of_seed(request: SimulationRequest, seed: int) -> SimulationRequest:
    """Return the request of one seed; its folder is inside that of all seeds."""
    if is_own_competition(request.directory):  # it gets a folder per seed by itself
        return replace(request, seed=seed)
    return replace(request, seed=seed, directory=request.directory / f"seed-{seed}")


def run_seeds(
    request: SimulationRequest,
    engine: Engine,
    progress: Progress,
    manager: PluginManager | None = None,
) -> list[Story]:
    """Run the simulation with each of its seeds, or continue, and return the results.

    A finished seed is read from its folder. On a cluster every machine must see the folder and the
    data under the same path.

    Parameters
    ----------
    request
        Tried with the first seed.
    manager
        Plugins of this process, one seed after the other; None: those installed, side by side.

    Raises
    ------
    UsageError
        With fewer than two seeds.
    ArenaError
        If a simulation cannot be run.
    """
    if request.seeds < 2:
        raise UsageError("At least 2 different seeds are needed: one shows no spread.")
    root = request.directory
    if not is_own_competition(root) and root.exists():
        other = [path for path in root.iterdir() if not path.name.startswith("seed-")]
        if other:
            raise InputError(
                f"{printable(str(root))} holds {printable(other[0].name)}, which is no simulation "
                f"with several seeds. Choose a new folder."
            )
    seeds = range(request.seed, request.seed + request.seeds)
    progress.start("Simulated competitions", len(seeds))
    task_request = request if request.where.engine == "local" else _on_a_cluster(request)
    results = (
        engine.run(run_story, (task_request,), [(seed,) for seed in seeds])
        if manager is None
        else (run_story(task_request, seed, manager) for seed in seeds)
    )
    stories = []
    for story in results:
        folder = root / Path(story.folder).relative_to(
            task_request.directory
        )  # the same on any engine
        stories.append(replace(story, folder=str(folder)))
        progress.advance()
    return stories


def _on_a_cluster(request: SimulationRequest) -> SimulationRequest:
    """Return the request for machines that may work in another folder."""
    paths = {name: getattr(request, name) for name in ("directory", "data", "test", "like")}
    return replace(
        request,
        wait=max(request.wait, _SECONDS_OF_A_LEFT_TASK),
        **{name: path.absolute() for name, path in paths.items() if path is not None},
    )


def run_story(request: SimulationRequest, seed: int, manager: PluginManager | None = None) -> Story:
    """Run or continue the simulation of one seed under every mechanism, in this process.

    Without a manager the installed plugins are used.

    Raises
    ------
    ArenaError
        If it cannot be run.
    """
    manager = PluginManager() if manager is None else manager
    simulation = prepare(request_of_seed(request, seed), manager, tried=True)
    digest = _digest(simulation)
    file = simulation.root / _FILE
    finished = _read(file, digest)
    if finished is not None:
        return Story(seed, str(simulation.root), tuple(finished))
    folder = simulation.open_folder()
    outcomes = [
        run_competition(
            folder,
            simulation,
            mechanism,
            manager,
            workers=1,
            progress=NoProgress(),
            report=False,
        ).outcome.to_dict()
        for mechanism in simulation.mechanisms
    ]
    failures = tuple(f"Seed {seed}: {failure}" for failure in manager.failures)
    if not failures:
        document = {"schema": "arena/simulation-outcomes/1", "request": digest, "found": outcomes}
        write_file(file, json.dumps(document).encode())
    return Story(seed, str(simulation.root), tuple(outcomes), failures)


def _digest(simulation: PreparedSimulation) -> str:
    """Return a hash of everything that the outcomes depend on."""
    settings = [
        simulation.settings_under(mechanism).model_dump_json()
        for mechanism in simulation.mechanisms
    ]
    text = json.dumps([installed_version(), simulation.about(), settings], sort_keys=True)
    return text_digest(text)


def _read(file: Path, about: str) -> list[dict[str, Any]] | None:
    """Return the outcomes of a finished seed; None if it is not finished."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        outcomes: list[dict[str, Any]] = document["found"]
        return outcomes if document["request"] == about else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_stories(folder: Path) -> tuple[tuple[str, ...], list[Story]]:
    """Return the mechanisms and the finished seeds of a folder that ``--seeds`` made.

    Raises
    ------
    InputError
        If it holds fewer than two finished seeds, or seeds under different mechanisms.
    """
    stories = []
    for file in folder.glob(f"*seed-*/{_FILE}"):
        number = file.parent.name.rpartition("-")[2]
        if not number.isdecimal():  # such as a copy, seed-3-old
            continue
        try:
            documents = json.loads(file.read_text(encoding="utf-8"))["found"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{printable(str(file))} is damaged; simulate it again.") from error
        stories.append(Story(int(number), str(file.parent), tuple(documents)))
    mechanisms = {tuple(outcome["mechanism"] for outcome in story.outcomes) for story in stories}
    if len(stories) < 2 or len(mechanisms) > 1:
        problem = "seeds under different mechanisms" if len(mechanisms) > 1 else "no two seeds"
        raise InputError(
            f"{printable(str(folder))} holds {problem}. Give a folder that arena simulate "
            f"competition --seeds has filled."
        )
    return mechanisms.pop(), sorted(stories, key=lambda story: story.seed)
