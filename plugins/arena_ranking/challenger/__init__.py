"""The analyses of a board from the challengeR toolkit, as plain functions over arrays.

Wiesenfarth, Reinke, Landman, Eisenmann, Saiz, Cardoso, Maier-Hein and Kopp-Schneider (2021),
*Methods and open-source toolkit for analyzing and visualizing challenge results*, Scientific
Reports 11.
"""

from arena_ranking.challenger.agreement import RankAgreement, kendall_tau, kendall_tau_of_resamples
from arena_ranking.challenger.consensus import ConsensusRanking, consensus_ranking
from arena_ranking.challenger.frequencies import RankFrequencies, rank_frequencies
from arena_ranking.challenger.methods import RankingMethods, compare_ranking_methods
from arena_ranking.challenger.podium import Podium, podium
from arena_ranking.challenger.significance import (
    SignificanceMap,
    significance_map,
    significance_map_from_errors,
)
from arena_ranking.challenger.tasks import TaskScores, task_scores
from arena_ranking.challenger.wilcoxon import signed_rank_p_values

__all__ = [
    "ConsensusRanking",
    "Podium",
    "RankAgreement",
    "RankFrequencies",
    "RankingMethods",
    "SignificanceMap",
    "TaskScores",
    "compare_ranking_methods",
    "consensus_ranking",
    "kendall_tau",
    "kendall_tau_of_resamples",
    "podium",
    "rank_frequencies",
    "signed_rank_p_values",
    "significance_map",
    "significance_map_from_errors",
    "task_scores",
]
