"""The claims of an export come from its events, also if ``arena upgrade`` added to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.competition.exports import claims
from arena.competition.exports.claims import Claims, read_part, recorded_solution
from arena.config import Settings
from arena.errors import InputError
from arena.store import Event


def claims_of(*solutions: Any) -> Claims:
    """Return the claims of an export with an event for each entry of digests of solutions."""
    events = [
        Event(
            number,
            "2026-03-01",
            "host",
            "rescored",
            payload={"facts": {"solutions": entry}},
            previous="",
            hash="",
        )
        for number, entry in enumerate(solutions, start=1)
    ]
    settings = Settings.of(metric="f1")
    return Claims(
        Path(),
        settings,
        recorded_settings=b"",
        result={},
        finals={},
        events=tuple(events),
        key=b"",
    )


@pytest.mark.parametrize(
    ("solutions", "expected"),
    [
        ([{"1": "a"}], (1, "a")),
        ([{"1": "a"}, {"2": "b"}], (2, "b")),
        ([{"9": "i", "10": "j", "2": "b"}], (10, "j")),  # of an upgrade, in any order
        ([{"x": "a"}], (0, "a")),
        ([{}], (0, {})),
        (["a"], (0, {})),
    ],
)
def test_the_last_solution_is_the_one_with_the_highest_number(
    solutions: list[Any], expected: tuple[int, Any]
) -> None:
    assert recorded_solution(claims_of(*solutions)) == expected


def test_a_file_of_an_export_may_be_as_large_as_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "_MOST_BYTES", 2**20)
    path = tmp_path / "result.json"
    path.write_bytes(b"1" * 2**20)
    assert read_part(path, len) == 2**20
    path.write_bytes(b"1" * (2**20 + 1))
    with pytest.raises(InputError, match="is larger than 1 MB"):
        read_part(path, len)
