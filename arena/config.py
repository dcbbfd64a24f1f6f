"""``competition.toml``: how a competition runs, in the organiser's own hand.

The file holds no secret: labels, seeds and the state of a mechanism stand in the database only.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from arena.errors import InputError
from arena.registry import nearest
from arena.specification import with_parameters
from arena.text import shorten

__all__ = [
    "CONFIG_NAME",
    "FinalRule",
    "Settings",
    "Ties",
    "read_settings",
    "settings_as_toml",
]

CONFIG_NAME = "competition.toml"

FinalRule = Literal["best_public", "last", "chosen", "best_private"]
Ties = Literal["shared", "earliest"]
_Count = Annotated[int, Field(ge=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class CompetitionSection(_Section):
    """What the competition is called, and until when it runs."""

    title: str = Field("", description="Shown above every board.")
    deadline: datetime | None = Field(
        None,
        description="No submission is taken after it, such as 2026-12-31T23:59:00Z; without an "
        "offset it is UTC.",
    )
    baseline: str | None = Field(
        None, description="The organiser's own team: on the board, marked, and not ranked."
    )

    @field_validator("deadline")
    @classmethod
    def _in_utc(cls, deadline: datetime | None) -> datetime | None:
        if deadline is None:
            return None
        aware = deadline if deadline.tzinfo else deadline.replace(tzinfo=UTC)
        return aware.astimezone(UTC)


class DataSection(_Section):
    """Which column of the solution is what."""

    id: str | None = Field(None, description="The id column; left out: id, else the first.")
    target: tuple[str, ...] = Field((), description="The target columns; empty: the one left.")
    usage: str = Field("Usage", description="The column of Public, Private and Ignored.")
    cluster: str | None = Field(None, description="A column of groups that are resampled whole.")
    tasks: str | None = Field(None, description="A column of tasks that reports rank apart, too.")
    positive: str | None = Field(None, description="The positive label of two.")
    soft_labels: tuple[str, ...] = Field(
        (), description="Columns of probabilities: of the positive label, or of each label."
    )
    submission_columns: tuple[str, ...] = Field(
        (), description="The columns of a submission, if its metric reads others than the targets."
    )


class MetricSection(_Section):
    """What is scored."""

    name: str = Field(description="A metric, such as roc_auc or f1(average=macro).", min_length=1)
    lower_is_better: bool | None = Field(
        None, description="Only for a metric that does not say so itself, such as kaggle:FILE.py."
    )
    time_limit: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Seconds that a call of such a metric may take; left out: 60."
    )

    @property
    def specification(self) -> str:
        """The metric as it is asked for, with everything that is said of it."""
        return with_parameters(
            self.name, lower_is_better=self.lower_is_better, time_limit=self.time_limit
        )


class PublicSection(_Section):
    """What the public board shows."""

    mechanism: str = Field("full", description="A mechanism, such as kaggle(rounding=1e-5).")
    scope: Literal["team", "rank"] = Field(
        "team", description="One instance of the mechanism for each team, or for each rank."
    )
    epoch: _Count = Field(
        1, description="Raise it by 1 to change the mechanism once scores were released."
    )


class LimitsSection(_Section):
    """How much a team may send."""

    per_day: _Count | None = Field(None, description="Submissions per team and day, 00:00 UTC on.")
    total: _Count | None = Field(None, description="Submissions per team in all.")
    max_bytes: _Count = Field(200 * 2**20, description="The largest file, packed or unpacked.")
    count_rejected: bool = Field(
        False, description="Whether a submission with faults uses up a place."
    )


class FinalSection(_Section):
    """Which submissions count in the end."""

    rule: FinalRule = Field("best_public", description="How a team's final submission is found.")
    count: _Count = Field(2, description="How many a team may choose, with the rule chosen.")
    ties: Ties = Field("shared", description="Tied teams share a rank, or the earlier is ahead.")


class AnalysisSection(_Section):
    """How the private board is judged."""

    resamples: Annotated[int, Field(ge=2)] = Field(1_000, description="Resamples of the rows.")
    level: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.95, description="The confidence level of every interval."
    )


class Settings(_Section):
    """The whole of ``competition.toml``."""

    competition: CompetitionSection = Field(default_factory=CompetitionSection)
    data: DataSection = Field(default_factory=DataSection)
    metric: MetricSection
    public: PublicSection = Field(default_factory=PublicSection)
    limits: LimitsSection = Field(default_factory=LimitsSection)
    final: FinalSection = Field(default_factory=FinalSection)
    analysis: AnalysisSection = Field(default_factory=AnalysisSection)

    def to_document(self) -> dict[str, Any]:
        """Return the settings as JSON."""
        return self.model_dump(mode="json")

    def changes_to(self, other: Settings) -> list[list[Any]]:
        """Return ``[section.key, here, there]`` of all that is not the same there, as JSON."""
        here, there = self.to_document(), other.to_document()
        return [
            [f"{section}.{key}", here[section][key], value]
            for section, keys in there.items()
            for key, value in keys.items()
            if here[section][key] != value
        ]


def read_settings(path: Path) -> Settings:
    """Read and check ``competition.toml``.

    Raises
    ------
    InputError
        If it is not there, is no TOML, or holds something unknown or out of range; every such
        thing is named, with its section and key.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"There is no {path}. Make a competition with arena init.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        problems = [_problem(problem) for problem in error.errors()]
        raise InputError(f"{path}: " + " ".join(problems)) from error


_WANTED = {
    "datetime": "a date and time, such as 2026-12-31T23:59:00Z",
    "bool": "true or false",
    "int": "a whole number, such as 5",
    "float": "a number, such as 0.95",
    "string": 'a text in quotes, such as "a text"',
    "string_too_short": "a text that is not empty",
    "tuple": 'a list of texts, such as ["a", "b"]',
    "model": "a section of keys",
    "literal_error": "one of {expected}",
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than": "less than {lt}",
}
"""What pydantic calls a mistake, or the first word of it -> what is wanted instead."""
_SHOWN = 60


def _problem(problem: Mapping[str, Any]) -> str:
    place = [str(part) for part in problem["loc"]]
    where = f"[{place[0]}] {'.'.join(place[1:])}".strip() if place else "the file"
    if problem["type"] == "missing":
        return f"{where} is missing."
    if problem["type"] == "extra_forbidden":
        known = _known_keys(place[:-1])
        guess = nearest(place[-1], known)
        return f"{where} is unknown. " + (
            f"Did you mean {guess}?" if guess else f"There are: {', '.join(known)}."
        )
    kind = problem["type"]
    wanted = _WANTED.get(kind) or _WANTED.get(kind.partition("_")[0])
    if wanted is None:
        return f"{where}: {problem['msg']}."
    written = shorten(_toml(problem["input"]), _SHOWN)
    return f"{where} is {written}, but must be {wanted.format_map(problem.get('ctx', {}))}."


def _known_keys(sections: list[str]) -> list[str]:
    model: Any = Settings
    for section in sections:
        annotation = model.model_fields[section].annotation
        model = next(
            kind for kind in (annotation, *get_args(annotation)) if hasattr(kind, "model_fields")
        )
    return list(model.model_fields)


def settings_as_toml(settings: Settings, remarks: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return the settings as TOML with a comment for every key; what is unset stands commented.

    ``remarks`` are further sentences at the head of a section, by its name.

    >>> text = settings_as_toml(Settings(metric=MetricSection(name="roc_auc")))
    >>> Settings.model_validate(tomllib.loads(text)).metric.name
    'roc_auc'
    """
    lines = [
        "# How this competition runs. Labels, seeds and scores stand in the database only.",
        "",
    ]
    for name in Settings.model_fields:
        section = getattr(settings, name)
        lines += [f"# {(type(section).__doc__ or '').strip()}", f"[{name}]"]
        lines += [
            f"# {line}" for told in (remarks or {}).get(name, ()) for line in told.split("\n")
        ]
        for key, field in type(section).model_fields.items():
            value = getattr(section, key)
            lines.append(f"# {field.description}")
            lines.append(f"# {key} =" if value is None else f"{key} = {_toml(value)}")
        lines.append("")
    return "\n".join(lines)


def _toml(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False, default=str)
