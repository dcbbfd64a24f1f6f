"""``linear``, ``neighbours``, ``forest`` and ``network``: teams that train other models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena_competitors.scikit_learn.models import FAMILIES, predictions_of_family
from arena_competitors.training_team import ClimbingTeam, Search, draw_settings


@dataclass(frozen=True, slots=True)
class ModelTeam(ClimbingTeam):
    """An honest team with models of one family, which changes one setting of its best at a time.

    Like ``lightgbm-climber``, every team knows a share of the features and of the rows.

    Parameters
    ----------
    explore
        Probability of redrawing all settings, in [0, 1].
    ensemble, blend, persistence
        See :class:`~arena_competitors.training_team.Habits`.

    Raises
    ------
    UsageError
        If a parameter is out of its range.
    """

    name: str = "linear"

    def models(self) -> Search:
        """Return the models of the family."""
        return _Family(self.name)


def model_teams() -> tuple[ModelTeam, ...]:
    """Return a team of each family.

    >>> [team.name for team in model_teams()]
    ['linear', 'neighbours', 'forest', 'network']
    """
    return tuple(ModelTeam(name=family) for family in FAMILIES)


@dataclass(frozen=True, slots=True)
class _Family:
    family: str

    @property
    def search(self) -> Mapping[str, Sequence[Any]]:
        return FAMILIES[self.family]

    @property
    def function(self) -> Callable[..., npt.NDArray[Any]]:
        return predictions_of_family

    @property
    def fixed(self) -> Mapping[str, Any]:
        return {"family": self.family}

    @property
    def versions(self) -> str:
        from importlib.metadata import version

        return f"scikit-learn {version('scikit-learn')}"

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        return draw_settings(self.search, rng)
