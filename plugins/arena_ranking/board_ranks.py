"""Computes the rank intervals of a study from predictions, with all small-sample corrections."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arena.errors import UsageError
from arena.evaluation.case_metrics import MedianOfCases
from arena.evaluation.levels import PAIRS
from arena.evaluation.ranks import best_first
from arena.evaluation.score_intervals import range_of
from arena.evaluation.scores import round_significant
from arena.interfaces import Candidates, RankSets, Study, traits_of
from arena.types import FloatArray, IntArray
from arena.utils.memory import return_freed_memory
from arena_ranking.challenger.top import top_positions
from arena_ranking.differences import FEW_ROWS, floor_standard_errors
from arena_ranking.evidence import PairwiseEvidence, pairwise_evidence
from arena_ranking.median_tests import evidence_on_medians
from arena_ranking.near_duplicates import near_duplicates
from arena_ranking.paired_tests import PairedTests, top_against_others
from arena_ranking.simultaneous import RankIntervals, rank_intervals
from arena_ranking.small_samples import BONFERRONI_BELOW, sign_test_units

UNSEEN = 0.025
"""Units that are worse than all in the sample may be so many that a sample lacks them with this
probability."""
MOST_CANDIDATES = 6_000
"""The most candidates of all teams whose pairs are compared with each other; that takes 1.3 GB."""
MOST_SKEWED, MOST_SKEWED_QUARTILE = 0.3, 0.35
"""The largest median over pairs of the skewness (divided by the square root of the units), and the
largest upper quartile, at which the ranks are claimed. With more, a sample can contain too few rare
errors for any method to detect. Samples that lack some of them seem least skewed, and the quartile
finds these."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoardRanks(RankSets):
    """The rank sets of a board's m submissions and what was found about pairs of them."""

    scores: FloatArray
    """``(m,)``, rounded; identical submissions have identical scores."""
    same: IntArray
    """``(m,)`` the position of the first submission with the same predictions."""
    intervals: RankIntervals
    pairs: PairFindings
    comparisons: int
    """The number of ordered pairs in the family, all candidates of a team included."""


@dataclass(frozen=True, slots=True, eq=False)
class PairFindings:
    """What the evidence on all pairs says, without the matrices of it, which are large."""

    source: str
    """See :class:`~arena_ranking.evidence.PairwiseEvidence`, as for the next two."""
    n_units: int
    effective_units: float
    near_copies: list[IntArray]
    """Groups of near-duplicates; see :func:`~arena_ranking.near_duplicates.near_duplicates`."""
    tests: PairedTests | None
    """The first against the others; None without two submissions and two rows."""
    standard_errors: FloatArray
    """``(t, t)`` of the differences between the first t, floored, as used for the ranks."""


def board_ranks(study: Study, *, all_pairs: bool = False, workers: int = 1) -> BoardRanks:
    """Return the simultaneous rank sets of a study.

    If each team counts with the submission that is best on the ranked rows, all candidates enter
    the family of comparisons, and ``all_pairs`` is implied. The best of k was selected on the same
    rows, so only a statement about all k is valid for the selected one. Of more than
    :data:`MOST_CANDIDATES` only the selected ones are compared, with Bonferroni's critical value
    for the pairs of all: matrices of all pairs of 100,000 candidates would take 200 GB. Medians are
    compared by :mod:`~arena_ranking.median_tests`, and ``all_pairs`` is implied, too.

    Memory: see :func:`~arena_ranking.evidence.pairwise_evidence` and
    :func:`~arena_ranking.simultaneous.rank_intervals`, for all candidates; one matrix of standard
    errors serves both.

    Raises
    ------
    UsageError
        If the study holds no submission.
    """
    if not len(study.scores):
        raise UsageError("There is no submission to rank: add at least one.")
    every, candidates = study.with_all_candidates(), study.candidates
    m, all_pairs = len(every.scores), all_pairs or candidates is not None
    comparisons, others = m * (m - 1), None
    if candidates is not None and m > MOST_CANDIDATES:
        every, candidates, others = study, None, comparisons
    evidence = pairwise_evidence(every, workers=workers)
    same = evidence.first_identical
    scores = round_significant(every.scores)[same]
    near_copies = _near_copies(evidence, candidates)
    if isinstance(every.metric, MedianOfCases):
        all_pairs, others = True, comparisons
        evidence = evidence_on_medians(evidence, every, scores, n_candidates=m)
    of_pairs = (1 - study.level) * (1.0 if all_pairs else PAIRS)
    needed = sign_test_units(comparisons, 1 - of_pairs)
    larger = study.metric.greater_is_better
    counting_evidence = evidence if candidates is None else evidence.subset(candidates.counting)
    own_scores = scores if candidates is None else scores[candidates.counting]
    own_same = counting_evidence.first_identical
    bounded = bool(np.isfinite(range_of(study.metric)).all())
    needed_classes = traits_of(study.metric).needs_every_class
    grouped = study.clusters is not None or study.influence is not None
    rows = f"groups of {study.words.rows}" if grouped else study.words.rows
    reason = _not_offered(evidence, rows, bounded=bounded, every_class=needed_classes)
    return_freed_memory()
    without_error = _error_of_still_pairs(evidence, range_of(study.metric), needed)
    pairs = _findings(
        study,
        counting_evidence,
        own_scores,
        near_copies,
        needed=needed,
        without_error=without_error,
    )
    standard_errors = floor_standard_errors(
        evidence.standard_errors,
        evidence.differing,
        scores,
        n_units=evidence.n_units,
        needed=needed,
        without_error=without_error,
        overwrite=True,
    )
    shapes = evidence.shapes
    n_units = min(evidence.n_units, evidence.rarest_class)
    allowances = evidence.unseen[same] * (1 - UNSEEN ** (1 / evidence.n_units))
    del counting_evidence, evidence  # the counts of differing rows of all pairs
    return_freed_memory()
    intervals = rank_intervals(
        scores,
        round_significant(every.resampled)[same],
        study.level,
        greater_is_better=larger,
        standard_errors=standard_errors,
        degrees_of_freedom=shapes.degrees_of_freedom,
        skewness=shapes.skewness,
        n_units=n_units,
        allowances=allowances,
        comparisons=others,
        all_pairs=all_pairs,
        overwrite=True,  # the resampled scores are a copy, too
        workers=workers,
    )
    if candidates is not None:
        intervals = intervals.subset(candidates.counting, own_scores if larger else -own_scores)
    return BoardRanks(
        low=intervals.low,
        high=intervals.high,
        tier=intervals.tier,
        possible_winner=intervals.possible_winner,
        level=study.level,
        not_offered=reason,
        scores=own_scores,
        same=own_same,
        intervals=intervals,
        pairs=pairs,
        comparisons=comparisons,
    )


def _error_of_still_pairs(
    evidence: PairwiseEvidence, score_range: tuple[float, float], needed: float
) -> float:
    """Return the standard error of a difference that no single row changes, as of AUC 1 and 0.5.

    As if ten rows of the rarest class could change it by the whole range of the metric.
    """
    units, (low, high) = evidence.fewest_in_class, score_range
    return float(np.sqrt(FEW_ROWS) / units * (high - low)) if units >= needed else np.inf


def _near_copies(evidence: PairwiseEvidence, candidates: Candidates | None) -> list[IntArray]:
    if candidates is not None:
        evidence = evidence.subset(candidates.counting)
    return near_duplicates(
        evidence.standard_errors, evidence.deviations, evidence.differing, evidence.n_units
    )


def _findings(
    study: Study,
    evidence: PairwiseEvidence,
    scores: FloatArray,
    near_copies: list[IntArray],
    *,
    needed: float,
    without_error: float,
) -> PairFindings:
    errors, differing, n_units = evidence.standard_errors, evidence.differing, evidence.n_units
    tests = None
    if len(scores) > 1 and n_units > 1:
        top = int(best_first(scores, greater_is_better=study.metric.greater_is_better)[0])
        tests = top_against_others(scores, errors, n_units - 1, top)
    first = top_positions(study, n_units)
    among = np.ix_(first, first)
    return PairFindings(
        evidence.source,
        n_units,
        effective_units=evidence.effective_units,
        near_copies=near_copies,
        tests=tests,
        standard_errors=floor_standard_errors(
            errors[among],
            differing[among],
            scores[first],
            n_units=n_units,
            needed=needed,
            without_error=without_error,
        ),
    )


def _not_offered(
    evidence: PairwiseEvidence, rows: str, *, bounded: bool, every_class: bool
) -> str | None:
    m, units = len(evidence.standard_errors), evidence.n_units
    if every_class:
        # Not for class means of labels: the few rows of a class can all be right or all wrong. By
        # the balanced accuracy with 3 of 300 rows in a class, ranks held on .94 of 350 boards.
        units = min(units, evidence.rarest_class)
    if m < 2:
        return None
    if evidence.effective_units < 2:
        return (
            f"There are too few independent {rows}, or {rows} of a class, to decide any comparison."
        )
    pairs = np.triu_indices(min(m, 200), k=1)
    skewness = np.abs(evidence.skewness[pairs])
    middle, quartile = np.quantile(skewness, [0.5, 0.75])
    if bounded:
        # Of right and wrong answers few rows may differ, which is no sign of larger errors.
        several = evidence.differing[pairs] > FEW_ROWS
        quartile = np.quantile(np.where(several, skewness, 0.0), 0.75)
    few_units = units < BONFERRONI_BELOW
    noise = np.sqrt(6) / units if few_units else 0.0  # of the skewness of a normal sample
    median_counts = middle > MOST_SKEWED and not few_units
    if median_counts or quartile > MOST_SKEWED_QUARTILE + noise:
        return (
            f"The differences between the scores rest on about {evidence.effective_units:.0f} of "
            f"{units:,} {rows}, which weigh far more than the others, and a sample can hold "
            "too few of them."
        )
    return None
