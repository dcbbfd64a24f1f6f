"""What the scorer publishes of a competition and of its phases together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.plugin.manager import PluginManager
from arena.server.scorer import facts
from arena.server.scorer.facts import mechanism_text, metric_text, receiving_dates, result_documents


def test_files_are_received_from_the_first_start_to_the_last_end() -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    section = SimpleNamespace(start=None, deadline=day)
    competition: Any = SimpleNamespace(settings=SimpleNamespace(competition=section))
    assert receiving_dates(competition, []) == (None, "2026-03-01T00:00:00+00:00")
    phases = [
        {"start": "2026-03-01", "end": "2026-03-05"},
        {"start": "2026-02-01", "end": "2026-04-01"},
    ]
    assert receiving_dates(competition, phases) == ("2026-02-01", "2026-04-01")
    open_start, endless = {**phases[0], "start": None}, {**phases[1], "end": None}
    assert receiving_dates(competition, [open_start, phases[1]]) == (None, "2026-04-01")
    assert receiving_dates(competition, [phases[0], endless]) == ("2026-02-01", None)


def test_results_of_all_phases_are_documents_in_the_order_of_their_versions() -> None:
    def board(**versions: str) -> Any:
        return SimpleNamespace(
            results=lambda: [
                {"version": int(name[1:]), "state": state} for name, state in versions.items()
            ],
            published_private_leaderboard=lambda version: (
                [version] if f"v{version}" in versions else None
            ),
        )

    def published(*boards: Any, has_ended: bool = True) -> dict[str, Any]:
        competition: Any = SimpleNamespace(
            in_each_phase=lambda: boards, has_ended=has_ended, next_result=lambda: "coming"
        )
        documents = result_documents(competition)
        assert documents["next result"] == ("coming" if has_ended else None)
        results = [result["version"] for result in documents.pop("results")]
        return {"results": results, **documents}

    assert published(board(), has_ended=False)["private"] is None
    two = published(board(v10="published"), board(v2="published", v3="retracted"))
    assert two == {
        "results": [2, 3, 10], "private": [10], "next result": "coming",
        "result 2": [2], "result 3": [3], "result 10": [10],
    }  # fmt: skip
    assert published(board(v2="published"), board(v3="retracted"))["private"] is None


def test_boards_of_phases_and_over_phases_are_published_beside_the_current_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [{"score": None}, {"score": 0.5}, {"score": 0.75}]
    calls: list[Any] = []

    def view(name: str | None) -> Any:
        board = [] if name == "one" else rows
        return SimpleNamespace(
            leaderboard=lambda: board, late_files=lambda: ["late"], brackets=lambda: {"b": ["a"]},
            settings="settings", manager="manager", solution=SimpleNamespace(outline=lambda: 5),
        )  # fmt: skip

    @dataclass
    class Released:
        name: str

    competition: Any = SimpleNamespace(
        phases=lambda: [{"phase": "one"}, {"phase": "two"}], released_boards=("sum",),
        in_phase=lambda name=None: view(name), released_board=Released,
    )  # fmt: skip
    monkeypatch.setattr(facts, "find_mechanism", lambda *_: "mechanism")
    monkeypatch.setattr(facts, "public_metric", lambda *arguments: arguments[1:3])
    monkeypatch.setattr(facts, "independent_rows", lambda _: 100)
    monkeypatch.setattr(facts, "chance_difference", lambda *call: calls.append(call) or 0.125)
    common = {"late": ["late"], "brackets": {"b": ["a"]}, "released sum": {"name": "sum"}}
    assert facts.board_documents(competition) == {
        "board": rows, "board one": [], "board two": rows, "chance": {"difference": 0.125},
        **common,
    }  # fmt: skip
    assert calls == [(("mechanism", 5), 100, 0.5)]  # the first score of the board
    rows[:] = rows[:1]
    assert facts.board_documents(competition)["chance"] == {"difference": None}


def test_participants_read_the_first_paragraph_about_a_metric_and_a_mechanism(
    tmp_path: Path,
) -> None:
    (tmp_path / "own.py").write_text("def metric(y_true, y_pred):\n    'Secret.'\n")

    def text_of(specification: str) -> str:
        metric = SimpleNamespace(specification=specification)
        settings = SimpleNamespace(metric=metric)
        return metric_text(SimpleNamespace(manager=PluginManager(), settings=settings))  # type: ignore[arg-type]

    assert text_of("dice") == (
        "Mean Dice coefficient of run-length encoded masks: 2 |A and B| / (|A| + |B|) per row."
    )
    assert text_of(f"{tmp_path}/own.py:metric") == ""

    class Hidden:
        """Shows nothing, and
        says so.

        Notes
        -----
        Not for participants.
        """

    assert mechanism_text(Hidden()) == "Shows nothing, and says so."  # type: ignore[arg-type]
    assert mechanism_text(type("Silent", (), {})()) == ""
    mechanism = SimpleNamespace(for_participants="The public score is exact.")
    assert mechanism_text(mechanism) == "The public score is exact."  # type: ignore[arg-type]
