"""What a team sees of the figures of a run on hidden inputs."""

from __future__ import annotations

import sys

from hypothesis import given, settings
from hypothesis import strategies as st

from arena.programs.figures import is_figure, seconds_until_answer, two_digits
from thinned import examples


def test_the_largest_finite_number_is_a_figure() -> None:
    largest = sys.float_info.max
    numbers = (0, 0.0, largest, int(largest), int(largest) + 1, float("inf"), -1e-300)
    assert [is_figure(number) for number in numbers] == [True] * 4 + [False] * 3


@settings(max_examples=examples(200))
@given(st.floats(1e-3, 1e5))
def test_runs_that_are_shown_as_the_same_time_are_answered_at_the_same_time(seconds: float) -> None:
    until = seconds_until_answer(seconds)
    assert seconds <= until <= 1.11 * seconds
    assert abs(until - seconds_until_answer(two_digits(seconds))) < 1e-9 * until
