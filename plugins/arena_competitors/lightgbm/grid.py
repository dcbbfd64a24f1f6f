"""Reads the grid that LightGBM models are drawn from."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from arena.errors import InputError
from arena.utils.file_errors import unreadable
from arena_competitors.training_team import draw_settings

_OURS = {
    "num_threads": "models are trained in parallel, with one thread each",
    "objective": "it follows from the target",
    "metric": "training stops early on the loss of the objective",
    "seed": "every model draws its own seed",
    "num_iterations": "it is called rounds here",
    "early_stopping_round": "it is called early_stopping here",
    "num_class": "it follows from the target",
    "verbosity": "arena reports the progress",
    "device_type": "numbers must not depend on the machine",
    "deterministic": "it is always enabled",
    "input_model": "models are trained from scratch",
    "data": "arena provides the rows",
    "valid": "arena provides the rows",
    **dict.fromkeys(
        (
            "max_bin",
            "max_bin_by_feature",
            "min_data_in_bin",
            "bin_construct_sample_cnt",
            "data_random_seed",
            "enable_bundle",
            "use_missing",
            "zero_as_missing",
            "feature_pre_filter",
            "forcedbins_filename",
            "linear_tree",
            "categorical_feature",
        ),
        "the rows are binned once, for all models",
    ),
}


@dataclass(frozen=True, slots=True)
class Grid:
    """The settings that a random search draws from."""

    rounds: int
    """The maximum number of trees."""
    early_stopping: int
    """Training stops after this many rounds without a smaller validation loss."""
    fixed: Mapping[str, Any]
    """Parameters of LightGBM that are the same for every model."""
    search: Mapping[str, Sequence[Any]]
    """Parameters of LightGBM, each with the values to draw from."""

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the parameters of one model, including its seed.

        >>> grid = Grid(10, 2, {"learning_rate": 0.1}, {"num_leaves": [7]})
        >>> drawn = grid.draw(np.random.default_rng(0))
        >>> drawn["learning_rate"], drawn["num_leaves"]
        (0.1, 7)
        """
        return {**self.fixed, **draw_settings(self.search, rng)}

    def identity(self) -> str:
        """Return a hash of the grid."""
        written = json.dumps(
            [self.rounds, self.early_stopping, dict(self.fixed), dict(self.search)], sort_keys=True
        )
        return hashlib.sha256(written.encode()).hexdigest()


def read_grid(path: Path | None) -> Grid:
    """Read a grid in TOML; None: the plugin's default grid.

    Raises
    ------
    InputError
        If it cannot be read, or contains a parameter that LightGBM does not know.

    Examples
    --------
    >>> grid = read_grid(None)
    >>> grid.rounds, len(grid.search["num_leaves"])
    (10000, 7)
    """
    file = path or Path(__file__).with_name("grid.toml")
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(file, error) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"The grid {file} is not TOML: {error}.") from error
    unknown = set(document) - {"rounds", "early_stopping", "fixed", "search"}
    if unknown:
        raise InputError(
            f"The grid {file} holds {min(unknown)!r}; it takes rounds, early_stopping, [fixed] and "
            f"[search]."
        )
    fixed, search = document.get("fixed", {}), document.get("search", {})
    _check_tables(file, fixed, search)
    counts = [document.get("rounds", 10_000), document.get("early_stopping", 10)]
    if not all(isinstance(count, int) and count >= 1 for count in counts):
        raise InputError(
            f"In the grid {file} rounds and early_stopping must be whole numbers of 1 or more."
        )
    return Grid(counts[0], counts[1], fixed, search)


def _check_tables(file: Path, fixed: Any, search: Any) -> None:
    if not isinstance(fixed, dict) or not isinstance(search, dict):
        raise InputError(f"In the grid {file} fixed and search must be tables, such as [search].")
    if not search:
        raise InputError(f"The grid {file} has no [search], so all models would be equal: add it.")
    for name in (*fixed, *search):
        _check_name(file, name)
    for name, values in search.items():
        if not isinstance(values, list) or not values:
            raise InputError(f"In the grid {file} {name} must be a list of values to draw from.")
    twice = {_meaning(name) for name in fixed} & {_meaning(name) for name in search}
    if twice:
        raise InputError(f"The grid {file} has {min(twice)} in both [fixed] and [search].")


def _check_name(file: Path, name: str) -> None:
    meaning = _meaning(name)
    if meaning in _OURS:
        raise InputError(f"The grid {file} cannot set {name}: {_OURS[meaning]}.")
    if meaning not in _aliases():
        near = difflib.get_close_matches(name, [*_aliases(), *_OURS], n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"The grid {file} has {name!r}, which LightGBM does not know.{guess}")


def _meaning(name: str) -> str:
    """Return the main name of a parameter that may be an alias."""
    return next((parameter for parameter, others in _aliases().items() if name in others), name)


@lru_cache
def _aliases() -> dict[str, list[str]]:
    """Return every parameter of LightGBM, with its aliases."""
    from lightgbm.basic import _ConfigAliases

    aliases: dict[str, list[str]] = _ConfigAliases._get_all_param_aliases()
    return {name: [name, *others] for name, others in aliases.items()}
