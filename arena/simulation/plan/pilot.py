"""A plan from a pilot: what is read from its predictions, and :func:`plan` from files to answers.

Scoring does not keep the predictions, so what a plan needs of them is read while they are scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from arena.errors import InputError, MetricError, UsageError
from arena.evaluation.clusters import fewest_units, size_degrees_of_freedom
from arena.evaluation.ranks import best_first
from arena.evaluation.row_weights import metric_on_rows_of, row_weights_of
from arena.evaluation.scores import round_significant
from arena.evaluation.standard_errors import class_means_are_removed, comparable_values
from arena.interfaces import HasRowValues, Metric, Study, traits_of
from arena.plugin.manager import PluginManager
from arena.plugin.specification import split_specifications
from arena.public_board.clipping import conceivable_scores
from arena.scoring.board import BoardStudy
from arena.scoring.private_board import analysis_generator
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.score import admitted
from arena.scoring.settings import BoardSettings, ScoreSettings, combination_of
from arena.simulation.degenerate import best_constant_score, degenerate_board
from arena.simulation.past.teams import boards_like
from arena.simulation.plan.mechanisms import read_attacks, recommended_mechanism
from arena.simulation.plan.metric_choice import compare_metrics, split_half_agreement
from arena.simulation.plan.organiser import Advice, Questions, advise_organiser
from arena.simulation.plan.plan import MOST_SUBMISSIONS, plan_rows
from arena.simulation.plan.uncertainty import pair_degrees_of_freedom
from arena.simulation.requests import (
    CompetitionPlanRequest,
    PilotPlanRequest,
    PlanRequest,
)
from arena.types import (
    FloatArray,
    IntArray,
)
from arena.utils.parallel import Progress
from arena.utils.text import plural, printable

if TYPE_CHECKING:
    from arena.competition.view import CompetitionView
    from arena.simulation.competition.comparison import MechanismComparison

FEW_IN_CLASS = 10
"""With fewer units in a class, the class sets the degrees of freedom, as on a board."""
_MOST_REJECTED = 5
_SAME = 1e-12
"""A difference that varies this little over resamples, relative to the scores, is constant."""


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """A scored pilot, with what a plan needs of its predictions."""

    study: Study | None
    """What a board of the pilot ranks; None: no submission could be scored."""
    metric: str
    """The specification of the metric."""
    degrees: float | None
    """Degrees of freedom of the standard error of a difference; None: not known."""
    mechanism: str
    """The recommended mechanism of the public board."""
    agreements: Mapping[str, FloatArray]
    """Of each metric, the agreement of rankings by two halves of the rows; empty: only one."""
    notes: tuple[str, ...]
    """Files and metrics that were left out, in sentences."""
    in_rarest_class: int | None = None
    """Rows, or groups of rows, of the rarest class, if the metric averages within each class."""
    of_scoring: tuple[str, ...] = ()
    """What scoring says about files and rows, in sentences."""


def plan_competition(
    competition: CompetitionView, request: CompetitionPlanRequest, progress: Progress
) -> Advice:
    """Answer the questions from the private board of a stored competition; see :func:`plan`."""
    compared = _rehearsed(request)
    metrics, workers = split_specifications(request.metrics), request.where.workers
    with request.where.open():
        pilot = read_competition(
            competition, metrics, seed=request.seed, progress=progress, workers=workers
        )
        return replace(advise(pilot, request, progress), rehearsal=compared)


def plan_files(request: PilotPlanRequest, manager: PluginManager, progress: Progress) -> Advice:
    """Answer the questions from the files of a pilot; see :func:`plan`."""
    compared = _rehearsed(request)
    board = BoardSettings(
        resamples=request.resamples,
        level=request.level,
        seed=request.seed,
        stratify=request.stratify,
        workers=request.where.workers,
    )
    first, *others = split_specifications(request.metric or "")
    if others and request.combine is None:
        raise UsageError(
            "Several metrics need --combine, such as mean; other metrics to compare with the first "
            "are --metrics."
        )
    settings = ScoreSettings(
        metric=first,
        others=tuple(others),
        combination=combination_of(request.combine),
        columns=request.columns,
        split=request.split,
        board=board,
    )
    metrics = split_specifications(request.metrics)
    with request.where.open():
        pilot = read_pilot(
            request.solution,
            request.submissions,
            settings=settings,
            metrics=metrics,
            manager=manager,
            progress=progress,
        )
        for note in pilot.of_scoring:
            progress.say(note)
        return replace(advise(pilot, request, progress), rehearsal=compared)


def _rehearsed(request: PlanRequest) -> MechanismComparison | None:
    """Return the comparison of mechanisms of the rehearsal; None without one."""
    if request.rehearsal is None:
        return None
    from arena.simulation.competition.comparison import compare_mechanisms
    from arena.simulation.competition.seeds import read_stories

    mechanisms, stories = read_stories(request.rehearsal)
    return compare_mechanisms(mechanisms, stories, request.level)


def read_competition(
    competition: CompetitionView,
    metrics: Sequence[str],
    seed: int,
    progress: Progress,
    workers: int = 0,
) -> Pilot:
    """Return the private board of a stored competition as a pilot."""
    ranked = competition.study(workers=workers, progress=progress)
    name = competition.settings.metric.specification
    manager = competition.manager
    single: Metric = manager.metrics.resolve(name)
    mechanism = recommended_mechanism(single, competition.solution, "private", manager)
    return read_pilot_study(
        ranked,
        name,
        mechanism=mechanism,
        others=metrics,
        manager=manager,
        rng=np.random.default_rng(seed),
    )


def read_pilot(
    solution: Path,
    submissions: Sequence[Path],
    settings: ScoreSettings,
    metrics: Sequence[str],
    manager: PluginManager | None,
    progress: Progress,
) -> Pilot:
    """Score a pilot's submissions."""
    manager = PluginManager() if manager is None else manager
    with admitted(
        solution, submissions, settings=settings, manager=manager, progress=progress
    ) as folder:
        ranked = folder.run.study(folder.counting, rejected=folder.rejected, notes=folder.notes)
        run = folder.run
        single: Metric = run.metric
        if settings.combination is None:
            single = manager.metrics.resolve(settings.metric)
        mechanism = recommended_mechanism(single, run.solution, settings.split, manager)
        rng = analysis_generator(settings.board.seed, 0)
        return read_pilot_study(
            ranked, run.specification, mechanism=mechanism, others=metrics, manager=manager, rng=rng
        )


def advise(pilot: Pilot, request: PlanRequest, progress: Progress) -> Advice:
    """Answer the questions of a request from a pilot that was read.

    Raises
    ------
    UsageError
        If a number is out of range.
    InputError
        If a ranking of the pilot has no meaning, or all of its rows are in one group.
    """
    study = _ranked(pilot)
    groups = None if study.clusters is None else len(np.unique(study.clusters))
    refuse_without_variation(pilot, study, groups)
    rarest = pilot.in_rarest_class
    resampled = with_full_variance(study.resampled, rarest)
    advice = plan_rows(
        study.scores,
        resampled,
        len(study.truth),
        greater_is_better=study.metric.greater_is_better,
        difference=request.difference,
        test_rows=request.rows or None,
        level=request.level,
        degrees_of_freedom=pilot.degrees,
        n_units=rarest or groups,
        prizes=request.prizes,
        top=request.top,
        rng=np.random.default_rng(request.seed),
        progress=progress,
    )
    boards = () if request.like is None else boards_like(request.like)
    return advise_organiser(
        advice,
        study.scores,
        resampled,
        Questions.of(request, n_rows=len(study.truth), boards=boards),
        metric=pilot.metric,
        greater_is_better=study.metric.greater_is_better,
        score_range=conceivable_scores(study.metric),
        mechanism=pilot.mechanism,
        attacked=() if request.attack is None else read_attacks(request.attack, pilot.metric),
        boards=boards,
        groups=groups,
        metrics=(
            compare_metrics(pilot.agreements, request.level, len(study.scores))
            if pilot.agreements
            else ()
        ),
        notes=pilot.notes,
        level=request.level,
        seed=request.seed,
        progress=progress,
    )


def refuse_without_variation(pilot: Pilot, study: Study, groups: int | None) -> None:
    """Raise InputError if the pilot says nothing about other rows."""
    if groups == 1:
        raise InputError(
            "All private rows of the pilot are in one group, so nothing can be said about other "
            "rows. Use a pilot with more groups, or another column as --cluster."
        )
    if pilot.in_rarest_class == 1:
        raise InputError(
            f"One class of the pilot has a single {'row' if groups is None else 'group'} among the "
            f"private rows, and {pilot.metric} averages within each class: nothing can be "
            f"said about other rows of it. Use a pilot with more rows of each class."
        )
    apart = study.resampled - study.resampled[0]
    if len(apart) > 1 and np.ptp(apart, axis=1).max() <= _SAME * np.abs(study.scores).max():
        raise InputError(
            "The scores of the pilot's submissions differ by the same amounts whichever rows are "
            "drawn: any number of rows ranks them alike, and there is nothing to plan. Use "
            "submissions that fail on different rows."
        )


def with_full_variance(resampled: FloatArray, rarest: int | None) -> FloatArray:
    """Return the scores with the variance that a class of few rows lacks.

    The mean of r rows of a class is subtracted from them: their variance is too small by
    ``(r - 1) / r``.
    """
    if rarest is None or rarest >= FEW_IN_CLASS:
        return resampled
    centre = resampled.mean(axis=1, keepdims=True)
    factor = float(np.sqrt(rarest / (rarest - 1)))
    return np.asarray(centre + factor * (resampled - centre))


def _ranked(pilot: Pilot) -> Study:
    """Return what was ranked.

    Raises
    ------
    InputError
        If there is nothing, or a ranking of it has no meaning.
    """
    study = pilot.study
    if study is None:
        why = " ".join(pilot.notes)
        raise InputError(
            f"No submission could be scored, so there is nothing to plan with. {why}".rstrip()
        )
    n_classes = None if study.classes is None else len(study.classes)
    constant = best_constant_score(study.metric, study.truth, n_classes)
    greater = study.metric.greater_is_better
    problem = degenerate_board(
        study.scores[positions_without_copies(study.resampled)], constant, greater_is_better=greater
    )
    if problem is not None:
        raise InputError(
            f"{problem} A ranking of such submissions has no meaning, so there is no plan. Use "
            f"better submissions, more rows or another metric."
        )
    return study


def notes_on_rejected(rejected: Sequence[RejectedFile]) -> list[str]:
    """Return which of the pilot's files are left out, and the first fault of each."""
    sentences = [
        f"{printable(file.file)} is rejected and left out: {file.faults[0].message}"
        for file in rejected[:_MOST_REJECTED]
        if file.faults
    ]
    n_others = len(rejected) - _MOST_REJECTED
    if n_others > 0:
        sentences.append(f"{plural(n_others, 'more file', 'are')} rejected.")
    return sentences


def positions_without_copies(resampled: FloatArray) -> IntArray:
    """Return the positions of the submissions without copies of others, in order.

    Those with the same scores in every resample are copies, unless these are constant: different
    submissions may have a perfect score. All of them are returned if they are copies of one.
    """
    _, first = np.unique(round_significant(resampled), axis=0, return_index=True)
    is_constant = np.ptp(resampled, axis=1) == 0
    is_constant[first] = True
    positions = np.flatnonzero(is_constant) if len(first) > 1 else np.arange(len(resampled))
    return np.asarray(positions, dtype=np.intp)


def read_pilot_study(
    ranked: BoardStudy,
    metric: str,
    mechanism: str,
    others: Sequence[str],
    manager: PluginManager,
    rng: np.random.Generator,
) -> Pilot:
    """Read what a plan needs of the predictions, while their store is open."""
    study = None if ranked.resampling.without else ranked.study
    notes = notes_on_rejected(ranked.rejected)
    degrees, rarest, agreements = None, None, {}
    if study is not None:
        degrees, rarest = degrees_of_freedom_of(study)
        if others:
            agreements = agreements_of_halves(
                study, others, manager=manager, seed=int(rng.integers(2**32)), notes=notes
            )
    return Pilot(
        study=study,
        metric=metric,
        degrees=degrees,
        mechanism=mechanism,
        agreements=agreements,
        notes=tuple(notes),
        in_rarest_class=rarest,
        of_scoring=ranked.notes,
    )


def agreements_of_halves(
    study: Study, others: Sequence[str], manager: PluginManager, seed: int, notes: list[str]
) -> dict[str, FloatArray]:
    """Return the agreement of halves by the pilot's metric and by others; append to the notes."""
    agreements: dict[str, FloatArray] = {}
    n_targets = 1 if study.truth.ndim == 1 else study.truth.shape[1]
    for asked in dict.fromkeys((study.metric.name, *others)):
        name, metric = asked, study.metric
        try:
            if name != metric.name:
                single: Metric = manager.metrics.resolve(name)
                metric = metric_on_rows_of(single, study.metric, n_targets)
                if row_weights_of(metric) is not None:
                    name = metric.name
            if name not in agreements:
                agreements[name] = split_half_agreement(study, metric, np.random.default_rng(seed))
        except MetricError as error:
            notes.append(f"{name} is left out: {error}")
    return agreements


def degrees_of_freedom_of(study: Study) -> tuple[float | None, int | None]:
    """Return those of the standard error of a difference, and the units of the rarest class.

    As on a board, see ``arena_ranking.evidence``. The former is None if not known, as of a whole
    score; the latter if the metric does not average within each class.
    """
    order = best_first(study.scores, greater_is_better=study.metric.greater_is_better)
    chosen = study.predictions.subset(order[:MOST_SUBMISSIONS])
    blocks: list[FloatArray] = []
    by_class = not isinstance(study.metric, HasRowValues)
    for _, block in chosen.blocks(16):
        values = comparable_values(study.metric, study.truth, block)
        if values is None:
            blocks, by_class = [], False
            break
        by_class = by_class and class_means_are_removed(values, study.truth, study.classes)
        if study.clusters is not None:
            centred = values - values.mean(axis=1, keepdims=True)
            values = np.stack([np.bincount(study.clusters, weights=column) for column in centred])
        blocks.append(values)
    groups = None if study.clusters is None else len(np.unique(study.clusters))
    rarest = units_of_the_rarest_class(study, by_class=by_class)
    degrees = [pair_degrees_of_freedom(np.concatenate(blocks))] if blocks else []
    if not blocks and groups is not None:
        degrees.append(groups - 1.0)
    if study.influence is not None:
        degrees.append(study.influence.values.shape[1] - 1.0)
    if rarest is not None and rarest < FEW_IN_CLASS:
        degrees.append(rarest - 1.0)
    weights = row_weights_of(study.metric)
    if study.clusters is not None or weights is not None:
        of_rows = np.arange(len(study.truth)) if study.clusters is None else study.clusters
        degrees.append(size_degrees_of_freedom(of_rows, weights))
    return max(1.0, min(degrees)) if degrees else None, rarest


def units_of_the_rarest_class(study: Study, *, by_class: bool) -> int | None:
    """Return the units of the rarest class; None if the metric needs none of each class."""
    if study.classes is None or study.truth.ndim > 1:
        return None
    if not (by_class or traits_of(study.metric).needs_every_class):
        return None
    fewest = fewest_units(study.truth, study.clusters, row_weights_of(study.metric))
    return max(1, int(fewest + 1e-9))  # as on a board
