"""What the sections of ``competition.toml`` must agree on, besides what each key requires.

Only the file must: settings that a competition has stored may be of an earlier arena.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations

from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError


def check_agreement(settings: Settings) -> None:
    """Refuse settings that contradict each other.

    Raises
    ------
    InputError
        If names look the same, a name or a metric is repeated, or a phase ends before the one that
        it comes after.
    """
    if problems := [problem for check in _CHECKS for problem in check(settings)]:
        raise InputError(f"{CONFIG_NAME}: {' '.join(problems)}")


def _names_alike(settings: Settings) -> Iterator[str]:
    competition = settings.competition
    names_of_place: Mapping[str, Iterable[str]] = {
        "[board]": settings.board,
        "[bracket], with the choices of questions,": settings.brackets,
        "[competition] baseline": competition.baselines,
        **{
            f"[question.{key}] choices": question.choices
            for key, question in settings.question.items()
        },
    }
    for place, names in names_of_place.items():
        for first_name, second_name in combinations(names, 2):
            if _as_seen(first_name) == _as_seen(second_name):
                yield (
                    f"{place} has names that look the same: {first_name!r} and {second_name!r}. "
                    f"Rename one."
                )


def _as_seen(name: str) -> str:
    """Return a name without differences that readers overlook: of case and of Unicode's forms."""
    return unicodedata.normalize("NFKC", name).casefold()


def _blank_baselines(settings: Settings) -> Iterator[str]:
    for name in settings.competition.baselines:
        if not name.strip():
            yield "[competition] baseline has an empty name: name the organiser's team."


def _choices_of_two_questions(settings: Settings) -> Iterator[str]:
    questions = {key: question for key, question in settings.question.items() if question.brackets}
    for first, second in combinations(questions, 2):
        for choice in sorted({*questions[first].choices} & {*questions[second].choices}):
            yield (
                f"{choice!r} is a choice of [question.{first}] and of [question.{second}], and "
                f"both make a bracket of it: rename one."
            )


def _repeated_metrics(settings: Settings) -> Iterator[str]:
    listed = {"[metric] secondary": (settings.metric.specification, *settings.metric.secondary)}
    listed |= {f"[board.{name}] columns": board.columns for name, board in settings.board.items()}
    for place, metrics in listed.items():
        for metric in dict.fromkeys(metrics):
            if metrics.count(metric) > 1:
                yield f"{place}: {metric} is listed twice, or ranks already: name it once."


def _columns_of_the_final_board(settings: Settings) -> Iterator[str]:
    phases = (settings, *map(settings.in_phase, settings.phase))
    columns = {*settings.data.target}.union(*(phase.metric.secondary for phase in phases))
    for phase in phases:
        for column in phase.final.columns:
            if column not in columns:
                yield (
                    f"[final] columns: {column} is neither in [metric] secondary nor in [data] "
                    f"target: name it there, or leave it out."
                )


def _phases_in_order(settings: Settings) -> Iterator[str]:
    for name, phase in settings.phase.items():
        if phase.each is not None and phase.series:
            yield f"[phase.{name}]: each makes its rounds a series named {name}: omit series."
        if phase.after is None:
            continue
        end, before = (settings.in_phase(key).competition.deadline for key in (name, phase.after))
        if end is not None and (before is None or end <= before):
            yield (
                f"[phase.{name}] after: the phase {phase.after} does not end before {name} ends: "
                f"change an end."
            )


_CHECKS: tuple[Callable[[Settings], Iterator[str]], ...] = (
    _names_alike,
    _blank_baselines,
    _choices_of_two_questions,
    _repeated_metrics,
    _columns_of_the_final_board,
    _phases_in_order,
)
