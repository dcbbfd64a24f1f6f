"""The end of a competition, driven from Python: what counts, who wins, what is exported."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest

from arena.competition.boards import finalize
from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.config import Settings
from arena.errors import InputError, UsageError
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from arena.report.history import history_section
from arena.store.repair import repair
from arena.types import Usage
from arena.utils.parallel import NoProgress
from scenario import N_ROWS, Scenario
from toy_metrics import BlackBoxRmse


@dataclass(frozen=True)
class Provides:
    """A plugin of one metric."""

    metric: Any

    @hookimpl
    def provide_metrics(self) -> list[Any]:
        return [self.metric]


def test_without_an_accepted_file_there_is_no_final_board(scenario: Scenario) -> None:
    with scenario.create() as competition:
        with pytest.raises(UsageError, match="no accepted submission"):
            competition.finalize()
        with pytest.raises(UsageError, match="finalize first"):
            competition.private_leaderboard()


@pytest.mark.slow
def test_a_file_sent_after_the_result_marks_it_also_once_the_board_is_made_again(
    scenario: Scenario,
) -> None:
    with scenario.create() as competition:
        competition.submit(scenario.file(0), "one")
        competition.finalize()
        competition.publish()
        scenario.clock.now += timedelta(days=1)
        submission = competition.submit(scenario.file(1), "two")
        received = next(
            row["received"] for row in competition.submissions() if row["team"] == "two"
        )
        for finalize_again in (False, True):
            scenario.clock.now += timedelta(days=1)
            if finalize_again:
                competition.finalize()
            mark = competition.results()[0]["mark"]
            assert mark == {"cause": "other submissions count", "time": received}
        competition.disqualify(submission.submission, "a leak")
        assert competition.results()[0]["mark"] is None


@dataclass(frozen=True)
class CountedRmse(BlackBoxRmse):
    """Counts the calls with all rows of a split, each once and in order, by their number."""

    name: str = "counted_rmse"
    calls: Counter[int] = field(default_factory=Counter, compare=False)
    splits: list[Any] = field(default_factory=list, compare=False)

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        # Resamples hold a row twice or lack one, and so have fewer different values or rows.
        if any(np.array_equal(truth, split) for split in self.splits):
            self.calls[len(truth)] += 1
        return super().score(truth, prediction, weight)


def test_every_final_submission_is_scored_once_on_all_private_rows(
    scenario: Scenario,
) -> None:
    metric = CountedRmse()
    usage = np.where(np.arange(N_ROWS) % 4, "Private", "Public")
    values = np.random.default_rng(3).normal(size=N_ROWS)
    metric.splits.extend(values[usage == split] for split in ("Public", "Private"))
    scenario.solution.update(y=values, Usage=usage)
    scenario.manager = PluginManager()
    scenario.manager.register(Provides(metric), "counts")
    with scenario.create(metric="counted_rmse", resamples=3, intervals=True) as competition:
        for number, team in enumerate(["one", "two"]):
            competition.submit(scenario.file(number), team)
        metric.calls.clear()
        competition.finalize()
    assert (metric.calls[N_ROWS * 3 // 4], metric.calls[N_ROWS // 4]) == (2, 2)


@pytest.mark.slow
def test_an_export_verifies_with_rebuilt_tables_and_ids_with_unusual_line_separators(
    tmp_path: Path, scenario: Scenario
) -> None:
    ids = [f"r{row}\u2028\x85x" for row in range(12)]
    scenario.solution = {"id": ids, "y": [0, 1] * 6, "Usage": ["Public"] * 6 + ["Private"] * 6}
    file = scenario.write("file", {"id": ids, "y": np.arange(12) / 20})
    with scenario.create(metric="roc_auc", resamples=20, intervals=True) as competition:
        assert competition.submit(file, "team").status == "accepted"
    with duckdb.connect(str(scenario.folder / "arena.duckdb")) as connection:
        connection.execute("DELETE FROM team_counts")
    assert "rebuilt (team_counts)" in repair(scenario.folder / "arena.duckdb").sentence
    scenario.clock.now = datetime.now(UTC)  # as the record of the repair says
    with scenario.reopen() as competition:
        competition.finalize()
        competition.export(tmp_path / "export")
        history = history_section(competition.events())
    assert history is not None
    ((_, what),) = history.tables[0].rows
    assert what == "Tables derived from the history were rebuilt: team_counts."
    export = (tmp_path / "export", scenario.solution_file)
    assert verify_bundle(*export, PluginManager(), NoProgress()) == ()


@pytest.mark.slow
def test_baselines_stand_unranked_on_the_private_board_and_are_verified(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create(baseline=["base", "dull"]) as competition:
        for team, right in (("one", 0.8), ("base", 0.7), ("dull", 0.6)):
            competition.submit(scenario.file(1, right), team)
        result = competition.finalize()
        assert [row["team"] for row in result.standings] == ["one"]
        rows = competition.private_leaderboard()
        assert len({tuple(row) for row in rows}) == 1
        scores = [row["score"] for row in rows]
        assert scores == sorted(scores, reverse=True)
        numbered = {row["team"]: (row["rank"], row["baseline"]) for row in rows}
        assert numbered == {"one": (1, False), "base": (None, True), "dull": (None, True)}
        public = {row["team"]: (row["rank"], row["baseline"]) for row in competition.leaderboard()}
        assert public == numbered
        private = competition.solution.usage == Usage.PRIVATE
        right = np.random.default_rng(1).random(N_ROWS)[private]
        assert {row["team"]: row["score"] for row in rows} == {
            "one": (right < 0.8).mean(), "base": (right < 0.7).mean(), "dull": (right < 0.6).mean(),
        }  # fmt: skip
        assert competition.as_finalized() is not None
        competition.export(tmp_path / "export")
    manager = PluginManager()
    assert verify_bundle(tmp_path / "export", scenario.solution_file, manager, NoProgress()) == ()
    changed = json.loads((tmp_path / "export" / "result.json").read_text())
    changed["baseline"]["score"] += 0.01
    changed["unranked"][0]["baseline"] = False
    (tmp_path / "export" / "result.json").write_text(json.dumps(changed))
    problems = verify_bundle(tmp_path / "export", scenario.solution_file, manager, NoProgress())
    assert "score of the baseline base differs." in problems
    assert "baseline of the unranked team dull differs." in problems


@pytest.mark.slow
def test_of_more_chosen_than_are_allowed_by_now_the_best_on_public_count(
    scenario: Scenario,
) -> None:
    with scenario.create(final_rule="chosen", final_count=3) as competition:
        answers = [competition.submit(scenario.file(n), "one") for n in range(3)]
        competition.select("one", [answer.submission for answer in answers])
        assert competition.finalize().notes[-1].startswith("A team that selected several")
    config = scenario.folder / "competition.toml"
    config.write_text(config.read_text().replace("count = 3", "count = 1"))
    best = max(answers, key=lambda answer: answer.released or 0.0).submission
    with scenario.reopen() as competition:
        result = competition.finalize()
        assert [row["submission"] for row in result.standings] == [best]
        assert "The team one selected 3 submissions" in result.notes[-1]


def test_an_export_is_the_same_bytes_and_can_be_verified(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create(
        final_rule="chosen", final_count=2, ties="secondary", secondary="f1", decimals=3
    ) as competition:
        with pytest.raises(UsageError, match="finalize first"):
            competition.export(tmp_path / "early")
        for number, team in enumerate(["=one", "two", "=one", "three"]):
            competition.submit(scenario.file(number), team)
        competition.select("=one", [1, 3])
        result = competition.finalize()
        restored = competition.as_finalized()
        assert restored is not None
        assert restored.display == result.display
        assert restored.to_dict() == result.to_dict()
        competition.export(tmp_path / "first")
        competition.finalize()
        competition.export(tmp_path / "second")
        with pytest.raises(InputError, match="not empty"):
            competition.export(tmp_path / "second")
        competition.submit(scenario.file(4), "four")
        assert competition.as_finalized() is None
        competition.finalize()
        assert competition.as_finalized() is not None
    names = sorted(str(p.relative_to(tmp_path / "first")) for p in (tmp_path / "first").rglob("*"))
    for name in names:
        first, two = tmp_path / "first" / name, tmp_path / "second" / name
        assert first.is_dir() or first.read_bytes() == two.read_bytes()
    assert "'=one" in (tmp_path / "first" / "private.csv").read_text()
    for line in (tmp_path / "first" / "events.jsonl").read_text().splitlines():
        assert line == json.dumps(json.loads(line), sort_keys=True)
    manager = PluginManager()
    assert verify_bundle(tmp_path / "first", scenario.solution_file, manager, NoProgress()) == ()
    final = next((tmp_path / "second" / "finals").glob("2.csv"))
    lines = final.read_text().splitlines()
    final.write_text("\n".join([lines[0], *(f"{line.split(',')[0]},0" for line in lines[1:])]))
    events = (tmp_path / "second" / "events.jsonl").read_text()
    (tmp_path / "second" / "events.jsonl").write_text(events.replace('"two"', '"owt"'))
    problems = verify_bundle(tmp_path / "second", scenario.solution_file, manager, NoProgress())
    assert any("score of the team two differs" in problem for problem in problems)
    assert any("was changed after it was written" in problem for problem in problems)


# -- changes -------------------------------------------------------------------------------------


WHOLE = """
def score(solution, submission, row_id_column_name):
    if len(solution) not in (10, 30) or solution["id"].astype(str).str.contains("#").any():
        raise ValueError("all rows, each once")
    return float((solution["y"] - submission["y"]).abs().mean())
"""


@pytest.mark.slow
def test_a_board_whose_metric_refused_all_resamples_can_be_verified(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(WHOLE)
    usage = ["Public"] * 10 + ["Private"] * 30
    rows = "".join(f"r{row},{row % 3},{split}\n" for row, split in enumerate(usage))
    (tmp_path / "s.csv").write_text(f"id,y,Usage\n{rows}")
    (tmp_path / "t.csv").write_text("id,y\n" + "".join(f"r{row},1\n" for row in range(40)))
    settings = Settings.model_validate(
        {
            "metric": {"name": f"kaggle:{tmp_path / 'm.py'}", "lower_is_better": True},
            "analysis": {"resamples": 20},
            "public": {"mechanism": "kaggle"},
        }
    )
    with Competition.create(tmp_path / "c", tmp_path / "s.csv", settings, seed=1) as competition:
        competition.submit(tmp_path / "t.csv", "t")
        result = competition.finalize()
        competition.export(tmp_path / "e")
        assert result.resamples == 0
        assert result.standings[0]["public_score"] is not None
        manager = competition.manager
        assert verify_bundle(tmp_path / "e", tmp_path / "s.csv", manager, NoProgress()) == ()


@pytest.mark.slow
def test_a_changed_report_of_the_board_is_named_and_not_shown(scenario: Scenario) -> None:
    with scenario.create(resamples=50, intervals=True) as competition:
        competition.submit(scenario.file(0), "one")
        competition.finalize()
        assert competition.as_finalized() is not None
        assert competition.audit() == ()
    with duckdb.connect(str(scenario.folder / "arena.duckdb")) as database:
        database.execute(
            "UPDATE meta SET value = replace(value, 'e', 'E') WHERE name = 'final_report'"
        )
    with scenario.reopen() as changed:
        assert changed.as_finalized() is None
        assert any("final_report" in problem for problem in changed.audit())


def test_private_scores_are_computed_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [SimpleNamespace(submission=number) for number in (4, 5, 6, 7, 8)]
    batches: list[list[int]] = []

    def scores_of(batch: list[Any]) -> Any:
        batches.append([record.submission for record in batch])
        return np.array(
            [np.nan if record.submission == 6 else record.submission / 10 for record in batch]
        )

    def run(*arguments: Any, intervals: bool) -> Any:
        assert not intervals
        return SimpleNamespace(scores_of=scores_of)

    monkeypatch.setattr(finalize, "_TOGETHER", 2)
    monkeypatch.setattr(finalize, "counted_submissions", lambda state: None)
    monkeypatch.setattr(finalize, "_run", run)
    state: Any = SimpleNamespace(ledger=SimpleNamespace(counting=lambda: records))
    # Without the one that has no score.
    assert finalize.private_scores(state) == {4: 0.4, 5: 0.5, 7: 0.7, 8: 0.8}
    assert batches == [[4, 5], [6, 7], [8]]
