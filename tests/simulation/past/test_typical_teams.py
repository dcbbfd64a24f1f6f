"""Teams that come and go as on typical boards, without a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arena.simulation.past.teams import LikePast, boards_like


def test_typical_needs_no_file_and_a_file_of_that_name_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (typical,) = boards_like(Path("typical"))
    teams = LikePast((typical,)).draw(1_000, np.random.default_rng(0))
    assert 0.3 < (teams.stops < 0.5).mean() < 0.4  # they stop early
    assert 0.3 < (teams.stops > 0.97).mean() < 0.4  # they come on the last day of thirty
    Path("typical").write_text("private_score\n0.9\n0.8\n0.7\n0.6\n0.5\n")
    assert boards_like(Path("typical"))[0].n_teams == 5


def test_the_gaps_of_the_typical_board_are_lognormal():
    """The normal quantiles of the levels 0.1585 and 0.0005 are -1.0006 and -3.2905."""
    (typical,) = boards_like(Path("typical"))
    assert typical.n_teams == 1_000
    assert typical.private == pytest.approx(1 / typical.private[::-1])
    assert typical.private[[0, 158, 841]] == pytest.approx(
        [-np.exp(-3.2905), -np.exp(-1.0006), -np.exp(1.0006)], rel=1e-4
    )
    assert np.array_equal(typical.public, typical.private)
