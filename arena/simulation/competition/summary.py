"""The outcome of a simulated competition in sentences, compared with the truth."""

from __future__ import annotations

from arena.simulation.competition.comparison import MEASURES, Difference, MechanismComparison
from arena.simulation.competition.flags import NEAR_COPY, TOO_GOOD
from arena.simulation.competition.outcome import CompetitionOutcome
from arena.utils.formatting import level_text, number, score_decimals
from arena.utils.text import plural

UNKNOWN = (
    "How the target of each row was drawn is not known here, so true scores are not known either. "
    "Scores on the private rows are used instead, so whether the truly best team won is unknown."
)


def summarize(outcome: CompetitionOutcome) -> str:
    """Return who won, whether it was the truly best, and how far the public board was off."""
    return " ".join((about_winner(outcome), about_time(outcome)))


def _shown(outcome: CompetitionOutcome, *values: float | None) -> list[str]:
    decimals = min(4, max(score_decimals([team.score for team in outcome.teams]), 1))
    return [number(decimals)(value) for value in values]


def about_winner(outcome: CompetitionOutcome) -> str:
    """Say whether the truly best team won, judged by the true scores of final submissions."""
    if outcome.degenerate is not None:
        return (
            f"{outcome.degenerate} A ranking of such submissions has no meaning, so this "
            f"simulation does not tell who wins. Use another metric, more rows or other teams."
        )
    winner, best, others = outcome.winner, outcome.best, outcome.shared_by - 1
    won = f"{winner.team} won" if not others else f"{winner.team} tied for first with {others:,}"
    if not outcome.knows_truth:
        return f"{won}. {UNKNOWN}"
    true_score, score, most = _shown(outcome, winner.true_score, winner.score, best.true_score)
    won = f"{won} with {score}; its true score is {true_score}"
    tied = sum(team.true_rank == best.true_rank for team in outcome.teams)
    if outcome.best_won:
        subject = (
            "The truly best team" if tied == 1 else f"One of the {plural(tied, 'truly best team')}"
        )
        return f"{subject} won: {won}."
    (lost,) = _shown(outcome, outcome.loss)
    lacking = "The truly best team did not win"
    if tied > 1:
        lacking = f"None of the {plural(tied, 'truly best team')} won"
    return (
        f"{lacking}. {won}, true rank {winner.true_rank:,}. {best.team}, with a true score of "
        f"{most}, ranked {best.rank:,}. The loss in true score is {lost}."
    )


def about_time(outcome: CompetitionOutcome) -> str:
    """Say how far the top of the public board was from the truth."""
    if outcome.leaderboard_error is None or not outcome.days:
        return "Nothing was released."
    last = outcome.days[-1]
    top, leader, error = _shown(
        outcome, last.shown_best, last.true_of_leader, outcome.leaderboard_error
    )
    knows_truth = outcome.knows_truth
    worth = f"true score is {leader}" if knows_truth else f"score on the private rows is {leader}"
    best = "true score" if knows_truth else "private score"
    day = next(day.day for day in outcome.days if day.error >= outcome.leaderboard_error)
    return (
        f"At the end the top of the public board showed {top} for a submission whose "
        f"{worth}. The leaderboard error, the largest difference between the top score shown and "
        f"the best {best} submitted so far, was {error}, on day {day}."
    )


def about_intervals(outcome: CompetitionOutcome) -> str:
    """Say whether the intervals held the truth; empty if it is not known or has no meaning."""
    if outcome.degenerate is not None:
        return ""
    ranks, level = outcome.rank_intervals, level_text(outcome.level)
    text = ""
    if ranks is not None:
        text = (
            f"{ranks['held']:,} of {ranks['teams']:,} simultaneous {level} rank intervals hold the "
            f"true rank."
        )
    if outcome.best_score_held is not None:
        ends = (outcome.best_score["estimate"], outcome.best_score["low"])
        best, low, high, true = _shown(
            outcome, *ends, outcome.best_score["high"], outcome.best.true_score
        )
        held = "holds" if outcome.best_score_held else "misses"
        text += (
            f" The best score corrected for selection is {best} ({level} interval {low} to "
            f"{high}); the interval {held} the best true score, {true}."
        )
    return text.strip()


def about_flags(outcome: CompetitionOutcome) -> str:
    """Say how many teams were flagged, and how many of them correctly."""
    text = ""
    copies = sum(team.conduct == "copies" for team in outcome.teams)
    near = [flag for flag in outcome.flags if flag.check == NEAR_COPY]
    right = sum(flag.deserved for flag in near)
    if copies or near:
        kind = f"{plural(copies, 'team', 'are')} of a kind that copies"
        flagged = f"{_teams(len(near))} flagged as near-duplicates, {right:,} of them correctly"
        text = f"{flagged if near else 'No team was flagged as a near-duplicate'}; {kind}. "
    good = [flag for flag in outcome.flags if flag.check == TOO_GOOD]
    if good:
        right = sum(flag.deserved for flag in good)
        return f"{text}{_teams(len(good))} flagged as too good to be true, {right:,} correctly."
    if outcome.floor_checked:
        return f"{text}No team was flagged as too good to be true on the private rows."
    return (
        f"{text}Whether a score is too good to be true was not checked: that needs soft labels in "
        f"the solution and a metric whose submissions name a class."
    )


def _teams(count: int) -> str:
    return plural(count, "team", "were")


def summarize_seeds(comparison: MechanismComparison) -> list[str]:
    """Return what the seeds show, and which differences of mechanisms they do not show."""
    n, left_out = len(comparison.stories), len(comparison.degenerate)
    texts = []
    if left_out:
        reason = next(
            outcome["degenerate"]
            for story in comparison.stories
            for outcome in story.outcomes
            if outcome["degenerate"] is not None
        )
        meaningless = (
            f"On {left_out:,} of {plural(n, 'seed')} a ranking has no meaning, and they are left "
            f"out. {reason}"
        )
        if left_out == n:
            return [f"{meaningless} Use another metric, more rows or other teams."]
        texts.append(meaningless)
    if comparison.truth == "private":
        texts.append(UNKNOWN)
    for mechanism in comparison.mechanisms:
        won = comparison.summary_of(mechanism, "best_won")
        error = comparison.summary_of(mechanism, "leaderboard_error")
        parts = []
        if won is not None:
            parts.append(
                f"the truly best team won on {round(won.mean * won.seeds):,} of "
                f"{plural(won.seeds, 'seed')}"
            )
        if error is not None:
            mean = comparison.summary_of(mechanism, "leaderboard_error_mean")
            days = "" if mean is None else f" and {mean.mean:.2g} as a mean over days"
            parts.append(f"the leaderboard error is {error.mean:.2g} as a maximum over days{days}")
        if parts:
            texts.append(f"Under {mechanism} {' and '.join(parts)} (means over the seeds).")
    if len(comparison.mechanisms) > 1:
        texts.append(_about_differences(comparison))
    return texts


def _about_differences(comparison: MechanismComparison) -> str:
    labels = {measure.name: measure.label for measure in MEASURES}
    shown_differences = [difference for difference in comparison.differences if difference.shown]
    if not shown_differences:
        return (
            "No difference between the mechanisms is shown. With more seeds, smaller differences "
            "can be shown."
        )

    def sentence(difference: Difference) -> str:
        way = "larger" if difference.mean > 0 else "smaller"
        label = labels[difference.measure]
        return f"{label} is {way} under {difference.second} than under {difference.first}"

    rest = len(comparison.differences) - len(shown_differences)
    other = f" The other {plural(rest, 'difference', 'are')} not shown." if rest else ""
    return f"Shown: {'; '.join(map(sentence, shown_differences))}.{other}"
