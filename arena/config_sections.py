"""The sections of ``competition.toml``.

The description of each setting is also its comment in the file and its text in the JSON schema.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from arena.interfaces import Box, Scope
from arena.phase_section import UTCTime
from arena.plugin.specification import with_parameters
from arena.server_section import ConfigSection, Count
from arena.types import (
    DEFAULT_LEVEL,
    DEFAULT_RANKER,
    DEFAULT_RESAMPLES,
    LEAST_WEIGHT,
    MOST_WEIGHT,
    USAGE_COLUMN,
    SolutionColumns,
)
from arena.utils.locations import check_location
from arena.utils.questions import LONGEST

FinalRule = Literal["best_public", "last", "chosen", "best_private"]
Ties = Literal["shared", "earliest", "secondary"]


class CompetitionSection(ConfigSection):
    """Title, dates and baseline."""

    title: str = Field("", description="The title shown above every leaderboard.")
    start: UTCTime | None = Field(
        None, description="Earlier submissions are refused. UTC unless an offset is given."
    )
    deadline: UTCTime | None = Field(
        None,
        description="Later submissions are refused, e.g. 2026-12-31T23:59:00Z. UTC unless an "
        "offset is given.",
    )
    late_until: UTCTime | None = Field(
        None,
        description="Submissions after the deadline and until then are scored and listed apart, "
        "and never ranked.",
    )
    baseline: str | tuple[str, ...] | None = Field(
        None,
        description="The organiser's own team, or several: on the leaderboard, marked as baseline, "
        "not ranked. The first one is the reference of mechanisms that start from a baseline.",
    )

    @property
    def baselines(self) -> tuple[str, ...]:
        """The organiser's own teams, the reference first."""
        named_baseline = self.baseline
        return (named_baseline,) if isinstance(named_baseline, str) else named_baseline or ()

    @property
    def reference(self) -> str | None:
        """The baseline that mechanisms may start from; None: there is none."""
        return next(iter(self.baselines), None)

    @field_validator("baseline")
    @classmethod
    def _without_repetition(cls, baseline: Any) -> Any:
        if isinstance(baseline, tuple) and len(set(baseline)) < len(baseline):
            raise ValueError("each baseline is named once")
        return baseline

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start is not None and self.deadline is not None and self.start >= self.deadline:
            raise ValueError("start must be before deadline")
        if self.late_until is not None and self.deadline is None:
            raise ValueError("late_until needs a deadline")
        if self.late_until is not None and self.deadline and self.late_until <= self.deadline:
            raise ValueError("late_until must be after deadline")
        return self


_KEYS = {"target": "targets", "submission_columns": "submission"}
"""Keys of the section ``[data]`` that :class:`~arena.types.SolutionColumns` names differently."""


class DataSection(ConfigSection):
    """The columns of the solution file."""

    id: str | None = Field(
        None,
        description="The id column. Default: the column id, else the first column. line: rows are "
        "numbered in the order of each file.",
    )
    target: tuple[str, ...] = Field(
        (), description="The target columns. Default: the only remaining column."
    )
    usage: str = Field(
        USAGE_COLUMN, description="The column that marks rows as Public, Private or Ignored."
    )
    cluster: str | None = Field(
        None, description="A column of groups. A group is always resampled as a whole."
    )
    time: str | None = Field(
        None,
        description="A column of times (numbers or ISO 8601) of rows that depend on the rows "
        "before: blocks of consecutive times are resampled as a whole. Not beside cluster.",
    )
    tasks: str | None = Field(
        None, description="A column of tasks. Reports also rank each task separately."
    )
    weight: str | None = Field(
        None, description="A column of row weights: how much a row counts in the score."
    )
    positive: str | None = Field(
        None,
        description="The positive label of a binary target. Default: the last in sorted order.",
    )
    classes: tuple[str, ...] = Field(
        (),
        description="The labels in their order, also those that no row has. Default: those of the "
        "solution, sorted, of which participants may send those of its public rows and of the "
        "sample.",
    )
    soft_labels: tuple[str, ...] = Field(
        (),
        description="Columns of label probabilities: one for the positive label, or one per label.",
    )
    pending_labels: bool = Field(
        default=False,
        description="Whether rows may lack their labels, which arrive later by arena labels add: "
        "true or false.",
    )
    no_header: tuple[str, ...] = Field(
        (),
        description="The names of all columns of a solution without a header line. Submissions may "
        "then lack it too. With a single name, each line is a text, and its number is the id; if "
        "id is block, each block of lines; if id is line, only in submissions.",
    )
    submission_columns: tuple[str, ...] = Field(
        (), description="The columns of a submission, if they differ from the target columns."
    )

    @property
    def columns(self) -> SolutionColumns:
        """The columns as the reader of a solution takes them."""
        column_names = {_KEYS.get(key, key): getattr(self, key) for key in type(self).model_fields}
        return SolutionColumns(**column_names)

    @staticmethod
    def document_of(columns: SolutionColumns) -> dict[str, Any]:
        """Return the section that describes these columns, as a dictionary."""
        return {key: getattr(columns, _KEYS.get(key, key)) for key in DataSection.model_fields}


class MetricSection(ConfigSection):
    """The metric."""

    name: str = Field(
        description="The metric, e.g. roc_auc or f1(average=macro). List: arena metrics.",
        min_length=1,
    )
    secondary: tuple[str, ...] = Field(
        (),
        description="Other metrics whose private scores the final leaderboard also shows.",
    )
    decimals: Annotated[int, Field(ge=0, le=12)] | None = Field(
        None,
        description="Digits after the point of scores on boards and in reports. Default: as many "
        "as their uncertainty justifies.",
    )
    unit: Annotated[str, Field(max_length=16)] = Field(
        "", description='The unit shown after a score, e.g. ms; "%" shows 100 times the score.'
    )
    lower_is_better: bool | None = Field(
        None,
        description="The direction of a metric from your own code, such as kaggle:FILE.py: true or "
        "false.",
    )
    time_limit: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Seconds per call of a metric from your own code. Default: 60."
    )
    memory_limit: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="Megabytes for a metric from your own code. Default: half of the memory.",
    )

    @property
    def specification(self) -> str:
        """The metric as a specification such as ``f1(average=macro)``, with all parameters."""
        return with_parameters(
            self.name,
            lower_is_better=self.lower_is_better,
            time_limit=self.time_limit,
            memory_limit=self.memory_limit,
        )


class PublicSection(ConfigSection):
    """The public board."""

    mechanism: str = Field(
        "full",
        description="The release mechanism, e.g. kaggle(rounding=1e-5). List: arena mechanisms.",
    )
    scope: Scope = Field(
        "team",
        description="What has an instance of the mechanism, with a state of its own: each team, "
        "each rank, or the competition as a whole: team, rank or competition.",
    )
    scores: Literal["board", "own", "hidden"] = Field(
        "board",
        description="Who sees scores before the end: everybody on the board (board), each team its "
        "own (own), or nobody (hidden). Hidden ones are released in order once that changes.",
    )
    freeze: UTCTime | None = Field(
        None,
        description="The board shows what was received until then; each team still sees its own "
        "scores. UTC unless an offset is given.",
    )
    accepted_rows: Annotated[int, Field(ge=0)] = Field(
        0,
        description="Public rows whose labels one submission may reveal; with more, arena serve "
        "--check does not call the board ready.",
    )

    @model_validator(mode="after")
    def _can_freeze(self) -> Self:
        if self.freeze is not None and self.scores != "board":
            raise ValueError(f'freeze has nothing to freeze, since scores is "{self.scores}"')
        if self.freeze is not None and self.scope != "team":
            raise ValueError(
                f'freeze needs scope = "team": with "{self.scope}" the own scores of a team would '
                f"tell the ranks of others"
            )
        return self


class LimitsSection(ConfigSection):
    """Submission limits."""

    per_day: Count | None = Field(
        None, description="Submissions per team and day. A day starts at 00:00 UTC."
    )
    per_week: Count | None = Field(
        None, description="Submissions per team and week. A week starts on Monday at 00:00 UTC."
    )
    total: Count | None = Field(None, description="Submissions per team in total.")
    max_bytes: Count = Field(
        200 * 2**20, description="Maximum file size in bytes, compressed and decompressed."
    )
    count_rejected: bool = Field(
        False, description="Whether rejected submissions count towards the limits: true or false."
    )


class ProgramsSection(ConfigSection):
    """Programs as submissions: they are run on inputs that no team has seen."""

    sandbox: str = Field(
        "",
        description='What runs a program apart from everything else, e.g. "bwrap". List: arena '
        "programs sandboxes. Empty: teams submit predictions, not programs.",
    )
    environment: str = Field(
        "",
        description="What programs may import: the digest that arena programs environment prints. "
        "Empty: what the machine's own Python has.",
    )
    command: Annotated[str, Field(min_length=1)] = Field(
        "python3 main.py",
        description="What starts a program. The last word is the file that a ZIP must contain.",
    )
    inputs: str = Field(
        "programs/inputs",
        description="The folder of the hidden inputs, relative to this one. Only runners read it.",
    )
    sample: str = Field(
        "files/sample_inputs",
        description="The folder of the inputs of the trial, relative to this one. Participants "
        "download what is in files/.",
    )
    trial_seconds: Annotated[float, Field(gt=0)] = Field(
        120.0, description="Seconds of a trial, whose whole log the team sees."
    )
    seconds: Annotated[float, Field(gt=0)] = Field(
        600.0, description="Seconds of a run on the hidden inputs, of which the team sees no log."
    )
    memory_mb: Count = Field(4_096, description="Megabytes of memory of a run.")
    disk_mb: Count = Field(
        1_024, description="Megabytes of files that a run may write; they are in memory too."
    )
    cores: Count = Field(2, description="Processor cores of a run.")
    processes: Count = Field(256, description="Processes and threads of a run.")
    gpus: Annotated[int, Field(ge=0)] = Field(0, description="Graphics processors of a run.")
    trials_per_day: Count = Field(
        20,
        description="Trials per team and day. [limits] count runs on the hidden inputs.",
    )
    count_failed: bool = Field(
        True,
        description="Whether a run that fails by a fault of the program counts towards [limits]: "
        "true or false. One that fails by a fault of the machine never counts.",
    )
    show: tuple[Literal["seconds", "memory"], ...] = Field(
        ("seconds", "memory"),
        description="Figures of a run that teams see, also on the board, to two digits: seconds, "
        "memory, both or none.",
    )

    @property
    def for_runners(self) -> dict[str, Any]:
        """What another machine must know of a run: its command and its limits."""
        names = ("command", "trial_seconds", "seconds", "memory_mb", "disk_mb", "cores")
        return {name: getattr(self, name) for name in (*names, "processes", "gpus")}

    def box(self, *, trial: bool, max_bytes: int) -> Box:
        """Return the limits of a run, whose output may have so many bytes."""
        return Box.of(self.for_runners, trial=trial, output_bytes=max_bytes)


class FinalSection(ConfigSection):
    """Final submissions and ties."""

    rule: FinalRule = Field(
        "best_public",
        description="How a team's final submission is selected: best_public, last, chosen (by the "
        "team) or best_private (best private score, which is optimistically biased).",
    )
    count: Count = Field(
        2, description="With the rule chosen: how many submissions a team may choose."
    )
    ties: Ties = Field(
        "shared",
        description="Tied teams share a rank (shared), or the earlier submission is ahead "
        "(earliest), or on the final board the better score by the first secondary metric "
        "(secondary).",
    )
    columns: tuple[str, ...] = Field(
        (),
        description="Metrics of [metric] secondary, and targets, whose scores the published final "
        "board shows. The public board never does.",
    )


class AnalysisSection(ConfigSection):
    """Statistics of the private board."""

    resamples: Annotated[int, Field(ge=2)] = Field(
        DEFAULT_RESAMPLES, description="Number of bootstrap resamples of the rows."
    )
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        DEFAULT_LEVEL, description="Confidence level of all intervals."
    )
    intervals: bool = Field(
        default=True,
        description="Whether to compute intervals; false: one call of the metric per submission.",
    )
    ranker: str = Field(
        DEFAULT_RANKER,
        description="The procedure of ranks. simultaneous(ties=true): of several exactly equal "
        "best submissions, all are among those that may be first.",
        min_length=1,
    )
    full_bootstrap: bool = Field(
        default=False,
        description="Whether a metric that can only be called as a whole is called on every "
        "resample, and not on about a hundred parts of the rows.",
    )


class StoreSection(ConfigSection):
    """Where predictions are kept."""

    predictions: str | None = Field(
        None,
        description="A folder, relative to this one, or a URL (s3://BUCKET/FOLDER or "
        "gs://BUCKET/FOLDER) that keeps the predictions as Parquet files. Default: the database.",
    )

    @field_validator("predictions")
    @classmethod
    def _without_secrets(cls, predictions: str | None) -> str | None:
        if predictions is not None:
            check_location(predictions)
        return predictions


class PluginsSection(ConfigSection):
    """Plugins that this competition depends on."""

    required: tuple[str, ...] = Field(
        (),
        description="Plugins by name (arena plugins) without which no submission is judged and no "
        "result is computed, e.g. your own rules.",
    )


class BracketSection(ConfigSection):
    """A named set of teams."""

    ranked: bool = Field(
        default=True,
        description="Whether its teams are ranked, also among themselves: true or false.",
    )


class CombinedBoardSection(ConfigSection):
    """A private board by one score of several metrics, tasks or phases; over phases also public."""

    columns: tuple[str, ...] = Field(
        (), description="The metrics that it combines. Default: the metric of the competition."
    )
    rank_by: Literal["mean", "rows", "geometric", "worst", "mean_rank"] = Field(
        "mean",
        description="How the scores become one: mean, rows (the mean in which a task counts by its "
        "number of rows), geometric, worst (the smallest score, or the largest loss) or "
        "mean_rank.",
    )
    weights: dict[str, Annotated[float, Field(ge=LEAST_WEIGHT, le=MOST_WEIGHT)]] = Field(
        default_factory=dict,
        description='Weights of metrics, tasks or phases, such as {"lung" = 2}; others have 1.',
    )
    tasks: bool = Field(
        default=True,
        description="Whether each metric is computed on each task of [data] tasks: true or false.",
    )
    phases: tuple[str, ...] = Field(
        (),
        description="Phases whose scores it combines, each by its own metric. It is part of the "
        "result of the one that ends last; of several, of the first. Not beside columns.",
    )
    series: str = Field(
        "",
        description="A series of rounds, whose scores it combines as it does those of tasks. Not "
        "beside columns.",
    )
    missing: Literal["unranked", "baseline", "worst"] = Field(
        "unranked",
        description="With phases or series: a team that missed a phase is not ranked (unranked), "
        "or in it the predictions of the first baseline count for it (baseline), or the worst "
        "score of a ranked team (worst).",
    )

    @property
    def over_phases(self) -> bool:
        """Whether it combines phases: tasks, or the rounds of a series."""
        return bool(self.phases or self.series)

    @model_validator(mode="after")
    def _over_phases(self) -> Self:
        if self.phases and self.series:
            raise ValueError("phases and series exclude each other")
        if self.missing != "unranked" and not self.over_phases:
            raise ValueError("missing needs phases or series, since only phases can be missed")
        key = "series" if self.series else "phases"
        if self.over_phases and (self.columns or not self.tasks):
            raise ValueError(f"columns and tasks are not possible beside {key}")
        if self.over_phases and self.rank_by == "worst" and self.weights:
            raise ValueError("the worst of several scores takes no weights")
        if self.phases and len(set(self.phases)) < max(len(self.phases), 2):
            raise ValueError("phases needs at least two phases, each named once")
        return self


class QuestionSection(ConfigSection):
    """A question to participants, answered with a submission."""

    of: Literal["submission", "team"] = Field(
        "submission",
        description="What it is about: each submission, or the team, whose last answer counts.",
    )
    text: Annotated[str, Field(max_length=200)] = Field(
        "", description="The question, which is also the title of its column."
    )
    choices: tuple[str, ...] = Field(
        (), description="The possible answers. Default: any text of 200 characters."
    )
    required: bool = Field(
        default=False, description="Whether a submission needs an answer: true or false."
    )
    shown: Literal["board", "organisers"] = Field(
        "board",
        description="Who sees the answers: everybody, as a column of every board and on record "
        "(board), or only organisers and the team, on the site, which can erase them (organisers).",
    )
    brackets: bool = Field(
        default=False,
        description="Whether each choice is a bracket of the teams that give it: true or false.",
    )
    may_change: bool = Field(
        default=False,
        description="With brackets: whether a team may change its answer, and so its bracket: true "
        "or false.",
    )

    @model_validator(mode="after")
    def _with_choices_for_brackets(self) -> Self:
        if self.brackets and (self.of != "team" or not self.choices or self.shown != "board"):
            raise ValueError('brackets = true needs of = "team", choices and shown = "board"')
        if self.may_change and not self.brackets:
            raise ValueError("may_change needs brackets = true: other answers can be changed")
        if len(set(self.choices)) < len(self.choices):
            raise ValueError("each of the choices is named once")
        for choice in self.choices:
            if choice != " ".join(choice.split()) or not 0 < len(choice) <= LONGEST:
                raise ValueError(f"the choice {choice!r} is empty, too long or has double spaces")
            if self.brackets:
                _section_name(choice)
        return self


def _question_key(key: str) -> str:
    if not _QUESTION_KEY.fullmatch(key):
        raise ValueError(
            "a key has at most 40 small letters, digits and _, and begins with a letter"
        )
    return key


QuestionKey = Annotated[str, AfterValidator(_question_key)]
_QUESTION_KEY = re.compile("[a-z][a-z0-9_]{0,39}")


def _section_name(name: str) -> str:
    if not 0 < len(name) <= _MOST_OF_A_NAME or not name.isprintable():
        raise ValueError(f"a name has 1 to {_MOST_OF_A_NAME} printable characters")
    if set(name) & set(",;/"):
        raise ValueError("a name has no comma, semicolon or slash, since lists of names have them")
    return name


SectionName = Annotated[str, AfterValidator(_section_name)]
_MOST_OF_A_NAME = 60
