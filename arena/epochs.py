"""Epochs of the public board: a change of its mechanism starts a new one, on record.

What was shown stays on record. The new epoch opens with every accepted submission that was not
disqualified released anew, in the order of arrival, as the new mechanism would have: an empty
board would have every team send its files again. The board shows the epoch in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from arena.config import CONFIG_NAME, PublicSection, Settings
from arena.errors import InputError
from arena.ledger import Ledger
from arena.plugin_manager import PluginManager
from arena.public_mechanism import public_rows, review_mechanism
from arena.releasing import Past, Releaser, release_again, releaser_of
from arena.scopes import Placed
from arena.store import Store, Transaction
from arena.types import Solution

__all__ = ["adopt_settings", "catch_up", "view_settings"]


@dataclass(frozen=True, slots=True)
class _Proposal:
    """What ``competition.toml`` comes to, before any of it is on record."""

    before: Settings
    after: Settings
    notes: tuple[str, ...]
    changes: tuple[list[Any], ...]
    """``[key, before, after]``."""
    remarks: tuple[str, ...]
    """Of the mechanism on what it is asked to do."""

    @property
    def opens_epoch(self) -> bool:
        return self.after.public.epoch != self.before.public.epoch


def _propose(store: Store, manager: PluginManager, wanted: Settings) -> _Proposal:
    kept = Settings.model_validate_json(store.meta("settings") or "{}")
    settings, notes, changes = _adopt(kept, wanted, bool(store.releases(kept.public.epoch)))
    solution = store.solution()
    for asked in dict.fromkeys((wanted.metric, settings.metric)):
        review = settings.model_copy(update={"metric": asked})
        remarks = review_mechanism(review, solution, manager, _baseline_score(store, settings))
    return _Proposal(kept, settings, tuple(notes), tuple(changes), tuple(remarks))


def view_settings(
    store: Store, manager: PluginManager, wanted: Settings
) -> tuple[Settings, list[str], tuple[list[Any], ...]]:
    """Return the settings for someone who only looks: nothing is put on record.

    An epoch that is asked for has not begun.

    Returns
    -------
    The settings, sentences that a person should know, and what differs from the record.

    Raises
    ------
    InputError
        If the settings cannot be changed so, or the mechanism does not suit them.
    """
    proposal = _propose(store, manager, wanted)
    settings, notes = proposal.after, [*proposal.notes]
    if proposal.opens_epoch:
        notes.append(
            f"{CONFIG_NAME} asks for epoch {settings.public.epoch} of the public board. It begins "
            f"with the next command that writes, such as arena submit or arena finalize; to look "
            f"does not open it."
        )
        settings = settings.model_copy(update={"public": proposal.before.public})
    return settings, [*notes, *proposal.remarks], proposal.changes


def adopt_settings(
    store: Store, manager: PluginManager, wanted: Settings, actor: str, now: datetime
) -> tuple[Settings, list[str]]:
    """Put the settings in force that are wanted, on record; open an epoch if they ask for one.

    Returns
    -------
    The settings in force, and sentences that a person should know.

    Raises
    ------
    InputError
        If the settings cannot be changed so, or the mechanism does not suit them.
    """
    proposal = _propose(store, manager, wanted)
    settings, notes = proposal.after, [*proposal.notes]
    if proposal.changes:
        anew = None
        if proposal.opens_epoch:
            anew = _release_anew(store, manager, settings, store.solution())
            notes.append(
                f"Epoch {settings.public.epoch} of the public board began: {len(anew):,} "
                f"submissions were released anew by {settings.public.mechanism}. What was shown "
                f"before stays on record."
            )
        with store.transaction() as transaction:
            transaction.put_meta("settings", settings.model_dump_json())
            payload = {"changes": list(proposal.changes)}
            transaction.append_event("configuration", actor, payload, time=now)
            if anew is not None:
                _store_epoch(transaction, proposal.before, settings, anew, actor, now)
    return settings, [*notes, *proposal.remarks]


def _adopt(
    in_force: Settings, wanted: Settings, has_releases: bool
) -> tuple[Settings, list[str], list[list[Any]]]:
    """Return the settings that are in force from now on, notes for a person, and what changed.

    Limits, rules and titles change at once. Another metric waits for a rescore, since it changes
    scores that were shown; the columns of the data were fixed when the solution was read.

    Returns
    -------
    The settings, sentences, and ``[key, before, after]`` of everything that changed.

    Raises
    ------
    InputError
        If another mechanism or scope is wanted although scores were released, and not a new epoch
        with it; or if the epoch is neither this one nor the next.
    """
    notes = []
    if wanted.metric != in_force.metric:
        notes.append(
            f"{CONFIG_NAME} asks for the metric {wanted.metric.specification}, but the scores "
            f"are by {in_force.metric.specification} until arena rescore --apply."
        )
    if wanted.data != in_force.data:
        notes.append(f"[data] of {CONFIG_NAME} changed; the solution was read by what it was.")
    _check_epoch(in_force.public, wanted.public, has_releases)
    adopted = wanted.model_copy(update={"metric": in_force.metric, "data": in_force.data})
    return adopted, notes, in_force.changes_to(adopted)


def _check_epoch(in_force: PublicSection, wanted: PublicSection, has_releases: bool) -> None:
    following = in_force.epoch + 1
    if wanted.epoch not in (in_force.epoch, following):
        raise InputError(
            f"{CONFIG_NAME}: [public] epoch is {in_force.epoch} so far: it can stay, or become "
            f"{following}, not {wanted.epoch}."
        )
    same = (wanted.mechanism, wanted.scope) == (in_force.mechanism, in_force.scope)
    if same or not has_releases or wanted.epoch == following:
        return
    raise InputError(
        f"Scores were released by the mechanism {in_force.mechanism}, an instance for each "
        f"{in_force.scope}. To change that to {wanted.mechanism} for each {wanted.scope}, ask for "
        f"a new epoch: set epoch = {following} under [public] of {CONFIG_NAME}. Every accepted "
        f"submission is then released anew, and what was shown stays on record."
    )


def _baseline_score(store: Store, settings: Settings) -> float | None:
    """Return the best public score of the baseline's submissions, if there is one."""
    team = settings.competition.baseline
    records = () if team is None else store.submissions(team=team)
    own = {record.submission for record in records if record.status == "accepted"}
    if not own:
        return None
    revision = int(store.meta("revision") or 1)
    scores = [one.public for one in store.scores(revision) if one.submission in own]
    return next((score for score in scores if score is not None), None)


def _release_anew(
    store: Store, manager: PluginManager, settings: Settings, solution: Solution
) -> list[tuple[Past, Placed]]:
    if not public_rows(solution).any():
        return []
    history = [Past(one.submission, one.team) for one in Ledger(store).counting()]
    releaser = releaser_of(settings, solution, store, manager, int(store.meta("seed") or 0))
    released = release_again([releaser], history, store, solution)
    return [(past, placed) for past, (placed,) in released if placed is not None]


def _store_epoch(
    transaction: Transaction,
    before: Settings,
    after: Settings,
    anew: Sequence[tuple[Past, Placed]],
    actor: str,
    now: datetime,
) -> None:
    epoch = after.public.epoch
    for past, placed in anew:
        transaction.add_release(past.submission, placed.instance, epoch, placed.release, time=now)
    payload: dict[str, Any] = {
        "epoch": epoch,
        "mechanism": [before.public.mechanism, after.public.mechanism],
        "scope": [before.public.scope, after.public.scope],
        "released": [[past.submission, placed.release.score] for past, placed in anew],
    }
    transaction.append_event("epoch", actor, payload, time=now)


def catch_up(
    releaser: Releaser, transaction: Transaction, epoch: int, revision: int, seen: int
) -> int:
    """Have a releaser go on from the releases of an epoch that it did not see yet.

    Returns the number of the last one; ``seen`` is what the call before returned, at first 0.
    """
    for one in transaction.releases_since(epoch, revision, seen):
        record = one.record
        placed = Placed(record.instance, record.release)
        score = None if releaser.is_clipped else one.public
        releaser.take_up(Past(record.submission, one.team), placed, score)
        seen = one.number
    return seen
