"""Mechanisms that release every score."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import UsageError
from arena.interfaces import Evaluation, ExplainsScores, Mechanism
from arena.types import Release
from arena_mechanisms import provide_mechanisms
from arena_mechanisms.rounding import Full, Kaggle
from arena_mechanisms.steps import round_to_multiple

RNG = np.random.default_rng(0)


def run(mechanism: Mechanism, scores: list[float], *, greater: bool = True) -> list[Release]:
    state: Any = {}
    releases = []
    for submission, score in enumerate(scores, start=1):
        evaluation = Evaluation(submission, score, greater, 100, lambda _: 0.0)
        releases.append(mechanism.release(json.loads(json.dumps(state)), evaluation, RNG))
        state = releases[-1].state
    return releases


def test_full_shows_what_was_scored() -> None:
    releases = run(Full(), [0.5, 0.4, 0.5, 0.123456789012])
    assert [release.score for release in releases] == [0.5, 0.4, 0.5, 0.123456789012]
    assert [release.improved for release in releases] == [True, False, False, False]


def test_kaggle_rounds_what_is_shown_and_ranks_by_everything() -> None:
    releases = run(Kaggle(), [0.123451, 0.123452])
    assert [release.score for release in releases] == [0.12345, 0.12345]
    assert [release.ranked_by for release in releases] == [0.123451, 0.123452]
    assert releases[1].improved


def test_kaggle_can_rank_by_what_it_shows() -> None:
    releases = run(Kaggle(rank_rounded=True), [0.123451, 0.123452])
    assert [release.ranked_by for release in releases] == [0.12345, 0.12345]
    assert not releases[1].improved


@pytest.mark.slow
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20))
def test_a_loss_is_mirrored(scores: list[float]) -> None:
    for mechanism in (Full(), Kaggle(0.01), Kaggle(0.01, rank_rounded=True)):
        up = run(mechanism, scores)
        down = run(mechanism, [-score for score in scores], greater=False)
        assert [release.score for release in up] == [-release.score for release in down]
        assert [release.improved for release in up] == [release.improved for release in down]


@given(st.floats(-100, 100), st.sampled_from([1e-5, 1e-2, 0.25, 1 / 3, 1.0]))
def test_rounding_is_to_the_nearest_multiple(value: float, step: float) -> None:
    rounded = round_to_multiple(value, step)
    assert abs(rounded - value) <= step / 2 + 1e-9
    assert abs(rounded / step - round(rounded / step)) < 1e-6


@pytest.mark.parametrize("rounding", [0, -1e-5, float("inf"), float("nan")])
def test_a_rounding_that_is_not_positive_is_refused(rounding: float) -> None:
    with pytest.raises(UsageError, match="rounding must be positive"):
        Kaggle(rounding)


def test_every_mechanism_tells_participants_what_a_public_score_means() -> None:
    for provided in provide_mechanisms():
        mechanism = provided.load()
        assert mechanism.name == provided.name
        assert isinstance(mechanism, ExplainsScores)
        assert "public score" in mechanism.for_participants.partition(". ")[0]
        assert mechanism.for_participants.endswith(".")
        assert "  " not in mechanism.for_participants
