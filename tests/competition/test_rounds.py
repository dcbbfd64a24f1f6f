"""Rounds: a phase of each date of a column, and files that count for several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition.exports.verify import verify_bundle
from arena.competition.record import rounds
from arena.config import CONFIG_NAME, Settings, read_settings
from arena.errors import InputError, UsageError
from arena.phase_section import MOST_ROW_SETS
from arena.utils.parallel import NoProgress
from program import write_csv
from scenario import MANAGER, Clock, Scenario

DATES = ("2026-03-08", "2026-03-15", "2026-03-22")
ROUNDS = [f"week-{day}" for day in DATES]
ROWS = [(f"{place}@{day}", day) for day in DATES for place in ("de", "fr", "it")]
TRUTH = np.arange(1.0, 10.0)
BEFORE, BETWEEN, AFTER = (datetime(2026, 3, day, tzinfo=UTC) for day in (1, 10, 30))


PHASE = {"week": {"each": "due", "limits": {"total": 2}}}
SETTINGS = {"metric": "mae", "pending_labels": True, "phase": PHASE, "intervals": True}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    names, dates = zip(*ROWS, strict=True)
    solution = {"id": names, "due": dates, "y": [""] * len(ROWS)}
    return Scenario(tmp_path, solution, settings=SETTINGS, clock=Clock(BEFORE))


def forecasts(rounds: Sequence[int], error: float) -> dict[str, list[Any]]:
    positions = [row for row in range(len(ROWS)) if row // 3 in rounds]
    return {
        "id": [ROWS[row][0] for row in positions],
        "y": [str(TRUTH[row] + error) for row in positions],
    }


def outcomes(number: int) -> dict[str, list[Any]]:
    return forecasts([number], 0.0)


@pytest.mark.slow
def test_each_date_is_a_phase_that_ends_when_it_begins(scenario: Scenario) -> None:
    with scenario.create() as competition:
        described_phases = [
            (row["phase"], row["end"][:10], row["private_rows"], row["pending_rows"])
            for row in competition.phases()
        ]
        assert described_phases == [
            (name, day, 3, 3) for name, day in zip(ROUNDS, DATES, strict=True)
        ]
    phases = read_settings(scenario.folder / CONFIG_NAME).phase
    assert {phase.series for phase in phases.values()} == {"week"}
    assert {phase.limits["total"] for phase in phases.values()} == {2}
    with (scenario.folder / CONFIG_NAME).open("a") as file:
        file.write('\n[phase.month]\neach = "due"\n')
    with pytest.raises(InputError, match="each is read by arena init only"):
        scenario.reopen()


@pytest.mark.slow
def test_a_file_counts_for_every_open_round_whose_rows_it_has(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create() as competition:
        first = competition.submit(forecasts([0, 1], 1.0), "A")
        answers = (first, *first.rounds)
        assert [(answer.phase, answer.status) for answer in answers] == [
            (name, "accepted") for name in ROUNDS[:2]
        ]
        again = competition.submit(forecasts([0, 1], 1.0), "A")
        assert [round_answer.submission for round_answer in (again, *again.rounds)] == [1, 2]
        lacking = {key: cells[:-1] for key, cells in forecasts([0, 1], 0.5).items()}
        rejected = competition.submit(lacking, "A")
        assert (rejected.status, rejected.faults[0].kind) == ("rejected", "missing id")
        named = competition.submit(forecasts([0, 1], 3.0), "B", phase=ROUNDS[1])
        assert (named.phase, named.status, named.rounds) == (ROUNDS[1], "accepted", ())
        check = tmp_path / "check.csv"
        write_csv(check, ["id", "y"], [(ROWS[8][0], 1.0)])
        missing = {fault.id for fault in competition.check_file(check, check.name)}
        assert missing == {row for row, _day in ROWS[6:8]}
        scenario.clock.now = BETWEEN
        late = competition.submit(forecasts([0, 1, 2], 2.0), "B")
        assert [round_answer.phase for round_answer in (late, *late.rounds)] == ROUNDS[1:]
        assert late.closed_rounds == (ROUNDS[0],)
        refused = competition.submit(forecasts([0], 0.0), "C")
        assert (refused.phase, refused.status) == (ROUNDS[0], "refused")
        scenario.clock.now = AFTER
        for number in (0, 1):
            competition.add_labels(outcomes(number))
        boards = [competition.in_phase(name) for name in ROUNDS]
        for board in boards[:2]:
            board.finalize(intervals=False)
        scores = [
            {row["team"]: row["score"] for row in board.private_leaderboard()}
            for board in boards[:2]
        ]
        assert scores == [pytest.approx({"A": 1.0}), pytest.approx({"A": 1.0, "B": 2.0})]
        with pytest.raises(UsageError, match="No private row has a label yet"):
            boards[2].finalize()
        boards[1].publish()
        competition.add_labels(outcomes(2))  # of another round
        assert boards[1].results()[0]["mark"] is None
        assert competition.audit() == ()
        boards[1].export(tmp_path / "export")
    rows = zip(ROWS, TRUTH, strict=True)
    write_csv(tmp_path / "all.csv", ["id", "due", "y"], [(*row, label) for row, label in rows])
    assert verify_bundle(tmp_path / "export", tmp_path / "all.csv", MANAGER, NoProgress()) == ()


@pytest.mark.slow
def test_a_fault_names_the_rows_of_a_round_together(scenario: Scenario) -> None:
    """It tells neither which rows are public nor which are Ignored, and the sample is accepted."""
    rounds = {"one": ("a", "b"), "two": ("c", "d")}
    usage = {f"{value}{row}": value for value in ("a", "b", "c", "d", "Ignored") for row in "01"}
    phase = {
        name: {"series": "week", "public_rows": public, "private_rows": private}
        for name, (public, private) in rounds.items()
    }
    rows = {"id": [*usage], "Usage": [*usage.values()], "y": ["1"] * len(usage)}
    scenario.solution = rows
    with scenario.create(phase=phase) as competition:
        for row, value in usage.items():
            together = next((both for both in rounds.values() if value in both), (value,))
            answer = competition.submit({"id": [row], "y": ["1"]}, row, phase="one")
            missing = {fault.id for fault in answer.faults if fault.kind == "missing id"}
            assert missing == {name for name, other in usage.items() if other in together} - {row}
        everything = competition.submit({"id": [*usage], "y": ["1"] * len(usage)}, "all")
        assert [
            (round_answer.phase, round_answer.status)
            for round_answer in (everything, *everything.rounds)
        ] == [(name, "accepted") for name in rounds]


REFUSED: Mapping[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "an end of its own": (
        {}, {"each": "due", "end": "2026-03-08"}, "end is not possible beside each"
    ),
    "no date": ({"due": ["2026-03-08", "soon"]}, {"each": "due"}, "'soon', which is no date"),
    "no column": ({}, {"each": "week"}, "There is no column 'week'"),
    "another usage column": ({"usage": "split"}, {"each": "due"}, "only one of due, split"),
    "a section of a round": (
        {"others": {f"week-{DATES[0]}": {}}}, {"each": "due"}, "is a round that each makes"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_contradictions_are_refused_by_name(scenario: Scenario, name: str) -> None:
    changes, phase, message = REFUSED[name]
    rows = {"id": ["a", "b"], "due": changes.get("due", list(DATES[:2])), "y": ["1", "2"]}
    usage = {key: changes[key] for key in ("usage",) if key in changes}
    phases = {"week": phase, **changes.get("others", {})}
    scenario.solution = rows
    with pytest.raises((InputError, UsageError), match=message):
        scenario.create(phase=phases, **usage)
    assert not scenario.folder.exists()


def test_too_many_sets_of_rows_are_refused() -> None:
    phase = {f"p{number}": {"private_rows": f"rows {number}"} for number in range(1_001)}
    with pytest.raises(UsageError, match="1,001 values of the usage column, and a competition has"):
        Settings.of(metric="mae", phase=phase)


@pytest.mark.slow
def test_a_file_of_rounds_is_read_by_the_metric_of_the_rounds(scenario: Scenario) -> None:
    """The range of [metric] would refuse it."""
    phase = {"week": {"each": "due", "metric": {"name": "mae"}}}
    scenario.solution = {**scenario.solution, "y": ["1"] * len(ROWS)}
    with scenario.create(metric="rmsle", phase=phase) as competition:
        answer = competition.submit(forecasts([0, 1, 2], -5.0), "A")
        assert [round_answer.status for round_answer in (answer, *answer.rounds)] == [
            "accepted"
        ] * 3


def test_a_date_of_every_row_is_a_round_or_the_row_is_ignored() -> None:
    days = [date(2026, 3, day) for day in (8, 15)]
    assert rounds.dates_of_column(["2026-03-15", " ignored", "2026-03-08"], "due") == days
    for cell in ("2026-3-8", "20260308", "", "Public", "2026-02-30"):
        with pytest.raises(InputError) as refusal:
            rounds.dates_of_column(["2026-03-15", cell], "due")
        assert str(refusal.value) == (
            f"The column 'due' has {cell!r}, which is no date such as 2026-12-31: [phase.NAME] "
            f"each needs a date in every row, or Ignored."
        )
    most = [f"{year:04}-01-01" for year in range(1, MOST_ROW_SETS + 1)]
    assert len(rounds.dates_of_column(most, "due")) == MOST_ROW_SETS
    with pytest.raises(InputError, match=f"at most {MOST_ROW_SETS:,} rounds"):
        rounds.dates_of_column([*most, "2026-03-08"], "due")


def test_further_rounds_are_like_the_last_one_of_their_series(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    phases = {
        f"{series}-{day}": {"series": series, "private_rows": [day], "limits": {"total": total},
                            "end": f"{day}T00:00:00Z"}
        for series, day, total in (("week", DATES[1], 2), ("week", DATES[0], 9))
    }  # fmt: skip
    phases["final"] = {"private_rows": ["final"], "end": "2026-05-01T00:00:00Z"}
    settings = Settings.model_validate({"metric": {"name": "mae"}, "phase": phases})
    cells = ["Public", "final", DATES[0], "2026-03-29", "Ignored"]
    monkeypatch.setattr(rounds, "unique_cells", lambda *_: cells)
    unused: Any = None
    sections = rounds.further_rounds(settings, unused)
    assert sections.keys() == {"week-2026-03-29"}
    (section,) = sections.values()
    assert (section.limits["total"], section.series, section.each) == (2, "week", None)
    assert section.end == datetime(2026, 3, 29, tzinfo=UTC)
    assert section.private_usages == {"2026-03-29"}
    assert rounds.further_rounds(Settings.of(metric="mae"), unused) == {}
