"""Every mechanism on the same scores: all that it releases, keeps, and tells an organiser."""

from __future__ import annotations

import dataclasses
from typing import Any

from arena.errors import InputError, UsageError
from arena.interfaces import PublicBoard
from arena.plugin.manager import PluginManager
from arena_mechanisms import steps
from arena_mechanisms.boot import LadderBoot
from arena_mechanisms.ladder import LadderFree
from kept import check_kept_document
from refusals import refusal_of
from run_mechanism import run_mechanism

LOSSES = [0.5, 0.47, 0.48, 0.44, 0.4449, 0.31, 0.3, 0.31, 0.29, 0.2, 0.1, 0.25]
MECHANISMS = (
    "full",
    "kaggle",
    "kaggle(rounding=0.1)",
    "ladder",
    "ladder(eta=0.05)",
    "ladder(eta=0.05, start=baseline)",
    "ladder-free",
    "ladder-free(rounding=None, z=2)",
    "ladder-free(minimum_step=0.03, start=baseline)",
    "ladder-free(noise=2)",
    "ladder-boot",
    "ladder-boot(bayes_factor=1, resamples=4, start=baseline)",
    "noisy-ladder",
    "noisy-ladder(eta=0.02, noise=0.02, start=baseline)",
    "thresholdout",
    "thresholdout(threshold=0.1, noise=0.01, budget=3, start=baseline)",
)
BOARDS = {
    "small": {"n_rows": 100, "has_baseline": True, "baseline": 0.5},
    "large": {"n_rows": 40_000, "budget": 400, "scope": "rank"},
    "without a range": {"n_rows": 100, "score_range": None},
    "with a known bound": {"n_rows": 100, "score_range": None, "suggested_clip": (1.0, 7.5)},
    "with few submissions": {
        "n_rows": 1_000,
        "budget": 3,
        "scope": "competition",
        "score_range": (-1.0, 1.0),
    },
}


def board(settings: dict[str, Any]) -> PublicBoard:
    plain = {
        "metric": "loss", "greater_is_better": False, "score_range": (0.0, 1.0), "budget": None,
        "has_baseline": False, "baseline": None, "scope": "team",
    }  # fmt: skip
    return PublicBoard(**{**plain, **settings})


def test_what_is_released_and_said_is_the_kept_whole() -> None:
    manager, whole = PluginManager(), {}
    for name in MECHANISMS:
        mechanism: Any = manager.mechanisms.resolve(name)
        answers: dict[str, Any] = {
            "for participants": mechanism.for_participants,
            "parameters": dataclasses.asdict(mechanism),
        }
        for side, settings in (
            ("losses", {}),
            ("scores", {"mirrored": True, "n_rows": 400, "score_range": (0.0, 2.0), "budget": 9}),
        ):
            released = run_mechanism(
                mechanism, LOSSES, baseline=0.46, baseline_submission=7, **settings
            )
            answers[side] = [
                f"{release.score:.5g}, {'improved' if release.improved else 'the last one'}, "
                f"of {release.source}"
                for release in released
            ]
            answers[f"state after {side}"] = released[-1].state
        if hasattr(mechanism, "review"):
            for title, settings in BOARDS.items():
                try:
                    answers[title] = mechanism.review(board(settings))
                except InputError as error:
                    answers[title] = f"refused: {error}"
        whole[name] = answers
    check_kept_document("mechanisms", whole)


INF = float("inf")
SHARE = "ladder: eta must be a share of the metric's range, {}, not {!r}."
WHOLE = "ladder: n must be a whole number of at least 1, not {!r}."
NUMBER = "ladder: z must be a number of at least 2, not {!r}."
CLIP = "ladder: clip must be a positive number c (for [0, c]) or two numbers [low, high], not {!r}."


def refusal(check: Any, *arguments: Any, **options: Any) -> str | None:
    return refusal_of(UsageError, check, "ladder", *arguments, **options)


def test_every_parameter_is_refused_beyond_its_ends_only() -> None:
    for value in (1e-300, 0.5, 1, 1.0):
        assert refusal(steps.check_share, "eta", value) is None
        assert refusal(steps.check_share, "eta", value, zero=True) is None
    assert refusal(steps.check_share, "eta", 0, zero=True) is None
    for value in (0, -1e-9, 1 + 1e-9, INF, float("nan"), True, "1", None):
        message = refusal(steps.check_share, "eta", value)
        assert message == SHARE.format("above 0 and at most 1", value)
    for value in (-1e-9, 1 + 1e-9, False, True):
        message = refusal(steps.check_share, "eta", value, zero=True)
        assert message == SHARE.format("from 0 to 1", value)
    for value in (2, 2.0, 1e300):
        assert refusal(steps.check_number, "z", value, least=2) is None
    for value in (2 - 1e-9, INF, float("nan"), True, "2"):
        assert refusal(steps.check_number, "z", value, least=2) == NUMBER.format(value)
    assert refusal(steps.check_whole, "n", 1) is None
    for value in (0, -1, 1.0, True, "1"):
        assert refusal(steps.check_whole, "n", value) == WHOLE.format(value)
    assert LadderBoot(bayes_factor=1).bayes_factor == 1
    assert refusal(lambda _: LadderBoot(bayes_factor=1 - 1e-9)) == (
        f"ladder-boot: bayes_factor must be a number of at least 1, not {1 - 1e-9!r}."
    )


def test_a_clip_is_two_finite_numbers_of_which_the_first_is_smaller() -> None:
    clips = {None: None, 1e-300: (0.0, 1e-300), "5": (0.0, 5.0), (-1, 1): (-1.0, 1.0)}
    assert {clip: steps.as_clip("ladder", clip) for clip in clips} == clips
    for clip in (0, -1, INF, "inf", [-INF, 1], [0, INF], [1, 1], [2, 1], [1], [1, 2, 3], "abc", {}):
        assert refusal(steps.as_clip, clip) == CLIP.format(clip)


def test_scores_are_rounded_to_a_positive_number_or_a_row_or_not_at_all() -> None:
    for rounding in ("1/n", None, 1e-300, 2, 1e300):
        assert LadderFree(rounding=rounding).rounding == rounding
    for rounding in (0, -1e-9, INF, float("nan"), True, "1/m"):
        message = refusal(lambda _, value: LadderFree(rounding=value), rounding)
        assert message == (
            f'ladder-free: rounding must be "1/n", None or a positive number, not {rounding!r}.'
        )
