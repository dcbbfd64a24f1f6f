"""A metric that ends arena's own process: the submission counts, and the next opening names it."""

from __future__ import annotations

import os

import pytest

from scenario import MANAGER, Scenario

pytestmark = pytest.mark.slow


def test_the_next_opening_names_the_metric_and_the_file(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.create(total=2).close()
    path = scenario.file(1, 0.8)
    child = os.fork()
    if child == 0:
        metric = type(MANAGER.metrics.resolve("accuracy"))
        monkeypatch.setattr(metric, "row_values", lambda *_: os._exit(0))
        with scenario.reopen() as competition:
            competition.submit(path, "a")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with scenario.reopen() as competition:
        (note,) = (note for note in competition.notes if "last process" in note)
        assert "ended by the metric accuracy, while it scored" in note
        assert competition.submissions() == []
        assert competition.submit(path, "a").status == "accepted"
        assert competition.submit(scenario.file(2, 0.9), "a").status == "refused"
