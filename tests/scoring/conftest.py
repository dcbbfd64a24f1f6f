"""Keeps every board that is ranked in a test, and the sentences of errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arena.scoring.board import BoardRun
from arena.scoring.result import ScoreResult
from kept import masked, shortened
from kept_answers import Answers, answers, kept_answers, kept_errors

__all__ = ["answers", "kept_answers", "kept_errors"]


_MOST_ROWS = 6


@pytest.fixture(autouse=True)
def _every_board(monkeypatch: pytest.MonkeyPatch, answers: Answers, kept_errors: None) -> None:
    rank = BoardRun.result

    def kept(run: BoardRun, *arguments: Any, **named: Any) -> ScoreResult:
        result = rank(run, *arguments, **named)
        answers.append(lines_of(result))
        return result

    monkeypatch.setattr(BoardRun, "result", kept)


def lines_of(result: ScoreResult) -> list[str]:
    """Return the numbers and sentences of a board, to five digits."""
    document = {
        "of": [result.metric, result.greater_is_better, result.split, result.n_rows],
        "resamples": [result.resamples, result.resamples_redrawn, result.resamples_undefined],
        "best": result.best_score_corrected,
        "baseline": result.baseline,
        "unranked": result.unranked,
        "rejected": [
            [file.file, [fault.message for fault in file.faults]] for file in result.rejected
        ],
        "verdicts": [[finding.analysis, finding.verdict] for finding in result.findings],
        "notes": result.notes,
        "brackets": result.brackets,
        "similar": len(result.similar),
        "words": result.words.row,
    }
    parts = [f"{name}: {json.dumps(shortened(part))}" for name, part in document.items() if part]
    rows = [json.dumps(shortened(dict(row))) for row in result.standings[:_MOST_ROWS]]
    return [masked(line) for line in (*parts, *rows)]
