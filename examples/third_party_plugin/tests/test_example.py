"""Conformance checks of the plugin's items, and one result of each."""

import numpy as np
from arena_example.lead import Lead
from arena_example.steps import Steps
from arena_example.within import Within

from arena.testing import check_analysis, check_mechanism, check_metric


def test_the_metric():
    check_metric(Within()).require()
    assert Within(percent=5).score(np.array([100.0, 100.0]), np.array([104.0, 106.0])) == 0.5


def test_the_mechanism():
    check_mechanism(Steps()).require()


def test_the_analysis():
    check_analysis(Lead()).require()
