"""Soft labels in a solution: read, kept secret, stored, and turned into the floor of a board."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from arena.errors import InputError
from arena.intake import read_solution
from arena.interfaces import Study
from arena.store import Store
from arena.types import PredictionKind, SolutionColumns
from arena_bayes_error import study
from competition_folder import change
from program import UNPROTECTED, run_here, write_csv

N = 300


def board(folder, *, leak=True):
    """Write a solution with soft labels, the best possible prediction, a leak, and a guesser."""
    rng = np.random.default_rng(0)
    soft = rng.beta(0.6, 0.6, N).round(4)
    truth = (rng.random(N) < soft).astype(int)
    usage = np.where(np.arange(N) % 3 == 0, "Public", "Private")
    rows = list(zip(range(N), truth, usage, soft, 1 - soft, strict=True))
    write_csv(folder / "solution.csv", ["id", "y", "Usage", "soft", "other"], rows)
    best = (soft > 0.5).astype(int)
    teams = {"best": best, "noisy": np.where(rng.random(N) < 0.1, 1 - best, best)}
    if leak:
        teams["leak"] = truth
    for team, predicted in teams.items():
        path = folder / "subs" / f"{team}.csv"
        write_csv(path, ["id", "y"], list(zip(range(N), predicted, strict=True)))
    private = np.arange(N) % 3 != 0
    return soft, truth, teams, private


def score(folder, *extra):
    options = ("--target", "y", "--soft-labels", "soft", "--resamples", 100, "--json")
    called = run_here(
        "score", "solution.csv", "subs", "--metric", "accuracy", *options, *extra, cwd=folder
    )
    assert called.returncode == 0, called.stderr
    return json.loads(called.stdout)


@pytest.mark.slow
def test_score_and_its_report_tell_the_floor_and_flag_the_leak(tmp_path):
    soft, truth, teams, private = board(tmp_path)
    printed = score(tmp_path, "--report", "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Lowest possible error rate" in page
    assert "errors-above-the-floor" in page
    document = _floor_document(printed)
    floors = np.minimum(soft, 1 - soft)[private]
    assert document["floor"]["estimate"] == pytest.approx(floors.mean(), abs=1e-9)
    assert document["metric_floor"]["value"] == pytest.approx(1 - floors.mean(), abs=1e-9)
    by_team = {submission["team"]: submission for submission in document["submissions"]}
    for team, predicted in teams.items():
        wrong = (predicted != truth)[private].mean()
        expected = np.where(predicted == 1, 1 - soft, soft)[private].mean()
        assert by_team[team]["error"] == pytest.approx(wrong, abs=1e-9)
        assert by_team[team]["error_against_soft_labels"] == pytest.approx(expected, abs=1e-6)
    assert by_team["leak"]["flagged"]
    assert not by_team["best"]["flagged"]
    assert document["headroom"]["observed"] == pytest.approx(0, abs=1e-9)
    assert 0 <= document["headroom"]["low"] <= document["headroom"]["high"]


def _floor_document(printed):
    for value in printed.values():
        if isinstance(value, dict) and "bayes-error" in value:
            return value["bayes-error"]
        for item in value if isinstance(value, list) else ():
            if isinstance(item, dict) and item.get("analysis") == "bayes-error":
                return item.get("document", item)
    raise AssertionError(list(printed))


@pytest.mark.slow
def test_a_board_without_soft_labels_is_as_before(tmp_path):
    board(tmp_path)
    options = ("--metric", "accuracy", "--target", "y", "--resamples", 50, "--json")
    called = run_here("score", "solution.csv", "subs", *options, cwd=tmp_path)
    assert called.returncode == 0, called.stderr
    assert "bayes-error" not in called.stdout


@pytest.mark.slow
def test_finalize_finds_the_floor(tmp_path):
    board(tmp_path)
    options = ("--metric", "accuracy", "--target", "y", "--soft-labels", "other,soft", "--seed", 1)
    creation = run_here(
        "init", "c", "--solution", "solution.csv", *UNPROTECTED, *options, cwd=tmp_path
    )
    assert creation.returncode == 0, creation.stderr
    assert 'soft_labels = ["other", "soft"]' in (tmp_path / "c" / "competition.toml").read_text()
    change(tmp_path / "c", "resamples = 1000", "resamples = 50")
    imported = run_here("import", "subs", "-C", "c", cwd=tmp_path)
    assert imported.returncode == 0, imported.stderr
    done = run_here("finalize", "-C", "c", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "lowest possible error rate on rows like these" in done.stdout + done.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("columns", "warned"), [("soft", 0), ("other", 1), ("other,soft", 0), ("soft,other", 1)]
)
def test_init_warns_once_of_soft_labels_of_the_other_class(tmp_path, columns, warned):
    board(tmp_path)
    options = ("--metric", "accuracy", "--target", "y", "--soft-labels", columns, "--seed", 1)
    creation = run_here(
        "init", "c", "--solution", "solution.csv", *UNPROTECTED, *options, cwd=tmp_path
    )
    assert creation.returncode == 0, creation.stderr
    assert creation.stdout.count("soft labels do not fit the labels") == warned


def test_soft_labels_are_stored_and_read_again(tmp_path):
    soft, *_ = board(tmp_path)
    for columns in (["soft"], ["other", "soft"]):
        solution = read_solution(
            tmp_path / "solution.csv",
            kind=PredictionKind.LABEL,
            columns=SolutionColumns(targets=("y",), soft_labels=tuple(columns)),
        )
        expected = soft if len(columns) == 1 else np.column_stack([1 - soft, soft])
        np.testing.assert_allclose(solution.soft_labels, expected, atol=1e-12)
        with Store.open(tmp_path / f"{len(columns)}.duckdb") as store:
            store.put_solution(solution)
            np.testing.assert_array_equal(store.solution().soft_labels, solution.soft_labels)


def test_columns_named_as_labels_are_put_into_their_order(tmp_path):
    path = tmp_path / "s.csv"
    write_csv(path, ["id", "y", "dog", "cat"], [(1, "cat", 0.25, 0.75), (2, "dog", 1, 0)])
    solution = read_solution(
        path,
        kind=PredictionKind.LABEL,
        columns=SolutionColumns(targets=("y",), soft_labels=("dog", "cat")),
    )
    assert solution.targets[0].classes == ("cat", "dog")
    assert solution.soft_labels.tolist() == [[0.75, 0.25], [0, 1]]


@pytest.mark.parametrize(
    ("header", "rows", "columns", "said"),
    [
        ("p", [(0.2,), (1.7,)], ["p"], "row 3, id '1', column 'p': The soft label is outside"),
        ("p", [(0.2,), ("",)], ["p"], "row 3"),
        ("p,q", [(0.2, 0.8), (0.5, 0.4)], ["p", "q"], "row 3, id '1': .*do not sum to 1"),
        ("p,q,r", [(0.2, 0.8, 0), (0.5, 0.4, 0.1)], ["p", "q", "r"], "give one column"),
        ("p", [(0.2,), (0.7,)], ["x"], "no column 'x'"),
    ],
)
def test_soft_labels_that_cannot_be(tmp_path: Path, header, rows, columns, said):
    path = tmp_path / "s.csv"
    write_csv(
        path,
        ["id", "y", *header.split(",")],
        [(position, position % 2, *row) for position, row in enumerate(rows)],
    )
    with pytest.raises(InputError, match=said) as caught:
        read_solution(
            path,
            kind=PredictionKind.LABEL,
            columns=SolutionColumns(targets=("y",), soft_labels=tuple(columns)),
        )
    assert "1.7" not in str(caught.value)


@pytest.mark.slow
def test_the_headroom_does_not_depend_on_the_parts_in_which_rows_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    above = ((rng.random((5, 300)) < 0.2) * rng.random(300)).astype(np.float32)
    study_of_five = cast(
        "Study", SimpleNamespace(resampled=np.empty((5, 450)), clusters=None, level=0.9)
    )

    def headroom() -> list[float]:
        above_floor = study.headroom_of(study_of_five, above, np.random.default_rng(1))
        return [
            above_floor.estimate,
            above_floor.low,
            above_floor.high,
            *above_floor.winners.low,
            *above_floor.selected,
        ]

    whole = headroom()
    monkeypatch.setattr(study, "BYTES_OF_DRAWS", 6 * 300 * 37)  # the 400th draw is inside a part
    assert headroom() == pytest.approx(whole, rel=1e-6)
