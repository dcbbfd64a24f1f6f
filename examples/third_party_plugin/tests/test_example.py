"""Conformance checks of the plugin's items, and one result of each."""

import numpy as np
import pytest
from arena_example.cli import app
from arena_example.deciles import Deciles
from arena_example.lead import Lead
from arena_example.steps import Steps
from arena_example.within import Within

from arena.testing import check_analysis, check_command, check_mechanism, check_metric


def test_the_metric():
    check_metric(Within()).require()
    assert Within(percent=5).score(np.array([100.0, 100.0]), np.array([104.0, 106.0])) == 0.5


@pytest.mark.parametrize("mechanism", [Deciles(), Steps()])
def test_the_mechanisms(mechanism):
    check_mechanism(mechanism).require()


def test_the_command(tmp_path):
    board = tmp_path / "board.json"
    board.write_text('{"standings": [{"team": "a", "score": 0.9}, {"team": "b", "score": 0.8}]}')
    check_command(app, "margin", [str(board)]).require()


def test_the_analysis():
    check_analysis(Lead()).require()
