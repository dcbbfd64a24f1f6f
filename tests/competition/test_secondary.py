"""Secondary metrics of a final leaderboard."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.metrics import log_loss, roc_auc_score

from arena.cli.board import print_result
from arena.competition.competition import Competition
from arena.competition.record import combined_boards, secondary
from arena.competition.view import CompetitionView
from arena.config import Settings
from arena.errors import ArenaError, InputError, MetricError, UsageError
from arena.report.final_page import final_page
from scenario import IDS, MANAGER, N_ROWS, Scenario


def test_private_scores_by_other_metrics_are_columns_of_the_final_board(scenario: Scenario) -> None:
    probabilities = np.random.default_rng(1).random((2, N_ROWS))
    with scenario.create(metric="brier", secondary="log_loss", ties="secondary") as competition:
        for team, values in zip(("one", "two"), probabilities, strict=True):
            assert competition.submit({"id": IDS, "y": values}, team).status == "accepted"
        result = competition.finalize()
        rows = competition.private_leaderboard()
        private = competition.solution.usage == 1
        truth = competition.solution.truth[private]
        for row in result.standings:
            values = probabilities[("one", "two").index(row["team"])][private]
            assert row["log_loss"] == pytest.approx(log_loss(truth, values), rel=1e-9)
        assert [row["log_loss"] for row in rows] == [row["log_loss"] for row in result.standings]
        assert competition.outdated() is None
        sections = {section.title: section for section in final_page(competition).sections}
        rules = dict(sections["Rules"].tables[0].rows)
        assert rules["ties"] == "Teams with the same score are ordered by log_loss."
    # What somebody changed in the report is replaced with the board.
    with duckdb.connect(str(scenario.folder / "arena.duckdb")) as database:
        database.execute("UPDATE meta SET value = '{}' WHERE name = 'final_report'")
    scenario.configure(metric="brier")
    with scenario.reopen() as competition:
        assert "metric.secondary" in str(competition.outdated())
        assert "log_loss" not in competition.finalize().standings[0]


def test_a_secondary_metric_must_suit_the_submissions(scenario: Scenario) -> None:
    message = r"competition.toml: \[metric\] secondary: accuracy scores label, but submissions"
    with pytest.raises(InputError, match=message):
        scenario.create(metric="roc_auc", secondary="accuracy")
    assert not scenario.folder.exists()


@pytest.mark.slow
def test_probabilities_have_scores_by_metrics_of_labels_and_of_scores(scenario: Scenario) -> None:
    """An edit that no submission serves is refused when it is read, not by ``finalize``."""
    probabilities = np.random.default_rng(1).random(N_ROWS)
    with scenario.create(metric="brier", secondary=["roc_auc", "accuracy"]) as competition:
        submission = competition.submit({"id": IDS, "y": probabilities}, "one")
        assert submission.status == "accepted"
        (row,) = competition.finalize().standings
        private = competition.solution.usage == 1
        truth = competition.solution.truth[private]
        values = probabilities[private]
        assert row["accuracy"] == pytest.approx(((values > 0.5) == truth).mean())
        assert row["roc_auc"] == pytest.approx(roc_auc_score(truth, values))
    config = scenario.folder / "competition.toml"
    text = config.read_text()
    for wrong, message in (("mae", "submissions contain"), ("no_metric", "no_metric")):
        config.write_text(text.replace('"accuracy"', f'"{wrong}"'))
        for opened in (Competition, CompetitionView):
            with pytest.raises(ArenaError, match=message):
                opened.open(scenario.folder, clock=scenario.clock)


@pytest.mark.slow
def test_a_final_board_breaks_ties_by_the_secondary_metric_and_has_a_score_for_each_target(
    tmp_path: Path,
) -> None:
    rows = 40
    ids = [f"r{row}" for row in range(rows)]
    zeros = np.zeros(rows)
    pd.DataFrame({"id": ids, "x": zeros, "y_1": zeros}).to_csv(tmp_path / "s.csv", index=False)
    # The mean absolute error is 0.5 each time; only the mean squared error tells them apart.
    errors = {"first": np.tile([0.0, 2.0], 20), "second": np.ones(rows), "third": np.ones(rows)}
    for team, error in errors.items():
        frame = pd.DataFrame({"id": ids, "x": zeros, "y_1": error})
        frame.to_csv(tmp_path / f"{team}.csv", index=False)
    settings = Settings.of(
        metric="mae", secondary="mse", ties="secondary", decimals=1, unit="%", resamples=5
    )
    settings = settings.model_copy(
        update={"data": settings.data.model_copy(update={"target": ("x", "y_1")})}
    )
    with Competition.create(
        tmp_path / "c", tmp_path / "s.csv", settings, public_share=0.0
    ) as competition:
        for team in errors:
            assert competition.submit(tmp_path / f"{team}.csv", team).status == "accepted"
        result = competition.finalize()
        preview = [
            (change.rank_before, change.rank_after, change.team) for change in competition.rescore()
        ]
        assert competition.published_scores == ()
        page = final_page(competition).boards[0]
    assert preview == [(1, 1, "second"), (1, 1, "third"), (3, 3, "first")]
    assert [(row["rank"], row["team"]) for row in result.standings] == [
        (1, "second"),
        (1, "third"),
        (3, "first"),
    ]
    assert {(row["mae of x"], row["mae of y_1"]) for row in result.standings} == {(0.0, 1.0)}
    assert len({(row["rank_low"], row["rank_high"]) for row in result.standings}) == 1
    out = io.StringIO()
    print_result(result, Console(file=out, width=200))
    for text in ("50.0%", "mae of y_1", "Teams with the same score are ordered by mse."):
        assert text in out.getvalue()
    assert "50.0%" in result.to_markdown()
    titles = [column.title for column in page.columns]
    assert "mse" not in titles
    assert "mae of x" not in titles
    assert page.notes == ("Teams with the same score are ordered by mse.",)


def test_ties_by_a_secondary_metric_need_one() -> None:
    with pytest.raises(UsageError, match=r"needs a metric in \[metric\] secondary"):
        Settings.of(metric="mae", ties="secondary")


def test_the_metrics_of_combined_boards_are_checked_like_secondary_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(metric: str, _: object) -> None:
        if metric == wrong:
            raise MetricError(f"{metric} is not defined.")

    monkeypatch.setattr("arena.evaluation.domain.check_truth", refuse)
    monkeypatch.setattr(secondary, "secondary_metrics", lambda *_: {"f1": "F1"})
    monkeypatch.setattr(combined_boards, "combined_metrics", lambda *_: {"all": "mean"})
    settings, solution = SimpleNamespace(board={"all": object()}), SimpleNamespace()
    for wrong, key in (("F1", "[metric] secondary"), ("mean", "[board.all]")):
        with pytest.raises(InputError) as refused:
            secondary.check_further_metrics(cast("Any", settings), cast("Any", solution), MANAGER)
        assert str(refused.value) == f"competition.toml: {key}: {wrong} is not defined."
