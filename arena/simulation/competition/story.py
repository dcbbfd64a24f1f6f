"""What was true, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from arena.formats import number, score_decimals
from arena.simulation.competition.flags import NEAR_COPY, TOO_GOOD
from arena.simulation.competition.outcome import Outcome

__all__ = ["UNKNOWN", "about_flags", "about_intervals", "about_time", "about_winner", "story"]

UNKNOWN = (
    "The chance of each label is not known here, so the truth is not either: the private rows "
    "stand for it, and nobody can say whether the truly best team won."
)


def story(outcome: Outcome) -> str:
    """Return who won, whether rightly, and how far the public board was from the truth."""
    return " ".join((about_winner(outcome), about_time(outcome)))


def _shown(outcome: Outcome, *values: float | None) -> list[str]:
    decimals = min(4, max(score_decimals([team.score for team in outcome.teams]), 1))
    return [number(decimals)(value) for value in values]


def about_winner(outcome: Outcome) -> str:
    """Say whether the truly best team won.

    The truth is that of the submissions that count in the end, one for each team.
    """
    winner, best, others = outcome.winner, outcome.best, outcome.shared_by - 1
    won = f"{winner.team} won" if not others else f"{winner.team} shared the win with {others:,}"
    if outcome.truth == "private":
        return f"{won}. {UNKNOWN}"
    own, score, most = _shown(outcome, winner.true_score, winner.score, best.true_score)
    won = f"{won}, scored {score} and is truly worth {own}"
    tied = sum(team.true_rank == best.true_rank for team in outcome.teams)
    if outcome.best_won:
        whose = "The truly best team" if tied == 1 else f"One of the {tied:,} truly best teams"
        return f"{whose} won: {won}."
    (lost,) = _shown(outcome, outcome.loss)
    lacking = "The truly best team did not win"
    if tied > 1:
        lacking = f"None of the {tied:,} truly best teams won"
    return (
        f"{lacking}. {won}, the {_th(winner.true_rank)} best; {best.team}, worth {most}, came "
        f"{_th(best.rank)}. That cost {lost}."
    )


def about_time(outcome: Outcome) -> str:
    """Say how far the top of the public board was from the truth."""
    if outcome.leaderboard_error is None or not outcome.days:
        return "Nothing was released."
    last = outcome.days[-1]
    top, leader, error = _shown(
        outcome, last.shown_best, last.true_of_leader, outcome.leaderboard_error
    )
    exact = outcome.truth == "exact"
    worth = f"truly worth {leader}" if exact else f"worth {leader} on the private rows"
    best = "truly best submission so far" if exact else "best submission so far on these rows"
    day = next(one.day for one in outcome.days if one.error >= outcome.leaderboard_error)
    return (
        f"In the end the top of the public board showed {top} for a submission that is {worth}. "
        f"At its largest, on day {day}, what the top showed was {error} away from the {best}: "
        f"that is the leaderboard error."
    )


def about_intervals(outcome: Outcome) -> str:
    """Say whether the intervals of the board held what was true; empty where nobody knows."""
    ranks, level = outcome.rank_intervals, f"{100 * outcome.level:.10g} %"
    told = ""
    if ranks is not None:
        told = (
            f"Of the {ranks['teams']:,} rank intervals, which claim to be right all at once at "
            f"{level}, {ranks['held']:,} hold the true rank."
        )
    if outcome.best_score_held is not None:
        ends = (outcome.best_score["estimate"], outcome.best_score["low"])
        best, low, high, true = _shown(
            outcome, *ends, outcome.best_score["high"], outcome.best.true_score
        )
        held = "which holds it" if outcome.best_score_held else "which misses it"
        told += (
            f" Corrected for having been selected the best score is {best}, and the best true one "
            f"lies in {low} to {high} at {level}, {held}: it is {true}."
        )
    return told.strip()


def about_flags(outcome: Outcome) -> str:
    """Say who was flagged, and who ought to have been."""
    return " ".join(_about_flags(outcome))


def _about_flags(outcome: Outcome) -> Iterator[str]:
    copies = sum(team.conduct == "copies" for team in outcome.teams)
    near = [flag for flag in outcome.flags if flag.check == NEAR_COPY]
    right = sum(flag.deserved for flag in near)
    if copies or near:
        kind = f"{copies:,} {'is' if copies == 1 else 'are'} of a kind that copies"
        flagged = f"{_teams(len(near))} flagged as near-copies, {right:,} of them rightly"
        yield f"{flagged if near else 'Nobody was flagged as a near-copy'}; {kind}."
    good = [flag for flag in outcome.flags if flag.check == TOO_GOOD]
    if good:
        right = sum(flag.deserved for flag in good)
        yield f"{_teams(len(good))} flagged as too good to be true, {right:,} of them rightly."
    elif outcome.floor_checked:
        yield (
            "Nobody was flagged as too good to be true on the private rows, whose labels nobody "
            "could know."
        )
    else:
        yield (
            "Who is too good to be true was not checked: that takes soft labels in the solution, "
            "and a metric whose submissions name a class."
        )


def _teams(count: int) -> str:
    return "1 team was" if count == 1 else f"{count:,} teams were"


def _th(rank: int) -> str:
    """Return an ordinal number.

    >>> _th(1), _th(22), _th(13)
    ('1st', '22nd', '13th')
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{'th' if rank % 100 in (11, 12, 13) else ending}"
