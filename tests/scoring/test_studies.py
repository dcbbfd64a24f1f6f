"""The study that an analysis gets, and the study that a result keeps for its report."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arena
from arena.config import Settings
from arena.hookspecs import hookimpl
from arena.interfaces import Study
from arena.plugin.manager import PluginManager
from arena.types import Finding

N = 40
IDS = [f"r{row}" for row in range(N)]
RNG = np.random.default_rng(1)
TRUTH = RNG.normal(size=N)
SENT = {team: TRUTH + width * RNG.normal(size=N) for team, width in (("ant", 0.5), ("bee", 1.0))}
SOLUTION = {"id": IDS, "y": TRUTH}


@dataclass
class Keeps:
    """A plugin with an analysis that keeps the study."""

    name: str = "keeps"
    studies: list[Study] = field(default_factory=list)

    @hookimpl
    def provide_analyses(self) -> list[Any]:
        return [self]

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        self.studies.append(study)
        return Finding(self.name, "Kept.", {})


def keeping() -> tuple[Keeps, PluginManager]:
    plugin, manager = Keeps(), PluginManager()
    manager.register(plugin, "keeps")
    return plugin, manager


def test_an_analysis_sees_one_submission_of_each_team_and_the_interval_of_the_best() -> None:
    plugin, manager = keeping()
    result = arena.score(SOLUTION, SENT, metric="mae", resamples=100, workers=1, manager=manager)
    (study,) = plugin.studies
    best = result.best_score_corrected
    assert best["low"] is not None
    np.testing.assert_allclose(study.best_interval, (best["low"], best["high"]), rtol=1e-9)
    assert study.teams == ("ant", "bee")
    assert study.candidates is None
    assert result.study is not None
    assert result.study.teams == study.teams


@pytest.mark.slow
def test_an_analysis_sees_all_candidates_if_the_best_were_selected_on_these_rows(
    tmp_path: Path,
) -> None:
    plugin, manager = keeping()
    settings = Settings.of(metric="mae", final_rule="best_private", resamples=100)
    with arena.Competition.create(
        tmp_path / "c", SOLUTION, settings, public_share=0.0, seed=1, manager=manager
    ) as competition:
        for team, values in (("bee", SENT["bee"]), ("ant", SENT["ant"]), ("bee", TRUTH + 0.5)):
            competition.submit({"id": IDS, "y": values}, team)
        competition.finalize(workers=1)
    (study,) = plugin.studies
    assert study.best_interval is None  # it is that of three scores, and the study has two
    assert study.candidates is not None
    errors = [np.abs(values - TRUTH).mean() for values in (SENT["bee"], SENT["ant"])]
    np.testing.assert_allclose(study.candidates.scores, [*errors, 0.5])
    assert dict(zip(study.teams, study.submissions.tolist(), strict=True)) == {"ant": 2, "bee": 3}
    teams = [study.teams[code] for code in study.candidates.team]
    assert teams == ["bee", "ant", "bee"]


def test_a_result_without_intervals_has_a_board_and_no_study() -> None:
    result = arena.score(SOLUTION, SENT, metric="mae", intervals=False, workers=1)
    assert [row["team"] for row in result.standings] == ["ant", "bee"]
    assert (result.study, result.findings, result.resamples) == (None, (), 0)
