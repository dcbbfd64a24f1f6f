"""A metric that ends arena's own process: the submission counts, and the next opening names it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arena.competition.competition import Competition
from labelled_competition import MANAGER, create, file_of, reopen

pytestmark = pytest.mark.slow


def test_the_next_opening_names_the_metric_and_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path, limits={"total": 2}).close()
    path = file_of(tmp_path, 1, 0.8)
    child = os.fork()
    if child == 0:
        metric = type(MANAGER.metrics.resolve("accuracy"))
        monkeypatch.setattr(metric, "row_values", lambda *_: os._exit(0))
        with Competition.open(tmp_path / "c", manager=MANAGER) as competition:
            competition.submit(path, "a")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with reopen(tmp_path) as competition:
        (note,) = (one for one in competition.notes if "last process" in one)
        assert "ended by the metric accuracy, while it scored" in note
        assert competition.submissions() == []
        assert competition.submit(path, "a").status == "accepted"
        assert competition.submit(file_of(tmp_path, 2, 0.9), "a").status == "refused"
