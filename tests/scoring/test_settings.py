"""What the settings of a private board refuse."""

from __future__ import annotations

from typing import Any

import pytest

from arena.errors import UsageError
from arena.scoring.settings import BoardSettings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"resamples": 1}, "At least 2 resamples"),
        ({"level": 0.0}, "between 0 and 1"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"workers": -1}, "number of workers"),
    ],
)
def test_values_out_of_range_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        BoardSettings(**given)


def test_the_least_values_are_accepted() -> None:
    settings = BoardSettings(resamples=2, seed=0, workers=0, level=0.001)
    assert settings.n_workers >= 1
    assert BoardSettings(workers=3).n_workers == 3
