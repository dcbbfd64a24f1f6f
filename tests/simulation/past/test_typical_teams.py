"""Teams that come and go as on typical boards, without a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from arena.simulation.past.teams import LikePast, boards_like


def test_typical_needs_no_file_and_a_file_of_that_name_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (typical,) = boards_like(Path("typical"))
    teams = LikePast((typical,)).draw(1_000, np.random.default_rng(0))
    assert 0.3 < (teams.stops < 0.5).mean() < 0.4  # they stop early
    assert 0.3 < (teams.stops > 0.97).mean() < 0.4  # they come on the last day of thirty
    Path("typical").write_text("private_score\n0.9\n0.8\n0.7\n0.6\n0.5\n")
    assert boards_like(Path("typical"))[0].n_teams == 5
