"""Applies what changed in ``competition.toml``, and records it.

The public board follows: where the mechanism changed, it releases every submission that counts once
more, in the order of arrival. With an empty board, every team would have to submit its files again.
The scores shown before stay on record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from arena.competition.record.ledger import Ledger
from arena.competition.record.named_settings import check_names
from arena.competition.record.phases import (
    InstanceGroup,
    check_changed_phases,
    check_main_metric,
    instance_groups,
    public_sections,
)
from arena.competition.record.rebuild import board_facts, rebuilding
from arena.competition.record.secondary import check_changed_metrics
from arena.competition.record.settings_agreement import check_agreement
from arena.competition.record.teams import Teams
from arena.config import CONFIG_NAME, Settings
from arena.config_sections import MetricSection
from arena.errors import InputError, StoreError
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.public_board.advice import FULL_WARNING
from arena.public_board.mechanism import review_mechanism
from arena.store import Store
from arena.types import Solution, SolutionOutline
from arena.utils.strict_json import parse_json
from arena.utils.text import plural


@dataclass(frozen=True, slots=True)
class _Proposal:
    """The settings that follow from ``competition.toml``, before they are recorded."""

    before: Settings
    after: Settings
    notes: tuple[str, ...]
    changes: tuple[list[Any], ...]
    """``[key, before, after]``."""
    remarks: tuple[str, ...]
    """Advice on the mechanism and its settings."""

    @property
    def changes_releases(self) -> bool:
        """Whether the mechanism or baselines are others, or hidden scores are released now."""
        before, after = self.before, self.after
        sections = public_sections(before)
        changed = any(
            (sections[name].scores == "hidden" != public.scores)
            or (sections[name].mechanism, sections[name].scope) != (public.mechanism, public.scope)
            for name, public in public_sections(after).items()
            if name in sections
        )
        return changed or before.competition.baselines != after.competition.baselines


def _propose(store: Store, manager: PluginManager, new_settings: Settings) -> _Proposal:
    check_agreement(new_settings)
    stored = Settings.model_validate(parse_json(store.meta("settings") or "{}"))
    check_names(new_settings, manager, stored)
    if new_settings.metric.specification != stored.metric.specification:
        check_main_metric(new_settings, store.solution_outline(), manager)
    baselines = new_settings.competition.baselines
    teams = Ledger(store).teams() if baselines else Teams()
    for baseline in filter(teams.was_used, baselines):
        # Its limits and its comparisons go by the stored name, the board by the current one.
        raise InputError(
            f"{CONFIG_NAME}: [competition] baseline names {baseline!r}, a team that was renamed or "
            f"merged. Submit the baseline under a new name, and set that name."
        )
    check_changed_phases(store, stored, new_settings, manager)
    settings, notes, changes = _adopt(stored, new_settings)
    notes += _changed_baselines(store, stored.competition.baselines, baselines)
    check_changed_metrics(store, manager, settings, stored)
    later = with_metrics_of(new_settings, settings)  # which applies after a rescore
    if later != settings:
        _review(store, manager, later)
    remarks = _review(store, manager, settings)
    return _Proposal(
        stored, settings, notes=tuple(notes), changes=tuple(changes), remarks=tuple(remarks)
    )


def _changed_baselines(
    store: Store, before: Collection[str], after: Collection[str]
) -> Iterator[str]:
    """Yield notes on baselines that become participants, and on new ones without a file."""
    if set(before) == set(after):
        return
    stored = store.teams()
    for name in before:
        if name not in after and name in stored:
            yield f"{name!r} is no baseline any more: it is ranked as a team from now on."
    for name in after:
        if name not in before and name not in stored:
            yield f"The baseline {name!r} has sent no file yet: submit one under this name."


def _review(store: Store, manager: PluginManager, settings: Settings) -> list[str]:
    """Review the mechanism of each group of phases; see :func:`review_mechanism`."""
    remarks: list[str] = []
    for group in instance_groups(settings):
        baseline = _baseline_score(store, group, manager)
        solution = partial(_solution_of, store, group, settings)
        outline = store.solution_outline if group.phases is None else partial(_outline, solution)
        remarks += review_mechanism(
            group.settings, outline, read_solution=solution, manager=manager, baseline=baseline
        )
    return [*dict.fromkeys(remarks)]


def _solution_of(store: Store, group: InstanceGroup, settings: Settings) -> Solution:
    return group.split(store.solution(), settings)


def _outline(read: Callable[[], Solution]) -> SolutionOutline:
    return read().outline()


def view_settings(
    store: Store, manager: PluginManager, new_settings: Settings
) -> tuple[Settings, list[str], tuple[list[Any], ...]]:
    """Return the settings for read-only access: nothing is recorded.

    A board with submissions stays as it was released if its mechanism or baseline changed, or if
    its hidden scores are to be shown.

    Returns
    -------
    The settings, notes for the organiser, and the differences from the record.

    Raises
    ------
    InputError
        If this change of the settings is not allowed, or the mechanism does not suit them.
    """
    proposal = _propose(store, manager, new_settings)
    settings, notes = proposal.after, [*proposal.notes]
    if proposal.changes_releases and store.teams():
        notes.append(
            f"{CONFIG_NAME} changes what the public board shows: its mechanism, its baselines or "
            f"whether scores are hidden. The board follows with the next command that writes, such "
            f"as arena submit or arena finalize."
        )
        settings = _with_public_sections_of(proposal.before, settings)
    if settings.store != proposal.before.store:
        notes.append(
            f"{CONFIG_NAME} asks for another place of predictions. The next command that writes "
            f"moves to it, or says why that is refused."
        )
    return settings, [*notes, *proposal.remarks], proposal.changes


def adopt_settings(
    store: Store, manager: PluginManager, new_settings: Settings, actor: str, now: datetime
) -> tuple[Settings, list[str]]:
    """Apply and record the wanted settings; the public board follows.

    Returns
    -------
    The current settings, and notes for the organiser.

    Raises
    ------
    InputError
        If this change of the settings is not allowed, or the mechanism does not suit them.
    """
    proposal = _propose(store, manager, new_settings)
    settings, notes = proposal.after, [*proposal.notes]
    if any(key == "public.mechanism" for key, *_ in proposal.changes):
        notes += [FULL_WARNING] if settings.public.mechanism == "full" else []
    if proposal.changes:
        rebuilt = None
        if proposal.changes_releases:
            revision = int(store.meta("revision") or 1)
            ledger = Ledger(store, revision, current_epoch(store))
            rebuilt = rebuilding(board_facts(ledger, manager, settings, store.solution()))
        with store.transaction() as transaction:
            if settings.store != proposal.before.store:
                with _errors_of_the_place():
                    transaction.keep_predictions_at(settings.store.predictions)
            transaction.put_meta("settings", settings.model_dump_json())
            payload = {"changes": list(proposal.changes)}
            transaction.append_event("configuration", actor, payload, time=now)
            if rebuilt is not None:
                rebuilt.store(transaction, cause="configuration", actor=actor, now=now)
                notes.append(
                    f"The public board was released again: "
                    f"{plural(len(rebuilt.new), 'submission')}. The scores shown before stay on "
                    f"record."
                )
    return settings, [*notes, *proposal.remarks]


def check_place(store: Store, settings: Settings) -> None:
    """Refuse settings with another place of predictions to which they cannot be moved."""
    with _errors_of_the_place():
        store.check_place(settings.store.predictions)


@contextmanager
def _errors_of_the_place() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise InputError(
            f"{CONFIG_NAME}: [store] predictions cannot be changed like this. {error}"
        ) from error


def _adopt(
    current: Settings, new_settings: Settings
) -> tuple[Settings, list[str], list[list[Any]]]:
    """Return the settings that apply from now on, notes for the organiser, and what changed.

    Limits, rules, titles and the mechanism change at once. A new metric applies after a rescore,
    since it changes scores that were shown. The columns of the data were fixed when the solution
    was read.

    Returns
    -------
    The settings, the notes, and ``[key, before, after]`` of everything that changed.
    """
    notes = []
    adopted = with_metrics_of(current, new_settings, but=_APPLIED_AT_ONCE)
    for name in new_settings.phase or ("",):
        asked_metric, used_metric = (
            side.in_phase(name).metric.specification for side in (new_settings, adopted)
        )
        if asked_metric != used_metric:
            of_phase = f" of the phase {name}" if name else ""
            notes.append(
                f"{CONFIG_NAME} asks for the metric {asked_metric}, but the scores{of_phase} use "
                f"{used_metric} until you run arena rescore --apply."
            )
    if new_settings.data != current.data:
        notes.append(f"[data] of {CONFIG_NAME} changed; the solution is still read as before.")
    adopted = adopted.model_copy(update={"data": current.data})
    return adopted, notes, current.changes_to(adopted)


_APPLIED_AT_ONCE = ("secondary", "decimals", "unit")
"""Keys of ``[metric]`` that change no score that was shown, and apply at once."""


def with_metrics_of(source: Settings, settings: Settings, *, but: Collection[str] = ()) -> Settings:
    """Return settings with the metrics of others: that of the competition and of each phase.

    A phase that the others do not have keeps its metric, and so do the keys ``but``.
    """

    def merged(theirs: Mapping[str, Any], kept_values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **{key: value for key, value in theirs.items() if key not in but},
            **{key: value for key, value in kept_values.items() if key in but},
        }

    metric = MetricSection.model_validate(merged(dict(source.metric), dict(settings.metric)))
    phases = {
        name: phase.model_copy(update={"metric": merged(source.phase[name].metric, phase.metric)})
        if name in source.phase
        else phase
        for name, phase in settings.phase.items()
    }
    return settings.model_copy(update={"metric": metric, "phase": phases})


def _with_public_sections_of(source: Settings, settings: Settings) -> Settings:
    """Return settings with the section ``[public]`` of others, and that of each of their phases."""
    phases = {
        name: phase.model_copy(update={"public": source.phase[name].public})
        if name in source.phase
        else phase
        for name, phase in settings.phase.items()
    }
    return settings.model_copy(update={"public": source.public, "phase": phases})


def _baseline_score(store: Store, group: InstanceGroup, manager: PluginManager) -> float | None:
    """Return the best public score of the baseline's submissions in some phases, if it has one."""
    team = group.settings.competition.reference
    if team is None:
        return None
    metric: Metric = manager.metrics.resolve(group.settings.metric.specification)
    best = max if metric.greater_is_better else min
    records = store.scores(int(store.meta("revision") or 1), team)
    if group.phases is not None:
        numbers = {number for name in group.phases for number, _ in store.accepted(name)}
        records = tuple(record for record in records if record.submission in numbers)
    scores = [record.public for record in records]
    return best((score for score in scores if score is not None), default=None)


def current_epoch(store: Store) -> int:
    """Return the epoch of the releases that the public board shows; a rebuild starts the next."""
    return int(store.meta("epoch") or 1)
