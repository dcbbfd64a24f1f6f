"""The private boards that were published: every version as it was, with what changed since."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any

from arena.competition.boards.counted_submissions import phases_of_final_boards
from arena.competition.boards.final_document import final_document, for_everybody, private_standings
from arena.competition.boards.outdated_board import marks_of_boards, outdated
from arena.competition.record.combined_boards import ABOUT_PHASES
from arena.competition.record.combined_documents import combined_boards
from arena.competition.record.phases import deciding_elsewhere
from arena.competition.record.teams import RENAMED, Teams
from arena.competition.state import CompetitionState, with_answers
from arena.competition.verification import (
    not_verified,
    verifications,
    warnings_of,
    with_verifications,
)
from arena.config import CONFIG_NAME
from arena.errors import UsageError
from arena.evaluation.multi_target import metric_of_each_target, target_column
from arena.scoring.result import STANDING_COLUMNS
from arena.store.digests import document_digest
from arena.store.releases import ResultRecord
from arena.types import Mark

PUBLISHED = "private board published"
RETRACTED = "result retracted"
"""The kinds of events: ``version``, and ``sha256`` of the document or the ``reason``."""
_RELEASED = "public_board"
"""The key of a published document that has the released scores and the public ranks."""


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """A version of the private board that was published."""

    version: int
    published: str
    """When: ISO 8601, UTC."""
    document: Mapping[str, Any]
    sha256: str
    """The digest of the private board."""
    retracted: Mapping[str, str] | None
    """``time`` and ``reason``; None: it is not retracted."""
    replaced: str | None
    """When the next version was published; None: it is the last one."""
    find_mark: Callable[[], Mark | None]
    """See :meth:`mark`; with a long history it takes seconds."""
    phase: str = ""
    """The phase whose private board it is; empty where a competition has no phases."""

    @property
    def mark(self) -> Mark | None:
        """Since when it is out of date, and why; None: it is not, or it is retracted."""
        return None if self.retracted is not None else self.find_mark()

    @property
    def state(self) -> str:
        """``published``, ``replaced`` by a later version, or ``retracted``."""
        if self.retracted is not None:
            return "retracted"
        return "published" if self.replaced is None else "replaced"

    def about(self) -> dict[str, Any]:
        """Return everything about it, for everybody, but its rows."""
        mark = self.mark
        return {
            "version": self.version,
            "published": self.published,
            "state": self.state,
            "replaced": self.replaced,
            "retracted": None if self.retracted is None else dict(self.retracted),
            "mark": None if mark is None else asdict(mark),
            **({"phase": self.phase} if self.phase else {}),
        }


def published_results(state: CompetitionState) -> tuple[PublishedResult, ...]:
    """Return every version that was published, in order: of the phase, or of all phases."""
    stored = state.store.results()
    if not stored:
        return ()
    if state.phase is None and state.with_phases.phase:
        boards = [_results_of(state.in_phase(name), stored) for name in state.with_phases.phase]
        return tuple(sorted(chain.from_iterable(boards), key=lambda result: result.version))
    return _results_of(state, stored)


def _results_of(
    state: CompetitionState, stored: Sequence[ResultRecord]
) -> tuple[PublishedResult, ...]:
    """Return the published versions of the board of a phase, of those of all phases."""
    events = state.events(PUBLISHED, RETRACTED)
    digests = {
        event.payload.get("version", 1): event.payload["sha256"]
        for event in events
        if event.kind == PUBLISHED
    }
    retracted = {
        event.payload["version"]: {"time": event.time, "reason": event.payload["reason"]}
        for event in events
        if event.kind == RETRACTED
    }
    of_board = [result for result in stored if result.version in digests]
    replaced = {before.version: after.published for before, after in pairwise(of_board)}
    mark_of = marks_of_boards(state)
    return tuple(
        PublishedResult(
            version=result.version,
            published=result.published,
            document=result.document,
            sha256=digests[result.version],
            retracted=retracted.get(result.version),
            replaced=replaced.get(result.version),
            find_mark=partial(mark_of, result.document, digests[result.version]),
            phase=state.phase or "",
        )
        for result in of_board
    )


def unmarked_versions(state: CompetitionState) -> tuple[int, ...]:
    """Return the versions of published results that have no mark; a retracted one has none."""
    return tuple(result.version for result in published_results(state) if result.mark is None)


def publish(state: CompetitionState, board: Sequence[Mapping[str, Any]]) -> int:
    """Publish the finalized private board as the next version, and return that.

    ``board`` is the public board, whose ranks are kept with the result.

    Raises
    ------
    UsageError
        If nothing was finalized, the private board is out of date, or this one is published.
    """
    _, document, digest = publishable_board(state)
    released = {row["submission"]: row["released"] for row in state.ledger.submissions()}
    released_numbers = {
        "released": [[number, score] for number, score in released.items() if score is not None],
        "ranks": [[row["team"], row["rank"]] for row in board],
    }
    with state.store.transaction() as transaction:
        now = state.clock()
        version = transaction.add_result({**document, _RELEASED: released_numbers}, time=now)
        payload = {
            "sha256": digest, "version": version, **state.phase_fields, **state.event_fields
        }  # fmt: skip
        transaction.append_event(PUBLISHED, state.actor, payload, time=now)
    return version


def publishable_board(state: CompetitionState) -> tuple[int, dict[str, Any], str]:
    """Return the next version, and the finalized private board with its digest.

    Raises
    ------
    UsageError
        As :func:`publish`.
    """
    document = final_document(state)
    if old := outdated(state):
        raise UsageError(old)
    for phase in dict.fromkeys((state.phase or "", *phases_of_final_boards(state))):
        if others := deciding_elsewhere(state.with_phases, phase, state.clock()):
            raise UsageError(
                f"The rows that decide the phase {phase} decide {', '.join(others)} as well: "
                f"publish when all of these have ended."
            )
    digest, last = document_digest(document), _last_result(state)
    if last is not None and (last.state, last.sha256) == ("published", digest):
        raise UsageError(f"This private board is published already, as result {last.version}.")
    return len(state.store.results()) + 1, document, digest


def require_end(state: CompetitionState) -> None:
    """Refuse to publish while files are received: each could show more of the private labels.

    Raises
    ------
    UsageError
        If the deadline has not passed, or the phase has no end.
    """
    deadline = state.settings.competition.deadline
    if deadline is None and state.phase:
        raise UsageError(
            f"The phase {state.phase} has no end, so its files are still received: set its end in "
            f"{CONFIG_NAME}, and publish after it."
        )
    if deadline is not None and state.clock() <= deadline:
        raise UsageError(
            f"Files are received until {deadline:%Y-%m-%d %H:%M} UTC: publish after that, or set "
            f"an earlier deadline in {CONFIG_NAME}."
        )


def _last_result(state: CompetitionState) -> PublishedResult | None:
    return next(reversed(published_results(state)), None)


def retract(state: CompetitionState, reason: str) -> int:
    """Retract the last published result, record why, and return its version.

    Raises
    ------
    UsageError
        If nothing is published, or no reason is given.
    """
    if not reason.strip():
        raise UsageError("A retraction needs a reason, which everybody sees: give one.")
    last = _last_result(state)
    if last is None or last.state == "retracted":
        raise UsageError("No result is published, so there is nothing to retract.")
    payload = {"version": last.version, "reason": reason.strip(), **state.phase_fields}
    state.record(RETRACTED, payload)
    return last.version


def next_result(
    state: CompetitionState, board: Sequence[Mapping[str, Any]]
) -> dict[str, Any] | None:
    """Return what :func:`publish` would publish, for the organiser; None: it would refuse.

    ``unverified`` and ``failed`` name the teams of :func:`not_verified`; ``warnings`` says it in
    sentences. ``board`` is the public board.
    """
    try:
        version, document, digest = publishable_board(state)
    except UsageError:
        return None
    result = PublishedResult(
        version=version,
        published="",
        document=document,
        sha256=digest,
        retracted=None,
        replaced=None,
        find_mark=lambda: None,
    )
    public_result = for_participants(state, result, board)
    boards = [public_result, *public_result.get("boards", {}).values()]
    rows = [board["leaderboard"] for board in boards]
    return {**public_result, **not_verified(rows), "warnings": list(warnings_of(rows))}


def for_participants(
    state: CompetitionState, result: PublishedResult, board: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a published result for everybody; of a retracted one no row.

    A team that was renamed since has its current name. ``board`` is the public board, for a result
    that an earlier arena published.
    """
    if result.retracted is not None:
        return result.about()
    names = Teams.of(state.store.events(RENAMED))
    released_numbers = result.document.get(_RELEASED)
    if released_numbers is None:
        released = {row["submission"]: row["released"] for row in state.ledger.submissions()}
        ranks = {row["team"]: row["rank"] for row in board}
    else:
        released, ranks = dict(released_numbers["released"]), dict(released_numbers["ranks"])
    ranks = {names.current(team): rank for team, rank in ranks.items()}
    rows = [
        {
            **row,
            "public_score": released.get(row["submission"]),
            "public_rank": ranks.get(row["team"]),
        }
        for row in _rows_for_everybody(state, result.document, names)
    ]
    public = for_everybody(result.document, rows, also=published_scores(state))
    boards = {
        name: combined_board_for_everybody(state, board, names)
        for name, board in combined_boards(result.document).items()
    }
    return {**public, **({"boards": boards} if boards else {}), **result.about()}


def _rows_for_everybody(
    state: CompetitionState, document: Mapping[str, Any], names: Teams
) -> list[dict[str, Any]]:
    """Return the rows of a board by the current names of teams, with verifications and answers."""
    rows = with_verifications(private_standings(document, state.ledger), verifications(state))
    return with_answers(state, [{**row, "team": names.current(row["team"])} for row in rows])


def combined_board_for_everybody(
    state: CompetitionState, board: Mapping[str, Any], names: Teams
) -> dict[str, Any]:
    """Return the public parts of a combined board, with the scores that it combines.

    It has no public scores: no mechanism released a combined one.
    """
    hidden = ("public_score", "public_rank")
    rows = [
        {key: value for key, value in row.items() if key not in hidden}
        for row in _rows_for_everybody(state, board, names)
    ]
    parts = [key for key in board["standings"][0] if key not in STANDING_COLUMNS]
    public = for_everybody(board, rows, also=parts)
    about_phases = filter(None, [board.get(ABOUT_PHASES)])
    return {**public, "verdicts": [*public["verdicts"], *about_phases]}


def published_scores(state: CompetitionState) -> tuple[str, ...]:
    """Return the columns of secondary metrics and of targets that a published result shows."""
    chosen = state.settings.final.columns
    if not chosen:
        return ()
    single = metric_of_each_target(state.metric)
    names_of_columns = {metric: metric for metric in state.settings.metric.secondary}
    names_of_columns |= {
        target.name: target_column(single, target.name) for target in state.solution.targets
    }
    return tuple(names_of_columns[name] for name in chosen if name in names_of_columns)
