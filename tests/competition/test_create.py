"""What is checked before a competition is created."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition import create
from arena.config import Settings
from arena.types import Usage
from scenario import MANAGER


def test_a_metric_must_find_its_columns_on_every_row_that_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usage = np.array([Usage.PUBLIC, Usage.IGNORED, Usage.PRIVATE], dtype=np.uint8)
    solution: Any = SimpleNamespace(labelled=lambda: SimpleNamespace(usage=usage))
    bound: list[list[bool]] = []
    monkeypatch.setattr(create, "metric_of_solution", lambda metric, solution: metric)
    monkeypatch.setattr(create, "bind", lambda metric, _, rows: bound.append(rows.tolist()))
    create._check_metric(solution, Settings.of(metric="mae"), MANAGER)
    assert bound == [[True, False, True]]


@pytest.mark.parametrize("exists", [False, True])
def test_what_a_failed_creation_made_is_removed(tmp_path: Path, *, exists: bool) -> None:
    folder = tmp_path / "a" / "c"
    if exists:
        (folder / "pages").mkdir(parents=True)
        (folder / "rules.md").touch()

    def fail_in_it() -> None:
        with create._removed_on_error(folder):
            assert exists or folder.stat().st_mode & 0o777 == 0o700
            (folder / "c.duckdb").touch()
            (folder / "objects").mkdir()
            (folder / "objects" / "1").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_in_it()
    assert folder.exists() == exists
    assert sorted(path.name for path in folder.glob("*")) == ["pages", "rules.md"][: 2 * exists]
