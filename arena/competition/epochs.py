"""Epochs of the public board: a change of its mechanism starts a new one, on record.

The scores shown before stay on record. The new epoch begins with a release of every accepted
submission that is not disqualified, by the new mechanism and in the order of arrival: with an empty
board, every team would have to submit its files again. The board shows the current epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from arena.competition.ledger import Ledger
from arena.competition.phases import (
    InstanceGroup,
    check_changed_phases,
    instance_groups,
    public_sections,
)
from arena.competition.rebuild import (
    BoardFacts,
    board_facts,
    rebuilding,
    release_board,
    sources_of,
)
from arena.competition.secondary import check_further_metrics
from arena.competition.settings_agreement import check_agreement
from arena.competition.teams import Teams
from arena.config import CONFIG_NAME, MetricSection, PublicSection, Settings
from arena.errors import InputError, StoreError
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.public_board.advice import FULL_WARNING
from arena.public_board.mechanism import review_mechanism
from arena.store import Store, Transaction
from arena.types import Solution, SolutionOutline
from arena.utils.strict_json import parse_json

if TYPE_CHECKING:
    from arena.public_board.instances import InstanceRelease


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
        """Whether the baselines are others, or hidden scores are released from now on."""
        before, after = self.before, self.after
        sections = public_sections(before)
        opened = any(
            name in sections and sections[name].scores == "hidden" != public.scores
            for name, public in public_sections(after).items()
        )
        return opened or before.competition.baselines != after.competition.baselines

    @property
    def opens_epoch(self) -> bool:
        return self.after.public.epoch != self.before.public.epoch


def _propose(store: Store, manager: PluginManager, new_settings: Settings) -> _Proposal:
    check_agreement(new_settings)
    stored = Settings.model_validate(parse_json(store.meta("settings") or "{}"))
    baselines = new_settings.competition.baselines
    teams = Ledger(store).teams() if baselines else Teams()
    for baseline in filter(teams.was_used, baselines):
        # Its limits and its comparisons go by the stored name, the board by the current one.
        raise InputError(
            f"{CONFIG_NAME}: [competition] baseline names {baseline!r}, a team that was renamed or "
            f"merged. Submit the baseline under a new name, and set that name."
        )
    check_changed_phases(store, stored, new_settings, manager)
    settings, notes, changes = _adopt(
        stored, new_settings, store.has_releases(current_epoch(store, stored))
    )
    check_further_metrics(store, manager, settings, stored)
    later = with_metrics_of(new_settings, settings)  # which applies after a rescore
    if later != settings:
        _review(store, manager, later)
    remarks = _review(store, manager, settings)
    return _Proposal(
        stored, settings, notes=tuple(notes), changes=tuple(changes), remarks=tuple(remarks)
    )


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

    A new epoch in ``competition.toml`` does not begin.

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
    if proposal.opens_epoch:
        notes.append(
            f"{CONFIG_NAME} asks for epoch {settings.public.epoch} of the public board. It begins "
            f"with the next command that writes, such as arena submit or arena finalize. "
            f"Read-only commands do not start it."
        )
        settings = settings.model_copy(update={"public": proposal.before.public})
    elif proposal.changes_releases:
        notes.append(
            f"{CONFIG_NAME} opens hidden scores or names other baselines. The board follows with "
            f"the next command that writes, such as arena submit or arena finalize."
        )
    return settings, [*notes, *proposal.remarks], proposal.changes


def adopt_settings(
    store: Store, manager: PluginManager, new_settings: Settings, actor: str, now: datetime
) -> tuple[Settings, list[str]]:
    """Apply and record the wanted settings; start a new epoch if they ask for one.

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
        releases = None
        if proposal.opens_epoch:
            releases = release_board(_facts(store, manager, proposal))
            notes.append(
                f"Epoch {settings.public.epoch} of the public board began: {len(releases):,} "
                f"submissions were released again by {settings.public.mechanism}. The "
                f"scores shown before stay on record."
            )
        with store.transaction() as transaction:
            if settings.store != proposal.before.store:
                _move_predictions(transaction, settings.store.predictions)
            transaction.put_meta("settings", settings.model_dump_json())
            payload = {"changes": list(proposal.changes)}
            transaction.append_event("configuration", actor, payload, time=now)
            if releases is not None:
                _store_epoch(
                    transaction, store, proposal=proposal, releases=releases, actor=actor, now=now
                )
            elif proposal.changes_releases:
                again = rebuilding(_facts(store, manager, proposal))
                if again is not None:
                    again.store(transaction, cause="configuration", actor=actor, now=now)
    return settings, [*notes, *proposal.remarks]


def _move_predictions(transaction: Transaction, place: str | None) -> None:
    try:
        transaction.keep_predictions_at(place)
    except StoreError as error:
        raise InputError(
            f"{CONFIG_NAME}: [store] predictions cannot be changed like this. {error}"
        ) from error


def _adopt(
    current: Settings, new_settings: Settings, has_releases: bool
) -> tuple[Settings, list[str], list[list[Any]]]:
    """Return the settings that apply from now on, notes for the organiser, and what changed.

    Limits, rules and titles change at once. A new metric applies after a rescore, since it changes
    scores that were shown. The columns of the data were fixed when the solution was read.

    Returns
    -------
    The settings, the notes, and ``[key, before, after]`` of everything that changed.

    Raises
    ------
    InputError
        If the mechanism or scope changes after scores were released, without a new epoch; or if
        the epoch is neither this one nor the next.
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
    sections = public_sections(current)
    for name, public in public_sections(new_settings).items():
        _check_epoch(sections.get(name, public), public, has_releases)
    adopted = adopted.model_copy(update={"data": current.data})
    return adopted, notes, current.changes_to(adopted)


_APPLIED_AT_ONCE = ("secondary", "publish_secondary", "decimals", "unit")
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


def _check_epoch(current: PublicSection, new_section: PublicSection, has_releases: bool) -> None:
    following = current.epoch + 1
    if new_section.epoch not in (current.epoch, following):
        raise InputError(
            f"{CONFIG_NAME}: [public] epoch is {new_section.epoch}, and the current epoch is "
            f"{current.epoch}: keep it, or set {following} to start a new one."
        )
    same = (new_section.mechanism, new_section.scope) == (current.mechanism, current.scope)
    if same or not has_releases or new_section.epoch == following:
        return
    raise InputError(
        f"Scores were released by the mechanism {current.mechanism}, an instance for each "
        f"{current.scope}. To change that to {new_section.mechanism} for each {new_section.scope}, "
        f"start a new epoch: set epoch = {following} under [public] of {CONFIG_NAME}. Every "
        f"accepted submission is then released again, and the scores shown before stay on record."
    )


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


def current_epoch(store: Store, settings: Settings) -> int:
    """Return the epoch of the releases that the public board shows."""
    return int(store.meta("epoch") or settings.public.epoch)


def _facts(store: Store, manager: PluginManager, proposal: _Proposal) -> BoardFacts:
    revision = int(store.meta("revision") or 1)
    ledger = Ledger(store, revision, current_epoch(store, proposal.before))
    return board_facts(ledger, manager, proposal.after, store.solution())


def _store_epoch(
    transaction: Transaction,
    store: Store,
    proposal: _Proposal,
    releases: Mapping[int, InstanceRelease],
    actor: str,
    now: datetime,
) -> None:
    before, after = proposal.before, proposal.after
    epoch = current_epoch(store, before) + 1
    transaction.add_releases(
        epoch,
        [(number, release.instance, release.release) for number, release in releases.items()],
        time=now,
    )
    transaction.put_meta("epoch", str(epoch))
    transaction.put_meta("mechanism_epoch", str(epoch))
    payload: dict[str, Any] = {
        "epoch": after.public.epoch,
        "mechanism": [before.public.mechanism, after.public.mechanism],
        "scope": [before.public.scope, after.public.scope],
        "released": [[number, release.release.score] for number, release in releases.items()],
        "sources": sources_of(releases),
    }
    transaction.append_event("epoch", actor, payload, time=now)
