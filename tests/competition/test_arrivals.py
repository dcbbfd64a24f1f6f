"""Labels that arrive after the competition was created."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition.arrivals import Arrival, with_arrived_labels
from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.rebuild import CAUSES, LABELS_ADDED
from arena.config import ServerSection
from arena.errors import InputError, UsageError
from arena.intake import read_solution
from arena.server.scorer.facts import facts
from arena.types import PredictionKind, Solution, SolutionColumns
from arena.utils.parallel import NoProgress
from program import run_here, write_csv
from scenario import MANAGER, Scenario

N_ROWS = 40
IDS = [f"r{row}" for row in range(N_ROWS)]
TRUTH = np.random.default_rng(5).normal(size=N_ROWS).round(3)
USAGE = np.where(np.arange(N_ROWS) % 2 == 0, "Public", "Private")
KNOWN = np.arange(N_ROWS) < 10
"""Five public and five private rows."""


def solution(has_label: Any) -> dict[str, Any]:
    return {"id": IDS, "y": np.where(has_label, TRUTH.astype(str), ""), "Usage": USAGE}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    settings = {"metric": "mae", "pending_labels": True, "intervals": True}
    return Scenario(tmp_path, solution(KNOWN), settings=settings)


def labels(rows: Any, shift: float = 0.0) -> dict[str, list[Any]]:
    return {"id": [IDS[row] for row in rows], "y": [str(TRUTH[row] + shift) for row in rows]}


def error_on(rows: Any) -> float:
    """Return the score of a file of zeros."""
    return float(np.abs(TRUTH[rows]).mean())


ZEROS = {"id": IDS, "y": ["0"] * N_ROWS}
ONES = {"id": IDS, "y": ["1"] * N_ROWS}


def test_a_server_shows_of_public_labels_only_how_many_are_to_arrive(tmp_path: Path) -> None:
    public = USAGE == "Public"
    settings = {"metric": "mae", "pending_labels": True}
    for name, has_label, pending in (
        ("none", public | (np.arange(N_ROWS) < 20), None),
        ("some", ~public | (np.arange(N_ROWS) < 20), {"pending": 10, "n_rows": 10}),
    ):
        scenario = Scenario(tmp_path / name, solution(has_label), settings=settings)
        with scenario.create() as competition:
            assert facts(competition, "race", ServerSection()).pending_labels == pending


@pytest.mark.slow
def test_boards_follow_labels_that_arrive(tmp_path: Path, scenario: Scenario) -> None:
    public, arrived = USAGE == "Public", np.arange(N_ROWS) < 30
    with scenario.create() as competition:
        submission = competition.submit(ZEROS, "A")
        competition.submit(ONES, "B")
        assert submission.released == pytest.approx(error_on(KNOWN & public))
        assert competition.pending_labels(private=False) == (15, 5)
        result = competition.finalize(intervals=False)
        assert (result.n_rows, result.n_pending) == (5, 15)
        assert "5 of 20 private rows" in result.ranked_on
        competition.publish()
        changes = competition.add_labels(labels(np.flatnonzero(arrived)))  # some are repeated
        assert {change.team for change in changes if change.rescored} == {"A", "B"}
        (board,) = (row for row in competition.leaderboard() if row["team"] == "A")
        assert board["score"] == pytest.approx(error_on(arrived & public))
        mark = competition.mark(private=False)
        assert mark is not None
        assert mark.cause == CAUSES[LABELS_ADDED]
        assert competition.results()[0]["mark"]["cause"] == CAUSES[LABELS_ADDED]
        assert competition.pending_labels(private=True) == (5, 15)
        (event,) = competition.events(LABELS_ADDED)
        assert event.payload["labels"] == {"private": 10, "public": 10}
        competition.add_labels(labels(range(N_ROWS)))
        assert competition.pending_labels(private=True) is None
        competition.finalize(intervals=False)
        rows = {row["team"]: row["score"] for row in competition.private_leaderboard()}
        assert rows["A"] == pytest.approx(error_on(~public))
        assert competition.audit() == ()
        competition.export(tmp_path / "export")
    complete = scenario.write("complete", solution(True))
    assert verify_bundle(tmp_path / "export", complete, MANAGER, NoProgress()) == ()
    incomplete = tmp_path / "solution.csv"
    problems = verify_bundle(tmp_path / "export", incomplete, MANAGER, NoProgress())
    assert problems[0].startswith("This is not the solution")


@pytest.mark.slow
def test_a_competition_may_begin_without_any_label(scenario: Scenario) -> None:
    with replace(scenario, solution=solution(False)).create() as competition:
        submission = competition.submit(ZEROS, "A")
        assert (submission.status, submission.released) == ("accepted", None)
        assert competition.leaderboard() == []
        with pytest.raises(UsageError, match="No private row has a label yet"):
            competition.finalize()
        competition.add_labels(labels(range(N_ROWS)))
        assert competition.leaderboard()[0]["score"] == pytest.approx(error_on(USAGE == "Public"))


@pytest.mark.slow
def test_what_is_refused(scenario: Scenario) -> None:
    with scenario.create() as competition:
        head = competition.head()
        for message, new_labels in {
            "another label for 2 rows": labels([0, 1, 30], shift=1.0),
            "no label for a row that lacks one": labels([0, 1]),
            "1 id of the file, such as 'x', is not in the solution": {"id": ["x"], "y": ["1"]},
            "another usage for 1 row of the solution, such as id 'r30'": {
                **labels([30]), "Usage": ["Private"],
            },
            "more than once|already occurs": {"id": ["r30", "r30"], "y": ["1", "2"]},
        }.items():  # fmt: skip
            with pytest.raises(InputError, match=rf"({message}).*Nothing was changed\.$"):
                competition.add_labels(new_labels)
        everything = {**labels(range(N_ROWS)), "Usage": list(USAGE)}
        with pytest.raises(InputError, match="add those that arrived by arena labels add"):
            competition.rescore(everything)
        assert competition.head() == head


@pytest.mark.slow
def test_labels_that_may_arrive_are_known_before(tmp_path: Path, scenario: Scenario) -> None:
    rows = {"id": ["a", "b", "c"], "y": ["x", "z", ""]}
    with pytest.raises(InputError, match="name all of them in .data. classes"):
        Competition.create(tmp_path / "a", rows, metric="accuracy", pending_labels=True)
    keys: dict[str, Any] = {"metric": "accuracy", "classes": ["x", "z"], "public_share": 0.0}
    with pytest.raises(InputError, match="target is empty"):
        Competition.create(tmp_path / "b", rows, **keys)
    competition = Competition.create(scenario.folder, rows, pending_labels=True, **keys)
    unknown = "'y', which the classes 'x', 'z' do not include"
    with competition, pytest.raises(InputError, match=unknown):
        competition.add_labels({"id": ["c"], "y": ["y"]})
    competition = Competition.create(tmp_path / "d", {"id": [1, 2], "y": [1, 2]}, metric="mae")
    with competition, pytest.raises(UsageError, match="Every row of this competition has a label"):
        competition.add_labels({"id": ["1"], "y": ["1"]})


@pytest.mark.slow
def test_the_command_says_what_arrived(tmp_path: Path, scenario: Scenario) -> None:
    with scenario.create() as competition:
        competition.submit(ZEROS, "A")
        competition.finalize(intervals=False)
    write_csv(tmp_path / "new.csv", ["id", "y"], [(IDS[row], TRUTH[row]) for row in range(20, 30)])
    done = run_here("labels", "add", tmp_path / "new.csv", "-C", scenario.folder, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "10 labels (private: 5, public: 5); 20 rows without a label." in done.stderr
    printed_board = run_here(
        "leaderboard", "--private", "--json", "-C", scenario.folder, cwd=tmp_path
    )
    board = json.loads(printed_board.stdout)  # as it was finalized, before the labels arrived
    assert (board["pending_labels"], board["mark"]["cause"]) == (
        {"pending": 15, "n_rows": 5},
        CAUSES[LABELS_ADDED],
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("has_labels", "usage", "sentence"),
    [
        (False, "Public", "no public row has a label"),
        (True, "Private", "No row is public"),
        (True, "Public", "send a first file"),
    ],
)
def test_an_empty_board_says_why(
    scenario: Scenario, has_labels: bool, usage: str, sentence: str
) -> None:
    """Labels, rows or files are missing: each needs something else."""
    column = np.where(np.arange(N_ROWS) % 2 == 0, usage, "Private")
    cells = np.where(has_labels | (column == "Private"), TRUTH.astype(str), "")
    scenario.solution = {"id": IDS, "y": cells, "Usage": column}
    with scenario.create(pending_labels=not has_labels) as competition:
        assert sentence in competition.empty_board_sentence


def test_labels_concern_the_phases_with_their_rows() -> None:
    pending = np.array([True, True, False])
    solution: Any = SimpleNamespace(pending=pending)
    arrival = Arrival(solution, {"dev": 1_200, "final": 1})
    assert arrival.sentence == "1,201 labels (dev: 1,200, final: 1); 2 rows without a label."

    def phase(public: set[str], private: set[str]) -> Any:
        return SimpleNamespace(public_usages=frozenset(public), private_usages=frozenset(private))

    assert arrival.concerns(None)
    assert arrival.concerns(phase({"x"}, {"final"}))
    assert arrival.concerns(phase({"dev"}, set()))
    assert not arrival.concerns(phase({"x"}, {"y"}))


STORED = "id,y,Usage\na,1.5,Public\nb,,Public\nc,,Private\nd,2,Private\ne,,Ignored\nf,,Private\n"


def read(folder: Path, content: str) -> Solution:
    path = folder / "solution.csv"
    path.write_text(content)
    columns = SolutionColumns(targets=("y",), pending_labels=True)
    return read_solution(path, kind=PredictionKind.VALUE, columns=columns)


def test_labels_of_a_file_fill_the_rows_that_lack_one(tmp_path: Path) -> None:
    """The file also repeats a known label, and has a label for an ignored row and a missing one."""
    stored = read(tmp_path, STORED)
    assert stored.pending.tolist() == [False, True, True, False, False, True]
    some = read(tmp_path, "id,y,Usage\nc,4,Private\ne,9,Public\na,1.5,Public\nf,,Private\n")
    arrival = with_arrived_labels(stored, some)
    assert (arrival.labels, arrival.solution.sha256) == ({"private": 1}, some.sha256)
    assert arrival.solution.truth[[0, 2, 3]].tolist() == [1.5, 4.0, 2.0]
    assert arrival.solution.pending.tolist() == [False, True, False, False, False, True]
    assert stored.pending.tolist() == [False, True, True, False, False, True]
    others = read(tmp_path, "id,y\nf,6\nb,3\n")
    arrival = with_arrived_labels(arrival.solution, others)
    assert list(arrival.labels.items()) == [("private", 1), ("public", 1)]
    assert arrival.solution.truth[[0, 1, 2, 3, 5]].tolist() == [1.5, 3.0, 4.0, 2.0, 6.0]
    assert not arrival.solution.pending.any()
    assert arrival.sentence == "2 labels (private: 1, public: 1); 0 rows without a label."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("id,y\nx,1\n", "1 id of the file, such as 'x', is not in the solution."),
        ("id,y\nb,1\nz,1\nx,1\n", "2 ids of the file, such as 'z', are not in the solution."),
        (
            "id,y\nb,1\nd,2.5\n",
            "The file has another label for 1 row with a label, such as id 'd'. To correct labels, "
            "use arena rescore.",
        ),
        (
            "id,y\nd,2.5\nb,1\na,1\n",
            "The file has another label for 2 rows with a label, such as id 'd'. To correct "
            "labels, use arena rescore.",
        ),
        (
            "id,y,Usage\nb,1,Public\nc,1,Public\nf,1,Public\n",
            "The file has another usage for 2 rows of the solution, such as id 'c': the usage of a "
            "row does not change.",
        ),
        (
            "id,y,Usage\nb,1,Public\nd,2,Public\n",
            "The file has another usage for 1 row of the solution, such as id 'd': the usage of a "
            "row does not change.",
        ),
        ("id,y\na,1.5\ne,1\nb,\n", "The file has no label for a row that lacks one."),
        (
            "id,z\nb,1\n",
            "The targets of the file are not those of the solution: name the columns as there.",
        ),
    ],
)
def test_a_file_of_labels_is_refused_in_a_sentence(
    tmp_path: Path, content: str, sentence: str
) -> None:
    stored, path = read(tmp_path, STORED), tmp_path / "labels.csv"
    path.write_text(content)
    columns = SolutionColumns(pending_labels=True)
    labels_read = read_solution(path, kind=PredictionKind.VALUE, columns=columns)
    with pytest.raises(InputError) as refused:
        with_arrived_labels(stored, labels_read)
    assert str(refused.value) == sentence
