"""Runs the same simulation with several seeds side by side, one folder for each seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from arena.errors import InputError, UsageError
from arena.plugin.manager import PluginManager
from arena.simulation.competition.cache import write_file
from arena.simulation.competition.comparison import Story
from arena.simulation.competition.existing import is_own_competition
from arena.simulation.competition.prepare import Options, prepare
from arena.simulation.competition.run import Request, run_competition
from arena.store.digests import text_digest
from arena.utils.engines import Engine
from arena.utils.parallel import NoProgress, Progress
from arena.utils.text import printable

_FILE = "outcomes.json"


def options_of_seed(options: Options, seed: int) -> Options:
    """Return the options of one seed; its folder is inside that of all seeds."""
    if is_own_competition(options.directory):  # it gets a folder per seed by itself
        return replace(options, seed=seed)
    return replace(options, seed=seed, directory=options.directory / f"seed-{seed}")


def run_seeds(
    options: Options,
    seeds: Sequence[int],
    engine: Engine,
    progress: Progress,
    manager: PluginManager | None = None,
) -> list[Story]:
    """Run the simulation with each seed, or continue, and return the results.

    A finished seed is read from its folder. On a cluster every machine must see the folder and the
    data under the same path.

    Parameters
    ----------
    options
        Of every simulation; their seed is not used.
    seeds
        At least two, each different.
    manager
        Plugins of this process, one seed after the other; None: those installed, side by side.

    Raises
    ------
    UsageError
        With fewer than two seeds.
    ArenaError
        If a simulation cannot be run.
    """
    if len(set(seeds)) < max(len(seeds), 2):
        raise UsageError("At least 2 different seeds are needed: one shows no spread.")
    root = options.directory
    if not is_own_competition(root) and root.exists():
        other = [path for path in root.iterdir() if not path.name.startswith("seed-")]
        if other:
            raise InputError(
                f"{printable(str(root))} holds {printable(other[0].name)}, which is no simulation "
                f"with several seeds. Choose a new folder."
            )
    progress.start("Simulated competitions", len(seeds))
    stories = []
    run = (
        engine.run(run_story, (options,), [(seed,) for seed in seeds])
        if manager is None
        else (run_story(options, seed, manager) for seed in seeds)
    )
    for story in run:
        stories.append(story)
        progress.advance()
    return stories


def run_story(options: Options, seed: int, manager: PluginManager | None = None) -> Story:
    """Run or continue the simulation of one seed under every mechanism, in this process.

    Without a manager the installed plugins are used.

    Raises
    ------
    ArenaError
        If it cannot be run.
    """
    manager = PluginManager() if manager is None else manager
    request, _ = prepare(options_of_seed(options, seed), manager)
    about = _digest(request)
    file = request.root / _FILE
    found = _read(file, about)
    if found is not None:
        return Story(seed, str(request.root), tuple(found))
    folder = request.open_folder()
    outcomes = [
        run_competition(
            folder, request, mechanism, manager, workers=1, progress=NoProgress()
        ).outcome.to_dict()
        for mechanism in request.mechanisms
    ]
    failures = tuple(f"Seed {seed}: {failure}" for failure in manager.failures)
    if not failures:
        document = {"schema": "arena/simulation-outcomes/1", "request": about, "found": outcomes}
        write_file(file, json.dumps(document).encode())
    return Story(seed, str(request.root), tuple(outcomes), failures)


def _digest(request: Request) -> str:
    """Return a hash of everything that the outcomes depend on."""
    settings = [request.settings_under(one).model_dump_json() for one in request.mechanisms]
    text = json.dumps([metadata.version("arena"), request.about(), settings], sort_keys=True)
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
            found = json.loads(file.read_text(encoding="utf-8"))["found"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{printable(str(file))} is damaged; simulate it again.") from error
        stories.append(Story(int(number), str(file.parent), tuple(found)))
    mechanisms = {tuple(one["mechanism"] for one in story.outcomes) for story in stories}
    if len(stories) < 2 or len(mechanisms) > 1:
        problem = "seeds under different mechanisms" if len(mechanisms) > 1 else "no two seeds"
        raise InputError(
            f"{printable(str(folder))} holds {problem}. Give a folder that arena simulate "
            f"competition --seeds has filled."
        )
    return mechanisms.pop(), sorted(stories, key=lambda one: one.seed)
