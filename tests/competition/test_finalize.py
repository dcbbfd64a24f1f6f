"""The end of a competition, driven from Python: what counts, who wins, what is exported."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

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
from program import write_csv
from small_competition import N_ROWS, Clock, file_of, made
from toy_metrics import BlackBoxRmse


@dataclass(frozen=True)
class Provides:
    """A plugin of one metric."""

    metric: Any

    @hookimpl
    def provide_metrics(self) -> list[Any]:
        return [self.metric]


def test_without_an_accepted_file_there_is_no_final_board(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock) as competition:
        with pytest.raises(UsageError, match="no accepted submission"):
            competition.finalize()
        with pytest.raises(UsageError, match="finalize first"):
            competition.private_leaderboard()


@pytest.mark.slow
def test_a_file_sent_after_the_result_marks_it_also_once_the_board_is_made_again(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, analysis={"intervals": False}) as competition:
        competition.submit(file_of(tmp_path, 0), "one")
        competition.finalize()
        competition.publish()
        clock.now += timedelta(days=1)
        sent = competition.submit(file_of(tmp_path, 1), "two")
        received = next(
            row["received"] for row in competition.submissions() if row["team"] == "two"
        )
        for finalize_again in (False, True):
            clock.now += timedelta(days=1)
            if finalize_again:
                competition.finalize()
            mark = competition.results()[0]["mark"]
            assert mark == {"cause": "other submissions count", "time": received}
        competition.disqualify(sent.submission, "a leak")
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
    tmp_path: Path, clock: Clock
) -> None:
    rng, metric = np.random.default_rng(3), CountedRmse()
    usage = np.where(np.arange(N_ROWS) % 3, "Private", "Public")
    values = rng.normal(size=N_ROWS)
    metric.splits.extend(values[usage == one] for one in ("Public", "Private"))
    rows = [(f"r{i}", repr(float(values[i])), one) for i, one in enumerate(usage)]
    write_csv(tmp_path / "numbers.csv", ["id", "y", "Usage"], rows)
    manager = PluginManager()
    manager.register(Provides(metric), "counts")
    settings = Settings.model_validate(
        {"metric": {"name": "counted_rmse"}, "analysis": {"resamples": 3}}
    )
    with Competition.create(
        tmp_path / "c", tmp_path / "numbers.csv", settings, manager=manager, clock=clock
    ) as competition:
        for number, team in enumerate(["one", "two"]):
            competition.submit(file_of(tmp_path, number), team)
        metric.calls.clear()
        competition.finalize()
    assert (metric.calls[N_ROWS * 2 // 3], metric.calls[N_ROWS // 3]) == (2, 2)


@pytest.mark.slow
def test_an_export_verifies_with_rebuilt_tables_and_ids_with_unusual_line_separators(
    tmp_path: Path, clock: Clock
) -> None:
    ids = [f"r{i}\u2028\x85x" for i in range(12)]
    rows = [(one, i % 2, "Public" if i < 6 else "Private") for i, one in enumerate(ids)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    write_csv(tmp_path / "file.csv", ["id", "y"], [(one, i / 20) for i, one in enumerate(ids)])
    settings = Settings.model_validate(
        {"metric": {"name": "roc_auc"}, "analysis": {"resamples": 20}}
    )
    with Competition.create(
        tmp_path / "c", tmp_path / "solution.csv", settings, clock=clock
    ) as competition:
        assert competition.submit(tmp_path / "file.csv", "team").status == "accepted"
    with duckdb.connect(str(tmp_path / "c" / "arena.duckdb")) as connection:
        connection.execute("DELETE FROM team_counts")
    assert "rebuilt (team_counts)" in repair(tmp_path / "c" / "arena.duckdb").sentence
    clock.now = datetime.now(UTC)  # as the record of the repair says
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        competition.finalize()
        competition.export(tmp_path / "export")
        history = history_section(competition.events())
    assert history is not None
    ((_, what),) = history.tables[0].rows
    assert what == "Tables derived from the history were rebuilt: team_counts."
    found = verify_bundle(
        tmp_path / "export", tmp_path / "solution.csv", PluginManager(), NoProgress()
    )
    assert found == ()


@pytest.mark.slow
def test_baselines_stand_unranked_on_the_private_board_and_are_verified(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"competition": {"baseline": ["base", "dull"]}, "analysis": {"intervals": False}}
    with made(tmp_path, solution, clock, **sections) as competition:
        for number, team in enumerate(["one", "base", "dull"]):
            competition.submit(file_of(tmp_path, number), team)
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
        truth, usage = competition.solution.truth, competition.solution.usage
        private = usage == Usage.PRIVATE
        for seed, team in ((1, "base"), (2, "dull")):
            expected = roc_auc_score(
                truth[private], np.random.default_rng(seed).random(N_ROWS)[private]
            )
            (score,) = (row["score"] for row in rows if row["team"] == team)
            assert score == pytest.approx(expected)
        assert competition.as_finalized() is not None
        competition.export(tmp_path / "export")
    manager = PluginManager()
    assert verify_bundle(tmp_path / "export", solution, manager, NoProgress()) == ()
    changed = json.loads((tmp_path / "export" / "result.json").read_text())
    changed["baseline"]["score"] += 0.01
    changed["unranked"][0]["baseline"] = False
    (tmp_path / "export" / "result.json").write_text(json.dumps(changed))
    told = verify_bundle(tmp_path / "export", solution, manager, NoProgress())
    assert "score of the baseline base differs." in told
    assert "baseline of the unranked team dull differs." in told


@pytest.mark.slow
def test_of_more_chosen_than_are_allowed_by_now_the_best_on_public_count(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"final": {"rule": "chosen", "count": 3}, "analysis": {"intervals": False}}
    with made(tmp_path, solution, clock, **sections) as competition:
        answers = [competition.submit(file_of(tmp_path, n), "one") for n in range(3)]
        competition.select("one", [answer.submission for answer in answers])
        assert competition.finalize().notes[-1].startswith("A team that selected several")
    config = tmp_path / "c" / "competition.toml"
    config.write_text(config.read_text().replace("count = 3", "count = 1"))
    best = max(answers, key=lambda answer: answer.released or 0.0).submission
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        result = competition.finalize()
        assert [row["submission"] for row in result.standings] == [best]
        assert "The team one selected 3 submissions" in result.notes[-1]


def test_an_export_is_the_same_bytes_and_can_be_verified(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"final": {"rule": "chosen", "count": 2}, "analysis": {"intervals": False}}
    with made(tmp_path, solution, clock, **sections) as competition:
        with pytest.raises(UsageError, match="finalize first"):
            competition.export(tmp_path / "early")
        for number, team in enumerate(["=one", "two", "=one", "three"]):
            competition.submit(file_of(tmp_path, number), team)
        competition.select("=one", [1, 3])
        competition.finalize()
        competition.export(tmp_path / "first")
        competition.finalize()
        competition.export(tmp_path / "second")
        with pytest.raises(InputError, match="not empty"):
            competition.export(tmp_path / "second")
    names = sorted(str(p.relative_to(tmp_path / "first")) for p in (tmp_path / "first").rglob("*"))
    for name in names:
        one, two = tmp_path / "first" / name, tmp_path / "second" / name
        assert one.is_dir() or one.read_bytes() == two.read_bytes()
    assert "'=one" in (tmp_path / "first" / "private.csv").read_text()
    manager = PluginManager()
    assert verify_bundle(tmp_path / "first", solution, manager, NoProgress()) == ()
    final = next((tmp_path / "second" / "finals").glob("2.csv"))
    lines = final.read_text().splitlines()
    final.write_text("\n".join([lines[0], *(f"{line.split(',')[0]},0.5" for line in lines[1:])]))
    events = (tmp_path / "second" / "events.jsonl").read_text()
    (tmp_path / "second" / "events.jsonl").write_text(events.replace('"two"', '"owt"'))
    problems = verify_bundle(tmp_path / "second", solution, manager, NoProgress())
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
    rows = "".join(f"r{row},{row % 3},{one}\n" for row, one in enumerate(usage))
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
def test_a_changed_report_of_the_board_is_named_and_not_shown(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, analysis={"resamples": 50}) as competition:
        competition.submit(file_of(tmp_path, 0), "one")
        competition.finalize()
        assert competition.as_finalized() is not None
        assert competition.audit() == ()
    with duckdb.connect(str(tmp_path / "c" / "arena.duckdb")) as database:
        database.execute(
            "UPDATE meta SET value = replace(value, 'e', 'E') WHERE name = 'final_report'"
        )
    with Competition.open(tmp_path / "c") as changed:
        assert changed.as_finalized() is None
        assert any("final_report" in one for one in changed.audit())
