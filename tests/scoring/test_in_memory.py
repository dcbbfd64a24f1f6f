"""Data in memory give the same board and the same faults as files; errors say what was given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import arena
import arena.intake
import arena.report
from arena.errors import InputError, UsageError
from arena.evaluation.bootstrap import Resamples, draw_resamples
from arena.scoring import private_board
from arena.scoring.submissions import read_truth
from arena.types import PredictionKind, SolutionColumns

N = 60
RNG = np.random.default_rng(5)
IDS = [f"0{i}" for i in range(N)]
Y = RNG.integers(0, 2, N)
GOOD, BAD = np.clip(0.4 * Y + 0.6 * RNG.random(N), 0, 1), RNG.random(N)
SOLUTION = pd.DataFrame({"id": IDS, "y": Y})


def _frame(values: Any, library: Any = pd) -> Any:
    return library.DataFrame({"id": IDS, "y": values})


@pytest.mark.slow
def test_every_form_gives_the_board_of_the_files(tmp_path: Path) -> None:
    _frame(Y).to_csv(tmp_path / "solution.csv", index=False)
    (tmp_path / "sent").mkdir()
    for team, values in (("good", GOOD), ("bad", BAD), ("short", BAD)):
        rows = slice(1 if team == "short" else 0, N)
        _frame(values)[rows].to_csv(tmp_path / "sent" / f"{team}.csv", index=False)
    keywords: dict[str, Any] = {"metric": "roc_auc", "intervals": False, "workers": 1}
    files = arena.score(str(tmp_path / "solution.csv"), str(tmp_path / "sent"), **keywords)
    board = arena.score(
        pl.DataFrame({"id": IDS, "y": Y}),
        {
            "good": _frame(GOOD).set_index("id"),
            "bad": _frame(BAD, pl).sample(fraction=1, shuffle=True, seed=1),
            "short": {"id": IDS[1:], "y": BAD[1:]},
            "same": GOOD,
            "path": tmp_path / "sent" / "bad.csv",
        },
        **keywords,
    )
    scores = {row["team"]: row["score"] for row in board.standings}
    (good, bad) = (row["score"] for row in files.standings)
    assert scores == {"good": good, "same": good, "bad": bad, "path": bad}
    (rejected,), (expected,) = board.rejected, files.rejected
    assert rejected.file == "short"
    assert rejected.faults[0].message == expected.faults[0].message
    assert rejected.faults[0].id == expected.faults[0].id == IDS[0]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["roc_auc", "mae"])
def test_resamples_that_are_drawn_in_parts_give_the_same_board(
    metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keywords: dict[str, Any] = {"metric": metric, "resamples": 70, "workers": 1}
    submissions = {"good": GOOD, "bad": BAD}
    whole = arena.score(SOLUTION, submissions, **keywords).to_dict()
    monkeypatch.setattr(private_board, "WEIGHT_BYTES", 33 * N)
    calls = []

    def draw(n_rows: int, resamples: int, *given: Any, **named: Any) -> Resamples:
        calls.append((resamples, named["first"]))
        return draw_resamples(n_rows, resamples, *given, **named)

    monkeypatch.setattr(private_board, "draw_resamples", draw)
    assert arena.score(SOLUTION, submissions, **keywords).to_dict() == whole
    assert calls == [(33, 0), (33, 33), (4, 66)]


@pytest.mark.parametrize(
    ("solution", "submissions", "message"),
    [
        (3, {}, "The solution is a int: give a path"),
        (SOLUTION, [GOOD, BAD], "The submissions are a list of 2 items"),
        (SOLUTION, {"a": GOOD[:3]}, r"of 'a' is an array of shape \(3,\), but must have .*\(60,\)"),
        (SOLUTION, {"a": None}, "The submission of 'a' is None"),
        (SOLUTION, {"id": IDS, "y": GOOD}, "looks like one submission"),
        (SOLUTION, {"a": {"id": IDS, "y": GOOD[1:]}}, "different lengths: 'id' 60, 'y' 59"),
        (np.zeros((3, 2)), {}, r"The solution is an array of shape \(3, 2\)"),
        (SOLUTION, {}, "no submissions in a dictionary"),
        (SOLUTION.assign(id="x"), {"a": GOOD}, r"'\(a pandas DataFrame\)' cannot be used"),
        (pd.DataFrame({"id": [1, 2], "y": [1, ["secret"]]}), {}, "each column must have one type"),
    ],
)
def test_errors_say_what_was_given(solution: Any, submissions: Any, message: str) -> None:
    with pytest.raises((UsageError, InputError), match=message) as caught:
        arena.score(solution, submissions, metric="roc_auc", resamples=10)
    assert "secret" not in str(caught.value)


def test_a_result_names_the_positive_class_of_the_first_target() -> None:
    solution = {"id": IDS, "y": np.where(Y, "yes", "no"), "z": np.where(Y, "on", "off")}
    submissions = {"same": {**solution}, "short": {"id": IDS[1:], "y": IDS[1:], "z": IDS[1:]}}
    keywords: dict[str, Any] = {"metric": "accuracy", "target": ["y", "z"], "intervals": False}
    board = arena.score(solution, submissions, **keywords)
    assert (board.positive, board.standings[0]["score"]) == ("yes", 1)
    nothing = arena.score(solution, {"short": submissions["short"]}, **keywords)
    assert (nothing.standings, len(nothing.rejected), nothing.resamples) == ((), 1, 0)


def test_a_combination_without_intervals_has_the_scores_of_its_parts() -> None:
    keywords: dict[str, Any] = {"metric": ["roc_auc", "log_loss"], "combine": "mean_rank"}
    board = arena.score(SOLUTION, {"good": GOOD, "bad": BAD}, intervals=False, **keywords)
    assert [row["score"] for row in board.standings] == [1, 2]  # good is better by both
    good, bad = (row["roc_auc"] for row in board.standings)
    assert 0 < bad < good < 1


def test_empty_folders_are_named(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    for paths, named in ((folders, f"{folders[0]}, {folders[1]}"), (folders[0], str(folders[0]))):
        with pytest.raises(InputError, match=re.escape(f"no submissions in {named}.")):
            arena.score(SOLUTION, paths, metric="roc_auc")


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "No metric was given"),
        ({"metric": 3}, "The metric is 3"),
        ({"settings": "f1", "metric": "f1"}, "given twice"),
        ({"settings": arena.ScoreSettings("f1"), "level": 0.9}, r"keywords \(level\)"),
        ({"metric": "f1", "split": "test"}, "must be private, public or all"),
    ],
)
def test_a_setting_is_given_once(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        arena.score(SOLUTION, {"a": GOOD}, **keywords)


def test_weights_and_levels_are_keywords() -> None:
    weighed = SOLUTION.assign(w=np.where((GOOD > 0.5) == Y, 1.0, 0.0))
    board = arena.score(
        weighed, {"a": (GOOD > 0.5).astype(int)}, metric="accuracy", weight="w", intervals=False
    )
    assert board.standings[0]["score"] == 1
    cases = {"case": range(40), "a": [0.9, 0.8] * 20, "b": [0.5, 0.6] * 20}
    assert arena.rank(cases, level=0.9, resamples=20, seed=3).to_dict()["level"] == 0.9
    with pytest.raises(UsageError, match=r"keywords \(level\)"):
        arena.rank(cases, board=arena.BoardSettings(20), level=0.9)


@pytest.mark.slow
def test_a_competition_takes_frames_and_keywords(tmp_path: Path) -> None:
    with arena.Competition.create(
        str(tmp_path / "c"), SOLUTION, metric="roc_auc", target="y", per_day=2, seed=1
    ) as competition:
        assert competition.settings.limits.per_day == 2
        first = competition.submit(_frame(GOOD), "a")
        assert first.status == "accepted"
        assert competition.submit(_frame(GOOD), "a").known
        assert competition.submit(_frame(GOOD)[1:], "a").faults[0].kind == "missing id"
        array = competition.submit(GOOD, "b")
        assert array.released == first.released
    for keywords, message in (
        ({"metric": "f1", "perday": 3}, "Did you mean 'per_day'"),
        ({"metric": "f1", "per_day": "x"}, "must be a whole number"),
        ({}, "Give the metric once"),
    ):
        with pytest.raises(UsageError, match=message):
            arena.Competition.create(tmp_path / "d", SOLUTION, **keywords)


@pytest.mark.parametrize("module", [arena, arena.intake, arena.report])
def test_a_module_lists_the_public_names_that_it_imports_on_first_use(module: Any) -> None:
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in dir(module))


@pytest.mark.few(1)
@pytest.mark.parametrize(("groups", "few"), [(4, True), (30, False), (1 * N, False)])
def test_a_board_counts_the_groups_that_it_resamples(groups: int, few: bool) -> None:
    solution = SOLUTION.assign(user=[f"u{i % groups}" for i in range(N)])
    submissions = {"good": _frame(GOOD), "bad": _frame(BAD)}
    board = arena.score(
        solution, submissions, metric="brier", target="y", cluster="user", resamples=20, workers=1
    )
    sentence = f"The 60 rows are in {groups} groups, which are resampled as a whole."
    assert sentence in board.notes
    warned = [note for note in board.notes if "too few for reliable" in note]
    assert [warning.split(" are")[0] for warning in warned] == (["4 groups of rows"] if few else [])


def test_a_single_group_is_said_in_the_singular() -> None:
    submissions = {"good": _frame(GOOD)}
    board = arena.score(
        SOLUTION.assign(user="u"), submissions, metric="brier", target="y", cluster="user",
        resamples=20, workers=1,
    )  # fmt: skip
    assert "The 60 rows are in 1 group, which is resampled as a whole." in board.notes
    assert any(note.startswith("1 group of rows is too few for") for note in board.notes)


def test_a_board_without_groups_does_not_mention_them() -> None:
    board = arena.score(SOLUTION, {"good": _frame(GOOD)}, metric="brier", resamples=20, workers=1)
    assert not any("group" in note for note in board.notes)


@dataclass(frozen=True)
class OfValuesOrLabels:
    """A metric that takes numbers, and texts where labels are no numbers."""

    name: str = "of_values_or_labels"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.VALUE
    kinds: tuple[PredictionKind, ...] = (PredictionKind.VALUE, PredictionKind.LABEL)

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        return float(np.mean(truth == prediction))


def test_the_labels_choose_between_the_kinds_of_a_metric() -> None:
    def kind(*labels: str) -> PredictionKind:
        solution = arena.intake.solution_source({"id": [*"abc"], "y": [*labels]})
        return read_truth(solution, OfValuesOrLabels(), SolutionColumns()).kind

    assert kind("1", "2", "3.5") is PredictionKind.VALUE
    assert kind("x", "y", "x") is PredictionKind.LABEL
    with pytest.raises(InputError, match="row 2, id 'b'"):  # as numbers, of which one is a text
        kind("1", "y", "2")
