"""Creates a competition: its database, its settings and the sample submission."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import numpy as np

from arena.competition.judging_plugins import KEY, plugins_that_judge
from arena.competition.record.named_settings import check_names, require_plugins
from arena.competition.record.phases import (
    check_metrics,
    check_rows,
    each_phase,
    instance_groups,
    solution_in,
)
from arena.competition.record.rounds import with_rounds
from arena.competition.record.samples import sample_values
from arena.competition.record.secondary import check_further_metrics
from arena.competition.record.settings_agreement import check_agreement
from arena.competition.state import METRIC_CODE, metric_code
from arena.config import CONFIG_NAME, DATABASE_NAME, SAMPLE_NAME, Settings, settings_as_toml
from arena.errors import InputError, UsageError
from arena.evaluation.binding import bind
from arena.evaluation.domain import check_truth
from arena.evaluation.solution_metric import metric_of_solution, scoring_metric
from arena.evaluation.standard_errors import standard_error_of_mean
from arena.intake import SolutionSource
from arena.interfaces import Metric, modality_of, notes_of
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.public_board.advice import with_default_mechanism
from arena.public_board.mechanism import review_mechanism
from arena.scoring.columns import meaning_of_columns
from arena.scoring.submissions import read_truth
from arena.store import Store
from arena.types import Solution, Usage, UsageArray
from arena.utils.atomic_write import atomic_write
from arena.utils.tabular import write_csv
from arena.utils.text import plural, printable

SAMPLE_NOTE_NAME = "sample_submission.txt"
"""The meaning of the columns of the sample, for participants."""
PUBLIC_SHARE = 0.3
"""The share of rows made public if the solution does not say which are public."""
_FOREIGN = 4.0
"""Labels that contradict the soft labels more often than expected, by this many standard errors,
give a warning."""
_SPLIT_STREAM = (2**32 - 1, 2)


def create_competition(
    folder: Path,
    solution_path: SolutionSource,
    settings: Settings,
    public_share: float | None,
    seed: int | None,
    manager: PluginManager,
    actor: str,
    now: datetime,
    *,
    protected: bool = False,
) -> Store:
    """Write a new competition and return its open store, which the caller closes.

    ``competition.toml`` is written last: it marks a complete one. ``protected``: the mechanism is
    the one that protects the metric by default; of a phase, its own metric.

    Raises
    ------
    InputError
        If the solution cannot be used, the folder already contains a competition or a sample
        submission, or the mechanism does not exist or does not suit the metric.
    UsageError
        If the share is not in [0, 1).
    UnknownNameError
        If there is no such metric.
    MetricError
        If the solution lacks something that the metric needs, such as groups, or the metric is not
        defined on one of its splits.
    """
    if public_share is not None and not 0 <= public_share < 1:
        raise UsageError("The public share must be at least 0 and less than 1.")
    if (folder / CONFIG_NAME).exists():
        raise InputError(f"{folder} already contains a competition: choose another folder.")
    if (folder / DATABASE_NAME).exists():
        raise InputError(
            f"{folder} contains {DATABASE_NAME} but no {CONFIG_NAME}. If an interrupted `arena "
            f"init` left it, delete the folder; otherwise restore {CONFIG_NAME} from a backup."
        )
    for name in (SAMPLE_NAME, SAMPLE_NOTE_NAME):
        if (folder / name).exists():
            raise InputError(
                f"{folder} already contains {name}: move it, or choose another folder."
            )
    check_agreement(settings)
    manager = manager.within(folder, settings.plugins.required)
    require_plugins(manager)
    settings = _settled(settings, manager)
    manager.metrics.resolve(settings.metric.specification)  # an option of its own: no key is named
    check_names(settings, manager)
    settings = with_rounds(settings, solution_path)
    solution = read_settings_solution(solution_path, settings, manager)
    check_metric_columns(solution, settings, manager)
    if solution.guessed_usage is not None:
        data = settings.data.model_copy(update={"usage": solution.guessed_usage})
        settings = settings.model_copy(update={"data": data})
    seed = secrets.randbits(63) if seed is None else seed
    share = public_share
    if share is None:  # a usage column that names no public row says that all are private
        share = 0.0 if solution.names_usage else PUBLIC_SHARE
    if not (solution.usage == Usage.PUBLIC).any() and share > 0:
        solution = replace(solution, usage=draw_public_rows(solution, share, seed))
    check_rows(solution, settings)
    check_metrics(settings, solution, manager)
    settings = _reviewed(settings, solution, manager, protected=protected)
    with removed_on_error(folder), contextlib.ExitStack() as opened:
        _prepare_place(settings.store.predictions, folder)
        store = opened.enter_context(Store.open(folder / DATABASE_NAME))
        _store_solution(
            store, solution, settings=settings, manager=manager, seed=seed, actor=actor, now=now
        )
        metric: Metric = manager.metrics.resolve(settings.metric.specification)
        write_sample(folder, solution, metric)
        text = settings_as_toml(settings, {"metric": notes_of(metric)})
        # It can name a file of code, so only the owner may write it, under any umask.
        atomic_write(folder / CONFIG_NAME, text.encode())
        opened.pop_all()
    return store


@contextlib.contextmanager
def removed_on_error(folder: Path) -> Iterator[None]:
    """Make a folder for its owner only; after an error, remove it again, or what is new in it."""
    existed = folder.exists()
    before = {*folder.iterdir()} if existed else set()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds the labels
    try:
        yield
    except BaseException:
        for path in {*folder.iterdir()} - before:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        if not existed:
            folder.rmdir()
        raise


def _store_solution(
    store: Store,
    solution: Solution,
    settings: Settings,
    manager: PluginManager,
    seed: int,
    actor: str,
    now: datetime,
) -> None:
    place = settings.store.predictions
    with store.transaction() as transaction:
        if place is not None:
            transaction.keep_predictions_at(place)
        transaction.put_solution(solution, settings.metric.specification, time=now)
        transaction.put_meta("seed", str(seed))
        transaction.put_meta("settings", settings.model_dump_json())
        payload = {
            "settings": settings.to_document(),
            "solution_sha256": solution.sha256,
            KEY: plugins_that_judge(manager),
        }
        code = metric_code(settings.metric.specification, manager)
        if code is not None:
            transaction.put_meta(METRIC_CODE, code)
            payload["metric_sha256"] = sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
        transaction.append_event("created", actor, payload, time=now)


def _reviewed(
    settings: Settings, solution: Solution, manager: PluginManager, *, protected: bool
) -> Settings:
    """Check the metrics on the rows and the mechanism; return the settings with the mechanism."""
    for phase_settings, split in each_phase(settings, solution):
        name = phase_settings.metric.specification
        check_truth(scoring_metric(manager.metrics.resolve(name), split.outline()), split)
        check_further_metrics(phase_settings, split, manager)
    if protected:
        settings = _protected(settings, solution, manager)
    for group in instance_groups(settings):
        _review(group.settings, group.split(solution, settings), manager)
    return settings


def _protected(settings: Settings, solution: Solution, manager: PluginManager) -> Settings:
    """Return the settings with the default mechanism of their metric, and of each other metric."""
    split = solution_in(solution, list(settings.phase.values()))
    settings = with_default_mechanism(settings, split, manager)
    phases = dict(settings.phase)
    for group in instance_groups(settings):
        names = group.phases or ()
        named = any("mechanism" in phases[name].public for name in names)
        if named or group.settings.metric.specification == settings.metric.specification:
            continue
        split = group.split(solution, settings)
        mechanism = with_default_mechanism(group.settings, split, manager).public.mechanism
        if mechanism != settings.public.mechanism:
            for name in names:
                public = {**phases[name].public, "mechanism": mechanism}
                phases[name] = phases[name].model_copy(update={"public": public})
    return settings.model_copy(update={"phase": phases})


def _review(settings: Settings, split: Solution, manager: PluginManager) -> None:
    review_mechanism(settings, split.outline, lambda: split, manager)


def _prepare_place(place: str | None, folder: Path) -> None:
    """Check that predictions can be written outside the database, if they are kept there."""
    if place is not None:
        from arena.store.object_places import place_at

        place_at(place, folder, "").prepare()


def _settled(settings: Settings, manager: PluginManager) -> Settings:
    """Return the settings with a metric path that is valid from every working directory."""
    name = manager.metrics.settled(settings.metric.name)
    return settings.model_copy(update={"metric": settings.metric.model_copy(update={"name": name})})


def read_settings_solution(
    path: SolutionSource, settings: Settings, manager: PluginManager
) -> Solution:
    """Read a solution file with the columns and the kind of prediction of the settings."""
    metric = manager.metrics.resolve(settings.metric.specification)
    return read_truth(path, metric, settings.columns)


def check_metric_columns(solution: Solution, settings: Settings, manager: PluginManager) -> None:
    """Refuse rows without a column that the metric needs, before anything is written."""
    name = settings.metric.specification
    metric = metric_of_solution(manager.metrics.resolve(name), solution)
    with attributed_unquoted(manager.metrics.plugin_of(name), f"binding {name}"):
        bind(metric, solution, solution.labelled().usage != np.uint8(Usage.IGNORED))


def draw_public_rows(solution: Solution, share: float, seed: int) -> UsageArray:
    """Return a usage for each row that makes a share of the rows not ignored public.

    Rows are drawn within classes if one label is predicted, and as whole clusters if there are
    clusters; each class or cluster count is rounded to the nearest row.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=_SPLIT_STREAM))
    usage = solution.usage.copy()
    rows = np.flatnonzero(usage != Usage.IGNORED)
    if solution.clusters is not None:
        groups = [np.unique(solution.clusters[rows])]
    elif len(solution.targets) == 1 and solution.targets[0].classes is not None:
        codes = np.where(solution.pending[rows], -1, solution.truth[rows])
        groups = [rows[codes == code] for code in np.unique(codes)]
    else:
        groups = [rows]
    drawn = [rng.permutation(group)[: round(share * len(group))] for group in groups]
    chosen = np.concatenate(drawn)
    if solution.clusters is not None:
        chosen = rows[np.isin(solution.clusters[rows], chosen)]
    usage[chosen] = Usage.PUBLIC
    return usage


def soft_label_warnings(solution: Solution) -> tuple[str, ...]:
    """Return a warning if the soft labels contradict the labels, as those of another class do."""
    if solution.soft_labels is None:
        return ()
    ranked = solution.usage != np.uint8(Usage.IGNORED)
    soft, truth = solution.soft_labels[ranked], solution.truth[ranked]
    likeliest = soft >= 0.5 if soft.ndim == 1 else soft.argmax(axis=1)
    doubt = np.minimum(soft, 1 - soft) if soft.ndim == 1 else 1 - soft.max(axis=1)
    differs = (likeliest != truth).astype(np.float64)
    clusters = None if solution.clusters is None else solution.clusters[ranked]
    error = standard_error_of_mean(differs - doubt, clusters)
    if not differs.mean() - doubt.mean() > _FOREIGN * error:
        return ()
    return (
        f"Warning: the soft labels do not fit the labels. {differs.mean():.1%} of the labels are "
        f"not the most probable class of their row, but {doubt.mean():.1%} are expected. Check "
        f"whether the columns belong to the other class or to other rows.",
    )


def write_sample(folder: Path, solution: Solution, metric: Metric, *, n_written: int = 0) -> None:
    """Write the sample submission, if the metric reads rows, and what participants must know.

    ``n_written``: the number of rows that it has already; the others are appended.
    """
    path = folder / SAMPLE_NAME
    if modality_of(metric).has_rows:
        n_written = n_written if path.exists() else 0
        values = sample_values(solution, metric)
        rows = [[identifier, *values] for identifier in solution.ids[n_written:].to_pylist()]
        if not n_written:
            rows.insert(0, [solution.id_column, *solution.columns])
        with path.open("a", newline="", encoding="utf-8") as file:
            write_csv(file, rows)
    note = sample_note(solution, metric)
    (folder / SAMPLE_NOTE_NAME).write_text(note, encoding="utf-8")


def sample_note(solution: Solution, metric: Metric) -> str:
    """Return what participants must know of the file that they send, one sentence a line."""
    modality = modality_of(metric)
    if not modality.has_rows:
        return (
            "A submission is one file in the format that the metric reads. It is passed to the "
            "metric as it is, so that arena cannot write a sample: the organiser describes the "
            "format.\n"
        )
    sentences = meaning_of_columns(solution, metric)
    meanings = [sentence.partition("; --positive")[0] for sentence in sentences]
    each = "one row" if modality.most_rows == 1 else "one or more rows"
    lines = [
        f"{SAMPLE_NAME} is a valid submission. A submission has {each} for each of its "
        f"{plural(solution.n_rows, 'id')}, in any order, and these columns: "
        f"{', '.join((solution.id_column, *solution.columns))}.",
        *(f"{sentence}." for sentence in meanings),
    ]
    return "".join(f"{printable(line)}\n" for line in lines)
