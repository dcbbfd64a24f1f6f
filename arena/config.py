"""The settings of a competition and the file ``competition.toml`` that holds them.

The file holds no secrets: labels, seeds and mechanism state are stored in the database only.
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import Field, ValidationError, model_validator

from arena.config_sections import (
    AnalysisSection,
    BracketSection,
    CombinedBoardSection,
    CompetitionSection,
    DataSection,
    FinalSection,
    LimitsSection,
    MetricSection,
    PluginsSection,
    ProgramsSection,
    PublicSection,
    QuestionKey,
    QuestionSection,
    SectionName,
    StoreSection,
)
from arena.errors import InputError, MetricError, PluginError, UnknownNameError, UsageError
from arena.phase_section import PhaseName, PhaseSection, check_phases, row_sets
from arena.plugin.registry import nearest
from arena.server_section import ConfigSection, ServerSection
from arena.types import SolutionColumns
from arena.utils.file_errors import unreadable
from arena.utils.formatting import BoardDisplay
from arena.utils.text import shorten

CONFIG_NAME = "competition.toml"
DATABASE_NAME = "arena.duckdb"
SAMPLE_NAME = "sample_submission.csv"
UNFINISHED_NAME = "unfinished"
"""Folder of what an interrupted command has finished; it holds private scores."""


class Settings(ConfigSection):
    """All settings of a competition: the content of ``competition.toml``."""

    competition: CompetitionSection = Field(default_factory=CompetitionSection)
    data: DataSection = Field(default_factory=DataSection)
    metric: MetricSection
    public: PublicSection = Field(default_factory=PublicSection)
    limits: LimitsSection = Field(default_factory=LimitsSection)
    final: FinalSection = Field(default_factory=FinalSection)
    analysis: AnalysisSection = Field(default_factory=AnalysisSection)
    store: StoreSection = Field(default_factory=StoreSection)
    plugins: PluginsSection = Field(default_factory=PluginsSection)
    programs: ProgramsSection = Field(default_factory=ProgramsSection)
    bracket: dict[SectionName, BracketSection] = Field(
        default_factory=dict, description="Named sets of teams: [bracket.NAME]."
    )
    phase: dict[PhaseName, PhaseSection] = Field(
        default_factory=dict, description="Phases of the competition: [phase.NAME]."
    )
    question: dict[QuestionKey, QuestionSection] = Field(
        default_factory=dict, description="Questions to participants: [question.KEY]."
    )
    board: dict[SectionName, CombinedBoardSection] = Field(
        default_factory=dict, description="Combined private boards: [board.NAME]."
    )
    server: ServerSection = Field(default_factory=ServerSection, exclude=True)

    @property
    def columns(self) -> SolutionColumns:
        """The columns as the reader of a solution takes them, with the sets of rows of phases."""
        return replace(self.data.columns, row_sets=row_sets(self.phase.values()))

    def in_phase(self, name: str) -> Settings:
        """Return the settings of a phase: the other sections with what differs in it.

        >>> final = {"start": "2026-12-01", "limits": {"total": 3}}
        >>> settings = Settings.of(metric="roc_auc", per_day=5, phase={"final": final})
        >>> limits = settings.in_phase("final").limits
        >>> limits.per_day, limits.total
        (5, 3)
        """
        if not name:
            return self
        phase, dates = self.phase[name], self.competition
        changed: dict[str, Mapping[str, Any]] = {
            "competition": {
                "start": phase.start or dates.start,
                "deadline": phase.end or dates.deadline,
            },
            **{section: getattr(phase, section) for section in _OF_A_PHASE},
        }
        document = dict(self)
        document |= {key: {**dict(getattr(self, key)), **changed[key]} for key in changed}
        document["board"] = {
            key: board for key, board in self.board.items() if not board.over_phases
        }
        if "name" in phase.metric:
            document["metric"] = phase.metric
        return Settings.model_validate({**document, "phase": {}, "server": self.server})

    @classmethod
    def of(cls, *, metric: str, **keys: Any) -> Settings:
        """Return settings from keys of ``competition.toml``, without their sections.

        Some keys have longer names here: ``final_rule`` is ``rule`` and ``final_count`` is
        ``count`` of the section ``[final]``, and every key of ``[programs]`` begins with
        ``programs_``. ``phase`` has the keys of each section ``[phase.NAME]``, by its name.

        Raises
        ------
        UsageError
            If a key is unknown or a value is invalid.

        Examples
        --------
        >>> settings = Settings.of(metric="roc_auc", target="y", per_day=5, final_rule="last")
        >>> settings.data.target, settings.limits.per_day, settings.final.rule
        (('y',), 5, 'last')
        """
        document: dict[str, dict[str, Any]] = {"metric": {"name": metric}}
        for key, value in keys.items():
            if key in _NAMED:
                document[key] = value
                continue
            if key not in _PLACES:
                guess = nearest(key, list(_PLACES))
                hint = f"Did you mean {guess}?" if guess else f"There are: {', '.join(_PLACES)}."
                raise UsageError(f"There is no setting {key!r}. {hint}")
            section, name = _PLACES[key]
            several = name in _LISTS
            chosen = (value,) if several and isinstance(value, str) else value
            document.setdefault(section, {})[name] = tuple(chosen) if several else chosen
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise UsageError(" ".join(_problem(problem) for problem in error.errors())) from error

    @model_validator(mode="after")
    def _with_a_freeze_in_time(self) -> Self:
        dates, freeze = self.competition, self.public.freeze
        if freeze is not None and dates.deadline is not None and freeze >= dates.deadline:
            raise ValueError("[public] freeze must be before [competition] deadline")
        if freeze is not None and dates.start is not None and freeze <= dates.start:
            raise ValueError("[public] freeze must be after [competition] start")
        return self

    @property
    def programs_of_phases(self) -> dict[str, ProgramsSection]:
        """The section ``[programs]`` of each phase, by its name; without phases of the empty one.

        >>> phase = {"final": {"programs": {"seconds": 60}}}
        >>> settings = Settings.of(metric="auc", programs_sandbox="bwrap", phase=phase)
        >>> {name: section.seconds for name, section in settings.programs_of_phases.items()}
        {'final': 60.0}
        """
        return {name: self.in_phase(name).programs for name in self.phase or [""]}

    @property
    def public_questions(self) -> dict[str, QuestionSection]:
        """The questions whose answers are on boards and on record."""
        return {
            key: question for key, question in self.question.items() if question.shown == "board"
        }

    @property
    def brackets(self) -> dict[str, BracketSection]:
        """Every bracket: those of sections, and the choices of questions that make brackets."""
        choices = {
            choice: BracketSection()
            for question in self.question.values()
            if question.brackets
            for choice in question.choices
        }
        return {**choices, **self.bracket}

    @model_validator(mode="after")
    def _with_questions_to_files(self) -> Self:
        if self.question and self.programs.sandbox:
            raise ValueError(
                "[question] needs submissions of predictions: programs come without answers"
            )
        return self

    @model_validator(mode="after")
    def _with_ranks_of_ranked_teams(self) -> Self:
        unranked = [name for name, bracket in self.bracket.items() if not bracket.ranked]
        if unranked and self.public.scope == "rank":
            raise ValueError(
                f"[bracket.{unranked[0]}] ranked = false needs another [public] scope than "
                f'"rank": its teams have no rank'
            )
        return self

    @model_validator(mode="after")
    def _with_a_metric_for_ties(self) -> Self:
        if self.final.ties == "secondary" and not self.metric.secondary:
            raise ValueError('[final] ties = "secondary" needs a metric in [metric] secondary')
        return self

    @model_validator(mode="after")
    def _with_phases_that_agree(self) -> Self:
        if not self.phase:
            return self
        check_phases(self.phase)
        if self.competition.late_until is not None:
            raise ValueError("[competition] late_until is not possible with phases")
        for name, phase in self.phase.items():
            try:
                settings = self.in_phase(name)
            except ValidationError as error:
                problems = " ".join(_problem(problem) for problem in error.errors())
                raise ValueError(f"[phase.{name}]: {problems.rstrip('.')}") from error
            for key in ("sandbox", "trials_per_day"):
                if key in phase.programs:
                    raise ValueError(f"[phase.{name}]: {key} is that of the whole competition")
            if phase.programs and not self.programs.sandbox:
                raise ValueError(f"[phase.{name}]: programs needs [programs] sandbox")
            for section in _OF_A_PHASE:  # as they are read again from JSON: a time is a text
                phase_keys = getattr(phase, section)
                phase_keys |= getattr(settings, section).model_dump(
                    mode="json", include=set(phase_keys)
                )
            if settings.public.scope == "rank":
                raise ValueError(f'[phase.{name}]: scope = "rank" is not possible in a phase')
        by_rows: dict[frozenset[str], tuple[str, tuple[str, ...]]] = {}
        for name, phase in self.phase.items():
            settings = self.in_phase(name)
            public, metric = settings.public, settings.metric.specification
            released_by = (metric, public.mechanism, public.scope)
            first, shared = by_rows.setdefault(phase.public_usages, (name, released_by))
            if phase.public_usages and released_by != shared:
                raise ValueError(
                    f"the phases {first} and {name} share their public rows, and must have the "
                    f"same metric and the same [public] mechanism and scope"
                )
        return self

    @model_validator(mode="after")
    def _with_boards_over_phases(self) -> Self:
        for name, board in self.board.items():
            if not board.over_phases:
                continue
            place = f"[board.{name}] {'series' if board.series else 'phases'}"
            phases = self._phases_of(board, place)
            if board.missing == "baseline" and not self.competition.baselines:
                raise ValueError(f'{place}: missing = "baseline" needs [competition] baseline')
            if any(
                final.rule == "best_private" or (final.rule == "chosen" and final.count > 1)
                for final in (self.in_phase(phase).final for phase in phases)
            ):
                raise ValueError(
                    f"{place} needs one final file in each phase: set [final] rule to last or "
                    f"best_public, or count = 1"
                )
            rounds_are_made = not any(self.phase[phase].each for phase in phases)
            if rounds_are_made and (unknown := sorted(set(board.weights) - set(phases))):
                raise ValueError(f"{place}: there is no phase {unknown[0]!r} to weight")
        return self

    def _phases_of(self, board: CombinedBoardSection, place: str) -> tuple[str, ...]:
        """Return the phases of a board.

        Before rounds are made of a section with ``each``, it stands for them.

        Raises
        ------
        ValueError
            If there are none, or they cannot be combined.
        """
        if not board.series:
            for name in board.phases:
                if name not in self.phase or self.phase[name].each:
                    raise ValueError(f"{place} names {name!r}, which is no phase")
                if not self.phase[name].private_usages:
                    raise ValueError(f"{place}: the phase {name} has no private rows")
            for first, second in combinations(board.phases, 2):
                rows = (self.phase[name].private_usages for name in (first, second))
                if common := sorted(frozenset.intersection(*rows)):
                    raise ValueError(
                        f"{place}: the phases {first} and {second} share rows marked as "
                        f"{common[0]}, which would count twice"
                    )
            return board.phases
        rounds = tuple(
            name
            for name, section in self.phase.items()
            if board.series == section.series or (board.series == name and section.each)
        )
        if not rounds:
            raise ValueError(f"{place} names {board.series!r}, of which no phase is a round")
        if len({self.in_phase(name).metric.specification for name in rounds}) > 1:
            raise ValueError(f"{place}: the rounds of {board.series} have different metrics")
        return rounds

    def display(self, *, public: bool) -> BoardDisplay:
        """Return how the public or the private board shows scores, and its wording for ties.

        >>> settings = Settings.of(metric="auc", ties="secondary", secondary="brier", decimals=3)
        >>> settings.display(public=False).ties
        'Teams with the same score are ordered by brier.'
        """
        other = next(iter(self.metric.secondary), "")
        sentence_of = {
            "shared": "",
            "earliest": "Of teams with the same score, the one with the earlier submission is "
            "ahead.",
            "secondary": f"Teams with the same score share a rank; the final board orders them by "
            f"{other}."
            if public
            else f"Teams with the same score are ordered by {other}.",
        }
        return BoardDisplay(self.metric.decimals, self.metric.unit, sentence_of[self.final.ties])

    def to_document(self) -> dict[str, Any]:
        """Return the settings of the competition as JSON: all but ``[server]``.

        The keys that ``arena serve`` uses are in events of their own.
        """
        return self.model_dump(mode="json")

    def changes_to(self, other: Settings) -> list[list[Any]]:
        """Return ``[section.key, old, new]`` for each setting that differs in ``other``.

        ``key`` may be the name of a section such as ``[bracket.NAME]``; None: there is none.
        """
        old, new = self.to_document(), other.to_document()
        return [
            [f"{section}.{key}", old[section].get(key), keys.get(key)]
            for section, keys in new.items()
            for key in {**keys, **old[section]}
            if old[section].get(key) != keys.get(key)
        ]


_PREFIXED = {"final", "programs"}
"""Sections whose keys say little without their name."""
_OF_A_PHASE = ("metric", "public", "limits", "final", "programs")
"""The sections whose keys a phase can change."""
_PLACES = {
    f"{section}_{key}" if section in _PREFIXED and key != "ties" else key: (section, key)
    for section, field in Settings.model_fields.items()
    for key in getattr(field.annotation, "model_fields", ())
    if (section, key) != ("metric", "name")
}
"""Keyword of :meth:`Settings.of` -> section and key."""
_NAMED = {
    name
    for name, field in Settings.model_fields.items()
    if not hasattr(field.annotation, "model_fields")
}
"""The keys that hold any number of sections by name, such as ``[bracket.NAME]``."""
_LISTS = {
    "target",
    "classes",
    "secondary",
    "soft_labels",
    "submission_columns",
    "required",
    "no_header",
    "show",
    "columns",
}


_LEFT_OUT = {"programs", "server"}
"""Sections that most competitions do not need: without a changed key, a new file lacks them."""


def read_settings(path: Path) -> Settings:
    """Read and check ``competition.toml``.

    Raises
    ------
    InputError
        If the file is missing or is not valid TOML, or if a key is unknown or a value is out of
        range; the message names each such section and key.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"There is no {path}. Create a competition with arena init.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise unreadable(path, error) from error
    return settings_of_document(document, path)


def settings_of_document(document: Mapping[str, Any], path: Path) -> Settings:
    """Return the settings of a parsed ``competition.toml``; ``path`` is named in the error.

    Raises
    ------
    InputError
        As :func:`read_settings`.
    """
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        problems = [_problem(problem) for problem in error.errors()]
        raise InputError(f"{path}: " + " ".join(problems)) from error


@contextlib.contextmanager
def errors_name_setting(key: str) -> Iterator[None]:
    """Name ``competition.toml`` and a key in an error about the value of the key.

    >>> with errors_name_setting("[metric] name"):
    ...     raise UnknownNameError("There is no metric 'x'.")
    Traceback (most recent call last):
    arena.errors.InputError: competition.toml: [metric] name: There is no metric 'x'.
    """
    try:
        yield
    except (InputError, MetricError, UnknownNameError, UsageError) as error:
        raise InputError(f"{CONFIG_NAME}: {key}: {error}") from error
    except PluginError as error:
        raise type(error)(f"{CONFIG_NAME}: {key}: {error}") from error


_WANTED = {
    "datetime": "a date and time, such as 2026-12-31T23:59:00Z",
    "bool": "true or false",
    "int": "a whole number, such as 5",
    "float": "a number, such as 0.95",
    "string": 'a text in quotes, such as "a text"',
    "string_too_short": "a text that is not empty",
    "string_too_long": "a text of at most {max_length} letters",
    "tuple": 'a list of texts, such as ["a", "b"]',
    "model": "a section of keys",
    "dict": "sections with names, such as [bracket.NAME]",
    "literal_error": "one of {expected}",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than": "less than {lt}",
}
"""Type of a pydantic error, or its first word -> the expected value, for the message."""
_MAX_SHOWN_CHARACTERS = 60
_NO_KEYS = {
    "metric.publish_secondary": "is a key of earlier versions. Name the columns that the published "
    'final board shows in columns of [final], such as columns = ["f1"]; arena upgrade does that in '
    "an older file.",
    "public.epoch": "is a key of earlier versions. Remove it, as arena upgrade does in an older "
    "file: another mechanism applies with the next command that writes.",
    "public.columns": "is unknown: exact scores by another metric would reveal what the mechanism "
    "hides. The published final board shows the columns that [final] names.",
    "task": "is unknown. Tasks are phases that are open at once: [phase.NAME] with rows and a "
    "metric of its own. Tasks whose files have other columns need a competition each.",
    "phase.solution": "is unknown. The solution has the rows of all phases: name those of each in "
    "public_rows and private_rows. Tasks whose files have other columns need a competition each.",
}
"""A key that people expect, with its section -> why there is none, and what to do."""


def _problem(problem: Mapping[str, Any]) -> str:
    place = [str(part) for part in problem["loc"] if part != "[key]"]
    depth = 2 if place[0:1] and place[0] in _NAMED else 1
    section, key = ".".join(place[:depth]), ".".join(place[depth:])
    where = f"[{section}] {key}".strip() if place else "the file"
    if problem["type"] == "missing":
        return f"{where} is missing."
    if problem["type"] == "extra_forbidden":
        if reason := _NO_KEYS.get(f"{place[0]}.{key}".rstrip(".")):
            return f"{where} {reason}"
        known_keys = _known_keys([*map(str, problem["loc"][:-1])])
        guess = nearest(place[-1], known_keys)
        return f"{where} is unknown. " + (
            f"Did you mean {guess}?" if guess else f"There are: {', '.join(known_keys)}."
        )
    kind = problem["type"]
    expected = _WANTED.get(kind) or _WANTED.get(kind.partition("_")[0])
    if expected is None:
        message = problem["msg"].removeprefix("Value error, ").rstrip(".")
        return f"{where}: {message}." if place else f"{message}."
    written = shorten(_toml(problem["input"]), _MAX_SHOWN_CHARACTERS)
    return f"{where} is {written}, but must be {expected.format_map(problem.get('ctx', {}))}."


def _known_keys(sections: list[str]) -> list[str]:
    model: Any = Settings
    names = iter(sections)
    for section in names:
        annotation = model.model_fields[section].annotation
        model = next(
            kind for kind in (annotation, *get_args(annotation)) if hasattr(kind, "model_fields")
        )
        if model is not annotation:  # [phase.NAME], whose name can be that of a key
            next(names, None)
    return list(model.model_fields)


def settings_as_toml(settings: Settings, remarks: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the settings as TOML with a comment for every key; unset keys are commented out.

    ``remarks`` maps the name of a section to further comment lines at its start.

    >>> text = settings_as_toml(Settings(metric=MetricSection(name="roc_auc")))
    >>> Settings.model_validate(tomllib.loads(text)).metric.name
    'roc_auc'
    """
    lines = [
        "# Settings of this competition. Labels, seeds and scores are in the database only.",
        "",
    ]
    for name, section in _sections(settings):
        lines += [f"# {(type(section).__doc__ or '').strip()}", f"[{name}]"]
        lines += [
            f"# {line}" for remark in (remarks or {}).get(name, ()) for line in remark.split("\n")
        ]
        for key, field in type(section).model_fields.items():
            value = getattr(section, key)
            lines.append(f"# {field.description}")
            lines.append(f"# {key} =" if value is None else f"{key} = {_toml(value)}")
        lines.append("")
    return "\n".join(lines)


def document_as_toml(document: Mapping[str, Any]) -> str:
    """Return sections of ``competition.toml`` as TOML, without comments.

    >>> print(document_as_toml({"metric": {"name": "auc"}, "phase": {"dev": {"limits": {}}}}))
    [metric]
    name = "auc"
    <BLANKLINE>
    [phase.dev]
    limits = {}
    <BLANKLINE>
    """
    lines: list[str] = []
    for name, section in document.items():
        named = {f"{name}.{_toml_key(key)}": subsection for key, subsection in section.items()}
        for place, keys in (named if name in _NAMED else {name: section}).items():
            lines.append(f"[{place}]")
            lines += [f"{key} = {_toml(value)}" for key, value in keys.items()]
            lines.append("")
    return "\n".join(lines)


def _sections(settings: Settings) -> Iterator[tuple[str, ConfigSection]]:
    """Yield each section with its name, but no section of :data:`_LEFT_OUT` with only defaults."""
    for name in Settings.model_fields:
        section = getattr(settings, name)
        if name in _NAMED:
            for key, named in section.items():
                yield f"{name}.{_toml_key(key)}", named
        elif name not in _LEFT_OUT or section != type(section)():
            yield name, section


_BARE_KEY = re.compile("[A-Za-z0-9_-]+")


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{_toml_key(key)} = {_toml(item)}' for key, item in value.items())}}}"
        )
    return json.dumps(value, ensure_ascii=False, default=str)
