"""A simulated competition: who sees what, who may take part, and how it goes on."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import types
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from arena.competition.competition import Competition
from arena.errors import InputError
from arena.interfaces import Move
from arena.simulation.competition.play import result_or_raise, result_or_reason
from arena.utils.engines import using
from arena.utils.parallel import NoProgress
from clusters import InProcess
from simulated_competition import WORLD, Spy, few_plugins, held, request, with_usage

PUBLIC = np.arange(240) % 3 == 0


@pytest.fixture
def manager():
    return few_plugins()


def sent(folder):
    with Competition.open(folder, manager=few_plugins()) as competition:
        return [(record.team, record.sha256, record.received) for record in competition.records()]


def with_labels(flip):
    """Return the data with other labels on chosen rows."""
    target = np.where(flip, 1 - WORLD.population.target, WORLD.population.target)
    world = replace(WORLD, population=replace(WORLD.population, target=target))
    return with_usage(world, PUBLIC)


@pytest.mark.slow
def test_private_labels_change_nothing_that_anybody_sends(tmp_path):
    history = {}
    for name, flip in (("as is", PUBLIC & False), ("private", ~PUBLIC), ("public", PUBLIC)):
        manager = few_plugins(Spy())
        simulation = request(
            tmp_path / name,
            manager,
            kinds="spy=2, copycat(share=0.2)=1, boosting=1, random-search=1",
            data=with_labels(flip),
        )
        held(simulation, manager)
        history[name] = sent(tmp_path / name)
    assert len(history["as is"]) > 10
    assert history["private"] == history["as is"]
    assert history["public"] != history["as is"]


def everything_in(start):
    """Yield all objects that can be reached from one, but for modules, classes and functions."""
    stop = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)
    seen_ids, left = set(), [start]
    while left:
        item = left.pop()
        if id(item) in seen_ids or isinstance(item, stop):
            continue
        seen_ids.add(id(item))
        yield item
        left += gc.get_referents(item)


@pytest.mark.slow
def test_no_label_and_no_chance_can_be_reached_from_a_participation(tmp_path):
    spy = Spy()
    manager = few_plugins(spy)
    held(request(tmp_path / "s", manager, kinds="spy", data=with_labels(PUBLIC)), manager)
    (first, *_) = spy.seen
    assert {field.name for field in dataclasses.fields(first)} == {
        "metric", "n_rows", "n_public", "n_classes", "submissions", "baseline", "baseline_score",
        "training", "test", "notebooks",
    }  # fmt: skip
    truth = np.where(PUBLIC, 1 - WORLD.population.target, WORLD.population.target)
    items = list(everything_in(first))
    features = WORLD.population.features
    assert any(isinstance(item, np.ndarray) and np.array_equal(item, features) for item in items)
    assert not any(isinstance(item, pa.Table | Competition) for item in items)
    arrays = [item for item in items if isinstance(item, np.ndarray) and item.shape == (240,)]
    assert arrays
    for array in arrays:
        for secret in (truth, WORLD.population.chance, PUBLIC):
            assert not np.array_equal(array, secret)


@pytest.mark.slow
def test_stranger_takes_part_by_name_and_hears_only_what_is_released(tmp_path):
    spy = Spy()
    manager = few_plugins(spy)
    (play,) = held(request(tmp_path / "s", manager, kinds="spy", mechanisms=["ladder"]), manager)
    assert {team.kind for team in play.outcome.teams} == {"spy"}
    assert {team.conduct for team in play.outcome.teams} == {"honest"}
    with Competition.open(tmp_path / "s", manager=few_plugins()) as competition:
        released = [row["released"] for row in competition.submissions()]
    assert {feedback.score for feedback in spy.feedback} <= set(released)


class Broken(Spy):
    name = "broken"

    def start(self, participation, rng):
        player = super().start(participation, rng)
        player.receive = self.fail
        return player

    def fail(self, answer):
        raise ValueError("no way")


class Ragged(Spy):
    name = "ragged"

    def start(self, participation, rng):
        player = super().start(participation, rng)
        player.submit = lambda: Move(np.full(7, 9))
        return player


@pytest.mark.slow
def test_who_fails_or_sends_nonsense_leaves_and_is_named(tmp_path):
    manager = few_plugins(Broken(), Ragged(), Spy())
    simulation = request(
        tmp_path / "s", manager, kinds="broken=2, ragged, spy=2", changes={"days": 12}
    )
    (play,) = held(simulation, manager)
    sent_by = Counter()
    for team in play.outcome.teams:
        sent_by[team.kind] += team.submissions
    assert sent_by["broken"] == 2
    assert sent_by["ragged"] == 0
    assert sent_by["spy"] > 2
    assert {failure.plugin for failure in manager.failures} == {"a stranger's"}
    named = " ".join(map(str, manager.failures))
    assert "broken: ValueError" in named
    assert "ragged: PluginError" in named


class Interrupt(NoProgress):
    """Ends the simulation after some steps, as Ctrl-C does."""

    def __init__(self, after):
        self.left = after

    def advance(self, steps=1):
        self.left -= steps
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize(
    "after", [0, pytest.param(5, marks=pytest.mark.slow), pytest.param(11, marks=pytest.mark.slow)]
)
def test_interrupted_it_goes_on_as_if_it_had_not_been(tmp_path, manager, after):
    (whole,) = held(request(tmp_path / "whole", manager), manager)
    simulation = request(tmp_path / "parts", manager)
    with pytest.raises(KeyboardInterrupt):
        held(simulation, manager, progress=Interrupt(after))
    assert len(sent(tmp_path / "parts")) < len(sent(tmp_path / "whole"))
    (parts,) = held(simulation, manager)
    again = {**parts.outcome.to_dict(), "folder": whole.outcome.folder}
    assert again == whole.outcome.to_dict()
    assert sent(tmp_path / "parts") == sent(tmp_path / "whole")


@pytest.mark.slow
def test_a_torn_founding_is_mended(tmp_path, manager):
    simulation = request(tmp_path / "s", manager)
    held(simulation, manager)
    (tmp_path / "s" / "competition.toml").unlink()
    (play,) = held(simulation, manager)
    assert play.outcome.submissions > 0


@pytest.mark.slow
def test_every_mechanism_has_the_same_visits_in_a_folder_of_its_own(tmp_path, manager):
    simulation = request(tmp_path / "s", manager, mechanisms=["full", "ladder(eta=0.2)"])
    full, ladder = held(simulation, manager)
    assert full.folder.name, ladder.folder.name == ("full", "ladder-eta-0.2")
    first = [
        [row for row in sent(play.folder) if "random-search" in row[0]] for play in (full, ladder)
    ]
    assert first[0][0] == first[1][0]
    assert (full.outcome.mechanism, ladder.outcome.mechanism) == simulation.mechanisms


@pytest.mark.slow
def test_settings_of_the_competition_are_in_force(tmp_path, manager):
    settings = {
        "public": {"scope": "rank"},
        "limits": {"per_day": 2, "total": 3},
        "final": {"rule": "last"},
    }
    simulation = request(
        tmp_path / "s", manager, mechanisms=["ladder-free"], changes={"days": 8}, **settings
    )
    (play,) = held(simulation, manager)
    assert play.outcome.scope == "rank"
    assert max(team.submissions for team in play.outcome.teams) <= 3
    with Competition.open(tmp_path / "s", manager=manager) as competition:
        last = {row["team"]: row["submission"] for row in competition.submissions()}
        counting = {row["team"]: row["submission"] for row in play.result.standings}
    assert counting == {team: last[team] for team in counting}


@pytest.mark.slow
def test_teams_choose_what_they_send_last_where_teams_choose(tmp_path, manager):
    simulation = request(tmp_path / "s", manager, final={"rule": "chosen"})
    for _ in range(2):
        (play,) = held(simulation, manager)
    with Competition.open(tmp_path / "s", manager=manager) as competition:
        events = [event for event in competition.events() if event.kind == "selection"]
    chosen = {event.payload["team"]: event.payload["submissions"] for event in events}
    assert len(events) == len(chosen) == 5
    counting = {row["team"]: [row["submission"]] for row in play.result.standings}
    assert counting == chosen


@pytest.mark.slow
def test_models_are_trained_once_for_all_mechanisms_and_any_number_of_workers(tmp_path, manager):
    kinds = "lightgbm-climber=3, lightgbm-seeds=2"
    simulation = request(tmp_path / "a", manager, kinds=kinds, baseline="lightgbm-climber")
    (play,) = held(simulation, manager)
    models = {path: path.stat().st_mtime_ns for path in (tmp_path / "a" / "models").iterdir()}
    assert len(models) > 3
    held(simulation, manager)
    assert {path: path.stat().st_mtime_ns for path in models} == models
    assert {team.conduct for team in play.outcome.teams} == {"honest"}


@pytest.mark.slow
def test_two_workers_give_the_same_numbers(tmp_path, manager):
    kinds = "lightgbm-climber=3, lightgbm-seeds=1, copycat=1"
    results = []
    for workers in (1, 2):
        simulation = request(
            tmp_path / str(workers), manager, kinds=kinds, baseline="lightgbm-climber"
        )
        (play,) = held(simulation, manager, workers=workers)
        results.append(sent(play.folder))
    assert results[0] == results[1]


@pytest.mark.slow
def test_other_submissions_in_the_folder_are_noticed_before_anything_is_added(tmp_path, manager):
    simulation = request(tmp_path / "s", manager)
    with pytest.raises(KeyboardInterrupt):
        held(simulation, manager, progress=Interrupt(5))
    with Competition.open(tmp_path / "s", manager=few_plugins()) as competition:
        competition.submit(tmp_path / "s" / "sample_submission.csv", "a real team")
    before = sent(tmp_path / "s")
    with pytest.raises(InputError, match="does not reproduce"):
        held(simulation, manager)
    assert sent(tmp_path / "s") == before


class Quitter(Spy):
    """Leaves after its second submission, and keeps what was made public."""

    name = "quitter"

    def start(self, participation, rng):
        player = super().start(participation, rng)
        player.has_stopped = lambda: len(self.feedback) >= 2
        return player


@pytest.mark.slow
def test_a_team_that_stops_submits_no_more_and_notebooks_are_published(tmp_path):
    quitter = Quitter()
    manager = few_plugins(quitter)
    changes = {"teams": 1, "days": 8, "notebooks": 1.0}
    simulation = request(tmp_path / "s", manager, kinds="quitter=1", changes=changes)
    (play,) = held(simulation, manager)
    assert play.outcome.submissions == 2
    (part,) = quitter.seen[-1:]
    assert [notebook.score for notebook in part.notebooks] == [
        feedback.score for feedback in quitter.feedback
    ]
    ranks = [feedback.standing.rank for feedback in quitter.feedback]
    assert ranks == [1, 1]
    assert quitter.feedback[-1].standing.best == max(
        feedback.score for feedback in quitter.feedback
    )


@pytest.mark.slow
def test_a_cluster_makes_the_same_submissions(tmp_path):
    history, cluster = [], InProcess()
    for name in ("here", "there"):
        manager = few_plugins()
        simulation = request(tmp_path / name, manager, kinds="lightgbm-climber=2, boosting=1")
        with using(cluster.engine()) if name == "there" else contextlib.nullcontext():
            held(simulation, manager)
        history.append(sent(tmp_path / name))
    assert cluster.calls
    assert history[0] == history[1]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no rows"), "ValueError: no rows"),
        (SystemExit(3), "SystemExit: 3"),
        (ZeroDivisionError(), "ZeroDivisionError"),
    ],
)
def test_a_computation_that_fails_says_why(error, said):
    def fails(_):
        raise error

    assert result_or_reason(fails, (1,)) == said
    with pytest.raises(RuntimeError) as raised:
        result_or_raise(said)
    assert str(raised.value) == said
    assert (
        result_or_reason(np.sqrt, ([4.0],)).tolist()
        == [2.0]
        == result_or_raise(np.array([2.0])).tolist()
    )
