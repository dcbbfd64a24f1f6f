"""The meaning of an estimate of the best true performance, in sentences for non-statisticians."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.types import FloatArray
from arena.utils.formatting import level_text, percent
from arena.utils.text import plural

if TYPE_CHECKING:
    from arena_sota.reuse import Reuse
    from arena_sota.similarity_bound import SimilarityBound

HARDLY = 0.0005
"""A smaller difference of scores counts as almost nothing."""
_ERRORS = 2
"""How many standard errors of a simulated mean are added to the reach of the other teams."""


def reach_of_others(
    scores: FloatArray, level: float, maximum_of: Callable[[FloatArray, float], Any]
) -> float:
    """Return the upper limit of the best score of all but the first team, if scores were true.

    This is the upper end of the interval of their best score; where it is simulated, two standard
    errors of its mean are added. Only a winner beyond it is said to exceed what selection explains.
    The expected best score of a board that includes the winner cannot decide that: it may be lower
    than the winner's score because of simulation error, or because resampled teams do not always
    include the winner.

    Parameters
    ----------
    scores
        ``(m,)``, at least two.
    level
        Of the interval.
    maximum_of
        ``maximum_of(performances (k,), settled)``: the distribution of the best score.
    """
    maximum = maximum_of(np.delete(scores, np.argmax(scores)), 1e-4)
    draws = getattr(maximum, "draws", None)
    error = 0.0 if draws is None else maximum.std / np.sqrt(len(draws))
    return float(maximum.interval(level)[1] + _ERRORS * error)


def sota_verdict(
    side: int,
    target: str,
    observed: float,
    expected: float,
    sota: float | None,
    n_teams: int,
    n_above: int | None,
    reach: float = np.inf,
) -> str:
    """Return whether selection among many teams can explain the best score.

    Parameters
    ----------
    side
        0: there is a solution; 1: the expected best score is below the observed one even if every
        score equals the true performance; -1: it is above even if all teams guess.
    target
        ``mean`` or ``upper``.
    observed, expected
        The best score, and its mean in the model.
    sota
        The estimate, where there is one.
    n_teams, n_above
        How many teams there are, and how many scored above the estimate.
    reach
        With side 1: :func:`reach_of_others`; selection explains the winner up to it.

    Examples
    --------
    >>> sota_verdict(0, "mean", 0.9116, 0.9116, 0.9070, 3_558, 841)[:69]
    'The best of 3,558 scores is 0.9116 on average if the best true perfor'
    """
    if side > 0:
        return _of_winner(observed, reach, n_teams)
    if (side < 0 or sota is None) and target == "upper":
        return (
            f"Even if none of the {plural(n_teams, 'team', 'were')} better than guessing, a best "
            f"score of {observed:.4f} would be within the expected range: the scores do not show "
            "that any team is better than guessing."
        )
    if side < 0 or sota is None:
        return (
            f"Even if none of the {plural(n_teams, 'team', 'were')} better than guessing, the "
            f"expected best score would be about {expected:.4f}, above the observed "
            f"{observed:.4f}: selection alone explains the best score."
        )
    if observed - sota < HARDLY:
        return (
            f"Selection among {plural(n_teams, 'team')} explains almost nothing of the best score "
            f"of {observed:.4f}: the best true performance is about {sota:.4f}."
        )
    others = f"{plural(n_above or 0, 'team')} scored above that performance."
    if target == "upper":
        return (
            f"The best score of {observed:.4f} is within the range expected of the best of "
            f"{plural(n_teams, 'score')} even if the best true performance is only "
            f"{sota:.4f}; {others}"
        )
    return (
        f"The best of {plural(n_teams, 'score')} is {observed:.4f} on average if the best true "
        f"performance is {sota:.4f}: {observed - sota:.4f} of the best score is selection bias. "
        f"{others}"
    )


def who_counts(n_given: int, n_distinct: int, n_counting: int) -> str:
    """Return why fewer teams are counted than there are scores, or an empty text.

    >>> who_counts(43, 41, 40)
    'The model of selection counts 40 of 43 scores: 2 near-duplicates and 1 score no better than \
guessing are left out.'
    >>> who_counts(43, 43, 43)
    ''
    """
    copies, guesses = n_given - n_distinct, n_distinct - n_counting
    exclusions = [plural(copies, "near-duplicate")] if copies else []
    exclusions += [f"{plural(guesses, 'score')} no better than guessing"] if guesses else []
    if not exclusions:
        return ""
    are = "is" if copies + guesses == 1 else "are"
    return (
        f"The model of selection counts {n_counting:,} of {plural(n_given, 'score')}: "
        f"{' and '.join(exclusions)} {are} left out."
    )


def who_is_left_out(n_teams: float, rho0: float) -> str:
    """Return the meaning of teams outside the bounds of the dependence model, and what to do.

    >>> who_is_left_out(1, 0.6)[:64]
    '1 team scores too low for a correlation of 0.600 with the common'
    """
    teams = "1 team scores" if n_teams == 1 else f"{n_teams:,.6g} teams score"
    return (
        f"{teams} too low for a correlation of {rho0:.3f} with the common cause, so the estimate "
        f"assumes that they never come first by chance. To include them, give a smaller --rho and "
        f"check whether the estimate changes."
    )


def of_the_predictions(document: Mapping[str, Any]) -> str:
    """Return the correlation shown by the predictions and the one used for the estimate.

    >>> of_the_predictions({"submissions": 6, "clusters": 6, "rho0": 0.514,
    ...                     "rho0_interval": [0.498, 0.53]})
    'None of the 6 submissions is a near-duplicate of another. The estimate uses a correlation \
with the common cause of 0.514; the predictions show one between 0.498 and 0.530.'
    """
    given, distinct = document["submissions"], document["clusters"]
    counted = (
        f"The {plural(given, 'submission', 'count')} as {distinct:,}; near-duplicates count once."
    )
    if given == distinct:
        counted = f"None of the {plural(given, 'submission')} is a near-duplicate of another."
    low, high = document["rho0_interval"]
    dependence_text = "the predictions do not show how large it is"
    if low is not None and high is not None:
        dependence_text = f"the predictions show one between {low:.3f} and {high:.3f}"
    return (
        f"{counted} The estimate uses a correlation with the common cause of "
        f"{document['rho0']:.3f}; {dependence_text}."
    )


_RHO = {
    "given": "as given",
    "default": "the default of the papers, not estimated from these scores",
    "predictions": "estimated from the stored predictions",
}
_METHODS = {
    "shrink": "The true performances are the scores shrunk toward guessing by a common factor.",
    "crop": "The true performances are those of the scores up to a limit, resampled.",
}


def assumptions_of(method: str, rho0: float, source: str, theta: str = "fixed") -> list[str]:
    """Return what an estimate assumes, in sentences.

    Parameters
    ----------
    method
        ``shrink`` or ``crop``.
    rho0
        The correlation with the common cause.
    source
        Where it comes from: ``given``, ``default`` or ``predictions``.
    theta
        ``bootstrap`` or ``fixed``.

    Examples
    --------
    >>> assumptions_of("shrink", 0.6, "default")[0]
    'rho0 is 0.600, the default of the papers, not estimated from these scores.'
    """
    cause = "The errors of the teams are independent."
    if rho0:
        cause = (
            f"All teams have the correlation {rho0:.3f} with one common cause per row and are "
            f"independent given it; any two then have the correlation {rho0**2:.3f}."
        )
    drawn = ["They are resampled with replacement."] if theta == "bootstrap" else []
    return [
        f"rho0 is {rho0:.3f}, {_RHO[source]}.",
        cause,
        " ".join([_METHODS[method], *drawn]),
        "No score is itself the best of several submissions on these rows.",
    ]


def _of_winner(observed: float, reach: float, n_teams: int) -> str:
    others = f"the other {plural(n_teams - 1, 'team')}" if n_teams > 2 else "the other team"
    assumed = f"if the true performance of {others} equalled the score"
    if observed > reach:
        return (
            f"The winner's score exceeds what selection explains under these assumptions: "
            f"{assumed}, the best of them would rarely score above {reach:.4f}, and the winner "
            f"reached {observed:.4f}, {observed - reach:.4f} more. Intervals that rest on the rows "
            f"alone may still overlap."
        )
    return (
        f"The winner's lead is within what selection explains: {assumed}, the best of them could "
        f"score up to {reach:.4f}, and the winner reached {observed:.4f}. These scores alone do "
        f"not show more."
    )


def of_reuse(reuse: Reuse) -> list[str]:
    """Return what public and private scores over the history of a board say, in sentences."""
    level, m = level_text(reuse.level), len(reuse.submissions)
    sentences = ["No team has two submissions: nothing shows whether teams adapted."]
    if reuse.drift is not None:
        drift = reuse.drift
        verdict = "no adaptation that these rows can show"
        if drift.low > 0:
            verdict = "the teams adapted to the public rows"
        elif drift.high < 0:
            verdict = "the private scores gained more"
        sentences = [
            f"From a team's first submission to its last the public score gained "
            f"{drift.mean:.4f} more than the private score, mean of "
            f"{plural(drift.n, 'team')} ({drift.low:.4f} to {drift.high:.4f} at {level} "
            f"confidence): {verdict}."
        ]
    return [
        *sentences,
        f"{plural(m, 'submission', 'are')} as similar as {reuse.equivalent:.3g} independent ones: "
        f"chosen without the public rows, the public score that is furthest from its true value "
        f"is off by at most {reuse.widest:.4f} ({level} confidence), against "
        f"{reuse.widest_if_independent:.4f} if they were independent.",
        *_of_similarity(reuse.similarity, level),
    ]


def _of_similarity(similar: SimilarityBound | None, level: str) -> list[str]:
    if similar is None:
        return []
    helps = similar.bound < similar.bound_by_number
    return [
        f"Two submissions are both right or both wrong on {percent(similar.similarity)} of the "
        f"private rows; with independent errors it would be "
        f"{percent(similar.similarity_if_independent)}.",
        f"A bound for any number of rows: no such public score is off by more than "
        f"{similar.bound:.4f} ({level} confidence), against {similar.bound_by_number:.4f} from the "
        f"number of submissions alone{'' if helps else ': their similarity does not help'}.",
    ]
