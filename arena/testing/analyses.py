"""Conformance checks of rankers and analyses."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.ranks import minimum_ranks
from arena.evaluation.scores import full_scores, score_under_weights
from arena.interfaces import Analysis, Ranker, RankSets, Study, SuitsStudies
from arena.plugin.returned import checked
from arena.testing.conformance import Check, Conformance, Outcome, Verdict, run_checks
from arena.testing.examples import MeanAbsolute
from arena.types import DEFAULT_LEVEL, Finding
from arena.utils.tabular import as_json
from arena.utils.text import plural

_OK: Verdict = (Outcome.OK, "")


def example_study(n_submissions: int = 8, n_rows: int = 200, resamples: int = 100) -> Study:
    """Return a small board of synthetic submissions, scored by the mean absolute difference.

    >>> example_study(n_submissions=3).resampled.shape
    (3, 100)
    """
    rng = np.random.default_rng(11)
    truth = rng.normal(size=n_rows)
    noise = rng.normal(size=(n_submissions, n_rows)) * np.linspace(0.5, 1, n_submissions)[:, None]
    metric, predictions = MeanAbsolute(), ArrayPredictions(truth + noise)
    weights = draw_resamples(n_rows, resamples, seed=0).weights
    return Study(
        metric=metric,
        truth=truth,
        teams=tuple(f"team {number}" for number in range(n_submissions)),
        submissions=np.arange(1, n_submissions + 1),
        predictions=predictions,
        scores=full_scores(metric, truth, predictions),
        resampled=score_under_weights(metric, truth, predictions, weights),
        level=DEFAULT_LEVEL,
    )


def check_analysis(analysis: Analysis, study: Study | None = None) -> Conformance:
    """Check an analysis on a synthetic board, or on a given one."""
    subject = (analysis, study or example_study())
    if isinstance(analysis, SuitsStudies) and not analysis.suits(subject[1]):
        message = "It does not apply to the synthetic board: pass a study to which it applies."
        return Conformance(analysis.name, (Check("a board", Outcome.NOT_TRIED, message),))
    return run_checks(analysis.name, _CHECKS, subject)


def check_ranker(ranker: Ranker, study: Study | None = None) -> Conformance:
    """Check a ranker on a synthetic board, or on a given one."""
    return run_checks(ranker.name, _CHECKS_OF_RANKERS, (ranker, study or example_study()))


def _ranks_all(subject: tuple[Ranker, Study]) -> Verdict:
    ranker, study = subject
    sets, m = ranker.rank(study), len(study.teams)
    if not isinstance(sets, RankSets):
        return Outcome.FAILED, "rank must return RankSets."
    for name, values in sets.columns().items():
        if len(values) != m:
            return Outcome.FAILED, f"{name} has {plural(len(values), 'value')} for {m} submissions."
    if not ((sets.low >= 1) & (sets.low <= sets.high) & (sets.high <= m)).all():
        return Outcome.FAILED, f"Each rank set must lie within 1 and {m}, its low end first."
    return _OK


def _says_one_thing(subject: tuple[Ranker, Study]) -> Verdict:
    sets = subject[0].rank(subject[1])
    if not sets.possible_winner.any():
        return Outcome.FAILED, "At least one submission must be a possible winner."
    for what, first in (("rank set contains 1", sets.low == 1), ("tier is 1", sets.tier == 1)):
        if (sets.possible_winner != first).any():
            return Outcome.FAILED, f"A submission may be the best if and only if its {what}."
    return _OK


def _ranks_the_board(subject: tuple[Ranker, Study]) -> Verdict:
    ranker, study = subject
    sets = ranker.rank(study)
    ranks = minimum_ranks(study.scores, greater_is_better=study.metric.greater_is_better)
    if ((sets.low > ranks) | (ranks > sets.high)).any():
        return Outcome.FAILED, "Each rank set must contain the submission's rank on the board."
    return _OK


def _ranks_alike(subject: tuple[Ranker, Study]) -> Verdict:
    first, other = (subject[0].rank(subject[1]).columns() for _ in range(2))
    if first == other:
        return _OK
    return Outcome.FAILED, "The same study gave different rank sets."


_CHECKS_OF_RANKERS = (
    ("its rank sets", _ranks_all),
    ("one claim", _says_one_thing),
    ("the board's ranks", _ranks_the_board),
    ("the same study twice", _ranks_alike),
)


def _run(subject: tuple[Analysis, Study]) -> Finding:
    analysis, study = subject
    return analysis.run(study, np.random.default_rng(5))


def _finds_something(subject: tuple[Analysis, Study]) -> Verdict:
    finding = checked(_run(subject), Finding)
    if finding.analysis != subject[0].name:
        return (
            Outcome.FAILED,
            f"The finding is of {finding.analysis!r}, not of {subject[0].name!r}.",
        )
    if not finding.verdict.strip().endswith((".", "!", "?")):
        return Outcome.FAILED, "The verdict must be a sentence."
    return _OK


def _documents_it(subject: tuple[Analysis, Study]) -> Verdict:
    try:
        json.dumps(dict(_run(subject).document), allow_nan=False)
    except (TypeError, ValueError) as error:
        return Outcome.FAILED, f"The document is not JSON without NaN and arrays: {error}."
    return _OK


def _fits_the_board(subject: tuple[Analysis, Study]) -> Verdict:
    expected = len(subject[1].teams)
    for name, values in _run(subject).columns.items():
        if len(values) != expected:
            return Outcome.FAILED, (
                f"The column {name!r} has {plural(len(values), 'value')} for "
                f"{expected} submissions."
            )
    return _OK


def _repeats(subject: tuple[Analysis, Study]) -> Verdict:
    first, other = _run(subject), _run(subject)
    same: Any = as_json(dict(first.document)) == as_json(dict(other.document))
    if same and first.verdict == other.verdict:
        return _OK
    return Outcome.FAILED, "The same study and generator gave a different finding."


_CHECKS = (
    ("a finding", _finds_something),
    ("its document", _documents_it),
    ("its columns", _fits_the_board),
    ("the same study twice", _repeats),
)
