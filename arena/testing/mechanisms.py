"""Conformance checks of mechanisms."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from arena.interfaces import Evaluation, Mechanism
from arena.plugin.returned import checked
from arena.testing.conformance import Conformance, Outcome, Verdict, run_checks
from arena.types import Release
from arena.utils.text import plural

_N_ROWS, _N_SUBMISSIONS = 1_000, 40
_SEEDS = 25
_N_TEAMS, _BYTES_PER_TEAM = 200, 100
_OK: Verdict = (Outcome.OK, "")


def check_mechanism(mechanism: Mechanism) -> Conformance:
    """Check a mechanism on accuracies of one team, and of many teams that share a state.

    Examples
    --------
    >>> from arena.testing.examples import Repeat
    >>> check_mechanism(Repeat()).failed
    ()
    """
    return run_checks(mechanism.name, _CHECKS, mechanism)


def _evaluations() -> list[Evaluation]:
    rng = np.random.default_rng(3)
    scores = np.round(0.5 + 0.1 * rng.random(_N_SUBMISSIONS), 3)
    return [
        Evaluation(
            submission=number,
            score=float(score),
            greater_is_better=True,
            n_rows=_N_ROWS,
            standard_error_of_difference=lambda other: 0.01 + 0.0001 * other,
            standard_error=lambda: 0.015,
            budget=_N_SUBMISSIONS,
            baseline=0.5,
            row_range=(0.0, 1.0),
        )
        for number, score in enumerate(scores, start=1)
    ]


def _history(mechanism: Mechanism, *, restored: bool = False) -> list[Release]:
    """Release all scores in order; ``restored`` passes state and mechanism through a copy."""
    state: Mapping[str, Any] = {}
    releases = []
    for evaluation in _evaluations():
        rng = np.random.default_rng(evaluation.submission)
        release = mechanism.release(state, evaluation, rng)
        state = release.state
        if restored:
            state = json.loads(json.dumps(dict(state), allow_nan=False))
            mechanism = pickle.loads(pickle.dumps(mechanism))  # noqa: S301 - our own bytes
        releases.append(release)
    return releases


def _scores(releases: list[Release]) -> list[float]:
    return [release.score for release in releases]


def _releases_numbers(mechanism: Mechanism) -> Verdict:
    releases = _history(mechanism)
    try:
        for release in releases:
            checked(release, Release)
    except (TypeError, ValueError) as error:
        return Outcome.FAILED, f"release: {error}."
    return _OK


def _keeps_the_direction(mechanism: Mechanism) -> Verdict:
    """Compare what two teams of clearly different scores are shown, in both directions.

    They are the first ones, or come after other teams whose state they share.
    """
    for better in (True, False):
        for state in ({}, _shared_state(mechanism, greater_is_better=better)):
            means = []
            for score in (0.2, 0.8):
                evaluation = replace(
                    _evaluations()[-1], score=score, greater_is_better=better, team="a new team"
                )
                releases = [
                    mechanism.release(state, evaluation, np.random.default_rng(seed))
                    for seed in range(_SEEDS)
                ]
                marks = [
                    release.score if release.ranked_by is None else release.ranked_by
                    for release in releases
                ]
                means.append(float(np.mean(marks)))
            if means[1] < means[0]:  # scores are shown in the metric's own sign
                return Outcome.FAILED, (
                    f"With greater_is_better={better} a score of 0.8 is shown as less than one of "
                    f"0.2: a released score must keep the direction of the metric."
                )
    return _OK


def _shared_state(
    mechanism: Mechanism, *, greater_is_better: bool = True, submissions: int = _N_SUBMISSIONS
) -> Mapping[str, Any]:
    """Return the state that submissions of as many teams leave in one instance."""
    state: Mapping[str, Any] = {}
    history = itertools.cycle(_evaluations())
    for number, evaluation in enumerate(itertools.islice(history, submissions), start=1):
        of_team = replace(
            evaluation,
            submission=number,
            team=f"{number:016x}",
            greater_is_better=greater_is_better,
            budget=None,
        )
        state = mechanism.release(state, of_team, np.random.default_rng(number)).state
        state = json.loads(json.dumps(dict(state), allow_nan=False))
    return state


def _names_the_source_of_a_repeated_score(mechanism: Mechanism) -> Verdict:
    """Send two scores that are clearly worse, and one that is better than all."""
    releases, evaluations = _history(mechanism), _evaluations()
    releases_again = [
        mechanism.release(
            releases[-1].state,
            replace(evaluations[-1], submission=_N_SUBMISSIONS + 1, score=score),
            np.random.default_rng(0),
        )
        for score in (0.0, 0.2, 0.99)
    ]
    repeats = releases_again[0].score == releases_again[1].score != releases_again[2].score
    if repeats and releases_again[0].source is None:
        return Outcome.FAILED, (
            "It repeats a score that another submission earned: name that submission as the "
            "source, so that the score leaves the board when that file is withdrawn."
        )
    earlier = {evaluation.submission for evaluation in evaluations}
    if {release.source for release in (*releases, *releases_again)} - {None} <= earlier:
        return _OK
    return Outcome.FAILED, "The source of a release must be the id of an earlier submission."


def _is_a_function_of_its_arguments(mechanism: Mechanism) -> Verdict:
    if _scores(_history(mechanism)) == _scores(_history(mechanism)):
        return _OK
    return Outcome.FAILED, "The same history gave other releases: use no randomness except rng."


def _survives_a_restart(mechanism: Mechanism) -> Verdict:
    try:
        restored = _history(mechanism, restored=True)
    except (TypeError, ValueError) as error:
        return Outcome.FAILED, f"Its state is not small JSON without NaN and infinity: {error}."
    if _scores(restored) == _scores(_history(mechanism)):
        return _OK
    return Outcome.FAILED, "Its state changes in JSON: a restart would change later releases."


def _leaves_the_state(mechanism: Mechanism) -> Verdict:
    state: Mapping[str, Any] = {}
    for evaluation in _evaluations()[:10]:
        before = copy.deepcopy(dict(state))
        release = mechanism.release(state, evaluation, np.random.default_rng(0))
        if dict(state) != before:
            return Outcome.FAILED, "It modifies its state argument: return a new state instead."
        state = release.state
    return _OK


def keeps_its_state_small(mechanism: Mechanism) -> Verdict:
    """Check that the state grows with neither submissions nor, by much, teams."""
    size = len(json.dumps(dict(_history(mechanism)[-1].state)))
    if size > 10_000:
        return (
            Outcome.FAILED,
            f"After {_N_SUBMISSIONS} submissions its state has {plural(size, 'byte')}.",
        )
    size = len(json.dumps(dict(_shared_state(mechanism, submissions=_N_TEAMS))))
    if size > _BYTES_PER_TEAM * _N_TEAMS:
        return Outcome.FAILED, (
            f"After one submission of each of {_N_TEAMS} teams, under scope = competition, its "
            f"state has {plural(size, 'byte')}: keep it to {_BYTES_PER_TEAM} for each team."
        )
    return _OK


_CHECKS = (
    ("numbers", _releases_numbers),
    ("the direction of the metric", _keeps_the_direction),
    ("repeated scores", _names_the_source_of_a_repeated_score),
    ("the same history twice", _is_a_function_of_its_arguments),
    ("a restart", _survives_a_restart),
    ("the state it is given", _leaves_the_state),
    ("the size of its state", keeps_its_state_small),
)
