"""Phases: separate dates, rows, limits and boards, and what they refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition.exports.verify import verify_bundle
from arena.competition.record.phases import (
    Destination,
    current_phase,
    destination_of_file,
    group_of,
    instance_groups,
    open_phases,
    phase_of_file,
)
from arena.config import CONFIG_NAME, Settings, read_settings, settings_as_toml
from arena.errors import InputError, UsageError
from arena.report.for_participants import facts_for_participants
from arena.utils.parallel import NoProgress
from kept import check_kept_document
from program import write_csv
from scenario import IDS, MANAGER, N_ROWS, SOLUTION, TRUTH, Clock, Scenario

USAGE = np.where(np.arange(N_ROWS) % 2 == 0, "dev", "final")
DEV, FINAL = np.flatnonzero(USAGE == "dev"), np.flatnonzero(USAGE == "final")
PHASES: Mapping[str, Mapping[str, Any]] = {
    "dev": {"end": "2026-03-10", "public_rows": "dev", "limits": {"per_day": 2}},
    "final": {"start": "2026-03-11", "end": "2026-03-20", "private_rows": "final"},
}
HALVES = np.where(np.arange(N_ROWS) % 2 == 0, "Public", "Private")
SHARING = {"one": {"end": "2026-03-10"}, "two": {"start": "2026-03-11"}}
"""Phases with the same rows."""
IN_DEV, IN_FINAL = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 12, tzinfo=UTC)


def settings_with(phases: Mapping[str, Any], metric: str = "accuracy", **keys: Any) -> Settings:
    return Settings.of(metric=metric, mechanism="ladder-free", phase=phases, **keys)


def solution_with(usage: Any) -> dict[str, Any]:
    return {**SOLUTION, "Usage": usage}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    settings = {"mechanism": "ladder-free", "phase": PHASES}
    return Scenario(tmp_path, solution_with(USAGE), settings=settings, clock=Clock(IN_DEV))


def labels(rows: Sequence[int] | Any, wrong: int) -> dict[str, list[Any]]:
    """Return a file of some rows whose first labels are wrong."""
    cells = [
        1 - TRUTH[row] if position < wrong else TRUTH[row] for position, row in enumerate(rows)
    ]
    return {"id": [IDS[row] for row in rows], "y": [str(cell) for cell in cells]}


@pytest.mark.slow
def test_each_phase_has_its_rows_its_limits_and_its_boards(scenario: Scenario) -> None:
    with scenario.create() as competition:
        assert competition.submit(labels(DEV, 10), "A").released == 0.9
        assert competition.submit(labels(range(N_ROWS), 40), "B").released == 0.8
        half = competition.submit(labels(DEV[:50], 0), "B")
        assert (half.status, half.faults[0].kind) == ("rejected", "missing id")
        assert competition.submit(labels(DEV, 20), "A").source == 1
        assert competition.submit(labels(DEV, 0), "A").faults[0].kind == "limit"
        with pytest.raises(UsageError, match="no private rows"):
            competition.finalize()
        scenario.clock.now = IN_FINAL
        blind = competition.submit(labels(FINAL, 5), "A")
        assert (blind.phase, blind.status, blind.released) == ("final", "accepted", None)
        competition.submit(labels(FINAL, 2), "B")
        assert competition.leaderboard() == []
        board = competition.in_phase("dev").leaderboard()
        assert [(row["team"], row["score"], row["n_submissions"]) for row in board] == [
            ("A", 0.9, 2),
            ("B", 0.8, 1),
        ]
        competition.finalize()
        assert [(row["team"], row["score"]) for row in competition.private_leaderboard()] == [
            ("B", 0.98),
            ("A", 0.95),
        ]
        assert competition.quota_used("A", "dev/2026-03-01") == 2
        with pytest.raises(UsageError, match="Files are received until 2026-03-20"):
            competition.publish()
        scenario.clock.now = datetime(2026, 3, 20, 1, tzinfo=UTC)
        assert competition.publish() == 1
        # A decision changes the boards of the phase of the submission, and marks its results.
        competition.disqualify(1, "a leak")
        assert [row["team"] for row in competition.in_phase("dev").leaderboard()] == ["B", "A"]
        assert competition.outdated() is None
        competition.disqualify(blind.submission, "a leak")
        assert [result["mark"] is not None for result in competition.results()] == [True]
        assert competition.audit() == ()


@pytest.mark.slow
def test_an_export_of_a_phase_is_verified_and_a_rescore_changes_every_phase(
    tmp_path: Path,
    scenario: Scenario,
) -> None:
    with scenario.create() as competition:
        competition.submit(labels(DEV, 10), "A")
        competition.submit(labels(DEV, 20), "B")
        scenario.clock.now = IN_FINAL
        competition.submit(labels(FINAL, 5), "A")
        competition.submit(labels(FINAL, 2), "B")
        competition.finalize()
        competition.export(tmp_path / "export")
        files = (tmp_path / "export", scenario.solution_file)
        assert verify_bundle(*files, MANAGER, NoProgress()) == ()
        board = tmp_path / "export" / "usage.csv"
        board.write_text(board.read_text().replace(",dev", ",final", 1))
        assert verify_bundle(*files, MANAGER, NoProgress())[0].startswith("usage.csv is not")

        corrected = TRUTH.copy()
        corrected[DEV[:10]] = 1 - corrected[DEV[:10]]
        rows = list(zip(IDS, corrected, USAGE, strict=True))
        write_csv(tmp_path / "corrected.csv", ["id", "y", "Usage"], rows)
        changes = competition.rescore(tmp_path / "corrected.csv", apply=True)
        assert {change.phase for change in changes} == {"final"}
        assert [row["score"] for row in competition.in_phase("dev").leaderboard()] == [1.0, 0.9]
        assert competition.in_phase("dev").mark(private=False) is not None
        assert competition.in_phase("final").mark(private=False) is None  # it shows no score
        assert competition.audit() == ()


def test_phases_with_the_same_public_rows_share_the_instances(scenario: Scenario) -> None:
    """Otherwise a second phase would release as much about the same labels as the first."""
    scenario.solution = solution_with([*HALVES[:-1], "Ignored"])
    with scenario.create(phase=SHARING) as competition:
        first = competition.submit(labels(range(N_ROWS), 40), "A")
        scenario.clock.now = IN_FINAL
        second = competition.submit(labels(range(N_ROWS), 42), "A")
        assert (first.released, second.released) == (0.8, 0.8)
        assert second.source == first.submission  # no improvement on what the first phase showed
        assert competition.phases()[1]["shares"] == ["one"]
        assert competition.submit(labels(range(N_ROWS), 40), "A").phase == "two"  # another file
        # What the first phase shows, the second one may not: the same private rows decide both.
        competition.in_phase("one").finalize()
        with pytest.raises(UsageError, match="decide the phase one decide two as well"):
            competition.in_phase("one").publish()
        assert len(competition.in_phase("one").replay(["full"]).history) == 1
        competition.disqualify(first.submission, "a leak")
        # Two files of the first phase and the second; the third repeats. One rebuild shows .79.
        (account,) = competition.released_numbers()
        assert (account.phases, account.n_rows) == (("one", "two"), 100)
        assert (account.by_phase, account.of_rebuilds) == ((1, 0), 1)
        (row,) = competition.leaderboard()
        assert (row["submission"], row["score"]) == (second.submission, 0.79)
        check_kept_document("phases", competition.phases())


@pytest.mark.slow
def test_a_decision_by_the_view_of_a_phase_keeps_the_scores_of_the_others(
    tmp_path: Path, scenario: Scenario
) -> None:
    scenario.solution = solution_with(HALVES)
    with scenario.create(phase=SHARING) as competition:
        first = competition.submit(labels(range(N_ROWS), 40), "A")
        competition.submit(labels(range(N_ROWS), 60), "B")
        scenario.clock.now = IN_FINAL
        competition.submit(labels(range(N_ROWS), 20), "A")
        first_phase, second_phase = competition.in_phase("one"), competition.in_phase("two")
        first_phase.disqualify(first.submission, "a leak")
        assert [row["team"] for row in first_phase.leaderboard()] == ["B"]
        assert [(row["team"], row["score"]) for row in second_phase.leaderboard()] == [("A", 0.9)]

        corrected = TRUTH.copy()
        corrected[:20] = 1 - corrected[:20]
        rows = list(zip(IDS, corrected, HALVES, strict=True))
        write_csv(tmp_path / "corrected.csv", ["id", "y", "Usage"], rows)
        first_phase.rescore(tmp_path / "corrected.csv", apply=True)
        assert first_phase.phase == "one"
    with scenario.reopen() as competition:
        assert [row["score"] for row in competition.in_phase("one").leaderboard()] == [0.8]
        assert [row["score"] for row in competition.in_phase("two").leaderboard()] == [1.0]


def test_a_competition_has_ended_when_its_last_phase_has(scenario: Scenario) -> None:
    phases = {
        "dev": {"end": "2026-03-10", "public_rows": "dev"},
        "final": {"start": "2026-03-20", "end": "2026-03-30", "private_rows": "final"},
    }
    with scenario.create(phase=phases) as competition:
        for day, ended, label in (
            (5, False, "Deadline"),
            (15, False, "Ended"),
            (31, True, "Ended"),
        ):
            scenario.clock.now = datetime(2026, 3, day, tzinfo=UTC)
            assert competition.in_phase().has_ended == ended
            assert dict(facts_for_participants(competition.in_phase("dev")))[label]


def test_the_names_of_instances_of_different_rows_do_not_begin_alike() -> None:
    phases = {
        "one": {"public_rows": "a"},
        "two": {"public_rows": ["b", "c"]},
        "three": {"public_rows": 'a"] '},
    }
    prefixes = [group.prefix for group in instance_groups(settings_with(phases))]
    assert not any(
        prefix.startswith(other) for prefix in prefixes for other in prefixes if prefix != other
    )


def test_phases_that_share_instances_have_the_limits_of_all_together() -> None:
    phases = {
        "a": {"public_rows": "x", "limits": {"total": 2}},
        "b": {"public_rows": "x", "limits": {"total": 3}},
        "c": {"public_rows": "y", "limits": {"total": 4}},
        "d": {"public_rows": "y"},
        "e": {"private_rows": "z", "limits": {"total": 5}},
    }
    settings = settings_with(phases)
    groups = {group.phases: group.settings.limits.total for group in instance_groups(settings)}
    assert groups == {("a", "b"): 5, ("c", "d"): None}
    of_phases = {name: group_of(settings, name).phases for name in phases}
    pair, other = ("a", "b"), ("c", "d")
    assert of_phases == {"a": pair, "b": pair, "c": other, "d": other, "e": ("e",)}


@pytest.mark.parametrize(
    ("day", "destination"),
    [
        (1, Destination("w2", "week", ("w1", "w2"))),
        (10, Destination("w2", "week", ("w2",))),
        (15, Destination("plain")),
        (20, None),  # rounds of two series
        (30, Destination("other", "month", ("other",))),
        (40, Destination("other", "month", ())),
    ],
)
def test_a_file_counts_for_the_open_rounds_of_one_series(
    day: int, destination: Destination | None
) -> None:
    times_of_phases = {
        "w1": ("week", 0, 5),
        "w2": ("week", 1, 12),
        "plain": ("", 14, 16),
        "w3": ("week", 19, 21),
        "other": ("month", 20, 32),
    }
    phases = {
        name: {
            "series": series,
            "private_rows": name,
            "start": IN_DEV + timedelta(days=start),
            "end": IN_DEV + timedelta(days=end),
        }
        for name, (series, start, end) in times_of_phases.items()
    }
    settings = settings_with(phases)
    time = IN_DEV + timedelta(days=day)
    if destination is None:
        with pytest.raises(UsageError, match="Several phases are open: name one of w3, other"):
            destination_of_file(settings, None, time)
    else:
        assert destination_of_file(settings, None, time) == destination


def test_a_file_counts_for_the_phase_that_is_open_or_named(scenario: Scenario) -> None:
    phases = {"one": {}, "two": {"limits": {"total": 1}}, "late": {"start": "2027-01-01"}}
    scenario.solution = solution_with(HALVES)
    with scenario.create(phase=phases) as competition:
        with pytest.raises(UsageError, match="Several phases are open: name one of one, two"):
            competition.submit(labels(range(N_ROWS), 10), "A")
        with pytest.raises(UsageError, match="There is no phase 'three'. There are: one, two"):
            competition.submit(labels(range(N_ROWS), 10), "A", phase="three")
        assert competition.submit(labels(range(N_ROWS), 10), "A", phase="two").phase == "two"
        refused = competition.submit(labels(range(N_ROWS), 10), "A", phase="late")
        assert refused.faults[0].message == "The phase late starts at 2027-01-01 00:00 UTC."
        assert len(competition.submissions()) == 2
        first = competition.submit(labels(range(N_ROWS), 10), "A", phase="one").submission
        with pytest.raises(UsageError, match="belong to several phases"):
            competition.select("A", [first, 1])
        competition.select("A", [first])
        assert competition.in_phase("one").selections() == {"A": [first]}


@pytest.mark.parametrize(
    ("day", "opened", "current"),
    [(1, ("dev",), "dev"), (10, (), "dev"), (12, ("final",), "final"), (30, (), "final")],
)
def test_the_boards_shown_are_those_of_the_phase_that_began_last(
    day: int, opened: tuple[str, ...], current: str
) -> None:
    now = datetime(2026, 3, day, 12, tzinfo=UTC)
    settings = settings_with(PHASES)
    assert (open_phases(settings, now), current_phase(settings, now)) == (opened, current)


REFUSED: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], str]] = [
    ({"dev": {"stat": "2026"}}, {}, "[phase.dev] stat is unknown. Did you mean 'start'?"),
    ({"final": {"stat": "2026"}}, {}, "[phase.final] stat is unknown. Did you mean 'start'?"),
    ({"dev": {"end": "soon"}}, {}, '[phase.dev] end is "soon", but must be a date and time'),
    ({"dev": {"limits": {"per_dya": 3}}}, {}, "[phase.dev]: [limits] per_dya is unknown"),
    ({"dev": {"public": {"epoch": 2}}}, {}, "[phase.dev]: [public] epoch is a key of earlier"),
    ({"Dev 1": {}}, {}, "[phase.Dev 1]: a name has small letters, digits and hyphens"),
    ({"dev": {"start": "2026-03-02", "end": "2026-03-01"}}, {}, "start must be before end"),
    (
        {"dev": {"end": "2026-03-05", "public": {"freeze": "2026-03-06"}}},
        {},
        "[phase.dev]: [public] freeze must be before [competition] deadline",
    ),
    ({"dev": {"public_rows": []}}, {}, "it has neither public_rows nor private_rows"),
    ({"dev": {"public_rows": "Ignored"}}, {}, "rows marked as Ignored have no part"),
    (
        {"dev": {"public_rows": "x"}, "final": {"private_rows": "x"}},
        {},
        "rows marked as x decide the phase final, and would be public in the phase dev",
    ),
    (
        {"one": {"public_rows": ["x", "z"]}, "two": {"public_rows": "x"}},
        {},
        "the phases one and two share some of their public rows",
    ),
    (
        {name: {"series": "week", "private_rows": ["x", name]} for name in ("one", "two")},
        {},
        "the rounds one and two of the series week share rows marked as x",
    ),
    (
        {"one": {}, "two": {"public": {"mechanism": "kaggle"}}},
        {},
        "the phases one and two share their public rows, and must have the same metric",
    ),
    ({"one": {}}, {"scope": "rank"}, 'scope = "rank" is not possible in a phase'),
    (
        {"one": {}},
        {"deadline": "2026-03-01", "late_until": "2026-03-02"},
        "late_until is not possible with phases",
    ),
]


@pytest.mark.parametrize(("phases", "keys", "said"), REFUSED)
def test_contradictions_are_refused_by_name(
    phases: Mapping[str, Any], keys: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        settings_with(phases, **keys)
    assert said in str(refused.value)


def test_the_file_keeps_the_phases(tmp_path: Path) -> None:
    phases = {**PHASES, "last": {"public_rows": "x", "public": {"freeze": "2026-03-15"}}}
    settings = settings_with(phases, deadline="2026-04-01")
    (tmp_path / CONFIG_NAME).write_text(settings_as_toml(settings), encoding="utf-8")
    assert read_settings(tmp_path / CONFIG_NAME) == settings
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phases", "refusal"),
    [
        ({"final": PHASES["final"]}, "belong to the phase dev would belong to no phase"),
        ({}, "belong to the phase dev would belong to no phase"),
        (
            {**PHASES, "dev": {**PHASES["dev"], "public_rows": None, "private_rows": "dev"}},
            "[phase.dev] has submissions, so that its public_rows and private_rows cannot change",
        ),
        ({**PHASES, "extra": {"public_rows": "x"}}, "the rows marked as 'x' in the usage column"),
    ],
)
def test_stored_submissions_keep_their_phase_and_its_rows(
    scenario: Scenario, phases: Mapping[str, Any], refusal: str
) -> None:
    with scenario.create() as competition:
        competition.submit(labels(DEV, 10), "A")
    path = scenario.folder / CONFIG_NAME
    before = path.read_text(encoding="utf-8")
    path.write_text(settings_as_toml(settings_with(phases)), encoding="utf-8")
    with pytest.raises(InputError) as error:
        scenario.reopen()
    assert refusal in str(error.value)
    path.write_text(before, encoding="utf-8")
    scenario.reopen().close()


@pytest.mark.slow
def test_a_further_metric_must_be_defined_on_the_rows_of_each_phase(scenario: Scenario) -> None:
    usage = np.where(np.flatnonzero(TRUTH)[:40].max() >= np.arange(N_ROWS), "dev", "final")
    usage = np.where((usage == "final") & (TRUTH == 0), "dev", usage)
    scenario.solution = solution_with(usage)
    keys = {"metric": "log_loss", "mechanism": "full"}
    scenario.create(**keys).close()
    scenario.configure(**keys, secondary="roc_auc")
    with pytest.raises(InputError, match="roc_auc is undefined on the private rows"):
        scenario.reopen()


FINALS = {
    "dev": {"end": "2026-03-10"},
    "final": {
        "start": "2026-03-11",
        "end": "2026-03-20",
        "private_rows": "final",
        "after": "dev",
        "admit": "top 2",
        "carry": True,
        "limits": {"total": 1},
    },
}
THREE_SETS = np.array(["Public", "Private", "final", "Ignored"])[np.arange(N_ROWS) % 4]


def test_the_best_teams_qualify_and_their_files_are_carried_over(scenario: Scenario) -> None:
    rows = np.flatnonzero(THREE_SETS != "Ignored")
    scenario.solution = solution_with(THREE_SETS)
    with scenario.create(phase=FINALS, intervals=True) as competition:
        short = competition.submit(labels(np.flatnonzero(THREE_SETS == "Public"), 0), "A")
        assert short.status == "rejected"  # it must have the rows of the final as well
        for team, wrong in {"A": 0, "B": 30, "C": 34, "D": 90}.items():
            assert competition.submit(labels(rows, wrong), team).status == "accepted"
        scenario.clock.now = IN_FINAL
        with pytest.raises(UsageError, match="run arena finalize --phase dev first"):
            competition.qualify("final")
        competition.in_phase("dev").finalize()
        admitted = competition.qualify("final", apply=True)
        assert (admitted.teams, admitted.board) == (("A", "B"), "final")
        (note,) = admitted.notes
        assert note.startswith(
            "The private rows do not decide whether 2 teams belong to the best 2: B"
        )
        carried = [row for row in competition.submissions() if row["phase"] == "final"]
        assert [(row["team"], row["status"]) for row in carried] == [
            ("A", "accepted"),
            ("B", "accepted"),
        ]
        refused = competition.submit(labels(rows, 3), "C")
        assert refused.faults[0].message == "This team is not among those of the phase final."
        assert competition.submit(labels(rows, 4), "B").status == "accepted"  # carried: no count
        competition.finalize()
        assert [row["team"] for row in competition.private_leaderboard()] == ["A", "B"]
        assert competition.qualified_follow("final")
        competition.disqualify_team("A", "a leak")
        assert not competition.qualified_follow("final")
        assert competition.phases()[1]["qualified"] == ["A", "B"]  # a decision stays
        assert competition.audit() == ()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"admit": "top 0"}, '[phase.final] admit: must be "all", "submitted", "listed", or "top"'),
        ({"admit": "submitted"}, "admit and carry need after"),
        (
            {"after": "dev", "admit": "top 3"},
            "rows marked as private decide the phase final, and the list of the best of the phase "
            "dev would tell ranks on them",
        ),
        ({"after": "x"}, "[phase.final] after names 'x', which is no phase"),
        ({"after": "final"}, "the phase final would come after itself"),
    ],
)
def test_admission_by_a_phase_that_is_not_before_is_refused(
    section: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        settings_with({"dev": {}, "final": section})
    assert said in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phases", "usage"), [(PHASES, USAGE), (SHARING, HALVES)], ids=["own rows", "shared rows"]
)
def test_a_replay_of_a_phase_by_its_mechanism_is_what_was_released(
    scenario: Scenario, phases: Mapping[str, Any], usage: Any
) -> None:
    scenario.solution = solution_with(usage)
    with scenario.create(phase=phases) as competition:
        for wrong in (40, 30, 31, 20):
            competition.submit(labels(range(N_ROWS), wrong), "A")
            scenario.clock.now = IN_FINAL if wrong == 30 else scenario.clock.now
        for board in competition.in_each_phase():
            replayed = board.replay(["ladder-free"])
            assert replayed.replayed[0].releases == replayed.released.releases
            assert replayed.replayed[0].standings == replayed.released.standings


@pytest.mark.slow
def test_a_selection_is_withdrawn_in_a_named_phase_where_several_are_open(
    scenario: Scenario,
) -> None:
    rules = {"one": {"final": {"rule": "chosen"}}, "two": {}}
    scenario.solution = solution_with(HALVES)
    with scenario.create(phase=rules) as competition:
        submission = competition.submit(labels(range(N_ROWS), 10), "A", phase="one")
        assert competition.select("A", [submission.submission]) == "chosen"
        with pytest.raises(UsageError, match="Several phases are open: name one of one, two"):
            competition.select("A", [])
        assert competition.in_phase("one").select("A", []) == "chosen"
        assert competition.events("selection")[-1].payload["phase"] == "one"


@pytest.mark.slow
def test_a_refused_disqualification_announces_nothing(scenario: Scenario) -> None:
    scenario.solution = solution_with(HALVES)
    with scenario.create(phase={}) as competition:
        competition.submit(labels(range(N_ROWS), 10), "A")
        competition.disqualify(1, "a leak")
        for whom, undo, message in (
            ({"submission": 1}, False, "already disqualified for this reason"),
            ({"submission": 2}, False, "no submission 2"),
            ({"team": "A"}, True, "is not disqualified"),
            ({"team": "B"}, False, "No submission of a team"),
        ):
            with pytest.raises(UsageError, match=message):
                competition.consequences_of_disqualifying(**whom, reason="a leak", undo=undo)


TASKS: Mapping[str, Mapping[str, Any]] = {
    "labels": {"public_rows": "Public", "private_rows": "Private", "metric": "accuracy"},
    "errors": {"public_rows": "dev", "private_rows": "final"},
}
FOUR = np.resize(["Public", "dev", "Private", "final"], N_ROWS)
OF_LABELS, OF_ERRORS = np.arange(0, N_ROWS, 2), np.arange(1, N_ROWS, 2)
PROBABILITIES = "brier"
"""A metric of which smaller values are better; probabilities serve accuracy, too."""


@pytest.mark.slow
def test_phases_open_at_once_are_tasks_with_their_own_metric_and_direction(
    tmp_path: Path, scenario: Scenario
) -> None:
    scenario.solution = solution_with(FOUR)
    with scenario.create(
        phase=TASKS, metric=PROBABILITIES, resamples=50, intervals=True
    ) as competition:
        with pytest.raises(UsageError, match="name one of labels, errors"):
            competition.submit(labels(OF_LABELS, 1), "A")
        for team, wrong in (("A", 40), ("B", 20)):
            for phase, rows in (("labels", OF_LABELS), ("errors", OF_ERRORS)):
                submission = competition.submit(labels(rows, wrong), team, phase=phase)
                assert submission.status == "accepted", submission.faults
        directions = [phase["greater_is_better"] for phase in competition.phases()]
        assert directions == [True, False]
        for board, greater_is_better in zip(competition.in_each_phase(), directions, strict=True):
            assert board.greater_is_better == greater_is_better
            rows = [(row["team"], row["score"]) for row in board.leaderboard()]
            scores = (0.8, 0.6) if greater_is_better else (0.2, 0.4)
            assert rows == [("B", pytest.approx(scores[0])), ("A", pytest.approx(scores[1]))]
            result = board.finalize()
            assert result.metric == board.settings.metric.name
            assert [row["team"] for row in result.standings] == ["B", "A"]
            folder = tmp_path / board.phase
            board.export(folder)
            assert verify_bundle(folder, scenario.solution_file, MANAGER, NoProgress()) == ()
        assert competition.audit() == ()


@pytest.mark.slow
def test_the_metric_of_a_phase_changes_by_a_rescore(scenario: Scenario) -> None:
    scenario.solution = solution_with(FOUR)
    scenario.create(phase=TASKS, metric=PROBABILITIES).close()
    other = {**TASKS, "labels": {**TASKS["labels"], "metric": PROBABILITIES}}
    path = scenario.folder / CONFIG_NAME
    text = settings_as_toml(settings_with(other, metric=PROBABILITIES))
    path.write_text(text, encoding="utf-8")
    with scenario.reopen() as competition:
        (note,) = [note for note in competition.notes if "rescore" in note]
        assert "but the scores of the phase labels use accuracy until" in note
        first = competition.submit(labels(OF_LABELS, 20), "A", phase="labels")
        assert first.released == pytest.approx(0.8)  # of 50 public rows
        competition.rescore(apply=True)
        board = competition.in_phase("labels")
        assert board.settings.metric.name == PROBABILITIES
        assert board.leaderboard()[0]["score"] == pytest.approx(0.2)
        assert not board.greater_is_better
        (event,) = competition.events("rescored")
        assert event.payload["phase_metrics"] == {"labels": ["accuracy", PROBABILITIES]}
        assert competition.audit() == ()


@pytest.mark.parametrize(
    ("phases", "said"),
    [
        ({"a": {}, "b": {"metric": "f1"}}, "must have the same metric"),
        ({"a": {"metric": {"secondary": "x", "no": 1}}}, "no is unknown"),
        ({"a": {"metric": {"lower_is_better": True, "name": ""}}}, "not empty"),
    ],
)
def test_metrics_of_phases_that_contradict_are_refused(
    phases: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        settings_with(phases)


def test_a_metric_of_another_kind_of_prediction_is_refused(scenario: Scenario) -> None:
    phases = {**TASKS, "errors": {**TASKS["errors"], "metric": "roc_auc"}}
    scenario.solution = solution_with(FOUR)
    with pytest.raises(InputError, match=r"\[phase.errors\] metric: roc_auc: .*contain label"):
        scenario.create(phase=phases)


def test_a_file_counts_for_the_open_phase_or_the_next_or_the_last_one() -> None:
    dates = {"dev": ("01", "02"), "late": ("06", "07"), "final": ("03", "05"), "both": ("04", "05")}
    settings = Settings.model_validate({
        "metric": {"name": "f1"},
        "phase": {name: {"public_rows": name, "start": f"2026-{start}-01T00:00:00Z",
                         "end": f"2026-{end}-01T00:00:00Z"}
                  for name, (start, end) in dates.items()},
    })  # fmt: skip
    for month, day, phase in ((1, 15, "dev"), (2, 15, "final"), (3, 15, "final"), (5, 15, "late"),
                              (12, 1, "late")):  # fmt: skip
        assert phase_of_file(settings, None, datetime(2026, month, day, tzinfo=UTC)) == phase
    assert phase_of_file(settings, "dev", datetime(2026, 12, 1, tzinfo=UTC)) == "dev"
    assert phase_of_file(settings, None, datetime(2025, 1, 1, tzinfo=UTC)) == "dev"
    with pytest.raises(UsageError) as refused:
        phase_of_file(settings, None, datetime(2026, 4, 15, tzinfo=UTC))
    assert str(refused.value) == "Several phases are open: name one of final, both (--phase)."
