"""The ranker ``simultaneous``."""

from __future__ import annotations

from dataclasses import dataclass

from arena.errors import UsageError
from arena.interfaces import RankSets, Study
from arena.utils.parallel import available_workers
from arena_ranking.board_ranks import board_ranks
from arena_ranking.combined_ranks import ranks_of_parts


@dataclass(frozen=True, slots=True)
class SimultaneousRanks:
    """The ranker of this plugin: see :func:`~arena_ranking.board_ranks.board_ranks`.

    Raises
    ------
    UsageError
        If ``ties`` is not true or false.
    """

    ties: bool = False
    """Whether possible winners hold for all of several exactly equal best submissions at once:
    ``all_pairs`` of :func:`~arena_ranking.simultaneous.rank_intervals`."""
    name: str = "simultaneous"

    def __post_init__(self) -> None:
        if not isinstance(self.ties, bool):
            raise UsageError(f"ties is {self.ties!r}: it must be true or false.")

    def rank(self, study: Study) -> RankSets:
        """Return the rank sets; of a study with parts, by what each part decides.

        Raises
        ------
        UsageError
            If the study holds no submission.
        """
        if study.parts:
            return ranks_of_parts(study, workers=available_workers())
        return board_ranks(study, all_pairs=self.ties, workers=available_workers())
