"""Boards over phases that are tasks: each phase by its own metric, and one score of all."""

from __future__ import annotations

import json
import operator
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition.boards.boards_over_phases import (
    files_by_team,
    note_on_missed_phases,
    phases_by_board,
)
from arena.competition.boards.counted_submissions import phases_of_final_boards
from arena.competition.boards.outdated_board import FINAL_CAUSES
from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.config import CONFIG_NAME, Settings, settings_as_toml
from arena.errors import InputError, UsageError
from arena.requests import Request
from arena.utils.parallel import NoProgress
from program import run_here, write_csv
from scenario import MANAGER, Clock, Scenario

SIZES = {"detect": 60, "classify": 120}
"""The number of rows of each task, of which every second one is public."""
METRICS = {"detect": "accuracy", "classify": "mcc"}
ROWS = [(f"{task}/{row}", task, row) for task, size in SIZES.items() for row in range(size)]
WRONG: Mapping[str, tuple[int | None, int | None]] = {
    "base": (24, 20),
    "Ants": (4, 12),
    "Bees": (8, 6),
    "Cats": (0, None),
}
"""How many of the last rows of each task a file has wrong; None: none was sent."""


def phases(**detect: Any) -> dict[str, dict[str, Any]]:
    tasks = {
        task: {
            "public_rows": f"{task} public", "private_rows": f"{task} private", "metric": metric
        }
        for task, metric in METRICS.items()
    }  # fmt: skip
    return {**tasks, "detect": {**tasks["detect"], **detect}}


def settings_with(board: Mapping[str, Any], **keys: Any) -> Settings:
    arguments = {
        "mechanism": "full",
        "baseline": "base",
        "resamples": 20,
        "deadline": "2026-04-01",
        "phase": phases(),
    }
    boards = {"overall": {"phases": ["detect", "classify"], **board}}
    return Settings.of(metric="accuracy", board=boards, **{**arguments, **keys})


def label(row: int, *, wrong: bool = False) -> str:
    return str((row // 2 % 2) ^ wrong)


def cells(task: str, wrong: int) -> dict[str, list[str]]:
    rows = [(name, row) for name, of, row in ROWS if of == task]
    first_wrong = SIZES[task] - wrong
    return {
        "id": [name for name, _ in rows],
        "y": [label(row, wrong=row >= first_wrong) for _, row in rows],
    }


def create(folder: Path, settings: Settings) -> Competition:
    """Make a competition in which the files of WRONG were sent, and all phases have ended."""
    rows = [
        (name, label(row), f"{task} {'private' if row % 2 else 'public'}")
        for name, task, row in ROWS
    ]
    write_csv(folder / "solution.csv", ["id", "y", "Usage"], rows)
    clock = Clock(datetime(2026, 3, 1, tzinfo=UTC))
    competition = Competition.create(
        folder / "c", folder / "solution.csv", settings, seed=1, manager=MANAGER, clock=clock
    )
    for team, of_tasks in WRONG.items():
        for task, wrong in zip(SIZES, of_tasks, strict=True):
            if wrong is not None:
                submission = competition.submit(cells(task, wrong), team, phase=task)
                assert submission.status == "accepted"
    clock.now = datetime(2026, 5, 1, tzinfo=UTC)
    return competition


def scores_of(team: str) -> tuple[float, float]:
    """Return accuracy and MCC on the private rows, both classes of which have as many errors."""
    shares = [
        1 - (WRONG[team][k] if WRONG[team][k] is not None else WRONG["base"][k]) / size
        for k, size in enumerate(SIZES.values())
    ]
    truth = np.array([row // 2 % 2 for row in range(1, SIZES["classify"], 2)])
    wrong = WRONG[team][1] if WRONG[team][1] is not None else WRONG["base"][1]
    guess = truth ^ (np.arange(1, SIZES["classify"], 2) >= SIZES["classify"] - wrong)
    return shares[0], float(np.corrcoef(truth, guess)[0, 1])


COMBINED: Mapping[str, tuple[dict[str, Any], Any]] = {
    "mean": ({}, lambda a, b: (a + b) / 2),
    "weighted": ({"weights": {"classify": 3}}, lambda a, b: (a + 3 * b) / 4),
    "rows": ({"rank_by": "rows"}, lambda a, b: (30 * a + 60 * b) / 90),
    "geometric": ({"rank_by": "geometric"}, lambda a, b: (a * b) ** 0.5),
    "worst": ({"rank_by": "worst"}, min),
}


def _reference(name: str, of_baseline: float) -> float:
    """Return what the scores of a board are divided by."""
    return of_baseline if name == "geometric" else 1.0


@pytest.mark.slow
def test_each_phase_counts_by_its_own_metric(tmp_path: Path) -> None:
    boards = {
        name: {"phases": ["detect", "classify"], "missing": "baseline", **board}
        for name, (board, _) in COMBINED.items()
    }
    boards["ranks"] = {"phases": ["detect", "classify"], "rank_by": "mean_rank"}
    settings = settings_with({})
    settings = Settings.model_validate({**settings.to_document(), "board": boards})
    with create(tmp_path, settings) as competition:
        competition.in_phase("classify").finalize()
        assert not [
            finding
            for finding in competition.in_phase("classify").final_result()["findings"]
            if finding["analysis"].startswith("board")
        ]
        detect = competition.in_phase("detect")
        detect.finalize()
        for name, (_, combine) in COMBINED.items():
            rows = {row["team"]: row for row in detect.private_leaderboard(board=name)}
            assert {team: row["score"] for team, row in rows.items()} == pytest.approx(
                {
                    team: combine(*scores_of(team)) / _reference(name, combine(*scores_of("base")))
                    for team in WRONG
                }
            )
            assert rows["base"]["rank"] is None
        ranks = {row["team"]: row["rank"] for row in detect.private_leaderboard(board="ranks")}
        assert ranks == {"Ants": 1, "Bees": 1, "base": None}
        (best, *_) = detect.private_leaderboard(board="mean")
        assert best["mcc of classify"] == pytest.approx(scores_of(best["team"])[1])
        verdicts = [finding["verdict"] for finding in detect.final_result()["findings"]]
        assert any("mean of accuracy and mcc over phases" in verdict for verdict in verdicts)
        detect.publish()
        detect.export(tmp_path / "export")
        assert competition.audit() == ()
        # A file of another phase decides the board as well.
        (number,) = (
            row["submission"] for row in competition.submissions("Bees")
            if row["phase"] == "classify"
        )  # fmt: skip
        competition.disqualify(number, "a leak")
        assert detect.results()[0]["mark"]["cause"] == FINAL_CAUSES["disqualification"]
        assert competition.in_phase("classify").outdated() is not None
    export = (tmp_path / "export", tmp_path / "solution.csv", MANAGER, NoProgress())
    assert verify_bundle(*export) == ()


def test_a_board_is_in_the_result_of_the_phase_that_ends_last() -> None:
    boards = {"overall": ("detect", "classify")}
    together = settings_with({}, deadline="2026-04-01")
    assert phases_by_board(together, "detect") == boards
    assert phases_by_board(together, "classify") == {}
    sooner = settings_with({}, deadline="2026-04-01", phase=phases(end="2026-03-20"))
    assert phases_by_board(sooner, "detect") == {}
    assert phases_by_board(sooner, "classify") == boards
    without = sooner.model_copy(update={"board": {}})
    for settings, phase, depends_on in (
        (sooner, "classify", ("detect", "classify")), (sooner, "detect", ()), (sooner, None, ()),
        (without, "classify", ()),
    ):  # fmt: skip
        state: Any = SimpleNamespace(with_phases=settings, phase=phase)
        assert phases_of_final_boards(state) == depends_on


SAME_ROWS = phases(private_rows=["detect private", "classify private"])
REFUSED: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], str]] = [
    ({"phases": ["detect", "spans"]}, {}, "names 'spans', which is no phase"),
    ({"phases": ["detect"]}, {}, "at least two phases, each named once"),
    ({"phases": ["detect", "detect"]}, {}, "at least two phases, each named once"),
    ({"series": "week"}, {}, "phases and series exclude each other"),
    ({"columns": ["mcc"]}, {}, "columns and tasks are not possible beside phases"),
    ({"weights": {"spans": 2, "boxes": 2}}, {}, "there is no phase 'boxes' to weight"),
    ({"weights": {"detect": 2}, "rank_by": "worst"}, {}, "takes no weights"),
    ({"missing": "baseline"}, {"baseline": None}, "needs .competition. baseline"),
    ({}, {"final_rule": "best_private"}, "needs one final file in each phase"),
    ({}, {"phase": phases(private_rows=None)}, "the phase detect has no private rows"),
    ({}, {"phase": SAME_ROWS}, "share rows marked as classify private, which would count twice"),
]  # fmt: skip


@pytest.mark.parametrize(("board", "keys", "message"), REFUSED)
def test_contradictions_are_refused_by_name(
    board: Mapping[str, Any], keys: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        settings_with(board, **keys)


@pytest.mark.slow
def test_directions_that_differ_are_refused_at_once(tmp_path: Path, scenario: Scenario) -> None:
    of_losses = settings_with({}, phase=phases(metric="sklearn:zero_one_loss"))
    with pytest.raises(InputError, match=r"\[board.overall\].*smaller values of detect are better"):
        create(tmp_path, of_losses)
    assert not scenario.folder.exists()
    create(tmp_path, settings_with({"rank_by": "mean_rank"}, phase=of_losses.phase)).close()
    (scenario.folder / CONFIG_NAME).write_text(settings_as_toml(of_losses), encoding="utf-8")
    with pytest.raises(InputError, match=r"\[board.overall\].*mean has no direction"):
        scenario.reopen()


@pytest.mark.slow
def test_a_public_board_combines_what_the_boards_of_phases_show(tmp_path: Path) -> None:
    boards = {
        name: {"phases": ["detect", "classify"], "missing": "baseline", **board}
        for name, (board, _) in COMBINED.items()
    }
    boards["ranks"] = {"phases": ["detect", "classify"], "rank_by": "mean_rank"}
    boards["filled"] = {"phases": ["detect", "classify"], "missing": "worst"}
    document = settings_with({}, bracket={"students": {}}).to_document()
    settings = Settings.model_validate({**document, "board": boards})
    with create(tmp_path, settings) as competition:
        competition.assign_bracket("Bees", "students")
        public_scores = {
            task: {row["team"]: row["score"] for row in competition.in_phase(task).leaderboard()}
            for task in SIZES
        }
        for name, (_, combine) in COMBINED.items():
            released = competition.released_board(name)
            of_base = combine(*(public_scores[task]["base"] for task in SIZES))
            expected = {
                team: combine(
                    *(public_scores[task].get(team, public_scores[task]["base"]) for task in SIZES)
                )
                / _reference(name, of_base)
                for team in WRONG
            }
            scores = {row["team"]: row["score"] for row in released.standings}
            assert scores == pytest.approx(expected)
            ranked = [row for row in released.standings if row["rank"] is not None]
            assert [row["rank"] for row in ranked] == [1, 2, 3]
            assert sorted(ranked, key=lambda row: -row["score"]) == ranked
            assert {row["team"]: row["n_submissions"] for row in ranked} == {
                "Ants": 2, "Bees": 2, "Cats": 1
            }  # fmt: skip
        of_teams = [
            {team: score for team, score in scores.items() if team != "base"}
            for scores in public_scores.values()
        ]
        filled = {
            row["team"]: row["score"] for row in competition.released_board("filled").standings
        }
        assert filled["Cats"] == pytest.approx(
            np.mean([scores.get("Cats", min(scores.values())) for scores in of_teams])
        )
        (ants, bees, base) = competition.released_board("ranks").standings
        assert (ants["score"], bees["score"], base["score"]) == (1.5, 1.5, None)
        assert bees["brackets"] == {"students": {"rank": 1}}
        expected_rows = [*competition.released_board("mean").standings]
    printed = run_here("leaderboard", "-C", tmp_path / "c", "--board", "mean", cwd=tmp_path)
    assert "mean of accuracy and mcc over phases" in printed.stdout
    document = run_here(
        "leaderboard", "-C", tmp_path / "c", "--board", "mean", "--json", cwd=tmp_path
    )
    rows = json.loads(document.stdout)["standings"]
    assert rows == expected_rows
    refused = run_here("leaderboard", "-C", tmp_path / "c", "--board", "x", cwd=tmp_path)
    assert "There is no public board 'x' over phases. There are: mean" in refused.stderr


def test_a_phase_that_shows_no_score_does_not_count(tmp_path: Path) -> None:
    hidden = phases(public={"scores": "hidden"})
    with create(tmp_path, settings_with({}, phase=hidden)) as competition:
        released = competition.released_board("overall")
        assert (released.phases, [*released.standings]) == (("classify",), [])


def _number(competition: Competition, team: str, task: str) -> int:
    (number,) = (row["submission"] for row in competition.submissions(team) if row["phase"] == task)
    return int(number)


def _configured(**changes: Any) -> Callable[[Competition, Path], None]:
    """Return the change of sections or keys of the settings, such as ``phase__detect__end``."""

    def change(competition: Competition, folder: Path) -> None:
        document = competition.settings.to_document()
        for place, value in changes.items():
            *names, key = place.split("__")
            reduce(operator.getitem, names, document)[key] = value
        text = settings_as_toml(Settings.model_validate(document))
        (folder / "c" / CONFIG_NAME).write_text(text, encoding="utf-8")

    return change


def _rescored_metric(competition: Competition, folder: Path) -> None:
    _configured(phase__classify__metric={"name": "accuracy"})(competition, folder)
    competition.close()
    with Competition.open(folder / "c", manager=MANAGER, clock=_after_the_end) as again:
        again.rescore(apply=True)


def _after_the_end() -> datetime:
    return datetime(2026, 5, 1, tzinfo=UTC)


FACTS: Mapping[str, tuple[Callable[[Competition, Path], Any], str | None, Sequence[str]]] = {
    "nothing": (lambda *_: None, None, ["Bees", "Ants", "Cats"]),
    "a file of another phase is disqualified": (
        lambda c, _: c.disqualify(_number(c, "Ants", "classify"), "a leak"),
        FINAL_CAUSES["disqualification"], ["Bees", "Cats", "Ants"],
    ),
    "a team is renamed": (
        lambda c, _: c.rename_team("Ants", "Bugs"), None, ["Bees", "Bugs", "Cats"],
    ),
    "teams are merged": (
        lambda c, _: c.merge_teams("Cats", "Bees"), FINAL_CAUSES["team merged"], ["Bees", "Ants"],
    ),
    "the metric of another phase": (
        _rescored_metric, FINAL_CAUSES["rescored"], ["Ants", "Cats", "Bees"],
    ),
    "the weights": (
        _configured(board__overall__weights={"detect": 2.0}),
        FINAL_CAUSES["configuration"], ["Ants", "Cats", "Bees"],
    ),
    "what a missed phase counts": (
        _configured(board__overall__missing="unranked"),
        FINAL_CAUSES["configuration"], ["Bees", "Ants"],
    ),
    "the baseline": (
        _configured(competition__baseline="Bees"),
        FINAL_CAUSES["configuration"], ["Cats", "Ants", "base"],
    ),
    "another phase ends last": (
        _configured(phase__classify__end="2026-06-01T00:00:00Z"),
        FINAL_CAUSES["configuration"], ["Bees", "Ants", "Cats"],
    ),
    "the final rule of another phase": (
        _configured(phase__classify__final={"rule": "last"}),
        FINAL_CAUSES["configuration"], ["Bees", "Ants", "Cats"],
    ),
}  # fmt: skip
"""A fact -> its change, the mark of the published result, and the teams of the public board."""


@pytest.mark.slow
def test_both_boards_follow_the_facts_of_every_phase(tmp_path: Path) -> None:
    with create(tmp_path, settings_with({"missing": "baseline"})) as competition:
        competition.in_phase("detect").finalize()
        competition.in_phase("detect").publish()
    for number, (name, (change, cause, teams)) in enumerate(FACTS.items()):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "c", folder / "c")
        with Competition.open(folder / "c", manager=MANAGER, clock=_after_the_end) as competition:
            change(competition, folder)
        with Competition.open(folder / "c", manager=MANAGER, clock=_after_the_end) as competition:
            mark = competition.in_phase("detect").results()[0]["mark"]
            assert (mark and mark["cause"]) == cause, name
            rows = competition.released_board("overall").standings
            assert [row["team"] for row in rows if row["rank"] is not None] == teams, name
            assert competition.audit() == (), name
    end = {"phase.classify.end": ["2026-04-01T00:00:00+00:00", "2026-06-01T00:00:00+00:00"]}
    payload = {"changes": end, "texts": {}}
    request = Request(
        1, "r1", kind="configure", team="", member="", received=_after_the_end(), payload=payload
    )
    with Competition.open(tmp_path / "c", manager=MANAGER, clock=_after_the_end) as competition:
        (answer,) = competition.process([request], seconds=60.0)
    assert answer.message.endswith(" This marks result 1.")


def test_a_note_says_what_a_missed_phase_counts() -> None:
    section, rows = SimpleNamespace(series="", missing="unranked"), SimpleNamespace()
    rows.phases, rows.empty = ("a", "b"), ()
    board: Any = SimpleNamespace(rows=rows, left_out=[])

    def note() -> str:
        text: str = note_on_missed_phases(section, board)  # type: ignore[arg-type]
        return text

    assert note() == "2 phases. No team missed one."
    board.left_out = ["Ants"]
    assert note() == "2 phases. 1 team missed a phase and is not ranked."
    board.left_out = ["Ants", "Bees"]
    assert note() == "2 phases. 2 teams missed a phase and are not ranked."
    section.series, rows.empty = "week", ("c", "d")
    assert note() == (
        "2 rounds. No file was sent to c, d: it counts for no team. 2 teams missed a round and are "
        "not ranked."
    )
    section.missing = "baseline"
    assert note().endswith("In a round that a team missed, the baseline's file counts for it.")
    section.missing = "worst"
    assert note().endswith(
        "In a round that a team missed, the worst score of a ranked team there counts for it, as a "
        "number without error."
    )


@pytest.mark.parametrize(
    ("missing", "files", "left_out"),
    [
        ("unranked", {"a": (1, 2), "base": (5, 6)}, ["b", "c"]),
        ("worst", {"a": (1, 2), "b": (3, None), "base": (5, 6), "c": (None, 4)}, []),
        ("baseline", {"a": (1, 2), "b": (3, 6), "base": (5, 6), "c": (5, 4)}, []),
    ],
)
def test_teams_that_missed_a_phase_are_left_out_or_have_another_file(
    missing: str, files: Any, left_out: list[str]
) -> None:
    finals: Any = SimpleNamespace(
        settings=SimpleNamespace(
            board={"both": SimpleNamespace(missing=missing)},
            competition=SimpleNamespace(reference="base"),
        ),
        files={"dev": {"a": 1, "b": 3, "base": 5}, "final": {"a": 2, "c": 4, "base": 6}},
    )
    assert files_by_team("both", finals, ["dev", "final"]) == (files, left_out)
    del finals.files["final"]["base"]
    if missing == "baseline":
        with pytest.raises(UsageError) as refused:
            files_by_team("both", finals, ["dev", "final"])
        assert str(refused.value) == (
            "[board.both]: the baseline 'base' has no file in the phase final, in which it stands "
            'for teams that missed it: submit one, or set missing to "unranked" or "worst".'
        )
