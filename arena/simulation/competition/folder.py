"""The folder of a simulation: marked as simulated, never mixed with real ones, resumable."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arena.competition.create import (
    SAMPLE_NOTE_NAME,
    create_competition,
)
from arena.competition.state import CompetitionState
from arena.competition.view import open_state
from arena.config import CONFIG_NAME, DATABASE_NAME, SAMPLE_NAME, Settings, read_settings
from arena.errors import InputError
from arena.plugin.manager import PluginManager
from arena.simulation.competition.cache import ResultCache, write_file
from arena.simulation.competition.setup import CompetitionData
from arena.store import Store
from arena.utils.text import printable

MARKER = "simulation.json"
_SOLUTION = "solution.csv"
_MODELS = "models"
_WHAT = (
    "Everything in this folder is simulated: no person submitted anything. Created by arena "
    "simulate competition; the settings are below."
)
_MEANINGS = {
    "seed": "another seed",
    "teams": "another number of teams",
    "days": "another number of days",
    "kinds": "other kinds of teams",
    "baseline": "another baseline",
    "data": "other data",
    "public_share": "another share of public rows",
    "like": "other past leaderboards",
    "notebooks": "another share of public notebooks",
    "drawn": "predictions made in another way",
    "folders": "one mechanism alone, or several",
}


def is_simulation(folder: Path) -> bool:
    """Whether a folder is marked as a simulation."""
    return (folder / MARKER).is_file()


def folder_name(mechanism: str) -> str:
    """Return the name of a mechanism's folder.

    >>> folder_name("ladder-free(minimum_step=0.002)")
    'ladder-free-minimum_step-0.002'
    """
    return re.sub(r"[^\w.-]+", "-", mechanism).strip("-.") or "mechanism"


@dataclass(frozen=True, slots=True)
class SimulationFolder:
    """The folder of a simulation, with a competition for each mechanism."""

    root: Path
    seed: int

    @property
    def cache(self) -> ResultCache:
        """Results of the players, shared by all mechanisms."""
        return ResultCache(self.root / _MODELS)

    @property
    def actor(self) -> str:
        """The actor in the audit log."""
        return f"simulation with seed {self.seed}"

    def open_competition(
        self,
        folder: Path,
        settings: Settings,
        manager: PluginManager,
        clock: Callable[[], datetime],
        public_share: float,
        wait: float = 0.0,
    ) -> CompetitionState:
        """Open a competition of the simulation, or create it. Close its store afterwards.

        If another process has it open, retry for ``wait`` seconds.

        Raises
        ------
        InputError
            If its settings differ from those requested, or it cannot be created.
        """
        store: Store | None = None
        if not (folder / CONFIG_NAME).exists():
            _clear(folder)
            store = create_competition(
                folder,
                self.root / _SOLUTION,
                settings=settings,
                public_share=public_share,
                seed=self.seed,
                manager=manager,
                actor=self.actor,
                now=clock(),
            )
        stored = read_settings(folder / CONFIG_NAME)
        if stored != settings:
            if store is not None:
                store.close()
            raise InputError(
                f"{printable(str(folder / CONFIG_NAME))} differs from the request: "
                f"{', '.join(_differing(stored, settings))}. Simulate in another folder."
            )
        return open_state(folder, manager, wait=wait, clock=clock, actor=self.actor, store=store)


def _clear(folder: Path) -> None:
    """Remove the rest of an interrupted creation: competition.toml is written last."""
    samples = (folder / SAMPLE_NAME, folder / SAMPLE_NOTE_NAME)
    for leftover in (*folder.glob(f"{DATABASE_NAME}*"), *samples):
        leftover.unlink(missing_ok=True)


def _differing(settings: Settings, other: Settings) -> list[str]:
    names = (name.split(".") for name, _, _ in settings.changes_to(other))
    return [f"[{section}] {key}" for section, key in names]


def open_folder(root: Path, about: Mapping[str, Any], data: CompetitionData) -> SimulationFolder:
    """Open the folder of a simulation, or mark a new or empty folder as one.

    Parameters
    ----------
    about
        Everything that the simulation depends on, as JSON; a folder with other values is refused.

    Raises
    ------
    InputError
        If the folder holds something else, such as a real competition.
    """
    marker = root / MARKER
    if is_simulation(root):
        _check_same(marker, about)
    elif (root / CONFIG_NAME).exists() or (root / DATABASE_NAME).exists():
        raise InputError(
            f"{printable(str(root))} holds a real competition. Simulate in another folder."
        )
    elif root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise InputError(f"{printable(str(root))} is not an empty folder. Choose a new one.")
    else:
        document = {"schema": "arena/simulation/1", "what": _WHAT, **about}
        write_file(marker, json.dumps(document, indent=2).encode())
    if not (root / _SOLUTION).exists():
        data.write(root / _SOLUTION)
    return SimulationFolder(root, int(about["seed"]))


def _check_same(marker: Path, about: Mapping[str, Any]) -> None:
    try:
        document = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{printable(str(marker))} is damaged; simulate elsewhere.") from error
    other = [_MEANINGS[key] for key in about if document.get(key) != about[key]]
    if other:
        raise InputError(
            f"{printable(str(marker.parent))} holds a simulation with {', '.join(other)}. Repeat "
            f"the options of its first run, or name another folder."
        )
