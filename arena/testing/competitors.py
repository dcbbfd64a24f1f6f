"""Conformance checks of competitors."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import (
    Competitor,
    Computation,
    ComputesAhead,
    Conduct,
    DeclaresConduct,
    Feedback,
    HasVariants,
    KnowsLabels,
    Metric,
    Move,
    Participation,
    Player,
    PlaysThroughTeams,
)
from arena.testing.conformance import Check, Conformance, Outcome, Verdict, run_checks
from arena.testing.examples import ShareRight
from arena.testing.problems import problem_for
from arena.types import IntArray, PredictionKind
from arena.utils.text import plural, type_and_text

_OK: Verdict = (Outcome.OK, "")


@dataclass(frozen=True, slots=True, eq=False)
class CompetitorProblem:
    """A small competition: what a participant knows, and the truth behind the public scores."""

    participation: Participation
    truth: npt.NDArray[Any]
    """``(n_rows,)``, hidden from the competitor."""
    public: IntArray
    """``(n_public,)`` positions of the rows that are scored."""

    def score(self, prediction: npt.NDArray[Any]) -> float:
        """Return the public score, shown in full."""
        metric = self.participation.metric
        return float(metric.score(self.truth[self.public], prediction[self.public]))


def competitor_problem(
    metric: Metric | None = None,
    *,
    n_rows: int = 120,
    submissions: int = 6,
    training: Any = None,
    test: npt.NDArray[Any] | None = None,
    truth: npt.NDArray[Any] | None = None,
) -> CompetitorProblem:
    """Return a small competition on synthetic rows, half of them public.

    Parameters
    ----------
    metric
        None: the share of right labels.
    n_rows
        Number of rows, unless ``truth`` is given.
    submissions
        Number of submissions allowed before the last one.
    training, test
        What the competitor trains on, and ``(n_rows, n_features)`` of the rows to predict.
    truth
        ``(n_rows,)`` of these rows; None: drawn.

    Examples
    --------
    >>> problem = competitor_problem()
    >>> problem.participation.n_public, problem.score(problem.truth)
    (60, 1.0)
    """
    metric = ShareRight() if metric is None else metric
    n_rows = n_rows if truth is None else len(truth)
    metric_problem = problem_for(metric, n_rows, 1)
    truth = metric_problem.truth if truth is None else truth
    public = np.sort(np.random.default_rng(1).permutation(n_rows)[: n_rows // 2])
    numeric = metric.prediction is PredictionKind.VALUE
    problem = CompetitorProblem(
        Participation(
            metric=metric,
            n_rows=n_rows,
            n_public=len(public),
            n_classes=None if numeric else 2,
            submissions=submissions,
            baseline=metric_problem.predictions[0],
            training=training,
            test=test,
        ),
        truth,
        public,
    )
    public_score = problem.score(metric_problem.predictions[0])
    return replace(
        problem, participation=replace(problem.participation, baseline_score=public_score)
    )


def check_competitor(
    competitor: Competitor, problem: CompetitorProblem | None = None
) -> Conformance:
    """Check a competitor in a small competition, on synthetic rows or on a given problem.

    A competitor that does not support the problem (its ``start`` raises ``UsageError``) is not
    tried: pass a problem with another metric or with training rows.

    Examples
    --------
    >>> from arena.testing.examples import Guess
    >>> check_competitor(Guess()).failed
    ()
    """
    problem = competitor_problem() if problem is None else problem
    name = str(getattr(competitor, "name", type(competitor).__name__))
    if not isinstance(competitor, Competitor):
        message = "A competitor needs a name and a method start."
        return Conformance(name, (Check("a game", Outcome.FAILED, message),))
    try:
        _start((competitor, problem))
    except UsageError as error:
        message = f"It does not support this problem: {error} Pass one that it supports."
        return Conformance(name, (Check("a game", Outcome.NOT_TRIED, message),))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise any error
        message = f"start raised {type_and_text(error)}"
        return Conformance(name, (Check("a game", Outcome.FAILED, message),))
    return run_checks(name, _CHECKS, (competitor, problem))


_Subject = tuple[Competitor, CompetitorProblem]


def _start(subject: _Subject, submissions: int = 0) -> Player:
    """Start a player; ``submissions`` is 0 for as many as the problem allows."""
    competitor, problem = subject
    part = problem.participation
    part = replace(part, submissions=submissions or part.submissions)
    return competitor.start(part, np.random.default_rng(7))


def _play(
    subject: _Subject,
    *,
    finishing: bool = False,
    elsewhere: bool = False,
    submissions: int = 0,
) -> tuple[list[Move], Player]:
    """Play to the end; return all moves and the player.

    Parameters
    ----------
    finishing
        Whether ``finish`` is also called after every submission.
    elsewhere
        Whether computations ahead are run through pickle, as in another process.
    submissions
        0: as many as the problem allows.
    """
    problem = subject[1]
    player = _start(subject, submissions)
    moves: list[Move] = []
    released: dict[int, float] = {}
    for _ in range(submissions or problem.participation.submissions):
        if elsewhere and isinstance(player, ComputesAhead):
            player.receive_result(_computed(player.computation()))
        moves.append(_kept(player.submit()))
        team = moves[-1].team
        score = problem.score(moves[-1].prediction)
        player.receive(Feedback(score, released.get(team)))
        released[team] = score
        if finishing:
            player.finish()
    return [*moves, _kept(player.finish())], player


def _kept(move: Move) -> Move:
    return Move(np.array(move.prediction), move.team)


def _computed(work: Computation) -> npt.NDArray[Any]:
    function, arguments = pickle.loads(  # noqa: S301 - our own bytes
        pickle.dumps((work.function, work.arguments))
    )
    return np.asarray(function(*arguments))


def _same(moves: Sequence[Move], other: Sequence[Move]) -> bool:
    return len(moves) == len(other) and all(
        a.team == b.team and np.array_equal(a.prediction, b.prediction)
        for a, b in zip(moves, other, strict=True)
    )


def _submits(subject: _Subject) -> Verdict:
    competitor, problem = subject
    part = problem.participation
    player = _start(subject)
    if not isinstance(player, Player):
        return Outcome.FAILED, "start must return a player: submit, receive and finish."
    first = player.submit()
    if not isinstance(first, Move):
        return Outcome.FAILED, "submit must return a Move."
    teams = competitor.teams if isinstance(competitor, PlaysThroughTeams) else 1
    fault = _fault(first, part, teams)  # before it is scored
    if fault:
        return Outcome.FAILED, fault
    for move in _play(subject)[0]:
        fault = _fault(move, part, teams)
        if fault:
            return Outcome.FAILED, fault
    return _OK


def _fault(move: Move, part: Participation, teams: int) -> str | None:
    """Return what is wrong with a submission."""
    prediction = move.prediction
    if not isinstance(prediction, np.ndarray) or prediction.ndim == 0:
        return f"A prediction must be an array of the {plural(part.n_rows, 'row')}."
    if len(prediction) != part.n_rows or prediction.ndim > 2:
        return f"A prediction has the shape {prediction.shape} for {plural(part.n_rows, 'row')}."
    if not 0 <= move.team < teams:
        return f"A submission is from team {move.team} of {teams}: they are counted from 0."
    kind, n_classes = part.metric.prediction, part.n_classes or 0
    if kind is PredictionKind.TEXT:
        return None
    if prediction.dtype.kind not in "biuf":
        return f"A prediction holds {prediction.dtype}, not numbers."
    shares = {PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES}
    rules = [
        (
            np.isfinite(prediction.astype(np.float64)),
            "A prediction holds a value that is not finite.",
        ),
        (
            kind is not PredictionKind.LABEL or np.isin(prediction, np.arange(n_classes)),
            f"Labels must be codes from 0 to {n_classes - 1}.",
        ),
        (
            kind not in shares or (prediction >= 0) & (prediction <= 1),
            "A probability is outside 0 to 1.",
        ),
    ]
    return next((fault for is_kept, fault in rules if not np.all(is_kept)), None)


def _repeats(subject: _Subject) -> Verdict:
    first = _play(subject)[0]
    _play(subject, submissions=1)  # so that a state that alternates is not where it was
    if _same(first, _play(subject)[0]):
        return _OK
    return Outcome.FAILED, (
        "The same seed gave other submissions: use no randomness except rng, and keep no state in "
        "the competitor."
    )


def _finishes_at_any_time(subject: _Subject) -> Verdict:
    if _same(_play(subject)[0], _play(subject, finishing=True)[0]):
        return _OK
    return Outcome.FAILED, "finish changes later submissions: it must change no state."


def _plays_a_short_game(subject: _Subject) -> Verdict:
    _play(subject, submissions=1)
    return _OK


def _computes_ahead(subject: _Subject) -> Verdict:
    player = _start(subject)
    if not isinstance(player, ComputesAhead):
        return Outcome.OK, "It computes nothing ahead."
    if player.computation().key != player.computation().key:
        return Outcome.FAILED, "computation returned two computations for one submission."
    if _same(_play(subject)[0], _play(subject, elsewhere=True)[0]):
        return _OK
    return Outcome.FAILED, "A result that was computed ahead gave another submission."


def _declares_itself(subject: _Subject) -> Verdict:
    competitor, problem = subject
    if isinstance(competitor, DeclaresConduct) and competitor.conduct not in get_args(Conduct):
        return Outcome.FAILED, f"Its conduct must be one of {', '.join(get_args(Conduct))}."
    variants = competitor.variants() if isinstance(competitor, HasVariants) else [competitor]
    if not variants or not all(isinstance(variant, Competitor) for variant in variants):
        return Outcome.FAILED, "variants must return at least one competitor, and nothing else."
    for variant in variants:
        _start((variant, problem))
    return _OK


def _knows_what_it_claims(subject: _Subject) -> Verdict:
    player, truth = _play(subject)[1], subject[1].truth
    if not isinstance(player, KnowsLabels):
        return Outcome.OK, "It claims to know no label."
    labels = np.asarray(player.known_labels())
    if labels.shape != truth.shape:
        return (
            Outcome.FAILED,
            f"known_labels has the shape {labels.shape} for {plural(len(truth), 'row')}.",
        )
    if (labels[labels >= 0] == truth[labels >= 0]).all():
        return _OK
    return Outcome.FAILED, "A label that it claims to know is wrong, although scores are exact."


_CHECKS = (
    ("its submissions", _submits),
    ("the same seed twice", _repeats),
    ("finish at any time", _finishes_at_any_time),
    ("a single submission", _plays_a_short_game),
    ("computations ahead", _computes_ahead),
    ("conduct and variants", _declares_itself),
    ("known labels", _knows_what_it_claims),
)
