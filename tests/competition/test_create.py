"""What is checked before a competition is created."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.competition import create
from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import ArenaError
from arena.types import Usage
from refusals import refusal_of
from scenario import MANAGER


def test_a_metric_must_find_its_columns_on_every_row_that_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usage = np.array([Usage.PUBLIC, Usage.IGNORED, Usage.PRIVATE], dtype=np.uint8)
    solution: Any = SimpleNamespace(labelled=lambda: SimpleNamespace(usage=usage))
    bound: list[list[bool]] = []
    monkeypatch.setattr(create, "metric_of_solution", lambda metric, solution: metric)
    monkeypatch.setattr(create, "bind", lambda metric, _, rows: bound.append(rows.tolist()))
    create.check_metric_columns(solution, Settings.of(metric="mae"), MANAGER)
    assert bound == [[True, False, True]]


def test_a_public_share_is_drawn_in_whole_groups(tmp_path: Path) -> None:
    groups = np.arange(40) // 4
    solution = {"id": [f"r{i}" for i in range(40)], "y": np.arange(40) % 2, "user": groups}
    with Competition.create(
        tmp_path / "c", solution, metric="mae", target="y", cluster="user", public_share=0.3, seed=1
    ) as competition:
        is_public = competition.solution.usage == Usage.PUBLIC
    assert sorted(is_public[groups == group].mean() for group in range(10)) == [0] * 7 + [1] * 3


def test_a_public_share_is_at_least_0_and_less_than_1(tmp_path: Path) -> None:
    sentence = "The public share must be at least 0 and less than 1."
    for share, is_refused in ((-1e-9, True), (0.0, False), (1 - 1e-9, False), (1.0, True)):
        refused = refusal_of(
            ArenaError, Competition.create, tmp_path / "c", {}, metric="mae", public_share=share
        )
        assert (refused == sentence) == is_refused, share  # else the solution is refused


@pytest.mark.parametrize("exists", [False, True])
def test_what_a_failed_creation_made_is_removed(tmp_path: Path, *, exists: bool) -> None:
    folder = tmp_path / "a" / "c"
    if exists:
        (folder / "pages").mkdir(parents=True)
        (folder / "rules.md").touch()

    def fail_in_it() -> None:
        with create.removed_on_error(folder):
            assert exists or folder.stat().st_mode & 0o777 == 0o700
            (folder / "c.duckdb").touch()
            (folder / "objects").mkdir()
            (folder / "objects" / "1").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_in_it()
    assert folder.exists() == exists
    assert sorted(path.name for path in folder.glob("*")) == ["pages", "rules.md"][: 2 * exists]


@pytest.mark.parametrize(
    ("wrong", "probabilities", "clusters", "expected"),
    [
        # 4 standard errors of the mean of 0.9 for each wrong row and -0.1 for others: 0.1805 is
        # more than 28% - 10%, and 0.1842 less than 30% - 10%.
        (28, [0.1, 0.9], None, None),
        (30, [0.1, 0.9], None, ("30.0%", "10.0%")),
        (30, [0.1, 0.9], np.arange(100) // 10, None),  # ten groups, of which three are wrong
        (60, [0.1, 0.2, 0.7], None, ("60.0%", "30.0%")),
        (30, [0.1, 0.2, 0.7], None, None),
    ],
)
def test_labels_that_are_seldom_the_most_probable_ones_are_warned_of(
    wrong: int, probabilities: list[float], clusters: Any, expected: Any
) -> None:
    """The last row is ignored."""
    likeliest = len(probabilities) - 1
    soft = np.tile(probabilities, (101, 1))
    solution: Any = SimpleNamespace(
        usage=np.array([Usage.PRIVATE] * 100 + [Usage.IGNORED], dtype=np.uint8),
        soft_labels=soft[:, 1] if likeliest == 1 else soft,
        truth=np.where(np.arange(101) < wrong, 0, likeliest),
        clusters=None if clusters is None else np.append(clusters, 0),
    )
    warnings = create.soft_label_warnings(solution)
    if expected is None:
        assert warnings == ()
    else:
        assert warnings == (
            f"Warning: the soft labels do not fit the labels. {expected[0]} of the labels are not "
            f"the most probable class of their row, but {expected[1]} are expected. Check whether "
            "the columns belong to the other class or to other rows.",
        )
