"""``arena simulate competition --seeds``: stories side by side, compared with paired tests."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from arena.errors import InputError, UsageError
from arena.plugin.manager import PluginManager
from arena.report.seeds import seeds_report
from arena.simulation.competition import prepare, seeds
from arena.simulation.competition.comparison import (
    MEASURES,
    Story,
    compare_mechanisms,
    errors_by_day,
    interval_of_shares,
    mean_interval,
)
from arena.simulation.competition.prepare import dry_run
from arena.simulation.competition.seeds import read_stories
from arena.simulation.competition.simulate import run_simulation, simulate
from arena.simulation.competition.summary import summarize_seeds
from arena.simulation.requests import SimulationRequest
from arena.utils.parallel import NoProgress
from arena.utils.tabular import as_json
from clusters import InProcess
from competition_folder import document
from kept import check_kept, check_kept_document
from page_text import text_of
from program import run_here

SMALL = (
    "simulate", "competition", "s", "--teams", 3, "--days", 1, "--rows", 400, "--workers", 1,
    "--train-rows", 300, "--validation-rows", 100, "--baseline", "none",
    "--kinds", "lightgbm-climber=2, copycat=1", "--metric", "roc_auc",
    "--mechanism", "full, ladder-free", "--seeds", 2, "--seed", 7,
)  # fmt: skip


def outcome(error, *, won=True, degenerate=None):
    return {
        "truth": "exact",
        "degenerate": degenerate,
        "best_won": won,
        "loss": 0.0,
        "leaderboard_error": error,
        "leaderboard_error_mean": error / 2,
        "days": [{"day": 1, "error": error, "shown_best": error, "true_of_leader": 0.0}],
        "agreement": {"public_private": 0.5, "private_true": None},
    }


@pytest.mark.slow
def test_runs_side_by_side_and_continues(tmp_path):
    first = document(
        run_here(*SMALL, "--report", "s.html", "--json", cwd=tmp_path), "simulate-seeds"
    )
    assert first["seeds"] == [7, 8]
    assert [(run["seed"], run["mechanism"]) for run in first["runs"][:2]] == [
        (7, "full"),
        (7, "ladder-free"),
    ]
    assert sorted(path.name for path in (tmp_path / "s").iterdir()) == ["seed-7", "seed-8"]
    text = text_of((tmp_path / "s.html").read_text(encoding="utf-8"))
    assert "Mechanisms compared" in text
    assert "not shown" in text
    again = run_here(*SMALL, "--json", cwd=tmp_path)
    assert document(again, "simulate-seeds") == first
    errors = {}
    for run in first["runs"]:
        errors.setdefault(run["mechanism"], []).append(run["leaderboard_error"])
    (summary,) = (
        summary_row
        for summary_row in first["summaries"]
        if (summary_row["mechanism"], summary_row["measure"]) == ("full", "leaderboard_error")
    )
    kept = [
        error
        for error, seed in zip(errors["full"], first["seeds"], strict=True)
        if seed not in first["degenerate_seeds"]
    ]
    assert summary["mean"] == pytest.approx(np.mean(kept))


@pytest.mark.slow
def test_a_cluster_prints_the_same(tmp_path, monkeypatch):
    here = run_here(*SMALL, "--json", cwd=tmp_path).stdout

    @contextlib.contextmanager
    def opened(*_):
        yield InProcess().engine()

    monkeypatch.setattr("arena.utils.engines.open_engine", opened)  # continues from what is done
    assert run_here(*SMALL, "--json", "--engine", "dask", cwd=tmp_path).stdout == here
    # A worker that still runs a seed of an interrupted command has its database open.
    (tmp_path / "s" / "seed-7" / "outcomes.json").unlink()
    database = next((tmp_path / "s" / "seed-7").rglob("arena.duckdb"))
    code = (
        "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print(flush=1); time.sleep(4)"
    )
    call = [sys.executable, "-c", code, str(database)]
    with subprocess.Popen(call, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline()
        again = run_here(*SMALL, "--json", "--engine", "dask", cwd=tmp_path)
    assert (again.stdout, again.returncode) == (here, 0)


@pytest.mark.slow
def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "notes.txt").write_text("mine")
    called = run_here(*SMALL, cwd=tmp_path)
    assert called.returncode == 1
    assert "s holds notes.txt" in " ".join(called.stderr.split())


def test_differences_are_paired_and_corrected():
    rng = np.random.default_rng(0)
    shared, own = rng.normal(0.03, 0.01, 12), rng.normal(0.002, 0.001, 12)
    stories = [
        Story(seed, "", (outcome(error), outcome(error - less)))
        for seed, (error, less) in enumerate(zip(shared, own, strict=True))
    ]
    comparison = compare_mechanisms(["full", "ladder"], stories, 0.9)
    by_name = {difference.measure: difference for difference in comparison.differences}
    assert "private_true" not in by_name
    assert comparison.comparisons == len(by_name) == len(MEASURES) - 1
    expected = stats.ttest_rel(shared - own, shared)
    one = by_name["leaderboard_error"]
    assert one.p == pytest.approx(min(1, expected.pvalue * comparison.comparisons))
    ends = expected.confidence_interval(1 - 0.1 / comparison.comparisons)
    assert (one.low, one.high) == pytest.approx((ends.low, ends.high))
    assert one.shown
    assert not by_name["loss"].shown
    assert by_name["loss"].p == 1
    texts = " ".join(summarize_seeds(comparison))
    assert "leaderboard error, maximum over days is smaller under ladder than under full" in texts
    assert "The other 3 differences are not shown." in texts


def test_a_yes_or_no_is_compared_by_its_signs():
    stories = [Story(seed, "", (outcome(0.1, won=False), outcome(0.1))) for seed in range(5)]
    comparison = compare_mechanisms(["full", "ladder"], stories)
    (won,) = (
        difference for difference in comparison.differences if difference.measure == "best_won"
    )
    # Five of five differ, which has probability 2 / 32 under equal mechanisms.
    assert won.p == pytest.approx(min(1, 2 / 2**5 * comparison.comparisons))
    assert not won.shown
    assert (won.low < 0, won.high) == (True, 1.0)
    assert "No difference between the mechanisms is shown." in " ".join(summarize_seeds(comparison))


def test_equal_outcomes_on_all_seeds_are_no_proof_of_equality():
    stories = [Story(seed, "", (outcome(0.1), outcome(0.1))) for seed in range(20)]
    comparison = compare_mechanisms(["full", "ladder"], stories)
    by_name = {difference.measure: difference for difference in comparison.differences}
    won, error = by_name["best_won"], by_name["leaderboard_error"]
    assert (error.mean, error.low, error.high, error.p) == (0, None, None, 1)
    # A difference on 1 of 10 seeds is missed by 20 seeds with a probability of 0.9^20 = 0.12.
    assert (won.mean, won.low) == (0, pytest.approx(-won.high))
    assert 0.1 < won.high < 0.3


@pytest.mark.parametrize(("above", "below"), [(0.0, 0.02), (0.1, 0.0), (0.3, 0.1), (0.5, 0.5)])
def test_interval_of_a_difference_of_shares_covers_it(above, below):
    n, tail, covered = 20, 0.025, 0.0
    for first in range(n + 1):
        for second in range(n + 1 - first):
            low, high = interval_of_shares(first, second, n, tail)
            counts = [first, second, n - first - second]
            if low - 1e-9 <= above - below <= high + 1e-9:
                covered += stats.multinomial.pmf(counts, n, [above, below, 1 - above - below])
    assert covered >= 0.94


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"teams": 2.5}, "whole numbers"),
        ({"rows": 300.5}, "whole numbers"),
        ({"per_day": 0}, "per_day takes whole numbers from 1, not 0"),
    ],
)
def test_numbers_that_count_nothing_are_refused(tmp_path, changes, said):
    with pytest.raises(UsageError, match=said):
        simulate(tmp_path / "s", "full", **changes)
    assert not (tmp_path / "s").exists()


def test_seeds_without_a_meaning_are_left_out_and_said():
    none = "3 of 3 submissions share the best score, 0."
    stories = [
        Story(0, "", (outcome(0.9, degenerate=none),)),
        *(Story(seed, "", (outcome(0.1),)) for seed in (1, 2)),
    ]
    comparison = compare_mechanisms(["full"], stories)
    assert comparison.degenerate == (0,)
    assert comparison.summary_of("full", "leaderboard_error").mean == pytest.approx(0.1)
    assert summarize_seeds(comparison)[0].startswith("On 1 of 3 seeds a ranking has no meaning")
    (only,) = summarize_seeds(compare_mechanisms(["full"], stories[:1]))
    assert "Use another metric" in only


def with_private_truth(story):
    return replace(
        story,
        outcomes=tuple(
            {**outcome, "truth": "private", "best_won": None} for outcome in story.outcomes
        ),
    )


def test_what_seeds_show_is_kept_in_every_state():
    errors = [(0.02 + seed / 1_000, 0.01) for seed in range(8)]
    apart = [Story(seed, "", (outcome(a), outcome(b))) for seed, (a, b) in enumerate(errors)]
    turned = [Story(story.seed, "", story.outcomes[::-1]) for story in apart]
    equal = [Story(seed, "", (outcome(0.1), outcome(0.1, won=seed > 1))) for seed in range(6)]
    useless = [Story(9, "", (outcome(0.1, degenerate="All tie."),) * 2)]
    both, first = (
        ["full", "ladder"],
        [replace(story, outcomes=story.outcomes[:1]) for story in apart],
    )
    states = {
        "smaller": (both, apart), "larger": (both, turned), "no difference": (both, equal),
        "one mechanism": (["full"], first), "one seed": (["full"], first[:1]),
        "not known": (both, [with_private_truth(story) for story in apart]),
        "some without a meaning": (both, [*equal, *useless]),
        "none with a meaning": (both, useless * 2),
    }  # fmt: skip
    lines = []
    for name, (mechanisms, stories) in states.items():
        lines += [f"== {name}", *summarize_seeds(compare_mechanisms(mechanisms, stories))]
    check_kept("seeds.txt", "\n".join(lines) + "\n")


def test_finished_seeds_are_read_again(tmp_path):
    for seed in (11, 2):
        folder = tmp_path / f"seed-{seed}"
        folder.mkdir()
        outcomes = [{"mechanism": "full", **outcome(seed / 100)}]
        (folder / "outcomes.json").write_text(json.dumps({"request": "", "found": outcomes}))
    (tmp_path / "seed-3").mkdir()  # not finished
    mechanisms, stories = read_stories(tmp_path)
    assert mechanisms == ("full",)
    assert [story.seed for story in stories] == [2, 11]
    compared = compare_mechanisms(mechanisms, stories)
    assert compared.summary_of("full", "leaderboard_error").mean == pytest.approx(0.065)
    (tmp_path / "seed-2-old").mkdir()  # a copy
    (tmp_path / "seed-2-old" / "outcomes.json").write_text("{")
    assert len(read_stories(tmp_path)[1]) == 2
    for damaged in ("{", "[]"):
        (tmp_path / "seed-11" / "outcomes.json").write_text(damaged)
        with pytest.raises(InputError, match="damaged"):
            read_stories(tmp_path)
    with pytest.raises(InputError, match="no two seeds"):
        read_stories(tmp_path / "seed-2")


def test_numbers_out_of_range(tmp_path):
    with pytest.raises(UsageError, match="level"):
        compare_mechanisms(["full"], [Story(0, "", (outcome(0.1),))], 1.5)
    for settings in ({"level": 95}, {"seed": -1}, {"seeds": 0}):
        with pytest.raises(UsageError, match="level|seed"):
            simulate(tmp_path / "new", **settings)
    assert not (tmp_path / "new").exists()


def test_the_report_of_several_seeds_is_the_kept_one():
    """Of three mechanisms on four seeds, one of them without a meaning."""
    errors = [(0.10, 0.04, 0.11), (0.12, 0.05, 0.10), (0.09, 0.03, 0.12), (0.30, 0.20, 0.10)]
    stories = []
    for seed, of_mechanisms in enumerate(errors):
        outcomes = [outcome(error, won=place == 1) for place, error in enumerate(of_mechanisms)]
        for place, result in enumerate(outcomes):
            result["loss"] = seed * place / 100
            result["degenerate"] = (
                "3 of 3 submissions share the best score, 0." if seed == 3 else None
            )
            result["days"] += [
                {
                    **result["days"][0],
                    "day": 2,
                    "error": 2 * result["days"][0]["error"],
                }
            ]
        stories.append(Story(seed, "", tuple(outcomes)))
    compared = compare_mechanisms(["full", "ladder", "kaggle"], stories)
    simulation = SimpleNamespace(
        metric="accuracy",
        data=SimpleNamespace(name="own rows"),
        request=SimpleNamespace(teams=5, days=2),
    )
    document = {
        "report": asdict(seeds_report(simulation, compared)),
        "document": compared.to_dict(),
    }
    check_kept_document("seeds", as_json(document))


def test_every_seed_from_the_first_on_is_asked_for(tmp_path, monkeypatch):
    asked = []

    def run_story(request, seed, manager):
        asked.append(seed)
        return Story(seed, str(tmp_path / "s" / f"seed-{seed}"), ())

    monkeypatch.setattr(seeds, "run_story", run_story)
    request = SimulationRequest(directory=tmp_path / "s", seed=7, seeds=3)
    (tmp_path / "s" / "seed-7").mkdir(parents=True)
    stories = seeds.run_seeds(request, None, NoProgress(), manager=object())
    assert asked == [story.seed for story in stories] == [7, 8, 9]
    assert [Path(story.folder).name for story in stories] == ["seed-7", "seed-8", "seed-9"]
    with pytest.raises(UsageError) as refused:
        seeds.run_seeds(replace(request, seeds=1), None, NoProgress(), manager=object())
    assert str(refused.value) == "At least 2 different seeds are needed: one shows no spread."
    (tmp_path / "s" / "notes.txt").write_text("mine")
    with pytest.raises(InputError) as refused:
        seeds.run_seeds(request, None, NoProgress(), manager=object())
    assert str(refused.value) == (
        f"{tmp_path}/s holds notes.txt, which is no simulation with several seeds. Choose a new "
        "folder."
    )


def test_competitions_are_tried_once_and_the_labels_of_each_seed_are_checked(tmp_path, monkeypatch):
    tried = []

    def counted(simulation, manager, **options):
        tried.append(simulation.request.seed)
        return dry_run(simulation, manager, **options)

    monkeypatch.setattr(prepare, "dry_run", counted)
    rows = [f"{number},{'c' if number % 40 == 0 else 'ab'[number % 2]}" for number in range(360)]
    (tmp_path / "data.csv").write_text("\n".join(["x,y", *rows]), "utf-8")
    options = {
        "data": tmp_path / "data.csv", "target": "y", "rows": 60, "train_rows": 200,
        "validation_rows": 100, "teams": 1, "days": 1, "kinds": "copycat", "baseline": "none",
        "manager": PluginManager(),
    }  # fmt: skip
    first, second = simulate(tmp_path / "s", "full", seed=5, seeds=2, **options).stories
    assert (first.seed, second.seed) == (5, 6)
    assert tried == [5]
    # Of these seeds the first has every label among the rows to predict.
    with pytest.raises(InputError, match="lack the label 'c'"):
        simulate(tmp_path / "t", "full", seed=6, seeds=2, **options)
    assert tried == [5, 6]


def test_measures_are_read_from_the_last_day_of_an_outcome():
    days = [
        {"day": 1, "shown_best": 0.5, "true_of_leader": 0.25, "error": 0.5},
        {"day": 2, "shown_best": 0.75, "true_of_leader": 0.625, "error": 0.25},
    ]
    document = {
        "best_won": False, "loss": 0.5, "leaderboard_error": 0.25, "leaderboard_error_mean": 0.125,
        "days": days, "agreement": {"public_private": -0.5, "private_true": None},
    }  # fmt: skip
    assert {measure.name: measure.of(document) for measure in MEASURES} == {
        "best_won": 0.0, "loss": 0.5, "leaderboard_error": 0.25, "leaderboard_error_mean": 0.125,
        "top_less_true": 0.125, "public_private": -0.5, "private_true": None,
    }  # fmt: skip
    by_name = {measure.name: measure for measure in MEASURES}
    assert by_name["top_less_true"].of({**document, "days": []}) is None
    assert by_name["public_private"].of({**document, "agreement": None}) is None
    assert {name: measure.within for name, measure in by_name.items()} == {
        "best_won": (-np.inf, np.inf), "top_less_true": (-np.inf, np.inf),
        "loss": (0, np.inf), "leaderboard_error": (0, np.inf),
        "leaderboard_error_mean": (0, np.inf), "public_private": (-1, 1), "private_true": (-1, 1),
    }  # fmt: skip
    assert [measure.name for measure in MEASURES if measure.is_share] == ["best_won"]


def test_the_interval_of_a_mean_is_cut_to_the_values_that_there_are():
    # Of 0 and 1 the standard error is 0.5, and with one degree of freedom the quartile of t is 1.
    values = np.array([0.0, 1.0])
    assert mean_interval(values, 0.5, within=(-np.inf, np.inf)) == pytest.approx((0.5, 0.0, 1.0))
    assert mean_interval(values, 0.5, within=(0.25, 0.75)) == pytest.approx((0.5, 0.25, 0.75))
    assert mean_interval(np.array([0.5]), 0.5, within=(0.0, 1.0)) == (None, None, None)


def test_errors_of_a_day_are_those_of_the_seeds_that_have_it():
    stories = [
        Story(seed, "", ({"days": [{"day": day, "error": error} for day, error in days]},))
        for seed, days in enumerate([[(2, 0.5), (1, 0.0)], [(1, 1.0)]])
    ]
    first, second = errors_by_day("full", stories, position=0, level=0.5)
    assert (first.mechanism, first.day, first.error) == ("full", 1, 0.5)
    assert (second.day, second.error, second.low) == (2, 0.5, None)


@pytest.mark.parametrize(("above", "below"), [(0, 4), (0, 5), (1, 4), (2, 2), (0, 0), (3, 1)])
def test_the_interval_of_a_difference_of_shares_turns_with_the_mechanisms(above, below):
    low, high = interval_of_shares(above, below, n=5, tail=0.025)
    turned = interval_of_shares(below, above, n=5, tail=0.025)
    assert (-high, -low) == pytest.approx(turned)
    assert low <= (above - below) / 5 <= high
    # It reaches the end only if every seed differs that way.
    assert (low == -1, high == 1) == (below == 5, above == 5)


def test_several_seeds_load_installed_plugins_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others cannot be found by another process: their manager is passed on."""
    place = "arena.simulation.competition.simulate."
    monkeypatch.setattr(f"{place}describe_simulation", lambda *_: "Begins.")
    for name in ("_one_seed", "_several_seeds"):
        monkeypatch.setattr(place + name, lambda *given, name=name: (name, given[2]))
    where = SimpleNamespace(open=lambda: contextlib.nullcontext("engine"))
    for count, installed, called in (
        (1, True, ("_one_seed", "manager")),
        (1, False, ("_one_seed", "manager")),
        (2, True, ("_several_seeds", None)),
        (2, False, ("_several_seeds", "manager")),
    ):
        prepared: Any = SimpleNamespace(request=SimpleNamespace(where=where, seeds=count))
        manager: Any = "manager"
        ran = run_simulation(prepared, manager, NoProgress(), installed=installed)
        assert ran == called
