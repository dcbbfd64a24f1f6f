"""What a simulation or a plan is asked to do: one request for each job.

A command and the public function of the same name make the same request, which checks its values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

from arena.errors import UsageError
from arena.types import DEFAULT_LEVEL, DEFAULT_RESAMPLES, SolutionColumns
from arena.utils.requests import HERE, Choice, EngineChoice, check_choices

PUBLIC_SHARES = (0.3, 0.1, 0.2, 0.5)
DAILY_LIMITS = (5, 1, 2, 20)
TEAM_COUNTS = (50, 10, 30, 100, 300)
"""What a plan compares by default; the first of each is the plan's."""
_QUEUE_LIMIT = 100_000
"""As many programs a day, or minutes of one, and more are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksRequest:
    """Models on many test sets: ``arena simulate ranks``.

    Raises
    ------
    UsageError
        If a value is out of its range, or values do not go together.
    """

    data: Annotated[
        Path | None, Choice("Your own data, CSV or Parquet.  [default: synthetic rows]")
    ] = None
    target: Annotated[str | None, Choice("Target column of --data.")] = None
    positive: Annotated[
        str | None, Choice("The positive one of two labels.  [default: the second, sorted]")
    ] = None
    metric: Annotated[str, Choice("The metric of the ranks.")] = "roc_auc"
    test_rows: Annotated[tuple[int, ...], Choice("Sizes of tests, with commas.", least=2)] = (
        1_000,
        10_000,
    )
    competitors: Annotated[tuple[int, ...], Choice("Numbers of models, with commas.", least=2)] = (
        10,
        40,
    )
    tests: Annotated[int, Choice("Number of tests of each size.", least=2)] = 50
    sets: Annotated[
        int,
        Choice(
            "Sets of models, each trained on rows of its own: then intervals include the choice "
            "of models and rows.",
            least=1,
        ),
    ] = 1
    boards: Annotated[
        int, Choice("Number of tests with rank intervals, to measure their coverage.", least=0)
    ] = 10
    resamples: Annotated[int, Choice("Bootstrap resamples of each board.", least=2)] = 500
    level: Annotated[float, Choice("Level of the rank intervals.")] = DEFAULT_LEVEL
    train_rows: Annotated[
        int | None, Choice("Training rows.  [default: 4000, fewer if --data is small]")
    ] = None
    validation_rows: Annotated[
        int | None, Choice("Rows for early stopping.  [default: 2000, fewer if --data is small]")
    ] = None
    population: Annotated[
        int | None,
        Choice(
            "Rows that tests are drawn from.  [default: 5 times the largest test, fewer if --data "
            "is small]"
        ),
    ] = None
    search: Annotated[str, Choice("The competitor that trains the models.")] = "lightgbm"
    grid: Annotated[Path | None, Choice("TOML file of the settings to draw from.")] = None
    models: Annotated[Path | None, Choice("Store models in this folder, and reuse them.")] = None
    seed: Annotated[int, Choice("Random seed.", least=0)] = 0
    where: EngineChoice = HERE
    """Where the work is done."""

    def __post_init__(self) -> None:
        from arena.evaluation.levels import check_level

        check_choices(self)
        check_level(self.level)
        if (self.data is None) != (self.target is None):
            raise UsageError("--data and --target go together.")
        if not self.test_rows or not self.competitors:
            raise UsageError("Name at least one number of test rows and one of competitors.")
        if self.boards > self.tests:
            raise UsageError("The boards are at most the tests.")

    @property
    def n_models(self) -> int:
        """How many models must be trained."""
        return max(self.competitors)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Every number of test rows with every number of competitors."""
        return [(rows, count) for rows in self.test_rows for count in self.competitors]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """Whole competitions with simulated teams: ``arena simulate competition``.

    Raises
    ------
    UsageError
        If a value is out of its range, or values do not go together.
    """

    directory: Annotated[
        Path,
        Choice(
            "A new folder, the folder of a simulation to continue, or a competition without "
            "submissions."
        ),
    ]
    mechanisms: Annotated[
        str | None,
        Choice(
            "Mechanisms, separated by commas; the same seeds under each.  [default: "
            "ladder-free(minimum_step=0.002), or kaggle for a metric without bounds; the "
            "competition's own if DIR holds one]"
        ),
    ] = None
    teams: Annotated[int, Choice("Number of participants.", least=1)] = 50
    days: Annotated[int, Choice("Length of the competition in days.", least=1)] = 30
    kinds: Annotated[
        str | None,
        Choice(
            "Competitors and their shares, such as 'lightgbm-climber=3, copycat=1'.  [default: "
            "mostly lightgbm-climber, some copycat and lightgbm-seeds, few attackers]"
        ),
    ] = None
    baseline: Annotated[
        str | None,
        Choice(
            "Competitor that makes the public baseline; none: the sample submission.  [default: "
            "lightgbm-climber]"
        ),
    ] = None
    metric: Annotated[str | None, Choice("Metric.  [default: accuracy]")] = None
    per_day: Annotated[
        int | None, Choice("Submissions per team and day.  [default: 2]", least=1)
    ] = None
    data: Annotated[
        Path | None, Choice("Your own data, CSV or Parquet.  [default: synthetic rows]")
    ] = None
    target: Annotated[str | None, Choice("Target column of --data.")] = None
    test: Annotated[
        Path | None,
        Choice(
            "If DIR holds a competition: the features of its rows, by id; --data then has the "
            "training rows."
        ),
    ] = None
    positive: Annotated[
        str | None, Choice("The positive one of two labels.  [default: the second, sorted]")
    ] = None
    rows: Annotated[
        int | None, Choice("Rows to predict.  [default: 6000, fewer if --data is small]")
    ] = None
    public_share: Annotated[
        float | None, Choice("Share of the rows that is public.  [default: 0.3]")
    ] = None
    train_rows: Annotated[
        int | None, Choice("Training rows.  [default: 3000, fewer if --data is small]")
    ] = None
    validation_rows: Annotated[
        int | None, Choice("Rows for early stopping.  [default: 1000, fewer if --data is small]")
    ] = None
    like: Annotated[
        Path | None,
        Choice(
            "A past leaderboard in CSV, or a folder of them: the teams join, submit and score like "
            "its teams. 'typical' needs none: some teams stop early, many come on the last day."
        ),
    ] = None
    drawn: Annotated[
        bool,
        Choice(
            "Draw the teams' predictions instead of training models, and store no submissions: for "
            "thousands of teams."
        ),
    ] = False
    notebooks: Annotated[
        float,
        Choice(
            "Share of the honest teams' submissions that become public, for others to blend and "
            "copy.",
            least=0,
            most=1,
        ),
    ] = 0.0
    drift: Annotated[
        float,
        Choice(
            "How much the features of private and public rows differ: 0 (divided at random) to 1 "
            "(divided at a threshold).",
            least=0,
            most=1,
        ),
    ] = 0.0
    training_drift: Annotated[
        float,
        Choice("The same for the rows to predict and the training rows.", least=0, most=1),
    ] = 0.0
    seed: Annotated[int, Choice("Random seed; the first with --seeds.", least=0)] = 0
    seeds: Annotated[
        int,
        Choice(
            "Number of simulations, each with its own seed, run side by side; mechanisms are "
            "compared by paired differences.",
            least=1,
        ),
    ] = 1
    level: Annotated[float, Choice("Level of the intervals and tests with --seeds.")] = (
        DEFAULT_LEVEL
    )
    where: EngineChoice = HERE
    """Where the work is done."""
    wait: Annotated[
        float, Choice("Seconds to wait while another process has the competition open.")
    ] = 0.0

    def __post_init__(self) -> None:
        from arena.evaluation.levels import check_level

        check_choices(self)
        check_level(self.level)
        if self.public_share is not None and not 0 <= self.public_share < 1:
            raise UsageError("The public share must be at least 0 and less than 1.")
        if self.drawn and (self.kinds or self.baseline):
            raise UsageError(
                "With drawn predictions no competitor plays: omit --kinds and --baseline, or "
                "--drawn."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What every plan from a pilot's predictions is asked.

    Raises
    ------
    UsageError
        If a value is out of its range.
    """

    job: ClassVar[str] = "A plan"

    difference: Annotated[
        float | None,
        Choice("The difference to detect, in the metric's units.  [default: the lead]"),
    ] = None
    rows: Annotated[
        tuple[int, ...],
        Choice(
            "Numbers of private rows, separated by commas.  [default: 1/4 to 16 times the pilot's]"
        ),
    ] = ()
    level: Annotated[float, Choice("Level of the test and of all intervals.")] = DEFAULT_LEVEL
    seed: Annotated[int, Choice("Random seed.", least=0)] = 0
    public_share: Annotated[
        tuple[float, ...],
        Choice(
            "Public shares to compare, separated by commas; the first is the plan's.  [default: "
            "0.3, compared with 0.1, 0.2 and 0.5]",
            joins=True,
        ),
    ] = PUBLIC_SHARES
    per_day: Annotated[
        tuple[int, ...],
        Choice(
            "Submissions per team and day to compare; the first is the plan's.  [default: 5, "
            "compared with 1, 2 and 20]",
            joins=True,
        ),
    ] = DAILY_LIMITS
    teams: Annotated[
        tuple[int, ...],
        Choice(
            "Numbers of teams to compare; the first is the plan's.  [default: 50, compared with "
            "10, 30, 100 and 300]",
            joins=True,
        ),
    ] = TEAM_COUNTS
    like: Annotated[
        Path | None,
        Choice(
            "A past leaderboard in CSV, or a folder of them: as many teams, which differ and "
            "submit as its teams do. 'typical' needs none, for any number of teams."
        ),
    ] = None
    brackets: Annotated[
        str,
        Choice(
            "Brackets and their numbers of teams, such as students=20,experts=12: how likely the "
            "truly best team of each wins it."
        ),
    ] = ""
    days: Annotated[int, Choice("Length of the competition in days.", least=1)] = 30
    total_rows: Annotated[
        int | None,
        Choice("Public and private rows.  [default: as many private ones as the pilot]", least=2),
    ] = None
    within: Annotated[
        float,
        Choice("How much a team's submissions differ, relative to teams.", least=0, most=1),
    ] = 0.5
    prizes: Annotated[int, Choice("Number of prize places.", least=1)] = 3
    top: Annotated[int, Choice("k of the top k.", least=1)] = 10
    metrics: Annotated[
        str, Choice("Other metrics to compare on the pilot, separated by commas.")
    ] = ""
    rehearsal: Annotated[
        Path | None,
        Choice(
            "Simulations by 'simulate competition --seeds': compares mechanisms; without SOLUTION "
            "its first one is the pilot."
        ),
    ] = None
    attack: Annotated[
        Path | None,
        Choice("What 'arena attack --json' printed: the bias of each mechanism joins the plan."),
    ] = None
    where: EngineChoice = HERE
    """Where the work is done."""

    def __post_init__(self) -> None:
        from arena.evaluation.levels import check_level

        check_choices(self)
        check_level(self.level)
        if not (self.public_share and self.per_day and self.teams):
            raise UsageError(
                "A plan needs at least one public share, one number of submissions per day and one "
                "number of teams."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitionPlanRequest(PlanRequest):
    """A plan from the private board of a stored competition, which has its own settings."""

    job: ClassVar[str] = "A plan from a stored competition"


@dataclass(frozen=True, slots=True, kw_only=True)
class PilotPlanRequest(PlanRequest):
    """A plan from the solution and the submissions of a pilot.

    Raises
    ------
    UsageError
        If a value is out of its range, or submissions or metric are missing.
    """

    job: ClassVar[str] = "A plan from a pilot"

    solution: Annotated[Path, Choice("A pilot's solution.  [default: the competition]")]
    submissions: Annotated[
        tuple[Path, ...], Choice("Submissions of the pilot, such as some baselines.")
    ] = ()
    metric: Annotated[
        str | None, Choice("Metric of the pilot; several, separated by commas, with --combine.")
    ] = None
    combine: Annotated[
        str | None,
        Choice(
            "How the scores by several metrics, or on each task, become one: mean, geometric or "
            "worst."
        ),
    ] = None
    columns: SolutionColumns = field(default_factory=SolutionColumns)
    split: Annotated[str, Choice("The pilot's rows: private, public or all.")] = "private"
    resamples: Annotated[int, Choice("Number of bootstrap resamples.")] = DEFAULT_RESAMPLES
    stratify: Annotated[
        bool | None, Choice("Resample within classes.  [default: as the metric declares]")
    ] = None

    def __post_init__(self) -> None:
        PlanRequest.__post_init__(self)
        if not self.submissions or self.metric is None:
            raise UsageError("A pilot needs submissions and --metric in addition to SOLUTION.")
        if self.combine == "mean_rank":
            raise UsageError(
                "A mean of ranks depends on all teams, so a pilot does not tell it for others: "
                "plan with --combine mean."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesPlanRequest:
    """How many questions show a difference, from a table or log as of ``arena rank``.

    Raises
    ------
    UsageError
        If the level is out of its range.
    """

    job: ClassVar[str] = "A plan from a table (--from)"

    table: Annotated[
        Any,
        Choice(
            "A table or log as of arena rank: the number of questions for --difference, and "
            "nothing else."
        ),
    ]
    value: Annotated[
        str | None, Choice("With --from: the column of values, or the metric of a log.")
    ] = None
    task: Annotated[str | None, Choice("With --from: the column of tasks, as of arena rank.")] = (
        None
    )
    cluster: Annotated[str | None, Choice("A column of groups that are resampled whole.")] = None
    time: Annotated[
        str | None, Choice("A column of times of rows that depend on those before.")
    ] = None
    repeat: Annotated[
        str | None, Choice("With --from: the column that numbers repeated answers to a case.")
    ] = None
    lower_is_better: Annotated[bool | None, Choice("The direction of the values.")] = None
    difference: Annotated[float | None, Choice("The difference to detect.")] = None
    level: Annotated[float, Choice("Level of the test.")] = DEFAULT_LEVEL

    def __post_init__(self) -> None:
        from arena.evaluation.levels import check_level

        check_level(self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlanRequest:
    """How long programs of a code competition wait for the machines that run them.

    Raises
    ------
    UsageError
        If a value is out of its range.
    """

    job: ClassVar[str] = "A plan of runs (--programs)"

    programs: Annotated[
        float,
        Choice(
            "Programs a day, as of a code competition: how long they wait for --machines, and "
            "nothing else.",
            least=1,
        ),
    ]
    minutes: Annotated[
        float, Choice("With --programs: minutes of trial and hidden run together.")
    ] = 10.0
    machines: Annotated[
        tuple[int, ...],
        Choice("With --programs: numbers of machines to compare, separated by commas.", least=1),
    ] = (1, 2, 4)
    hours: Annotated[
        float, Choice("With --programs: hours of the day in which they come.", most=24)
    ] = 24.0
    seed: Annotated[int, Choice("Random seed.", least=0)] = 0

    def __post_init__(self) -> None:
        check_choices(self)
        if not self.machines:
            raise UsageError("Give a number of machines.")
        for name in ("programs", "minutes", "hours"):
            if not 0 < getattr(self, name) < _QUEUE_LIMIT:
                raise UsageError(f"--{name} must be above 0 and below {_QUEUE_LIMIT:,}.")
