"""Teams whose submissions are programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Competitor, Conduct, DeclaresConduct, Participation, Player


def _unknown(name: str) -> Competitor:
    raise UsageError(f"program: of={name!r} is not the name of a competitor.")


@dataclass(frozen=True, slots=True)
class ProgramTeam:
    """Play like another competitor, but send programs, which a sandbox runs.

    So a rehearsal covers what happens to a program: it is received, tried, run on the hidden inputs
    and scored. Each program has the predictions of its team with it, so that its running time says
    nothing about that of a model.

    Parameters
    ----------
    of
        The other competitor, but sybil: a name (quoted if it contains a hyphen) with optional
        parameters.
    """

    of: str = "linear"
    name: str = "program"
    sends_programs: ClassVar[bool] = True
    resolve: Callable[[str], Competitor] = field(default=_unknown, repr=False)
    """Resolves the name of the other competitor."""

    @property
    def conduct(self) -> Conduct:
        """The conduct of the other competitor."""
        other = self.resolve(self.of)
        return other.conduct if isinstance(other, DeclaresConduct) else "honest"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError if the other competitor cannot play."""
        return self.resolve(self.of).start(participation, rng)
