"""The public board follows from the submissions that count and the labels, after every decision.

The mechanism answers a file that is no improvement with the score of an earlier file. What it
shows for that earlier file must not outlive it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.competition.record.rebuild import (
    CAUSES,
    LABELS_ADDED,
    REBUILT,
    release_by_instances,
)
from arena.interfaces import Scope
from arena.public_board import releaser
from arena.types import Usage
from program import write_csv
from scenario import IDS, N_ROWS, PUBLIC, TRUTH, Scenario, settings_of, standings

MECHANISMS = ["ladder-free", "ladder", "noisy-ladder", "thresholdout", "kaggle", "full"]


@pytest.mark.slow
def test_a_file_that_is_sent_again_gets_its_first_answer(scenario: Scenario) -> None:
    with scenario.create(mechanism="ladder-free") as competition:
        scenario.send(competition, ("A", 90))
        first = competition.submit(scenario.file_right_on(61), "A")
        competition.disqualify(1, "a leak")
        assert standings(competition) == [(1, "A", 0.61, 2)]
        again = competition.submit(scenario.file_right_on(61), "A")
    assert again == first
    assert (again.released, again.known) == (0.9, True)


def test_a_disqualified_file_leaves_no_score_behind(scenario: Scenario) -> None:
    with scenario.create(mechanism="ladder-free") as competition:
        scenario.send(competition, ("A", 90), ("A", 61), ("A", 72), ("B", 81))
        # 61 and 72 of 100 are no improvement, so 90 is shown for them.
        assert standings(competition) == [(1, "A", 0.9, 1), (2, "B", 0.81, 4)]
        competition.disqualify(1, "a leak")
        assert standings(competition) == [(1, "B", 0.81, 4), (2, "A", 0.72, 3)]
        scenario.send(competition, ("A", 75))
        assert standings(competition) == [(1, "B", 0.81, 4), (2, "A", 0.75, 5)]
        competition.reinstate(submission=1, reason="a mistake")
        assert standings(competition) == [(1, "A", 0.9, 1), (2, "B", 0.81, 4)]
        rebuilt = [event.payload for event in competition.events() if event.kind == REBUILT]
    assert [payload["cause"] for payload in rebuilt] == ["disqualification", "reinstatement"]
    assert rebuilt[0]["released"] == [[1, None], [2, 0.61], [3, 0.72]]
    with scenario.reopen() as competition:
        assert standings(competition)[0] == (1, "A", 0.9, 1)


@pytest.mark.slow
@pytest.mark.parametrize("scope", get_args(Scope))
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_board_after_decisions_is_that_of_a_competition_without_the_file(
    tmp_path: Path, mechanism: str, scope: str
) -> None:
    """Noise follows the submission's number, so a file that is left out is sent and disqualified
    before the others in the one competition, and after them in the other."""
    uploads = [("A", 61), ("B", 70), ("A", 72), ("C", 40), ("B", 69)]
    boards = []
    for early in (True, False):
        folder = tmp_path / str(early)
        folder.mkdir()
        with Scenario(folder).create(mechanism=mechanism, scope=scope) as competition:
            Scenario(folder).send(competition, ("A", 95))
            if early:
                competition.disqualify(1, "a leak")
            Scenario(folder).send(competition, *uploads)
            if not early:
                competition.disqualify(1, "a leak")
            boards.append(competition.leaderboard())
    assert boards[0] == boards[1]


@pytest.mark.parametrize(
    ("teams", "expected"), [(None, [2, 1, 3, 4, 5]), (("a",), [2, 1, 4, 5]), ((), [2, 5])]
)
def test_a_mechanism_starts_from_the_first_file_of_the_baseline(
    monkeypatch: pytest.MonkeyPatch, teams: tuple[str, ...] | None, expected: list[int]
) -> None:
    """The other submissions follow by number, those of the baseline included."""
    history = {1: "a", 2: "zero", 3: "b", 4: "a", 5: "zero"}
    released = []

    def release_again(releasers: Any, references: Any, **_: Any) -> list[Any]:
        released.extend((ref.submission, ref.team, ref.late) for ref in references)
        return [(references[0], ["first"]), (references[1], [None])]

    monkeypatch.setattr(releaser, "make_releaser", lambda *_, **named: named["seed"])
    monkeypatch.setattr(releaser, "release_again", release_again)
    settings = settings_of(baseline="zero")
    solution = SimpleNamespace(usage=np.array([Usage.PUBLIC, Usage.PRIVATE], dtype=np.uint8))
    facts: Any = SimpleNamespace(
        **dict.fromkeys(("store", "manager", "seed", "prefix", "scores", "score_changes")),
        solution=solution,
        settings=settings,
        history=lambda: history,
        ledger=SimpleNamespace(late=lambda: {4}),
    )
    assert release_by_instances(facts, teams) == {2: "first"}
    assert released == [(number, history[number], number == 4) for number in expected]
    solution.usage[:] = Usage.PRIVATE
    assert release_by_instances(facts, teams) == {}


def disqualified(competition: Competition, folder: Path) -> None:
    competition.disqualify(1, "a leak")


def reinstated(competition: Competition, folder: Path) -> None:
    competition.disqualify(1, "a leak")
    competition.reinstate(submission=1, reason="a mistake")


def merged(competition: Competition, folder: Path) -> None:
    competition.merge_teams("C", "A")


def rescored(competition: Competition, folder: Path) -> None:
    usage = np.where(PUBLIC, "Public", "Private")
    truth = np.where(np.arange(N_ROWS) < 40, 1 - TRUTH, TRUTH)
    write_csv(folder / "new.csv", ["id", "y", "Usage"], zip(IDS, truth, usage, strict=True))
    competition.rescore(folder / "new.csv", apply=True)


def other_baseline(competition: Competition, folder: Path) -> None:
    competition.close()
    Scenario(folder).configure(mechanism="ladder(eta=0.01, start=baseline)", baseline="C")


CHANGES: dict[str, Callable[[Competition, Path], None]] = {
    "disqualification": disqualified,
    "reinstatement": reinstated,
    "team merged": merged,
    "rescored": rescored,
    "configuration": other_baseline,
}
"""The kind of an event that can change the board -> how it comes about."""


def test_every_cause_of_a_rebuild_has_a_text_and_a_test() -> None:
    assert CAUSES.keys() == {*CHANGES, LABELS_ADDED}  # the last in test_arrivals.py
    source = Path(__file__).parents[2] / "arena/competition"
    decisions = (source / "decisions.py").read_text(encoding="utf-8")
    assert set(re.findall(r'_record_decision\(\s*state, "(\w+)"', decisions)) <= CAUSES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("cause", CHANGES)
def test_the_board_after_a_change_is_the_replayed_one(
    tmp_path: Path, scenario: Scenario, cause: str
) -> None:
    keys = {"mechanism": "ladder(eta=0.01)"}
    if cause == "configuration":
        keys = {"mechanism": "ladder(eta=0.01, start=baseline)", "baseline": "B"}
    with scenario.create(**keys) as competition:
        scenario.send(competition, ("B", 50), ("C", 55), ("A", 90), ("A", 61), ("C", 80))
        CHANGES[cause](competition, tmp_path)
    with scenario.reopen() as competition:
        causes = [event.payload["cause"] for event in competition.events() if event.kind == REBUILT]
        replayed = competition.replay([competition.settings.public.mechanism])
        board = {row["team"]: row["score"] for row in competition.leaderboard()}
        again = {row["team"]: row["score"] for row in replayed.replayed[0].standings}
    assert board == again
    if cause in {"rescored", "configuration"}:
        assert causes == [cause]


@pytest.mark.slow
@pytest.mark.parametrize("change", [disqualified, merged, rescored])
def test_a_published_result_is_marked_at_once_and_until_the_next_one(
    tmp_path: Path, scenario: Scenario, change: Callable[[Competition, Path], None]
) -> None:
    with scenario.create(mechanism="ladder-free") as competition:
        scenario.send(competition, ("B", 50), ("C", 55), ("A", 90), ("A", 61), ("C", 80))
        competition.finalize()
        assert competition.mark(private=True) is None
        change(competition, tmp_path)
        mark = competition.mark(private=True)
        assert mark is not None
        assert mark.cause in CAUSES.values()
    with scenario.reopen() as competition:
        assert competition.mark(private=True) == mark
        competition.finalize()
        assert competition.mark(private=True) is None
        assert competition.mark(private=False) is not None


@pytest.mark.slow
def test_noise_is_fresh_where_a_score_changed_and_the_same_where_not(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create(mechanism="noisy-ladder") as competition:
        scenario.send(competition, ("A", 61), ("B", 70))
        before = competition.leaderboard()
        competition.disqualify(1, "a leak")
        competition.reinstate(submission=1, reason="a mistake")
        assert competition.leaderboard() == before
        rescored(competition, tmp_path)
        rescored_noise = {
            row["team"]: row["score"] - score
            for row, score in zip(
                sorted(competition.leaderboard(), key=lambda row: row["team"]),
                _public_scores(),
                strict=True,
            )
        }
    first_noise = {
        row["team"]: row["score"] - score
        for row, score in zip(
            sorted(before, key=lambda row: row["team"]), (0.61, 0.70), strict=True
        )
    }
    assert all(rescored_noise[team] != pytest.approx(first_noise[team]) for team in first_noise)


def _public_scores() -> list[float]:
    """Return the scores of the two files by the corrected labels, of which 20 are public."""
    truth = np.where(np.arange(N_ROWS) < 40, 1 - TRUTH, TRUTH)[PUBLIC]
    first = TRUTH[PUBLIC]
    return [
        float(np.mean(np.where(np.arange(100) >= right, 1 - first, first) == truth))
        for right in (61, 70)
    ]


@pytest.mark.slow
def test_teams_whose_facts_did_not_change_keep_their_releases(scenario: Scenario) -> None:
    with scenario.create(mechanism="noisy-ladder") as competition:
        scenario.send(competition, ("A", 90), ("A", 61), ("B", 70))
        before = {row["team"]: row for row in competition.leaderboard()}
        competition.disqualify(1, "a leak")
        after = {row["team"]: row for row in competition.leaderboard()}
        assert {**after["B"], "rank": None} == {**before["B"], "rank": None}
        rebuilt = [event.payload for event in competition.events() if event.kind == REBUILT]
    assert [number for number, _ in rebuilt[0]["released"]] == [1, 2]
