"""Answers an organiser's questions from a pilot: rows, public share, limits, mechanism, metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.evaluation.ranks import best_first
from arena.evaluation.scores import round_significant
from arena.simulation.competition.comparison import MechanismComparison
from arena.simulation.past.boards import PastBoard
from arena.simulation.past.teams import TYPICAL
from arena.simulation.plan.drawn import (
    FIGURES,
    Design,
    DesignFigures,
    Sweep,
    populations_of,
    sweep_designs,
)
from arena.simulation.plan.like import populations_like, shape_of
from arena.simulation.plan.mechanisms import Attacked, attack_bias
from arena.simulation.plan.metric_choice import MetricSeparation
from arena.simulation.plan.plan import NeededRows, Plan
from arena.simulation.requests import TEAM_COUNTS, PlanRequest
from arena.types import DEFAULT_LEVEL, FloatArray
from arena.utils.formatting import level_text, percent
from arena.utils.parallel import Progress
from arena.utils.representation import short_repr
from arena.utils.tabular import as_json
from arena.utils.text import numbers_by_name, plural

SWEEPS = {
    "public_share": "share of the rows that is public",
    "per_day": "submissions per team and day",
    "rows": "private rows",
    "teams": "teams",
}
"""The quantities that can be swept, in words."""
_MOST_OUTSIDE = 0.01
_WHAT_NARROWS = "More pilot submissions, or more rows of each, would narrow this range."


@dataclass(frozen=True, slots=True)
class Questions:
    """What the organiser has decided, and what is to be varied.

    Raises
    ------
    UsageError
        If a number is out of range.
    """

    total_rows: int
    """Public and private rows together."""
    public_share: float = 0.3
    """The planned share of public rows, in (0, 1)."""
    per_day: int = 5
    """The planned submissions per team and day."""
    days: int = 30
    """The planned number of days."""
    teams: int = 50
    """The expected number of teams."""
    within: float = 0.5
    """How much a team's submissions differ, relative to teams."""
    public_shares: tuple[float, ...] = (0.1, 0.2, 0.3, 0.5)
    """The shares of public rows that are compared."""
    per_days: tuple[int, ...] = (1, 2, 5, 20)
    """The daily limits that are compared."""
    private_rows: tuple[int, ...] = ()
    """Empty: half, once, twice and four times the present number."""
    team_counts: tuple[int, ...] = (10, 30, 100, 300)
    """The numbers of teams that are compared."""
    brackets: Mapping[str, float] = field(default_factory=dict)
    """The number of teams of each bracket."""

    def __post_init__(self) -> None:
        shares = (self.public_share, *self.public_shares)
        if any(not 0 < share < 1 for share in shares):
            raise UsageError("Public shares must be between 0 and 1.")
        counts = (self.per_day, self.days, *self.per_days, *self.private_rows, self.total_rows)
        if min(counts) < 1 or min(self.teams, *self.team_counts) < 2:
            raise UsageError("Rows, days and submissions start at 1, and teams at 2.")
        if self.total_rows < 2:
            raise UsageError("A competition has at least 2 rows, public and private ones.")
        if not 0 <= self.within <= 1:
            raise UsageError("--within must be from 0 to 1.")
        for name, count in self.brackets.items():
            if not (2 <= count <= self.teams and count == int(count)):
                raise UsageError(
                    f"The bracket {name} of a competition of {plural(self.teams, 'team')} needs a "
                    f"whole number of teams from 2 to {self.teams:,}, not {count:g}."
                )

    @classmethod
    def of(
        cls, request: PlanRequest, *, n_rows: int, boards: Sequence[PastBoard] = ()
    ) -> Questions:
        """Return the questions of a request, for a pilot of ``n_rows`` private rows.

        Unless the request says how many teams there are, there are as many as on the past boards.
        """
        share = request.public_share[0]
        total = request.total_rows
        teams = request.teams
        on_boards = [board.n_teams for board in boards if board.name != TYPICAL]
        if on_boards and teams == TEAM_COUNTS:
            teams = (round(np.median(on_boards)), *teams)
        return cls(
            total_rows=round(n_rows / (1 - min(share, 0.99))) if total is None else total,
            public_share=share,
            per_day=request.per_day[0],
            days=request.days,
            teams=teams[0],
            within=request.within,
            public_shares=tuple(sorted(set(request.public_share))),
            per_days=tuple(sorted(set(request.per_day))),
            private_rows=request.rows,
            team_counts=tuple(sorted(set(teams))),
            brackets=numbers_by_name(request.brackets, "--brackets"),
        )

    @property
    def design(self) -> Design:
        """The design from which each sweep varies one quantity."""
        public = max(1, round(self.public_share * self.total_rows))
        return Design(
            self.teams, max(1, self.total_rows - public), public, self.per_day * self.days
        )

    def swept(self, name: str) -> tuple[list[float], list[Design]]:
        """Return the settings and the designs of a sweep."""
        base = self.design
        if name == "public_share":
            changed = [
                replace(self, public_share=share).design for share in sorted(self.public_shares)
            ]
            return sorted(self.public_shares), changed
        if name == "per_day":
            counts = sorted(self.per_days)
            changed = [replace(base, submissions=count * self.days) for count in counts]
            return [float(count) for count in counts], changed
        if name == "teams":
            counts = sorted({*self.team_counts, *map(int, self.brackets.values())})
            changed = [replace(base, teams=count) for count in counts]
            return [float(count) for count in counts], changed
        now = base.private_rows
        steps = (0.5, 1, 2, 4)
        counts = sorted(self.private_rows or {max(1, round(now * step)) for step in steps})
        changed = [replace(base, private_rows=count) for count in counts]
        return [float(count) for count in counts], changed


@dataclass(frozen=True, slots=True)
class Mechanics:
    """Figures for the choice of a mechanism on the public rows."""

    public_rows: int
    """Number of public rows."""
    submissions: int
    """Of a team over the competition."""
    attack_bias: float | None
    """See :func:`~arena.simulation.plan.mechanisms.attack_bias`."""
    minimum_step: float
    """Standard error on the public rows of the difference between two submissions of a team."""
    mechanism: str
    """That which ``arena init`` chooses for such rows and this metric."""
    attacked: tuple[Attacked, ...] = ()
    """What ``arena attack`` measured of each mechanism; empty: it is not given."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of the organiser, with its expected effect."""

    decision: str
    """What is decided, such as ``private rows``."""
    choice: str
    """The best choice, and those that are not shown to be worse."""
    effect: str
    """What is expected of it, with the interval of the figure."""
    based_on: str
    """What the figure comes from."""


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """The answers to an organiser's questions."""

    __repr__ = short_repr

    plan: Plan
    """The probabilities by the number of private rows."""
    metric: str
    """The metric of the pilot."""
    greater_is_better: bool
    """Whether a larger score is better."""
    questions: Questions
    """The questions."""
    groups: int | None
    """Groups of private rows in the pilot; None: every row is its own."""
    sweeps: tuple[Sweep, ...]
    """The figures of other settings, by what was varied."""
    mechanics: Mechanics
    """The figures of the public board."""
    metrics: tuple[MetricSeparation, ...]
    """Compared on the pilot, the best first; empty: only one."""
    notes: tuple[str, ...] = ()
    """Limits of the answers, one sentence each."""
    rehearsal: MechanismComparison | None = None
    """The mechanisms compared on simulated competitions, if there is a rehearsal."""
    like: tuple[str, ...] = ()
    """The past boards that drawn teams are like; empty: they are like the pilot's submissions."""

    def sweep(self, name: str) -> Sweep:
        """Return a sweep by its name."""
        return next(sweep for sweep in self.sweeps if sweep.name == name)

    def headline(self) -> str:
        """Return the most important answer, in one sentence."""
        now = self._with_teams(self.questions.design.teams)
        text = (
            f"With {plural(now.design.teams, 'team')} and "
            f"{plural(now.design.private_rows, 'private row')} the probability that the truly best "
            f"team wins is {win_probability(now)}."
        )
        if now.is_known("best_wins"):
            return text
        board = "" if self.like else " So would a leaderboard of an earlier edition (--like)."
        return f"{text} {_WHAT_NARROWS}{board}"

    def answers(self) -> list[tuple[str, str]]:
        """Return questions and answers, in sentences."""
        base = self.questions.design
        answers = [("How many private rows?", self._rows())]
        answers.append(("Which share public?", self._choice("public_share", percent)))
        answers.append(("How many submissions a day?", self._choice("per_day", _plain)))
        answers.append(("Which mechanism?", self._mechanism()))
        answers.append(("Which metric?", self._metric()))
        now = self._with_teams(base.teams)
        answers.append(("How many teams matter?", who_may_win(now)))
        if self.questions.brackets:
            answers.append(("Does the best team of a bracket win it?", self._brackets()))
        return answers

    def decisions(self) -> list[Decision]:
        """Return what the organiser can decide, for a competition of all teams."""
        base = self.questions.design
        drawn = f"drawn competitions of {plural(base.teams, 'team')}"
        if self.like:
            drawn += f" like those of {_board_names(self.like)}"
        decisions = [
            Decision(
                "private rows" if design.design != base else "private rows, as planned",
                _plain(design.setting),
                f"probability that the truly best team wins: {win_probability(design)}",
                drawn,
            )
            for design in self.sweep("rows").designs
        ]
        for name, what, show in (
            ("public_share", "public share", percent),
            ("per_day", "submissions a day", _plain),
        ):
            sweep = self.sweep(name)
            alike = ", ".join(show(design.setting) for design in sweep.not_shown_worse)
            gain = _with_interval(sweep.best, "quality")
            effect = (
                f"the winner's expected true score is best: {gain} better than the mean of all "
            )
            effect += "teams" + ("; the other choices are not shown to be worse" if alike else "")
            choice = show(sweep.best.setting) + (f", or {alike}" if alike else "")
            decisions.append(Decision(what, choice, effect, drawn))
        return decisions + self._mechanism_decisions()

    def _mechanism_decisions(self) -> list[Decision]:
        """Return the recommended mechanism, or those that were attacked, with their bias."""
        mechanics = self.mechanics
        if mechanics.attacked:
            return [
                Decision(
                    "mechanism"
                    + (", the default" if attacked.mechanism == mechanics.mechanism else ""),
                    attacked.mechanism,
                    f"largest bias of the public score {_measured_bias(attacked)}; "
                    f"{_shown_gain(attacked)}",
                    f"arena attack: {plural(attacked.submissions, 'submission')} on "
                    f"{plural(attacked.public_rows, 'row')}",
                )
                for attacked in mechanics.attacked
            ]
        effect = "limits what random submissions gain from the public score"
        if mechanics.attack_bias is not None:
            effect += (
                f": about {mechanics.attack_bias:.2g} for {mechanics.submissions:,} of them if "
                "every score is shown"
            )
        source = "a formula; arena attack measures it"
        return [Decision("mechanism", mechanics.mechanism, effect, source)]

    def _with_teams(self, count: float) -> DesignFigures:
        """Return the figures of the design whose number of teams is nearest."""
        return min(self.sweep("teams").designs, key=lambda design: abs(design.setting - count))

    def _rows(self) -> str:
        """Return the probabilities by private rows, and the rows for the pilot's submissions."""
        wins = ", ".join(
            f"{win_probability(design)} on {_plain(design.setting)} rows"
            for design in self.sweep("rows").designs
        )
        text = (
            f"In a competition of {plural(self.questions.teams, 'team')} the probability that the "
            f"truly best one wins is {wins}. "
        )
        rows = [("first place", self.plan.best_wins_rows)]
        rows += [(target.target.label, target.needed) for target in self.plan.targets]
        known_needs = [(label, needed) for label, needed in rows if _is_known(needed)]
        if known_needs:
            needs = "; ".join(f"{label}: {_need(needed)}" for label, needed in known_needs)
            text += f"If only the pilot's own submissions competed, 90% would need, for {needs}."
        unknown = [label for label, needed in rows if not _is_known(needed)]
        if unknown:
            text += (
                f"{' ' if known_needs else ''}How many rows the pilot's own submissions would "
                f"need, for "
                f"{'; '.join(unknown)}, cannot be said from this pilot: more submissions, or more "
                "rows of each, would."
            )
        return text

    def _choice(self, name: str, show: Any) -> str:
        sweep = self.sweep(name)
        worse = [show(design.setting) for design in sweep.designs if design.shown_worse]
        equal = [show(design.setting) for design in sweep.not_shown_worse]
        text = (
            f"The winner's expected true score is best at {show(sweep.best.setting)}: "
            f"{_with_interval(sweep.best, 'quality')} better than the mean of all teams."
        )
        if all(design.is_known("best_wins") for design in sweep.designs):
            wins = ", ".join(
                f"{percent(design.point['best_wins'])} at {show(design.setting)}"
                for design in sweep.designs
            )
            text += f" The probability that the truly best team wins is {wins}."
        if worse:
            text += f" The winner is shown to be worse at {', '.join(worse)}."
        if equal:
            text += f" Settings not shown to be worse: {', '.join(equal)}."
        return text

    def _brackets(self) -> str:
        """Return the probabilities within brackets, whose boards rank their own teams only."""
        probabilities = (
            f"{name}, {count:,.0f} teams: {win_probability(self._with_teams(count))}"
            for name, count in self.questions.brackets.items()
        )
        return (
            f"The probability that the truly best team of a bracket wins it, if its teams differ "
            f"as all teams do, is {'; '.join(probabilities)}."
        )

    def _mechanism(self) -> str:
        mechanics = self.mechanics
        text = ""
        if mechanics.submissions >= mechanics.public_rows:
            text = (
                f"On a board that shows every score, one team with "
                f"{plural(mechanics.submissions, 'submission')} can find out nearly every label of "
                f"{plural(mechanics.public_rows, 'public row')}: use more public rows "
                "or fewer submissions. "
            )
        elif mechanics.attack_bias is not None and not mechanics.attacked:
            text = (
                "On a board that shows every score, one team with "
                f"{plural(mechanics.submissions, 'submission')} of random labels can improve its "
                f"score on {plural(mechanics.public_rows, 'public row')} by about "
                f"{mechanics.attack_bias:.2g} by a plain vote over them, and by up to 1.8 times as "
                "much by a vote weighted with their scores. "
            )
        text += f"For {self.metric} arena init chooses {mechanics.mechanism}. "
        if not mechanics.attacked:
            return (
                f"{text}The standard error of the difference of two submissions of a team is about "
                f"{mechanics.minimum_step:.2g}. arena attack --json measures the bias of each "
                f"mechanism, and --attack adds it to the plan."
            )
        return (
            text
            + "Measured: "
            + "; ".join(
                f"{attacked.mechanism}, largest bias {_measured_bias(attacked)}, "
                f"{_shown_gain(attacked)}"
                for attacked in mechanics.attacked
            )
            + "."
        )

    def _metric(self) -> str:
        if not self.metrics:
            return f"Only {self.metric} was given; name others with --metrics."
        best, *others = self.metrics
        text = (
            f"{best.metric} ranks two halves of the rows most alike (Kendall's tau {_tau(best)})."
        )
        if best.tau_low <= 0:
            text += " This may be chance: the interval holds 0."
        worse = [f"{other.metric} ({_tau(other)})" for other in others if other.shown_worse]
        equal = [f"{other.metric} ({_tau(other)})" for other in others if not other.shown_worse]
        if worse:
            text += f" Shown to be lower: {', '.join(worse)}."
        if equal:
            text += f" Not shown to be lower: {', '.join(equal)}."
        return text

    def paragraph(self) -> str:
        """Return what to tell colleagues, in one paragraph."""
        base, plan = self.questions.design, self.plan
        now = self._with_teams(base.teams)
        needed = ""
        if _is_known(plan.best_wins_rows):
            needed = (
                " If only the pilot's own submissions competed, 90% would need "
                f"{_need(plan.best_wins_rows)}."
            )
        return (
            f"We plan a competition scored by {self.metric} with {base.private_rows:,} private and "
            f"{plural(base.public_rows, 'public row')}, about {plural(base.teams, 'team')} and "
            f"{plural(self.questions.per_day, 'submission')} per team and day for "
            f"{plural(self.questions.days, 'day')}. From "
            f"{plural(plan.submissions, 'pilot submission')} the probability that the truly best "
            f"team wins is {win_probability(now)}; the winner's true score is on average "
            f"{_with_interval(now, 'loss')} worse than the best one's.{needed} The top of the "
            "public board would overstate its true score by "
            f"{_with_interval(now, 'overstatement')}."
        )

    def assumptions(self) -> list[str]:
        """Return the assumptions of the answers, in sentences."""
        teams = (
            "new teams are like the pilot's submissions: their true scores come from the "
            "distribution estimated from the pilot, under a normal or a nonparametric prior. "
            "Figures of drawn competitions are the mean of both."
        )
        further_sources = ", its submissions and the prior"
        if self.like:
            teams = (
                f"teams of drawn competitions differ in true score as those of "
                f"{_board_names(self.like)} do in private score, except the worst tenth, and "
                f"submit as often, up to the limit. Only the standard deviation is the pilot's."
            )
            further_sources = " and its submissions"
        sentences = [
            f"New rows are like the pilot's, and {teams}",
            f"A team's submissions differ {self.questions.within:g} times as much as teams do, in "
            f"true score and in error (--within). Each team selects the submission with the best "
            f"public score, and the board shows every score.",
            "Errors of scores are normal, and shrink with the square root of the number of rows.",
            f"Intervals ({level_text(self.plan.level)}) cover the uncertainty of the pilot: its "
            f"rows{further_sources}. They do not cover attackers, copies or drift.",
        ]
        if self.groups is not None:
            sentences.append(
                "Rows that belong together count as groups: the pilot's "
                f"{plural(self.plan.pilot_rows, 'row', 'are')} {plural(self.groups, 'group')}, and "
                "other numbers of rows are assumed to come in groups of the same size."
            )
        return sentences

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document ``arena/plan/1``."""
        document: dict[str, Any] = as_json(
            {
                "schema": "arena/plan/1",
                "metric": self.metric,
                **self.plan.to_dict(),
                "greater_is_better": self.greater_is_better,
                "groups": self.groups,
                "answers": [
                    {"question": question, "answer": answer} for question, answer in self.answers()
                ],
                "decisions": [asdict(decision) for decision in self.decisions()],
                "paragraph": self.paragraph(),
                "assumptions": self.assumptions(),
                "sweeps": [
                    {
                        "name": sweep.name,
                        "designs": [
                            {
                                "setting": design.setting,
                                **asdict(design.design),
                                **{name: design.point[name] for name in FIGURES},
                                **{f"{name}_low": design.low[name] for name in FIGURES},
                                **{f"{name}_high": design.high[name] for name in FIGURES},
                                "shown_worse": design.shown_worse,
                            }
                            for design in sweep.designs
                        ],
                    }
                    for sweep in self.sweeps
                ],
                "mechanics": asdict(self.mechanics),
                "metrics": [asdict(metric) for metric in self.metrics],
                "notes": self.notes,
                "rehearsal": None if self.rehearsal is None else self.rehearsal.to_dict(),
            }
        )
        return document


def _measured_bias(attacked: Attacked) -> str:
    bound = "" if attacked.bias_high is None else f" (at most {attacked.bias_high:.4f}, 95%)"
    return f"{attacked.bias:.4f}{bound} by {attacked.worst_attack}"


def _shown_gain(attacked: Attacked) -> str:
    if attacked.smallest_gain is None:
        return "no honest gain that was tried is shown in nine of ten trials"
    return f"honest gains from {attacked.smallest_gain:.2g} are shown in nine of ten trials"


def _tau(separation: MetricSeparation) -> str:
    low, high = separation.tau_low, separation.tau_high
    return f"{separation.tau:.2f}, interval {low:.2f} to {high:.2f}"


def _board_names(names: Sequence[str]) -> str:
    """Return the name of a past board, or how many there are."""
    if len(names) > 1:
        return plural(len(names), "past board")
    return "typical boards" if names[0] == TYPICAL else names[0]


def _plain(value: float) -> str:
    return f"{value:,.10g}"


def _with_interval(design: DesignFigures, name: str) -> str:
    return "{} ({} to {})".format(*design.texts(name))


def win_probability(design: DesignFigures) -> str:
    """Return the probability that the truly best team wins, unless its interval says too little."""
    if design.is_known("best_wins"):
        return _with_interval(design, "best_wins")
    _, low, high = design.texts("best_wins")
    return f"not known ({low} to {high})"


def who_may_win(design: DesignFigures) -> str:
    """Return among how many of the truly best teams the winner is."""
    text = (
        f"With {plural(design.design.teams, 'team')} and "
        f"{plural(design.design.private_rows, 'private row')} "
    )
    point, low, high = design.texts("contenders")
    if not design.is_known("contenders"):
        return (
            f"{text}it is not known among how many of the truly best the winner is ({low} to "
            f"{high}). {_WHAT_NARROWS}"
        )
    teams = (
        "the truly best team"
        if design.point["contenders"] <= 1
        else f"one of the truly best {point} teams"
    )
    return f"{text}the winner is {teams} with a probability of 95% (interval {low} to {high})."


def _is_known(needed: Sequence[NeededRows]) -> bool:
    """Return whether the interval of the rows for 90% says how many they are."""
    return _for_answers(needed).is_known


def _for_answers(needed: Sequence[NeededRows]) -> NeededRows:
    return next(rows for rows in needed if rows.probability == 0.9)


def _need(needed: Sequence[NeededRows]) -> str:
    """Return the rows for 90% with their interval."""
    rows = _for_answers(needed)
    points = {"a normal": rows.test_rows, "a nonparametric": rows.nonparametric}
    estimates = [
        f"{value:,.0f} under {name} prior" for name, value in points.items() if value is not None
    ]
    high = "no upper limit" if rows.high is None else f"{rows.high:,.0f}"
    return f"{' and '.join(estimates)} (interval {rows.low:,.0f} to {high})"


def advise_organiser(
    plan: Plan,
    scores: FloatArray,
    resampled: FloatArray,
    questions: Questions,
    *,
    metric: str,
    greater_is_better: bool,
    score_range: tuple[float, float] | None,
    mechanism: str,
    attacked: tuple[Attacked, ...] = (),
    boards: Sequence[PastBoard] = (),
    groups: int | None = None,
    metrics: tuple[MetricSeparation, ...] = (),
    notes: tuple[str, ...] = (),
    level: float = DEFAULT_LEVEL,
    seed: int = 0,
    progress: Progress | None = None,
) -> Advice:
    """Answer an organiser's questions from a pilot.

    Parameters
    ----------
    plan
        Of the same pilot.
    scores, resampled
        ``(m,)`` and ``(m, B)`` of the pilot, as :func:`~arena.simulation.plan.plan.plan_rows` takes
        them.
    score_range
        The range of the metric's scores; None: they have none.
    mechanism
        The recommended one.
    attacked
        The mechanisms that were attacked.
    boards
        Past boards that drawn teams are like; empty: they are like the pilot's submissions.
    groups
        Groups of private rows; None: every row is its own.
    metrics
        Metrics that were compared on the pilot.
    seed
        Of the drawn competitions.
    """
    order = best_first(scores, greater_is_better=greater_is_better)
    _, first = np.unique(round_significant(resampled[order]), axis=0, return_index=True)
    distinct = order[np.sort(first)]
    sign = 1.0 if greater_is_better else -1.0
    errors = sign * resampled[distinct]
    errors = errors - errors.mean(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    low, high = (-np.inf, np.inf) if score_range is None else score_range
    bounds = (low, high) if greater_is_better else (-high, -low)
    shapes = [shape_of(board) for board in boards]
    populations = populations_of(
        sign * scores[distinct], errors, plan.pilot_rows, rng, bounds=bounds,
        degrees_of_freedom=plan.degrees_of_freedom, shapes=shapes,
    )  # fmt: skip
    if boards:
        populations = populations_like(boards, shapes, populations)
    outside = max(population.outside for population in populations[0])
    if outside > _MOST_OUTSIDE:
        beyond = (
            f"Of the drawn true scores up to {percent(outside)} lie outside the range of {metric}: "
            "figures of drawn competitions are rough."
        )
        notes = (*notes, beyond)
    swept = {name: questions.swept(name) for name in SWEEPS}
    sweeps = sweep_designs(
        swept, populations, within=questions.within, level=level, seed=seed, progress=progress
    )
    base = questions.design
    shared = questions.within * plan.standard_error
    return Advice(
        plan=plan,
        metric=metric,
        greater_is_better=greater_is_better,
        questions=questions,
        groups=groups,
        sweeps=sweeps,
        mechanics=Mechanics(
            public_rows=base.public_rows,
            submissions=base.submissions,
            attack_bias=attack_bias(score_range, base.submissions, base.public_rows),
            minimum_step=shared * float(np.sqrt(plan.pilot_rows / base.public_rows)),
            mechanism=mechanism,
            attacked=attacked,
        ),
        metrics=metrics,
        notes=notes,
        like=tuple(board.name for board in boards),
    )
