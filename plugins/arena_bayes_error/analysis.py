"""The analysis ``bayes-error``: the lowest possible error rate on the rows of a leaderboard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.interfaces import Study
from arena.types import Finding


@dataclass(frozen=True, slots=True)
class BayesError:
    """The Bayes error, the headroom above it, and submissions below it, from soft labels."""

    name: str = "bayes-error"

    def suits(self, study: Study) -> bool:
        """Return whether the solution has soft labels and more than one row and group."""
        groups = np.arange(len(study.truth)) if study.clusters is None else study.clusters
        return study.soft_labels is not None and len(np.unique(groups)) > 1

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        """Return the finding; ``details`` is a :class:`~arena_bayes_error.study.BoardFloor`."""
        from arena_bayes_error.finding import finding_of  # of which most boards need nothing

        return finding_of(study, rng, self.name)
