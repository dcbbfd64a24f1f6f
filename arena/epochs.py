"""Epochs of the public board: a change of its mechanism starts a new one, on record.

What was shown stays on record. The new epoch opens with every accepted submission that was not
disqualified released anew, in the order of arrival, as the new mechanism would have: an empty
board would have every team send its files again. The board shows the epoch in force.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from arena.config import Settings, adopt
from arena.ledger import Ledger
from arena.plugin_manager import PluginManager
from arena.public_mechanism import public_rows, review_mechanism
from arena.releasing import Past, Releaser, release_again, releaser_of
from arena.scopes import Placed
from arena.store import Store, Transaction
from arena.types import Solution

__all__ = ["adopt_settings", "catch_up"]


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
    kept = Settings.model_validate_json(store.meta("settings") or "{}")
    settings, notes, changes = adopt(kept, wanted, bool(store.releases(kept.public.epoch)))
    solution = store.solution()
    for asked in dict.fromkeys((wanted.metric, settings.metric)):
        review = settings.model_copy(update={"metric": asked})
        remarks = review_mechanism(review, solution, manager, _baseline_score(store, settings))
    if changes:
        anew = None
        if settings.public.epoch != kept.public.epoch:
            anew = _release_anew(store, manager, settings, solution)
            notes.append(
                f"Epoch {settings.public.epoch} of the public board began: {len(anew):,} "
                f"submissions were released anew by {settings.public.mechanism}. What was shown "
                f"before stays on record."
            )
        with store.transaction() as transaction:
            transaction.put_meta("settings", settings.model_dump_json())
            payload = {"changes": changes}
            transaction.append_event("configuration", actor, payload, time=now)
            if anew is not None:
                _store_epoch(transaction, kept, settings, anew, actor, now)
    return settings, [*notes, *remarks]


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
