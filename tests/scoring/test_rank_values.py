"""The range that is taken for values per case, what a missing one counts, and what sums up others.

The edges of each rule are worked out by hand.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import InputError
from arena.scoring.rank import range_of_values, value_of_missing
from arena.scoring.summaries import (
    last_decimal_place,
    positions_that_count,
    possible_summaries,
    summarizes_columns,
)

INF = float("inf")
ALL, BEST = "All values lie between 0 and 1", "No value is negative"


def scores(*values: float, stated: tuple[float, float] | None = None) -> Any:
    return SimpleNamespace(values=np.array([values, values]), value_range=stated)


def settings(missing: Any = "fault", given: tuple[float, float] | None = None) -> Any:
    return SimpleNamespace(missing=missing, value_range=given)


def test_the_range_is_given_or_stated_or_assumed_with_a_note() -> None:
    cases: list[tuple[Any, Any, bool, tuple[float, float], str]] = [
        (scores(0.0, 1.0), settings(), True, (0.0, 1.0), ALL),
        (scores(0.0, 1.001), settings(), True, (-INF, INF), ""),
        (scores(-0.001, 1.0), settings(), True, (-INF, INF), ""),
        (scores(0.0, 1.0), settings(), False, (0.0, INF), BEST),
        (scores(0.0, 9.0), settings(), False, (0.0, INF), BEST),
        (scores(-0.001, 9.0), settings(), False, (-INF, INF), ""),
        (scores(0.5, np.nan), settings(), True, (0.0, 1.0), ALL),
        (scores(0.5), settings(missing=1.0), True, (0.0, 1.0), ALL),
        (scores(0.5), settings(missing=1.1), True, (-INF, INF), ""),
        (scores(0.5), settings(missing=-0.1), False, (-INF, INF), ""),
        (scores(0.0, 5.0, stated=(0.0, 5.0)), settings(), True, (0.0, 5.0), ""),
        (scores(0.0, 5.0, stated=(0.0, 9.0)), settings(given=(0.0, 5.0)), True, (0.0, 5.0), ""),
    ]
    for case_scores, chosen, greater, expected, note in cases:
        notes: list[str] = []
        assert range_of_values(case_scores, chosen, greater=greater, notes=notes) == expected
        assert len(notes) == bool(note)
        assert "".join(notes).startswith(note)
    outside = {
        "The values lie between 0 and 5, outside the range of 0.5 to 5.": (0.5, 5.0),
        "The values lie between 0 and 5, outside the range of 0 to 4.5.": (0.0, 4.5),
    }
    for message, value_range in outside.items():
        with pytest.raises(InputError) as error:
            range_of_values(scores(0.0, 5.0), settings(given=value_range), greater=True, notes=[])
        assert str(error.value) == message
    with pytest.raises(InputError, match=r"^The table has no values\.$"):
        range_of_values(scores(np.nan), settings(), greater=True, notes=[])


def test_a_missing_value_counts_as_the_worst_of_the_range_or_of_the_table() -> None:
    values = scores(2.0, 5.0, np.nan)
    expected: list[tuple[Any, bool, tuple[float, float], float | None]] = [
        ("fault", True, (0.0, 9.0), None),
        ("baseline", True, (0.0, 9.0), None),
        ("pairwise", True, (0.0, 9.0), None),
        (1.5, True, (0.0, 9.0), 1.5),
        ("worst", True, (0.0, 9.0), 0.0),
        ("worst", False, (0.0, 9.0), 9.0),
        ("worst", True, (-INF, 9.0), 2.0),
        ("worst", False, (0.0, INF), 5.0),
    ]
    for missing, greater, ends, value in expected:
        assert value_of_missing(values, settings(missing), greater=greater, ends=ends) == value


def test_a_row_that_sums_up_the_others_is_recognised() -> None:
    """Of 1, 2 and 6 and of 2, 2 and 5: means, medians, sums, deviations, mean ranks and places."""
    values = np.array([[1.0, 2.0], [2.0, 2.0], [6.0, 5.0]])
    totals = [total.round(6).tolist() for total in possible_summaries(values)]
    assert totals[:3] == [[3.0, 3.0], [2.0, 2.0], [9.0, 9.0]]
    assert totals[3] == pytest.approx([(14 / 3) ** 0.5, 2**0.5], abs=1e-6)
    assert totals[4] == pytest.approx([7**0.5, 3**0.5], abs=1e-6)
    for total in totals[:3]:
        assert summarizes_columns(np.array(total), values)
        assert not summarizes_columns(np.add(total, [0.0, 1.2]), values)
    assert not summarizes_columns(
        np.array([1.0]), values[:1, :1]
    )  # of one value, everything sums it up
    assert not summarizes_columns(np.array([np.nan, 3.0]), values)
    assert [
        last_decimal_place(np.array(column)) for column in ([3.0], [3.5, np.nan], [0.125], [1 / 3])
    ] == [
        1.0,
        0.1,
        0.001,
        pytest.approx(last_decimal_place(np.array([2 / 3]))),
    ]


def test_a_summary_of_a_task_sums_up_the_cases_of_this_task_only() -> None:
    names = ["maths/a", "maths/b", "maths/average", "law/a", "law/b", "law/average"]
    values = np.array([[1, 2], [3, 6], [2, 4], [1, 1], [2, 9], [7, 7]]) / 8
    counting, notes = positions_that_count(
        "case", names, values=values, tasks=np.array([0, 0, 0, 1, 1, 1])
    )
    assert counting == [0, 1, 3, 4, 5]
    assert notes == [
        "'maths/average' sums up other cases and does not count as one.",
        "'law/average' counts as a case: remove it if it sums up the others.",
    ]
    counting, notes = positions_that_count(
        "algorithm", ["x", "y", "mean"], values=values[[0, 1, 5]], tasks=None
    )
    assert counting == [0, 1, 2]
    assert notes == [
        "'mean' counts as an algorithm: remove it if it sums up the others.",
    ]
