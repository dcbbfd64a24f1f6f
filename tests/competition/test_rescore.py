"""What changes under way: limits, mechanism, labels, metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import ArenaError, InputError, MetricError
from arena.utils.parallel import NoProgress
from competition_folder import as_older_version
from program import run_here, write_csv
from small_competition import Clock, file_of, made


@pytest.mark.slow
def test_a_change_of_a_limit_is_recorded_and_counts_at_once(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, limits={"total": 1}) as competition:
        competition.submit(file_of(tmp_path, 1), "one")
        assert competition.submit(file_of(tmp_path, 2), "one").status == "refused"
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace("total = 1", "total = 2"))
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert competition.submit(file_of(tmp_path, 2), "one").status == "accepted"
        changed = [event for event in competition.events() if event.kind == "configuration"]
        assert [event.payload["changes"] for event in changed] == [[["limits.total", 1, 2]]]
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        kinds = [event.kind for event in competition.events()]
        assert kinds.count("configuration") == 1


def test_the_mechanism_stays_once_scores_were_released(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock) as competition:
        competition.submit(file_of(tmp_path, 1), "one")
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace('"full"', '"kaggle(rounding=0.01)"'))
    with pytest.raises(InputError, match="Scores were released by the mechanism full"):
        Competition.open(tmp_path / "c", clock=clock)
    toml.write_text(toml.read_text().replace("kaggle(", "kagle("))
    with pytest.raises(ArenaError, match="Did you mean 'kaggle'"):
        Competition.open(tmp_path / "c", clock=clock)


def test_another_metric_waits_for_a_rescore(tmp_path: Path, solution: Path, clock: Clock) -> None:
    with made(tmp_path, solution, clock, analysis={"intervals": False}) as competition:
        for number, team in enumerate(["one", "two"]):
            competition.submit(file_of(tmp_path, number), team)
        assert competition.notes == ()
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace('"roc_auc"', '"average_precision"'))
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert "until you run arena rescore --apply" in competition.notes[0]
        assert competition.finalize().metric == "roc_auc"
        competition.rescore(apply=True)
        assert competition.notes == ()
        assert competition.finalize().metric == "average_precision"
    toml.write_text(toml.read_text().replace('"average_precision"', '"mae"'))
    with (
        Competition.open(tmp_path / "c", clock=clock) as competition,
        pytest.raises(InputError, match="Choose another metric"),
    ):
        competition.rescore()


IDS = ["p1", "p2", "s1", "s2", "s3", "s4"]
USAGE = ["Public", "Public", "Private", "Private", "Private", "Private"]


class Said(NoProgress):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)


def small(tmp_path: Path, metric: str, truth: list[Any], **settings: Any) -> Competition:
    """Return a new competition of two public and four private rows."""
    solution = {"id": IDS, "y": truth, "Usage": USAGE}
    return Competition.create(
        tmp_path / "c", solution, Settings.of(metric=metric, intervals=False, **settings), seed=1
    )


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("usage", "moved"),
    [
        (["Private", "Private", "Public", "Private", "Private", "Private"], 3),
        (USAGE, 0),
        (["Private"] * 6, 0),  # as a file without the column is read
        (None, 0),
    ],
)
def test_a_correction_says_how_many_labels_differ_and_that_its_split_is_ignored(
    tmp_path: Path, usage: list[str] | None, moved: int
) -> None:
    with small(tmp_path, "accuracy", [0, 1, 0, 1, 0, 1]) as competition:
        competition.submit({"id": IDS, "y": [0, 1, 0, 1, 1, 1]}, "ant")
        progress = Said()
        corrected = {"id": IDS[::-1], "y": [0, 1, 1, 0, 1, 0]}  # of s4, s3, s2, s1, p2, p1
        split = {} if usage is None else {"Usage": usage[::-1]}
        (change,) = competition.rescore({**corrected, **split}, progress=progress, workers=1)
    assert (change.score_before, change.score_after) == (3 / 4, 3 / 4)  # not s3, then not s4
    sentence = "Labels differ from the stored solution in 2 of 6 rows."
    ignored = f"Usage differs in {moved} rows and is ignored: the split is not changed."
    assert progress.sentences == [sentence, *([ignored] if moved else [])]


def test_a_correction_on_which_the_metric_is_undefined_is_refused(tmp_path: Path) -> None:
    with small(tmp_path, "roc_auc", [0, 1, 0, 1, 0, 1]) as competition:
        competition.submit({"id": IDS, "y": [0.1, 0.9, 0.2, 0.8, 0.3, 0.7]}, "ant")
        for labels, split in (([0, 1, 1, 1, 1, 1], "private"), ([1, 1, 0, 1, 0, 1], "public")):
            with pytest.raises(MetricError, match=split):
                competition.rescore({"id": IDS, "y": labels, "Usage": USAGE}, apply=True)
        assert competition.finalize(workers=1).standings[0]["score"] == 1
        assert [event.kind for event in competition.events("rescored")] == []


def test_a_preview_breaks_ties_by_the_secondary_metric_as_the_final_board_does(
    tmp_path: Path,
) -> None:
    sent = {
        "dog": [0, 1, -0.1, 1, 0, 1],
        "bee": [0, 1, 0.2, 0.8, 0.2, 0.8],
        "ant": [0, 1, 0.2, 0.9, 0.2, 0.9],
    }
    # Every file puts the rows in the right order. The Brier score is smallest for ant, and has no
    # meaning for dog, which has a number that is no probability: its formula gives less.
    board = [(1, "ant"), (2, "bee"), (3, "dog")]
    settings = {"secondary": "brier", "ties": "secondary"}
    with small(tmp_path, "roc_auc", [0, 1, 0, 1, 0, 1], **settings) as competition:
        for team, values in sent.items():
            competition.submit({"id": IDS, "y": values}, team)
        standings = competition.finalize(workers=1).standings
        changes = competition.rescore(workers=1)
    assert [(row["rank"], row["team"]) for row in standings] == board
    for ranks in ("rank_before", "rank_after"):
        assert [(getattr(change, ranks), change.team) for change in changes] == board


@pytest.mark.slow
def test_an_upgraded_competition_is_verified_with_its_last_labels(tmp_path: Path) -> None:
    labels = [[0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1]]
    for number, truth in enumerate(labels, 1):
        rows = list(zip(IDS, truth, USAGE, strict=True))
        write_csv(tmp_path / f"{number}.csv", ["id", "y", "Usage"], rows)
    with small(tmp_path, "accuracy", labels[0]) as competition:
        competition.submit({"id": IDS, "y": labels[2]}, "ant")
        for number in (2, 3):
            competition.rescore(tmp_path / f"{number}.csv", apply=True, workers=1)
    as_older_version(tmp_path / "c" / "arena.duckdb")
    assert run_here("upgrade", cwd=tmp_path / "c").returncode == 0
    with Competition.open(tmp_path / "c") as competition:
        assert competition.finalize(workers=1).standings[0]["score"] == 1
        competition.export(tmp_path / "export")
    told = "This is not the solution of this competition after its last correction"
    for number in (1, 2, 3):
        called = run_here("verify", "export", f"{number}.csv", cwd=tmp_path)
        shown = " ".join((called.stdout + called.stderr).split())
        assert (called.returncode, told in shown) == ((1, True) if number < 3 else (0, False))


def test_another_solution_is_no_correction(tmp_path: Path, solution: Path, clock: Clock) -> None:
    with made(tmp_path, solution, clock) as competition:
        text = solution.read_text()
        solution.write_text(text.replace("r59,", "r60,"))
        with pytest.raises(InputError, match="use the same ids"):
            competition.rescore(solution)
        solution.write_text(text.replace(",1", ",2"))
        with pytest.raises(InputError, match="classes"):
            competition.rescore(solution)
