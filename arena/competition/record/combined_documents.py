"""Combined boards in the document of a private board, for all who read one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANALYSIS_PREFIX = "board "
"""The name of a finding is this, and the name of the board."""


def phase_files(document: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return phase -> team -> submission of the boards over phases in the document of a board.

    Empty without such a board.
    """
    boards = combined_boards(document).values()
    return {
        phase: files for board in boards for phase, files in board.get("round_files", {}).items()
    }


def is_combined_board(analysis: str) -> bool:
    """Return whether a finding of a private board, by its name, is a combined board."""
    return analysis.startswith(ANALYSIS_PREFIX)


def verdicts_of_combined(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return name -> verdict of each combined board in the document of a private board."""
    return {
        finding["analysis"].removeprefix(ANALYSIS_PREFIX): finding.get("verdict")
        for finding in document.get("findings", ())
        if is_combined_board(finding["analysis"])
    }


def combined_boards(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return name -> document of each combined board in the document of a private board."""
    return {
        finding["analysis"].removeprefix(ANALYSIS_PREFIX): finding["document"]
        for finding in document.get("findings", ())
        if is_combined_board(finding["analysis"])
    }
