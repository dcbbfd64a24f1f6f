"""A plugin that fails changes no result: a rule refuses, a metric sets one submission apart."""

from __future__ import annotations

import json
import logging
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena
from arena.competition.competition import Competition
from arena.errors import PluginError, RankingError
from arena.hookspecs import hookimpl
from arena.plugin import manager as managers
from arena.plugin.manager import PluginManager
from arena.types import RULE_FAILED, Fault, Finding, MetricTraits, PredictionKind, Release
from arena_ranking.analysis import Ranks
from program import run_here, write_csv
from scenario import Scenario

N_ROWS = 20
TEAMS = ("a", "b", "c")


def _file(tmp_path: Path, team: str, first: float = 0.0) -> Path:
    path = tmp_path / f"{team}-{first}.csv"
    values = [first, *(0.1 * number + TEAMS.index(team) for number in range(1, N_ROWS))]
    write_csv(
        path, ["id", "y"], [(f"r{position}", repr(value)) for position, value in enumerate(values)]
    )
    return path


def _create(tmp_path: Path, plugin: Any = None, metric: str = "mae", **keys: Any) -> Competition:
    manager = PluginManager()
    if plugin is not None:
        manager.register(plugin, "mine")
    solution = {
        "id": [f"r{row}" for row in range(N_ROWS)],
        "y": [row / 7 for row in range(N_ROWS)],
        "Usage": ["Public" if row % 2 else "Private" for row in range(N_ROWS)],
    }
    return Scenario(tmp_path, solution, manager=manager).create(metric=metric, **keys)


# -- rules -----------------------------------------------------------------------------------------


def _raises(predictions: Any) -> Any:
    raise ValueError(f"math domain error {predictions[0]}")


def _yields(predictions: Any) -> Any:
    yield Fault("first", "A sentence.")
    raise RuntimeError("half-way")


RULES: dict[str, Any] = {
    "raises": _raises,
    "exits": lambda predictions: sys.exit(0),
    "no list": lambda predictions: Fault("kind", "A sentence."),
    "a number": lambda predictions: 3,
    "a list of texts": lambda predictions: ["too large"],
    "half of a list": _yields,
    "a wrong fault": lambda predictions: [Fault("kind", "A sentence.", count="many")],  # type: ignore[arg-type]
    "writes": lambda predictions: predictions.sort(axis=0),
}


def _rule(function: Any) -> Any:
    return type(
        "Rule", (), {"check_submission": hookimpl(lambda self, predictions: function(predictions))}
    )()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.few(1)
def test_a_rule_that_fails_refuses_the_file_and_counts_for_nothing(
    tmp_path: Path, rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    plugin = _rule(RULES[rule])
    limits = {"total": 1, "count_rejected": True}
    with _create(tmp_path, plugin, **limits) as competition:
        for _ in range(2):  # the same file twice: it may be submitted again
            answer = competition.submit(_file(tmp_path, "a"), "a")
            assert (answer.status, answer.released) == ("refused", None)
            (fault,) = answer.faults
            assert fault.kind == RULE_FAILED
            assert "A rule of the organiser failed (plugin 'mine')" in fault.message
            assert "math domain" not in fault.message
        texts = [event.payload.get("for_organiser", "") for event in competition.events()[-2:]]
        assert all("plugin 'mine'" in text for text in texts)
        assert any(record.levelno >= logging.WARNING for record in caplog.records)
        type(plugin).check_submission = hookimpl(lambda self: None)
        competition.manager.unregister("mine")  # mended: the limit of one was not touched
        assert competition.submit(_file(tmp_path, "a"), "a").status == "accepted"


@pytest.mark.slow
def test_a_plugin_that_is_required_and_missing_refuses_files_and_results(tmp_path: Path) -> None:
    with _create(tmp_path) as competition:
        assert competition.submit(_file(tmp_path, "a"), "a").status == "accepted"
    config = tmp_path / "c" / "competition.toml"
    config.write_text(config.read_text().replace("required = []", 'required = ["house-rules"]'))
    with Competition.open(tmp_path / "c") as competition:
        answer = competition.submit(_file(tmp_path, "b"), "b")
        assert answer.status == "refused"
        assert "plugin 'house-rules'" in answer.faults[0].message
        with pytest.raises(PluginError) as refused:
            competition.finalize()
        place = "competition.toml: [plugins] required"
        assert str(refused.value).startswith(f"{place}: This competition requires the plugin 'hou")
        assert not competition.is_finalized


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("import nowhere_to_be_found\ndef check_submission(): ...\n", True),
        ("import nowhere_to_be_found\ndef provide_metrics(): ...\n", False),
        (None, True),
    ],
)
def test_a_plugin_that_cannot_be_imported_refuses_if_it_may_be_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, refused: bool
) -> None:
    from importlib import metadata

    if source is not None:
        (tmp_path / "unloadable_rules.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    point = metadata.EntryPoint("rules", "unloadable_rules", "arena")
    entry_points = managers.unique_entry_points

    def with_one(group: str) -> list[metadata.EntryPoint]:
        return [*entry_points(group), *([point] if group == "arena" else [])]

    monkeypatch.setattr(managers, "unique_entry_points", with_one)
    with _create(tmp_path) as competition:
        answer = competition.submit(_file(tmp_path, "a"), "a")
    assert (answer.status == "refused") is refused
    assert [fault.kind for fault in answer.faults] == [RULE_FAILED] * refused


@pytest.mark.slow
def test_the_plugins_that_judge_are_recorded_once_and_again_when_they_change(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rule = _rule(lambda predictions: None)
    with _create(tmp_path, rule) as competition:
        competition.submit(_file(tmp_path, "a"), "a")
        competition.submit(_file(tmp_path, "b"), "b")
        assert [event.kind for event in competition.events()] == ["created", *["submission"] * 2]
        first = competition.events()[0].payload["plugins"]
    assert first["rules"] == ["mine"]
    assert first["versions"]["arena_metrics"] == PluginManager().plugins[0].version
    with Competition.open(tmp_path / "c") as competition:  # without the rule
        competition.submit(_file(tmp_path, "c"), "c")
        competition.submit(_file(tmp_path, "c", 1.0), "c")
        kinds = [event.kind for event in competition.events()]
        assert kinds == ["created", *["submission"] * 2, "plugins", *["submission"] * 2]
        assert competition.events()[3].payload["plugins"]["rules"] == []
    assert "checked by a rule of 'mine', which is no longer installed" in caplog.text


# -- metrics ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Touchy:
    """Raises on the submission whose first private prediction is large; a black box."""

    name: str = "touchy"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE
    exits: bool = False

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        if prediction.max() > 1e6:
            if self.exits:
                sys.exit(0)
            raise RuntimeError(f"secret {truth[0]}")
        return float(np.average(np.abs(truth - prediction), weights=weight))


@dataclass(frozen=True)
class TouchyRows(Touchy):
    """Raises in its row values."""

    name: str = "touchy_rows"

    @property
    def traits(self) -> MetricTraits:
        return MetricTraits()

    def row_values(self, truth: Any, predictions: Any) -> Any:
        if predictions.max() > 1e6:
            raise RuntimeError(f"secret {truth[0]}")
        return np.abs(truth - predictions)

    def from_mean(self, mean: Any) -> Any:
        return mean


METRICS = {
    "black box": Touchy(),
    "row values": TouchyRows(),
    "exits": Touchy(name="exits", exits=True),
}


@pytest.mark.parametrize("kind", METRICS)
@pytest.mark.few(1)
def test_a_submission_on_which_the_metric_raises_is_set_apart_and_can_be_disqualified(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    metric = METRICS[kind]
    plugin = type("Plugin", (), {"provide_metrics": hookimpl(lambda self: [metric])})()
    with _create(tmp_path, plugin, metric.name, intervals=False, final_rule="last") as competition:
        for team in TEAMS:  # r0 is private: the public score of each is fine
            first = 1e9 if team == "b" else 0.0
            assert competition.submit(_file(tmp_path, team, first), team).status == "accepted"
        result = competition.finalize()
        assert [row["team"] for row in result.standings] == ["a", "c"]
        (rejected,) = result.rejected
        assert rejected.file.startswith("b-")
        assert rejected.faults[0].kind == "metric failed"
        assert f"{rejected.file}: {metric.name} failed on a submission" in caplog.text
        assert "secret" not in caplog.text
        competition.disqualify(2, "the metric fails on it")
        assert [row["team"] for row in competition.finalize().standings] == ["a", "c"]


def test_a_metric_that_fails_on_every_submission_is_an_error(tmp_path: Path) -> None:
    plugin = type("Plugin", (), {"provide_metrics": hookimpl(lambda self: [Touchy()])})()
    with _create(tmp_path, plugin, "touchy", intervals=False) as competition:
        for team in "ab":
            competition.submit(_file(tmp_path, team, 1e9), team)
        with pytest.raises(PluginError, match=r"a-1.*csv: touchy failed .* on every submission"):
            competition.finalize()


# -- what is returned ------------------------------------------------------------------------------


RELEASES: dict[str, Any] = {
    "a text": Release("0.5", True),  # type: ignore[arg-type]
    "nothing": None,
    "not finite": Release(float("nan"), True),
    "a number": 0.5,
    "a state with an array": Release(0.5, True, {"x": np.zeros(2)}),
}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.few(1)
def test_a_release_that_is_none_is_named_and_nothing_is_stored(
    tmp_path: Path, release: str
) -> None:
    class Mechanism:
        name = "odd"

        def release(self, state: Any, evaluation: Any, rng: Any) -> Any:
            return RELEASES[release]

    plugin = type("Plugin", (), {"provide_mechanisms": hookimpl(lambda self: [Mechanism()])})()
    with _create(tmp_path, plugin, mechanism="odd") as competition:
        with pytest.raises(PluginError, match="'mine' failed while releasing a score"):
            competition.submit(_file(tmp_path, "a"), "a")
        assert competition.submissions() == []


FINDINGS: dict[str, Any] = {
    "a text": "first place is real",
    "a set in its document": Finding("odd", "A sentence.", {"x": {1}}),
    "columns that are no columns": Finding("odd", "A sentence.", {}, {"c": 3}),  # type: ignore[dict-item]
}


@pytest.mark.slow
@pytest.mark.parametrize("finding", FINDINGS)
def test_a_finding_that_is_none_is_named_and_left_out(tmp_path: Path, finding: str) -> None:
    class Analysis:
        name = "odd"

        def run(self, study: Any, rng: Any) -> Any:
            return FINDINGS[finding]

    plugin = type("Plugin", (), {"provide_analyses": hookimpl(lambda self: [Analysis()])})()
    with _create(tmp_path, plugin, resamples=20, intervals=True) as competition:
        for team in TEAMS:
            competition.submit(_file(tmp_path, team), team)
        result = competition.finalize()
        assert len(result.standings) == 3
        assert "odd" not in [finding.analysis for finding in result.findings]
        (failure,) = competition.manager.failures
        assert "plugin 'mine' failed while running the analysis 'odd'" in str(failure)


# -- ranks -----------------------------------------------------------------------------------------


def test_a_board_without_its_verdict_is_an_error_unless_it_has_no_intervals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise ValueError("the label is 7")

    monkeypatch.setattr(Ranks, "run", fail)
    sentence = (
        "Plugin 'arena_ranking' failed while running the analysis 'ranks': ValueError at "
        f"test_failing_plugins.py, line {fail.__code__.co_firstlineno + 1}. The error message may "
        "contain labels; --verbose shows it. {}, or for a competition intervals = false under "
        "[analysis], gives a board of scores and ranks without it."
    )
    files = [_file(tmp_path, team) for team in TEAMS[:2]]
    with _create(tmp_path, intervals=True, resamples=20) as competition:
        for file, team in zip(files, TEAMS, strict=False):
            competition.submit(file, team)
        with pytest.raises(RankingError, match=re.escape(sentence.format("--no-intervals"))):
            competition.finalize(workers=1)
        assert len(competition.finalize(workers=1, intervals=False).standings) == 2
    given: dict[str, Any] = {"metric": "mae", "resamples": 20, "workers": 1}
    with pytest.raises(RankingError, match=re.escape(sentence.format("intervals=False"))):
        arena.score(tmp_path / "solution.csv", files, **given)
    options = [text for name, value in given.items() for text in (f"--{name}", value)]
    command = ("score", "solution.csv", *files, *options, "--json")
    failed = run_here(*command, cwd=tmp_path)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert " ".join(failed.stderr.split()) == f"arena: {sentence.format('--no-intervals')}"
    done = run_here(*command, "--no-intervals", cwd=tmp_path)
    assert (done.returncode, len(json.loads(done.stdout)["standings"])) == (0, 2)
