"""Warnings to the organiser of a new competition: its public board, limits and deadline."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from arena.config import Settings
from arena.plugin.manager import PluginManager
from arena.public_board import advice
from arena.public_board.advice import (
    FULL_WARNING,
    default_mechanism,
    protection_notes,
    too_much_revealed,
)
from arena.public_board.revealed import ReleaseOracle, Revealed, rows_revealed
from arena.types import Target, Usage
from few_rows import FIVE_ROWS
from kept import check_kept_document

MANAGER = PluginManager()
NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
UNLIMITED = (
    "Warning: the number of submissions is not limited. Set per_day or total under [limits] of "
    "competition.toml."
)
ENDLESS = (
    "No deadline is set: submissions are taken until you set one under [competition] of "
    "competition.toml."
)


def settings(mechanism: str, metric: str, deadline: datetime | None, **limits: Any) -> Settings:
    return Settings.model_validate(
        {
            "metric": {"name": metric},
            "public": {"mechanism": mechanism},
            "limits": limits,
            "competition": {"deadline": deadline},
        }
    )


def passed(name: str, to: str, section: str) -> str:
    return (
        f"Warning: the {name} 2026-03-09 11:59 UTC has passed: every submission{to} is refused. "
        f"Set a later one under {section} of competition.toml."
    )


BEFORE = datetime(2026, 3, 9, 11, 59, tzinfo=UTC)
SHOWN = (
    "The public board shows every score of mae, rounded (kaggle): this metric has no bounds, which "
    "a Ladder needs. To protect the public rows, give the values bounds, such as --mechanism "
    "'ladder-free(clip=10, noise=2)'."
)


@pytest.mark.parametrize(
    ("asked", "options", "said"),
    [
        (settings("full", "accuracy", None), {}, (FULL_WARNING, UNLIMITED, ENDLESS)),
        (settings("full", "accuracy", NOW, total=1), {"has_public_rows": False}, ()),
        (settings("ladder-free", "accuracy", NOW, per_day=1), {}, ()),
        (settings("kaggle", "accuracy", NOW, per_day=1, total=9), {}, ()),
        (settings("kaggle", "mae", NOW, per_day=1), {}, (SHOWN,)),
        (
            settings("kaggle", "accuracy", BEFORE, per_day=1),
            {},
            (passed("deadline", "", "[competition]"),),
        ),
        (
            settings("kaggle", "accuracy", BEFORE, per_day=1),
            {"phase": "two"},
            (passed("end", " to the phase two", "[phase.two]"),),
        ),
        (
            settings("kaggle", "accuracy", None, per_day=1),
            {"phase": "two"},
            (
                "No end is set: submissions are taken until you set one under [phase.two] of "
                "competition.toml.",
            ),
        ),
    ],
)
def test_what_leaves_a_competition_unprotected_is_said(
    asked: Settings, options: dict[str, Any], said: tuple[str, ...]
) -> None:
    assert protection_notes(asked, FIVE_ROWS, MANAGER, NOW, **options) == said


@pytest.mark.slow
def test_what_one_submission_reveals_is_kept() -> None:
    """Rows and bits, for each kind of prediction."""
    whole = {}
    for name, mechanism, n_classes in (
        ("log_loss", "kaggle", 2),
        ("accuracy", "full", 3),
    ):
        metric, oracle = MANAGER.metrics.resolve(name), MANAGER.mechanisms.resolve(mechanism)
        revealed = rows_revealed(metric, oracle, np.arange(20) % n_classes, n_classes, targets=1)
        whole[f"{name} of {n_classes} classes, {mechanism}"] = [revealed.rows, revealed.bits]
    check_kept_document("revealed", whole)


def test_the_submissions_that_are_tried_are_the_kept_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each kind of prediction; those that reveal a quarter of their targets get more."""
    tried: list[Any] = []

    def measure(_: Any, design: Any, k: int) -> Revealed:
        tried.append([k, design.targets[:3].tolist(), np.asarray(design.other).tolist()])
        return Revealed(k / 4 if len(tried) % 2 else k / 4 - 0.01, 0.5)

    monkeypatch.setattr(ReleaseOracle, "measure", measure)
    whole = {}
    for name, n_classes in (
        ("accuracy", 2), ("log_loss", 2), ("log_loss", 3), ("roc_auc", 2), ("mse", 0), ("rmsle", 0),
    ):  # fmt: skip
        truth: Any = np.arange(9) % n_classes if n_classes else np.arange(9.0) ** 2
        kaggle = MANAGER.mechanisms.resolve("kaggle")
        found = rows_revealed(MANAGER.metrics.resolve(name), kaggle, truth, n_classes)
        whole[f"{name} of {n_classes} classes"] = [found.rows, found.bits, *tried]
        tried.clear()
    check_kept_document("revealing-submissions", whole)


def test_of_several_targets_the_public_rows_of_the_first_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []

    def tried(*given: Any, **options: Any) -> Revealed:
        calls.append((given[2].tolist(), given[3], options))
        return Revealed(0.0, 0.0)

    monkeypatch.setattr(advice, "rows_revealed", tried)
    both = replace(
        FIVE_ROWS,
        targets=(Target("y", ("a", "b")), Target("z", ("a", "b", "c"))),
        truth=np.array([[0, 2], [1, 2], [0, 1], [1, 0], [1, 1]]),
    )
    accuracy = MANAGER.metrics.resolve("accuracy")
    for usage, rows in ((FIVE_ROWS.usage, [0, 1, 0, 1]), (FIVE_ROWS.usage[::-1], [1, 0, 1, 1])):
        part = replace(both, usage=usage)
        advice.revealed_by_one(accuracy, "full", part, MANAGER, targets=3, teams=2)
        assert calls.pop() == (rows, 2, {"targets": 3, "teams": 2})
    single = np.array([Usage.PUBLIC] + [Usage.PRIVATE] * 4, dtype=np.uint8)
    assert advice.revealed_by_one(accuracy, "full", replace(both, usage=single), MANAGER) is None
    pair = np.array([Usage.PUBLIC] * 2 + [Usage.PRIVATE] * 3, dtype=np.uint8)
    assert advice.revealed_by_one(accuracy, "full", replace(both, usage=pair), MANAGER) is not None


def test_the_default_mechanism_is_bounded_where_a_bound_is_known() -> None:
    mae, accuracy = (MANAGER.metrics.resolve(name) for name in ("mae", "accuracy"))
    assert default_mechanism(accuracy, FIVE_ROWS, MANAGER) == "ladder-free"
    # Of four public rows the noise is that of 2 rows, the least.
    assert default_mechanism(mae, FIVE_ROWS, MANAGER) == "ladder-free(clip=10, noise=2)"
    r2 = MANAGER.metrics.resolve("r2")
    assert default_mechanism(r2, FIVE_ROWS, MANAGER) == "ladder-free(clip=[-1.4, 1], noise=2)"
    constant = replace(FIVE_ROWS, truth=np.full(5, 3.0))
    assert default_mechanism(mae, constant, MANAGER) == "kaggle"


ONE = (
    "One submission may reveal the labels of {} public rows (kaggle, mae), and {} are accepted: "
    "choose another mechanism, such as ladder-free(clip=10, noise=2), or accept them in [public] "
    "accepted_rows."
)
MANY = (
    "Anyone can register several teams, and 100 of them that send the same file may reveal the "
    "labels of {} public rows (kaggle, mae), and {} are accepted: set approve or oidc_issuer under "
    '[server], or scope = "rank" under [public], or accept them in [public] accepted_rows.'
)


PROVIDER = {"oidc_issuer": "https://a.org", "oidc_client_id": "b"}


@pytest.mark.parametrize(
    ("accepted", "alone", "together", "server", "said"),
    [
        (2, 2.06, 0.0, {}, ONE.format("2.1", 2)),
        (2, 2.04, 2.04, {"join": "open"}, None),  # 2.0 of 2 are accepted
        (2, 0.0, 2.06, {"join": "open"}, MANY.format("2.1", 2)),
        (0, 0.04, 3.0, {"join": "open"}, MANY.format("3", 0)),
        (2, 2.04, 9.0, {"join": "code"}, None),
        (2, 2.04, 9.0, {"join": "open", "approve": True}, None),
        (2, 2.04, 9.0, {"join": "open", **PROVIDER}, None),
        (2, 2.04, 9.0, {"join": "open", "scope": "rank"}, None),
        (2, None, 9.0, {"join": "open"}, None),
    ],
)
def test_what_more_than_the_accepted_rows_is_said(
    monkeypatch: pytest.MonkeyPatch,
    accepted: int,
    alone: float | None,
    together: float,
    server: dict[str, Any],
    said: str | None,
) -> None:
    def revealed_by_one(*_: Any, targets: int | None = None, teams: int = 1) -> Revealed | None:
        if (targets, teams) == (3, 100):
            return Revealed(together, 0.0)
        return None if alone is None else Revealed(alone, 0.0)

    monkeypatch.setattr(advice, "revealed_by_one", revealed_by_one)
    server = dict(server)
    scope = server.pop("scope", "team")
    asked = Settings.model_validate(
        {
            "metric": {"name": "mae"},
            "public": {"mechanism": "kaggle", "accepted_rows": accepted, "scope": scope},
            "server": server,
        }
    )
    assert too_much_revealed(asked, FIVE_ROWS, MANAGER) == said
