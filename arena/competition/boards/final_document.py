"""The document of the private board as it was last finalized, and what of it is published."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from arena.competition.record.ledger import Ledger
from arena.competition.state import CompetitionState
from arena.errors import UsageError
from arena.scoring.result import STANDING_COLUMNS, unranked_rows
from arena.utils.bracket_rows import COLUMNS_IN_BRACKETS, with_brackets
from arena.utils.strict_json import parse_json

FINAL_RESULT = "final_result"
"""The name in the store of the private board as it was last finalized."""


def final_document(state: CompetitionState) -> dict[str, Any]:
    """Return the document of the private board as it was last finalized.

    Raises
    ------
    UsageError
        If the competition was not finalized.
    """
    stored = state.store.meta(state.name_of(FINAL_RESULT))
    if stored is None:
        raise UsageError("There is no private board yet: finalize first.")
    document: dict[str, Any] = parse_json(stored)
    return document


def ended_by_finalizing(state: CompetitionState) -> datetime | None:
    """Return when a served competition that no date ends was finalized last: this ends it.

    None if a date ends it, also that of a phase, or nothing is finalized.
    """
    dated = state.with_phases.phase or state.settings.competition.deadline is not None
    if dated or state.store.meta(state.name_of(FINAL_RESULT)) is None:
        return None
    return datetime.fromisoformat(state.events("finalized")[-1].time)


def private_standings(document: Mapping[str, Any], ledger: Ledger) -> list[dict[str, Any]]:
    """Return the standings of a document by score, teams without a rank included.

    Teams have the names of the document. A team that was renamed or merged since has the number of
    submissions of its current name.
    """
    rows = [{**row, "baseline": False} for row in document["standings"]]
    columns = rows[0] if rows else STANDING_COLUMNS
    rows += [{**dict.fromkeys(columns), **row} for row in unranked_rows(document)]
    if "brackets" in document:
        rows = with_brackets(rows, document["brackets"], columns_in_brackets(document))
    sign = -1 if document["greater_is_better"] else 1

    def place(row: Mapping[str, Any]) -> tuple[bool, float]:
        return row["score"] is None, sign * (row["score"] or 0.0)

    n_sent, teams = ledger.sent(), ledger.teams()
    return [
        {**row, "n_submissions": n_sent[teams.current(row["team"])]}
        for row in sorted(rows, key=place)
    ]


def columns_in_brackets(document: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return bracket -> team -> the columns that the analysis of the brackets computed."""
    findings = document.get("findings", ())
    documents = [finding["document"] for finding in findings if finding["analysis"] == "brackets"]
    return {
        name: {
            row["team"]: {key: row[key] for key in COLUMNS_IN_BRACKETS if key in row}
            for row in rows
        }
        for boards in documents
        for name, rows in boards.items()
    }


_PUBLIC_KEYS = ("metric", "greater_is_better", "level", "resamples")
_PUBLIC_KEYS_OF_SOME = ("n_rows", "n_pending")
"""Only where labels are to arrive."""
_PUBLIC_COLUMNS = (
    "rank", "team", "submission", "score", "score_low", "score_high", "rank_low", "rank_high",
    "tier", "possible_winner", "rank_median", "win_rate", "public_score", "public_rank",
    "n_submissions", "baseline", "brackets", "answers", "verification", "verification_note",
)  # fmt: skip


def for_everybody(
    document: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    *,
    also: Collection[str] = (),
) -> dict[str, Any]:
    """Return the public parts of a private board and its rows; ``also`` names more columns.

    Only the parts named here are published. The documents of the analyses are not: they have
    counts of labels (``effective_units``) and name copied submissions, as the notes and file names
    may.
    """
    corrected = document.get("best_score_corrected")
    return {
        **{key: document[key] for key in _PUBLIC_KEYS},
        **{key: document[key] for key in _PUBLIC_KEYS_OF_SOME if document.get("n_pending")},
        "verdicts": [
            finding["verdict"] for finding in document["findings"] if finding["analysis"] == "ranks"
        ],
        **({"brackets": list(document["brackets"])} if "brackets" in document else {}),
        "best_score_corrected": corrected
        and {key: corrected[key] for key in ("estimate", "low", "high")},
        "leaderboard": [
            {column: row[column] for column in (*_PUBLIC_COLUMNS, *also) if column in row}
            for row in rows
        ],
    }
