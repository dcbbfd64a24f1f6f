"""Rows that are added after the competition was created."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest

from arena.competition import added_rows
from arena.competition.added_rows import (
    ROWS_ADDED,
    AddedRows,
    check_rounds_are_later,
    count_sample_rows,
    with_new_rows,
)
from arena.competition.exports.verify import verify_bundle
from arena.config import DATABASE_NAME, SAMPLE_NAME
from arena.errors import InputError
from arena.intake import read_solution
from arena.types import PredictionKind, Solution, SolutionColumns
from arena.utils.parallel import NoProgress
from program import run_here, write_csv
from scenario import MANAGER, N_ROWS, Clock, Scenario

DATES = ("2026-03-08", "2026-03-15", "2026-03-22")
ROUNDS = [f"week-{day}" for day in DATES]
PLACES = ("de", "fr", "it")
BEFORE, AFTER = (datetime(2026, 3, day, tzinfo=UTC) for day in (1, 30))


def rows_of(*dates: str, label: str = "") -> dict[str, list[str]]:
    cells = [(f"{place}@{day}", day, label, place) for day in dates for place in PLACES]
    return dict(zip(["id", "due", "y", "place"], map(list, zip(*cells, strict=True)), strict=True))


def forecasts(*dates: str, value: float) -> dict[str, list[str]]:
    rows = rows_of(*dates, label=str(value))
    return {name: rows[name] for name in ("id", "y")}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    settings = {
        "metric": "mae",
        "pending_labels": True,
        "target": ["y"],
        "intervals": True,
        "phase": {"week": {"each": "due", "limits": {"total": 2}}},
    }
    return Scenario(tmp_path, rows_of(*DATES[:2]), settings=settings, clock=Clock(BEFORE))


@pytest.mark.slow
@pytest.mark.parametrize("place", [None, "objects"])
def test_a_season_grows_by_a_round(tmp_path: Path, scenario: Scenario, place: str | None) -> None:
    """Files from before keep their rows, and audit and verify compute everything again."""
    keys: dict[str, Any] = {} if place is None else {"predictions": place}
    with scenario.create(board={"season": {"series": "week"}}, **keys) as competition:
        competition.submit(forecasts(*DATES[:2], value=1.0), "A")
        competition.submit(forecasts(*DATES[:2], value=2.0), "B")
        added = competition.add_rows(rows_of(*DATES[1:]))  # those of the second date are repeated
        assert (added.rows, list(added.phases)) == ({DATES[2]: 3}, ROUNDS[2:])
        assert [row["phase"] for row in competition.phases()] == ROUNDS
        assert competition.audit() == ()
        for team, value in (("A", 3.0), ("B", 4.0)):
            answer = competition.submit(forecasts(*DATES[1:], value=value), team)
            assert [of_round.phase for of_round in (answer, *answer.rounds)] == ROUNDS[1:]
        assert len((scenario.folder / SAMPLE_NAME).read_text().splitlines()) == 10
    scenario.clock.now = AFTER
    with scenario.reopen() as competition:
        for day in DATES:
            competition.add_labels(forecasts(day, value=0.0))
        boards = [competition.in_phase(name) for name in ROUNDS]
        for board in boards:
            board.finalize(intervals=False)
        scores = [
            {row["team"]: row["score"] for row in board.private_leaderboard()} for board in boards
        ]
        assert scores == [{"A": 1.0, "B": 2.0}, *[{"A": 3.0, "B": 4.0}] * 2]
        season = {
            row["team"]: row["score"] for row in boards[2].private_leaderboard(board="season")
        }
        assert season == pytest.approx({"A": 7 / 3, "B": 10 / 3})
        assert competition.audit() == ()
        for name, board in zip(ROUNDS, boards, strict=True):
            board.export(tmp_path / name)
    rows = list(zip(*rows_of(*DATES, label="0").values(), strict=True))
    for order in (rows, sorted(rows)):
        write_csv(tmp_path / "all.csv", ["id", "due", "y", "place"], order)
        for name in ROUNDS:
            problems = verify_bundle(tmp_path / name, tmp_path / "all.csv", MANAGER, NoProgress())
            assert problems == ()


def test_ignored_rows_alone_are_added_also_after_a_submission(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    with scenario.create() as competition:
        scenario.send(competition, ("A", 80))
        sample = scenario.folder / SAMPLE_NAME
        lines = sample.read_text().splitlines()
        sample.write_text("".join(f"{line}\n" for line in lines[:-2]))  # as if interrupted
        added = competition.add_rows({"id": ["x", "z"], "y": ["1", ""], "Usage": ["Ignored"] * 2})
        assert sample.read_text().splitlines()[:-2] == lines
        assert count_sample_rows(scenario.folder) == N_ROWS + 2
        assert added.sentence == "2 rows added (ignored: 2)."
        assert competition.solution.n_rows == N_ROWS + 2
        assert [row["score"] for row in competition.leaderboard()] == [0.8]
        assert competition.audit() == ()


@pytest.mark.slow
def test_what_is_refused_changes_nothing(tmp_path: Path, scenario: Scenario) -> None:
    with scenario.create() as competition:
        competition.submit(forecasts(DATES[0], value=1.0), "A")
        competition.add_labels(forecasts(DATES[0], value=0.0))
        competition.in_phase(ROUNDS[0]).finalize(intervals=False)
        head = competition.head()
        new: dict[str, list[str]] = rows_of("2026-04-01")
        refused: Mapping[str, dict[str, list[str]]] = {
            "Every row of the file is in the solution": rows_of(*DATES[:2]),
            f"The phase {ROUNDS[0]} has submissions, which lack the new rows": {
                **new, "due": [DATES[0]] * 3,
            },
            "The round week-2026-03-07 would be before week-2026-03-08, which was finalized":
                rows_of("2026-03-07"),
            "another usage for 3 rows of the solution, such as id 'de@2026-03-08'": {
                **rows_of(DATES[0]), "due": [DATES[1]] * 3,
            },
            "'soon', which is no date": {**new, "due": ["soon"] * 3},
            "already occurs": {**new, "id": ["x"] * 3},
        }  # fmt: skip
        for message, rows in refused.items():
            with pytest.raises(InputError, match=message):
                competition.add_rows(rows)
        assert competition.head() == head
        competition.add_rows({**rows_of(DATES[1]), "id": ["x", "y", "z"]})  # no file has come yet
        assert [row["private_rows"] for row in competition.phases()] == [3, 6]
        write_csv(tmp_path / "new.csv", list(new), list(zip(*new.values(), strict=True)))
    done = run_here("rows", "add", tmp_path / "new.csv", "-C", tmp_path / "c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 rows added (2026-04-01: 3). New rounds: week-2026-04-01." in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "due", "completed", "rounds"),
    [
        ("write_sample", DATES[2], f"New rounds: {ROUNDS[2]}.", ROUNDS),
        ("atomic_write", DATES[2], f"New rounds: {ROUNDS[2]}.", ROUNDS),
        ("write_sample", DATES[1], "The sample submission has every row now.", ROUNDS[:2]),
    ],
)
def test_an_interrupted_addition_is_completed_by_the_same_rows(
    scenario: Scenario,
    monkeypatch: pytest.MonkeyPatch,
    *,
    step: str,
    due: str,
    completed: str,
    rounds: Sequence[str],
) -> None:
    rows = {**rows_of(due), "id": ["x", "y", "z"]}

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    scenario.create().close()
    for is_repeated in (False, True):
        with (
            scenario.reopen() as competition,
            contextlib.ExitStack() as stack,
        ):
            if not is_repeated:
                stack.enter_context(pytest.raises(KeyboardInterrupt))
                monkeypatch.setattr(added_rows, step, interrupt)
            assert competition.add_rows(rows).sentence == completed
            assert [row["phase"] for row in competition.phases()] == rounds
        monkeypatch.undo()
    assert len((scenario.folder / SAMPLE_NAME).read_text().splitlines()) == 10


@pytest.mark.slow
def test_an_audit_names_a_changed_number_of_rows(tmp_path: Path, scenario: Scenario) -> None:
    with scenario.create() as competition:
        competition.submit(forecasts(DATES[0], value=1.0), "A")
        competition.add_rows(rows_of(DATES[2]))
        assert competition.events(ROWS_ADDED)[0].payload["n_rows"] == [6, 9]
    database = duckdb.connect(str(tmp_path / "c" / DATABASE_NAME))
    with database:
        database.execute("UPDATE meta SET value = '[[1, \"x\"]]' WHERE name = 'row_counts'")
    with scenario.reopen() as competition:
        assert any("'row_counts' in meta was changed" in problem for problem in competition.audit())


COLUMNS = SolutionColumns(cluster="place", tasks="due", pending_labels=True)


def solution_of(folder: Path, rows: Sequence[tuple[str, ...]]) -> Solution:
    write_csv(folder / "rows.csv", ["id", "due", "y", "place"], rows)
    return read_solution(folder / "rows.csv", kind=PredictionKind.VALUE, columns=COLUMNS)


def test_groups_and_tasks_continue(tmp_path: Path) -> None:
    stored = solution_of(tmp_path, [("a", "w1", "1", "de"), ("b", "w1", "2", "fr")])
    grown = [("c", "w2", "", "it"), ("b", "w1", "2", "fr"), ("a", "w1", "1", "de"),
             ("d", "w2", "4", "de")]  # fmt: skip
    solution = with_new_rows(stored, solution_of(tmp_path, grown))
    assert solution.ids.to_pylist() == ["a", "b", "c", "d"]
    assert solution.clusters is not None
    assert solution.clusters.tolist() == [0, 1, 2, 0]
    assert solution.tasks is not None
    assert [solution.task_names[code] for code in solution.tasks] == ["w1", "w1", "w2", "w2"]
    assert solution.pending.tolist() == [False, False, True, False]
    assert np.array_equal(solution.truth, [1, 2, 0, 4])
    refused: Mapping[str, Callable[[], list[tuple[str, ...]]]] = {
        "only a file that has every row of the solution": lambda: [grown[0], grown[1]],
        "are not those of the solution": lambda: [*grown[:2], ("a", "w1", "1", "fr"), grown[3]],
    }
    for message, rows in refused.items():
        with pytest.raises(InputError, match=message):
            with_new_rows(stored, solution_of(tmp_path, rows()))


def test_added_rows_and_rounds_are_counted_in_a_sentence() -> None:
    unused: Any = None
    for rows, phases, sentence in (
        ({"Public": 1_200, "Private": 1}, {}, "1,201 rows added (Public: 1,200, Private: 1)."),
        (
            {"Public": 1},
            {"w1": unused, "w2": unused},
            "1 row added (Public: 1). New rounds: w1, w2.",
        ),
        ({}, {"w1": unused}, "New rounds: w1."),
        ({}, {}, "The sample submission has every row now."),
    ):
        assert AddedRows(unused, rows, phases=phases).sentence == sentence


def test_a_round_before_a_finalized_one_of_its_series_is_refused() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    minute = timedelta(minutes=1)

    def section(end: datetime | None, series: str = "week") -> Any:
        return SimpleNamespace(end=end, series=series)

    finalized = [SimpleNamespace(payload={"phase": "w1"}), SimpleNamespace(payload={"phase": "x"})]
    phases = {"w1": section(noon), "w2": section(noon + minute)}
    state: Any = SimpleNamespace(
        store=SimpleNamespace(events=lambda kind: finalized),
        with_phases=SimpleNamespace(phase=phases),
    )
    for added in (section(noon + minute), section(None), section(noon, "other")):
        check_rounds_are_later(state, {"w0": added})
    for end in (noon, noon - minute):
        with pytest.raises(InputError) as refusal:
            check_rounds_are_later(state, {"w0": section(end)})
        assert str(refusal.value) == (
            "The round w0 would be before w1, which was finalized: a later round cannot change "
            "what was decided."
        )


def test_the_rows_of_a_sample_are_counted_without_its_header(tmp_path: Path) -> None:
    assert count_sample_rows(tmp_path) == 0
    (tmp_path / SAMPLE_NAME).write_text('id,y\n"a\nb",0\nc,1\n')
    assert count_sample_rows(tmp_path) == 2
