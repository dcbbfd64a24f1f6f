"""Conformance checks of analyses."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.interfaces import Analysis, Study, SuitsStudies
from arena.testing.conformance import Check, Conformance, Outcome, Verdict, run_checks
from arena.testing.examples import MeanAbsolute
from arena.types import DEFAULT_LEVEL, Finding
from arena.utils.tabular import as_json

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


def _run(subject: tuple[Analysis, Study]) -> Finding:
    analysis, study = subject
    return analysis.run(study, np.random.default_rng(5))


def _finds_something(subject: tuple[Analysis, Study]) -> Verdict:
    finding = _run(subject)
    if not isinstance(finding, Finding):
        return Outcome.FAILED, "run must return a Finding."
    if not finding.verdict.strip().endswith((".", "!", "?")):
        return Outcome.FAILED, "The verdict must be a sentence."
    return _OK


def _documents_it(subject: tuple[Analysis, Study]) -> Verdict:
    try:
        json.dumps(as_json(dict(_run(subject).document)), allow_nan=False)
    except TypeError as error:
        return Outcome.FAILED, f"The document is not JSON: {error}."
    return _OK


def _fits_the_board(subject: tuple[Analysis, Study]) -> Verdict:
    expected = len(subject[1].teams)
    for name, values in _run(subject).columns.items():
        if len(values) != expected:
            return Outcome.FAILED, (
                f"The column {name!r} has {len(values)} values for {expected} submissions."
            )
    return _OK


def _repeats(subject: tuple[Analysis, Study]) -> Verdict:
    one, other = _run(subject), _run(subject)
    same: Any = as_json(dict(one.document)) == as_json(dict(other.document))
    if same and one.verdict == other.verdict:
        return _OK
    return Outcome.FAILED, "The same study and generator gave a different finding."


_CHECKS = (
    ("a finding", _finds_something),
    ("its document", _documents_it),
    ("its columns", _fits_the_board),
    ("the same study twice", _repeats),
)
