"""The folder of a simulation: marked as one, never mixed with a real competition, resumable."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arena.competition_state import CompetitionState
from arena.competition_view import open_state
from arena.config import CONFIG_NAME, Settings, read_settings
from arena.errors import InputError
from arena.founding import DATABASE_NAME, SAMPLE_NAME, found
from arena.plugin_manager import PluginManager
from arena.simulation.competition.grounds import Grounds
from arena.simulation.competition.kept import KeptResults, write_whole
from arena.text import printable

__all__ = ["MARKER", "Venue", "folder_name", "is_simulation", "open_venue"]

MARKER = "simulation.json"
_SOLUTION = "solution.csv"
_MODELS = "models"
_WHAT = (
    "Everything in this folder is simulated: no person sent anything. Made by arena simulate "
    "competition; see the settings below."
)
_MEANINGS = {
    "seed": "another seed",
    "teams": "another number of teams",
    "days": "another number of days",
    "kinds": "other kinds of teams",
    "baseline": "another baseline",
    "data": "other data",
    "public_share": "another share of public rows",
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
class Venue:
    """The folder of a simulation, with a competition for each mechanism."""

    root: Path
    seed: int

    @property
    def kept(self) -> KeptResults:
        """What players computed, for every mechanism."""
        return KeptResults(self.root / _MODELS)

    @property
    def actor(self) -> str:
        """Who is on record as having done everything."""
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
        """Open a competition of the simulation, or found it. Close its store afterwards.

        While another process holds it, try again for ``wait`` seconds.

        Raises
        ------
        InputError
            If its settings are not those that were asked for, or it cannot be founded.
        """
        if not (folder / CONFIG_NAME).exists():
            _clear(folder)
            found(
                folder,
                self.root / _SOLUTION,
                settings,
                public_share,
                self.seed,
                manager,
                self.actor,
                clock(),
            )
        stored = read_settings(folder / CONFIG_NAME)
        if stored != settings:
            raise InputError(
                f"{printable(str(folder / CONFIG_NAME))} differs from what is asked for: "
                f"{', '.join(_differing(stored, settings))}. Simulate in another folder."
            )
        return open_state(folder, manager, wait, clock, self.actor)


def _clear(folder: Path) -> None:
    """Remove what an interrupted founding left behind: competition.toml is written last."""
    for leftover in (*folder.glob(f"{DATABASE_NAME}*"), folder / SAMPLE_NAME):
        leftover.unlink(missing_ok=True)


def _differing(one: Settings, other: Settings) -> list[str]:
    names = (name.split(".") for name, _, _ in one.changes_to(other))
    return [f"[{section}] {key}" for section, key in names]


def open_venue(root: Path, about: Mapping[str, Any], grounds: Grounds) -> Venue:
    """Take up the folder of a simulation, or mark a new or empty one as such.

    Parameters
    ----------
    about
        What the simulation is a function of, as JSON; a simulation of anything else is refused.

    Raises
    ------
    InputError
        If the folder holds something else: a real competition above all.
    """
    marker = root / MARKER
    if is_simulation(root):
        _check_same(marker, about)
    elif (root / CONFIG_NAME).exists() or (root / DATABASE_NAME).exists():
        raise InputError(
            f"{printable(str(root))} holds a competition that is no simulation, and nothing "
            f"simulated is mixed into it. Name another folder."
        )
    elif root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise InputError(f"{printable(str(root))} is no empty folder. Name a new one.")
    else:
        document = {"schema": "arena/simulation/1", "what": _WHAT, **about}
        write_whole(marker, json.dumps(document, indent=2).encode())
    if not (root / _SOLUTION).exists():
        grounds.write(root / _SOLUTION)
    return Venue(root, int(about["seed"]))


def _check_same(marker: Path, about: Mapping[str, Any]) -> None:
    try:
        found = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{printable(str(marker))} is damaged; simulate elsewhere.") from error
    other = [said for key, said in _MEANINGS.items() if found.get(key) != about[key]]
    if other:
        raise InputError(
            f"{printable(str(marker.parent))} holds a simulation with {', '.join(other)}. Repeat "
            f"what it was made with, or name another folder."
        )
