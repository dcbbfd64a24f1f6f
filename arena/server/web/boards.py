"""Public boards: which one a request asks for, and its rows for a table."""

from __future__ import annotations

from typing import Any

from arena.server.web import actions
from arena.server.web.call import Call
from arena.utils.formatting import minute
from arena.utils.pending_labels import PendingLabels


def asked_bracket(call: Call) -> str:
    """Return the bracket that a request names; empty: the board of all teams."""
    return actions.requested_name(call, "bracket", call.competition.facts.brackets)


def asked_phase(call: Call) -> str:
    """Return the phase that a request names; empty: the current one."""
    return actions.requested_name(call, "phase", call.competition.facts.phase_names)


def asked_board(call: Call) -> str:
    """Return the board over phases that a request names; empty: that of a phase."""
    return actions.requested_name(call, "board", call.competition.facts.boards)


def board_rows(call: Call) -> list[dict[str, Any]]:
    """Return the rows of the public board for a table, each with what holds for the whole board."""
    if board := asked_board(call):
        released, _etag = call.competition.released_board(board, asked_bracket(call))
        rows: list[dict[str, Any]] = released["standings"]
        mark, pending = released["mark"], None
    else:
        rows, _etag = call.competition.board(asked_bracket(call), asked_phase(call))
        facts = call.competition.facts.of_phase(asked_phase(call))
        mark, pending = facts.mark, facts.pending_labels
    if pending is not None:
        rows = [{**row, "pending_labels": PendingLabels(**pending).sentence} for row in rows]
    if mark is not None:
        when = minute(mark["time"])
        sentence = f"The scores were released again on {when} UTC: {mark['cause']}."
        rows = [{**row, "mark": sentence} for row in rows]
    return rows


def rounds_of(call: Call) -> list[dict[str, Any]]:
    """Return the rounds with what the own team sent (None: no team), and the published result."""
    rounds, own_team = call.competition.facts.rounds, call.own_team
    if not rounds:
        return []
    results, _etag = call.competition.held("results", lambda document: document.json())
    versions = {
        result.get("phase"): result["version"]
        for result in results or ()
        if result["state"] == "published"
    }
    last_sent = None
    if own_team is not None:
        last_sent = call.competition.published.last_in_phases(actions.record_name(call, own_team))
    return [
        {
            **phase,
            "rows": phase["public_rows"] + phase["private_rows"],
            "result": versions.get(phase["phase"]),
            "sent": None if last_sent is None else last_sent.get(phase["phase"], False),
        }
        for phase in rounds
    ]
