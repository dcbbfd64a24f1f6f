"""Notes to the organiser: a reversed, bounded or unprotected board, and copies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.competition.boards import board_notes
from arena.competition.competition import Competition
from arena.competition.create import SAMPLE_NOTE_NAME
from arena.competition.view import CompetitionView
from arena.config import Settings
from arena.errors import PluginError
from arena.evaluation.predictions import ArrayPredictions
from arena.plugin.manager import PluginManager
from arena.public_board.advice import FULL_WARNING
from arena.report.competition import finalized_report, public_competition_report
from arena.report.html_page import page
from arena.scoring import reversed_scores
from arena.scoring.reversed_scores import may_be_reversed, reversed_board
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.types import PredictionKind, Solution, SolutionColumns, Target, Usage
from program import write_csv
from scenario import Scenario

N_ROWS = 400
RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=N_ROWS)
IDS = [f"r{i}" for i in range(N_ROWS)]
USAGE = ["Public" if i % 2 else "Private" for i in range(N_ROWS)]


def files(folder: Path, predictions: dict[str, np.ndarray]) -> list[Path]:
    for team, values in predictions.items():
        rows = list(zip(IDS, map(repr, values.tolist()), strict=True))
        write_csv(folder / "files" / f"{team}.csv", ["id", "y"], rows)
    return [folder / "files"]


def competition(folder: Path, truth: list[object], metric: str, mechanism: str) -> Competition:
    scenario = Scenario(folder, {"id": IDS, "y": truth, "Usage": USAGE})
    return scenario.create(metric=metric, mechanism=mechanism, intervals=True)


def labels() -> list[object]:
    return ["malignant" if value > 0 else "benign" for value in TRUTH]


def probabilities(sign: float, n: int = 3) -> dict[str, np.ndarray]:
    return {f"t{i}": 1 / (1 + np.exp(-sign * (TRUTH + RNG.normal(size=N_ROWS)))) for i in range(n)}


@pytest.mark.slow
@pytest.mark.parametrize(("sign", "flipped"), [(-1.0, True), (1.0, False), (0.0, False)])
def test_a_reversed_board_is_named_and_the_meaning_of_the_column_said(
    tmp_path: Path, sign: float, flipped: bool
) -> None:
    columns = probabilities(sign)
    if sign == 0:
        columns = {team: RNG.random(N_ROWS) for team in columns}
    folders = files(tmp_path, columns)
    with competition(tmp_path, labels(), "roc_auc", "kaggle") as opened:
        list(opened.import_folder(folders[0]))
        notes = " ".join(opened.board_notes())
        final = " ".join(opened.finalize().notes)
        public = page(public_competition_report(opened))
    board = score(
        tmp_path / "solution.csv",
        folders,
        ScoreSettings(
            metric="roc_auc",
            columns=SolutionColumns(),
            split="private",
            database=None,
            board=BoardSettings(resamples=50),
        ),
    )
    for text in (notes, final, " ".join(board.notes)):
        assert ("Flipped?" in text) == flipped
    assert "Flipped?" not in public
    assert "column y = P(malignant)" in " ".join(board.notes)
    sample = (tmp_path / "c" / SAMPLE_NOTE_NAME).read_text()
    assert "column y = P(malignant), the probability" in sample or "or any score" in sample
    assert "--positive" not in sample


@pytest.mark.slow
def test_a_bounded_board_says_so_and_how_many_rows_are_at_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("label 17")

    far = TRUTH.copy()
    far[1:81:2] += 100  # 40 of 200 public rows
    files(tmp_path, {"far": far})
    with competition(tmp_path, TRUTH.tolist(), "rmse", "ladder(eta=0.1, clip=5)") as opened:
        list(opened.import_folder(tmp_path / "files"))
        (note,) = opened.board_notes()
        assert "20.0% of the public rows of the leading submission, 1 of far, are at" in note
        with monkeypatch.context() as patch:
            patch.setattr("arena.competition.boards.board_notes.may_be_reversed", fail)
            failed, still_there = opened.board_notes()
        assert "this check of the board failed (RuntimeError)" in failed
        assert still_there == note
        assert opened.board_metric == "bounded rmse (0 to 5)"
        public = page(public_competition_report(opened))
    assert "bounded rmse (0 to 5)" in public
    assert "at the bound" not in public


@pytest.mark.slow
def test_full_is_warned_of_and_not_on_a_public_page(tmp_path: Path) -> None:
    with competition(tmp_path, labels(), "roc_auc", "full") as opened:
        assert "mechanism full" in " ".join(opened.board_notes())
        assert "mechanism full" not in page(public_competition_report(opened))
    with competition(tmp_path / "2", labels(), "roc_auc", "kaggle") as opened:
        assert opened.board_notes() == ()
    path = tmp_path / "2" / "c" / "competition.toml"
    path.write_text(path.read_text().replace('"kaggle"', '"full"'))
    with Competition.open(tmp_path / "2" / "c") as opened:
        assert "mechanism full" in " ".join(opened.notes)
    with Competition.open(tmp_path / "2" / "c") as opened:  # once
        assert "mechanism full" not in " ".join(opened.notes)


@pytest.mark.slow
def test_copies_are_named_to_the_organiser_only(tmp_path: Path) -> None:
    values = {team: TRUTH + RNG.normal(size=N_ROWS) for team in "abcdef"}
    values["thief"] = values["a"] + 1e-4 * RNG.normal(size=N_ROWS)
    files(tmp_path, values)
    with competition(tmp_path, TRUTH.tolist(), "rmse", "kaggle") as opened:
        list(opened.import_folder(tmp_path / "files"))
        (pair,) = opened.similar_submissions()
        assert (pair.identical, set(pair.teams)) == (False, {"a", "thief"})
        private = page(finalized_report(opened, opened.finalize()))
        public = page(public_competition_report(opened))
    assert "Similar submissions of different teams" in private
    assert "imilar submissions" not in public
    assert "identical" not in public
    with CompetitionView.open(tmp_path / "c") as view:
        assert view.similar_submissions() == (pair,)


def test_a_check_that_fails_is_named_without_what_it_may_quote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(state: Any, leader: Any) -> str:
        raise RuntimeError("label 17")

    def fail_in_plugin(state: Any, leader: Any) -> str:
        raise PluginError("The plugin a failed.")

    leaders: list[int] = []

    def first(state: Any, leader: Any) -> str:
        leaders.append(leader["submission"])
        return "A note."

    rows = [{"rank": None, "submission": 1}, {"rank": 1, "submission": 2}]
    public = SimpleNamespace(mechanism="full")
    state: Any = SimpleNamespace(settings=SimpleNamespace(public=public))
    assert board_notes.board_notes(state, rows[:1]) == (FULL_WARNING,)
    failed = "this check of the board failed"
    for reversed_check, at_bound, notes in (
        (fail, fail_in_plugin, (
            f"It is not known whether the predictions are reversed: {failed} (RuntimeError).",
            f"It is not known how many rows are at the bound: {failed} (The plugin a failed.).",
        )),
        (first, lambda state, leader: None, ("A note.",)),
    ):  # fmt: skip
        monkeypatch.setattr(board_notes, "_reversed", reversed_check)
        monkeypatch.setattr(board_notes, "_share_at_bound", at_bound)
        assert board_notes.board_notes(state, rows) == (FULL_WARNING, *notes)
    assert leaders == [2]
    public.mechanism = "ladder"
    assert board_notes.board_notes(state, rows) == ("A note.",)


def test_a_board_is_reversed_if_its_best_area_is_far_below_one_half() -> None:
    """Random predictions of 3 positive and 4 negative rows have standard error sqrt(8/144)."""
    classes = ("benign", "malignant")
    usage = np.arange(9) < 7
    two: Any = SimpleNamespace(
        targets=(SimpleNamespace(classes=classes),), columns=("y",),
        truth=np.array([1, 0, 1, 0, 1, 0, 0, 1, 1]),
    )  # fmt: skip
    bound = 0.5 - 1.5 * np.sqrt(8 / 144)
    warning = (
        f"Flipped? The best score is {bound:.3f}, but random predictions have 0.5. The "
        "teams may have predicted benign: column y is P(malignant), unless --positive selects the "
        "other class."
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reversed_scores, "_FAR", 1.5)  # 4 standard errors exceed 0.5 here
        below = np.nextafter(bound, 0)
        assert reversed_board("roc_auc", below, two, usage) == warning
        assert reversed_board("roc_auc(average=macro)", below, two, usage) == warning
        assert reversed_board("roc_auc", bound, two, usage) is None
        for metric, best, solution, rows in (
            ("pr_auc", below, two, usage),
            ("roc_auc", None, two, usage),
            ("roc_auc", 0.0, two, two.truth == 1),
            ("roc_auc", 0.0, two, two.truth == 0),
            ("roc_auc", 0.0, SimpleNamespace(**{**vars(two), "targets": two.targets * 2}), usage),
            *(
                ("roc_auc", 0.0, SimpleNamespace(
                    **{**vars(two), "targets": (SimpleNamespace(classes=named),)}), usage)
                for named in (None, ("a", "b", "c"))
            ),
        ):  # fmt: skip
            assert reversed_board(metric, best, solution, rows) is None
    assert [may_be_reversed("roc_auc", best) for best in (None, 0.5, 0.499)] == [False, False, True]


def test_a_board_without_a_score_says_what_it_waits_for() -> None:
    no_label = (
        "No score was released yet: no public row has a label. Add the labels by `arena labels "
        "add` when they arrive."
    )
    no_row = "No row is public: no score is shown before the result is published."
    no_file = "No score was released yet: send a first file by `arena submit`."
    disqualified = "No score is shown: every accepted submission is disqualified."
    private, public = (np.array([usage] * 2, np.uint8) for usage in (Usage.PRIVATE, Usage.PUBLIC))
    for labelled, phases, usage, n_public, accepted, ranked, sentence in (
        (0, {}, public, 2, (), (), no_label),
        (1, {}, private, 1, (), (), no_file),
        # Without phases, the stored number of public rows counts.
        (None, {}, private, 1, (), (), no_file),
        (None, {}, public, 0, (), (), no_row),
        (None, {"dev": None}, public, 0, (), (), no_file),
        (None, {"dev": None}, private, 1, (), (), no_row),
        (None, {}, public, 1, (1, 2), (), disqualified),
        (None, {}, public, 1, (1, 2), (2,), no_file),
    ):
        pending = None if labelled is None else SimpleNamespace(n_rows=labelled)
        outline = SimpleNamespace(n_public=n_public)
        state: Any = SimpleNamespace(
            pending_labels={"public": pending}.__getitem__,
            with_phases=SimpleNamespace(phase=phases),
            solution=SimpleNamespace(usage=usage),
            store=SimpleNamespace(solution_outline=lambda outline=outline: outline),
            ledger=SimpleNamespace(
                accepted_teams=lambda accepted=accepted: dict.fromkeys(accepted, "a"),
                sequence=lambda ranked=ranked: dict.fromkeys(ranked, "a"),
            ),
        )
        assert board_notes.empty_board_sentence(state) == sentence


@pytest.mark.parametrize(
    ("bounds", "share"), [((0.0, 4.0), "50.0%"), ((0.5, 10.0), "25.0%"), ((0.0, 10.0), "0.0%")]
)
def test_rows_of_the_leader_at_the_bound_are_counted(
    monkeypatch: pytest.MonkeyPatch, bounds: tuple[float, float], share: str
) -> None:
    """Squared errors of four public rows: 0, 1, 4 and 9; at the upper bound or below the lower."""
    outline = {
        "targets": (Target("y", None),), "kind": PredictionKind.VALUE, "tasks": None,
        "columns": ("y",), "sha256": "", "id_column": "id",
    }  # fmt: skip
    usage = np.array([Usage.PUBLIC] * 4 + [Usage.PRIVATE], dtype=np.uint8)
    solution = Solution(
        ids=pa.array(list("abcde")), truth=np.zeros(5), usage=usage, **outline  # type: ignore[arg-type]
    )  # fmt: skip
    monkeypatch.setattr(board_notes, "find_mechanism", lambda *_: None)
    monkeypatch.setattr(board_notes, "clip_of", lambda _: bounds)
    predictions = ArrayPredictions(np.array([[0.0, 1.0, -2.0, 3.0]]))
    read_blocks: list[Any] = []

    def read(submissions: list[int], *, rows: Any) -> Any:
        read_blocks.append((submissions, rows.tolist()))
        return predictions

    state: Any = SimpleNamespace(
        settings=Settings.of(metric="mse", mechanism="kaggle"), solution=solution,
        manager=PluginManager(), store=SimpleNamespace(predictions=read),
    )  # fmt: skip
    leader = {"submission": 7, "team": "Ants", "rank": 1, "score": 3.5}
    notes = board_notes.board_notes(state, [{**leader, "rank": None}, leader])
    assert notes == (
        f"The board shows a bounded metric: {share} of the public rows of the leading submission, "
        "7 of Ants, are at the bound. The final board has no bound.",
    )
    assert read_blocks == [([7], [True] * 4 + [False])]
    state.solution = replace(solution, targets=(Target("y", None),) * 2)
    assert board_notes.board_notes(state, [leader]) == ()
